"""What an index gives for each question, and which gold it holds."""

from __future__ import annotations

from typing import Any

import pytest

from edgarmill.eval.replay import EvaluationKey, holds, replay
from edgarmill.schemas.records import GoldRow, Hit

KEY = EvaluationKey("e", "s", "v")


def gold(question: str = "a", ordinal: int = 0, document: str | None = "d:1", start: int | None = 100, end: int | None = 200) -> GoldRow:
    place = (document, start, end, "exact" if document else None)
    return GoldRow("s", "set", question, ordinal, f"{question}?", "single-hop", "", "f", "q", "", "", None, "text", *place)


def found(rank: int, start: int, end: int, document: str = "d:1", chunk: str = "") -> Hit:
    name = chunk or f"{document} {start}"
    return Hit(rank, 1 / rank, name, document, "d", None, (), "10-K", None, None, None, "", "", "", 1, 1, start, end, "", None)


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


def test_every_question_is_asked_in_every_mode_and_each_hit_becomes_a_row() -> None:
    asked: list[tuple[str, str, int, Any]] = []

    def search(question: str, mode: str, k: int, vector: Any = None) -> list[Hit]:
        asked.append((question, mode, k, vector))
        return [found(1, 0, 50), found(2, 100, 300), found(3, 90, 220)] if mode == "vector" else []

    rows = [gold(ordinal=1, start=250, end=300), gold(), gold("b", -1, None, None, None)]
    result = replay(KEY, rows, search, embed=lambda text: [float(len(text))], modes=("vector", "keyword"), k=10)
    assert asked == [("a?", "vector", 10, [2.0]), ("a?", "keyword", 10, None), ("b?", "vector", 10, [2.0]), ("b?", "keyword", 10, None)]
    assert [(r.question_id, r.mode, r.rank, r.gold) for r in result.rankings] == [
        ("a", "vector", 1, ()), ("a", "vector", 2, (0, 1)), ("a", "vector", 3, (0,)),
        ("b", "vector", 1, ()), ("b", "vector", 2, ()), ("b", "vector", 3, ())]
    assert {mode: len(s) for mode, s in result.search_seconds.items()} == {"vector": 2, "keyword": 2}
    assert len(result.embed_seconds) == 2


def test_without_an_embedder_the_searcher_embeds_and_nothing_is_timed_apart() -> None:
    result = replay(KEY, [gold()], lambda question, mode, k, vector=None: [], modes=("vector",))
    assert (result.rankings, result.embed_seconds) == ((), ())


def test_a_chunk_that_comes_twice_keeps_its_first_place_and_no_more_than_k_count() -> None:
    hits = [found(1, 0, 50, chunk="x"), found(2, 0, 50, chunk="x"), found(3, 100, 200, chunk="y"), found(4, 0, 9, chunk="z")]
    result = replay(KEY, [gold()], lambda question, mode, k, vector=None: hits, modes=("hybrid",), k=3)
    assert [(r.rank, r.chunk_id) for r in result.rankings] == [(1, "x"), (2, "y")]
