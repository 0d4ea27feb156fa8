"""From a few filings to all: what is known is exact, what is reckoned has a range, and the same filings give the same sample."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgarmill.workers.sampling import Total, Unit, by_size, evenly, total

sizes = st.lists(st.tuples(st.sampled_from("abc"), st.floats(1, 1e7)), min_size=1, max_size=60, unique_by=lambda one: round(one[1], 2))


def units(found: list[tuple[str, float]]) -> list[Unit]:
    return [Unit(f"{n:03d}", group, size) for n, (group, size) in enumerate(found)]


@given(sizes, st.integers(1, 40))
def test_a_sample_is_of_the_filings_each_once_and_the_same_again(found: list[tuple[str, float]], most: int) -> None:
    all_of_them = units(found)
    for drawn in (by_size(all_of_them, most), evenly(all_of_them, most)):
        assert set(drawn) <= set(all_of_them)
        assert len({u.key for u in drawn}) == len(drawn)
    assert by_size(all_of_them, most) == by_size(all_of_them, most)
    assert {u.group for u in by_size(all_of_them, most)} == {u.group for u in all_of_them}
    assert len(evenly(all_of_them, most)) == min(most, len(all_of_them))


@given(sizes, st.floats(0.01, 10))
def test_what_follows_the_size_or_is_the_same_for_all_is_reckoned_exactly(found: list[tuple[str, float]], rate: float) -> None:
    all_of_them = units(found)
    drawn = by_size(all_of_them, 6)
    grows = total(all_of_them, {u.key: rate * u.size for u in drawn})
    assert grows.likely == pytest.approx(rate * sum(u.size for u in all_of_them))
    same = total(all_of_them, {u.key: 1.0 for u in drawn})
    assert same.likely == pytest.approx(len(all_of_them))


@given(sizes)
def test_what_was_tried_is_known(found: list[tuple[str, float]]) -> None:
    all_of_them = units(found)
    assert total(all_of_them, {u.key: u.size**2 for u in all_of_them}).error == 0


def test_the_range_holds_the_truth_nineteen_times_of_twenty() -> None:
    held = 0
    for seed in range(100):
        chance = random.Random(seed)
        all_of_them = units([(chance.choice("ab"), chance.lognormvariate(11, 1)) for _ in range(200)])
        truth = {u.key: u.size * chance.gauss(0.25, 0.05) for u in all_of_them}
        found = total(all_of_them, {u.key: truth[u.key] for u in by_size(all_of_them, 16)})
        held += found.low <= sum(truth.values()) <= found.high
    assert held >= 85


def test_a_group_without_a_sample_is_taken_to_be_like_the_others() -> None:
    known, other = Unit("a", "10-K", 100.0), Unit("b", "8-K", 50.0)
    assert total([other], {"a": 20.0}, [known]).likely == pytest.approx(10)
    assert total([other], {}, []) == Total()


def test_filings_that_say_nothing_cost_nothing() -> None:
    nothing = [Unit(str(n), "unreadable", 0.0) for n in range(5)]
    assert total(nothing, {u.key: 0.0 for u in by_size(nothing, 2)}).likely == 0


def test_totals_add_up_as_independent_ones() -> None:
    both = Total(3, 3) + Total(4, 4)
    assert (both.likely, both.error) == (7, 5)
    assert (both.low, both.high) == (0, 17)
    assert Total(2, 1).times(3) == Total(6, 3)
