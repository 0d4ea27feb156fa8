"""A chunk begins at every heading down to a level, as header splitters of Markdown have it; what is too long is cut at paragraphs, then
at sentences and rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from pydantic import Field

from edgarmill.schemas.records import Document, Element, Section
from edgarmill.workers.chunk import ChunkOptions, Span
from edgarmill.workers.embed.tokens import Pieces
from edgarmill.workers.units import Unit, fitting, packed, stretches, units_of


class Options(ChunkOptions):
    max_level: int = Field(6, ge=1, le=9, description="lowest level of a heading that begins a chunk; 1 is the highest")
    max_tokens: int = Field(256, ge=32, le=8192, description="most tokens of a chunk as embedded: context and special tokens included")


def largest(options: Options, overhead: int) -> int:
    return options.max_tokens - overhead


def split(document: Document, elements: Sequence[Element], sections: Sequence[Section], options: Options, pieces: Pieces,
          room: int) -> Iterator[Span]:
    """Never across a section. A heading with nothing of its own below it goes with the next one."""
    ordered = sorted(elements, key=lambda e: e.start)
    for stretch in stretches(len(document.text), sections):
        units = units_of(pieces, ordered, stretch, room)
        for first, last in pairwise([*_begins(units, options.max_level), len(units)]):
            yield from packed(list(fitting(units[first:last], pieces, room, whole=True)), pieces, room)


def _begins(units: Sequence[Unit], max_level: int) -> list[int]:
    """Numbers of the units at which a chunk begins."""
    return [n for n, u in enumerate(units) if n == 0 or (u.heading and (u.level or 1) <= max_level and not units[n - 1].heading)]
