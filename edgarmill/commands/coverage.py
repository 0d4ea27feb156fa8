"""coverage: is every filing that EDGAR lists here, and if not, why."""

from __future__ import annotations

from typing import Any

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.terminal import columns, counted, listing

COLUMNS = columns("form", "year", "listed", "received", "quarantined", "removed", "waiting")
EVENTS = columns("at:seen (UTC)", "accession", "kind", "before", "after")


@click.command()
@click.option("--events", is_flag=True, help="What EDGAR changed, withdrew, or says in two ways, and what was removed: one line each.")
@shared
@pass_given
def command(given: Given, events: bool) -> None:
    """What EDGAR lists of the lake's filers, by form and year: received, quarantined, removed, or waiting (not selected, or not
    fetched yet)."""
    from edgarmill.retrieval.coverage import coverage_of, events_of
    from edgarmill.terminal import show_json

    snapshot = given.snapshot()
    if events:
        listing(events_of(snapshot), EVENTS, as_json=given.json, empty="EDGAR changed nothing that was seen.")
        return
    found = coverage_of(snapshot)
    if given.json:
        show_json(found)
        return
    listing(found["lines"], COLUMNS, as_json=False, empty="Nothing was listed yet: edgarmill fetch, or ingest --ticker, lists.")
    if found["filers"]:
        print(_line(found))


def _line(found: dict[str, Any]) -> str:
    behind = f"; {found['behind']:,} of them not since {found['oldest']}" if found["behind"] else ""
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in found["events"].items())
    events = f"; events: {kinds} (edgarmill coverage --events)" if kinds else ""
    return f"{counted(found['filers'], 'filer')}, listed through {found['through']}{behind}{events}"
