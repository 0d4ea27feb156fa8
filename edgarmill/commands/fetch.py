"""fetch: list and download, nothing else."""

from __future__ import annotations

import sys
from typing import Any

import click

from edgarmill.options import Given, pass_given, setting, shared, typed
from edgarmill.selecting import asking, names_filers, selected, selecting
from edgarmill.terminal import Progress, complain


@click.command()
@selecting
@asking
@setting("--user-agent", "user_agent", "Who you are, as EDGAR asks: 'Company contact@company.example'.")
@shared
@pass_given
def command(given: Given, **asked: Any) -> int:
    """List and download filings of EDGAR into the lake; `edgarmill ingest` goes on from there."""
    if not names_filers(asked):
        raise click.UsageError("say which filers: --ticker, --cik, --universe or --selection.")
    selection = selected(asked)
    from edgarmill.flows.local import fetch_once
    from edgarmill.flows.request import Request
    from edgarmill.terminal import left_over, seconds, show_json

    settings = given.settings()
    request = Request(
        source="edgar", command=typed(sys.argv[1:]), overrides=given.overrides, config=given.config, **asked, **selection
    )
    record = fetch_once(settings, request, Progress(), complain)
    if given.json:
        show_json(record)
        return record.exit_code
    took = (record.ended_at - record.started_at).total_seconds() if record.ended_at else 0.0
    more = left_over(record)
    print(
        f"planned {record.planned:,} = fetched {record.fetched or 0:,} + unchanged {record.unchanged:,} + quarantined "
        f"{record.quarantined:,}; {seconds(took)}; run {record.run_id}.{more}"
    )
    return record.exit_code
