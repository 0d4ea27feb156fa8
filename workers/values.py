"""What was read of a filing as plain values: the lines of `edgarmill parse --json`, and outlines.

The lines are a contract by which others check the parser; a key is added, none is changed or taken away.

    file                        as given
    form                        10-K, 10-Q/A …, "" where nobody names one
    type, name, engine          of the main document
    text                        its canonical text; every start and end below slices it
    pages                       how many
    elements                    [{kind, level, page, section, start, end}] in reading order; level of headings alone; section "II.7"
    sections                    [{part, item, title, start, end, pointer}]; part "I" … "IV", "" on an 8-K; item "1A", "2.02"; combined Items
                                share one range; pointer is the sentence of a stub that says where the content is
    statements                  the same keys: financial statements that stand behind the Items while Item 8 only points to them
    facts                       [{concept, entity, start and end | instant, dimensions {axis: member}, unit, value, decimals}]; value as an
                                exact decimal or text, null when nil
    warnings                    what the parser doubts
    documents                   the further documents that are indexed (EX-13, EX-99, …), each with the keys from type to warnings; the one
                                section of an exhibit has its type as item
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from edgarmill.schemas.records import Element, Section
from edgarmill.workers.parse.parsed import Fact
from edgarmill.workers.reading import Filed, Read

STATEMENTS = "F"  # part of their row, see workers/sections.py


def line_of(file: str, filed: Filed) -> dict[str, Any]:
    """The values of a whole filing."""
    main, *others = filed.documents
    return {"file": file, "form": filed.filing.form, **values_of(main), "documents": [values_of(other) for other in others]}


def values_of(read: Read) -> dict[str, Any]:
    """The values of one document."""
    document = read.document
    return {
        "type": document.type,
        "name": document.name,
        "engine": document.engine,
        "text": document.text,
        "pages": document.pages,
        "elements": [_element(one) for one in read.elements],
        "sections": [_section(one) for one in read.sections if one.part != STATEMENTS],
        "statements": [_section(one) for one in read.sections if one.part == STATEMENTS],
        "facts": [fact_of(one) for one in read.facts],
        "warnings": list(document.warnings),
    }


def _element(one: Element) -> dict[str, Any]:
    return {"kind": one.kind, "level": one.level, "page": one.page, "section": one.section, "start": one.start, "end": one.end}


def _section(one: Section) -> dict[str, Any]:
    return {"part": one.part, "item": one.item, "title": one.title, "start": one.start, "end": one.end, "pointer": one.pointer}


def fact_of(fact: Fact) -> dict[str, Any]:
    period = {"instant": fact.instant} if fact.instant else {"start": fact.start, "end": fact.end} if fact.end else {}
    return {
        "concept": fact.concept,
        "entity": fact.entity,
        **period,
        "dimensions": dict(fact.dimensions),
        "unit": fact.unit,
        "value": None if fact.nil else fact.value,
        "decimals": fact.decimals,
    }


def encoded(values: object) -> bytes:
    """One line of JSON in ASCII: whatever a filing holds, it is one line in any encoding, also to a reader that splits at U+2028."""
    return json.dumps(values, separators=(", ", ": ")).encode() + b"\n"


# --- outlines ----------------------------------------------------------------------------------------------------------------------

def outline_of(read: Read) -> dict[str, Any]:
    """Counts, warnings and sections of a document; shares are of its text."""
    document = read.document
    return {
        "document": document.sequence,
        "type": document.type,
        "name": document.name,
        "media": document.media,
        "engine": document.engine,
        "pages": document.pages,
        "characters": len(document.text),
        "elements": dict(Counter(one.kind for one in read.elements)),
        "facts": len(read.facts),
        "warnings": list(document.warnings),
        "sections": [_outlined(one, len(document.text)) for one in read.sections],
    }


def _outlined(one: Section, characters: int) -> dict[str, Any]:
    return {
        "section": name_of(one),
        "title": one.title,
        "page_start": one.page_start,
        "page_end": one.page_end,
        "characters": one.end - one.start,
        "share": (one.end - one.start) / characters if characters else 0.0,
        "found": one.found,
        "pointer": one.pointer,
    }


def name_of(section: Section) -> str:
    """ "II.7", "2.02", "EX-99.1", as elements name their section."""
    return f"{section.part}.{section.item}" if section.part else section.item
