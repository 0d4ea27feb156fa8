"""What can be checked of a parsed document against its source, by ways that share nothing with the parser's own.

Each check gives what is wrong, in words that name the place; nothing where all is well.
"""

from __future__ import annotations

import html as references
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from lxml import etree

from edgarmill.schemas.records import Element, Section
from edgarmill.workers.parse.characters import mapped
from edgarmill.workers.parse.html import visible_text
from edgarmill.workers.parse.parsed import Parsed, RawDocument

_TEXT_MARK = re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>\n]{0,400})?>")
_WORD = re.compile(r"[A-Za-z]{5,}|\d[\d,.]{3,}\d")
_ITEM = re.compile(r"[\W_]{0,80}(?:part\s+[iv]+\W{1,8})?i\s?t\s?e\s?m\s?s?(?![a-z])[\s.:#]{0,6}", re.I)
_HEADED = re.compile(r"item\s+(\d{1,2}(?:\.\d\d)?\s?[a-c]?)\b\s*[.:—–-]\s*[A-Z]", re.I)
_SPELT = {word: str(number) for number, word in enumerate(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split(), 1)}
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(r"(?:page\s+)?(?:[A-Z]{1,2}-)?\d{1,3}|-\s?\d{1,3}\s?-", re.I)
_BACK_LINK = re.compile(r"(?:table of contents|index to financial statements)\W*", re.I)


def source_text(raw: RawDocument) -> str:
    """All that a document shows. Raises BadFile, NoText."""
    if raw.media == "html":
        return visible_text(raw.data)
    text = _TEXT_MARK.sub(" ", raw.data.decode("utf-8", "replace"))
    return mapped(references.unescape(text))


def leaked(raw: RawDocument, parsed: Parsed, shown: str) -> list[str]:
    """Words and figures of the text that only hidden parts of the source hold."""
    strange = set(_WORD.findall(parsed.text)) - set(_WORD.findall(shown))
    if not strange or raw.media != "html":
        return []
    root = etree.fromstring(raw.data, etree.HTMLParser(huge_tree=True, remove_comments=True))
    hidden: set[str] = set()
    for element in root.iter():
        style = (element.get("style") or "").lower().replace(" ", "")
        if "display:none" in style or "visibility:hidden" in style or str(element.tag).endswith(":header") or element.tag == "title":
            hidden.update(_WORD.findall(" ".join(element.itertext())))
    return sorted(strange & hidden)


def furniture_left(parsed: Parsed) -> list[str]:
    """Blocks at the edge of a page that are a page number in sequence, a back link, or what stands there on each third page."""
    said = [(page, text) for page, text in _edges(parsed) if len(text) < 120]
    often = Counter(re.sub(r"\d+", "#", text) for _, text in said)
    numbered = Counter(int(_DIGITS.findall(text)[-1]) - page for page, text in said if _PAGE_NUMBER.fullmatch(text))
    out = []
    for page, text in said:
        in_sequence = bool(_PAGE_NUMBER.fullmatch(text)) and numbered[int(_DIGITS.findall(text)[-1]) - page] >= 2
        everywhere = often[re.sub(r"\d+", "#", text)] >= max(4, parsed.pages / 3)
        if in_sequence or everywhere or (_BACK_LINK.fullmatch(text) and often[text] >= 3):
            out.append(f"page {page}: {text[:80]}")
    return out


def _edges(parsed: Parsed) -> Iterator[tuple[int, str]]:
    """Pages and the texts of their first and last blocks."""
    blocks = parsed.blocks
    for index, block in enumerate(blocks):
        first = index == 0 or blocks[index - 1].page != block.page
        last = index + 1 == len(blocks) or blocks[index + 1].page != block.page
        if (first or last) and block.kind != "table":
            yield block.page, parsed.text[block.start : block.end]


def bounds(text: str, elements: Sequence[Element], sections: Sequence[Section], form: str) -> list[str]:
    """Sections that do not begin at their own heading, or hold the heading of a later Item. Those mapped by an index have no heading."""
    out: list[str] = []
    if any(section.found == "index" and section.part != "F" for section in sections):
        return out
    ordered = not form.startswith("8-K")
    headings = [element for element in elements if element.kind == "heading"]
    for start, end in sorted({(section.start, section.end) for section in sections}):
        own = [section for section in sections if (section.start, section.end) == (start, end)]
        if own[0].found == "index" or own[0].item.startswith("EX-"):
            continue
        items = {section.item for section in own}
        if not items & _items_named(text[start : start + 120]):
            out.append(f"{own[0].part} {own[0].item} begins with {text[start : start + 60]!r}")
        for element in headings:
            found = _HEADED.match(text, element.start) if start < element.start < end else None
            line = text[element.start : element.end]
            if found and "continued" not in line.lower() and _is_other(found[1].upper().replace(" ", ""), items, ordered):
                out.append(f"{own[0].part} {own[0].item} holds {line[:60]!r}")
    return out


def _is_other(item: str, items: set[str], ordered: bool) -> bool:
    """A later Item in a form with an order; reports on 8-K and rules that a 10-K lists have lower numbers."""
    def rank(name: str) -> tuple[float, str]:
        digits = name.rstrip("ABCD")
        return float(digits), name[len(digits) :]

    return item not in items and (not ordered or rank(item) > max(map(rank, items)))


def _items_named(head: str) -> set[str]:
    """Item numbers in the first line of a section, ranges as their ends."""
    match = _ITEM.match(head)
    if match is None:
        return set()
    rest = head[match.end() :].split("\n")[0].upper()
    word = re.match(r"[A-Z]+", rest)
    named = {_SPELT[word[0].lower()]} if word and word[0].lower() in _SPELT else set()
    for found in re.finditer(r"(?<![\d.])(\d{1,2}\.\d\d|\d{1,2})\s?(?:\(?([A-D])(?![A-Z]{2})\)?)?", rest):
        named |= {found[1], found[1] + (found[2] or "")}
    return named | ({"1"} if re.match(r"[IL1]\W", rest) else set())


def arithmetic(text: str, sections: Sequence[Section]) -> list[str]:
    """Ranges beyond the document, empty ones, and such that overlap without being one and the same; lengths that do not add up."""
    ranges = sorted({(section.start, section.end) for section in sections})
    out = [f"{start}-{end} is no range of {len(text)}" for start, end in ranges if not 0 <= start < end <= len(text)]
    out += [f"{one} overlaps {two}" for one, two in zip(ranges, ranges[1:], strict=False) if two[0] < one[1]]
    between = sum(max(two[0] - one[1], 0) for one, two in zip([(0, 0), *ranges], [*ranges, (len(text), 0)], strict=False))
    if sum(end - start for start, end in ranges) + between != len(text):
        out.append("lengths of sections and of what is between them do not add up to the document's")
    return out
