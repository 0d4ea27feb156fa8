"""Several ranked lists made one, by weighted reciprocal rank fusion; and one list thinned to few hits a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from edgarmill.schemas.records import Hit


def fused(lists: Mapping[str, Sequence[str]], weights: Mapping[str, float], rrf_k: int) -> list[tuple[str, float]]:
    """(id, score), best first, equal ones by id: each list gives weight / (rrf_k + rank) to what it found."""
    scores: dict[str, float] = {}
    for source, ranked in lists.items():
        for rank, key in enumerate(ranked, 1):
            scores[key] = scores.get(key, 0.0) + weights.get(source, 1.0) / (rrf_k + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


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
