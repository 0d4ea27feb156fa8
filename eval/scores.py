"""Means of metrics and how sure they are, for all judged questions and by slice: category, form, fiscal year, type of evidence.

`METRIC_low` and `METRIC_high` bound 95 % of the bootstrap means resampled by document (certainty.py), that of the first gold. They are null
where only one document is judged or all values agree: resampling then shows no doubt, which is not the same as none. For metrics that are
0 or 1 they are widened to the Wilson interval over questions, which exists in any case. Bounds of a percentile are order statistics.

A question whose gold is of several forms, years or types counts in each of their slices.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from edgarmill.eval.certainty import Floats, Z, intervals_of_parts, wilson
from edgarmill.eval.metrics import NAMES as OF_QUESTIONS
from edgarmill.eval.metrics import Judged, Values, by_metric, is_hit
from edgarmill.schemas.records import Asked, EvaluationRow, Ranking, Score

METRICS = 3  # raise it when a definition in metrics.py or here changes: stored scores are then computed anew
STEPS = ("embed", "search", "rerank", "expand", "model")
PERCENTILES = (50, 95)
COUNTS = ("null_questions", "unresolved_questions", "failed_questions")
# Every figure there is of an evaluation, without its bounds.
NAMES = (*OF_QUESTIONS, *(f"{step}_p{percent}_seconds" for step in (*STEPS, "latency") for percent in PERCENTILES), *COUNTS)

Place = tuple[str, int | None]  # form and fiscal year of a filing
Cell = tuple[str, float | None, int]  # metric, value, questions


def scores(evaluation: EvaluationRow, mode: str, judged: Sequence[Judged], ranked: Mapping[str, Sequence[Ranking]],
           asked: Mapping[str, Asked], places: Mapping[str, Place]) -> list[Score]:
    """All scores of one evaluation. `places` by accession, of the filings that the gold is in."""
    values = by_metric(judged, ranked, asked)
    cells = list(summaries(slices(judged, places), values))
    cells += [("all", cell) for cell in chain(latencies(asked.values()), _counts(evaluation))]
    return [Score(evaluation.evaluation_id, evaluation.set_hash, evaluation.version_id, mode, name, *cell) for name, cell in cells]


def slices(judged: Sequence[Judged], places: Mapping[str, Place]) -> dict[str, list[Judged]]:
    """Judged questions by the name of their slice, "all" first."""
    found: dict[str, list[Judged]] = {"all": list(judged)}
    named = {q.question_id: _slices_of(q, places) for q in judged}
    for name in sorted(set().union(*named.values())):
        found[name] = [q for q in judged if name in named[q.question_id]]
    return found


def _slices_of(q: Judged, places: Mapping[str, Place]) -> set[str]:
    names = {q.category} | {f"type:{g.type}" for g in q.gold if g.type}
    for g in q.gold:
        form, year = places.get((g.document_id or "").rpartition(":")[0], ("", None))
        names |= ({f"form:{form}"} if form else set()) | ({f"year:{year}"} if year is not None else set())
    return names


def summary(judged: Sequence[Judged], values: Values) -> Iterator[Cell]:
    """Each metric's mean over the questions for which it is measured, and its bounds."""
    return (cell for _, cell in summaries({"all": judged}, values))


def summaries(parts: Mapping[str, Sequence[Judged]], values: Values) -> Iterator[tuple[str, Cell]]:
    """The same by slice. The first slice holds the questions of all."""
    every, metrics = next(iter(parts.values())), list(values)
    table = np.array([[values[metric].get(q.question_id, math.nan) for metric in metrics] for q in every], dtype=np.float64)
    table = table.reshape(len(every), len(metrics))
    place = {q.question_id: row for row, q in enumerate(every)}
    rows = [[place[q.question_id] for q in chosen] for chosen in parts.values()]
    bounds = intervals_of_parts(table, [q.document_id for q in every], rows)
    for name, chosen, (low, high) in zip(parts, rows, bounds, strict=True):
        for column, metric in enumerate(metrics):
            figures = table[chosen, column]
            measured = figures[~np.isnan(figures)]
            n = len(measured)
            yield name, (metric, float(measured.mean()) if n else None, n)
            for side, bound in zip(("low", "high"), _bounds(metric, measured, float(low[column]), float(high[column])), strict=True):
                yield name, (f"{metric}_{side}", bound, n)


def _bounds(metric: str, measured: Floats, low: float, high: float) -> tuple[float | None, float | None]:
    known = low < high  # False for NaN
    if len(measured) and is_hit(metric):
        widest = wilson(float(measured.mean()), len(measured))
        return (min(low, widest[0]), max(high, widest[1])) if known else widest
    return (low, high) if known else (None, None)


def latencies(asked: Iterable[Asked]) -> Iterator[Cell]:
    """Percentiles of seconds by step and in all, over the questions that were answered; a step that none needed is null."""
    answered = [one for one in asked if one.error is None]
    by_step = {step: [s for one in answered if (s := getattr(one, f"{step}_seconds")) is not None] for step in STEPS}
    by_step["latency"] = [sum(getattr(one, f"{step}_seconds") or 0.0 for step in STEPS) for one in answered]
    for step, seconds in by_step.items():
        for percent in PERCENTILES:
            low, high = _order_statistics(seconds, percent / 100)
            yield f"{step}_p{percent}_seconds", float(np.percentile(seconds, percent)) if seconds else None, len(seconds)
            yield f"{step}_p{percent}_seconds_low", low, len(seconds)
            yield f"{step}_p{percent}_seconds_high", high, len(seconds)


def _order_statistics(seconds: Sequence[float], share: float) -> tuple[float | None, float | None]:
    """The values between which the percentile lies with 95 %, by the normal form of the binomial; None beyond the ends."""
    n, ordered = len(seconds), sorted(seconds)
    middle, reach = n * share, Z * math.sqrt(n * share * (1 - share))
    first, last = math.floor(middle - reach), math.ceil(middle + reach)
    return ordered[first] if first >= 0 and n else None, ordered[last] if last < n else None


def _counts(evaluation: EvaluationRow) -> Iterator[Cell]:
    for name, count in zip(COUNTS, (evaluation.null_questions, evaluation.unresolved, evaluation.failed), strict=True):
        yield name, float(count), evaluation.judged
