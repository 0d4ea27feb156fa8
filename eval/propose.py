"""Questions proposed from what a lake holds, for a team that has none yet: templates over facts, tables and sections.

A quote is taken from the document's text at a known place and is proposed only if `locate` finds it there again, exactly. The records are
of our own form (questions/filings.py); `kind` says which template made them, and that none was written by a person. They ask for what is
easy to locate, so figures over them are higher than over questions of people: good to begin with and to see a version break, no more.
"""

from __future__ import annotations

import json
import os
import random
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from edgarmill.eval.printed import OF_A_DAY, printed
from edgarmill.eval.told import Piece, Told, said, told
from edgarmill.schemas.errors import UsageError
from edgarmill.schemas.ids import digest
from edgarmill.schemas.records import FactRow, Section
from edgarmill.schemas.snapshot import Snapshot

LEAST_FILINGS, MOST_FILINGS = 24, 500  # that are looked at; a question wanted is a filing, between these
EACH = 3  # proposals of a kind from a filing
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
MARKET = r"interest rate|currenc|exchange|commodit|price"
# What is asked of a section, and what the passage that answers it must speak of.
SECTIONS: Mapping[tuple[str, str], tuple[str, str]] = {
    ("10-K", "2"): ("Which properties does {c} use, as told in its {f} for {p}?", r"propert|square|office|facilit|headquarter|lease"),
    ("10-K", "3"): ("Which legal proceedings does {c} report in its {f} for {p}?", r"proceeding|litigation|lawsuit|court|claim"),
    ("10-K", "1C"): ("How does {c} manage the risks of cybersecurity, according to its {f} for {p}?", r"cyber|information security"),
    ("10-K", "5"): ("What does {c} say of dividends in its {f} for {p}?", r"dividend"),
    ("10-K", "7A"): ("To which market risks was {c} exposed, according to its {f} for {p}?", MARKET),
    ("10-K", "9A"): ("What did the management of {c} conclude about its controls in {p}?", r"conclu|effective"),
    ("10-Q", "3"): ("To which market risks was {c} exposed in {p}?", MARKET),
    ("10-Q", "4"): ("What did {c} conclude about its disclosure controls in {p}?", r"conclu|effective"),
    ("8-K", "1.01"): ("Which agreement did {c} enter into, as reported {p}?", r"agreement"),
    ("8-K", "2.01"): ("Which purchase or sale did {c} complete, as reported {p}?", r"complet|acqui|sale|sold|merge"),
    ("8-K", "2.02"): ("Which results did {c} announce {p}?", r"result|earnings"),
    ("8-K", "4.01"): ("Which change of its auditor did {c} report {p}?", r"account|audit"),
    ("8-K", "5.02"): ("Which change among its directors or officers did {c} report {p}?", r"direct|officer|president|appoint|resign|elect"),
    ("8-K", "5.07"): ("On what did the shareholders of {c} vote, as reported {p}?", r"vot|elect|ratif|approv|propos"),
    ("8-K", "8.01"): ("Which other event did {c} report {p}?", r""),
}
REASONS = r"\b(?:increase|decrease|due to|primarily|driven|compared (?:to|with)|resulted from|offset)"
SUMMARIES: Mapping[tuple[str, str], tuple[str, str]] = {
    ("10-K", "1"): ("Give an outline of the business of {c}, as described in its {f} for {p}.", r""),
    ("10-K", "7"): ("Summarise what drove the results of {c} in {p}.", REASONS),
    ("10-Q", "2"): ("Summarise what drove the results of {c} in {p}.", REASONS),
}
# Passages that answer nothing: what the report is, where else to look.
ASIDE = re.compile(r"forward-looking|incorporated (?:herein )?by reference|in conjunction with|intended to (?:promote|help|assist)|refer to"
                   r"|referred to|(?:when|as) used (?:in|herein)|the terms? [“\"]|additional information|\bsee (?:Note|Item|Part|[“\"])"
                   r"|set forth (?:in|under)|maintains? an? (?:inter|web)|public accounting firm", re.I)
RISK = "In its {f} for {p}, {c} warns: “{h}” What reasons or consequences does it give?"


LENGTHS = {"10-K": range(350, 381), "10-Q": range(80, 101)}  # days
PLURAL = re.compile(r"(?:assets|liabilities|revenues|earnings|net sales|inventories|equivalents|earnings per share)$")
# A heading that says a risk, not "Risks of Our Business".
SENTENCE = re.compile(r"(?=.*\b(?:may|might|can|could|will|would|if|is|are|has|have|depends?|face|rely|subject)\b)[A-Z].{38,280}[a-z.)]")


class Figure(NamedTuple):
    name: str  # of its concept, without the taxonomy
    fact: FactRow
    gold: dict[str, Any]


class Proposal(NamedTuple):
    kind: str
    company: str
    record: dict[str, Any]


def proposed(snapshot: Snapshot, wanted: int = 60, seed: int = 1) -> list[dict[str, Any]]:
    """At most so many records, the same for the same lake and seed: of every kind about as many, and of as many companies as there are."""
    order = random.Random(seed)
    found: dict[str, Proposal] = {}
    for company in told(snapshot, min(max(wanted, LEAST_FILINGS), MOST_FILINGS), order):
        figures = [list(_figures(one)) for one in company]
        made = [*_changes(company, figures)]
        for one, own in zip(company, figures, strict=True):
            made += [*_values(one, _few(own, order)), *_rows(one, order), *_risks(one, order), *_sections(one), *_summaries(one)]
        for proposal in made:
            found.setdefault(proposal.record["question"], proposal)
    return [proposal.record for proposal in _chosen(list(found.values()), wanted, order)]


def written(records: Sequence[Mapping[str, Any]], path: str) -> None:
    """The records as JSONL, whole or not at all. Raises UsageError where there are none or the file cannot be written."""
    if not records:
        todo = "Ingest 10-K, 10-Q or 8-K filings with sections or facts first."
        raise UsageError("the lake holds nothing that the templates could ask for", path, todo)
    target = Path(path)
    try:
        handle, part = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
            Path(part).chmod(0o644)
            os.replace(part, target)
        finally:
            Path(part).unlink(missing_ok=True)
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


def _made(kind: str, told: Told, question: str, category: str, answer: str, gold: Sequence[dict[str, Any] | None]) -> Iterator[Proposal]:
    if gold and all(gold):
        of = told.filing
        record = {"id": f"t-{digest(question, *(g['quote'] for g in gold if g))[:12]}", "question": question, "category": category,
                  "answer": answer, "gold": list(gold), "kind": f"template:{kind}", "company": of.company, "form": of.form,
                  "period": str(of.period_on or of.fiscal_year)}
        yield Proposal(kind, of.company or "", record)


def _few(found: Sequence[Any], order: random.Random) -> list[Any]:
    return order.sample(found, min(EACH, len(found)))


def _says(told: Told, template: str, **more: str) -> str:
    return template.format(c=told.filing.company, f=told.filing.form, p=told.period, **more)


def _figures(told: Told) -> Iterator[Figure]:
    """Figures of the filing's own period and company as a whole, each with the row that it is printed in; the first row of a concept."""
    done: set[str] = set()
    for fact in told.facts:
        name = fact.concept.rpartition(":")[2]
        if name in FIGURES and name not in done and _own(told, fact) and (gold := _row(told, fact, FIGURES[name][1])):
            done.add(name)
            yield Figure(name, fact, gold)


def _own(told: Told, fact: FactRow) -> bool:
    """Whether the fact is a printed one of the filing's period."""
    of = told.filing
    if of.period_on is None or fact.nil or fact.hidden or fact.number is None or not fact.text.strip():
        return False
    if fact.instant_on:
        return fact.instant_on == of.period_on
    return fact.end_on == of.period_on and (fact.days or 0) in LENGTHS.get(of.family, ())


def _row(told: Told, fact: FactRow, label: str) -> dict[str, Any] | None:
    shown = re.compile(rf"(?<![\d.,]){re.escape(fact.text.strip())}(?![\d]|[.,]\d)")
    for piece in (one for one in told.pieces if one.kind == "table"):
        at = piece.start
        for line in told.source.text[piece.start : piece.end].split("\n"):
            cells = line.partition(" | ")
            if shown.search(cells[2]) and re.search(label, cells[0], re.I):
                return told.gold(at, at + len(line), "table")
            at += len(line) + 1
    return None


def _amount(fact: FactRow, number: float) -> str:
    unit = fact.unit or ""
    amount = f"{number:,.2f}" if "/" in unit else f"{number:,.0f}"
    return f"${amount}".replace("$-", "-$") if unit.startswith("USD") else f"{amount} {unit}".strip()


def _asked(what: str, company: str | None, when: str) -> str:
    return f"{'What were' if PLURAL.search(what) else 'What was'} the {what} of {company} {when}?"


def _values(told: Told, figures: Sequence[Figure]) -> Iterator[Proposal]:
    for name, fact, gold in figures:
        when = f"in {told.period}"
        if fact.instant_on:
            when = f"at the end of {told.period}" if told.filing.family == "10-K" else f"on {said(fact.instant_on)}"
        question = _asked(FIGURES[name][0], told.filing.company, when)
        yield from _made("fact-value", told, question, "single-hop", _amount(fact, fact.number or 0), [gold])


def _changes(told: Sequence[Told], figures: Sequence[Sequence[Figure]]) -> Iterator[Proposal]:
    """A figure in the annual reports of two years in a row, each as its own report has it."""
    annual = {one.filing.fiscal_year or 0: (one, own) for one, own in zip(told, figures, strict=True) if one.filing.family == "10-K"}
    for before, after in pairwise(sorted(annual)):
        old = {figure.name: figure for figure in annual[before][1]} if after - before == 1 else {}
        for name, fact, gold in annual[after][1]:
            if name in old and fact.unit == old[name].fact.unit:
                yield from _change(annual[after][0], FIGURES[name][0], old[name], Figure(name, fact, gold))


def _change(told: Told, what: str, old: Figure, new: Figure) -> Iterator[Proposal]:
    year = told.filing.fiscal_year or 0
    question = f"By how much did the {what} of {told.filing.company} change from fiscal {year - 1} to fiscal {year}?"
    now, before = new.fact.number or 0, old.fact.number or 0
    moved = f"{'up' if now > before else 'down'} by {_amount(new.fact, abs(now - before))}" if now != before else "no change"
    answer = f"{moved}, from {_amount(old.fact, before)} to {_amount(new.fact, now)}"
    yield from _made("fact-change", told, question, "multi-hop", answer, [old.gold, new.gold])


def _rows(told: Told, order: random.Random) -> Iterator[Proposal]:
    """Of a filing without facts: figures as its tables print them, of its year, and against the year before in the same row."""
    for row in _few([] if told.facts else printed(told), order):
        year = told.filing.fiscal_year or 0
        unit = f" ({row.unit})" if row.unit else ""
        gold = told.gold(row.start, row.end, "table")
        question = _asked(row.label, told.filing.company, f"{'at the end of' if row.label in OF_A_DAY else 'in'} fiscal {year}")
        yield from _made("table-value", told, question, "single-hop", f"{row.amounts[year]}{unit}", [gold])
        if year - 1 in row.amounts:
            question = f"How did the {row.label} of {told.filing.company} change from fiscal {year - 1} to fiscal {year}?"
            answer = f"from {row.amounts[year - 1]} to {row.amounts[year]}{unit}"
            yield from _made("table-change", told, question, "single-hop", answer, [gold])


def _passages(told: Told, section: Section, subject: str = "") -> list[Piece]:
    """Paragraphs of fitting length that speak of the subject, a pattern."""
    fitting = [one for one in _inside(told, section) if one.kind == "paragraph" and LEAST <= one.end - one.start <= MOST]
    texts = [told.text(one.start, one.end) for one in fitting]
    return [one for one, text in zip(fitting, texts, strict=True) if re.search(subject, text, re.I) and not ASIDE.search(text)]


def _inside(told: Told, section: Section) -> list[Piece]:
    return [one for one in told.pieces if section.start <= one.start and one.end <= section.end]


def _risks(told: Told, order: random.Random) -> Iterator[Proposal]:
    pairs = []
    for section in (s for s in told.source.sections if s.item == "1A" and told.filing.family in ("10-K", "10-Q")):
        for before, one in pairwise(_inside(told, section)):
            whole = one.kind == "paragraph" and LEAST <= one.end - one.start <= MOST
            if whole and before.kind == "heading" and SENTENCE.fullmatch(told.text(before.start, before.end)):
                pairs.append((before, one))
    for before, one in _few(pairs, order):
        question = _says(told, RISK, h=told.text(before.start, before.end))
        yield from _made("risk", told, question, "single-hop", told.text(one.start, one.end)[:300], [told.gold(one.start, one.end)])


def _sections(told: Told) -> Iterator[Proposal]:
    for section, template, subject in _asked_of(told, SECTIONS):
        if passages := _passages(told, section, subject)[:4]:
            best = max(passages, key=lambda one: one.end - one.start)
            answer = told.text(best.start, best.end)[:300]
            yield from _made("section", told, _says(told, template), "single-hop", answer, [told.gold(best.start, best.end)])


def _summaries(told: Told) -> Iterator[Proposal]:
    for section, template, subject in _asked_of(told, SUMMARIES):
        passages = _passages(told, section, subject)[:3]
        if len(passages) >= 2:
            gold = [told.gold(one.start, one.end) for one in passages]
            answer = " ".join(told.text(one.start, one.end)[:150] for one in passages)
            yield from _made("summary", told, _says(told, template), "summary", answer, gold)


def _asked_of(told: Told, templates: Mapping[tuple[str, str], tuple[str, str]]) -> Iterator[tuple[Section, str, str]]:
    """Sections with what is asked of them; of a quarterly report those of its first part alone."""
    for section in told.source.sections:
        template = templates.get((told.filing.family, section.item))
        if template and (told.filing.family != "10-Q" or section.part == "I"):
            yield section, *template
