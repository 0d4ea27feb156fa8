"""Our trees beside the paper's: tokens, dollars, seconds and invalid trees per filing, form by form, at the prices of its three models.

Our tokens are those of stage `tree`, as its provider counted them: a structural tree without summaries asked nobody, so it has none. Our
dollars take all input at the model's price of input, cached or not, as the paper's do. `paper_price` is the price with which its dollars
were found to be computed, `list_price` that of our own table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from edgarmill.retrieval.costs import PAID
from edgarmill.retrieval.ledger import fetched
from edgarmill.schemas.paper.audit import Finding, audit, cells, prices
from edgarmill.schemas.prices import PriceSet
from edgarmill.schemas.records import Usage
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.views import connect

FORMS = ("10-K", "10-Q")
LISTED = {"GPT-4o": ("openai", "gpt-4o"), "GPT-4.1 mini": ("openai", "gpt-4.1-mini"), "Gemini 2.5 Flash": ("google", "gemini-2.5-flash")}
WITH, WITHOUT = "trees with node summaries", "trees without node summaries"
MILLION = 1_000_000
NOT_ALIKE = (
    "Not like for like: the filings are other ones (the paper has 1,200 filings of 10-K, 10-Q and 8-K; ours are those of this lake), their "
    "length is not told, and the paper's trees are written by the model that is named, ours by the recipe's builder."
)
# A filing's row: what its tree read, wrote and took, and the tokens of its own text as its chunks count them.
GROWN = f"""
with paid as ({PAID})
select p.recipe, f.form, p.subject, any_value(coalesce(f.ciks[1], f.accession)) as company,
       coalesce(sum(p.input_tokens + coalesce(p.cached_tokens, 0) + coalesce(p.cache_write_tokens, 0)
                    + coalesce(p.cache_write_hour_tokens, 0)) filter (p.stage = 'tree' and p.model is not null), 0) as tokens_in,
       coalesce(sum(p.output_tokens + coalesce(p.reasoning_tokens, 0)) filter (p.stage = 'tree' and p.model is not null), 0) as tokens_out,
       sum(p.seconds) filter (p.stage = 'tree') as seconds,
       sum(p.input_tokens) filter (p.stage = 'chunk' and p.model is null) as source_tokens
from paid p join filings f on f.accession = p.subject
where p.stage in ('tree', 'chunk') and f.form in ('10-K', '10-Q') and f.status = 'parsed'
group by 1, 2, 3 having count(*) filter (p.stage = 'tree') > 0
"""
MEANS = f"""
select recipe, form, count(*) as filings, count(distinct company) as companies, avg(tokens_in) as tokens_in, avg(tokens_out) as tokens_out,
       avg(seconds) as seconds, avg(source_tokens) as source_tokens
from ({GROWN}) group by all order by all
"""
INVALID = """
select r.recipe, f.form, count(*) as trees,
       count(*) filter (t.fallback = 'MalformedAnswer' or t.fallback like 'InvalidTree%') as invalid
from trees t join runs r using (run_id) join filings f using (accession)
where t.parent is null and (t.builder = 'model' or t.fallback is not null) group by all
"""


@dataclass(frozen=True, slots=True)
class Versus:
    """`rows` by recipe, form, table and model; `findings` of the paper's cells in words; `prices` behind its dollars."""

    rows: list[dict[str, Any]]
    findings: list[dict[str, Any]]
    prices: list[dict[str, Any]]
    note: str = NOT_ALIKE


def versus(snapshot: Snapshot, prices_of: PriceSet, on: date) -> Versus:
    """Our averages beside each cell of the paper that is of the same kind of tree; rows of the paper alone where the lake has none."""
    with connect(snapshot, ("usage", "runs", "filings", "trees")) as connection:
        ours = fetched(connection.execute(MEANS))
        invalid = {(r["recipe"], r["form"]): r["invalid"] / r["trees"] for r in fetched(connection.execute(INVALID)) if r["trees"]}
        recipes = dict(connection.execute("select recipe, arg_max(recipe_json, started_at) from runs group by 1").fetchall())
    audited = audit(cells())
    rows = [
        _row(one, found, {**one, "invalid_share": invalid.get((one["recipe"], one["form"]))}, prices_of, on)
        for one in ours for found in _alike(audited, one["form"], WITH if _summarised(recipes.get(one["recipe"])) else WITHOUT)
    ] or [_row({"recipe": None, "form": f.cell.form}, f, {}, prices_of, on) for f in audited]
    words = [{"table": f.cell.table, "form": f.cell.form, "model": f.cell.model, "verdict": f.verdict, "finding": f.text} for f in audited]
    behind = [{"model": p.model, "form": p.form or None, "input": p.input, "output": p.output, "note": p.note} for p in prices()]
    return Versus(rows, words, behind)


def _summarised(recipe: str | None) -> bool:
    """Whether the recipe's trees have summaries."""
    tree = json.loads(recipe or "{}").get("tree") or {}
    return str(tree.get("summaries", "none")) != "none"


def _alike(audited: list[Finding], form: str, content: str) -> Iterator[Finding]:
    """The paper's cells of that form and kind of tree."""
    return (found for found in audited if (found.cell.form, found.cell.content) == (form, content))


def _row(place: Mapping[str, Any], found: Finding, ours: Mapping[str, Any], listed: PriceSet, on: date) -> dict[str, Any]:
    cell = found.cell
    price = next(p for p in prices() if p.model == cell.model and p.form in ("", cell.form))
    times = _times(cell.scope, ours)
    tokens = [ours[name] * times for name in ("tokens_in", "tokens_out")] if ours else None
    total = sum(tokens) if tokens is not None else None
    at_paper = price.dollars(round(tokens[0]), round(tokens[1])) if tokens is not None else None
    at_list = _listed(listed, cell.model, tokens, on) if tokens is not None else None
    source = ours.get("source_tokens") and ours["source_tokens"] * times
    return {
        **{name: place[name] for name in ("recipe", "form")}, "filings": ours.get("filings"), "table": cell.table, "content": cell.content,
        "scope": cell.scope, "model": cell.model,
        "tokens_in": tokens and tokens[0], "tokens_out": tokens and tokens[1], "seconds": ours and _scaled(ours["seconds"], times) or None,
        "invalid_share": ours.get("invalid_share"), "dollars": at_paper, "dollars_at_list": at_list,
        "paper_tokens_in": cell.input_tokens, "paper_tokens_out": cell.output_tokens, "paper_tokens": cell.total_tokens,
        "paper_seconds": None, "paper_invalid_share": None, "paper_dollars": cell.dollars, "paper_corrected": found.corrected,
        "tokens_ratio": _ratio(total, cell.total_tokens), "dollars_ratio": _ratio(at_paper, cell.dollars),
        "corrected_ratio": _ratio(at_paper, found.corrected), "source_tokens": source or None,
        "tokens_per_million": _per_million(total, source), "dollars_per_million": _per_million(at_paper, source),
    }


def _times(scope: str, ours: Mapping[str, Any]) -> float:
    """Filings of the form that a company has in this lake, on average; 1 where the paper's cell is of one filing."""
    return float(ours["filings"] / ours["companies"]) if ours and scope == "per company" else 1.0


def _listed(listed: PriceSet, model: str, tokens: list[float], on: date) -> Decimal | None:
    provider, name = LISTED[model]
    row = Usage("", "tree", name, provider, input_tokens=round(tokens[0]), output_tokens=round(tokens[1]), tier="standard")
    return listed.cost(row, on)


def _scaled(value: float | None, times: float) -> float | None:
    return None if value is None else value * times


def _ratio(ours: Any, theirs: Any) -> float | None:
    """Ours over the paper's."""
    return None if ours is None or not theirs else float(ours) / float(theirs)


def _per_million(value: Any, source: float | None) -> float | None:
    """For a million tokens of the filings' own text."""
    return None if value is None or not source else float(value) / source * MILLION
