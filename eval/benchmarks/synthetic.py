"""A lake of made filings, as many as one likes, written table by table in a bounded memory: for measurements that need millions of chunks.

A filing has 20 chunks of 120 words, Zipf-distributed as words are. Vectors of 384 dimensions lie in clusters of about 200 chunks
(passages on one subject) and the clusters around themes, as embedded passages do. Filers, forms, years and Items are spread so that filters
keep about 0.1 % (a filer), 1 % (a form, year and Item) and 10 % (a form and year) of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edgarmill.schemas import ids
from edgarmill.schemas.recipe import Kind, Recipe
from edgarmill.schemas.store import Drop, Lake, Part, write_part
from edgarmill.workers.index import IndexSpec

DIMENSIONS, CLUSTER, PER_FILING = 384, 200, 20
THEMES = 400
SPREADS = (0.7, 0.9)  # length of the noise beside the direction of the theme, and of the cluster
VOCABULARY, PIECES, PIECE_WORDS, PIECES_A_CHUNK = 30_000, 50_000, 30, 4
FILERS, YEARS, FORMS, ITEMS = 1000, 4, ("10-K", "10-Q", "10-Q", "8-K", "10-K"), ("1", "1A", "7", "8")
BATCH = 2_500  # filings of one part
RECIPE = Recipe(name="bench", chunker=Kind(kind="structure"), context=Kind(kind="metadata"))
SPEC = IndexSpec(RECIPE, "chunker", "context", "synthetic", "synthetic", DIMENSIONS)


@dataclass(frozen=True)
class Made:
    """What is drawn once: directions of the clusters, and pieces of text that chunks are put together from."""

    centers: np.ndarray[Any, Any]
    pieces: pa.Array


def made(chunks: int) -> Made:
    drawn = np.random.default_rng(12)
    clusters = max(1, chunks // CLUSTER)
    themes = _unit(drawn.standard_normal((THEMES, DIMENSIONS), dtype=np.float32))
    centers = _near(themes[drawn.integers(0, THEMES, clusters)], SPREADS[0], drawn)
    shares = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    places = np.searchsorted(shares, drawn.random((PIECES, PIECE_WORDS)) * shares[-1])
    return Made(centers, pa.array([" ".join(f"word{n}" for n in line) for line in places]))


def questions(of: Made, count: int, drawn: np.random.Generator) -> list[tuple[str, Any]]:
    """Six words each, and a unit vector near a cluster's direction."""
    vectors = _near(of.centers[drawn.integers(0, len(of.centers), count)], SPREADS[1], drawn)
    return [(" ".join(f"word{n}" for n in drawn.integers(0, 2000, 6)), vector) for vector in vectors]


def _near(centers: Any, spread: float, drawn: np.random.Generator) -> Any:
    """Unit vectors beside those directions; in many dimensions all noise is about equally long."""
    noise = drawn.standard_normal(centers.shape, dtype=np.float32) * np.float32(spread / DIMENSIONS**0.5)
    return _unit(centers + noise)


def _unit(rows: Any) -> Any:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def make(lake: Lake, chunks: int, of: Made) -> None:
    """Commits filings of that many chunks, in parts of BATCH filings."""
    filings = np.arange(-(-chunks // PER_FILING))
    parts: list[Part] = []
    for start in range(0, len(filings), BATCH):
        parts += parts_of(lake, filings[start:start + BATCH], of, f"made{start}")
    with lake.writer("made") as writer:
        writer.commit(parts, key="made")


def change(lake: Lake, share: float, of: Made, night: int) -> int:
    """A night: that share of the filings, a third each new, changed and removed. Gives their number."""
    there = lake.snapshot().read("filings", ["accession"])["accession"].to_pylist()
    drawn = np.random.default_rng((13, night))
    third = max(1, round(len(there) * share / 3))
    numbers = np.array([int(one[-8:]) for one in there])
    touched = drawn.choice(numbers, 2 * third, replace=False)
    fresh = numbers.max() + 1 + np.arange(third)
    parts = parts_of(lake, np.concatenate([touched[:third], fresh]), of, f"night{night}", edition=night)
    gone = frozenset(_accession(n) for n in touched)
    drops = [Drop(table, "accession", gone) for table in ("filings", "documents", "chunks", "contexts")]
    with lake.writer(f"night{night}") as writer:
        writer.commit(parts, key=f"night{night}", drop=drops)
    return 3 * third


def parts_of(lake: Lake, filings: Any, of: Made, name: str, edition: int = 0) -> list[Part]:
    """Parts of all tables for those filings, by number; another edition has other texts and vectors."""
    return [write_part(lake.root, table, name, rows, name) for table, rows in _tables(filings, of, edition).items()]


def _accession(filing: int) -> str:
    return f"{filing % FILERS:010d}-24-{filing:08d}"


def _tables(filings: Any, of: Made, edition: int) -> dict[str, pa.Table]:
    drawn = np.random.default_rng((14, edition, int(filings[0])))
    accessions = [_accession(n) for n in filings]
    rows, ordinal = len(filings) * PER_FILING, np.tile(np.arange(PER_FILING), len(filings))
    accession = [one for one in accessions for _ in range(PER_FILING)]
    picked = [of.pieces.take(pa.array(drawn.integers(0, PIECES, rows))) for _ in range(PIECES_A_CHUNK)]
    text = pc.binary_join_element_wise(*picked, " ")
    length = pc.utf8_length(text).to_numpy().reshape(-1, PER_FILING) + 2
    start = (np.cumsum(length, axis=1) - length).reshape(-1)
    whole = pc.binary_join(pa.ListArray.from_arrays(pa.array(np.arange(0, rows + 1, PER_FILING), pa.int32()), text), "\n\n")
    keys = [ids.digest(one, n, edition) for one, n in zip(accession, ordinal.tolist(), strict=True)]
    hashes = [ids.digest(one, n, edition, "text") for one, n in zip(accession, ordinal.tolist(), strict=True)]
    vectors = _near(of.centers[drawn.integers(0, len(of.centers), rows)], SPREADS[1], drawn)
    document = [f"{one}:1" for one in accession]
    return {
        "filings": _filings(filings, accessions, edition),
        "documents": pa.table({"document_id": [f"{one}:1" for one in accessions], "accession": accessions, "text": whole}),
        "chunks": pa.table({
            "chunk_id": keys, "document_id": document, "accession": accession, "chunker": [SPEC.chunker] * rows, "ordinal": ordinal,
            "start": start, "end": start + length.reshape(-1) - 2, "text": text, "tokens": [180] * rows, "part": ["I"] * rows,
            "item": np.array(ITEMS)[ordinal % len(ITEMS)], "section_title": ["Title"] * rows, "page_start": 1 + ordinal // 4,
            "page_end": 1 + ordinal // 4}),
        "contexts": pa.table({
            "chunk_id": keys, "accession": accession, "fingerprint": [SPEC.context] * rows,
            "context": [f"Filing {one}" for one in accession],
            "tokens": [190] * rows, "cut_tokens": [0] * rows, "text_hash": hashes}),
        "embeddings": pa.table({
            "text_hash": hashes, "model_hash": [SPEC.model_hash] * rows, "accession": accession,
            "vector": pa.ListArray.from_arrays(pa.array(np.arange(rows + 1, dtype=np.int32) * DIMENSIONS), pa.array(vectors.reshape(-1)))}),
    }


def _filings(filings: Any, accessions: list[str], edition: int) -> pa.Table:
    filer, turn = filings % FILERS, filings * 2_654_435_761 >> 12  # forms and years mixed among the filers
    form = np.array(FORMS)[turn // YEARS % len(FORMS)]
    day = date(2020, 3, 1)
    return pa.table({
        "accession": accessions, "form": form, "family": form, "ciks": [[f"{n:010d}"] for n in filer],
        "company": [f"Company {n}" for n in filer], "tickers": [[f"C{n}"] for n in filer],
        "filed_on": [day + timedelta(days=int(n % 1500)) for n in turn],
        "period_on": [day] * len(filings), "fiscal_year": 2021 + turn % YEARS, "fiscal_quarter": 1 + turn % 4,
        "sha256": [ids.digest(one, edition) for one in accessions], "bytes": [100] * len(filings), "status": ["parsed"] * len(filings),
        "url": [""] * len(filings)})
