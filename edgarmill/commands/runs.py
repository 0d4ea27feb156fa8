"""runs list: who did what, when, and how it ended."""

from __future__ import annotations

from typing import Any

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.terminal import Column, columns, listing, seconds

NAMES = (
    "run_id",
    "command",
    "started_at",
    "ended_at",
    "outcome",
    "exit_code",
    "source",
    "recipe",
    "recipe_fingerprint",
    "engine",
    "planned",
    "indexed",
    "unchanged",
    "quarantined",
    "tag",
    "message",
)
COLUMNS = columns(
    "run_id:run",
    "started_at:started (UTC)",
    Column("seconds", "took", seconds),
    "outcome",
    "recipe",
    "engine",
    "planned",
    "indexed",
    "unchanged",
    "quarantined",
    "tag",
    "command",
)


@click.group()
@shared
def command() -> None:
    """What was run on this lake, and how it ended."""


@command.command("list")
@shared
@pass_given
def list_(given: Given) -> None:
    """Every run, the newest first. planned = indexed + unchanged + quarantined."""
    from edgarmill.schemas.tables import pylist

    found = pylist(given.snapshot().read("runs", columns=NAMES))
    rows = [_timed(r) for r in sorted(found, key=lambda r: (r["started_at"], r["run_id"]), reverse=True)]
    listing(rows, COLUMNS, as_json=given.json, empty="No runs yet: edgarmill ingest makes the first.")


def _timed(row: dict[str, Any]) -> dict[str, Any]:
    ended = row["ended_at"]
    return {**row, "seconds": (ended - row["started_at"]).total_seconds() if ended else None}
