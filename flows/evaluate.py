"""Flow `evaluate`: resolve the gold on the lake's texts, replay the questions on one index version, score, commit rankings and scores.

An evaluation that the lake holds already (same version, questions, texts and retriever settings) is read back; nothing is searched again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from prefect import flow

from edgarmill.eval import questions as question_sets
from edgarmill.eval.evaluation import Evaluation, evaluation_id, replay_and_score
from edgarmill.eval.questions.question_set import QuestionSet
from edgarmill.eval.replay import MODES, EvaluationKey
from edgarmill.eval.resolve import resolved_rows
from edgarmill.flows.engine import step
from edgarmill.flows.progress import note, report
from edgarmill.flows.request import new_run_id
from edgarmill.retrieval.query import open_for
from edgarmill.retrieval.search import OVER_FETCH, RRF_K
from edgarmill.retrieval.versions import newest
from edgarmill.schemas import settings as all_settings
from edgarmill.schemas.records import IndexVersion
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake, write_part

HITS = 10  # that the metrics look at


@dataclass(frozen=True)
class Evaluated:
    """One evaluation of one index version. `stored`: it was there already, so nothing was searched, and its rankings stay in the lake."""

    version: IndexVersion
    evaluation: Evaluation
    stored: bool


@flow(name="evaluate", validate_parameters=False, persist_result=False)
def evaluate(
    lake: str,
    questions: str,
    recipe: str | None = None,
    tag: str | None = None,
    modes: tuple[str, ...] = MODES,
    overrides: dict[str, Any] | None = None,
    config: str | None = None,
) -> Evaluated:
    """Evaluates one index version. Raises UsageError (questions, recipe, tag), LakeLocked while another run writes."""
    settings, _ = all_settings.load({**(overrides or {}), "lake": lake}, config)
    found: list[Evaluated] = []
    run_id = new_run_id()
    opened = Lake.open(settings.lake)
    asked = question_sets.load(str(Path(questions)))
    version = newest(opened.snapshot(), recipe, tag)
    with opened.writer(run_id, f"evaluate {asked.name}") as writer:

        def replay() -> None:
            known = _stored(opened, asked, version, modes)
            if known is not None:
                found.append(known)
                return
            result = _replay(opened, asked, version, modes, settings)
            tables = {"question_sets": result.new_gold, "rankings": result.rankings, "scores": result.scores}
            parts = [write_part(opened.root, name, run_id, list(rows), run_id) for name, rows in tables.items() if rows]
            writer.commit(parts, key=f"evaluation:{result.key.evaluation_id}", message=f"evaluated {version.recipe} {version.tag}")
            found.append(Evaluated(version, result, stored=False))

        step("replay", replay)
    return found[0]


def _retriever(version: IndexVersion) -> dict[str, object]:
    """What decides the hits beside version, questions and modes."""
    return {"fusion": "rrf", "rrf_k": RRF_K, "over_fetch": OVER_FETCH, "filters": "none", "model_hash": version.model_hash}


def _replay(lake: Lake, asked: QuestionSet, version: IndexVersion, modes: tuple[str, ...], settings: Settings) -> Evaluation:
    index = open_for(lake, version, settings, modes)
    total, done = len(asked.questions), 0
    note(f"evaluating {asked.name} on {version.recipe} {version.tag}: {total} questions in {', '.join(modes)}")

    def count() -> None:
        nonlocal done
        done += 1
        report("evaluate", done, total)

    return replay_and_score(
        lake.snapshot(),
        asked,
        version.version_id,
        lambda question, mode, k, vector=None: index.search(question, k, mode, None, vector),
        embed=index.embedder,
        modes=modes,
        k=HITS,
        settings=_retriever(version),
        progress=count,
    )  # type: ignore[arg-type]


def _stored(lake: Lake, asked: QuestionSet, version: IndexVersion, modes: tuple[str, ...]) -> Evaluated | None:
    """The same evaluation from the lake's tables, None where it was never made."""
    snapshot = lake.snapshot()
    resolved = resolved_rows(asked, snapshot)
    if not resolved.stored:
        return None
    key = evaluation_id(version.version_id, resolved.key, modes, HITS, _retriever(version))
    scores = snapshot.records("scores", pc.field("evaluation_id") == key)
    if not scores:
        return None
    hows = [row.how for row in resolved.rows if row.ordinal >= 0]
    evaluation = Evaluation(
        key=EvaluationKey(key, resolved.key, version.version_id),
        set_name=asked.name,
        modes=modes,
        new_gold=(),
        rankings=(),
        scores=tuple(scores),
        problems=asked.problems + resolved.problems,
        questions=len(asked.questions),
        exact=hows.count("exact"),
        fuzzy=hows.count("fuzzy"),
    )
    return Evaluated(version, evaluation, stored=True)
