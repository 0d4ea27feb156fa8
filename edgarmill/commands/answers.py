"""answers: a question set answered and judged."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from edgarmill.commands.answer import answering, endpoint_named, retriever_from
from edgarmill.options import Given, pass_given, shared
from edgarmill.terminal import Progress, complain, show_json

if TYPE_CHECKING:
    from edgarmill.flows.answer import Answered

SHOWN = 10  # questions that failed, and what is wrong with a set, named one by one


@click.command()
@click.argument("questions", type=click.Path())
@answering
@click.option("--judge", default="", metavar="endpoint:NAME[/MODEL]", help="Who judges the answers: against gold, and their claims.")
@click.option("--against", default="", metavar="ID", help="Other answers of the same questions, to be compared with by the judge.")
@click.option("--limit", type=click.IntRange(min=1), help="The first so many questions.")
@shared
@pass_given
def command(given: Given, questions: str, model: str, kind: str, turns: int, judge: str, **asked: Any) -> int:
    """Answer a question set, and say what the answers are worth: figures, claims, judgements, time, tokens, dollars.

    \b
    Examples:
      edgarmill answers questions.jsonl --model endpoint:house
      edgarmill answers questions.jsonl --model endpoint:house --kind tree --judge endpoint:house/gpt-4.1 --against 1f3a

    Without --judge: figures, names, and claims by their numbers. The budget of the settings holds for the run. Run again it goes on, or
    does nothing. What a judge says is advisory. Exit code 3: some answers, or judgements that were asked for, are missing.
    """
    from edgarmill.eval import questions as question_sets
    from edgarmill.eval.answering.desk import Options
    from edgarmill.eval.answers import answerer
    from edgarmill.flows.local import prefect_running
    from edgarmill.retrieval.versions import newest

    settings, retriever = given.settings(), retriever_from(asked)
    answerer(kind)
    for name in filter(None, (model, judge)):  # what is misspelled ends here, before anything is started
        settings.endpoint(*endpoint_named(name).removeprefix("endpoint:").partition("/")[::2])
    newest(given.snapshot(), asked["recipe"], asked["tag"])
    question_sets.load(questions)
    with prefect_running(settings, Progress(), complain):
        from edgarmill.flows.answer import answer_set

        result = answer_set(settings.lake, questions, model, kind, retriever, Options(turns=turns), judge, asked["against"], asked["limit"],
                            asked["recipe"], asked["tag"], given.overrides, given.config)
    _show(given, result)
    missing = result.figures.unmeasured or (result.figures.pairs and result.figures.pairs.unmeasured)
    return 3 if result.figures.errors or missing else 0


def _show(given: Given, result: Answered) -> None:
    version, found = result.version, result.figures
    if given.json:
        show_json({"recipe": version.recipe, "tag": version.tag, "fresh": result.answers.fresh, **asdict(found),
                   "problems": list(result.problems)})
        return
    from edgarmill.eval.judging.report import as_lines
    from edgarmill.terminal import clean

    print(f"Index {version.recipe} {version.tag}; {result.answers.fresh} of {len(result.answers.rows)} questions answered now")
    print("\n".join(clean(line) if not line.startswith(" ") else "  " + clean(line) for line in as_lines(found)))
    failed = [row for row in result.answers.rows if row.error]
    for row in failed[:SHOWN]:
        print(f"failed {clean(row.question_id)}: {row.error}{f' ({clean(row.why)})' if row.why else ''}")
    if len(failed) > SHOWN:
        print(f"and {len(failed) - SHOWN} more: edgarmill sql \"select question_id, error, why from answers where error is not null\"")
    for problem in result.problems[:SHOWN]:
        print(f"left out: {clean(problem)}")
