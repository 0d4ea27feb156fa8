"""Plots as SVG, drawn by ourselves: small, without script, in colours and marks that the page's style sheet sets.

Units are CSS pixels of a plot at its full width. A series is told by its colour, by the shape of its mark and by its number; none of the
three is needed alone. Nothing is drawn of what was not measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from edgarmill.eval.page.subject import Cell
from edgarmill.eval.page.words import said, short

WIDTH, HEIGHT = 380, 250
SERIES = 8  # that have a colour and a mark of their own
TEXT, LETTER = 11, 7.2  # size of letters, and a width that few names reach on average in any common font
TOP, RIGHT, BOTTOM, LEFT = 14, 26, 44, 46
ROW = 22
TICKS = 5  # steps of an axis, at most
LABEL, FIGURE = 140, 46  # columns of a plot of rows: name at most, and figure

Format = Callable[[float], str]
Span = tuple[float, float]
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Mark:
    """A point with its number, series and what it says when pointed at; `x` and `y` with their intervals."""

    number: int
    series: int
    x: Cell
    y: Cell
    says: str


@dataclass(frozen=True, slots=True)
class Scale:
    """From values to places between `start` and `end`, where the first and the last tick are."""

    ticks: tuple[float, ...]
    start: float
    end: float

    def __call__(self, value: float) -> float:
        low, high = self.ticks[0], self.ticks[-1]
        return self.start + (min(max(value, low), high) - low) / (high - low) * (self.end - self.start)


def shape(series: int, x: float, y: float, size: float = 4.5) -> str:
    """A mark; those beyond SERIES are small and grey."""
    if series >= SERIES:
        return f'<circle class="m grey" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
    s, t = size, size * 0.62
    paths = (
        "",
        f"M{x - s:.1f} {y - s:.1f}h{2 * s}v{2 * s}h{-2 * s}z",
        f"M{x:.1f} {y - s * 1.25:.1f}l{s * 1.2:.1f} {s * 2.1:.1f}h{-s * 2.4:.1f}z",
        f"M{x:.1f} {y - s * 1.4:.1f}l{s * 1.4:.1f} {s * 1.4:.1f}l{-s * 1.4:.1f} {s * 1.4:.1f}l{-s * 1.4:.1f} {-s * 1.4:.1f}z",
        f"M{x:.1f} {y + s * 1.25:.1f}l{s * 1.2:.1f} {-s * 2.1:.1f}h{-s * 2.4:.1f}z",
        f"M{x - t / 2:.1f} {y - t / 2:.1f}v{-t:.1f}h{t:.1f}v{t:.1f}h{t:.1f}v{t:.1f}h{-t:.1f}v{t:.1f}h{-t:.1f}v{-t:.1f}h{-t:.1f}v{-t:.1f}z",
        f"M{x - s * 1.3:.1f} {y - t:.1f}h{s * 2.6:.1f}v{2 * t:.1f}h{-s * 2.6:.1f}z",
        f"M{x - t:.1f} {y - s * 1.3:.1f}h{2 * t:.1f}v{s * 2.6:.1f}h{-2 * t:.1f}z",
    )
    body = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{s}"' if series == 0 else f'<path d="{paths[series]}"'
    return f'{body} class="m s{series}"/>'


def sample(series: int) -> str:
    """A mark by itself, for a legend."""
    return f'<svg class="sample" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">{shape(series, 8, 8)}</svg>'


def rows(title: str, names: Sequence[str], cells: Sequence[Cell], form: Format, axis: Format, whole: Span | None) -> str:
    """A row for each arm: its name, its mark with the interval, its figure. `axis`: form of ticks; `whole`: bounds that no axis passes."""
    labels = [short(name, int((LABEL - 14) / LETTER)) for name in names]
    left = 16 + LETTER * max(map(len, labels))
    x = _scale([v for cell in cells for v in _values(cell)], whole, (left, WIDTH - FIGURE - 8))
    bottom = TOP + ROW * len(names)
    parts = list(_ticks_below(x, axis, TOP - 4, bottom))
    for n, (name, label, cell) in enumerate(zip(names, labels, cells, strict=True)):
        y = TOP + ROW * n + ROW / 2
        parts.append(f'<text class="name" x="{left - 12:.1f}" y="{y + 4:.1f}" text-anchor="end">{said(label)}</text>')
        parts.append(f'<text class="figure" x="{WIDTH - 2}" y="{y + 4:.1f}" text-anchor="end">{said(_form(form, cell.value))}</text>')
        parts.append(_mark(n, name, x, cell, y, form))
    return _svg(title, bottom + 24, parts)


def _mark(n: int, name: str, x: Scale, cell: Cell, y: float, form: Format) -> str:
    if cell.value is None:
        return ""
    series = n if n < SERIES else SERIES
    bar = _across(x, cell, y, series)
    return f'<g class="point"><title>{said(f"{name}: {_says(form, cell)}")}</title>{bar}{shape(series, x(cell.value), y)}</g>'


def lines(title: str, series: Sequence[Sequence[Cell]], names: Sequence[str], at: Sequence[str], form: Format, whole: Span | None,
          hollow: frozenset[tuple[int, int]] = frozenset()) -> str:
    """A line for each series over the places `at`, evenly apart; a place that a series lacks is a gap. `hollow`: (series, place)."""
    ends = _spread(len(at))
    y = _scale([v for cells in series for cell in cells for v in _values(cell)], whole, (HEIGHT - BOTTOM, TOP))
    parts = [*_ticks_left(y, form), *_places(ends, at)]
    labels: list[tuple[float, int]] = []
    for n, cells in enumerate(series):
        shift = (n - (min(len(series), SERIES) - 1) / 2) * 5 if n < SERIES else 0.0
        known = [(place, cell) for place, cell in enumerate(cells) if cell.value is not None]
        if not known:
            continue
        points = [(ends[place] + shift, y(cell.value or 0.0)) for place, cell in known]
        kind = f"s{n}" if n < SERIES else "grey"
        parts.append(f'<path class="l {kind}" d="M{"L".join(f"{px:.1f} {py:.1f}" for px, py in points)}"/>')
        for (place, cell), (px, py) in zip(known, points, strict=True):
            mark = shape(n, px, py, 3.8).replace('class="m', 'class="hollow m' if (n, place) in hollow else 'class="m')
            told = said(f"{names[n]}, {at[place]}: {_says(form, cell)}")
            parts.append(f'<g class="point"><title>{told}</title>{_upright(y, cell, px, n)}{mark}</g>')
        if n < SERIES:
            labels.append((points[-1][1], n))
    parts += _end_labels(labels)
    return _svg(title, HEIGHT, parts)


def scatter(title: str, marks: Sequence[Mark], across: tuple[str, Format], upward: Format, whole: Span | None) -> str:
    """Points with intervals both ways. `across`: name and form of the x axis."""
    x = _scale([v for mark in marks for v in _values(mark.x)], (0, math.inf), (LEFT + 8, WIDTH - RIGHT - 4))
    y = _scale([v for mark in marks for v in _values(mark.y)], whole, (HEIGHT - BOTTOM, TOP))
    name, form = across
    parts = [*_ticks_left(y, upward), *_ticks_below(x, form, TOP, HEIGHT - BOTTOM)]
    parts.append(f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{said(name)}</text>')
    taken: list[Box] = [(x(m.x.value or 0) - 7, y(m.y.value or 0) - 7, x(m.x.value or 0) + 7, y(m.y.value or 0) + 7) for m in marks]
    texts = []
    for mark in marks:
        px, py = x(mark.x.value or 0.0), y(mark.y.value or 0.0)
        bars = _across(x, mark.x, py, mark.series) + _upright(y, mark.y, px, mark.series)
        parts.append(f'<g class="point"><title>{said(mark.says)}</title>{bars}{shape(mark.series, px, py)}</g>')
        texts.append(_beside(str(mark.number), px, py, taken))
    return _svg(title, HEIGHT, [*parts, *texts])


def _beside(text: str, x: float, y: float, taken: list[Box]) -> str:
    """A number beside its mark where there is room; none where there is not: the legend and the table have it."""
    wide = LETTER * len(text)
    for dx, dy in ((9, -5), (-9 - wide, -5), (9, 14), (-9 - wide, 14), (-wide / 2, -10), (-wide / 2, 20)):
        box = (x + dx, y + dy - TEXT + 2, x + dx + wide, y + dy + 1)
        inside = box[0] > LEFT and box[2] < WIDTH - 1 and box[1] > 1 and box[3] < HEIGHT - BOTTOM
        if inside and not any(_meet(box, other) for other in taken):
            taken.append(box)
            return f'<text class="number" x="{x + dx:.1f}" y="{y + dy:.1f}">{said(text)}</text>'
    return ""


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


# --- axes --------------------------------------------------------------------------------------------------------------------------

def ticks(low: float, high: float, most: int) -> list[float]:
    """Round values in steps of 1, 2 or 5, as small as `most` steps allow; the first at or below `low`, the last at or above `high`."""
    step = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(step * times for times in (1, 2, 5, 10) if (high - low) / (step * times) <= most + 1e-9)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(n * step, 12) for n in range(first, last + 1)]


def _scale(values: Sequence[float], whole: Span | None, place: Span) -> Scale:
    """Over the values with some room, whole ticks at both ends, never beyond `whole`."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    room = (high - low) * 0.06 or abs(high) * 0.2 or 0.1
    low, high = low - room, high + room
    if whole:
        low, high = max(low, whole[0]), min(high, whole[1])
        low, high = (low, high) if high > low else (whole[0], min(whole[1], whole[0] + 1))
    return Scale(tuple(ticks(low, high, TICKS)), *place)


def _ticks_left(y: Scale, form: Format) -> Iterator[str]:
    for value in y.ticks:
        place = y(value)
        yield f'<path class="grid" d="M{LEFT} {place:.1f}H{WIDTH - RIGHT}"/>'
        yield f'<text class="tick" x="{LEFT - 6}" y="{place + 4:.1f}" text-anchor="end">{said(form(value))}</text>'


def _ticks_below(x: Scale, form: Format, top: float, bottom: float) -> Iterator[str]:
    """Ticks of an x axis; a label that would touch the one before it is left out."""
    reached = -math.inf
    for value in x.ticks:
        place, text = x(value), form(value)
        half = LETTER * len(text) / 2
        yield f'<path class="grid" d="M{place:.1f} {top:.1f}V{bottom:.1f}"/>'
        middle = min(place, WIDTH - 1 - half)
        if middle - half > reached + 6:
            reached = middle + half
            yield f'<text class="tick" x="{middle:.1f}" y="{bottom + 18:.1f}" text-anchor="middle">{said(text)}</text>'


def _spread(count: int) -> list[float]:
    """Places evenly apart, with room for marks beside them."""
    first, last = LEFT + 26.0, WIDTH - RIGHT - 26.0
    return [(first + last) / 2] if count == 1 else [first + (last - first) * n / (count - 1) for n in range(count)]


def _places(ends: Sequence[float], at: Sequence[str]) -> Iterator[str]:
    """Names below an axis of places, as many as have room, the last one always."""
    left = math.inf
    for place, name in zip(reversed(ends), reversed(at), strict=True):
        text = short(name, 16)
        half = LETTER * len(text) / 2
        middle = min(max(place, half + 2), WIDTH - 2 - half)
        yield f'<path class="grid" d="M{place:.1f} {HEIGHT - BOTTOM}v4"/>'
        if middle + half < left - 8:
            left = middle - half
            yield f'<text class="tick" x="{middle:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{said(text)}</text>'


def _end_labels(labels: Sequence[tuple[float, int]]) -> Iterator[str]:
    """Numbers of series where their lines end, moved apart; as many as there is room for."""
    low = TOP - 4.0
    for y, n in sorted(labels)[: int((HEIGHT - BOTTOM - TOP) / (TEXT + 3))]:
        place = max(y + 4, low + TEXT + 3)
        if place <= HEIGHT - BOTTOM + 4:
            low = place
            yield f'<text class="number" x="{WIDTH - RIGHT + 5}" y="{place:.1f}">{n + 1}</text>'


# --- parts -------------------------------------------------------------------------------------------------------------------------

def _values(cell: Cell) -> list[float]:
    return [v for v in (cell.value, cell.low, cell.high) if v is not None] if cell.value is not None else []


def _form(form: Format, value: float | None) -> str:
    return "–" if value is None else form(value)


def _says(form: Format, cell: Cell) -> str:
    interval = f" [{_form(form, cell.low)} {_form(form, cell.high)}]" if cell.low is not None or cell.high is not None else ", no interval"
    return f"{_form(form, cell.value)}{interval}, {cell.questions:,} questions"


def _kind(series: int) -> str:
    return f"s{series}" if series < SERIES else "grey"


def _across(x: Scale, cell: Cell, y: float, series: int) -> str:
    if cell.low is None or cell.high is None:
        return ""
    low, high = x(cell.low), x(cell.high)
    return f'<path class="i {_kind(series)}" d="M{low:.1f} {y - 3:.1f}v6m0 -3H{high:.1f}m0 -3v6"/>'


def _upright(y: Scale, cell: Cell, x: float, series: int) -> str:
    if cell.low is None or cell.high is None:
        return ""
    low, high = y(cell.low), y(cell.high)
    return f'<path class="i {_kind(series)}" d="M{x - 3:.1f} {low:.1f}h6m-3 0V{high:.1f}m-3 0h6"/>'


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    return (f'<svg class="plot" role="img" aria-label="{said(title)}" viewBox="0 0 {WIDTH} {height:.0f}">'
            f"{''.join(parts)}</svg>")
