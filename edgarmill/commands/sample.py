"""sample write: fictional filings in true EDGAR form."""

from __future__ import annotations

import click

from edgarmill.options import Given, pass_given, shared


@click.group()
@shared
def command() -> None:
    """Filings of fictional companies in EDGAR's form, with the questions that follow from them."""


@command.command()
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--filings", type=click.IntRange(min=1), default=24, show_default=True, help="How many to write.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed writes the same bytes.")
@shared
@pass_given
def write(given: Given, folder: str, filings: int, seed: int) -> None:
    """Write a sample corpus into FOLDER."""
    from edgarmill.sample.corpus import write_corpus

    write_corpus(folder, filings, seed)
    print(f"{filings:,} filings are in {folder}; edgarmill replay {folder} serves them as EDGAR would.")
