"""The knobs of reading: each does what it says, and no filter, however narrow, leaves fewer hits than there are."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import date
from typing import Any

import numpy as np
import pytest
from fused_lists import by_score
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_lake import SPEC, accession, fake_vector, filing, publish, tiny_lake

from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.fusion import fused
from edgarmill.retrieval.retriever import Retriever, retriever_of, shown
from edgarmill.retrieval.search import Index, open_index
from edgarmill.retrieval.versions import resolve
from edgarmill.schemas.errors import UsageError

FILINGS, CHUNKS = 60, 20


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """With a vector index, and the planner's limit so low that it is used under filters too."""
    lake = tiny_lake(tmp_path_factory.mktemp("retriever"), FILINGS, CHUNKS)
    publish(lake, replace(SPEC, vector_index_rows=1000))
    return open_index(lake, resolve(lake.snapshot()), fake_vector, "model1")


@pytest.fixture(scope="module")
def rows(index: Index) -> list[dict[str, Any]]:
    columns = ["chunk_id", "accession", "tickers", "ciks", "company", "form", "family", "fiscal_year", "fiscal_quarter", "item", "part",
    "filed_on",
               "period_on", "text", "vector"]
    return list(index.dataset.scanner(columns=columns).to_table().to_pylist())


def held(row: dict[str, Any], f: Filters) -> bool:
    """What a filter keeps, in plain Python."""
    def some(given: Any) -> tuple[Any, ...]:
        return given if isinstance(given, tuple) else (given,)

    filers = {*row["ciks"], *row["tickers"], f"={row['company']}"}
    return all((
        f.ticker is None or set(some(f.ticker)) & set(row["tickers"]), f.cik is None or set(some(f.cik)) & set(row["ciks"]),
        f.filer is None or set(some(f.filer)) & filers, f.form is None or set(some(f.form)) & {row["form"], row["family"]},
        f.year is None or row["fiscal_year"] in some(f.year), f.quarter is None or row["fiscal_quarter"] in some(f.quarter),
        f.item is None or row["item"] in some(f.item), f.part is None or row["part"] in some(f.part),
        f.accession is None or row["accession"] in some(f.accession), f.since is None or row["filed_on"] >= f.since,
        f.until is None or row["filed_on"] <= f.until, f.period_since is None or row["period_on"] >= f.period_since,
        f.period_until is None or row["period_on"] <= f.period_until))


def some_of(*values: Any) -> st.SearchStrategy[Any]:
    several = st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True).map(tuple)
    return st.none() | st.none() | st.sampled_from(values) | several


FILTERS = st.builds(
    Filters, ticker=some_of("AAA", "BBB", "ZZZ"), cik=some_of("0000000001", "0000000009"), form=some_of("10-K", "10-Q", "8-K"),
    year=some_of(2020, 2021, 2023, 1999), quarter=some_of(3, 4), item=some_of("7", "1A", "9"), part=some_of("I", "II"),
    accession=some_of(accession(0), accession(7), "none"), since=st.none() | st.dates(date(2020, 1, 1), date(2022, 1, 1)),
    period_until=st.none() | st.dates(date(2021, 1, 1), date(2025, 1, 1)), filer=some_of("CCC", "0000000002", "=Company A"))


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(filters=FILTERS, k=st.sampled_from([1, 3, 10, 40, 1000]), few=st.sampled_from([0, 30, 100_000]), question=st.sampled_from(["a",
"b", "c"]))
def test_never_fewer_than_k_hits_while_there_are_k_and_always_the_nearest(
        index: Index, rows: list[dict[str, Any]], filters: Filters, k: int, few: int, question: str) -> None:
    kept = [row for row in rows if held(row, filters)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("edgarmill.retrieval.search.EXACT_ROWS", few)
        found = index.candidates(question, Retriever(mode="vector", k=k), filters)
    asked = np.array(fake_vector(question))
    best = sorted((float(asked @ np.array(row["vector"])) for row in kept), reverse=True)[:k]
    assert len(found.hits) == min(k, len(kept)) and found.plan.rows == len(kept)
    assert {hit.chunk_id for hit in found.hits} <= {row["chunk_id"] for row in kept}
    assert [hit.score for hit in found.hits] == pytest.approx(best, abs=1e-5)
    assert index.count(filters) == len(kept)


def test_the_plan_says_how_rows_were_searched(index: Index) -> None:
    assert index.candidates("x", Retriever(mode="vector")).plan.how == "index"
    assert index.candidates("x", Retriever(mode="vector"), Filters(year=2021)).plan.how == "exact"
    assert index.candidates("x", Retriever(mode="keyword")).plan.how == "words"


def found(index: Index, question: str, words: Any) -> set[str]:
    return {hit.text for hit in index.candidates(question, Retriever(mode="keyword", k=1000, words=words)).hits}


@pytest.mark.parametrize("question", ["gross margin", "margin gross", "not changed", "cash flow from operations", "risk attack"])
def test_any_word_all_words_and_a_phrase(index: Index, rows: list[dict[str, Any]], question: str) -> None:
    words = question.split()
    texts = {row["text"] for row in rows}
    assert found(index, question, "any") == {t for t in texts if any(f" {w} " in f" {t.replace(',', ' ')} " for w in words)}
    assert found(index, question, "all") == {t for t in texts if all(f" {w} " in f" {t.replace(',', ' ')} " for w in words)}
    assert found(index, question, "phrase") == {t for t in texts if question in t}


@pytest.mark.parametrize("words", ["any", "all", "phrase"])
@pytest.mark.parametrize("question", ["?!...", '"a" AND (b', "\x00", "'; DROP TABLE x; --", "no " * 6_666, "x" * 20_000, "a\nb\tc",
"中文 é", "*", "[a-z]+ (.*)"],
                         ids=range(10))
def test_an_odd_question_is_asked_in_words_of_any_kind(index: Index, question: str, words: Any) -> None:
    index.candidates(question, Retriever(mode="keyword", words=words), Filters(year=(2020, 2021)))


def test_a_weight_moves_its_list() -> None:
    lists = {"vector": ["a", "b"], "keyword": ["b", "a"]}
    assert [key for key, _ in fused(lists, {"vector": 1.0, "keyword": 1.0}, 60)] == ["a", "b"]
    assert fused(lists, {"vector": 1.0, "keyword": 1.5}, 60)[0] == ("b", pytest.approx(1 / 62 + 1.5 / 61))
    assert fused(lists, {"vector": 1.0, "keyword": 0.0}, 1)[0] == ("a", pytest.approx(1 / 2))


def test_a_score_that_stands_out_counts_for_more_than_a_place() -> None:
    lists = {"vector": {"a": 0.52, "b": 0.51, "c": 0.50}, "keyword": {"b": 9.0, "c": 8.9, "d": 1.0}}
    weights = {"vector": 1.0, "keyword": 1.0}
    assert [key for key, _ in fused({name: list(one) for name, one in lists.items()}, weights, 10)] == ["b", "c", "a", "d"]
    lists["vector"]["a"] = 0.9
    assert [key for key, _ in by_score(lists, weights, {})] == ["a", "b", "c", "d"]
    assert sum(score for _, score in by_score({"vector": lists["vector"]}, weights, {})) == pytest.approx(0)


def test_what_a_list_lacks_has_its_least_score_or_the_one_that_is_known() -> None:
    lists = {"vector": {"a": 0.5, "b": 0.4}, "keyword": {"b": 4.0, "c": 2.0}}
    weights = {"vector": 0.0, "keyword": 2.0}
    assert by_score(lists, weights, {}) == [("b", 1.0), ("a", -1.0), ("c", -1.0)]
    assert by_score(lists, weights, {"keyword": 0.0}) == [("b", 1.0), ("c", -1.0), ("a", -3.0)]


@pytest.mark.parametrize("lists", [{}, {"vector": {}}, {"vector": {"b": 1.0, "a": 1.0}, "keyword": {}}, {"vector": {"a": 0.3}}])
def test_scores_that_tell_nothing_apart_leave_the_order_of_ids(lists: dict[str, dict[str, float]]) -> None:
    assert by_score(lists, {}, {}) == [(key, 0.0) for key in sorted({key for one in lists.values() for key in one})]


def test_a_weight_of_nothing_is_the_other_mode(index: Index) -> None:
    plain = [hit.chunk_id for hit in index.search("gross margin", 5, "vector")]
    assert [hit.chunk_id for hit in index.candidates("gross margin", Retriever(k=5, keyword_weight=0)).hits] == plain


OTHER = {"mode": "vector", "k": 5, "words": "all", "rrf_k": 30, "fusion": "ranks", "vector_weight": 2.0, "keyword_weight": 1.5,
         "filters": "none", "spelling": True,
         "reranker": "late_interaction", "k_initial": 40, "neighbours": 1, "fetch": "parallel", "parent": "section",
         "parent_tokens": 5, "tokens": 9, "rewrite": "query", "decompose": "model", "rounds": 2, "tree": "walk", "tree_steps": 3,
         "tree_width": 2, "model": "endpoint:house/m", "model_tokens": 9_000, "terms": True, "spread": "page"}


def test_every_knob_changes_the_hash_and_the_same_knobs_do_not() -> None:
    assert set(OTHER) == {f.name for f in fields(Retriever)}
    with_model = {"model": "endpoint:house/n"}  # that some of them need
    hashes = {retriever_of({**with_model, name: value}).hash for name, value in OTHER.items()} | {Retriever(**with_model).hash}
    assert len(hashes) == len(OTHER) + 1 and Retriever(keyword_weight=1).hash == Retriever(keyword_weight=1.0).hash


def test_the_hash_of_the_first_knobs_stays_as_stored_evaluations_have_it() -> None:
    before = Retriever(fusion="ranks", rrf_k=60, keyword_weight=1)
    assert before.hash == "3edcf288683fa366" and Retriever(model="endpoint:one").hash != Retriever().hash
    one_list = [Retriever(mode="vector", fusion=fusion).hash for fusion in ("ranks", "scores")]
    assert one_list[0] == one_list[1] and Retriever(fusion="ranks").hash != Retriever().hash


@pytest.mark.parametrize("knobs", [
    {"mode": "magic"}, {"words": "some"}, {"filters": "x"}, {"parent": 1}, {"fusion": "x"}, {"fetch": ""}, {"k": 0}, {"k": True},
    {"k": "5"}, {"rrf_k": 0}, {"neighbours": -1}, {"neighbours": 21}, {"tokens": 0}, {"vector_weight": -1},
    {"keyword_weight": float("nan")}, {"vector_weight": 0, "keyword_weight": 0}, {"neighbours": 1, "parent": "section"},
    {"reranker": "late_interaction", "k": 50, "k_initial": 10},
    {"spelling": "False"}, {"terms": 0}, {"terms": None}, {"keyword_weight": True}, {"vector_weight": 10**400}, {"model": {"x": 1}},
    {"reranker": 5}, {"reranker": None}, {"reranker": "magic"}, {"reranker": ":late_interaction"}, {"words": ["any"]}, {"k": 16**5_000},
    {"keyword_weight": 16**5_000}, {"k": ""}, {"mode": 16**5_000},
    {"magic": 1}, {"keyword_weight": "1.5"}, {"tree": "walk"}, {"rounds": 2}, {"rewrite": "query"}, {"decompose": "model"},
    {"decompose": "rule"}, {"rounds": 6, "model": "endpoint:x"}, {"model": "x"}, {"model": "endpoint:"}, {"model": "endpoint:/m"},
    {"rewrite": "passage", "mode": "keyword", "model": "endpoint:x"}, {"tree": "walk", "neighbours": 1, "model": "endpoint:x"},
    {"tree": "narrowed", "reranker": "late_interaction", "model": "endpoint:x"}], ids=shown)
def test_a_knob_out_of_its_bounds_is_refused_in_one_line(knobs: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        retriever_of(knobs)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600


@pytest.mark.parametrize(("knobs", "says"), [
    ({"words": "some"}, "some: no such words. Known: any, all, phrase."),
    ({"fetch": ""}, "'': no such fetch. Known: sequence, parallel, query."),
    ({"k": ""}, "k is '', no whole number. Ask for 1 to 1,000."), ({"k": 16**5_000}, "a number of very many digits hits asked for."),
    ({"spelling": "False"}, "spelling is 'False', neither true nor false."), ({"reranker": "magic:m"}, "magic: no such reranker. Known: "),
    ({"keyword_weight": True}, "weights 1.0 and True. Give numbers from 0 to 1,000, not both 0.")])
def test_what_is_wrong_with_a_knob_is_named(knobs: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        retriever_of(knobs)
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize("filters", [
    Filters(part="V"), Filters(part="I' OR 1=1"), Filters(filer="A'"), Filters(filer="=a\nb"), Filters(filer="="), Filters(ticker=()),
    Filters(year=tuple(range(1900, 2101))), Filters(year=(2020, "1 OR 1=1")), Filters(item=("7", "x")),  # type: ignore[arg-type]
    Filters(period_since=date(2024, 1, 2), period_until=date(2024, 1, 1))], ids=str)
def test_a_filter_of_another_form_is_refused(index: Index, filters: Filters) -> None:
    with pytest.raises(UsageError):
        index.count(filters)


def test_a_company_as_filed_is_a_literal_whatever_stands_in_it(index: Index) -> None:
    assert index.count(Filters(filer="=Company A' OR 1=1 --")) == 0
    assert index.count(Filters(filer="=Company A")) == FILINGS // 3 * CHUNKS
    assert filing(0).company == "Company A"
