"""One rule for all that a lake may forget: index versions, their rankings, superseded rows, raw files, unnamed table files, old answers.

First the catalog forgets (one commit), then files go. So a version that is gone from the disk is never named, and a collection that was
killed is finished by the next one. Kept, always: what `prod` is and was (as far back as a rollback reaches), the version that is current of
each recipe, the newest candidates.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from edgarmill.flows.superseded import Superseded, superseded
from edgarmill.retrieval.versions import versions
from edgarmill.schemas import promotions as log
from edgarmill.schemas.disk import refusals
from edgarmill.schemas.errors import LakeCorrupt
from edgarmill.schemas.records import IndexVersion
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.store import GRACE_SECONDS, Drop, Lake, Writer, write_part
from edgarmill.workers.index import clean
from edgarmill.workers.index.dataset import open_dataset
from edgarmill.workers.index.release import is_tag

REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class File:
    path: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Rubbish:
    """What the rules give up, found without changing anything."""

    versions: tuple[IndexVersion, ...]
    rankings: int  # rows
    raw: tuple[File, ...]
    calls: tuple[File, ...]
    superseded: Superseded = Superseded()

    @property
    def bytes(self) -> int:
        """Of raw files and answers; what a version sets free is known only once it is gone, since versions share their files."""
        return sum(file.bytes for file in (*self.raw, *self.calls))


@dataclass(frozen=True, slots=True)
class Collected:
    versions: int
    rankings: int
    raw: int
    calls: int
    tables: int  # files
    superseded: int  # rows
    bytes: int


def rubbish(lake: Lake, settings: Settings, now: datetime) -> Rubbish:
    """What may go by the settings' rules. Raises LakeCorrupt, StorageError."""
    snapshot = lake.snapshot()
    going = _versions(snapshot, settings, now)
    gone = {v.version_id for v in versions(snapshot, manifests=False) if v.state == REMOVED} | {v.version_id for v in going}
    rankings = snapshot.read("rankings", ["version_id"])["version_id"].to_pylist() if gone else []
    old = _superseded(snapshot, gone, settings, now)
    return Rubbish(going, sum(one in gone for one in rankings), tuple(_raw(lake, snapshot, now)), tuple(_calls(lake, settings, now)), old)


def collect(lake: Lake, writer: Writer, found: Rubbish, settings: Settings) -> Collected:
    """Removes it, under the lake's lock. Raises StorageError, LakeCorrupt; run again, it goes on where it was."""
    _forget(lake, writer, found)
    if found.superseded.drops:
        writer.commit([], key=f"gc rows:{writer.run_id}", drop=found.superseded.drops, message="superseded rows removed")
    freed = found.bytes
    for recipe in sorted({v.recipe for v in versions(lake.snapshot(), manifests=False)}):
        freed += _free(lake, recipe, settings)
    for file in (*found.raw, *found.calls, *_vocabularies(lake)):
        with refusals(file.path):
            if os.path.exists(file.path):
                os.unlink(file.path)
    writer.compact()
    tables = writer.vacuum()
    rows = sum(count for _, count in found.superseded.rows)
    return Collected(len(found.versions), found.rankings, len(found.raw), len(found.calls), tables, rows, freed)


def _versions(snapshot: Snapshot, settings: Settings, now: datetime) -> tuple[IndexVersion, ...]:
    known = [v for v in versions(snapshot, manifests=False) if v.state != REMOVED]  # the newest first
    was_prod = list(dict.fromkeys(move.version_id for move in reversed(log.history(log.promotions(snapshot.root)))))
    kept = set(was_prod[: settings.keep_prod])
    kept |= {v.version_id for v in known if snapshot.indexes.get(v.recipe) == v.lance_version and v.state == "verified"}
    for recipe in {v.recipe for v in known}:
        candidates = [v for v in known if v.recipe == recipe and v.state == "verified" and v.version_id not in was_prod]
        kept |= {v.version_id for v in candidates[: settings.keep_candidates]}
    young = now - timedelta(days=settings.keep_rejected_days)
    return tuple(v for v in known if v.version_id not in kept and not (v.state == "rejected" and v.created_at >= young))


def _superseded(snapshot: Snapshot, gone: Collection[str], settings: Settings, now: datetime) -> Superseded:
    """Rows that no version which stays was made of; they may have been paid for, so there is none unless the rule is set."""
    if not settings.keep_superseded_days:
        return Superseded()
    staying = [v for v in versions(snapshot) if v.version_id not in gone]
    return superseded(snapshot, staying, now, settings.keep_superseded_days)


def _forget(lake: Lake, writer: Writer, found: Rubbish) -> None:
    """The catalog's one commit: the versions are removed ones, and their rankings are gone."""
    snapshot = lake.snapshot()
    going = frozenset(v.version_id for v in found.versions)
    before = frozenset(v.version_id for v in versions(snapshot, manifests=False) if v.state == REMOVED)
    if not going and not found.rankings:
        return
    whole = [v for v in versions(snapshot) if v.version_id in going]
    part = write_part(lake.root, "index_versions", writer.run_id, [replace(v, state=REMOVED, manifest="{}") for v in whole], writer.run_id)
    drops = [Drop("index_versions", "version_id", going), Drop("checks", "version_id", going),
             Drop("rankings", "version_id", going | before)]
    writer.commit([part], key=f"gc:{writer.run_id}", drop=drops, message=f"{len(going)} index versions removed")


def _free(lake: Lake, recipe: str, settings: Settings) -> int:
    """Takes the tags off what the catalog has no more: removed versions, damaged ones that were built anew. Then goes what no version
    needs. Gives the bytes set free."""
    snapshot = lake.snapshot()
    known = [v for v in versions(snapshot, manifests=False) if v.recipe == recipe and v.tag]
    wanted = {v.tag for v in known if v.state != REMOVED}
    removed = {v.tag for v in known} - wanted
    current = snapshot.indexes.get(recipe, 0)
    try:
        dataset = open_dataset(lake, recipe)
    except LakeCorrupt:
        if wanted:
            raise
        return 0
    with refusals(lake.index_uri(recipe)):
        for tag, named in sorted(dataset.tags.list().items()):
            older = tag not in wanted and is_tag(tag) and named["version"] < current  # a newer one is for the next run to take up
            if tag in removed or older:
                dataset.tags.delete(tag)
    return clean(lake, recipe, timedelta(days=settings.keep_rejected_days))


def _raw(lake: Lake, snapshot: Snapshot, now: datetime) -> Iterable[File]:
    """Files as received that nothing names any more, a day old at least: a fetch under way names its files only when it commits."""
    named = {sha for table in ("received", "filings") for sha in snapshot.read(table, ["sha256"])["sha256"].to_pylist()}
    return (file for file in _files(os.path.join(lake.root, "raw"), now.timestamp() - GRACE_SECONDS)
            if os.path.basename(file.path).partition(".")[0] not in named)


def _calls(lake: Lake, settings: Settings, now: datetime) -> Iterable[File]:
    """Answers of models that are older than the rule; they were paid for, so there is none unless it is set."""
    if not settings.keep_call_days:
        return ()
    before = min(now.timestamp() - 86_400 * settings.keep_call_days, time.time() - GRACE_SECONDS)
    return (file for file in _files(os.path.join(lake.root, "calls"), before) if file.path.endswith(".zst"))


def _vocabularies(lake: Lake) -> Iterable[File]:
    """Words of versions that are removed, and what a killed reader left while it wrote some (retrieval/spelling.py)."""
    kept = {v.version_id for v in versions(lake.snapshot(), manifests=False) if v.state == "verified"}
    return (file for file in _files(os.path.join(lake.root, "vocabulary"), time.time() - GRACE_SECONDS)
            if os.path.basename(file.path).partition("-")[0] not in kept or not file.path.endswith(".parquet"))


def _files(folder: str, before: float) -> Iterable[File]:
    """Regular files below a folder that were written before that time."""
    for place, _, names in os.walk(folder):
        for name in sorted(names):
            path = os.path.join(place, name)
            stat = os.lstat(path)
            if stat.st_mtime < before and not name.startswith("."):
                yield File(path, stat.st_size)


def now() -> datetime:
    return datetime.now(UTC)


def as_lines(found: Rubbish) -> Sequence[str]:
    """What would go, a line a kind; [] when nothing would."""
    lines = [f"index version {v.recipe} {v.tag or v.version_id[:12]} ({v.state}, {v.chunks:,} chunks, {v.created_at:%Y-%m-%d})"
             for v in found.versions]
    for count, what in ((found.rankings, "rows of rankings of removed versions"), (len(found.raw), "raw files that nothing names"),
                        (len(found.calls), "answers of models")):
        lines += [f"{count:,} {what}"] if count else []
    lines += [f"{count:,} superseded rows of {table}" for table, count in found.superseded.rows]
    return lines
