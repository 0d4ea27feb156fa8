"""Asks the gate: prod and the version that wants to be prod are evaluated on one question set, where they are not yet, and held against a
rule. The answer is kept in table `gates`, once; how many versions a set has already decided about is counted from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from edgarmill.eval import questions as question_sets
from edgarmill.eval.compare import compare, why_not
from edgarmill.eval.gate import Corpus, Decision, corpus_of, decide, outside
from edgarmill.eval.resolve import resolved_rows
from edgarmill.eval.rule import Rule
from edgarmill.eval.stored import evaluations, stored
from edgarmill.flows.local import Note, Progress, prefect_running
from edgarmill.flows.planned import judgeable
from edgarmill.flows.request import new_run_id
from edgarmill.retrieval.versions import by_id
from edgarmill.schemas.errors import EdgarmillError, LakeLocked, NotComparable, SettingsError, StorageError, UnknownName, UsageError
from edgarmill.schemas.ids import digest
from edgarmill.schemas.promotions import promotions
from edgarmill.schemas.records import EvaluationRow, GateRow, IndexVersion
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake, write_part

MANY_LOOKS = 10  # versions, from which on a set is said to be worn


@dataclass(frozen=True)
class Asking:
    """Where and how evaluations are made: what flow `evaluate` takes beside version and retriever, and who is told meanwhile."""

    settings: Settings
    questions: str
    overrides: Mapping[str, Any]
    config: str | None = None
    progress: Progress = lambda stage, done, total: None
    note: Note = lambda line: None


def ask(asking: Asking, version: IndexVersion, rule: Rule) -> Decision:
    """The gate's answer about this version. Prefect is started, and the lake's lock taken, only where something is to be evaluated or kept.

    Raises UsageError for questions that cannot be read, NotComparable where no question can be judged or the version cannot be searched,
    LakeLocked while another run writes.
    """
    lake = Lake.open(asking.settings.lake)
    moves = promotions(lake.root)
    prod = by_id(lake.snapshot(), moves[-1].version_id) if moves else None
    known = _known(lake, asking, rule)
    missing = [one for one in (version, prod) if one and (one.version_id not in known or known[one.version_id].failed)]
    if missing:
        _judgeable(lake, asking)
    unasked = _evaluate(asking, missing, rule) if missing else {}
    known = _known(lake, asking, rule) if missing else known
    if version.version_id not in known:
        error = unasked[version.version_id]
        raise NotComparable(error.what, error.subject, error.todo)
    snapshot = lake.snapshot()
    new = stored(snapshot, known[version.version_id].evaluation_id)
    before = stored(snapshot, known[prod.version_id].evaluation_id) if prod and prod.version_id in known else None
    comparison = compare(snapshot, before, new, rule.primary) if before and why_not(before.evaluation, new.evaluation) is None else None
    corpus: Corpus | None = corpus_of(snapshot, prod, version) if prod else None
    why = f"prod ({prod.recipe} {prod.tag}) could not be asked: {unasked.get(prod.version_id)}" if prod and before is None else ""
    made = decide(rule, new, before, comparison, corpus, outside(new, version), why)
    return _kept(lake, made, prod.version_id if prod else None)


def _known(lake: Lake, asking: Asking, rule: Rule) -> dict[str, EvaluationRow]:
    """Evaluations of this set, its evidence resolved on the texts as they are now, by index version."""
    snapshot = lake.snapshot()
    key = resolved_rows(question_sets.load(asking.questions), snapshot).key
    return {row.version_id: row for row in evaluations(snapshot, set_hash=key, retriever_hash=rule.asks.hash)}


def _judgeable(lake: Lake, asking: Asking) -> None:
    """Raises NotComparable where no question can be judged: before a server is started for it."""
    questions = question_sets.load(asking.questions)
    try:
        judgeable(questions, resolved_rows(questions, lake.snapshot()))
    except UsageError as error:
        raise NotComparable(error.what, error.subject, error.todo) from None


def _evaluate(asking: Asking, missing: Sequence[IndexVersion], rule: Rule) -> dict[str, EdgarmillError]:
    """Makes the evaluations that are missing; gives why one could not be made, by version."""
    failed: dict[str, EdgarmillError] = {}
    knobs = {name: value for name, value in rule.retriever.items() if name != "mode"}
    with prefect_running(asking.settings, asking.progress, asking.note):
        from edgarmill.flows.evaluate import evaluate

        for version in missing:
            try:
                evaluate(asking.settings.lake, asking.questions, version.recipe, version.tag, (rule.asks.mode,), knobs=knobs, retry=True,
                         overrides=dict(asking.overrides), config=asking.config)
            except (LakeLocked, StorageError, SettingsError, UnknownName):
                raise
            except EdgarmillError as error:
                failed[version.version_id] = error
    return failed


def _kept(lake: Lake, made: Decision, prod: str | None) -> Decision:
    """Writes the answer where it is not there yet, and adds how often the set was asked to decide."""
    row = _row(made, prod)
    snapshot = lake.snapshot()
    others = snapshot.read("gates", ["gate_id", "version_id"], {"questions_hash": [row.questions_hash]})
    if row.gate_id not in others["gate_id"].to_pylist():
        run_id = new_run_id()
        with lake.writer(run_id, "gate") as writer:
            writer.commit([write_part(lake.root, "gates", run_id, [row], run_id)], key=f"gate:{row.gate_id}", message=made.line[:200])
    looks = len(set(others["version_id"].to_pylist()) - {row.version_id})
    worn = " Each look wears a set out: keep one aside for releases." if looks >= MANY_LOOKS else ""
    return replace(made, looks=looks, notes=(*made.notes, f"This set was asked about {looks:,} other versions before.{worn}"))


def _row(made: Decision, prod: str | None) -> GateRow:
    e, before = made.evaluation, made.before
    gate_id = digest(e.evaluation_id, before.evaluation_id if before else "", prod or "", made.rule.hash, made.outcome)
    return GateRow(gate_id, e.questions_hash, e.set_hash, e.set_name, e.version_id, e.evaluation_id, prod,
                   before.evaluation_id if before else None, made.rule.name, made.rule.hash,
                   json.dumps(made.rule.model_dump(mode="json"), sort_keys=True), made.outcome, made.line,
                   json.dumps([asdict(check) for check in made.checks], ensure_ascii=False), datetime.now(UTC))
