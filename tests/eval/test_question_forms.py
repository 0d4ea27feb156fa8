"""Sets of other forms, packed or not: what each gives, and that what is broken in one costs itself alone."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edgarmill.eval.questions import load
from edgarmill.eval.questions import question_set as bounds
from edgarmill.eval.questions.question_set import MAX_LINE_BYTES
from edgarmill.schemas.errors import UsageError
from edgarmill.workers.source.passages import passages_of

OWN = [
    {"id": "q1", "question": "Why?", "category": "single-hop", "answer": "So.", "gold": [{"file": "a.htm", "quote": "Sales rose."}]},
    {"id": "q2", "question": "Who?", "category": "null", "answer": "", "gold": []},
    {"id": "q3", "question": "What?", "category": "multi-hop", "answer": "", "kind": "hard",
     "gold": [{"accession": "a-1", "quote": "x", "page": 3, "start": 7}, {"file": "b.pdf", "type": "document"}]},
]
FINANCEBENCH = {"financebench_id": "f1", "doc_name": "ACME_2020_10K", "question_type": "metrics-generated", "question": "How much?",
                "answer": "$5",
                "evidence": [{"evidence_text": "Sales 5 4 3", "doc_name": "ACME_2020_10K", "evidence_page_num": 0},
                             {"evidence_text": "Sales were good in that year.", "evidence_page_num": 9}]}
KGRAG = {"id": "k1", "question": "How?", "answer": "So.", "question_type": "Multi-Doc RAG", 
         "source_docs": ["2022 Q3 A.pdf", "2023 Q1 A.pdf"]}
FINRAG = {"qa_id": "r1", "question": "Where?", "gold_answer": "There.", "question_type": "lookup",
          "gold_evidence": [{"filing_accession": "0000000001-24-000001", "section": "Item 1C - Cybersecurity", "quote": "Here it is."}]}
MULTIHOP = [
    {"query": "Which?", "answer": "A", "question_type": "inference_query",
     "evidence_list": [{"url": "https://n.example/1", "fact": "One."}, {"url": "https://n.example/2", "fact": "Two."}]},
    {"query": "None?", "answer": "Insufficient information.", "question_type": "null_query", "evidence_list": []},
    {"query": "Bad?", "answer": "", "question_type": "null_query", "evidence_list": [{"url": "u", "fact": "f"}]},
]
TATQA = [{
    "table": {"uid": "t1", "table": [["", "2020", "2019"], ["Sales", "5", "4"], ["Costs", "3", "3"]]},
    "paragraphs": [{"uid": "p", "order": 2, "text": "Nothing else."},
                   {"uid": "o", "order": 1, "text": "Sales rose by one, and by one again."}],
    "questions": [
        {"uid": "u1", "question": "By how much?", "answer": ["one"], "scale": "million", "answer_from": "text",
         "mappings": [{"paragraph_1": [14, 17]}]},
        {"uid": "u2", "question": "Change?", "answer": 1, "scale": "", "answer_from": "table",
         "mappings": [{"table": [1, 1]}, {"table": [1, 2]}]},
        {"uid": "u3", "question": "Lost?", "answer": 1, "scale": "", "answer_from": "table", "mappings": [{"table": [9, 1]}]},
    ],
}]


def lines(*records: Any) -> bytes:
    return "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records).encode()


def put(path: Path, data: bytes) -> str:
    path.write_bytes(gzip.compress(data) if path.name.endswith(".gz") else data)
    return str(path)


def test_our_own_form_is_the_same_as_jsonl_packed_and_as_parquet(tmp_path: Path) -> None:
    plain = load(put(tmp_path / "set.jsonl", lines(*OWN)))
    packed = load(put(tmp_path / "packed.jsonl.gz", lines(*OWN)))
    rows = [{"kind": None, **r} for r in OWN]  # the first row decides the columns
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "set.parquet")
    pq.write_table(pa.Table.from_pylist([{**r, "gold": json.dumps(r["gold"])} for r in rows]), tmp_path / "texts.parquet")
    for other in (packed, load(str(tmp_path / "set.parquet")), load(str(tmp_path / "texts.parquet"))):
        assert (other.questions, other.set_hash, other.problems) == (plain.questions, plain.set_hash, ())
    third = plain.questions[2]
    assert packed.name == "packed" and third.kind == "hard"
    assert (third.gold[0].page, third.gold[0].start, third.gold[1].type, third.gold[1].quote) == (3, 7, "document", "")


def test_a_bad_row_of_parquet_is_named_and_garbage_is_one_problem(tmp_path: Path) -> None:
    rows = [*OWN, {**OWN[0], "id": "q4", "answer": "x" * (MAX_LINE_BYTES + 1)}, {**OWN[0], "id": "q1"}, {**OWN[0], "id": None}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "set.parquet")
    questions = load(str(tmp_path / "set.parquet"))
    assert len(questions.questions) == 3
    assert [p.partition(": ")[0] for p in questions.problems] == ["set.parquet row 4", "set.parquet row 5", "set.parquet row 6"]
    data = (tmp_path / "set.parquet").read_bytes()
    for n, bad in enumerate((b"PAR1 garbage PAR1", b"", data[:200], data[:-8] + b"\xff" * 4 + b"PAR1")):
        (tmp_path / f"bad{n}.parquet").write_bytes(bad)
    found = load(str(tmp_path))
    assert len(found.questions) == 3 and sum("not Parquet that can be read" in p for p in found.problems) == 4


@pytest.mark.parametrize(("name", "data", "gold"), [
    ("fb.jsonl.gz", lines(FINANCEBENCH), [("f1", "multi-hop", "metrics-generated",
                                          [("ACME_2020_10K", "mixed", 1), ("ACME_2020_10K", "text", 10)])]),
    ("kg.jsonl", lines(KGRAG), [("k1", "multi-hop", "Multi-Doc RAG", [("2022 Q3 A.pdf", "document", None),
                                                                    ("2023 Q1 A.pdf", "document", None)])]),
    ("qa.jsonl", lines(FINRAG), [("r1", "single-hop", "lookup", [("0000000001-24-000001", "text", None)])]),
    ("MultiHopRAG.json", json.dumps(MULTIHOP).encode(), [
        (None, "multi-hop", "inference_query", [("https://n.example/1", "text", None), ("https://n.example/2", "text", None)]),
        (None, "null", "null_query", [])]),
    ("tatqa.json.gz", json.dumps(TATQA).encode(), [("u1", "single-hop", "text", [("t1", "text", None)]),
                                                  ("u2", "single-hop", "table", [("t1", "table", None)])]),
])
def test_each_published_form_gives_its_questions(tmp_path: Path, name: str, data: bytes, gold: list[Any]) -> None:
    questions = load(put(tmp_path / name, data))
    found = [(q.question_id, q.category, q.kind, [(g.ref, g.type, g.page) for g in q.gold]) for q in questions.questions]
    assert [(name if want[0] else None, *rest) for want, (name, *rest) in zip(gold, found, strict=True)] == gold
    assert questions.licence and len(questions.problems) == (name in ("MultiHopRAG.json", "tatqa.json.gz"))


def test_ranges_of_tatqa_are_those_of_the_passage_that_becomes_a_document(tmp_path: Path) -> None:
    path = put(tmp_path / "tatqa.json", json.dumps(TATQA).encode())
    ((_, passage),) = passages_of(Path(path))
    first, second = (q.gold[0] for q in load(path).questions)
    text = getattr(passage, "text", "")
    assert text[first.start :].startswith("one, and") and second.quote == "Sales | 5 | 4" and text[second.start :].startswith(second.quote)


@pytest.mark.parametrize("record", [
    FINANCEBENCH | {"evidence": []},
    FINANCEBENCH | {"evidence": [{"evidence_text": "x", "evidence_page_num": -1}]}, FINANCEBENCH | {"answer": 5},
    KGRAG | {"source_docs": []}, KGRAG | {"source_docs": [7]}, FINRAG | {"gold_evidence": [{}]}, FINRAG | {"gold_evidence": "x"},
])
def test_a_bad_record_of_a_published_form_costs_itself(tmp_path: Path, record: dict[str, Any]) -> None:
    good = next(one for one in (FINANCEBENCH, KGRAG, FINRAG) if one.keys() == record.keys())
    questions = load(put(tmp_path / "set.jsonl", lines(record, good)))
    assert len(questions.questions) == 1 and len(questions.problems) == 1 and questions.problems[0].startswith("set.jsonl line 1: ")


def test_a_damaged_packed_set_keeps_what_came_before(tmp_path: Path) -> None:
    packed = gzip.compress(lines(*({**OWN[0], "id": f"q{n}", "answer": str(n * n * n)} for n in range(5_000))))
    (tmp_path / "set.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    questions = load(str(tmp_path / "set.jsonl.gz"))
    assert len(questions.questions) > 100 and "compressed file is damaged" in questions.problems[-1]
    (tmp_path / "none.jsonl.gz").write_bytes(b"\x1f\x8b no gzip at all")
    with pytest.raises(UsageError, match="damaged"):
        load(str(tmp_path / "none.jsonl.gz"))


def test_a_bomb_is_read_up_to_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_FILE_BYTES", 4 * MAX_LINE_BYTES)
    monkeypatch.setattr(bounds, "MAX_WHOLE_BYTES", 2 * MAX_LINE_BYTES)
    questions = load(put(tmp_path / "set.jsonl.gz", lines(OWN[0]) + b"0" * (40 * MAX_LINE_BYTES)))
    assert len(questions.questions) == 1 and "more than 4,194,304 bytes unpacked; the rest is left out" in questions.problems[0]
    with pytest.raises(UsageError, match="more than 2,097,152 bytes unpacked"):
        load(put(tmp_path / "tatqa.json.gz", json.dumps(TATQA).encode() + b" " * (3 * MAX_LINE_BYTES)))


def test_files_of_a_folder_that_no_reader_knows_are_passed_over_with_a_note(tmp_path: Path) -> None:
    put(tmp_path / "a.jsonl", lines(*OWN))
    put(tmp_path / "documents.jsonl", lines({"doc_name": "x"}))
    (tmp_path / "README.md").write_text("A set with a permissive licence: no.\n\nLicence: **MIT** (LICENSE).\n", encoding="utf-8")
    questions = load(str(tmp_path))
    assert (len(questions.questions), questions.problems) == (3, ())
    assert questions.notes == ("documents.jsonl: passed over, no reader knows its form",) and questions.licence == "MIT (LICENSE)"


def test_judgements_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    put(tmp_path / "queries.jsonl", lines({"_id": "q1", "text": "Who?"}, {"_id": "q2", "text": "Where?"}))
    with pytest.raises(UsageError, match="no judgements beside it"):
        load(str(tmp_path))
    put(tmp_path / "qrels.tsv", b"query-id\tcorpus-id\tscore\nq1\tp1\t1\nq2\nq9\tp1\t1\n")
    questions = load(str(tmp_path))
    assert [(q.question_id, q.gold[0].type) for q in questions.questions] == [("q1", "document")], "without a corpus no text is known"
    assert questions.problems == ("queries.jsonl: qrels.tsv line 3: not query, passage and score",)
    assert any("1 judged queries are not in this file" in note for note in questions.notes)


@pytest.mark.parametrize(("place", "questions", "evidence", "problems"), [
    ("financebench", 92, 114, 0), ("questions/filings-dev", 150, 285, 0), ("questions/finqabench", 30, 30, 0),
    ("questions/finrag-eval-10k", 10, 12, 0), ("questions/kg-rag-sec-10-q", 116, 233, 0), ("questions/multihop-rag-evidence", 500, 1153, 0),
    ("questions/tatqa-test-gold", 1660, 2018, 3),
])
def test_the_real_sets_are_read_whole(shared: Path, place: str, questions: int, evidence: int, problems: int) -> None:
    found = load(str(shared / place))
    assert (len(found.questions), sum(len(q.gold) for q in found.questions), len(found.problems)) == (questions, evidence, problems)
