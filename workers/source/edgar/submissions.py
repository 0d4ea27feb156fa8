"""What EDGAR lists of one filer, and its ticker map, both through `sec-edgar-downloader`.

The package's one request function is replaced while one of our calls is under way, so that identity, limit, retries, block pages and
base addresses are ours. Its own choice among the rows is not used: it drops report date, items and the filer's facts, matches one form
at a time, reads pages outside the window and cuts columns of unequal length silently. So rows are read here, by column name.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from edgarmill.schemas.errors import EdgarmillError, FetchFailed
from edgarmill.schemas.records import Coverage, Listing
from edgarmill.schemas.settings import Settings
from edgarmill.workers.filing import FAMILIES
from edgarmill.workers.transport import Transport

LISTING_BYTES = 64 * 2**20  # of one page; the largest recorded is 0.4 MB
PAGE_NAME = re.compile(r"CIK\d{10}-submissions-\d{3,6}\.json")
ACCESSION = re.compile(r"[0-9]{10}-[0-9]{2}-[0-9]{6}")
YEAR_END = re.compile(r"(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")
COLUMNS = ("accessionNumber", "form", "filingDate", "reportDate", "items", "size", "primaryDocument", "acceptanceDateTime", "fileNumber")
FORMS = frozenset(  # as EDGAR writes them: both 10-KSB and 10KSB occur
    spelt + end for form in FAMILIES for spelt in (form, form.replace("10-", "10")) for end in ("", "/A")
)


@dataclass(frozen=True)
class Listed:
    """One filer's rows of the forms we take, and from which filing date they are complete (None = from the first)."""

    listings: tuple[Listing, ...]
    since: date | None


def list_filer(transport: Transport, settings: Settings, cik: str, at: datetime, *, since: date | None = None,
               have: Coverage | None = None, known: Container[str] = (), enough: Callable[[list[Listing]], bool] | None = None) -> Listed:
    """The filer's filings of FAMILIES forms (and those in `known`, whatever their form is now), newest page first.

    A page is not asked for where it ends before `since` or lies whole in what `have` covers; nor any further page once `enough` says
    so. Raises FetchFailed (status 404: no such filer), TooLarge, Blocked.
    """
    address = f"CIK{cik}.json"
    with _seam(transport, settings) as (package, submissions):
        filer = _object(package, submissions.format(submission=address), settings)
        with _known_form(address):
            rows = list(_rows(filer["filings"]["recent"], filer, cik, at, known, address))
            pages = sorted(_pages(filer["filings"].get("files") or ()), key=lambda page: page[2] or date.max, reverse=True)
        for name, first, last in pages:
            if enough is not None and last is not None and enough(rows):
                return Listed(tuple(rows), last + timedelta(days=1))
            if (since is not None and last is not None and last < since) or _covered(first, last, have):
                continue
            try:
                page = _object(package, submissions.format(submission=name), settings)
            except FetchFailed as failure:  # without its status: 404 would say that there is no such filer
                raise FetchFailed(failure.what, failure.subject, "Run again later; nothing of the filer was taken.") from None
            with _known_form(name):
                rows += _rows(page, filer, cik, at, known, name)
    return Listed(tuple(rows), since)


def ticker_map(transport: Transport, settings: Settings) -> dict[str, str]:
    """Ticker in capitals, share classes with a dash, to ten-digit CIK. One request. Raises FetchFailed, Blocked."""
    with _seam(transport, settings) as (package, _):
        try:
            return dict(_tickers(package.get_ticker_metadata(settings.user_agent)))
        except EdgarmillError:  # some are ValueErrors
            raise
        except (KeyError, ValueError, TypeError, AttributeError, IndexError, RecursionError):
            raise FetchFailed("EDGAR's ticker list is not in the known form", f"{settings.edgar_url}/files/company_tickers_exchange.json",
                              "Name CIKs instead of tickers.") from None


def normal_ticker(text: str) -> str:
    """`brk.b`, `BRK/B` and `BRK-B` are one."""
    return re.sub(r"[./]", "-", text.strip().upper())


def _tickers(value: Any) -> Iterator[tuple[str, str]]:
    """Both forms that are met: fields and data (as EDGAR has it with exchanges), and numbered rows; CIKs as numbers or padded text."""
    if "fields" in value:
        cik, ticker = (value["fields"].index(name) for name in ("cik", "ticker"))
        pairs = [(row[cik], row[ticker]) for row in value["data"]]
    else:
        pairs = [(row["cik_str"], row["ticker"]) for row in value.values()]
    if not pairs:
        raise ValueError("no ticker at all")
    for number, name in pairs:
        if name:
            yield normal_ticker(str(name)), f"{int(number):010}"


# -- the seam


class _Answer:
    """What the package wants of an answer."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def json(self) -> Any:
        return json.loads(self.content)


class _Replaced:
    """The package's request function while calls of ours are under way, from any number of threads, each with a transport of its own."""

    def __init__(self) -> None:
        self.lock, self.thread, self.inside = threading.Lock(), threading.local(), 0
        self.theirs: Any = None

    def call(self, uri: str, user_agent: str, host: str) -> _Answer:
        """The package names EDGAR's own hosts; ours may be others."""
        settings: Settings = self.thread.settings
        for theirs, ours in (("https://www.sec.gov", settings.edgar_url), ("https://data.sec.gov", settings.edgar_data_url)):
            if uri.startswith(theirs + "/"):
                uri = ours.rstrip("/") + uri.removeprefix(theirs)
        return _Answer(self.thread.transport.get(uri, LISTING_BYTES))


_replaced = _Replaced()  # the package's function is a name of its module, so what stands in for it is one for the process


@contextmanager
def _seam(transport: Transport, settings: Settings) -> Iterator[tuple[Any, str]]:
    """The package's request module, asking through our transport, and its pattern of a submissions address."""
    from sec_edgar_downloader import _constants, _sec_gateway

    here = _replaced
    with here.lock:
        if not here.inside:
            here.theirs, _sec_gateway._call_sec = _sec_gateway._call_sec, here.call
        here.inside += 1
    here.thread.transport, here.thread.settings = transport, settings
    try:
        yield _sec_gateway, _constants.URL_SUBMISSIONS
    finally:
        del here.thread.transport, here.thread.settings
        with here.lock:
            here.inside -= 1
            if not here.inside:
                _sec_gateway._call_sec = here.theirs


# -- rows


def _object(package: Any, uri: str, settings: Settings) -> dict[str, Any]:
    try:
        value = package.get_list_of_available_filings(uri, settings.user_agent)
    except EdgarmillError:  # some are ValueErrors
        raise
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise FetchFailed("not JSON of the known form", uri.rpartition("/")[2], "Try again later.")
    return value


def _rows(columns: Mapping[str, Any], filer: Mapping[str, Any], cik: str, at: datetime, known: Container[str],
          where: str) -> Iterator[Listing]:
    """Rows of one page, which come as columns. A column that is absent is empty; one of another length is an error.

    Raises FetchFailed, KeyError and TypeError where it is not a page.
    """
    count, forms = len(columns["accessionNumber"]), columns["form"]
    if any(len(columns[name]) != count for name in COLUMNS if name in columns):
        raise FetchFailed("the list of filings has columns of unequal length", where, "Run again later; nothing of it was taken.")

    def at_row(name: str) -> str:
        return _text(columns[name][row] if name in columns else None)

    facts = _facts(filer)
    for row in range(count):
        form, accession = str(forms[row]), at_row("accessionNumber")
        if form not in FORMS and accession not in known:
            continue
        if not ACCESSION.fullmatch(accession):
            raise FetchFailed("a filing is listed without a true accession number", where, "Run again later; nothing of it was taken.")
        size, filed_on = at_row("size"), day(at_row("filingDate"))
        if filed_on is None:
            raise FetchFailed(f"{accession} is listed without a filing date", where, "Run again later; nothing of it was taken.")
        yield Listing(
            accession=accession, ciks=(cik,), form=form, filed_on=filed_on, period_on=day(at_row("reportDate")),
            items=tuple(item.strip() for item in at_row("items").split(",") if item.strip()),
            primary=at_row("primaryDocument").rpartition("/")[2], size=int(size) or None if re.fullmatch("[0-9]{1,15}", size) else None,
            accepted=at_row("acceptanceDateTime"), file_number=at_row("fileNumber"), found="filer", listed_at=at, **facts)


def _facts(filer: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of the filer, as of today."""
    year_end = _text(filer.get("fiscalYearEnd")).replace("-", "")
    return {"company": _text(filer.get("name")) or None, "tickers": tuple(_text(t) for t in filer.get("tickers") or () if t),
            "fiscal_year_end": year_end if YEAR_END.fullmatch(year_end) else None,
            "sic": _text(filer.get("sic")) or None, "state": _text(filer.get("stateOfIncorporation")) or None}


def _text(value: object) -> str:
    """A word or a number as text that can be stored: JSON may hold halves of characters. Raises TypeError at anything else."""
    if isinstance(value, dict | list):
        raise TypeError("no plain value")
    return "" if value is None else str(value).strip().encode("utf-8", "replace").decode()


def _pages(files: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, date | None, date | None]]:
    """Name, first and last filing date of each older page. Raises ValueError at a name or a date that is none."""
    for page in files:
        last = day(page.get("filingTo"))
        if not PAGE_NAME.fullmatch(page["name"]) or last == date.max:
            raise ValueError(page["name"])
        yield page["name"], day(page.get("filingFrom")), last


def _covered(first: date | None, last: date | None, have: Coverage | None) -> bool:
    if have is None or first is None or last is None:
        return False
    return (have.since is None or have.since <= first) and last <= have.through


@contextmanager
def _known_form(where: str) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError, IndexError):
        raise FetchFailed("the list of filings is not in the known form", where, "Report it; EDGAR may have changed.") from None


def day(text: object) -> date | None:
    """A date of EDGAR's two spellings, or None where it is empty or none."""
    if not isinstance(text, str):
        return None
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        return None
