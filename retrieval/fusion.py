"""Several ranked lists made one: weighted reciprocal rank fusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def fused(lists: Mapping[str, Sequence[str]], weights: Mapping[str, float], rrf_k: int) -> list[tuple[str, float]]:
    """(id, score), best first, equal ones by id: each list gives weight / (rrf_k + rank) to what it found."""
    scores: dict[str, float] = {}
    for source, ranked in lists.items():
        for rank, key in enumerate(ranked, 1):
            scores[key] = scores.get(key, 0.0) + weights.get(source, 1.0) / (rrf_k + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
