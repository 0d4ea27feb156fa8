"""Questions proposed from what a lake holds, for a team that has none yet: templates over facts and sections, each with its evidence.

A quote is taken from the document's text at a known place and is proposed only if `locate` finds it there again, exactly. The records are
of our own form (questions/filings.py); `kind` says which template made them, and that none was written by a person. They ask for what is
easy to locate, so figures over them are higher than over questions of people: good to begin with and to see a version break, no more.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from edgarmill.eval.locate import Source, locate
from edgarmill.schemas.errors import UsageError
from edgarmill.schemas.ids import digest
from edgarmill.schemas.records import Document, Element, FactRow, Filing, Gold, Section
from edgarmill.schemas.snapshot import Snapshot

FILINGS_EACH = 12  # of a company that are looked at, the newest
LEAST, MOST = 120, 1_500  # characters of a passage

# What a figure is called, and what the label of its row says.
FIGURES: Mapping[str, tuple[str, str]] = {
    "Revenues": ("total revenue", r"revenue|sales"),
    "RevenueFromContractWithCustomerExcludingAssessedTax": ("revenue", r"revenue|sales"),
    "SalesRevenueNet": ("net sales", r"revenue|sales"),
    "GrossProfit": ("gross profit", r"gross (?:profit|margin)"),
    "OperatingIncomeLoss": ("operating income", r"operating (?:income|profit|loss|\(loss\))|(?:income|loss|profit) from operations"),
    "NetIncomeLoss": ("net income", r"net (?:income|earnings|loss|\(loss\))"),
    "EarningsPerShareDiluted": ("diluted earnings per share", r"dilut"),
    "IncomeTaxExpenseBenefit": ("income tax expense", r"income tax|provision for"),
    "InterestExpense": ("interest expense", r"interest"),
    "ResearchAndDevelopmentExpense": ("research and development expense", r"research"),
    "Assets": ("total assets", r"total assets"),
    "Liabilities": ("total liabilities", r"total liabilities"),
    "StockholdersEquity": ("shareholders' equity", r"equity|deficit"),
    "CashAndCashEquivalentsAtCarryingValue": ("cash and cash equivalents", r"cash"),
    "InventoryNet": ("inventories", r"inventor"),
    "LongTermDebtNoncurrent": ("long-term debt", r"debt|notes|borrowings"),
    "NetCashProvidedByUsedInOperatingActivities": ("cash flow from operating activities", r"operating activities|operations"),
    "PaymentsToAcquirePropertyPlantAndEquipment": ("spending on property, plant and equipment", r"property|capital expenditures|plant"),
}
SECTIONS: Mapping[tuple[str, str], str] = {
    ("10-K", "2"): "Which properties does {c} use, as told in its {f} for {p}?",
    ("10-K", "3"): "Which legal proceedings does {c} report in its {f} for {p}?",
    ("10-K", "1C"): "How does {c} manage the risks of cybersecurity, according to its {f} for {p}?",
    ("10-K", "5"): "Where is the stock of {c} traded, and what does its {f} for {p} say of dividends?",
    ("10-K", "7A"): "To which market risks was {c} exposed, according to its {f} for {p}?",
    ("10-K", "9A"): "What did the management of {c} conclude about its controls in {p}?",
    ("10-Q", "3"): "To which market risks was {c} exposed in {p}?",
    ("10-Q", "4"): "What did {c} conclude about its disclosure controls in {p}?",
    ("8-K", "1.01"): "Which agreement did {c} enter into, as reported {p}?",
    ("8-K", "2.01"): "Which purchase or sale did {c} complete, as reported {p}?",
    ("8-K", "2.02"): "Which results did {c} announce {p}?",
    ("8-K", "4.01"): "Which change of its auditor did {c} report {p}?",
    ("8-K", "5.02"): "Which change among its directors or officers did {c} report {p}?",
    ("8-K", "5.07"): "On what did the shareholders of {c} vote, as reported {p}?",
    ("8-K", "8.01"): "Which other event did {c} report {p}?",
}
SUMMARIES: Mapping[tuple[str, str], str] = {
    ("10-K", "1"): "Give an outline of the business of {c}, as described in its {f} for {p}.",
    ("10-K", "7"): "Summarise what drove the results of {c} in {p}.",
    ("10-Q", "2"): "Summarise what drove the results of {c} in {p}.",
}
RISK = "In its {f} for {p}, {c} warns: “{h}” What reasons or consequences does it give?"
REASONS = re.compile(r"\b(?:increase|decrease|due to|primarily|driven|compared (?:to|with)|resulted from|offset)", re.I)


class Proposal(NamedTuple):
    kind: str
    company: str
    record: dict[str, Any]


@dataclass(frozen=True)
class Told:
    """One filing with its main document, in the order of the text."""

    filing: Filing
    source: Source
    elements: Sequence[Element]
    facts: Sequence[FactRow]

    def gold(self, start: int, end: int, kind: str = "text", section: Section | None = None) -> dict[str, Any] | None:
        """The range as evidence, or None where it would not be found again just there."""
        quote = " ".join(self.source.text[start:end].replace(" | ", " ").split())
        part, item = (section.part, section.item) if section else ("", "")
        found = locate(Gold(self.filing.accession, quote, part, item, type=kind, start=start), [self.source])
        if (found.how, found.start) != ("exact", start):
            return None
        return {"accession": self.filing.accession, "quote": quote, "part": part, "item": item, "type": kind, "start": start}

    @property
    def period(self) -> str:
        of = self.filing
        if of.family == "8-K":
            return f"on {of.filed_on or of.period_on}"
        if of.family == "10-Q":
            return f"the quarter ended {of.period_on}"
        return f"fiscal {of.fiscal_year}"

    def says(self, template: str, **more: str) -> str:
        return template.format(c=self.filing.company, f=self.filing.form, p=self.period, **more)


def proposed(snapshot: Snapshot, wanted: int = 60, seed: int = 1) -> list[dict[str, Any]]:
    """At most so many records, the same for the same lake and seed: of every kind about as many, and of as many companies as there are."""
    order = random.Random(seed)
    found: list[Proposal] = []
    for filings in _companies(snapshot, order, wanted):
        told = list(_told(snapshot, filings))
        found += [proposal for one in told for proposal in (*_values(one), *_risks(one), *_sections(one), *_summaries(one))]
        found += _changes(told)
    by_id = {proposal.record["id"]: proposal for proposal in found}
    return [proposal.record for proposal in _chosen([by_id[name] for name in sorted(by_id)], wanted, order)]


def written(records: Sequence[Mapping[str, Any]], path: str) -> None:
    """The records as JSONL, whole or not at all. Raises UsageError where there are none or the file cannot be written."""
    if not records:
        todo = "Ingest 10-K, 10-Q or 8-K filings with sections or facts first."
        raise UsageError("the lake holds nothing that the templates could ask for", path, todo)
    part = Path(f"{path}.part")
    try:
        part.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise UsageError(f"cannot be written ({error.strerror or error})", path, "Name a file in a folder that is there.") from None


def _chosen(found: list[Proposal], wanted: int, order: random.Random) -> list[Proposal]:
    """By turns of each kind, of the company that has the fewest so far."""
    order.shuffle(found)
    waiting: dict[str, list[Proposal]] = defaultdict(list)
    for one in found:
        waiting[one.kind].append(one)
    asked: dict[str, int] = defaultdict(int)
    chosen: list[Proposal] = []
    while len(chosen) < wanted and any(waiting.values()):
        for kind in sorted(kind for kind, ones in waiting.items() if ones):
            one = min(waiting[kind], key=lambda p: asked[p.company])
            waiting[kind].remove(one)
            asked[one.company] += 1
            chosen.append(one)
    return chosen[:wanted]


def _companies(snapshot: Snapshot, order: random.Random, wanted: int) -> Iterator[list[Filing]]:
    """The newest filings of some companies, one company after the other."""
    by_company: dict[str, list[Filing]] = defaultdict(list)
    for filing in snapshot.records("filings"):
        if filing.status == "parsed" and filing.company and filing.family != "other" and (filing.period_on or filing.fiscal_year):
            by_company[filing.ciks[0] if filing.ciks else filing.company].append(filing)
    names = sorted(by_company)
    order.shuffle(names)
    for name in names[: max(8, wanted)]:
        yield sorted(by_company[name], key=lambda f: (str(f.period_on), f.accession))[-FILINGS_EACH:]


def _told(snapshot: Snapshot, filings: Sequence[Filing]) -> Iterator[Told]:
    where = {"accession": [filing.accession for filing in filings]}
    rows = {name: snapshot.records(name, where) for name in ("documents", "elements", "sections", "facts")}
    for filing in filings:
        documents: list[Document] = [d for d in rows["documents"] if d.accession == filing.accession and d.text.strip()]
        if not documents:
            continue
        main = min(documents, key=lambda d: (d.type != filing.form, d.sequence))
        elements, sections, facts = ([row for row in rows[name] if row.document_id == main.document_id]
                                     for name in ("elements", "sections", "facts"))
        ordered = tuple(sorted(sections, key=lambda s: s.start))
        yield Told(filing, Source(main.document_id, main.type, main.text, ordered), sorted(elements, key=lambda e: e.start), facts)


def _made(kind: str, told: Told, question: str, category: str, answer: str, gold: Sequence[dict[str, Any] | None]) -> Iterator[Proposal]:
    if gold and all(gold):
        of = told.filing
        record = {"id": f"t-{digest(question, *(g['quote'] for g in gold if g))[:12]}", "question": question, "category": category,
                  "answer": answer, "gold": list(gold), "kind": f"template:{kind}", "company": of.company, "form": of.form,
                  "period": str(of.period_on or of.fiscal_year)}
        yield Proposal(kind, of.company or "", record)


def _figures(told: Told) -> Iterator[tuple[str, FactRow, dict[str, Any]]]:
    """Figures of the filing's own period and company as a whole, each with the row that it is printed in; the first row of a concept."""
    of, done = told.filing, set()
    long = {"10-K": range(350, 381), "10-Q": range(80, 101)}.get(of.family, range(0))
    for fact in told.facts:
        name = fact.concept.rpartition(":")[2]
        whole = fact.dimensions == "{}" and not fact.nil and not fact.hidden and fact.number is not None and fact.text.strip()
        ours = fact.instant_on == of.period_on if fact.instant_on else fact.end_on == of.period_on and (fact.days or 0) in long
        if name not in FIGURES or name in done or not whole or not ours or of.period_on is None:
            continue
        gold = _row(told, fact, FIGURES[name][1])
        if gold:
            done.add(name)
            yield name, fact, gold


def _row(told: Told, fact: FactRow, label: str) -> dict[str, Any] | None:
    printed = re.compile(rf"(?<![\d.,]){re.escape(fact.text.strip())}(?![\d]|[.,]\d)")
    for element in told.elements:
        if element.kind != "table":
            continue
        at = element.start
        for line in told.source.text[element.start : element.end].split("\n"):
            cells = line.partition(" | ")
            if re.search(label, cells[0], re.I) and printed.search(cells[2]):
                section = next((s for s in told.source.sections if s.start <= at < s.end), None)
                return told.gold(at, at + len(line), "table", section)
            at += len(line) + 1
    return None


def _amount(fact: FactRow) -> str:
    unit = fact.unit or ""
    number = f"{fact.number:,.2f}" if "/" in unit else f"{fact.number:,.0f}"
    return f"${number}".replace("$-", "-$") if unit.startswith("USD") else f"{number} {unit}".strip()


def _when(told: Told, fact: FactRow) -> str:
    if fact.instant_on is None:
        return f"in {told.period}"
    return f"at the end of {told.period}" if told.filing.family == "10-K" else f"on {told.filing.period_on}"


def _values(told: Told) -> Iterator[Proposal]:
    for name, fact, gold in _figures(told):
        verb = "What were" if FIGURES[name][0].endswith(("inventories", "equivalents", "assets", "liabilities")) else "What was"
        question = f"{verb} the {FIGURES[name][0]} of {told.filing.company} {_when(told, fact)}?"
        yield from _made("fact-value", told, question, "single-hop", _amount(fact), [gold])


def _changes(told: Sequence[Told]) -> Iterator[Proposal]:
    """A figure in the annual reports of two years in a row."""
    annual = {one.filing.fiscal_year: one for one in told if one.filing.family == "10-K" and one.filing.fiscal_year}
    years = sorted(year for year in annual if year is not None)
    for before, after in pairwise(years):
        if after - before != 1:
            continue
        old = {name: (fact, gold) for name, fact, gold in _figures(annual[before])}
        for name, fact, gold in _figures(annual[after]):
            if name in old and fact.number is not None and old[name][0].number is not None and fact.unit == old[name][0].unit:
                who, what = annual[after].filing.company, FIGURES[name][0]
                question = f"By how much did the {what} of {who} change from fiscal {before} to fiscal {after}?"
                up = "more" if fact.number >= (old[name][0].number or 0) else "less"
                answer = f"{_amount(fact)} after {_amount(old[name][0])}: {up}"
                yield from _made("fact-change", annual[after], question, "multi-hop", answer, [old[name][1], gold])


def _passages(told: Told, section: Section) -> list[Element]:
    return [e for e in told.elements if section.start <= e.start and e.end <= section.end and e.kind == "paragraph"
            and LEAST <= e.end - e.start <= MOST]


def _risks(told: Told) -> Iterator[Proposal]:
    for section in (s for s in told.source.sections if s.item == "1A" and told.filing.family in ("10-K", "10-Q")):
        inside = [e for e in told.elements if section.start <= e.start and e.end <= section.end]
        for before, element in pairwise(inside):
            head = " ".join(told.source.text[before.start : before.end].split())
            whole = element.kind == "paragraph" and LEAST <= element.end - element.start <= MOST
            if whole and before.kind == "heading" and 40 <= len(head) <= 300:
                text = " ".join(told.source.text[element.start : element.end].split())
                yield from _made("risk", told, told.says(RISK, h=head), "single-hop", text[:300],
                                 [told.gold(element.start, element.end, "text", section)])


def _sections(told: Told) -> Iterator[Proposal]:
    for section in told.source.sections:
        template = SECTIONS.get((told.filing.family, section.item))
        if template is None or (told.filing.family == "10-Q" and section.part != "I"):
            continue
        if passages := _passages(told, section)[:4]:
            best = max(passages, key=lambda e: e.end - e.start)
            text = " ".join(told.source.text[best.start : best.end].split())
            gold = told.gold(best.start, best.end, "text", section)
            yield from _made("section", told, told.says(template), "single-hop", text[:300], [gold])


def _summaries(told: Told) -> Iterator[Proposal]:
    for section in told.source.sections:
        template = SUMMARIES.get((told.filing.family, section.item))
        if template is None or (told.filing.family == "10-Q" and section.part != "I"):
            continue
        passages = _passages(told, section)
        if section.item != "1":
            passages = [e for e in passages if REASONS.search(told.source.text[e.start : e.end])]
        if len(passages) >= 2:
            gold = [told.gold(e.start, e.end, "text", section) for e in passages[:3]]
            answer = " ".join(" ".join(told.source.text[e.start : e.end].split())[:150] for e in passages[:3])
            yield from _made("summary", told, told.says(template), "summary", answer, gold)
