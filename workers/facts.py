"""Facts as rows of the table `facts`, and back."""

from __future__ import annotations

import json
import math
from datetime import date

from edgarmill.schemas.records import Document, FactRow
from edgarmill.workers.parse.parsed import Fact

LONGEST = 4000  # characters of a text that are kept: the whole of it is in the document


def row_of(document: Document, ordinal: int, fact: Fact) -> FactRow:
    """A fact as stored. A date that no calendar has, 2024-02-30, is null and told in `warning`."""
    warning = fact.warning
    start, end, instant = (_day(day) for day in (fact.start, fact.end, fact.instant))
    if (start, end, instant).count(None) != (fact.start, fact.end, fact.instant).count(None):
        warning = warning or f"no date: {fact.start or ''} {fact.end or ''} {fact.instant or ''}"
    return FactRow(
        document.document_id,
        document.accession,
        ordinal,
        fact.concept,
        fact.entity,
        start,
        end,
        instant,
        (end - start).days + 1 if start and end else None,
        json.dumps(dict(fact.dimensions), ensure_ascii=False, sort_keys=True),
        fact.unit,
        fact.value if fact.value is None or len(fact.value) <= LONGEST else fact.value[:LONGEST],
        _number(fact),
        fact.decimals,
        fact.text[:LONGEST],
        fact.nil,
        fact.hidden,
        tuple(note[:LONGEST] for note in fact.footnotes),
        warning,
    )


def fact_of(row: FactRow) -> Fact:
    """The fact behind a row; long texts as far as they are kept."""
    start, end, instant = (day.isoformat() if day else None for day in (row.start_on, row.end_on, row.instant_on))
    dimensions = tuple(sorted(json.loads(row.dimensions).items()))
    return Fact(row.concept, row.entity, start, end, instant, dimensions, row.unit, row.value, row.decimals, row.text, row.nil, row.hidden,
                row.footnotes, row.warning)


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


def _number(fact: Fact) -> float | None:
    """The nearest double; null for what is no number or beyond all doubles."""
    if fact.unit is None or fact.value is None or fact.warning and not fact.value.lstrip("-").replace(".", "", 1).isdecimal():
        return None
    try:
        found = float(fact.value)
    except ValueError:
        return None
    return found if math.isfinite(found) else None
