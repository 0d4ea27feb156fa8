"""The verb `questions`: what it says of good and bad sets, its exit codes, and that its JSON says the same."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from evaluated_lake import TWO, evaluated_lake
from told_lake import told_lake

Edgarmill = Callable[..., Any]
QUOTE = "A neighbour of hole 0 sued us in court in 2022"
GOOD = {"id": "q1", "question": "Who sued?", "category": "single-hop", "answer": "A neighbour.",
        "gold": [{"accession": "0000000001-24-000000", "quote": QUOTE, "item": "3"}]}
NULL = {"id": "q2", "question": "Who sang?", "category": "null", "answer": "", "gold": []}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    return told_lake(tmp_path_factory.mktemp("told"), 2).root


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> str:
    return evaluated_lake(tmp_path_factory.mktemp("evaluated"), TWO[:2]).root


def put(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_a_set_of_which_all_resolves_ends_with_0(edgarmill: Edgarmill, lake: str, tmp_path: Path) -> None:
    path = put(tmp_path / "set.jsonl", GOOD, NULL)
    ran = edgarmill("questions", "check", path, "--lake", lake)
    assert (ran.code, ran.err) == (0, "")
    assert "set: 2 questions (1 null, 1 single-hop); 1 piece of evidence (1 text)" in ran.out
    assert "Found in the lake: 1 exactly, 0 nearly; 0 not found." in ran.out
    said = edgarmill("questions", "check", path, "--lake", lake, "--json").json
    assert (said["questions"], said["evidence"], said["problems"]) == (2, 1, [])
    assert said["found"] == {"exact": 1, "fuzzy": 0, "document": 0, "unresolved": 0} and said["set_hash"] != said["questions_hash"]


BAD = [
    ({**GOOD, "id": "q1"}, "line 2: id 'q1' was there before; the first one counts"),
    ({**GOOD, "id": "q3", "gold": []}, "line 2: empty gold; mark a question without answer with category 'null'"),
    ({**GOOD, "id": "q3", "colour": "red"}, "line 2: unknown field 'colour'"),
    ({**GOOD, "id": "q3", "question": "x" * 10_000_000}, "line 2: longer than 1,048,576 bytes"),
    ({**GOOD, "id": "q3", "gold": [{"file": "absent.htm", "quote": "x"}]}, "q3 gold 1: absent.htm is not in this lake"),
    ({**GOOD, "id": "q3", "gold": [{**GOOD["gold"][0], "quote": "Nobody sang there at all."}]}, "q3 gold 1: not found in the text of"),
]


@pytest.mark.parametrize(("record", "said"), BAD, ids=["twice", "empty gold", "unknown field", "10 MB", "absent", "not said"])
def test_one_bad_question_is_one_line_and_ends_with_3(edgarmill: Edgarmill, lake: str, tmp_path: Path, record: dict[str, Any],
                                                      said: str) -> None:
    path = put(tmp_path / "set.jsonl", GOOD, record)
    ran = edgarmill("questions", "check", path, "--lake", lake)
    assert ran.code == 3 and said in ran.err and len(ran.err.splitlines()) == 1 and len(ran.err) < 300
    assert "1 exactly" in ran.out, "the others go on"
    answer = edgarmill("questions", "check", path, "--lake", lake, "--json")
    assert answer.code == 3 and len(answer.json["problems"]) == 1 and said in answer.json["problems"][0]


def test_what_is_wrong_with_the_form_is_told_without_a_lake(edgarmill: Edgarmill, tmp_path: Path) -> None:
    path = put(tmp_path / "set.jsonl", GOOD, {**GOOD, "colour": "red"})
    ran = edgarmill("questions", "check", path, "--form-only", "--json", "--lake", tmp_path / "none")
    assert ran.code == 3 and ran.json["found"] is None and ran.json["set_hash"] is None and len(ran.json["problems"]) == 1
    assert edgarmill("questions", "check", path, "--lake", tmp_path / "none").code == 2


def test_many_problems_are_counted_on_a_terminal_and_all_in_json(edgarmill: Edgarmill, tmp_path: Path) -> None:
    path = put(tmp_path / "set.jsonl", GOOD, *[GOOD] * 60)
    ran = edgarmill("questions", "check", path, "--form-only")
    assert ran.code == 3 and len(ran.err.splitlines()) == 41 and "20 further problems: --json lists all" in ran.err
    assert len(edgarmill("questions", "check", path, "--form-only", "--json").json["problems"]) == 60


def test_where_nothing_can_be_used_one_line_and_2(edgarmill: Edgarmill, lake: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes.txt").write_text("nothing", encoding="utf-8")
    (tmp_path / "set.parquet").write_bytes(b"PAR1 this is no Parquet PAR1")
    (tmp_path / "empty.jsonl").write_bytes(b"")
    wanted = {"folder": "no *.jsonl, *.json, *.parquet file", "set.parquet": "not Parquet that can be read", "empty.jsonl": "it is empty",
              "absent.jsonl": "no such file"}
    for name, said in wanted.items():
        ran = edgarmill("questions", "check", tmp_path / name, "--lake", lake)
        assert ran.code == 2 and said in ran.err and len(ran.err.splitlines()) == 1 and ran.out == "", name


def test_words_of_a_set_do_not_steer_the_terminal(edgarmill: Edgarmill, tmp_path: Path) -> None:
    path = put(tmp_path / "set.jsonl", {**GOOD, "category": "\x1b[31mred"}, {**GOOD, "id": "\x1b]0;title\x07"}, {**GOOD, "\x1b[2J": 1})
    ran = edgarmill("questions", "check", path, "--form-only")
    assert "\x1b" not in ran.out + ran.err and "\x07" not in ran.out + ran.err


def test_a_proposed_set_is_checked_without_a_problem(edgarmill: Edgarmill, lake: str, tmp_path: Path) -> None:
    ran = edgarmill("questions", "propose", "--out", "ours.jsonl", "-n", 12, "--lake", lake, "--json")
    assert ran.code == 0 and ran.json["questions"] == 12 and sum(ran.json["kinds"].values()) == 12 and len(ran.json["kinds"]) == 7
    first = (tmp_path / "ours.jsonl").read_bytes()
    again = edgarmill("questions", "propose", "--out", "ours.jsonl", "-n", 3, "--lake", lake)
    assert again.code == 2 and again.err == "edgarmill: ours.jsonl: it is there already. Name a new file, or say --force to replace it.\n"
    assert (tmp_path / "ours.jsonl").read_bytes() == first
    said = edgarmill("questions", "propose", "--out", "ours.jsonl", "-n", 12, "--force", "--lake", lake)
    assert said.out.startswith("12 questions (") and "edgarmill questions check ours.jsonl" in said.out
    assert (tmp_path / "ours.jsonl").read_bytes() == first
    checked = edgarmill("questions", "check", "ours.jsonl", "--lake", lake, "--json")
    assert checked.code == 0 and checked.json["found"]["exact"] == checked.json["evidence"] >= 12


def test_a_lake_without_reports_proposes_nothing(edgarmill: Edgarmill, evaluated: str, tmp_path: Path) -> None:
    ran = edgarmill("questions", "propose", "--out", "ours.jsonl", "--lake", evaluated)
    assert ran.code == 2 and "nothing that the templates could ask for" in ran.err and not (tmp_path / "ours.jsonl").exists()


def test_sets_that_the_lake_knows_are_listed(edgarmill: Edgarmill, lake: str, evaluated: str) -> None:
    (row,) = edgarmill("questions", "list", "--lake", evaluated, "--json").json
    assert (row["questions"], row["evidence"], row["exact"], row["unresolved"], row["evaluations"]) == (40, 53, 53, 0, 2)
    shown = edgarmill("questions", "list", "--lake", evaluated).out
    assert row["set_hash"][:8] in shown and row["questions_hash"][:8] in shown and row["set_hash"] not in shown
    assert "No question set yet" in edgarmill("questions", "list", "--lake", lake).out
    assert edgarmill("questions", "list", "--lake", lake, "--json").json == []


def test_an_exported_evaluation_gives_our_figures_to_ir_measures(edgarmill: Edgarmill, evaluated: str, tmp_path: Path) -> None:
    ran = edgarmill("questions", "export", TWO[0].id, "--out", "trec", "--lake", evaluated, "--json")
    folder = tmp_path / "trec"
    assert ran.code == 0 and ran.json["files"] == sorted(path.name for path in folder.iterdir())
    said = json.loads((folder / "measures.json").read_text(encoding="utf-8"))
    qrels = list(ir_measures.read_trec_qrels(str(folder / "qrels.trec")))
    assert len(qrels) == 53 and said["questions_judged"] == 40
    for row in said["measures"]:
        run = ir_measures.read_trec_run(str(folder / row["run"]))
        (value,) = ir_measures.calc_aggregate([ir_measures.parse_measure(row["measure"])], qrels, run).values()
        assert 0 < value == pytest.approx(row["mean"], abs=1e-9), row["metric"]
    corpus = {(one := json.loads(line))["_id"]: one for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()}
    assert {one.doc_id for one in ir_measures.read_trec_run(str(folder / "run.trec"))} - {"none"} <= corpus.keys()
    assert {one.doc_id for one in qrels} <= corpus.keys() and all(one["text"] for one in corpus.values())
    queries = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["_id"] for line in queries} >= {one.query_id for one in qrels}
    assert (folder / "qrels.tsv").read_text(encoding="utf-8").startswith("query-id\tcorpus-id\tscore\nq0000\tq0000#gold0\t1\n")


def test_an_export_is_there_whole_or_not_at_all(edgarmill: Edgarmill, evaluated: str, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine", encoding="utf-8")
    for words, said in (((TWO[0].id, "--out", "full"), "it is there already"), (("fff", "--out", "new"), "no such evaluation"),
                        ((TWO[0].id, "--out", "new", "--whole-index"), "index")):
        ran = edgarmill("questions", "export", *words, "--lake", evaluated)
        assert ran.code != 0 and said in ran.err and len(ran.err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["full"] and [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]
    (tmp_path / "hollow").mkdir()
    assert edgarmill("questions", "export", TWO[0].id, "--out", "hollow", "--lake", evaluated).code == 0


def test_evaluate_refuses_a_folder_for_its_export_before_it_evaluates(edgarmill: Edgarmill, evaluated: str, tmp_path: Path) -> None:
    path = put(tmp_path / "set.jsonl", GOOD)
    wanted = {tmp_path.parent: "it is there already", ".": "it is the current folder", "": "it is the current folder",
              "/proc/x": "cannot be written", tmp_path / "set.jsonl" / "x": "cannot be written", "x" * 300: "cannot be written"}
    for folder, said in wanted.items():
        ran = edgarmill("evaluate", path, "--lake", evaluated, "--export", folder)
        assert ran.code == 2 and said in ran.err and len(ran.err.splitlines()) == 1, folder
    assert os.listdir(tmp_path) == ["set.jsonl"]


@pytest.mark.parametrize(("word", "value"), [
    ("True", True), ("FALSE", False), ("1.5", 1.5), ("walk", "walk"), ("", ""), ("[" * 9_000,) * 2], ids=range(6))
def test_a_knob_is_read_as_it_is_typed(word: str, value: Any) -> None:
    from edgarmill.commands.evaluate import _values

    assert _values((f"knob={word}",)) == {"knob": value}
