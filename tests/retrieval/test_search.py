"""What a search finds, in which order, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import numpy as np
import pytest
from fused_lists import by_score
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_lake import DIMENSIONS, SPEC, accession, commit, fake_vector, filing, publish, rows_of, tiny_lake

from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.fusion import DEVIATION, FARTHEST
from edgarmill.retrieval.retriever import KEYWORD_WEIGHT, RRF_K, Retriever
from edgarmill.retrieval.search import Index, open_index, readable
from edgarmill.retrieval.versions import resolve
from edgarmill.schemas.errors import LakeCorrupt, NewerSchema, UsageError
from edgarmill.schemas.records import Hit
from edgarmill.schemas.store import Lake

FILINGS, CHUNKS = 12, 6


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    found = tiny_lake(tmp_path_factory.mktemp("search"), FILINGS, CHUNKS)
    publish(found)
    return found


@pytest.fixture(scope="module")
def index(lake: Lake) -> Index:
    return open_index(lake, resolve(lake.snapshot()), fake_vector, "model1")


def chunks(lake: Lake) -> list[dict[str, Any]]:
    return list(lake.snapshot().read("chunks").to_pylist())


def by_hand(lake: Lake, question: str, keep: set[str] | None = None) -> list[str]:
    """Chunk ids by cosine similarity, best first."""
    q = np.array(fake_vector(question))
    rows = [c for c in chunks(lake) if keep is None or c["accession"] in keep]
    return [c["chunk_id"] for c in sorted(rows, key=lambda c: (-round(float(q @ np.array(fake_vector(c["text"]))), 6), c["chunk_id"]))]


def ids(hits: list[Hit]) -> list[str]:
    return [h.chunk_id for h in hits]


def test_a_vector_search_is_exact(index: Index, lake: Lake) -> None:
    hits = index.search("what about margins", k=7, mode="vector")
    assert ids(hits) == by_hand(lake, "what about margins")[:7]
    assert [h.rank for h in hits] == list(range(1, 8))
    assert hits[0].score == pytest.approx(float(np.dot(fake_vector("what about margins"), fake_vector(hits[0].text))), abs=1e-5)
    assert hits[0].scores == {"vector": hits[0].score}


def test_a_hit_leads_to_page_and_characters(index: Index, lake: Lake) -> None:
    import pyarrow.compute as pc

    hit = index.search("gross margin", k=1, mode="keyword", filters=Filters(ticker="BBB", year=2021))[0]
    document = lake.snapshot().records("documents", pc.field("document_id") == hit.document_id)[0]
    assert document.text[hit.start:hit.end] == hit.text
    assert (hit.company, hit.tickers, hit.form, hit.fiscal_year, hit.filed_on) == ("Company B", ("BBB",), "10-K", 2021, date(2022, 2, 1))
    assert (hit.item, hit.section_title, hit.page_start, hit.url) == ("7", "Section 1", 2, "https://x/1")


def test_words_are_found_in_any_form_and_stop_words_count(index: Index) -> None:
    assert {h.text.split(",")[0].strip() for h in index.search("attacks", k=50, mode="keyword")} == {"risk of supply and of cyber attack"}
    assert all("not" in h.text for h in index.search("not", k=50, mode="keyword"))
    assert len(index.search("not", k=100, mode="keyword")) == FILINGS


def test_any_word_is_enough(index: Index) -> None:
    found = {h.text.split()[0] for h in index.search("margin xyzzy cyber", k=60, mode="keyword")}
    assert found == {"gross", "risk"}


def test_by_ranks_hybrid_is_reciprocal_rank_fusion_of_both(index: Index) -> None:
    question = "cash flow"
    lists = {mode: ids(index.search(question, k=100, mode=mode)) for mode in ("vector", "keyword")}  # type: ignore[arg-type]
    fused: dict[str, float] = {}
    for mode, ranked in lists.items():
        for rank, key in enumerate(ranked, 1):
            fused[key] = fused.get(key, 0) + (KEYWORD_WEIGHT if mode == "keyword" else 1) / (RRF_K + rank)
    hits = index.candidates(question, Retriever(k=9, fusion="ranks")).hits
    assert ids(hits) == sorted(fused, key=lambda key: (-fused[key], key))[:9]
    assert [h.score for h in hits] == pytest.approx(sorted(fused.values(), reverse=True)[:9])
    assert any(h.scores.keys() == {"vector", "keyword"} for h in hits)


def test_by_scores_hybrid_is_the_sum_of_how_far_they_stand_out(index: Index) -> None:
    question = "cash flow, margin and risk"
    every = ids(index.search(question, k=1000, mode="vector"))
    fused: dict[str, float] = {}
    for mode, weight in (("vector", 1.0), ("keyword", KEYWORD_WEIGHT * DEVIATION["keyword"])):
        scored = {h.chunk_id: h.score for h in index.search(question, k=1000, mode=mode)}  # type: ignore[arg-type]  # a plain str of the loop
        mean, spread = fmean(scored.values()), pstdev(scored.values())
        for key in every:
            fused[key] = fused.get(key, 0.0) + weight * (scored.get(key, 0.0) - mean) / spread
    hits = index.search(question, k=9)
    assert [h.score for h in hits] == pytest.approx(sorted(fused.values(), reverse=True)[:9])
    assert all(h.scores.keys() <= {"vector", "keyword"} for h in hits)


@pytest.mark.parametrize("mode", ["scores", "ranks"])
def test_more_hits_asked_for_begin_with_the_fewer(index: Index, mode: Any) -> None:
    few, more = (ids(index.candidates("cash flow", Retriever(k=k, fusion=mode)).hits) for k in (3, 9))
    assert more[:3] == few


@pytest.mark.parametrize("mode", ["vector", "keyword", "hybrid"])
def test_equal_scores_are_ordered_by_chunk_id(index: Index, mode: Any) -> None:
    hits = index.search("revenue higher prices", k=40, mode=mode)
    assert [(-h.score, h.chunk_id) for h in hits] == sorted((-h.score, h.chunk_id) for h in hits)
    assert hits == index.search("revenue higher prices", k=40, mode=mode)
    for k in range(1, 40):  # wherever the cut falls among equal ones
        assert index.search("revenue higher prices", k=k, mode=mode) == hits[:k]


FILTERS = [
    (Filters(ticker="aaa"), lambda f: "AAA" in f.tickers),
    (Filters(cik="2"), lambda f: "0000000002" in f.ciks),
    (Filters(form="10-k"), lambda f: f.family == "10-K"),
    (Filters(form="10-K/A"), lambda f: False),
    (Filters(year=2022), lambda f: f.fiscal_year == 2022),
    (Filters(quarter=3), lambda f: f.fiscal_quarter == 3),
    (Filters(accession=accession(4)), lambda f: f.accession == accession(4)),
    (Filters(since=date(2023, 2, 1)), lambda f: f.filed_on >= date(2023, 2, 1)),
    (Filters(since=date(2022, 1, 1), until=date(2022, 12, 31)), lambda f: f.filed_on.year == 2022),
    (Filters(ticker="BBB", form="10-K", year=2021), lambda f: "BBB" in f.tickers and f.fiscal_year == 2021),
]


@pytest.mark.parametrize(("filters", "keeps"), FILTERS, ids=lambda value: str(getattr(value, "expression", ""))[:40])
def test_a_filter_keeps_exactly_its_filings_and_never_fewer_than_k(index: Index, lake: Lake, filters: Filters, keeps: Any) -> None:
    keep = {f.accession for f in map(filing, range(FILINGS)) if keeps(f)}
    wanted = by_hand(lake, "anything", keep)
    assert ids(index.search("anything", k=50, mode="vector", filters=filters)) == wanted[:50]
    assert {h.accession for h in index.search("revenue", k=500, mode="keyword", filters=filters)} == keep


@pytest.mark.parametrize(("item", "count"), [("7", 36), ("item 7", 36), ("I.1a", 36), ("II.7", 0), ("9", 0)])
def test_a_section_is_named_by_item_or_part_and_item(index: Index, item: str, count: int) -> None:
    assert len(index.search("x", k=100, mode="vector", filters=Filters(item=item))) == count


@pytest.mark.parametrize("filters", [
    Filters(ticker="A' OR 1=1 --"), Filters(cik="1' OR"), Filters(form="10-K'"), Filters(item="7'; --"), Filters(accession="x' OR '1'='1"),
    Filters(ticker=""), Filters(year=20240), Filters(quarter=5), Filters(since=date(2024, 1, 2), until=date(2024, 1, 1)),
    Filters(year="2024 OR 1=1"),  # type: ignore[arg-type]
], ids=str)
def test_a_filter_value_of_another_form_is_refused(index: Index, filters: Filters) -> None:
    with pytest.raises(UsageError) as caught:
        index.search("x", filters=filters)
    assert "\n" not in str(caught.value)


@settings(max_examples=200, deadline=None)
@given(st.builds(Filters, ticker=st.none() | st.text(max_size=8), cik=st.none() | st.text(max_size=8), form=st.none() | st.text(max_size=8),
                 item=st.none() | st.text(max_size=8), accession=st.none() | st.text(max_size=8)))
def test_no_text_leaves_its_literal(filters: Filters) -> None:
    try:
        expression = filters.expression or ""
    except UsageError:
        return
    inside = expression.split("'")[1::2]
    assert expression.count("'") == 2 * len(inside) and all(c.isalnum() or c in " ./-_" for text in inside for c in text)


ODD = ["?!...", "*", "AND OR NOT", 'a AND (b OR "c', "text:x^2~", "+-&|!(){}[]^\"~*?:\\/", "\x00", "é ü 中文", "no " * 3000, "x" * 10_000,
       "'; DROP TABLE chunks; --", "10-K", "\n\t margin \n"]


@pytest.mark.parametrize("question", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_an_odd_question_has_plain_results(index: Index, question: str, mode: Any) -> None:
    hits = index.search(question, k=5, mode=mode)
    assert len(hits) == 5 or mode == "keyword"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(question=st.text(max_size=60))
def test_any_question_has_results_or_one_clear_line(index: Index, question: str) -> None:
    try:
        assert len(index.search(question, k=3)) == 3
    except UsageError as error:
        assert not question.strip() and "\n" not in str(error)


@pytest.mark.parametrize(("question", "k", "mode", "words"), [
    ("", 5, "hybrid", "question is empty"), (" \n\t", 5, "vector", "question is empty"), ("x" * 20_001, 5, "keyword", "20,001 characters"),
    ("\ud800", 5, "keyword", "not valid text"), ("x", 0, "hybrid", "0 hits asked for"), ("x", 10**6, "hybrid", "hits asked for"),
    ("x", 5, "magic", "magic: no such mode. Known: vector, keyword, hybrid")])
def test_what_cannot_be_asked_is_refused_in_one_line(index: Index, question: str, k: int, mode: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        index.search(question, k=k, mode=mode)


def test_another_model_than_the_index_is_refused(lake: Lake) -> None:
    for model_hash in ("model2", None):
        with pytest.raises(UsageError, match=r"made with model fake \(model1\)"):
            open_index(lake, resolve(lake.snapshot()), fake_vector, model_hash)


@pytest.mark.parametrize("vector", [(0.0,) * DIMENSIONS, (float("nan"),) * DIMENSIONS, (1.0,) * 3])
def test_a_query_vector_that_cannot_find_is_refused(index: Index, vector: tuple[float, ...]) -> None:
    with pytest.raises(UsageError, match="query vector"):
        index.search("x", mode="vector", vector=vector)


def test_words_are_searched_without_a_model(lake: Lake) -> None:
    plain = open_index(lake, resolve(lake.snapshot()))
    assert plain.search("margin", k=3, mode="keyword")
    with pytest.raises(UsageError, match="needs the embedding model"):
        plain.search("margin")
    assert len(plain.search("margin", k=3, vector=fake_vector("margin"))) == 3


def test_an_open_index_does_not_change_under_its_reader(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, 3, 4)
    publish(lake)
    index = open_index(lake, resolve(lake.snapshot()), fake_vector, "model1")
    before = index.search("revenue", k=50)
    commit(lake, "more", [rows_of(filing(7), 6)], drop=[accession(0)])
    publish(lake, run_id="second")
    assert index.search("revenue", k=50) == before
    newer = open_index(lake, resolve(lake.snapshot()), fake_vector, "model1").search("revenue", k=50)
    assert {h.accession for h in newer} == {accession(1), accession(2), accession(7)}


def test_what_the_catalog_names_but_is_not_there_is_corrupt(tmp_path: Path) -> None:
    import shutil

    lake = tiny_lake(tmp_path, 1, 2)
    publish(lake)
    version = resolve(lake.snapshot())
    with pytest.raises(LakeCorrupt, match="tag names Lance version"):
        open_index(lake, replace(version, lance_version=1))
    with pytest.raises(LakeCorrupt, match="cannot be read"):
        open_index(lake, replace(version, tag="2020-01-01.1"))
    shutil.rmtree(lake.index_uri("tiny"))
    with pytest.raises(LakeCorrupt, match="index is missing"):
        open_index(lake, version)


def test_damaged_files_are_said_to_be_damaged(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, 2, 4)
    publish(lake)
    for file in Path(lake.index_uri("tiny"), "data").iterdir():
        file.write_bytes(file.read_bytes()[:50])
    index = open_index(lake, resolve(lake.snapshot()), fake_vector, "model1")
    for mode in ("vector", "keyword"):
        with pytest.raises(LakeCorrupt, match="index cannot be read") as caught:
            index.search("margin", mode=mode)  # type: ignore[arg-type]
        assert "\n" not in str(caught.value)


def test_an_index_of_a_newer_edgarmill_is_refused(tmp_path: Path) -> None:
    import lance

    lake = tiny_lake(tmp_path, 1, 2)
    publish(lake)
    dataset = lance.dataset(lake.index_uri("tiny"))
    dataset.update_schema_metadata({"edgarmill.schema_version": "9"})
    dataset.tags.create("2030-01-01.1", dataset.version)
    with pytest.raises(NewerSchema, match="index schema 9"):
        open_index(lake, replace(resolve(lake.snapshot()), tag="2030-01-01.1", lance_version=dataset.version))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lake, Index]]:
    """With a vector index, and the planner's limit so low that it is used under filters too."""
    lake = tiny_lake(tmp_path_factory.mktemp("large"), 60, 20)
    publish(lake, replace(SPEC, vector_index_rows=1000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("edgarmill.retrieval.search.EXACT_ROWS", 10)
        yield lake, open_index(lake, resolve(lake.snapshot()), fake_vector, "model1")


@pytest.mark.parametrize("filters", [None, Filters(ticker="AAA"), Filters(year=2021), Filters(accession=accession(3))], ids=str)
def test_with_a_vector_index_the_answers_are_the_exact_ones(large: tuple[Lake, Index], filters: Filters | None) -> None:
    lake, index = large
    keep = None if filters is None else {f.accession for f in map(filing, range(60)) if (
        (filters.ticker or "AAA") in (*f.tickers, "AAA" if not filters.ticker else "") and filters.year in (None, f.fiscal_year)
        and filters.accession in (None, f.accession))}
    for question in ("one", "two", "three"):
        hits = index.search(question, k=15, mode="vector", filters=filters)
        assert ids(hits) == by_hand(lake, question, keep)[:15]


def test_an_interrupt_amid_a_search_is_no_damage() -> None:
    """Lance tells it as an error of its own: 118 of 150 interrupts came back as a lake to be restored."""
    with pytest.raises(KeyboardInterrupt), readable("index.lance"):
        raise RuntimeError("KeyboardInterrupt: ")
    with pytest.raises(LakeCorrupt), readable("index.lance"):
        raise RuntimeError("file too short")


def test_the_only_hit_by_words_stands_out_of_all_that_lack_them() -> None:
    vector = {f"v{n}": 0.9 - n / 1000 for n in range(200)}
    for words, first in (({"x": 9.0}, "x"), ({"x": 9.0, "v150": 9.0}, "v150")):
        best = by_score({"vector": vector, "keyword": words}, {"vector": 1.0, "keyword": 0.6}, {"keyword": 0.0})
        assert best[0][0] == first and "x" in [key for key, _ in best[:50]]
    assert by_score({"vector": {"a": 1.0}, "keyword": {}}, {}, {}) == [("a", 0.0)]


@given(st.lists(st.floats(0.5, 20.0), min_size=1, max_size=6), st.floats(-1e-6, 1e-6))
def test_few_hits_by_words_count_within_bounds_and_a_breath_changes_little(words: list[float], breath: float) -> None:
    """Two hits of 1.998 and 1.960 had sunk all that lack the word by 29 deviations, and of 3 and 3.0000002 by 15 million."""
    vector = {f"v{n}": 0.9 - n / 1000 for n in range(200)}
    weights = {"vector": 1.0, "keyword": 0.6}
    keyword = {f"v{50 * n % 199}": score for n, score in enumerate(words)}
    one, other = (dict(by_score({"vector": vector, "keyword": {**keyword, "v0": words[0] + more}}, weights, {"keyword": 0.0}))
                  for more in (0.0, breath))
    alone = dict(by_score({"vector": vector}, weights, {}))
    assert all(abs(one[key] - alone[key]) <= FARTHEST * DEVIATION["keyword"] * weights["keyword"] + 1e-9 for key in vector)
    assert all(abs(one[key] - other[key]) < 1e-3 for key in vector)
