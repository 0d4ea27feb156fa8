"""The options that say which filings of EDGAR are meant, for every verb that asks EDGAR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

NAMES = ("selection", "universe", "tickers", "ciks", "forms", "amendments", "since", "until", "fiscal_years", "limit")
FORMS = ("10-K", "10-Q", "8-K")
DAY = click.DateTime(["%Y-%m-%d"])


def selecting(command: F) -> F:
    """Adds them."""
    for option in (
        click.option("--limit", type=click.IntRange(min=1), help="At most so many filings of a filer, newest first."),
        click.option("--fiscal-years", metavar="YEARS", help="2021-2025, or one year; by the period that is reported on."),
        click.option("--until", type=DAY, help="Filed on or before."),
        click.option("--since", type=DAY, help="Filed on or after."),
        click.option("--amendments", is_flag=True, default=None, help="Take /A filings of these forms too."),
        click.option(
            "--form",
            "forms",
            multiple=True,
            help="10-K (with 10-K405, 10-KSB, 10-KT), 10-Q, 8-K, or one form; 8-K:3 takes the newest three of a filer. May be repeated.",
        ),
        click.option("--cik", "ciks", multiple=True, help="Filer by CIK; may be repeated."),
        click.option("--ticker", "tickers", multiple=True, help="Filer by ticker; may be repeated."),
        click.option("--universe", metavar="NAME|FILE", help="Filers of a list: large, or a file of CIKs or tickers (CSV, or one a line)."),
        click.option("--selection", metavar="NAME|FILE", help="All of these out of a TOML file: default, or yours. Options overrule it."),
    ):
        command = option(command)
    return command


def asking(command: F) -> F:
    """Adds how EDGAR is asked."""
    for option in (
        click.option("--refetch", is_flag=True, help="Ask EDGAR again for what the lake has; changes and disappearances are recorded."),
        click.option(
            "--listing",
            type=click.Choice(["auto", "filers", "full"]),
            default="auto",
            show_default=True,
            help="How EDGAR is asked: auto takes the daily indexes since the last complete day; filers asks for each; full reads full "
            "indexes.",
        ),
    ):
        command = option(command)
    return command


def selected(asked: dict[str, Any]) -> dict[str, Any]:
    """Takes these options out of `asked`: the fields of `flows.request.Request`. Raises UsageError, UnknownName, SettingsError."""
    given = {name: asked.pop(name) for name in NAMES}
    name = given.pop("selection")
    base: dict[str, Any] = {}
    if name:
        from edgarmill.workers.source.edgar.selection import read

        base = read(name)
    if given["fiscal_years"]:
        from edgarmill.workers.source.edgar.selection import parse_years

        given["fiscal_years"] = parse_years(given["fiscal_years"])
    for day in ("since", "until"):
        given[day] = given[day].date() if given[day] else None
    filers = any(given[key] for key in ("universe", "tickers", "ciks"))  # whoever names filers does not mean those of the file
    base = {key: value for key, value in base.items() if not (filers and key in ("universe", "tickers", "ciks"))}
    merged = {**base, **{key: value for key, value in given.items() if value not in (None, (), "")}}
    return {"forms": FORMS, **merged}


def names_filers(asked: dict[str, Any]) -> bool:
    """Whether the options, as typed, say whose filings."""
    return any(asked[key] for key in ("selection", "universe", "tickers", "ciks"))
