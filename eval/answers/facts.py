"""Questions across companies go to the table of XBRL facts: the model fills a small form, checked against what the lake has, and the answer
is computed and worded by us, each figure cited by accession, concept and context (eval/answering/figures.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgarmill.eval.answering.desk import Desk
from edgarmill.eval.answering.drafts import Draft, Given
from edgarmill.eval.answering.figures import MOST_CITED, Figure, Looked, Row, catalog_of, checked, looked_up

VERSION = 1
INSTRUCTION = (
    "You put questions about companies' figures to a table of facts that they reported to the U.S. Securities and Exchange Commission. You "
    "are shown concepts of it and companies. Fill in one JSON object with seven keys: answerable, false where no concept is what is asked; "
    "concept, as shown; period, a fiscal year as 2024, a quarter as 2024Q3, a day, or a range as 2020..2024; companies, a list of tickers "
    'or CIKs as shown, empty for all; aggregation: "none" for the figures themselves, "highest", "lowest", "sum", "average", "count" (of '
    'companies) or "change" (of each company over the range); order: "largest", "smallest", "oldest" or "newest" first; and limit, how '
    "many figures are wanted, 1 to 50."
)
PROMPTS = (INSTRUCTION,)
FORMS = (Figure,)
_NAMED = {"highest": "highest", "lowest": "lowest", "sum": "sum", "average": "average", "count": "companies that report it",
          "change": "change"}


def answer(question: str, desk: Desk) -> Draft:
    lake = desk.reader.lake
    catalog = catalog_of(lake.root, lake.numbers()[-1])
    if not catalog.concepts:
        return _refusal(desk, "the lake has no facts: HTML filings with inline XBRL bring them")
    shown = catalog.shown(question, desk.reader.companies)
    asked = desk.ask(checked(catalog), INSTRUCTION, question, shown)
    if not asked.answerable:
        return _refusal(desk, "no concept is what is asked")
    found = looked_up(catalog, asked)
    if len(found.units) > 1 and not found.rows:
        return _refusal(desk, f"the figures are in several units ({', '.join(found.units[:5])})")
    if not found.rows:
        return _refusal(desk, f"no figure of {catalog.concept_of(asked.concept)} for {asked.period}")
    return _worded(asked, catalog.concept_of(asked.concept), found, desk)


def _refusal(desk: Desk, why: str) -> Draft:
    desk.notes.append(why)
    return Draft("", (), (), refused=True)


def _worded(asked: Figure, concept: str, found: Looked, desk: Desk) -> Draft:
    used = list(dict.fromkeys(n for row in found.rows for n in row.of))
    if len(used) > MOST_CITED:
        desk.notes.append(f"of {len(used):,} facts behind the answer {MOST_CITED} are cited")
    numbers = {n: place for place, n in enumerate(used[:MOST_CITED], 1)}
    given = tuple(_given(place, found.facts[n]) for n, place in numbers.items())
    claims = tuple((_sentence(row, asked, concept, found), tuple(numbers[n] for n in row.of if n in numbers)) for row in found.rows)
    head = "; ".join(_short(row, asked, found) for row in found.rows)
    return Draft(f"{head} ({concept}, {asked.period})", claims, given)


def _short(row: Row, asked: Figure, found: Looked) -> str:
    unit = "" if asked.aggregation == "count" else f" {found.facts[row.of[0]]['unit'] or ''}".rstrip()
    return f"{row.figure}{unit}" + (f", {row.company}" if row.company else "") + (f", {row.fiscal}" if row.fiscal else "")


def _sentence(row: Row, asked: Figure, concept: str, found: Looked) -> str:
    what = _NAMED.get(asked.aggregation)
    of = f" of {len(row.of)} figures" if asked.aggregation in ("sum", "average", "count") else ""
    return f"{concept} for {asked.period}{f', {what}' if what else ''}{of}: {_short(row, asked, found)}"


def _given(number: int, fact: Mapping[str, Any]) -> Given:
    context = {"entity": fact["entity"], "start_on": fact["start_on"], "end_on": fact["end_on"], "instant_on": fact["instant_on"],
               "dimensions": fact["dimensions"]}
    told = {"concept": fact["concept"], "context": {name: value if value is None or isinstance(value, dict) else str(value)
                                                    for name, value in context.items()},
            "unit": fact["unit"], "value": fact["value"], "company": fact["company"], "ordinal": fact["ordinal"]}
    words = f"{fact['company']}: {fact['concept']} {fact['value']} {fact['unit'] or ''}, {fact['fiscal'] or ''}".strip(", ")
    return Given(number, fact["accession"], fact["document_id"], words, fact=told)
