"""Tables of plain text: columns by where the characters stand, with `<S>` and `<C>` marks or without."""

from __future__ import annotations

import re
from collections.abc import Iterator

from edgarmill.workers.parse.runs import Cell, Grid, Room, Run
from edgarmill.workers.parse.tables import grid_of, is_figure, placed_of

Piece = tuple[int, int, str]  # first column, the column after the last, text

LONGEST_LINE = 400  # a longer one is prose whatever its blanks
_SEGMENT = re.compile(r"\S+(?: \S+)*")
_LEADERS = re.compile(r"(?:\.[ ]?){3,}|(?:[ ]\.){2,}(?=[ ]{2,}|$)")
_UNIT = re.compile(r"\(?[^.]{0,30}\bin (?:thousands|millions|billions)\b.{0,60}", re.I)
_LAST_OF_A_FIGURE = frozenset("0123456789)%-—")
_SIGNS = frozenset(("$", "(", ")", "%", "$("))
_BETWEEN, _ABOVE = 2, 6


def is_rule(line: str) -> bool:
    """A line of dashes, equal signs or underscores; "--" alone is a nil."""
    tokens = line.split()
    return any(len(token) > 2 or "=" in token for token in tokens) and not any(token.strip("-=_~*—–") for token in tokens)


def without_leaders(line: str) -> str:
    """The line with blanks for dot leaders, so that all else keeps its place."""
    return _LEADERS.sub(lambda match: " " * len(match[0]), line) if ". ." in line or "..." in line else line


def segments(line: str) -> list[Piece]:
    """Pieces between runs of two or more blanks."""
    return [(match.start(), match.end(), match[0]) for match in _SEGMENT.finditer(line)]


def is_columnar(line: str) -> bool:
    """A label and, well apart from it, figures at the end."""
    bare = line.rstrip()
    if len(bare) > LONGEST_LINE or bare[-1:] not in _LAST_OF_A_FIGURE:
        return False
    pieces = segments(without_leaders(bare))
    figures = [is_figure(text) or text in _SIGNS for _, _, text in pieces[1:]]
    if not figures or len(pieces) > 30 or not figures[-1]:
        return False
    widest = max(after[0] - before[1] for before, after in zip(pieces, pieces[1:], strict=False))
    return sum(figures) * 2 >= len(figures) and widest >= 3  # justified prose has gaps of two


def table_ranges(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Where tables without marks stand: at least two columnar lines near each other, with the header above them."""
    marked = [is_columnar(line) for line in lines]
    at = floor = 0
    while at < len(lines):
        if not marked[at]:
            at += 1
            continue
        last = at + 1
        end = last
        while end < len(lines) and end - last <= _BETWEEN and (marked[end] or _may_stand_between(lines[end])):
            end += 1
            last = end if marked[end - 1] else last
        if sum(marked[at:last]) >= 2:
            start = _header_start(lines, floor, at)
            yield start, last
            floor = last
        at = last


def _may_stand_between(line: str) -> bool:
    text = line.strip()
    return not text or is_rule(line) or (len(text) <= 70 and not text.endswith("."))


def _header_start(lines: list[str], floor: int, at: int) -> int:
    """The first line of the header over a table: lines of several pieces, years, rules and units, up to a blank line above them."""
    start = at
    for i in range(at - 1, max(floor, at - _ABOVE) - 1, -1):
        text = lines[i].strip()
        pieces = segments(lines[i])
        heads = len(pieces) >= 2 and max(len(piece) for _, _, piece in pieces) <= 40
        if heads or (pieces and (is_rule(lines[i]) or _UNIT.fullmatch(text))):
            start = i
        elif pieces and not (len(text) <= 60 and pieces[0][0] >= 20):
            break
    return start


def grid_lines(lines: list[str], header_lines: int | None = None) -> Grid:
    """Lines of a table as a grid; `header_lines` says how many of them stand above the `<S>` mark."""
    rows, headers = [], 0
    for number, pieces in enumerate(_joined_labels([[] if is_rule(line) else _pieces(line) for line in lines])):
        headers += bool(pieces) and number < (header_lines or 0)
        if pieces:
            rows.append(_cells(pieces))
    if not rows:
        return Grid([], [], 0)
    grid = grid_of(placed_of(rows))
    if 0 < headers < len(grid.rows):
        grid.header_rows = headers
    return _without_wraps(grid)


def _pieces(line: str) -> list[Piece]:
    """The segments of a line; what stands beyond the longest line is one piece."""
    bare = without_leaders(line)
    pieces = [(first, end, re.sub(r"(?<=[$(]) (?=[$(\d.])", "", text)) for first, end, text in segments(bare[:LONGEST_LINE])]
    if rest := " ".join(bare[LONGEST_LINE:].split()):
        pieces.append((LONGEST_LINE + 1, LONGEST_LINE + 2, rest))
    return pieces


def _cells(pieces: list[Piece]) -> list[Cell]:
    cells: list[Cell] = []
    at = 0
    for first, end, text in pieces:
        if first > at:
            cells.append((Room(first - at), []))
        cells.append((Room(end - first), [Run(text)]))
        at = end
    return cells


def _joined_labels(rows: list[list[Piece]]) -> list[list[Piece]]:
    """A label over two lines whose second carries the figures becomes one, in the place of the second."""
    out = list(rows)
    for i in range(len(out) - 1):
        above, below = out[i], out[i + 1]
        if len(above) != 1 or len(below) < 2 or not below[0][2][:1].islower() or above[0][2].endswith((":", ".")):
            continue
        if above[0][0] <= below[0][0] + 4:  # else a header over a column, not a label
            out[i], out[i + 1] = [], [(below[0][0], below[0][1], f"{above[0][2]} {below[0][2]}"), *below[1:]]
    return out


def _without_wraps(grid: Grid) -> Grid:
    """A line that only goes on with the text of the row above joins it."""
    keep: list[int] = []
    for i, row in enumerate(grid.printed):
        filled = [c for c, text in enumerate(row) if text]
        last = filled[-1] if filled else 0
        if keep and len(filled) == 1 and last > 0 and i > grid.header_rows and _goes_on(grid.printed[keep[-1]][last], row[last]):
            grid.printed[keep[-1]][last] += f" {row[last]}"
            grid.rows[keep[-1]][last] += f" {row[last]}"
        else:
            keep.append(i)
    return Grid([grid.printed[i] for i in keep], [grid.rows[i] for i in keep], min(grid.header_rows, len(keep)))


def _goes_on(above: str, text: str) -> bool:
    return bool(above) and not is_figure(above) and not is_figure(text)
