"""demo: everything once, on bundled filings."""

from __future__ import annotations

import shlex
import shutil
import sys
from typing import TYPE_CHECKING

import click

from edgarmill.commands.costs import show_costs
from edgarmill.commands.evaluate import shown
from edgarmill.commands.ingest import line_of
from edgarmill.options import Given, pass_given, setting, shared, typed
from edgarmill.terminal import Progress, complain

if TYPE_CHECKING:
    from edgarmill.flows.demo import Demo


@click.command()
@click.option("--filings", type=click.IntRange(24, 100_000), default=36, show_default=True, help="How many fictional filings.")
@setting("--engine", "engine", "auto, loop or ray.", type=click.Choice(["auto", "loop", "ray"]))
@shared
@pass_given
def command(given: Given, filings: int) -> int:
    """Write fictional filings, serve them as EDGAR, ingest, evaluate, show costs; offline."""
    from edgarmill.flows.local import prefect_running

    settings = given.settings()
    with prefect_running(settings, Progress(), complain):
        from edgarmill.flows.demo import demo

        made = demo(settings, filings, given.overrides, typed(sys.argv[1:]))
    _tell(given, made, settings.lake)
    return made.run.exit_code


def _tell(given: Given, made: Demo, lake: str) -> None:
    print(f"\n{made.corpus.filings} filings of {len(made.corpus.ciks)} fictional companies, downloaded from a local EDGAR")
    print(line_of(made.run))
    print()
    if given.json:
        shown(given, made.evaluated)
    else:
        from rich.console import Console

        from edgarmill.eval.report import as_brief

        Console(highlight=False, emoji=False, markup=False, width=80).print(as_brief(made.evaluated))
    print()
    show_costs(given)
    program = "edgarmill" if shutil.which("edgarmill") else sys.argv[0]  # as typed: `make demo` does not put .venv on the path
    on = f"{shlex.quote(program)} --lake {shlex.quote(lake)}"
    print(f"""
Try next (this lake stays in {lake}):
  {on} search {shlex.quote(made.question)} --ticker {made.ticker}
  {on} why {made.accession}
  {on} sql "select form, count(*) as filings from filings group by form"
  {on} index list
  {on} ingest --path FOLDER --recipe default     your own filings into the same lake""")
