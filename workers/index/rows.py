"""Which rows the index of a recipe has, computed from the lake's tables: chunks with their context, vector and filing.

Rows are computed for the whole lake, or, where the verified version that a build goes on from is known, for the filings alone of which any
table has other rows since (`Base`): a night then costs what changed. Both ways give the same totals and the same rows to go and to come.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from edgarmill.schemas.errors import LakeCorrupt
from edgarmill.schemas.ids import digest
from edgarmill.schemas.interrupts import heeding
from edgarmill.schemas.recipe import Recipe
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.store import Lake
from edgarmill.schemas.views import connect
from edgarmill.workers.index.buckets import TABLES as _TABLES
from edgarmill.workers.index.buckets import table_of

INDEX_SCHEMA_VERSION = 2  # 2: hashes of rows are sums, and rest on the hashes that chunks and contexts have
HASHED_SINCE = 2  # the schema from which `rows_hash` is what a manifest has
BATCH_ROWS = 4096
_READERS = 2  # tables read beside another
VECTOR_INDEX_ROWS = 100_000  # below, an exact scan takes under 0.2 s and needs no index
TOUCHED_SHARE, TOUCHED = 0.05, 1000  # filings that may have changed, of all or in number: with more all rows are computed

_FILING = ("accession", "ciks", "company", "tickers", "form", "family", "fiscal_year", "fiscal_quarter", "filed_on", "period_on", "url")


@dataclass(frozen=True)
class IndexSpec:
    """What is to be indexed: fingerprints as the stages wrote them. `vector_index_rows` decides speed only, never content."""

    recipe: Recipe
    chunker: str
    context: str
    model_hash: str
    model: str
    dimensions: int
    accessions: frozenset[str] | None = None  # the filings that belong; None = those that have a chunk with context and vector
    vector_index_rows: int = VECTOR_INDEX_ROWS

    @property
    def schema(self) -> pa.Schema:
        return index_schema(self.dimensions, self.recipe.embedding.stored or "float32")


def index_schema(dimensions: int, numbers: str = "float32") -> pa.Schema:
    """Columns of `index/<recipe>.lance`; vectors of float32 or float16."""
    text, texts, number, day = pa.string(), pa.list_(pa.string()), pa.int64(), pa.date32()
    return pa.schema([
        ("chunk_id", text), ("accession", text), ("document_id", text), ("ciks", texts), ("company", text), ("tickers", texts),
        ("form", text), ("family", text), ("fiscal_year", number), ("fiscal_quarter", number), ("filed_on", day), ("period_on", day),
        ("part", text), ("item", text), ("section_title", text), ("page_start", number), ("page_end", number),
        ("start", number), ("end", number), ("ordinal", number), ("tokens", number), ("text", text), ("context", text), ("url", text),
        ("row_hash", text),  # of everything in the row but the vector's digits: tells whether a row must be replaced
        ("vector", pa.list_(pa.float16() if numbers == "float16" else pa.float32(), dimensions)),
    ])


@dataclass(frozen=True)
class Totals:
    """What the snapshot wants in the index. `expected` counts chunks alone, before they meet a context and a vector."""

    expected: int
    tokens: int
    cut_tokens: int
    corpus: tuple[tuple[str, str], ...]  # (accession, sha256 of its bytes), sorted
    rows_hash: str


@dataclass(frozen=True)
class Base:
    """A verified version that a build goes on from: its Lance dataset, what it held, and the lake that it was built from."""

    dataset: Any
    totals: Totals
    snapshot: Snapshot


class WantedRows:
    """The wanted rows of one snapshot, in DuckDB: joins and sorts beyond its memory go to disk. With `base`, those of the filings alone
    that may have changed; `held` are then the rows that it has of them."""

    def __init__(self, lake: Lake, snapshot: Snapshot, spec: IndexSpec, connection: Any, base: Base | None) -> None:
        self._lake, self._snapshot, self._spec, self._connection, self.base = lake, snapshot, spec, connection, base

    @property
    def snapshot(self) -> int:
        return self._snapshot.number

    def totals(self) -> Totals:
        """Of the whole index as wanted, by the base's and what changed where there is one."""
        ask, key = self._connection.execute, [self._spec.chunker]
        tokens, cut = ask("SELECT coalesce(sum(tokens), 0)::BIGINT, coalesce(sum(cut_tokens), 0)::BIGINT FROM wanted").fetchall()[0]
        corpus = ask("SELECT accession, sha256 FROM filing WHERE accession IN (SELECT accession FROM member) ORDER BY ALL").fetchall()
        expected = ask("SELECT count(DISTINCT chunk_id) FROM chunks WHERE chunker = $1 AND accession IN (SELECT accession FROM member)",
                       key).fetchall()[0][0]
        mine = Totals(expected, tokens - cut, cut, tuple(corpus), rows_hash(self._connection, "wanted"))
        if self.base is None:
            return mine
        rows, tokens, cut = ask(_BEFORE).fetchall()[0]
        touched = {row[0] for row in ask("SELECT accession FROM touched").fetchall()}
        known = self.base.totals
        kept = [one for one in known.corpus if one[0] not in touched]
        return Totals(known.expected - rows + expected, known.tokens - (tokens - cut) + mine.tokens,
                      known.cut_tokens - cut + mine.cut_tokens, tuple(sorted([*kept, *corpus])),
                      _changed(known.rows_hash, rows_hash(self._connection, "held"), mine.rows_hash))

    def compare(self, dataset: Any) -> tuple[list[str], int]:
        """Chunk ids of held rows that are to go, and how many rows are to come; `coming` then gives those."""
        ask, key = self._connection.execute, "(chunk_id, row_hash)"
        if self.base is None:
            _hold(self._connection, dataset)
        ask(f"CREATE OR REPLACE TEMP TABLE coming AS SELECT chunk_id FROM wanted ANTI JOIN held USING {key}")
        gone = ask(f"SELECT DISTINCT chunk_id FROM held ANTI JOIN wanted USING {key} ORDER BY 1").fetchall()
        return [row[0] for row in gone], ask("SELECT count(*) FROM coming").fetchall()[0][0]

    @contextmanager
    def whole(self) -> Iterator[WantedRows]:
        """Every row of the snapshot, as one that is to come."""
        with nullcontext(self) if self.base is None else wanted_rows(self._lake, self._snapshot, self._spec) as rows:
            rows._connection.execute("CREATE OR REPLACE TEMP TABLE coming AS SELECT chunk_id FROM wanted")
            yield rows

    def shares(self, rows: int) -> list[list[str]]:
        """The filings that have rows, sorted and cut into shares of about that many rows."""
        cut: list[list[str]] = []
        held = rows
        for accession, count in self._connection.execute("SELECT accession, count(*) FROM wanted GROUP BY 1 ORDER BY 1").fetchall():
            if held >= rows:
                cut.append([])
                held = 0
            cut[-1].append(accession)
            held += count
        return cut

    def coming(self, schema: pa.Schema) -> pa.RecordBatchReader:
        """The rows to come, in document order, each chunk once."""
        found = self._connection.sql(_COMING.format(dimensions=int(self._spec.dimensions)),
                                     params=[self._spec.chunker, self._spec.context, self._spec.model_hash])
        return pa.RecordBatchReader.from_batches(schema, _once(found.to_arrow_reader(BATCH_ROWS), schema))


@contextmanager
def wanted_rows(lake: Lake, snapshot: Snapshot, spec: IndexSpec, base: Base | None = None) -> Iterator[WantedRows]:
    """The rows that the snapshot wants in the recipe's index. Raises LakeCorrupt, NewerSchema."""
    touched = _touched(snapshot, spec, base) if base is not None else None
    base = base if touched is not None else None
    with _connected(lake, snapshot, () if base else _TABLES) as connection:
        if base is not None and touched is not None:
            _load(connection, snapshot, spec, sorted(touched), base)
        _complete(connection, snapshot, spec, touched)
        named = "SELECT accession FROM filing" if spec.accessions is not None else "SELECT DISTINCT accession FROM wanted"
        connection.execute(f"CREATE TEMP TABLE member AS {named}")
        yield WantedRows(lake, snapshot, spec, connection, base)


@contextmanager
def _connected(lake: Lake, snapshot: Snapshot, tables: Sequence[str]) -> Iterator[Any]:
    import duckdb

    connection = connect(snapshot, tables, spill=lake.folder("tmp"))
    try:
        with heeding():
            yield connection
    except duckdb.Error as error:
        text = str(error).splitlines()[0][:200]
        raise LakeCorrupt(f"the tables cannot be joined ({text})", lake.root, "Check its free space, then run again.") from error
    finally:
        connection.close()


def _touched(snapshot: Snapshot, spec: IndexSpec, base: Base) -> set[str] | None:
    """Filings whose rows may be others than in the base: those with a row in a new part that no part which it replaced had, and those that
    came or went. A row keeps the run that wrote it when its part is rewritten. None when they are many."""
    touched: set[str] = set()
    for table in ("filings", "chunks", "contexts"):
        now, then = (frozenset(one.tables.get(table, ())) for one in (snapshot, base.snapshot))
        came, went = (replace(snapshot, tables={table: tuple(parts)}) for parts in (now - then, then - now))
        runs = came.values(table, "run_id") - went.values(table, "run_id")
        touched.update(came.read(table, ["accession"], {"run_id": runs})["accession"].to_pylist())
    known = _parsed(snapshot, spec, ["accession"])["accession"].to_pylist()
    touched |= set(known) ^ {accession for accession, _ in base.totals.corpus}
    return touched if len(touched) <= max(TOUCHED, TOUCHED_SHARE * len(known)) else None


@contextmanager
def bucket_rows(lake: Lake, snapshot: Snapshot, spec: IndexSpec, accessions: Sequence[str], folder: str,
                number: int) -> Iterator[WantedRows]:
    """The rows of those filings, all of them to come, out of a bucket (`buckets.py`). Raises LakeCorrupt, NewerSchema."""
    with _connected(lake, snapshot, ()) as connection:
        for table in _TABLES:
            connection.register(table, table_of(folder, table, number))
        _complete(connection, snapshot, spec, accessions)
        with WantedRows(lake, snapshot, spec, connection, None).whole() as rows:
            yield rows


def keys(spec: IndexSpec) -> dict[str, dict[str, str]]:
    """Of each table the columns whose values say that a row is of this recipe."""
    return {"chunks": {"chunker": spec.chunker}, "contexts": {"fingerprint": spec.context}, "embeddings": {"model_hash": spec.model_hash}}


def _complete(connection: Any, snapshot: Snapshot, spec: IndexSpec, accessions: Collection[str] | None) -> None:
    """Tables `filing` and `wanted`."""
    connection.register("filing_rows", _filings(snapshot, spec, accessions))
    connection.execute("CREATE TEMP TABLE filing AS SELECT * FROM filing_rows")
    connection.execute(_COMPLETE, [spec.chunker, spec.context, spec.model_hash])


def _load(connection: Any, snapshot: Snapshot, spec: IndexSpec, touched: Sequence[str], base: Base) -> None:
    """The rows of the touched filings as tables of their own, and what the base had of them. Tables are read side by side."""
    mine = {"accession": touched, "fingerprint": [spec.context]}
    with ThreadPoolExecutor(_READERS) as pool:
        before = pool.submit(base.snapshot.read, "contexts", ["chunk_id", "tokens", "cut_tokens"], mine)
        chunks = pool.submit(snapshot.read, "chunks", where={"accession": touched, "chunker": [spec.chunker]})
        contexts = snapshot.read("contexts", where=mine)
        embeddings = embeddings_of(snapshot, contexts["text_hash"].to_pylist(), spec.model_hash, touched, base.snapshot)
        tables = {"contexts": contexts, "chunks": chunks.result(), "embeddings": embeddings, "contexts_before": before.result(),
                  "touched": pa.table({"accession": pa.array(touched, pa.string())})}
    for name, rows in tables.items():
        connection.register(name, rows)
    _hold(connection, base.dataset, touched)


def embeddings_of(snapshot: Snapshot, hashes: Collection[str], model_hash: str, accessions: Sequence[str],
                  before: Snapshot | None = None) -> pa.Table:
    """Embeddings of texts. Most came since the snapshot `before`; most others were first met in these filings, whose rows lie together; for
    what is left all rows are looked through."""
    came = frozenset(snapshot.tables.get("embeddings", ())).difference(before.tables.get("embeddings", ()) if before else ())
    since = replace(snapshot, tables={"embeddings": tuple(came)})
    found, left = [], set(hashes)
    for place, among in [*([(since, {})] if before else []), (snapshot, {"accession": list(accessions)}), (snapshot, {})]:
        found.append(place.read("embeddings", where={**among, "text_hash": list(left), "model_hash": [model_hash]}))
        left -= set(found[-1]["text_hash"].to_pylist())
        if not left:
            break
    return pa.concat_tables(found)


def _hold(connection: Any, dataset: Any, accessions: Sequence[str] | None = None) -> None:
    """Table `held`: (chunk_id, row_hash) of the dataset's rows, or of those filings'."""
    names, size = ["chunk_id", "row_hash"], 2_000  # accessions of one filter
    filters = [None] if accessions is None else [
        f"accession IN ({', '.join(quoted(one) for one in accessions[first:first + size])})" for first in range(0, len(accessions), size)]
    connection.execute("CREATE OR REPLACE TEMP TABLE held (chunk_id VARCHAR, row_hash VARCHAR)")
    for where in filters:
        connection.register("held_reader", dataset.scanner(columns=names, filter=where).to_reader())
        connection.execute("INSERT INTO held SELECT chunk_id, row_hash FROM held_reader")
        connection.unregister("held_reader")


def quoted(text: str) -> str:
    """A string as a literal of Lance's filter language."""
    return "'" + text.replace("'", "''") + "'"


def rows_hash(connection: Any, relation: str) -> str:
    """128 bits over all (chunk_id, row_hash), whatever their order: both halves of each pair's MD5, summed modulo 2^64. So the hash of
    changed rows comes from that of the rows before and of those that went and came."""
    return _hex(*connection.execute(f"SELECT {_SUMS} FROM {_pairs(relation)}").fetchall()[0])


def identity(connection: Any, relation: str) -> tuple[int, str]:
    """Rows whose chunk id another row has, and `rows_hash`, in one reading."""
    asked = f"SELECT count(*) - count(DISTINCT chunk_id), {_SUMS} FROM {_pairs(relation)}"
    repeated, upper, lower = connection.execute(asked).fetchall()[0]
    return repeated, _hex(upper, lower)


def _pairs(relation: str) -> str:
    return f"(SELECT chunk_id, md5_number(chunk_id || row_hash) AS pair FROM {relation})"


def _changed(before: str, gone: str, come: str) -> str:
    halves = [[int(one[:16], 16), int(one[16:], 16)] for one in (before, gone, come)]
    return _hex(*(b - g + c for b, g, c in zip(*halves, strict=True)))


def _hex(upper: int, lower: int) -> str:
    return f"{upper % 2**64:016x}{lower % 2**64:016x}"


def _parsed(snapshot: Snapshot, spec: IndexSpec, columns: Sequence[str], among: Collection[str] | None = None) -> pa.Table:
    """The parsed filings that may belong."""
    table = snapshot.read("filings", columns, {"status": ["parsed"]} | ({} if among is None else {"accession": among}))
    return table if spec.accessions is None else _among(table, spec.accessions)


def _among(table: pa.Table, accessions: Collection[str]) -> pa.Table:
    import pyarrow.compute as pc

    return table.filter(pc.is_in(table["accession"], value_set=pa.array(sorted(accessions), pa.string())))


def _filings(snapshot: Snapshot, spec: IndexSpec, touched: Collection[str] | None) -> pa.Table:
    """Those filings, with a digest of all that the index says of each."""
    table = _parsed(snapshot, spec, [*_FILING, "sha256"], touched)
    hashes = [digest(*row.values()) for row in table.to_pylist()]
    return table.append_column("filing_hash", pa.array(hashes, pa.string()))


def _once(batches: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows sorted by chunk without repeats: two workers may have embedded the same text, with digits a hair apart."""
    import numpy as np

    last = None
    for batch in batches:
        ids = batch.column("chunk_id").to_pylist()
        fresh = np.array([one != before for one, before in zip(ids, [last, *ids], strict=False)], dtype=bool)
        last = ids[-1] if ids else last
        yield batch.filter(pa.array(fresh)).select(schema.names).cast(schema)


# Of `_pairs`: the halves of md5_number, whose bytes DuckDB reads from the last to the first.
_SUMS = "coalesce(sum((pair & 18446744073709551615)::HUGEINT), 0), coalesce(sum((pair >> 64)::HUGEINT), 0)"

# A chunk's id is a hash of its document, range and text, its text_hash one of context and text: so neither text is read here.
_COMPLETE = """
CREATE TEMP TABLE wanted AS
SELECT DISTINCT c.chunk_id, c.accession, x.tokens, x.cut_tokens,
       md5(concat_ws('|', f.filing_hash, x.text_hash, c.document_id, coalesce(c.part, ''), coalesce(c.item, ''), len(c.section_title),
                     c.section_title, coalesce(c.page_start, -1), coalesce(c.page_end, -1), c.start, c."end", c.ordinal, x.tokens,
                     x.cut_tokens)) AS row_hash
FROM chunks c JOIN contexts x ON c.chunk_id = x.chunk_id JOIN filing f ON c.accession = f.accession
WHERE c.chunker = $1 AND x.fingerprint = $2 AND x.text_hash IN (SELECT text_hash FROM embeddings WHERE model_hash = $3)
"""

_BEFORE = """
SELECT (SELECT count(*) FROM held), coalesce(sum(tokens), 0)::BIGINT, coalesce(sum(cut_tokens), 0)::BIGINT
FROM (SELECT DISTINCT chunk_id, tokens, cut_tokens FROM contexts_before WHERE chunk_id IN (SELECT chunk_id FROM held))
"""

_COMING = """
SELECT c.chunk_id, c.accession, c.document_id, f.ciks, f.company, f.tickers, f.form, f.family, f.fiscal_year, f.fiscal_quarter,
       f.filed_on, f.period_on, c.part, c.item, c.section_title, c.page_start, c.page_end, c.start, c."end", c.ordinal,
       x.tokens - x.cut_tokens AS tokens, c.text, x.context, f.url, w.row_hash,
       CASE WHEN len(e.vector) = {dimensions} THEN e.vector::FLOAT[{dimensions}] END AS vector
FROM wanted w JOIN coming USING (chunk_id) JOIN chunks c USING (chunk_id) JOIN contexts x USING (chunk_id)
     JOIN filing f ON c.accession = f.accession JOIN embeddings e ON x.text_hash = e.text_hash
WHERE c.chunker = $1 AND x.fingerprint = $2 AND e.model_hash = $3
ORDER BY c.accession, c.document_id, c.ordinal, c.chunk_id
"""
