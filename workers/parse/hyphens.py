"""Words broken at the end of a line: "manage-" + "ment" is one word, "long-" + "term" keeps its hyphen."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*")
_FIRST_HALVES = frozenset((  # of compounds that filings write with a hyphen
    "long short mid non self year first second third fourth last low high higher lower well cross multi full part half one two three four "
    "five six seven eight nine ten twenty thirty forty fifty sixty seventy eighty ninety built so free fair market mark follow paid price "
    "cost tax pay real risk asset debt equity fixed floating variable interest rate state federal company industry world nation wholly "
    "majority minority then now previously newly publicly privately customer product sale sub single double medium large small new old "
    "open close end start day month quarter week stock share cash credit profit loss income revenue time job work hand home vice ex anti "
    "pro"
).split())


def words_of(text: str) -> frozenset[str]:
    """Lower-case words of a document, with their hyphens: what it writes elsewhere decides a broken word."""
    return frozenset(match.lower() for match in _WORD.findall(text))


def mended(left: str, right: str, words: frozenset[str]) -> str:
    """`left` ends with a hyphen at a line's end, `right` is the next line: both as one text, the hyphen kept or dropped."""
    head = re.search(r"([A-Za-z]+(?:-[A-Za-z]+)*)-$", left)
    tail = re.match(r"[A-Za-z]+", right)
    if not head or not tail or not tail[0][0].islower() or len(head[1]) < 2:
        return left + right  # A-1, S-K, 10-K, pre-Civil: the hyphen is real
    first, second = head[1].lower(), tail[0].lower()
    if f"{first}-{second}" in words or (f"{first}{second}" not in words and first.rsplit("-", 1)[-1] in _FIRST_HALVES):
        return left + right
    return left[:-1] + right
