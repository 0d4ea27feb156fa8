"""What an index gives for each question, and which gold it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from edgarmill.eval.replay import EvaluationKey, TokenCounter, Vector, embedded, holds, replay
from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.passages import Passage, plain
from edgarmill.retrieval.retrieve import Found
from edgarmill.retrieval.retriever import Retriever
from edgarmill.retrieval.search import Plan
from edgarmill.schemas.errors import EdgarmillError, LakeCorrupt, ModelFailed, ModelRefused, UnknownName, UsageError
from edgarmill.schemas.records import GoldRow, Hit

KEY = EvaluationKey("e", "s", "v")


def gold(question: str = "a", ordinal: int = 0, document: str | None = "d:1", start: int | None = 100, end: int | None = 200) -> GoldRow:
    place = (document, start, end, "exact" if document else None)
    return GoldRow("s", "set", question, ordinal, f"{question}?", "single-hop", "", "f", "q", "", "", None, "text", *place)


def found(rank: int, start: int, end: int, document: str = "d:1", chunk: str = "") -> Hit:
    name = chunk or f"{document} {start}"
    return Hit(rank, 1 / rank, name, document, "d", None, (), "10-K", None, None, None, "", "", "", 3, 4, start, end, "", None)


@dataclass
class Shelf:
    """A reader that gives the same hits to every question, or raises; it keeps what it was asked."""

    hits: list[Hit]
    passages: list[Passage] | None = None
    errors: dict[str, Exception] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=lambda: {"search": 0.5})
    asked: list[tuple[str, Any]] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    def retrieve(self, question: str, retriever: Retriever | None = None, filters: Any = None, vector: Any = None) -> Found:
        self.asked.append((question, vector))
        if question in self.errors:
            raise self.errors[question]
        passages = [plain(hit) for hit in self.hits] if self.passages is None else self.passages
        return Found(question, retriever or Retriever(), Filters(year=2024), Plan(None, "words"), self.hits, passages,
                     seconds=dict(self.seconds), notes=self.notes)


@pytest.mark.parametrize(("start", "end", "held"), [
    (0, 1000, True),  # all of it
    (0, 150, True),  # half of it
    (0, 149, False),
    (199, 1000, False),
    (200, 300, False),
    (120, 130, True),  # a chunk wholly inside longer evidence
    (90, 110, True),  # a short chunk, half of it evidence
    (89, 109, False),
])
def test_gold_is_held_by_half_of_the_shorter_range(start: int, end: int, held: bool) -> None:
    assert holds("d:1", start, end, gold()) is held


def test_another_document_or_unresolved_gold_is_never_held() -> None:
    assert not holds("d:2", 0, 1000, gold())
    assert not holds("d:1", 0, 1000, gold(document=None, start=None, end=None))


def test_every_question_is_asked_and_each_hit_becomes_a_row() -> None:
    seconds = {"search": 0.5, "filters": 0.25, "texts": 2.0, "model": 4.0}
    shelf = Shelf([found(1, 0, 50), found(2, 100, 300), found(3, 90, 220)], seconds=seconds)
    rows = [gold(ordinal=1, start=250, end=300), gold(), gold("b", -1, None, None, None)]
    result = replay(KEY, rows, shelf, Retriever(mode="vector"), vectors={"a?": Vector([2.0], 0.125)},
                    tokens=TokenCounter(lambda texts: [7] * len(texts)))
    assert shelf.asked == [("a?", [2.0]), ("b?", None)]
    assert [(r.question_id, r.mode, r.rank, r.gold, r.tokens, r.page_start, r.accession) for r in result.rankings] == [
        ("a", "vector", 1, (), 7, 3, "d"), ("a", "vector", 2, (0, 1), 7, 3, "d"), ("a", "vector", 3, (0,), 7, 3, "d"),
        ("b", "vector", 1, (), 7, 3, "d"), ("b", "vector", 2, (), 7, 3, "d"), ("b", "vector", 3, (), 7, 3, "d")]
    first = result.asked[0]
    assert (first.embed_seconds, first.search_seconds, first.rerank_seconds, first.expand_seconds, first.model_seconds) == (
        0.125, 0.75, None, 2.0, 4.0)
    assert first.tokens == 21 and first.filters == '{"year": 2024}' and result.asked[1].embed_seconds is None


@pytest.mark.parametrize("knobs", [Retriever(mode="keyword"), Retriever(spelling=True)])
def test_a_vector_is_not_handed_to_a_reader_that_asks_in_other_words_or_needs_none(knobs: Retriever) -> None:
    shelf = Shelf([])
    replay(KEY, [gold()], shelf, knobs, vectors={"a?": Vector([2.0], 0.1)})
    assert shelf.asked == [("a?", None)]


def test_a_bad_question_has_its_row_and_the_others_go_on() -> None:
    errors = {"a?": ModelFailed("it gave\nno answer", "house"), "c?": UsageError("the question is empty")}
    shelf = Shelf([found(1, 100, 200)], errors=errors)
    result = replay(KEY, [gold("a"), gold("b"), gold("c")], shelf, Retriever())
    assert [(one.question_id, one.error) for one in result.asked] == [
        ("a", "house: it gave no answer"), ("b", None), ("c", "the question is empty")]
    assert [r.question_id for r in result.rankings] == ["b"]


@pytest.mark.parametrize("error", [UnknownName("no such endpoint", "house"), LakeCorrupt("index cannot be read"), ModelRefused("key")])
def test_what_would_strike_every_question_alike_is_raised(error: EdgarmillError) -> None:
    with pytest.raises(type(error)):
        replay(KEY, [gold()], Shelf([], errors={"a?": error}), Retriever())


def test_what_was_given_in_place_of_a_hit_stands_beside_it() -> None:
    hits = [found(1, 100, 200), found(2, 200, 300), found(3, 900, 950)]
    wide = replace(plain(hits[0]), hits=(1, 2), start=50, end=350, text="words " * 5)
    result = replay(KEY, [gold()], Shelf(hits, [wide]), Retriever(neighbours=1, tokens=100), 
                    tokens=TokenCounter(lambda texts: [len(text.split()) for text in texts]))
    assert [(r.given_start, r.given_end, r.tokens) for r in result.rankings] == [(50, 350, 5), (50, 350, 5), (900, 900, 0)]
    assert result.asked[0].tokens == 5, "a passage of two hits counts once"


def test_a_chunk_that_comes_twice_keeps_its_first_place() -> None:
    hits = [found(1, 0, 50, chunk="x"), found(2, 0, 50, chunk="x"), found(3, 100, 200, chunk="y")]
    result = replay(KEY, [gold()], Shelf(hits), Retriever())
    assert [(r.rank, r.chunk_id) for r in result.rankings] == [(1, "x"), (2, "y")]
    assert result.rankings[0].tokens is None and result.asked[0].tokens is None, "nobody counted them"


def test_a_chunk_that_many_questions_find_is_counted_once() -> None:
    counted: list[str] = []

    def counts(texts: Sequence[str]) -> list[int]:
        counted.extend(texts)
        return [len(text) for text in texts]

    shelf = Shelf([replace(found(1, 0, 3), text="abc"), replace(found(2, 5, 7), text="de")])
    result = replay(KEY, [gold("a"), gold("b")], shelf, Retriever(), tokens=TokenCounter(counts))
    assert counted == ["abc", "de"] and [one.tokens for one in result.asked] == [5, 5]


def test_what_went_on_without_its_model_is_kept() -> None:
    assert replay(KEY, [gold()], Shelf([], notes=("rewrite: no answer",)), Retriever()).asked[0].notes == "rewrite: no answer"


def test_each_question_is_embedded_once_and_one_that_cannot_be_is_left_out() -> None:
    embedded_: list[str] = []

    def embed(text: str) -> list[float]:
        embedded_.append(text)
        if text == "bad":
            raise ValueError("no")
        return [1.0]

    vectors = embedded(["a", "b", "a", "bad"], embed)
    assert list(vectors) == ["a", "b"] and embedded_[1:] == ["a", "b", "bad"] and vectors["a"].seconds >= 0
