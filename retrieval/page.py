"""One page of HTML that stands for itself: the original of a document, what was read of it beside, and an outline that leads to both.

No script is in it and none can run; nothing is loaded. Marks (#e12) do the scrolling.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from edgarmill.retrieval.inspection import grid_of
from edgarmill.retrieval.original import LARGEST_BYTES, shown
from edgarmill.schemas.records import Element, Filing, Section
from edgarmill.workers.reading import Read
from edgarmill.workers.values import name_of

LARGEST_CHARACTERS = 16_000_000  # of markup for the elements; what is beyond is said, not shown
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_CONTROL = {code: " " for code in (*range(9), 11, 12, *range(14, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_STYLE = """
*{box-sizing:border-box}html,body{margin:0;height:100%}body{display:grid;grid-template:auto 1fr/minmax(15em,20%) 1fr 1fr;height:100vh;
font:14px/1.45 system-ui,sans-serif;color:#222;background:#fff}
header{grid-column:1/4;padding:6px 12px;border-bottom:1px solid #bbb;background:#f5f5f5}header b{font-size:16px}
nav,main,.left{overflow:auto;min-height:0;border-right:1px solid #bbb}nav{padding:6px;font-size:12px}main{padding:0 12px 60vh}
iframe{border:0;width:100%;height:100%;display:block}
nav div{display:flex;gap:6px;padding:1px 2px}nav div:hover{background:#e8f0fe}
nav a{color:inherit;text-decoration:none;flex:1;overflow-wrap:anywhere}
nav a.o{flex:none;color:#07c}nav .s{font-weight:600;margin-top:4px;border-top:1px solid #ddd}nav small{color:#777;font-weight:400}
.bar{background:#345;color:#fff;padding:2px 8px;margin:16px -12px 4px;position:sticky;top:0;z-index:1}
.page{border-top:1px dashed #999;color:#777;font-size:11px;margin-top:10px}
section{position:relative;padding:2px 6px 2px 8px;border-left:4px solid #ccc;margin:4px 0;white-space:pre-wrap;overflow-wrap:anywhere}
section{scroll-margin-top:28px}section:hover{background:#f3f7ff}section:target{background:#fff3d6}
section>i{display:block;color:#888;font:11px monospace}
section>i a{color:#07c}.heading{border-color:#c60;font-weight:600}.l1{font-size:19px}.l2{font-size:17px}.l3{font-size:15px}
.table{border-color:#07c;overflow-x:auto}.list_item{border-color:#7a3}.footnote{border-color:#a5a}.signature{border-color:#a33}
table{border-collapse:collapse;font-size:12px;white-space:normal}
td,th{overflow-wrap:normal;border:1px solid #ddd;padding:1px 5px;text-align:left;vertical-align:top}
th{background:#eef}.warning{color:#a30}.stub{color:#a30;font-weight:400}.none{color:#888;padding:12px}
"""


def page_of(filing: Filing, read: Read) -> str:
    """The page. The original is left out when it is no HTML or text, or too large, and the page says so."""
    document = read.document
    text = document.text
    wanted = [(f"e{one.ordinal}", text[one.start : one.end]) for one in read.elements]
    original, found = shown(read.data, document.media, wanted)
    title = " ".join(word for word in (filing.company, document.type or filing.form, str(filing.period_on or ""), document.name) if word)
    left = f'<iframe name="original" title="original" sandbox="" srcdoc="{escape(original)}"></iframe>' if original else _no_original(read)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="referrer" content="no-referrer"><title>{_said(title)}</title><style>{_STYLE}</style></head>\n<body>'
        f"{_header(filing, read, title)}\n<nav>{''.join(_outline(read, found))}</nav>\n"
        f'<div class="left">{left}</div>\n<main>{"".join(_elements(read, found))}</main></body></html>\n'
    )


def _said(text: object) -> str:
    return escape(str(text).translate(_CONTROL))


def _no_original(read: Read) -> str:
    size, media = len(read.data), read.document.media
    why = f"it has {size:,} bytes, more than {LARGEST_BYTES:,}" if size > LARGEST_BYTES else f"it is {media}, which is not shown in a page"
    return f'<p class="none">The original is left out: {why if size else "its bytes are not at hand"}.</p>'


def _header(filing: Filing, read: Read, title: str) -> str:
    document = read.document
    facts = f"{document.media}, {document.pages} pages, {len(document.text):,} characters, {len(read.elements):,} elements, " \
            f"{len(read.sections)} sections, {len(read.facts):,} facts, read by {document.engine}"
    warnings = "".join(f'<div class="warning">{_said(warning)}</div>' for warning in document.warnings)
    return f"<header><b>{_said(title)}</b> {_said(filing.accession)}<br>{_said(facts)}{warnings}</header>"


# --- outline -----------------------------------------------------------------------------------------------------------------------

def _outline(read: Read, found: set[str]) -> Iterator[str]:
    """Sections and headings in document order; the arrow leads to the place in the original."""
    text, rows = read.document.text, list[tuple[int, int, str]]()
    for section in read.sections:
        first = next((one for one in read.elements if one.start >= section.start), None)
        if first is not None:
            rows.append((section.start, 0, _section_entry(section, first, len(text), found)))
    for one in read.elements:
        if one.kind == "heading":
            label = f'{_said(text[one.start : min(one.end, one.start + 120)])} <small>p. {one.page}</small>'
            rows.append((one.start, 1, _entry(one, label, found, f' style="margin-left:{min(one.level or 1, 8)}em"')))
    return (row for _, _, row in sorted(rows))


def _section_entry(section: Section, first: Element, characters: int, found: set[str]) -> str:
    share = f"{100 * (section.end - section.start) / max(characters, 1):.1f} %"
    pages = f"{section.page_start}-{section.page_end}" if section.page_end != section.page_start else f"{section.page_start}"
    flags = "" if section.found == "heading" else f" by {section.found}"
    stub = f' <span class="stub" title="{_said(section.pointer)}">stub</span>' if section.pointer else ""
    label = (f"{_said(name_of(section))} {_said(section.title[:100])} "
             f"<small>p. {pages}, {section.end - section.start:,} characters, {share}{_said(flags)}</small>{stub}")
    return _entry(first, label, found, ' class="s"')


def _entry(one: Element, label: str, found: set[str], more: str) -> str:
    return f'<div{more}><a href="#e{one.ordinal}">{label}</a>{_to_original(one, found)}</div>'


def _to_original(one: Element, found: set[str]) -> str:
    mark = f"e{one.ordinal}"
    return f'<a class="o" target="original" href="about:srcdoc#{mark}" title="in the original">&#8599;</a>' if mark in found else ""


# --- elements ----------------------------------------------------------------------------------------------------------------------

def _elements(read: Read, found: set[str]) -> Iterator[str]:
    text, size, page, section, tables = read.document.text, 0, 0, None, 0
    for one in read.elements:
        if size > LARGEST_CHARACTERS:
            yield f'<p class="none">{len(read.elements) - one.ordinal:,} further elements are left out: the page would be too large.</p>'
            return
        tables += one.kind == "table"
        bars = "" if one.section == section else f'<div class="bar">{_said(one.section or "outside of the sections")}</div>'
        bars += "" if one.page == page else f'<div class="page">page {one.page}{_label(one)}</div>'
        page, section = one.page, one.section
        out = bars + _element(one, text[one.start : one.end], tables, found)
        size += len(out)
        yield out
    if not read.elements:
        yield '<p class="none">No element was read.</p>'


def _label(one: Element) -> str:
    return f" (printed {_said(one.page_label)})" if one.page_label else ""


def _element(one: Element, text: str, table: int, found: set[str]) -> str:
    level = f" {one.level}" if one.level else ""
    number = f", table {table}" if one.kind == "table" else ""
    grid = grid_of(one) if one.kind == "table" else {}
    unit = f", {_said(grid['unit'])}" if grid.get("unit") else ""
    body = _grid(grid) if grid.get("rows") else _said(text)
    shape = f"{one.kind} l{one.level}" if one.level else one.kind
    return (f'<section id="e{one.ordinal}" class="{_said(shape)}"><i>{one.ordinal} {_said(one.kind)}{level}{number}{unit} '
            f"{_to_original(one, found)}</i>{body}</section>\n")


def _grid(grid: dict[str, Any]) -> str:
    rows = []
    for number, row in enumerate(grid["rows"]):
        tag = "th" if number < grid["header_rows"] else "td"
        rows.append("<tr>" + "".join(f"<{tag}>{_said('' if cell is None else cell)}</{tag}>" for cell in row) + "</tr>")
    return f"<table>{''.join(rows)}</table>"
