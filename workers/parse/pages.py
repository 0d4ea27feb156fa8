"""Pages: numbering, printed labels, furniture at their edges, and paragraphs that run over a break."""

from __future__ import annotations

import re
from collections import Counter

from edgarmill.workers.parse.runs import Break, Grid, Item, Run

_NUMBER = re.compile(r"[-–—(\[]?\s*(?:page\s+)?((?:[a-z]{1,2}-?)?\d{1,3}(?:-\d{1,3})?|[ivxl]{1,6})\s*(?:of\s+\d{1,3})?\s*[-–—)\]]?", re.I)
_TRAILING = re.compile(r"(?:^|[\s|])((?:[A-Z]{1,2}-)?\d{1,3}|[ivxl]{1,6})$")
_LEADING = re.compile(r"^((?:[A-Z]{1,2}-)?\d{1,3})(?=[\s|])")
_BACK = re.compile(r"(?:back to |return to )?(?:table of contents|index to (?:consolidated )?financial statements|index|contents)\W*", re.I)
_DIGITS = re.compile(r"\d+")
_KEPT_ONCE = re.compile(r"(?:part\s+[ivx]+|items?\s*\d)", re.I)
_UNIT = re.compile(r"\bin (?:thousands|millions|billions)\b|\bunaudited\b", re.I)
_EDGE, _LONGEST = 3, 200
_ENDS = re.compile(r"[.!?:;][\"”’')\]]*$")

Block = Run | Grid


def paged(items: list[Item], every_page: bool = False) -> tuple[list[list[Block]], list[Block]]:
    """Blocks by page, furniture taken out, and the furniture. Pages without content do not count unless `every_page` does."""
    pages = [page for page in _split(items) if page or every_page]
    furniture = _furniture(pages)
    gone = {id(block) for block in furniture}
    out = []
    for number, page in enumerate(pages, 1):
        label = _label([block for block in page if id(block) in gone])
        kept = [block for block in page if id(block) not in gone]
        for block in kept:
            block.page, block.label = number, label
        out.append(kept)
    return out, furniture


def _split(items: list[Item]) -> list[list[Block]]:
    """Pages at hard breaks, and at rules beside a page number or a back link."""
    pages: list[list[Block]] = [[]]
    for index, item in enumerate(items):
        if isinstance(item, Break):
            if item.hard or _at_edge(pages[-1], items, index):
                pages.append([])
        else:
            pages[-1].append(item)
    return pages


def _at_edge(page: list[Block], items: list[Item], index: int) -> bool:
    last = page[-1] if page else None
    if isinstance(last, Run) and _is_page_number(last.text):
        return True
    following = items[index + 1] if index + 1 < len(items) else None
    return isinstance(following, Run) and bool(_BACK.fullmatch(following.text))


def _is_page_number(text: str) -> bool:
    return len(text) <= 24 and bool(_NUMBER.fullmatch(text))


def _furniture(pages: list[list[Block]]) -> list[Block]:
    edges = [_edges(page) for page in pages]
    repeated = Counter(key for edge in edges for key in {_key(run.text) for run in edge})
    enough = max(3, len(pages) // 12)
    numbered = _numbered(edges)
    seen: set[str] = set()
    out: list[Block] = []
    for page, edge in zip(pages, edges, strict=True):
        inner = {id(run) for run in edge}
        for block in page:
            if not isinstance(block, Run):
                continue
            if block.footer or (block.aside and len(block.text) <= _LONGEST):
                out.append(block)
            elif id(block) in inner and _is_furniture(block, repeated, enough, numbered, len(pages), seen):
                out.append(block)
    return out


def _is_furniture(run: Run, repeated: Counter[str], enough: int, numbered: set[int], pages: int, seen: set[str]) -> bool:
    text = run.text
    if id(run) in numbered:
        return True
    if _BACK.fullmatch(text):
        return pages > 1 and (run.linked > 0.5 or repeated[_key(text)] >= 3)
    if repeated[_key(text)] < enough or _UNIT.search(text):
        return False
    title = _KEPT_ONCE.match(text) or ((run.bold > 0.9 or text.isupper()) and not _DIGITS.search(text))
    if title and text not in seen:  # a running header repeats a title that stands once
        seen.add(text)
        return False
    return True


def _edges(page: list[Block]) -> list[Run]:
    """Short runs at the top and at the bottom of a page, up to the first table or long run."""
    found: dict[int, Run] = {}
    for side in (page[:_EDGE], page[: -_EDGE - 1 : -1]):
        for block in side:
            if not isinstance(block, Run) or len(block.text) > _LONGEST:
                break
            found[id(block)] = block
    return list(found.values())


def _key(text: str) -> str:
    return _DIGITS.sub("#", text.lower())


def _numbered(edges: list[list[Run]]) -> set[int]:
    """Page numbers at the edges that go on from page to page: the same distance between number and page on two pages near each other."""
    places: dict[tuple[str, int], list[tuple[int, Run]]] = {}
    for index, edge in enumerate(edges):
        for run in edge:
            match = _NUMBER.fullmatch(run.text) if len(run.text) <= 24 else None
            if match:
                prefix, value = _parsed(match[1])
                places.setdefault((prefix, value - index), []).append((index, run))
    return {id(run) for group in places.values() for index, run in group
            if any(other != index and abs(other - index) <= 4 for other, _ in group)}


def _parsed(label: str) -> tuple[str, int]:
    digits = re.search(r"\d+$", label)
    if digits:
        return label[: digits.start()].upper(), int(digits[0])
    return "roman", _roman(label.lower())


def _roman(text: str) -> int:
    values = [{"i": 1, "v": 5, "x": 10, "l": 50}.get(sign, 0) for sign in text]
    return sum(-value if any(value < later for later in values[index + 1 : index + 2]) else value for index, value in enumerate(values))


def _label(furniture: list[Block]) -> str | None:
    """The printed page number among a page's furniture."""
    texts = [block.text for block in reversed(furniture) if isinstance(block, Run)]
    for text in texts:
        match = _NUMBER.fullmatch(text) if len(text) <= 24 else None
        if match:
            return match[1]
    for text in texts:
        match = _TRAILING.search(text) or _LEADING.search(text)
        if match:
            return match[1]
    return None


def joined(pages: list[list[Block]]) -> list[Block]:
    """All blocks in order; a paragraph that goes on over a page break is one block, on the page where it begins."""
    out: list[Block] = []
    for page in pages:
        rest = page
        if out and page and _goes_on(out[-1], page[0]):
            first, second = out[-1], page[0]
            if isinstance(first, Run) and isinstance(second, Run):
                first.text = f"{first.text} {second.text}"
                rest = page[1:]
        out.extend(rest)
    return out


def _goes_on(first: Block, second: Block) -> bool:
    if not isinstance(first, Run) or not isinstance(second, Run) or first.bold > 0.9 or second.bold > 0.9:
        return False
    if len(first.text) < 40 or _ENDS.search(first.text) or first.text.isupper():
        return False
    if second.text[:1].islower():
        return True
    return len(second.text) > 40 and (first.text[-1] in ",-–—" or (second.text[0] in "$0123456789" and first.text[-1].islower()))
