"""What a filing cost, by recipe and form, from the usage ledger; beside it the figures of the paper.

Averages per filing take the run that first paid for a stage: a reused result cost this lake nothing, and would make a filing look free.
A sum with an unpriced part is unpriced (null), never smaller than it was.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

import pyarrow as pa

from edgarmill.retrieval.ledger import Prices, at_prices, fetched
from edgarmill.retrieval.versions import versions
from edgarmill.schemas.endpoints import Tier
from edgarmill.schemas.prices import PriceSet, repriced
from edgarmill.schemas.records import Usage
from edgarmill.schemas.store import Snapshot
from edgarmill.schemas.views import connect

NOT_ALIKE = (
    "Not like for like: the paper's figures are tokens and dollars of a hosted chat model that writes a tree of summaries per filing and "
    "answers from it; ours are a local model's tokens for chunks and embeddings, priced by the hour of its CPU or GPU."
)

# One row per (recipe, subject, stage, model): the paid row that counts for it. A recipe's own first payment, else (the stage was
# reused from another recipe's run) the first payment of any.
PAID = """
with named as (
    select u.*, coalesce(r.recipe, '') as recipe from usage u left join runs r using (run_id)
), pairs as (
    select distinct recipe, subject, stage, model from named n
    where recipe <> '' or not exists (
        select 1 from named o where o.recipe <> '' and o.subject = n.subject and o.stage = n.stage and o.model is not distinct from n.model)
)
select p.recipe, p.subject, p.stage, p.model, n.run_id, n.calls, n.input_tokens, n.cached_tokens, n.cache_write_tokens,
       n.cache_write_hour_tokens, n.output_tokens, n.reasoning_tokens, n.seconds, n.cpu_seconds, n.gpu_seconds, n.dollars
from pairs p join named n on n.subject = p.subject and n.stage = p.stage and n.model is not distinct from p.model
where n.origin <> 'reused'
qualify row_number() over (partition by p.recipe, p.subject, p.stage, p.model order by (n.recipe = p.recipe) desc, n.run_id) = 1
"""
# Tokens that a model read or wrote, from all of the disjoint buckets; the tokens that stages without a model count are no cost.
SUMS = """
sum(input_tokens + coalesce(cached_tokens, 0) + coalesce(cache_write_tokens, 0) + coalesce(cache_write_hour_tokens, 0))
    filter (model is not null) as input_tokens,
sum(output_tokens + coalesce(reasoning_tokens, 0)) filter (model is not null) as output_tokens,
sum(seconds) as seconds, sum(cpu_seconds) as cpu_seconds,
sum(gpu_seconds) as gpu_seconds, case when count(*) = count(dollars) then sum(dollars) end as dollars
"""
MEANS = """
avg(input_tokens) as input_tokens, avg(output_tokens) as output_tokens, avg(seconds) as seconds, avg(cpu_seconds) as cpu_seconds,
avg(gpu_seconds) as gpu_seconds, case when count(*) = count(dollars) then sum(dollars) / count(*) end as dollars
"""
BY_FORM = f"""
with filed as (select recipe, subject, {SUMS} from paid group by all)
select recipe, form, count(*) as filings, avg(chunks) as chunks, {MEANS}
from filed join filings on accession = subject left join chunked using (recipe, accession)
where status = 'parsed'
group by all order by recipe, form
"""
BY_STAGE = f"""
with staged as (select recipe, subject, stage, {SUMS} from paid group by all)
select recipe, stage, count(*) as filings, {MEANS}
from staged join filings on accession = subject where status = 'parsed'
group by all order by recipe, seconds desc, stage
"""
BY_INDEX = f"""
select subject, stage, count(*) as runs, {SUMS} from usage where origin <> 'reused' and subject like 'index:%' group by all order by 1, 2
"""
SPENT = f"select count(distinct run_id) as runs, {SUMS} from usage"


@dataclass(frozen=True)
class Costs:
    """Rows by view; each a plain mapping ready to print. Money is Decimal or None (unpriced)."""

    by_form: list[dict[str, Any]]
    by_stage: list[dict[str, Any]]
    by_index: list[dict[str, Any]]
    spent: dict[str, Any]
    paper: list[dict[str, Any]]
    paper_prices: list[dict[str, Any]]
    note: str = NOT_ALIKE


def costs(snapshot: Snapshot, prices: Prices | None = None) -> Costs:
    """Averages per filing by form and by stage, what each index cost, all that was spent, and the paper's tables; at other prices if given.
    """
    with connect(snapshot, ("usage", "runs", "filings")) as connection:
        if prices is not None and prices.changes:
            connection.register("usage", at_prices(snapshot, prices))
        connection.register("chunked", _chunked(snapshot))
        connection.execute(f"create temp table paid as {PAID}")
        views = [fetched(connection.execute(sql)) for sql in (BY_FORM, BY_STAGE, BY_INDEX, SPENT)]
    return Costs(views[0], views[1], views[2], views[3][0], _paper(), _paper_prices())


def repriced_calls(snapshot: Snapshot, prices: PriceSet, on: date, *, provider: str | None = None, model: str | None = None,
                   tier: Tier | None = None) -> list[Usage]:
    """Every paid call to a provider, its tokens at another day's, provider's, model's or tier's price. A view: no row changes."""
    rows = snapshot.records("usage")
    return [repriced(u, prices, on, provider=provider, model=model, tier=tier) for u in rows if u.tier is not None and u.origin != "reused"]


def _chunked(snapshot: Snapshot) -> pa.Table:
    """Chunks by recipe and filing, of the chunker that the recipe's newest index names; batch by batch, for chunks are many."""
    chunker_of = {v.recipe: json.loads(v.manifest).get("fingerprints", {}).get("chunker") for v in reversed(versions(snapshot))}
    counts: Counter[tuple[str, str]] = Counter()
    for batch in snapshot.batches("chunks", ["accession", "chunker"]) if chunker_of else ():
        grouped = pa.Table.from_batches([batch]).group_by(["accession", "chunker"]).aggregate([([], "count_all")])
        for row in grouped.to_pylist():
            counts[row["accession"], row["chunker"]] += row["count_all"]
    rows = [(recipe, a, n) for recipe, wanted in chunker_of.items() for (a, chunker), n in counts.items() if chunker == wanted]
    schema = pa.schema([("recipe", pa.string()), ("accession", pa.string()), ("chunks", pa.int64())])
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def _paper_prices() -> list[dict[str, Any]]:
    """The prices with which the paper's columns were found to be computed, and what is wrong with them."""
    from edgarmill.schemas.paper.audit import prices

    return [asdict(price) for price in prices()]


def _paper() -> list[dict[str, Any]]:
    """Every cell of the paper's tables with what the audit says of it."""
    from edgarmill.schemas.paper.audit import audit, cells

    return [
        {**asdict(found.cell), "recomputed": found.recomputed, "verdict": found.verdict, "finding": found.text} for found in audit(cells())
    ]
