"""What chunkers keep whole where they can: the elements of a parse, and their parts: sentences, rows of a table, lines, words.

A part of a table beyond its header carries the table's unit and header rows: they are embedded before a chunk that begins with it.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from edgarmill.schemas.records import Element, Section
from edgarmill.workers.chunk import Span, trimmed
from edgarmill.workers.embed.tokens import Pieces
from edgarmill.workers.sentences import sentence_starts


@dataclass(frozen=True, slots=True)
class Unit:
    """An element, or (`part`) a sentence, a row or a run of words of one."""

    start: int
    end: int
    kind: str
    level: int | None = None  # of a heading, 1 is the highest
    grid: str | None = None  # of a whole table
    part: bool = False
    prefix: str = ""  # what is embedded before a chunk that begins here
    cost: int = 0  # tokens of that

    @property
    def heading(self) -> bool:
        return self.kind == "heading"


def stretches(length: int, sections: Sequence[Section]) -> Iterator[tuple[int, int]]:
    """Ranges between the ends of sections: combined sections share one, text outside of sections has its own."""
    cuts = sorted({0, length} | {min(max(p, 0), length) for s in sections for p in (s.start, s.end)})
    return zip(cuts, cuts[1:], strict=False)


def units_of(pieces: Pieces, elements: Sequence[Element], stretch: tuple[int, int], room: int) -> list[Unit]:
    """The elements within a stretch, clipped to it, and whatever text lies between them. `elements` sorted by their start."""
    start, end = stretch
    found: list[Unit] = []
    at = start
    for element in _inside(elements, start, end):
        first, last = max(element.start, at), min(element.end, end)
        if last > first:
            whole = (first, last) == (element.start, element.end)
            found += [Unit(at, first, "paragraph"), Unit(first, last, element.kind, element.level, element.grid if whole else None)]
            at = last
    found.append(Unit(at, end, "paragraph"))
    spans = [(trimmed(pieces.text, u.start, u.end), u) for u in found]
    return [_with_unit_line(replace(u, start=s.start, end=s.end), pieces, room) for s, u in spans if s.end > s.start]


def _inside(elements: Sequence[Element], start: int, end: int) -> Sequence[Element]:
    first = bisect_right(elements, start, key=lambda e: e.start) - 1
    return elements[max(0, first) : bisect_left(elements, end, key=lambda e: e.start)]


def parts_of(unit: Unit, pieces: Pieces, room: int) -> list[Unit]:
    """A table's rows; else sentences. One that is too long in lines; what is still too long is left to `fitting`."""
    table = unit.kind == "table"
    cuts = _lines(pieces.text, unit.start, unit.end) if table else sentence_starts(pieces.text, unit.start, unit.end)
    header, prefix, cost = _header(unit, pieces, room) if unit.grid else (unit.end, unit.prefix, unit.cost)
    body = next((cut for cut in cuts if cut > header), unit.end) if table and unit.grid else unit.start
    if unit.start < header < unit.end and pieces.count(unit.start, body) <= room // 2:
        cuts = [cut for cut in cuts if cut >= body]  # a header stays with its first row
    edges = [unit.start, *cuts, unit.end]
    found: list[Unit] = []
    for start, end in zip(edges, edges[1:], strict=False):
        finer = [start, *(_lines(pieces.text, start, end) if not table and pieces.count(start, end) > room else ()), end]
        for a, b in zip(finer, finer[1:], strict=False):
            repeats = a >= header
            found.append(replace(unit, start=a, end=b, grid=None, part=True, prefix=prefix if repeats else "", cost=cost if repeats else 0))
    if found and unit.prefix:
        found[0] = replace(found[0], prefix=unit.prefix, cost=unit.cost)
    return found


def fitting(units: Sequence[Unit], pieces: Pieces, room: int, whole: bool) -> Iterator[Unit]:
    """The units within `room` as they are (`whole`) and the others in parts; without `whole` every one but a table in parts."""
    for unit in units:
        fits = unit.cost + pieces.count(unit.start, unit.end) <= room
        if fits and (whole or unit.kind == "table" or unit.part):
            yield unit
            continue
        for part in parts_of(unit, pieces, room):
            start = part.start
            while start < part.end:
                cut = pieces.fit(start, part.end, max(1, room - part.cost))
                yield replace(part, start=start, end=cut)
                start = cut


def packed(units: Sequence[Unit], pieces: Pieces, room: int, overlap: int = 0) -> Iterator[Span]:
    """As many neighbouring units as fit, each of which fits; `overlap` of them at most are also in the next span.

    A heading goes with what follows, unless there is nothing but headings.
    """
    at = 0
    while at < len(units):
        after = at + 1
        while after < len(units) and _fit(units, at, after, pieces, room):
            after += 1
        after = _before_headings(units, at, after) if after < len(units) else after
        yield from spans_of(units[at], units[after - 1].end, pieces, room)
        if after == len(units):
            return
        later = max(at + 1, after - overlap)
        while later < after and not _fit(units, later, after, pieces, room):
            later += 1
        at = later


def _before_headings(units: Sequence[Unit], first: int, after: int) -> int:
    """Where the last headings of a run of units begin."""
    last = after
    while last > first and units[last - 1].heading:
        last -= 1
    return last if last > first else after


def _fit(units: Sequence[Unit], first: int, last: int, pieces: Pieces, room: int) -> bool:
    return units[first].cost + pieces.count(units[first].start, units[last].end) <= room


def spans_of(first: Unit, end: int, pieces: Pieces, room: int) -> Iterator[Span]:
    """The range from `first` on; cut again where its tokens as a text of its own are more than its pieces."""
    start, end = trimmed(pieces.text, first.start, end)[:2]
    prefix, left = first.prefix, room - first.cost
    while start < end:
        cut = pieces.bounded(start, end, left)
        span = trimmed(pieces.text, start, cut)
        if span.end > span.start:
            yield span._replace(prefix=prefix)
        start = cut


def _lines(text: str, start: int, end: int) -> list[int]:
    found, at = [], text.find("\n", start, end)
    while 0 <= at < end - 1:
        found.append(at + 1)
        at = text.find("\n", at + 1, end)
    return found


def _with_unit_line(unit: Unit, pieces: Pieces, room: int) -> Unit:
    """A table whose unit ("in millions") stands elsewhere carries it."""
    if not unit.grid:
        return unit
    said = json.loads(unit.grid).get("unit") or ""
    if not said or said.lower() in pieces.text[unit.start : unit.end].lower():
        return unit
    prefix, cost = _within([said], 0, pieces, room)
    return replace(unit, prefix=prefix, cost=cost)


def _header(unit: Unit, pieces: Pieces, room: int) -> tuple[int, str, int]:
    """Where the table's header rows end; what later rows repeat of it, and the tokens of that."""
    grid = json.loads(unit.grid or "{}")
    starts = [*_lines(pieces.text, unit.start, unit.end), unit.end]
    rows = min(int(grid.get("header_rows") or 0), len(starts) - 1)
    end = starts[rows - 1] if rows else unit.start
    lines = pieces.text[unit.start : end].splitlines()
    said = grid.get("unit") or ""
    prefix, cost = _within([said, *lines] if said and said.lower() not in "\n".join(lines).lower() else lines, len(lines), pieces, room)
    first = starts[0] if not rows else end  # without header rows, the first row is not told to repeat anything
    return first, prefix, cost


def _within(lines: Sequence[str], header: int, pieces: Pieces, room: int) -> tuple[str, int]:
    """The lines, with tokens and blank line, in half the room: of the last `header` ones the first go where they do not fit."""
    keep, rest = list(lines[: len(lines) - header]), list(lines[len(lines) - header :])
    while keep or rest:
        prefix = "\n".join([*keep, *rest]).strip()
        cost = pieces.tokenizer.count(f"{prefix}\n\na") - pieces.tokenizer.count("a")
        if cost <= room // 2:
            return prefix, cost
        keep, rest = (keep, rest[1:]) if rest else ([], [])
    return "", 0
