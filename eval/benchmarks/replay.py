"""What a replay costs beyond the searches themselves, on made filings and questions (`synthetic.py`).

    python -m edgarmill.eval.benchmarks.replay [--questions N] [--chunks N] [--mode hybrid] [--folder DIR] [--json]

All that flow `evaluate` does for one evaluation, but resolving the set, which is done once for all, and embedding: asking, counting tokens,
finding the gold in what came back, all metrics with their intervals by slice, Parquet, the commit. Searches are the seconds that the reader
itself tells. With --folder the lake stays, and one that is there is not made again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from edgarmill.eval.benchmarks import synthetic
from edgarmill.eval.benchmarks.index import publish
from edgarmill.eval.cells import Cell, Grid, Opened, reader_name, run_cell
from edgarmill.eval.evaluation import evaluation_id, rescored
from edgarmill.eval.evaluation import places_of as places_in
from edgarmill.eval.experiments import Arm
from edgarmill.eval.questions.question_set import QuestionSet, hash_of
from edgarmill.eval.replay import TokenCounter, Vector
from edgarmill.eval.resolve import resolved_rows
from edgarmill.eval.stored import stored
from edgarmill.retrieval.retrieve import Reader
from edgarmill.retrieval.retriever import Retriever
from edgarmill.retrieval.search import open_index
from edgarmill.retrieval.versions import by_id, versions
from edgarmill.schemas.recipe import EmbeddingModel
from edgarmill.schemas.records import Gold, Question
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake, write_part
from edgarmill.workers.embed.models import resolve
from edgarmill.workers.embed.tokens import Tokenizer

QUOTE = 200  # characters, to the last whole word: half a word is found nowhere
CATEGORIES = ("single-hop", "multi-hop", "summary")


def asked(lake: Lake, of: synthetic.Made, count: int) -> tuple[QuestionSet, dict[str, Vector]]:
    """Questions, the gold of each the beginning of a chunk, and their vectors."""
    drawn = np.random.default_rng(16)
    table = lake.snapshot().read("chunks", ["accession", "text"])
    picks = drawn.integers(0, table.num_rows, count)
    accessions, texts = (table[name].take(picks).to_pylist() for name in ("accession", "text"))
    made, vectors = [], {}
    words = synthetic.questions(of, count, drawn)
    for n, ((text, vector), accession, chunk) in enumerate(zip(words, accessions, texts, strict=True)):
        text = f"{text} number{n}"
        made.append(Question(f"q{n}", text, CATEGORIES[n % 3], "", (Gold(accession, chunk[:QUOTE].rpartition(" ")[0]),)))
        vectors[text] = Vector(vector, 0.0)
    return QuestionSet("made", tuple(made), hash_of(made), None), vectors


def measure(lake: Lake, questions: int, chunks: int, mode: str) -> dict[str, Any]:
    """Seconds of the searches and of all that is done about them."""
    of = synthetic.made(chunks)
    if not versions(lake.snapshot(), manifests=False):
        synthetic.make(lake, chunks, of)
        publish(lake, "made")
    version = by_id(lake.snapshot(), versions(lake.snapshot(), manifests=False)[0].version_id)
    questions_asked, vectors = asked(lake, of, questions)
    began = time.perf_counter()
    resolved = resolved_rows(questions_asked, lake.snapshot())
    resolving = time.perf_counter() - began
    arm = Arm(mode, Retriever(mode=mode))  # type: ignore[arg-type]  # one of its names
    cell = Cell(evaluation_id(version.version_id, resolved.key, arm.retriever), version, arm)
    grid = Grid(lake.root, Settings(lake=lake.root, engine="loop"), resolved.rows, resolved.key, "made", questions_asked.set_hash, None,
                f"run{time.time_ns()}", {version.model_hash: vectors})
    reader = Reader(open_index(lake, version), lake, grid.settings, lambda: None)
    counter = TokenCounter(Tokenizer(resolve(EmbeddingModel(), Settings()).tokenizer_path).counts)
    grid.readers[reader_name(cell)] = Opened(reader, counter)
    reader.index.search("warm", 10, "keyword")
    began = time.perf_counter()
    with lake.writer(grid.run_id) as writer:
        parts = list(run_cell(grid, cell).parts)
        if not resolved.stored:
            parts.append(write_part(lake.root, "question_sets", grid.run_id, list(resolved.rows), grid.run_id))
        writer.commit(parts, key=grid.run_id)
    whole = time.perf_counter() - began
    kept = stored(lake.snapshot(), cell.evaluation_id)
    searching = sum(sum(getattr(one, f"{step}_seconds") or 0.0 for step in ("search", "rerank", "expand", "model"))
                    for one in kept.asked.values())
    began = time.perf_counter()
    scores = rescored(replace(kept), places_in(lake.snapshot(), resolved.rows))
    scoring = time.perf_counter() - began
    return {"questions": questions, "chunks": version.chunks, "mode": mode, "judged": kept.evaluation.judged, "scores": len(scores),
            "seconds": round(whole, 2), "searching": round(searching, 2), "overhead": round((whole - searching) / searching, 4),
            "of_it_scoring": round(scoring, 2), "resolving_once": round(resolving, 2),
            "search_p50_ms": round(1000 * float(np.median([one.search_seconds or 0.0 for one in kept.asked.values()])), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--chunks", type=int, default=60_000)
    parser.add_argument("--mode", default="hybrid", choices=["vector", "keyword", "hybrid"])
    parser.add_argument("--folder", type=Path, help="keep the lake there, and use the one that is there")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        found = measure(Lake.open(str(given.folder or temporary), create=True), given.questions, given.chunks, given.mode)
    print(json.dumps(found) if given.json else json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
