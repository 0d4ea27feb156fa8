"""Small lakes with invented filings and hand-made vectors, for tests of what reads and indexes them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np

from edgarmill.schemas import ids, records
from edgarmill.schemas.recipe import Kind, Recipe
from edgarmill.schemas.store import Drop, Lake, Snapshot, write_part
from edgarmill.workers.index import Built, IndexSpec, build, tag, verify, version_of

DIMENSIONS = 8
RECIPE = Recipe(name="tiny", chunker=Kind(kind="fixed"), context=Kind(kind="metadata"))
SPEC = IndexSpec(RECIPE, "chunker1", "context1", "model1", "fake", DIMENSIONS)
DAY = date(2026, 11, 30)
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
TOPICS = ("revenue rose on higher prices", "risk of supply and of cyber attack", "cash flow from operations fell",
          "gross margin was not changed")


def fake_vector(text: str) -> tuple[float, ...]:
    """A unit vector that depends on the text alone."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).normal(size=DIMENSIONS)
    return tuple(float(x) for x in (vector / np.linalg.norm(vector)).astype("float32"))


def accession(n: int) -> str:
    return f"0000000001-24-{n:06d}"


def filing(n: int, **changes: object) -> records.Filing:
    """The n-th invented filing: companies AAA, BBB, CCC in turn, fiscal years 2020 to 2023, every third one a 10-Q."""
    form = "10-Q" if n % 3 == 2 else "10-K"
    known = records.Filing(
        accession=accession(n), form=form, family=form, ciks=(f"{n % 3 + 1:010d}",), company=f"Company {'ABC'[n % 3]}",
        tickers=("ABC"[n % 3] * 3,), filed_on=date(2021 + n % 4, 2, 1), period_on=date(2020 + n % 4, 12, 31), fiscal_year=2020 + n % 4,
        fiscal_quarter=3 if form == "10-Q" else 4, sha256=ids.sha256(f"filing {n}".encode()), bytes=100, source="folder", url=f"https://x/{n}")
    return replace(known, **changes)  # type: ignore[arg-type]


def rows_of(one: records.Filing, chunks: int, words: str = "", spec: IndexSpec = SPEC) -> dict[str, list[object]]:
    """Rows of one filing by table: a document of `chunks` chunks."""
    document = ids.document_id(one.accession, 1)
    texts = [f"{TOPICS[i % len(TOPICS)]} {words}, paragraph {i} of {one.company} in {one.fiscal_year}" for i in range(chunks)]
    rows: dict[str, list[object]] = {"filings": [one], "chunks": [], "contexts": [], "embeddings": []}
    place = 0
    for i, text in enumerate(texts):
        start, end = place, place + len(text)
        place = end + 2
        key = ids.chunk_id(document, spec.chunker, start, end, text)
        context = f"{one.company}, {one.form} {one.fiscal_year}"
        embedded = ids.text_hash(f"{context}\n\n{text}")
        rows["chunks"].append(records.Chunk(key, document, one.accession, spec.chunker, i, start, end, text, 12, "I",
                                            "7" if i % 2 else "1A", f"Section {i % 2}", 1 + i // 3, 1 + i // 3))
        rows["contexts"].append(records.Context(key, one.accession, spec.context, context, 20, 1, embedded))
        rows["embeddings"].append(records.Embedding(embedded, spec.model_hash, one.accession, fake_vector(text)))
    text = "\n\n".join(texts)
    rows["documents"] = [records.Document(document, one.accession, 1, one.form, "a.htm", "html", len(text), "utf-8", text, 2, "test 1",
                                          len(text), len(text), 3, 3)]
    return rows


def commit(lake: Lake, key: str, filings: Sequence[dict[str, list[object]]], drop: Sequence[str] = ()) -> Snapshot:
    """Commits rows of filings; `drop` names accessions whose old rows go."""
    tables: dict[str, list[object]] = {}
    for one in filings:
        for table, rows in one.items():
            tables.setdefault(table, []).extend(rows)
    parts = [write_part(lake.root, table, key, rows, key) for table, rows in tables.items()]
    drops = [Drop(table, "accession", frozenset(drop)) for table in ("filings", "documents", "chunks", "contexts")] if drop else []
    with lake.writer(key) as writer:
        return writer.commit(parts, key=key, drop=drops)


def tiny_lake(folder: Path, filings: int = 6, chunks: int = 8) -> Lake:
    """A lake with that many filings, not yet indexed."""
    lake = Lake.open(str(folder / "lake"), create=True)
    commit(lake, "ingest", [rows_of(filing(n), chunks) for n in range(filings)])
    return lake


def publish(lake: Lake, spec: IndexSpec = SPEC, run_id: str = "run") -> tuple[Built, records.IndexVersion]:
    """Builds, verifies, tags and commits, as the ingest flow does."""
    snapshot = lake.snapshot()
    with lake.writer(run_id) as writer:
        built = build(lake, snapshot, spec, run_id)
        checks = verify(lake, built, spec)
        version = version_of(lake, built, spec, tag(lake, built, checks, DAY), NOW)
        indexes = {built.recipe: built.lance_version}
        parts = [] if built.known else [write_part(lake.root, "index_versions", run_id, [version], run_id),
                                        write_part(lake.root, "checks", run_id, list(checks), run_id)]
        drops = [Drop(name, "version_id", frozenset({built.version_id})) for name in ("index_versions", "checks") if parts]
        writer.commit(parts, key=f"{run_id} index {built.snapshot}", drop=drops, indexes=indexes)
    return built, version
