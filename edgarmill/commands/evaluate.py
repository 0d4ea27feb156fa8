"""evaluate: a question set against index versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from edgarmill.options import Given, pass_given, setting, shared
from edgarmill.terminal import Progress, clean, complain, show_json

if TYPE_CHECKING:
    from edgarmill.eval.evaluation import Evaluated

NARROWEST, WIDEST = 80, 120  # columns; what is piped gets the first


@click.command()
@click.argument("questions", type=click.Path())
@click.option("--recipe", help="Whose index (default: the newest version's).")
@click.option("--tag", help="Which version (default: the newest verified one).")
@click.option("--all-versions", is_flag=True, help="Every version of every recipe (with --recipe: of that one).")
@click.option("--mode", "modes", multiple=True, type=click.Choice(["vector", "keyword", "hybrid"]), help="Default: all three.")
@click.option("--with", "knobs", multiple=True, metavar="KNOB=VALUE", help="Another setting of the retriever, as k=20; may be repeated.")
@click.option("--experiment", metavar="NAME", help="reranking, small-to-big, chunking, chunk-size, one-knob, or a TOML file of arms.")
@click.option("--recompute", is_flag=True, help="Compute the metrics again from the stored rankings; nothing is searched.")
@click.option("--retry", is_flag=True, help="Ask again where questions failed.")
@click.option("--export", "folder", metavar="DIR", type=click.Path(file_okay=False),
              help="Also write what was evaluated into a new folder, for other tools: TREC runs and qrels, BEIR corpus and queries.")
@click.option("--all", "whole", is_flag=True, help="Show every metric, slices and published figures, not only what decides.")
@setting("--engine", "engine", "auto, loop or ray.", type=click.Choice(["auto", "loop", "ray"]))
@setting("--device", "device", "auto, cpu, cuda, mps.")
@shared
@pass_given
def command(given: Given, questions: str, recipe: str | None, tag: str | None, all_versions: bool, modes: tuple[str, ...],
            knobs: tuple[str, ...], experiment: str | None, recompute: bool, retry: bool,
            folder: str | None, whole: bool) -> int:
    """Replay a question set (a file or a folder) on index versions, and show what each finds, how sure that is, and what it takes.

    What was evaluated before is read back. An experiment compares arms that differ in one knob, beside published figures.
    """
    from edgarmill.eval.export import check_new
    from edgarmill.flows.local import evaluate_once

    if folder is not None:
        check_new(folder)
    if experiment is not None and (modes or knobs):
        raise click.UsageError("an experiment sets the knobs itself: leave out --mode and --with.")
    if all_versions and tag:
        raise click.UsageError("--all-versions and --tag exclude each other.")
    settings = given.settings()
    chosen = tuple(dict.fromkeys(modes)) or ("vector", "keyword", "hybrid")
    result = evaluate_once(settings, Progress(), complain, lake=settings.lake, questions=questions, recipe=recipe, tag=tag, modes=chosen,
                           experiment=experiment, knobs=_values(knobs), all_versions=all_versions, recompute=recompute, retry=retry,
                           overrides=given.overrides, config=given.config)
    shown(given, result, whole)
    if folder is not None:
        exported(given, result, folder)
    return 0


def exported(given: Given, result: Evaluated, folder: str) -> None:
    """Writes each evaluation in a folder of its own."""
    from edgarmill.eval.export import export_each
    from edgarmill.eval.stored import stored

    snapshot = given.snapshot()
    found = [stored(snapshot, one.evaluation.evaluation_id) for one in result.results]
    names = export_each(snapshot, found, folder)
    if not given.json:
        print(f"{clean(folder)}: {', '.join(map(clean, names))}")


def _values(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Knobs as typed: numbers, true and false (True too) as such, all else as text."""
    import tomllib

    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, word = pair.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"say knob=value, not {pair!r}.")
        flag = word.strip().lower()
        try:
            found[name.strip()] = flag == "true" if flag in ("true", "false") else tomllib.loads(f"value = {word}")["value"]
        except (tomllib.TOMLDecodeError, RecursionError):
            found[name.strip()] = word
        except ValueError:
            raise click.BadParameter(f"{name[:40]} is a number of too many digits.") from None
    return found


def shown(given: Given, result: Evaluated, whole: bool = False) -> None:
    """Prints the evaluations as one table of what decides, as all tables, or as JSON."""
    from edgarmill.eval.report import as_json, as_short, as_table

    if given.json:
        show_json(as_json(result))
        return
    import shutil

    from rich.console import Console
    from rich.text import Text

    width = max(NARROWEST, min(shutil.get_terminal_size((NARROWEST, 24)).columns, WIDEST))
    console = Console(highlight=False, emoji=False, markup=False, width=width)
    for part in (as_table if whole else as_short)(result, width).renderables:
        console.print(part, soft_wrap=isinstance(part, Text) and not console.is_terminal)  # what is piped has a line a line
