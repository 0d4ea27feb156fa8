"""What the walk over a document gives: runs of text, page breaks and grids, in reading order."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Run:
    """Text between two block borders. Shares are of its visible characters, from 0 to 1."""

    text: str
    bold: float = 0.0
    italic: float = 0.0
    underlined: float = 0.0
    linked: float = 0.0
    size: float = 0.0  # points, 0 where not stated
    centered: bool = False
    tag: str = ""  # the block element around it; "row" for the joined cells of a layout table's row
    footer: bool = False  # nailed to the bottom of a page by CSS
    aside: bool = False  # ix:exclude: no part of the text around it
    indent: float = 0.0
    page: int = 1
    label: str | None = None


@dataclass(slots=True)
class Break:
    """A page break; a soft one is a horizontal rule, which may be one."""

    hard: bool


@dataclass(slots=True)
class Grid:
    """A table of data. `printed` says each text once; `rows` repeats a header over the columns that it spans."""

    printed: list[list[str]]
    rows: list[list[str]]
    header_rows: int
    unit: str | None = None
    page: int = 1
    label: str | None = None
    levels: list[int] | None = None  # of each row's label, 0 outermost; None where all are
    marks: dict[int, str] | None = None  # row -> note marks, which its label in `rows` does without

    def lines(self) -> list[str]:
        """One line a row, cells joined by " | "; empty cells at the ends left out."""
        return [" | ".join(row).strip(" |") if not (row[0] and row[-1]) else " | ".join(row) for row in self.printed]


Item = Run | Break | Grid


@dataclass(slots=True)
class Room:
    """What a cell takes of its table; one for all that are written alike."""

    colspan: int = 1
    rowspan: int = 1
    header: bool = False


Cell = tuple[Room, list[Item]]  # a bare tuple, because half of a filing's elements are cells


@dataclass(slots=True)
class Table:
    """A table as written, while it is open."""

    rows: list[list[Cell]] = field(default_factory=list)
    spanned: bool = False  # a cell reaches over several rows
    around: list[Item] = field(default_factory=list)  # where it will stand
