"""Which texts have their vector already. Asked block after block, so the table is read once, and after that what was committed since."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from edgarmill.schemas.store import Lake, Part


class Embedded:
    """Hashes of the texts that a lake has a model's vectors of, kept from one question to the next: some 100 bytes a text in memory.

    Parts never change, so those that were read are not read again; where one is gone (its rows were merged or removed), all are.
    """

    def __init__(self, lake: Lake, model_hash: str) -> None:
        self._lake, self._model_hash = lake, model_hash
        self._read: frozenset[Part] = frozenset()
        self._hashes: set[bytes] = set()

    def among(self, text_hashes: Iterable[str]) -> set[str]:
        """Those that have a vector in the lake as it is now. Raises LakeCorrupt, NewerSchema, StorageError."""
        self._catch_up()
        return {one for one in text_hashes if bytes.fromhex(one) in self._hashes}

    def _catch_up(self) -> None:
        snapshot = self._lake.snapshot()
        there = frozenset(snapshot.tables.get("embeddings", ()))
        if not self._read <= there:
            self._read, self._hashes = frozenset(), set()
        new = replace(snapshot, tables={"embeddings": tuple(there - self._read)})
        for batch in new.batches("embeddings", ["text_hash"], {"model_hash": [self._model_hash]}):
            self._hashes.update(map(bytes.fromhex, batch.column(0).to_pylist()))
        self._read = there
