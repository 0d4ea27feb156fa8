"""The parser of plain text as filed from 1993 to about 2003, also of such text wrapped into `<html><pre>`.

Marks of that time: `<PAGE>`, `<TABLE>` with `<CAPTION>`, `<S>`, `<C>` (columns) and `<FN>` (notes). Nothing else in angle brackets is one:
`<5%` is text. Rules and dot leaders are drawing, not text, and are not counted.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from edgarmill.workers.parse.assembled import parsed_of
from edgarmill.workers.parse.characters import mapped
from edgarmill.workers.parse.columns import grid_lines, is_rule, segments, table_ranges, without_leaders
from edgarmill.workers.parse.hyphens import words_of
from edgarmill.workers.parse.media import plain_in_html
from edgarmill.workers.parse.parsed import Parsed, RawDocument
from edgarmill.workers.parse.prose import paragraphs
from edgarmill.workers.parse.runs import Break, Grid, Item, Run

ENGINE = "text-2"

_MARK = re.compile(r"<(/?(?:PAGE|TABLE|CAPTION|S|C|FN|F\d{1,2}|BTB|MULTIPLIER|R))>", re.I)
_WRAP = re.compile(r"</?(?:html|head|body|pre|title|font|b|i|u|center|br|p|div|hr|a)(?:\s[^<>]{0,500})?/?>", re.I)
_PAGE_NUMBER = re.compile(r"\s*[-(]?\s*(?:page\s+)?((?:[A-Z]{1,2}-)?\d{1,4}|[ivxl]{1,6})\s*[-)]?\s*", re.I)
_NO_TEXT = {code: " " for code in range(32) if code not in (9, 10, 12)}


def parse(raw: RawDocument) -> Parsed:
    """One plain-text document as canonical text. Raises NoText."""
    text, encoding = _decoded(raw.data)
    lines = text.split("\n")
    words = words_of(text)
    items = list(_items(lines, words))
    source = "\n".join(without_leaders(_MARK.sub(" ", line)) for line in lines if not is_rule(line))
    return parsed_of(items, re.sub(r"[-=_*]{4,}", " ", source), encoding, ENGINE, raw.name)


def _decoded(data: bytes) -> tuple[str, str]:
    """Text with \\n as the only line end and a form feed as a <PAGE> line; the encoding that was read."""
    try:
        text, encoding = data.decode("utf-8-sig"), "utf-8"
    except UnicodeDecodeError:
        text, encoding = data.decode("cp1252", "replace"), "cp1252"
    if plain_in_html(data):
        text = html.unescape(_WRAP.sub("", text))
    else:
        for reference, sign in (("&lt;", "<"), ("&gt;", ">"), ("&nbsp;", " "), ("&amp;", "&")):
            text = text.replace(reference, sign)
    text = mapped(text.replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " ").translate(_NO_TEXT))
    return text.replace("\f", "\n<PAGE>\n").expandtabs(8), encoding


def _items(lines: list[str], words: frozenset[str]) -> Iterator[Item]:
    """The document cut at its marks."""
    prose: list[str] = []
    at = 0
    while at < len(lines):
        mark = _MARK.search(lines[at])
        name = mark[1].upper() if mark else ""
        if mark and name == "PAGE":
            before, after = lines[at][: mark.start()], lines[at][mark.end() :]
            yield from _prose([*prose, before], words)
            prose = []
            yield Break(True)
            if number := _PAGE_NUMBER.fullmatch(after):
                yield Run(number[1], footer=True)
            else:
                prose = [after]
        elif mark and name == "TABLE":
            end = _table_end(lines, at)
            yield from _prose([*prose, lines[at][: mark.start()]], words)
            prose = []
            yield from _table([lines[at][mark.end() :], *lines[at + 1 : end]], words)
            at = end
            continue
        else:
            prose.append(_MARK.sub(lambda m: " " * len(m[0]), lines[at]) if mark else lines[at])
        at += 1
    yield from _prose(prose, words)


def _table_end(lines: list[str], start: int) -> int:
    """The line after the table: behind </TABLE>, or before a page mark or a further table where the closing mark is missing."""
    for at in range(start + 1, len(lines)):
        mark = _MARK.search(lines[at])
        if mark and mark[1].upper() == "/TABLE":
            lines[at] = lines[at][: mark.start()] + " " + lines[at][mark.end() :]
            return at if lines[at].strip() else at + 1
        if mark and mark[1].upper() in ("PAGE", "TABLE"):
            return at
    return len(lines)


def _table(lines: list[str], words: frozenset[str]) -> Iterator[Item]:
    """A marked table: what stands above `<S>` is its header, what stands behind `<FN>` its notes."""
    body: list[str] = []
    notes: list[str] = []
    header_lines: int | None = None
    in_notes = False
    for line in lines:
        names = {name.upper() for name in _MARK.findall(line)}
        in_notes = in_notes or any(name.startswith("F") for name in names)
        if header_lines is None and names & {"S", "C"}:
            header_lines = len(body)
        bare = _MARK.sub(lambda m: " " * len(m[0]), line)
        (notes if in_notes else body).append(bare)
    lead, trail = _prose_edges(body)
    yield from _prose(body[:lead], words)
    core = body[lead:trail]
    if sum(len(segments(line)) > 1 for line in core) < 2:
        yield from paragraphs(core, words)
    else:
        yield from _grid(grid_lines(core, max(0, header_lines - lead) if header_lines is not None else None))
    yield from _prose(body[trail:], words)
    yield from paragraphs(notes, words)


def _prose_edges(lines: list[str]) -> tuple[int, int]:
    """Sentences before and after the rows of a table that somebody marked too widely: at least two long lines of one piece."""
    prose = [len(segments(line)) == 1 and len(line.strip()) > 60 for line in lines]
    lead = trail = 0
    for at in range(len(lines) - 1):
        if lines[at].strip() and not prose[at]:
            break
        lead = at + 1 if prose[at] and sum(prose[:at + 1]) >= 2 else lead
    for at in range(len(lines) - 1, lead, -1):
        if lines[at].strip() and not prose[at]:
            break
        trail = len(lines) - at if prose[at] and sum(prose[at:]) >= 2 else trail
    return lead, len(lines) - trail


def _prose(lines: list[str], words: frozenset[str]) -> Iterator[Item]:
    """Prose, with the tables that stand in it without marks."""
    done = 0
    for start, end in table_ranges(lines):
        yield from paragraphs(lines[done:start], words)
        yield from _grid(grid_lines(lines[start:end]))
        done = end
    yield from paragraphs(lines[done:], words)


def _grid(grid: Grid) -> Iterator[Item]:
    if len(grid.printed) and len(grid.printed[0]) > 1:
        yield grid
    else:
        for row in grid.printed:
            yield Run(row[0])
