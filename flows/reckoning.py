"""The rows of an estimate: what a sample spent by stage and model, priced, and reckoned up to all filings; and what earlier runs tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow.compute as pc

from edgarmill.schemas.endpoints import Endpoint
from edgarmill.schemas.prices import SMALLEST, PriceSet, compute_dollars, price_set
from edgarmill.schemas.records import Estimated, Usage
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.workers.sampling import Total

LEAST, MOST = 0.5, 2.0  # of an answer's likely length: the range that an estimate allows for
ENOUGH = 20  # calls, or texts, of earlier runs that are believed
Values = dict[str, float]  # by accession
Project = Callable[[Mapping[str, float]], Total]


@dataclass
class Figures:
    """What the sample spent in one stage on one model, filing by filing. A figure that nobody knows is not there."""

    stage: str
    model: str | None = None
    endpoint: Endpoint | None = None  # that is asked; None = the work is done on this machine
    values: dict[str, Values] = field(default_factory=lambda: defaultdict(dict))
    factors: dict[str, float] = field(default_factory=dict)  # figures that follow another one: seconds by token
    unpriced: bool = False

    def add(self, name: str, key: str, value: float) -> None:
        self.values[name][key] = self.values[name].get(key, 0.0) + value


def figures_of(usage: Sequence[Usage], settings: Settings, endpoints: Mapping[str, Endpoint], new: Mapping[str, float],
               latency: Mapping[tuple[str, str], float]) -> list[Figures]:
    """From the rows of a rehearsal. `endpoints` are those that were rehearsed and `new` the share of their calls that have no answer in the
    lake, by the provider's name that they had in it; `latency` is seconds a call, by stage and model."""
    found: dict[tuple[str, str | None], Figures] = {}
    asked = {row.stage for row in usage if row.tier is not None}
    prices, today = price_set(settings.prices), datetime.now(UTC).date()
    for row in usage:
        endpoint = endpoints.get(row.provider or "") if row.tier is not None else None
        one = found.setdefault((row.stage, row.model), Figures(row.stage, row.model, endpoint))
        if endpoint is None:
            _local(one, row, row.stage in asked)
        else:
            _called(one, row, endpoint, prices, today, new.get(row.provider or "", 1.0))
            per_call = latency.get((row.stage, row.model or ""))
            if per_call is not None:
                one.add("seconds", row.subject, row.calls * per_call * new.get(row.provider or "", 1.0))
    return list(found.values())


def _local(one: Figures, row: Usage, beside_calls: bool) -> None:
    """Work on this machine. What stands beside calls is told by its CPU: its clock ran while the rehearsal answered."""
    one.add("seconds", row.subject, (row.cpu_seconds if beside_calls else row.seconds) or 0.0)
    one.add("cpu", row.subject, row.cpu_seconds or 0.0)
    if row.model is not None:
        one.add("requests", row.subject, row.calls)
        one.add("input", row.subject, row.input_tokens or 0)
        one.add("output", row.subject, row.output_tokens or 0)


def _called(one: Figures, row: Usage, endpoint: Endpoint, prices: PriceSet, today: Any, new: float) -> None:
    row = replace(row, provider=endpoint.provider, tier=endpoint.tier)
    read, cached, wrote = row.input_tokens or 0, row.cached_tokens or 0, row.output_tokens or 0
    if prices.find(endpoint.provider, row.model or "", "cached", endpoint.tier, today) is None:
        read, cached = read + cached, 0
    for name, value in (("requests", row.calls * new), ("input", read), ("cached", cached), ("output", wrote)):
        one.add(name, row.subject, value)
    ways = {"low": (read, cached, int(LEAST * wrote)), "likely": (read, cached, wrote), "high": (read + cached, 0, int(MOST * wrote))}
    for name, (inputs, hits, outputs) in ways.items():
        dollars = prices.cost(replace(row, input_tokens=inputs, cached_tokens=hits, output_tokens=outputs), today)
        one.unpriced |= dollars is None
        one.add(name, row.subject, float(dollars or 0))


def embedding(model: str, tokens: Mapping[str, Sequence[int]], rate: Rate | None, endpoint: Endpoint | None,
              settings: Settings) -> Figures:
    """Of the texts to be embedded, by filing their tokens."""
    from edgarmill.workers.embed.hosted import MOST_TEXTS, MOST_TOKENS

    one = Figures("embed", model, endpoint)
    prices, today = price_set(settings.prices), datetime.now(UTC).date()
    for key, counts in tokens.items():
        batches = max(-(-len(counts) // MOST_TEXTS), -(-sum(counts) // MOST_TOKENS))
        one.add("requests", key, len(counts) if endpoint is None else batches)
        one.add("input", key, sum(counts))
        one.add("output", key, 0)
        if endpoint is not None:
            row = Usage(key, "embed", model, endpoint.provider, input_tokens=sum(counts), output_tokens=0, tier=endpoint.tier)
            dollars = prices.cost(row, today)
            one.unpriced |= dollars is None
            for name in ("low", "likely", "high"):
                one.add(name, key, float(dollars or 0))
    if rate is not None:
        one.factors = {"seconds": 1 / rate.tokens_per_second}
        one.factors |= {} if endpoint is not None else {"gpu" if rate.gpu else "cpu": rate.cpu_per_second / rate.tokens_per_second}
    return one


@dataclass(frozen=True, slots=True)
class Rate:
    """Of an embedder: tokens per second, and seconds of CPU (or of the GPU) per second."""

    tokens_per_second: float
    cpu_per_second: float
    gpu: bool = False


def reckoned(one: Figures, filings: int, project: Project, settings: Settings) -> Estimated:
    """The stage's row for all filings that it has work on."""
    totals = {name: project(values) for name, values in one.values.items()}
    totals |= {name: totals["input"].times(factor) for name, factor in one.factors.items()}
    low, likely, high = _dollars(one, totals, settings)

    def count(name: str) -> int | None:
        return round(totals[name].likely) if name in totals else None

    tokens = totals.get("input", Total()) + totals.get("cached", Total())
    return Estimated(
        one.stage, one.model, one.endpoint.provider if one.endpoint else None, one.endpoint.tier if one.endpoint else None, filings,
        count("requests"), count("input"), count("cached"), count("output"),
        round(tokens.low) if "input" in totals else None, round(tokens.high) if "input" in totals else None,
        totals["seconds"].likely if "seconds" in totals else None, low, likely, high)


def _dollars(one: Figures, totals: Mapping[str, Total], settings: Settings) -> tuple[Decimal | None, Decimal | None, Decimal | None]:
    """Low, likely, high; None where a price, or what it is for, is unknown."""
    if one.endpoint is not None:
        if one.unpriced:
            return None, None, None
        return _money(totals["low"].low), _money(totals["likely"].likely), _money(totals["high"].high)
    rates = {"cpu": settings.cpu_dollars_per_hour, "gpu": settings.gpu_dollars_per_hour}
    used = [name for name in rates if name in totals]
    if not used or any(rates[name] is None for name in used):
        return None, None, None
    ends = [[compute_dollars(seconds, rates[name]) or Decimal(0) for seconds in (totals[name].low, totals[name].likely, totals[name].high)]
            for name in used]
    low, likely, high = (sum(column, Decimal(0)) for column in zip(*ends, strict=True))
    return low, likely, high


def _money(value: float) -> Decimal:
    return Decimal(repr(max(0.0, value))).quantize(SMALLEST)


# what earlier runs of the lake tell


def writes_of(snapshot: Snapshot | None) -> dict[str, int]:
    """Tokens that an answer of each chat model had in this lake, on average."""
    calls: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in _paid(snapshot):
        if row["output_tokens"]:
            calls[row["model"]][0] += row["calls"]
            calls[row["model"]][1] += row["output_tokens"] + (row["reasoning_tokens"] or 0)
    return {model: round(tokens / n) for model, (n, tokens) in calls.items() if n >= ENOUGH}


def latency_of(snapshot: Snapshot | None) -> dict[tuple[str, str], float]:
    """Seconds of a stage for each call that it made of a model, in this lake: calls that were under way together are so counted."""
    paid = [row for row in _paid(snapshot) if row["stage"] != "embed"]
    if snapshot is None or not paid:
        return {}
    where = {"stage": sorted({row["stage"] for row in paid})}
    spent = {(r["run_id"], r["subject"], r["stage"]): r["seconds"]
             for r in snapshot.read("usage", ["run_id", "subject", "stage", "seconds", "tier"], where).to_pylist() if r["tier"] is None}
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in paid:
        seconds = spent.get((row["run_id"], row["subject"], row["stage"]))
        if seconds is not None:
            sums[row["stage"], row["model"]][0] += row["calls"]
            sums[row["stage"], row["model"]][1] += seconds
    return {key: seconds / calls for key, (calls, seconds) in sums.items() if calls >= ENOUGH}


def rate_of(snapshot: Snapshot | None, model: str) -> Rate | None:
    """How fast the lake's texts were embedded by a model of that name; None where too few were."""
    if snapshot is None:
        return None
    where = (pc.field("stage") == "embed") & (pc.field("model") == model) & (pc.field("calls") > 0)
    names = ["calls", "input_tokens", "seconds", "cpu_seconds", "gpu_seconds"]
    rows = [r for r in snapshot.read("usage", names, where).to_pylist() if r["seconds"] and r["input_tokens"]]
    seconds = sum(r["seconds"] for r in rows)
    if not seconds or sum(r["calls"] for r in rows) < ENOUGH:
        return None
    gpu = sum(r["gpu_seconds"] or 0.0 for r in rows)
    cpu = sum(r["cpu_seconds"] or 0.0 for r in rows)
    return Rate(sum(r["input_tokens"] for r in rows) / seconds, (gpu or cpu) / seconds, bool(gpu))


def _paid(snapshot: Snapshot | None) -> Iterable[dict[str, Any]]:
    if snapshot is None:
        return []
    names = ["run_id", "subject", "stage", "model", "calls", "output_tokens", "reasoning_tokens", "tier"]
    where = pc.field("tier").is_valid() & (pc.field("calls") > 0)
    return list(snapshot.read("usage", names, where).to_pylist())
