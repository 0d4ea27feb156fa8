"""The search for one question: its parts, what each of them finds, further rounds, and all of it fused.

A step that asks a model and gets nothing of use leaves the question as it was: it is searched plainly, and the notes say so.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from edgarmill.retrieval.adviser import Adviser
from edgarmill.retrieval.decomposition import Look, Part, by_model, by_rule, imagined, looked, reworded
from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.fusion import few_a_page, fused
from edgarmill.retrieval.inference import Inference, infer
from edgarmill.retrieval.pagination import page_of
from edgarmill.retrieval.retriever import MAX_HITS, Mode, Retriever
from edgarmill.retrieval.search import Candidates, Plan
from edgarmill.retrieval.statements import Holding
from edgarmill.retrieval.terms import lines_of
from edgarmill.retrieval.walk import Guided, Visit
from edgarmill.schemas.records import Hit, Usage

if TYPE_CHECKING:
    from edgarmill.retrieval.retrieve import Reader

WEAK = 0.25  # weight in the fusion of a list that was judged weak
MOST_TERMED = 4  # parts of a question whose filings are searched for lines of statements
LINES = 0.5  # weight in the fusion of a list of lines beside one of the question itself
STATED = 2  # hits of a statement's page that are put first: those behind them would leave no place for what explains the figures
DEPTH, DEEPER = 100, 5  # hits of each list at least, and for each that is asked for, where lists of lines are fused or pages kept apart


@dataclass(frozen=True, slots=True)
class Searched:
    """A part of a question as it was searched. `searched`: the text, where it is not the part's own words."""

    question: str
    why: str  # question | rule | model | terms | round 2 …
    filters: Filters
    plan: Plan
    hits: int
    searched: str | None = None


def _narrowed(filters: Filters) -> bool:
    """To certain filers or filings: else the statements of all of them are as good."""
    return any(one is not None for one in (filters.filer, filters.cik, filters.ticker, filters.accession))


class Clock:
    """Seconds by step, over all times that it was taken; a step that does not apply is not told."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str, applies: bool = True) -> Iterator[None]:
        """Without the time of the steps taken within it."""
        within, began = sum(self.seconds.values()), time.perf_counter()
        yield
        if applies:
            others = sum(self.seconds.values()) - within
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began - others


@dataclass
class Inquiry:
    """`vector` is that of the question as asked, where the caller has it. All that was done is told by the lists below."""

    reader: Reader
    question: str
    knobs: Retriever
    given: Filters
    inference: Inference
    vector: Sequence[float] | None
    clock: Clock
    adviser: Adviser | None = None
    searched: list[Searched] = field(default_factory=list)
    visits: list[Visit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    embedded: list[Usage] = field(default_factory=list)

    def hits(self) -> list[Hit]:
        """The best, as many as the reranker reads, or k. Raises as `Reader.retrieve`."""
        wanted = self.knobs.k_initial if self.knobs.reranker else self.knobs.k
        deeper = self.knobs.terms or self.knobs.spread != "none"
        depth = min(MAX_HITS, max(DEPTH, wanted * DEEPER)) if deeper else wanted
        asked = self._parts()
        apart = any(part.why == "terms" for part in asked)  # then the lists by meaning and by words of all parts are fused at once
        by_part = [(part, self._lists(part, depth, apart)) for part in asked]
        lists = [(hits, weight * (LINES if part.statement else 1.0)) for part, own in by_part for hits, weight in own]
        stated = [(part.statement, self._fused(own)) for part, own in by_part if part.statement and _narrowed(part.filters)]
        found = self._ranked(lists, stated)[:depth]
        for number in range(2, self.knobs.rounds + 1):
            look = self._look(found)
            queries = [one for one in look.queries if one not in self._asked()] if look and look.verdict != "enough" else []
            if look is None or not queries:
                break
            if weak := look.verdict == "weak":
                lists = [(hits, WEAK) for hits, _ in lists]
            parts = [Part(one, self.given if weak else self._filters_of(one), f"round {number}") for one in queries]
            lists += [(self._searched(part, depth), 1.0) for part in parts]
            found = self._ranked(lists, stated)[:depth]
        return found[:wanted]

    @property
    def usages(self) -> list[Usage]:
        asked = self.adviser.usage if self.adviser else None
        return [*self.embedded, *([asked] if asked else [])]

    @property
    def told(self) -> tuple[str, ...]:
        return (*self.notes, *(self.adviser.notes if self.adviser else ()))

    def _parts(self) -> list[Part]:
        """What is searched: the question or its parts, and the statements that its accounting terms are lines of."""
        parts = self._split()
        if not self.knobs.terms:
            return parts
        filters = list(dict.fromkeys(part.filters for part in parts))[:MOST_TERMED]
        return [*parts, *(Part(lines.text, one, "terms", lines.statement) for one in filters for lines in lines_of(self.question))]

    def _split(self) -> list[Part]:
        whole = Part(self.question, self.inference.filters)
        if self.knobs.decompose == "rule":
            return by_rule(self.question, self.inference, self.reader.index.count)
        if self.knobs.decompose == "model" and self.adviser:
            with self.clock.step("model"):
                parts = by_model(self.question, self.adviser, self._filters_of)
            return [whole, *parts] if len(parts) > 1 else [whole]
        return [whole]

    def _filters_of(self, question: str) -> Filters:
        """Of a question that a model wrote: those that it names, or else the whole question's."""
        if self.knobs.filters != "inferred":
            return self.inference.filters
        own = infer(question, self.reader.companies, self.given, self.reader.index.count)
        return own.filters if any(not one.dropped for one in own.found) else self.inference.filters

    def _look(self, found: Sequence[Hit]) -> Look | None:
        if self.adviser is None:
            return None
        with self.clock.step("model"):
            return looked(self.question, found, self._asked(), self.adviser)

    def _asked(self) -> list[str]:
        return [one.question for one in self.searched]

    def _searched(self, part: Part, depth: int) -> list[Hit]:
        """What a part finds: nodes where a model picked some, else chunks."""
        return self._lists(part, depth)[0][0]

    def _lists(self, part: Part, depth: int, apart: bool = False) -> list[tuple[list[Hit], float]]:
        """What a part finds, as one list, or where the modes are wanted apart as one of each with its weight."""
        text, vector = self._reworded(part)

        def candidates(k: int, filters: Filters, mode: Mode = self.knobs.mode) -> Candidates:
            with self.clock.step("search"):
                return self.reader.index.candidates(text, replace(self.knobs, k=k, reranker="", mode=mode), filters, vector())

        hits, plan = self._nodes(part, lambda k, filters: candidates(k, filters).hits), Plan(None, "tree")
        lists = [(hits, 1.0)]
        if not hits:
            modes: tuple[Mode, ...] = ("vector", "keyword") if apart and self.knobs.mode == "hybrid" else (self.knobs.mode,)
            found = [candidates(depth, part.filters, mode) for mode in modes]
            plan = found[0].plan
            lists = [(one.hits, self.knobs.weights[mode] if len(modes) > 1 else 1.0) for one, mode in zip(found, modes, strict=True)]
        count = len({hit.chunk_id for one, _ in lists for hit in one})
        self.searched.append(Searched(part.question, part.why, part.filters, plan, count, text if text != part.question else None))
        return lists

    def _nodes(self, part: Part, plain: Any) -> list[Hit]:
        if self.knobs.tree == "none" or self.adviser is None:
            return []
        guided = Guided(self.reader, self.knobs, self.adviser, part.question, plain, self.visits)
        with self.clock.step("model"):
            return guided.walked(part.filters) if self.knobs.tree == "walk" else guided.narrowed(part.filters)

    def _reworded(self, part: Part) -> tuple[str, Any]:
        """The text to search for, and what gives the vector when it is first needed."""
        text, by_meaning = part.question, part.question
        if self.knobs.rewrite != "none" and self.adviser:
            with self.clock.step("model"):
                found = (reworded if self.knobs.rewrite == "query" else imagined)(part.question, self.adviser)
            by_meaning = found or by_meaning
            text = by_meaning if self.knobs.rewrite == "query" else text
        kept: list[Any] = []

        def vector() -> Any:
            if not kept:
                kept.append(self._embedded(by_meaning))
            return kept[0]

        return text, vector

    def _embedded(self, text: str) -> Any:
        """The vector of a text; None where none is wanted, or the index has no embedder and will say so."""
        if self.knobs.mode == "keyword" or (self.vector is not None and text == self.question):
            return self.vector
        index = self.reader.index
        if index.embedder is None:
            return None
        with self.clock.step("embed"):
            if not index.version.model.startswith("endpoint:"):
                return index.embedder(text)
            hosted = self.reader.encoder()
            purse = hosted.client.purse("question", "embed")
            found = hosted.encode([text], purse)[0]
            self.embedded.append(hosted.client.usage(purse))
            return found

    def _ranked(self, lists: Sequence[tuple[Sequence[Hit], float]], stated: Sequence[tuple[str, list[Hit]]]) -> list[Hit]:
        """All lists fused, one hit a page where that is wanted; then once more with those hits whose page holds a statement that the
        question's terms are lines of: the line itself is there, and all else only speaks of it."""
        found = self._fused(lists)
        if self.knobs.spread == "none" and not stated:
            return found
        with self.clock.step("search"):
            pages = self.reader.pagination.of(found)

            def place(hit: Hit) -> int:
                return page_of(hit, pages.get(hit.document_id))

            if self.knobs.spread == "page":
                found = few_a_page(found, place, 1)
            holding = Holding(self.reader.documents(set(pages)) if stated else {}, pages)
            most = STATED if self.knobs.spread == "none" else 1
            tops = [few_a_page(holding.hits(statement, own), place, most) for statement, own in stated]
            if self.knobs.spread == "page":
                first = {(hit.document_id, place(hit)): hit for hit in reversed(found)}
                tops = [[first[hit.document_id, place(hit)] for hit in top] for top in tops]
        return self._fused([(found, 1.0), *((top, 1.0) for top in tops if top)])

    def _fused(self, lists: Sequence[tuple[Sequence[Hit], float]]) -> list[Hit]:
        """By reciprocal rank; a hit of several lists is told as the one that ranks it best has it."""
        if len(lists) == 1:
            return list(lists[0][0])
        best: dict[str, Hit] = {}
        for hits, _ in lists:
            for hit in hits:
                if hit.chunk_id not in best or hit.rank < best[hit.chunk_id].rank:
                    best[hit.chunk_id] = hit
        keys = {str(n): [hit.chunk_id for hit in hits] for n, (hits, _) in enumerate(lists)}
        ranked = fused(keys, {str(n): weight for n, (_, weight) in enumerate(lists)}, self.knobs.rrf_k)
        return [replace(best[key], rank=rank, score=score, scores={**best[key].scores, "fused": score})
                for rank, (key, score) in enumerate(ranked, 1)]
