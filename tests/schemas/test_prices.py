"""Dollars of local compute: exact, null when unknown."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgarmill.schemas.prices import compute_dollars, priced
from edgarmill.schemas.records import Usage
from edgarmill.schemas.settings import Settings

D = Decimal


@pytest.mark.parametrize(("seconds", "rate", "dollars"), [
    (3600.0, "0.04", "0.04"), (0.1, "0.36", "0.00001"), (1.0, "3.6", "0.001"), (0.0, "5", "0"), (10, "0", "0"),
    (1e-9, "1", "0"), (5e-7, "3.6", "0.000000000"), (1.5e-6, "3.6", "0.000000002"), (1e7, "0.04", "111.111111111"),
])
def test_seconds_times_the_rate_to_a_billionth_of_a_dollar(seconds: float, rate: str, dollars: str) -> None:
    assert compute_dollars(seconds, D(rate)) == D(dollars)


def test_what_is_unknown_has_no_price() -> None:
    assert compute_dollars(None, D(1)) is None
    assert compute_dollars(1.0, None) is None


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_impossible_seconds_are_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="no cost"):
        compute_dollars(seconds, D(1))


@given(st.floats(0, 1e7), st.decimals(0, 100, places=4))
def test_dollars_fit_the_ledger_and_are_within_half_a_billionth(seconds: float, rate: Decimal) -> None:
    found = compute_dollars(seconds, rate)
    assert found is not None
    assert -int(found.as_tuple().exponent) == 9
    assert abs(found - D(repr(seconds)) * rate / 3600) <= D("0.0000000005")


def settings(**rates: str) -> Settings:
    return Settings(**{f"{name}_dollars_per_hour": D(rate) for name, rate in rates.items()})  # type: ignore[arg-type]


def usage(**more: object) -> Usage:
    return Usage("a", "parse", **more)  # type: ignore[arg-type]


def test_a_usage_says_which_rate_made_its_dollars() -> None:
    found = priced(usage(seconds=9.0, cpu_seconds=3600.0), settings(cpu="0.040"))
    assert (found.dollars, found.price) == (D("0.04"), "cpu 0.04 USD/h")
    found = priced(usage(cpu_seconds=3600.0, gpu_seconds=1800.0), settings(cpu="0.04", gpu="10"))
    assert (found.dollars, found.price) == (D("5.04"), "cpu 0.04 USD/h + gpu 10 USD/h")


def test_unset_rates_and_unmeasured_seconds_stay_null() -> None:
    for found in (priced(usage(cpu_seconds=5.0), settings()), priced(usage(seconds=5.0), settings(cpu="1")),
                  priced(usage(cpu_seconds=5.0), settings(gpu="1"))):
        assert (found.dollars, found.price) == (None, None)


def test_a_part_of_a_cost_does_not_pass_for_the_whole() -> None:
    assert priced(usage(cpu_seconds=5.0, gpu_seconds=5.0), settings(cpu="1")).dollars is None
    assert priced(usage(cpu_seconds=5.0, gpu_seconds=0.0), settings(cpu="3.6")).dollars == D("0.005")


def test_measured_idleness_costs_nothing() -> None:
    assert priced(usage(cpu_seconds=0.0), settings(cpu="1")).dollars == 0


def test_known_dollars_stay_reused_results_are_free_and_providers_are_priced_by_tokens() -> None:
    paid = usage(cpu_seconds=5.0, dollars=D(7), price="list", origin="provider")
    assert priced(paid, settings(cpu="1")) == paid
    reused = priced(usage(cpu_seconds=5.0, origin="reused"), settings())
    assert (reused.dollars, reused.price) == (0, "reused")
    assert priced(usage(cpu_seconds=5.0, origin="provider"), settings(cpu="1")).dollars is None
