"""One run of flow `evaluate`, step by step: resolve the gold on the lake's texts, ask the questions of every index version by every
retriever, score, commit. Knows nothing of Prefect.

One evaluation is one version and one retriever, and is committed whole or not at all. What the lake holds already (same version, questions,
texts and retriever) is read back; nothing is searched again, so a run that was killed goes on where it was. Scores that follow older
definitions are computed anew from the stored rankings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from edgarmill.eval import questions as question_sets
from edgarmill.eval.cells import Cell, Done, Grid
from edgarmill.eval.evaluation import Evaluated, places_of, rescored
from edgarmill.eval.replay import Vector, embedded
from edgarmill.eval.resolve import resolved_rows
from edgarmill.eval.scores import METRICS
from edgarmill.eval.stored import evaluations, stored
from edgarmill.flows.grid import finished
from edgarmill.flows.planned import Question, evaluated, held, planned
from edgarmill.flows.progress import go_on, note, report
from edgarmill.retrieval.query import embedder_of, model_of
from edgarmill.schemas.errors import EdgarmillError, StorageError, UsageError
from edgarmill.schemas.records import IndexVersion
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Drop, Lake, Writer, write_part


class Evaluation:
    """One run of the flow. Each step commits what it finished."""

    def __init__(self, asked: Question, settings: Settings, lake: Lake, writer: Writer, run_id: str) -> None:
        self.asked, self.settings, self.lake, self.writer, self.run_id = asked, settings, lake, writer, run_id
        self.set = question_sets.load(asked.questions)
        self.skipped: list[str] = []
        self.fresh: set[str] = set()

    def resolve(self) -> None:
        """The set's gold as ranges of the lake's texts, kept in the lake; and what is to be evaluated."""
        snapshot = self.lake.snapshot()
        self.resolved = resolved_rows(self.set, snapshot)
        self.plan = planned(self.asked, self.set, self.resolved, snapshot, self.settings)
        self.skipped += self.plan.skipped
        if not self.resolved.stored:
            part = write_part(self.lake.root, "question_sets", self.run_id, list(self.resolved.rows), self.run_id)
            self.writer.commit([part], key=f"questions:{self.resolved.key}", message=f"questions of {self.set.name}")

    def replay(self) -> None:
        """Asks every question of what is not in the lake yet, and commits each evaluation as it is finished."""
        self.whole = held(self.lake.snapshot(), self.plan)
        todo = [cell for cell in self.plan.cells if cell.evaluation_id not in self.whole]
        if not todo:
            return
        vectors = self._vectors(todo)
        todo = [cell for cell in todo if self._ready(cell)]
        if not todo:
            return
        grid = Grid(self.lake.root, self.settings, tuple(self.resolved.rows), self.resolved.key, self.set.name, self.set.set_hash,
                    self.asked.experiment.name if self.asked.experiment else None, self.run_id, vectors)
        asked = len(todo) * len(self.set.questions)
        note(f"evaluating {self.set.name}: evaluations to be made: {len(todo):,} of {len(self.plan.cells):,}; "
             f"questions: {len(self.set.questions):,}")
        done = 0

        def count(questions: int) -> None:
            nonlocal done
            done += questions
            report("evaluate", done, asked)
            go_on()

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
        wanted = {cell.evaluation_id for cell in self.plan.cells} & self.whole
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
        return evaluated(self.plan, self.lake.snapshot(), self.fresh, tuple(self.skipped))

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
            go_on()

        return embedded(texts, embedder_of(model, self.settings, self.lake), count)

    def _skip(self, cell: Cell, why: str) -> None:
        go_on()  # what looks like an error of the index may be the interrupt
        self.skipped.append(f"{cell.arm.name} on {cell.version.recipe} {cell.version.tag}: {' '.join(why.split())[:300]}")
