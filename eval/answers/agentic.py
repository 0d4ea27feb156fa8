"""The model writes queries with filters, looks at what came back, and searches again; then it answers from what it found.

A search is a tool call in the form of JSON: a query and filters, checked as a user's are. What it judges weak is set aside and searched for
again in other words, at the last by the question as it was asked without the model's filters; set aside passages are given only where there
are no others. Looks are bounded in number and tokens; when either is used up, it answers from what it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import Field, model_validator

from edgarmill.eval.answering.desk import LOOK, Desk, without_model
from edgarmill.eval.answering.drafts import INSTRUCTION, Draft, Reply, from_passages, shown_passage
from edgarmill.retrieval.adviser import Line, Said
from edgarmill.retrieval.budget import within
from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.passages import Passage
from edgarmill.retrieval.retriever import Retriever
from edgarmill.schemas.errors import MalformedAnswer, OverCap
from edgarmill.schemas.records import Hit

VERSION = 1
MOST_SEARCHES, MOST_VALUES = 3, 20  # of one turn; of one filter
SHOWN, LONGEST = 12, 500  # passages of a look, characters of each
_TOOL = (
    "A search is an object with query, the words to look for, and five filters, each a list, empty where it is not to filter: tickers, "
    'forms ("10-K", "10-Q", "8-K"), years (fiscal), quarters (1 to 4) and items ("7", "1A", "2.02").'
)
PLAN = (
    "You search filings with the U.S. Securities and Exchange Commission for what answers a question. Write the searches to begin with, "
    f"each of one thing. {_TOOL} Answer with one JSON object with one key, searches: a list of 1 to {MOST_SEARCHES}."
)
TURN = (
    "You search filings with the U.S. Securities and Exchange Commission for what answers a question. You are shown the searches so far "
    'and passages that they found. Say whether these are "enough" to answer all of it; "more" where a part is missing; or "weak" where '
    f"the last searches found something else. For more and weak write new searches, in other words or with other filters. {_TOOL} Answer "
    f"with one JSON object with two keys: verdict and searches, a list of 0 to {MOST_SEARCHES}."
)


class Search(Said):
    query: Line
    tickers: tuple[str, ...] = Field(max_length=MOST_VALUES)
    forms: tuple[str, ...] = Field(max_length=MOST_VALUES)
    years: tuple[int, ...] = Field(max_length=MOST_VALUES)
    quarters: tuple[int, ...] = Field(max_length=MOST_VALUES)
    items: tuple[str, ...] = Field(max_length=MOST_VALUES)

    @model_validator(mode="after")
    def _filters_hold(self) -> Search:
        _ = self.within(Filters()).expression  # a UsageError is a ValueError: its words go back to the model
        return self

    def within(self, given: Filters) -> Filters:
        """Its filters, where the caller has given none of that kind."""
        mine: dict[str, Any] = {"ticker": self.tickers, "form": self.forms, "year": self.years, "quarter": self.quarters,
                                "item": self.items}
        return replace(given, **{name: value for name, value in mine.items() if value and getattr(given, name) is None})


class Plan(Said):
    searches: tuple[Search, ...] = Field(min_length=1, max_length=MOST_SEARCHES)


class Turn(Said):
    verdict: Literal["enough", "more", "weak"]
    searches: tuple[Search, ...] = Field(max_length=MOST_SEARCHES)


PROMPTS = (PLAN, TURN, INSTRUCTION)
FORMS = (Plan, Turn, Reply)


@dataclass
class _Pool:
    """What was searched and found, each passage once."""

    desk: Desk
    searched: list[dict[str, Any]] = field(default_factory=list)
    found: dict[tuple[str, int, int], tuple[Passage, Hit, int, int]] = field(default_factory=dict)  # rank, turn
    weak: set[int] = field(default_factory=set)  # turns

    def search(self, query: str, filters: Filters, turn: int, told: dict[str, Any], knobs: Retriever) -> None:
        back = self.desk.find(query, replace(knobs, tokens=None), filters)
        hits = {hit.rank: hit for hit in back.hits}
        for rank, passage in enumerate(back.passages):
            key = (passage.document_id, passage.start, passage.end)
            self.found.setdefault(key, (passage, hits[passage.hits[0]], rank, turn))
        self.searched.append({**told, "found": len(back.passages)})

    def best(self) -> tuple[list[Passage], dict[int, Hit]]:
        """By rank, the later turn first; of turns judged weak only where there is no other. Numbered anew from 1."""
        rows = sorted(self.found.values(), key=lambda row: (row[2], -row[3]))
        kept = [row for row in rows if row[3] not in self.weak] or rows
        hits = {n: replace(row[1], rank=n) for n, row in enumerate(kept, 1)}
        return [replace(row[0], hits=(n,)) for n, row in enumerate(kept, 1)], hits


def knobs(given: Retriever, model: str) -> Retriever:
    return without_model(given)


def answer(question: str, desk: Desk) -> Draft:
    pool = _Pool(desk)
    _look(question, desk, pool)
    passages, hits = pool.best()
    kept = within(passages, hits, desk.retriever.tokens, desk.reader.tokenizer) if passages else []
    return from_passages(question, kept, hits, desk)


def _look(question: str, desk: Desk, pool: _Pool) -> None:
    """Fills the pool."""
    searches: Sequence[Search] = ()
    try:
        searches = desk.ask(Plan, PLAN, question, (), LOOK).searches
        for turn in range(1, desk.options.turns + 1):
            _run(searches, desk, pool, turn)
            if turn == desk.options.turns:
                break
            said = desk.ask(Turn, TURN, question, _shown(pool), LOOK)
            if said.verdict == "enough":
                return
            if said.verdict == "weak":
                pool.weak.add(turn)
            searches = [one for one in said.searches if _told(one) not in [_without_count(row) for row in pool.searched]]
            if not searches:
                break
    except (OverCap, MalformedAnswer) as error:
        desk.notes.append(f"looking ended early ({error.reason}: {error.what})"[:300])
    if not pool.found or all(row[3] in pool.weak for row in pool.found.values()):
        pool.search(question, desk.filters, desk.options.turns + 1, {"query": question}, desk.retriever)
        desk.notes.append("the question was searched as it was asked")


def _run(searches: Sequence[Search], desk: Desk, pool: _Pool, turn: int) -> None:
    for one in searches:
        pool.search(one.query, one.within(desk.filters), turn, _told(one), replace(desk.retriever, filters="given"))


def _told(one: Search) -> dict[str, Any]:
    return {name: value for name, value in one.model_dump().items() if value}


def _without_count(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "found"}


def _shown(pool: _Pool) -> list[dict[str, Any]]:
    passages, hits = pool.best()
    return [*({"search": row} for row in pool.searched),
            *(shown_passage(n, passage, hits[n], LONGEST) for n, passage in enumerate(passages[:SHOWN], 1))]
