"""Metrics on rankings of a size that a reader can check by hand."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgarmill.eval.metrics import coverage, evaluate, intervals
from edgarmill.eval.replay import EvaluationKey
from edgarmill.schemas.records import GoldRow, Ranking, Score

KEY = EvaluationKey("e", "s", "v")


def gold(question: str, ordinal: int = 0, document: str | None = "d:1", start: int = 0, end: int = 100,
         category: str = "single-hop") -> GoldRow:
    how = "exact" if document else None
    place = (document, start, end) if document else (None, None, None)
    return GoldRow("s", "set", question, ordinal, f"{question}?", category, "", "f", "q", "", "", None, "text", *place, how)


def hit(question: str, rank: int, *held: int, document: str = "d:1", start: int = 0, end: int = 100, chunk: str = "") -> Ranking:
    name = chunk or f"{document} {rank}"
    return Ranking("e", "s", "v", "vector", question, rank, name, document, start, end, 1 / rank, held)


def scored(rows: Iterable[GoldRow], rankings: Iterable[Ranking], category: str = "all",
           tokens: dict[str, int] | None = None) -> dict[str, float | None]:
    scores = evaluate(KEY, list(rows), list(rankings), modes=("vector",), tokens=tokens)
    return {s.metric: s.value for s in scores if s.category == category}


def test_the_rank_of_the_first_gold_decides_mrr_and_hit() -> None:
    got = scored([gold("a"), gold("b"), gold("c")], [hit("a", 1), hit("a", 2, 0), *(hit("b", r) for r in range(1, 6)), hit("b", 6, 0)])
    assert got["MRR@5"] == pytest.approx((1 / 2 + 0 + 0) / 3)
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


def test_a_chunk_that_comes_twice_counts_once() -> None:
    twice = [hit("a", 1, chunk="x"), hit("a", 2, chunk="x"), hit("a", 3, 0, chunk="y")]
    assert scored([gold("a")], twice)["nDCG@10"] == pytest.approx(1 / math.log2(3))


def test_a_judged_question_without_hits_counts_zero() -> None:
    got = scored([gold("a"), gold("b", document="e:1")], [hit("a", 1, 0)])
    assert (got["MRR@5"], got["Recall@5"], got["hit@5"], got["nDCG@10"], got["coverage@5"], got["doc_hit@5"]) == (0.5,) * 6
    assert scored([gold("a")], [])["MRR@5"] == 0.0


def test_null_questions_and_unresolved_ones_are_kept_out_and_counted() -> None:
    rows = [gold("a"), gold("b", 0), gold("b", 1, document=None), gold("c", -1, document=None, category="null")]
    got = scored(rows, [hit("a", 1, 0), hit("c", 1)])
    assert got["MRR@5"] == 1.0
    assert (got["null_questions"], got["unresolved_questions"], got["unresolved_gold"]) == (1.0, 1.0, 1.0)
    assert {s.questions for s in evaluate(KEY, rows, [], modes=("vector",)) if s.metric == "MRR@5"} == {1}


def test_each_category_stands_apart() -> None:
    rows = [gold("a"), gold("b", category="multi-hop"), gold("b", 1, category="multi-hop")]
    rankings = [hit("a", 1, 0), hit("b", 2, 1)]
    assert [scored(rows, rankings, c)["Recall@5"] for c in ("all", "single-hop", "multi-hop")] == [0.75, 1.0, 0.5]
    assert scored(rows, rankings)["AllGold@10_g2"] == 0.0 and scored(rows, rankings, "single-hop")["AllGold@10_g2"] is None


def test_tokens_are_those_of_the_first_five_and_null_when_unknown() -> None:
    rankings = [hit("a", r) for r in range(1, 8)]
    assert scored([gold("a")], rankings, tokens={f"d:1 {r}": 10 * r for r in range(1, 8)})["tokens@5"] == 150.0
    assert scored([gold("a")], rankings, tokens={"d:1 1": 10})["tokens@5"] is None
    assert scored([gold("a")], rankings)["tokens@5"] is None


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


@given(st.lists(RANGE, min_size=1, max_size=4), st.lists(RANGE, max_size=6))
def test_coverage_is_what_counting_characters_gives(wanted: list[tuple[str, int, int]], given_: list[tuple[str, int, int]]) -> None:
    characters = {(d, n) for d, s, e in wanted for n in range(s, e)}
    read = {(d, n) for d, s, e in given_ for n in range(s, e)}
    rows = [gold("a", n, d, s, e) for n, (d, s, e) in enumerate(wanted)]
    hits = [hit("a", n, document=d, start=s, end=e) for n, (d, s, e) in enumerate(given_, 1)]
    assert coverage(rows, hits) == pytest.approx(len(characters & read) / len(characters))


HELD = st.lists(st.sets(st.integers(0, 3), max_size=3), max_size=12)


@given(HELD)
def test_metrics_agree_with_plain_arithmetic(held: list[set[int]]) -> None:
    got = scored([gold("a", n) for n in range(4)], [hit("a", r, *sorted(h)) for r, h in enumerate(held, 1)])
    found = set().union(*held[:5])
    first = next((r for r, h in enumerate(held[:5], 1) if h), None)
    assert got["Recall@5"] == pytest.approx(len(found) / 4)
    assert got["hit@5"] == float(bool(found))
    assert got["MRR@5"] == pytest.approx(1 / first if first else 0.0)
    assert got["AllGold@10"] == float(len(set().union(*held[:10])) == 4)
    assert 0.0 <= (got["nDCG@10"] or 0.0) <= 1.0


def test_intervals_hold_the_mean_and_widen_when_documents_go_wrong_together() -> None:
    values = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0] * 5
    alone = intervals({"MRR@5": values}, [str(n) for n in range(30)])["MRR@5"]
    together = intervals({"MRR@5": values}, [str(n // 3) for n in range(30)])["MRR@5"]
    assert alone[0] is not None and alone[1] is not None and together[0] is not None
    assert together[0] < alone[0] < 0.5 < alone[1]
    assert intervals({"MRR@5": values}, [str(n) for n in range(30)])["MRR@5"] == alone, "the seed is fixed"


def test_agreement_is_no_certainty() -> None:
    bounds = intervals({"MRR@5": [1.0, 1.0], "hit@5": [1.0, 1.0]}, ["a", "b"])
    assert bounds["MRR@5"] == (None, None)
    assert bounds["hit@5"] == (pytest.approx(0.342, abs=0.001), 1.0)
    assert intervals({"MRR@5": [1.0, 0.0]}, ["a", "a"])["MRR@5"] == (None, None)
    assert intervals({"MRR@5": []}, [])["MRR@5"] == (None, None)


def test_scores_do_not_depend_on_the_order_of_stored_rows() -> None:
    rows = [gold("a"), gold("b", 0), gold("b", 1)]
    rankings = [hit("a", 1), hit("a", 2, 0), hit("b", 1, 1), hit("b", 2, 0)]
    scores: list[Score] = evaluate(KEY, rows, rankings, modes=("vector",))
    assert evaluate(KEY, rows, rankings[::-1], modes=("vector",)) == scores
