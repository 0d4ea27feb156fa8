"""The whole: a set, a lake and a searcher give rows to commit, and a report that says how they are to be read."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from edgarmill.eval.evaluation import Evaluation, evaluation_id, replay_and_score
from edgarmill.eval.metrics import evaluate
from edgarmill.eval.questions.question_set import QuestionSet, hash_of
from edgarmill.eval.report import as_json, as_table
from edgarmill.schemas.errors import UsageError
from edgarmill.schemas.records import Chunk, Document, Filing, Gold, Hit, Question
from edgarmill.schemas.store import Lake, write_part

TEXT = "Sales rose by a tenth.\n\nCosts fell by a fifth.\n\nThe weather was mild."
RANGES = [(0, 22), (24, 46), (48, 69)]
CHUNKS = [Chunk(f"c{n}", "f:1", "f", "t", n, s, e, TEXT[s:e], 10 + n, "", "", "", 1, 1) for n, (s, e) in enumerate(RANGES)]


def hit(rank: int, chunk: Chunk) -> Hit:
    return Hit(rank, 1 / rank, chunk.chunk_id, chunk.document_id, "f", None, (), "10-K", None, None, None, "", "", "", 1, 1, chunk.start,
               chunk.end, chunk.text, None)


def search(question: str, mode: str, k: int, vector: Any = None) -> list[Hit]:
    """Keyword search finds the chunks that share a word with the question; vector search the last chunk first."""
    words = set(question.rstrip("?").lower().split())
    found = [c for c in CHUNKS if words & set(c.text.lower().split())] if mode == "keyword" else CHUNKS[::-1]
    return [hit(rank, chunk) for rank, chunk in enumerate(found[:k], 1)]


def ask(name: str, question: str, category: str, *quotes: str) -> Question:
    return Question(name, question, category, "", tuple(Gold("f.htm", quote) for quote in quotes))


ASKED = (
    ask("q1", "How much did sales change?", "single-hop", "Sales rose by a tenth."),
    ask("q2", "Did sales and costs part ways?", "multi-hop", "Sales rose by a tenth.", "Costs fell by a fifth"),
    ask("q3", "Who founded it?", "null"),
    ask("q4", "What of bees?", "single-hop", "Bees were kept on the roof."),
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake.open(str(tmp_path / "lake"), create=True)
    document = Document("f:1", "f", 1, "10-K", "f.htm", "html", 99, "utf-8", TEXT, 1, "t", None, 0, None, 0)
    tables: dict[str, list[Any]] = {"filings": [Filing("f", "f.htm")], "documents": [document], "chunks": CHUNKS}
    with lake.writer("run") as writer:
        writer.commit([write_part(lake.root, t, "one", rows, "run") for t, rows in tables.items()], key="one")
    return lake


@pytest.fixture
def run(lake: Lake) -> Callable[..., Evaluation]:
    questions = QuestionSet("set", ASKED, hash_of(ASKED), None, ("set.jsonl line 9: not JSON",))
    return lambda **options: replay_and_score(lake.snapshot(), questions, "v1", search, modes=("vector", "keyword"), **options)


def value(evaluation: Evaluation, mode: str, metric: str, category: str = "all") -> float | None:
    (score,) = [s.value for s in evaluation.scores if (s.mode, s.metric, s.category) == (mode, metric, category)]
    return score


def test_an_evaluation_gives_gold_rankings_scores_and_problems(run: Callable[..., Evaluation]) -> None:
    result = run(embed=lambda text: [1.0])
    assert (len(result.new_gold), len(result.rankings), result.exact, result.fuzzy) == (5, 4 * 3 + 1 + 2, 3, 0)
    assert value(result, "vector", "MRR@5") == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert value(result, "keyword", "Recall@5") == pytest.approx(1.0)
    assert value(result, "keyword", "tokens@5") == pytest.approx((10 + 21) / 2)
    assert (value(result, "vector", "unresolved_questions"), value(result, "vector", "null_questions")) == (1.0, 1.0)
    assert (value(result, "vector", "latency_p95_seconds") or 0) > 0 and (value(result, "vector", "embed_p50_seconds") or 0) > 0
    assert value(result, "keyword", "embed_p50_seconds") is None
    assert result.problems == ("set.jsonl line 9: not JSON", "q4 gold 1: not found in the text of f.htm: 'Bees were kept on the roof.'")


def test_what_is_stored_gives_the_same_scores_without_search(lake: Lake, run: Callable[..., Evaluation]) -> None:
    first = run()
    with lake.writer("run2") as writer:
        tables: dict[str, Any] = {"question_sets": first.new_gold, "rankings": first.rankings, "scores": first.scores}
        writer.commit([write_part(lake.root, t, "two", list(rows), "run2") for t, rows in tables.items()], key="two")
    stored = lake.snapshot()
    again = evaluate(first.key, stored.records("question_sets"), stored.records("rankings"), modes=first.modes,
                     tokens={c.chunk_id: c.tokens for c in CHUNKS})
    quality = [s for s in first.scores if not s.metric.endswith("_seconds")]
    assert again == quality and set(quality) <= set(stored.records("scores"))
    second = run()
    assert (second.new_gold, second.key, second.rankings) == ((), first.key, first.rankings)


def test_the_id_follows_all_that_decides_the_rankings() -> None:
    of = ("v1", "s", ("vector",), 10, {"rrf": 60})
    others = [("v2", *of[1:]), ("v1", "t", *of[2:]), (*of[:2], ("keyword",), *of[3:]), (*of[:3], 20, of[4]), (*of[:4], {"rrf": 61})]
    ids = [evaluation_id(*parts) for parts in (of, *others)]
    assert len(set(ids)) == 6 and evaluation_id(*of) == ids[0]


def test_a_set_that_no_filing_of_the_lake_answers_is_the_users_error(tmp_path: Path) -> None:
    lake = Lake.open(str(tmp_path / "empty"), create=True)
    with pytest.raises(UsageError, match="no question can be judged on this lake .q1 gold 1: f.htm is not in this lake"):
        replay_and_score(lake.snapshot(), QuestionSet("set", ASKED, "h", None), "v1", search)
    with pytest.raises(UsageError, match="first 10 hits"):
        replay_and_score(lake.snapshot(), QuestionSet("set", ASKED, "h", None), "v1", search, k=5)


def test_an_index_that_finds_nothing_scores_zero(lake: Lake) -> None:
    questions = QuestionSet("set", ASKED, hash_of(ASKED), None)
    result = replay_and_score(lake.snapshot(), questions, "v1", lambda question, mode, k, vector=None: [])
    assert (result.rankings, value(result, "hybrid", "MRR@5"), value(result, "hybrid", "tokens@5")) == ((), 0.0, 0.0)


def printed(result: Evaluation, width: int = 100) -> list[str]:
    console = Console(file=StringIO(), width=width)
    console.print(as_table(result))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


def test_the_report_states_the_rule_first_and_counts_what_is_kept_out(run: Callable[..., Evaluation]) -> None:
    lines = printed(run(), width=200)
    assert lines[0].startswith("Rule: a chunk is relevant when it overlaps the evidence by at least half")
    assert "2 of 4 questions judged" in lines[1] and "1 without evidence" in lines[1]
    assert "4 pieces, 3 found exactly, 0 nearly, 1 not" in " ".join(lines[1:3])
    assert any("vector" in line and "0.417" in line for line in lines)
    assert any("q4 gold 1: not found" in line for line in lines)


def test_the_tables_fit_a_terminal_of_eighty_columns(run: Callable[..., Evaluation]) -> None:
    lines = printed(run(), width=80)
    assert max(map(len, lines)) <= 80 and not any("…" in line for line in lines)


def test_the_json_holds_every_figure_and_null_for_what_was_not_measured(run: Callable[..., Evaluation]) -> None:
    report = json.loads(json.dumps(as_json(run())))
    assert (report["questions"], report["judged"], report["unresolved_gold"], report["gold_exact"]) == (4, 2, 1, 3)
    assert report["modes"]["keyword"]["multi-hop"]["Recall@5"] == 1.0 and report["modes"]["keyword"]["multi-hop"]["questions"] == 1
    assert report["modes"]["keyword"]["all"]["embed_p50_seconds"] is None
    assert len(report["problems"]) == 2 and report["rule"]
