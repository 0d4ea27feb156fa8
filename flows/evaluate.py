"""Flow `evaluate`: resolve the gold on the lake's texts, ask the questions of every index version by every retriever, score, commit.

One evaluation is one version and one retriever, and is committed whole or not at all. What the lake holds already (same version, questions,
texts and retriever) is read back; nothing is searched again, so a run that was killed goes on where it was. Scores that follow older
definitions are computed anew from the stored rankings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prefect import flow

from edgarmill.eval import experiments
from edgarmill.eval import questions as question_sets
from edgarmill.eval.cells import Cell, Done, Grid
from edgarmill.eval.evaluation import Evaluated, Result, evaluation_id, places_of, rescored
from edgarmill.eval.experiments import Arm, Experiment
from edgarmill.eval.metrics import judged_questions
from edgarmill.eval.replay import MODES, Vector, embedded
from edgarmill.eval.resolve import resolved_rows
from edgarmill.eval.scores import METRICS
from edgarmill.eval.stored import evaluations, stored
from edgarmill.flows.engine import step
from edgarmill.flows.grid import finished
from edgarmill.flows.progress import note, report
from edgarmill.flows.request import new_run_id
from edgarmill.retrieval.query import embedder_of, model_of
from edgarmill.retrieval.versions import by_id, newest, resolve, versions
from edgarmill.schemas import settings as all_settings
from edgarmill.schemas.errors import EdgarmillError, LakeNotFound, StorageError, UnknownName, UsageError
from edgarmill.schemas.records import IndexVersion, Score
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Drop, Lake, Snapshot, Writer, write_part

SHOWN_GONE = 3  # versions named that were collected away
RECIPES = "eval/ladders/recipes"


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


@flow(name="evaluate", validate_parameters=False, persist_result=False)
def evaluate(
    lake: str,
    questions: str,
    recipe: str | None = None,
    tag: str | None = None,
    modes: tuple[str, ...] = MODES,
    experiment: str | None = None,
    knobs: Mapping[str, Any] | None = None,
    all_versions: bool = False,
    recompute: bool = False,
    retry: bool = False,
    overrides: dict[str, Any] | None = None,
    config: str | None = None,
) -> Evaluated:
    """Evaluates. Raises UsageError (questions, recipe, tag, experiment, nothing to evaluate), LakeLocked while another run writes."""
    settings, _ = all_settings.load({**(overrides or {}), "lake": lake}, config)
    tried = experiments.load(experiment) if experiment else None
    arms = tried.arms if tried else experiments.by_modes(modes, knobs)
    asked = Question(questions, recipe, tag, all_versions, tried, arms, recompute, retry)
    opened, run_id = Lake.open(settings.lake), new_run_id()
    with opened.writer(run_id, f"evaluate {Path(questions).name}") as writer:
        job = Evaluation(asked, settings, opened, writer, run_id)
        step("resolve", job.resolve)
        step("replay", job.replay)
        step("score", job.score)
    return job.evaluated()


class Evaluation:
    """One run of the flow. Each step commits what it finished."""

    def __init__(self, asked: Question, settings: Settings, lake: Lake, writer: Writer, run_id: str) -> None:
        self.asked, self.settings, self.lake, self.writer, self.run_id = asked, settings, lake, writer, run_id
        self.set = question_sets.load(asked.questions)
        self.skipped = list(asked.experiment.problems) if asked.experiment else []
        self.cells: list[Cell] = []
        self.fresh: set[str] = set()

    def resolve(self) -> None:
        """The set's gold as ranges of the lake's texts, kept in the lake; and what is to be evaluated."""
        snapshot = self.lake.snapshot()
        self.resolved = resolved_rows(self.set, snapshot)
        if not judged_questions(self.resolved.rows)[0]:
            first = self.resolved.problems[0] if self.resolved.problems else "no question has evidence"
            raise UsageError(f"no question can be judged on this lake ({first})", self.set.name, "Ingest the filings that it names.")
        self.cells = list(self._plan(snapshot))
        if not self.cells:
            first = self.skipped[0] if self.skipped else "no index version"
            raise UsageError(f"there is nothing to evaluate ({first})", self.set.name, "edgarmill index list shows the versions.")
        if not self.resolved.stored:
            part = write_part(self.lake.root, "question_sets", self.run_id, list(self.resolved.rows), self.run_id)
            self.writer.commit([part], key=f"questions:{self.resolved.key}", message=f"questions of {self.set.name}")

    def replay(self) -> None:
        """Asks every question of what is not in the lake yet, and commits each evaluation as it is finished."""
        self.whole = self._known()
        todo = [cell for cell in self.cells if cell.evaluation_id not in self.whole]
        if not todo:
            return
        vectors = self._vectors(todo)
        todo = [cell for cell in todo if self._ready(cell)]
        grid = Grid(self.lake.root, self.settings, tuple(self.resolved.rows), self.resolved.key, self.set.name, self.set.set_hash,
                    self.asked.experiment.name if self.asked.experiment else None, self.run_id, vectors)
        asked = len(todo) * len(self.set.questions)
        note(f"evaluating {self.set.name}: {len(todo)} evaluations of {len(self.set.questions):,} questions")
        done = 0

        def count(questions: int) -> None:
            nonlocal done
            done += questions
            report("evaluate", done, asked)

        for ended in finished(grid, todo, count):
            self._take(ended)

    def _ready(self, cell: Cell) -> bool:
        return cell.evaluation_id not in {one.evaluation_id for one in self._lost}

    def _take(self, ended: Done) -> None:
        cell = ended.cell
        if ended.why:
            self._skip(cell, ended.why)
            return
        drops = [Drop(table, "evaluation_id", frozenset({cell.evaluation_id})) for table in ("evaluations", "rankings", "asked", "scores")]
        self.writer.commit(ended.parts, key=f"evaluation:{cell.evaluation_id}:{self.run_id}", drop=drops,
                           message=f"evaluated {cell.version.recipe} {cell.version.tag}, {cell.arm.name}")
        self.fresh.add(cell.evaluation_id)
        if ended.told:
            note(f"{cell.arm.name} on {cell.version.recipe} {cell.version.tag}: {ended.told}")

    def score(self) -> None:
        """Computes scores anew that follow older definitions, or all where that was asked for; then tidies the lake's small files."""
        snapshot = self.lake.snapshot()
        wanted = {cell.evaluation_id for cell in self.cells} & self.whole
        old = [row for row in evaluations(snapshot) if row.evaluation_id in wanted and (row.metrics != METRICS or self.asked.recompute)]
        places = places_of(snapshot, self.resolved.rows) if old else {}
        for number, row in enumerate(old, 1):
            anew = rescored(stored(snapshot, row.evaluation_id), places)
            tables: dict[str, list[Any]] = {"scores": anew, "evaluations": [replace(row, metrics=METRICS)]}
            parts = [write_part(self.lake.root, name, self.run_id, list(rows), self.run_id) for name, rows in tables.items()]
            drops = [Drop(name, "evaluation_id", frozenset({row.evaluation_id})) for name in tables]
            self.writer.commit(parts, key=f"scores:{row.evaluation_id}:{self.run_id}", drop=drops, message="scores computed anew")
            report("score", number, len(old))
        self.writer.compact()
        self.writer.vacuum()

    def evaluated(self) -> Evaluated:
        """What the lake now holds of what was asked for."""
        snapshot = self.lake.snapshot()
        wanted = {cell.evaluation_id for cell in self.cells}
        rows = {row.evaluation_id: row for row in evaluations(snapshot) if row.evaluation_id in wanted}
        scores: dict[str, list[Score]] = {name: [] for name in rows}
        for score in snapshot.records("scores", {"evaluation_id": sorted(rows)}) if rows else ():
            scores[score.evaluation_id].append(score)
        results = tuple(Result(cell.arm, rows[cell.evaluation_id], tuple(scores[cell.evaluation_id]), cell.evaluation_id not in self.fresh)
                        for cell in self.cells if cell.evaluation_id in rows)
        if not results:
            raise UsageError(f"nothing could be evaluated ({self.skipped[0] if self.skipped else 'no reason given'})", self.set.name,
                             "The lines above say why.")
        known = {cell.version.version_id: cell.version for cell in self.cells}
        return Evaluated(self.set, self.resolved, results, tuple(self.skipped), self.asked.experiment, known)

    # what is to be done

    def _plan(self, snapshot: Snapshot) -> Iterator[Cell]:
        """One cell a version and arm; arms and versions that are not there are told and left out."""
        seen: set[str] = set()
        every = self._every(snapshot) if self.asked.all_versions else None
        for arm in self.asked.arms:
            try:
                found = [v for v in every if not arm.recipe or v.recipe == arm.recipe] if every else [self._version(snapshot, arm)]
            except (UnknownName, LakeNotFound) as error:
                if not self.asked.experiment or not arm.recipe:
                    raise
                todo = f"edgarmill ingest --recipe {RECIPES}/{arm.recipe}.toml makes one." if _ships(arm.recipe) else error.todo
                self.skipped.append(f"{arm.name}: no index of recipe {arm.recipe} in this lake. {todo}")
                continue
            for version in found:
                name = evaluation_id(version.version_id, self.resolved.key, arm.retriever)
                if name not in seen:
                    seen.add(name)
                    yield Cell(name, version, arm)
            if not found:
                self.skipped.append(f"{arm.name}: no index of recipe {arm.recipe} in this lake")

    def _version(self, snapshot: Snapshot, arm: Arm) -> IndexVersion:
        if arm.recipe and arm.recipe != self.asked.recipe:
            return resolve(snapshot, arm.recipe)
        return newest(snapshot, self.asked.recipe, self.asked.tag)

    def _every(self, snapshot: Snapshot) -> list[IndexVersion]:
        """All versions that can be searched, the oldest first; those that gc removed are told."""
        known = [v for v in versions(snapshot, manifests=False) if v.tag and self.asked.recipe in (None, v.recipe)]
        gone = [v for v in known if v.state == "removed"]
        if gone:
            more = f" and {len(gone) - SHOWN_GONE} more" if len(gone) > SHOWN_GONE else ""
            self.skipped.append(f"collected by gc: {', '.join(f'{v.recipe} {v.tag}' for v in gone[:SHOWN_GONE])}{more}")
        found = [by_id(snapshot, v.version_id) for v in reversed(known) if v.state == "verified"]
        if not found:
            raise LakeNotFound("no index version can be searched", snapshot.root, "Run edgarmill ingest.")
        return found

    def _known(self) -> set[str]:
        """Evaluations that need not be made again: whole, and with no failed question where those are to be tried again."""
        snapshot = self.lake.snapshot()
        rows = {row.evaluation_id: row for row in evaluations(snapshot, set_hash=self.resolved.key)}
        held: dict[str, int] = {}
        for name in snapshot.read("rankings", ["evaluation_id"], {"set_hash": [self.resolved.key]})["evaluation_id"].to_pylist():
            held[name] = held.get(name, 0) + 1
        return {name for name, row in rows.items() if held.get(name, 0) == row.hits and not (self.asked.retry and row.failed)}

    def _vectors(self, todo: Sequence[Cell]) -> dict[str, dict[str, Vector]]:
        """By model hash: every question's vector, embedded once for all versions and arms. A model at an endpoint is asked as a question is
        read, and keeps its answers itself. Versions whose model is not at hand, or has other weights, are told and lost."""
        found: dict[str, dict[str, Vector]] = {}
        self._lost: list[Cell] = []
        why: dict[str, str] = {}
        texts = [q.question for q in self.set.questions]
        for cell in todo:
            version = cell.version
            if cell.arm.retriever.mode == "keyword" or version.model_hash in found or version.model.startswith("endpoint:"):
                continue
            if version.model_hash not in why:
                try:
                    found[version.model_hash] = self._embedded(version, texts)
                    continue
                except StorageError:
                    raise
                except EdgarmillError as error:
                    why[version.model_hash] = str(error)
            self._lost.append(cell)
            self._skip(cell, why[version.model_hash])
        return found

    def _embedded(self, version: IndexVersion, texts: Sequence[str]) -> dict[str, Vector]:
        model = model_of(version, self.settings)
        if model.model_hash != version.model_hash:
            raise UsageError(f"the index was made with other weights of {version.model} ({version.model_hash[:12]}) than those at hand "
                             f"({model.model_hash[:12]})", "", "Use those, or build an index with these.")
        done = 0

        def count() -> None:
            nonlocal done
            done += 1
            report("embed", done, len(texts))

        return embedded(texts, embedder_of(model, self.settings, self.lake), count)

    def _skip(self, cell: Cell, why: str) -> None:
        self.skipped.append(f"{cell.arm.name} on {cell.version.recipe} {cell.version.tag}: {' '.join(why.split())[:300]}")


def _ships(recipe: str) -> bool:
    from importlib import resources

    return (resources.files("edgarmill") / "eval" / "ladders" / "recipes" / f"{recipe}.toml").is_file()
