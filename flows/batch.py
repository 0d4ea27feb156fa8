"""What was fetched since the last commit."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from edgarmill.schemas.records import Event, Listing, Quarantine, Received
from edgarmill.workers.block import Task
from edgarmill.workers.source.listed import Fetched

COMMIT_FILINGS, COMMIT_SECONDS = 200, 30.0  # what a killed download costs at most


@dataclass
class Batch:
    """Receipts, failures and what else goes with them into one commit."""

    received: list[Received] = field(default_factory=list)
    listings: list[Listing] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    failed: list[tuple[Quarantine, Task]] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    begun: float = field(default_factory=time.monotonic)

    def add(self, got: Fetched) -> None:
        self.fetched.append(got.filing.accession)
        self.received += got.received
        self.events += got.events
        self.listings += [got.listing] if got.listing else []

    def due(self) -> bool:
        return len(self.fetched) + len(self.failed) >= COMMIT_FILINGS or time.monotonic() - self.begun > COMMIT_SECONDS
