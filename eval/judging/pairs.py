"""Two asks of one pair, places swapped, made one outcome; and what many outcomes say.

The same winner in both orders wins; anything else is a tie. A pair is flipped where its orders do not agree. The win rate of A is (wins +
ties / 2) / n over the questions that were judged, with 95 % of its bootstrap over questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from edgarmill.eval.certainty import intervals

WORTH = {"A": 1.0, "tie": 0.5, "B": 0.0}
_AS_ASKED = {"first": "A", "second": "B", "tie": "tie"}
_SWAPPED = {"first": "B", "second": "A", "tie": "tie"}


@dataclass(frozen=True, slots=True)
class Rate:
    """`value`, `low`, `high`: null where nothing was judged, or one question alone."""

    value: float | None
    low: float | None
    high: float | None
    questions: int
    wins: int = 0
    ties: int = 0


def outcome(as_asked: str, swapped: str) -> tuple[str, bool]:
    """A, B or tie, and whether the two orders disagree. Each ask says first, second or tie; in the second one B stood first."""
    one, other = _AS_ASKED[as_asked], _SWAPPED[swapped]
    return (one if one == other else "tie"), one != other


def win_rate(outcomes: Mapping[str, str]) -> Rate:
    """Of A, by question."""
    n = len(outcomes)
    wins, ties = (sum(one == label for one in outcomes.values()) for label in ("A", "tie"))
    if not n:
        return Rate(None, None, None, 0)
    names = sorted(outcomes)
    low, high = intervals(np.array([[WORTH[outcomes[name]]] for name in names]), names)
    sure = n > 1
    return Rate((wins + ties / 2) / n, float(low[0]) if sure else None, float(high[0]) if sure else None, n, wins, ties)
