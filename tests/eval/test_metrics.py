"""Metrics on rankings of a size that a reader can check by hand."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given as given_
from hypothesis import strategies as st

from edgarmill.eval.metrics import BUDGETS, NAMES, by_metric, coverage, cut, given, is_hit, judged_questions
from edgarmill.eval.scores import latencies, scores, slices
from edgarmill.eval.stored import ranked_of
from edgarmill.schemas.records import Asked, EvaluationRow, GoldRow, Ranking, Score

ROW = EvaluationRow("e", "s", "q", "set", "v", "r", None, "m", "c", "{}", "h", None, "a", 10, 0, 0, 0, 0, 0, 0, 2, "{}",
                    datetime(2026, 11, 30, tzinfo=UTC))


def gold(question: str, ordinal: int = 0, document: str | None = "d:1", start: int = 0, end: int = 100,
         category: str = "single-hop", page: int | None = None, kind: str = "text") -> GoldRow:
    how = "exact" if document else None
    place = (document, start, end) if document else (None, None, None)
    return GoldRow("s", "set", question, ordinal, f"{question}?", category, "", "f", "q", "", "", page, kind, *place, how)


def hit(question: str, rank: int, *held: int, document: str = "d:1", start: int = 0, end: int = 100, chunk: str = "",
        page: int | None = None, tokens: int | None = 10, wide: tuple[int, int] | None = None) -> Ranking:
    name = chunk or f"{document} {rank}"
    return Ranking("e", "s", "v", "vector", question, rank, name, document, start, end, 1 / rank, held, document.rpartition(":")[0], page,
                   page, tokens, *(wide or (None, None)))


def ranked(hits: Iterable[Ranking]) -> dict[str, list[Ranking]]:
    return ranked_of(list(hits))


def all_scores(rows: Iterable[GoldRow], hits: Iterable[Ranking], asked: Iterable[Asked] = (),
               places: dict[str, tuple[str, int | None]] | None = None) -> list[Score]:
    judged, _ = judged_questions(list(rows))
    return scores(ROW, "vector", judged, ranked(hits), {a.question_id: a for a in asked}, places or {})


def scored(rows: Iterable[GoldRow], hits: Iterable[Ranking], category: str = "all") -> dict[str, float | None]:
    return {s.metric: s.value for s in all_scores(rows, hits) if s.category == category}


def test_the_rank_of_the_first_gold_decides_mrr_and_hit() -> None:
    got = scored([gold("a"), gold("b"), gold("c")], [hit("a", 1), hit("a", 2, 0), *(hit("b", r) for r in range(1, 6)), hit("b", 6, 0)])
    assert got["MRR@5"] == pytest.approx((1 / 2 + 0 + 0) / 3) and got["MRR@10"] == pytest.approx((1 / 2 + 1 / 6) / 3)
    assert (got["hit@5"], got["hit@10"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert got["nDCG@10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(7)) / 3)


def test_recall_is_the_share_of_gold_and_hit_is_not() -> None:
    got = scored([gold("a", n) for n in range(4)], [hit("a", 1, 2), *(hit("a", r) for r in range(2, 6)), hit("a", 6, 0)])
    assert (got["Recall@5"], got["Recall@10"], got["hit@5"], got["AllGold@10"]) == (0.25, 0.5, 1.0, 0.0)


def test_a_second_chunk_of_the_same_evidence_is_no_gain_and_keeps_its_place() -> None:
    got = scored([gold("a", 0), gold("a", 1)], [hit("a", 1, 0), hit("a", 2, 0), hit("a", 3, 1)])
    assert got["Recall@5"] == 1.0
    assert got["nDCG@10"] == pytest.approx((1 + 1 / math.log2(4)) / (1 + 1 / math.log2(3)))


def test_a_chunk_that_finds_two_pieces_finds_both_and_no_more_than_the_ideal() -> None:
    got = scored([gold("a", 0), gold("a", 1)], [hit("a", 1, 0, 1)])
    assert (got["Recall@5"], got["nDCG@10"], got["AllGold@10"], got["MRR@5"]) == (1.0, 1.0, 1.0, 1.0)
    last = scored([gold("a", 0), gold("a", 1)], [*(hit("a", r) for r in range(1, 5)), hit("a", 5, 0, 1)])
    assert last["Recall@5"] == 1.0, "both are found by the fifth chunk"


def test_all_gold_of_what_is_given_looks_as_far_as_the_retriever() -> None:
    got = scored([gold("a", 0), gold("a", 1)], [hit("a", 1, 0), *(hit("a", r) for r in range(2, 15)), hit("a", 15, 1)])
    assert (got["AllGold@10"], got["AllGold@k"], got["AllGold@10_g2"]) == (0.0, 1.0, 0.0)


def test_a_chunk_that_comes_twice_counts_once() -> None:
    twice = [hit("a", 1, chunk="x"), hit("a", 2, chunk="x"), hit("a", 3, 0, chunk="y")]
    assert scored([gold("a")], twice)["nDCG@10"] == pytest.approx(1 / math.log2(3))


def test_judged_is_the_share_of_places_that_hold_gold() -> None:
    assert scored([gold("a", 0), gold("a", 1)], [hit("a", 1, 0), hit("a", 2), hit("a", 3, 1), hit("a", 4)])["Judged@10"] == 0.5


def test_a_judged_question_without_hits_counts_zero() -> None:
    got = scored([gold("a"), gold("b", document="e:1")], [hit("a", 1, 0)])
    names = ("MRR@5", "Recall@5", "hit@5", "nDCG@10", "coverage@5", "doc_hit@5", "half@5", "inside@1000t")
    assert [got[name] for name in names] == [0.5] * len(names)
    assert scored([gold("a")], [])["MRR@5"] == 0.0


def test_null_questions_and_unresolved_ones_are_kept_out() -> None:
    rows = [gold("a"), gold("b", 0), gold("b", 1, document=None), gold("c", -1, document=None, category="null")]
    judged, counts = judged_questions(rows)
    assert [q.question_id for q in judged] == ["a"]
    assert counts == {"null_questions": 1, "unresolved_questions": 1, "unresolved_gold": 1}
    assert scored(rows, [hit("a", 1, 0), hit("c", 1)])["MRR@5"] == 1.0


def test_each_category_stands_apart() -> None:
    rows = [gold("a"), gold("b", category="multi-hop"), gold("b", 1, category="multi-hop")]
    rankings = [hit("a", 1, 0), hit("b", 2, 1)]
    assert [scored(rows, rankings, c)["Recall@5"] for c in ("all", "single-hop", "multi-hop")] == [0.75, 1.0, 0.5]
    assert scored(rows, rankings)["AllGold@10_g2"] == 0.0 and scored(rows, rankings, "single-hop").get("AllGold@10_g2") is None


def test_slices_are_forms_years_and_types_of_the_gold() -> None:
    rows = [gold("a", kind="table"), gold("b", 0), gold("b", 1, document="e:1"), gold("c", document="x:1")]
    found = slices(judged_questions(rows)[0], {"d": ("10-K", 2024), "e": ("10-Q", None)})
    assert {name: [q.question_id for q in some] for name, some in found.items()} == {
        "all": ["a", "b", "c"], "form:10-K": ["a", "b"], "form:10-Q": ["b"], "single-hop": ["a", "b", "c"], "type:table": ["a"],
        "type:text": ["b", "c"], "year:2024": ["a", "b"]}


def test_a_page_is_hit_in_its_own_document_and_only_where_the_set_names_pages() -> None:
    judged, _ = judged_questions([gold("a", page=4), gold("b", page=4), gold("c")])
    values = by_metric(judged, ranked([hit("a", 1, page=4), hit("b", 1, page=4, document="e:1"), hit("c", 1, page=4)]))
    assert values["page_hit@5"] == {"a": 1.0, "b": 0.0}


# what is given in place of hits


def test_passages_that_hits_share_are_read_and_counted_once() -> None:
    hits = [hit("a", 1, start=100, end=200, wide=(0, 300), tokens=60), hit("a", 2, start=200, end=300, wide=(0, 300), tokens=60),
            hit("a", 3, start=900, end=999, tokens=0, wide=(900, 900))]
    assert [(p.range, p.tokens) for p in given(hits)] == [(("d:1", 0, 300), 60)]
    got = scored([gold("a", end=250)], hits)
    assert (got["coverage@5"], got["tokens@5"], got["tokens"]) == (1.0, 60.0, 60.0)


def test_tokens_that_are_not_known_leave_the_budgets_unmeasured() -> None:
    got = scored([gold("a")], [hit("a", 1, tokens=None)])
    assert got.get("tokens@5") is None and got.get("coverage@1000t") is None and got["coverage@5"] == 1.0


def test_the_last_passage_of_a_budget_is_cut_in_proportion_from_its_best_hit_on() -> None:
    passages = given([hit("a", 1, start=0, end=900, tokens=900), hit("a", 2, start=1500, end=1600, wide=(1000, 2000), tokens=500),
                      hit("a", 3, start=5000, end=5100)])
    read = cut(passages, 1000)
    assert read is not None and [(p.range[1:], p.tokens) for p in read] == [((0, 900), 900), ((1500, 1700), 100)]
    late = cut(given([hit("a", 1, start=1990, end=2000, wide=(1000, 2000), tokens=500)]), 250)
    assert late is not None and late[0].range[1:] == (1500, 2000), "what is cut ends with its passage"


SIZES = st.lists(st.tuples(st.integers(1, 400), st.integers(1, 5000)), max_size=12)


@given_(SIZES, st.integers(1, 9000))
def test_a_budget_is_never_passed_and_a_larger_one_reads_no_less(sizes: list[tuple[int, int]], budget: int) -> None:
    starts = [sum(length for length, _ in sizes[:n]) for n in range(len(sizes))]
    hits = [hit("a", n + 1, start=s, end=s + length, tokens=t) for n, (s, (length, t)) in enumerate(zip(starts, sizes, strict=True))]
    small, large = cut(given(hits), budget), cut(given(hits), 2 * budget)
    assert small is not None and large is not None
    assert sum(p.tokens or 0 for p in small) <= budget
    assert sum(p.range[2] - p.range[1] for p in small) <= sum(p.range[2] - p.range[1] for p in large)


@pytest.mark.parametrize(("ranges", "share"), [
    ([], 0.0),
    ([("d:1", 0, 100)], 1.0),
    ([("d:1", 0, 60), ("d:1", 40, 70)], 0.7),
    ([("d:1", 90, 500)], 0.1),
    ([("e:1", 0, 100)], 0.0),
])
def test_coverage_is_of_the_union_of_chunks(ranges: list[tuple[str, int, int]], share: float) -> None:
    hits = [hit("a", n, document=d, start=s, end=e) for n, (d, s, e) in enumerate(ranges, 1)]
    assert coverage([gold("a")], hits) == pytest.approx(share)


def test_coverage_counts_characters_of_two_pieces_once() -> None:
    assert coverage([gold("a"), gold("a", 1, start=50, end=200)], [hit("a", 1, end=100)]) == pytest.approx(0.5)


RANGE = st.tuples(st.sampled_from(["d:1", "e:1"]), st.integers(0, 30), st.integers(1, 20)).map(lambda r: (r[0], r[1], r[1] + r[2]))


@given_(st.lists(RANGE, min_size=1, max_size=4), st.lists(RANGE, max_size=6))
def test_coverage_is_what_counting_characters_gives(wanted: list[tuple[str, int, int]], handed: list[tuple[str, int, int]]) -> None:
    characters = {(d, n) for d, s, e in wanted for n in range(s, e)}
    read = {(d, n) for d, s, e in handed for n in range(s, e)}
    rows = [gold("a", n, d, s, e) for n, (d, s, e) in enumerate(wanted)]
    hits = [hit("a", n, document=d, start=s, end=e) for n, (d, s, e) in enumerate(handed, 1)]
    assert coverage(rows, hits) == pytest.approx(len(characters & read) / len(characters))


HELD = st.lists(st.sets(st.integers(0, 3), max_size=3), max_size=12)


@given_(HELD)
def test_metrics_agree_with_plain_arithmetic(held: list[set[int]]) -> None:
    got = scored([gold("a", n) for n in range(4)], [hit("a", r, *sorted(h)) for r, h in enumerate(held, 1)])
    found = set().union(*held[:5])
    first = next((r for r, h in enumerate(held[:5], 1) if h), None)
    assert got["Recall@5"] == pytest.approx(len(found) / 4)
    assert got["hit@5"] == float(bool(found))
    assert got["MRR@5"] == pytest.approx(1 / first if first else 0.0)
    assert got["AllGold@10"] == float(len(set().union(*held[:10])) == 4)
    assert 0.0 <= (got["nDCG@10"] or 0.0) <= 1.0


def test_agreement_is_no_certainty() -> None:
    rows, hits = [gold("a"), gold("b", document="e:1")], [hit("a", 1, 0), hit("b", 1, 0, document="e:1")]
    found = {s.metric: s.value for s in all_scores(rows, hits)}
    assert (found["MRR@5_low"], found["MRR@5_high"]) == (None, None)
    assert found["hit@5_low"] == pytest.approx(0.342, abs=0.001) and found["hit@5_high"] == 1.0


def test_every_figure_has_bounds_that_hold_it() -> None:
    rows = [gold(f"q{n}", document=f"d{n // 2}:1") for n in range(12)]
    hits = [hit(f"q{n}", rank, *((0,) if rank == 1 + n % 4 else ()), document=f"d{n // 2}:1", tokens=100 + n)
            for n in range(12) for rank in range(1, 5)]
    asked = [Asked("e", f"q{n}", search_seconds=0.01 * (n + 1), tokens=100 + n) for n in range(12)]
    found = {s.metric: s.value for s in all_scores(rows, hits, asked) if s.category == "all"}
    for metric in [m for m in found if not m.endswith(("_low", "_high", "questions"))]:
        low, high, value = found[f"{metric}_low"], found[f"{metric}_high"], found[metric]
        assert low is None or value is None or low <= value + 1e-12, metric
        assert high is None or value is None or value <= high + 1e-12, metric
    assert found["MRR@5_low"] is not None and found["tokens_high"] is not None and found["search_p50_seconds_low"] is not None


def test_every_metric_that_a_question_can_have_is_named() -> None:
    judged, _ = judged_questions([gold("a", 0, page=1), gold("a", 1, start=300, end=400, page=2)])
    found = by_metric(judged, ranked([hit("a", 1, tokens=7)]), {"a": Asked("e", "a", usd=Decimal("0.1"))})
    assert sorted(found) == sorted(NAMES)


def test_metrics_that_are_hits_are_0_or_1() -> None:
    judged, _ = judged_questions([gold("a", 0), gold("a", 1, start=300, end=400)])
    values = by_metric(judged, ranked([hit("a", 1), hit("a", 2, 0, end=60), hit("a", 3, document="e:1")]))
    assert {v for m, by in values.items() if is_hit(m) for v in by.values()} <= {0.0, 1.0}
    assert 0 < values["coverage@5"]["a"] < 1 and not is_hit("coverage@5")
    assert all(is_hit(f"inside@{budget}t") for budget in BUDGETS)


def test_seconds_are_those_of_answered_questions_and_null_for_a_step_that_none_needed() -> None:
    asked = [Asked("e", "a", embed_seconds=1.0, search_seconds=2.0), Asked("e", "b", search_seconds=4.0), Asked("e", "c", error="no")]
    found = {metric: (value, n) for metric, value, n in latencies(asked)}
    assert found["search_p50_seconds"] == (3.0, 2) and found["latency_p50_seconds"] == (3.5, 2)
    assert found["embed_p50_seconds"] == (1.0, 1) and found["rerank_p50_seconds"] == (None, 0)


def test_dollars_are_those_of_the_questions_that_cost() -> None:
    judged, _ = judged_questions([gold("a"), gold("b")])
    assert by_metric(judged, {}, {"a": Asked("e", "a", usd=Decimal("0.25")), "b": Asked("e", "b")})["usd"] == {"a": 0.25}


def test_scores_do_not_depend_on_the_order_of_stored_rows() -> None:
    rows = [gold("a"), gold("b", 0), gold("b", 1)]
    rankings = [hit("a", 1), hit("a", 2, 0), hit("b", 1, 1), hit("b", 2, 0)]
    assert all_scores(rows, rankings[::-1]) == all_scores(rows, rankings)
