"""Dollars of local compute and of calls to a provider: exact, null when unknown."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgarmill.schemas.endpoints import PriceEntry
from edgarmill.schemas.prices import UNITS, compute_dollars, price_set, priced, repriced
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


# --- calls to a provider, by their tokens


DAY = date(2026, 1, 31)
BUCKETS = ("input_tokens", "cached_tokens", "cache_write_tokens", "cache_write_hour_tokens", "output_tokens", "reasoning_tokens")


def call(model: str = "gpt-4o", provider: str = "openai", tier: str = "standard", **tokens: int | None) -> Usage:
    tokens = {"input_tokens": 0, "output_tokens": 0, **tokens}
    return Usage("a", "context", model=model, provider=provider, origin="provider", tier=tier, **tokens)  # type: ignore[arg-type]


def entry(**more: object) -> PriceEntry:
    return PriceEntry.model_validate({"provider": "openai", "models": ["gpt-4o"], "source": "contract", **more})


@pytest.mark.parametrize(("usage", "dollars"), [
    (call(input_tokens=627_381, output_tokens=39_952), "1.967972500"),
    (call(provider="azure-data-zone", input_tokens=627_381, output_tokens=39_952), "2.164769750"),
    (call("gpt-4.1", input_tokens=1_000_000, cached_tokens=1_000_000, output_tokens=1_000_000), "10.5"),
    (call("gpt-4.1-mini", input_tokens=1, output_tokens=1), "0.000002"),
    (call("gemini-2.5-flash", "google", input_tokens=1_000_000, output_tokens=1, reasoning_tokens=999_999), "2.8"),
    (call("text-embedding-3-small", input_tokens=1_000_000), "0.02"),
    (call("text-embedding-3-large", input_tokens=1_000_000), "0.13"),
    (call("gpt-4.1", tier="batch", input_tokens=1_000_000, output_tokens=1_000_000), "5"),
    (call(), "0"),
])
def test_tokens_at_the_shipped_prices(usage: Usage, dollars: str) -> None:
    found = priced(usage, Settings(), DAY)
    assert found.dollars == D(dollars)
    assert found.price == f"{usage.provider} {usage.model} {usage.tier} 2026-01-31"
    assert found.price_set == price_set().hash


@pytest.mark.parametrize("usage", [
    call("gpt-99", input_tokens=1), call(provider="someone", input_tokens=1), call(input_tokens=None), call(output_tokens=None),
    call(cache_write_tokens=1), call("gemini-2.5-flash", "google", cached_tokens=1), call(tier="batch", cached_tokens=5),
    call("text-embedding-3-small", output_tokens=1),
])
def test_unknown_prices_and_unknown_tokens_are_unpriced_and_never_free(usage: Usage) -> None:
    found = priced(usage, Settings(), DAY)
    assert (found.dollars, found.price) == (None, None)
    assert found.price_set == price_set().hash


def test_a_price_holds_from_its_first_to_its_last_day() -> None:
    prices = price_set([entry(input="1", **{"from": "2025-01-01", "to": "2025-06-30"}), entry(input="2", **{"from": "2025-07-01"})])
    used = call(input_tokens=1_000_000)
    days = [date(2024, 12, 31), date(2025, 1, 1), date(2025, 6, 30), date(2025, 7, 1), date(2030, 1, 1)]
    assert [prices.cost(used, day) for day in days] == [D("2.5"), 1, 1, 2, 2]


def test_a_price_of_the_settings_stands_above_the_shipped_one_and_changes_the_hash() -> None:
    own = Settings(prices=(entry(input="2.20"),))
    found = priced(call(input_tokens=1_000_000, output_tokens=1_000_000), own, DAY)
    assert found.dollars == D("12.20")
    assert found.price_set != price_set().hash
    assert price_set(own.prices).hash == found.price_set == price_set([entry(input="2.20")]).hash


def test_another_price_is_a_new_value_and_the_row_stays() -> None:
    paid = priced(call(input_tokens=1_000_000, output_tokens=100_000), Settings(), DAY)
    again = repriced(paid, price_set(), DAY, model="gpt-4.1", tier="batch")
    assert (paid.dollars, paid.model, paid.tier) == (D("3.5"), "gpt-4o", "standard")
    assert (again.dollars, again.model, again.tier) == (D("1.4"), "gpt-4.1", "batch")
    assert repriced(paid, price_set(), DAY, model="unheard-of").dollars is None


@given(st.lists(st.integers(0, 10**9), min_size=6, max_size=6), st.lists(st.integers(0, 10**9), min_size=6, max_size=6))
def test_the_cost_of_a_sum_is_the_sum_of_the_costs(one: list[int], other: list[int]) -> None:
    rates = {unit: str(n + 1) for n, unit in enumerate(UNITS)}
    prices = price_set([entry(models=["m"], **rates)])
    both = [a + b for a, b in zip(one, other, strict=True)]
    cost = [prices.cost(call("m", **dict(zip(BUCKETS, tokens, strict=True))), DAY) for tokens in (one, other, both)]
    assert cost[0] is not None
    assert cost[0] + cost[1] == cost[2]  # type: ignore[operator]


def test_every_shipped_price_names_its_source() -> None:
    assert all(len(p.source) > 20 and p.dollars > 0 for p in price_set().prices)
    places = [(p.provider, p.model, p.unit, p.tier, p.valid_from) for p in price_set().prices]
    assert len(places) == len(set(places))


def test_a_reranker_may_be_billed_by_the_search() -> None:
    prices = price_set([
        entry(provider="house", models=["rank"], call="2.00"), entry(provider="house", models=["both"], call="1", input="5")])
    searches = Usage("a", "rerank", "rank", "house", "provider", 3, tier="standard")
    assert prices.cost(searches, DAY) == D("0.006")
    assert prices.cost(replace(searches, input_tokens=10**6, output_tokens=0), DAY) == D("0.006")
    assert prices.cost(replace(searches, model="both", input_tokens=10**6, output_tokens=0), DAY) == D("5.003")
    assert prices.cost(replace(searches, model="gpt-4o", provider="openai"), DAY) is None  # by tokens, and these are unknown
