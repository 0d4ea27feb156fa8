"""Where a run's filings come from: what is there, what of it the lake has, and the bytes of the rest. One class a source, same methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

from edgarmill.flows.request import Request
from edgarmill.schemas.errors import FetchFailed, RunError
from edgarmill.schemas.records import Event, Filing, Listing, Received
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake, Snapshot
from edgarmill.workers.source import folder
from edgarmill.workers.source.edgar import fetch as fetching
from edgarmill.workers.source.edgar.discover import Found, discover
from edgarmill.workers.source.edgar.selection import Selection, listed_of, wanted
from edgarmill.workers.source.listed import Fetched, Listed
from edgarmill.workers.source.passages import list_passages
from edgarmill.workers.transport import Transport

Note = Callable[[str], None]
HOPELESS = 50  # filings that fail in a row


class Source(Protocol):
    """`threads` calls of `fetch` may run at a time; `stop` ends those under way, `close` frees what is held."""

    threads: int

    def listed(self, snapshot: Snapshot) -> Iterator[Listed]: ...
    def known(self, listed: Listed) -> Filing | None: ...
    def fetch(self, listed: Listed) -> Fetched: ...
    def stop(self) -> None: ...
    def close(self) -> None: ...


class FolderSource:
    """Files of a folder, read in place."""

    threads = 1

    def __init__(self, request: Request, settings: Settings, lake: Lake, note: Note) -> None:
        self._request, self._settings, self._lake, self._note = request, settings, lake, note
        self._have: set[tuple[str, str]] = set()

    def listed(self, snapshot: Snapshot) -> Iterator[Listed]:
        self._have = received_of(snapshot)
        return folder.list_filings(self._request.path or "", self._settings, self._note, self._request.manifest)

    def known(self, listed: Listed) -> Filing | None:
        """The filing, where the lake has these very bytes of it."""
        filing = listed.filing
        return filing if (filing.accession, filing.sha256) in self._have and self._lake.has_raw(filing.sha256) else None

    def fetch(self, listed: Listed) -> Fetched:
        data = self._read(listed)
        filing = replace(listed.filing, sha256=self._lake.put_raw(data), bytes=len(data))
        if (filing.accession, filing.sha256) in self._have:
            return Fetched(filing)
        return Fetched(filing, (Received(filing.accession, filing.source, filing.name, filing.sha256, filing.bytes, datetime.now(UTC)),))

    def _read(self, listed: Listed) -> bytes:
        return folder.fetch(listed, self._settings)

    def stop(self) -> None:
        """A file is read in a moment."""

    def close(self) -> None:
        """Nothing is held."""


class PassagesSource(FolderSource):
    """Passages of one corpus or several: what is read of them is held until it is in raw/."""

    def __init__(self, request: Request, settings: Settings, lake: Lake, note: Note) -> None:
        super().__init__(request, settings, lake, note)
        self._bytes: dict[str, bytes] = {}

    def listed(self, snapshot: Snapshot) -> Iterator[Listed]:
        self._have = received_of(snapshot)
        for listed, data in list_passages(self._request.path or "", self._settings):
            if data and not self.known(listed):
                self._bytes[listed.filing.accession] = data
            yield listed

    def _read(self, listed: Listed) -> bytes:
        return self._bytes.pop(listed.filing.accession)


class EdgarSource:
    """EDGAR: what it lists of a selection is kept in `listings`, so that a nightly run asks only for what is new.

    `commit` takes each batch of new listings as it is found: a stopped listing goes on where it was.
    """

    def __init__(self, request: Request, settings: Settings, lake: Lake, note: Note, commit: Callable[[Found], None]) -> None:
        self._request, self._settings, self._lake, self._note, self._commit = request, settings, lake, note, commit
        self.threads = settings.fetch_at_once
        self._transport = Transport(settings, note=note)
        self._desk = fetching.Desk(self._transport, settings, lake)
        self._listings: dict[str, Listing] = {}
        self._have: Mapping[str, Received] = {}
        self._files: dict[tuple[str, datetime], list[str]] = {}  # sha256 of all that came together
        self._in_a_row = 0  # filings that failed, with no good answer between them

    def listed(self, snapshot: Snapshot) -> Iterator[Listed]:
        received = snapshot.records("received", {"source": ["edgar"]})
        self._have = latest(received)
        self._files = {}
        for one in received:
            self._files.setdefault((one.accession, one.received_at), []).append(one.sha256)
        self._listings = {listing.accession: listing for listing in snapshot.records("listings")}
        covered = {one.cik: one for one in snapshot.records("coverage")}
        selection = selection_of(self._request, self._transport, self._settings)
        self._desk = replace(self._desk, selection=selection)
        known, how = dict(self._listings), self._request.listing
        for batch in discover(self._transport, self._settings, selection, known, covered, datetime.now(UTC), how, self._note):
            self._commit(batch)
            self._listings |= {listing.accession: listing for listing in batch.listings}
        return (listed_of(listing, self._settings) for listing in selection.choose(self._listings.values()))

    def known(self, listed: Listed) -> Filing | None:
        """The filing as it was received, unless it is to be asked for again."""
        have = self._have.get(listed.filing.accession)
        if have is None or self._request.refetch or (self._settings.fetch == "submission" and have.part == "bundle"):
            return None
        return self._as_received(listed, have) if self._whole(have) else None

    def _whole(self, have: Received) -> bool:
        """Every file that came then is there."""
        return all(self._lake.has_raw(sha256) for sha256 in self._files[have.accession, have.received_at])

    def fetch(self, listed: Listed) -> Fetched:
        """The filing anew. Raises RunError where EDGAR, or the network, gives none any more: to try thousands would help nobody."""
        try:
            got = self._anew(listed)
        except FetchFailed as failure:
            self._in_a_row = 0 if fetching.not_there(failure) else self._in_a_row + 1
            if self._in_a_row >= HOPELESS:
                what = f"{HOPELESS} filings in a row could not be fetched; the last: {failure.what}"
                raise RunError(what, failure.subject, "Check the network, wait, and run again; what is done stays done.") from None
            raise
        self._in_a_row = 0
        return got

    def _anew(self, listed: Listed) -> Fetched:
        """What the lake has stays as it is when EDGAR has the same, or has it no more; other bytes take its place."""
        accession = listed.filing.accession
        have, now = self._have.get(accession), datetime.now(UTC)
        try:
            got = fetching.fetch(self._listings[accession], self._desk)
        except FetchFailed as failure:
            if have is None or not fetching.not_there(failure):
                raise
            gone = Event(accession, "gone", have.sha256, have.place, now)
            return Fetched(self._as_received(listed, have), events=(gone,))
        if have is None or not got.wanted or not self._whole(have):  # though what came anew is there: the rest is lost
            return got
        before = fetching.contents_of(self._lake, have)
        if before.keys() != got.contents.keys():  # documents then, the full text now, or the other way round: nothing to compare
            return got
        if before == got.contents:
            return replace(got, filing=self._as_received(listed, have), received=())
        return replace(got, events=(*got.events, Event(accession, "changed", have.sha256, got.filing.sha256, now)))

    def _as_received(self, listed: Listed, have: Received) -> Filing:
        return replace(listed.filing, sha256=have.sha256, bytes=have.bytes)

    def stop(self) -> None:
        self._transport.stop()

    def close(self) -> None:
        self._transport.close()


def received_of(snapshot: Snapshot) -> set[tuple[str, str]]:
    """Accession and sha256 of all that ever came."""
    return {(r["accession"], r["sha256"]) for r in snapshot.read("received", ["accession", "sha256"]).to_pylist()}


def latest(received: Iterable[Received]) -> dict[str, Received]:
    """The newest receipt of each filing as a whole, by accession."""
    whole = (one for one in received if one.part in ("bundle", "submission", None))
    return {one.accession: one for one in sorted(whole, key=lambda one: one.received_at)}


def selection_of(request: Request, transport: Transport, settings: Settings) -> Selection:
    """What the request selects. Raises UsageError, UnknownName, SettingsError, RunError."""
    return wanted(transport, settings, tickers=request.tickers, ciks=request.ciks, universe=request.universe, forms=request.forms,
                  since=request.since, until=request.until, fiscal_years=request.fiscal_years, limit=request.limit,
                  amendments=request.amendments)


def source_of(request: Request, settings: Settings, lake: Lake, note: Note, commit: Callable[[Found], None]) -> Source:
    if request.source == "folder":
        return FolderSource(request, settings, lake, note)
    if request.source == "passages":
        return PassagesSource(request, settings, lake, note)
    return EdgarSource(request, settings, lake, note, commit)
