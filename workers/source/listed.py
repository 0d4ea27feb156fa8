"""What a source gives: one filing as it is listed, before its bytes are opened. A source is a module of this folder with

    list_filings(..., settings: Settings, warn: Callable[[str], None]) -> Iterator[Listed]
    fetch(listed: Listed, settings: Settings) -> bytes      the bytes as received, decompressed; raises BadFile, TooLarge, FetchFailed

A filing that cannot even be listed whole (unreadable, too large) is yielded with its `error`: it ends in quarantine and is never lost.
`warn` gets one line for what the run as a whole should know (files passed over, lines of a manifest without a file).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from edgarmill.schemas.errors import BadInput
from edgarmill.schemas.records import Event, Filing, Listing, Received


@dataclass(frozen=True, slots=True)
class Listed:
    """`filing` holds only what the source or a manifest states, plus accession and name; `where` is an absolute path or a URL."""

    filing: Filing
    where: str
    error: BadInput | None = None


@dataclass(frozen=True)
class Fetched:
    """A filing with its bytes in raw/ and the receipts of what is new.

    From EDGAR also: `listing`, what its header adds to a listing out of an index file; `contents`, sha256 by name of its files, to be
    compared with an earlier receipt; `wanted`, false where the header shows that the selection does not take it.
    """

    filing: Filing
    received: tuple[Received, ...] = ()
    events: tuple[Event, ...] = ()
    listing: Listing | None = None
    contents: dict[str, str] = field(default_factory=dict)
    wanted: bool = True
