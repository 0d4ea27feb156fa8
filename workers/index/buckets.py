"""The tables of a large index cut into buckets of filings, in one pass: what is then joined and sorted fits into memory.

Joined whole, 3.2 million chunks with their texts and vectors were beyond DuckDB's 2 GB, spilling and all; read share by share, each share
read the whole of three tables again. So every row is read once and laid into the file of its bucket, in the lake's `tmp`, in a folder of
its own that goes with the build (one that a killed build left is removed by the next).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import pyarrow as pa

from edgarmill.schemas.disk import refusals
from edgarmill.schemas.snapshot import Snapshot, asked_schema
from edgarmill.schemas.store import Lake

TABLES = ("chunks", "contexts", "embeddings")
HELD_ROWS = 50_000  # of embeddings that are looked up at a time
_FOLDER = "buckets-"


@contextmanager
def buckets(lake: Lake, snapshot: Snapshot, wanted: Mapping[str, Mapping[str, str]], shares: Sequence[Sequence[str]]) -> Iterator[str]:
    """A folder with the rows of each share of accessions, by table and number: `table_of`. `wanted`: table -> the values of the columns
    that its rows must have. Needs about the bytes of the three tables, unpacked. Raises LakeCorrupt, StorageError."""
    within = lake.folder("tmp")
    with refusals(within):
        for left in os.listdir(within):
            if left.startswith(_FOLDER):
                shutil.rmtree(os.path.join(within, left), ignore_errors=True)
        folder = tempfile.mkdtemp(prefix=_FOLDER, dir=within)
        try:
            named = pa.array([one for share in shares for one in share], pa.string())
            places = pa.array([number for number, share in enumerate(shares) for _ in share], pa.int64())
            _by_filing(folder, snapshot, "chunks", wanted["chunks"], named, places)
            hashes = _by_filing(folder, snapshot, "contexts", wanted["contexts"], named, places)
            _by_text(folder, snapshot, wanted["embeddings"], hashes)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def table_of(folder: str, table: str, bucket: int) -> pa.Table:
    """The rows of a bucket, mapped from its file."""
    path = _path(folder, table, bucket)
    if not os.path.exists(path):
        return asked_schema(table, None).empty_table()
    return pa.ipc.open_stream(pa.memory_map(path)).read_all()


def _path(folder: str, table: str, bucket: int) -> str:
    return os.path.join(folder, f"{table}-{bucket:05d}.arrows")


def _by_filing(folder: str, snapshot: Snapshot, table: str, having: Mapping[str, str], named: pa.Array, places: pa.Array) -> pa.Table:
    """Lays the rows of the named filings into their buckets; gives each text of contexts with its buckets."""
    import pyarrow.compute as pc

    texts = [pa.table({"text_hash": pa.array([], pa.string()), "bucket": pa.array([], pa.int64())})]
    with _Files(folder, table) as files:
        for rows in _having(snapshot, table, having):
            at = pc.index_in(rows["accession"], value_set=named)
            rows = rows.append_column("bucket", pc.take(places, at)).filter(pc.is_valid(at))
            files.lay(rows)
            if "text_hash" in rows.column_names:
                texts.append(rows.select(["text_hash", "bucket"]))
    return pa.concat_tables(texts).group_by(["text_hash", "bucket"]).aggregate([])


def _by_text(folder: str, snapshot: Snapshot, having: Mapping[str, str], hashes: pa.Table) -> None:
    """Lays each vector into every bucket that has its text: equal texts of several filings have one vector."""
    import duckdb

    with duckdb.connect(":memory:", config={"memory_limit": "2GB"}) as connection, _Files(folder, "embeddings") as files:
        connection.register("given", hashes)
        connection.execute("CREATE TABLE places AS SELECT text_hash, bucket FROM given")
        for rows in _gathered(_having(snapshot, "embeddings", having)):
            names = rows.select(["text_hash"]).append_column("row", pa.array(range(rows.num_rows), pa.int64()))
            connection.register("names", names)
            found = connection.sql("SELECT row, bucket FROM names JOIN places USING (text_hash) ORDER BY ALL").to_arrow_table()
            files.lay(rows.take(found["row"]).append_column("bucket", found["bucket"]))


def _having(snapshot: Snapshot, table: str, having: Mapping[str, str]) -> Iterator[pa.Table]:
    import pyarrow.compute as pc

    for batch in snapshot.batches(table):
        rows = pa.Table.from_batches([batch])
        for column, value in having.items():
            rows = rows.filter(pc.equal(rows[column], value))
        if rows.num_rows:
            yield rows


def _gathered(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Tables of at least HELD_ROWS rows, but the last."""
    held: list[pa.Table] = []
    for one in tables:
        held.append(one)
        if sum(t.num_rows for t in held) >= HELD_ROWS:
            yield pa.concat_tables(held)
            held = []
    if held:
        yield pa.concat_tables(held)


class _Files:
    """One file for each bucket of a table, opened when it gets its first rows."""

    def __init__(self, folder: str, table: str) -> None:
        self._folder, self._table, self._schema = folder, table, asked_schema(table, None)
        self._writers: dict[int, Any] = {}
        self._stack = ExitStack()

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *failure: Any) -> None:
        self._stack.close()

    def lay(self, rows: pa.Table) -> None:
        """Rows with a column `bucket`, each into its file."""
        import numpy as np

        numbers = rows["bucket"].to_numpy()
        order = np.argsort(numbers, kind="stable")
        rows, numbers = rows.select(self._schema.names).take(pa.array(order)), numbers[order]
        edges = np.flatnonzero(np.diff(numbers, prepend=-1, append=-1))
        for start, end in zip(edges, edges[1:], strict=False):
            self._writer(int(numbers[start])).write_table(rows.slice(start, end - start).cast(self._schema))

    def _writer(self, bucket: int) -> Any:
        if bucket not in self._writers:
            file = self._stack.enter_context(open(_path(self._folder, self._table, bucket), "wb"))
            self._writers[bucket] = self._stack.enter_context(pa.ipc.new_stream(file, self._schema))
        return self._writers[bucket]
