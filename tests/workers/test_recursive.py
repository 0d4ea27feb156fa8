"""Recursive chunks end at the largest unit that fits: paragraph, line, sentence, word."""

from __future__ import annotations

import pytest
from documents import parsed

from edgarmill.schemas.errors import SettingsError
from edgarmill.schemas.recipe import Kind, Recipe
from edgarmill.schemas.settings import Settings
from edgarmill.workers.chunk import chunks_of
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.fit import check_recipe


def chunked(text: str, characters: int, overlap: int = 0) -> list[str]:
    of = parsed([("paragraph", text)])
    kind = Kind.model_validate({"kind": "recursive", "characters": characters, "overlap": overlap})
    plan = check_recipe(Recipe.model_validate({"name": "r", "chunker": kind, "embedding": {"overflow": "cut"}}), Settings())
    return [c.text for c in chunks_of(of.document, of.elements, of.sections, kind, plan, Tokenizer(plan.model.tokenizer_path))]


def test_a_chunk_ends_at_a_paragraph_before_a_line() -> None:
    assert chunked("We sell goods in the north.\n\nWe buy them\nin the east and in the west.", 50)[0] == "We sell goods in the north."


def test_a_word_is_cut_only_where_it_is_longer_than_a_chunk() -> None:
    assert chunked("Short " + "c" * 48 + " " + "d" * 60, 50) == ["Short", "c" * 48, "d" * 50, "d" * 10]


def test_a_chunk_ends_at_a_line_before_a_sentence() -> None:
    assert chunked("We sell goods in the north\nand south. We buy them in the east too.", 50)[0] == "We sell goods in the north"


def test_a_chunk_ends_at_a_sentence_before_a_word() -> None:
    assert chunked("We sell goods in the whole north. We buy them in the east too.", 50)[0] == "We sell goods in the whole north."


def test_a_chunk_ends_at_a_word_where_no_sentence_ends() -> None:
    assert chunked("word " * 40, 50) == [("word " * 10).strip()] * 4


def test_a_short_paragraph_is_no_chunk_of_its_own() -> None:
    assert chunked("Head\n\n" + "word " * 20, 50)[0].startswith("Head\n\nword")


def test_neighbours_share_whole_words_up_to_the_overlap() -> None:
    first, second = chunked(" ".join(str(n) for n in range(1000, 1030)), 100, 30)[:2]
    shared = next(n for n in range(30, 0, -1) if second[:n] == first[-n:])
    assert 20 <= shared <= 30
    assert second.startswith("10")


def test_an_overlap_that_would_not_advance_is_refused() -> None:
    with pytest.raises(SettingsError, match="more than a third"):
        chunked("text", 90, 40)
