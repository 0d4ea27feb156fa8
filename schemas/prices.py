"""Usage x price = dollars, exact in decimal. Unknown = unpriced (None), never 0.

Local compute is priced by the hour of a core or a GPU (settings); a call to a provider by its tokens, from our own dated table: prices.toml
and, above it, the settings' `prices`. The set of all these rows has a hash, which a usage row keeps.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from functools import lru_cache
from importlib import resources

from edgarmill.schemas import ids
from edgarmill.schemas.endpoints import PriceEntry, Tier
from edgarmill.schemas.records import Usage
from edgarmill.schemas.settings import Settings

SMALLEST = Decimal("0.000000001")  # the ledger keeps nine decimals of a dollar (tables.MONEY)
UNITS = {  # unit of a price → bucket of a usage
    "input": "input_tokens",
    "cached": "cached_tokens",
    "cache_write": "cache_write_tokens",
    "cache_write_hour": "cache_write_hour_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_tokens",
}
_NEEDED = ("input", "output")  # the others may be left unsaid by a provider, and then count within these
CALL = "call"  # a unit beside those of tokens: USD per thousand calls
_THOUSAND, _MILLION, _HOUR = Decimal(1000), Decimal(1_000_000), Decimal(3600)


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens of one unit, or per thousand calls; `valid_from` and `valid_to` are both included, None = without end."""

    provider: str
    model: str
    unit: str
    tier: str
    dollars: Decimal
    valid_from: date | None
    valid_to: date | None
    source: str

    def holds(self, on: date) -> bool:
        return (self.valid_from is None or self.valid_from <= on) and (self.valid_to is None or on <= self.valid_to)


@dataclass(frozen=True, slots=True)
class PriceSet:
    """Prices, the stronger ones first."""

    prices: tuple[Price, ...]
    hash: str

    def find(self, provider: str, model: str, unit: str, tier: str, on: date) -> Price | None:
        """The price of that day; None = unpriced. Of several the first that holds, of a layer the one that began last."""
        wanted = (provider, model, unit, tier)
        return next((p for p in self.prices if (p.provider, p.model, p.unit, p.tier) == wanted and p.holds(on)), None)

    def cost(self, usage: Usage, on: date) -> Decimal | None:
        """USD of the usage's tokens and calls, to a billionth; None where a bucket that is not empty has no price, or tokens are unknown:
        unless the model is billed by the call."""
        call = self._of(usage, CALL, on)
        total = Decimal(0) if call is None else usage.calls * call.dollars / _THOUSAND
        for unit, bucket in UNITS.items():
            tokens: int | None = getattr(usage, bucket)
            if tokens is None and unit in _NEEDED and call is None:
                return None
            if tokens:
                price = self._of(usage, unit, on)
                if price is None and call is None:
                    return None
                total += tokens * price.dollars / _MILLION if price is not None else 0
        return total.quantize(SMALLEST, ROUND_HALF_EVEN)

    def _of(self, usage: Usage, unit: str, on: date) -> Price | None:
        asked = (usage.provider or "", usage.model or "")
        tier = usage.tier or "standard"
        found = self.find(*asked, unit, tier, on)
        return self.find(*asked, "output", tier, on) if found is None and unit == "reasoning" else found  # billed as output by all


def price_set(overrides: Sequence[PriceEntry] = ()) -> PriceSet:
    """The shipped prices below the given ones."""
    return _set(tuple(overrides))


@lru_cache(maxsize=8)
def _set(overrides: tuple[PriceEntry, ...]) -> PriceSet:
    text = (resources.files("edgarmill") / "schemas" / "prices.toml").read_text(encoding="utf-8")
    shipped = [PriceEntry.model_validate(entry) for entry in tomllib.loads(text)["price"]]
    rows = tuple(row for layer in (overrides, shipped) for row in _latest_first(layer))
    return PriceSet(rows, ids.fingerprint([[str(getattr(row, name)) for name in Price.__slots__] for row in rows]))


def _latest_first(entries: Sequence[PriceEntry]) -> list[Price]:
    rows = [
        Price(entry.provider, model, unit, entry.tier, dollars, entry.valid_from, entry.valid_to, entry.source)
        for entry in entries for model in entry.models for unit in (*UNITS, CALL) if (dollars := getattr(entry, unit)) is not None
    ]
    return sorted(rows, key=lambda row: row.valid_from or date.min, reverse=True)


def compute_dollars(seconds: float | None, dollars_per_hour: Decimal | None) -> Decimal | None:
    """seconds / 3600 x price, to a billionth of a dollar (half to even). None when either is unknown; raises ValueError below 0.

    The seconds are taken as the decimal that prints them, so 0.1 s is exactly a tenth and sums do not depend on the machine.
    """
    if seconds is None or dollars_per_hour is None:
        return None
    exact = Decimal(repr(float(seconds)))
    if not exact.is_finite() or exact < 0 or dollars_per_hour < 0:
        raise ValueError(f"no cost of {seconds} seconds at {dollars_per_hour} USD/h")
    return (exact * dollars_per_hour / _HOUR).quantize(SMALLEST, ROUND_HALF_EVEN)


def priced(usage: Usage, settings: Settings, on: date | None = None) -> Usage:
    """The usage with dollars and, as `price`, what made them: "cpu 0.04 USD/h + gpu 2.5 USD/h", "openai gpt-4o standard 2026-01-31".

    What has dollars keeps them. A reused result cost nothing in this run. Without a rate for each resource that was used, or without
    measured seconds, dollars and price stay null: a part of a cost would pass for the whole. A call to a provider (it has a tier) is
    priced by its tokens on the day `on` (today) and keeps the price set's hash, whether or not that has its price.
    """
    if usage.dollars is not None:
        return usage
    if usage.origin == "reused":
        return replace(usage, dollars=Decimal(0), price="reused")
    if usage.tier is not None:
        return repriced(usage, price_set(settings.prices), on or datetime.now(UTC).date())
    if usage.origin == "provider":
        return usage
    return hourly(usage, settings.cpu_dollars_per_hour, settings.gpu_dollars_per_hour)


def hourly(usage: Usage, cpu: Decimal | None, gpu: Decimal | None) -> Usage:
    """The usage with the dollars of its seconds, by USD per hour of a core and of a GPU; as it is where one that it used has no rate."""
    rates = (("cpu", usage.cpu_seconds, cpu), ("gpu", usage.gpu_seconds, gpu))
    used = [one for one in rates if one[1] is not None and (one[1] > 0 or one[2] is not None)]
    costs = [compute_dollars(seconds, rate) for _, seconds, rate in used]
    known = [dollars for dollars in costs if dollars is not None]
    if not used or len(known) < len(used):
        return usage
    price = " + ".join(f"{name} {rate.normalize():f} USD/h" for name, _, rate in used if rate is not None)
    return replace(usage, dollars=sum(known, Decimal(0)), price=price)


def repriced(usage: Usage, prices: PriceSet, on: date, *, provider: str | None = None, model: str | None = None,
             tier: Tier | None = None) -> Usage:
    """The same tokens at another day's, provider's, model's or tier's price: a new value, for views. The ledger's row stays as it is."""
    asked = replace(usage, provider=provider or usage.provider, model=model or usage.model, tier=tier or usage.tier or "standard")
    dollars = prices.cost(asked, on)
    words = None if dollars is None else f"{asked.provider} {asked.model} {asked.tier} {on}"
    return replace(asked, dollars=dollars, price=words, price_set=prices.hash)
