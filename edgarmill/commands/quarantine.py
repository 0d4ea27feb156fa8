"""quarantine list: the filings that were not indexed, and why."""

from __future__ import annotations

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.terminal import columns, listing

COLUMNS = columns("subject:filing", "name", "stage", "reason", "message:what", "todo:what to do")


@click.group()
@shared
def command() -> None:
    """Filings that were set aside: which, at what stage, why, and what to do."""


@command.command("list")
@shared
@pass_given
def list_(given: Given) -> None:
    """Every filing that stands in quarantine now, the newest first."""
    from edgarmill.schemas.tables import pylist

    rows = sorted(pylist(given.snapshot().read("quarantine")), key=lambda r: (r["at"], r["subject"]), reverse=True)
    listing(rows, COLUMNS, as_json=given.json, empty="Nothing is in quarantine.")
