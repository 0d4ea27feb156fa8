"""Items and Parts of a filing as ranges of its text.

A heading is proved by three things: its place (it starts a block), its pattern, and the order of the form. Rows of a table of contents,
cross references and running headers satisfy only some of them. Works on elements and text, so HTML, plain text and PDF use it alike.

Financial statements that stand behind the Items (F-pages) while Item 8 is a stub that points to them get a row of their own: part "F",
item "8". A filing without Item headings is read by its cross-reference index (found = "index").
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import NamedTuple

from edgarmill.schemas.records import Document, Element, Section
from edgarmill.workers.crossreference import indexed_regions
from edgarmill.workers.items import Key, numbering_of, order_of, part_of_10k, read_heading, read_part, title_fits
from edgarmill.workers.pointers import STUB, pointer_of

_SIGNATURES = re.compile(r"[\W_]*S\s?I\s?G\s?N\s?A\s?T\s?U\s?R\s?E\s?S?(?:\s+pages?)?[\W_]*", re.I)
_SIGNED = re.compile(r"\W*pursuant to the requirements? of (?:section 13|the securities exchange act)", re.I)
_PAGE_END = re.compile(r"[.\s|]\(?(?:[A-Z]-)?\d{1,3}(?:\s*[-–,]\s*(?:[A-Z]-)?\d{1,3}){0,9}\)?$|\|\s*(?:n/?a|none|[*\-–—])$", re.I)
_REFERENCE = re.compile(
    r"(?:of|in|to|and|or|above|below|is|are|was|were|has|have|which|that|herein|hereof|shall|will|under|as|for|on|by|with|we|contains?|includes?)"
    r"\b(?!\s*$)|[\"”,;)]")
_CONTINUED = re.compile(r"\(?\bcont(?:inued|'?d|\.)", re.I)
_STATEMENTS = re.compile(
    r"\W*(?:index to (?:the )?(?:consolidated )?financial statements|report of independent (?:registered|auditors|certified|accountants)|"
    r"(?:(?:unaudited|condensed|interim) )*consolidated (?:condensed )?(?:balance sheets?|statements? of|financial statements)|"
    r"financial statements$)", re.I)
_DENSE = 140  # characters between the headings of a table of contents
_HEADING_SCORE = 5
_FEWEST = 3  # headings; with fewer, a cross-reference index is asked
_STATEMENTS_AT_LEAST = 8000  # characters


class _Line(NamedTuple):
    """A line that may start a section: its place in the text, and the element that it stands in."""

    start: int
    end: int
    text: str
    element: int
    first: bool  # of its element


@dataclass(slots=True)
class _Candidate:
    line: _Line
    keys: tuple[Key, ...]
    title: str
    score: float
    gap: int = 0  # characters up to the next candidate, title and page number aside
    contents: bool = False  # stands in a table of contents


def find_sections(document: Document, elements: Sequence[Element], form: str, filed_on: date | None) -> list[Section]:
    """Sections in document order. They do not overlap, except those of combined Items, which share one range."""
    if document.type.upper().startswith("EX-"):
        return [_exhibit(document, elements)] if elements else []
    if document.media == "passage":
        end = len(document.text)
        return [Section(document.document_id, document.accession, "", "", document.name[:300], 0, end, 1, 1, None, "heading")]
    form = form.upper().strip() or document.type.upper()
    text = document.text
    numbering = numbering_of(form, filed_on, text)
    if not numbering:
        return []
    lines = _lines(text, elements)
    parts = [(line, read) for line in lines if len(line.text) < 100 and _may_begin(line.text, "pP") and (read := read_part(line.text))]
    candidates = _candidates(lines, elements, form, numbering, parts)
    _mark_contents(candidates, text, elements)
    chosen = _chosen(candidates, form)
    if len(chosen) < _FEWEST and not form.startswith("8-K"):
        indexed = _indexed(document, elements, form, numbering)
        if indexed:
            return indexed
    sections = _sections(document, elements, chosen, lines, [line for line, _ in parts])
    return _with_statements(document, elements, sections, lines, form)


def label_elements(elements: Sequence[Element], sections: Sequence[Section]) -> list[Element]:
    """The elements with `section` filled: "II.7", "2.02", "EX-99.1"; of combined Items the first."""
    ranges: dict[int, Section] = {}
    for section in sections:
        ranges.setdefault(section.start, section)
    starts = sorted(ranges)
    out = []
    for element in elements:
        place = bisect_right(starts, element.start) - 1
        found = ranges[starts[place]] if place >= 0 else None
        name = _name(found) if found is not None and element.start < found.end else None
        out.append(replace(element, section=name) if name != element.section else element)
    return out


def _name(section: Section) -> str:
    return f"{section.part}.{section.item}" if section.part else section.item


def _exhibit(document: Document, elements: Sequence[Element]) -> Section:
    title = next((document.text[e.start : e.end] for e in elements if e.kind == "heading"), document.type)
    return Section(document.document_id, document.accession, "", document.type.upper(), title[:300], elements[0].start, elements[-1].end,
                   elements[0].page, elements[-1].page, None, "heading")


# ---- candidates


def _lines(text: str, elements: Sequence[Element]) -> list[_Line]:
    out: list[_Line] = []
    new = tuple.__new__  # at half the time: the lines are thousands
    for index, element in enumerate(elements):
        at, first = element.start, True
        for line in text[at : element.end].split("\n"):
            end = at + len(line)
            if line and not line.isspace():
                out.append(new(_Line, (at, end, line, index, first)))
            at, first = end + 1, False
    return out


def _candidates(
    lines: list[_Line], elements: Sequence[Element], form: str, numbering: tuple[str, ...], parts: list[tuple[_Line, tuple[str, str]]]
) -> list[_Candidate]:
    part_starts = [line.start for line, _ in parts]
    found: list[_Candidate] = []
    for index, line in enumerate(lines):
        if not _may_begin(line.text, "iIpPİı"):
            continue
        if "tem" not in line.text[:120].lower() and "t e m" not in line.text[:60].lower():
            continue
        heading = read_heading(line.text, numbering)
        if heading is None:
            continue
        title = heading.title or _next_title(lines, index, elements)
        place = bisect_right(part_starts, line.start) - 1
        part = heading.part or (parts[place][1][0] if place >= 0 else "")
        keys = _keys(form, heading.numbers, title, part, found)
        if keys:
            found.append(_Candidate(line, keys, title, _score(line, elements[line.element], heading.title, title, form, keys)))
    return found


def _may_begin(line: str, letters: str) -> bool:
    """With one of the letters, signs before it aside: most lines do not, and need no pattern."""
    return line[0] in letters or not line[0].isalnum()


def _next_title(lines: list[_Line], index: int, elements: Sequence[Element]) -> str:
    """The title on the line below a bare number."""
    if index + 1 < len(lines):
        below = lines[index + 1]
        if len(below.text) < 200 and (elements[below.element].kind == "heading" or below.element == lines[index].element):
            return below.text.strip()
    return ""


def _keys(form: str, numbers: tuple[str, ...], title: str, part: str, before: list[_Candidate]) -> tuple[Key, ...]:
    if form.startswith("8-K"):
        return tuple(("", number) for number in numbers)
    if form.startswith("10-Q") or form.startswith("10QSB"):
        keys = [_key_10q(number, title, part) for number in numbers]
        return tuple(key for key in keys if key is not None)
    order = {item: place for place, item in order_of(form)}
    if form.startswith(("10-KSB", "10KSB")):
        return tuple((order[number], number) for number in numbers)
    return tuple((part_of_10k(number, title), number) for number in numbers)


def _key_10q(number: str, title: str, part: str) -> Key | None:
    """Title first, then the part heading above, then which part alone has such a number."""
    allowed = [key for key in order_of("10-Q") if key[1] == number]
    fitting = [key for key in allowed if title_fits("10-Q", key, title)]
    if len(fitting) == 1:
        return fitting[0]
    if (part, number) in allowed:
        return (part, number)
    return allowed[0] if len(allowed) == 1 else None


def _score(line: _Line, element: Element, own_title: str, title: str, form: str, keys: tuple[Key, ...]) -> float:
    """How much a line looks like a heading; 0 and less is none."""
    score = 1.0
    if element.kind == "heading":
        score += 3
    elif element.kind == "table":
        score -= 2
    if not line.first:
        score -= 0.5
    if title_fits(form, keys[0], title):
        score += 2
    if line.text.lstrip("-_=* \t")[:4].isupper():
        score += 0.5
    if _REFERENCE.match(own_title) and not own_title[:1].isupper():
        score -= 5
    if len(line.text) > 300:
        score -= 1
    if _CONTINUED.search(line.text[:200]):
        score -= 3
    return score


def _mark_contents(candidates: list[_Candidate], text: str, elements: Sequence[Element]) -> None:
    """Marks rows of tables of contents: dense runs of candidates whose lines end in page numbers or whose keys come again later."""
    for one, following in zip(candidates, [*candidates[1:], None], strict=False):
        end = following.line.start if following else len(text)
        one.gap = len(text[one.line.end : end].replace(one.title, "", 1).strip())
    rows: dict[int, int] = {}
    for one in candidates:
        rows[one.line.element] = rows.get(one.line.element, 0) + 1
    run: list[_Candidate] = []
    seen: set[Key] = set()
    for one in candidates:
        if run and (run[-1].gap > _DENSE or seen & set(one.keys)):  # the body begins where the numbers begin again
            _mark_run(run, candidates, elements, rows)
            run, seen = [], set()
        run.append(one)
        seen.update(one.keys)
    _mark_run(run, candidates, elements, rows)


def _mark_run(run: list[_Candidate], candidates: list[_Candidate], elements: Sequence[Element], rows: dict[int, int]) -> None:
    for one in run:
        if elements[one.line.element].kind == "table" and (rows[one.line.element] >= 3 or _PAGE_END.search(one.line.text.rstrip())):
            one.contents = True
    if len(run) < 3:
        return
    last = run[-1].line.start
    later = {key for one in candidates if one.line.start > last for key in one.keys}
    numbered = sum(1 for one in run if _PAGE_END.search(one.line.text.rstrip()) or one.contents)
    again = sum(1 for one in run if set(one.keys) <= later)
    if numbered >= 0.5 * len(run) or (again >= 0.6 * len(run) and len(run) >= 4):
        final = run[-1]
        body_begins = final.gap > _DENSE and elements[final.line.element].kind == "heading" and not set(final.keys) <= later
        for one in run[:-1] if body_begins else run:
            one.contents = True


# ---- choice


def _chosen(candidates: list[_Candidate], form: str) -> list[_Candidate]:
    usable = [one for one in candidates if one.score > 0 and not one.contents]
    if form.startswith("8-K"):
        return _first_of_each(usable)
    for one, following in zip(usable, usable[1:], strict=False):  # the title again, as the head of the next page
        if one.keys == following.keys and one.title.lower() == following.title.lower() and one.score >= _HEADING_SCORE:
            following.score = min(following.score, one.score)
    order = {key: rank for rank, key in enumerate(order_of(form))}
    order.setdefault(("IV", "14"), order.get(("III", "14"), 0))
    chain = _chain(usable, order)
    taken = {key for one in chain for key in one.keys}
    strays = [one for one in usable if one.score >= _HEADING_SCORE and not taken & set(one.keys)]
    return sorted(chain + _first_of_each(strays), key=lambda one: one.line.start)


def _first_of_each(candidates: list[_Candidate]) -> list[_Candidate]:
    """Per key the strongest, of equals the first; each with the keys that it won."""
    best: dict[Key, _Candidate] = {}
    for one in candidates:
        for key in one.keys:
            if key not in best or one.score > best[key].score:
                best[key] = one
    won: dict[int, list[Key]] = {}
    for key, one in best.items():
        won.setdefault(id(one), []).append(key)
    kept = [replace(one, keys=tuple(won[id(one)])) for one in candidates if id(one) in won]
    return sorted(kept, key=lambda one: one.line.start)


def _chain(candidates: list[_Candidate], order: dict[Key, int]) -> list[_Candidate]:
    """The strongest sequence of candidates that keeps the form's order; of equal ones the earliest."""
    best: list[tuple[float, int]] = []  # score of the chain that ends here, and its last but one
    for index, one in enumerate(candidates):
        low = min(order[key] for key in one.keys)
        score, before = 0.0, -1
        for earlier in range(index):
            if best[earlier][0] > score and max(order[key] for key in candidates[earlier].keys) < low:
                score, before = best[earlier][0], earlier
        best.append((score + one.score, before))
    if not best:
        return []
    at = max(range(len(best)), key=lambda index: (best[index][0], -index))
    chain = []
    while at >= 0:
        chain.append(candidates[at])
        at = best[at][1]
    return chain[::-1]


# ---- sections


def _sections(
    document: Document, elements: Sequence[Element], chosen: list[_Candidate], lines: list[_Line], part_lines: list[_Line]
) -> list[Section]:
    if not chosen:
        return []
    text = document.text
    end_of_last = _signatures_start(lines, chosen[-1].line.end, len(text))
    out: list[Section] = []
    for index, one in enumerate(chosen):
        end = chosen[index + 1].line.start if index + 1 < len(chosen) else end_of_last
        end = _before_part(part_lines, one.line.end, end, text)
        end = one.line.start + len(text[one.line.start : end].rstrip())
        first, last = _page(elements, one.line.start), _page(elements, max(end - 1, one.line.start))
        body = text[one.line.end : end]
        for part, item in one.keys:
            out.append(Section(
                document.document_id, document.accession, part, item, one.title.split("\n")[0][:300], one.line.start, end, first, last,
                pointer_of(body), "combined" if len(one.keys) > 1 else "heading", len(out)))
    return out


def _indexed(document: Document, elements: Sequence[Element], form: str, numbering: tuple[str, ...]) -> list[Section]:
    """Sections by a cross-reference index."""
    parts = {item: part for part, item in order_of(form)} if form.startswith("10-K") else {}
    regions = indexed_regions(document.text, elements, numbering, parts)
    out: list[Section] = []
    for region in regions:
        first, last = _page(elements, region.start), _page(elements, region.end - 1)
        found = "combined" if len(region.items) > 1 else "index"
        for (part, item), title in region.items:
            out.append(Section(document.document_id, document.accession, part, item, title[:300], region.start, region.end, first, last,
                               None, found, len(out)))
    return out


def _with_statements(
    document: Document, elements: Sequence[Element], sections: list[Section], lines: list[_Line], form: str
) -> list[Section]:
    """The sections, and the financial statements where they stand without an Item heading: behind a 10-K's Items, before a 10-Q's."""
    keys = {(section.part, section.item): section for section in sections}
    stub = keys.get(("II", "8"))
    if form.startswith("10-K") and stub is not None and stub.end - stub.start < 2 * STUB:
        last = next((s for s in reversed(sections) if s.part == "IV"), sections[-1])
        place = _statements_start(lines, elements, min(last.start, sections[-1].start), len(document.text), new_page=True)
        key, end = ("F", "8"), _signatures_start(lines, place, len(document.text)) if place >= 0 else 0
    elif form.startswith("10-Q") and ("I", "2") in keys and ("I", "1") not in keys and sections[0].item == "2":
        place, key, end = _statements_start(lines, elements, 0, sections[0].start, new_page=False), ("I", "1"), sections[0].start
    else:
        return sections
    if place < 0 or end - place < _STATEMENTS_AT_LEAST:
        return sections
    end = place + len(document.text[place:end].rstrip())
    cut = [_cut(section, place, document.text, elements) for section in sections if section.start < place or section.start >= end]
    row = Section(document.document_id, document.accession, *key, "Financial statements", place, end, _page(elements, place),
                  _page(elements, end - 1), None, "index")
    return [replace(section, ordinal=number) for number, section in enumerate(sorted([*cut, row], key=lambda s: (s.start, s.ordinal)))]


def _cut(section: Section, at: int, text: str, elements: Sequence[Element]) -> Section:
    if not section.start < at < section.end:
        return section
    end = section.start + len(text[section.start : at].rstrip())
    return replace(section, end=end, page_end=_page(elements, end - 1))


def _statements_start(lines: list[_Line], elements: Sequence[Element], after: int, before: int, new_page: bool) -> int:
    """Where a heading of financial statements begins; -1 for nowhere. `new_page`: not on the page of `after`, as F-pages never are."""
    page = _page(elements, after) if new_page and elements[-1].page > 1 else 0
    for line in lines:
        element = elements[line.element]
        if after < line.start < before and element.kind == "heading" and element.page > page and _STATEMENTS.match(line.text):
            return line.start
    return -1


def _signatures_start(lines: list[_Line], after: int, end: int) -> int:
    signed = (line.start for line in lines if line.start >= after and (_SIGNATURES.fullmatch(line.text) or _SIGNED.match(line.text)))
    return next(signed, end)


def _before_part(part_lines: list[_Line], start: int, end: int, text: str) -> int:
    """A part heading right before the next Item is not of the Item before."""
    for line in reversed(part_lines):
        if line.start < start:
            break
        if line.start < end:
            between = text[line.end : end].strip()
            if len(between) >= 150 and not _lists_items(between):
                break
            end = line.start
    return end


def _lists_items(text: str) -> bool:
    """A part's own short table of contents between its heading and its first Item."""
    lines = [line for line in text.split("\n") if line.strip()] if len(text) < 2500 else []
    return sum("item" in line[:12].lower() for line in lines) >= max(2, len(lines) / 3)


def _page(elements: Sequence[Element], at: int) -> int:
    place = bisect_right(elements, at, key=lambda element: element.start) - 1
    return elements[max(place, 0)].page
