"""Building: brings the Lance dataset of a recipe to what a snapshot wants, in new Lance versions that nobody reads until they are tagged.

Only two kinds of versions are trusted as a base: the one that the snapshot names, and those with a tag (they were verified). Whatever a
crashed run left after them is rolled over: the base is restored as the newest version and the work done again on it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from edgarmill.schemas.disk import make_folder, storage_error
from edgarmill.schemas.errors import LakeCorrupt, NewerSchema, NotVerified, UnknownName
from edgarmill.schemas.ids import digest
from edgarmill.schemas.interrupts import heed, heeding
from edgarmill.schemas.parts import RESTORE, UPDATE
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.store import Lake
from edgarmill.schemas.tables import pylist
from edgarmill.workers.index.damage import damaged, readable
from edgarmill.workers.index.fragments import SHARE_ROWS, SHARES, Spread, here, write_all
from edgarmill.workers.index.rows import INDEX_SCHEMA_VERSION, Base, IndexSpec, Totals, WantedRows, quoted, wanted_rows

DELETE_IDS = 2_000  # per statement
FRAGMENTS = 64  # more are compacted; that and a fifth of deleted rows are the only reasons to rewrite what is there
DELETED_SHARE = 0.2
DELTAS = 8  # nights of an index whose rows stand beside its first ones; one more is merged with them

# Words are cut to their stems ("revenues" finds "revenue") and accents folded. Stop words stay: "no", "not" and "A" of "Class A" carry
# meaning in filings, BM25 gives common words next to no weight, and phrases need them. Positions allow phrase queries.
TEXT_INDEX: dict[str, Any] = {
    "base_tokenizer": "simple", "language": "English", "lower_case": True, "stem": True, "remove_stop_words": False,
    "ascii_folding": True, "max_token_length": 40, "with_position": True,
}
# chunk_id is the first column: with a BTREE on a later one merges by key silently changed nothing (lance#7596).
SCALAR_INDEXES = {
    "chunk_id": "BTREE", "accession": "BTREE", "filed_on": "BTREE", "period_on": "BTREE", "ciks": "LABEL_LIST", "tickers": "LABEL_LIST",
    "family": "BITMAP", "form": "BITMAP", "fiscal_year": "BITMAP", "fiscal_quarter": "BITMAP", "part": "BITMAP", "item": "BITMAP",
}
INDEXED = ("text", *SCALAR_INDEXES)


@dataclass(frozen=True)
class Built:
    """One state of the dataset. `changed`: this build wrote rows. `known`: the snapshot has it as a verified version."""

    recipe: str
    version_id: str
    snapshot: int
    lance_version: int
    changed: bool
    known: bool
    added: int
    removed: int
    totals: Totals
    parent: str | None  # version_id of the verified version before it
    run_id: str
    since: int | None = None  # Lance version of the verified rows that it goes on from; None = all were written anew

    @property
    def filings(self) -> int:
        return len(self.totals.corpus)

    @property
    def chunks(self) -> int:
        return self.totals.expected


def build(lake: Lake, snapshot: Snapshot, spec: IndexSpec, run_id: str, spread: Spread | None = None) -> Built:
    """Brings the recipe's dataset to the snapshot's rows: rows of gone or changed chunks deleted, new ones appended, all indexes complete.

    Nothing to do writes nothing. With `spread`, many rows are written in several processes; they are the same rows. A base that is damaged,
    or whose last build was rejected, is not built on: all rows are written anew. Raises LakeCorrupt (the dataset that the snapshot names is
    gone), NewerSchema, StorageError, NotVerified (no rows at all).
    """
    recipe = spec.recipe.name
    recorded = _recorded(snapshot, recipe)
    verified = [row for row in recorded if row["state"] == "verified"]
    base = trusted(lake, snapshot, recipe)
    if any(row["state"] == "rejected" for row in recorded[:1]) or not (base is None or readable(base)):
        base = None
    with wanted_rows(lake, snapshot, spec, _built_from(lake, snapshot, spec, base, verified)) as rows:
        totals = rows.totals()
        if not totals.expected:
            raise NotVerified("no chunk to index", f"recipe {recipe}", "Ingest filings with this recipe first.")
        version_id = digest(recipe, *_definition(spec).items(), totals.rows_hash)
        known = next((v for v in verified if v["version_id"] == version_id), None)
        others = (v for v in verified if v["version_id"] != version_id)
        parent = max(others, key=lambda v: int(v["lance_version"]), default={"version_id": None})["version_id"]
        if known and not damaged(open_dataset(lake, recipe, known["lance_version"])):
            return Built(recipe, version_id, snapshot.number, known["lance_version"], False, True, 0, 0, totals, known["parent"], run_id)
        with _refusals(lake.index_uri(recipe)):
            done, added, removed, since = _bring(lake, base if not known else None, spec, rows, spread)
    changed = since is None or added + removed > 0
    return Built(recipe, version_id, snapshot.number, done.version, changed, False, added, removed, totals, parent, run_id, since)


def _built_from(lake: Lake, snapshot: Snapshot, spec: IndexSpec, base: Any | None, verified: list[dict[str, Any]]) -> Base | None:
    """What the base was built from, where its record and the snapshot of then are still there."""
    found = [v["version_id"] for v in verified if base is not None and v["lance_version"] == base.version]
    if base is None or not found or not _same_definition(base, spec):
        return None
    record = snapshot.records("index_versions", {"version_id": found[:1]})[0]
    manifest = json.loads(record.manifest)
    totals = Totals(record.chunks, record.tokens, record.cut_tokens, tuple(manifest["corpus"]["sha256"].items()),
                    manifest["counts"]["rows_hash"])
    try:
        return Base(base, totals, lake.snapshot(manifest["corpus"]["snapshot"]))
    except UnknownName:
        return None


def _recorded(snapshot: Snapshot, recipe: str) -> list[dict[str, Any]]:
    """The recipe's versions as the snapshot has them, the newest first, without their manifests, which are long."""
    columns = ["version_id", "recipe", "state", "lance_version", "parent", "created_at"]
    rows = [row for row in pylist(snapshot.read("index_versions", columns)) if row["recipe"] == recipe]
    return sorted(rows, key=lambda row: row["created_at"], reverse=True)


def open_dataset(lake: Lake, recipe: str, version: int | str | None = None, session: Any = None) -> Any:
    """The Lance dataset at a version or tag; None = the newest. `session` bounds its caches.

    Raises LakeCorrupt when it is not there, NewerSchema.
    """
    import lance

    uri = lake.index_uri(recipe)
    try:
        found = lance.dataset(uri, version=version, session=session)
    except (ValueError, OSError) as error:
        heed(error)
        what = f"index version {version or ''} cannot be read" if os.path.isdir(uri) else "index is missing"
        raise LakeCorrupt(f"{what} ({str(error).splitlines()[0][:120]})", uri, RESTORE) from None
    stated = schema_of(found)
    if stated > INDEX_SCHEMA_VERSION:
        raise NewerSchema(f"index schema {stated}, this edgarmill knows {INDEX_SCHEMA_VERSION}", uri, UPDATE)
    return found


def schema_of(dataset: Any) -> int:
    """Version of the index schema that a dataset was written with; 0 where it says none."""
    return int((dataset.schema.metadata or {}).get(b"edgarmill.schema_version", b"0"))


def trusted(lake: Lake, snapshot: Snapshot, recipe: str) -> Any | None:
    """The newest version that may be built on, or None when there is none."""
    committed = snapshot.indexes.get(recipe)
    if committed is not None:
        open_dataset(lake, recipe, committed)
    elif not os.path.isdir(os.path.join(lake.index_uri(recipe), "_versions")):
        return None
    tagged = [entry["version"] for entry in open_dataset(lake, recipe).tags.list().values()]
    best = max([committed or 0, *tagged])
    return open_dataset(lake, recipe, best) if best else None


@contextmanager
def _refusals(uri: str) -> Iterator[None]:
    """Turns what Lance and the operating system refuse into a StorageError. Lance tells the system's error in its text only."""
    try:
        with heeding():
            yield
    except (OSError, ValueError, RuntimeError) as error:
        found = re.search(r"os error ([0-9]{1,3})", str(error))
        number = int(found[1]) if found else getattr(error, "errno", None)
        text = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise storage_error(OSError(number, os.strerror(number)) if number else OSError(text), uri) from error


def _bring(lake: Lake, base: Any | None, spec: IndexSpec, rows: WantedRows, spread: Spread | None) -> tuple[Any, int, int, int | None]:
    """The dataset as wanted, rows added, rows removed, and the version gone on from."""
    if base is None or not _same_definition(base, spec):
        return _overwrite(lake, spec, rows, spread)
    since, held = base.version, base.count_rows()
    gone, coming = rows.compare(base)
    if not gone and not coming and not unindexed(base, spec):
        return base, 0, 0, since
    if len(gone) > held / 2:
        return _overwrite(lake, spec, rows, spread)
    if base.version != base.latest_version:
        base.restore()
    for first in range(0, len(gone), DELETE_IDS):
        base.delete(f"chunk_id IN ({', '.join(quoted(one) for one in gone[first:first + DELETE_IDS])})")
    removed = held - base.count_rows()
    if coming:
        base = _write(lake, spec, rows, "append")
    _index(base, spec, rebuild=_compact(base))
    return base, coming, removed, since


def _overwrite(lake: Lake, spec: IndexSpec, rows: WantedRows, spread: Spread | None) -> tuple[Any, int, int, None]:
    with rows.whole() as wanted:
        shares = wanted.shares(max(SHARE_ROWS, -(-wanted.totals().expected // SHARES)))
        if len(shares) > 1:
            make_folder(os.path.dirname(lake.index_uri(spec.recipe.name)))
            done = write_all(spread or here, lake, wanted.snapshot, spec, shares, _definition(spec))
        else:
            done = _write(lake, spec, wanted, "overwrite")
    _index(done, spec, rebuild=True)
    return done, done.count_rows(), 0, None


def _write(lake: Lake, spec: IndexSpec, rows: WantedRows, mode: str) -> Any:
    """One Lance commit of all rows to come; a crash before it leaves files that no version names."""
    import lance

    make_folder(os.path.dirname(lake.index_uri(spec.recipe.name)))
    schema = spec.schema.with_metadata(_definition(spec))
    uri = lake.index_uri(spec.recipe.name)
    mode = mode if os.path.isdir(uri) else "create"  # Lance warns of an overwrite of nothing
    return lance.write_dataset(rows.coming(schema), uri, mode=mode)


def _definition(spec: IndexSpec) -> dict[str, str]:
    """What the whole dataset depends on, kept in its schema's metadata. Another definition means another dataset."""
    return {
        "edgarmill.schema_version": str(INDEX_SCHEMA_VERSION),
        "edgarmill.recipe_fingerprint": spec.recipe.fingerprint,
        "edgarmill.chunker": spec.chunker,
        "edgarmill.context": spec.context,
        "edgarmill.model_hash": spec.model_hash,
        "edgarmill.dimensions": str(spec.dimensions),
        "edgarmill.text_index": digest(*sorted(TEXT_INDEX.items())),
    }


def _same_definition(dataset: Any, spec: IndexSpec) -> bool:
    stated = {key.decode(): value.decode() for key, value in (dataset.schema.metadata or {}).items()}
    same = all(stated.get(key) == value for key, value in _definition(spec).items())
    return same and dataset.schema.remove_metadata().equals(spec.schema)


def _compact(dataset: Any) -> bool:
    """Merges fragments when there are many or much is deleted. Indexes are dropped first and built anew after it: fragments that parts of
    one index share among them are not merged, and lance#9200 kept entries of removed rows."""
    deleted = dataset.stats.dataset_stats()["num_deleted_rows"]
    if len(dataset.get_fragments()) <= FRAGMENTS and deleted <= DELETED_SHARE * dataset.count_rows():
        return False
    for index in dataset.describe_indices():
        dataset.drop_index(index.name)
    dataset.optimize.compact_files()
    return True


def _index(dataset: Any, spec: IndexSpec, rebuild: bool) -> None:
    """All indexes, complete. Made after the data: one made on an empty table found nothing later."""
    there = {name for index in dataset.describe_indices() for name in index.field_names}
    if "text" not in there or rebuild:
        dataset.create_scalar_index("text", "INVERTED", replace=True, **TEXT_INDEX)
    for column, kind in SCALAR_INDEXES.items():
        if column not in there or rebuild:
            dataset.create_scalar_index(column, kind, replace=True)
    rows = dataset.count_rows()
    if rows >= spec.vector_index_rows and ("vector" not in there or rebuild):
        dataset.create_index("vector", metric="cosine", replace=True, **vector_index(rows, spec.dimensions))
    _extend(dataset)


def vector_index(rows: int, dimensions: int) -> dict[str, Any]:
    """Kind and partitions of the vector index for that many rows.

    IVF_RQ keeps a bit a dimension and a search refines with the vectors themselves: at 300,000 x 384 it took 20 MB where IVF_FLAT took
    462, and was built as quickly (11 and 13 s of CPU). It wants whole bytes of dimensions.
    """
    kind: dict[str, Any] = {"index_type": "IVF_RQ", "num_bits": 1} if dimensions % 8 == 0 else {"index_type": "IVF_FLAT"}
    return {**kind, "num_partitions": min(max(rows // 5_000, 2), 512)}


def _extend(dataset: Any) -> None:
    """New rows into every index, in a part of their own, which costs what is new and not what is there; beyond DELTAS such parts become
    one, and the first part stays as it is."""
    lacking = unindexed(dataset, None)
    for index in dataset.describe_indices():
        if index.field_names[0] in lacking:
            merged = DELTAS if len(index.segments) > DELTAS else 0
            dataset.optimize.optimize_indices(index_names=[index.name], num_indices_to_merge=merged)


def unindexed(dataset: Any, spec: IndexSpec | None) -> dict[str, int]:
    """Rows that an index lacks, by column; {} = every index is complete. A missing one of `spec`'s lacks all; without it none is missed."""
    rows = dataset.count_rows()
    wanted = [*INDEXED, *(["vector"] if rows >= spec.vector_index_rows else [])] if spec is not None else []
    indexed = {index.field_names[0]: index.num_rows_indexed for index in dataset.describe_indices()}
    return {column: rows - indexed.get(column, 0) for column in {*wanted, *indexed} if indexed.get(column, 0) != rows}
