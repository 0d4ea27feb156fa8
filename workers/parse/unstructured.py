"""The engine `unstructured`: its elements as blocks. An optional extra, imported only when a document is parsed with it.

It says nothing of what it lost, so `visible_chars_in` and `numbers_in` stay unknown. Left to itself it reads a PDF by its text layer
alone as soon as a page has one: here that is decided page by page, and images go through OCR (`ocr.py`). At first use it tries to download
a spaCy model from GitHub and to install it: `missing` looks for the model first, so that nothing is ever downloaded.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Protocol

from edgarmill.schemas.errors import BadFile, NoText, SettingsError
from edgarmill.workers.parse import ocr
from edgarmill.workers.parse.characters import folded
from edgarmill.workers.parse.parsed import Block, Parsed, RawDocument
from edgarmill.workers.parse.pdf import image_pages, listed

ENGINE = "unstructured"
MODEL = "en_core_web_sm"

_KINDS = {"Title": "heading", "ListItem": "list_item", "Table": "table"}  # all others are paragraphs
_PDF_PARTS = ("pdfminer", "pdf2image", "unstructured_pytesseract", "unstructured_inference")  # of its extra
_FURNITURE = ("Header", "Footer", "PageNumber", "PageBreak")


class _Metadata(Protocol):
    @property
    def page_number(self) -> int | None: ...
    @property
    def text_as_html(self) -> str | None: ...
    @property
    def category_depth(self) -> int | None: ...


class _Element(Protocol):
    """What is used of an element of the library."""

    @property
    def category(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def metadata(self) -> _Metadata: ...


def missing(media: str = "html") -> str:
    """What is not installed, in one sentence with the remedy; "" when all is there. Imports nothing heavy."""
    if find_spec("unstructured") is None:
        return f"the package unstructured is not installed: pip install 'edgarmill[unstructured{'-pdf' * (media == 'pdf')}]'"
    if find_spec(MODEL) is None:
        return f"spaCy's model {MODEL} is not installed: python -m spacy download {MODEL}"
    if media == "pdf":
        return _missing_for_pdf() or ocr.missing()
    return ""


def _missing_for_pdf() -> str:
    if all(find_spec(name) for name in _PDF_PARTS):
        return ""
    return "unstructured's PDF part is not installed: pip install 'edgarmill[unstructured-pdf]'"


def parse(raw: RawDocument) -> Parsed:
    """One document by unstructured. Raises SettingsError (not installed), BadFile, NoText, TooLarge."""
    _need(missing("html") or (_missing_for_pdf() if raw.media == "pdf" else ""))
    os.environ.setdefault("DO_NOT_TRACK", "1")  # telemetry off, in the process of OCR too
    os.environ.setdefault("UNSTRUCTURED_DISABLE_NOTICE", "1")
    engine = f"{ENGINE}-{version('unstructured')}"
    if raw.media == "pdf":
        return parse_pdf(raw, engine)
    return parsed_from(_elements(raw), engine, raw.name)


def _need(lacking: str) -> None:
    if lacking:
        raise SettingsError(lacking, "parser.engine", 'Or choose parser engine = "native"; edgarmill doctor tells what is there.')


def parse_pdf(raw: RawDocument, engine: str) -> Parsed:
    """Pages with a text layer by that, all others by OCR; blank pages count."""
    pages, images = image_pages(raw.data, raw.name)
    if not images:
        return parsed_from(_elements(raw, strategy="fast"), engine, raw.name, pages)
    _need(ocr.missing())
    written = list(_elements(raw, strategy="fast")) if len(images) < pages else []
    recognised, tesseract = ocr.recognised(raw.data, images, raw.name)
    both: list[_Element] = [*written, *recognised]
    elements = sorted(both, key=lambda element: element.metadata.page_number or 1)
    return parsed_from(elements, engine, raw.name, pages, tuple(_told(images, recognised, tesseract)))


def _told(images: list[int], recognised: list[ocr.Recognised], tesseract: str) -> Iterator[str]:
    """What a reader should know of pages that were recognised."""
    yield f"read by OCR (tesseract {tesseract}), figures may be misread and rows of tables torn: {listed(images)}"
    read = {element.metadata.page_number for element in recognised if element.text.strip()}
    if unread := [page for page in images if page not in read]:
        yield f"an image in which OCR found no text: {listed(unread)}"


def _elements(raw: RawDocument, **options: str) -> Iterable[_Element]:
    partition = _partition(raw.media)
    try:
        return partition(file=io.BytesIO(raw.data), languages=[ocr.LANGUAGE], **options)
    except ImportError as error:
        raise _lacking(error) from None
    except (ValueError, RuntimeError, OSError) as error:
        raise BadFile(f"unstructured cannot read it: {str(error)[:200]}", raw.name, 'Choose parser engine = "native".') from None

def _partition(media: str) -> Callable[..., Iterable[_Element]]:
    name = media if media in ("html", "pdf") else "text"
    try:
        return getattr(import_module(f"unstructured.partition.{name}"), f"partition_{name}")  # type: ignore[no-any-return]
    except ImportError as error:
        raise _lacking(error) from None


def _lacking(error: ImportError) -> Exception:
    """What an import that failed means; a library in C that finds no memory fails so too, and it is the limit that tells of that."""
    if re.search("failed to map segment|cannot allocate memory", str(error), re.I):
        return MemoryError()
    return SettingsError(f"unstructured lacks a part: {error}", "parser.engine", "pip install 'edgarmill[unstructured-pdf]'")


def parsed_from(elements: Iterable[_Element], engine: str, name: str = "", pages: int = 0, warnings: tuple[str, ...] = ()) -> Parsed:
    """Elements as canonical text with ranges; headers, footers and page numbers left out. Raises NoText.

    `pages` is how many there are, where that is known better than by the elements.
    """
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
    return Parsed("\n\n".join(parts), tuple(blocks), max(page, breaks + 1, pages), "unknown", engine, None, None, warnings)


def _rows(table: str | None) -> list[list[str]]:
    """Cells of the library's HTML of a table; empty rows left out."""
    if not table:
        return []
    from lxml import etree, html

    try:
        root = html.fragment_fromstring(table, create_parent=True, parser=html.HTMLParser(huge_tree=False))
    except (etree.ParserError, ValueError):
        return []
    rows = [[folded("".join(cell.itertext())) for cell in row if cell.tag in ("td", "th")] for row in root.iter("tr")]
    return [row for row in rows if any(row)]
