"""The PDF parser: the text layer by pdfium, page by page. Nothing in a PDF is executed or followed, and images are not recognised."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass, replace
from typing import Any

from edgarmill.schemas.errors import BadFile, NoText, TooLarge
from edgarmill.workers.parse.assembled import parsed_of
from edgarmill.workers.parse.characters import folded
from edgarmill.workers.parse.figures import figure_rows
from edgarmill.workers.parse.hyphens import mended, words_of
from edgarmill.workers.parse.parsed import Parsed, RawDocument
from edgarmill.workers.parse.runs import Break, Grid, Item, Run

ENGINE = "pdf-3"
MOST_PAGES = 5000
OCR = 'needs OCR ([parser] engine = "unstructured" in the recipe, or parse --parser unstructured)'

_LISTED = 20  # page numbers, or ranges of them, in one warning
_BULLET = re.compile(r"[•●▪■◦○·❖➢✓]|\(?(?:[a-z]|[ivx]{1,4}|\d{1,2})[.)]\s", re.I)
_PART, _ITEM = re.compile(r"part\s+[IV]+\b", re.I), re.compile(r"item\s+\d{1,2}[A-C]?\b", re.I)
_ENDS = re.compile(r"[.!?:;][\"”’')\]]*$")
_LINE = 0.7  # of the letters' size, at least, from a line to the next; a raised sign stands less high
_SHORTEST = 2.5  # characters of a line, on the average
_FEW = 50  # pieces of one or two letters on a page, as in a table of contents
_HYPHEN = "\ufffe"  # pdfium's sign for a hyphen at the end of a line, with the line end taken away


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    left: float
    right: float
    y: float  # of its lower edge; it falls down the page
    size: float
    bold: bool


def parse(raw: RawDocument) -> Parsed:
    """One PDF as canonical text. Raises BadFile (damaged, encrypted), NoText (images only), TooLarge."""
    pages, images = _read_pages(raw.data, raw.name)
    if not any(pages):
        if images:
            raise NoText(f"none of {len(pages)} pages has a text layer", raw.name, f"It is a scan and {OCR}.")
        raise NoText(f"all of {len(pages)} pages are blank", raw.name, "Look at the file.")
    words = words_of("\n".join(line.text for lines in pages for line in lines))
    items: list[Item] = []
    for number, lines in enumerate(pages):
        items += ([Break(True)] if number else []) + _items(lines, words)
    source = "\n".join(line.text.replace(_HYPHEN, "") for lines in pages for line in lines)
    warnings = (f"an image without a text layer {OCR}: {listed(images)}",) if images else ()
    return parsed_of(items, source, "pdf", ENGINE, raw.name, warnings, every_page=True)


def image_pages(data: bytes, name: str) -> tuple[int, list[int]]:
    """How many pages there are, and which of them, from 1, show something but have no text layer. Raises BadFile, TooLarge."""
    pages, images = _read_pages(data, name)
    return len(pages), images


def listed(numbers: list[int]) -> str:
    """ "page 2", "pages 2, 5-8"; of a long list the beginning."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    said = ", ".join("-".join(map(str, run)) for run in runs[:_LISTED])
    return f"page{'s' * (len(numbers) > 1)} {said}" + (f" and more, {len(numbers)} in all" if len(runs) > _LISTED else "")


def first_lines(data: bytes, pages: int = 2) -> list[str]:
    """The lines of the first pages (two: the cover). Raises BadFile."""
    document = _opened(data, "")
    try:
        return [line.text.replace(_HYPHEN, "-") for number in range(min(pages, len(document))) for line in _lines(document, number)]
    finally:
        document.close()


def _read_pages(data: bytes, name: str) -> tuple[list[list[_Line]], list[int]]:
    """The lines of every page, and the numbers, from 1, of those without lines that are not blank."""
    document = _opened(data, name)
    try:
        if len(document) > MOST_PAGES:
            raise TooLarge(f"{len(document)} pages, at most {MOST_PAGES} are read", name, "Split the PDF.")
        pages = [_lines(document, number) for number in range(len(document))]
        return pages, [number for number, lines in enumerate(pages, 1) if not lines and not _is_blank(document, number - 1)]
    finally:
        document.close()


def _is_blank(document: Any, number: int) -> bool:
    """Nothing is drawn on it; a page that pdfium cannot read may well show something."""
    import pypdfium2

    try:
        page = document[number]
    except pypdfium2.PdfiumError:
        return False
    try:
        return next(page.get_objects(max_depth=1), None) is None
    finally:
        page.close()


def _opened(data: bytes, name: str) -> Any:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
        if len(document) == 0:
            raise BadFile("a PDF without pages", name, "Download it again.")
        return document
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise BadFile("the PDF is encrypted", name, "Save it without a password.") from None
        raise BadFile("the PDF is damaged", name, "Download it again.") from None


def _lines(document: Any, number: int) -> list[_Line]:
    """The printed lines of a page in the order of the text layer; none for an image or a page that pdfium cannot read."""
    import pypdfium2

    try:
        page = document[number]
        text_page = page.get_textpage()
    except pypdfium2.PdfiumError:
        return []
    try:
        text = _units(text_page.get_text_range())
        pieces = _pieces(text_page, re.split(r"(\r\n|\r|\n)", text))
        if sum(len(piece.text) <= 2 for piece in pieces) > max(_FEW, len(pieces) / 2):  # set letter by letter: some pieces reach over lines
            pieces = _pieces(text_page, list(text))
        return _joined(pieces)
    finally:
        text_page.close()
        page.close()


def _units(text: str) -> str:
    """With two halves for each sign beyond the first 65,536, since pdfium counts them so."""
    if not text or max(text) <= "\uffff":
        return text
    return "".join(map(chr, memoryview(text.encode("utf-16-le")).cast("H")))


def _signs(text: str) -> str:
    """The halves put together again."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _pieces(text_page: Any, parts: list[str]) -> list[_Line]:
    """The parts of the page's text that are not blank, and where they stand."""
    found, at = [], 0
    for part in parts:
        if part.strip():
            first, last = at + len(part) - len(part.lstrip()), at + len(part.rstrip()) - 1
            found += [_piece(text_page, part, at, *ends) for ends in _on_one_line(text_page, part, at, first, last)]
        at += len(part)
    return [piece for piece in found if piece.text]


def _piece(text_page: Any, part: str, at: int, first: int, last: int) -> _Line:
    left, bottom, _, top = _box(text_page, first)
    right = _box(text_page, last)[2]
    bold = _is_bold(text_page, first) and _is_bold(text_page, last)
    return _Line(folded(_signs(part[first - at : last + 1 - at])), left, right, bottom, max(top - bottom, 1.0), bold)


def _on_one_line(text_page: Any, part: str, at: int, first: int, last: int) -> list[tuple[int, int]]:
    """First and last character of each printed line of a part: pdfium may leave out the end of a line, be it before a heading.

    What would be cut to pieces runs up or down the page, and stays whole.
    """
    _, bottom, _, top = _box(text_page, first)
    whole = [(first, last)]
    if abs(bottom - _box(text_page, last)[1]) <= _LINE * (top - bottom):
        return whole
    lines, before = [], first
    for index in range(first + 1, last + 1):
        if part[index - at].isspace():
            continue
        _, here, _, top = _box(text_page, index)
        if abs(here - bottom) > _LINE * max(top - here, 1.0) and part[before - at] != _HYPHEN:
            lines.append((first, before))
            first = index
        before, bottom = index, here
    lines.append((first, last))
    torn = len(lines) > 2 and len("".join(part.split())) < _SHORTEST * len(lines)
    return whole if torn else lines


def _joined(pieces: list[_Line]) -> list[_Line]:
    """Pieces side by side as the line they are: where a file sets each word or letter by itself, pdfium may end a line behind each."""
    lines: list[list[_Line]] = []
    for before, piece in zip([None, *pieces], pieces, strict=False):
        if before and _beside(before, piece):
            lines[-1].append(piece)
        else:
            lines.append([piece])
    return [_whole(line) if len(line) > 1 else line[0] for line in lines]


def _whole(line: list[_Line]) -> _Line:
    words = [("" if _one_word(before, piece) else " ") + piece.text for before, piece in zip(line, line[1:], strict=False)]
    return replace(line[0], text=line[0].text + "".join(words), right=line[-1].right, bold=all(piece.bold for piece in line))


def _beside(before: _Line, piece: _Line) -> bool:
    size = min(before.size, piece.size)
    return abs(before.y - piece.y) < 0.2 * size and piece.left >= before.right - 0.3 * size


def _one_word(before: _Line, piece: _Line) -> bool:
    """Letters set by themselves touch, and a word space beside one is 0.12 of its size at least; words in italics may stand closer."""
    lone = min(len(before.text.rsplit(" ", 1)[-1]), len(piece.text.split(" ", 1)[0])) == 1
    return lone and piece.left - before.right < 0.1 * piece.size


def _box(text_page: Any, index: int) -> tuple[float, float, float, float]:
    """Left, bottom, right and top of the character at a place in the page's text."""
    found: tuple[float, float, float, float] = text_page.get_charbox(_character(text_page, index), loose=True)
    return found


def _character(text_page: Any, index: int) -> int:
    """pdfium's number of a character in its text, which leaves out those that it cannot name."""
    import pypdfium2.raw as pdfium

    number = int(pdfium.FPDFText_GetCharIndexFromTextIndex(text_page, index))
    return number if number >= 0 else index


def _is_bold(text_page: Any, index: int) -> bool:
    import pypdfium2.raw as pdfium

    name, flags = ctypes.create_string_buffer(128), ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(text_page, _character(text_page, index), name, 128, flags)
    return b"bold" in name.value.lower() or b"black" in name.value.lower()


def _items(lines: list[_Line], words: frozenset[str]) -> list[Item]:
    """Grids where rows of figures stand, and between them paragraphs."""
    items: list[Item] = []
    done = 0
    for start, end, grid in figure_rows([line.text.replace(_HYPHEN, "-") for line in lines]):
        items += [*_paragraphs(lines[done:start], words), grid]
        done = end
    return [*items, *_paragraphs(lines[done:], words)]


def _paragraphs(lines: list[_Line], words: frozenset[str]) -> list[Run | Grid]:
    gaps = sorted(a.y - b.y for a, b in zip(lines, lines[1:], strict=False) if 0 < a.y - b.y < 3 * a.size)
    pitch = gaps[len(gaps) // 2] if gaps else 0.0
    edge = max((line.right for line in lines), default=0.0)
    groups: list[list[_Line]] = []
    for line in lines:
        if groups and not _begins(groups[-1][-1], line, pitch, edge):
            groups[-1].append(line)
        else:
            groups.append([line])
    return [_run(group, words) for group in groups]


def _begins(before: _Line, line: _Line, pitch: float, edge: float) -> bool:
    """Does a paragraph begin with this line?"""
    gap = before.y - line.y
    if line.bold != before.bold or abs(line.size - before.size) > 0.15 * before.size or _BULLET.match(line.text):
        return True
    if gap > 1.3 * max(min(pitch, 1.5 * line.size), 0.8 * line.size):
        return True
    if before.right >= 0.85 * edge:
        return False
    return bool(_ENDS.search(before.text)) or bool(_PART.match(before.text) and _ITEM.match(line.text))


def _run(group: list[_Line], words: frozenset[str]) -> Run:
    text = ""
    for line in group:
        text = mended(text, line.text, words) if text.endswith("-") else f"{text} {line.text}".strip()
    while (at := text.find(_HYPHEN)) >= 0:
        text = mended(text[:at] + "-", text[at + 1 :], words)
    return Run(text, bold=float(all(line.bold for line in group)), size=round(max(line.size for line in group), 1))
