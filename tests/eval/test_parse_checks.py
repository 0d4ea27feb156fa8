"""The checks of the parsing benchmark find what they look for."""

from __future__ import annotations

from edgarmill.eval.benchmarks.parse_checks import arithmetic, bounds, furniture_left, leaked, source_text
from edgarmill.schemas.records import Element, Section
from edgarmill.workers.parse.parsed import Block, Parsed, RawDocument


def parsed(texts: list[str], pages: list[int]) -> Parsed:
    blocks, at = [], 0
    for text, page in zip(texts, pages, strict=True):
        blocks.append(Block("paragraph", at, at + len(text), page))
        at += len(text) + 2
    return Parsed("\n\n".join(texts), tuple(blocks), max(pages), "utf-8", "html-0", None, None)


def section(part: str, item: str, start: int, end: int) -> Section:
    return Section("d", "d", part, item, "", start, end, 1, 1, None, "heading")


def test_hidden_text_in_the_text_is_found() -> None:
    data = b"<html><body><div style='display: none'>9990001 secret</div><p>Shown 12</p></body></html>"
    raw = RawDocument(1, "10-K", "a.htm", data, "html")
    assert leaked(raw, parsed(["Shown 12"], [1]), source_text(raw)) == []
    assert leaked(raw, parsed(["9990001 secret", "Shown 12"], [1, 1]), source_text(raw)) == ["9990001", "secret"]


def test_page_numbers_and_back_links_in_the_text_are_found() -> None:
    prose = ["Oats grew.", "Wheat fell.", "Barley stood.", "Rye was sold.", "Corn was not."]
    numbered = [text for n, line in enumerate(prose) for text in (line, f"{n + 20}")]
    linked = [text for line in prose for text in ("Table of Contents", line)]
    pages = [n // 2 + 1 for n in range(10)]
    assert len(furniture_left(parsed(numbered, pages))) == len(furniture_left(parsed(linked, pages))) == 5
    assert furniture_left(parsed(prose, [1, 2, 3, 4, 5])) == []


def test_wrong_bounds_are_found() -> None:
    text = "Item 1. Business\n\nWe sell.\n\nItem 2. Properties\n\nNone."
    elements = [Element("d", "d", n, "heading" if n % 2 == 0 else "paragraph", 2, at, at + length, 1, None, None, None)
                for n, (at, length) in enumerate([(0, 16), (18, 8), (28, 18), (48, 5)])]
    assert bounds(text, elements, [section("I", "1", 0, 26), section("I", "2", 28, 53)], "10-K") == []
    (embedded,) = bounds(text, elements, [section("I", "1", 0, 53)], "10-K")
    assert "holds 'Item 2. Properties'" in embedded
    (early,) = bounds(text, elements, [section("I", "2", 18, 53)], "10-K")
    assert "begins with 'We sell." in early


def test_ranges_that_overlap_or_go_beyond_the_document_are_found() -> None:
    text = "x" * 100
    assert arithmetic(text, [section("I", "1", 0, 50), section("I", "2", 0, 50), section("I", "3", 60, 100)]) == []
    assert arithmetic(text, [section("I", "1", 0, 50), section("I", "2", 40, 60)])
    assert arithmetic(text, [section("I", "1", 0, 101)]) and arithmetic(text, [section("I", "1", 50, 50)])
