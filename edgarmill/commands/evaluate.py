"""evaluate: a question set against an index version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from edgarmill.options import Given, pass_given, setting, shared
from edgarmill.terminal import Progress, complain, show_json

if TYPE_CHECKING:
    from edgarmill.flows.evaluate import Evaluated


@click.command()
@click.argument("questions", type=click.Path())
@click.option("--recipe", help="Whose index (default: the newest version's).")
@click.option("--tag", help="Which version (default: the newest verified one).")
@click.option("--mode", "modes", multiple=True, type=click.Choice(["vector", "keyword", "hybrid"]), help="Default: all three.")
@setting("--device", "device", "auto, cpu, cuda, mps.")
@shared
@pass_given
def command(given: Given, questions: str, recipe: str | None, tag: str | None, modes: tuple[str, ...]) -> int:
    """Replay a question set (a JSONL file or a folder of them): MRR@5, Recall@5, hit@5, nDCG@10 and latency by mode."""
    from edgarmill.flows.local import evaluate_once

    settings = given.settings()
    chosen = tuple(dict.fromkeys(modes)) or ("vector", "keyword", "hybrid")
    result = evaluate_once(settings, Progress(), complain, lake=settings.lake, questions=questions, recipe=recipe, tag=tag, modes=chosen,
                           overrides=given.overrides, config=given.config)
    shown(given, result)
    return 0


def shown(given: Given, result: Evaluated) -> None:
    """Prints the evaluation as a table, or as JSON."""
    from edgarmill.eval.report import as_json, as_table

    version = result.version
    if given.json:
        show_json({"recipe": version.recipe, "tag": version.tag, "stored": result.stored, **as_json(result.evaluation)})
        return
    from rich.console import Console

    again = " (as stored: nothing was searched again)" if result.stored else ""
    print(f"Index {version.recipe} {version.tag}: {version.filings:,} filings, {version.chunks:,} chunks{again}")
    Console(highlight=False).print(as_table(result.evaluation))
