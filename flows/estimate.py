"""What a request would take. No flow: nothing is written, and a listing that was begun is not worth keeping."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from edgarmill.flows.request import Request
from edgarmill.flows.sources import latest, selection_of
from edgarmill.schemas.errors import LakeNotFound
from edgarmill.schemas.records import Coverage, Listing
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.workers.source.edgar.discover import discover
from edgarmill.workers.source.edgar.estimate import Estimate, estimate
from edgarmill.workers.transport import Transport


def estimate_fetch(
    settings: Settings, request: Request, progress: Callable[[str, int, int], None], note: Callable[[str], None]
) -> Estimate:
    """Lists the request's filings, what the lake knows already aside. Raises as a listing does: UsageError, UnknownName, RunError."""
    listings: dict[str, Listing] = {}
    covered: dict[str, Coverage] = {}
    here: set[str] = set()
    unread: list[str] = []
    try:
        snapshot = Lake.open(settings.lake).snapshot()
    except LakeNotFound:
        pass
    else:
        listings = {listing.accession: listing for listing in snapshot.records("listings")}
        covered = {one.cik: one for one in snapshot.records("coverage")}
        here = set(latest(snapshot.records("received", {"source": ["edgar"]})))
    with Transport(settings, note=note) as transport:
        selection = selection_of(request, transport, settings)
        for found in discover(transport, settings, selection, dict(listings), covered, datetime.now(UTC), request.listing, note):
            listings |= {listing.accession: listing for listing in found.listings}
            unread += found.unread
            if found.asked[1]:
                progress("list filers", *found.asked)
        return estimate(selection.choose(listings.values()), here, settings.fetch, transport.requests, unread)
