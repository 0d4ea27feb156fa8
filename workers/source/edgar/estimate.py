"""What fetching a selection would take: filings, requests, bytes, time. Lists, and fetches nothing.

Counts are EDGAR's own listing. Requests and bytes of single documents are estimates: an 8-K with Item 9.01 is taken to have one exhibit
that is indexed, and the documents that are fetched to be a tenth to a third of the full submission, whose size is listed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from edgarmill.schemas.records import Listing
from edgarmill.workers.filing import family_of
from edgarmill.workers.source.edgar.fetch import NAMED_SINCE

SHARE = (0.1, 0.33)  # of the full submission text: main document and EX-13, EX-99
PACKED = 4.6  # to one: gzip over 11.6 MB of recorded submissions
MEDIAN_BYTES = {"10-K": 9.4e6, "10-Q": 9.4e6, "8-K": 0.32e6}  # of a full text whose size is not listed: medians of 42 and 108 recorded rows


@dataclass(frozen=True)
class Line:
    """Of one form and year of filing. Bytes are as received, unpacked; two ends where they are estimated."""

    form: str
    year: int
    filings: int
    here: int  # of these, in the lake already
    requests: int
    bytes_low: float
    bytes_high: float


@dataclass(frozen=True)
class Estimate:
    lines: tuple[Line, ...]
    listing_requests: int
    unread: tuple[str, ...] = ()  # filers and indexes that could not be read: what they list is missing here

    @property
    def filings(self) -> int:
        return sum(line.filings for line in self.lines)

    @property
    def to_fetch(self) -> int:
        return sum(line.filings - line.here for line in self.lines)

    @property
    def requests(self) -> int:
        """Of fetching; those of the listing are spent by now."""
        return sum(line.requests for line in self.lines)

    def seconds_at(self, per_second: float) -> float:
        """At the limit of requests."""
        return self.requests / per_second

    def seconds_over(self, bytes_per_second: float) -> tuple[float, float]:
        """At a bandwidth: packed bytes over it."""
        low, high = (sum(getattr(line, end) for line in self.lines) / PACKED / bytes_per_second for end in ("bytes_low", "bytes_high"))
        return low, high


def estimate(chosen: Iterable[Listing], here: Collection[str], what: str, listing_requests: int, unread: Iterable[str] = ()) -> Estimate:
    """`what` is the setting `fetch`; `here` the accessions that the lake has."""
    groups: dict[tuple[str, int], list[Listing]] = {}
    for listing in chosen:
        groups.setdefault((listing.form, listing.filed_on.year if listing.filed_on else 0), []).append(listing)
    lines = tuple(_line(form, year, rows, here, what) for (form, year), rows in sorted(groups.items()))
    return Estimate(lines, listing_requests, tuple(unread))


def _line(form: str, year: int, rows: list[Listing], here: Collection[str], what: str) -> Line:
    todo = [row for row in rows if row.accession not in here]
    requests, low, high = 0, 0.0, 0.0
    for row in todo:
        size = float(row.size or MEDIAN_BYTES.get(family_of(form), 1e6))
        if what == "submission" or (row.filed_on is not None and row.filed_on < NAMED_SINCE):
            requests, low, high = requests + 1, low + size, high + size
        else:
            requests += 3 if "9.01" in row.items else 2
            low, high = low + SHARE[0] * size, high + SHARE[1] * size
    return Line(form, year, len(rows), len(rows) - len(todo), requests, low, high)
