"""One evaluation, from a question set and a searcher to rows for the lake: resolve, replay, score. It writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgarmill.eval.metrics import evaluate, judged_questions
from edgarmill.eval.questions.question_set import QuestionSet
from edgarmill.eval.replay import MODES, RULE, EvaluationKey, Replay, Searcher, replay
from edgarmill.eval.resolve import Resolved, resolved_rows
from edgarmill.schemas.errors import UsageError
from edgarmill.schemas.ids import digest, fingerprint
from edgarmill.schemas.records import GoldRow, Ranking, Score
from edgarmill.schemas.store import Snapshot

METRICS = 1  # raise it when a definition in metrics.py changes: its figures are then of another evaluation


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Rows to commit and what to tell. `new_gold` is empty where the lake holds the resolved set already."""

    key: EvaluationKey
    set_name: str
    modes: tuple[str, ...]
    new_gold: tuple[GoldRow, ...]  # question_sets
    rankings: tuple[Ranking, ...]
    scores: tuple[Score, ...]
    problems: tuple[str, ...]  # lines of the set that are no questions, and evidence that is not found
    questions: int
    exact: int  # pieces of gold
    fuzzy: int


def evaluation_id(version_id: str, set_hash: str, modes: Sequence[str], k: int, settings: Mapping[str, object]) -> str:
    """The same for the same index version, questions, texts, rule and retriever settings."""
    return digest(version_id, set_hash, ",".join(modes), k, fingerprint(settings), RULE, METRICS)


def replay_and_score(snapshot: Snapshot, questions: QuestionSet, version_id: str, search: Searcher, *,
                     embed: Callable[[str], Any] | None = None, modes: Sequence[str] = MODES, k: int = 10,
                     settings: Mapping[str, object] | None = None, resolved: Resolved | None = None,
                     progress: Callable[[], None] = lambda: None) -> Evaluation:
    """The whole evaluation of one index version. `settings`: what else decides the hits (fusion, filters, probes); `resolved`: the set
    resolved on this snapshot, where the caller has it.

    Raises UsageError where k is under 10, since the metrics look at ten hits, or where no question can be judged on this lake.
    """
    if k < 10:
        raise UsageError(f"k is {k}", "evaluate", "The metrics look at the first 10 hits: give 10 or more.")
    resolved = resolved or resolved_rows(questions, snapshot)
    if not judged_questions(resolved.rows)[0]:
        first = resolved.problems[0] if resolved.problems else "no question has evidence"
        raise UsageError(f"no question can be judged on this lake ({first})", questions.name, "Ingest the filings that it names.")
    key = EvaluationKey(evaluation_id(version_id, resolved.key, modes, k, settings or {}), resolved.key, version_id)
    played = replay(key, resolved.rows, search, embed=embed, modes=modes, k=k, progress=progress)
    tokens = _tokens({r.chunk_id for r in played.rankings if r.rank <= 5}, snapshot)
    scores = evaluate(key, resolved.rows, played.rankings, modes=modes, tokens=tokens) + latencies(key, played)
    return _evaluation(key, questions, resolved, played, scores)


def latencies(key: EvaluationKey, played: Replay) -> list[Score]:
    """Median and 95th percentile of seconds a question, for all questions asked: of the search, and apart of embedding the question."""
    scores = []
    for mode, seconds in played.search_seconds.items():
        embedding = played.embed_seconds if mode != "keyword" else ()
        for name, measured in (("latency", seconds), ("embed", embedding)):
            for percent in (50, 95):
                value = float(np.percentile(measured, percent)) if measured else None
                metric = f"{name}_p{percent}_seconds"
                scores.append(Score(key.evaluation_id, key.set_hash, key.version_id, mode, "all", metric, value, len(measured)))
    return scores


def _evaluation(key: EvaluationKey, questions: QuestionSet, resolved: Resolved, played: Replay, scores: Iterable[Score]) -> Evaluation:
    hows = [row.how for row in resolved.rows if row.ordinal >= 0]
    return Evaluation(
        key=key,
        set_name=questions.name,
        modes=tuple(played.search_seconds),
        new_gold=() if resolved.stored else resolved.rows,
        rankings=played.rankings,
        scores=tuple(scores),
        problems=questions.problems + resolved.problems,
        questions=len(questions.questions),
        exact=hows.count("exact"),
        fuzzy=hows.count("fuzzy"),
    )


def _tokens(chunk_ids: set[str], snapshot: Snapshot) -> dict[str, int]:
    import pyarrow as pa
    import pyarrow.compute as pc

    chosen = pc.field("chunk_id").isin(pa.array(sorted(chunk_ids), pa.string()))
    table = snapshot.read("chunks", columns=["chunk_id", "tokens"], where=chosen)
    pairs = zip(table["chunk_id"].to_pylist(), table["tokens"].to_pylist(), strict=True)
    return {chunk: tokens for chunk, tokens in pairs if tokens is not None}
