"""A chunk begins at a heading of a level that counts, and nowhere else where its text fits."""

from __future__ import annotations

from documents import Parsed, parsed

from edgarmill.schemas.recipe import Kind, Recipe
from edgarmill.schemas.settings import Settings
from edgarmill.workers import chunk
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.fit import check_recipe

PLAN = check_recipe(Recipe(name="r", chunker=Kind.model_validate({"kind": "markdown", "max_tokens": 34})), Settings())
TOKENIZER = Tokenizer(PLAN.model.tokenizer_path)
BLOCKS = [("heading", "Results"), ("heading 2", "Sales"), ("paragraph", "Sales rose."), ("heading 3", "Europe"),
          ("paragraph", "They fell."), ("heading 2", "Costs"), ("paragraph", "Costs fell.")]


def texts(of: Parsed, max_level: int) -> list[str]:
    kind = Kind.model_validate({"kind": "markdown", "max_level": max_level, "max_tokens": 34})
    return [c.text for c in chunk.chunks_of(of.document, of.elements, of.sections, kind, PLAN, TOKENIZER)]


def test_headings_down_to_the_level_begin_chunks() -> None:
    assert texts(parsed(BLOCKS), 2) == ["Results\n\nSales\n\nSales rose.\n\nEurope\n\nThey fell.", "Costs\n\nCosts fell."]
    assert texts(parsed(BLOCKS), 3) == ["Results\n\nSales\n\nSales rose.", "Europe\n\nThey fell.", "Costs\n\nCosts fell."]
    assert len(texts(parsed(BLOCKS), 1)) == 1


def test_what_is_too_long_is_cut_at_sentences() -> None:
    body = " ".join(f"{name} net sales rose again." for name in ("One", "Two", "Three", "Four", "Five", "Six"))
    found = texts(parsed([("heading", "Sales"), ("paragraph", body)]), 2)
    assert len(found) == 2 and all(t.endswith(".") for t in found)


def test_a_section_ends_a_chunk_without_a_heading() -> None:
    of = parsed([("paragraph", "Sales rose."), ("paragraph", "Costs fell.")], {0: ("1",), 1: ("2",)})
    assert texts(of, 3) == ["Sales rose.", "Costs fell."]
