"""Every paid answer, kept in the lake under the hash of its exact request: calls/ab/<key>.zst.

A folder under content address and no table: an answer must be safe before its filing goes on, written by any worker without the writer's
lock, and be found again when a killed worker's whole block runs anew; rows of a table count only once a snapshot names them. One file is
written whole or not at all, and two workers who ask the same wait for each other, so that it is paid once.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from edgarmill.schemas import ids
from edgarmill.schemas.disk import make_folder, refusals, whole_file
from edgarmill.schemas.raw import unpacked
from edgarmill.schemas.store import Lake

_FORM = 1  # of the stored answer
_LONG = 500  # characters of a text that are kept of a request


def key_of(provider: str, kind: str, body: Mapping[str, Any]) -> str:
    """Of everything that decides an answer: whose model, chat or embeddings, and the body as sent. Neither key nor address count: a
    gateway that moved, or a new key, is not paid again; the same model name at another provider is another model."""
    return ids.digest(_FORM, provider, kind, json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


def brief(value: Any) -> Any:
    """A request as it is kept, to be looked at: long texts by their beginning, length and hash. They stand in the lake once already, and a
    section is asked about as often as it has chunks."""
    if isinstance(value, str) and len(value) > _LONG:
        return f"{value[:_LONG]} … ({len(value):,} characters, {ids.text_hash(value)})"
    if isinstance(value, Mapping):
        return {name: brief(part) for name, part in value.items()}
    return [brief(part) for part in value] if isinstance(value, list) else value


class Calls:
    """The stored answers of one lake. Threads and processes share it."""

    def __init__(self, lake: Lake) -> None:
        self.folder = lake.folder("calls")

    def known(self, key: str) -> dict[str, Any] | None:
        """The stored answer; None when there is none, or a damaged one: it is asked for again, and mended. Raises StorageError."""
        try:
            data = unpacked(self._path(key))
            found = json.loads(data) if data is not None else None
        except (FileNotFoundError, ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) and found.get("key") == key else None

    def keep(self, key: str, answer: Mapping[str, Any]) -> None:
        """Stores it, whole and synced. Raises StorageError."""
        import zstandard

        path = self._path(key)
        with refusals(path):
            make_folder(os.path.dirname(path))
            with whole_file(path) as file:
                file.write(zstandard.compress(json.dumps({**answer, "key": key}, ensure_ascii=False).encode("utf-8", "surrogatepass")))

    @contextmanager
    def alone(self, key: str) -> Iterator[None]:
        """Holds the right to make this call; others who want it wait. Dies with its process. At most 4,096 lock files, empty ones."""
        path = os.path.join(self.folder, "locks", key[:3])
        with refusals(path):
            make_folder(os.path.dirname(path))
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _path(self, key: str) -> str:
        return os.path.join(self.folder, key[:2], f"{key}.zst")
