"""The engine `unstructured`: its elements as blocks. An optional extra, imported only when a document is parsed with it.

It says nothing of what it lost, so `visible_chars_in` and `numbers_in` stay unknown. At first use it tries to download a spaCy model from
GitHub and to install it: `missing` looks for the model first, so that nothing is ever downloaded.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Protocol

from lxml import etree, html

from edgarmill.schemas.errors import BadFile, NoText, SettingsError
from edgarmill.workers.parse.characters import folded
from edgarmill.workers.parse.parsed import Block, Parsed, RawDocument

ENGINE = "unstructured"
MODEL = "en_core_web_sm"

_KINDS = {"Title": "heading", "ListItem": "list_item", "Table": "table"}  # all others are paragraphs
_FURNITURE = ("Header", "Footer", "PageNumber", "PageBreak")


class _Metadata(Protocol):
    page_number: int | None
    text_as_html: str | None
    category_depth: int | None


class _Element(Protocol):
    """What is used of an element of the library."""

    category: str
    text: str
    metadata: _Metadata


def missing(media: str = "html") -> str:
    """What is not installed, in one sentence with the remedy; "" when all is there. Imports nothing heavy."""
    if find_spec("unstructured") is None:
        return "the package unstructured is not installed: pip install 'edgarmill[unstructured]'"
    if find_spec(MODEL) is None:
        return f"spaCy's model {MODEL} is not installed: python -m spacy download {MODEL}"
    if media == "pdf" and find_spec("pdfminer") is None:
        return "unstructured's PDF part is not installed: pip install 'edgarmill[unstructured-pdf]'"
    return ""


def parse(raw: RawDocument) -> Parsed:
    """One document by unstructured. Raises SettingsError (not installed), BadFile, NoText."""
    if lacking := missing(raw.media):
        raise SettingsError(lacking, "parser.engine", 'Or choose parser engine = "native"; edgarmill doctor tells what is there.')
    partition = _partition(raw.media)
    try:
        elements = partition(file=io.BytesIO(raw.data))
    except ImportError as error:
        raise SettingsError(f"unstructured lacks a part: {error}", "parser.engine", "pip install 'edgarmill[unstructured-pdf]'") from None
    except (ValueError, RuntimeError, OSError) as error:
        raise BadFile(f"unstructured cannot read it: {str(error)[:200]}", raw.name, 'Choose parser engine = "native".') from None
    return parsed_from(elements, f"{ENGINE}-{version('unstructured')}", raw.name)


def _partition(media: str) -> Callable[..., Iterable[_Element]]:
    os.environ.setdefault("DO_NOT_TRACK", "1")  # telemetry off
    os.environ.setdefault("UNSTRUCTURED_DISABLE_NOTICE", "1")
    name = media if media in ("html", "pdf") else "text"
    try:
        return getattr(import_module(f"unstructured.partition.{name}"), f"partition_{name}")  # type: ignore[no-any-return]
    except ImportError as error:
        raise SettingsError(f"unstructured lacks a part: {error}", "parser.engine", "pip install 'edgarmill[unstructured-pdf]'") from None


def parsed_from(elements: Iterable[_Element], engine: str, name: str = "") -> Parsed:
    """Elements as canonical text with ranges; headers, footers and page numbers left out. Raises NoText."""
    parts: list[str] = []
    blocks: list[Block] = []
    at, page, breaks = 0, 1, 0
    for element in elements:
        breaks += element.category == "PageBreak"
        page = max(page, element.metadata.page_number or breaks + 1)
        if element.category in _FURNITURE:
            continue
        rows = _rows(element.metadata.text_as_html) if element.category == "Table" else []
        text = "\n".join(" | ".join(row) for row in rows) or folded(element.text)
        if not text:
            continue
        kind = _KINDS.get(element.category, "paragraph")
        grid = json.dumps({"rows": rows or [[text]], "header_rows": 0, "unit": None}, ensure_ascii=False) if kind == "table" else None
        level = min((element.metadata.category_depth or 0) + 1, 6) if kind == "heading" else None
        blocks.append(Block(kind, at, at + len(text), page, None, level, grid))
        parts.append(text)
        at += len(text) + 2
    if not blocks:
        raise NoText("unstructured found no text", name, 'Look at the file, or choose parser engine = "native".')
    return Parsed("\n\n".join(parts), tuple(blocks), max(page, breaks + 1), "unknown", engine, None, None)


def _rows(table: str | None) -> list[list[str]]:
    """Cells of the library's HTML of a table; empty rows left out."""
    if not table:
        return []
    try:
        root = html.fragment_fromstring(table, create_parent=True, parser=html.HTMLParser(huge_tree=False))
    except (etree.ParserError, ValueError):
        return []
    rows = [[folded("".join(cell.itertext())) for cell in row if cell.tag in ("td", "th")] for row in root.iter("tr")]
    return [row for row in rows if any(row)]
