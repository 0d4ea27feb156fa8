"""Several ranked lists made one, by weighted reciprocal rank fusion or by their scores; and one list thinned to few hits a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import fsum, sqrt
from typing import Any

from edgarmill.schemas.records import Hit

# What a deviation of the scores by words counts beside one by meaning. Scores of BM25 have the longer tail: over 671 questions of three
# sets the best hit by words stood 5.5 deviations above its list's mean (median), the best by meaning 3.8. Of 0.4, 0.5, 0.6 and 0.7 a half
# found most on FinanceBench and multihop-rag together (eval/benchmarks/RESULTS.md).
DEVIATION = {"keyword": 0.5}
# No score counts for more deviations. A few hits by words may be so alike that their spread is next to nothing beside how far all stand
# that hold none of the words: a word that few passages hold then counts 12 x 0.5 x 0.6 deviations, about what the best by meaning has.
FARTHEST = 12.0
Scored = tuple[Any, Any]  # two arrays of one length: keys, none twice, and their scores


def fused(lists: Mapping[str, Sequence[str]], weights: Mapping[str, float], rrf_k: int) -> list[tuple[str, float]]:
    """(id, score), best first, equal ones by id: each list gives weight / (rrf_k + rank) to what it found."""
    scores: dict[str, float] = {}
    for source, ranked in lists.items():
        for rank, key in enumerate(ranked, 1):
            scores[key] = scores.get(key, 0.0) + weights.get(source, 1.0) / (rrf_k + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


def fused_by_score(lists: Mapping[str, Scored], weights: Mapping[str, float], lacking: Mapping[str, float]) -> Scored:
    """All keys in rising order, and of each the sum over the lists of weight x how many deviations its score is above the list's mean.

    What a list does not hold has the score in `lacking`, or where none stands there the list's least. Ranks only tell which is first,
    scores also how far it stands out (Bruch, Gai and Ingber, TOIS 2023, found sums of scores better than ranks).
    """
    import numpy as np

    keys = np.unique(np.concatenate([found for found, _ in lists.values()])) if lists else np.empty(0)
    sums = np.zeros(len(keys))
    for source, (found, scores) in lists.items():
        if not len(found):
            continue
        every = np.full(len(keys), lacking.get(source, scores.min()), dtype=np.float64)
        every[np.searchsorted(keys, found)] = scores
        mean, spread = _mean_and_spread(scores)
        spread = max(spread, (every.max() - mean) / FARTHEST, (mean - every.min()) / FARTHEST)
        if spread > 0:
            sums += weights.get(source, 1.0) * DEVIATION.get(source, 1.0) / spread * (every - mean)
    return keys, sums


def _mean_and_spread(scores: Any) -> tuple[float, float]:
    """Of an array. Summed exactly: the order of equal scores in a list changes nothing."""
    mean = fsum(scores) / len(scores)
    return mean, sqrt(fsum((scores - mean) ** 2) / len(scores))


def has_pages(hit: Hit) -> bool:
    """Not of a filing in HTML or text; its rows may hold null or a number below 1."""
    return bool(hit.page_start) and hit.page_start >= 1


def few_a_page(hits: Sequence[Hit], page_of: Callable[[Hit], int], most: int) -> list[Hit]:
    """Of each page the hits that rank best, at most so many, ranks closed up. A hit stands on one page; without pages all stay."""
    seen: Counter[tuple[str, int]] = Counter()
    kept: list[Hit] = []
    for hit in hits:
        place = (hit.document_id, page_of(hit)) if has_pages(hit) else None
        if place is not None:
            seen[place] += 1
        if place is None or seen[place] <= most:
            kept.append(replace(hit, rank=len(kept) + 1))
    return kept
