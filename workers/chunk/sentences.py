"""As many whole sentences as fit, some of them also in the next chunk; rows of a table count as sentences, sections are not looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field

from edgarmill.schemas.records import Document, Element, Section
from edgarmill.workers.chunk import ChunkOptions, Span
from edgarmill.workers.embed.tokens import Pieces
from edgarmill.workers.units import fitting, packed, units_of


class Options(ChunkOptions):
    tokens: int = Field(192, ge=16, le=8192, description="most tokens of a chunk, special ones not included")
    overlap: int = Field(1, ge=0, le=20, description="sentences at most that a chunk shares with the one before")


def largest(options: Options, overhead: int) -> int:
    return options.tokens


def split(document: Document, elements: Sequence[Element], sections: Sequence[Section], options: Options, pieces: Pieces,
          room: int) -> Iterator[Span]:
    """A sentence ends with its paragraph; one longer than a chunk is cut at its lines, then between words."""
    ordered = sorted(elements, key=lambda e: e.start)
    units = units_of(pieces, ordered, (0, len(document.text)), options.tokens)
    sentences = list(fitting(units, pieces, options.tokens, whole=False))
    yield from sorted(set(packed(sentences, pieces, options.tokens, options.overlap)))
