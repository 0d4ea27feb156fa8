"""The HTML parser: bytes to canonical text, blocks and pages.

Order of work: `markup` (tree without hidden content), `walk` (runs, breaks, grids; `tables` decides layout or data), `assembled` (pages,
furniture, kinds, levels, the text with its ranges and the count of what was lost).
"""

from __future__ import annotations

from edgarmill.workers.parse.assembled import parsed_of
from edgarmill.workers.parse.markup import read, visible_text, visible_text_of
from edgarmill.workers.parse.parsed import Parsed, RawDocument
from edgarmill.workers.parse.walk import items_of

ENGINE = "html-1"
__all__ = ["ENGINE", "parse", "visible_text"]


def parse(raw: RawDocument) -> Parsed:
    """One HTML document as canonical text. Raises BadFile, NoText, TooLarge."""
    markup = read(raw.data)
    source = visible_text_of(markup.root)
    warnings = markup.warnings
    if not source.strip() and b"<img" in raw.data.lower():  # slides: each page is an image, with its text in white behind it
        markup = read(raw.data, white=True)
        source = visible_text_of(markup.root)
        warnings = (*markup.warnings, "the pages are images; their text is the one set in white behind them")
    return parsed_of(items_of(markup.root), source, markup.encoding, ENGINE, raw.name, warnings)
