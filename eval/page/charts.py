"""Which plots a page has. Beside each stand its figures as a table, for those who read no plots."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from edgarmill.eval.metrics import BUDGETS
from edgarmill.eval.page import plots
from edgarmill.eval.page.subject import NOTHING, Arm, Cell, Line, Subject
from edgarmill.eval.page.words import bounds, figure, named, number, said

MOST_LINES = plots.SERIES  # in a plot of lines; the table has all
HEATS = 7  # shades of a grid
GRIDS = 4  # metrics shown as grids
NARROW = 3  # columns of a grid that fits beside another
TAKES = ("tokens", "latency_p50_seconds", "usd")
WITHIN = {"coverage": "Evidence covered within a budget of tokens", "inside": "All evidence inside a budget of tokens"}


def charts(subject: Subject) -> str:
    """Sections of plots: by arm, as a grid, within budgets, against what it takes, over versions."""
    parts = [("by-arm", "By arm", "The mark is the mean over the judged questions, the bar its 95 % interval, documents resampled.",
              _by_arm(subject)),
             ("grid", "As a grid", "The stronger the shade, the higher; in brackets the 95 % interval.", _grids(subject)),
             ("budgets", "Within a reading budget", "Whole passages in order, the last one cut: comparable between sizes of chunks.",
              _budgets(subject)),
             ("price", "What it takes", "Further left takes less, further up finds more. Seconds are medians, the others means.",
              _price(subject)),
             ("versions", "Versions over time", "The same questions. Hollow: the evidence was found anew in changed texts, so the "
              "step from there is not the index's alone.", _versions(subject))]
    legend = _legend([arm.label for arm in subject.arms]) if len(subject.arms) > 1 else ""
    told = {"by-arm": "", "grid": "", "versions": ""}
    return "".join(_section(name, title, about, told.get(name, legend), body) for name, title, about, body in parts if body)


def _section(name: str, title: str, about: str, legend: str, body: str) -> str:
    return (f'<section id="{name}"><h2>{said(title)}</h2><p class="about">{said(about)}</p>{legend}'
            f'<div class="charts">{body}</div></section>')


def _legend(labels: Sequence[str]) -> str:
    items = "".join(f"<li>{plots.sample(n)}<b>{n + 1}</b> {said(label)}</li>" for n, label in enumerate(labels))
    return f'<ul class="legend">{items}</ul>'


def _chart(title: str, plot: str, heads: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    more = f' <span class="note">{said(note)}</span>' if note else ""
    return (f"<figure><figcaption>{said(title)}{more}</figcaption>{plot}<details><summary>as a table</summary>"
            f'<div class="scroll">{table(heads, rows)}</div></details></figure>')


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """A table of words; the first cell of a row is its heading."""
    head = "".join(f'<th scope="col">{said(one)}</th>' for one in heads)
    body = "".join(f'<tr><th scope="row">{said(row[0])}</th>' + "".join(f"<td>{said(one)}</td>" for one in row[1:]) + "</tr>"
                   for row in rows)
    told = f"<caption>{said(caption)}</caption>" if caption else ""
    return f"<table>{told}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def whole(metric: str) -> plots.Span:
    """Bounds that no axis of a metric passes."""
    return (0, math.inf) if metric.startswith(("tokens", "usd")) or metric.endswith("_seconds") else (0, 1)


def axis(metric: str) -> Callable[[float], str]:
    """Ticks as short as they can be."""
    if metric.endswith("_seconds"):
        return lambda value: f"{1000 * value:,.4g}"
    if metric.startswith("tokens"):
        return lambda value: f"{value:,.0f}"
    return lambda value: f"{value:.3g}"


# --- by arm ------------------------------------------------------------------------------------------------------------------------

def _by_arm(subject: Subject) -> str:
    if len(subject.arms) == 1:
        return _one_arm(subject, subject.arms[0])
    found = []
    for metric in subject.metrics:
        cells = [arm.cell(metric) for arm in subject.arms]
        plot = plots.rows(f"{named(metric)} by arm", [arm.label for arm in subject.arms], cells, _form(metric), axis(metric), whole(metric))
        found.append(_chart(named(metric), plot, ("arm", named(metric), "95 % interval", "questions"),
                            (_row(arm.label, metric, cell) for arm, cell in zip(subject.arms, cells, strict=True))))
    return "".join(found)


def _one_arm(subject: Subject, arm: Arm) -> str:
    shares = [metric for metric in subject.metrics if whole(metric) == (0, 1)]
    cells = [arm.cell(metric) for metric in shares]
    plot = plots.rows(f"Metrics of {arm.label}", shares, cells, _form(subject.primary), axis(subject.primary), (0, 1))
    return _chart(arm.label, plot, ("metric", "mean", "95 % interval", "questions"),
                  (_row(metric, metric, cell) for metric, cell in zip(shares, cells, strict=True)))


def _form(metric: str) -> Callable[[float], str]:
    return lambda value: number(metric, value)


def _row(label: str, metric: str, cell: Cell) -> tuple[str, ...]:
    return label, number(metric, cell.value), bounds(metric, cell.low, cell.high), f"{cell.questions:,}"


# --- grids -------------------------------------------------------------------------------------------------------------------------

def grid_of(arms: Sequence[Arm]) -> tuple[str, str, list[tuple[Any, Any, Arm]]] | None:
    """The two knobs that alone vary among the arms, or among those with a reranker, and each arm's values; None where no two do."""
    settings = [{**json.loads(arm.row.retriever), "recipe": arm.row.recipe} for arm in arms]
    for chosen in (range(len(arms)), [n for n, one in enumerate(settings) if one.get("reranker")]):
        knobs = {knob for n in chosen for knob in settings[n]}
        varying = sorted(knob for knob in knobs if len({str(settings[n].get(knob)) for n in chosen}) > 1)
        if len(varying) == 2 and len(chosen) >= 4:
            down, across = sorted(varying, key=lambda knob: knob == "k")
            return down, across, [(settings[n].get(down), settings[n].get(across), arms[n]) for n in chosen]
    return None


def _grids(subject: Subject) -> str:
    found = grid_of(subject.arms)
    return "".join(_grid(*found, metric) for metric in subject.metrics[:GRIDS]) if found else ""


def _grid(down: str, across: str, places: Sequence[tuple[Any, Any, Arm]], metric: str) -> str:
    cells = {(str(one), str(other)): arm.cell(metric) for one, other, arm in places}
    known = [cell.value for cell in cells.values() if cell.value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    rows, columns = (list(dict.fromkeys(str(one) for one in sorted((place[n] for place in places), key=_order))) for n in (0, 1))
    head = "".join(f'<th scope="col">{said(column)}</th>' for column in columns)
    body = "".join(f'<tr><th scope="row">{said(row)}</th>' + "".join(_shaded(metric, cells.get((row, column), NOTHING), low, high)
                                                                     for column in columns) + "</tr>" for row in rows)
    named_knobs = [{"k_initial": "hits read (k_initial)", "k": "hits given (k_final)" if down == "k_initial" else "hits given (k)"}
                   .get(knob, knob) for knob in (down, across)]
    wide = ' class="wide"' if len(columns) > NARROW else ""
    return (f'<figure{wide}><figcaption>{said(named(metric))} <span class="note">{said(named_knobs[0])} downward, '
            f'{said(named_knobs[1])} across</span></figcaption><div class="scroll"><table class="heat"><thead><tr>'
            f'<th scope="col">{said(down)} \\ {said(across)}</th>{head}</tr></thead><tbody>{body}</tbody></table></div></figure>')


def _order(value: Any) -> tuple[int, float, str]:
    return (0, float(value), "") if isinstance(value, int | float) else (1, 0.0, str(value))


def _shaded(metric: str, cell: Cell, low: float, high: float) -> str:
    if cell.value is None:
        return "<td>–</td>"
    heat = round((cell.value - low) / (high - low) * (HEATS - 1)) if high > low else 0
    return f'<td class="h{heat}">{said(number(metric, cell.value))}<small>{said(bounds(metric, cell.low, cell.high))}</small></td>'


# --- budgets and prices ------------------------------------------------------------------------------------------------------------

def _budgets(subject: Subject) -> str:
    found = []
    for what, title in WITHIN.items():
        metrics = [f"{what}@{budget}t" for budget in BUDGETS]
        series = [[arm.cell(metric) for metric in metrics] for arm in subject.arms]
        if not any(cell.value is not None for cells in series for cell in cells):
            continue
        labels, at = [arm.label for arm in subject.arms], [f"{budget:,} tokens" for budget in BUDGETS]
        plot = plots.lines(title, series, labels, at, axis(metrics[0]), (0, 1))
        rows = ((label, *(figure(metrics[0], cell) for cell in cells)) for label, cells in zip(labels, series, strict=True))
        found.append(_chart(title, plot, ("arm", *at), rows))
    return "".join(found)


def _price(subject: Subject) -> str:
    found, missing = [], []
    for takes in TAKES:
        shown = [(n, arm) for n, arm in enumerate(subject.arms) if None not in (arm.cell(takes).value, arm.cell(subject.primary).value)]
        if not shown or (takes == "usd" and not any(arm.cell(takes).value for _, arm in shown)):
            missing.append(named(takes))
            continue
        marks = [plots.Mark(n + 1, min(n, plots.SERIES), arm.cell(takes), arm.cell(subject.primary), _takes(arm, takes, subject.primary))
                 for n, arm in shown]
        title = f"{subject.primary} against {named(takes)}"
        plot = plots.scatter(title, marks, (named(takes), axis(takes)), axis(subject.primary), whole(subject.primary))
        found.append(_chart(title, plot, ("arm", subject.primary, named(takes)),
                            ((arm.label, figure(subject.primary, arm.cell(subject.primary)), figure(takes, arm.cell(takes)))
                             for _, arm in shown)))
    if missing:
        found.append(f'<p class="missing">Nothing to show of {said(" and ".join(missing))}: not measured, or no model with a price was '
                     "asked.</p>")
    return "".join(found)


def _takes(arm: Arm, takes: str, primary: str) -> str:
    return f"{arm.label}: {primary} {figure(primary, arm.cell(primary))}, {named(takes)} {figure(takes, arm.cell(takes))}"


# --- versions ----------------------------------------------------------------------------------------------------------------------

def _versions(subject: Subject) -> str:
    known = [line for line in subject.lines if line.points]
    if not any(len(line.points) > 1 for line in known):
        return ""
    drawn = sorted(known, key=lambda line: -len(line.points))[:MOST_LINES]
    drawn = [line for line in known if line in drawn]
    times = sorted({(point.at, point.tag) for line in drawn for point in line.points})
    series = [[_at(line, time) for time in times] for line in drawn]
    cells = [[found[0] for found in one] for one in series]
    hollow = frozenset((n, place) for n, one in enumerate(series) for place, (_, same) in enumerate(one) if not same)
    title, metric = f"{subject.primary} by index version", subject.primary
    plot = plots.lines(title, cells, [line.label for line in drawn], [tag for _, tag in times], axis(metric), whole(metric), hollow)
    cut = len(known) - len(drawn)
    return _chart(title, plot, ("versions", "tag", "made", metric, "evaluation"), _version_rows(known, metric),
                  f"{cut} further lines are in the table" if cut else "") + _legend([line.label for line in drawn])


def _at(line: Line, time: tuple[Any, str]) -> tuple[Cell, bool]:
    return next(((point.cell, point.same) for point in line.points if (point.at, point.tag) == time), (NOTHING, True))


def _version_rows(lines: Sequence[Line], metric: str) -> Iterator[tuple[str, ...]]:
    for line in lines:
        for point in line.points:
            texts = "" if point.same else ", other texts"
            yield line.label, point.tag, f"{point.at:%Y-%m-%d %H:%M}", figure(metric, point.cell) + texts, point.evaluation_id[:12]
