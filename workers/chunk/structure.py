"""Chunks that follow the filing: never across a section, whole paragraphs, list items and tables where they fit, headings with what
follows.

What does not fit is cut at sentences, a table at its rows; a longer sentence at words. A short paragraph goes with its neighbour.
Only a fragment that is nothing but a heading and shorter than `min_tokens` is dropped, and told.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel, ConfigDict, Field

from edgarmill.schemas.records import Document, Element, Section
from edgarmill.workers.chunk import Span, trimmed
from edgarmill.workers.embed.tokens import Pieces
from edgarmill.workers.sentences import sentence_starts


class Options(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    max_tokens: int = Field(256, ge=32, le=8192, description="most tokens of a chunk as embedded: context and special tokens included")
    min_tokens: int = Field(16, ge=0, le=256, description="a fragment of headings only is dropped when it has fewer")


def largest(options: Options, overhead: int) -> int:
    return options.max_tokens - overhead


@dataclass(frozen=True, slots=True)
class _Unit:
    """What is kept whole if it can be: an element, or (`part`) a sentence, a row or a run of words of one."""

    start: int
    end: int
    kind: str
    part: bool = False

    @property
    def heading(self) -> bool:
        return self.kind == "heading"


def split(document: Document, elements: Sequence[Element], sections: Sequence[Section], options: Options, pieces: Pieces,
          room: int) -> Iterator[Span]:
    """Covers all visible text but what comes marked `dropped`. Every span has at most `room` tokens."""
    ordered = sorted(elements, key=lambda e: e.start)
    starts = [e.start for e in ordered]
    least = min(options.min_tokens, room // 2)
    for start, end in _stretches(len(document.text), sections):
        inside = ordered[max(0, bisect_right(starts, start) - 1) : bisect_left(starts, end)]
        for group in _balanced(_packed(_units(document.text, inside, start, end), pieces, room, least), pieces, room, least):
            yield from _spans(group, pieces, room, options.min_tokens)


def _stretches(length: int, sections: Sequence[Section]) -> Iterator[tuple[int, int]]:
    """Ranges between the ends of sections: combined sections share one, text outside of sections has its own."""
    cuts = sorted({0, length} | {min(max(p, 0), length) for s in sections for p in (s.start, s.end)})
    return zip(cuts, cuts[1:], strict=False)


def _units(text: str, elements: Sequence[Element], start: int, end: int) -> list[_Unit]:
    """The elements within a range, clipped to it, and whatever text lies between them."""
    found: list[tuple[int, int, str]] = []
    at = start
    for element in elements:
        first, last = max(element.start, at), min(element.end, end)
        if last > first:
            found += [(at, first, "paragraph"), (first, last, element.kind)]
            at = last
    found.append((at, end, "paragraph"))
    spans = [(trimmed(text, a, b), kind) for a, b, kind in found]
    return [_Unit(s.start, s.end, kind) for s, kind in spans if s.end > s.start]


def _packed(units: Sequence[_Unit], pieces: Pieces, room: int, least: int) -> Iterator[list[_Unit]]:
    """Groups of neighbouring units, each within `room` word pieces."""
    queue, group = deque(units), list[_Unit]()
    while queue:
        unit = queue.popleft()
        if pieces.count((group or [unit])[0].start, unit.end) <= room:
            group.append(unit)
            continue
        queue.appendleft(unit)
        body = _without_last_headings(group)
        if _stands(body, pieces, least) and (len(body) < len(group) or unit.part or pieces.count(unit.start, unit.end) <= room):
            yield body
            group = group[len(body) :]
        elif not unit.part:
            queue.popleft()
            queue.extendleft(reversed(_parts(unit, pieces, room)))
        elif (left := room - (pieces.count(group[0].start, unit.start) if group else 0)) < 1:
            yield group
            group = []
        else:
            queue.popleft()
            cut = pieces.fit(unit.start, unit.end, left)
            queue.extendleft([replace(unit, start=cut), replace(unit, end=cut)])
    if group:
        yield group


def _without_last_headings(group: list[_Unit]) -> list[_Unit]:
    keep = len(group)
    while keep and group[keep - 1].heading:
        keep -= 1
    return group[:keep]


def _stands(group: Sequence[_Unit], pieces: Pieces, least: int) -> bool:
    """Can the group be a chunk: does it say something, at some length?"""
    return any(not u.heading for u in group) and pieces.count(group[0].start, group[-1].end) >= least


def _parts(unit: _Unit, pieces: Pieces, room: int) -> list[_Unit]:
    """A table's rows; else sentences, and the lines of a sentence that is too long."""
    cuts = _lines(pieces.text, unit.start, unit.end) if unit.kind == "table" else sentence_starts(pieces.text, unit.start, unit.end)
    edges = [unit.start, *cuts, unit.end]
    found: list[_Unit] = []
    for start, end in zip(edges, edges[1:], strict=False):
        finer = [start, *(_lines(pieces.text, start, end) if pieces.count(start, end) > room else ()), end]
        found += [replace(unit, start=a, end=b, part=True) for a, b in zip(finer, finer[1:], strict=False)]
    return found


def _lines(text: str, start: int, end: int) -> list[int]:
    found, at = [], text.find("\n", start, end)
    while 0 <= at < end - 1:
        found.append(at + 1)
        at = text.find("\n", at + 1, end)
    return found


def _balanced(groups: Iterator[list[_Unit]], pieces: Pieces, room: int, least: int) -> Iterator[list[_Unit]]:
    """A last group that is too short takes the end of the one before."""
    before: list[_Unit] = []
    for group in groups:
        last = group
        if before and not _stands(last, pieces, least) and any(not u.heading for u in last):
            before, group = _shared(before, last, pieces, room, least)
        if before:
            yield before
        before = group
    if before:
        yield before


def _shared(before: list[_Unit], last: list[_Unit], pieces: Pieces, room: int, least: int) -> tuple[list[_Unit], list[_Unit]]:
    """Two neighbouring groups divided anew so that both stand; as they were where that cannot be."""
    units = before if len(before) > 1 else _parts(before[0], pieces, room)
    for at in range(len(units) - 1, 0, -1):
        moved = [*units[at:], *last]
        if pieces.count(moved[0].start, moved[-1].end) > room:
            break
        if _stands(moved, pieces, least) and _stands(units[:at], pieces, least):
            return units[:at], moved
    return before, last


def _spans(group: Sequence[_Unit], pieces: Pieces, room: int, min_tokens: int) -> Iterator[Span]:
    """The group's range; cut again where its tokens as a text of its own are more than its pieces."""
    start, end = trimmed(pieces.text, group[0].start, group[-1].end)[:2]
    if all(u.heading for u in group) and pieces.exact(start, end) < min_tokens:
        yield Span(start, end, dropped=True)
        return
    while start < end:
        cut = pieces.bounded(start, end, room)
        span = trimmed(pieces.text, start, cut)
        if span.end > span.start:
            yield span
        start = cut
