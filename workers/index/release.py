"""Release: the immutable name of a verified dataset version, its record, and the cleaning of versions that nobody can name any more."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from importlib import metadata

from edgarmill.schemas.errors import LakeCorrupt, NotVerified
from edgarmill.schemas.ids import digest
from edgarmill.schemas.interrupts import heed
from edgarmill.schemas.records import Check, IndexVersion
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.store import Lake
from edgarmill.workers.index.dataset import Built, open_dataset
from edgarmill.workers.index.rows import INDEX_SCHEMA_VERSION, IndexSpec

_TAG = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})\.([0-9]{1,6})")
_PACKAGES = ("edgarmill", "pylance", "lancedb", "pyarrow", "duckdb", "numpy", "torch", "transformers", "sentence-transformers")


def tag(lake: Lake, built: Built, checks: Sequence[Check], day: date) -> str:
    """The version's name `YYYY-MM-DD.N`, which never moves; a version that has one keeps it. Raises NotVerified unless all checks hold."""
    failed = [c for c in checks if not c.ok]
    if failed or not checks or any(c.version_id != built.version_id for c in checks):
        first = f"{failed[0].check}: expected {failed[0].expected}, found {failed[0].found}" if failed else "no checks of this version"
        raise NotVerified(first, f"recipe {built.recipe}", "The last tagged version stays current. See the table checks, then run again.")
    dataset = open_dataset(lake, built.recipe, built.lance_version)
    known = dataset.tags.list()
    same = sorted(name for name, entry in known.items() if entry["version"] == built.lance_version and _TAG.fullmatch(name))
    if same:
        return str(same[0])
    name = _next_name(known, day)
    try:
        dataset.tags.create(name, built.lance_version)
    except (ValueError, OSError) as error:
        heed(error)
        raise LakeCorrupt(f"tag cannot be made ({str(error).splitlines()[0][:120]})", name, "Run again.") from error
    return name


def is_tag(name: str) -> bool:
    """Whether a dataset's tag may be one of ours; others are left alone."""
    return _TAG.fullmatch(name) is not None


def _next_name(known: Iterable[str], day: date) -> str:
    numbers = [int(found[2]) for name in known if (found := _TAG.fullmatch(name)) and found[1] == day.isoformat()]
    return f"{day.isoformat()}.{max(numbers, default=0) + 1}"


def version_of(lake: Lake, built: Built, spec: IndexSpec, name: str | None, created_at: datetime) -> IndexVersion:
    """The record of a version: verified when it has a name, else rejected."""
    snapshot = lake.snapshot(built.snapshot)
    dataset = open_dataset(lake, built.recipe, built.lance_version)
    size = sum(f.bytes_on_disk for f in dataset.stats.data_stats().fields)
    size += sum(index.total_size_bytes or 0 for index in dataset.describe_indices())
    return IndexVersion(
        version_id=built.version_id, recipe=built.recipe, recipe_fingerprint=spec.recipe.fingerprint, model=spec.model,
        model_hash=spec.model_hash, lance_version=built.lance_version, tag=name, parent=built.parent,
        state="verified" if name else "rejected", filings=built.filings, chunks=built.chunks, tokens=built.totals.tokens,
        cut_tokens=built.totals.cut_tokens, bytes=size, dollars=_dollars(snapshot, built),
        manifest=json.dumps(_manifest(built, spec), ensure_ascii=False), created_at=created_at)


def _manifest(built: Built, spec: IndexSpec) -> dict[str, object]:
    totals = built.totals
    return {
        "schema_version": INDEX_SCHEMA_VERSION,
        "recipe": {"name": spec.recipe.name, "fingerprint": spec.recipe.fingerprint, **spec.recipe.content},
        "model": {"name": spec.model, "hash": spec.model_hash, "dimensions": spec.dimensions},
        "fingerprints": {"chunker": spec.chunker, "context": spec.context},
        "corpus": {"snapshot": built.snapshot, "filings": built.filings, "hash": digest(*(f"{a} {s}" for a, s in totals.corpus)),
                   "sha256": dict(totals.corpus)},
        "counts": {"chunks": totals.expected, "tokens": totals.tokens, "cut_tokens": totals.cut_tokens, "rows_hash": totals.rows_hash,
                   "added": built.added, "removed": built.removed},
        "software": {name: version for name in _PACKAGES if (version := _installed(name))},
        "parent": built.parent,
        "run_id": built.run_id,
    }


def _installed(package: str) -> str | None:
    """Its version; None when it is not there, which a reader's machine may well lack."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _dollars(snapshot: Snapshot, built: Built) -> Decimal | None:
    """Spent on the version's filings over all runs; None when any of it is unpriced or nothing is on record."""
    import pyarrow as pa
    import pyarrow.compute as pc

    subjects = pa.array([accession for accession, _ in built.totals.corpus], pa.string())
    spent = snapshot.read("usage", ["dollars"], where=pc.field("subject").isin(subjects))["dollars"]
    if not len(spent) or spent.null_count:
        return None
    return Decimal(pc.sum(spent).as_py())


def clean(lake: Lake, recipe: str, older_than: timedelta = timedelta(days=7)) -> int:
    """Removes Lance versions without a tag that are older than that, and gives the bytes set free. Tagged ones always stay."""
    stats = open_dataset(lake, recipe).cleanup_old_versions(older_than=older_than, error_if_tagged_old_versions=False)
    return int(stats.bytes_removed)
