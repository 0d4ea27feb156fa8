"""Items of filings whose body has no Item headings but whose last pages map Items to printed pages ("Form 10-K cross-reference index").

The index names several page ranges for an Item, and ranges of Items overlap. A section is one range and sections do not overlap: large
Items choose first, each takes its longest range that is still free, and one that lies wholly inside another shares that one's range.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from edgarmill.schemas.records import Element
from edgarmill.workers.items import Key, read_heading, read_part

_RANGES = re.compile(r"(?<![\w(.])(\d{1,3})(?:\s*[-–—]\s*(\d{1,3}))?(?![\w.%])")
_FEWEST = 5  # Item rows with pages that make a table an index
_WORD = re.compile(r"[a-z]{4,}")


@dataclass(slots=True)
class Region:
    """One range of the text and the Items that it answers, the one that took it first."""

    start: int
    end: int
    items: list[tuple[Key, str]]  # key and title


@dataclass(frozen=True, slots=True)
class _Row:
    key: Key
    title: str
    pages: tuple[tuple[int, int], ...]


def indexed_regions(text: str, elements: Sequence[Element], numbering: tuple[str, ...], parts: dict[str, str]) -> list[Region]:
    """Regions in document order; none without such an index. `parts` gives the part of an item where the index does not say it."""
    places = _places(elements)
    for element in reversed(elements):
        if element.kind != "table":
            continue
        rows = _rows(text[element.start : element.end], numbering, parts)
        if sum(1 for row in rows if row.pages) >= _FEWEST:
            return _regions(text, elements, rows, places)
    return []


def _rows(table: str, numbering: tuple[str, ...], parts: dict[str, str]) -> list[_Row]:
    rows: list[_Row] = []
    part = ""
    for line in table.split("\n"):
        heading, named = read_heading(line, numbering), read_part(line)
        if named:
            part = named[0]
        elif heading:
            item = heading.numbers[0]
            title, _, rest = heading.title.partition(" | ")
            rows.append(_Row((part or parts.get(item, ""), item), title.rstrip(": "), _pages(rest)))
        elif rows and " | " in line:
            last = rows[-1]
            rows[-1] = _Row(last.key, last.title, last.pages + _pages(line.rpartition(" | ")[2]))
        if line.lower().startswith("signature"):
            break
    return rows


def _pages(cell: str) -> tuple[tuple[int, int], ...]:
    found = ((int(first), int(last or first)) for first, last in _RANGES.findall(cell))
    return tuple((first, last) for first, last in found if first <= last)


def _places(elements: Sequence[Element]) -> dict[int, tuple[int, int]]:
    """Printed page -> its range of the text. Pages without a label are counted from their neighbours."""
    shifts = Counter(e.page - int(label) for e in elements if (label := e.page_label or "").isdecimal())
    shift = shifts.most_common(1)[0][0] if shifts else 0
    places: dict[int, tuple[int, int]] = {}
    for element in elements:
        label = element.page_label or ""
        page = int(label) if label.isdecimal() else element.page - shift
        start, end = places.get(page, (element.start, element.end))
        places[page] = (min(start, element.start), max(end, element.end))
    return places


def _regions(text: str, elements: Sequence[Element], rows: list[_Row], places: dict[int, tuple[int, int]]) -> list[Region]:
    taken: list[Region] = []
    for row in sorted(rows, key=lambda row: -max((last - first for first, last in row.pages), default=-1)):
        ranges = [_range(text, elements, row, pages, places) for pages in row.pages if any(pages[0] <= page <= pages[1] for page in places)]
        if ranges:
            _take(taken, (row.key, row.title), ranges)
    return sorted(taken, key=lambda region: region.start)


def _range(
    text: str, elements: Sequence[Element], row: _Row, pages: tuple[int, int], places: dict[int, tuple[int, int]]
) -> tuple[int, int, bool]:
    """From the heading that words the Item's title on the first page, else from that page's start, to the end of the last page."""
    inside = [page for page in places if pages[0] <= page <= pages[1]]  # a page of pictures only has no place
    (start, end), last = places[min(inside)], places[max(inside)][1]
    wanted = set(_WORD.findall(row.title.lower()))
    for element in elements:
        if element.kind == "heading" and start <= element.start < end:
            words = set(_WORD.findall(text[element.start : element.end].lower()))
            if words and len(words & wanted) >= 0.6 * max(len(words), min(len(wanted), 3)):
                return element.start, last, True
    return start, last, False


def _take(taken: list[Region], item: tuple[Key, str], ranges: list[tuple[int, int, bool]]) -> None:
    free = [(start, end) for first, last, _ in ranges for start, end in _free(taken, first, last)]
    start, end = max(free, key=lambda place: place[1] - place[0], default=(0, 0))
    longest = max(last - first for first, last, _ in ranges)
    if end - start > min(1000, longest / 2):
        taken.append(Region(start, end, [item]))
        return
    first, last, headed = max(ranges, key=lambda place: place[1] - place[0])
    host = next(region for region in taken if region.start < last and first < region.end)
    if headed and host.start < first and last >= host.end:
        taken.append(Region(first, host.end, [item]))
        host.end = first
    else:
        host.items.append(item)


def _free(taken: list[Region], first: int, last: int) -> list[tuple[int, int]]:
    """What of a range nobody has taken."""
    out, at = [], first
    for region in sorted(taken, key=lambda region: region.start):
        if region.end <= at or region.start >= last:
            continue
        if region.start > at:
            out.append((at, region.start))
        at = max(at, region.end)
    if at < last:
        out.append((at, last))
    return out
