"""A snapshot: one committed state of all tables. An immutable JSON file names the Parquet files; readers take that list, never a glob."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa

from edgarmill.schemas import ids
from edgarmill.schemas.errors import EdgarmillError, LakeCorrupt, NewerSchema, UnknownName, UsageError
from edgarmill.schemas.interrupts import heed
from edgarmill.schemas.parts import (
    RESTORE,
    UPDATE,
    Part,
    check_file,
    check_text_column,
    check_version,
    damage,
    known_table,
    rows_of,
    stored_schema,
    values_of,
)
from edgarmill.schemas.tables import SCHEMA_VERSION, pylist

_SEAL = b',"sha256":"%s"}'


@dataclass(frozen=True)
class Snapshot:
    """All tables and index versions after one commit."""

    root: str
    number: int
    parent: int | None
    run_id: str
    created_at: datetime
    key: str
    tables: Mapping[str, tuple[Part, ...]] = field(repr=False)
    indexes: Mapping[str, int]  # recipe -> version of its Lance dataset
    command: str = ""
    message: str = ""
    keys: frozenset[str] = field(default=frozenset(), repr=False)  # hashes of the keys of all commits up to this one

    def files(self, table: str) -> list[str]:
        """Absolute paths of a table's Parquet files, in commit order; [] when it has no rows."""
        return [os.path.join(self.root, part.path) for part in self._parts(table)]

    def count(self, table: str) -> int:
        """Rows of a table, from the catalog alone."""
        return sum(part.rows for part in self._parts(table))

    def read(self, table: str, columns: Sequence[str] | None = None, where: Any = None) -> pa.Table:
        """Rows in commit order, `run_id` last. Columns that a file does not have are null.

        `where` is {text column: values wanted}, which is quick to start, or any pyarrow.compute expression.
        Raises NewerSchema, LakeCorrupt (names the file), UnknownName for a column, UsageError for a `where` that does not fit.
        """
        return pa.Table.from_batches(self.batches(table, columns, where), asked_schema(table, columns))

    def values(self, table: str, column: str) -> set[str]:
        """The distinct values of a text column, mostly without reading it. Raises as `read` does."""
        return {value for part in self._parts(table) for value in values_of(self.root, part, column)}

    def batches(self, table: str, columns: Sequence[str] | None = None, where: Any = None) -> Iterator[pa.RecordBatch]:
        """As `read`, batch by batch: for tables that do not fit into memory."""
        schema = asked_schema(table, columns)
        if where is None or isinstance(where, Mapping):
            for column in where or ():
                check_text_column(table, column)
            only = {column: frozenset(values) for column, values in (where or {}).items()}
            return (batch for part in self._parts(table) for batch in rows_of(self.root, part, schema, only))
        _check_where(stored_schema(known_table(table)), where)
        return self._scan(self.dataset(table), table, schema, where) if self._parts(table) else iter(())

    def dataset(self, table: str) -> Any:
        """A pyarrow dataset of the table's files, for engines that scan it themselves (DuckDB); opens no other file.

        Raises NewerSchema, LakeCorrupt (names the file).
        """
        import pyarrow.dataset as ds

        full = stored_schema(known_table(table))
        parts = self._parts(table)
        for part in parts:
            check_file(self.root, part)
        if not parts:
            return ds.dataset(full.empty_table())
        options = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
        form = ds.ParquetFileFormat(default_fragment_scan_options=options)
        try:
            found = ds.dataset(self.files(table), schema=full, format=form)
            for fragment in found.get_fragments():
                check_version(fragment.metadata.metadata, fragment.path)
        except (OSError, pa.ArrowException) as error:
            raise self._damage(table, error) from error
        return found

    def _scan(self, found: Any, table: str, schema: pa.Schema, where: Any) -> Iterator[pa.RecordBatch]:
        try:
            for batch in found.to_batches(columns=schema.names, filter=where):
                if batch.num_rows:
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
        except (OSError, pa.ArrowException) as error:
            raise self._damage(table, error) from error

    def records(self, table: str, where: Any = None) -> list[Any]:
        """Rows as records of the table's class."""
        known = known_table(table)
        return [known.record_of(row) for row in pylist(self.read(table, where=where))]

    def _parts(self, table: str) -> tuple[Part, ...]:
        return self.tables.get(known_table(table).name, ())

    def _damage(self, table: str, error: Exception) -> EdgarmillError:
        """Which file of the table made Arrow fail."""
        import pyarrow.parquet as pq

        heed(error)
        for part in self._parts(table):
            path = os.path.join(self.root, part.path)
            try:
                check_file(self.root, part)
                with pq.ParquetFile(path, page_checksum_verification=True) as file:
                    for _ in file.iter_batches():
                        pass
            except LakeCorrupt as found:
                return found
            except (OSError, pa.ArrowException) as found:
                return damage(found, path)
        return LakeCorrupt(f"table cannot be read ({str(error).splitlines()[0][:200]})", f"{self.root}: {table}", RESTORE)


def asked_schema(table: str, columns: Sequence[str] | None) -> pa.Schema:
    """The stored schema, or the columns asked for in their order. Raises UnknownName."""
    schema = stored_schema(known_table(table))
    for name in columns or ():
        if name not in schema.names:
            raise UnknownName("no such column", f"{table}.{name}", f"Columns: {', '.join(schema.names)}.")
    return schema if columns is None else pa.schema([schema.field(name) for name in columns])


def encode(snapshot: Snapshot) -> bytes:
    """The snapshot as JSON that ends in its own checksum."""
    head = {
        "schema_version": SCHEMA_VERSION,
        "number": snapshot.number,
        "parent": snapshot.parent,
        "run_id": snapshot.run_id,
        "command": snapshot.command,
        "created_at": snapshot.created_at.isoformat(),
        "key": snapshot.key,
        "message": snapshot.message,
        "indexes": dict(snapshot.indexes),
        "keys": sorted(snapshot.keys),
        "tables": {name: [[p.path, p.rows, p.bytes] for p in parts] for name, parts in snapshot.tables.items() if parts},
    }
    body = json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode()
    return body[:-1] + _SEAL % ids.sha256(body).encode()


def decode(data: bytes, root: str, number: int, path: str) -> Snapshot:
    """Snapshot `number` from its JSON. Raises NewerSchema, or LakeCorrupt that names `path`."""
    try:
        head = json.loads(data)
        version = int(head["schema_version"])
        if version > SCHEMA_VERSION:
            raise NewerSchema(f"schema version {version}, this edgarmill knows {SCHEMA_VERSION}", path, UPDATE)
        if not _sealed(data) or head["number"] != number:
            raise ValueError("does not match its checksum or number")
        return Snapshot(
            root=root,
            number=number,
            parent=head["parent"],
            run_id=head["run_id"],
            created_at=datetime.fromisoformat(head["created_at"]),
            key=head["key"],
            tables={name: tuple(Part(name, *entry) for entry in entries) for name, entries in head["tables"].items()},
            indexes=head["indexes"],
            command=head["command"],
            message=head["message"],
            keys=frozenset(head["keys"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise LakeCorrupt(f"snapshot cannot be read ({type(error).__name__})", path, RESTORE) from error


def _sealed(data: bytes) -> bool:
    """Whether the sha256 at the end is that of the JSON before it was added."""
    body = data[: -len(_SEAL % bytes(64))] + b"}"
    return data == body[:-1] + _SEAL % ids.sha256(body).encode()


def _check_where(schema: pa.Schema, where: Any) -> None:
    if where is None:
        return
    try:
        schema.empty_table().filter(where)
    except (pa.ArrowException, TypeError) as error:
        raise UsageError(f"condition does not fit the table ({str(error).splitlines()[0][:200]})", "", "See schemas/tables.py.") from None
