"""Some filings of a lake with their main documents, chosen by a seed, for whoever makes questions of them.

What is read is bounded by how many filings are chosen, never by the lake: the rows of `filings` are looked through, texts are read of the
chosen ones alone, a few at a time. Of each company come annual reports of two years in a row, a quarterly one, a current one, and again.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

from edgarmill.eval.locate import Source, exact_places
from edgarmill.schemas.parts import known_table
from edgarmill.schemas.records import FactRow, Filing, Gold, Section
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.tables import pylist

TURNS = ("10-K", "10-K", "10-Q", "8-K")
AT_ONCE = 16  # filings whose texts are held, more only where one company has more
FILING = ("accession", "form", "family", "amends", "ciks", "company", "filed_on", "period_on", "fiscal_year", "status")


class Piece(NamedTuple):
    """An element, as far as questions need it. `grid`: of a table, JSON."""

    kind: str
    start: int
    end: int
    grid: str | None


@dataclass(frozen=True)
class Told:
    """One filing with its main document; pieces and sections in the order of the text."""

    filing: Filing
    source: Source
    pieces: Sequence[Piece]
    facts: Sequence[FactRow]

    def text(self, start: int, end: int) -> str:
        """A range of the document, on one line."""
        return " ".join(self.source.text[start:end].split())

    def section_at(self, place: int) -> Section | None:
        return next((s for s in self.source.sections if s.start <= place < s.end), None)

    def gold(self, start: int, end: int, kind: str = "text") -> dict[str, Any] | None:
        """The range as evidence, or None where it would not be found again just there."""
        quote = " ".join(self.source.text[start:end].replace(" | ", " ").split())
        section = self.section_at(start)
        part, item = (section.part, section.item) if section else ("", "")
        gold = Gold(self.filing.accession, quote, part, item, type=kind, start=start)
        if not any(place.start == start for place in exact_places(gold, [self.source])):
            return None
        return {"accession": self.filing.accession, "quote": quote, "part": part, "item": item, "type": kind, "start": start}

    @property
    def period(self) -> str:
        of = self.filing
        if of.family == "8-K":
            return f"on {said(of.filed_on or of.period_on)}"
        return f"the quarter ended {said(of.period_on)}" if of.family == "10-Q" else f"fiscal {of.fiscal_year}"


def said(day: date | None) -> str:
    return f"{day:%B} {day.day}, {day.year}" if day else ""


def told(snapshot: Snapshot, filings: int, order: random.Random) -> Iterator[list[Told]]:
    """About so many filings, company by company; fewer where the lake has fewer. The same for the same lake and seed."""
    waiting: list[list[Filing]] = []
    for company in _chosen(snapshot, filings, order):
        if waiting and len(company) + sum(map(len, waiting)) > AT_ONCE:
            yield from _read(snapshot, waiting)
            waiting = []
        waiting.append(company)
    if waiting:
        yield from _read(snapshot, waiting)


def _chosen(snapshot: Snapshot, most: int, order: random.Random) -> list[list[Filing]]:
    by_company: dict[str, list[Filing]] = defaultdict(list)
    for row in pylist(snapshot.read("filings", FILING)):
        filing: Filing = known_table("filings").record_of(row)
        if filing.status == "parsed" and filing.company and not filing.amends and _dated(filing):
            by_company[filing.ciks[0] if filing.ciks else filing.company].append(filing)
    names = sorted(by_company)
    order.shuffle(names)
    each = max(len(TURNS), most // max(1, len(names)))
    chosen: list[list[Filing]] = []
    for name in names:
        if sum(map(len, chosen)) >= most:
            break
        chosen.append(_in_turn(by_company[name], order)[:each])
    return chosen


def _dated(filing: Filing) -> bool:
    """Whether a question can say which period is meant."""
    known = {"10-K": filing.fiscal_year, "10-Q": filing.period_on, "8-K": filing.filed_on or filing.period_on}
    return known.get(filing.family) is not None


def _in_turn(filings: Sequence[Filing], order: random.Random) -> list[Filing]:
    """Annual reports from some year on, so that each second one follows the one before; the others as they fall."""
    ordered = sorted(filings, key=lambda f: (f.fiscal_year or 0, f.accession))
    waiting = {family: [filing for filing in ordered if filing.family == family] for family in TURNS}
    first = order.randrange(max(1, len(waiting["10-K"]) - 1))
    waiting["10-K"] = waiting["10-K"][first:] + waiting["10-K"][:first]
    for family in ("10-Q", "8-K"):
        order.shuffle(waiting[family])
    found: list[Filing] = []
    while any(waiting.values()):
        found += [waiting[family].pop(0) for family in TURNS if waiting[family]]
    return found


def _read(snapshot: Snapshot, companies: Sequence[Sequence[Filing]]) -> Iterator[list[Told]]:
    filings = {filing.accession: filing for company in companies for filing in company}
    rows = _documents(snapshot, filings)
    documents = [row["document_id"] for row in rows.values()]
    pieces, sections, facts = _by_document(snapshot, sorted(filings), frozenset(documents))
    for company in companies:
        yield [_one(filing, rows[filing.accession], pieces, sections, facts) for filing in company if filing.accession in rows]


def _documents(snapshot: Snapshot, filings: Mapping[str, Filing]) -> dict[str, dict[str, Any]]:
    """The main document of each filing that has a text."""
    columns = ("accession", "document_id", "sequence", "type", "text")
    found: dict[str, dict[str, Any]] = {}
    for row in pylist(snapshot.read("documents", columns, _of(sorted(filings)))):
        accession = row["accession"]
        before, form = found.get(accession), filings[accession].form
        if row["text"].strip() and (before is None or _rank(row, form) < _rank(before, form)):
            found[accession] = row
    return found


def _rank(row: Mapping[str, Any], form: str) -> tuple[bool, int]:
    return row["type"] != form, row["sequence"]


def _by_document(snapshot: Snapshot, accessions: Sequence[str], documents: frozenset[str]) -> tuple[
        dict[str, list[Piece]], dict[str, list[Section]], dict[str, list[FactRow]]]:
    pieces: dict[str, list[Piece]] = defaultdict(list)
    sections: dict[str, list[Section]] = defaultdict(list)
    facts: dict[str, list[FactRow]] = defaultdict(list)
    for row in pylist(snapshot.read("elements", ("document_id", *Piece._fields), _of(accessions))):
        if row["document_id"] in documents:
            pieces[row["document_id"]].append(Piece(*(row[name] for name in Piece._fields)))
    for section in snapshot.records("sections", _of(accessions)):
        sections[section.document_id].append(section)
    import pyarrow.compute as pc

    for fact in snapshot.records("facts", _of(accessions) & (pc.field("dimensions") == "{}")):
        facts[fact.document_id].append(fact)
    return pieces, sections, facts


def _of(accessions: Sequence[str]) -> Any:
    import pyarrow.compute as pc

    return pc.field("accession").isin(list(accessions))


def _one(filing: Filing, row: Mapping[str, Any], pieces: Mapping[str, list[Piece]], sections: Mapping[str, list[Section]],
         facts: Mapping[str, list[FactRow]]) -> Told:
    name = row["document_id"]
    ordered = tuple(sorted(sections.get(name, ()), key=lambda s: (s.start, s.ordinal)))
    return Told(filing, Source(name, row["type"], row["text"], ordered), sorted(pieces.get(name, ()), key=lambda p: (p.start, p.end)),
                sorted(facts.get(name, ()), key=lambda f: f.ordinal))
