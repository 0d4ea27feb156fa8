"""One walk over the tree, without recursion: every text node becomes part of one run of text, in reading order.

A run is the text between two block borders. Tables keep their rows and cells; a cell holds runs (and tables) of its own.
Facts of inline XBRL will be collected in this walk too: `ix:` elements are plain wrappers here, `_Walk.open` is the place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from edgarmill.workers.parse.characters import mapped, symbols
from edgarmill.workers.parse.runs import Break, Cell, Item, Run, Table
from edgarmill.workers.parse.styles import BOLD, ITALIC, LINK, PLAIN, RAISED, SYMBOL, UNDERLINED, Style, is_symbol_font, style_of
from edgarmill.workers.parse.tables import resolved

_LINE = "\0"  # a <br>; NUL cannot be in a tree
_BLOCKS = frozenset(
    "p div h1 h2 h3 h4 h5 h6 li ul ol dl dt dd table tr td th center blockquote pre address body form section article header footer nav "
    "main aside figure figcaption fieldset caption thead tbody tfoot page html head dir menu text document".split())
_FLAGS = {"b": BOLD, "strong": BOLD, "th": BOLD, "i": ITALIC, "em": ITALIC, "u": UNDERLINED, "ins": UNDERLINED, "sup": RAISED,
          **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), BOLD)}
_ENTERED = frozenset({"font", "a"})
_FONT_POINTS = {"1": 7.5, "2": 10.0, "3": 12.0, "4": 13.5, "5": 18.0, "6": 24.0, "7": 36.0}
_ORDINALS = frozenset({"st", "nd", "rd", "th", "tm", "sm", "®", "™", "TM", "SM", "ST", "ND", "RD", "TH"})


@dataclass(slots=True)
class _Frame:
    """An open element: what to go on with when its children are done."""

    children: Iterator[etree._Element]
    tail: str | None
    flags: int
    size: float
    tag: str
    block: bool
    style: Style
    out: list[Item] | None = None  # to be restored
    table: Table | None = None
    pieces: list[str] | None = None  # the run around an ix:exclude
    marks: list[int] | None = None


def items_of(root: etree._Element) -> list[Item]:
    """Runs, breaks and tables of a document in reading order."""
    walk = _Walk()
    walk.enter(root, root.tag, PLAIN)
    stack = walk.stack
    while stack:
        depth = len(stack)
        for element in stack[-1].children:
            walk.open(element)
            if len(stack) > depth:
                break
        else:
            walk.close(stack.pop())
    walk.flush()
    return walk.out


class _Walk:
    """The state of one walk."""

    def __init__(self) -> None:
        self.stack: list[_Frame] = []
        self.out: list[Item] = []
        self.table: Table | None = None
        self.pieces: list[str] = []
        self.marks: list[int] = []
        self.flags, self.size, self.run_size = 0, 0.0, 0.0
        self.centered, self.footer, self.aside, self.indent, self.tag = False, 0, 0, 0.0, ""
        self.preformatted = 0

    # ---- elements

    def open(self, element: etree._Element) -> None:
        """An element begins; one without children ends here too."""
        tag, css = element.tag, element.get("style")
        style = PLAIN if css is None else style_of(css)
        if len(element) or style.block or tag in _ENTERED:
            self.enter(element, tag, style)
            return
        if tag == "td" and self.table is not None and not element.text:
            self.cell(element, tag)
        elif tag == "br":
            self.pieces.append(_LINE)
            self.marks.append(0)
        elif tag == "hr":
            self.flush()
            self.out.append(Break(style.break_after or style.break_before))
        elif tag in _BLOCKS or tag[-8:] == ":exclude":
            self.enter(element, tag, style)
            return
        elif element.text:
            self.leaf(element.text, tag, style)
        if element.tail:
            self.add(element.tail)

    def leaf(self, text: str, tag: str, style: Style) -> None:
        """The text of an inline element without children: most of a document's elements are such."""
        if style is PLAIN and tag not in _FLAGS:
            self.add(text)
            return
        flags, size = self.flags, self.size
        self.flags = (flags | _FLAGS.get(tag, 0) | style.add) & ~style.drop
        self.size = style.size or size
        self.add(f" {text} " if style.gap else text)
        self.flags, self.size = flags, size

    def cell(self, element: etree._Element, tag: str) -> Cell:
        """A new cell at the end of the open row."""
        if self.pieces:
            self.flush()
        rows = self.table.rows if self.table is not None else []
        if not rows:
            rows.append([])
        cell = Cell(_span(element.get("colspan"), 1000), _span(element.get("rowspan"), 10_000), tag == "th")
        rows[-1].append(cell)
        return cell

    def enter(self, element: etree._Element, tag: str, style: Style) -> None:
        frame = _Frame(iter(element), element.tail, self.flags, self.size, tag, _is_block(tag, style), style)
        self.flags = (self.flags | _FLAGS.get(tag, 0) | style.add) & ~style.drop
        if style.size:
            self.size = style.size
        if tag == "font":
            self.font(element)
        elif tag == "a" and element.get("href") is not None:
            self.flags |= LINK
        elif tag[-8:] == ":exclude":
            frame.pieces, frame.marks = self.pieces, self.marks
            self.pieces, self.marks = [], []
            self.aside += 1
        if frame.block:
            self.open_block(element, tag, style, frame)
        elif style.gap:
            self.add(" ")
        self.stack.append(frame)
        if element.text:
            self.add(element.text)

    def open_block(self, element: etree._Element, tag: str, style: Style, frame: _Frame) -> None:
        self.flush()
        if style.break_before or tag == "page":
            self.out.append(Break(True))
        if style.footer:
            self.footer += 1
        if tag == "table":
            frame.out, frame.table = self.out, self.table
            self.table = Table()
        elif tag == "tr" and self.table is not None:
            self.table.rows.append([])
        elif tag in ("td", "th") and self.table is not None:
            frame.out, self.out = self.out, self.cell(element, tag).items
        elif tag == "pre":
            self.preformatted += 1
        self.tag = tag
        self.centered = style.centered or tag == "center" or (element.get("align") or "").lower() == "center"
        self.indent = style.indent

    def close(self, frame: _Frame) -> None:
        if frame.block:
            self.close_block(frame)
        elif frame.style.gap:
            self.add(" ")
        if frame.tag[-8:] == ":exclude":
            self.flush()
            self.aside -= 1
            self.pieces, self.marks = frame.pieces or [], frame.marks or []
        self.flags, self.size = frame.flags, frame.size
        if frame.tail:
            self.add(frame.tail)

    def close_block(self, frame: _Frame) -> None:
        self.flush()
        if frame.out is not None:
            self.out = frame.out
        if frame.tag == "table":
            done, self.table = self.table, frame.table
            if done is not None:
                self.out.extend(resolved(done))
        elif frame.tag == "pre":
            self.preformatted -= 1
        if frame.style.footer:
            self.footer -= 1
        if frame.style.break_after:
            self.out.append(Break(True))
        self.tag = ""

    def font(self, element: etree._Element) -> None:
        size = element.get("size")
        if size in _FONT_POINTS:
            self.size = _FONT_POINTS[size]
        face = element.get("face")
        if face:
            self.flags = self.flags | SYMBOL if is_symbol_font(face) else self.flags & ~SYMBOL

    # ---- text

    def add(self, text: str) -> None:
        if not self.pieces and text.isspace():
            return
        if self.flags & (SYMBOL | RAISED):
            text = self.special(text)
        self.pieces.append(text.replace("\n", _LINE) if self.preformatted else text)
        self.marks.append(self.flags)
        if not self.run_size:
            self.run_size = self.size

    def special(self, text: str) -> str:
        """Signs of a symbol font; a raised figure is a note mark, not a digit of the number before it."""
        if self.flags & SYMBOL:
            text = symbols(text)
        if self.flags & RAISED and text.strip() not in _ORDINALS:
            before = self.pieces[-1] if self.pieces else ""
            if before[-1:].isalnum() or before[-1:] in "%)":
                text = " " + text
        return text

    def flush(self) -> None:
        """The run so far becomes blocks: one, or several where two line breaks stand together."""
        pieces = self.pieces
        if not pieces:
            self.run_size = 0.0
            return
        text = mapped("".join(pieces))
        if text.strip(" \0\n\t\r\xa0"):
            self.emit(text)
        self.pieces, self.marks, self.run_size = [], [], 0.0

    def emit(self, text: str) -> None:
        shares = _shares(self.pieces, self.marks)
        for lines in _paragraphs(text, bool(self.preformatted)):
            self.out.append(Run(
                lines, *shares, size=self.run_size, centered=self.centered, tag=self.tag, footer=bool(self.footer), aside=bool(self.aside),
                indent=self.indent))


def _is_block(tag: str, style: Style) -> bool:
    if tag in _BLOCKS:
        return not style.inline or tag in ("td", "th", "tr", "table")
    return style.block


def _span(text: str | None, most: int) -> int:
    """A colspan or rowspan, between 1 and `most`: larger ones are mistakes or attacks."""
    if text is None:
        return 1
    text = text.strip()[:9]
    return min(max(int(text), 1), most) if text.isascii() and text.isdigit() else 1


def _shares(pieces: list[str], marks: list[int]) -> tuple[float, float, float, float]:
    """Bold, italic, underlined and linked shares of the visible characters."""
    if len(set(marks)) == 1:
        mark = marks[0]
        return float(mark & BOLD > 0), float(mark & ITALIC > 0), float(mark & UNDERLINED > 0), float(mark & LINK > 0)
    total, bold, italic, underlined, linked = 0, 0, 0, 0, 0
    for piece, mark in zip(pieces, marks, strict=True):
        length = len(piece) if not piece.isspace() and piece != _LINE else 0
        total += length
        bold += length if mark & BOLD else 0
        italic += length if mark & ITALIC else 0
        underlined += length if mark & UNDERLINED else 0
        linked += length if mark & LINK else 0
    total = max(total, 1)
    return bold / total, italic / total, underlined / total, linked / total


def _paragraphs(text: str, preformatted: bool) -> Iterator[str]:
    """Texts with white space folded; one line break stays a line break, two end the paragraph."""
    if _LINE not in text:
        folded = " ".join(text.split())
        if folded:
            yield folded
        return
    lines: list[str] = []
    for raw in text.split(_LINE):
        line = raw.rstrip().replace("\xa0", " ") if preformatted else " ".join(raw.split())
        if line.strip():
            lines.append(line)
        elif lines:
            yield "\n".join(lines).strip()
            lines = []
    if lines:
        yield "\n".join(lines).strip()
