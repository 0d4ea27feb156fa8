"""Figures by concept and fiscal period: the right span, the company as a whole, the newest filing; and rankings by SQL."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from edgarmill.__main__ import run
from edgarmill.retrieval.facts import facts_of, near, period_of
from edgarmill.retrieval.sql import query
from edgarmill.schemas.errors import UsageError
from edgarmill.schemas.records import FactRow, Filing
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.store import Lake, write_part

PROFIT, REVENUE = "us-gaap:GrossProfit", "us-gaap:Revenues"


def filing(accession: str, cik: str, period: str, year: int, quarter: int, filed: str, ticker: str = "") -> Filing:
    family = "10-K" if quarter == 4 else "10-Q"
    return Filing(accession, form=family, family=family, ciks=(cik,), company=f"Company {cik}", tickers=(ticker,) if ticker else (),
                  filed_on=date.fromisoformat(filed), period_on=date.fromisoformat(period), fiscal_year=year, fiscal_quarter=quarter)


def fact(of: Filing, concept: str, value: str | None, end: str, days: int | None = None, dimensions: str = "{}",
         decimals: str = "0") -> FactRow:
    last = date.fromisoformat(end)
    start = last - timedelta(days=days - 1) if days else None
    return FactRow(of.accession + ":1", of.accession, 0, concept, of.ciks[0], start, last if days else None, None if days else last, days,
                   dimensions, "USD", value, None if value is None else float(value), decimals, value or "", value is None, False, (), "")


@pytest.fixture
def lake(tmp_path: Path) -> Snapshot:
    """Two companies: one with a year that ends in September, its next year's report, and a quarter."""
    old = filing("a-24", "0000000001", "2024-09-28", 2024, 4, "2024-11-01", "AAA")
    new = filing("a-25", "0000000001", "2025-09-27", 2025, 4, "2025-10-31", "AAA")
    quarter = filing("a-25q", "0000000001", "2025-03-29", 2025, 2, "2025-05-02", "AAA")
    other = filing("b-24", "0000000002", "2024-12-31", 2024, 4, "2025-02-01")
    facts = [
        fact(old, PROFIT, "100", "2024-09-28", 364), fact(old, REVENUE, "400", "2024-09-28", 364),
        fact(old, PROFIT, "90", "2023-09-30", 371), fact(old, PROFIT, None, "2022-09-24", 364),
        fact(old, PROFIT, "60", "2024-09-28", 364, '{"us-gaap:SegmentAxis": "a:East"}'), fact(old, "us-gaap:Assets", "900", "2024-09-28"),
        fact(new, PROFIT, "101", "2024-09-28", 364), fact(new, PROFIT, "120", "2025-09-27", 364),
        fact(new, PROFIT, "120.4", "2025-09-27", 364, decimals="1"),
        fact(quarter, PROFIT, "30", "2025-03-29", 91), fact(quarter, PROFIT, "61", "2025-03-29", 182),
        fact(quarter, PROFIT, "25", "2024-03-30", 91), fact(quarter, "us-gaap:Assets", "950", "2025-03-29"),
        fact(other, PROFIT, "70", "2024-12-31", 366), fact(other, REVENUE, "140", "2024-12-31", 366),
        fact(other, PROFIT, "69", "2023-12-31", 365),
    ]
    lake = Lake.open(str(tmp_path / "lake"), create=True)
    numbered = [replace(row, ordinal=n) for n, row in enumerate(facts)]
    with lake.writer("r", "test") as writer:
        writer.commit([write_part(lake.root, "filings", "r", [old, new, quarter, other], "r"),
                       write_part(lake.root, "facts", "r", numbered, "r")], key="r")
    return lake.snapshot()


def values(snapshot: Snapshot, concept: str, period: str | None = None, **asked: object) -> list[tuple[str, str]]:
    return [(row["value"], row["accession"]) for row in facts_of(snapshot, concept, period, **asked)]  # type: ignore[arg-type]


def test_a_fiscal_year_is_each_companys_own_and_the_newest_filing_decides(lake: Snapshot) -> None:
    assert values(lake, PROFIT, "2024") == [("101", "a-25"), ("70", "b-24")]
    assert values(lake, "GrossProfit", "FY2024") == values(lake, "us-gaap:grossprofit", "2024")
    restated, plain = facts_of(lake, PROFIT, "2024")
    assert (restated["versions"], restated["filings"], plain["versions"]) == (2, 2, 1)
    assert (restated["fiscal"], restated["company"], restated["number"]) == ("2024", "Company 0000000001", 101.0)


def test_years_of_comparison_count_though_their_own_report_is_not_here(lake: Snapshot) -> None:
    assert values(lake, PROFIT, "2023") == [("90", "a-24"), ("69", "b-24")]


def test_of_a_figure_given_twice_the_more_precise_counts(lake: Snapshot) -> None:
    assert values(lake, PROFIT, "2025") == [("120.4", "a-25")]


def test_a_quarter_is_three_months_and_not_the_year_to_date(lake: Snapshot) -> None:
    assert values(lake, PROFIT, "2025Q2") == [("30", "a-25q")]
    assert values(lake, PROFIT, "2024Q2") == [("25", "a-25q")]
    assert values(lake, "Assets", "2025Q2") == [("950", "a-25q")]


def test_days_and_ranges(lake: Snapshot) -> None:
    assert values(lake, "Assets", "2024") == values(lake, "Assets", "2024-09-28") == [("900", "a-24")]
    assert values(lake, PROFIT, "2024-09-29..2025-03-29") == [("61", "a-25q")]
    assert values(lake, PROFIT, "2024-09-29..2025-03-28") == []
    assert values(lake, PROFIT, "2023-10-01..2024-09-28") == [("101", "a-25")]
    assert values(lake, PROFIT, "2023..2025", ticker="aaa") == [("90", "a-24"), ("101", "a-25"), ("120.4", "a-25")]


def test_parts_of_a_company_only_when_asked_for(lake: Snapshot) -> None:
    found = facts_of(lake, PROFIT, "2024", cik="1", dimensions=True)
    assert [(row["value"], row["dimensions"]) for row in found] == [("101", {}), ("60", {"us-gaap:SegmentAxis": "a:East"})]


def test_filters_by_form_and_filer(lake: Snapshot) -> None:
    assert values(lake, PROFIT, form="10-q") == [("61", "a-25q"), ("30", "a-25q"), ("25", "a-25q")]
    assert values(lake, PROFIT, "2024", cik="0000000002") == [("70", "b-24")]
    assert values(lake, PROFIT, "2024", ticker="'; drop table facts") == []


@pytest.mark.parametrize("text", ["", "24", "2024Q5", "2024..", "..2024", "2024..2024Q1", "2024-13-01", "yesterday", "2024..2024-01-01"])
def test_what_is_no_period_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a period"):
        period_of(text)


def test_a_concept_that_is_not_there_names_those_spelt_alike(lake: Snapshot) -> None:
    assert values(lake, "GrosProfit") == []
    assert near(lake, "GrosProfit")[0] == PROFIT


def test_nothing_is_found_in_an_empty_lake(tmp_path: Path) -> None:
    assert facts_of(Lake.open(str(tmp_path / "lake"), create=True).snapshot(), PROFIT, "2024") == []


def test_who_has_the_best_margin_is_the_query_of_the_help(lake: Snapshot) -> None:
    from edgarmill.commands.facts import command

    _, _, text = (command.help or "").partition("\n      select")
    found = query(lake, "select" + text).to_pylist()
    assert found == [{"company": "Company 0000000002", "margin": 0.5}, {"company": "Company 0000000001", "margin": 0.25}]


def test_the_verb_shows_figures_and_says_what_was_restated(lake: Snapshot, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--lake", lake.root, "facts", "--concept", "GrossProfit", "--period", "2024"]) == 0
    out = capsys.readouterr().out
    assert "Company 0000000001  101" in out and "1 figure stated otherwise in an earlier filing" in out
    assert run(["--lake", lake.root, "facts", "--concept", "GrossProfit", "--period", "2024", "--json"]) == 0
    assert [row["value"] for row in json.loads(capsys.readouterr().out)] == ["101", "70"]
    assert run(["--lake", lake.root, "facts", "--concept", "GrosProfit"]) == 0
    assert "spelt alike: us-gaap:GrossProfit" in capsys.readouterr().out
    assert run(["--lake", lake.root, "facts", "--concept", "GrossProfit", "--period", "soon"]) == 2
