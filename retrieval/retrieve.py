"""From a question to what is given to whoever answers it, by one Retriever; every step is told with what it did and how long it took.

    reader = open_reader(lake, resolve(snapshot), settings)
    found = reader.retrieve("What drove Apple's margin in fiscal 2024?", Retriever(filters="inferred", neighbours=1, tokens=4000))
    found.passages        # text = document[start:end], with section, pages, address
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from edgarmill.retrieval.adviser import Adviser, open_adviser, summed
from edgarmill.retrieval.budget import CHARACTERS, around, within
from edgarmill.retrieval.companies import Companies, companies_in
from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.inference import Inference, Inferred, infer
from edgarmill.retrieval.inquiry import Clock, Inquiry, Searched
from edgarmill.retrieval.pagination import Pagination
from edgarmill.retrieval.passages import Passage, Stretch, neighbours, pages, passages, plain, ranges, sections
from edgarmill.retrieval.query import embedding, encoder_of, model_of
from edgarmill.retrieval.rerank import Reranker, Tools, reranker
from edgarmill.retrieval.retriever import Retriever
from edgarmill.retrieval.search import Index, Plan, check_question, open_index, readable
from edgarmill.retrieval.spelling import Correction, Vocabulary, corrected, vocabulary
from edgarmill.retrieval.walk import Visit
from edgarmill.schemas.records import Hit, IndexVersion, Usage
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.workers.embed.models import Model
from edgarmill.workers.embed.tokens import Tokenizer

if TYPE_CHECKING:
    from edgarmill.workers.models.client import Client
    from edgarmill.workers.models.purse import Budget

KEPT_CHARACTERS = 50_000_000  # of documents' texts in memory


@dataclass(frozen=True)
class Found:
    """An answer of the index. `seconds` by step; `question` as it was read, that is, spelt."""

    question: str
    retriever: Retriever
    filters: Filters  # that were in force
    plan: Plan
    hits: list[Hit]
    passages: list[Passage]  # what is given, best first
    corrections: tuple[Correction, ...] = ()
    inferred: tuple[Inferred, ...] = ()
    tokens: int | None = None  # of all passages; None where nothing was counted
    left_out: int = 0  # passages that the budget had no room for
    stale: int = 0  # hits given alone: their document's text is not the indexed one any more
    usages: tuple[Usage, ...] = ()  # of each model at an endpoint: embeddings of questions, chat, reranker
    seconds: dict[str, float] = field(default_factory=dict)
    searched: tuple[Searched, ...] = ()  # the parts of the question, the first as asked where it was searched whole
    visits: tuple[Visit, ...] = ()  # filings and nodes that a model chose
    notes: tuple[str, ...] = ()  # what went on without its model, and why: the plain search answered in its place

    @property
    def usage(self) -> Usage | None:
        """Calls, tokens, dollars and seconds of all models at endpoints; None where none was asked. Answers known before cost nothing."""
        return summed(self.usages)


@dataclass(frozen=True)
class Reader:
    """One version with all that retrievers need, each opened when it is first needed and then kept. Threads share it."""

    index: Index
    lake: Lake
    settings: Settings
    encoder: Callable[[], Any] = field(repr=False)
    _rerankers: dict[str, Reranker] = field(default_factory=dict, repr=False)
    _texts: OrderedDict[str, str] = field(default_factory=OrderedDict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)  # of _texts and _clients
    budget: Budget | None = None  # USD that all questions together may spend on the chat model
    _clients: dict[str, Client] = field(default_factory=dict, repr=False)

    @cached_property
    def companies(self) -> Companies:
        with readable(self.index.dataset.uri):
            return companies_in(self.index.dataset)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return vocabulary(self.lake, self.index.version.version_id, self.index.dataset)

    @cached_property
    def pagination(self) -> Pagination:
        return Pagination(self.lake)

    @cached_property
    def model(self) -> Model:
        return model_of(self.index.version, self.settings)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return Tokenizer(self.model.tokenizer_path)

    def retrieve(self, question: str, retriever: Retriever | None = None, filters: Filters | None = None,
                 vector: Sequence[float] | None = None) -> Found:
        """Raises UsageError, UnknownName, SettingsError, LakeCorrupt; ModelFailed, OverCap and ModelRefused of a hosted embedding model or
        reranker, ModelRefused of a chat model, whose other failures are `notes`."""
        check_question(question)
        knobs = retriever or Retriever()
        given = filters or Filters()
        _ = given.expression  # refuses a malformed value before anything is opened
        clock = Clock()
        with clock.step("spelling", knobs.spelling):
            corrections = self._corrections(question) if knobs.spelling else []
            read = corrected(question, corrections)
        with clock.step("filters", knobs.filters == "inferred"):
            inference = self._inference(read, knobs, given)
        inquiry = Inquiry(self, read, knobs, given, inference, vector, clock, self._adviser(read, knobs))
        found = inquiry.hits()
        with clock.step("rerank", bool(knobs.reranker)):
            hits, usage = self._reranked(read, found, knobs)
        given_back, stale = self._given(hits, knobs, clock)
        with clock.step("budget", knobs.tokens is not None):
            kept = given_back
            if knobs.tokens is not None:
                kept = within(given_back, {hit.rank: hit for hit in hits}, knobs.tokens, self.tokenizer)
        tokens = sum(passage.tokens or 0 for passage in kept) if knobs.tokens is not None else None
        return Found(read, knobs, inference.filters, inquiry.searched[0].plan, hits, kept, tuple(corrections), inference.found, tokens,
                     len(given_back) - len(kept), stale, (*inquiry.usages, *([usage] if usage else [])), clock.seconds,
                     tuple(inquiry.searched), tuple(inquiry.visits), inquiry.told)

    def _adviser(self, question: str, knobs: Retriever) -> Adviser | None:
        if not knobs.asks_model:
            return None
        with self._lock:
            if knobs.model not in self._clients:
                self._clients[knobs.model] = open_adviser(knobs.model, self.settings, self.lake)
        return Adviser(self._clients[knobs.model], question, knobs.model_tokens, self.budget)

    def _inference(self, question: str, knobs: Retriever, given: Filters) -> Inference:
        if knobs.filters == "inferred":
            return infer(question, self.companies, given, self.index.count)
        return Inference(given if knobs.filters == "given" else Filters())

    def _corrections(self, question: str) -> list[Correction]:
        def is_word(word: str) -> bool:
            return min(self.tokenizer.counts([word, f" {word}"])) == 1

        def in_index(word: str) -> bool:
            return bool(self.index.candidates(word, Retriever(mode="keyword", k=1)).hits)

        return self.vocabulary.corrections(question, is_word, in_index, self.companies.words)

    def _reranked(self, question: str, hits: list[Hit], knobs: Retriever) -> tuple[list[Hit], Usage | None]:
        if not knobs.reranker:
            return hits, None
        if knobs.reranker not in self._rerankers:
            self._rerankers[knobs.reranker] = reranker(knobs.reranker, Tools(self.settings, self.lake, self.encoder))
        scored = self._rerankers[knobs.reranker](question, [hit.text for hit in hits])
        best = sorted(zip(scored.scores, hits, strict=True), key=lambda pair: (-pair[0], pair[1].chunk_id))[: knobs.k]
        return [replace(hit, rank=rank, score=score, scores={**hit.scores, "rerank": score})
                for rank, (score, hit) in enumerate(best, 1)], scored.usage

    def _given(self, hits: list[Hit], knobs: Retriever, clock: Clock) -> tuple[list[Passage], int]:
        """What is given of the hits, and how many stand alone for want of their text."""
        if not hits or (knobs.parent == "none" and not knobs.neighbours):
            return [plain(hit) for hit in hits], 0
        with clock.step("surroundings"), readable(self.index.dataset.uri):
            stretches = self._stretches(hits, knobs)
        with clock.step("texts"):
            texts = self.documents({hit.document_id for hit in hits})

            def clip(text: str, one: Stretch) -> tuple[int, int]:
                short = one.end - one.start <= 2 * knobs.parent_tokens * CHARACTERS
                if knobs.parent == "none" or (short and self.tokenizer.count(text[one.start : one.end]) <= knobs.parent_tokens):
                    return one.start, one.end
                return around(text, (one.start, one.end), (one.hit.start, one.hit.end), knobs.parent_tokens, self.tokenizer)

            return passages(stretches, texts, clip)

    def _stretches(self, hits: list[Hit], knobs: Retriever) -> list[Stretch]:
        if knobs.parent == "section":
            return sections(self.index.dataset, hits)
        if knobs.parent == "page":
            return pages(self.index.dataset, hits, self.pagination.of(hits))
        if knobs.parent == "range":
            return ranges(self.lake.snapshot(), hits)
        return neighbours(self.index.dataset, hits, knobs.neighbours, knobs.fetch)

    def documents(self, wanted: set[str]) -> dict[str, str]:
        """Texts by document; those last used stay in memory."""
        with self._lock:
            found = {one: self._texts[one] for one in wanted & self._texts.keys()}
        if missing := sorted(wanted - found.keys()):
            table = self.lake.snapshot().read("documents", ["document_id", "text"], {"document_id": missing})
            found |= {row["document_id"]: row["text"] for row in table.to_pylist()}
        with self._lock:
            self._texts.update(found)
            for one in found:
                self._texts.move_to_end(one)
            while self._texts and sum(map(len, self._texts.values())) > KEPT_CHARACTERS:
                self._texts.popitem(last=False)
        return found


def open_reader(lake: Lake, version: IndexVersion, settings: Settings, modes: Sequence[str] = ("hybrid",)) -> Reader:
    """The version ready for these modes; the model is loaded when it is first needed. Raises as `open_for`."""
    if set(modes) <= {"keyword"}:
        index = open_index(lake, version)
        return Reader(index, lake, settings, lambda: encoder_of(model_of(version, settings), settings, lake)())
    model = model_of(version, settings)
    encoder = encoder_of(model, settings, lake)
    return Reader(open_index(lake, version, embedding(encoder), model.model_hash), lake, settings, encoder)
