"""An amendment names no original; it is the filing of the same filer, period and base form."""

from __future__ import annotations

from datetime import date

from edgarmill.schemas.records import Filing
from edgarmill.workers.amendments import originals


def filing(accession: str, form: str = "10-K", filed: int = 1, period: int | None = 2023, cik: str = "0000000001") -> Filing:
    day = date(period, 12, 31) if period else None
    return Filing(accession, form=form, amends=form.endswith("/A"), ciks=(cik,), filed_on=date(2024, 1, filed), period_on=day)


def test_filer_period_and_base_form_decide():
    amendment = filing("a", "10-K/A", 20)
    others = [filing("other filer", cik="0000000002"), filing("other period", period=2022), filing("other form", "10-KT")]
    assert originals([amendment, *others]) == {}
    assert originals([amendment, *others, filing("b")]) == {"a": "b"}


def test_of_several_the_last_before_it_is_meant_and_a_second_amendment_leads_to_the_original():
    filings = [filing("a", "10-K/A", 20), filing("a2", "10-K/A", 25), filing("first", filed=2), filing("second", filed=10),
               filing("later", filed=28)]
    assert originals(filings) == {"a": "second", "a2": "second"}


def test_without_a_period_nothing_is_guessed():
    assert originals([filing("a", "8-K/A", 20, period=None), filing("b", "8-K", period=None)]) == {}
