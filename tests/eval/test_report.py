"""What an evaluation says of itself, on a terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console, RenderableType
from stored_evaluations import stored

from edgarmill.eval import experiments
from edgarmill.eval.evaluation import Evaluated, Result, evaluation_id, rescored
from edgarmill.eval.experiments import Arm, Experiment
from edgarmill.eval.questions.question_set import QuestionSet
from edgarmill.eval.report import as_json, as_short, as_table
from edgarmill.eval.resolve import Resolved
from edgarmill.retrieval.retriever import Retriever
from edgarmill.schemas.records import IndexVersion

VERSION = IndexVersion("v", "default", "f", "m", "h", 1, "2026-11-30.1", None, "verified", 36, 990, 0, 0, 0, None, "{}",
                       datetime(2026, 11, 30, tzinfo=UTC))
RANKS = ([1, 2, 5, None, 3, 1] * 2, [2, 2, None, None, 3, 4] * 2)


def evaluated(*names: str, experiment: Experiment | None = None, skipped: tuple[str, ...] = ()) -> Evaluated:
    results, rows = [], {}
    for name, ranks in zip(names, RANKS, strict=False):
        one = stored(name, ranks)
        row = replace(one.evaluation, arm=name, retriever=json.dumps({"mode": "hybrid", "k": 10}), software="{}")
        results.append(Result(Arm(name, Retriever(), changes="k = 10"), row, tuple(rescored(replace(one, evaluation=row), {})), False))
        rows |= one.questions
    asked = QuestionSet("set\x1b", (), "q", None, ("set.jsonl line 9: not JSON",))
    resolved = Resolved("s", tuple(rows.values()), ("q9 gold 1: not found\x1b[31m",), True)
    return Evaluated(asked, resolved, tuple(results), skipped, experiment, {"v": VERSION})


def printed(found: Evaluated, width: int, view: Callable[[Evaluated, int], RenderableType] = as_table) -> list[str]:
    console = Console(file=StringIO(), width=width, highlight=False, emoji=False, markup=False)
    console.print(view(found, width))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 100, 120])
def test_the_tables_fit_the_terminal_and_every_mean_has_its_interval(width: int) -> None:
    lines = printed(evaluated("vector", "a long name of an arm of an experiment"), width)
    assert max(map(len, lines)) <= width and not any("…" in line for line in lines)
    text = " ".join(lines)
    assert "MRR@5" in text and "Rule: a chunk is relevant" in text and "set?: 12 of 12 questions judged" in text
    row = next(n for n, line in enumerate(lines) if line.startswith("│ vector") and "0.506" in line)
    assert "[" in lines[row + 1] and "\x1b" not in text


@pytest.mark.parametrize("width", [80, 120])
def test_unasked_one_table_says_what_decides_in_fewer_lines_than_a_terminal_has(width: int) -> None:
    found = evaluated("vector", "hybrid", skipped=("reranked: no such reranker",))
    failed = replace(found.results[0].evaluation, failed=2)
    lines = printed(replace(found, results=(replace(found.results[0], evaluation=failed), found.results[1])), width, as_short)
    assert len(lines) <= 24 and max(map(len, lines)) <= width and "\x1b" not in "".join(lines)
    text = " ".join(" ".join(lines).split())
    for said in ("set?: 12 of 12 questions judged", "kept out: 0 with evidence", "coverage@2000t", "MRR@5", "Recall@5", "2026-11-30.1",
                 "reranked: no such reranker", "vector: 2 of 12 questions failed", "--all", "--json", "q9 gold 1"):
        assert said in text, said
    row = next(n for n, line in enumerate(lines) if line.startswith("│ vector"))
    assert failed.evaluation_id[:12] in lines[row + 1] and "[" in lines[row + 1]
    assert text.count("┏") == 1


def test_unasked_an_experiment_shows_its_own_metrics_and_where_its_verdicts_are() -> None:
    found = evaluated("baseline", "(10, 5)", experiment=replace(experiments.load("reranking"), arms=()))
    text = " ".join(" ".join(printed(found, 80, as_short)).split())
    assert "hit@5" in text and "coverage@2000t" not in text
    assert "published figures" in text and "edgarmill report --experiment reranking" in text


def test_what_was_left_out_is_said_and_the_ids_are_there() -> None:
    text = "\n".join(printed(evaluated("vector", skipped=("reranked: no such reranker",)), 120))
    assert "Not evaluated (1):\n  reranked: no such reranker" in text and "2 problems of the set" in text
    assert "vector" in text.split("Evaluations")[1]


def test_arms_left_out_for_one_reason_are_one_line_and_all_stand_in_the_json() -> None:
    found = evaluated("vector", skipped=tuple(f"{name}: no index of recipe r" for name in "abc") + ("d: no such reranker", "gone"))
    text = "\n".join(printed(found, 120, as_short))
    assert "Not evaluated (5):\n  a and 2 more: no index of recipe r\n  d: no such reranker\n  gone" in text
    assert len(as_json(found)["skipped"]) == 5


def test_the_page_of_ones_own_experiment_is_named_as_it_was_given(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[baseline]\nmode = "vector"\n[[arm]]\nname = "more"\nk = 20\n', encoding="utf-8")
    found = evaluated("baseline", experiment=replace(experiments.load(str(file)), arms=()))
    text = "".join(printed(found, 300, as_short))
    assert f"edgarmill report --experiment {file} " in text


def test_evidence_that_is_whole_documents_is_measured_by_documents() -> None:
    found = evaluated("vector")
    scores = tuple(replace(score, metric="doc_hit@5") for score in found.results[0].scores if score.metric == "hit@5")
    whole = replace(found, results=(replace(found.results[0], scores=scores),),
                    resolved=replace(found.resolved, rows=tuple(replace(row, how="document") for row in found.resolved.rows)))
    text = " ".join(printed(whole, 120, as_short))
    assert "doc_hit@5" in text and "0 found exactly, 0 nearly, 0 not, 12 are whole documents" in text
    assert as_json(whole)["gold_documents"] == 12


def test_a_budget_that_was_not_filled_is_marked() -> None:
    lines = printed(evaluated("vector"), 120)
    rows = [line for line in lines if line.startswith("│ vector")]
    within = next(line for line in rows if "*" in line)
    assert within.count("*") == 2, "3,000 tokens were given: 1,000 and 2,000 are full, 4,000 is not"
    assert any("k = 50" in line for line in lines)


def test_ours_stand_beside_published_figures_as_levels_or_as_steps() -> None:
    tried = replace(experiments.load("reranking"), arms=())
    found = evaluated("baseline", "(10, 5)", experiment=tried)
    text = " ".join(printed(found, 120))
    assert "+0.590" in text and "-0.242" in text and "Other corpus, other questions" in text and "not at hand" in text
    told = as_json(found)["published"][0]
    assert told["figures"][0]["ours"] == pytest.approx(-0.2417, abs=1e-3) and told["figures"][3]["ours"] is None


def test_the_json_holds_every_figure_with_its_bounds_and_null_for_what_was_not_measured() -> None:
    report = json.loads(json.dumps(as_json(evaluated("vector", "hybrid")), default=str))
    assert (report["questions"], report["judged"], report["gold_exact"], report["tag"]) == (12, 12, 12, "2026-11-30.1")
    scores = report["evaluations"][1]["scores"]
    assert scores["all"]["MRR@5"]["low"] < scores["all"]["MRR@5"]["value"] < scores["all"]["MRR@5"]["high"]
    assert scores["all"]["rerank_p50_seconds"]["value"] is None and scores["multi-hop"]["MRR@5"]["questions"] == 6
    assert len(report["problems"]) == 2 and report["rule"] and report["evaluations"][0]["retriever"]["mode"] == "hybrid"


def test_the_id_follows_all_that_decides_the_rankings() -> None:
    plain = Retriever()
    ids = [evaluation_id("v1", "s", plain), evaluation_id("v2", "s", plain), evaluation_id("v1", "t", plain),
           evaluation_id("v1", "s", Retriever(k=20))]
    assert len(set(ids)) == 4 and evaluation_id("v1", "s", Retriever()) == ids[0]
