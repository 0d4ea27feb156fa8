"""Pages as ranges of characters, and those that a financial statement stands on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_lake import SPEC, accession, commit, fake_vector, filing, publish

from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.pagination import KEPT, MOST_DOCUMENTS, Pagination, page_of
from edgarmill.retrieval.passages import pages
from edgarmill.retrieval.retrieve import Reader
from edgarmill.retrieval.retriever import Retriever
from edgarmill.retrieval.search import open_index
from edgarmill.retrieval.statements import Holding, has_statement
from edgarmill.retrieval.terms import BALANCE, CASH, INCOME
from edgarmill.retrieval.versions import resolve
from edgarmill.schemas import ids, records
from edgarmill.schemas.records import Hit
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake

FIGURES = " | ".join(f"{n},{n:03d}" for n in range(101, 151))
PAGES = [  # of a filing: a contents page, a discussion, the statement, a note
    "Index to consolidated balance sheets, page 3; statements of cash flows, page 4.",
    f"We speak of our consolidated balance sheets at length below. {'Total current assets rose, total current liabilities fell. ' * 8}",
    f"Company A\nConsolidated Balance Shee ts\n(in millions)\nTotal current assets | {FIGURES}\nTotal current liabilities | {FIGURES}",
    f"Note 3. Total current assets and total current liabilities are told apart as our balance sheets show. {FIGURES}",
]


@pytest.mark.parametrize(("title", "statement"), [
    ("CONSOLIDATED BALANCE SHEETS", BALANCE), ("Statement of Consolidated Financial Position", BALANCE),
    ("Consolidated Statements of Operations and Comprehensive Loss", INCOME), ("INCOME STATEMENTS", INCOME),
    ("Statement of Consolidated Earnings", INCOME), ("Consolidated Statement of Cash Flow s", CASH), ("CASH FLOWS STATEMENTS", CASH),
])
def test_a_statement_opens_its_page_with_its_title_and_fills_it_with_figures(title: str, statement: str) -> None:
    page = f"Company A and Subsidiaries\n{title}\n(in millions)\n{FIGURES}"
    assert [name for name in (BALANCE, INCOME, CASH) if has_statement(page, name)] == [statement]
    assert not has_statement(f"{title}\nsee page 3", statement)  # a contents page
    assert not has_statement(f"{'A discussion. ' * 30}\n{title}\n{FIGURES}", statement)  # farther down
    assert not has_statement(f"Our {title} tell of it.\n{FIGURES}", statement)  # named in a sentence
    assert not has_statement(f"We say in our {title} what {'we know and ' * 20}\n{FIGURES}", statement)
    assert not has_statement(f"Statements of Comprehensive Income {FIGURES}", statement)


@given(st.text(max_size=400))
def test_any_page_may_be_looked_at(page: str) -> None:
    assert all(has_statement(page, name) in (True, False) for name in (BALANCE, INCOME, CASH))


def paged(n: int) -> dict[str, list[Any]]:
    """A filing of four pages, an element each; its chunks are cut without regard to pages."""
    document = ids.document_id(accession(n), 1)
    text = "\n\n".join(page.replace("Company A", f"Company {n}") for page in PAGES)
    rows: dict[str, list[Any]] = {"filings": [filing(n)], "chunks": [], "contexts": [], "embeddings": [], "elements": []}
    place, spans = 0, []
    for number, page in enumerate(text.split("\n\n"), 1):
        spans.append((place, place + len(page)))
        rows["elements"].append(records.Element(document, accession(n), number, "paragraph", None, *spans[-1], number, None, None))
        place += len(page) + 2
    for ordinal, start in enumerate(range(0, len(text), 230)):
        end = min(len(text), start + 230)
        on = [number for number, (a, b) in enumerate(spans, 1) if a < end and b > start]
        key = ids.chunk_id(document, SPEC.chunker, start, end, text[start:end])
        context = f"Company {n}"
        hashed = ids.text_hash(f"{context}\n\n{text[start:end]}")
        rows["chunks"].append(records.Chunk(key, document, accession(n), SPEC.chunker, ordinal, start, end, text[start:end], 60, "II", "8",
                                            "Statements", on[0], on[-1]))
        rows["contexts"].append(records.Context(key, accession(n), SPEC.context, context, 70, 1, hashed))
        rows["embeddings"].append(records.Embedding(hashed, SPEC.model_hash, accession(n), fake_vector(text[start:end])))
    rows["documents"] = [records.Document(document, accession(n), 1, "10-K", "a.pdf", "pdf", len(text), "utf-8", text, 4, "test 1",
                                          len(text), len(text), 3, 3)]
    return rows


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    made = Lake.open(str(tmp_path_factory.mktemp("statements") / "lake"), create=True)
    commit(made, "ingest", [paged(n) for n in range(3)])
    publish(made)
    return made


@pytest.fixture(scope="module")
def reader(lake: Lake) -> Reader:
    return Reader(open_index(lake, resolve(lake.snapshot()), fake_vector, "model1"), lake, Settings(), lambda: None)


def test_a_hit_stands_on_the_page_that_holds_most_of_it(reader: Reader) -> None:
    hits = reader.index.search("total current assets", 30, "vector")
    known = reader.pagination.of(hits)
    assert set(known) == {hit.document_id for hit in hits} and all(set(spans) == {1, 2, 3, 4} for spans in known.values())
    for hit in hits:
        spans = known[hit.document_id]
        shared = {page: min(hit.end, spans[page][1]) - max(hit.start, spans[page][0]) for page in range(hit.page_start, hit.page_end + 1)}
        assert shared[page_of(hit, spans)] == max(shared.values())
        assert page_of(hit, None) == page_of(hit, {}) == hit.page_start
        [stretch] = pages(reader.index.dataset, [hit], known)
        start, end = spans[page_of(hit, spans)]
        assert (stretch.start, stretch.end) == (min(hit.start, start), max(hit.end, end))


def test_pages_of_few_documents_are_read_and_kept(lake: Lake, reader: Reader) -> None:
    hit = reader.index.search("x", 1, "vector")[0]
    pagination = Pagination(lake)
    many = [replace(hit, document_id=f"{n}:1") for n in range(MOST_DOCUMENTS + 9)]
    assert set(pagination.of([*many, hit])) == {f"{n}:1" for n in range(MOST_DOCUMENTS)}
    for n in range(KEPT + 5):
        pagination.of([replace(hit, document_id=f"{n}:1")])
    assert len(pagination._kept) == KEPT
    assert pagination.of([replace(hit, page_start=0)]) == {}


@pytest.mark.parametrize("spread", ["none", "page"])
@pytest.mark.parametrize("mode", ["vector", "keyword", "hybrid"])
def test_the_statement_comes_before_what_only_speaks_of_it(reader: Reader, mode: Any, spread: Any) -> None:
    asked = "What is the current ratio of this company?"
    found = reader.retrieve(asked, Retriever(mode=mode, terms=True, spread=spread, k=3), Filters(accession=accession(1)))
    assert page_of(found.hits[0], reader.pagination.of(found.hits)[found.hits[0].document_id]) == 3
    assert [hit.rank for hit in found.hits] == [1, 2, 3] and len({hit.chunk_id for hit in found.hits}) == 3


def test_without_a_filer_no_statement_is_preferred(reader: Reader) -> None:
    """All companies' statements are as good: their pages say nothing of which is asked for."""
    knobs = Retriever(mode="keyword", terms=True, k=10)
    open_, narrow = (reader.retrieve("current ratio", knobs, filters) for filters in (None, Filters(ticker=("AAA", "BBB", "CCC"))))
    assert {hit.chunk_id: hit.rank for hit in open_.hits} != {hit.chunk_id: hit.rank for hit in narrow.hits}


def test_a_document_that_was_parsed_anew_holds_nothing(reader: Reader) -> None:
    hits: list[Hit] = reader.index.search("total current assets", 30, "vector")
    known = reader.pagination.of(hits)
    texts = reader.documents(set(known))
    assert Holding(texts, known).hits(BALANCE, hits)
    moved = {document: f"New. {text}" for document, text in texts.items()}
    assert not Holding(moved, known).hits(BALANCE, hits)
    assert not Holding({}, known).hits(BALANCE, hits) and not Holding(texts, {}).hits(BALANCE, hits)


def test_a_lake_without_elements_gives_the_chunks_of_the_page(tmp_path: Path) -> None:
    made = Lake.open(str(tmp_path / "lake"), create=True)
    commit(made, "ingest", [{name: rows for name, rows in paged(0).items() if name != "elements"}])
    publish(made)
    reader = Reader(open_index(made, resolve(made.snapshot()), fake_vector, "model1"), made, Settings(), lambda: None)
    found = reader.retrieve("current ratio", Retriever(mode="vector", terms=True, spread="page", parent="page", k=4))
    assert found.hits and all(passage.text for passage in found.passages)
