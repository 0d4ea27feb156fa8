"""One walk over the stream of tags: every text becomes part of one run of text, in reading order, or is hidden.

A run is the text between two block borders. Tables keep their rows and cells; a cell holds runs (and tables) of its own. What is seen is
collected run by run as it stood in the source, so that what later steps lose can be counted, and what a fact covers can be told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from edgarmill.workers.parse.characters import mapped, spaced, symbols
from edgarmill.workers.parse.runs import Break, Item, Run, Table
from edgarmill.workers.parse.stream import (
    BLOCK,
    CELL,
    EMPTY,
    END,
    IGNORED,
    INLINE,
    LINE,
    ROW,
    RULE,
    Action,
    Actions,
    NotNested,
    closed_at,
    unbalanced,
    unescaped,
)
from edgarmill.workers.parse.styles import BOLD, ITALIC, LINK, RAISED, SYMBOL, UNDERLINED
from edgarmill.workers.parse.tables import resolved

_LINE = "\0"  # a <br>; NUL cannot be in a document
_ORDINALS = frozenset({"st", "nd", "rd", "th", "tm", "sm", "®", "™", "TM", "SM", "ST", "ND", "RD", "TH"})
_SPECIAL = SYMBOL | RAISED
_CELLS = frozenset({"td", "th"})

# An open element, flags and size around it, and what else is to be restored: of a plain block the list that it goes into, of a table the
# table around it, of an ix:exclude the run around it.
Frame = tuple[Action, int, float, Any]
Shares = tuple[float, float, float, float]  # bold, italic, underlined, linked


@dataclass(slots=True)
class Walked:
    """`seen` is the visible text of the source, run by run, as written: no reference unread, nothing folded or taken out.

    `prefixed`: it may hold elements whose names have a prefix, as all of inline XBRL have.
    """

    items: list[Item] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    prefixed: bool = True


def walked(parts: list[str], white: bool = False) -> Walked:
    """A stream's runs, breaks and tables in reading order; white letters on white too where `white`. Raises NotNested."""
    walk = _Walk(white)
    walk.ahead = parts
    walk.whole(parts)
    walk.flush()
    return Walked(walk.out, walk.seen, walk.prefixed or walk.actions.prefixed)


class _Walk:
    """The state of one walk."""

    def __init__(self, white: bool) -> None:
        self.white = white
        self.stack: list[Frame] = []
        self.out: list[Item] = []
        self.seen: list[str] = []
        self.table: Table | None = None
        self.pieces: list[str] = []  # of the run so far; the list itself stays the same
        self.marks: list[int] = []
        self.flags, self.size, self.run_size = 0, 0.0, 0.0
        self.centered, self.footer, self.aside, self.indent, self.tag = False, 0, 0, 0.0, ""
        self.preformatted = 0
        self.ahead: list[str] = []  # the stream, until it is known to nest
        self.actions = Actions()
        self.prefixed = False  # has an element that was passed over a prefix, or one in it?

    def whole(self, parts: list[str]) -> None:
        """Takes the whole stream. Raises NotNested."""
        self.run(parts)
        if self.stack:
            raise NotNested(self.stack[-1][0].name)

    def run(self, parts: list[str]) -> None:  # noqa: C901 - one loop, because a call for each of a million tags is what took the time
        """The first branches are the hot ones: they hold nine of ten tags."""
        actions, stack, pieces, marks = self.actions, self.stack, self.pieces, self.marks
        stream = iter(parts)
        self.text(next(stream))
        for tag in stream:
            action = actions[tag]
            kind = action.kind
            if kind == END:
                if not stack:
                    raise NotNested(tag[:40])
                opened, self.flags, self.size, saved = stack.pop()
                if opened.name != action.name:
                    raise NotNested(tag[:40])
                was = opened.kind
                if was == INLINE:
                    if opened.gap:
                        self.add(" ")
                elif was <= CELL:
                    if pieces:
                        self.flush()
                    self.out, self.tag = saved, ""
                else:
                    self.close(opened, saved)
            elif kind == INLINE:
                stack.append((action, self.flags, self.size, None))
                self.flags = (self.flags | action.add) & ~action.drop
                if action.size:
                    self.size = action.size
                if action.gap:
                    self.add(" ")
            elif kind <= CELL:  # a plain block, a row, a cell
                if pieces:
                    self.flush()
                stack.append((action, self.flags, self.size, self.out))
                self.flags = (self.flags | action.add) & ~action.drop
                if action.size:
                    self.size = action.size
                self.tag, self.centered, self.indent = action.name, action.centered, action.style.indent
                if kind == CELL:
                    self.out = self.cell(action)
                elif kind == ROW and self.table is not None:
                    self.table.rows.append([])
            elif kind == EMPTY:
                self.empty(action)
            else:
                self.other(action, stream)
            text = next(stream)
            if not text:
                continue
            if "&" in text:
                text = unescaped(text)
            if self.flags & _SPECIAL or self.preformatted:
                self.add(text)
            elif pieces or not text.isspace():
                pieces.append(text)
                marks.append(self.flags)
                if not self.run_size:
                    self.run_size = self.size

    # ---- elements

    def open(self, action: Action) -> None:
        """A block begins, by which something else may begin or break."""
        if self.pieces:
            self.flush()
        flags, size, saved = self.flags, self.size, self.out
        self.flags = (flags | action.add) & ~action.drop
        if action.size:
            self.size = action.size
        self.tag, self.centered, self.indent = action.name, action.centered, action.style.indent
        if action.name in _CELLS:
            self.out = self.cell(action)
            self.stack.append((action, flags, size, saved))
        else:
            self.stack.append((action, flags, size, self.table))
            if action.name == "tr" and self.table is not None:
                self.table.rows.append([])
        self.more(action, saved)

    def more(self, action: Action, around: list[Item]) -> None:
        """What few blocks do when they begin."""
        name, style = action.name, action.style
        if style.break_before or name == "page":
            self.out.append(Break(True))
        if style.footer:
            self.footer += 1
        if name == "table":
            self.table = Table(around=around)
            self.out = []  # what stands in a table outside of its cells comes before it
        elif name == "pre":
            self.preformatted += 1

    def close(self, action: Action, saved: Any) -> None:
        """A block, or an element of inline XBRL, ends."""
        if action.fact == "exclude":  # whatever its display
            self.include(saved)
            return
        if not action.block:
            if action.gap:
                self.add(" ")
            return
        if self.pieces:
            self.flush()
        name, style = action.name, action.style
        if name in _CELLS:
            self.out = saved
        elif name == "table" and self.table is not None:
            done, self.table = self.table, saved
            strays, self.out = self.out, done.around
            self.out.extend(strays)
            self.out.extend(resolved(done))
        elif name == "pre":
            self.preformatted -= 1
        if style.footer:
            self.footer -= 1
        if style.break_after:
            self.out.append(Break(True))
        self.tag = ""

    def empty(self, action: Action) -> None:
        """An element that is closed at once: a cell that only makes room, a block that only ends a run."""
        if self.table is not None and action.name in ("td", "th"):
            if self.pieces:
                self.flush()
            rows = self.table.rows
            if not rows:
                rows.append([])
            if action.room.rowspan > 1:
                self.table.spanned = True
            rows[-1].append(action.hollow)
        elif action.block:
            self.flush()

    def other(self, action: Action, stream: Iterator[str]) -> None:
        kind = action.kind
        if kind == BLOCK:
            self.open(action)
        elif kind == LINE:
            self.pieces.append(_LINE)
            self.marks.append(0)
        elif kind == RULE:
            self.flush()
            if self.ahead and [frame[0].name for frame in self.stack[:2]] == ["p", "p"]:
                self.look_ahead()
            self.out.append(Break(action.style.break_after or action.style.break_before or action.name == "page"))
        elif kind != IGNORED:
            self.slow(action, stream)

    def look_ahead(self) -> None:
        """Where a <p> is left open at each page break, no end tells so but the last. Raises NotNested if it will."""
        bare, self.ahead = self.ahead[:], []
        if unbalanced(bare, "p"):
            raise NotNested("p")
        bare[::2] = [""] * len(bare[::2])  # else the tags alone are walked to the end
        _Walk(self.white).whole(bare)

    def slow(self, action: Action, stream: Iterator[str]) -> None:
        """An element that may be hidden, or belongs to inline XBRL."""
        if action.silent or (action.white and not self.white and not self.on_shade(action)):
            self.prefixed = _skip(action.name, stream) or self.prefixed
        elif action.fact == "exclude":
            self.stack.append((action, self.flags, self.size, (self.pieces[:], self.marks[:])))
            self.pieces.clear()
            self.marks.clear()
            self.aside += 1
        elif action.block:
            self.open(action)
        else:
            self.stack.append((action, self.flags, self.size, None))
            self.flags = (self.flags | action.add) & ~action.drop
            self.size = action.size or self.size
            if action.gap:
                self.add(" ")

    def include(self, saved: tuple[list[str], list[int]]) -> None:
        """The end of what is excluded from the text around it."""
        self.flush()
        self.aside -= 1
        self.pieces[:], self.marks[:] = saved

    def on_shade(self, action: Action) -> bool:
        """White letters are visible where a cell, row or table around them has a dark ground."""
        return action.shaded or any(frame[0].shaded for frame in self.stack)

    def cell(self, action: Action) -> list[Item]:
        """A new cell at the end of the open row: where its content goes. Outside of a table it is a block like others."""
        if self.table is None:
            return self.out
        rows = self.table.rows
        if not rows:
            rows.append([])
        if action.room.rowspan > 1:
            self.table.spanned = True
        items: list[Item] = []
        rows[-1].append((action.room, items))
        return items

    # ---- text

    def text(self, text: str) -> None:
        if text:
            self.add(unescaped(text) if "&" in text else text)

    def add(self, text: str) -> None:
        if not self.pieces and text.isspace():
            return
        if not self.run_size:
            self.run_size = self.size
        if self.flags & _SPECIAL:
            text = self.special(text)
        self.pieces.append(text.replace("\n", _LINE) if self.preformatted else text)
        self.marks.append(self.flags)

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
            return
        text = pieces[0] if len(pieces) == 1 else "".join(pieces)
        if not text.isascii():
            text = mapped(text)
        if text.strip(" \0\n\t\r\xa0"):
            self.seen.append(text)
            self.emit(text)
        pieces.clear()
        self.marks.clear()
        self.run_size = 0.0

    def emit(self, text: str) -> None:
        marks = self.marks
        first = marks[0]
        indent = self.indent if text[0] != "\xa0" else self.indent + 2.5 * (len(text) - len(text.lstrip("\xa0 ")))
        shares = _SAME[first & 15] if marks.count(first) == len(marks) else _shares(self.pieces, marks)
        if _LINE not in text:  # most runs
            bold, italic, underlined, linked = shares
            self.out.append(Run(spaced(text), bold, italic, underlined, linked, self.run_size, self.centered, self.tag, self.footer > 0,
                                self.aside > 0, indent))
            return
        for lines in _paragraphs(text, bool(self.preformatted)):
            self.out.append(Run(lines, *shares, self.run_size, self.centered, self.tag, self.footer > 0, self.aside > 0, indent))


def _skip(name: str, stream: Iterator[str]) -> bool:
    """Passes over a hidden element and all that is in it: has any name a prefix? Raises NotNested where it does not end."""
    depth, begin, prefixed = 1, len(name) + 1, ":" in name
    for _ in stream:  # a text, then a tag
        tag = next(stream, "")
        if not prefixed and ":" in tag:
            prefixed = ":" in tag.split(None, 1)[0]
        if name in tag[:begin].lower():  # one of ten
            depth += closed_at(name, tag)
            if depth == 0:
                return prefixed
    raise NotNested(name)


def _shares(pieces: list[str], marks: list[int]) -> Shares:
    """Bold, italic, underlined and linked shares of the visible characters."""
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


def _share(mark: int) -> Shares:
    return float(mark & BOLD > 0), float(mark & ITALIC > 0), float(mark & UNDERLINED > 0), float(mark & LINK > 0)


_SAME = tuple(map(_share, range(16)))


def _paragraphs(text: str, preformatted: bool) -> Iterator[str]:
    """Texts with white space folded; one line break stays a line break, two end the paragraph."""
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
