"""Parsed documents of a few blocks, for tests of what comes after the parser."""

from __future__ import annotations

from dataclasses import dataclass

from edgarmill.schemas.records import Document, Element, Section


@dataclass(frozen=True)
class Parsed:
    document: Document
    elements: list[Element]
    sections: list[Section]


def parsed(blocks: list[tuple[str, str]], items: dict[int, tuple[str, ...]] | None = None) -> Parsed:
    """A document of (kind, text) blocks; `items` are the Items that begin at a block, by its number."""
    items = items or {}
    text, elements, starts = "", [], dict[int, int]()
    for n, (kind, body) in enumerate(blocks):
        text += "\n\n" if text else ""
        starts[n] = len(text)
        level = 1 if kind == "heading" else None
        elements.append(Element("d:1", "d", n, kind, level, len(text), len(text) + len(body), 1 + n // 3, None, None))
        text += body
    edges = [*sorted(items), len(blocks)]
    starts[len(blocks)] = len(text)
    sections = [
        Section("d:1", "d", "I", item, f"Title {item}", starts[first], starts[after], 1, 1, None, "heading", k)
        for first, after in zip(edges, edges[1:], strict=False)
        for k, item in enumerate(items[first])
    ]
    document = Document("d:1", "d", 1, "10-K", "d.htm", "html", len(text), "utf-8", text, 1, "test", None, len(text), None, None)
    return Parsed(document, elements, sections)


def uncovered(text: str, ranges: list[tuple[int, int]]) -> str:
    """Visible text outside of the ranges."""
    seen = bytearray(len(text))
    for start, end in ranges:
        seen[start:end] = b"\1" * (end - start)
    return "".join(c for c, covered in zip(text, seen, strict=True) if not covered and not c.isspace())
