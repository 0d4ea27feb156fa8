"""EDGAR's index files: the daily index, one file per day of publication, and the full index, one file per quarter.

Of their three orders only `master` is read; the columns of the others are broken by long names. A row is a filing under one filer. A
daily file names the day of publication and holds filings of earlier dates too. Days without a file (weekends, holidays, closures by
order) are in no calendar, so the folder is asked which days there are.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from json import loads
from typing import NamedTuple

from edgarmill.schemas.errors import FetchFailed
from edgarmill.schemas.settings import Settings
from edgarmill.workers.source.edgar.submissions import FORMS, LISTING_BYTES, day
from edgarmill.workers.submission import EASTERN
from edgarmill.workers.transport import Transport

INDEX_BYTES = 256 * 2**20  # the largest quarter recorded has 32 MB
FILE = re.compile(r"edgar/data/\d{1,10}/(\d{10}-\d{2}-\d{6})\.txt")
MASTER_OF_DAY = re.compile(r"master\.(\d{8})\.idx")
HEADING = re.compile(rb"^CIK\|Company Name\|Form Type\|Date Filed\|File ?name *\r?\n-{20,} *\r?\n", re.I | re.M)
AGAIN = "Run again later; nothing of it was taken."
_BYTES = frozenset(form.encode() for form in FORMS)


class Quarter(NamedTuple):
    """Of a calendar year, counted from 1. Quarters compare by time."""

    year: int
    number: int

    @classmethod
    def of(cls, day: date) -> Quarter:
        return cls(day.year, (day.month + 2) // 3)

    @property
    def next(self) -> Quarter:
        return Quarter(self.year + self.number // 4, self.number % 4 + 1)

    @property
    def first_day(self) -> date:
        return date(self.year, 3 * self.number - 2, 1)

    @property
    def last_day(self) -> date:
        return self.next.first_day - timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Row:
    """One filing under one filer."""

    cik: str  # ten digits
    company: str
    form: str
    filed_on: date
    accession: str


def quarters(first: date, last: date) -> Iterator[Quarter]:
    """Those that hold a day from `first` through `last`, in order."""
    quarter = Quarter.of(first)
    while quarter.first_day <= last:
        yield quarter
        quarter = quarter.next


def published(transport: Transport, settings: Settings, quarter: Quarter) -> dict[date, datetime | None]:
    """Days of the quarter that have a daily index, in order, and when each was written. Raises FetchFailed (403, 404: not there, or
    not yet), Blocked."""
    address = f"{_base(settings)}/daily-index/{quarter.year}/QTR{quarter.number}/index.json"
    try:
        items = loads(transport.get(address, LISTING_BYTES))["directory"]["item"]
        days: dict[date | None, datetime | None] = {}
        for item in items:
            if name := MASTER_OF_DAY.fullmatch(item["name"].removesuffix(".gz").removesuffix(".Z")):
                days[day(name[1])] = _stamp(item.get("last-modified"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FetchFailed("the folder of daily indexes is not in the known form", address, AGAIN) from None
    return {found: days[found] for found in sorted(found for found in days if found is not None and Quarter.of(found) == quarter)}


def _stamp(text: object) -> datetime | None:
    """Time of a folder's listing, which is Eastern."""
    try:
        return datetime.fromisoformat(str(text)).replace(tzinfo=EASTERN)
    except ValueError:
        return None


def daily(transport: Transport, settings: Settings, when: date, ciks: Container[str]) -> list[Row]:
    """Rows of the index published on that day: those of our forms, and all of `ciks`. Raises FetchFailed where it is not whole."""
    quarter = Quarter.of(when)
    address = f"{_base(settings)}/daily-index/{quarter.year}/QTR{quarter.number}/master.{when:%Y%m%d}.idx"
    return read_master(transport.get(address, INDEX_BYTES), address, ciks)


def full(transport: Transport, settings: Settings, quarter: Quarter, ciks: Container[str]) -> list[Row]:
    """Rows of a closed quarter: those of our forms, and all of `ciks`. Raises FetchFailed where it is not whole."""
    address = f"{_base(settings)}/full-index/{quarter.year}/QTR{quarter.number}/master.idx"
    return read_master(transport.get(address, INDEX_BYTES), address, ciks)


def read_master(body: bytes, where: str, ciks: Container[str], empty: bool = False) -> list[Row]:
    """Rows of a master index of our forms, and all of `ciks`; the names are latin-1.

    Raises FetchFailed for what is not one, is cut, or has no row at all (unless `empty` allows it: the first days of a quarter).
    """
    heading = HEADING.search(body, 0, 2**14)
    if heading is None:
        raise FetchFailed("not an index of EDGAR", where, AGAIN)
    start = heading.end()
    if start == len(body) and not empty:
        raise FetchFailed("an index without a row", where, AGAIN)
    if start < len(body) and not body.endswith(b"\n"):
        raise FetchFailed("a cut index", where, AGAIN)
    rows = []
    for line in body[start:].split(b"\n"):
        if not line.strip():
            continue
        cik, _, rest = line.partition(b"|")
        parts = rest.rsplit(b"|", 3)  # a company's name may hold the mark
        if len(parts) != 4:
            raise FetchFailed(f"a row of an index that is none: {line[:60].decode('latin-1')!r}", where, AGAIN)
        number, ours = cik.decode("latin-1").strip().zfill(10), parts[1].strip() in _BYTES
        if not ours and number not in ciks:
            continue
        row = _row(number, parts)
        if row is None and ours:
            raise FetchFailed(f"a row of an index that cannot be read: {line[:100].decode('latin-1')!r}", where, AGAIN)
        rows += [row] if row else []
    return rows


def _row(cik: str, parts: list[bytes]) -> Row | None:
    company, form, filed, file = (part.decode("latin-1").strip() for part in parts)
    filed_on, name = day(filed), FILE.fullmatch(file)
    if filed_on is None or name is None or not re.fullmatch(r"[0-9]{10}", cik):
        return None
    return Row(cik, company, form, filed_on, name[1])


def _base(settings: Settings) -> str:
    return settings.edgar_url.rstrip("/") + "/Archives/edgar"
