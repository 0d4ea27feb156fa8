"""Lines of plain text to paragraphs: hard wraps joined, headings and list items apart, columns of prose one after the other."""

from __future__ import annotations

import re

from edgarmill.workers.parse.columns import is_rule, segments, without_leaders
from edgarmill.workers.parse.hyphens import mended
from edgarmill.workers.parse.runs import Run

_HEADING = re.compile(r"\s*(?:part\s+[ivx]{1,4}\b|i\s?tems?\s*\d)", re.I)
_LIST = re.compile(r"\s*(?:[•●▪■*o-]\s+\S|\(?(?:[a-z]|[ivx]{1,4}|\d{1,2})[.)]\s+\S|\(\w{1,4}\)\s*\S|\d{1,2}\.\d{1,3}\s{2,}\S)", re.I)
_ENDS = re.compile(r"[.!?:;][\"')\]]*$")
_EDGE_RULE = re.compile(r"^\s*[-=_*]{4,}(?=[^-=_*])|(?<=[^-=_*])[-=_*]{4,}\s*$")
_WIDTH, _GUTTER_LINES = 60, 8


def paragraphs(lines: list[str], words: frozenset[str]) -> list[Run]:
    """Runs of prose. A rule under a line underlines it; other rules only separate."""
    runs: list[Run] = []
    group: list[str] = []
    for line in [*_single_spaced(lines), ""]:
        if line.strip() and not is_rule(line):
            group.append(_without_edge_rules(line))
            continue
        if group:
            runs += _of_group(group, words)
            if is_rule(line) and len(group) == 1 and len(line.strip()) <= len(group[0].strip()) + 6:
                runs[-1].underlined = 1.0
        group = []
    _mark_titles(runs)
    return runs


def _single_spaced(lines: list[str]) -> list[str]:
    """Double-spaced sentences without the blank lines between their lines."""
    bare = ["", *(line.strip() for line in lines), "", ""]
    return [line for i, line in enumerate(lines, 1)
            if bare[i] or not (len(bare[i - 1]) >= 55 and bare[i + 1] and (i < 2 or not bare[i - 2]) and not bare[i + 2]
                               and not _ENDS.search(bare[i - 1]) and not _HEADING.match(bare[i - 1]) and not bare[i - 1].isupper())]


def _mark_titles(runs: list[Run]) -> None:
    """A short line by itself over a paragraph is a heading, though nothing but its place says so."""
    for run, following in zip(runs, runs[1:], strict=False):
        if len(run.text) <= 70 and "\n" not in run.text and len(following.text) >= 80 and _is_title_line(run.text):
            run.bold = 1.0


def _is_title_line(text: str) -> bool:
    return text[:1].isupper() and text[-1].isalpha() and not _LIST.match(text) and len(text.split()) <= 9


def _without_edge_rules(line: str) -> str:
    return _EDGE_RULE.sub(lambda match: " " * len(match[0]), line)


def _of_group(group: list[str], words: frozenset[str]) -> list[Run]:
    """A stretch without blank lines."""
    if gutter := _gutter(group):
        return [*_of_group([line[:gutter].rstrip() for line in group], words),
                *_of_group([line[gutter:] for line in group if line[gutter:].strip()], words)]
    width = max(len(line.rstrip()) for line in group)
    parts: list[list[str]] = []
    for i, line in enumerate(group):
        if i and not _begins(parts[-1], line, width):
            parts[-1].append(line)
        else:
            parts.append([line])
    return [_run(part, width, words, alone=len(parts) == 1) for part in parts]


def _begins(part: list[str], line: str, width: int) -> bool:
    """Does `line` begin a paragraph after the lines of `part`?"""
    before, indent = part[-1], _indent(line)
    ended = bool(_ENDS.search(before.rstrip()))
    short = len(before.strip()) < 0.7 * min(width, _WIDTH + 20)
    if _HEADING.match(line) and (ended or short or _is_heading(part)):
        return True
    if _is_heading(part):
        return not _continues_heading(before, line)
    if _LIST.match(line) and (ended or short or indent != _indent(before)):
        return True
    if _is_spread(before) or _is_spread(line):
        return True
    if not ended and line.lstrip()[0].islower():
        return False
    if _is_centred(before, width) != _is_centred(line, width) and short:
        return True
    if _is_centred(line, width):
        return not (before.isupper() and line.isupper()) or line.lstrip().startswith("(")
    first = _indent(part[0])
    return ended and (len(before.rstrip()) < 0.8 * width or (indent >= first + 2 and len(part) > 1) or indent > _indent(before) + 1)


def _is_heading(part: list[str]) -> bool:
    return bool(_HEADING.match(part[0])) and len(part) <= 3 and sum(len(line.strip()) for line in part) < 200


def _continues_heading(before: str, line: str) -> bool:
    if _LIST.match(line) or _HEADING.match(line) or _ENDS.search(before.rstrip()):
        return False
    title = re.sub(_HEADING, "", before)
    if title.isupper():
        return line.isupper()
    return len(before.strip()) > 50 and _indent(line) >= _indent(before) + 4 and len(line.strip()) <= 60 and not line.rstrip().endswith(".")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_centred(line: str, width: int) -> bool:
    """Set in by at least ten, and about as far from the right edge of an 80-character line as from the left."""
    left, length = _indent(line), len(line.strip())
    return left >= 10 and length <= 64 and abs(left - max(0, max(width, 76) - left - length)) <= 12


def _is_spread(line: str) -> bool:
    """Pieces far apart: an address block or a cover's captions, not a sentence."""
    pieces = segments(line)
    return len(pieces) >= 2 and any(after[0] - before[1] >= 5 for before, after in zip(pieces, pieces[1:], strict=False))


def _run(part: list[str], width: int, words: frozenset[str], alone: bool) -> Run:
    text = ""
    for line in part:
        bare = " ".join(without_leaders(line).split())
        text = mended(text, bare, words) if text.endswith("-") and not text.endswith(" -") else f"{text} {bare}".strip()
    centred = all(_is_centred(line, width) for line in part)
    titled = alone and (text.isupper() or (centred and len(text) <= 90 and not text.endswith(".") and _is_title(text)))
    return Run(text, bold=1.0 if titled else 0.0, centered=centred)


def _is_title(text: str) -> bool:
    long = [word for word in re.findall(r"[A-Za-z]+", text) if len(word) > 3]
    return bool(long) and sum(word[0].isupper() for word in long) >= 0.8 * len(long)


def _gutter(group: list[str]) -> int:
    """The column between two columns of prose, or 0: blank on nearly every line, with several words on both sides."""
    if len(group) < _GUTTER_LINES:
        return 0
    full = [line for line in group if len(line.rstrip()) > 50]
    if len(full) < 0.7 * len(group):
        return 0
    for at in range(28, 60):
        if all(line[at - 1 : at + 2].strip() == "" for line in full):
            left, right = [line[:at].split() for line in full], [line[at:].split() for line in full]
            if min(sum(map(len, left)), sum(map(len, right))) >= 4 * len(full) and _wordy(left) and _wordy(right):
                return at + 1
    return 0


def _wordy(side: list[list[str]]) -> bool:
    flat = [word for line in side for word in line]
    return len(flat) >= 3.5 * len(side) and sum(word[:1].islower() for word in flat) > 0.5 * len(flat)
