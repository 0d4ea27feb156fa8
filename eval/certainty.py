"""How sure a difference between two evaluations of the same questions is.

Questions of one document go wrong together, so documents are resampled and not questions (clustered errors: arXiv 2411.00640): plain
intervals would be too narrow. Everything is drawn from a fixed seed; the same input gives the same figures.

  interval   of the mean difference, second minus first: 95 % of 10,000 paired bootstrap means. None where fewer than two documents are
             judged. It understates the doubt where few documents differ, which is why a verdict asks for the test as well
  p          of hits, which are 0 or 1: the exact sign test over the questions that differ (McNemar). Of other means: the randomisation
             test that swaps the two versions document by document, exact up to 13 documents, else by 10,000 swaps
  verdict    better or worse: the interval leaves 0 out and p is at most 0.05 (after Holm where several are asked at once); equal: no
             question differs; undecided: all else. Undecided is a result
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

RESAMPLES, SEED = 10_000, 20_260
LEVEL = 0.05
EXACT_DOCUMENTS = 13  # 2^13 swaps are fewer than RESAMPLES
DRAWN_CELLS = 8_000_000  # of resamples x documents held at a time
Z = 1.959964  # 97.5 % of the normal distribution

Floats = npt.NDArray[np.float64]
Verdict = Literal["better", "worse", "equal", "undecided"]


@dataclass(frozen=True, slots=True)
class Difference:
    """Second minus first over the questions that were measured in both; `higher` and `lower` count questions."""

    questions: int
    documents: int
    first: float | None
    second: float | None
    low: float | None
    high: float | None
    p: float | None
    higher: int
    lower: int

    @property
    def mean(self) -> float | None:
        return None if self.first is None or self.second is None else self.second - self.first

    def verdict(self, p: float | None) -> Verdict:
        """By the rule of this module; `p` as it is, or adjusted where several differences are looked at. "better" means higher."""
        if self.questions and not self.higher and not self.lower:
            return "equal"
        if self.low is None or self.high is None or p is None or p > LEVEL:
            return "undecided"
        return "better" if self.low > 0 else "worse" if self.high < 0 else "undecided"


def differences(first: Floats, second: Floats, documents: Sequence[str], hits: Sequence[bool]) -> list[Difference]:
    """A difference for each column. `first`, `second`: questions x columns, NaN = not measured; `documents`: the cluster of each question;
    `hits`: which columns are 0 or 1."""
    change = second - first
    measured = ~np.isnan(change)
    sums, counts = _by_document(change, documents)
    low, high = _bounds(resampled_means(sums, counts))
    p = swapped(sums)
    found = []
    for column, is_hit in enumerate(hits):
        rows = measured[:, column]
        n, clusters = int(rows.sum()), int((counts[:, column] > 0).sum())
        higher, lower = int((change[rows, column] > 0).sum()), int((change[rows, column] < 0).sum())
        sure = clusters > 1
        found.append(Difference(
            n, clusters,
            float(first[rows, column].mean()) if n else None,
            float(second[rows, column].mean()) if n else None,
            float(low[column]) if sure else None,
            float(high[column]) if sure else None,
            sign_test(higher, lower) if is_hit and n else float(p[column]) if n else None,
            higher, lower,
        ))
    return found


def intervals(values: Floats, documents: Sequence[str]) -> tuple[Floats, Floats]:
    """Bounds of 95 % of the bootstrap means of each column, documents resampled; NaN where nothing is measured. `values`: questions x
    columns, NaN = not measured."""
    return next(intervals_of_parts(values, documents, [range(len(values))]))


def intervals_of_parts(values: Floats, documents: Sequence[str], parts: Sequence[Sequence[int]]) -> Iterator[tuple[Floats, Floats]]:
    """The same of parts of the questions, each given by its rows. All parts are seen in the same resamples of all documents; one in which
    a part has no question does not count for it."""
    names, of = np.unique(np.array(documents, dtype=np.str_), return_inverse=True)
    blocks = []
    for rows in parts:
        touched, places = np.unique(of[list(rows)], return_inverse=True)
        blocks.append((touched, *_summed(values[list(rows)], places, len(touched))))
    means: list[list[Floats]] = [[] for _ in parts]
    for drawn in _drawn(len(names)):
        for kept, (touched, sums, counts) in zip(means, blocks, strict=True):
            kept.append(_ratio(drawn if len(touched) == len(names) else drawn[:, touched], sums, counts))
    nothing = np.full((0, values.shape[1]), np.nan)
    return (_bounds(np.concatenate(kept) if kept else nothing) for kept in means)


def resampled_means(sums: Floats, counts: Floats) -> Floats:
    """RESAMPLES means of resampled documents: resamples x columns, NaN where a resample has no question of a column. `sums` and `counts`
    of questions: documents x columns."""
    means = [_ratio(drawn, sums, counts) for drawn in _drawn(len(sums))]
    return np.concatenate(means) if means else np.full((0, sums.shape[1]), np.nan)


def _drawn(n: int) -> Iterator[Floats]:
    """How often each of n documents was drawn: resamples x documents, in batches that make RESAMPLES together."""
    random = np.random.default_rng(SEED)
    for size in _batches(n):
        places = random.integers(0, n, size=(size, n)) + n * np.arange(size)[:, None]
        yield np.bincount(places.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


def _ratio(drawn: Floats, sums: Floats, counts: Floats) -> Floats:
    asked = drawn @ counts
    return np.divide(drawn @ sums, asked, out=np.full_like(asked, np.nan), where=asked > 0)


def swapped(sums: Floats) -> Floats:
    """p of each column: the share of swaps that bring as large a difference as was seen. `sums`: documents x columns, of differences."""
    n = len(sums)
    seen = np.abs(sums.sum(axis=0)) * (1 - 1e-9) - 1e-12  # sums in another order differ in their last digits
    if n <= EXACT_DOCUMENTS:
        signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return np.asarray((np.abs(signs @ sums) >= seen).mean(axis=0))
    random = np.random.default_rng(SEED)
    as_large = np.zeros(sums.shape[1])
    for size in _batches(n):
        signs = 1.0 - 2.0 * random.integers(0, 2, size=(size, n)).astype(np.float64)
        as_large += (np.abs(signs @ sums) >= seen).sum(axis=0)
    return (as_large + 1) / (RESAMPLES + 1)


def sign_test(higher: int, lower: int) -> float:
    """Two-sided exact p that as uneven a split comes by chance; 1 where nothing differs."""
    n, few = higher + lower, min(higher, lower)
    ways = term = 1
    for i in range(few):
        term = term * (n - i) // (i + 1)
        ways += term
    return min(1.0, 2 * ways / (1 << n))  # of whole numbers: exact however large


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Adjusted for being asked together (Holm 1979); None stays None and is not counted."""
    asked = sorted((p, place) for place, p in enumerate(ps) if p is not None)
    adjusted: list[float | None] = [None] * len(ps)
    before = 0.0
    for step, (p, place) in enumerate(asked):
        before = max(before, min(1.0, p * (len(asked) - step)))
        adjusted[place] = before
    return adjusted


def wilson(share: float, n: int) -> tuple[float, float]:
    """95 % interval of a share of n questions, for shares that resampling shows no doubt of."""
    middle, half = share + Z * Z / (2 * n), Z * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(0.0, (middle - half) / (1 + Z * Z / n)), min(1.0, (middle + half) / (1 + Z * Z / n))


def _by_document(values: Floats, documents: Sequence[str]) -> tuple[Floats, Floats]:
    """Sums of what is measured and counts of it: documents x columns, by the documents' names, so that the rows' order is all one."""
    names, of = np.unique(np.array(documents, dtype=np.str_), return_inverse=True)
    return _summed(values, of, len(names))


def _summed(values: Floats, of: npt.NDArray[np.intp], documents: int) -> tuple[Floats, Floats]:
    sums, counts = np.zeros((documents, values.shape[1])), np.zeros((documents, values.shape[1]))
    np.add.at(sums, of, np.nan_to_num(values))
    np.add.at(counts, of, (~np.isnan(values)).astype(np.float64))
    return sums, counts


def _bounds(means: Floats) -> tuple[Floats, Floats]:
    nothing = np.full(means.shape[1], np.nan)
    known = ~np.isnan(means).all(axis=0)
    if not len(means) or not known.any():
        return nothing, nothing
    low, high = nothing.copy(), nothing.copy()
    low[known], high[known] = np.nanpercentile(means[:, known], (2.5, 97.5), axis=0)
    return low, high


def _batches(documents: int) -> Iterator[int]:
    """Sizes that make RESAMPLES together. The draws are the same however they are cut."""
    if documents:
        size = max(1, min(RESAMPLES, DRAWN_CELLS // documents))
        for done in range(0, RESAMPLES, size):
            yield min(size, RESAMPLES - done)
