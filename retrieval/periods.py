"""Fiscal years, quarters and forms that a question names, with the place of each. Regular expressions, linear in the length."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_YEARS = 10  # of a range
_Y = r"(?:19[89]\d|20[0-4]\d)"
_LEFT = r"(?<![\d$€£.,\-–/])"
_RIGHT = r"(?![\d%]|[.,]\d|-\d\d-)"
_MONTH = (r"(?:January|February|March|April|May|June|July|August|September|October|November|December|"
          r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?")
_ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": 4, "final": 4}
_ORDINAL = "first|1st|second|2nd|third|3rd|fourth|4th"

_FY = r"(?:FY|fiscal(?:\s+years?)?)"
_RANGE = re.compile(rf"{_LEFT}\b(?:{_FY}\s*)?({_Y})\s*(?:-|–|—|\bto\b|\bthrough\b)\s*(?:{_FY}\s*)?({_Y}|\d\d)\b{_RIGHT}", re.I)
_FISCAL = re.compile(rf"\b(?:FY|fiscal(?:\s+year)?)(?:\s+of)?\s*['’]?({_Y}|\d\d)\b{_RIGHT}", re.I)
_DATED = re.compile(rf"\b({_MONTH})\s+(?:\d{{1,2}}(?:st|nd|rd|th)?,?\s+|of\s+)?({_Y})\b{_RIGHT}")
_YEAR = re.compile(rf"{_LEFT}\b({_Y})\b{_RIGHT}(?!s\b)")
# Years that say when a thing ends, or name it: "notes due 2030", "by 2030", "the 2004 debentures", "Tax Act of 2017".
_NO_PERIOD_BEFORE = re.compile(
    r"(?:\b(?:due|due in|by|until|since|before|after|maturing(?: in)?|expir\w+(?: in)?|beyond|Act of|Plan of)\s+|©\s*)$", re.I)
_NO_PERIOD_AFTER = re.compile(
    r"\s+(?:senior\s+|convertible\s+|subordinated\s+|unsecured\s+)*(?:notes?|bonds?|debentures?|plan\b|act\b|"
    r"(?:equity|stock|omnibus|incentive|employee|long-term)\b[\w\s]{0,30}?\bplan\b|goals?\b|targets?\b)", re.I)
_QUARTER = re.compile(
    rf"\b(?:(?P<word>{_ORDINAL})[\s-]+(?:fiscal[\s-]+)?quarter(?:['’]?s)?|Q(?P<q>[1-4])|(?P<n>[1-4])Q)"
    rf"(?:\s*(?:,|of|in|for)?\s*(?:the\s+)?(?:FY\s*|fiscal\s+(?:year\s+)?|['’])?"
    rf"(?P<year>{_Y}|(?<=['’])\d\d|(?<=[1-4]Q)\d\d|(?<=FY)\d\d)\b{_RIGHT})?", re.I)
_YEAR_FIRST = re.compile(rf"{_LEFT}\b(?P<year>{_Y})\s*-?\s*(?:Q(?P<q>[1-4])\b|(?P<word>{_ORDINAL})[\s-]+quarter)", re.I)
_WHOLE_YEAR = re.compile(r"\b(?:full|whole|entire)[\s-]+year\b|\byear as a whole\b", re.I)
_FORMS = (
    ("10-K", re.compile(r"\b10[-\s]?K(?:SB|405|T)?(?:/A)?s?\b|\bannual\s+(?:report|filing)s?\b", re.I)),
    ("10-Q", re.compile(r"\b10[-\s]?Q(?:/A)?s?\b|\bquarterly\s+(?:report|filing)s?\b", re.I)),
    ("8-K", re.compile(r"\b8[-\s]?K(?:/A)?s?\b|\bcurrent\s+reports?\b", re.I)),
)


@dataclass(frozen=True, slots=True)
class Named:
    """What a stretch of the question says. `field` as in Filters."""

    field: str  # year, quarter, form
    values: tuple[int | str, ...]
    start: int
    end: int


def periods(question: str) -> list[Named]:
    """Years and quarters, in order. A month with a year may lie in that fiscal year or in the one beside it: filers end theirs when they
    will, those whose year began in February call January the year before, most others' autumn is of the next."""
    found: list[Named] = []
    taken: list[tuple[int, int]] = []

    def free(start: int, end: int) -> bool:
        return all(end <= a or start >= b for a, b in taken)

    for named in (*_ranges(question), *_quarters(question), *_fiscal(question), *_dated(question), *_years(question)):
        if all(free(one.start, one.end) for one in named):
            taken += [(one.start, one.end) for one in named[:1]]
            found += named
    return sorted(_sure(question, found), key=lambda one: (one.start, one.field))


def _sure(question: str, found: list[Named]) -> list[Named]:
    """Without the quarters where a whole year is asked for too: "in 2023, and in the second quarter", "Q2 2023 against the full year"."""
    places = [(one.start, one.end) for one in found if one.field == "year"]
    quarters = [(one.start, one.end) for one in found if one.field == "quarter"]
    beside = any(place not in quarters for place in places) and any(place not in places for place in quarters)
    return [one for one in found if one.field != "quarter"] if beside or _WHOLE_YEAR.search(question) else found


def forms(question: str) -> list[Named]:
    hits = [Named("form", (form,), m.start(), m.end()) for form, pattern in _FORMS for m in pattern.finditer(question)]
    return sorted(hits, key=lambda one: one.start)


def _ranges(text: str) -> Iterator[list[Named]]:
    for m in _RANGE.finditer(text):
        first, last = int(m[1]), _year(m[2], int(m[1]))
        if first < last < first + MOST_YEARS:
            yield [Named("year", tuple(range(first, last + 1)), m.start(), m.end())]


def _quarters(text: str) -> Iterator[list[Named]]:
    for m in (*_YEAR_FIRST.finditer(text), *_QUARTER.finditer(text)):
        groups = m.groupdict()
        word, number = groups["word"], groups["q"] or groups.get("n")
        quarter = _ORDINALS[word.lower()] if word else int(number)  # type: ignore[arg-type]  # one of the two matched
        named = [Named("quarter", (quarter,), m.start(), m.end())]
        yield [*named, Named("year", (_year(groups["year"]),), m.start(), m.end())] if groups["year"] else named


def _fiscal(text: str) -> Iterator[list[Named]]:
    for m in _FISCAL.finditer(text):
        yield [Named("year", (_year(m[1]),), m.start(), m.end())]


def _dated(text: str) -> Iterator[list[Named]]:
    for m in _DATED.finditer(text):
        year = int(m[2])
        early = m[1][:3].title() in ("Jan", "Feb")
        beside = (year - 1, year) if early else (year, year + 1)
        aside = bool(_NO_PERIOD_BEFORE.search(text, max(0, m.start() - 24), m.start()))
        yield [Named("none" if aside else "year", () if aside else beside, m.start(), m.end())]


def _years(text: str) -> Iterator[list[Named]]:
    for m in _YEAR.finditer(text):
        before = _NO_PERIOD_BEFORE.search(text, max(0, m.start() - 24), m.start())
        if not before and not _NO_PERIOD_AFTER.match(text, m.end(), m.end() + 60):
            yield [Named("year", (int(m[1]),), m.start(), m.end())]


def _year(digits: str, near: int = 2000) -> int:
    """Of two digits the year of this century, or of the one before when that would lie far ahead."""
    number = int(digits)
    if len(digits) == 4:
        return number
    return near // 100 * 100 + number if near != 2000 else (2000 if number < 80 else 1900) + number
