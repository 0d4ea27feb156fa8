"""Flow `evaluate`: the steps of an evaluation (evaluation.py) as Prefect tasks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prefect import flow

from edgarmill.eval.evaluation import Evaluated
from edgarmill.eval.replay import MODES
from edgarmill.flows.engine import step
from edgarmill.flows.evaluation import Evaluation
from edgarmill.flows.planned import question_of
from edgarmill.flows.progress import heeded, stopped
from edgarmill.flows.request import new_run_id
from edgarmill.schemas import settings as all_settings
from edgarmill.schemas.store import Lake


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
    asked = question_of(questions, recipe, tag, modes, experiment, knobs, all_versions, recompute, retry)
    opened, run_id = Lake.open(settings.lake), new_run_id()
    try:
        with heeded(), opened.writer(run_id, f"evaluate {Path(questions).name}") as writer:
            job = Evaluation(asked, settings, opened, writer, run_id)
            step("resolve", job.resolve)
            step("replay", job.replay)
            step("score", job.score)
    except KeyboardInterrupt:
        stopped()
        raise
    return job.evaluated()
