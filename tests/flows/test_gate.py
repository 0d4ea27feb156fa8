"""The gate before prod: what it lets through, what it stops and with which exit code, and what is kept of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_lake import accession, commit, filing, publish, rows_of, tiny_lake

from edgarmill import __main__ as main
from edgarmill.schemas.promotions import promotions
from edgarmill.schemas.records import IndexVersion
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Drop, Lake, write_part

RULE = """
primary = "nDCG@10"
margin = 0.05
questions = 20
[floors]
"hit@10" = 0.3
[growth]
tokens = 1.5
[coverage]
chunks_lost = 0.02
[retriever]
mode = "keyword"
"""


def questions(folder: Path, filings: range, name: str = "set.jsonl", lost: int = 0) -> Path:
    """A question for every chunk of these filings; the evidence of the last `lost` stands nowhere."""
    lines = []
    for n in filings:
        for i, chunk in enumerate(rows_of(filing(n), 8)["chunks"]):
            gold = {"accession": accession(n), "quote": chunk.text}  # type: ignore[attr-defined]
            lines.append({"id": f"q{n}-{i}", "question": chunk.text.replace(",", ""), "category": "single-hop",  # type: ignore[attr-defined]
                          "answer": "x", "gold": [gold]})
    for line in lines[len(lines) - lost:]:
        line["gold"] = [{"accession": accession(0), "quote": "There is no such sentence anywhere in it."}]
    file = folder / name
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


def fewer_chunks(lake: Lake, run_id: str, numbers: range, kept: int) -> IndexVersion:
    """A version in which filings that the lake has in full are indexed by their first chunks alone."""
    rows: dict[str, list[Any]] = {"chunks": [], "contexts": []}
    for n in numbers:
        for table, found in rows_of(filing(n), 8).items():
            if table in rows:
                rows[table] += found[:kept]
    gone = frozenset(accession(n) for n in numbers)
    with lake.writer(run_id) as writer:
        parts = [write_part(lake.root, table, run_id, found, run_id) for table, found in rows.items()]
        writer.commit(parts, key=run_id, drop=[Drop(table, "accession", gone) for table in rows])
    return publish(lake, run_id=f"{run_id}-index")[1]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = tiny_lake(tmp_path, filings=6)
    publish(made)
    (tmp_path / "rule.toml").write_text(RULE, encoding="utf-8")
    return made


def evaluate(lake: Lake, asked: Path) -> None:
    """The steps of flow `evaluate` without Prefect, on every version."""
    from edgarmill.eval.experiments import by_modes
    from edgarmill.flows.evaluation import Evaluation
    from edgarmill.flows.planned import Question

    with lake.writer("evaluate") as writer:
        question = Question(str(asked), all_versions=True, arms=by_modes(("keyword",)))
        job = Evaluation(question, Settings(lake=lake.root, engine="loop"), lake, writer, "evaluate")
        for step in (job.resolve, job.replay, job.score):
            step()


Ask = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def ask(lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    """`index promote --newest` on a set that every version was evaluated on: exit code, JSON, complaints."""

    def call(asked: Path, *words: object) -> tuple[int, Any, str]:
        evaluate(lake, asked)
        capsys.readouterr()
        code = main.run(["index", "promote", "--newest", "--questions", str(asked), *map(str, words), "--lake", lake.root, "--json"])
        said = capsys.readouterr()
        return code, json.loads(said.out) if said.out.strip() else None, said.err

    return call


def test_a_night_without_harm_is_promoted_and_a_harmful_one_is_not(lake: Lake, ask: Ask, tmp_path: Path) -> None:
    gate = (questions(tmp_path, range(6)), "--rule", tmp_path / "rule.toml")
    code, said, err = ask(*gate)
    assert (code, said["outcome"], said["promoted"]) == (0, "pass", True), err
    assert "No version is prod yet: floors and ceilings alone were asked for." in said["gate"]["notes"]
    assert ask(*gate)[:2] == (0, {"promoted": False, "prod": {"recipe": "tiny", "tag": said["prod"]["tag"]}, "gate": None})
    (tmp_path / "off.toml").write_text(RULE.replace("hit@10", "hits@10"), encoding="utf-8")
    code, _, err = ask(gate[0], "--rule", tmp_path / "off.toml")
    assert code == 2 and "floors: no such metric: hits@10" in err, "a rule that is off is told where there is nothing to promote too"

    commit(lake, "night", [rows_of(filing(7), 2)])
    publish(lake, run_id="second")
    code, said, err = ask(*gate)
    assert (code, said["outcome"]) == (0, "pass"), err
    assert any("1 filing added" in note for note in said["gate"]["notes"])
    assert any("asked about 1 other versions" in note for note in said["gate"]["notes"])

    before = promotions(lake.root)[-1]
    assert (before.verdict, before.reason) == ("pass", "the gate let it through")
    assert before.gate.startswith("pass by rule rule on set: nDCG@10")
    fewer_chunks(lake, "bad-night", range(6), 4)
    code, said, err = ask(*gate)
    assert (code, said["outcome"], said["promoted"], said["prod"]) == (5, "fail", False, None), err
    failed = {check["check"] for check in said["gate"]["checks"] if check["outcome"] == "fail"}
    assert failed == {"nDCG@10", "chunks of prod"}
    worst = said["gate"]["comparison"]["regressions"][0]
    assert worst["gold"][0]["first_rank"] is not None and worst["gold"][0]["second_rank"] is None
    assert worst["instead"]["text"] and worst["gold"][0]["quote"] not in worst["instead"]["text"]
    assert promotions(lake.root)[-1] == before

    code, said, err = ask(*gate, "--override", "--reason", "the filings are wanted today")
    assert (code, said["promoted"], said["prod"]["reason"]) == (0, True, "the filings are wanted today"), err
    assert said["prod"]["verdict"] == "fail" and said["prod"]["gate"].startswith("overruled: fail by rule rule")
    kept = Lake.open(lake.root).snapshot().records("gates")
    assert sorted(row.outcome for row in kept) == ["fail", "pass", "pass"], "an answer is kept once, however often it is asked"


def test_labels_that_no_longer_resolve_and_too_few_questions_have_codes_of_their_own(lake: Lake, ask: Ask, tmp_path: Path) -> None:
    rule = ("--rule", tmp_path / "rule.toml")
    code, said, _ = ask(questions(tmp_path, range(6), lost=10), *rule)
    assert (code, said["outcome"]) == (7, "not comparable") and "labels no longer resolve" in said["line"]
    code, said, _ = ask(questions(tmp_path, range(1), "few.jsonl"), *rule)
    assert (code, said["outcome"]) == (6, "undecided")
    assert promotions(lake.root) == []


@pytest.mark.parametrize(("words", "says"), [
    (("--newest", "2026-11-30.1", "--reason", "x"), "TAG or --newest"),
    ((), "TAG or --newest"),
    (("--newest",), "a move of prod needs a reason"),
    (("--newest", "--override", "--reason", "x"), "say --questions"),
    (("--newest", "--questions", "set.jsonl", "--override"), "overruling a gate needs a --reason"),
    (("--newest", "--questions", "absent.jsonl"), "absent.jsonl"),
    (("--newest", "--questions", "set.jsonl", "--rule", "strict"), "no such rule"),
])
def test_what_cannot_be_asked_is_refused_before_anything_is_started(lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                                    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...],
                                                                    says: str) -> None:
    monkeypatch.chdir(tmp_path)
    questions(tmp_path, range(1))
    assert main.run(["index", "promote", *words, "--lake", lake.root]) == 2
    err = capsys.readouterr().err
    assert says in err and promotions(lake.root) == []


def test_by_hand_a_reason_is_enough(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["index", "promote", "--newest", "--reason", "known to be good", "--lake", lake.root]) == 0
    [made] = promotions(lake.root)
    assert (made.gate, made.verdict, made.reason) == ("by hand", None, "known to be good")


def test_the_verdict_reads_with_the_rule_beside_it_and_two_versions_compare(lake: Lake, tmp_path: Path,
                                                                            capsys: pytest.CaptureFixture[str]) -> None:
    asked = questions(tmp_path, range(6))
    gate = ("index", "promote", "--newest", "--questions", str(asked), "--rule", str(tmp_path / "rule.toml"), "--lake", lake.root)
    evaluate(lake, asked)
    assert main.run(list(gate)) == 0
    bad = fewer_chunks(lake, "bad-night", range(6), 4)
    evaluate(lake, asked)
    capsys.readouterr()
    assert main.run(list(gate)) == 5
    out = capsys.readouterr().out
    assert out.startswith("fail by rule rule on set: nDCG@10") and "prod did not move." in out
    assert "lower bound of the difference to prod above -0.05" in out and "Worst regressions of nDCG@10 (5 of 24)" in out
    assert main.run(["compare", "prod", str(bad.tag), "--metric", "nDCG@10", "--lake", lake.root]) == 0
    out = capsys.readouterr().out
    assert "worse" in out and "form:10-Q" in out and "chunks: 48 -> 24" in out
    assert out.splitlines()[0].split()[:3] == ["recipe", "tag", "arm"], "A and B stand under no heading"
    assert main.run(["compare", "prod", str(bad.tag), "--lake", lake.root, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["first"]["recipe"], found["second"]["tag"], found["regressed"]) == ("tiny", bad.tag, 24)
    assert main.run(["compare", "prod", "nobody", "--lake", lake.root]) == 2
    assert "no evaluation of that name" in capsys.readouterr().err


def test_what_was_not_evaluated_is_evaluated_first(lake: Lake, tmp_path: Path, edgarmill: Callable[..., Any], prefect: str) -> None:
    asked = questions(tmp_path, range(6))
    words = ("index", "promote", "--newest", "--rule", tmp_path / "rule.toml", "--lake", lake.root, "--set", f"prefect_api_url={prefect}",
             "--json")
    nowhere = (*words[:-2], "prefect_api_url=http://127.0.0.1:9/api", "--json")  # nothing to evaluate: no server is asked for
    nothing = edgarmill(*nowhere, "--questions", questions(tmp_path, range(1), "none.jsonl", lost=8))
    assert nothing.code == 7, nothing.err
    assert json.loads(nothing.out)["gate"] is None and "no question can be judged" in json.loads(nothing.out)["line"]
    ran = edgarmill(*words, "--questions", asked)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["prod"]["gate"].startswith("pass by rule rule on set")
    assert Lake.open(lake.root).snapshot().count("gates") == 1
