"""Evaluations as the lake holds them: what was asked of what, what came back, and what it took. Nothing is searched here.

    for row in evaluations(snapshot, set_hash=key):
        found = stored(snapshot, row.evaluation_id)
        values = by_metric(found.judged, found.ranked)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgarmill.eval.metrics import Judged, judged_questions
from edgarmill.eval.replay import by_question
from edgarmill.schemas.errors import UnknownName, UsageError
from edgarmill.schemas.records import Asked, EvaluationRow, GoldRow, Ranking
from edgarmill.schemas.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Stored:
    """One evaluation. `ranked` holds the hits of every question asked by rank, each chunk once; [] where there was none."""

    evaluation: EvaluationRow
    judged: list[Judged]  # in the order of their ids
    ranked: Mapping[str, list[Ranking]]
    asked: Mapping[str, Asked]
    questions: Mapping[str, GoldRow]  # the first row of each: text, category, answer


def evaluations(snapshot: Snapshot, *, version_id: str = "", set_hash: str = "", questions_hash: str = "",
                retriever_hash: str = "") -> list[EvaluationRow]:
    """Those that fit everything that is given, the newest first."""
    given = {"version_id": version_id, "set_hash": set_hash, "questions_hash": questions_hash, "retriever_hash": retriever_hash}
    where = {name: [value] for name, value in given.items() if value}
    found: list[EvaluationRow] = snapshot.records("evaluations", where or None)
    return sorted(found, key=lambda row: (row.created_at, row.evaluation_id), reverse=True)


def stored(snapshot: Snapshot, evaluation_id: str) -> Stored:
    """The evaluation of that id, or of the one id that begins so.

    Raises UnknownName, and UsageError where several ids begin so or its rankings were collected with their index version.
    """
    row = _named(evaluations(snapshot), evaluation_id)
    ranked = ranked_of(snapshot.records("rankings", {"evaluation_id": [row.evaluation_id]}))
    if sum(map(len, ranked.values())) != row.hits:
        raise UsageError("its rankings were collected with their index version", row.evaluation_id, "Its scores are still there.")
    rows = sorted(snapshot.records("question_sets", {"set_hash": [row.set_hash]}), key=lambda r: (r.question_id, r.ordinal))
    questions = {first.question_id: first for first, _ in by_question(rows)}
    asked = {one.question_id: one for one in snapshot.records("asked", {"evaluation_id": [row.evaluation_id]})}
    return Stored(row, judged_questions(rows)[0], {name: ranked.get(name, []) for name in questions}, asked, questions)


def ranked_of(rankings: Sequence[Ranking]) -> dict[str, list[Ranking]]:
    """Hits by question, by rank; a chunk that comes twice keeps its better rank."""
    grouped: dict[str, dict[str, Ranking]] = defaultdict(dict)
    for hit in sorted(rankings, key=lambda r: r.rank):
        grouped[hit.question_id].setdefault(hit.chunk_id, hit)
    return {name: list(hits.values()) for name, hits in grouped.items()}


def _named(known: Sequence[EvaluationRow], evaluation_id: str) -> EvaluationRow:
    found = [row for row in known if evaluation_id and row.evaluation_id.startswith(evaluation_id)]
    if not found:
        raise UnknownName("no such evaluation", evaluation_id[:40], "edgarmill evaluate makes one and prints its id.")
    if len(found) > 1:
        raise UsageError(f"{len(found)} evaluations have ids that begin so", evaluation_id[:40], "Give more of the id.")
    return found[0]
