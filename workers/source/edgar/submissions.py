"""EDGAR as a source, live or replayed: only the base addresses differ (`edgar_url`, `edgar_data_url`).

Listing: `sec-edgar-downloader` gives the ticker map and the addresses of a filing; its requests go through our transport (its one
request function is replaced, for the call, so that identity, limit, retries and block pages are ours). Its own listing is not
used: it drops report date, items, amendments' names and the fiscal year's end, matches one form at a time, and reads every page
of old filings even outside the window. So the pages of `submissions/` are read here, by column name.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any

from edgarmill.schemas.errors import BadFile, FetchFailed, UnknownName, UsageError
from edgarmill.schemas.records import Filing
from edgarmill.schemas.settings import Settings
from edgarmill.workers.filing import FAMILIES, family_of
from edgarmill.workers.source.listed import Listed
from edgarmill.workers.transport import Transport

LISTING_BYTES = 64 * 2**20  # of one page; the largest recorded is 0.4 MB
PAGE_NAME = re.compile(r"CIK\d{10}-submissions-\d{3,6}\.json")
ACCESSION = re.compile(r"\d{10}-\d{2}-\d{6}")
BEGINS = re.compile(rb"\s*(?:-----BEGIN PRIVACY-ENHANCED MESSAGE-----|<(?:SEC|IMS)-(?:DOCUMENT|HEADER)>|<SUBMISSION>)")
STATED = re.compile(rb"ACCESSION[ -]NUMBER(?::\s*|>)(\d{10}-\d{2}-\d{6})")
ENDS = re.compile(rb"(?:</SEC-DOCUMENT>|</IMS-DOCUMENT>|</SUBMISSION>|-----END PRIVACY-ENHANCED MESSAGE-----)\s*$")
OPENED, CLOSED = (re.compile(rb"(?<![^\r\n])" + mark) for mark in (rb"<DOCUMENT>", rb"</DOCUMENT>"))  # CR may end a line
_package = threading.Lock()  # the package's request function is a module's name, so one call at a time may replace it


@dataclass(frozen=True)
class Selection:
    """Which filings. A form takes its family's later variants only where they are named: "10-K" is 10-K, and 10-K/A with `amendments`.

    `limit` is per filer, newest first. Dates are filing dates, both ends included.
    """

    tickers: tuple[str, ...] = ()
    ciks: tuple[str, ...] = ()
    forms: tuple[str, ...] = tuple(FAMILIES)
    since: date | None = None
    until: date | None = None
    limit: int | None = None
    amendments: bool = True


def list_filings(transport: Transport, settings: Settings, selection: Selection) -> Iterator[Listed]:
    """Filings of the selection, filer by filer, newest first, each accession once.

    Raises UsageError (nothing named, an unknown ticker) before the first filing, UnknownName at an unknown CIK, FetchFailed and Blocked.
    """
    ciks = _ciks(transport, settings, selection)
    seen: set[str] = set()
    for cik in ciks:
        taken = 0
        for filing, where in _of_filer(transport, settings, selection, cik):
            if selection.limit is not None and taken >= selection.limit:
                break
            taken += 1
            if filing.accession not in seen:
                seen.add(filing.accession)
                yield Listed(filing, where)


def fetch(listed: Listed, transport: Transport) -> bytes:
    """The full submission text, checked to be that filing and whole. Raises FetchFailed, TooLarge, BadFile, Blocked."""
    data = transport.get(listed.where)
    accession = listed.filing.accession
    head = data[: 2**16]
    if not BEGINS.match(head):
        raise BadFile("what EDGAR sent is not a submission", accession, "Open its address in a browser.")
    stated = STATED.search(head)
    if stated is None or stated[1].decode() != accession:
        found = stated[1].decode() if stated else "without an accession number"
        raise BadFile(f"what EDGAR sent is {found}", accession, "Run again later.")
    opened, closed = len(OPENED.findall(data)), len(CLOSED.findall(data))
    if opened != closed or not opened or not ENDS.search(data[-4096:]):
        raise FetchFailed(f"the submission is cut: {opened} documents begin, {closed} end", accession, "Run again to fetch it anew.")
    return data


def _ciks(transport: Transport, settings: Settings, selection: Selection) -> list[str]:
    """Ten-digit CIKs in the order named, each once."""
    if not selection.tickers and not selection.ciks:
        raise UsageError("no company is named", "source edgar", "Name tickers (--ticker AAPL) or CIKs (--cik 320193).")
    known = _ticker_map(transport, settings) if selection.tickers else {}
    ciks: list[str] = []
    for ticker in selection.tickers:
        found = known.get(ticker.strip().upper().replace(".", "-"))
        if found is None:
            raise UnknownName("EDGAR lists no such ticker", ticker, "Check the spelling; a delisted company is found by its CIK.")
        ciks.append(found)
    for cik in selection.ciks:
        if not re.fullmatch(r"0*\d{1,10}", cik.strip()):
            raise UsageError("a CIK is a number of up to ten digits", cik, "Look it up on sec.gov, or name the ticker.")
        ciks.append(cik.strip().lstrip("0").zfill(10))
    return list(dict.fromkeys(ciks))


def _ticker_map(transport: Transport, settings: Settings) -> dict[str, str]:
    """Ticker in capitals to ten-digit CIK, as the package reads it."""
    with _through(transport, settings) as package:
        try:
            mapping: dict[str, str] = package.get_ticker_to_cik_mapping(settings.user_agent)
        except (KeyError, ValueError, TypeError, IndexError):
            raise FetchFailed("EDGAR's ticker list is not in the known form", f"{settings.edgar_url}/files/company_tickers_exchange.json",
                              "Name CIKs instead of tickers.") from None
    return mapping


class _Answer:
    """What the package wants of an answer."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def json(self) -> Any:
        return json.loads(self.content)


@contextmanager
def _through(transport: Transport, settings: Settings) -> Iterator[Any]:
    """sec-edgar-downloader with its requests sent by our transport and its addresses under our base."""
    from sec_edgar_downloader import _orchestrator, _sec_gateway

    def call(uri: str, user_agent: str, host: str) -> _Answer:
        return _Answer(transport.get(uri, LISTING_BYTES))

    base = settings.edgar_url.rstrip("/")
    ours = ((_sec_gateway, "_call_sec", call), (_sec_gateway, "URL_CIK_MAPPING", f"{base}/files/company_tickers_exchange.json"),
            (_orchestrator, "URL_FILING", base + "/Archives/edgar/data/{cik}/{acc_num_no_dash}/{document}"))
    with _package:
        before = [(module, name, getattr(module, name)) for module, name, _ in ours]
        try:
            for module, name, value in ours:
                setattr(module, name, value)
            yield _orchestrator
        finally:
            for module, name, value in before:
                setattr(module, name, value)


def _of_filer(transport: Transport, settings: Settings, selection: Selection, cik: str) -> Iterator[tuple[Filing, str]]:
    """The filer's filings that the selection takes, newest page first; pages outside the window are not asked for."""
    base = f"{settings.edgar_data_url.rstrip('/')}/submissions"
    address = f"{base}/CIK{cik}.json"
    try:
        filer = _json(transport, address)
    except FetchFailed as failure:
        if "404" in failure.what:
            raise UnknownName("EDGAR has no filer with this CIK", cik, "Check the number.") from None
        raise
    try:
        pages = [page["name"] for page in filer["filings"]["files"] if _overlaps(page, selection)]
        yield from _rows(transport, settings, selection, cik, filer, filer["filings"]["recent"])
        for name in pages:
            if not PAGE_NAME.fullmatch(name):
                raise FetchFailed("an older page has a name that is not in the known form", address, "Report it; EDGAR may have changed.")
            yield from _rows(transport, settings, selection, cik, filer, _json(transport, f"{base}/{name}"))
    except (KeyError, TypeError, AttributeError):
        raise FetchFailed("the list of filings is not in the known form", address, "Report it; EDGAR may have changed.") from None


def _json(transport: Transport, address: str) -> dict[str, Any]:
    try:
        value = json.loads(transport.get(address, LISTING_BYTES))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise FetchFailed("not JSON of the known form", address, "Try again later.")
    return value


def _overlaps(page: Mapping[str, Any], selection: Selection) -> bool:
    first, last = _day(page.get("filingFrom")), _day(page.get("filingTo"))
    after = selection.since is not None and last is not None and last < selection.since
    before = selection.until is not None and first is not None and first > selection.until
    return not (after or before)


def _rows(transport: Transport, settings: Settings, selection: Selection, cik: str, filer: Mapping[str, Any],
          columns: Mapping[str, Sequence[Any]]) -> Iterator[tuple[Filing, str]]:
    """Rows of one page, which come as columns; a column that is absent is empty."""
    count = len(columns["accessionNumber"])
    base = settings.edgar_url.rstrip("/")

    def at(name: str, row: int) -> str:
        values = columns.get(name, ())
        return str(values[row] or "") if row < len(values) else ""

    for row in range(count):
        form, filed_on, accession = at("form", row), _day(at("filingDate", row)), at("accessionNumber", row)
        if not _takes(selection, form, filed_on) or not ACCESSION.fullmatch(accession):
            continue
        where = f"{base}/Archives/edgar/data/{cik.lstrip('0')}/{accession.replace('-', '')}/{accession}.txt"
        yield Filing(
            accession=accession, name=at("primaryDocument", row).rpartition("/")[2], source="edgar", form=form,
            family=family_of(form), amends=form.endswith("/A"), ciks=(cik,),
            company=filer.get("name") or None, tickers=tuple(filer.get("tickers") or ()),
            filed_on=filed_on, period_on=_day(at("reportDate", row)),
            fiscal_year_end=filer.get("fiscalYearEnd") or None, items=tuple(i.strip() for i in at("items", row).split(",") if i.strip()),
            sic=filer.get("sic") or None, state=filer.get("stateOfIncorporation") or None,
        ), where  # accepted_at stays open: the JSON's Z is false for many filers, the header tells; url is made by the open stage


def _takes(selection: Selection, form: str, filed_on: date | None) -> bool:
    base = form.removesuffix("/A")
    if form not in selection.forms and base not in selection.forms:
        return False
    if base != form and not selection.amendments and form not in selection.forms:
        return False
    if filed_on is None:
        return selection.since is None and selection.until is None
    return (selection.since is None or filed_on >= selection.since) and (selection.until is None or filed_on <= selection.until)


def _day(text: object) -> date | None:
    try:
        return date.fromisoformat(text) if isinstance(text, str) and text else None
    except ValueError:
        return None
