"""Chunkers: every other file of this folder is one, and its name is its kind. A chunker is a module with

    Options(ChunkOptions)                      frozen pydantic model with bounds; what every chunker takes is in ChunkOptions
    largest(options, overhead) -> int          most tokens a text may have; `overhead` = tokens of context, blank line and special tokens
    split(document, elements, sections, options, pieces, room) -> Iterator[Span]
    NEEDS_ENCODER = True                       only where it does: `split` then gets `encode` as its last argument

`room` is what the model's window leaves for the text, or where the recipe lets the model cut, what the chunker's own size does. Spans
come in order of their start and slice `document.text`. A document here may be a part of a filing's: a recipe can keep only some Items
(`items`), and the chunker then sees those, one run of text at a time.
"""

from __future__ import annotations

import importlib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from edgarmill.schemas import ids
from edgarmill.schemas.errors import SettingsError, UnknownName
from edgarmill.schemas.recipe import Kind
from edgarmill.schemas.records import Chunk, Chunking, Document, Element, Section
from edgarmill.workers.embed.tokens import Tokenizer

if TYPE_CHECKING:
    import numpy as np

    from edgarmill.workers.fit import Plan

    Encode = Callable[[list[str]], np.ndarray[Any, Any]]  # texts → a vector each, of any length

_ITEM = re.compile(r"(?:(?:I|II|III|IV)\.)?\d{1,2}[A-Z]?|\d\.\d\d|EX-[0-9A-Z.]+")


class ChunkOptions(BaseModel):
    """What every chunker takes beside its own options."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    items: tuple[str, ...] | None = Field(None, min_length=1, description='Items to keep, "7" or "II.1A", "2.02" or "EX-99.1"; null = all')

    @field_validator("items")
    @classmethod
    def _known(cls, given: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if bad := [item for item in given or () if not _ITEM.fullmatch(item.upper())]:
            raise ValueError(f'{bad[0][:20]!r} is no Item (write "1A", "II.1A", "2.02" or "EX-99.1")')
        return None if given is None else tuple(sorted({item.upper() for item in given}))


class Span(NamedTuple):
    start: int
    end: int
    dropped: bool = False  # too little to be a chunk: counted, not kept
    prefix: str = ""  # embedded before the text: header rows of the table that it continues
    parent: tuple[int, int] | None = None  # the passage that it is a part of


@dataclass(frozen=True, slots=True)
class Chunked:
    """All of a document's text: kept as chunks, dropped, or left out because the recipe keeps other Items."""

    chunks: list[Chunk]
    dropped: list[Span]
    left_out: list[Span]


def kinds() -> list[str]:
    """The chunkers there are; imports none of them."""
    return sorted(p.stem for p in Path(__file__).parent.glob("*.py") if not p.stem.startswith("_"))


def chunker(kind: str) -> ModuleType:
    """The chunker of that name. Raises UnknownName."""
    if kind not in kinds():
        raise UnknownName("no such chunker", kind, f"Known: {', '.join(kinds())}.")
    return importlib.import_module(f"{__name__}.{kind}")


def options(model: type[BaseModel], given: Mapping[str, Any], where: str) -> BaseModel:
    """A plug-in's options, checked. Raises SettingsError in one line."""
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join([where, *map(str, first["loc"])])
        raise SettingsError(f"{place}: {first['msg']}", "recipe", f"Options: {', '.join(model.model_fields) or 'none'}.") from None


def needs_encoder(kind: str) -> bool:
    """Does this chunker ask the embedding model?"""
    return bool(getattr(chunker(kind), "NEEDS_ENCODER", False))


def chunks_of(document: Document, elements: Sequence[Element], sections: Sequence[Section], kind: Kind, plan: Plan,
              tokenizer: Tokenizer) -> list[Chunk]:
    """The document's chunks by the recipe's chunker. `plan` is what `fit.check_recipe` gave."""
    return chunked(document, elements, sections, kind, plan, tokenizer).chunks


def chunked(document: Document, elements: Sequence[Element], sections: Sequence[Section], kind: Kind, plan: Plan,
            tokenizer: Tokenizer, encode: Encode | None = None) -> Chunked:
    """The document's chunks, what was dropped and what was left out. The text is tokenised once. `encode`: see `needs_encoder`."""
    module = chunker(kind.kind)
    given = options(module.Options, kind.options, "chunker")
    asks = (encode,) if needs_encoder(kind.kind) else ()
    kept = _kept(len(document.text), sections, given.items) if isinstance(given, ChunkOptions) else [(0, len(document.text))]
    place_of, pages_of = _placer(sections), _pager(elements, sections)
    chunks: list[Chunk] = []
    dropped: list[Span] = []
    for start, end in kept:
        part, inside, within = _part(document, elements, sections, start, end)
        pieces = tokenizer.pieces(part.text)
        for local in module.split(part, inside, within, given, pieces, plan.room, *asks):
            span = _moved(local, start)
            if span.dropped:
                dropped.append(span)
                continue
            text = document.text[span.start : span.end]
            about = (*place_of(span), *pages_of(span), span.prefix or None, *(span.parent or (None, None)))
            key = ids.chunk_id(document.document_id, plan.chunker_fingerprint, span.start, span.end, text)
            chunks.append(Chunk(key, document.document_id, document.accession, plan.chunker_fingerprint, len(chunks), span.start, span.end,
                                text, pieces.exact(local.start, local.end), *about))
    edges = [0, *(p for one in kept for p in one), len(document.text)]
    return Chunked(chunks, dropped, [Span(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b > a])


def chunking(document: Document, made: Chunked, plan: Plan) -> Chunking:
    """What became of the document's visible characters."""
    reached, kept = 0, 0
    for c in made.chunks:
        kept += _visible(document.text[max(c.start, reached) : c.end])
        reached = max(reached, c.end)
    dropped, left_out = (sum(_visible(document.text[s.start : s.end]) for s in spans) for spans in (made.dropped, made.left_out))
    tokens = sum(c.tokens for c in made.chunks)
    return Chunking(document.document_id, document.accession, plan.chunker_fingerprint, len(made.chunks), tokens, _visible(document.text),
                    kept, dropped, left_out)


def _visible(text: str) -> int:
    return sum(map(len, text.split()))


def _kept(length: int, sections: Sequence[Section], items: tuple[str, ...] | None) -> list[tuple[int, int]]:
    """Ranges that the recipe keeps, apart from each other and in order."""
    if items is None:
        return [(0, length)]
    found: list[tuple[int, int]] = []
    for start, end in sorted((s.start, s.end) for s in sections if {s.item.upper(), f"{s.part}.{s.item}".upper()} & set(items)):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        elif end > start:
            found.append((start, end))
    return found


def _part(document: Document, elements: Sequence[Element], sections: Sequence[Section], start: int,
          end: int) -> tuple[Document, Sequence[Element], Sequence[Section]]:
    """The document as if it were only that range; elements and sections clipped to it."""
    if (start, end) == (0, len(document.text)):
        return document, elements, sections
    inside = [replace(e, start=max(e.start, start) - start, end=min(e.end, end) - start,
                      grid=e.grid if start <= e.start and e.end <= end else None)
              for e in elements if e.start < end and e.end > start]
    within = [replace(s, start=max(s.start, start) - start, end=min(s.end, end) - start)
              for s in sections if s.start < end and s.end > start]
    return replace(document, text=document.text[start:end]), inside, within


def _moved(span: Span, by: int) -> Span:
    parent = (span.parent[0] + by, span.parent[1] + by) if span.parent else None
    return span._replace(start=span.start + by, end=span.end + by, parent=parent)


def trimmed(text: str, start: int, end: int) -> Span:
    """The range without blanks at its ends; empty when it is all blank."""
    part = text[start:end]
    left = len(part) - len(part.lstrip())
    return Span(start + left, max(start + left, start + len(part.rstrip())))


def _placer(sections: Sequence[Section]) -> Callable[[Span], tuple[str, str, str]]:
    """Part, item and title of the section that holds most of a span; of a combined section, the first row's."""
    rows = sorted(sections, key=lambda s: (s.start, s.ordinal))

    def place(span: Span) -> tuple[str, str, str]:
        best, most = ("", "", ""), 0
        for row in _overlapping(rows, span):
            shared = min(row.end, span.end) - max(row.start, span.start)
            if shared > most:
                best, most = (row.part, row.item, row.title), shared
        return best

    return place


def _overlapping(rows: Sequence[Section], span: Span) -> Iterator[Section]:
    return (row for row in rows if row.start < span.end and row.end > span.start)


def _pager(elements: Sequence[Element], sections: Sequence[Section]) -> Callable[[Span], tuple[int, int]]:
    """First and last page of a span, by the elements at its ends; where there are none, by the sections."""
    marks = sorted([(e.start, e.page) for e in elements] or [(s.start, s.page_start) for s in sections]) or [(0, 1)]
    starts = [start for start, _ in marks]

    def pages(span: Span) -> tuple[int, int]:
        first = marks[max(0, bisect_right(starts, span.start) - 1)][1]
        last = marks[max(0, bisect_right(starts, span.end - 1) - 1)][1]
        return first, max(first, last)

    return pages
