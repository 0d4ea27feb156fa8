"""Parsed documents of a few blocks, for tests of what comes after the parser."""

from __future__ import annotations

import json
from dataclasses import dataclass

from edgarmill.schemas.records import Document, Element, Section


@dataclass(frozen=True)
class Parsed:
    document: Document
    elements: list[Element]
    sections: list[Section]


def parsed(
    blocks: list[tuple[str, str]], items: dict[int, tuple[str, ...]] | None = None, header_rows: int | None = None, unit: str | None = None
) -> Parsed:
    """A document of (kind, text) blocks; `items` are the Items that begin at a block, by its number. "heading" has level 1, "heading 2"
    level 2 … With `header_rows` tables have a grid."""
    items = items or {}
    text, elements, starts = "", [], dict[int, int]()
    for n, (kind, body) in enumerate(blocks):
        text += "\n\n" if text else ""
        starts[n] = len(text)
        kind, _, number = kind.partition(" ")
        level = int(number or 1) if kind == "heading" else None
        grid = _grid(body, header_rows, unit) if kind == "table" and header_rows is not None else None
        elements.append(Element("d:1", "d", n, kind, level, len(text), len(text) + len(body), 1 + n // 3, None, None, grid))
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


def _grid(body: str, header_rows: int, unit: str | None) -> str:
    return json.dumps({"rows": [row.split(" | ") for row in body.split("\n")], "header_rows": header_rows, "unit": unit})


def uncovered(text: str, ranges: list[tuple[int, int]]) -> str:
    """Visible text outside of the ranges."""
    seen = bytearray(len(text))
    for start, end in ranges:
        seen[start:end] = b"\1" * (end - start)
    return "".join(c for c, covered in zip(text, seen, strict=True) if not covered and not c.isspace())
