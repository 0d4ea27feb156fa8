"""Several ranked lists made one, by weighted reciprocal rank fusion or by their scores; and one list thinned to few hits a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import fsum, sqrt

from edgarmill.schemas.records import Hit

# What a deviation of the scores by words counts beside one by meaning. Scores of BM25 have the longer tail: over 671 questions of three
# sets the best hit by words stood 5.5 deviations above its list's mean (median), the best by meaning 3.8. Of 0.4, 0.5, 0.6 and 0.7 a half
# found most on FinanceBench and multihop-rag together (eval/benchmarks/RESULTS.md).
DEVIATION = {"keyword": 0.5}


def fused(lists: Mapping[str, Sequence[str]], weights: Mapping[str, float], rrf_k: int) -> list[tuple[str, float]]:
    """(id, score), best first, equal ones by id: each list gives weight / (rrf_k + rank) to what it found."""
    scores: dict[str, float] = {}
    for source, ranked in lists.items():
        for rank, key in enumerate(ranked, 1):
            scores[key] = scores.get(key, 0.0) + weights.get(source, 1.0) / (rrf_k + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


def fused_by_score(lists: Mapping[str, Mapping[str, float]], weights: Mapping[str, float],
                   lacking: Mapping[str, float]) -> list[tuple[str, float]]:
    """(id, score), best first, equal ones by id: the sum over the lists of weight x how many deviations a score is above its list's mean.

    What a list does not hold has the score in `lacking`, or where none stands there the list's least. Ranks only tell which is first,
    scores also how far it stands out (Bruch, Gai and Ingber, TOIS 2023, found sums of scores better than ranks).
    """
    found: dict[str, float] = dict.fromkeys((key for scored in lists.values() for key in scored), 0.0)
    for source, scored in lists.items():
        if not scored:
            continue
        least = lacking.get(source, min(scored.values()))
        mean, spread = _mean_and_spread(list(scored.values()))
        if spread == 0:  # one hit, or all alike: they stand out of what the list does not hold
            mean, spread = _mean_and_spread([scored.get(key, least) for key in found])
        weight = weights.get(source, 1.0) * DEVIATION.get(source, 1.0) / spread if spread > 0 else 0.0
        for key in found:
            found[key] += weight * (scored.get(key, least) - mean)
    return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))


def _mean_and_spread(scores: Sequence[float]) -> tuple[float, float]:
    mean = fsum(scores) / len(scores)
    return mean, sqrt(fsum((score - mean) ** 2 for score in scores) / len(scores))


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
