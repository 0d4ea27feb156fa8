"""costs: what a filing cost, beside the paper's tables."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from typing import Any

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.terminal import Column, columns, dollars, seconds, show, show_json

MEANS = columns(
    "filings",
    "chunks",
    "input_tokens:tokens in",
    "output_tokens:tokens out",
    Column("seconds", "time", seconds),
    Column("cpu_seconds", "CPU", seconds),
    Column("dollars", "cost", dollars, "unpriced"),
)
BY_FORM = columns("recipe", "form", *MEANS)
BY_STAGE = columns("recipe", "stage", *(c for c in MEANS if c.key != "chunks"))
BY_INDEX = columns("subject:index", "stage", "runs:times", *MEANS[-3:])
PAPER = columns(
    "table",
    "content",
    "scope",
    "form",
    "model",
    "input_tokens:tokens in",
    "output_tokens:tokens out",
    "total_tokens:tokens",
    Column("dollars", "cost", dollars, "not at hand"),
    Column("recomputed", "recomputed", dollars),
    "verdict:audit",
)
PAPER_PRICES = columns("model", Column("form", "form", str, "all"), "input:USD/million in", "output:USD/million out", "note:what we found")


@click.command()
@shared
@pass_given
def command(given: Given) -> None:
    """What a filing cost on average, by form and stage, beside Tables 1-3 of the paper.

    A figure that was not measured shows as -, a cost without a price as unpriced. Set cpu_dollars_per_hour and gpu_dollars_per_hour
    to price local work. Reused results are left out: averages take the run that first paid.
    """
    show_costs(given)


def show_costs(given: Given) -> None:
    """Prints the costs of the lake as tables, or as JSON."""
    from edgarmill.retrieval.costs import costs

    found = costs(given.snapshot())
    if given.json:
        return show_json(asdict(found))
    if not found.by_form:
        print("No filing was worked on yet: edgarmill ingest makes the first costs.")
    _section("Per filing, by recipe and form", found.by_form, BY_FORM)
    _section("Per filing, by stage", found.by_stage, BY_STAGE)
    _section("Per index, in all", found.by_index, BY_INDEX)
    if found.by_form:
        spent = found.spent
        price = dollars(spent["dollars"]) if spent["dollars"] is not None else "unpriced"
        print(f"All runs together: {seconds(spent['seconds'] or 0)} of stages, {seconds(spent['cpu_seconds'] or 0)} of CPU, {price}.")
        if spent["dollars"] is None:
            print("Unpriced: some work had no price when it was done. --set cpu_dollars_per_hour=0.04 prices what is done from then on.")
        print()
    at_hand = [cell for cell in found.paper if cell["dollars"] is not None or cell["total_tokens"] is not None]
    _section("The paper (arXiv 2511.18177), Tables 1-3", at_hand, PAPER)
    _section("The prices behind its dollars", [{**row, "form": row["form"] or None} for row in found.paper_prices], PAPER_PRICES)
    if len(at_hand) < len(found.paper):
        print(f"{len(found.paper) - len(at_hand)} further cells of its tables are not at hand; --json lists them, and each audit in words.")
    print(textwrap.fill(found.note, 110))


def _section(title: str, rows: list[dict[str, Any]], layout: tuple[Column, ...]) -> None:
    if rows:
        print(title)
        show(rows, layout)
        print()
