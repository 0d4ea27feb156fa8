"""Windows of a fixed number of tokens with a fixed overlap, as the paper has them; sections and paragraphs are not looked at."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from pydantic import Field, model_validator

from edgarmill.schemas.records import Document, Element, Section
from edgarmill.workers.chunk import ChunkOptions, Span, trimmed
from edgarmill.workers.embed.tokens import Pieces


class Options(ChunkOptions):
    tokens: int = Field(512, ge=8, le=8192, description="most tokens of a chunk, special ones not included")
    overlap: int = Field(50, ge=0, description="tokens at most that a chunk shares with the one before")

    @model_validator(mode="after")
    def _advances(self) -> Options:
        if self.overlap > self.tokens // 2:
            raise ValueError(f"overlap {self.overlap} is more than half of tokens {self.tokens}")
        return self


def largest(options: Options, overhead: int) -> int:
    return options.tokens


def split(document: Document, elements: Sequence[Element], sections: Sequence[Section], options: Options, pieces: Pieces,
          room: int) -> Iterator[Span]:
    """Windows that end at blanks; within a word only where the word alone is longer than a window."""
    text, start, reached = document.text, 0, 0
    while True:
        end = pieces.bounded(start, len(text), options.tokens)
        span = trimmed(text, start, end)
        if span.end > max(span.start, reached):
            yield span
            reached = span.end
        if end >= len(text):
            return
        start = _back(pieces, start, end, options.overlap)


def _back(pieces: Pieces, start: int, end: int, overlap: int) -> int:
    """Where the next window starts: at most `overlap` pieces before `end`, at the start of a word, after `start`."""
    first = bisect_left(pieces.starts, end) - overlap
    if overlap == 0 or first <= bisect_left(pieces.starts, start):
        return end
    for i in range(first, first + overlap):
        if pieces.after_blank(i):
            return pieces.starts[i]
    return end
