"""ingest: filings into a verified, tagged index."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

import click

from edgarmill.options import Given, pass_given, setting, shared, typed
from edgarmill.selecting import asking, names_filers, selected, selecting
from edgarmill.terminal import Progress, complain, dollars, left_over, seconds

if TYPE_CHECKING:
    from edgarmill.schemas.records import RunRecord


Source = Literal["edgar", "folder", "passages"]
SOURCES = ("edgar", "folder", "passages")


@click.command()
@click.option("--source", type=click.Choice(SOURCES), help="Default: folder with --path, else edgar.")
@click.option("--path", type=click.Path(), help="Folder of .txt, .htm, .pdf files, also as .gz or .zst. Of passages: a corpus as JSONL.")
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
@click.option("--estimate", is_flag=True, help="Estimate the run first and say at its end how far off that was; --budget does too.")
@setting("--workers", "workers", "Processes that parse.", type=int)
@setting("--device", "device", "auto, cpu, cuda, mps.")
@shared
@pass_given
def command(
    given: Given,
    source: Source | None,
    recipes: tuple[str, ...],
    **asked: Any,
) -> int:
    """Fetch, parse, chunk, embed, index, verify and tag filings; done work is not done again."""
    chosen: Source = source or ("folder" if asked["path"] else "edgar")
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
    if source != "edgar" and not asked["path"]:
        raise click.UsageError(f"--source {source} needs --path.")
    if source == "edgar" and asked["path"]:
        raise click.UsageError("--path belongs to --source folder or passages.")
    if source == "edgar" and not names_filers(asked):
        raise click.UsageError("say which filers: --ticker, --cik, --universe or --selection; or --path FOLDER for files of your own.")


def shown(given: Given, records: Any) -> int:
    """Prints each run's end, with its estimate's where it made one; the worst exit code."""
    from edgarmill.terminal import show_json

    worst, rows = 0, []
    for record in records:
        estimate = _estimate_of(given, record)
        rows.append({**asdict(record), "estimate": estimate} if estimate else record)
        worst = max(worst, record.exit_code)
        if not given.json:
            print(line_of(record))
            if estimate:
                print(f"estimate: {_off(estimate)}.")
    if given.json:
        show_json(rows if len(rows) != 1 else rows[0])
    return worst


def _estimate_of(given: Given, record: RunRecord) -> dict[str, Any]:
    """How far off the run's estimate was, all stages together and calls of models apart; {} where it made none."""
    from edgarmill.retrieval.accuracy import accuracy, spent_on_models

    rows = accuracy(given.snapshot(), record.run_id)
    return {**{name: rows[-1][name] for name in ("tokens_in", "seconds", "dollars")}, "models": spent_on_models(rows)} if rows else {}


def _off(estimate: dict[str, Any]) -> str:
    """`estimated $2.10, spent $2.05 (+2.4 % off); 1,000 tokens, took 990 (+1.0 % off)`."""
    forms = (("models", dollars, "estimated {} of models, spent {}"), ("dollars", dollars, "estimated {} in all, spent {}"),
             ("tokens_in", "{:,}".format, "estimated {} tokens, read {}"), ("seconds", seconds, "estimated {} of stages, took {}"))
    parts = []
    for name, form, words in forms:
        guess, took, share = estimate[name]
        if guess is not None and took is not None and not (name == "models" and not guess and not took):
            parts.append(words.format(form(guess), form(took)) + (f" ({100 * share:+.1f} % off)" if share is not None else ""))
    return "; ".join(parts) or "nothing to compare"


def line_of(record: RunRecord) -> str:
    """One line: the counts always close."""
    took = (record.ended_at - record.started_at).total_seconds() if record.ended_at else 0.0
    more = left_over(record)
    return (
        f"{record.recipe}: planned {record.planned:,} = indexed {record.indexed:,} + unchanged {record.unchanged:,} + quarantined "
        f"{record.quarantined:,}; index {record.tag or 'none'}; {took:,.1f} s by {record.engine}; run {record.run_id}.{more}"
    )
