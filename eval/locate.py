"""One quote found in the texts of one filing: exactly, then nearly, and near the section that it names before anywhere else.

Where a page is named, all of this is tried on that page first. There a long near match needs no more: the sets that name pages (of PDFs)
have their texts from other readers of PDF, which see other figures on a page in another order.

Exact: the folded quote stands in the folded text. Where it stands several times, the place nearest to the `start` that the set states
counts, else the first in the named section, else the first. Near: rapidfuzz's partial_ratio_alignment gives at least FUZZY of 100, in the
named section, then in the whole filing. Both ways a number must end where the quote's number ends ("Revenue 5" is not in "Revenue 53"), and
a near match must hold every number of the quote (of a text only those of two or more digits: single ones are often marks of footnotes): a
row with other figures is another row. A text of mixed kind (figures and words) is folded as rows are. A whole document gets no range.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from edgarmill.eval.fold import Folded, fold, folded
from edgarmill.schemas.records import Gold, Section

FUZZY = 90.0
MAX_FUZZY_CHARS = 4_000  # longer quotes are only looked for exactly: a near search takes time by quote × text
MAX_PAGED_CHARS = 20_000  # the same where the text is one page
LONG = 200  # folded characters: on its page, a near match of so many is no accident
MAX_PLACES = 1_000  # of one quote in one document that are looked at

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
# Marks of footnotes between a row's label and its figures: parsers may drop them.
MARKS = re.compile(r"(?<=[A-Za-z])(?:\s*\(\d\))+(?=\s*\$?\s*\d)")


@dataclass(frozen=True)
class Source:
    """One document with its sections; folded at most once each way."""

    document_id: str
    type: str
    text: str
    sections: tuple[Section, ...] = ()
    pages: tuple[tuple[int, int, int], ...] = ()  # (page, start, end) of each element, where pages are asked for

    def page(self, number: int) -> tuple[int, int] | None:
        """The range of a page; with what began before it and may run on, and None where the document has no such page."""
        mine = [(start, end) for page, start, end in self.pages if page == number]
        if not mine:
            return None
        before = max((start for page, start, _ in self.pages if page < number), default=mine[0][0])
        return min(before, mine[0][0]), max(end for _, end in mine)

    def begins_on(self, start: int) -> int | None:
        """The page on which the element that holds a place begins."""
        return max(((first, page) for page, first, _ in self.pages if first <= start), default=(0, None))[1]

    @cached_property
    def loose(self) -> Folded:
        return fold(self.text)

    @cached_property
    def tight(self) -> Folded:
        return fold(self.text, tight=True)


@dataclass(frozen=True, slots=True)
class Place:
    source: Source
    start: int
    end: int
    score: float  # of 100


def locate(gold: Gold, sources: Sequence[Source]) -> Gold:
    """The gold with document, range and `how` set; with `how` None where the quote is not found."""
    lost = replace(gold, document_id=None, start=None, end=None, how=None)
    if gold.type == "document":
        main = next((source for source in sources if source.text.strip()), None)
        return replace(lost, document_id=main.document_id, how="document") if main else lost
    quote = folded(gold.quote, _tight(gold))
    if not quote:
        return lost
    place, how = next(_found(gold, quote, sources), (None, ""))
    return replace(gold, document_id=place.source.document_id, start=place.start, end=place.end, how=how) if place else lost


def exact_places(gold: Gold, sources: Sequence[Source]) -> Iterator[Place]:
    """Every place where the quote stands exactly, in the order of the texts; no near match is looked for."""
    quote = folded(gold.quote, _tight(gold))
    return _exact(gold, quote, sources) if quote else iter(())


def _found(gold: Gold, quote: str, sources: Sequence[Source]) -> Iterator[tuple[Place, str]]:
    """Places from the best on: on the page that is named before anywhere else, exact before near."""
    spans = [(source, *span) for source in sources if gold.page and (span := source.page(gold.page))]
    exact = list(_exact(gold, quote, sources))
    here = [place for place in exact if any(place.source is s and start <= place.start < end for s, start, end in spans)]
    near = folded(MARKS.sub(" ", gold.quote), _tight(gold))
    if here:
        own = [place for place in here if place.source.begins_on(place.start) == gold.page]
        yield _likeliest(gold, own or here), "exact"
    if spans and len(quote) <= MAX_PAGED_CHARS and (place := _on_page(gold, near, spans)):
        yield place, "fuzzy"
    if exact:
        yield _likeliest(gold, exact), "exact"
    if len(quote) <= MAX_FUZZY_CHARS and (place := _near(gold, near, sources)):
        yield place, "fuzzy"


def _on_page(gold: Gold, quote: str, spans: Sequence[tuple[Source, int, int]]) -> Place | None:
    """A near match on its page; of a text also one that is folded as rows are: it may be a table that nobody called so."""
    mixed = replace(gold, type="mixed")
    return _best(gold, quote, spans, paged=True) or _best(mixed, folded(MARKS.sub(" ", gold.quote), tight=True), spans, paged=True)


def _likeliest(gold: Gold, places: Sequence[Place]) -> Place:
    """The nearest to the stated start; without one, the first of those that fit the named section best."""
    stated = gold.start
    if stated is not None:
        return min(places, key=lambda p: abs(p.start - stated))
    return max(places, key=lambda p: _fit(gold, p))


def _exact(gold: Gold, quote: str, sources: Sequence[Source]) -> Iterator[Place]:
    for source in sources:
        text = _folded(gold, source)
        at = text.text.find(quote)
        for _ in range(MAX_PLACES):
            if at < 0:
                break
            start, end = text.source(at, at + len(quote))
            if not _cuts_number(source.text, start, end):
                yield Place(source, start, end, 100.0)
            at = text.text.find(quote, at + 1)


def _near(gold: Gold, quote: str, sources: Sequence[Source]) -> Place | None:
    for fit in (2, 1):
        spans = [(source, *span) for source in sources for span in _named(gold, source, fit)]
        found = _best(gold, quote, spans)
        if found:
            return found
    return _best(gold, quote, [(source, 0, len(source.text)) for source in sources])


def _best(gold: Gold, quote: str, spans: Sequence[tuple[Source, int, int]], paged: bool = False) -> Place | None:
    """The best near match in ranges of documents; the first of equals."""
    found = [place for source, start, end in spans if (place := _aligned(gold, quote, source, start, end, paged))]
    return max(found, key=lambda p: p.score, default=None)


def _aligned(gold: Gold, quote: str, source: Source, start: int, end: int, paged: bool) -> Place | None:
    from rapidfuzz.fuzz import partial_ratio_alignment

    text = _folded(gold, source)
    first, last = text.within(start, end)
    if last - first < len(quote) and not (paged and last > first):
        return None  # partial_ratio would look for the text in the quote: right of a page alone
    match = partial_ratio_alignment(quote, text.text[first:last], score_cutoff=FUZZY)
    if match is None or match.dest_end <= match.dest_start:
        return None
    start, end = _whole_words(source.text, *text.source(first + match.dest_start, first + match.dest_end))
    margin = (end - start) // 10
    digits = 1 if gold.type == "table" else 2
    strict = not paged or len(quote) < LONG
    if strict and _numbers(gold.quote, digits) - _numbers(source.text[max(0, start - margin) : end + margin], digits):
        return None
    return Place(source, start, end, match.score)


def _folded(gold: Gold, source: Source) -> Folded:
    return source.tight if _tight(gold) else source.loose


def _tight(gold: Gold) -> bool:
    return gold.type in ("table", "mixed")


def _fit(gold: Gold, place: Place) -> int:
    """2 in the section named by part and item (or in the exhibit named), 1 in one of that item, 0 elsewhere."""
    for fit in (2, 1):
        if any(start <= place.start < end for start, end in _named(gold, place.source, fit)):
            return fit
    return 0


def _named(gold: Gold, source: Source, fit: int) -> list[tuple[int, int]]:
    """Ranges of the document that the gold names as well as `fit` says."""
    item = gold.item.strip().upper().removeprefix("ITEM ").rstrip(".")
    if not item:
        return []
    if item.startswith("EX-") and _exhibit(item, source.type):
        return [(0, len(source.text))] if fit == 2 else []
    same = [s for s in source.sections if s.item.upper() == item or (item.startswith("EX-") and _exhibit(item, s.item))]
    return [(s.start, s.end) for s in same if (2 if s.part.upper() == gold.part.strip().upper() else 1) == fit]


def _exhibit(named: str, found: str) -> bool:
    """EX-99 names EX-99, EX-99.1 and EX-99.PRESS, not EX-991."""
    return re.match(re.escape(named) + r"(?!\d)", found, re.IGNORECASE) is not None


def _cuts_number(text: str, start: int, end: int) -> bool:
    """Does the range begin or end inside a number?"""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    ends_inside = text[end - 1].isdigit() and re.match(r"\d|[.,]\d", after) is not None
    return ends_inside or (text[start].isdigit() and re.search(r"\d[.,]?\Z", before) is not None)


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """The range widened to the borders of its first and last word, by at most 40 characters each."""
    for _ in range(40):
        if start > 0 and text[start].isalnum() and text[start - 1].isalnum():
            start -= 1
        if end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
            end += 1
    return start, end


def _numbers(text: str, digits: int) -> Counter[str]:
    """Numbers of at least so many digits, thousands without commas."""
    found = (n.replace(",", "") for n in NUMBER.findall(MARKS.sub(" ", text)))
    return Counter(n for n in found if len(n) >= digits)
