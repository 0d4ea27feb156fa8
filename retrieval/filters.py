"""Filters of a search: which filings and sections may answer. A user's words become literals of known form, never parts of a query."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from edgarmill.schemas.errors import UsageError

FAMILIES = ("10-K", "10-Q", "8-K")
MOST_VALUES = 100  # of one filter
MOST_NAME = 200  # characters

_TICKER = re.compile(r"[A-Z0-9][A-Z0-9.\-]{0,11}")
_CIK = re.compile(r"[0-9]{1,10}")
_FORM = re.compile(r"[A-Z0-9][A-Z0-9 /\-]{0,19}")
_ACCESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_PART = re.compile(r"I{1,3}|IV")
_ITEM = re.compile(r"(?:(?P<part>I{1,3}|IV)\.)?(?P<item>[0-9]{1,2}(?:\.[0-9]{2}|[A-C])?|EX-[0-9]{1,3}(?:\.[0-9]{1,3})?)")

Texts = str | tuple[str, ...] | None
Numbers = int | tuple[int, ...] | None


@dataclass(frozen=True)
class Filters:
    """All given ones must hold; of several values of one, any. `form`: 10-K, 10-Q and 8-K mean the whole family with its amendments and
    variants; else the exact form."""

    ticker: Texts = None
    cik: Texts = None
    form: Texts = None
    year: Numbers = None  # fiscal
    quarter: Numbers = None  # fiscal, 1-4
    item: Texts = None  # 7, 1A, II.1A, 2.02
    accession: Texts = None
    since: date | None = None  # filed on that day or later
    until: date | None = None  # filed on that day or before
    part: Texts = None  # I, II, III, IV
    period_since: date | None = None  # period ended on that day or later
    period_until: date | None = None
    filer: Texts = None  # CIKs, tickers, and names exactly as filed (=Apple Inc.), any of which

    @property
    def expression(self) -> str | None:
        """The condition in Lance's filter language, None when nothing is asked. Raises UsageError for a value of another form."""
        parts = [*self._filer(), *self._period(), *self._place()]
        return " AND ".join(parts) or None

    def _filer(self) -> list[str]:
        tickers = _quoted(self.ticker, _ticker)
        ciks = _quoted(self.cik, _cik)
        forms = _quoted(self.form, lambda one: _of(_FORM, one.upper(), "form", "10-K"))
        families = [form for form in forms if form[1:-1] in FAMILIES]
        named = _either([*_among("family", families), *_among("form", [form for form in forms if form not in families])])
        return [*_held("tickers", tickers), *_held("ciks", ciks), *self._any_filer(), *named]

    def _any_filer(self) -> list[str]:
        some = [str(one).strip() for one in _values(self.filer)]
        ciks = [f"'{_cik(one)}'" for one in some if one.isdigit()]
        names = [f"'{_name(one[1:])}'" for one in some if one.startswith("=")]
        tickers = [f"'{_ticker(one)}'" for one in some if not one.isdigit() and not one.startswith("=")]
        return _either([*_held("ciks", ciks), *_held("tickers", tickers), *_among("company", names)])

    def _period(self) -> list[str]:
        years = [str(_between(one, 1900, 2200, "year")) for one in _values(self.year)]
        quarters = [str(_between(one, 1, 4, "quarter")) for one in _values(self.quarter)]
        parts = [*_among("fiscal_year", years), *_among("fiscal_quarter", quarters)]
        for column, since, until in (("filed_on", self.since, self.until), ("period_on", self.period_since, self.period_until)):
            parts += [f"{column} >= date '{since.isoformat()}'"] if since is not None else []
            parts += [f"{column} <= date '{until.isoformat()}'"] if until is not None else []
            if since and until and since > until:
                raise UsageError(f"since {since} is after until {until}", "", "Swap them.")
        return parts

    def _place(self) -> list[str]:
        accessions = _quoted(self.accession, lambda one: _of(_ACCESSION, one, "accession", "0000320193-24-000123"))
        named = _quoted(self.part, lambda one: _of(_PART, re.sub(r"^PART\s+", "", one.upper()), "part", "II"))
        items = [_item(str(one).strip()) for one in _values(self.item)]
        return [*_among("accession", accessions), *_either(items), *_among("part", named)]


def _values(given: Any) -> tuple[Any, ...]:
    """One value, several, or none (None); several of nothing is refused: it would keep every row, or none."""
    several = tuple(given) if isinstance(given, tuple | list) else (given,)
    if not several or len(several) > MOST_VALUES:
        raise UsageError(f"a filter of {len(several)} values", "", f"Give 1 to {MOST_VALUES}, or leave it out.")
    return () if several == (None,) else several


def _quoted(given: Any, checked: Callable[[str], str]) -> list[str]:
    """Literals. `checked` lets no quote through."""
    return [f"'{checked(str(one).strip())}'" for one in _values(given)]


def _among(column: str, literals: list[str]) -> list[str]:
    several = len(literals) > 1
    return [f"{column} IN ({', '.join(literals)})" if several else f"{column} = {literals[0]}"] if literals else []


def _held(column: str, literals: list[str]) -> list[str]:
    """A column of lists holds one of them."""
    several = len(literals) > 1
    return [f"array_has_any({column}, [{', '.join(literals)}])" if several else f"array_has({column}, {literals[0]})"] if literals else []


def _either(parts: list[str]) -> list[str]:
    return [f"({' OR '.join(parts)})"] if len(parts) > 1 else parts


def _ticker(value: str) -> str:
    return _of(_TICKER, value.upper(), "ticker", "AAPL")


def _cik(value: str) -> str:
    return _of(_CIK, value, "CIK", "320193").zfill(10)


def _name(value: str) -> str:
    """As it stands in a literal: a quote is written twice."""
    if not 0 < len(value) <= MOST_NAME or not value.isprintable():
        raise UsageError("not a company's name", value[:40], "Write it as it was filed.")
    return value.replace("'", "''")


def _item(value: str) -> str:
    found = _ITEM.fullmatch(re.sub(r"^ITEM\s+", "", value.upper()))
    if not found:
        raise UsageError("not an item", value[:40], "Write it as 7, 1A, II.1A or 2.02.")
    alone = f"item = '{found['item']}'"
    return f"({alone} AND part = '{found['part']}')" if found["part"] else alone


def _of(form: re.Pattern[str], value: str, what: str, example: str) -> str:
    if not form.fullmatch(value):
        raise UsageError(f"not a {what}", value[:40], f"Write it as {example}.")
    return value


def _between(value: int, low: int, high: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise UsageError(f"not a {what}", str(value)[:40], f"Give a number from {low} to {high}.")
    return value
