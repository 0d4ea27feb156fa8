"""Tables: layout ones are unwrapped into runs, data ones become grids of logical columns.

A printed number may stand in four cells ("$", "(", "0.09", ")"), a header may span three cells over two of the body, and spacer columns
separate all of it: cells are merged first, then columns are found by which cells overlap, narrow ones first.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from functools import lru_cache

from edgarmill.workers.parse.runs import Break, Cell, Grid, Item, Run, Table

MOST_COLUMNS = 2000
_NUMERIC = re.compile(
    r"(?:[$€£¥]|US\$|C\$)?\s*[(<\[+\-−–—]?\s*[$€£¥]?\s*\.?\d[\d,.]*\s*[)>\]]*\s*(?:%|x|bps|pts|pp)?\s*\)?(?:\s*\(\w{1,2}\))*", re.I)
_NIL = re.compile(r"[$€£¥]?\s*(?:[-–—−]{1,3}|nil|n/?[am]\.?)\s*%?", re.I)
_OPENS = re.compile(r"(?:[$€£¥]|US\$|C\$|\(|\[|\s)+|[-−]")
_CLOSES = re.compile(r"[)\]%]+|\)\s*%|%\s*\)|x|bps|pts\.?|pp", re.I)
_CLOSED_BY = re.compile(r"[\d.—–-]\s*[)%]?$")
_YEAR = re.compile(r"(?:19|20)\d\d(?:\s*\(\w{1,2}\))*|(?:FY|Q[1-4]|')\s*'?\d{2,4}", re.I)
_MARK = re.compile(r"(?:\(?(?:\d{1,2}|[a-z])\)|\*{1,3}|[†‡#])(?:\s*,?\s*(?:\(?(?:\d{1,2}|[a-z])\)|\*|[†‡#]))*", re.I)
_LABEL_MARK = re.compile(r"(?<=\S)(?:[\s,]*(?:(?<=\s)\((?:\d{1,2}|[a-z])\)|[*†‡]))+$", re.I)
_SIGN = re.compile(r"[^\s(),]+")
_BULLET = re.compile(r"[•●▪■◦○–—·*\-❖➢✓]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)]|\[\d{1,2}\]|\*{1,3}|[†‡]", re.I)
_ITEM_ROW = re.compile(r"(?:item|items|part)\s*[\divx]", re.I)
_SHORT = 8  # characters of what only opens or closes a number, or is a bullet
_FIGURE_LETTERS = "UuCcNn"  # US$, C$, nil, n/a
_OPENING, _CLOSING = "$€£¥UC([-− ", ")]%xXbBpP"  # with what such texts begin
_LONG_CELL, _PROSE_CELL = 1500, 400

Span = tuple[int, int, str]


@dataclass(slots=True)
class Placed:
    """The rows of a table that hold anything, with the places of their texts; what they hold beside text."""

    rows: list[list[Cell]] = field(default_factory=list)
    spans: list[list[Span]] = field(default_factory=list)
    breaks: list[Item] = field(default_factory=list)
    nested: bool = False  # a grid within a cell


def resolved(table: Table) -> list[Item]:
    """The table as one grid, or unwrapped into what its cells hold. Page breaks inside a grid come after it."""
    placed = placed_of(table.rows, table.spanned)
    if not placed.rows:
        return []
    if is_layout(placed):
        return [item for row in placed.rows for item in _unwrapped(row)]
    grid = grid_of(placed)
    return [grid, *placed.breaks] if grid.printed else placed.breaks


def is_layout(placed: Placed) -> bool:
    """True of a table that only places text: one column, one row, bullets, signatures, headings, prose, tables in cells."""
    if placed.nested:
        return True
    texts = [[text for _, _, text in row] for row in placed.spans if row]
    widest = max(map(len, texts), default=0)
    if widest <= 1:
        return True
    flat = [text for row in texts for text in row]
    joined = "\n".join(flat)
    if ("/s/" in joined or "/S/" in joined) and any("/s/" in text[:40].lower() for text in flat):
        return True
    if len(texts) == 1:
        return _figures(flat) < 2
    if _listed(texts):
        return True
    if len(texts) <= 3 and any(_ITEM_ROW.match(row[0]) for row in texts) and _figures(flat) == 0:
        return True
    lengths = list(map(len, flat))
    if max(lengths) > _LONG_CELL:
        return True
    return sum(lengths) / len(flat) > _PROSE_CELL and _figures(flat) * 4 < len(flat)


def _figures(texts: list[str]) -> int:
    return sum(map(is_figure, texts))


def _listed(texts: list[list[str]]) -> bool:
    """Rows of a mark and a text: bullets, enumerations, footnotes."""
    marked = sum(1 for row in texts if len(row) == 2 and len(row[0]) <= _SHORT and _BULLET.fullmatch(row[0]) and not is_figure(row[1]))
    return marked >= 0.8 * len(texts)


@lru_cache(maxsize=20_000)  # half of all cells are "$", ")", "%", a dash, or a label that every statement repeats
def is_figure(text: str) -> bool:
    """Whether a cell holds a number, or a dash for none."""
    first = text[:1]
    if first.isalpha() and first not in _FIGURE_LETTERS:  # most labels
        return False
    if first.isdecimal() and text.replace(",", "").replace(".", "").isdecimal():  # most figures
        return True
    return bool(_NUMERIC.fullmatch(text) or _NIL.fullmatch(text))


def _unwrapped(row: list[Cell]) -> list[Item]:
    """Short cells side by side read as one line; anything else as blocks one after the other."""
    full = [items for _, items in row if items]
    runs = [item for items in full for item in items]
    singles = [item for item in runs if isinstance(item, Run)]
    if len(full) < 2 or len(singles) != len(runs) or any(len(items) > 1 for items in full):
        return runs
    first = singles[0]
    if not (_BULLET.fullmatch(first.text) and len(full) == 2) and any(len(run.text) > 300 for run in singles):
        return runs
    return [_joined(singles)]


def _joined(runs: list[Run]) -> Run:
    total = sum(len(run.text) for run in runs)

    def share(name: str) -> float:
        return float(sum(getattr(run, name) * len(run.text) for run in runs)) / total

    first = runs[0]
    return Run(" ".join(run.text.replace("\n", " ") for run in runs), share("bold"), share("italic"), share("underlined"), share("linked"),
               max(run.size for run in runs), len(runs) == 1 and first.centered, "row", first.footer, first.aside, first.indent)


# ---- grids


def grid_of(placed: Placed) -> Grid:
    """Rows of printed strings over logical columns; empty rows and columns left out."""
    spans = [merged(row) for row in placed.spans if row]
    columns = _columns(spans)
    printed, wide = _filled(spans, columns)
    headers = _header_rows(printed, placed.rows)
    repeated = {index: list(printed[index]) for index, _, _, _ in wide if index < headers}
    for index, first, last, text in wide:
        if index < headers:
            row = repeated[index]
            row[first : last + 1] = [word or text for word in row[first : last + 1]]
    keep = _kept(printed)
    if len(keep) < len(columns):
        printed = [[row[c] for c in keep] for row in printed]
        repeated = {index: [row[c] for c in keep] for index, row in repeated.items()}
    grid = Grid(printed, [repeated.get(index, row) for index, row in enumerate(printed)] if repeated else list(printed), headers)
    grid.levels = _levels([row for row, spans_of in zip(placed.rows, placed.spans, strict=True) if spans_of], spans, grid)
    grid.marks = _label_marks(grid)
    return grid


def _levels(rows: list[list[Cell]], spans: list[list[Span]], grid: Grid) -> list[int] | None:
    """How far the label of each row is set in, by its first column and its own indent."""
    places: list[tuple[int, int] | None] = []
    for number, (row, printed) in enumerate(zip(rows, grid.printed, strict=True)):
        if number < grid.header_rows or not printed[0]:
            places.append(None)
            continue
        first = next(items[0] for _, items in row if items)
        places.append((spans[number][0][0], round(first.indent) if isinstance(first, Run) else 0))
    order = sorted({place for place in places if place is not None})
    if len(order) < 2:
        return None
    rank = {place: level for level, place in enumerate(order)}
    return [0 if place is None else rank[place] for place in places]


def _label_marks(grid: Grid) -> dict[int, str] | None:
    """Takes note marks off the labels in `rows`; `printed` keeps them."""
    marks: dict[int, str] = {}
    for number, row in enumerate(grid.rows):
        label = row[0]
        if label and label[-1] in ")*†‡" and number >= grid.header_rows and (found := _LABEL_MARK.search(label, max(len(label) - 40, 0))):
            grid.rows[number] = [label[: found.start()], *row[1:]]
            marks[number] = " ".join(_SIGN.findall(found[0]))
    return marks or None


def placed_of(rows: list[list[Cell]], spanned: bool = False) -> Placed:
    """Texts with their first column and the column after their last; `spanned`: some cells reach over several rows."""
    found = Placed()
    for row in rows:
        column = 0
        spans: list[Span] = []
        full = False
        for room, items in row:
            end = column + room.colspan
            if items:
                full = True
                text = _text_of(items, found)
                if text:
                    spans.append((column, end, text) if end < MOST_COLUMNS else (min(column, MOST_COLUMNS - 1), MOST_COLUMNS, text))
            column = end
        if full:
            found.rows.append(row)
            found.spans.append(spans)
    if spanned:
        found.spans = _around(found.rows)
    return found


def _text_of(items: list[Item], found: Placed) -> str:
    """A cell's text; what else it holds is noted."""
    first = items[0]
    if len(items) == 1 and type(first) is Run:
        return first.text.replace("\n", " ") if "\n" in first.text else first.text
    for item in items:
        if isinstance(item, Grid):
            found.nested = True
        elif isinstance(item, Break):
            found.breaks.append(item)
    return _text(items)


def _text(items: list[Item]) -> str:
    return " ".join([item.text.replace("\n", " ") for item in items if isinstance(item, Run)])


def _around(rows: list[list[Cell]]) -> list[list[Span]]:
    """The places of texts where cells of one row reach into the next."""
    placed: list[list[Span]] = []
    hanging: dict[int, int] = {}  # column -> rows that a row span still covers
    for row in rows:
        column = 0
        spans: list[Span] = []
        busy = hanging
        hanging = {c: left - 1 for c, left in busy.items() if left > 1}
        for room, items in row:
            while column in busy:
                column += 1
            end = min(column + room.colspan, MOST_COLUMNS)
            text = _text(items)
            if text:
                spans.append((min(column, MOST_COLUMNS - 1), max(end, column + 1), text))
            if room.rowspan > 1 and end - column <= 50:
                hanging.update(dict.fromkeys(range(column, end), room.rowspan - 1))
            column = min(column + room.colspan, MOST_COLUMNS - 1)
        placed.append(spans)
    return placed


def merged(row: list[Span]) -> list[Span]:
    """The row with currency signs, brackets and percent signs joined to the number that they belong to."""
    out: list[Span] = []
    held: Span | None = None
    for first, end, text in row:
        if held is not None:
            if text[0] in "$€£¥([.-–—−0123456789":
                first, text = held[0], held[2].replace(" ", "") + text
            else:
                out.append(held)
            held = None
        short = len(text) <= _SHORT
        if short and text[0] in _OPENING and _OPENS.fullmatch(text) and text.strip() not in ("-", "−"):
            held = (first, end, text)
        elif short and text[0] in _CLOSING and out and _CLOSES.fullmatch(text) and _CLOSED_BY.search(out[-1][2]):
            out[-1] = (out[-1][0], end, out[-1][2] + text.replace(" ", ""))
        else:
            out.append((first, end, text))
    if held is not None:
        out.append(held)
    return out


def _columns(rows: list[list[Span]]) -> list[tuple[int, int]]:
    """Logical columns as ranges of the written ones. Narrow cells found them; cells over several are headers and do not."""
    where: dict[tuple[int, int], list[int]] = defaultdict(list)  # the rows in which a range of written columns holds a text
    for index, row in enumerate(rows):
        for first, end, _ in row:
            where[first, end].append(index)
    starts: list[int] = []
    ends: list[int] = []
    usual = sorted(where, key=lambda span: -len(where[span]))[:MOST_COLUMNS]  # bounded: a hostile table may hold as many widths as cells
    for first, end in sorted(usual, key=lambda span: (span[1] - span[0], -len(where[span]), span)):
        low, high = bisect_right(ends, first), bisect_left(starts, end)  # the columns that it touches
        if low == high:
            starts.insert(low, first)
            ends.insert(low, end)
        elif high - low == 1:
            starts[low], ends[low] = min(starts[low], first), max(ends[low], end)
    return _together(starts, ends, where)


def _together(starts: list[int], ends: list[int], where: dict[tuple[int, int], list[int]]) -> list[tuple[int, int]]:
    """Neighbours that are never filled in the same row are one column (a header beside its figures, labels at two indents)."""
    filled: list[set[int]] = [set() for _ in starts]
    for (first, end), rows in where.items():
        low, high = bisect_right(ends, first), bisect_left(starts, end)
        if high - low == 1:
            filled[low].update(rows)
    out: list[tuple[int, int]] = []
    sets: list[set[int]] = []
    for start, end, used in zip(starts, ends, filled, strict=True):
        if out and not (sets[-1] & used):
            out[-1], sets[-1] = (out[-1][0], end), sets[-1] | used
        else:
            out.append((start, end))
            sets.append(used)
    return out


def _filled(spans: list[list[Span]], columns: list[tuple[int, int]]) -> tuple[list[list[str]], list[tuple[int, int, int, str]]]:
    """Rows of strings, and which text spans which columns: (row, first column, last column, text)."""
    rows, wide = [], []
    starts, ends = [start for start, _ in columns], [end for _, end in columns]
    for index, row in enumerate(spans):
        texts = [""] * len(columns)
        for first, end, text in row:
            low, high = bisect_right(ends, first), bisect_left(starts, end)
            place = low if low < high else -1
            texts[place] = f"{texts[place]} {text}" if texts[place] else text
            if high - low > 1:
                wide.append((index, low, high - 1, text))
        rows.append(texts)
    _marks_beside(rows)
    return rows, wide


def _marks_beside(rows: list[list[str]]) -> None:
    """A column of nothing but note marks goes to the figures on its left, a blank between."""
    for column in range(len(rows[0]) - 1 if rows else 0, 1, -1):
        marks = [row for row in rows if row[column]]
        if marks and all(_MARK.fullmatch(row[column]) and row[column - 1] for row in marks):
            for row in marks:
                row[column - 1], row[column] = f"{row[column - 1]} {row[column]}", ""


def _kept(rows: list[list[str]]) -> list[int]:
    return [column for column in range(len(rows[0]) if rows else 0) if any(row[column] for row in rows)]


def _header_rows(rows: list[list[str]], cells: list[list[Cell]]) -> int:
    """How many rows at the top are headers: those before the first row with a label and a figure, as far as they look like headers."""
    first = next((index for index, row in enumerate(rows) if row[0] and any(map(_is_amount, row[1:]))), None)
    if first is None:
        return _marked_headers(cells, len(rows))
    last = 0
    for index, row in enumerate(rows[: min(first, 8)]):
        if any(row[1:]):
            if row[0] and _text_row(row):
                break
            last = index + 1
    return last


def _is_amount(text: str) -> bool:
    return is_figure(text) and not _YEAR.fullmatch(text)


def _text_row(row: list[str]) -> bool:
    """A row of label and long words is data, not a header."""
    return max(len(text) for text in row[1:]) > 200


def _marked_headers(cells: list[list[Cell]], count: int) -> int:
    """Without figures only `<th>` or bold on top of plain rows tells."""
    marked = 0
    for row in cells:
        runs = [(room, item) for room, items in row for item in items if isinstance(item, Run)]
        if not runs or not all(room.header or item.bold > 0.9 for room, item in runs):
            break
        marked += 1
    return marked if marked < count else 0
