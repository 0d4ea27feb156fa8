"""Filters that a question implies: whose filings, which fiscal years and quarters, which forms. What was read, from which words, is told.

A question that names none stays unfiltered. What would leave no row is dropped, and said to be dropped: the quarter before the form, the
form before the year, the year before the company.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from edgarmill.retrieval.companies import Companies
from edgarmill.retrieval.filters import MOST_VALUES, Filters
from edgarmill.retrieval.periods import Named, forms, periods

FIELDS = ("quarter", "form", "year", "filer")  # the first to go stand first
# What a given filter leaves open. An accession says everything.
_SAID_BY = {
    "filer": ("ticker", "cik", "filer", "accession"), "form": ("form", "accession"),
    "year": ("year", "since", "until", "period_since", "period_until", "accession"),
    "quarter": ("quarter", "since", "until", "period_since", "period_until", "accession"),
}


@dataclass(frozen=True, slots=True)
class Inferred:
    """One filter, from question[start:end]."""

    field: str  # filer, year, quarter, form
    values: tuple[int | str, ...]
    text: str
    start: int
    end: int
    dropped: bool = False  # it would have left no row


@dataclass(frozen=True, slots=True)
class Inference:
    filters: Filters  # those given, with what was inferred and not dropped
    found: tuple[Inferred, ...] = ()


def infer(question: str, companies: Companies, given: Filters, count: Callable[[Filters], int]) -> Inference:
    """`count` tells how many rows a filter keeps."""
    named = [Named("filer", m.filers, m.start, m.end) for m in companies.mentions(question)]
    named += [one for one in (*periods(question), *forms(question)) if one.values]
    named = [one for one in named if all(getattr(given, field) is None for field in _SAID_BY[one.field])]
    values = {field: _joined(named, field) for field in FIELDS}
    values = {field: found for field, found in values.items() if 0 < len(found) <= MOST_VALUES}
    dropped = _dropped(values, given, count)
    kept = {field: found for field, found in values.items() if field not in dropped}
    filters: Any = kept
    shown = [Inferred(n.field, n.values, question[n.start : n.end], n.start, n.end, n.field not in kept) for n in named]
    return Inference(replace(given, **filters), tuple(sorted(shown, key=lambda one: (one.start, one.field))))


def _joined(named: list[Named], field: str) -> tuple[int | str, ...]:
    return tuple(sorted({value for one in named if one.field == field for value in one.values}, key=str))


def _dropped(values: dict[str, tuple[int | str, ...]], given: Filters, count: Callable[[Filters], int]) -> tuple[str, ...]:
    """The fewest fields without which rows are left, the least sure ones first; all of them where there is no row anyway."""
    there = [field for field in FIELDS if field in values]
    for size in range(len(there)):
        for fields in combinations(there, size):
            left: Any = {field: found for field, found in values.items() if field not in fields}
            if count(replace(given, **left)):
                return fields
    return tuple(there)
