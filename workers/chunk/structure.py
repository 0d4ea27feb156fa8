"""Chunks that follow the filing: never across a section, whole paragraphs, list items and tables where they fit, headings with what
follows.

What does not fit is cut at sentences, a longer sentence at words; a table at its rows, and each of its pieces carries the table's unit
and header rows (`units.py`). A short paragraph goes with its neighbour.
Only a fragment that is nothing but a heading and shorter than `min_tokens` is dropped, and told.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pydantic import Field

from edgarmill.schemas.records import Document, Element, Section
from edgarmill.workers.chunk import ChunkOptions, Span, trimmed
from edgarmill.workers.embed.tokens import Pieces
from edgarmill.workers.units import Unit, parts_of, spans_of, stretches, units_of


class Options(ChunkOptions):
    max_tokens: int = Field(256, ge=32, le=8192, description="most tokens of a chunk as embedded: context and special tokens included")
    min_tokens: int = Field(16, ge=0, le=256, description="a fragment of headings only is dropped when it has fewer")


def largest(options: Options, overhead: int) -> int:
    return options.max_tokens - overhead


def split(document: Document, elements: Sequence[Element], sections: Sequence[Section], options: Options, pieces: Pieces,
          room: int) -> Iterator[Span]:
    """Covers all visible text but what comes marked `dropped`. Every span has at most `room` tokens, its prefix included."""
    ordered = sorted(elements, key=lambda e: e.start)
    least = min(options.min_tokens, room // 2)
    for stretch in stretches(len(document.text), sections):
        units = units_of(pieces, ordered, stretch, room)
        for group in _balanced(_packed(units, pieces, room, least), pieces, room, least):
            yield from _spans(group, pieces, room, options.min_tokens)


def _size(units: Sequence[Unit], pieces: Pieces) -> int:
    """Tokens of neighbouring units as one chunk."""
    return units[0].cost + pieces.count(units[0].start, units[-1].end)


def _packed(units: Sequence[Unit], pieces: Pieces, room: int, least: int) -> Iterator[list[Unit]]:
    """Groups of neighbouring units, each within `room` word pieces."""
    queue, group = deque(units), list[Unit]()
    while queue:
        unit = queue.popleft()
        if _size([*group[:1], unit], pieces) <= room:
            group.append(unit)
            continue
        queue.appendleft(unit)
        body = _without_last_headings(group)
        if _stands(body, pieces, least) and (len(body) < len(group) or unit.part or _size([unit], pieces) <= room):
            yield body
            group = group[len(body) :]
        elif not unit.part:
            queue.popleft()
            queue.extendleft(reversed(parts_of(unit, pieces, room)))
        elif (left := room - (group or [unit])[0].cost - (pieces.count(group[0].start, unit.start) if group else 0)) < 1:
            yield group
            group = []
        else:
            queue.popleft()
            cut = pieces.fit(unit.start, unit.end, left)
            queue.extendleft([replace(unit, start=cut), replace(unit, end=cut)])
    if group:
        yield group


def _without_last_headings(group: list[Unit]) -> list[Unit]:
    keep = len(group)
    while keep and group[keep - 1].heading:
        keep -= 1
    return group[:keep]


def _stands(group: Sequence[Unit], pieces: Pieces, least: int) -> bool:
    """Can the group be a chunk: does it say something, at some length?"""
    return any(not u.heading for u in group) and pieces.count(group[0].start, group[-1].end) >= least


def _balanced(groups: Iterator[list[Unit]], pieces: Pieces, room: int, least: int) -> Iterator[list[Unit]]:
    """A last group that is too short takes the end of the one before."""
    before: list[Unit] = []
    for group in groups:
        last = group
        if before and not _stands(last, pieces, least) and any(not u.heading for u in last):
            before, group = _shared(before, last, pieces, room, least)
        if before:
            yield before
        before = group
    if before:
        yield before


def _shared(before: list[Unit], last: list[Unit], pieces: Pieces, room: int, least: int) -> tuple[list[Unit], list[Unit]]:
    """Two neighbouring groups divided anew so that both stand; as they were where that cannot be."""
    units = before if len(before) > 1 else parts_of(before[0], pieces, room)
    for at in range(len(units) - 1, 0, -1):
        moved = [*units[at:], *last]
        if _size(moved, pieces) > room:
            break
        if _stands(moved, pieces, least) and _stands(units[:at], pieces, least):
            return units[:at], moved
    return before, last


def _spans(group: Sequence[Unit], pieces: Pieces, room: int, min_tokens: int) -> Iterator[Span]:
    """The group's range; cut again where its tokens as a text of its own are more than its pieces."""
    start, end = trimmed(pieces.text, group[0].start, group[-1].end)[:2]
    if all(u.heading for u in group) and pieces.exact(start, end) < min_tokens:
        yield Span(start, end, dropped=True)
        return
    yield from spans_of(group[0], end, pieces, room)
