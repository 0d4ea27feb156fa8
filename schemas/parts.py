"""Parts: the immutable Parquet files of which tables consist. Workers write them without a lock; a snapshot makes them count."""

from __future__ import annotations

import errno
import os
import re
import uuid
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from edgarmill.schemas.disk import make_folder, refusals, storage_error, whole_file
from edgarmill.schemas.errors import EdgarmillError, LakeCorrupt, NewerSchema, UnknownName, UsageError
from edgarmill.schemas.interrupts import heed
from edgarmill.schemas.tables import SCHEMA_VERSION, TABLES, TEXT, Table

VERSION_KEY = b"edgarmill.schema_version"  # in the metadata of every Parquet file
MERGED = "merged"  # name of parts that several small ones were merged into
RESTORE = "Restore the lake from a copy, or ingest again into a new one."
UPDATE = "Update edgarmill to read it."

Only = Mapping[str, Collection[str]]  # text column -> values wanted

_GROUP_BYTES = 4 * 2**20
_BATCH_ROWS = 8_192
_FEW_ROWS = 10_000
_PATH = re.compile(r"tables/[a-z_]+/[A-Za-z0-9][A-Za-z0-9._-]*\.parquet")  # nothing else is ever opened
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


@dataclass(frozen=True, slots=True)
class Part:
    """One immutable Parquet file of a table. No rows, no file: then `path` is empty."""

    table: str
    path: str  # relative to the lake's root
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Drop:
    """Rows to leave out of the next snapshot: those whose `column` is one of `values`."""

    table: str
    column: str
    values: frozenset[str]


def write_part(root: str, table: str, part: str, rows: list[Any] | pa.Table, run_id: str) -> Part:
    """Writes rows as one new Parquet file, for a later commit. Needs no lock; uncommitted files are never read.

    `rows` are records of the table's class or an Arrow table with its columns (missing ones become null). Raises StorageError.
    """
    data = _stored(table, rows, run_id)
    if not data.num_rows:
        return Part(table, "", 0, 0)
    name = f"{plain_name(part)}-{uuid.uuid4().hex[:16]}.parquet"
    return _write(root, table, name, data.schema, data.to_batches())


def merge(root: str, parts: Sequence[Part]) -> Part:
    """One new part with the rows of all the parts, in their order."""
    table = parts[0].table
    schema = stored_schema(known_table(table))
    batches = (batch for part in parts for batch in rows_of(root, part, schema))
    return _write(root, table, f"{MERGED}-{uuid.uuid4().hex[:16]}.parquet", schema, batches)


def rows_of(root: str, part: Part, schema: pa.Schema, only: Only | None = None) -> Iterator[pa.RecordBatch]:
    """Rows of a part in the columns of `schema`, null where the file lacks one; with `only`, rows whose columns have one of the values.

    Plain Parquet reading: `pyarrow.dataset`, `pa.array` and `pa.scalar` import pandas where it is installed, half a second for a listing.
    Raises LakeCorrupt, NewerSchema, StorageError.
    """
    import pyarrow.parquet as pq

    path = os.path.join(root, part.path)
    check_file(root, part)
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            check_version(file.metadata.metadata, path)
            stored = set(file.schema_arrow.names)
            if not stored.issuperset(only or ()):
                return
            ordered = {column: sorted(values) for column, values in (only or {}).items()}
            for group in range(file.num_row_groups):
                if not all(_may_hold(file.metadata, column, values, group) for column, values in ordered.items()):
                    continue
                runs = _runs(file, group, only) if only else [(0, part.rows)]
                if runs:
                    data = _shaped(file.read_row_group(group, [name for name in schema.names if name in stored]), schema)
                    for start, end in runs:
                        yield from data.slice(start, end - start).to_batches()
    except (OSError, pa.ArrowException) as error:
        raise damage(error, path) from error


def values_of(root: str, part: Part, column: str) -> set[str]:
    """The distinct values of a text column. A row group that holds one alone says so in its statistics, and is not read.

    Raises LakeCorrupt, NewerSchema, StorageError.
    """
    import pyarrow.parquet as pq

    check_text_column(part.table, column)
    path = os.path.join(root, part.path)
    check_file(root, part)
    found: set[str] = set()
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            check_version(file.metadata.metadata, path)
            for group in range(file.num_row_groups if column in file.schema_arrow.names else 0):
                told = _statistics(file.metadata, column, group)
                if told is not None and told.null_count == 0 and told.min == told.max:
                    found.add(str(told.min))
                else:
                    found.update(file.read_row_group(group, [column])[column].unique().to_pylist())
    except (OSError, pa.ArrowException) as error:
        raise damage(error, path) from error
    return found - {None}  # type: ignore[arg-type]  # what a row lacks is no value


def _shaped(data: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table in the columns of `schema`, those it lacks null."""
    present = set(data.column_names)
    columns = [_typed(data[f.name], f.type) if f.name in present else pa.nulls(data.num_rows, f.type) for f in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _typed(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """A cast only where it is one: it imports pyarrow.compute, a tenth of a second for a listing."""
    return column if column.type == wanted else column.cast(wanted)


def _runs(file: Any, group: int, only: Only) -> list[tuple[int, int]]:
    """Ranges of a row group's rows that have one of the values in every column. Columns are read in the order given, while any row is left:
    one that is quick to read and fits few rows comes best first."""
    if file.metadata.num_rows > _FEW_ROWS:
        return _runs_of_many(file, group, only)
    rows = file.metadata.row_group(group).num_rows
    fits = [True] * rows
    for column, values in only.items():
        found = file.read_row_group(group, [column])[column].to_pylist()
        fits = [fit and value in values for fit, value in zip(fits, found, strict=True)]
        if True not in fits:
            return []
    edges = [i for i in range(rows + 1) if (i < rows and fits[i]) != (i > 0 and fits[i - 1])]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _runs_of_many(file: Any, group: int, only: Only) -> list[tuple[int, int]]:
    """As `_runs`, a hundred times as fast, for a tenth of a second of imports."""
    import numpy as np
    import pyarrow.compute as pc

    fits = np.ones(file.metadata.row_group(group).num_rows, dtype=bool)
    for column, values in only.items():
        fits &= pc.is_in(file.read_row_group(group, [column])[column], value_set=pa.array(list(values), TEXT)).to_numpy()
        if not fits.any():
            return []
    edges = np.flatnonzero(np.diff(fits, prepend=False, append=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _write(root: str, table: str, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Part:
    """One Parquet file, in row groups of about _GROUP_BYTES."""
    import pyarrow.parquet as pq

    path = os.path.join(os.path.abspath(root), "tables", table, name)
    schema = schema.with_metadata({VERSION_KEY: str(SCHEMA_VERSION)})
    rows = 0
    with refusals(path):
        make_folder(os.path.dirname(path))
        with whole_file(path) as file:
            with pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer:
                for group in _groups(batches):
                    writer.write_table(group, row_group_size=group.num_rows)
                    rows += group.num_rows
            file.flush()
            size = file.tell()
    return Part(table, f"tables/{table}/{name}", rows, size)


def _groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        step = max(1, batch.num_rows * _GROUP_BYTES // max(batch.nbytes, 1))
        for first in range(0, batch.num_rows, step):
            waiting.append(batch.slice(first, step))
            size += waiting[-1].nbytes
            if size >= _GROUP_BYTES:
                yield pa.Table.from_batches(waiting)
                waiting, size = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _stored(table: str, rows: list[Any] | pa.Table, run_id: str) -> pa.Table:
    """Rows in the table's stored schema."""
    known = known_table(table)
    schema = stored_schema(known)
    data = rows if isinstance(rows, pa.Table) else known.arrow(rows)
    unknown = set(data.column_names) - set(schema.names)
    if unknown:
        raise UnknownName("no such column", f"{table}.{sorted(unknown)[0]}", "Add it to schemas/tables.py first.")
    if "run_id" not in data.column_names:
        data = data.append_column("run_id", pa.repeat(pa.scalar(run_id, TEXT), data.num_rows))
    if data["run_id"].null_count:
        raise UsageError("rows without the run that wrote them", f"{table}.run_id", "Name it: by it a night finds what changed.")
    return _shaped(data, schema)


def without(root: str, part: Part, drop: Drop) -> Part:
    """The part without the dropped rows: itself when it has none of them, else a new file; rows=0 when nothing is left."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    check_text_column(drop.table, drop.column)
    path = os.path.join(root, part.path)
    values = sorted(drop.values)
    wanted = pa.array(values, TEXT)
    check_file(root, part)
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            check_version(file.metadata.metadata, path)
            if drop.column not in file.schema_arrow.names or not any(
                    _may_hold(file.metadata, drop.column, values, group) for group in range(file.num_row_groups)):
                return part
            hits = pc.sum(pc.is_in(file.read([drop.column])[drop.column], value_set=wanted)).as_py()
            if not hits:
                return part
            if hits == part.rows:
                return Part(part.table, "", 0, 0)
            batches = file.iter_batches(_BATCH_ROWS)
            left = (batch.filter(pc.invert(pc.is_in(batch.column(drop.column), value_set=wanted))) for batch in batches)
            stem = os.path.basename(part.path).rsplit("-", 1)[0]
            return _write(root, part.table, f"{stem}-{uuid.uuid4().hex[:16]}.parquet", file.schema_arrow, left)
    except (OSError, pa.ArrowException) as error:
        raise damage(error, path) from error


def check_text_column(table: str, column: str) -> None:
    """Raises UnknownName or UsageError unless the table has that column with text."""
    schema = stored_schema(known_table(table))
    if column not in schema.names:
        raise UnknownName("no such column", f"{table}.{column}", f"Columns: {', '.join(schema.names)}.")
    if schema.field(column).type != TEXT:
        raise UsageError("not a text column", f"{table}.{column}", "Choose rows by a text column.")


def _may_hold(metadata: Any, column: str, values: Sequence[str], group: int) -> bool:
    """False when the statistics of a row group exclude all of the sorted values: then it need not be read."""
    told = _statistics(metadata, column, group)
    return told is None or bisect_left(values, str(told.min)) < bisect_right(values, str(told.max))


def _statistics(metadata: Any, column: str, group: int) -> Any | None:
    """Of a text column in a row group, where they tell its least and greatest value."""
    place = metadata.schema.to_arrow_schema().names.index(column)
    found = metadata.row_group(group).column(place)
    told = found.statistics if found.path_in_schema == column else None
    return told if told is not None and told.has_min_max else None


def damage(error: Exception, path: str) -> EdgarmillError:
    """The typed form of what Arrow met while it read a committed file."""
    heed(error)
    if isinstance(error, OSError) and error.errno in {errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE, errno.ENFILE}:
        return storage_error(error, path)
    return LakeCorrupt("committed file cannot be read as Parquet", path, RESTORE)


def stored_schema(table: Table) -> pa.Schema:
    """A table's schema as stored: with `run_id`."""
    schema = table.schema
    if "run_id" in schema.names:
        return schema
    return schema.append(pa.field("run_id", TEXT, metadata={"meaning": "the run that wrote the row"}))


def check_version(metadata: Mapping[bytes, bytes] | None, path: str) -> None:
    """Raises NewerSchema when a Parquet file says that a later edgarmill wrote it."""
    stated = (metadata or {}).get(VERSION_KEY, b"1")
    if not stated.isdigit():
        raise LakeCorrupt("states no readable schema version", path, RESTORE)
    if int(stated) > SCHEMA_VERSION:
        raise NewerSchema(f"schema version {int(stated)}, this edgarmill knows {SCHEMA_VERSION}", path, UPDATE)


def check_file(root: str, part: Part) -> None:
    """Raises LakeCorrupt when a committed file is missing, is not in its table's folder, or has another size than it was committed with."""
    if not _PATH.fullmatch(part.path) or part.path.split("/")[1] != part.table:
        raise LakeCorrupt("not the path of a part", part.path[:200], RESTORE)
    path = os.path.join(root, part.path)
    try:
        size = os.stat(path).st_size
    except FileNotFoundError:
        raise LakeCorrupt("committed file is missing", path, RESTORE) from None
    except OSError as error:
        raise storage_error(error, path) from error
    if size != part.bytes:
        raise LakeCorrupt(f"committed file has {size} bytes instead of {part.bytes}", path, RESTORE)


def known_table(name: str) -> Table:
    """Raises UnknownName."""
    if name not in TABLES:
        raise UnknownName("no such table", name, f"Tables: {', '.join(TABLES)}.")
    return TABLES[name]


def plain_name(name: str) -> str:
    """A name that is one plain path component. Raises UsageError."""
    if not _NAME.fullmatch(name):
        raise UsageError("not a plain name (letters, digits, . _ -)", name[:80], "Choose another name.")
    return name
