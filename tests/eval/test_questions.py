"""What a question set gives, and what a bad line costs: itself, never the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edgarmill.eval.questions import load
from edgarmill.schemas.errors import UsageError


def record(**change: Any) -> dict[str, Any]:
    gold = {"file": "a.10-k.htm.gz", "quote": "Sales rose.", "part": "II", "item": "7", "type": "text"}
    whole = {"id": "q1", "question": "Why?", "category": "single-hop", "answer": "So.", "gold": [gold], "company": "A"}
    return {k: v for k, v in {**whole, **change}.items() if v != "left out"}


def write(path: Path, *lines: dict[str, Any] | str | bytes) -> str:
    texts = [line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode() for line in lines]
    path.write_bytes(b"\n".join(texts) + b"\n")
    return str(path)


def test_a_file_gives_its_questions_and_the_evidence_of_each(tmp_path: Path) -> None:
    questions = load(write(tmp_path / "set.jsonl", record(), "", record(id="q2", category=None, gold=[])))
    assert questions.name == "set" and questions.problems == () and questions.licence is None
    first, second = questions.questions
    assert (first.question_id, first.gold[0].ref, first.gold[0].item, first.gold[0].how) == ("q1", "a.10-k.htm.gz", "7", None)
    assert (second.category, second.gold) == ("null", ())


def test_a_folder_gives_the_questions_of_its_files_and_ignores_the_rest(tmp_path: Path) -> None:
    write(tmp_path / "b.jsonl", record(id="q2"))
    write(tmp_path / "a.jsonl", record())
    (tmp_path / "README.md").write_text("# Questions\n\nLicence: CC0, to whom it may concern\n", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("nothing", encoding="utf-8")
    questions = load(str(tmp_path))
    assert [q.question_id for q in questions.questions] == ["q1", "q2"]
    assert questions.licence == "CC0, to whom it may concern" and questions.name == tmp_path.name


def test_the_hash_covers_what_is_asked_and_not_where_it_stands(tmp_path: Path) -> None:
    one = load(write(tmp_path / "one.jsonl", record(), record(id="q2")))
    turned = load(write(tmp_path / "two.jsonl", record(id="q2"), record(needs="several documents")))
    other = load(write(tmp_path / "three.jsonl", record(), record(id="q2", answer="Because.")))
    assert one.set_hash == turned.set_hash != other.set_hash


def test_an_accession_names_a_filing_better_than_a_file(tmp_path: Path) -> None:
    gold = {"file": "form10k.htm", "accession": "0000000001-24-000001", "quote": "x", "page": 3}
    found = load(write(tmp_path / "set.jsonl", record(gold=[gold]))).questions[0].gold[0]
    assert (found.ref, found.page, found.type) == ("0000000001-24-000001", 3, "text")


def gold(**change: Any) -> list[dict[str, Any]]:
    return [{k: v for k, v in {"file": "a.htm", "quote": "x", **change}.items() if v != "left out"}]


@pytest.mark.parametrize(("bad", "said"), [
    ("{not json", "not JSON"),
    ("[1, 2]", "not a JSON object"),
    ("[" * 100_000, "not JSON"),
    (b"\xff\xfe", "not UTF-8"),
    (record(id="good"), "id 'good' was there before; the first one counts"),
    (record(id="left out"), "field 'id' is missing"),
    (record(answer="left out"), "field 'answer' is missing"),
    (record(question="  "), "'question' is empty"),
    (record(question=7), "'question' is not text"),
    (record(category="all"), "category 'all'"),
    (record(gold=[]), "empty gold"),
    (record(gold="x"), "'gold' is not a list"),
    (record(gold=["x"]), "gold 1: not a JSON object"),
    (record(category="null"), "has gold"),
    (record(gold=gold(quote="left out")), "gold 1: field 'quote' is missing"),
    (record(gold=gold(quote=" \n")), "gold 1: empty quote"),
    (record(gold=gold(file="left out")), "gold 1: neither 'file' nor 'accession'"),
    (record(gold=gold(type="figure")), "gold 1: type 'figure' is none of text, table"),
    (record(gold=gold(page=0)), "gold 1: 'page' is no page number"),
    (record(gold=gold(page=True)), "gold 1: 'page' is no page number"),
    (record(gold=gold(qoute="x")), "gold 1: unknown field 'qoute'"),
    (record(difficulty="hard"), "unknown field 'difficulty'; known: id"),
    ('{"id": "\\ud800", "question": "a", "category": "c", "answer": "", "gold": [{"file": "f", "quote": "q"}]}', "half a surrogate pair"),
    (record(question="why " * 2_500_000), "longer than 1,048,576 bytes"),
])
def test_a_bad_line_is_named_with_its_file_and_the_others_go_on(tmp_path: Path, bad: Any, said: str) -> None:
    questions = load(write(tmp_path / "set.jsonl", record(id="good"), bad, record(id="last")))
    assert [q.question_id for q in questions.questions] == ["good", "last"]
    (problem,) = questions.problems
    assert problem.startswith("set.jsonl line 2: ") and said in problem and "\n" not in problem


@pytest.mark.parametrize(("change", "said"), [
    ({"category": "c" * 61}, "'category' has 61 characters; at most 60"),
    ({"kind": "k" * 100_000}, "'kind' has 100,000 characters; at most 60"),
    ({"category": "form:10-K"}, "category 'form:10-K' has a colon, as slices by form, year and type have")])
def test_a_category_is_a_heading_and_no_name_of_another_slice(tmp_path: Path, change: dict[str, str], said: str) -> None:
    fits = record(id="q0", category="c" * 60, kind="template:" + "k" * 51)
    found = load(write(tmp_path / "set.jsonl", fits, record(**change), record(id="q2")))
    assert [q.question_id for q in found.questions] == ["q0", "q2"] and found.problems == (f"set.jsonl line 2: {said}",)


def test_nothing_usable_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no question can be used: set.jsonl line 1: not JSON .* \(2 lines in all\)"):
        load(write(tmp_path / "set.jsonl", "no", "nor this"))
    with pytest.raises(UsageError, match="it is empty"):
        load(write(tmp_path / "empty.jsonl", ""))
    with pytest.raises(UsageError, match="no such file"):
        load(str(tmp_path / "absent.jsonl"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="no \\*.jsonl, "):
        load(str(tmp_path / "folder"))


def test_a_byte_order_mark_is_no_part_of_the_first_question(tmp_path: Path) -> None:
    assert len(load(write(tmp_path / "set.jsonl", b"\xef\xbb\xbf" + json.dumps(record()).encode())).questions) == 1


def test_the_real_set_is_read_whole(shared: Path) -> None:
    questions = load(str(shared / "questions" / "filings-dev"))
    assert (len(questions.questions), sum(len(q.gold) for q in questions.questions), questions.problems) == (150, 285, ())
