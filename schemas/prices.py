"""Usage x price = dollars, exact in decimal. Local compute is priced by the hour of a core or a GPU; unset = unpriced, never 0."""

from __future__ import annotations

from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal

from edgarmill.schemas.records import Usage
from edgarmill.schemas.settings import Settings

SMALLEST = Decimal("0.000000001")  # the ledger keeps nine decimals of a dollar (tables.MONEY)
_HOUR = Decimal(3600)


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


def priced(usage: Usage, settings: Settings) -> Usage:
    """The usage with dollars and, as `price`, the rates that made them: "cpu 0.04 USD/h + gpu 2.5 USD/h".

    What has dollars keeps them. A reused result cost nothing in this run. Without a rate for each resource that was used, or without
    measured seconds, dollars and price stay null: a part of a cost would pass for the whole. A model call to a provider is priced by
    its tokens, elsewhere, and stays null here.
    """
    if usage.dollars is not None:
        return usage
    if usage.origin == "reused":
        return replace(usage, dollars=Decimal(0), price="reused")
    if usage.origin == "provider":
        return usage
    rates = (("cpu", usage.cpu_seconds, settings.cpu_dollars_per_hour), ("gpu", usage.gpu_seconds, settings.gpu_dollars_per_hour))
    used = [one for one in rates if one[1] is not None and (one[1] > 0 or one[2] is not None)]
    costs = [compute_dollars(seconds, rate) for _, seconds, rate in used]
    known = [dollars for dollars in costs if dollars is not None]
    if not used or len(known) < len(used):
        return usage
    price = " + ".join(f"{name} {rate.normalize():f} USD/h" for name, _, rate in used if rate is not None)
    return replace(usage, dollars=sum(known, Decimal(0)), price=price)
