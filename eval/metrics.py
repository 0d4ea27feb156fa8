"""Scores from stored rankings, exactly defined; nothing is searched again.

Judged questions: those with gold, all of it resolved. Means run over all of them; one without any hit counts 0. Questions without gold
(category "null") and those with unresolved gold are kept out and counted (`null_questions`, `unresolved_questions`).

The top k are the first k distinct chunks by stored rank. A chunk that holds gold (see replay.py) finds it; gold found by an earlier
chunk is not found again: a second chunk of the same evidence is no gain but keeps its place, as one not relevant. For g pieces of gold:
  MRR@5          1 / rank of the first chunk that holds gold, 0 when none of the top 5 does; `RR@5` of ir_measures
  Recall@k       pieces of gold found by the top k / g; `R`
  hit@k          1 if at least one piece is found by the top k; `Success`
  nDCG@10        gain 1 a found piece, discount log2(rank + 1), against g pieces (10 at most) in a row; `nDCG@10`. A chunk that finds
                 several pieces takes as many places and moves those behind it down, so that no ranking beats the ideal
  AllGold@10     1 if every piece is found by the top 10; AllGold@10_g2 the same over questions with g >= 2 (with g = 1 it is hit@10)
  coverage@k     characters of gold that the union of the top k covers / characters of gold; comparable between chunk sizes
  doc_hit@5      1 if one of the top 5 is of a document that has gold
  tokens@5       tokens of the top 5's texts as stored in `chunks`; null when not given for all of them
`METRIC_low` and `METRIC_high` bound 95 % of 10,000 bootstrap means (fixed seed), resampled by document (that of the first gold), for
questions of one document go wrong together. They are null where only one document is judged or all values agree: resampling then shows no
doubt, which is not the same as none. For hit@5 they are widened to the Wilson interval over questions, which exists in any case.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgarmill.eval.replay import MODES, EvaluationKey, by_question
from edgarmill.schemas.records import GoldRow, Ranking, Score

RESAMPLES, SEED = 10_000, 20_260
WITH_INTERVAL = ("MRR@5", "Recall@5", "hit@5", "nDCG@10")
# metric: (first chunks that count, measure of ir_measures); what a cut of chunks leaves is measured whole
MEASURES = {"MRR@5": (5, "RR@5"), "Recall@5": (5, "R@1000"), "hit@5": (5, "Success@1000"), "hit@10": (10, "Success@1000"),
            "nDCG@10": (10, "nDCG@10"), "Recall@10": (10, "R@1000")}

Values = dict[str, dict[str, float]]  # metric -> question -> value; a question for which it is not measured is absent


@dataclass(frozen=True, slots=True)
class Judged:
    """A judged question: its gold, all resolved, by ordinal."""

    question_id: str
    category: str
    gold: tuple[GoldRow, ...]

    @property
    def document_id(self) -> str:
        return self.gold[0].document_id or ""


def evaluate(key: EvaluationKey, rows: Iterable[GoldRow], rankings: Iterable[Ranking], *, modes: Sequence[str] = MODES,
             tokens: Mapping[str, int] | None = None) -> list[Score]:
    """Scores of every mode, over all judged questions and by category. `tokens` by chunk id, for tokens@5."""
    judged, counts = judged_questions(rows)
    tops = _by_mode(rankings)
    scores: list[Score] = []
    for mode in modes:
        ranked = {q.question_id: tops.get((mode, q.question_id), []) for q in judged}
        values = by_metric(judged, ranked, tokens)
        for category in ("all", *sorted({q.category for q in judged})):
            chosen = [q for q in judged if category in ("all", q.category)]
            scores += [Score(key.evaluation_id, key.set_hash, key.version_id, mode, category, *cell) for cell in _summary(chosen, values)]
        for name, count in counts.items():
            scores.append(Score(key.evaluation_id, key.set_hash, key.version_id, mode, "all", name, float(count), len(judged)))
    return scores


def judged_questions(rows: Iterable[GoldRow]) -> tuple[list[Judged], dict[str, int]]:
    """The judged questions in the set's order, and how many of what are kept out."""
    judged, counts = [], {"null_questions": 0, "unresolved_questions": 0, "unresolved_gold": 0}
    for question, gold in by_question(rows):
        lost = sum(row.how is None for row in gold)
        counts["unresolved_gold"] += lost
        if lost:
            counts["unresolved_questions"] += 1
        elif not gold:
            counts["null_questions"] += 1
        else:
            judged.append(Judged(question.question_id, question.category, tuple(gold)))
    return judged, counts


def by_metric(judged: Sequence[Judged], ranked: Mapping[str, Sequence[Ranking]], tokens: Mapping[str, int] | None = None) -> Values:
    """Every metric for every judged question. `ranked`: its hits by rank, distinct."""
    values: Values = {metric: _measured(judged, ranked, *of) for metric, of in MEASURES.items()}
    for metric in ("AllGold@10", "AllGold@10_g2", "coverage@5", "coverage@10", "doc_hit@5", "tokens@5"):
        values[metric] = {}
    for q in judged:
        hits = ranked[q.question_id]
        values["AllGold@10"][q.question_id] = float(len({o for h in hits[:10] for o in h.gold}) == len(q.gold))
        if len(q.gold) > 1:
            values["AllGold@10_g2"][q.question_id] = values["AllGold@10"][q.question_id]
        values["coverage@5"][q.question_id] = coverage(q.gold, hits[:5])
        values["coverage@10"][q.question_id] = coverage(q.gold, hits[:10])
        values["doc_hit@5"][q.question_id] = float(any(h.document_id == g.document_id for h in hits[:5] for g in q.gold))
        if tokens is not None and all(h.chunk_id in tokens for h in hits[:5]):
            values["tokens@5"][q.question_id] = float(sum(tokens[h.chunk_id] for h in hits[:5]))
    return values


def _measured(judged: Sequence[Judged], ranked: Mapping[str, Sequence[Ranking]], first: int, measure: str) -> dict[str, float]:
    """A measure of ir_measures for each question. Ties cannot arise: an item's score is its place counted from the end."""
    import ir_measures

    qrels = [ir_measures.Qrel(q.question_id, _gold_item(g.ordinal), 1) for q in judged for g in q.gold]
    run = []
    for q in judged:
        items = _items(ranked[q.question_id][:first])
        run += [ir_measures.ScoredDoc(q.question_id, item, len(items) - place) for place, item in enumerate(items)]
    if not qrels:
        return {}
    return {m.query_id: float(m.value) for m in ir_measures.iter_calc([ir_measures.parse_measure(measure)], qrels, run)}


def _items(hits: Sequence[Ranking]) -> list[str]:
    """The ranking as items: each piece of gold where it is first found, and each chunk that finds none."""
    items: list[str] = []
    found: set[int] = set()
    for hit in hits:
        new = [ordinal for ordinal in hit.gold if ordinal not in found]
        found.update(new)
        items += [_gold_item(ordinal) for ordinal in new] or [f"chunk {hit.rank}"]
    return items


def _gold_item(ordinal: int) -> str:
    return f"gold {ordinal}"


def _by_mode(rankings: Iterable[Ranking]) -> dict[tuple[str, str], list[Ranking]]:
    """Hits by (mode, question), by rank; a chunk that comes twice keeps its better rank."""
    grouped: dict[tuple[str, str], dict[str, Ranking]] = defaultdict(dict)
    for hit in sorted(rankings, key=lambda r: r.rank):
        grouped[hit.mode, hit.question_id].setdefault(hit.chunk_id, hit)
    return {name: list(hits.values()) for name, hits in grouped.items()}


def coverage(gold: Iterable[GoldRow], hits: Iterable[Ranking]) -> float:
    """Share of the gold's characters that lie in the union of the chunks; characters of two pieces of gold count once."""
    wanted = _union((g.document_id or "", g.start or 0, g.end or 0) for g in gold)
    given = _union((h.document_id, h.start, h.end) for h in hits)
    both = sum(max(0, min(w[2], g[2]) - max(w[1], g[1])) for w in wanted for g in given if w[0] == g[0])
    return both / sum(end - start for _, start, end in wanted)


def _union(ranges: Iterable[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    merged: list[tuple[str, int, int]] = []
    for document, start, end in sorted(ranges):
        if merged and merged[-1][0] == document and start <= merged[-1][2]:
            merged[-1] = (document, merged[-1][1], max(end, merged[-1][2]))
        else:
            merged.append((document, start, end))
    return merged


def _summary(judged: Sequence[Judged], values: Values) -> Iterable[tuple[str, float | None, int]]:
    """(metric, mean, questions), and the bounds of those that have an interval."""
    names = [q.question_id for q in judged]
    bounds = intervals({metric: [values[metric][n] for n in names] for metric in WITH_INTERVAL}, [q.document_id for q in judged])
    for metric, by_name in values.items():
        measured = [by_name[n] for n in names if n in by_name]
        yield metric, sum(measured) / len(measured) if measured else None, len(measured)
        if metric in bounds:
            yield f"{metric}_low", bounds[metric][0], len(measured)
            yield f"{metric}_high", bounds[metric][1], len(measured)


def intervals(values: Mapping[str, Sequence[float]], documents: Sequence[str]) -> dict[str, tuple[float | None, float | None]]:
    """95 % bounds of each metric's mean over the same questions, resampled by document."""
    clusters, of = np.unique(np.array(documents, dtype=object).astype(str), return_inverse=True)
    table = np.array(list(values.values()), dtype=np.float64).T.reshape(len(documents), len(values))
    sums, counts = np.zeros((len(clusters), len(values))), np.bincount(of, minlength=len(clusters)).astype(np.float64)
    np.add.at(sums, of, table)
    means = _bootstrap(sums, counts) if len(clusters) > 1 else np.zeros((0, len(values)))
    bounds: dict[str, tuple[float | None, float | None]] = {}
    for column, metric in enumerate(values):
        low, high = (float(b) for b in np.percentile(means[:, column], (2.5, 97.5))) if len(means) else (0.0, 0.0)
        bounds[metric] = (low, high) if low < high else (None, None)
        if metric.startswith("hit@") and len(documents):
            wilson = _wilson(float(table[:, column].mean()), len(documents))
            bounds[metric] = (min(low, wilson[0]), max(high, wilson[1])) if low < high else wilson
    return bounds


def _bootstrap(sums: npt.NDArray[np.float64], counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Means of RESAMPLES resamples of clusters (rows), one column a metric; a thousand at a time, for sets of many documents."""
    random, n = np.random.default_rng(SEED), len(counts)
    means = []
    for _ in range(RESAMPLES // 1_000):
        drawn = random.multinomial(n, np.full(n, 1 / n), size=1_000).astype(np.float64)
        means.append((drawn @ sums) / (drawn @ counts)[:, None])
    return np.concatenate(means)


def _wilson(share: float, n: int) -> tuple[float, float]:
    z = 1.959964  # 97.5 % of the normal distribution
    middle, half = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, (middle - half) / (1 + z * z / n)), min(1.0, (middle + half) / (1 + z * z / n))
