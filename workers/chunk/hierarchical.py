"""Small chunks that know the passage they are part of: search finds the small one, a reader may be given its parent.

A parent is the largest stretch under one heading that has at most `parent_tokens`; where headings do not divide a section so far, as many
of its paragraphs as fit. Parents cover the text, never cross a section, and a chunk lies within its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from pydantic import Field, model_validator

from edgarmill.schemas.records import Document, Element, Section
from edgarmill.workers.chunk import ChunkOptions, Span
from edgarmill.workers.embed.tokens import Pieces
from edgarmill.workers.units import Unit, fitting, packed, stretches, units_of


class Options(ChunkOptions):
    max_tokens: int = Field(128, ge=32, le=8192, description="most tokens of a chunk as embedded: context and special tokens included")
    parent_tokens: int = Field(1024, ge=32, le=65_536, description="most tokens of a parent")

    @model_validator(mode="after")
    def _parent_is_larger(self) -> Options:
        if self.parent_tokens < self.max_tokens:
            raise ValueError(f"parent_tokens {self.parent_tokens} is less than max_tokens {self.max_tokens}")
        return self


def largest(options: Options, overhead: int) -> int:
    return options.max_tokens - overhead


def split(document: Document, elements: Sequence[Element], sections: Sequence[Section], options: Options, pieces: Pieces,
          room: int) -> Iterator[Span]:
    """Whole paragraphs where they fit, else sentences and rows."""
    ordered = sorted(elements, key=lambda e: e.start)
    for stretch in stretches(len(document.text), sections):
        units = list(fitting(units_of(pieces, ordered, stretch, room), pieces, room, whole=True))
        for parent in _parents(units, pieces, options.parent_tokens):
            span = (parent[0].start, parent[-1].end)
            yield from (child._replace(parent=span) for child in packed(parent, pieces, room))


def _parents(units: Sequence[Unit], pieces: Pieces, most: int) -> Iterator[Sequence[Unit]]:
    """Runs of units of at most `most` tokens, divided at headings of the highest level there is."""
    if not units:
        return
    if pieces.count(units[0].start, units[-1].end) <= most:
        yield units
        return
    levels = [u.level or 1 for u in units[1:] if u.heading and not u.part]
    if not levels:
        yield from _runs(units, pieces, most)
        return
    cuts = [n for n, u in enumerate(units) if n and u.heading and not u.part and (u.level or 1) == min(levels)]
    for first, last in pairwise([0, *cuts, len(units)]):
        yield from _parents(units[first:last], pieces, most)


def _runs(units: Sequence[Unit], pieces: Pieces, most: int) -> Iterator[Sequence[Unit]]:
    first = 0
    for n, unit in enumerate(units):
        if n > first and pieces.count(units[first].start, unit.end) > most:
            yield units[first:n]
            first = n
    yield units[first:]
