"""Filters of a search: which filings and sections may answer. A user's words become literals of known form, never parts of a query."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from edgarmill.schemas.errors import UsageError

FAMILIES = ("10-K", "10-Q", "8-K")

_TICKER = re.compile(r"[A-Z0-9][A-Z0-9.\-]{0,11}")
_CIK = re.compile(r"[0-9]{1,10}")
_FORM = re.compile(r"[A-Z0-9][A-Z0-9 /\-]{0,19}")
_ACCESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_ITEM = re.compile(r"(?:(?P<part>I{1,3}|IV)\.)?(?P<item>[0-9]{1,2}(?:\.[0-9]{2}|[A-C])?|EX-[0-9]{1,3}(?:\.[0-9]{1,3})?)")


@dataclass(frozen=True)
class Filters:
    """All given ones must hold. `form`: 10-K, 10-Q and 8-K mean the whole family with its amendments and variants; else the exact form."""

    ticker: str | None = None
    cik: str | None = None
    form: str | None = None
    year: int | None = None  # fiscal
    quarter: int | None = None  # fiscal, 1-4
    item: str | None = None  # 7, 1A, II.1A, 2.02
    accession: str | None = None
    since: date | None = None  # filed on that day or later
    until: date | None = None  # filed on that day or before

    @property
    def expression(self) -> str | None:
        """The condition in Lance's filter language, None when nothing is asked. Raises UsageError for a value of another form."""
        parts = [*self._filer(), *self._period(), *self._place()]
        return " AND ".join(parts) or None

    def _filer(self) -> list[str]:
        parts = []
        if self.ticker is not None:
            parts.append(f"array_has(tickers, '{_of(_TICKER, self.ticker.strip().upper(), 'ticker', 'AAPL')}')")
        if self.cik is not None:
            parts.append(f"array_has(ciks, '{_of(_CIK, self.cik.strip(), 'CIK', '320193').zfill(10)}')")
        if self.form is not None:
            form = _of(_FORM, self.form.strip().upper(), "form", "10-K")
            parts.append(f"{'family' if form in FAMILIES else 'form'} = '{form}'")
        return parts

    def _period(self) -> list[str]:
        parts = []
        if self.year is not None:
            parts.append(f"fiscal_year = {_between(self.year, 1900, 2200, 'year')}")
        if self.quarter is not None:
            parts.append(f"fiscal_quarter = {_between(self.quarter, 1, 4, 'quarter')}")
        if self.since is not None:
            parts.append(f"filed_on >= date '{self.since.isoformat()}'")
        if self.until is not None:
            parts.append(f"filed_on <= date '{self.until.isoformat()}'")
        if self.since and self.until and self.since > self.until:
            raise UsageError(f"since {self.since} is after until {self.until}", "", "Swap them.")
        return parts

    def _place(self) -> list[str]:
        parts = []
        if self.accession is not None:
            parts.append(f"accession = '{_of(_ACCESSION, self.accession.strip(), 'accession', '0000320193-24-000123')}'")
        if self.item is not None:
            words = re.sub(r"^ITEM\s+", "", self.item.strip().upper())
            found = _ITEM.fullmatch(words)
            if not found:
                raise UsageError("not an item", self.item[:40], "Write it as 7, 1A, II.1A or 2.02.")
            parts.append(f"item = '{found['item']}'")
            if found["part"]:
                parts.append(f"part = '{found['part']}'")
        return parts


def _of(form: re.Pattern[str], value: str, what: str, example: str) -> str:
    if not form.fullmatch(value):
        raise UsageError(f"not a {what}", value[:40], f"Write it as {example}.")
    return value


def _between(value: int, low: int, high: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise UsageError(f"not a {what}", str(value)[:40], f"Give a number from {low} to {high}.")
    return value
