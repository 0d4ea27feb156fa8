"""Chunkers: every other file of this folder is one, and its name is its kind. A chunker is a module with

    Options                                    frozen pydantic model with bounds, extra="forbid"
    largest(options, overhead) -> int          most tokens a text may have; `overhead` = tokens of context, blank line and special tokens
    split(document, elements, sections, options, pieces, room) -> Iterator[Span]

`room` is what the model's window leaves for the text. Spans come in order of their start and slice `document.text`.
"""

from __future__ import annotations

import importlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ValidationError

from edgarmill.schemas import ids
from edgarmill.schemas.errors import SettingsError, UnknownName
from edgarmill.schemas.recipe import Kind
from edgarmill.schemas.records import Chunk, Document, Element, Section
from edgarmill.workers.embed.tokens import Tokenizer

if TYPE_CHECKING:
    from edgarmill.workers.fit import Plan


class Span(NamedTuple):
    start: int
    end: int
    dropped: bool = False  # too little to be a chunk: counted, not kept


@dataclass(frozen=True, slots=True)
class Chunked:
    """All of a document's text: kept as chunks or dropped."""

    chunks: list[Chunk]
    dropped: list[Span]


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


def chunks_of(document: Document, elements: Sequence[Element], sections: Sequence[Section], kind: Kind, plan: Plan,
              tokenizer: Tokenizer) -> list[Chunk]:
    """The document's chunks by the recipe's chunker. `plan` is what `fit.check_recipe` gave."""
    return chunked(document, elements, sections, kind, plan, tokenizer).chunks


def chunked(document: Document, elements: Sequence[Element], sections: Sequence[Section], kind: Kind, plan: Plan,
            tokenizer: Tokenizer) -> Chunked:
    """The document's chunks and what was dropped. The text is tokenised once."""
    module = chunker(kind.kind)
    given = options(module.Options, kind.options, "chunker")
    pieces = tokenizer.pieces(document.text)
    place_of, pages_of = _placer(sections), _pager(elements, sections)
    chunks: list[Chunk] = []
    dropped: list[Span] = []
    for span in module.split(document, elements, sections, given, pieces, plan.room):
        if span.dropped:
            dropped.append(span)
            continue
        text = document.text[span.start : span.end]
        part, item, title = place_of(span)
        first, last = pages_of(span)
        chunks.append(Chunk(
            chunk_id=ids.chunk_id(document.document_id, plan.chunker_fingerprint, span.start, span.end, text),
            document_id=document.document_id, accession=document.accession, chunker=plan.chunker_fingerprint, ordinal=len(chunks),
            start=span.start, end=span.end, text=text, tokens=pieces.exact(span.start, span.end),
            part=part, item=item, section_title=title, page_start=first, page_end=last,
        ))
    return Chunked(chunks, dropped)


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
