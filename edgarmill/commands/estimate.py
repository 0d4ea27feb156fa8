"""estimate: what a run would take, before it is begun."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from edgarmill.options import Given, pass_given, setting, shared
from edgarmill.selecting import names_filers, selected, selecting
from edgarmill.terminal import Column, complain, counted, seconds, size

if TYPE_CHECKING:
    from edgarmill.workers.source.edgar.estimate import Estimate

UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


def _rate(context: click.Context, parameter: click.Parameter, value: str) -> float:
    """Bytes a second."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kMG]?)(B/s|bit/s|B|bit)?", value.strip())
    if found is None or float(found[1]) <= 0:
        raise click.BadParameter("say a rate such as 100Mbit/s or 12.5MB/s.", context, parameter)
    return float(found[1]) * UNITS[found[2]] / (8 if found[3] and found[3].startswith("bit") else 1)


@click.command()
@click.option("--fetch", is_flag=True, help="What downloading takes: filings, requests, bytes, time.")
@selecting
@click.option(
    "--bandwidth", default="100Mbit/s", show_default=True, callback=_rate, help="Of your line, for the time that the bytes take."
)
@setting("--user-agent", "user_agent", "Who you are, as EDGAR asks: 'Company contact@company.example'.")
@shared
@pass_given
def command(given: Given, fetch: bool, bandwidth: float, **asked: Any) -> int:
    """List what a selection would fetch, with requests, bytes and time; nothing is fetched or written.

    Without filers named it takes the shipped selection `default`: five years of 1,000 companies.
    """
    if not fetch:
        raise click.UsageError("say --fetch: what downloading takes.")
    if not names_filers(asked):
        asked["selection"] = "default"
    selection = selected(asked)
    from edgarmill.flows.estimate import estimate_fetch
    from edgarmill.flows.request import Request
    from edgarmill.terminal import Progress, show_json

    settings = given.settings()
    found = estimate_fetch(settings, Request(source="edgar", **selection), Progress(), complain)
    code = 3 if found.unread else 0
    if given.json:
        low, high = found.seconds_over(bandwidth)
        totals = {"filings": found.filings, "to_fetch": found.to_fetch, "requests": found.requests,
                  "listing_requests": found.listing_requests, "seconds_at_limit": found.seconds_at(settings.requests_per_second),
                  "seconds_at_bandwidth": [low, high], "not_listed": list(found.unread)}
        show_json({**totals, "lines": [asdict(line) for line in found.lines]})
        return code
    _show(found, settings.requests_per_second, bandwidth)
    if found.unread:
        print(f"These are too few: {len(found.unread):,} filers or indexes could not be read. Run it again.")
    return code


def _show(found: Estimate, per_second: float, bandwidth: float) -> None:
    from edgarmill.terminal import columns, show

    if not found.filings:
        print(f"EDGAR lists nothing that fits ({found.listing_requests:,} requests were made to see that).")
        return
    rows = [
        {**asdict(line), "year": str(line.year), "bytes": _between(size, line.bytes_low, line.bytes_high) if line.bytes_high else ""}
        for line in found.lines
    ]
    show(rows, columns("form", "year", "filings", Column("here", "in the lake"), "requests", "bytes"))
    low, high = (sum(getattr(line, end) for line in found.lines) for end in ("bytes_low", "bytes_high"))
    first, last = found.seconds_over(bandwidth)
    print(
        f"{counted(found.filings, 'filing')}, {found.to_fetch:,} to fetch: {found.requests:,} requests, {_between(size, low, high)} "
        f"({found.listing_requests:,} requests were made to list them)"
    )
    print(f"time: {seconds(found.seconds_at(per_second))} at {per_second:g} requests a second; {_between(seconds, first, last)} at "
          f"{size(bandwidth)}/s, packed")
    print("Filings are EDGAR's own list; requests and bytes of single documents are estimates.")


def _between(form: Any, low: float, high: float) -> str:
    return form(low) if form(low) == form(high) else f"{form(low)} to {form(high)}"
