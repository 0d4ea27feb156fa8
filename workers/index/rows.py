"""Which rows the index of a recipe has, computed from the lake's tables: chunks with their context, vector and filing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from edgarmill.schemas.errors import LakeCorrupt
from edgarmill.schemas.ids import digest
from edgarmill.schemas.recipe import Recipe
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.store import Lake
from edgarmill.schemas.views import connect

INDEX_SCHEMA_VERSION = 1
BATCH_ROWS = 4096
VECTOR_INDEX_ROWS = 100_000  # below, an exact scan takes under 0.2 s and needs no index

_TABLES = ("chunks", "contexts", "embeddings")
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


def index_schema(dimensions: int) -> pa.Schema:
    """Columns of `index/<recipe>.lance`."""
    text, texts, number, day = pa.string(), pa.list_(pa.string()), pa.int64(), pa.date32()
    return pa.schema([
        ("chunk_id", text), ("accession", text), ("document_id", text), ("ciks", texts), ("company", text), ("tickers", texts),
        ("form", text), ("family", text), ("fiscal_year", number), ("fiscal_quarter", number), ("filed_on", day), ("period_on", day),
        ("part", text), ("item", text), ("section_title", text), ("page_start", number), ("page_end", number),
        ("start", number), ("end", number), ("ordinal", number), ("tokens", number), ("text", text), ("context", text), ("url", text),
        ("row_hash", text),  # of everything in the row but the vector's digits: tells whether a row must be replaced
        ("vector", pa.list_(pa.float32(), dimensions)),
    ])


@dataclass(frozen=True)
class Totals:
    """What the snapshot wants in the index. `expected` counts chunks alone, before they meet a context and a vector."""

    expected: int
    tokens: int
    cut_tokens: int
    corpus: tuple[tuple[str, str], ...]  # (accession, sha256 of its bytes), sorted
    rows_hash: str


class WantedRows:
    """The wanted rows of one snapshot, in DuckDB: joins and sorts beyond its memory go to disk."""

    def __init__(self, connection: Any, spec: IndexSpec) -> None:
        self._connection, self._spec = connection, spec

    def totals(self) -> Totals:
        ask = self._connection.execute
        tokens, cut = ask("SELECT coalesce(sum(tokens), 0)::BIGINT, coalesce(sum(cut_tokens), 0)::BIGINT FROM wanted").fetchall()[0]
        corpus = ask("SELECT accession, sha256 FROM filing WHERE accession IN (SELECT accession FROM member) ORDER BY ALL").fetchall()
        expected = ask("SELECT count(DISTINCT chunk_id) FROM chunks WHERE chunker = $1 AND accession IN (SELECT accession FROM member)",
                       [self._spec.chunker]).fetchall()[0][0]
        return Totals(expected, tokens - cut, cut, tuple(corpus), self._hash("wanted"))

    def _hash(self, relation: str) -> str:
        """One digest over all (chunk_id, row_hash), whatever their order."""
        return rows_hash(self._connection.sql(f"SELECT chunk_id, row_hash FROM {relation} ORDER BY ALL").to_arrow_reader(65_536))

    def compare(self, held: pa.RecordBatchReader) -> tuple[list[str], int]:
        """Chunk ids of held rows that are to go, and how many rows are to come; `write` then gives those."""
        ask, key = self._connection.execute, "(chunk_id, row_hash)"
        self._connection.register("held_reader", held)
        ask("CREATE OR REPLACE TEMP TABLE held AS SELECT chunk_id, row_hash FROM held_reader")
        self._connection.unregister("held_reader")
        ask(f"CREATE OR REPLACE TEMP TABLE coming AS SELECT chunk_id FROM wanted ANTI JOIN held USING {key}")
        gone = ask(f"SELECT DISTINCT chunk_id FROM held ANTI JOIN wanted USING {key} ORDER BY 1").fetchall()
        return [row[0] for row in gone], ask("SELECT count(*) FROM coming").fetchall()[0][0]

    def all(self) -> None:
        """Makes every wanted row one that is to come."""
        self._connection.execute("CREATE OR REPLACE TEMP TABLE coming AS SELECT chunk_id FROM wanted")

    def coming(self, schema: pa.Schema) -> pa.RecordBatchReader:
        """The rows to come, in document order, each chunk once."""
        found = self._connection.sql(_COMING.format(dimensions=int(self._spec.dimensions)),
                                     params=[self._spec.chunker, self._spec.context, self._spec.model_hash])
        return pa.RecordBatchReader.from_batches(schema, _once(found.to_arrow_reader(BATCH_ROWS), schema))


@contextmanager
def wanted_rows(lake: Lake, snapshot: Snapshot, spec: IndexSpec) -> Iterator[WantedRows]:
    """The rows that the snapshot wants in the recipe's index. Raises LakeCorrupt, NewerSchema."""
    import duckdb

    connection = connect(snapshot, _TABLES, spill=lake.folder("tmp"))
    try:
        connection.register("filing_rows", _filings(snapshot, spec))
        connection.execute("CREATE TEMP TABLE filing AS SELECT * FROM filing_rows")
        keys = [spec.chunker, spec.context, spec.model_hash]
        connection.execute(_COMPLETE, keys)
        named = "SELECT accession FROM filing" if spec.accessions is not None else "SELECT DISTINCT accession FROM wanted"
        connection.execute(f"CREATE TEMP TABLE member AS {named}")
        yield WantedRows(connection, spec)
    except duckdb.Error as error:
        text = str(error).splitlines()[0][:200]
        raise LakeCorrupt(f"the tables cannot be joined ({text})", lake.root, "Check its free space, then run again.") from error
    finally:
        connection.close()


def rows_hash(rows: pa.RecordBatchReader) -> str:
    """Digest over (chunk_id, row_hash) rows that come sorted."""
    parts = [digest(*(f"{c} {h}" for c, h in zip(b.column(0).to_pylist(), b.column(1).to_pylist(), strict=True))) for b in _even(rows)]
    return digest(*parts)


def _even(rows: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Tables of 65,536 rows each but the last, however the batches come: the digest must not depend on their sizes."""
    kept: list[pa.RecordBatch] = []
    for batch in rows:
        kept.append(batch)
        while sum(b.num_rows for b in kept) >= 65_536:
            table = pa.Table.from_batches(kept)
            yield table.slice(0, 65_536)
            kept = table.slice(65_536).to_batches()
    if kept:
        yield pa.Table.from_batches(kept)


def _filings(snapshot: Snapshot, spec: IndexSpec) -> pa.Table:
    """The parsed filings that may belong, with a digest of all that the index says of each."""
    import pyarrow.compute as pc

    table = snapshot.read("filings", [*_FILING, "sha256"], where=pc.field("status") == "parsed")
    if spec.accessions is not None:
        table = table.filter(pc.is_in(table["accession"], value_set=pa.array(sorted(spec.accessions), pa.string())))
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


_COMPLETE = """
CREATE TEMP TABLE wanted AS
SELECT DISTINCT c.chunk_id, c.accession, x.tokens, x.cut_tokens,
       md5(row(f.filing_hash, x.text_hash, md5(c.text), md5(x.context), c.document_id, c.part, c.item, c.section_title,
               c.page_start, c.page_end, c.start, c."end", c.ordinal, x.tokens, x.cut_tokens)::VARCHAR) AS row_hash
FROM chunks c JOIN contexts x ON c.chunk_id = x.chunk_id JOIN filing f ON c.accession = f.accession
WHERE c.chunker = $1 AND x.fingerprint = $2 AND x.text_hash IN (SELECT text_hash FROM embeddings WHERE model_hash = $3)
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
