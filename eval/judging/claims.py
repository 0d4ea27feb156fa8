"""Claims against what the answerer was given. Numbers first, by string and without a model: a claim each of whose amounts stands there,
digit for digit, thousands' commas aside, is supported where one of them is long enough not to be there by chance. The rest is a judge's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from edgarmill.eval.judging.numbers import amounts

LEAST_DIGITS = 3  # of a number that is found by more than chance
_COMMA = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def by_numbers(claims: Sequence[str], given: Sequence[str]) -> dict[int, bool | None]:
    """By claim, from 1: True where its numbers are found; False where one is not; None where it has none, or short ones alone."""
    there = {number for text in given for number in _NUMBER.findall(_plain(text))}
    return {n: _found(claim, there) for n, claim in enumerate(claims, 1)}


def _found(claim: str, there: set[str]) -> bool | None:
    numbers = [_plain(claim[one.start : one.end]) for one in amounts(claim)]
    if any(number not in there for number in numbers):
        return False
    return True if any(sum(c.isdigit() for c in number) >= LEAST_DIGITS for number in numbers) else None


def _plain(text: str) -> str:
    while (without := _COMMA.sub("", text)) != text:
        text = without
    return text


def label_of(found: Mapping[int, bool | None]) -> str | None:
    """Of an answer by its claims: unsupported where one is, supported where all are; None where one was not measured, or there is none."""
    if any(one is False for one in found.values()):
        return "unsupported"
    return "supported" if found and all(found.values()) else None
