"""Certainty held against scipy where it has the same thing, and against plain arithmetic where it has not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy import stats

from edgarmill.eval import certainty
from edgarmill.eval.certainty import Difference, differences, holm, intervals, resampled_means, sign_test, swapped, wilson

NAN = float("nan")


def one(first: list[float], second: list[float], documents: list[str] | None = None, hit: bool = False) -> Difference:
    of = documents or [str(n) for n in range(len(first))]
    [found] = differences(np.array(first).reshape(-1, 1), np.array(second).reshape(-1, 1), of, [hit])
    return found


@given(st.integers(0, 400), st.integers(0, 400))
def test_the_sign_test_is_the_exact_binomial_one(higher: int, lower: int) -> None:
    expected = stats.binomtest(higher, higher + lower, 0.5).pvalue if higher + lower else 1.0
    assert sign_test(higher, lower) == pytest.approx(expected, rel=1e-9)


def test_five_losses_do_not_prove_what_six_do() -> None:
    assert (sign_test(0, 5), sign_test(0, 6)) == (0.0625, 0.03125)


@given(st.integers(0, 300), st.integers(1, 300))
def test_wilson_is_that_of_scipy(hits: int, n: int) -> None:
    hits = min(hits, n)
    expected = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert wilson(hits / n, n) == pytest.approx((expected.low, expected.high), abs=1e-6)


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=8))
def test_holm_is_what_its_definition_says(ps: list[float | None]) -> None:
    adjusted = holm(ps)
    known = sorted(p for p in ps if p is not None)
    for p, got in zip(ps, adjusted, strict=True):
        if p is None:
            assert got is None
            continue
        steps = [min(1.0, q * (len(known) - k)) for k, q in enumerate(known) if q <= p]
        assert got == pytest.approx(max(steps[: known.index(p) + 1] + [min(1.0, p * (len(known) - known.index(p)))]))
        assert got >= p


def test_the_interval_is_the_percentile_bootstrap_of_scipy() -> None:
    values = np.random.default_rng(1).normal(0.3, 1.0, 80)
    expected = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=10_000, random_state=2).confidence_interval
    low, high = intervals(np.column_stack([values, np.full(80, NAN)]), [str(n) for n in range(80)])
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=0.02)
    assert np.isnan([low[1], high[1]]).all(), "nothing measured, nothing said"


@hypothesis_settings(deadline=None, max_examples=15)
@given(st.lists(st.integers(-3, 3), min_size=2, max_size=9))
def test_the_test_of_a_mean_is_scipys_test_of_paired_samples(change: list[int]) -> None:
    sums = np.array(change, dtype=np.float64).reshape(-1, 1)
    expected = stats.permutation_test((sums[:, 0], np.zeros(len(change))), lambda a, b: np.sum(a - b), permutation_type="samples",
                                      alternative="two-sided", n_resamples=np.inf, vectorized=False)
    # scipy doubles the smaller tail; the sum is symmetric, so that is the share of sums as large either way, 1 where it is 0
    assert swapped(sums)[0] == pytest.approx(min(1.0, expected.pvalue))


def test_many_documents_are_swapped_at_random_with_the_same_meaning() -> None:
    sums = np.array([-1.0] * 9 + [1.0] + [0.0] * 10).reshape(-1, 1)  # 9 lower, 1 higher: the sign test's case
    assert swapped(sums)[0] == pytest.approx(sign_test(1, 9), abs=0.01)
    assert swapped(sums)[0] == swapped(sums)[0], "the seed is fixed"


def test_documents_that_go_wrong_together_make_the_interval_wider_and_p_larger() -> None:
    first, second = [1.0] * 60, [0.0] * 12 + [1.0] * 48
    apart, together = one(first, second), one(first, second, [str(n // 12) for n in range(60)])
    assert (apart.mean, together.mean) == (pytest.approx(-0.2), pytest.approx(-0.2))
    assert together.low is not None and apart.low is not None and together.low < apart.low < -0.2
    assert apart.verdict(apart.p) == "worse"
    assert together.verdict(together.p) == "undecided", "one document of five proves nothing"


def test_what_is_lost_everywhere_is_worse_and_what_agrees_everywhere_is_equal() -> None:
    gone = one([1.0] * 20, [0.0] * 20, hit=True)
    assert (gone.low, gone.high, gone.verdict(gone.p)) == (-1.0, -1.0, "worse")
    same = one([0.2, 0.9, 0.5], [0.2, 0.9, 0.5])
    assert (same.low, same.high, same.p, same.verdict(same.p)) == (0.0, 0.0, 1.0, "equal")


def test_too_little_is_undecided() -> None:
    single = one([1.0, 1.0], [0.0, 0.0], ["a", "a"])
    assert (single.low, single.high) == (None, None) and single.verdict(single.p) == "undecided"
    few = one([1.0] * 4, [0.0] * 4, hit=True)
    assert few.p == 0.125 and few.verdict(few.p) == "undecided", "four losses come by chance one time in eight"
    none = one([], [])
    assert (none.questions, none.first, none.mean, none.p, none.verdict(none.p)) == (0, None, None, None, "undecided")


def test_a_question_measured_in_one_only_is_left_out_of_its_column_alone() -> None:
    first = np.array([[1.0, 5.0], [0.0, NAN], [1.0, 7.0]])
    second = np.array([[1.0, NAN], [1.0, 6.0], [0.0, 9.0]])
    hits, tokens = differences(first, second, ["a", "b", "c"], [True, False])
    assert (hits.questions, hits.higher, hits.lower, hits.mean) == (3, 1, 1, 0.0)
    assert (tokens.questions, tokens.documents, tokens.first, tokens.second, tokens.low) == (1, 1, 7.0, 9.0, None)


@given(st.permutations(range(12)))
@hypothesis_settings(deadline=None, max_examples=10)
def test_the_order_of_questions_changes_nothing(order: list[int]) -> None:
    random = np.random.default_rng(5)
    first, second = random.random((12, 3)), random.random((12, 3))
    documents = [f"d{n // 3}" for n in range(12)]
    straight = differences(first, second, documents, [False] * 3)
    turned = differences(first[order], second[order], [documents[n] for n in order], [False] * 3)
    for a, b in zip(straight, turned, strict=True):
        assert (a.mean, a.low, a.high, a.p) == pytest.approx((b.mean, b.low, b.high, b.p))


def test_how_the_draws_are_cut_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(6)
    sums, counts = random.random((20, 2)), np.ones((20, 2))
    whole, p = resampled_means(sums, counts), swapped(sums - 0.5)
    monkeypatch.setattr(certainty, "DRAWN_CELLS", 20 * 333)
    # Products of matrices of another size may be added up in another order, so the last digit is free.
    assert np.allclose(resampled_means(sums, counts), whole, rtol=1e-12, atol=0)
    assert np.allclose(swapped(sums - 0.5), p, rtol=0, atol=2 / certainty.RESAMPLES)
    assert whole.shape == (certainty.RESAMPLES, 2)


def test_the_interval_of_a_mean_holds_it_nineteen_times_in_twenty() -> None:
    """Of 200 sets of 60 documents drawn from one distribution; a percentile interval falls a little short of 95 %."""
    random = np.random.default_rng(7)
    values = (random.random((60, 200)) < 0.3).astype(np.float64)
    means = resampled_means(values, np.ones_like(values))
    low, high = np.percentile(means, (2.5, 97.5), axis=0)
    assert 0.90 <= float(((low <= 0.3) & (high >= 0.3)).mean()) <= 0.99
