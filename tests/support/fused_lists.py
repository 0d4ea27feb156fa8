"""Lists that a test writes by hand, fused by their scores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from edgarmill.retrieval.fusion import fused_by_score


def by_score(lists: Mapping[str, Mapping[str, float]], weights: Mapping[str, float],
             lacking: Mapping[str, float]) -> list[tuple[str, float]]:
    """`fused_by_score` of lists by key, best first, equal ones by key."""
    keys, sums = fused_by_score({name: (np.array(list(one), dtype=str), np.array(list(one.values()), dtype=float))
                                 for name, one in lists.items()}, weights, lacking)
    return sorted(zip(keys.tolist(), sums.tolist(), strict=True), key=lambda pair: (-pair[1], pair[0]))
