"""Chunks of a number of characters, ended at the largest unit that fits: paragraph, line, sentence, word; sections are not looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field, model_validator

from edgarmill.schemas.records import Document, Element, Section
from edgarmill.workers.chunk import ChunkOptions, Span, trimmed
from edgarmill.workers.embed.tokens import Pieces
from edgarmill.workers.sentences import sentence_starts


class Options(ChunkOptions):
    characters: int = Field(1800, ge=50, le=100_000, description="most characters of a chunk")
    overlap: int = Field(300, ge=0, description="characters at most that a chunk shares with the one before")

    @model_validator(mode="after")
    def _advances(self) -> Options:
        if self.overlap > self.characters // 3:
            raise ValueError(f"overlap {self.overlap} is more than a third of characters {self.characters}")
        return self


def largest(options: Options, overhead: int) -> int:
    """A token has at least one byte, a character at most four."""
    return 4 * options.characters


def split(document: Document, elements: Sequence[Element], sections: Sequence[Section], options: Options, pieces: Pieces,
          room: int) -> Iterator[Span]:
    """Every chunk is at least half as long as allowed where any cut can make it so; a word is cut only where it is longer than a chunk."""
    text, size = document.text, options.characters
    start, end = trimmed(text, 0, len(text)).start, 0
    while start < len(text):
        end = len(text) if len(text) - start <= size else _cut(text, start, end, size)
        span = trimmed(text, start, end)
        if span.end > span.start:
            yield span
        if end >= len(text) or not text[end:].strip():
            return
        start = trimmed(text, _back(text, end - options.overlap, end), len(text)).start


def _cut(text: str, start: int, reached: int, size: int) -> int:
    """The last good end of a chunk from `start`; always after `reached`, where the chunk before ended."""
    least, most = start + size // 2, start + size
    for mark in ("\n\n", "\n"):
        if (at := text.rfind(mark, least, most)) > 0:
            return at + len(mark)
    if ends := [s for s in sentence_starts(text, start, most) if s > least]:
        return ends[-1]
    for at in range(most, max(start, reached), -1):
        if text[at].isspace() or text[at - 1].isspace():
            return at
    return most


def _back(text: str, least: int, end: int) -> int:
    """Where the next chunk starts: the first word's start in [least, end), else `end`."""
    for at in range(least, end):
        if text[at - 1 : at].isspace() and not text[at].isspace():
            return at
    return end
