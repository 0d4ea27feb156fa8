"""The lake: the only way to open, write, commit and read its tables and raw files.

    raw/ab/abcd….zst                 bytes as received, addressed by sha256
    tables/<table>/<part>-<x>.parquet   immutable; written by workers without a lock, uncounted until a snapshot names them
    catalog/snapshots/00000042.json  one committed state of all tables and index versions; the highest number is current
    catalog/writer.lock              flock(2) of the one writer; dies with its process
    index/<recipe>.lance             Lance datasets

A commit is one link(2) of a finished, synced JSON file under the next number: it is there whole or not at all.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pyarrow as pa

from edgarmill.schemas import ids
from edgarmill.schemas.disk import TEMPORARY, make_folder, refusals, storage_error, sync_folder, whole_file
from edgarmill.schemas.errors import LakeCorrupt, LakeLocked, LakeNotFound, RunError, SettingsError, UnknownName, UsageError
from edgarmill.schemas.parts import (
    RESTORE,
    Drop,
    Part,
    check_file,
    check_text_column,
    check_version,
    damage,
    known_table,
    merge,
    plain_name,
    without,
    write_part,
)
from edgarmill.schemas.raw import RawFile, raw_path, unpacked
from edgarmill.schemas.snapshot import Snapshot, decode, encode

__all__ = ["Drop", "Lake", "Part", "Snapshot", "Writer", "write_part"]

GRACE_SECONDS = 86_400.0  # a reader may use a snapshot, and a worker's part may wait for its commit, this long
KEPT_SNAPSHOTS = 30
SMALL_BYTES = 8 * 2**20
MERGED_BYTES = 64 * 2**20
MOST_SMALL_PARTS = 64

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SNAPSHOT = re.compile(r"([0-9]{8,12})\.json")


@dataclass(frozen=True)
class Lake:
    """One lake in a local folder. Cheap to make, holds nothing open."""

    root: str

    @staticmethod
    def open(root: str, create: bool = False) -> Lake:
        """The lake at `root`; with `create` it is made where there is none.

        Raises LakeNotFound, NewerSchema, LakeCorrupt, StorageError; SettingsError for an address of an object store.
        """
        if "://" in root:
            raise SettingsError("a lake is a local folder for now", root, "Name a folder with --lake.")
        lake = Lake(os.path.abspath(os.path.expanduser(root)))
        with refusals(lake.root):
            known = lake._numbers()
            if not known and create:
                make_folder(lake._snapshots)
                lake._create()
                known = lake._numbers()
        if not known:
            raise LakeNotFound("no lake here", root, "Run edgarmill ingest to make one, or name its folder with --lake.")
        lake.snapshot()
        return lake

    @property
    def _snapshots(self) -> str:
        return os.path.join(self.root, "catalog", "snapshots")

    def _numbers(self) -> list[int]:
        try:
            names = os.listdir(self._snapshots)
        except FileNotFoundError:
            return []
        return sorted(int(found[1]) for name in names if (found := _SNAPSHOT.fullmatch(name)))

    def _path_of(self, number: int) -> str:
        return os.path.join(self._snapshots, f"{number:08d}.json")

    def _create(self) -> None:
        first = Snapshot(self.root, 0, None, "", datetime.now(UTC), "", {}, {})
        try:
            with whole_file(self._path_of(0), replace=False) as file:
                file.write(encode(first))
        except FileExistsError:
            pass  # two processes made the lake at the same time

    def numbers(self) -> list[int]:
        """Numbers of the snapshots that can be read, ascending."""
        with refusals(self.root):
            return self._numbers()

    def snapshot(self, number: int | None = None) -> Snapshot:
        """The current snapshot, or an older one by number. Raises UnknownName, LakeNotFound, LakeCorrupt, NewerSchema."""
        known = self.numbers()
        if not known:
            raise LakeNotFound("no lake here", self.root, "Run edgarmill ingest to make one, or name its folder with --lake.")
        wanted = known[-1] if number is None else number
        path = self._path_of(wanted)
        try:
            with open(path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            if number is None:  # vacuumed since the folder was listed, so a newer one is there
                return self.snapshot()
            raise UnknownName("no such snapshot", str(number), f"Kept: {known[0]} to {known[-1]}.") from None
        except OSError as error:
            raise storage_error(error, path) from error
        return decode(data, self.root, wanted, path)

    @contextmanager
    def writer(self, run_id: str, command: str = "") -> Iterator[Writer]:
        """The one writer. Raises LakeLocked, which names the holder, and StorageError."""
        path = os.path.join(self.root, "catalog", "writer.lock")
        with refusals(path):
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        held = [handle]
        # A forked child shares the lock; without this an orphaned child would hold it after its parent was killed.
        os.register_at_fork(after_in_child=lambda: os.close(held.pop()) if held else None)
        try:
            with refusals(path):
                _lock(handle, self.root)
                _sign(handle, run_id, command)
            yield Writer(self, run_id, command, held)
            with refusals(path):
                if held:
                    os.ftruncate(handle, 0)
        finally:
            if held:
                os.close(held.pop())

    def new_raw(self) -> RawFile:
        """A raw file to write piece by piece. Raises StorageError."""
        return RawFile(os.path.join(self.root, "raw"))

    def put_raw(self, data: bytes) -> str:
        """Stores the bytes and gives their sha256. The same bytes again change nothing; a damaged file is mended."""
        with self.new_raw() as file:
            file.write(data)
            return file.keep()

    def read_raw(self, sha256: str) -> bytes:
        """The bytes with that sha256. Raises LakeCorrupt when they are missing or are others."""
        path = self._raw(sha256)
        try:
            data = unpacked(path)
        except FileNotFoundError:
            raise LakeCorrupt("raw file is missing", path, RESTORE) from None
        if data is None or ids.sha256(data) != sha256:
            raise LakeCorrupt("raw file does not match its sha256", path, RESTORE)
        return data

    def has_raw(self, sha256: str) -> bool:
        """Whether the bytes are stored; says nothing of their state."""
        return os.path.isfile(self._raw(sha256))

    def _raw(self, sha256: str) -> str:
        if not _SHA256.fullmatch(sha256):
            raise UsageError("not a sha256 (64 hex digits, lower case)", sha256[:80], "Take it from filings.sha256.")
        return raw_path(os.path.join(self.root, "raw"), sha256)

    def index_uri(self, recipe: str) -> str:
        """Where the Lance dataset of a recipe is or will be."""
        return os.path.join(self.root, "index", f"{plain_name(recipe)}.lance")

    def folder(self, name: str) -> str:
        """A working folder inside the lake for a tool's own state, made when asked for."""
        path = os.path.join(self.root, plain_name(name))
        with refusals(path):
            make_folder(path)
        return path


class Writer:
    """Commits to one lake while it holds the lock. Made by Lake.writer."""

    def __init__(self, lake: Lake, run_id: str, command: str, held: list[int]) -> None:
        self.run_id = run_id
        self._lake, self._command, self._held = lake, command, held
        self._current = lake.snapshot()

    def commit(self, parts: Iterable[Part], *, key: str, drop: Iterable[Drop] = (), indexes: Mapping[str, int] | None = None,
               message: str = "") -> Snapshot:
        """The next snapshot: without the dropped rows, with the parts and index versions. Of all that, everything or nothing.

        A `key` that was committed before changes nothing and gives the current snapshot, so a retry is harmless.
        Raises LakeCorrupt for a part that is not what it says, StorageError, RunError outside of `with lake.writer(…)`.
        """
        self._check_held()
        self._catch_up()
        if _mark(key) in self._current.keys:
            return self._current
        tables = {name: list(known) for name, known in self._current.tables.items()}
        for one in drop:
            check_text_column(one.table, one.column)
            tables[one.table] = [left for part in tables.get(one.table, []) if (left := without(self._lake.root, part, one)).rows]
        fresh = [part for part in parts if part.rows]
        self._check_new(fresh)
        for part in fresh:
            tables.setdefault(part.table, []).append(part)
        versions = {**self._current.indexes, **(indexes or {})}
        return self._publish(replace(self._next(key, message), tables=_frozen(tables), indexes=versions))

    def compact(self, most: int = MOST_SMALL_PARTS) -> Snapshot:
        """Merges the small parts of every table that has more than `most` of them; the rows and their order stay the same.

        A listing opens every file of its tables, about 0.3 ms each, so a lake of many nightly runs stays quick only when compacted.
        """
        self._check_held()
        self._catch_up()
        tables = {name: _compacted(self._lake.root, parts, most) for name, parts in self._current.tables.items()}
        if tables == {name: list(parts) for name, parts in self._current.tables.items()}:
            return self._current
        key = f"compact:{self._current.number}"
        return self._publish(replace(self._next(key, "small parts merged"), tables=_frozen(tables)))

    def _next(self, key: str, message: str) -> Snapshot:
        now = self._current
        return replace(now, number=now.number + 1, parent=now.number, run_id=self.run_id, command=self._command,
                       created_at=datetime.now(UTC), key=key, message=message, keys=now.keys | {_mark(key)})

    def _catch_up(self) -> None:
        """A commit that was interrupted after its link counts: see it before the next."""
        if os.path.exists(self._lake._path_of(self._current.number + 1)):
            self._current = self._lake.snapshot()

    def _publish(self, snapshot: Snapshot) -> Snapshot:
        path = self._lake._path_of(snapshot.number)
        try:
            with whole_file(path, replace=False) as file:
                file.write(encode(snapshot))
        except FileExistsError:
            raise LakeLocked("another writer committed meanwhile", self._lake.root, "Run the command again.") from None
        except OSError as error:
            raise storage_error(error, path) from error
        self._current = snapshot
        return snapshot

    def _check_held(self) -> None:
        if not self._held:
            raise RunError("this writer is closed, or belongs to another process", self._lake.root, "Commit inside `with lake.writer(…)`.")

    def _check_new(self, parts: list[Part]) -> None:
        """A part is committed only once, and only if its file is there, whole, and has the rows that it says."""
        import pyarrow.parquet as pq

        seen = {part.path for known in self._current.tables.values() for part in known} if parts else set()
        for part in parts:
            path = os.path.join(self._lake.root, part.path)
            known_table(part.table)
            check_file(self._lake.root, part)
            if part.path in seen:
                raise LakeCorrupt("part is committed already", path, "Commit every part once; a retry keeps its key.")
            seen.add(part.path)
            try:
                metadata = pq.read_metadata(path)
            except (OSError, pa.ArrowException) as error:
                raise damage(error, path) from error
            check_version(metadata.metadata, path)
            if metadata.num_rows != part.rows:
                raise LakeCorrupt(f"part has {metadata.num_rows} rows, not {part.rows}", path, "Write it again.")

    def vacuum(self, grace_seconds: float = GRACE_SECONDS, keep: int = KEPT_SNAPSHOTS) -> int:
        """Removes snapshots but the last `keep`, and files in tables/ that no kept snapshot names; nothing younger than the grace time.

        Gives the number of files removed, snapshots aside. Files of a running worker are young, so they stay.
        """
        self._check_held()
        before = time.time() - grace_seconds
        lake = self._lake
        with refusals(lake.root):
            for number in lake._numbers()[:-max(keep, 1)]:
                _remove_old(lake._path_of(number), before)
            sync_folder(lake._snapshots)  # first the names, then what they name
            named = {part.path for number in lake._numbers() for parts in lake.snapshot(number).tables.values() for part in parts}
            unnamed = [path for path in _walk(lake.root, "tables") if os.path.relpath(path, lake.root) not in named]
            begun = [path for room in ("raw", "catalog") for path in _walk(lake.root, room) if os.path.basename(path).startswith(TEMPORARY)]
            return sum(_remove_old(path, before) for path in unnamed + begun)


def _mark(key: str) -> str:
    """A commit's key as remembered for ever."""
    return ids.digest(key)[:20]


def _frozen(tables: Mapping[str, Iterable[Part]]) -> dict[str, tuple[Part, ...]]:
    return {name: tuple(parts) for name, parts in tables.items() if parts}


def _compacted(root: str, parts: Sequence[Part], most: int) -> list[Part]:
    """Neighbouring small parts merged, up to MERGED_BYTES each."""
    if sum(part.bytes < SMALL_BYTES for part in parts) <= most:
        return list(parts)
    groups: list[list[Part]] = []
    for part in parts:
        last = groups[-1] if groups else []
        small = part.bytes < SMALL_BYTES and last and last[0].bytes < SMALL_BYTES
        if small and sum(one.bytes for one in last) + part.bytes <= MERGED_BYTES:
            last.append(part)
        else:
            groups.append([part])
    return [group[0] if len(group) == 1 else merge(root, group) for group in groups]


def _walk(root: str, name: str) -> Iterator[str]:
    for folder, _, names in os.walk(os.path.join(root, name)):
        for one in names:
            yield os.path.join(folder, one)


def _remove_old(path: str, before: float) -> int:
    """1 when the file was older and is gone."""
    try:
        if os.lstat(path).st_mtime > before:
            return 0
        os.unlink(path)
    except FileNotFoundError:  # a worker has just given it its name
        return 0
    return 1


def _lock(handle: int, root: str) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise LakeLocked(f"another run writes here: {_holder(handle)}", root, "Wait until it ends, or stop it.") from None


def _sign(handle: int, run_id: str, command: str) -> None:
    """Writes who holds the lock into its file."""
    since = datetime.now(UTC).isoformat(timespec="seconds")
    os.ftruncate(handle, 0)
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "run": run_id, "command": command, "since": since}
    os.pwrite(handle, json.dumps(holder).encode(), 0)


def _holder(handle: int) -> str:
    try:
        known = json.loads(os.pread(handle, 65_536, 0))
        return f"process {known['pid']} on {known['host']}, run {known['run']}, since {known['since']}"
    except (ValueError, KeyError, TypeError, RecursionError):
        return "a process that has only just begun"
