"""What goes into a parser and what comes out. A parser is a module of this folder with

    ENGINE: str                              name and version, e.g. "html-1"
    parse(raw: RawDocument) -> Parsed        raises BadFile, NoText, TooLarge

`workers.parse.engine_for` chooses the module by media and by the recipe's `parser.engine`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class RawDocument:
    """One document of a submission, or a bare file: its bytes as received, decoded from uuencode, and what the header says of it."""

    sequence: int  # from 1
    type: str  # 10-K, EX-99.1, GRAPHIC …
    name: str
    data: bytes
    media: str  # html | text | pdf | other
    description: str = ""
    left_out: str = ""  # why it is not parsed; "" when it is


class Block(NamedTuple):  # not a frozen dataclass: a filing has thousands, and that takes six times as long to make
    """One element with its range into `Parsed.text`. Blocks are in reading order and do not overlap.

    A grid is {"rows": [[str, …], …], "header_rows": int, "unit": str | null}, cells as printed with sign and currency (`amounts` reads
    them), a header repeated over the columns that it spans; and where there is something to say, "columns" (the header of each column in
    one line: its period), "levels" (of each row's label, 0 outermost), "marks" (row -> note marks taken off its label).
    """

    kind: str  # heading | paragraph | list_item | table | footnote | signature
    start: int
    end: int
    page: int  # physical, from 1
    page_label: str | None = None
    level: int | None = None  # headings only; 1 is the highest
    grid: str | None = None  # tables only; JSON, see below


class Fact(NamedTuple):
    """One fact of inline XBRL, context and unit resolved. A nil one has no value; numbers are exact decimals, sign and scale applied."""

    concept: str  # us-gaap:Assets
    entity: str  # identifier of the context, as a rule a CIK of ten digits
    start: str | None  # YYYY-MM-DD; of a duration
    end: str | None
    instant: str | None  # of an instant
    dimensions: tuple[tuple[str, str], ...]  # (axis, member or typed value), sorted
    unit: str | None  # USD, shares, USD/shares; None = no number
    value: str | None
    decimals: str | None  # as stated: "-6", "INF"
    text: str  # as printed
    nil: bool = False
    hidden: bool = False  # in ix:hidden
    footnotes: tuple[str, ...] = ()
    warning: str = ""  # what could not be read: an unknown format, a missing context


@dataclass(frozen=True, slots=True)
class Parsed:
    """Canonical text: blocks joined by blank lines ("\\n\\n"), a table's rows by "\\n" with cells joined by " | "."""

    text: str
    blocks: tuple[Block, ...]
    pages: int
    encoding: str
    engine: str
    visible_chars_in: int | None  # of the source, white space aside; None where the engine cannot say
    numbers_in: int | None  # distinct numbers of the visible source
    warnings: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    furniture: tuple[str, ...] = ()  # what was taken out of pages: printed numbers, running heads
