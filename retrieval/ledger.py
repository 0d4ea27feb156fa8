"""The usage ledger summed: by run, form, company, stage, model, recipe or day, each row in one place; or one filing's rows.

Rows may be read at other prices: that is a view, and no row of the lake changes. A sum with an unpriced part is unpriced (null);
`known_dollars` is what its priced part comes to. A reused result is a row of 0 dollars.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa

from edgarmill.schemas.endpoints import Tier
from edgarmill.schemas.errors import UnknownName, UsageError
from edgarmill.schemas.prices import PriceSet, hourly, repriced
from edgarmill.schemas.records import Usage
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.tables import USAGE, pylist
from edgarmill.schemas.views import connect

# What a row of the ledger belongs to. A killed run left no record: its day is in its name, its recipe is not known.
VIEWS = {
    "run": "run_id",
    "form": "case when accession is not null then coalesce(nullif(form, ''), '(no form)') when subject like 'index:%' then '(index)' "
            "else '(set aside before it was read)' end",
    "company": "case when accession is not null then coalesce(nullif(company, ''), '(no company)') when subject like 'index:%' "
               "then '(index)' else '(set aside before it was read)' end",
    "stage": "stage",
    "model": "case when model is null then '(no model)' else concat_ws(' ', provider, model, nullif(tier, 'standard')) end",
    "recipe": "case when subject like 'index:%' then substr(subject, 7) else coalesce(nullif(recipe, ''), '(run without a record)') end",
    "day": "coalesce(strftime(started_at, '%Y-%m-%d'), strftime(try_strptime(left(run_id, 8), '%Y%m%d'), '%Y-%m-%d'), '(no day)')",
}
LEDGER = """
create temp view ledger as
select u.*, r.recipe, r.started_at, f.accession, f.form, f.company
from usage u left join runs r using (run_id) left join filings f on f.accession = u.subject
"""
# Tokens are those of models: what stages without a model count is no cost. Output includes reasoning, as providers bill it.
SUMS = """
count(*) as rows, count(distinct accession) as filings, sum(calls) as calls, sum(hits) as hits,
sum(input_tokens) filter (model is not null) as input_tokens,
sum(cached_tokens) as cached_tokens,
sum(coalesce(cache_write_tokens, 0) + coalesce(cache_write_hour_tokens, 0))
    filter (cache_write_tokens is not null or cache_write_hour_tokens is not null) as cache_write_tokens,
sum(output_tokens) filter (model is not null) as output_tokens, sum(reasoning_tokens) as reasoning_tokens,
sum(seconds) as seconds, sum(cpu_seconds) as cpu_seconds, sum(gpu_seconds) as gpu_seconds,
count(*) - count(dollars) as unpriced_rows, sum(dollars) as known_dollars,
case when count(*) = count(dollars) then sum(dollars) end as dollars
"""
_RATE = re.compile(r"(cpu|gpu) (\d+(?:\.\d+)?) USD/h")
ORDER = {"run": "1", "day": "1"}


@dataclass(frozen=True, slots=True)
class Prices:
    """Other prices to read the ledger at. None = as the row has it.

    `model` is a provider's: a chat model for the calls of chat models, an embedding model for everything that was embedded, on this
    machine too (its tokens are then another tokenizer's: near, not exact). `cpu`, `gpu`: USD per hour, for work on this machine.
    """

    set: PriceSet
    on: date | None = None
    provider: str | None = None
    model: str | None = None
    tier: Tier | None = None
    cpu: Decimal | None = None
    gpu: Decimal | None = None

    @property
    def changes(self) -> bool:
        return any(x is not None for x in (self.on, self.model, self.tier, self.cpu, self.gpu))


def summed(snapshot: Snapshot, view: str, prices: Prices | None = None) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Rows of a view, what cost most first (runs and days in order of time), and the whole. Raises UnknownName."""
    if view not in VIEWS:
        raise UnknownName("no such view", view, f"Known: {', '.join(VIEWS)}.")
    with connect(snapshot, ("usage", "runs", "filings")) as connection:
        if prices is not None and prices.changes:
            connection.register("usage", at_prices(snapshot, prices))
        connection.execute(LEDGER)
        order = ORDER.get(view, "known_dollars desc nulls last, seconds desc nulls last, 1")
        rows = fetched(connection.execute(f'select {VIEWS[view]} as "{view}", {SUMS} from ledger group by 1 order by {order}'))
        [whole] = fetched(connection.execute(f"select {SUMS} from ledger"))
    return rows, whole


def filing(snapshot: Snapshot, accession: str, prices: Prices | None = None) -> list[dict[str, Any]]:
    """One filing's rows of the ledger, in order of runs and stages as they were written. Raises UnknownName."""
    rows = pylist(snapshot.read("usage", where={"subject": [accession]}))
    if not rows:
        raise UnknownName("no usage of this filing", accession, "Give an accession such as 0000320193-24-000123.")
    found = pylist(at_prices(snapshot, prices, {"subject": [accession]})) if prices is not None and prices.changes else rows
    return sorted(found, key=lambda row: row["run_id"])


def at_prices(snapshot: Snapshot, prices: Prices, where: Any = None) -> pa.Table:
    """The ledger with other dollars, price and price set, and else as it is. Raises UsageError for a model that has no price."""
    of_embeddings = _is_of_embeddings(prices)
    table = snapshot.read("usage", where=where)
    rows = [_at(USAGE.record_of(row), prices, of_embeddings) for row in pylist(table)]
    return USAGE.arrow(rows).append_column("run_id", table["run_id"])


def at_price(row: Usage, prices: Prices) -> Usage:
    """One row at other prices. What was reused cost nothing and stays."""
    return _at(row, prices, _is_of_embeddings(prices))


def _at(row: Usage, prices: Prices, of_embeddings: bool) -> Usage:
    if row.origin == "reused":
        return row
    embedded = row.stage == "embed"
    swapped = prices.model is not None and embedded == of_embeddings and (row.tier is not None or (embedded and row.model is not None))
    if swapped:
        return _dated(replace(row, provider=prices.provider, model=prices.model, tier=prices.tier or row.tier or "standard"), prices)
    if row.tier is not None:
        return _dated(replace(row, tier=prices.tier or row.tier), prices) if prices.on or prices.tier else row
    if prices.cpu is None and prices.gpu is None:
        return row
    was = {name: Decimal(rate) for name, rate in _RATE.findall(row.price or "")}
    cpu, gpu = (was.get(name) if rate is None else rate for name, rate in (("cpu", prices.cpu), ("gpu", prices.gpu)))
    return hourly(replace(row, dollars=None, price=None), cpu, gpu)


def _dated(row: Usage, prices: Prices) -> Usage:
    """At the price of the day asked for, else at that of the day on which it was priced."""
    return repriced(row, prices.set, prices.on or _day_of(row.price) or date.today())


def _day_of(price: str | None) -> date | None:
    """The day in words such as `openai gpt-4o standard 2026-01-31`."""
    try:
        return date.fromisoformat((price or "").rpartition(" ")[2])
    except ValueError:
        return None


def _is_of_embeddings(prices: Prices) -> bool:
    """Whether the model asked for is one of embeddings: it has a price of input and none of output."""
    if prices.model is None:
        return False
    known = {(p.provider, p.model): set[str]() for p in prices.set.prices}
    for p in prices.set.prices:
        known[p.provider, p.model].add(p.unit)
    units = known.get((prices.provider or "", prices.model))
    if units is None:
        names = ", ".join(sorted(f"{provider}/{model}" for provider, model in known))
        raise UsageError("no price of this model", f"{prices.provider}/{prices.model}", f"Priced: {names}; others under [[prices]].")
    return "input" in units and "output" not in units


def fetched(found: Any) -> list[dict[str, Any]]:
    """Rows of a DuckDB result."""
    names = [d[0] for d in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def tokens_read(row: Mapping[str, Any]) -> int | None:
    """All input of a summed row: uncached, cached and written to a cache."""
    parts = [row[name] for name in ("input_tokens", "cached_tokens", "cache_write_tokens") if row[name] is not None]
    return sum(parts) if parts else None
