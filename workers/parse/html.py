"""The HTML parser: bytes to canonical text, blocks and pages.

Order of work: `markup` (bytes mended, as a stream of text and tags), `walk` (hidden content left out; runs, breaks, grids; `tables` decides
layout or data), `assembled` (pages, furniture, kinds, levels, the text with its ranges and the count of what was lost).
"""

from __future__ import annotations

from dataclasses import replace

from edgarmill.workers.parse.assembled import parsed_of
from edgarmill.workers.parse.facts import facts_in
from edgarmill.workers.parse.markup import read
from edgarmill.workers.parse.parsed import Parsed, RawDocument
from edgarmill.workers.parse.visible import visible_text

ENGINE = "html-4"
__all__ = ["ENGINE", "parse", "visible_text"]


def parse(raw: RawDocument) -> Parsed:
    """One HTML document as canonical text. Raises BadFile, NoText, TooLarge."""
    source = read(raw.data)
    found, parts, warnings = source.walked()
    if not found.seen and b"<img" in raw.data.lower():  # slides: each page is an image, with its text in white behind it
        found, parts, warnings = source.walked(white=True)
        warnings = (*warnings, "the pages are images; their text is the one set in white behind them")
    seen = "\n".join(found.seen).replace("\0", " ")
    facts, doubts = facts_in(parts) if found.prefixed else ([], [])
    del parts  # before the text is put together: it holds the whole document once more
    parsed = parsed_of(found.items, seen, source.encoding, ENGINE, raw.name, (*warnings, *doubts))
    return replace(parsed, facts=tuple(facts))
