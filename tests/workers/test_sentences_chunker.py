"""Sentence packing: whole sentences, some of them twice; paragraphs end sentences, sections do not matter."""

from __future__ import annotations

import pytest
from documents import Parsed, parsed

from edgarmill.schemas.errors import SettingsError
from edgarmill.schemas.recipe import Kind, Recipe
from edgarmill.schemas.settings import Settings
from edgarmill.workers import chunk
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.fit import check_recipe

PLAN = check_recipe(Recipe(name="r", chunker=Kind(kind="sentences"), context=Kind(kind="none")), Settings())
TOKENIZER = Tokenizer(PLAN.model.tokenizer_path)


def texts(of: Parsed, tokens: int, overlap: int) -> list[str]:
    kind = Kind.model_validate({"kind": "sentences", "tokens": tokens, "overlap": overlap})
    return [c.text for c in chunk.chunks_of(of.document, of.elements, of.sections, kind, PLAN, TOKENIZER)]


def sentences(*names: str) -> str:
    return " ".join(f"{name} net sales rose again." for name in names)  # six tokens each


def test_whole_sentences_are_packed_up_to_the_limit() -> None:
    of = parsed([("paragraph", sentences("One", "Two", "Three", "Four"))])
    assert texts(of, 16, 0) == [sentences("One", "Two"), sentences("Three", "Four")]


def test_the_last_sentences_of_a_chunk_begin_the_next() -> None:
    found = texts(parsed([("paragraph", sentences("One", "Two", "Three", "Four"))]), 18, 1)
    assert found == [sentences("One", "Two", "Three"), sentences("Three", "Four")]


def test_an_overlap_that_leaves_no_room_for_a_new_sentence_is_made_smaller() -> None:
    of = parsed([("paragraph", f"One. {'sales ' * 14}fell. Two rose.")])
    assert texts(of, 16, 5) == ["One.", f"{'sales ' * 14}fell.", "Two rose."]


def test_a_paragraph_ends_a_sentence_and_a_section_does_not_end_a_chunk() -> None:
    of = parsed([("heading", "Liquidity"), ("paragraph", "Cash rose"), ("paragraph", "Debt fell")], {0: ("1",), 2: ("2",)})
    assert texts(of, 16, 0) == ["Liquidity\n\nCash rose\n\nDebt fell"]


def test_an_overlap_without_bounds_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"chunker\.overlap"):
        texts(parsed([]), 16, 21)
