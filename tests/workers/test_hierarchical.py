"""Small chunks and their parents: the largest heading's text that fits, never across a section."""

from __future__ import annotations

import pytest
from documents import Parsed, parsed

from edgarmill.schemas.errors import SettingsError
from edgarmill.schemas.recipe import Kind, Recipe
from edgarmill.schemas.settings import Settings
from edgarmill.workers import chunk
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.fit import check_recipe


def family(of: Parsed, parent_tokens: int) -> list[tuple[str, str]]:
    """Each chunk's text and its parent's."""
    recipe = Recipe(name="r", chunker=Kind.model_validate({"kind": "hierarchical", "max_tokens": 32, "parent_tokens": parent_tokens}))
    plan = check_recipe(recipe, Settings())
    chunks = chunk.chunks_of(of.document, of.elements, of.sections, recipe.chunker, plan, Tokenizer(plan.model.tokenizer_path))
    return [(c.text, of.document.text[c.parent_start : c.parent_end]) for c in chunks]


def words(n: int, word: str) -> str:
    return " ".join([word] * n)


A, B, C = words(25, "sales"), words(25, "cash"), words(25, "debt")
BLOCKS = [("heading", "One"), ("paragraph", A), ("heading 2", "Two"), ("paragraph", B), ("heading 2", "Three"), ("paragraph", C)]


def test_a_parent_is_the_whole_section_where_it_fits() -> None:
    of = parsed(BLOCKS)
    assert family(of, 100) == [(f"{head}\n\n{body}", of.document.text) for head, body in (("One", A), ("Two", B), ("Three", C))]


def test_else_the_text_of_the_highest_heading_that_divides_it() -> None:
    assert [parent for _, parent in family(parsed(BLOCKS), 40)] == [f"One\n\n{A}", f"Two\n\n{B}", f"Three\n\n{C}"]


def test_without_headings_as_many_paragraphs_as_fit() -> None:
    of = parsed([("paragraph", A), ("paragraph", B), ("paragraph", C)])
    assert family(of, 60) == [(A, f"{A}\n\n{B}"), (B, f"{A}\n\n{B}"), (C, C)]


def test_a_parent_never_crosses_a_section() -> None:
    of = parsed([("paragraph", A), ("paragraph", B)], {0: ("1",), 1: ("2",)})
    assert family(of, 1000) == [(A, A), (B, B)]


def test_a_parent_smaller_than_its_chunks_is_refused() -> None:
    with pytest.raises(SettingsError, match="parent_tokens"):
        family(parsed([]), 31)
