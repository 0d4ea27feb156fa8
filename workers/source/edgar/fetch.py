"""One filing's files into raw/: its header page, main document and EX-13, EX-99, or (setting `fetch`) its full submission text.

The full text is taken as well where the single files are not to be had whole: documents of the 1990s have no names, some of 2000 and 2001
answer 404 under the name that the header gives, and old filings have no header page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cached_property

from edgarmill.schemas.errors import BadFile, FetchFailed, TooLarge
from edgarmill.schemas.records import Event, Listing, Received
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.workers import bundle
from edgarmill.workers.bundle import Bundle, Piece
from edgarmill.workers.filing import choose, normal_form
from edgarmill.workers.parse.parsed import RawDocument
from edgarmill.workers.source.edgar.selection import Selection, listed_of
from edgarmill.workers.source.edgar.whole import DocumentCheck, HeaderSink, Kept, submission_sink
from edgarmill.workers.source.listed import Fetched
from edgarmill.workers.submission import EASTERN, Header, read_header
from edgarmill.workers.transport import Transport

HEADER_BYTES = 8 * 2**20  # of a header page; that of 239 filers has 0.15 MB
LISTING_BYTES = 4 * 2**20  # of a folder's index.json
MOST_DOCUMENTS = 250  # asked for one by one
NAMED_SINCE = date(2001, 1, 1)  # before, documents have no names of their own
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,119}")


@dataclass(frozen=True)
class Desk:
    """What fetching needs."""

    transport: Transport
    settings: Settings
    lake: Lake
    selection: Selection | None = None  # decides, once a header tells the period, whether the filing is wanted at all


def fetch(listing: Listing, desk: Desk) -> Fetched:
    """The filing's files, each checked to be whole, asked for again where it is not.

    Raises FetchFailed (404, or not whole however often it was asked for), TooLarge, Blocked, StorageError, Stopped.
    """
    if desk.settings.fetch == "submission" or (listing.filed_on is not None and listing.filed_on < NAMED_SINCE):
        return _submission(listing, desk)
    try:
        page, read = desk.transport.download(_address(listing, desk, f"{listing.accession}-index-headers.html"),
                                             lambda: nullcontext(HeaderSink(listing.accession)), HEADER_BYTES)
    except FetchFailed as failure:
        return _instead(failure, listing, desk)
    told = said_by(listing, read.header)
    if desk.selection is not None and told != listing and not desk.selection.takes(told):
        return Fetched(listed_of(listing, desk.settings).filing, (), listing=told, wanted=False)
    form = normal_form(read.header.form or listing.form)
    try:
        documents, primary = choose(read.documents, form)
    except BadFile:  # no name among them promises text
        return _submission(listing, desk)
    wanted = [document for document in documents if not document.left_out]
    nameless = any(not NAME.fullmatch(document.name) for document in wanted)
    if normal_form(primary.type) != form or nameless or len(wanted) > MOST_DOCUMENTS:
        return _submission(listing, desk)
    sizes = _Sizes(listing, desk)
    try:
        kept = {document.sequence: _document(listing, desk, document, sizes) for document in wanted}
    except FetchFailed as failure:
        return _instead(failure, listing, desk)
    return _bundled(listing, told, desk, page, read.header, documents, primary, kept)


def _instead(failure: FetchFailed, listing: Listing, desk: Desk) -> Fetched:
    """The full text, where EDGAR answers for a single file but does not give it. Raises the failure where it does not answer."""
    if failure.status not in (200, 403, 404):
        raise failure
    return _submission(listing, desk)


def _document(listing: Listing, desk: Desk, document: RawDocument, sizes: _Sizes) -> Kept:
    check = DocumentCheck(document.name, lambda: sizes.of(document.name))
    return desk.transport.download(_address(listing, desk, document.name), lambda: check.sink(desk.lake))


class _Sizes:
    """Of a filing's files, by the listing of its folder: one request, if any is asked for. None where that does not say.

    Raises BadFile where the listing cannot be read now: to take that for silence would let a page of a site in trouble pass.
    """

    def __init__(self, listing: Listing, desk: Desk) -> None:
        self._listing, self._desk = listing, desk

    def of(self, name: str) -> int | None:
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, int]:
        try:
            page = json.loads(self._desk.transport.get(_address(self._listing, self._desk, "index.json"), LISTING_BYTES))
            items = page["directory"]["item"]
            return {str(item["name"]): int(item["size"]) for item in items if str(item["size"]).isdecimal()}
        except FetchFailed as failure:
            if failure.status in (403, 404):
                return {}
            raise BadFile(f"the folder's listing is not to be had: {failure.what}", self._listing.accession) from None
        except (TooLarge, ValueError, KeyError, TypeError, RecursionError):
            raise BadFile("the folder's listing is not in the known form", self._listing.accession) from None


def _bundled(listing: Listing, told: Listing, desk: Desk, page: bytes, header: Header, documents: tuple[RawDocument, ...],
             primary: RawDocument, kept: dict[int, Kept]) -> Fetched:
    pieces = []
    for document in documents:
        got = kept.get(document.sequence, Kept("", 0))
        pieces.append(Piece(document.sequence, document.type, document.name, document.description, got.sha256, got.bytes))
    whole = Bundle(listing.accession, desk.lake.put_raw(page), tuple(pieces))
    sha256 = desk.lake.put_raw(bundle.encode(whole))
    now, folder = datetime.now(UTC), _address(listing, desk, "")
    parts = [(folder, sha256, whole.bytes, "bundle"),
             (f"{folder}{listing.accession}-index-headers.html", whole.header, len(page), "header"),
             *((folder + piece.name, piece.sha256, piece.bytes, "document") for piece in pieces if piece.sha256)]
    received = [Received(listing.accession, "edgar", place, sha, size, now, part) for place, sha, size, part in parts]
    told = replace(told, primary=told.primary or primary.name)
    filing = replace(listed_of(told, desk.settings).filing, sha256=sha256, bytes=whole.bytes)
    return Fetched(filing, tuple(received), tuple(disagreements(listing, header, now)), told if told != listing else None, whole.contents)


def _submission(listing: Listing, desk: Desk) -> Fetched:
    where = listed_of(listing, desk.settings).where
    kept, head = desk.transport.download(where, lambda: submission_sink(desk.lake, listing.accession))
    header, now = read_header(head), datetime.now(UTC)
    told = said_by(listing, header)
    filing = replace(listed_of(told, desk.settings).filing, sha256=kept.sha256, bytes=kept.bytes)
    received = Received(listing.accession, "edgar", where, kept.sha256, kept.bytes, now, "submission")
    wanted = desk.selection is None or told == listing or desk.selection.takes(told)
    return Fetched(filing, (received,), tuple(disagreements(listing, header, now)), told if told != listing else None,
                   {f"{listing.accession}.txt": kept.sha256}, wanted)


def _address(listing: Listing, desk: Desk, name: str) -> str:
    return listed_of(listing, desk.settings).where.rpartition("/")[0] + "/" + name


# -- what the header adds, and where it says otherwise


def said_by(listing: Listing, header: Header) -> Listing:
    """The listing with what an index file leaves open: period, items, further filers. What it says already stays."""
    return replace(
        listing, period_on=listing.period_on or header.period_on, items=listing.items or header.items,
        ciks=tuple(dict.fromkeys([*listing.ciks, *header.ciks])),
        fiscal_year_end=listing.fiscal_year_end or next((f.fiscal_year_end for f in header.filers if f.fiscal_year_end), None),
    )


def disagreements(listing: Listing, header: Header, now: datetime) -> Iterator[Event]:
    """Where header and listing tell two things. The header is believed; a name, SIC or state of today is no contradiction."""
    pairs = [
        ("form", listing.form, header.form),
        ("filed_on", listing.filed_on, header.filed_on),
        ("period_on", listing.period_on, header.period_on),
        ("items", ",".join(sorted(listing.items)), ",".join(sorted(header.items))),
    ]
    for name, listed, stated in pairs:
        if listed and stated and listed != stated:
            yield Event(listing.accession, "disagrees", f"{name} {listed}", f"{name} {stated}", now)
    if header.accepted_at and (listed_at := _utc(listing.accepted)) and listed_at != header.accepted_at:
        clock = header.accepted_at.astimezone(EASTERN).replace(tzinfo=UTC)
        before = f"accepted_at {listing.accepted}{' (Eastern with a false Z)' if listed_at == clock else ''}"
        yield Event(listing.accession, "disagrees", before, f"accepted_at {header.accepted_at:%Y-%m-%dT%H:%M:%SZ}", now)


def _utc(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def not_there(failure: BaseException | None) -> bool:
    """Whether EDGAR says that the filing is not there (any more)."""
    return isinstance(failure, FetchFailed) and failure.status == 404


def contents_of(lake: Lake, received: Received) -> dict[str, str]:
    """sha256 by name of the files of an earlier receipt, as `Fetched.contents`."""
    if received.part == "bundle":
        return bundle.decode(lake.read_raw(received.sha256)).contents
    return {f"{received.accession}.txt": received.sha256}
