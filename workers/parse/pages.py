"""Pages: numbering, printed labels, furniture at their edges, and paragraphs that run over a break."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from edgarmill.workers.parse.runs import Break, Grid, Item, Run

_NUMBER = re.compile(r"[-–—(\[]?\s*(?:page\s+)?((?:[a-z]{1,2}-?)?\d{1,3}(?:-\d{1,3})?|[ivxl]{1,6})\s*(?:of\s+\d{1,3})?\s*[-–—)\]]?", re.I)
_TRAILING = re.compile(r"(?:^|[\s|])((?:[A-Z]{1,2}-)?\d{1,3}|[ivxl]{1,6})$")
_LEADING = re.compile(r"^((?:[A-Z]{1,2}-)?\d{1,3})(?=[\s|])")
_BACK = re.compile(r"(?:back to |return to )?(?:table of contents|index to (?:consolidated )?financial statements|index|contents)\W*", re.I)
_OUTER = re.compile(r"^\d{1,4}\b|\b\d{1,4}(?=\W{0,3}$)")  # a number at the start or at the end
_KEPT_ONCE = re.compile(r"(?:part\s+[ivx]+|items?\s*\d)", re.I)
_UNIT = re.compile(r"\bin (?:thousands|millions|billions)\b|\b(?:thousands|millions|billions) of dollars\b", re.I)
_SAYS = re.compile(
    r"^\W*unaudited\W*$|\b(?:thousands|millions|billions)\b|\bended\b|\b(?:january|february|march|april|may|june|july|august|september|october|"
    r"november|december)\s+\d", re.I)
_CONTENT = re.compile(  # what may stand at the edge of several pages and yet is said by each of them
    r"(?:item [\dA-C.]+ )?(?:not (?:applicable|required)|none|n/a|\[?reserved\]?|omitted)\b.*", re.I | re.S)
_NOTE = re.compile(r"(?:\(\w{1,2}\)|\*{1,3}|[†‡])\s*\S")
_COUNTED = re.compile(r"(?:note|exhibit|schedule|table|annex|appendix|section|article|step|part|phase)s?\s+[\dA-Z.]+\W*", re.I)
_EDGE, _WIDE_EDGE, _LONGEST = 3, 5, 200
_SHORTEST_LINE, _LONGEST_BULLET, _LONGEST_HEAD, _FULL_LINE = 40, 6, 60, 120
_BULLET = re.compile(r"[•●▪■◦○·❖➢✓]|\((?:\d{1,2}|[a-z]|[ivx]{1,4})\)", re.I)
_FRAGMENT = re.compile(r"(?:[a-z]|[ivx]{1,4})[.)]\s|or$|and$")
_LISTED = re.compile(r"[•●▪■◦○·❖➢✓–—*(-]|\w{1,3}[.)]\s|\d{1,2}\s")
_UNFINISHED = re.compile(  # a word that ends no sentence and no title
    r"\b(?:the|an?|of|and|(?<!from )to|in|for|with|by|or|our|that|is|are|was|were|we|on|as|at|from|their|its|this|these|which|be|has|have|"
    r"not|approximately|between|under|than|such|may|will)$", re.I)
_FEW, _NEAR, _FEWEST = 15, 4, 3  # pages of a short document; pages within which a running head comes again; heads with a number
_ENDS, _CLOSING = re.compile(r"(?:[.!?:;][\"”’')\]]*|;\s(?:and|or))$"), "\"”’')]\n"

Block = Run | Grid


def paged(items: list[Item], every_page: bool = False) -> tuple[list[list[Block]], list[Block]]:
    """Blocks by page, furniture taken out, and the furniture. Pages without content do not count unless `every_page` does."""
    pages = [page for page in _split(items) if page or every_page]
    furniture = _furniture(pages)
    gone = {id(block) for block in furniture}
    out = []
    for number, page in enumerate(pages, 1):
        taken = [block for block in page if id(block) in gone]
        label, unit = _label(taken), _unit(taken)
        kept = [block for block in page if id(block) not in gone]
        for block in kept:
            block.page, block.label = number, label
            if unit and isinstance(block, Grid):
                block.unit = unit
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
    edges = [_edges(page, _EDGE) for page in pages]
    repeated = _repeated([_edges(page, _WIDE_EDGE) for page in pages], 3 if len(pages) <= _FEW else max(4, len(pages) // 12))
    numbered = _numbered(edges)
    numbered |= _odd_numbers(pages, numbered)
    backs = Counter(run.text.lower() for edge in edges for run in edge if _BACK.fullmatch(run.text))
    seen: set[str] = set()
    out: list[Block] = []
    for page, edge in zip(pages, edges, strict=True):
        inner = {id(run) for run in edge}
        for block in page:
            if not isinstance(block, Run):
                continue
            outside = block.footer or (block.aside and len(block.text) <= _LONGEST)
            if outside or id(block) in repeated:
                taken = not _kept_once(block, outside, seen)
            else:
                taken = id(block) in numbered or (id(block) in inner and len(pages) > 1 and _is_back_link(block, backs))
            if taken:
                out.append(block)
    return out


def _is_back_link(run: Run, backs: Counter[str]) -> bool:
    return bool(_BACK.fullmatch(run.text)) and (run.linked > 0.5 or backs[run.text.lower()] >= 3)


def _kept_once(run: Run, outside: bool, seen: set[str]) -> bool:
    """Is this the first of what is repeated on pages and yet said once: a title that becomes a running head, a note to tables?"""
    text = run.text
    title = not outside and (_KEPT_ONCE.match(text) or run.bold > 0.9 or text.isupper())
    if not (title or _NOTE.match(text)) or (run.linked > 0.5 and _BACK.fullmatch(text)) or text in seen:
        return False
    seen.add(text)
    return True


def _repeated(edges: list[list[Run]], enough: int) -> set[int]:
    """Runs that stand word for word at the edge of `enough` pages, of which another one is near."""
    places: dict[str, list[tuple[int, Run]]] = {}
    for index, edge in enumerate(edges):
        for run in edge:
            if not _CONTENT.fullmatch(run.text) and not _is_page_number(run.text):
                places.setdefault(run.text.lower(), []).append((index, run))
    return {id(run) for text, group in places.items() if len(group) >= min(enough, 4) and len(group) >= _enough(text, enough)
            for index, run in group if _has_near(group, index)}


def _enough(text: str, usual: int) -> int:
    """How often a text must stand at the edge of pages before it is a running head."""
    if _SAYS.search(text):  # something of the table under it, unless it stands everywhere
        return 2 * usual
    return min(usual, 4) if _KEPT_ONCE.match(text) else usual


def _has_near(group: list[tuple[int, Run]], index: int) -> bool:
    return any(other != index and abs(other - index) <= _NEAR for other, _ in group)


def _edges(page: list[Block], deep: int) -> list[Run]:
    """Short runs at the top and at the bottom of a page, up to the first table or long run."""
    found: dict[int, Run] = {}
    for side in (page[:deep], page[: -deep - 1 : -1]):
        for block in side:
            if not isinstance(block, Run) or len(block.text) > _LONGEST:
                break
            found[id(block)] = block
    return list(found.values())


def _numbered(edges: list[list[Run]]) -> set[int]:
    """Page numbers at the edges, alone or within a running head, that go on from page to page: the same distance between number and page
    on two pages near each other, on three where words stand around it."""
    places: dict[tuple[str, int], list[tuple[int, Run]]] = {}
    for index, edge in enumerate(edges):
        for run in edge:
            for words, value in _page_numbers(run.text):
                places.setdefault((words, value - index), []).append((index, run))
    often = Counter(words for (words, _), group in places.items() for _ in group)
    return {id(run) for (words, _), group in places.items() if "#" not in words or often[words] >= _FEWEST
            for index, run in group if _has_near(group, index)}


def _odd_numbers(pages: list[list[Block]], numbered: set[int]) -> set[int]:
    """Numbers at the foot of pages that do not go on, as misprints and restarts do not, where most pages have one there."""
    feet = [page[-1] for page in pages if page]
    if 2 * sum(id(block) in numbered for block in feet) < len(feet):
        return set()
    return {id(block) for block in feet if isinstance(block, Run) and _is_page_number(block.text)}


def _page_numbers(text: str) -> Iterator[tuple[str, int]]:
    """What may be the number of a page, with the words around it."""
    match = _NUMBER.fullmatch(text) if len(text) <= 24 else None
    if match:
        yield _parsed(match[1])
    elif not _COUNTED.fullmatch(text) and not (text[-1:] == "." and len(text) > _LONGEST_HEAD):
        for found in _OUTER.finditer(text):
            yield f"{text[: found.start()]}#{text[found.end() :]}", int(found[0])


def _parsed(label: str) -> tuple[str, int]:
    digits = re.search(r"\d+$", label)
    if digits:
        return label[: digits.start()].upper(), int(digits[0])
    return "roman", _roman(label.lower())


def _roman(text: str) -> int:
    values = [{"i": 1, "v": 5, "x": 10, "l": 50}.get(sign, 0) for sign in text]
    return sum(-value if any(value < later for later in values[index + 1 : index + 2]) else value for index, value in enumerate(values))


def _unit(furniture: list[Block]) -> str | None:
    """The unit of all tables of a page, where its head or foot says it."""
    return next((block.text for block in furniture if isinstance(block, Run) and _UNIT.search(block.text)), None)


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
    """All blocks in order; a paragraph that goes on over a page break, or was set as a block a line, is one block, on the page where it
    begins, and a bullet in a block of its own stands before its text."""
    out: list[Block] = []
    before: Block | None = None
    for page in pages:
        for block in page:
            if isinstance(block, Run) and isinstance(before, Run) and block.text and before.text:
                if _goes_on(before, block):
                    before.text = f"{before.text} {block.text}"
                    continue
                if len(before.text) <= _LONGEST_BULLET and _BULLET.fullmatch(before.text) and before.page == block.page:
                    block.text = f"{before.text} {block.text}"
                    out.pop()
            out.append(block)
            before = block
    return out


def _goes_on(first: Run, second: Run) -> bool:
    last = first.text[-1]
    if last in ".!?:;" or len(first.text) < _SHORTEST_LINE or (first.bold > 0.9) != (second.bold > 0.9):
        return False
    length = len(first.text)  # the end of a long text is sought at its end
    if _ENDS.search(first.text, max(len(first.text.rstrip(_CLOSING)) - 5, 0)) or first.text.isupper():
        return False
    begins = second.text[0]
    if begins.islower():
        return not _FRAGMENT.match(second.text)
    if first.bold > 0.9 or (_LISTED.match(second.text) and not (begins == "(" and last == ",")):
        return False
    if first.page != second.page and len(first.text) >= _FULL_LINE and last.isalpha() and not _LISTED.match(first.text):
        return len(second.text) > _SHORTEST_LINE
    if len(second.text) > _SHORTEST_LINE and (last in ",-–—" or (begins in "$0123456789" and last.islower())):
        return True
    return bool(_UNFINISHED.search(first.text, max(length - 16, 0)))
