"""The structure-aware chunker: sections, paragraphs, rows, headings; what is dropped and what is never dropped."""

from __future__ import annotations

from dataclasses import replace

import pytest
from documents import Parsed, parsed
from hypothesis import given, settings
from hypothesis import strategies as st

from edgarmill.schemas.recipe import Kind, Recipe
from edgarmill.schemas.records import Chunk
from edgarmill.schemas.settings import Settings
from edgarmill.workers import chunk
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.fit import check_recipe

PLAN = check_recipe(Recipe(name="r", chunker=Kind(kind="structure")), Settings())
TOKENIZER = Tokenizer(PLAN.model.tokenizer_path)


def chunked(of: Parsed, max_tokens: int = 42, min_tokens: int = 6) -> chunk.Chunked:
    """Room for the text: `max_tokens` less two special tokens."""
    kind = Kind.model_validate({"kind": "structure", "max_tokens": max_tokens, "min_tokens": min_tokens})
    plan = replace(PLAN, room=max_tokens - PLAN.model.specials)
    return chunk.chunked(of.document, of.elements, of.sections, kind, plan, TOKENIZER)


def texts(chunks: list[Chunk]) -> list[str]:
    return [c.text for c in chunks]


def words(n: int, word: str = "sales") -> str:
    return " ".join([word] * n)


def test_whole_paragraphs_are_packed_up_to_the_limit() -> None:
    of = parsed([("paragraph", words(15)), ("list_item", words(15)), ("paragraph", words(15))])
    assert [c.tokens for c in chunked(of).chunks] == [30, 15]


def test_a_chunk_never_crosses_a_section() -> None:
    of = parsed([("paragraph", words(9)), ("paragraph", words(9)), ("paragraph", words(9))], {1: ("1",), 2: ("2",)})
    assert [c.item for c in chunked(of).chunks] == ["", "1", "2"]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=10), st.sets(st.integers(0, 9)))
@settings(max_examples=30, deadline=None)
def test_no_range_holds_text_of_two_sections(lengths: list[int], begins: set[int]) -> None:
    of = parsed([("paragraph", words(n)) for n in lengths], {b: (str(b),) for b in begins if b < len(lengths)})
    for c in chunked(of).chunks:
        assert all(c.end <= s.start or c.start >= s.end or s.start <= c.start <= c.end <= s.end for s in of.sections)


def test_combined_sections_do_not_double_their_text() -> None:
    of = parsed([("heading", "Items 1 and 2. Business and Properties"), ("paragraph", words(20))], {0: ("1", "2")})
    assert len(chunked(of).chunks) == 1


def test_a_heading_goes_with_what_follows() -> None:
    of = parsed([("paragraph", words(30)), ("heading", "Liquidity and Capital"), ("paragraph", words(25, "cash"))])
    assert texts(chunked(of).chunks) == [words(30), "Liquidity and Capital\n\n" + words(25, "cash")]


def test_a_heading_takes_the_first_sentences_of_a_paragraph_that_fills_a_chunk_alone() -> None:
    of = parsed([("heading", "Liquidity and Capital"), ("paragraph", f"{words(18, 'cash')}. {words(18, 'debt')}.")])
    assert texts(chunked(of).chunks) == [f"Liquidity and Capital\n\n{words(18, 'cash')}.", f"{words(18, 'debt')}."]


def test_a_long_paragraph_is_cut_at_sentences() -> None:
    of = parsed([("paragraph", " ".join(f"{words(14).capitalize()}." for _ in range(5)))])
    assert all(t.startswith("Sales") and t.endswith("sales.") for t in texts(chunked(of).chunks))
    assert [c.tokens for c in chunked(of).chunks] == [30, 30, 15]


@pytest.mark.parametrize("stop", ["See Item 1A. Risk Factors", "agreement No. 5 and", "Acme Inc. and its units", "the U.S. Treasury"])
def test_no_chunk_ends_after_a_stop_that_ends_no_sentence(stop: str) -> None:
    of = parsed([("paragraph", f"{words(20)} {stop} {words(12)}. {words(20, 'Cash')}.")])
    assert all(t.endswith("sales.") or t.endswith("Cash.") for t in texts(chunked(of, max_tokens=48).chunks))


def test_a_sentence_longer_than_a_chunk_is_cut_between_words() -> None:
    result = texts(chunked(parsed([("paragraph", words(100, "unaffable"))])).chunks)
    assert " ".join(result) == words(100, "unaffable")


def test_a_long_table_is_cut_at_whole_rows() -> None:
    rows = [f"Region {n} | 1,234 | 5,678" for n in range(12)]
    result = texts(chunked(parsed([("table", "\n".join(rows))])).chunks)
    assert [r for t in result for r in t.split("\n")] == rows
    assert len(result) > 1


def test_a_table_that_fits_stays_whole() -> None:
    table = "\n".join(f"Row {n} | {n}" for n in range(6))
    assert table in texts(chunked(parsed([("paragraph", words(30)), ("table", table)])).chunks)


def test_a_short_fragment_of_headings_only_is_dropped_and_told() -> None:
    of = parsed([("heading", "PART II"), ("heading", "Item 7. Discussion"), ("paragraph", words(20))], {0: ("",), 1: ("7",)})
    result = chunked(of)
    assert [of.document.text[s.start : s.end] for s in result.dropped] == ["PART II"]
    assert texts(result.chunks) == ["Item 7. Discussion\n\n" + words(20)]


def test_a_longer_fragment_of_headings_only_is_kept() -> None:
    of = parsed([("heading", words(8, "notes"))], {0: ("1",)})
    assert texts(chunked(of).chunks) == [words(8, "notes")] and chunked(of).dropped == []


@pytest.mark.parametrize("answer", ["None.", "Not applicable.", "5,231"])
def test_a_short_paragraph_is_never_dropped(answer: str) -> None:
    of = parsed([("heading", "Item 4."), ("paragraph", answer), ("paragraph", words(9))], {0: ("4",), 2: ("5",)})
    assert texts(chunked(of).chunks)[0] == f"Item 4.\n\n{answer}"
    assert chunked(of).dropped == []


def test_a_short_paragraph_goes_with_the_paragraph_after_it() -> None:
    of = parsed([("paragraph", "We sell."), ("paragraph", f"{words(20)}. {words(18, 'cash').capitalize()}.")])
    assert [c.tokens for c in chunked(of).chunks] == [24, 19]


def test_a_short_last_paragraph_takes_the_end_of_the_chunk_before_it() -> None:
    of = parsed([("paragraph", f"{words(20)}. {words(17, 'cash').capitalize()}."), ("paragraph", "See below.")])
    assert texts(chunked(of).chunks) == [f"{words(20)}.", f"{words(17, 'cash').capitalize()}.\n\nSee below."]


def test_text_that_no_element_holds_is_kept_in_its_place() -> None:
    of = parsed([("paragraph", words(9, "first")), ("paragraph", words(9, "lost")), ("paragraph", words(9, "last"))])
    of.elements.pop(1)
    assert "\n\n".join(texts(chunked(of).chunks)) == of.document.text


def test_an_element_that_runs_over_the_end_of_its_section_is_cut_there() -> None:
    of = parsed([("paragraph", words(9)), ("paragraph", words(9, "cash"))], {0: ("1",), 1: ("2",)})
    whole = replace(of.elements[0], end=of.elements[1].end)
    assert texts(chunked(replace(of, elements=[whole])).chunks) == [words(9), words(9, "cash")]


ROWS = [" | 2024 | 2023", *(f"Region {n} | 1,234 | 5,678" for n in range(12))]


def test_each_piece_of_a_table_carries_its_unit_and_header_rows() -> None:
    of = parsed([("table", "\n".join(ROWS))], header_rows=1, unit="in millions")
    first, *others = chunked(of).chunks
    assert first.prefix == "in millions" and first.text.startswith("| 2024")
    assert others and all(c.prefix == "in millions\n| 2024 | 2023" for c in others)
    assert all(c.text == of.document.text[c.start : c.end] and c.tokens + TOKENIZER.count(c.prefix or "") <= 40 for c in (first, *others))


def test_a_header_stays_with_its_first_row() -> None:
    of = parsed([("paragraph", words(33)), ("table", "\n".join(ROWS))], header_rows=1)
    assert all(not t.endswith("2023") for t in texts(chunked(of).chunks))


def test_a_header_that_would_fill_the_chunk_gives_its_first_rows_up() -> None:
    of = parsed([("table", "\n".join([f"{words(18, 'title')} | x", *ROWS]))], header_rows=2)
    assert {c.prefix for c in chunked(of).chunks[1:]} <= {None, "| 2024 | 2023"}


def test_a_table_without_a_header_repeats_nothing() -> None:
    assert all(c.prefix is None for c in chunked(parsed([("table", "\n".join(ROWS[1:]))], header_rows=0)).chunks)
