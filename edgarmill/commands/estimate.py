"""estimate: what a run would take, before it is begun."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from edgarmill.options import Given, pass_given, setting, shared
from edgarmill.selecting import names_filers, selected, selecting
from edgarmill.terminal import Column, columns, complain, counted, dollars, seconds, size

if TYPE_CHECKING:
    from edgarmill.flows.forecast import Forecast
    from edgarmill.workers.source.edgar.estimate import Estimate

UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
FORECAST = columns(
    "stage",
    "model",
    "filings",
    "requests",
    "input_tokens:tokens in",
    Column("range", "range", str),
    "output_tokens:tokens out",
    Column("seconds", "time", seconds, "not known"),
    Column("dollars", "cost", dollars, "unpriced"),
    Column("dollars_range", "range", str),
)


def _or_dash(form: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda value: "-" if value is None else form(value)


FIGURE_FORMS = (
    ("requests", "requests", _or_dash("{:,}".format)),
    ("tokens_in", "tokens in", _or_dash("{:,}".format)),
    ("tokens_out", "tokens out", _or_dash("{:,}".format)),
    ("seconds", "time", _or_dash(seconds)),
    ("dollars", "cost", _or_dash(dollars)),
)


def _rate(context: click.Context, parameter: click.Parameter, value: str) -> float:
    """Bytes a second."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kMG]?)(B/s|bit/s|B|bit)?", value.strip())
    if found is None or float(found[1]) <= 0:
        raise click.BadParameter("say a rate such as 100Mbit/s or 12.5MB/s.", context, parameter)
    return float(found[1]) * UNITS[found[2]] / (8 if found[3] and found[3].startswith("bit") else 1)


@click.command()
@click.option("--fetch", is_flag=True, help="Only what downloading takes: filings, requests, bytes, time.")
@click.option("--run", "run_id", metavar="RUN", help="How far off the estimate was that a run made of itself.")
@click.option("--path", type=click.Path(), help="Folder of filings of your own, as of ingest.")
@click.option("--manifest", type=click.Path(), help="As of ingest.")
@selecting
@click.option("--recipe", default="default", show_default=True, help="Recipe by name or TOML file.")
@click.option("--sample", type=click.IntRange(1, 1000), default=16, show_default=True, help="About how many filings are tried.")
@click.option("--output-tokens", type=click.IntRange(min=1), metavar="N",
              help="Of a model's answer; default: the mean of this lake's, else 80.")
@click.option("--untimed", is_flag=True, help="Do not load and time the embedder where the lake cannot tell its speed.")
@click.option(
    "--bandwidth", default="100Mbit/s", show_default=True, callback=_rate, help="Of your line, for the time that --fetch takes."
)
@setting("--user-agent", "user_agent", "Who you are, as EDGAR asks: 'Company contact@company.example'.")
@setting("--device", "device", "auto, cpu, cuda, mps.")
@shared
@pass_given
def command(given: Given, fetch: bool, run_id: str | None, bandwidth: float, **asked: Any) -> int:
    """What a run would take, before it is made: filings, requests, tokens, dollars, hours. Nothing is sent to a model or written.

    A few filings of those at hand are really parsed, chunked and counted, models rehearsed, and the rest is reckoned from them. Without
    --path or filers of EDGAR: of all that the lake has received. What is done already is left out. With --fetch, what downloading takes;
    without filers named then, of the shipped selection `default`.

    \b
    Examples:
      edgarmill estimate --path ./filings --recipe default
      edgarmill estimate --ticker AAPL --set cpu_dollars_per_hour=0.04
      edgarmill estimate --fetch --selection default
    """
    if sum((fetch, run_id is not None, asked["path"] is not None)) > 1 or (asked["path"] and names_filers(asked)):
        raise click.UsageError("say one of --fetch, --run, --path; filers of EDGAR do not go with --path.")
    if run_id is not None:
        return _show_run(given, run_id)
    if fetch:
        return _estimate_fetch(given, bandwidth, asked)
    return _estimate_run(given, asked)


def _estimate_run(given: Given, asked: dict[str, Any]) -> int:
    from edgarmill.flows.estimate import estimate_run
    from edgarmill.flows.request import Request
    from edgarmill.terminal import Progress

    settings, filers = given.settings(), names_filers(asked)
    request = None
    selection = selected(asked)
    if asked["path"]:
        request = Request(source="folder", path=asked["path"], manifest=asked["manifest"])
    elif filers:
        request = Request(source="edgar", **selection)
    found = estimate_run(settings, asked["recipe"], request, Progress(), complain, sample=asked["sample"],
                         output_tokens=asked["output_tokens"], timed=not asked["untimed"])
    show_forecast(given, found)
    return 0


def show_forecast(given: Given, found: Forecast) -> None:
    """Prints an estimate as a table, or as JSON."""
    from edgarmill.terminal import show, show_json

    rows = [asdict(row) for row in found.rows]
    whole = _sum(found)
    if given.json:
        fields = ("recipe", "planned", "todo", "at_hand", "opened", "tried", "wall_seconds", "took_seconds", "notes")
        chunks = {"low": round(found.chunks.low), "likely": round(found.chunks.likely), "high": round(found.chunks.high)}
        return show_json({**{name: getattr(found, name) for name in fields}, "chunks": chunks, "rows": rows, "sum": whole})
    if not found.rows:
        print(f"{found.recipe}: {counted(found.planned, 'filing')}, and nothing to do on them.")
        return
    print(f"{found.recipe}: {counted(found.planned, 'filing')}, {found.todo:,} with work to do; {found.tried:,} tried and {found.opened:,} "
          f"opened, in {seconds(found.took_seconds)}")
    show([_cells(row) for row in [*rows, whole]], FORECAST)
    if found.wall_seconds is not None:
        print(f"In all about {seconds(found.wall_seconds)}; {round(found.chunks.likely):,} chunks; building and verifying the index aside.")
    for line in found.notes:
        print(line)


def _sum(found: Forecast) -> dict[str, Any]:
    counts = ("requests", "input_tokens", "cached_tokens", "output_tokens", "input_low", "input_high")
    whole: dict[str, Any] = {name: sum(getattr(row, name) or 0 for row in found.rows) for name in counts}
    known = [row.seconds for row in found.rows if row.seconds is not None]
    whole["seconds"] = sum(known) if len(known) == len(found.rows) else None
    for which in ("dollars_low", "dollars", "dollars_high"):
        whole[which] = found.dollars(which)
        whole[f"models_{which}"] = found.dollars(which, models=True)
    return {"stage": "sum", "model": None, "filings": found.todo, **whole}


def _cells(row: dict[str, Any]) -> dict[str, Any]:
    low, high = row["input_low"], row["input_high"]
    ends = (row["dollars_low"], row["dollars_high"])
    return {**row, "range": f"{low:,} to {high:,}" if high else None,
            "dollars_range": None if None in ends else _between(dollars, *ends), "requests": row["requests"] or None,
            "input_tokens": (row["input_tokens"] or 0) + (row["cached_tokens"] or 0) or None, "output_tokens": row["output_tokens"] or None}


def _show_run(given: Given, run_id: str) -> int:
    from edgarmill.retrieval.accuracy import FIGURES, accuracy
    from edgarmill.terminal import show, show_json

    rows = accuracy(given.snapshot(), run_id)
    if given.json:
        show_json({"run_id": run_id, "rows": [{**row, **{name: dict(zip(("estimated", "done", "off"), row[name], strict=True))
                                                         for name in FIGURES}} for row in rows]})
        return 0
    if not rows:
        print("This run made no estimate: edgarmill ingest --estimate makes one.")
        return 0
    flat = [{"stage": row["stage"], "model": row["model"], "figure": heading, "estimated": form(row[name][0]), "done": form(row[name][1]),
             "off": off(row[name][2])} for row in rows for name, heading, form in FIGURE_FORMS if row[name][0] is not None]
    show(flat, columns("stage", "model", "figure", "estimated", "done", "off"))
    return 0


def off(share: float | None) -> str:
    """`+4.0 %`: so much was estimated too much."""
    return "-" if share is None else f"{100 * share:+.1f} %"


def _estimate_fetch(given: Given, bandwidth: float, asked: dict[str, Any]) -> int:
    """Lists a selection, with requests, bytes and time."""
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
    from edgarmill.terminal import show

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
