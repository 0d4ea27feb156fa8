"""Rows of figures in lines of text that lost their columns: "Net sales $ 752 $ 454" is a label and two cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from edgarmill.workers.parse.runs import Grid

_TOKEN = re.compile(  # without blanks, so that there is one way to match
    r"(?:[$€£¥(]|US\$)*[-−–]?[$€£¥]?\d(?:[\d,.]*\d)?[)%]*|[-—–]{1,3}%?|N/?[AM]|[$€£¥(]{1,3}|[)%]{1,2}")
_OPENS, _CLOSES = re.compile(r"[$€£¥(]+|US\$"), re.compile(r"[)%]+")
_YEARS = re.compile(r"(?:19|20)\d\d")
_LONGEST_LINE, _LONGEST_LABEL, _BETWEEN = 400, 120, 2


def cells(line: str) -> list[str]:
    """Label and figures of a row; [] where the line does not end in at least two figures."""
    if len(line) > _LONGEST_LINE:
        return []
    tokens = line.split()
    at = len(tokens)
    while at and _TOKEN.fullmatch(tokens[at - 1]):
        at -= 1
    at += _closing(tokens[:at], tokens[at:])
    label, figures = " ".join(tokens[:at]), _together(tokens[at:])
    return [label, *figures] if len(figures) >= 2 and len(label) <= _LONGEST_LABEL else []


def _closing(label: list[str], figures: list[str]) -> int:
    """How many of the figures still belong to the label: up to the bracket that it opened, as of "(Note 12)"."""
    if sum(token.count("(") - token.count(")") for token in label) <= 0:
        return 0
    return next((n for n, token in enumerate(figures, 1) if ")" in token and "(" not in token), 0)


def _together(tokens: list[str]) -> list[str]:
    """Currency signs and brackets joined to their figures: "$", "752" -> "$752"."""
    figures: list[str] = []
    opened = ""
    for token in tokens:
        if _OPENS.fullmatch(token):
            opened += token
        elif _CLOSES.fullmatch(token) and figures and not opened:
            figures[-1] += token
        else:
            figures.append(opened + token)
            opened = ""
    return [*figures, opened] if opened else figures


def figure_rows(lines: list[str]) -> Iterator[tuple[int, int, Grid]]:
    """Every run of at least two rows of figures, with the label-only lines inside it: (first line, line after the last, grid)."""
    rows = [cells(line) for line in lines]
    at = 0
    while at < len(lines):
        if not rows[at]:
            at += 1
            continue
        end, last = at + 1, at + 1
        while end < len(lines) and end - last <= _BETWEEN and (rows[end] or _is_label(lines[end])):
            end += 1
            last = end if rows[end - 1] else last
        if sum(1 for row in rows[at:last] if row) >= 2:
            yield at, last, _grid([row or [line] for row, line in zip(rows[at:last], lines[at:last], strict=True)])
        at = last


def _is_label(line: str) -> bool:
    return len(line) <= 80 and not line.endswith(".")


def _grid(rows: list[list[str]]) -> Grid:
    """Rows of one width: the usual number of figures; further ones on the left belong to the label, missing ones are left empty there."""
    usual = Counter(len(row) - 1 for row in rows if len(row) > 1).most_common(1)[0][0]
    width = max(usual, 1) + 1
    full = [_fitted(row, width) for row in rows]
    headers = 0
    while headers < len(full) and any(full[headers][1:]) and all(not cell or _YEARS.fullmatch(cell) for cell in full[headers][1:]):
        headers += 1
    return Grid(full, full, headers if headers < len(full) else 0)


def _fitted(row: list[str], width: int) -> list[str]:
    if len(row) == 1:
        return [row[0], *[""] * (width - 1)]
    figures = row[1:]
    spare = len(figures) - (width - 1)
    label = " ".join([row[0], *figures[:spare]]).strip() if spare > 0 else row[0]
    return [label, *[""] * -spare, *figures[max(spare, 0) :]]
