"""Statements of the fictional companies add up."""

from __future__ import annotations

import pytest

from edgarmill.sample.books import Flow, books
from edgarmill.sample.companies import BASE_YEAR, company

COMPANIES = [company(seed, index) for seed in (7, 8) for index in range(12)]


@pytest.mark.parametrize("one", COMPANIES, ids=lambda c: c.ticker)
def test_every_balance_sheet_balances(one):
    for key, balance in books(one).balances.items():
        assert balance.assets == balance.liabilities + balance.equity, key


@pytest.mark.parametrize("one", COMPANIES, ids=lambda c: c.ticker)
def test_cash_moves_by_the_cash_flow_statement_and_stays_positive(one):
    kept = books(one)
    keys = sorted(kept.flows)
    for before, now in zip(keys, keys[1:], strict=False):
        assert kept.balances[now].cash == kept.balances[before].cash + kept.flows[now].change
        assert kept.balances[now].cash > 0
        assert kept.balances[now].retained == kept.balances[before].retained + kept.flows[now].net - kept.flows[now].dividends


def test_a_year_is_the_sum_of_its_quarters():
    kept = books(COMPANIES[0])
    year, quarters = kept.year(BASE_YEAR), [kept.quarter(BASE_YEAR, q) for q in (1, 2, 3, 4)]
    assert year.revenue == sum(q.revenue for q in quarters)
    assert year.net == sum(q.net for q in quarters)
    assert kept.to_date(BASE_YEAR, 2) == Flow.total(quarters[:2])


def test_names_and_tickers_are_unique_and_ciks_are_fictional():
    many = [company(7, index) for index in range(2000)]
    assert len({c.name for c in many}) == len({c.ticker for c in many}) == len({c.cik for c in many}) == 2000
    assert min(int(c.cik) for c in many) == 9_990_001


def test_quarters_meet_without_gap():
    for one in COMPANIES[:6]:
        assert one.quarter_end(BASE_YEAR, 4).month == one.year_end and one.quarter_end(BASE_YEAR, 4).year == BASE_YEAR
        for year, quarter in ((BASE_YEAR, 1), (BASE_YEAR, 3)):
            assert (one.quarter_end(year, quarter) - one.quarter_start(year, quarter)).days in (89, 90, 91)
