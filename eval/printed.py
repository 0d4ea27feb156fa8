"""Figures as tables print them under a year, for filings without facts (PDF, text, HTML of before 2019).

Only what can hardly be another figure: the label says the whole name, the columns are headed by years, each once, and wherever the document
prints the label under that year it prints the same; figures of a period, which tables of segments have too, at least twice.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from edgarmill.eval.told import Piece, Told

OF_A_DAY = ("total assets", "total liabilities", "total current assets", "total current liabilities")
OF_A_YEAR = ("net sales", "total net sales", "total revenues", "total revenue", "revenues", "net revenues", "net income", "gross profit",
             "net income (loss)", "net earnings", "operating income", "income from operations", "income before income taxes",
             "cost of sales")
LABELS = frozenset((*OF_A_DAY, *OF_A_YEAR))
YEAR = re.compile(r"(?:[^\d]{0,30}(?:\d{1,2},)?\s)?((?:19|20)\d\d)\*?")  # 2018, December 31, 2018, Fiscal 2018*
MOVED = re.compile(r"(?:19|20)\d\d\*?\Z")
AMOUNT = re.compile(r"\$?\s?\(?\$?\s?\d[\d,]*(?:\.\d+)?\)?")
MAX_GRID_CHARS = 100_000


class Printed(NamedTuple):
    """A row: its label in small letters, its amounts as printed by year, and where it stands."""

    label: str
    amounts: dict[int, str]
    unit: str  # what the table says of its figures, or ""
    start: int
    end: int


def printed(told: Told) -> list[Printed]:
    """Rows with figures of the filing's fiscal year, one a label, in the order of their labels."""
    of = told.filing
    if of.family != "10-K" or of.period_on is None or of.fiscal_year != of.period_on.year:
        return []  # where a fiscal year has the number of another calendar year, "2022" over a column says neither
    rows: dict[str, list[Printed]] = defaultdict(list)
    for piece in told.pieces:
        for row in _rows(told, piece) if piece.kind == "table" else ():
            rows[row.label].append(row)
    found = []
    for label, same in sorted(rows.items()):
        amounts = {re.sub(r"[$\s]", "", row.amounts[of.fiscal_year]) for row in same if of.fiscal_year in row.amounts}
        ours = [row for row in same if of.fiscal_year in row.amounts]
        if len(amounts) == 1 and len(ours) >= (1 if label in OF_A_DAY else 2):
            found.append(max(ours, key=lambda row: (bool(row.unit), -row.start)))
    return found


def _rows(told: Told, piece: Piece) -> Iterator[Printed]:
    grid = _grid(piece)
    years = _years(grid)
    if not years:
        return
    rows = {" ".join(str(cells[0]).split()).lower(): cells for cells in grid["rows"] if cells}
    at = piece.start
    for line in told.source.text[piece.start : piece.end].split("\n"):
        label = " ".join(line.partition(" | ")[0].split()).lower()
        cells = rows.get(label)
        if label in LABELS and cells and [c for c in line.split(" | ")[1:] if c.strip()] == [c for c in cells[1:] if str(c).strip()]:
            amounts = {year: str(cells[n]).strip() for n, year in years.items() if n < len(cells)}
            if len(amounts) == len(years) and all(AMOUNT.fullmatch(amount) for amount in amounts.values()):
                yield Printed(label, amounts, str(grid.get("unit") or ""), at, at + len(line))
        at += len(line) + 1


def _grid(piece: Piece) -> dict[str, Any]:
    return json.loads(piece.grid) if piece.grid and len(piece.grid) <= MAX_GRID_CHARS else {}


def _years(grid: dict[str, Any]) -> dict[int, int]:
    """Year by column; {} where the head does not say it clearly: a year over the labels means that columns have moved."""
    heads = grid.get("rows", [])[: grid.get("header_rows") or 0]
    found: dict[int, int] = {}
    for number in range(max(map(len, heads), default=0)):
        cells = [str(row[number]) for row in heads if number < len(row)]
        if number == 0 and any(MOVED.search(cell.strip()) for cell in cells):
            return {}
        if cells and number and (match := YEAR.fullmatch(cells[-1].strip())):
            found[number] = int(match[1])
    return found if len(set(found.values())) == len(found) else {}
