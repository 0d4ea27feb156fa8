"""A lake of invented reports with sections, tables, and for every second company facts, from which questions can be proposed."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from documents import parsed
from tiny_lake import accession

from edgarmill.schemas import records
from edgarmill.schemas.store import Lake, write_part

FORMS = (("10-K", 2022), ("10-K", 2023), ("10-Q", 2024), ("8-K", 2024))
RISK = "Our only quarry may close after a storm or a strike"
LONG = "and this went on through all of the year in each of the places where the company has its people and machines"


def amounts(company: int, year: int) -> tuple[int, int]:
    """Net sales and total assets in millions."""
    return 1_000 + 100 * company + 7 * (year - 2020), 5_000 + 100 * company + 9 * (year - 2020)


def told_lake(folder: Path, companies: int = 4) -> Lake:
    """Four filings a company: annual reports of 2022 and 2023, a quarterly one, a current one."""
    tables: dict[str, list[Any]] = {name: [] for name in ("filings", "documents", "elements", "sections", "facts")}
    for company in range(companies):
        for n, (form, year) in enumerate(FORMS):
            for table, rows in _filing(company, 4 * company + n, form, year).items():
                tables[table] += rows
    lake = Lake.open(str(folder / "lake"), create=True)
    parts = [write_part(lake.root, table, "told", rows, "told") for table, rows in tables.items() if rows]
    with lake.writer("told") as writer:
        writer.commit(parts, key="told")
    return lake


def _filing(company: int, number: int, form: str, year: int) -> dict[str, list[Any]]:
    key, name = accession(number), f"Quarry {'ABCDEFGH'[company]}"
    day = date(year, 12, 31) if form == "10-K" else date(year, 3, 31)
    filing = records.Filing(key, form=form, family=form, ciks=(f"{company + 1:010d}",), company=name, period_on=day, filed_on=day,
                            fiscal_year=year)
    blocks, items = _annual(company, year) if form == "10-K" else _short(form)
    made = parsed(blocks, items, header_rows=1, unit="in millions")
    document = f"{key}:1"
    return {
        "filings": [filing],
        "documents": [replace(made.document, document_id=document, accession=key, type=form)],
        "elements": [replace(one, document_id=document, accession=key) for one in made.elements],
        "sections": [replace(one, document_id=document, accession=key) for one in made.sections],
        "facts": _facts(company, year, document, key) if form == "10-K" and company % 2 else [],
    }


def _annual(company: int, year: int) -> tuple[list[tuple[str, str]], dict[int, tuple[str, ...]]]:
    (sales, assets), (sales_before, assets_before) = amounts(company, year), amounts(company, year - 1)
    row = f"Net sales | ${sales:,} | ${sales_before:,}"
    table = f"(in millions) | {year} | {year - 1}\n{row}\nTotal assets | {assets:,} | {assets_before:,}"
    again = f"As percent | {year} | {year - 1}\n{row}\nOf which stone | 9% | 8%"
    return [
        ("heading", "Item 1. Business"), ("paragraph", f"We break and sell granite number {company} in {year} to builders, {LONG}."),
        ("paragraph", f"This report has forward-looking statements about granite {company}, {LONG}."),
        ("paragraph", f"Our masons of quarry {company} cut slabs by hand in {year} for churches, {LONG}."),
        ("heading", "Item 1A. Risk Factors"), ("heading 2", RISK), ("paragraph", f"All stone of {year} comes from hole {company}, {LONG}."),
        ("heading", "Item 3. Legal Proceedings"), ("paragraph", f"A neighbour of hole {company} sued us in court in {year}, {LONG}."),
        ("heading", "Item 7. Management's Discussion"), ("table", again),
        ("paragraph", f"Net sales of {year} increased in quarry {company} due to churches, {LONG}."),
        ("paragraph", f"Wages decreased in quarry {company} in {year} compared with the year before, {LONG}."),
        ("heading", "Item 8. Financial Statements"), ("table", table),
    ], {0: ("1",), 4: ("1A",), 7: ("3",), 9: ("7",), 13: ("8",)}


def _short(form: str) -> tuple[list[tuple[str, str]], dict[int, tuple[str, ...]]]:
    item = "4" if form == "10-Q" else "8.01"
    body = f"Our managers concluded that the controls of {form} were effective, {LONG}."
    return [("heading", f"Item {item}."), ("paragraph", body)], {0: (item,)}


def _facts(company: int, year: int, document: str, key: str) -> list[records.FactRow]:
    sales, assets = amounts(company, year)
    end, begin = date(year, 12, 31), date(year, 1, 1)
    return [_fact(document, key, n, concept, begin if days else None, end if days else None, None if days else end, days, dimensions, value)
            for n, (concept, days, dimensions, value) in enumerate([
                ("us-gaap:SalesRevenueNet", 365, '{"axis": "member"}', sales - 1), ("us-gaap:SalesRevenueNet", 365, "{}", sales),
                ("us-gaap:SalesRevenueNet", 92, "{}", sales - 2), ("us-gaap:Assets", None, "{}", assets)])]


def _fact(document: str, key: str, n: int, concept: str, begin: date | None, end: date | None, instant: date | None, days: int | None,
          dimensions: str, value: int) -> records.FactRow:
    return records.FactRow(document, key, n, concept, "e", begin, end, instant, days, dimensions, "USD", str(value * 10**6), value * 1e6,
                           "-6", f"{value:,}", False, False, (), "")
