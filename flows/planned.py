"""What an evaluation is to do, and what of it the lake holds already: one cell a version and arm. Reads alone, and knows no Prefect.

`standing` gives an evaluation of which all is done: no lock is taken, no server started, no model opened.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from edgarmill.eval import experiments
from edgarmill.eval import questions as question_sets
from edgarmill.eval.cells import Cell
from edgarmill.eval.evaluation import Evaluated, Result, evaluation_id
from edgarmill.eval.experiments import Arm, Experiment
from edgarmill.eval.metrics import judged_questions
from edgarmill.eval.questions.question_set import QuestionSet
from edgarmill.eval.replay import MODES
from edgarmill.eval.resolve import Resolved, stored_rows
from edgarmill.eval.scores import METRICS
from edgarmill.eval.stored import evaluations
from edgarmill.retrieval.versions import by_id, newest, resolve, versions
from edgarmill.schemas.errors import EdgarmillError, LakeNotFound, UnknownName, UsageError
from edgarmill.schemas.records import IndexVersion, Score
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Snapshot

SHOWN_GONE = 3  # versions named that were collected away
RECIPES = "eval/ladders/recipes"
ENDPOINT = "endpoint:"


@dataclass(frozen=True)
class Question:
    """What is asked for: a set, and of which versions by which arms. `experiment` is None where every mode is asked plainly."""

    questions: str
    recipe: str | None = None
    tag: str | None = None
    all_versions: bool = False
    experiment: Experiment | None = None
    arms: tuple[Arm, ...] = ()
    recompute: bool = False
    retry: bool = False


@dataclass(frozen=True)
class Plan:
    """`skipped`: arms and versions that are not there, a line each."""

    asked: Question
    set: QuestionSet
    resolved: Resolved
    cells: tuple[Cell, ...]
    skipped: tuple[str, ...]


def question_of(questions: str, recipe: str | None = None, tag: str | None = None, modes: tuple[str, ...] = MODES,
                experiment: str | None = None, knobs: Mapping[str, Any] | None = None, all_versions: bool = False,
                recompute: bool = False, retry: bool = False) -> Question:
    """From what a command says. Raises UsageError, UnknownName, SettingsError: knobs, the experiment."""
    tried = experiments.load(experiment) if experiment is not None else None
    arms = tried.arms if tried else experiments.by_modes(modes, knobs)
    return Question(questions, recipe, tag, all_versions, tried, arms, recompute, retry)


def standing(asked: Question, snapshot: Snapshot, settings: Settings) -> Evaluated | None:
    """What was asked for as it is stored; None where anything is still to be done. Raises UsageError for questions that cannot be read."""
    questions = question_sets.load(asked.questions)
    if asked.recompute or not snapshot.count("evaluations"):
        return None
    resolved = stored_rows(questions, snapshot)
    if resolved is None:
        return None
    plan = planned(asked, questions, resolved, snapshot, settings)
    wanted = {cell.evaluation_id for cell in plan.cells}
    rows = [row for row in evaluations(snapshot, set_hash=resolved.key) if row.evaluation_id in wanted]
    if not wanted <= held(snapshot, plan) or any(row.metrics != METRICS for row in rows):
        return None
    return evaluated(plan, snapshot)


def planned(asked: Question, questions: QuestionSet, resolved: Resolved, snapshot: Snapshot, settings: Settings) -> Plan:
    """Raises UsageError where no question can be judged, or no arm and version is there."""
    judgeable(questions, resolved)
    skipped = list(asked.experiment.problems) if asked.experiment else []
    cells = tuple(cell for cell in _cells(asked, resolved.key, snapshot, skipped) if _reachable(cell, settings, skipped))
    if not cells:
        first = skipped[0] if skipped else "no index version"
        raise UsageError(f"there is nothing to evaluate ({first})", questions.name, "edgarmill index list shows the versions.")
    return Plan(asked, questions, resolved, cells, tuple(skipped))


def judgeable(questions: QuestionSet, resolved: Resolved) -> None:
    """Raises UsageError where no question can be judged."""
    if not judged_questions(resolved.rows)[0]:
        first = resolved.problems[0] if resolved.problems else "no question has evidence"
        raise UsageError(f"no question can be judged on this lake ({first})", questions.name, "Ingest the filings that it names.")


def held(snapshot: Snapshot, plan: Plan) -> set[str]:
    """Evaluations that need not be made again: whole, and with no failed question where those are to be tried again."""
    rows = {row.evaluation_id: row for row in evaluations(snapshot, set_hash=plan.resolved.key)}
    hits: dict[str, int] = {}
    for name in snapshot.read("rankings", ["evaluation_id"], {"set_hash": [plan.resolved.key]})["evaluation_id"].to_pylist():
        hits[name] = hits.get(name, 0) + 1
    return {name for name, row in rows.items() if hits.get(name, 0) == row.hits and not (plan.asked.retry and row.failed)}


def evaluated(plan: Plan, snapshot: Snapshot, fresh: Collection[str] = (), skipped: tuple[str, ...] | None = None) -> Evaluated:
    """What the lake now holds of what was asked for. `fresh`: evaluations that this run made; `skipped`: in place of the plan's.

    Raises UsageError where that is nothing.
    """
    left_out = plan.skipped if skipped is None else skipped
    wanted = {cell.evaluation_id for cell in plan.cells}
    rows = {row.evaluation_id: row for row in evaluations(snapshot) if row.evaluation_id in wanted}
    scores: dict[str, list[Score]] = {name: [] for name in rows}
    for score in snapshot.records("scores", {"evaluation_id": sorted(rows)}) if rows else ():
        scores[score.evaluation_id].append(score)
    results = tuple(Result(cell.arm, rows[cell.evaluation_id], tuple(scores[cell.evaluation_id]), cell.evaluation_id not in fresh)
                    for cell in plan.cells if cell.evaluation_id in rows)
    if not results:
        raise UsageError(f"nothing could be evaluated ({left_out[0] if left_out else 'no reason given'})", plan.set.name,
                         "The lines above say why.")
    known = {cell.version.version_id: cell.version for cell in plan.cells}
    return Evaluated(plan.set, plan.resolved, results, left_out, plan.asked.experiment, known)


def _cells(asked: Question, key: str, snapshot: Snapshot, skipped: list[str]) -> Iterator[Cell]:
    """One cell a version and arm; arms and versions that are not there are told in `skipped` and left out."""
    seen: dict[str, str] = {}  # evaluation → the arm that asks for it
    every = _every(asked, snapshot, skipped) if asked.all_versions else None
    for arm in asked.arms:
        try:
            found = [v for v in every if not arm.recipe or v.recipe == arm.recipe] if every else [_version(asked, snapshot, arm)]
        except (UnknownName, LakeNotFound) as error:
            if not asked.experiment or not arm.recipe:
                raise
            skipped.append(f"{arm.name}: no index of recipe {arm.recipe} in this lake. {_todo(arm.recipe, error.todo)}")
            continue
        for version in found:
            name = evaluation_id(version.version_id, key, arm.retriever)
            if name not in seen:
                seen[name] = arm.name
                yield Cell(name, version, arm)
            elif asked.experiment and seen[name] != arm.name and (told := f"{arm.name}: the same as {seen[name]}") not in skipped:
                skipped.append(told)
        if not found:
            skipped.append(f"{arm.name}: no index of recipe {arm.recipe} in this lake. {_todo(arm.recipe, '')}".strip())


def _reachable(cell: Cell, settings: Settings, skipped: list[str]) -> bool:
    """Whether the settings have the endpoints that the arm asks, without asking them; else it is told before any model is opened."""
    retriever = cell.arm.retriever
    for model in (retriever.model if retriever.asks_model else "", retriever.reranker):
        if model.startswith(ENDPOINT):
            try:
                settings.endpoint(model.removeprefix(ENDPOINT).partition("/")[0])
            except EdgarmillError as error:
                skipped.append(f"{cell.arm.name} on {cell.version.recipe} {cell.version.tag}: {error}")
                return False
    return True


def _version(asked: Question, snapshot: Snapshot, arm: Arm) -> IndexVersion:
    if arm.recipe and arm.recipe != asked.recipe:
        return resolve(snapshot, arm.recipe)
    return newest(snapshot, asked.recipe, asked.tag)


def _every(asked: Question, snapshot: Snapshot, skipped: list[str]) -> list[IndexVersion]:
    """All versions that can be searched, the oldest first; those that gc removed are told."""
    known = [v for v in versions(snapshot, manifests=False) if v.tag and asked.recipe in (None, v.recipe)]
    gone = [v for v in known if v.state == "removed"]
    if gone:
        more = f" and {len(gone) - SHOWN_GONE} more" if len(gone) > SHOWN_GONE else ""
        skipped.append(f"collected by gc: {', '.join(f'{v.recipe} {v.tag}' for v in gone[:SHOWN_GONE])}{more}")
    found = [by_id(snapshot, v.version_id) for v in reversed(known) if v.state == "verified"]
    if not found:
        raise LakeNotFound("no index version can be searched", snapshot.root, "Run edgarmill ingest.")
    return found


def _todo(recipe: str, otherwise: str) -> str:
    """How to make an index of a shipped ladder's recipe."""
    from importlib import resources

    file = resources.files("edgarmill") / "eval" / "ladders" / "recipes" / f"{recipe}.toml"
    if not file.is_file():
        return otherwise
    short = f"{RECIPES}/{recipe}.toml"  # in a checkout
    return f"edgarmill ingest --recipe {short if os.path.isfile(short) else file} makes one."
