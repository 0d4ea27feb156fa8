"""One question through all steps: each is told, each can be left out, and nothing a question holds breaks one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny_lake import DIMENSIONS, fake_vector, publish, tiny_lake

from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.query import open_for
from edgarmill.retrieval.rerank import Scored
from edgarmill.retrieval.retrieve import Reader, open_reader
from edgarmill.retrieval.retriever import Retriever
from edgarmill.retrieval.search import open_index
from edgarmill.retrieval.versions import resolve
from edgarmill.schemas.errors import SettingsError, UnknownName, UsageError
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    found = tiny_lake(tmp_path_factory.mktemp("retrieve"), 12, 6)
    publish(found)
    return found


@pytest.fixture
def reader(lake: Lake) -> Reader:
    return Reader(open_index(lake, resolve(lake.snapshot()), fake_vector, "model1"), lake, Settings(), lambda: None)


def test_without_knobs_it_is_the_index_own_search(reader: Reader) -> None:
    found = reader.retrieve("gross margin")
    assert found.hits == reader.index.search("gross margin", 10)
    assert [p.text for p in found.passages] == [hit.text for hit in found.hits]
    assert set(found.seconds) == {"embed", "search"} and found.tokens is None and found.retriever == Retriever()


def test_words_are_corrected_before_anything_is_searched(reader: Reader) -> None:
    found = reader.retrieve("gros margn of Company A", Retriever(mode="keyword", spelling=True))
    assert found.question == "gross margin of Company A"
    assert [(one.text, one.corrected) for one in found.corrections] == [("gros", "gross"), ("margn", "margin")]
    assert found.hits == reader.index.search("gross margin of Company A", 10, "keyword") and "spelling" in found.seconds


def test_filters_are_inferred_told_and_in_force(reader: Reader) -> None:
    found = reader.retrieve("What did AAA say in its 10-K of fiscal 2020?", Retriever(k=50, filters="inferred"))
    assert {(hit.tickers, hit.form, hit.fiscal_year) for hit in found.hits} == {(("AAA",), "10-K", 2020)} and len(found.hits) == 6
    assert [(one.text, one.field) for one in found.inferred] == [("AAA", "filer"), ("10-K", "form"), ("fiscal 2020", "year")]
    assert found.plan.rows == 6 and found.filters.year == (2020,)


def test_an_inferred_filter_that_keeps_nothing_is_dropped_and_told(reader: Reader) -> None:
    found = reader.retrieve("AAA in fiscal 1995", Retriever(k=50, filters="inferred"))
    assert {hit.tickers for hit in found.hits} == {("AAA",)}
    assert [(one.field, one.dropped) for one in found.inferred] == [("filer", False), ("year", True)]


def test_given_filters_hold_unless_none_are_to(reader: Reader) -> None:
    given = Filters(ticker="BBB")
    assert {h.tickers for h in reader.retrieve("AAA", Retriever(filters="inferred"), given).hits} == {("BBB",)}
    assert {h.tickers for h in reader.retrieve("x", Retriever(k=72, filters="none"), given).hits} == {("AAA",), ("BBB",), ("CCC",)}


def test_a_reranker_reads_k_initial_hits_and_gives_k(reader: Reader) -> None:
    read: list[str] = []

    def by_length(question: str, texts: Any) -> Scored:
        read.extend(texts)
        return Scored(tuple(float("2022" in text) for text in texts))

    reader._rerankers["mine"] = by_length
    found = reader.retrieve("margin", Retriever(k=3, reranker="mine", k_initial=20))
    first = reader.index.search("margin", 20)
    assert read == [hit.text for hit in first] and len(found.hits) == 3
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True) and found.hits[0].rank == 1
    assert found.hits[0].scores.keys() > {"rerank"} and "2022" in found.hits[0].text
    assert [h.chunk_id for h in found.hits] == sorted(h.chunk_id for h in found.hits)  # equal scores by id


def test_a_reranker_that_is_not_there_is_said_in_one_line(reader: Reader) -> None:
    with pytest.raises(UnknownName, match="no such reranker"):
        reader.retrieve("x", Retriever(reranker="magic"))


ODD = ["x" * 20_000, "no " * 6_000, "'; DROP TABLE chunks; --", "ticker = 'A' OR 1=1", "(((((", "[a-z]+$^*", "\x00\x01", "a\nb\u2028c",
"中文 é",
       "“quotes” 'and' \"more\"", "Q3 2024 FY24 10-K 8-K AAA BBB CCC " * 500, "\u202e evil", "%s {0} {{x}}", "-" * 5000]


@pytest.mark.parametrize("question", ODD, ids=range(len(ODD)))
def test_an_odd_question_goes_through_every_step(reader: Reader, question: str) -> None:
    for words in ("any", "all", "phrase"):
        knobs = Retriever(k=5, words=words, filters="inferred", spelling=True, neighbours=1, tokens=200)  # type: ignore[arg-type]
        found = reader.retrieve(question, knobs)
        assert len(found.hits) == 5 and (found.tokens or 0) <= 200


@pytest.mark.parametrize("question", ["", " \n", "x" * 20_001, "\ud800"])
def test_what_cannot_be_asked_is_refused_before_any_step(reader: Reader, question: str) -> None:
    with pytest.raises(UsageError):
        reader.retrieve(question, Retriever(spelling=True, filters="inferred"))


def test_a_filter_of_no_form_is_refused_before_any_step(reader: Reader) -> None:
    with pytest.raises(UsageError, match="not a ticker"):
        reader.retrieve("x", Retriever(spelling=True), Filters(ticker="A' OR 1=1"))


def test_a_vector_may_be_given(reader: Reader) -> None:
    vector = fake_vector("elsewhere")
    assert reader.retrieve("x", Retriever(mode="vector"), vector=vector).hits == reader.index.search("x", 10, "vector", vector=vector)
    with pytest.raises(UsageError, match="query vector"):
        reader.retrieve("x", vector=(0.0,) * DIMENSIONS)


def test_words_alone_need_no_model_and_another_model_is_refused(lake: Lake, tmp_path: Path) -> None:
    version = resolve(lake.snapshot())
    assert open_reader(lake, version, Settings(), ("keyword",)).retrieve("margin", Retriever(mode="keyword")).hits
    for opened in (open_reader, open_for):
        with pytest.raises((UsageError, SettingsError)):
            opened(lake, version, Settings(), ("hybrid",))
