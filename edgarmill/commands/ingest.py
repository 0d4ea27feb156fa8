"""ingest: filings into a verified, tagged index."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

import click

from edgarmill.options import Given, pass_given, setting, shared, typed
from edgarmill.selecting import asking, names_filers, selected, selecting
from edgarmill.terminal import Progress, complain, left_over

if TYPE_CHECKING:
    from edgarmill.schemas.records import RunRecord


@click.command()
@click.option("--source", type=click.Choice(["edgar", "folder"]), help="Default: folder with --path, else edgar.")
@click.option("--path", type=click.Path(), help="Folder of .txt, .htm, .pdf files, each also as .gz or .zst; read in place.")
@click.option("--manifest", type=click.Path(), help="JSONL or CSV of metadata that overrides what the files say.")
@selecting
@asking
@click.option(
    "--recipe", "recipes", multiple=True, default=("default",), show_default=True, help="Recipe by name or TOML file; may be repeated."
)
@click.option("--retry-quarantined", is_flag=True, help="Try filings again that failed before, though neither they nor the code changed.")
@setting("--user-agent", "user_agent", "Who you are, as EDGAR asks: 'Company contact@company.example'.")
@setting("--engine", "engine", "auto, loop or ray.", type=click.Choice(["auto", "loop", "ray"]))
@setting("--ray-address", "ray_address", "A running Ray cluster.")
@setting("--budget", "budget_dollars", "Most USD for calls of models, per recipe; what would pass it is not sent.", metavar="USD")
@setting("--workers", "workers", "Processes that parse.", type=int)
@setting("--device", "device", "auto, cpu, cuda, mps.")
@shared
@pass_given
def command(
    given: Given,
    source: str | None,
    recipes: tuple[str, ...],
    **asked: Any,
) -> int:
    """Fetch, parse, chunk, embed, index, verify and tag filings; done work is not done again."""
    chosen: Literal["edgar", "folder"] = "folder" if source == "folder" or (source is None and asked["path"]) else "edgar"
    _check(chosen, asked)
    selection = selected(asked)
    from edgarmill.flows.local import ingest_all
    from edgarmill.flows.request import Request

    settings = given.settings()
    requests = [
        Request(
            source=chosen,
            recipe=name,
            command=typed(sys.argv[1:]),
            overrides=given.overrides,
            config=given.config,
            **asked,
            **selection,
        )
        for name in recipes
    ]
    return shown(given, ingest_all(settings, requests, Progress(), complain))


def _check(source: str, asked: dict[str, Any]) -> None:
    if source == "folder" and not asked["path"]:
        raise click.UsageError("--source folder needs --path FOLDER.")
    if source == "edgar" and asked["path"]:
        raise click.UsageError("--path belongs to --source folder.")
    if source == "edgar" and not names_filers(asked):
        raise click.UsageError("say which filers: --ticker, --cik, --universe or --selection; or --path FOLDER for files of your own.")


def shown(given: Given, records: Any) -> int:
    """Prints each run's end; the worst exit code."""
    from edgarmill.terminal import show_json

    worst, rows = 0, []
    for record in records:
        rows.append(record)
        worst = max(worst, record.exit_code)
        if not given.json:
            print(line_of(record))
    if given.json:
        show_json(rows if len(rows) != 1 else rows[0])
    return worst


def line_of(record: RunRecord) -> str:
    """One line: the counts always close."""
    took = (record.ended_at - record.started_at).total_seconds() if record.ended_at else 0.0
    more = left_over(record)
    return (
        f"{record.recipe}: planned {record.planned:,} = indexed {record.indexed:,} + unchanged {record.unchanged:,} + quarantined "
        f"{record.quarantined:,}; index {record.tag or 'none'}; {took:,.1f} s by {record.engine}; run {record.run_id}.{more}"
    )
