"""sample write: fictional filings in true EDGAR form."""

from __future__ import annotations

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.terminal import show_json, size


@click.group()
@shared
def command() -> None:
    """Filings of fictional companies in EDGAR's form, with the questions that follow from them."""


@command.command()
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--filings", type=click.IntRange(min=1), default=36, show_default=True, help="How many to write.")
@click.option("--seed", type=int, default=7, show_default=True, help="The same seed writes the same bytes.")
@click.option("--per-company", type=click.IntRange(min=1), default=6, show_default=True, help="Filings of one company.")
@click.option("--weight", type=click.IntRange(min=1), default=1, show_default=True, help="Lengthens annual reports, 17 KB a step.")
@shared
@pass_given
def write(given: Given, folder: str, filings: int, seed: int, per_company: int, weight: int) -> None:
    """Write a sample corpus into FOLDER: submissions, ticker file, questions."""
    from edgarmill.sample.corpus import write_corpus

    made = write_corpus(folder, filings, seed, per_company=per_company, weight=weight)
    if given.json:
        return show_json(made)
    print(f"{made.filings:,} filings of {len(made.ciks):,} companies ({size(made.bytes)}) in {folder}; questions: {made.questions_file}")
    print(f"edgarmill replay {folder} serves them as EDGAR would.")
