"""Accounting terms as lines of statements, one hit a page, and pages given whole."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_lake import commit, fake_vector, filing, publish, rows_of

from edgarmill.retrieval.fusion import few_a_page, has_pages
from edgarmill.retrieval.retrieve import Reader
from edgarmill.retrieval.retriever import Retriever
from edgarmill.retrieval.search import open_index
from edgarmill.retrieval.terms import BALANCE, CASH, INCOME, lines_of
from edgarmill.retrieval.versions import resolve
from edgarmill.schemas.records import Hit
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake

CHUNKS = 12


@pytest.mark.parametrize(("question", "statements"), [
    ("How high was capex in 2023?", [CASH]),
    ("What is the quick ratio?", [BALANCE]),
    ("What was COGS, as the P&L has it?", [INCOME]),
    ("Compute ROE from the annual report", [BALANCE, INCOME]),
    ("EBITDA margin", [INCOME, CASH]),
    ("Who are the largest customers?", []),
    ("The drodsomething of capexico", []),  # parts of words are none
    ("", []),
])
def test_the_statements_that_a_question_is_about(question: str, statements: list[str]) -> None:
    assert [lines.statement for lines in lines_of(question)] == statements


def test_lines_of_several_terms_stand_once() -> None:
    balance, income = lines_of("inventory turnover, DIO and cost of sales, by the balance sheet")
    assert balance.text == "Consolidated balance sheets: inventories"
    assert income.text.count("cost of sales") == 1


@given(st.text(max_size=300))
def test_any_text_may_be_asked(question: str) -> None:
    assert len(lines_of(question)) <= 3


def on_pages(n: int) -> dict[str, list[Any]]:
    """A filing with three chunks a page; the third ends on the next page. The second filing has no pages."""
    rows = rows_of(filing(n), CHUNKS)
    paged = [replace(c, page_start=c.ordinal // 3 + 1, page_end=(c.ordinal + 1) // 3 + 1) for c in rows["chunks"]]
    rows["chunks"] = paged if n != 1 else [replace(c, page_start=None, page_end=None) for c in rows["chunks"]]
    return rows


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    lake = Lake.open(str(tmp_path_factory.mktemp("terms") / "lake"), create=True)
    commit(lake, "ingest", [on_pages(n) for n in range(3)])
    publish(lake)
    return Reader(open_index(lake, resolve(lake.snapshot()), fake_vector, "model1"), lake, Settings(), lambda: None)


def test_one_hit_a_page_is_the_best_and_pageless_hits_stay(reader: Reader) -> None:
    hits = reader.index.search("anything", 36, "vector")
    kept = few_a_page(hits, lambda hit: hit.page_start, 1)
    paged = [(hit.document_id, hit.page_start) for hit in kept if has_pages(hit)]
    assert len(paged) == len(set(paged)) == 8
    assert sum(not has_pages(hit) for hit in kept) == CHUNKS
    assert [hit.rank for hit in kept] == list(range(1, len(kept) + 1))
    two = few_a_page(hits, lambda hit: hit.page_start, 2)
    assert set(Counter((hit.document_id, hit.page_start) for hit in two if has_pages(hit)).values()) == {2}
    best = {place: next(h.chunk_id for h in hits if (h.document_id, h.page_start) == place) for place in paged}
    assert [hit.chunk_id for hit in kept if has_pages(hit)] == list(best.values())


def test_spread_gives_as_many_pages_as_hits_were_asked_for(reader: Reader) -> None:
    hits = reader.retrieve("anything", Retriever(mode="vector", k=6, spread="page")).hits
    assert len(hits) == 6
    places = [(hit.document_id, hit.page_start) for hit in hits if has_pages(hit)]
    assert len(places) == len(set(places))


def test_a_page_is_given_whole(reader: Reader) -> None:
    found = reader.retrieve("anything", Retriever(mode="vector", k=36, parent="page"))
    assert sorted(rank for passage in found.passages for rank in passage.hits) == list(range(1, 37))
    one = reader.retrieve("anything", Retriever(mode="vector", k=36, spread="page", parent="page"))
    for passage in one.passages:
        hit = one.hits[passage.hits[0] - 1]
        chunks = [c for c in found.hits if c.document_id == hit.document_id and on(c, hit)]
        assert passage.start <= min([hit.start, *(c.start for c in chunks)])
        assert passage.end >= max([hit.end, *(c.end for c in chunks)])


def on(chunk: Hit, hit: Hit) -> bool:
    return has_pages(hit) and chunk.page_start <= hit.page_end and chunk.page_end >= hit.page_start


def test_terms_search_the_statement_beside_the_question_and_change_nothing_without_one(reader: Reader) -> None:
    plain = Retriever(k=5)
    found = reader.retrieve("What is the quick ratio in note 3?", replace(plain, terms=True))
    assert [part.why for part in found.searched] == ["question", "terms"]
    assert found.searched[1].question.startswith("Consolidated balance sheets: ")
    assert len(found.hits) == 5
    without = "Who are the largest customers?"
    assert reader.retrieve(without, replace(plain, terms=True)).hits == reader.retrieve(without, plain).hits


@pytest.mark.parametrize("mode", ["vector", "keyword", "hybrid"])
def test_terms_in_each_mode_twice_alike(reader: Reader, mode: Any) -> None:
    knobs = Retriever(mode=mode, terms=True, spread="page", k=4)
    first, second = (reader.retrieve("Was passage 3 of capex and COGS larger?", knobs) for _ in range(2))
    assert first.hits == second.hits
    assert 0 < len(first.hits) <= 4
