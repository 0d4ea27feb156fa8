"""A set meets a lake: names become filings, quotes become ranges, once for each text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from edgarmill.eval.questions.question_set import QuestionSet, hash_of
from edgarmill.eval.resolve import resolved_rows
from edgarmill.schemas.records import Document, Element, Filing, Gold, Question, Section
from edgarmill.schemas.store import Drop, Lake, Snapshot, write_part

APPLE, BEAR = "0000000001-24-000001", "0000000002-24-000002"


def document(accession: str, sequence: int, text: str, kind: str = "10-K") -> Document:
    name = f"{accession}:{sequence}"
    return Document(name, accession, sequence, kind, "main.htm", "html", len(text), "utf-8", text, 1, "t", None, 0, None, 0)


def ask(*gold: Gold, name: str = "q1", category: str = "single-hop") -> Question:
    return Question(name, f"{name}?", category, "So.", gold)


def questions(*asked: Question) -> QuestionSet:
    return QuestionSet("set", asked, hash_of(asked), None)


def commit(lake: Lake, key: str, drop: tuple[Drop, ...] = (), **tables: list[object]) -> Snapshot:
    with lake.writer("run") as writer:
        return writer.commit([write_part(lake.root, t, key, rows, "run") for t, rows in tables.items()], key=key, drop=drop)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake.open(str(tmp_path / "lake"), create=True)
    commit(
        lake, "one",
        filings=[Filing(APPLE, "Apple.10-k.htm.gz"), Filing(BEAR, "form10k.htm"), Filing("local-9", "form10k.htm.zst")],
        documents=[document(APPLE, 2, "Sales rose in the exhibit.", "EX-99.1"), document(APPLE, 1, "Costs fell. Sales rose. Sales rose."),
                   document(BEAR, 1, "Honey sold well.")],
        sections=[Section(f"{APPLE}:1", APPLE, "II", "7", "", 24, 35, 1, 1, None, "heading")],
    )
    return lake


@pytest.mark.parametrize(("ref", "document_id"), [
    ("apple.10-K.htm", f"{APPLE}:1"),
    ("folder/Apple.10-k.htm.gz", f"{APPLE}:1"),
    (APPLE, f"{APPLE}:1"),
    (f"{APPLE}:2", f"{APPLE}:2"),
    ("000000000124000001.txt", f"{APPLE}:1"),
    (f"{APPLE}.10-k405.txt.gz", f"{APPLE}:1"),
])
def test_a_filing_is_named_by_file_accession_or_document(lake: Lake, ref: str, document_id: str) -> None:
    (row,) = resolved_rows(questions(ask(Gold(ref, "Sales rose"))), lake.snapshot()).rows
    assert (row.document_id, row.how) == (document_id, "exact")


def test_rows_hold_the_ranges_and_the_order_of_the_set(lake: Lake) -> None:
    asked = questions(ask(Gold(APPLE, "Sales rose.", "II", "7"), Gold(BEAR, "Honey sold"), name="q2"), ask(name="q1", category="null"))
    resolved = resolved_rows(asked, lake.snapshot())
    assert [(r.question_id, r.ordinal, r.document_id, r.start, r.end, r.how) for r in resolved.rows] == [
        ("q2", 0, f"{APPLE}:1", 24, 35, "exact"), ("q2", 1, f"{BEAR}:1", 0, 10, "exact"), ("q1", -1, None, None, None, None)]
    assert {r.set_hash for r in resolved.rows} == {resolved.key} and resolved.problems == () and not resolved.stored


def test_what_cannot_be_resolved_is_named_with_its_reason(lake: Lake) -> None:
    gold = (Gold("absent.htm", "x"), Gold("form10k.htm", "Honey"), Gold(APPLE, "The moon\nis made of cheese."), Gold(APPLE, "Costs fell."))
    resolved = resolved_rows(questions(ask(*gold)), lake.snapshot())
    assert [r.how for r in resolved.rows] == [None, None, None, "exact"]
    assert resolved.problems == (
        "q1 gold 1: absent.htm is not in this lake",
        "q1 gold 2: form10k.htm may be any of 2 filings; name its accession",
        f"q1 gold 3: not found in the text of {APPLE}: 'The moon is made of cheese.'",
    )


def test_a_filing_without_text_leaves_its_evidence_unresolved(lake: Lake) -> None:
    resolved = resolved_rows(questions(ask(Gold("local-9", "Honey"))), lake.snapshot())
    assert resolved.rows[0].how is None and len(resolved.problems) == 1


def test_stored_rows_are_read_back_and_not_resolved_again(lake: Lake) -> None:
    asked = questions(ask(Gold(APPLE, "Sales rose."), Gold("absent.htm", "x")), ask(category="null", name="q0"))
    first = resolved_rows(asked, lake.snapshot())
    marked = [replace(row, answer="from the lake") for row in reversed(first.rows)]
    second = resolved_rows(asked, commit(lake, "two", question_sets=marked))
    assert second.stored and second.key == first.key and second.problems == first.problems
    assert [(r.question_id, r.ordinal, r.answer) for r in second.rows] == [(r.question_id, r.ordinal, "from the lake") for r in first.rows]


def another_text(lake: Lake, accession: str) -> Snapshot:
    drop = (Drop("documents", "accession", frozenset({accession})),)
    return commit(lake, "three", drop, documents=[document(accession, 1, "Now: Sales rose. Honey sold well.")])


def test_the_key_follows_the_texts_that_the_set_names_and_no_others(lake: Lake) -> None:
    asked = questions(ask(Gold(APPLE, "Sales rose.")))
    before = resolved_rows(asked, lake.snapshot())
    assert resolved_rows(questions(ask(Gold(APPLE, "Sales rose"))), lake.snapshot()).key != before.key
    assert resolved_rows(asked, another_text(lake, BEAR)).key == before.key


def test_a_changed_text_is_resolved_anew(lake: Lake) -> None:
    asked = questions(ask(Gold(APPLE, "Sales rose.")))
    before = resolved_rows(asked, lake.snapshot())
    after = resolved_rows(asked, another_text(lake, APPLE))
    assert after.key != before.key and (before.rows[0].start, after.rows[0].start) == (12, 5)


def test_pages_are_those_of_the_elements_and_a_whole_document_counts_as_found(lake: Lake) -> None:
    elements = [Element(f"{APPLE}:1", APPLE, n, "paragraph", None, start, end, page, None, None)
                for n, (start, end, page) in enumerate([(0, 11, 1), (12, 23, 2), (24, 35, 3)])]
    snapshot = commit(lake, "pages", elements=elements)
    asked = questions(ask(Gold(APPLE, "Sales rose.", page=3), Gold(BEAR, "", type="document"), Gold("Apple.10-K", "Costs fell.")))
    resolved = resolved_rows(asked, snapshot)
    assert [(r.start, r.how) for r in resolved.rows] == [(24, "exact"), (None, "document"), (0, "exact")]
    assert {r.questions_hash for r in resolved.rows} == {asked.set_hash} and resolved.problems == ()


def test_a_passage_is_the_one_of_the_sets_own_corpus(lake: Lake) -> None:
    snapshot = commit(lake, "passages", filings=[Filing("local-1", "set/p1"), Filing("local-2", "other/p1")],
                      documents=[document("local-1", 1, "Honey."), document("local-2", 1, "Honey.")])
    (row,) = resolved_rows(questions(ask(Gold("p1", "Honey.", type="passage"))), snapshot).rows
    assert row.document_id == "local-1:1"
