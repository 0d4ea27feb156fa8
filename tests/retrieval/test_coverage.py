"""Every filing that EDGAR lists is received, quarantined or waiting; what EDGAR changed is told."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

from edgar_desk import listing

from edgarmill.retrieval.coverage import coverage_of, events_of
from edgarmill.schemas.records import Coverage, Event, Quarantine, Received
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.store import Lake, write_part

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
A, B, C = (f"0000000001-24-00000{n}" for n in (1, 2, 3))


def lake_of(root: Path, **tables: list[object]) -> Snapshot:
    lake = Lake.open(str(root), create=True)
    with lake.writer("r", "test") as writer:
        writer.commit([write_part(lake.root, name, "r", rows, "r") for name, rows in tables.items()], key="r")
    return lake.snapshot()


def received(accession: str, part: str = "bundle") -> Received:
    return Received(accession, "edgar", "http://x", "0" * 64, 9, NOON, part)


def test_listed_is_received_and_quarantined_and_waiting_by_form_and_year(tmp_path: Path) -> None:
    snapshot = lake_of(
        tmp_path / "lake",
        listings=[listing(A), listing(B), listing(C), listing("0000000001-25-000004", "8-K", "2025-01-02")],
        received=[received(A), received(B), received("0000000009-24-000001")],
        quarantine=[Quarantine(B, "b", "parse", "BadFile", "cut", "", True, "0" * 64, NOON)],
        coverage=[Coverage("0000000001", None, date(2026, 10, 30), "filer", NOON),
                  Coverage("0000000002", None, date(2026, 10, 31), "daily", NOON)],
    )
    found = coverage_of(snapshot)
    assert found["lines"] == [
        {"form": "10-K", "year": "2024", "listed": 3, "received": 1, "quarantined": 1, "removed": 0, "waiting": 1},
        {"form": "8-K", "year": "2025", "listed": 1, "received": 0, "quarantined": 0, "removed": 0, "waiting": 1},
    ]
    assert (found["filers"], found["behind"]) == (2, 1)
    assert (found["oldest"], found["through"]) == (date(2026, 10, 30), date(2026, 10, 31))


def test_nothing_listed_is_nothing_and_not_an_error(tmp_path: Path) -> None:
    found = coverage_of(lake_of(tmp_path / "lake"))
    assert (found["lines"], found["filers"], found["through"], found["events"]) == ([], 0, None, {})


def test_events_are_told_the_newest_first(tmp_path: Path) -> None:
    old, new = Event(A, "gone", "x", "y", NOON), Event(B, "changed", "x", "y", NOON.replace(day=2))
    snapshot = lake_of(tmp_path / "lake", events=[old, new])
    assert [row["accession"] for row in events_of(snapshot)] == [B, A]
    assert coverage_of(snapshot)["events"] == {"changed": 1, "gone": 1}
