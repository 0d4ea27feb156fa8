"""The steps of flow `evaluate` on real indexes, without Prefect: what is asked, kept, told and never done twice."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tiny_lake import accession, commit, filing, publish, rows_of, tiny_lake

from edgarmill.eval import experiments
from edgarmill.eval.evaluation import Evaluated
from edgarmill.eval.experiments import Arm
from edgarmill.eval.report import as_json
from edgarmill.eval.scores import METRICS
from edgarmill.eval.stored import evaluations, stored
from edgarmill.flows.evaluation import Evaluation
from edgarmill.flows.gc import collect, rubbish
from edgarmill.flows.planned import Question, standing
from edgarmill.flows.progress import told
from edgarmill.flows.request import new_run_id
from edgarmill.retrieval.retriever import Retriever
from edgarmill.schemas.errors import UsageError
from edgarmill.schemas.records import IndexVersion
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Drop, Lake, write_part

WORDS = (Arm("keyword", Retriever(mode="keyword")),)
TABLES = ("evaluations", "rankings", "asked", "scores", "question_sets")


def question(n: int, text: str = "", **changes: Any) -> dict[str, Any]:
    quote = f"revenue rose on higher prices , paragraph 0 of Company {'ABC'[n % 3]} in {2020 + n % 4}"
    text = text or f"What drove revenue of Company {'ABC'[n % 3]} in {2020 + n % 4}?"
    asked = {"id": f"q{n}", "question": text, "category": "single-hop", "answer": "", "gold": [{"accession": accession(n), "quote": quote}]}
    return {**asked, **changes}


def written(folder: Path, *questions: dict[str, Any]) -> str:
    file = folder / "set.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in questions), encoding="utf-8")
    return str(file)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = tiny_lake(tmp_path)
    publish(made)
    return made


@pytest.fixture
def asked(tmp_path: Path) -> str:
    return written(tmp_path, *(question(n) for n in range(4)))


def evaluated(lake: Lake, questions: str, arms: tuple[Arm, ...] = WORDS, engine: str = "loop", **how: Any) -> Evaluated:
    run_id = new_run_id()
    with lake.writer(run_id) as writer:
        job = Evaluation(Question(questions, arms=arms, **how), Settings(lake=lake.root, engine=engine, device="cpu"), lake, writer, run_id)
        for step in (job.resolve, job.replay, job.score):
            step()
    return job.evaluated()


def counts(lake: Lake) -> dict[str, int]:
    return {table: lake.snapshot().count(table) for table in TABLES}


def test_what_came_back_and_what_it_took_is_kept_beside_the_scores(lake: Lake, asked: str) -> None:
    found = evaluated(lake, asked)
    (result,) = found.results
    row = result.evaluation
    assert (row.questions, row.judged, row.failed, row.k, row.metrics, row.arm) == (4, 4, 0, 10, METRICS, "keyword")
    assert json.loads(row.retriever) == asdict(Retriever(mode="keyword")) and row.tag and row.manifest_hash and row.corpus_hash
    kept = stored(lake.snapshot(), row.evaluation_id[:8])
    assert {q.question_id for q in kept.judged} == {"q0", "q1", "q2", "q3"} and all(len(hits) == 10 for hits in kept.ranked.values())
    assert all(a.search_seconds and a.embed_seconds is None and (a.tokens or 0) > 100 and a.error is None for a in kept.asked.values())
    assert all((h.tokens or 0) > 5 and h.accession == h.document_id.rpartition(":")[0] for hits in kept.ranked.values() for h in hits)
    assert {s.category for s in result.scores} >= {"all", "single-hop", "type:text", "form:10-K", "form:10-Q", "year:2021"}


def test_the_second_time_nothing_is_done(lake: Lake, asked: str) -> None:
    first = evaluated(lake, asked)
    number = lake.snapshot().number
    second = evaluated(lake, asked)
    assert not first.stored and second.stored and lake.snapshot().number == number
    assert second.results[0].evaluation == first.results[0].evaluation and set(second.results[0].scores) == set(first.results[0].scores)


def test_what_is_all_there_is_read_without_a_lock_and_what_is_not_is_left_to_a_run(lake: Lake, asked: str) -> None:
    plain = Question(asked, arms=WORDS)
    assert standing(plain, lake.snapshot(), Settings(lake=lake.root)) is None
    first = evaluated(lake, asked)
    with lake.writer("another run"):
        found = standing(plain, lake.snapshot(), Settings(lake=lake.root))
    assert found is not None and found.stored and found.resolved.stored
    assert found.results[0].evaluation == first.results[0].evaluation and set(found.results[0].scores) == set(first.results[0].scores)
    assert standing(replace(plain, recompute=True), lake.snapshot(), Settings(lake=lake.root)) is None
    more = replace(plain, arms=(*WORDS, Arm("five", Retriever(mode="keyword", k=5))))
    assert standing(more, lake.snapshot(), Settings(lake=lake.root)) is None
    commit(lake, "night", [rows_of(filing(20), 2)])
    publish(lake, run_id="night")
    assert standing(plain, lake.snapshot(), Settings(lake=lake.root)) is None, "there is a newer version"


@pytest.mark.parametrize(("arms", "stage"), [(WORDS, "evaluate"), ((Arm("vector", Retriever(mode="vector")), *WORDS), "none")])
def test_an_interrupt_that_a_library_takes_for_an_error_of_its_own_ends_the_run_all_the_same(
        lake: Lake, asked: str, arms: tuple[Arm, ...], stage: str) -> None:
    came = threading.Event()
    if stage == "none":  # what is told of the first arm, whose model is another one, may be the interrupt
        came.set()

    def progress(name: str, done: int, total: int | None) -> None:
        if name == stage and done == 2:
            came.set()

    with told(progress, print, struck=came.is_set), pytest.raises(KeyboardInterrupt):
        evaluated(lake, asked, arms)
    assert counts(lake)["evaluations"] == 0
    assert not evaluated(lake, asked).skipped and counts(lake)["evaluations"] == 1


def test_metrics_are_computed_anew_from_stored_rankings_where_definitions_changed(lake: Lake, asked: str) -> None:
    first = evaluated(lake, asked).results[0]
    with lake.writer("old") as writer:
        old = [replace(first.evaluation, metrics=METRICS - 1)]
        names = frozenset({first.evaluation.evaluation_id})
        writer.commit([write_part(lake.root, "evaluations", "old", old, "old")], key="old",
                      drop=[Drop("evaluations", "evaluation_id", names), Drop("scores", "evaluation_id", names)])
    assert standing(Question(asked, arms=WORDS), lake.snapshot(), Settings(lake=lake.root)) is None
    before = lake.snapshot().read("rankings")
    again = evaluated(lake, asked).results[0]
    assert again.evaluation.metrics == METRICS and set(again.scores) == set(first.scores)
    assert lake.snapshot().read("rankings") == before
    assert set(evaluated(lake, asked, recompute=True).results[0].scores) == set(first.scores)
    assert counts(lake)["scores"] == len(first.scores)


def test_a_bad_question_fails_alone_and_counts_zero(lake: Lake, tmp_path: Path) -> None:
    found = evaluated(lake, written(tmp_path, question(0), question(1, "word " * 5000)))
    (result,) = found.results
    assert (result.evaluation.failed, result.evaluation.judged) == (1, 2)
    errors = {a.question_id: a.error for a in stored(lake.snapshot(), result.evaluation.evaluation_id).asked.values()}
    assert errors["q0"] is None and "25,000 characters" in str(errors["q1"])
    scores = {s.metric: s.value for s in result.scores if s.category == "all"}
    assert scores["failed_questions"] == 1 and (scores["doc_hit@10"] or 0) <= 0.5
    made = result.evaluation.created_at
    assert evaluated(lake, str(tmp_path / "set.jsonl")).results[0].evaluation.created_at == made
    assert standing(Question(str(tmp_path / "set.jsonl"), arms=WORDS, retry=True), lake.snapshot(), Settings(lake=lake.root)) is None
    assert evaluated(lake, str(tmp_path / "set.jsonl"), retry=True).results[0].evaluation.created_at > made
    assert counts(lake)["evaluations"] == 1


def test_nothing_is_scored_of_what_was_not_measured(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not one question was answered"):
        evaluated(lake, written(tmp_path, question(0, "word " * 5000)))
    assert counts(lake)["evaluations"] == 0


def test_a_reader_with_another_embedder_is_told_and_the_other_arms_go_on(lake: Lake, asked: str) -> None:
    arms = (Arm("vector", Retriever(mode="vector")), Arm("reranked", Retriever(mode="keyword", reranker="late_interaction")), *WORDS)
    found = evaluated(lake, asked, arms)
    assert [r.arm.name for r in found.results] == ["keyword"]
    assert len(found.skipped) == 2 and all("the index was made with" in line and "\n" not in line for line in found.skipped)


def nights(lake: Lake, count: int) -> list[IndexVersion]:
    made = []
    for night in range(count):
        commit(lake, f"night-{night}", [rows_of(filing(20 + night), 2)])
        made.append(publish(lake, run_id=f"night{night}")[1])
    return made


def test_all_versions_are_evaluated_and_those_that_were_collected_away_are_told(lake: Lake, asked: str) -> None:
    nights(lake, 3)
    later = datetime.now(UTC) + timedelta(days=8)
    few = Settings(keep_candidates=2, keep_prod=1, keep_rejected_days=0)
    first = evaluated(lake, asked, all_versions=True)
    assert len({r.evaluation.version_id for r in first.results}) == 4 and first.skipped == ()
    with lake.writer(new_run_id()) as writer:
        assert collect(lake, writer, rubbish(lake, few, later), few).versions == 2
    second = evaluated(lake, asked, all_versions=True)
    assert len(second.results) == 2 and second.stored and len(second.skipped) == 1 and "collected by gc" in second.skipped[0]
    gone = next(r.evaluation for r in first.results if r.evaluation.version_id not in second.versions)
    with pytest.raises(UsageError, match="rankings were collected"):
        stored(lake.snapshot(), gone.evaluation_id)
    assert gone in evaluations(lake.snapshot(), version_id=gone.version_id), "what was measured stays known"


EXPERIMENT = """
title = "A ladder"
metrics = ["MRR@5", "tokens"]
published = "one-knob"
[baseline]
mode = "keyword"
[[arm]]
name = "five"
k = 5
[[arm]]
name = "five, all words"
on = "five"
words = "all"
[[arm]]
name = "two at once"
k = 5
rrf_k = 10
[[arm]]
name = "unknown"
knob = 1
[[arm]]
name = "too many"
k = 1_000_000
[[arm]]
name = "five"
k = 6
[[arm]]
name = "on nothing"
on = "nobody"
k = 7
[[arm]]
k = 8
[[arm]]
name = "wrong kind"
k = "many"
[[arm]]
name = "text for a flag"
spelling = "False"
[[arm]]
name = "a table"
model = {x = 1}
[[arm]]
name = "a number"
reranker = 5
[[arm]]
name = "many digits"
k = 0xFFF
[[arm]]
name = "no such"
reranker = "magic"
[[arm]]
name = "another index"
recipe = "fixed-128"
""".replace("0xFFF", "0x" + "f" * 5_000)


def test_an_experiment_file_with_mistakes_says_each_in_a_line_and_runs_the_rest(lake: Lake, asked: str) -> None:
    tried = experiments.parse(EXPERIMENT, "ladder")
    found = evaluated(lake, asked, tried.arms, experiment=tried)
    assert [(r.arm.name, r.evaluation.k, r.arm.changes) for r in found.results] == [
        ("baseline", 10, ""), ("five", 5, "k = 5"), ("five, all words", 5, "words = all")]
    assert json.loads(found.results[2].evaluation.retriever)["words"] == "all" and found.results[1].evaluation.experiment == "ladder"
    words = ("at once", "no such setting", "Ask for", "was there before", "no arm before it", "name", "many", "neither true nor false",
             "no text", "no text", "very many digits", "no such reranker", "no index of")
    assert len(found.skipped) == len(words)
    assert all(word in line and "\n" not in line for word, line in zip(words, found.skipped, strict=True)), found.skipped
    told = as_json(found)
    assert told["published"][0]["figures"][0]["value"] == 0.186 and "Other corpus" in told["published"][0]["note"]


@pytest.mark.parametrize(("text", "says"), [
    ("[baseline]\nmode = 'nose'", "mode"), ("[baseline\n", "not TOML"), ("titel = 'x'", "titel"),
    ("[[arm]]\nname='a'\nk=1\n[baseline]\nk='x'", "baseline"), ("[baseline]\nmodel = {x = 1}", "baseline: model is"),
    ("published = 'unknown'", "no published figures of that name: unknown. Known: "),
    ("metrics = ['MRR@5', 'MMR@5']", "metrics: no such metric: MMR@5. Known: MRR@5"),
    ("[baseline]\nk = " + "1" * 5_000, "not TOML: it holds a number of too many digits"),
    ("[baseline]\nk = 0x" + "f" * 5_000, "very many digits"),
])
def test_a_file_that_is_no_experiment_is_refused_in_a_line(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as raised:
        experiments.parse(text, "mine.toml")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", experiments.shipped())
def test_shipped_experiments_have_no_mistakes_and_published_figures(name: str) -> None:
    from edgarmill.schemas.paper.ladders import ladder

    tried = experiments.load(name)
    assert not tried.problems and tried.metrics and tried.about
    known = {arm.name for arm in tried.arms} | {""}
    assert {figure.arm for figure in ladder(tried.published).figures} <= known


def test_the_same_knobs_by_another_name_are_the_same_evaluation(lake: Lake, asked: str) -> None:
    first = evaluated(lake, asked)
    again = evaluated(lake, asked, (Arm("by words", Retriever(mode="keyword")),))
    assert again.stored and again.results[0].evaluation == first.results[0].evaluation and again.results[0].arm.name == "by words"


def test_an_arm_that_asks_what_another_asks_is_told(lake: Lake, asked: str) -> None:
    text = "[baseline]\nmode = 'keyword'\n[[arm]]\nname = 'ten hits'\nk = 10\n[[arm]]\nname = 'five'\nk = 5\n"
    tried = experiments.parse(text, "ladder")
    found = evaluated(lake, asked, tried.arms, experiment=tried)
    assert [r.arm.name for r in found.results] == ["baseline", "five"] and found.skipped == ("ten hits: the same as baseline",)


def test_an_arm_whose_endpoint_is_not_in_the_settings_is_told_and_keeps_nothing_from_being_read_back(lake: Lake, asked: str) -> None:
    text = "metrics = ['MRR@5']\n[baseline]\nmode = 'keyword'\n[[arm]]\nname = 'rewritten'\ntogether = true\nrewrite = 'query'\n"
    tried = experiments.parse(text + "model = 'endpoint:house'\n[[arm]]\nname = 'reranked'\nreranker = 'endpoint:house/m'\n", "ladder")
    found = evaluated(lake, asked, tried.arms, experiment=tried)
    assert [r.arm.name for r in found.results] == ["baseline"] and len(found.skipped) == 2
    assert all("house: no such endpoint" in line and "[endpoints.house]" in line for line in found.skipped)
    again = standing(Question(asked, arms=tried.arms, experiment=tried), lake.snapshot(), Settings(lake=lake.root))
    assert again is not None and again.skipped == found.skipped


MANY = tuple(Arm(f"k {k}", Retriever(mode="keyword", k=k)) for k in range(1, 9))
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from test_evaluation import MANY, evaluated
from edgarmill.schemas.store import Lake
evaluated(Lake.open(sys.argv[2]), sys.argv[3], MANY)
"""


def started(lake: Lake, questions: str) -> subprocess.Popen[bytes]:
    here = Path(__file__).parent
    paths = [str(here), str(here.parent / "support")]
    program = f"import sys; sys.path[:0] = {paths!r}\n{PROGRAM}"
    return subprocess.Popen([sys.executable, "-c", program, paths[0], lake.root, questions], stdout=subprocess.DEVNULL)


def wait_for(condition: Callable[[], bool], child: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 240
    while not condition() and child.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_killed_run_keeps_what_it_finished_and_the_next_one_does_the_rest(lake: Lake, tmp_path: Path) -> None:
    asked = written(tmp_path, *(question(n % 6, id=f"q{n}") for n in range(60)))
    child = started(lake, asked)
    wait_for(lambda: lake.snapshot().count("evaluations") >= 2, child)
    child.kill()
    child.wait()
    kept = {row.evaluation_id: row for row in evaluations(lake.snapshot())}
    assert len(kept) >= 2
    for row in kept.values():
        assert len(stored(lake.snapshot(), row.evaluation_id).asked) == 60, "whole"
    found = evaluated(lake, asked, MANY)
    assert len(found.results) == len(MANY) and {r.evaluation.evaluation_id for r in found.results if r.stored} == set(kept)
    assert all(row in [r.evaluation for r in found.results] for row in kept.values()), "not made again"
    assert counts(lake)["asked"] == 60 * len(MANY) and counts(lake)["evaluations"] == len(MANY)
    number = lake.snapshot().number
    assert evaluated(lake, asked, MANY).stored and lake.snapshot().number == number


def test_ray_tasks_give_the_rows_of_the_plain_loop(tmp_path: Path) -> None:
    lakes = [tiny_lake(tmp_path / name) for name in ("loop", "ray")]
    asked = written(tmp_path, *(question(n) for n in range(4)))
    arms = MANY[:3]
    rows = []
    for lake, engine in zip(lakes, ("loop", "ray"), strict=True):
        publish(lake)
        found = evaluated(lake, asked, arms, engine)
        assert {json.loads(r.evaluation.software)["engine"] for r in found.results} == {engine}
        rankings = lake.snapshot().records("rankings")
        rows.append(sorted((r.evaluation_id, r.question_id, r.rank, r.chunk_id, r.score, r.gold, r.tokens) for r in rankings))
    assert rows[0] == rows[1] and len(rows[0]) == 4 * (1 + 2 + 3)
