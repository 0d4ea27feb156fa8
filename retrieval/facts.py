"""Facts of many filings by concept and period.

A fiscal period is reckoned from the filing's own: a fact that ends some quarters before the end of the filing's period belongs to the
fiscal quarter as many quarters back. So a figure of last year in this year's report is found too, and the newest filing decides.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date
from typing import Any

from edgarmill.retrieval.filters import FAMILIES
from edgarmill.schemas.errors import UsageError
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.views import connect

_FISCAL = re.compile(r"(?:FY ?)?(\d{4})(?: ?-?Q([1-4]))?", re.I)
_EXAMPLE = "Write it as 2024, 2024Q3, 2024-09-28, 2020..2024 or 2023-10-01..2024-09-28."
_QUARTER = 91.3125  # days
# `place` counts fiscal quarters: 4 * year + quarter - 1.
_QUERY = """
with here as (
    select f.*, coalesce(f.end_on, f.instant_on) as until_on, x.company, x.ciks, x.filers, x.tickers, x.form, x.filed_on, x.url,
           date_diff('day', coalesce(f.end_on, f.instant_on), x.period_on) as behind, 4 * x.fiscal_year + x.fiscal_quarter - 1 as newest
    from facts f join filings x using (accession)
    where {where} and not f.nil and f.value is not null
), placed as (
    select *, case when abs(behind - round(behind / $quarter) * $quarter) <= 20 then newest - round(behind / $quarter)::bigint end as place
    from here
), wanted as (
    select * from placed where {period}
)
select concept, coalesce(filers[list_position(ciks, entity)], company) as company, entity, tickers, start_on, end_on, instant_on, days,
       case when place is not null and (days is null or days >= 350) and place % 4 = 3 then (place // 4)::varchar
            when place is not null and coalesce(days, 91) < 101 then (place // 4)::varchar || 'Q' || (place % 4 + 1)::varchar end as fiscal,
       dimensions, unit, value, number, decimals, footnotes, form, filed_on, accession, document_id, ordinal, url,
       count(distinct accession) over same as filings, count(distinct value) over same as versions
from wanted
window same as (partition by concept, entity, unit, start_on, until_on, dimensions)
qualify row_number() over (partition by concept, entity, unit, start_on, until_on, dimensions
    order by filed_on desc nulls last, accession desc,
             case decimals when 'INF' then 1000 else coalesce(try_cast(decimals as integer), -1000) end desc, ordinal) = 1
order by {order}
"""
_NEAR = """
select concept, count(*) as facts from facts
group by 1 order by jaro_winkler_similarity(lower(concept), lower($concept)) desc, 2 desc limit 5
"""


@dataclass(frozen=True)
class Period:
    """What is asked for: fiscal quarters `first` to `last` as places, or days."""

    first: int = 0
    last: int = 0
    years: bool = False
    start: date | None = None
    end: date | None = None


def period_of(text: str) -> Period:
    """A fiscal year, a fiscal quarter, a day, or a range of two of a kind. Raises UsageError."""
    first, dots, last = (part.strip() for part in text.strip().partition(".."))
    ends = [_FISCAL.fullmatch(part) for part in ((first, last) if dots else (first, first))]
    if all(ends):
        found = [(int(end[1]), end[2]) for end in ends if end]
        if (found[0][1] is None) == (found[1][1] is None):
            places = [4 * year + (int(quarter) - 1 if quarter else 3) for year, quarter in found]
            return Period(places[0], places[1], found[0][1] is None)
    try:
        days = [date.fromisoformat(part) for part in ((first, last) if dots else (first,))]
    except ValueError:
        raise UsageError("not a period", text[:40], _EXAMPLE) from None
    return Period(start=days[0], end=days[1]) if dots else Period(end=days[0])


def facts_of(snapshot: Snapshot, concept: str, period: str | None = None, *, ticker: str | None = None, cik: str | None = None,
             form: str | None = None, dimensions: bool = False) -> list[dict[str, Any]]:
    """One row a company and period: of a figure that several filings state, the newest filing's (`filings`, `versions` count them).

    Without a prefix the concept is one of us-gaap. Facts of parts of the company (segments, products, share classes) only with
    `dimensions`. The largest first; of one company in order of time. Raises UsageError.
    """
    asked: dict[str, Any] = {"concept": concept if ":" in concept else f"us-gaap:{concept}", "quarter": _QUARTER}
    where = ["lower(f.concept) = lower($concept)", "x.status = 'parsed'"]
    if not dimensions:
        where.append("f.dimensions = '{}'")
    if ticker:
        asked["ticker"] = ticker.strip().upper()
        where.append("list_contains(x.tickers, $ticker)")
    if cik:
        asked["cik"] = cik.strip().zfill(10)
        where.append("list_contains(x.ciks, $cik)")
    if form:
        asked["form"] = form.strip().upper()
        where.append("x.family = $form" if asked["form"] in FAMILIES else "x.form = $form")
    condition = _condition(period_of(period) if period else None, asked)
    order = "until_on, days, dimensions <> '{}', dimensions" if ticker or cik else "number desc nulls last, company, until_on, dimensions"
    with connect(snapshot, ("facts", "filings")) as connection:
        found = connection.execute(_QUERY.format(where=" and ".join(where), period=condition, order=order), asked)
        names = [column[0] for column in found.description]
        rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    for row in rows:
        row["dimensions"] = json.loads(row["dimensions"])
    return rows


def near(snapshot: Snapshot, concept: str) -> list[str]:
    """Concepts of the lake that are spelt like one that it does not have."""
    with connect(snapshot, ("facts",)) as connection:
        found = connection.execute(_NEAR, {"concept": concept if ":" in concept else f"us-gaap:{concept}"})
        return [row[0] for row in found.fetchall()]


def _condition(period: Period | None, asked: dict[str, Any]) -> str:
    if period is None:
        return "true"
    if period.end is None:
        asked |= {"first": period.first, "last": period.last}
        length = "days between 350 and 380" if period.years else "days between 80 and 100"
        whole = " and place % 4 = 3" if period.years else ""
        return f"place between $first and $last{whole} and (days is null or {length})"
    asked["end"] = period.end
    if period.start is None:
        return "until_on = $end"
    asked["start"] = period.start
    return "start_on = $start and end_on = $end"
