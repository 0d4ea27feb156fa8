"""From a few filings to all of them: which ones to try, and what their figures say of the rest, with a range.

Figures such as tokens follow the size of what a filing says; others, such as one request each, are the same for every filing. Which of the
two holds is told by the sample: the latter where it varies less than half as much. The sample is drawn in proportion to size, evenly over
the sizes, without chance: the same filings give the same sample.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LEAST_SPREAD = 0.25  # of a figure over filings, where too few were tried to show it
LEAST_ERROR = 0.02  # of what was reckoned: what a few filings happen to agree on is no better known than that
WIDTH = 2.0  # standard errors on either side: some 95 %


@dataclass(frozen=True, slots=True)
class Unit:
    """A filing: the group of its like, and its size in any unit that grows with its figures."""

    key: str
    group: str
    size: float


@dataclass(frozen=True, slots=True)
class Total:
    """What all filings come to: the likely figure and its standard error."""

    likely: float = 0.0
    error: float = 0.0

    @property
    def low(self) -> float:
        return max(0.0, self.likely - WIDTH * self.error)

    @property
    def high(self) -> float:
        return self.likely + WIDTH * self.error

    def __add__(self, other: Total) -> Total:
        return Total(self.likely + other.likely, math.hypot(self.error, other.error))

    def times(self, factor: float) -> Total:
        return Total(self.likely * factor, self.error * factor)


def evenly(units: Sequence[Unit], most: int) -> list[Unit]:
    """At most so many, every one as likely, evenly over the sizes."""
    ordered = sorted(units, key=lambda u: (u.size, u.key))
    if len(ordered) <= most:
        return ordered
    if most < 1:
        return []
    return [ordered[int((n + 0.5) * len(ordered) / most)] for n in range(most)]


def by_size(units: Sequence[Unit], most: int, least: int = 3) -> list[Unit]:
    """About `most`, at least `least` of every group, in proportion to size: the large ones are most of the work. All of few."""
    if len(units) <= most:
        return list(units)
    groups = grouped(units)
    whole = sum(u.size for u in units) or 1.0
    chosen: list[Unit] = []
    for group in groups.values():
        share = max(least, round(most * sum(u.size for u in group) / whole))
        chosen += _proportional(group, min(share, len(group)))
    return chosen


def _proportional(group: Sequence[Unit], count: int) -> list[Unit]:
    """At even steps along the sizes laid end to end; for one that is longer than a step others are taken, evenly."""
    ordered = sorted(group, key=lambda u: (u.size, u.key))
    whole = sum(u.size for u in ordered)
    if not whole:
        return ordered[:count]
    points = [(n + 0.5) * whole / count for n in range(count)]
    chosen: list[Unit] = []
    end = 0.0
    for unit in ordered:
        end += unit.size
        hit = [p for p in points if p <= end]
        points = points[len(hit):]
        chosen += [unit] if hit else []
    return chosen + evenly([u for u in ordered if u not in chosen], count - len(chosen))


def total(units: Sequence[Unit], tried: Mapping[str, float], pool: Sequence[Unit] = ()) -> Total:
    """What a figure comes to over all units, from those that were tried: of the units, or of a pool beside them. A group without one is
    taken to be like all the others; what was tried itself is known."""
    there = {u.key: u for u in (*pool, *units) if u.key in tried}
    by_group = grouped(list(there.values()))
    found = Total()
    rested = 0.0
    for name, group in grouped(units).items():
        known = [tried[u.key] for u in group if u.key in tried]
        rest = [u for u in group if u.key not in tried]
        reckoned = _of_rest(rest, by_group.get(name) or list(there.values()), tried) if rest else Total()
        found, rested = found + Total(sum(known)) + reckoned, rested + reckoned.likely
    return Total(found.likely, max(found.error, LEAST_ERROR * rested)) if found.error else found


def _of_rest(rest: Sequence[Unit], sample: Sequence[Unit], tried: Mapping[str, float]) -> Total:
    """Of units that were not tried."""
    if not sample:
        return Total()
    values = [tried[u.key] for u in sample]
    rates = [tried[u.key] / u.size for u in sample if u.size]
    same, growing = _spread(values), _spread(rates) if rates else math.inf
    mean, times, spread = (_mean(values), len(rest), same) if 2 * same < growing else (_mean(rates), sum(u.size for u in rest), growing)
    spread = spread if len(sample) > 2 or not spread else max(spread, LEAST_SPREAD)
    return Total(times * mean, times * mean * spread * math.sqrt(1 / len(sample) + 1 / len(rest)))


def grouped(units: Sequence[Unit]) -> dict[str, list[Unit]]:
    groups: dict[str, list[Unit]] = {}
    for unit in units:
        groups.setdefault(unit.group, []).append(unit)
    return groups


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _spread(values: Sequence[float]) -> float:
    """Standard deviation over mean; 0 of what is always the same, and of one alone."""
    mean = _mean(values)
    if len(values) < 2 or not mean:
        return 0.0
    return math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1)) / abs(mean)
