"""Flow `answer`: a question set answered in one way from one index version, judged where a judge is named, block by block.

What the lake holds of it already is read back: the second time nobody is asked.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from prefect import flow

from edgarmill.eval import questions as question_sets
from edgarmill.eval.answering.answer import DEFAULT
from edgarmill.eval.answering.desk import Options
from edgarmill.eval.answering.run import Answers, answer_all, stored
from edgarmill.eval.judging.figures import Figures, figures
from edgarmill.eval.judging.judgements import cases, judge_all
from edgarmill.flows.engine import step
from edgarmill.flows.progress import go_on, heeded, note, report
from edgarmill.flows.request import new_run_id
from edgarmill.retrieval.retrieve import open_reader
from edgarmill.retrieval.retriever import Retriever
from edgarmill.retrieval.versions import newest
from edgarmill.schemas import settings as all_settings
from edgarmill.schemas.errors import UsageError
from edgarmill.schemas.records import AnswerRow, IndexVersion
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake, Writer


@dataclass(frozen=True)
class Answered:
    """`fresh`: questions that were asked now; the others were answered before."""

    version: IndexVersion
    answers: Answers
    figures: Figures
    problems: tuple[str, ...]


@flow(name="answer", validate_parameters=False, persist_result=False)
def answer_set(lake: str, questions: str, model: str, kind: str = "plain", retriever: Retriever = DEFAULT, options: Options | None = None,
               judge: str = "", against: str = "", limit: int | None = None, recipe: str | None = None, tag: str | None = None,
               overrides: dict[str, Any] | None = None, config: str | None = None) -> Answered:
    """`model` and `judge`: endpoint:NAME/MODEL; `against`: id of other answers of the set, or its beginning; `limit`: the first so many
    questions. Raises UsageError, UnknownName, SettingsError, LakeLocked while another run writes, ModelRefused."""
    if against and not judge:
        raise UsageError("two sets of answers are compared by a judge", against[:40], "Name one with --judge endpoint:NAME/MODEL.")
    settings, _ = all_settings.load({**(overrides or {}), "lake": lake}, config)
    opened = Lake.open(settings.lake)
    asked = question_sets.load(questions)
    version = newest(opened.snapshot(), recipe, tag)
    others = stored(opened.snapshot(), against) if against else []
    reader = open_reader(opened, version, settings, (retriever.mode,))
    found: list[Answers] = []
    figured: list[Figures] = []
    run_id = new_run_id()
    with heeded(), opened.writer(run_id, f"answer {asked.name}") as writer:
        note(f"answering {asked.name} on {version.recipe} {version.tag}: {len(asked.questions)} questions, {kind}")
        step("answer", lambda: found.append(answer_all(
            opened, writer, asked, reader, kind, model, settings, retriever=retriever, options=options or Options(),
            limit=limit, budget=_budget(opened, settings, run_id), progress=_counting("answer"))))
        step("judge", lambda: figured.append(_judged(opened, writer, found[0].rows, others, judge, settings, run_id)))
    return Answered(version, found[0], figured[0], asked.problems)


def _judged(lake: Lake, writer: Writer, rows: tuple[AnswerRow, ...], others: list[AnswerRow], judge: str, settings: Settings,
            run_id: str) -> Figures:
    """Without a judge, claims alone, by their numbers."""
    todo = cases(lake.snapshot(), rows, others if judge else [], ("gold", "claims") if judge else ("claims",))
    return figures(rows, judge_all(lake, writer, todo, judge, settings, budget=_budget(lake, settings, run_id),
                                   progress=_counting("judge")))


def _budget(lake: Lake, settings: Settings, run_id: str) -> Any:
    """Of the run, which answers and judgements share; None where the settings name none."""
    from edgarmill.workers.models.purse import Budget

    if settings.budget_dollars is None:
        return None
    return Budget(os.path.join(lake.folder("calls"), f"budget-{run_id}"), settings.budget_dollars)


def _counting(stage: str) -> Callable[[int, int], None]:
    def count(done: int, total: int) -> None:
        report(stage, done, total)
        go_on()

    return count

