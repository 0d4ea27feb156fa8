"""facts: figures by concept and period, over all companies or one."""

from __future__ import annotations

from typing import Any

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.terminal import Column, clean, columns, counted, show, show_json

LONGEST = 60  # characters shown of a text


def _value(text: Any) -> str:
    """Thousands set apart, nothing rounded."""
    whole, dot, fraction = clean(text).partition(".")
    sign, digits = whole[: whole.startswith("-")], whole.removeprefix("-")
    if digits.isdecimal() and (fraction.isdecimal() or not dot) and not (len(digits) > 1 and digits[0] == "0"):
        return f"{sign}{int(digits):,}{dot}{fraction}"
    return clean(text)[:LONGEST]


def _dimensions(found: dict[str, str]) -> str:
    return ", ".join(clean(f"{axis.rpartition(':')[2]}={member.rpartition(':')[2]}") for axis, member in found.items())


COLUMNS = columns("company", Column("value", "value", _value), "unit", "fiscal", "start_on:start", Column("until_on", "end"), "form",
                  Column("filed_on", "filed"), "accession")


@click.command()
@click.option("--concept", required=True, help="us-gaap:GrossProfit; GrossProfit means the same.")
@click.option("--period", help="Fiscal year 2024, quarter 2024Q3, a day, or a range: 2020..2024, 2023-10-01..2024-09-28.")
@click.option("--ticker", help="One filer by ticker.")
@click.option("--cik", help="One filer by CIK.")
@click.option("--form", help="10-K, 10-Q, 8-K: the family; any other: exactly that form.")
@click.option("--dimensions", is_flag=True, help="Also the parts of a company: segments, products, share classes.")
@click.option("-n", "--limit", type=click.IntRange(1), default=50, show_default=True, help="How many rows are shown; --json gives all.")
@shared
@pass_given
def command(given: Given, concept: str, period: str | None, limit: int, **asked: Any) -> None:
    """What companies state under a concept of XBRL; the largest first. Of restated figures the newest filing's counts.

    \b
    Examples:
      edgarmill facts --concept us-gaap:GrossProfit --period 2024
      edgarmill facts --concept Revenues --period 2020..2024 --ticker JNJ

    \b
    Ratios and rankings are one query of `edgarmill sql`. Who had the best gross margin in fiscal 2024?
      select x.company, p.number / r.number as margin
      from facts p join facts r using (accession, entity, start_on, end_on, dimensions) join filings x using (accession)
      where p.concept = 'us-gaap:GrossProfit' and dimensions = '{}' and p.days between 350 and 380 and p.end_on = x.period_on
        and r.concept in ('us-gaap:Revenues', 'us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax')
        and x.fiscal_year = 2024 and x.family = '10-K'
      group by all order by margin desc
    """
    from edgarmill.retrieval.facts import facts_of, near

    snapshot = given.snapshot()
    rows = facts_of(snapshot, concept, period, **asked)
    if given.json:
        show_json(rows)
        return
    if not rows:
        names = near(snapshot, concept)
        print("No such fact." + (f" Concepts of the lake that are spelt alike: {', '.join(map(clean, names))}." if names else ""))
        return
    shown = [{**row, "until_on": row["end_on"] or row["instant_on"]} for row in rows[:limit]]
    extra = (Column("dimensions", "dimensions", _dimensions),) if asked["dimensions"] else ()
    show(shown, (*COLUMNS, *extra))
    _say(rows, limit)


def _say(rows: list[dict[str, Any]], limit: int) -> None:
    if len(rows) > limit:
        print(f"{len(rows) - limit:,} more (-n {len(rows)}).")
    restated = sum(row["versions"] > 1 for row in rows)
    if restated:
        print(f"{counted(restated, 'figure')} stated otherwise in an earlier filing: the newest filing counts.")
