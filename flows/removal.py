"""Removal of filings: out of the next index version, by hand or because their source has them no more. Older versions keep them.

What is set is a filing's `status`, with an event that says when and why. Its rows stay: versions that hold it read them, and it may come
back.

    removed     taken out by hand, or withdrawn from EDGAR: stays out, though a source lists it, until it is put back
    missing     its folder had its file no more: comes back by itself with the file

Nothing is removed unasked: a source that lists too little for a night would empty an index. What is asked for by a list (and not by name)
is bounded by a share of what the source has given.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from edgarmill.retrieval.why import find
from edgarmill.schemas.errors import UnknownName, UsageError
from edgarmill.schemas.records import Event, Filing
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.store import Drop, Lake, Writer, write_part
from edgarmill.schemas.tables import pylist
from edgarmill.workers.source import folder
from edgarmill.workers.source.listed import Listed

REMOVED: Literal["removed"] = "removed"
MISSING: Literal["missing"] = "missing"
AWAY = (REMOVED, MISSING)
MOST_SHARE = 0.1
WITHDRAWN = ("gone", "unlisted")  # events


@dataclass(frozen=True, slots=True)
class Removal:
    """What is to go: filings that are not out yet, the status that they get, the reason; `of` = all that the source has in the lake."""

    filings: tuple[Filing, ...]
    status: Literal["removed", "missing"]
    reason: str
    of: int


def named(snapshot: Snapshot, names: Iterable[str], reason: str) -> Removal:
    """Filings by accession, local-… key or file name. Raises UnknownName, UsageError (no reason, a name of several filings)."""
    if not reason.strip():
        raise UsageError("a removal needs a reason", "remove", "Say it with --reason.")
    known = _filings(snapshot)
    wanted = sorted({find(snapshot, name) for name in names})
    for accession in wanted:
        if accession not in known:
            raise UnknownName("it was never opened, so nothing of it is indexed", accession, "edgarmill quarantine list says why.")
    return Removal(tuple(f for a in wanted if (f := known[a]).status != REMOVED), REMOVED, " ".join(reason.split())[:1000], len(known))


def missing_from(snapshot: Snapshot, settings: Settings, path: str, note: Callable[[str], None], manifest: str | None = None) -> Removal:
    """Filings that came from this folder and are not in it now. A file that is there and cannot be read is there.

    Raises UsageError (no such folder), StorageError, SettingsError (manifest).
    """
    there = [listed.filing for listed in folder.list_filings(path, settings, note, manifest)]
    here = {filing.accession for filing in there} | {filing.name for filing in there}
    mine = [f for f in _of_folder(snapshot, path) if f.status not in AWAY]
    gone = tuple(f for f in mine if f.accession not in here and f.name not in here)
    return Removal(gone, MISSING, f"not in {path} any more", len(mine))


def withdrawn(snapshot: Snapshot) -> Removal:
    """Filings that EDGAR did not give any more, or no longer lists, when it was last asked: by table `events`, no request is made."""
    last: dict[str, Event] = {}
    for event in sorted(snapshot.records("events"), key=lambda one: one.at):
        if event.kind in (*WITHDRAWN, "relisted", "changed", "restored"):
            last[event.accession] = event
    came = {row["accession"]: row["received_at"] for row in pylist(snapshot.read("received", ["accession", "received_at"]))}
    mine = [f for f in _filings(snapshot).values() if f.source == "edgar" and f.status not in AWAY]
    gone = [f for f in mine if (event := last.get(f.accession)) and event.kind in WITHDRAWN
            and (f.accession not in came or came[f.accession] <= event.at)]
    return Removal(tuple(gone), REMOVED, "withdrawn from EDGAR", len(mine))


def check_share(removal: Removal, most: float, source: str) -> None:
    """Raises UsageError where more would go than that share: one filing always may, the last one never."""
    going = len(removal.filings)
    if going and (going > max(1, most * removal.of) or going == removal.of):
        what = f"{going:,} of the {removal.of:,} filings from there would go, more than {most:.0%}"
        raise UsageError(what if going < removal.of else f"all {going:,} filings from there would go", source,
                         "--dry-run shows them; --force takes them out all the same.")


def remove(lake: Lake, writer: Writer, removal: Removal) -> None:
    """One commit: the filings' status, their way out of quarantine, an event each. Nothing to do commits nothing."""
    if not removal.filings:
        return
    now = datetime.now(UTC)
    rows = [replace(filing, status=removal.status) for filing in removal.filings]
    events = [Event(f.accession, removal.status, f.status, removal.reason, now) for f in removal.filings]
    keys = frozenset(filing.accession for filing in removal.filings)
    _commit(lake, writer, rows, events, [Drop("filings", "accession", keys), Drop("quarantine", "subject", keys)],
            f"{len(rows)} filings {removal.status}")


def restore(lake: Lake, writer: Writer, accessions: Collection[str], reason: str) -> int:
    """Puts filings back that were taken out, for the next index version; gives how many were out. What has no rows any more, or never had,
    is done anew by the next run that lists it."""
    snapshot = lake.snapshot()
    back = [f for a, f in _filings(snapshot).items() if a in accessions and f.status in AWAY]
    keys = frozenset(filing.accession for filing in back)
    if keys:
        whole = set(snapshot.read("documents", ["accession"], {"accession": keys})["accession"].to_pylist())
        now = datetime.now(UTC)
        events = [Event(filing.accession, "restored", filing.status, reason, now) for filing in back]
        rows = [replace(filing, status="parsed") for filing in back if filing.accession in whole]
        _commit(lake, writer, rows, events, [Drop("filings", "accession", keys)], f"{len(back)} filings put back")
    return len(back)


def without_removed(found: Iterable[Listed], lake: Lake, writer: Writer, note: Callable[[str], None]) -> Iterator[Listed]:
    """What a run works on of all that its source lists: not what was taken out by hand. A file that was missing is back with it."""
    away = {accession: filing.status for accession, filing in _filings(lake.snapshot()).items() if filing.status in AWAY}
    back: set[str] = set()
    out = 0
    for listed in found:
        status = away.get(listed.filing.accession)
        if status == REMOVED:
            out += 1
            continue
        if status == MISSING and listed.error is None:
            back.add(listed.filing.accession)
        yield listed
    restore(lake, writer, back, "its file is there again")
    if out:
        note(f"{out:,} of the filings listed were removed and stay out; edgarmill remove --undo puts them back")


def _commit(lake: Lake, writer: Writer, rows: list[Filing], events: list[Event], drops: list[Drop], message: str) -> None:
    parts = [write_part(lake.root, name, writer.run_id, list(some), writer.run_id)
             for name, some in (("filings", rows), ("events", events)) if some]
    writer.commit(parts, key=parts[-1].path, drop=drops, message=message)


def _filings(snapshot: Snapshot) -> dict[str, Filing]:
    return {filing.accession: filing for filing in snapshot.records("filings")}


def _of_folder(snapshot: Snapshot, path: str) -> list[Filing]:
    """Filings whose bytes a run over this folder received. A killed run left no word of its folder: what it received counts where the lake
    knows of no other one."""
    place = os.path.realpath(path)
    folders = {row["run_id"]: os.path.realpath(row["source"].removeprefix("folder "))
               for row in snapshot.read("runs", ["run_id", "source"]).to_pylist() if row["source"].startswith("folder ")}
    only = place if set(folders.values()) <= {place} else ""
    rows = [row for table in ("received", "filings")
            for row in snapshot.read(table, ["accession", "run_id"], {"source": ["folder"]}).to_pylist()]
    mine = {row["accession"] for row in rows if folders.get(row["run_id"], only) == place}
    return [filing for filing in _filings(snapshot).values() if filing.source == "folder" and filing.accession in mine]
