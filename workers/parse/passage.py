"""The parser of a passage: text that somebody cut out already. It is kept character for character; blocks are what blank lines part.

A block of several lines that all have cells (` | `) is a table, so that it is cut at its rows alone.
"""

from __future__ import annotations

import re

from edgarmill.schemas.errors import BadFile, NoText
from edgarmill.workers.parse.characters import numbers, visible_characters
from edgarmill.workers.parse.parsed import Block, Parsed, RawDocument

ENGINE = "passage-1"
CELLS = " | "


def parse(raw: RawDocument) -> Parsed:
    """The passage as one page. Raises BadFile, NoText."""
    try:
        text = raw.data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadFile("the passage is not UTF-8", raw.name, "Write the corpus as UTF-8.") from None
    if not text.strip():
        raise NoText("the passage is empty", raw.name, "Take it out of the corpus.")
    return Parsed(text, tuple(_blocks(text)), 1, "utf-8", ENGINE, visible_characters(text), len(numbers(text)))


def _blocks(text: str) -> list[Block]:
    blocks, at = [], 0
    for part in re.split(r"(\n[^\S\n]*\n)", text):
        bare = part.strip()
        if bare:
            start = at + part.index(bare)
            blocks.append(Block(_kind(bare), start, start + len(bare), 1))
        at += len(part)
    return blocks


def _kind(block: str) -> str:
    lines = block.split("\n")
    return "table" if len(lines) > 1 and all(CELLS in line for line in lines) else "paragraph"
