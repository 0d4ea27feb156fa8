"""Building and searching an index of many chunks, with made vectors and texts.

    python -m edgarmill.eval.benchmarks.index [--chunks N] [--queries Q] [--folder DIR] [--json]

Vectors of 384 dimensions lie in clusters (200 chunks each, as passages on one subject do); texts are drawn words, Zipf-distributed as words
are; filers, forms, years and Items are spread so that filters keep about 0.1 %, 1 % and 10 % of the rows. The build is the pipeline's own
(one Lance commit, its scalar, text and vector indexes), the search the reader's own. Recall@10 is against an exact scan of the same rows.
3.2 million chunks take some 12 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.search import Index
from edgarmill.schemas.recipe import Kind, Recipe
from edgarmill.schemas.records import IndexVersion
from edgarmill.schemas.store import Lake
from edgarmill.workers.index import dataset as building
from edgarmill.workers.index.rows import IndexSpec, index_schema

DIMENSIONS, CLUSTER, WORDS, VOCABULARY = 384, 200, 120, 30_000
SPREAD = 0.9  # length of the noise beside the cluster's own direction
BATCH = 20_000
FILERS, YEARS, FORMS = 1000, 5, ("10-K", "10-Q", "10-Q", "10-Q", "8-K")
KEEPS = {"0.1 %": Filters(cik="7"), "1 %": Filters(form="8-K", year=2024, item="1"), "10 %": Filters(year=2024, form="10-Q")}
RECIPE = Recipe(name="bench", chunker=Kind(kind="structure"), context=Kind(kind="metadata"))
SPEC = IndexSpec(RECIPE, "c", "x", "m", "made", DIMENSIONS)


@dataclass(frozen=True)
class Made:
    """What is drawn once: cluster directions, words, and how often each is used."""

    centers: np.ndarray[Any, Any]
    words: np.ndarray[Any, Any]
    shares: np.ndarray[Any, Any]


def made(chunks: int, drawn: np.random.Generator) -> Made:
    centers = _unit(drawn.standard_normal((max(1, chunks // CLUSTER), DIMENSIONS), dtype=np.float32))
    words = np.array([f"word{n}" for n in range(VOCABULARY)])
    shares = 1 / np.arange(1, VOCABULARY + 1)
    return Made(centers, words, shares / shares.sum())


def batches(chunks: int, of: Made, drawn: np.random.Generator) -> Iterator[pa.RecordBatch]:
    schema = index_schema(DIMENSIONS)
    for start in range(0, chunks, BATCH):
        yield _batch(np.arange(start, min(start + BATCH, chunks)), of, drawn, schema)


def _batch(ids: Any, of: Made, drawn: np.random.Generator, schema: pa.Schema) -> pa.RecordBatch:
    rows = len(ids)
    filer, filing = ids % FILERS, ids // 20
    year, form = 2020 + filing % YEARS, np.array(FORMS)[filing // YEARS % len(FORMS)]
    drawn_words = of.words[drawn.choice(VOCABULARY, (rows, WORDS), p=of.shares)]
    vectors = query_like(ids // CLUSTER % len(of.centers), of, drawn)
    accession = [f"{f:010d}-24-{n:06d}" for f, n in zip(filer, filing, strict=True)]
    values: dict[str, Any] = {
        "chunk_id": [f"{n:032x}" for n in ids], "accession": accession, "document_id": [f"{one}:1" for one in accession],
        "ciks": [[f"{f:010d}"] for f in filer], "company": [f"Company {f}" for f in filer], "tickers": [[f"C{f}"] for f in filer],
        "form": form, "family": form, "fiscal_year": year, "fiscal_quarter": 1 + filing % 3,
        "filed_on": [date(2020, 3, 1) + timedelta(days=int(n)) for n in filing % 1500], "period_on": [date(2020, 1, 1)] * rows,
        "part": ["I"] * rows, "item": np.array(["1", "1A", "7", "8"])[ids % 4], "section_title": ["Title"] * rows,
        "page_start": ids % 90, "page_end": ids % 90, "start": ids, "end": ids + 900, "ordinal": ids % 20, "tokens": [180] * rows,
        "text": [" ".join(line) for line in drawn_words], "context": [""] * rows, "url": [""] * rows,
        "row_hash": [f"{n:016x}" for n in ids]}
    columns = [pa.array(values[column.name], column.type) for column in schema if column.name != "vector"]
    columns.append(pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), DIMENSIONS))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def query_like(clusters: Any, of: Made, drawn: np.random.Generator) -> Any:
    """Unit vectors near the directions of their clusters."""
    noise = _unit(drawn.standard_normal((len(clusters), DIMENSIONS), dtype=np.float32))
    return _unit(of.centers[clusters] + SPREAD * noise)


def _unit(rows: Any) -> Any:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def build(lake: Lake, chunks: int, of: Made, drawn: np.random.Generator) -> dict[str, Any]:
    """Seconds of writing (drawing the rows aside) and of the indexes, bytes, and the most memory that the process had."""
    import lance

    uri, schema = lake.index_uri(RECIPE.name), index_schema(DIMENSIONS).with_metadata(building._definition(SPEC))
    drawing = [0.0]

    def timed() -> Iterator[pa.RecordBatch]:
        rows = batches(chunks, of, drawn)
        while True:
            begun = time.perf_counter()
            batch = next(rows, None)
            drawing[0] += time.perf_counter() - begun
            if batch is None:
                return
            yield batch.replace_schema_metadata(schema.metadata)

    begun = time.perf_counter()
    Path(uri).parent.mkdir(parents=True, exist_ok=True)
    written = lance.write_dataset(pa.RecordBatchReader.from_batches(schema, timed()), uri, mode="create")
    wrote = time.perf_counter() - begun - drawing[0]
    begun = time.perf_counter()
    building._index(written, SPEC, rebuild=True)
    indexed = time.perf_counter() - begun
    size = sum(file.stat().st_size for file in Path(uri).rglob("*") if file.is_file())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"write_seconds": round(wrote, 1), "index_seconds": round(indexed, 1), "gigabytes": round(size / 1e9, 2),
            "peak_gigabytes": round(peak / 1e9, 2)}


def search(lake: Lake, chunks: int, queries: int, of: Made, drawn: np.random.Generator) -> dict[str, Any]:
    """Milliseconds (p50, p95), recall@10 and the fewest hits, by mode and filter."""
    opened = building.open_dataset(lake, RECIPE.name)
    version = IndexVersion("v", RECIPE.name, "f", "made", "m", opened.version, None, None, "verified", 1, chunks, 0, 0, 0, None, "{}",
                           datetime.now(UTC))
    index = Index(version, opened, None)
    vectors = query_like(drawn.integers(0, len(of.centers), queries), of, drawn)
    questions = [" ".join(of.words[drawn.integers(0, 2000, 6)]) for _ in range(queries)]
    found: dict[str, Any] = {}
    for name, filters in {"all": Filters(), **KEEPS}.items():
        index.search(questions[0], 10, "vector", filters, vectors[0])
        kept = opened.count_rows(filter=filters.expression) if filters.expression else chunks
        for mode in ("vector", "hybrid") if name in ("all", "1 %") else ("vector",):
            times, hits = zip(*(_timed(lambda q=q, v=v, m=mode, f=filters: index.search(q, 10, m, f, v))  # type: ignore[misc]  # defaults
                                for q, v in zip(questions, vectors, strict=True)), strict=True)
            row = {"rows": kept, "p50_ms": _ms(times, 50), "p95_ms": _ms(times, 95), "fewest_hits": min(map(len, hits))}
            if mode == "vector":
                row["recall@10"] = _recall(opened, filters.expression, vectors, hits)
            found[f"{mode}, {name}"] = row
    return found


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    done = work()
    return time.perf_counter() - begun, done


def _ms(times: Any, percent: int) -> float:
    return round(float(np.percentile(times, percent)) * 1000, 1)


def _recall(opened: Any, where: str | None, vectors: Any, hits: Any) -> float:
    """Share of the ten nearest by an exact scan, ties aside, over at most twenty queries."""
    shares = []
    for vector, got in list(zip(vectors, hits, strict=True))[:20]:
        ask = {"column": "vector", "q": vector, "k": 10, "metric": "cosine", "use_index": False}
        exact = opened.scanner(columns=["chunk_id", "_distance"], nearest=ask, filter=where, prefilter=True).to_table().to_pylist()
        wanted = {row["chunk_id"] for row in exact}
        shares.append(len(wanted & {hit.chunk_id for hit in got}) / max(1, len(wanted)))
    return round(sum(shares) / len(shares), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--chunks", type=int, default=60_000)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--folder", type=Path, help="keep the lake there, and search the one that is there")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        lake = Lake.open(str(given.folder or temporary), create=True)
        drawn = np.random.default_rng(12)
        of = made(given.chunks, drawn)
        found: dict[str, Any] = {"chunks": given.chunks}
        if not Path(lake.index_uri(RECIPE.name)).exists():
            found["build"] = build(lake, given.chunks, of, drawn)
        found["search"] = search(lake, given.chunks, given.queries, of, drawn)
    print(json.dumps(found) if given.json else json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
