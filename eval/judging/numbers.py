"""Amounts in words: value, unit, scale and sign, and whether an answer's amount is the one of the gold answer.

    amounts("(1,577) million dollars")   → [Amount(Decimal(-1577000000), "USD", …)]
    right("$1.577 billion", "$1577.00", "capital expenditure in USD millions", 0.005) → True

An amount in parentheses, or after a minus sign or the words minus or negative, is negative; no other word turns a sign: "fell by 5 %" is
5 %. A per cent is a hundredth and a basis point a hundredth of that, so 12.3 %, 0.123 and 1,230 basis points are one value. Where the
question states a scale ("in USD millions", "in per cent"), a number without one has two readings: as it stands, and in that scale. A number
in a date is none, nor is one that stands alone and looks like a year, but where the gold is such a number. Amounts of two currencies, or of
a currency and a per cent, are never equal. Of an answer the first amount counts; where the gold has several, each must be among the
answer's, in any order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

TOLERANCES = (0.005, 0.025)  # relative; FinanceBench rounds its answers, and 2.5 % is what one public study takes
MOST_CHARACTERS, MOST_AMOUNTS, MOST_DIGITS = 20_000, 200, 30
MOST_WORDS = 3  # beside its amounts, in a gold answer that is a figure

_SCALES = {
    "thousand": 3, "thousands": 3, "k": 3, "million": 6, "millions": 6, "mm": 6, "mn": 6, "mln": 6, "m": 6, "billion": 9, "billions": 9,
    "bn": 9, "bln": 9, "b": 9, "trillion": 12, "trillions": 12, "tn": 12, "trn": 12, "t": 12, "x": 0, "times": 0,
}
_CURRENCIES = {"$": "USD", "us$": "USD", "usd": "USD", "dollars": "USD", "dollar": "USD", "u.s. dollars": "USD", "us dollars": "USD",
               "€": "EUR", "eur": "EUR", "euros": "EUR", "euro": "EUR", "£": "GBP", "gbp": "GBP", "pounds": "GBP", "¥": "JPY", "jpy": "JPY",
               "yen": "JPY"}
_HUNDREDTHS = {"%": 2, "percent": 2, "per cent": 2, "pct": 2, "percentage points": 2, "percentage point": 2, "basis points": 4,
               "basis point": 4, "bps": 4, "bp": 4}
_BEFORE = r"(?:US\$|\$|€|£|¥|\bUSD|\bEUR|\bGBP|\bJPY)"
_SCALE = "|".join(sorted(_SCALES, key=len, reverse=True))
_AFTER = "|".join(re.escape(one) for one in sorted({*_CURRENCIES, *_HUNDREDTHS} - {"$", "€", "£", "¥", "us$"}, key=len, reverse=True))
_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+"
_AMOUNT = re.compile(
    rf"""(?<![\w.,])
    (?P<sign>(?:minus|negative)\s+|[-−–]\s?)?
    (?P<open>\()?\s?
    (?P<inner>[-−–])?
    (?P<money>{_BEFORE})?\s?
    (?P<open2>\()?
    (?P<inner2>[-−–])?
    (?P<number>{_NUMBER})
    (?P<early>%)?
    (?P<close>\))?
    (?:\s?(?P<unit1>%)|[\s-]?(?P<scale>{_SCALE})\b\.?)?
    (?:\s?(?P<unit2>%)|\s?(?P<unit3>{_AFTER})\b)?
    (?P<close2>\))?
    (?P<more>(?<!\))[\w]|[.,]\d)?
    """, re.I | re.X)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(rf"\b{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+(?:19|20)\d\d)?\b|\b\d{{1,2}}\s+{_MONTH}\s+(?:19|20)\d\d\b|"
                   rf"\b(?:19|20)\d\d-\d\d-\d\d\b|\b\d{{1,2}}/\d{{1,2}}/(?:19|20)?\d\d\b|"
                   r"\b(?:fy|fiscal(?:\s+year)?|q[1-4]|[1-4]q)\s?['’]?\d{2,4}\b|\b10-?[kq]\b|\b8-?k\b|"
                   r"\b(?:item|note|page)s?\s+\d+[a-z]?\b", re.I)
_YEAR = re.compile(r"(?:19|20)\d\d")
_HINT = re.compile(rf"\bin\s+(?:(?:{_BEFORE}|u\.?s\.?|dollars?|euros?|of)\s*)*(?P<scale>thousands?|millions?|billions?|trillions?)\b|"
                   rf"(?P<money>{_BEFORE})\s?(?P<short>thousands?|millions?|billions?|trillions?|mm|mn|bn|[mb]\b)|"
                   r"\b(?:in\s+(?:a\s+)?(?P<cent>per\s?cent(?:age)?s?|%)|what\s+(?P<cent2>per\s?cent(?:age)?)|as\s+an?\s+(?P<cent3>per\s?cent(?:age)?))",
                   re.I)


@dataclass(frozen=True, slots=True)
class Amount:
    """`value` in whole units, a per cent as its hundredth. `unit`: USD …, "%", or None; `scaled`: a scale was written beside it."""

    value: Decimal
    unit: str | None
    scaled: bool
    start: int
    end: int

    @property
    def bare(self) -> bool:
        return not self.unit and not self.scaled

    @property
    def year_like(self) -> bool:
        return self.bare and self.value == self.value.to_integral_value() and 1900 <= self.value < 2100


def amounts(text: str) -> list[Amount]:
    """All amounts of a text in order; numbers in dates, and bare ones that look like years, are none."""
    return [one for one in _amounts(text) if not one.year_like or not _YEAR.fullmatch(text[one.start : one.end])]


def _amounts(text: str) -> Iterator[Amount]:
    text = text[:MOST_CHARACTERS]
    plain = _DATE.sub(lambda found: " " * len(found[0]), text)
    count = 0
    for found in _AMOUNT.finditer(plain):
        if (one := _amount(found, plain)) is not None and count < MOST_AMOUNTS:
            count += 1
            yield one


def _amount(found: re.Match[str], text: str) -> Amount | None:
    digits = found["number"].replace(",", "")
    scale, money = (found["scale"] or "").lower(), (found["money"] or "").lower()
    named = len(scale) == 1 and scale != "x" and not money and "." not in digits  # 3M is a company; $3M and 3.4B are amounts
    if found["more"] or named or len(digits) > MOST_DIGITS:
        return None
    opened, closed = bool(found["open"] or found["open2"]), bool(found["close"] or found["close2"])
    dashed = found["sign"] or found["inner"] or found["inner2"]
    if found["sign"] and found["sign"].strip() in "-−–" and re.search(r"\d[%)]?\s?$", text[max(0, found.start() - 4) : found.start()]):
        dashed = found["inner"] or found["inner2"]  # 5-7 and 2018 – 2019 are ranges
    value = Decimal(digits)
    after = next((found[name].lower() for name in ("early", "unit1", "unit2", "unit3") if found[name]), "")
    unit = "%" if after in _HUNDREDTHS else _CURRENCIES.get(money) or _CURRENCIES.get(after)
    value = value.scaleb(_SCALES.get(scale, 0) - _HUNDREDTHS.get(after, 0))
    negative = bool(dashed) != (opened and closed and not dashed)
    return Amount(-value if negative else value, unit, bool(scale), found.start("number"), found.end("number"))


@dataclass(frozen=True, slots=True)
class Stated:
    """What a question states of its answer: a power of ten, or that it is in per cent."""

    scale: int = 0
    percent: bool = False


def stated(question: str) -> Stated:
    """The first scale and per cent that a question asks for."""
    scale, percent = 0, False
    for found in _HINT.finditer(question[:MOST_CHARACTERS]):
        word = (found["scale"] or found["short"] or "").lower()
        scale = scale or _SCALES.get(word, 0)
        percent = percent or bool(found["cent"] or found["cent2"] or found["cent3"])
    return Stated(scale, percent)


def is_figure(gold: str) -> bool:
    """Is a gold answer an amount, or several, with hardly a word beside?"""
    found = _golden(gold)
    if not found or re.match(r"\s*(?:yes|no)\b", gold, re.I):
        return False
    rest = gold
    for one in reversed(found):
        rest = rest[: one.start] + " " + rest[one.end :]
    known = {*_SCALES, *_CURRENCIES, *_HUNDREDTHS, "and", "about", "approximately", "x", "times"}
    words = [word for word in re.findall(r"[^\W\d_]+", rest.lower()) if word not in known]
    return len(words) <= MOST_WORDS


def right(answer: str, gold: str, question: str = "", tolerance: float = TOLERANCES[0]) -> bool | None:
    """Is the answer's amount the gold's, within a relative tolerance? None where the gold holds no amount: there is nothing to compare."""
    wanted = _golden(gold)
    if not wanted:
        return None
    hint = stated(question)
    found = list(_amounts(answer)) if any(one.year_like for one in wanted) else amounts(answer)
    if len(wanted) == 1:
        return bool(found) and equal(found[0], wanted[0], hint, tolerance)
    return _all_among(wanted, found, hint, tolerance)


def _golden(gold: str) -> list[Amount]:
    return amounts(gold) or list(_amounts(gold))


def _all_among(wanted: Sequence[Amount], found: Sequence[Amount], hint: Stated, tolerance: float) -> bool:
    left = list(found)
    for one in wanted:
        match = next((other for other in left if equal(other, one, hint, tolerance)), None)
        if match is None:
            return False
        left.remove(match)
    return True


def equal(one: Amount, gold: Amount, hint: Stated = Stated(), tolerance: float = TOLERANCES[0]) -> bool:
    """Equal within the tolerance in one of their readings, with units that go together."""
    if one.unit and gold.unit and one.unit != gold.unit:
        return False
    return any(_near(a, b, Decimal(str(tolerance))) for a in _readings(one, hint) for b in _readings(gold, hint))


def _readings(one: Amount, hint: Stated) -> list[Decimal]:
    """A bare number, or a currency's without scale, may be meant in the scale that the question states."""
    found = [one.value]
    if hint.percent and one.bare:
        found.append(one.value.scaleb(-2))
    if hint.scale and one.unit != "%" and not one.scaled:
        found.append(one.value.scaleb(hint.scale))
    return found


def _near(one: Decimal, gold: Decimal, tolerance: Decimal) -> bool:
    return one == gold or abs(one - gold) <= tolerance * abs(gold)
