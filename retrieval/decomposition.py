"""A question made into the questions that are searched: reworded, taken apart by rule or by a model, asked again after a look at what came.

Each part has its own filters. What the parts find is fused by reciprocal rank, so that each has its turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import Field

from edgarmill.retrieval.adviser import Adviser, Line, Said, line
from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.inference import Inference, Inferred
from edgarmill.schemas.records import Hit

MOST_PARTS = 12  # by rule
MOST_QUESTIONS, MOST_QUERIES = 6, 3  # that a model may write
LOOKED_AT, LONGEST_LOOK = 8, 700  # hits that it is shown, characters of each
_SPLIT = (
    "You plan a search in filings with the U.S. Securities and Exchange Commission. Split the question into the questions that must be "
    "looked up, each of one company and one period and complete in itself: it names the company, the period and what is asked. A question "
    f"that needs one look-up stays one. Answer with one JSON object with one key, questions: a list of 1 to {MOST_QUESTIONS}."
)
_REWORD = (
    "You search filings with the U.S. Securities and Exchange Commission. Put the question in the words in which such a filing would speak "
    "of it: its terms, its captions, the company and the period as given. Answer with one JSON object with one key, query: one line."
)
_PASSAGE = (
    "Write the passage of a filing with the U.S. Securities and Exchange Commission that would answer the question, in its style, in at "
    "most 100 words; leave figures out that you cannot know. Answer with one JSON object with one key, passage: one line."
)
_LOOK = (
    "You judge what a search in filings gave for a question. Say whether it is enough to answer all of it; more: it is right as far as it "
    "goes and a part is missing; or weak: it is of something else. For more and weak give new queries for what is missing, in other words "
    'than before, each complete in itself. Answer with one JSON object with two keys: verdict ("enough", "more" or "weak") and queries: '
    f"a list of 0 to {MOST_QUERIES}."
)
_YEARS = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class Part:
    """What is searched. `why`: question (as it was asked), rule, model, terms, or the round that asked for it: round 2. `statement`: that
    the terms are lines of."""

    question: str
    filters: Filters
    why: str = "question"
    statement: str = ""


class Questions(Said):
    questions: tuple[Line, ...] = Field(min_length=1, max_length=MOST_QUESTIONS)


class Query(Said):
    query: Line


class WrittenPassage(Said):
    passage: Line


class Look(Said):
    verdict: Literal["enough", "more", "weak"]
    queries: tuple[Line, ...] = Field(max_length=MOST_QUERIES)


def by_rule(question: str, inference: Inference, count: Callable[[Filters], int]) -> list[Part]:
    """One part for each company and year that the question names, without the others' names; the question where it names one of each.

    Beyond MOST_PARTS the years stay together. A part whose filters keep no row (`count`) is left out.
    """
    named = [one for one in inference.found if one.field == "filer" and not one.dropped]
    companies = _units(named)
    years = _units([one for one in inference.found if one.field == "year" and not one.dropped])
    if len(companies) * max(1, len(years)) > MOST_PARTS:
        years = []
    made: list[Part] = []
    for company in companies or [()]:
        text = _without([one for one in named if one.values != company], question)
        mine = replace(inference.filters, filer=tuple(map(str, company))) if company else inference.filters
        made += [Part(text, replace(mine, year=tuple(map(int, year))) if year else mine, "rule") for year in years or [()]]
    if len(made) == 1 or len(companies) > MOST_PARTS:
        return [Part(question, inference.filters)]
    return [part for part in made if count(part.filters)] or [Part(question, inference.filters)]


def _units(found: Sequence[Inferred]) -> list[tuple[int | str, ...]]:
    """Each company once, each year once: a range is its years, but a month that lies in one of two fiscal years is one unit."""
    units: dict[tuple[int | str, ...], None] = {}
    for one in found:
        ranged = one.field == "year" and (len(one.values) > 2 or len(_YEARS.findall(one.text)) > 1)
        units |= dict.fromkeys([(value,) for value in one.values] if ranged else [one.values])
    return [unit for unit in units if len(unit) == 1 or not any((value,) in units for value in unit)]


def _without(others: Sequence[Inferred], question: str) -> str:
    """The question without the names of other companies."""
    for one in sorted(others, key=lambda one: -one.start):
        question = f"{question[: one.start]} {question[one.end :]}"
    return " ".join(re.sub(r"(?<=\s)['’]s?\b", " ", question).split())


def by_model(question: str, adviser: Adviser, filters_of: Callable[[str], Filters]) -> list[Part]:
    """As the model splits it; [] where it does not."""
    said = adviser.ask("decompose", Questions, _SPLIT, question)
    return [Part(one, filters_of(one), "model") for one in dict.fromkeys(said.questions)] if said else []


def reworded(question: str, adviser: Adviser) -> str | None:
    """The question in a filing's words."""
    said = adviser.ask("rewrite", Query, _REWORD, question)
    return said.query if said else None


def imagined(question: str, adviser: Adviser) -> str | None:
    """A passage that would answer it (HyDE, Gao et al. 2023): its vector is searched in place of the question's."""
    said = adviser.ask("rewrite", WrittenPassage, _PASSAGE, question)
    return said.passage if said else None


def looked(question: str, hits: Sequence[Hit], asked: Sequence[str], adviser: Adviser) -> Look | None:
    """What the model thinks of what came back, and what it would ask; None where it says nothing of use."""
    shown = [{"filing": f"{hit.company or hit.accession}, {hit.form}, period {hit.period_on or '-'}",
              "section": line(" ".join((hit.part, hit.item, hit.section_title)), 120), "text": line(hit.text, LONGEST_LOOK)}
             for hit in hits[:LOOKED_AT]]
    before = [{"asked before": line(one, 300)} for one in asked]
    return adviser.ask("rounds", Look, _LOOK, question, [*before, *shown])
