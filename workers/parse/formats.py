"""Values behind printed text: the transformations that inline XBRL names in `format`, of registries 1 to 5 and of the SEC.

Rules: https://www.xbrl.org/Specification/inlineXBRL-transformationRegistry/ and the EDGAR XBRL Guide. A name counts without its prefix, its
hyphens and its case, so that the spellings of all registries are one: `ixt:numdotdecimal`, `ixt:num-dot-decimal`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal

from edgarmill.workers.parse.places import COUNTRIES, EDGAR_PLACES, EXCHANGES, STATES

FARTHEST_SCALE = 60
_LONGEST_NUMBER = 200
_BLANKS = re.compile(r"[\s\u00a0\u2000-\u200b\u202f\u3000]+")
_DASHES = re.compile("[\u058a\u05be\u2010-\u2015\u2212\ufe58\ufe63\uff0d-]")
_DIGITS = re.compile(r"\d+(?:\.\d*)?|\.\d+")
_WORD = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?")
_PARTS = re.compile(r"\d+|[^\W\d_]+")
_QUARTER = re.compile(r"(?:.*?\b)?(1st|2nd|3rd|4th|first|second|third|fourth|last|[1-4])\b", re.I)
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_DATE_NAME = re.compile(r"date((?:day|monthname|month|year){1,3})(?:en|cjk)?")
_MONTHS = {name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
_OLD_DATES = {  # registry 1
    "dateslashus": "mdy", "datedotus": "mdy", "datelongus": "mdy", "dateshortus": "mdy", "dateslasheu": "dmy", "datedoteu": "dmy",
    "datelonguk": "dmy", "dateshortuk": "dmy", "dateslashdaymontheu": "dm", "dateslashmonthdayus": "md", "datelongdaymonthuk": "dm",
    "dateshortdaymonthuk": "dm", "datelongmonthdayus": "md", "dateshortmonthdayus": "md", "datelongmonthyear": "my",
    "dateshortmonthyear": "my", "datelongyearmonth": "ym", "dateshortyearmonth": "ym",
}
_UNITS = {word: number for number, word in enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen".split())}
_UNITS |= {"no": 0, "none": 0, "nil": 0, "a": 1, "an": 1}
_TENS = {word: 10 * number for number, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}
_GROUPS = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SPANS = {"year": "Y", "years": "Y", "month": "M", "months": "M", "week": "W", "weeks": "W", "day": "D", "days": "D"}


class Unreadable(ValueError):
    """The text is not of the form that its format promises."""


def kind_of(format_name: str) -> str:
    """A format's name in one spelling for all registries."""
    return format_name.rpartition(":")[2].replace("-", "").lower()


def is_dotted(format_name: str) -> bool:
    """Digits, thousands commas and a point, as no format at all."""
    return _NUMBERS.get(kind_of(format_name)) is _dot_decimal


def is_plain(text: str) -> bool:
    """Digits with at most a point between."""
    return text.isascii() and _DIGITS.fullmatch(text) is not None


def number_of(text: str, kind: str) -> str:
    """Unsigned decimal digits ("1234.50") of a printed number; a leading "-" where the print has one. Raises Unreadable, KeyError."""
    return _NUMBERS[kind](text)


def value_of(text: str, kind: str) -> str:
    """What the printed text of a fact that is no number stands for. Raises Unreadable, KeyError."""
    found = _VALUES.get(kind)
    if found is not None:
        return found(text)
    order = _date_order(kind)
    return _date(text, order)


def scaled(digits: str, scale: int, negative: bool) -> str:
    """`digits` times ten to the power of `scale` as an exact decimal without exponent. Raises Unreadable for a scale beyond reason."""
    if not -FARTHEST_SCALE <= scale <= FARTHEST_SCALE:
        raise Unreadable(f"scale {scale}")
    whole, _, fraction = digits.partition(".")
    if scale > 0:
        whole, fraction = whole + fraction[:scale].ljust(scale, "0"), fraction[scale:]
    elif scale < 0:
        whole = whole.rjust(1 - scale, "0")
        whole, fraction = whole[:scale], whole[scale:] + fraction
    whole = whole.lstrip("0") or "0"
    value = f"{whole}.{fraction}" if fraction else whole
    return "-" + value if negative and value.strip("0.") else value


# numbers


def _digits(text: str) -> str:
    """Brackets and currency signs aside, which are another mark of what `sign` and `unitRef` say."""
    text = _BLANKS.sub("", text).strip("()[]$€£¥%")
    bare = text.lstrip("-\u2212\u2013")
    if len(bare) > _LONGEST_NUMBER or not bare.isascii() or not _DIGITS.fullmatch(bare):
        raise Unreadable(text[:40])
    return ("-" if len(bare) < len(text) else "") + bare


def _dot_decimal(text: str) -> str:
    return _digits(text.replace(",", ""))


def _comma_decimal(text: str) -> str:
    return _digits(text.replace(".", "").replace(",", "."))


def _apostrophes(text: str) -> str:
    return re.sub("['`\u2018\u2019\u2032]", "", text)


def _dash(text: str) -> str:
    if not _DASHES.fullmatch(text.strip()):
        raise Unreadable(text[:40])
    return "0"


def _unit_decimal(text: str) -> str:
    """`12 euros 30 cents`."""
    found = re.fullmatch(r"\D*?(\d[\d,. ]*)\D+(\d{1,2})\D*", text)
    if not found:
        raise Unreadable(text[:40])
    return f"{re.sub(r'[^0-9]', '', found[1])}.{found[2]:>02}"


def _number_words(text: str) -> str:
    return str(_counted(_WORD.findall(_DASHES.sub(" ", text.lower()))))


def _counted(words: list[str]) -> int:
    """`two hundred and five thousand` as 205000."""
    total = group = 0
    if not words or len(words) > 40:
        raise Unreadable("no number")
    for word in words:
        if word == "and":
            continue
        if word in _UNITS:
            group += _UNITS[word]
        elif word in _TENS:
            group += _TENS[word]
        elif word == "hundred":
            group = max(group, 1) * 100
        elif word in _GROUPS:
            total, group = total + max(group, 1) * _GROUPS[word], 0
        elif word.isdecimal() and word.isascii() and len(word) < 20:
            group += int(word)
        else:
            raise Unreadable(word)
    return total + group


_NUMBERS: dict[str, Callable[[str], str]] = {
    "": _dot_decimal,
    **dict.fromkeys(("numdotdecimal", "numcommadot", "numspacedot", "numdotdecimalin"), _dot_decimal),
    **dict.fromkeys(("numcommadecimal", "numdotcomma", "numspacecomma", "numcomma"), _comma_decimal),
    "numdotdecimalapos": lambda text: _dot_decimal(_apostrophes(text)),
    "numcommadecimalapos": lambda text: _comma_decimal(_apostrophes(text)),
    **dict.fromkeys(("numunitdecimal", "numunitdecimalin"), _unit_decimal),
    **dict.fromkeys(("zerodash", "numdash"), _dash),
    "fixedzero": lambda text: "0",
    "numwordsen": _number_words,
}


# flags, durations, dates, names


def _ballot_box(text: str) -> str:
    found = {"\u2610": "false", "\u2611": "true", "\u2612": "true"}.get(text.strip()[:1])
    if found is None:
        raise Unreadable(text[:40])
    return found


def _decimal(text: str) -> tuple[Decimal, str]:
    digits = _digits(text)
    value = Decimal(digits)
    if abs(value) > 10**9:
        raise Unreadable(digits)
    return abs(value), "-" if value < 0 else ""


def _years(text: str) -> str:
    """5.5 is P5Y6M: what is left of a year goes into months, what is left of a month into days, as the SEC does it."""
    value, sign = _decimal(text)
    months = value % 1 * 12
    return _duration(sign, Y=int(value), M=int(months), D=int(months % 1 * Decimal("30.4375")))


def _months(text: str) -> str:
    value, sign = _decimal(text)
    return _duration(sign, M=int(value), D=int(value % 1 * Decimal("30.4375")))


def _weeks(text: str) -> str:
    value, sign = _decimal(text)
    return _duration(sign, D=int(value * 7))


def _days(text: str) -> str:
    value, sign = _decimal(text)
    hours = int(value % 1 * 24)
    return _duration(sign, D=int(value)) + (f"T{hours}H" if hours else "")


def _hours(text: str) -> str:
    value, sign = _decimal(text)
    return f"{sign}PT{int(value)}H"


def _duration(sign: str, **spans: int) -> str:
    """The first span stands even when it is nothing: P0Y6M, P0D."""
    first = next(iter(spans))
    text = "".join(f"{count}{span}" for span, count in spans.items() if count or span == first)
    return (sign if any(spans.values()) else "") + "P" + text


def _duration_words(text: str) -> str:
    """`one year and six months`, `364-day`, `thirty-six months`."""
    spans: dict[str, int] = {}
    words: list[str] = []
    for word in _WORD.findall(_DASHES.sub(" ", text.lower())):
        span = _SPANS.get(word)
        if span is None:
            words.append(word)
            continue
        spans[span] = _counted(words)
        words = []
    if words or not spans:
        raise Unreadable(text[:40])
    if "W" in spans:
        spans["D"] = spans.get("D", 0) + 7 * spans.pop("W")
    return "P" + "".join(f"{spans[span]}{span}" for span in "YMD" if span in spans)


def _date_order(kind: str) -> str:
    """`mdy` of `datemonthdayyearen`. Raises KeyError."""
    found = _DATE_NAME.fullmatch(kind)
    if not found:
        return _OLD_DATES[kind]
    return re.sub("day|monthname|month|year", lambda match: match[0][0], found[1])


def _date(text: str, order: str) -> str:
    """An ISO date, or a part of one: 2024-12-31, --12-31, 2024-12."""
    parts = _PARTS.findall(text.lower())
    named = [_MONTHS[part[:3]] for part in parts if part[:3] in _MONTHS]
    numbers = [int(part) for part in parts if part.isdecimal() and part.isascii() and len(part) <= 4]
    wanted = order.replace("m", "") if named else order
    if len(numbers) != len(wanted) or len(named) > 1:
        raise Unreadable(text[:40])
    found = dict(zip(wanted, numbers, strict=True)) | ({"m": named[0]} if named else {})
    year = found.get("y", 2000)
    year += 2000 if year < 100 else 0
    try:
        day = date(year, found["m"], found.get("d", 1))
    except ValueError:
        raise Unreadable(text[:40]) from None
    if "y" not in order:
        return f"--{day:%m-%d}"
    return day.isoformat() if "d" in order else f"{year:04d}-{day:%m}"


def _quarter_end(text: str) -> str:
    """`Fourth quarter 2024` and `2024 Q4`."""
    years = _YEAR.findall(text)
    quarter = _QUARTER.match(_YEAR.sub(" ", text).lower().replace("q", " "))
    if len(years) != 1 or not quarter:
        raise Unreadable(text[:40])
    ends = ("03-31", "06-30", "09-30", "12-31")
    number = {"f": 1, "1": 1, "s": 2, "2": 2, "t": 3, "3": 3, "4": 4, "l": 4}[quarter[1][0]] if quarter[1] != "fourth" else 4
    return f"{years[0]}-{ends[number - 1]}"


def _named(names: dict[str, str]) -> Callable[[str], str]:
    def found(text: str) -> str:
        key = " ".join(_WORD.findall(text.lower())).removeprefix("the ")
        for ending in ("", " llc", " inc", " incorporated"):
            code = names.get(key.removesuffix(ending))
            if code:
                return code
        bare = text.strip().upper()
        if bare in names.values():
            return bare
        raise Unreadable(text[:40])

    return found


def _filer_category(text: str) -> str:
    key = " ".join(_WORD.findall(_DASHES.sub(" ", text.lower())))
    for start, category in (("large", "Large Accelerated Filer"), ("non", "Non-accelerated Filer"), ("accelerated", "Accelerated Filer")):
        if key.startswith(start):
            return category
    raise Unreadable(text[:40])


_VALUES: dict[str, Callable[[str], str]] = {
    **dict.fromkeys(("fixedtrue", "booleantrue"), lambda text: "true"),
    **dict.fromkeys(("fixedfalse", "booleanfalse"), lambda text: "false"),
    **dict.fromkeys(("fixedempty", "nocontent"), lambda text: ""),
    "boolballotbox": _ballot_box,
    "yesnoballotbox": _ballot_box,
    "duryear": _years,
    "durmonth": _months,
    "durweek": _weeks,
    "durday": _days,
    "durhour": _hours,
    "durwordsen": _duration_words,
    "datequarterend": _quarter_end,
    "stateprovnameen": _named(STATES),
    "countrynameen": _named(COUNTRIES),
    "edgarprovcountryen": _named(EDGAR_PLACES),
    "exchnameen": _named(EXCHANGES),
    "entityfilercategoryen": _filer_category,
    **{kind: found for kind, found in _NUMBERS.items() if kind},
}
