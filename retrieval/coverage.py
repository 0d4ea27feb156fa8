"""Whether every filing that EDGAR lists is here, or why not."""

from __future__ import annotations

from collections import Counter
from typing import Any

from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.tables import pylist


def coverage_of(snapshot: Snapshot) -> dict[str, Any]:
    """`lines`: by form and year of filing, listed = received + quarantined + removed + waiting. `filers` are listed through the day
    `through`; `behind` of them only through an earlier one, the `oldest`. `events`: how many were seen, by kind.
    """
    received = set(snapshot.read("received", ["accession"])["accession"].to_pylist())
    bad = set(snapshot.read("quarantine", ["subject"])["subject"].to_pylist())
    out = set(snapshot.read("filings", ["accession"], {"status": ["removed", "missing"]})["accession"].to_pylist())
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for row in snapshot.read("listings", ["accession", "form", "filed_on"]).to_pylist():
        key = row["form"], str(row["filed_on"].year) if row["filed_on"] else ""
        line = counts.setdefault(key, {"listed": 0, "received": 0, "quarantined": 0, "removed": 0, "waiting": 0})
        line["listed"] += 1
        of = ((out, "removed"), (bad, "quarantined"), (received, "received"))
        line[next((what for some, what in of if row["accession"] in some), "waiting")] += 1
    days = snapshot.read("coverage", ["through"])["through"].to_pylist()
    last = max(days, default=None)
    return {
        "lines": [{"form": form, "year": year, **line} for (form, year), line in sorted(counts.items())],
        "filers": len(days),
        "through": last,
        "behind": sum(day != last for day in days),
        "oldest": min(days, default=None),
        "events": dict(sorted(Counter(snapshot.read("events", ["kind"])["kind"].to_pylist()).items())),
    }


def events_of(snapshot: Snapshot) -> list[dict[str, Any]]:
    """What EDGAR changed, withdrew or says in two ways, and what was removed or put back, the newest first."""
    return sorted(pylist(snapshot.read("events")), key=lambda row: (row["at"], row["accession"]), reverse=True)
