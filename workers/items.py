"""The Items of SEC forms: their numbers by form and era, their parts, their titles, and how a heading of one is read.

Numbers: Form 10-K, 10-Q and 8-K instructions; 8-K numbering changed on 23 August 2004 (release 33-8400); the exhibits Item of the 10-K
was 14 until the fiscal year 2002; 10-KSB has a numbering of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

NEW_8K_ON = date(2004, 8, 23)
Key = tuple[str, str]  # part, item

_10K = tuple("1 1A 1B 1C 1D 2 3 4 4A 5 6 7 7A 8 9 9A 9B 9C 10 11 12 13 14 15 16".split())
_KSB = tuple("1 2 3 4 5 6 7 8 8A 8B 9 10 11 12 13 14".split())
_10Q = (("I", "1"), ("I", "2"), ("I", "3"), ("I", "4"), *(("II", item) for item in "1 1A 2 3 4 5 6".split()))
_8K_NEW = tuple(
    "1.01 1.02 1.03 1.04 1.05 2.01 2.02 2.03 2.04 2.05 2.06 3.01 3.02 3.03 4.01 4.02 5.01 5.02 5.03 5.04 5.05 5.06 5.07 5.08 "
    "6.01 6.02 6.03 6.04 6.05 6.06 6.10 7.01 8.01 9.01".split())
_8K_OLD = tuple(str(number) for number in range(1, 13))

# How the titles begin, in any era; compared after leading signs and "the company's".
TITLES_10K: dict[str, str] = {
    "1": r"(?:description of )?(?:our )?business|general",
    "1A": r"(?:certain )?(?:business )?risk",
    "1B": r"unresolved",
    "1C": r"cyber",
    "2": r"(?:description of )?propert",
    "3": r"legal",
    "4": r"mine safety|submission of|\W*(?:removed and )?reserved|executive officers",
    "4A": r"executive|information about|directors",
    "5": r"market (?:for|price)|common|stock",
    "6": r"select|\W*reserved|consolidated",
    "7": r"management|mda",
    "7A": r"quantitative|market risk|disclosures? about",
    "8": r"(?:consolidated )?financial|index to",
    "9": r"changes in|disagreement",
    "9A": r"controls?|disclosure controls",
    "9B": r"other",
    "9C": r"disclosure regarding",
    "10": r"directors|executive|board",
    "11": r"executive comp|compensation",
    "12": r"security|beneficial|stock",
    "13": r"certain|transactions|relationships",
    "14": r"principal|exhibits?|controls?",
    "15": r"\W*(?:\(a\))?\s*(?:exhibits?|financial statement)",
    "16": r"form 10-k|summary|principal",
}
TITLES_10Q: dict[Key, str] = {
    ("I", "1"): r"(?:unaudited )?(?:condensed )?(?:consolidated )?(?:interim )?(?:condensed )?financial|consolidated|interim",
    ("I", "2"): r"management",
    ("I", "3"): r"quantitative|market risk|qualitative",
    ("I", "4"): r"(?:disclosure )?controls?|evaluation",
    ("II", "1"): r"legal",
    ("II", "1A"): r"risk",
    ("II", "2"): r"unregistered|changes in (?:the )?(?:rights|securities)|issuer|(?:sales?|purchases?) of|market for|repurch|recent|share",
    ("II", "3"): r"defaults?",
    ("II", "4"): r"mine safety|submission|\W*(?:removed and )?reserved|results of votes",
    ("II", "5"): r"other",
    ("II", "6"): r"exhibits?",
}
# A letter counts as the number's suffix where no word begins with it, or where the title is glued to it ("1ARisk Factors").
_WORDS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()
_SPELT = {word.upper(): str(number) for number, word in enumerate(_WORDS, 1)}
_NUMBER = rf"(?:{'|'.join(_WORDS)})\b|" r"\d{1,2}\.\d\d|\d{1,2}\s?(?:\(?[A-D](?![A-Za-z])\)?|(?-i:[A-C](?=[A-Z][a-z])))?|[Il](?=[.\s:\-–—])"
_JOINT = r"\.?\s*,?\s*(?:and|&|through|thru|to|or)\s*|\s*[,/]\s*|\s*[-–—]\s*(?=(?:Item\s*)?\d{1,2}[A-C]?\.?(?:\s|$))"
_HEADING = re.compile(
    r"[\W_]{0,80}(?:part\s+(?P<part>I{1,3}|IV)\b[\W_]{1,8})?"
    rf"I\s?T\s?E\s?M\s?S?[\s.:#]{{0,6}}(?P<first>{_NUMBER})(?P<more>(?:(?:{_JOINT})(?:(?:and\s+)?Items?\s*)?(?:{_NUMBER}))*)"
    r"(?:\s?\(?T\)?(?=[\W_]|$))?(?P<rest>(?!\d)[^\n]*)",
    re.I,
)
_LEADING = re.compile(r"^[\s.:;)\]\-–—_|*]+")
_PART_LINE = re.compile(r"[\W_]{0,20}P\s?A\s?R\s?T\s+(?P<part>IV|I{1,3}|[1-4])\b(?P<rest>[^\n]*)", re.I)
_ARABIC = {"1": "I", "2": "II", "3": "III", "4": "IV"}


@dataclass(frozen=True, slots=True)
class Heading:
    """A line that reads like an Item heading: its numbers in order, its title, the part that it names itself."""

    numbers: tuple[str, ...]
    title: str
    part: str


def read_heading(line: str, numbering: tuple[str, ...]) -> Heading | None:
    """The heading in a line that starts with one, else None."""
    match = _HEADING.match(line)
    if not match:
        return None
    first = _number(match["first"])
    numbers = [first]
    for token in re.finditer(rf"(?P<by>\s*(?:through|thru|to|[-–—])\s*)?(?P<n>{_NUMBER})", match["more"] or "", re.I):
        number = _number(token["n"])
        if token["by"] and number in numbering and numbers[-1] in numbering:
            low, high = numbering.index(numbers[-1]), numbering.index(number)
            numbers.extend(n for n in numbering[low + 1 : high] if n.isdigit())
        numbers.append(number)
    numbers = [number for number in dict.fromkeys(numbers) if number in numbering]
    if first not in numbering or not numbers:
        return None
    return Heading(tuple(numbers), _LEADING.sub("", match["rest"]).strip(), (match["part"] or "").upper())


def _number(text: str) -> str:
    text = re.sub(r"[\s()]", "", text).upper()
    return "1" if text in ("I", "L") else _SPELT.get(text, text)


def read_part(line: str) -> tuple[str, str] | None:
    """("II", "OTHER INFORMATION") of a line that is a part heading and no sentence, else None."""
    match = _PART_LINE.match(line)
    if not match:
        return None
    rest = _LEADING.sub("", match["rest"]).strip(" .—–-")
    if len(rest) > 60 or re.match(r"(?:of|and|item)\b|,", rest, re.I):
        return None
    part = match["part"].upper()
    return _ARABIC.get(part, part), rest


def numbering_of(form: str, filed_on: date | None, text: str) -> tuple[str, ...]:
    """The item numbers that a form may hold; () for a form without Items."""
    form = form.upper()
    if form.startswith("8-K"):
        return _8K_NEW if _is_new_8k(filed_on, text) else _8K_OLD
    if form.startswith(("10-KSB", "10KSB")):
        return _KSB
    if form.startswith("10-K"):
        return _10K
    if form.startswith(("10-Q", "10QSB")):
        return tuple(dict.fromkeys(item for _, item in _10Q))
    return ()


def _is_new_8k(filed_on: date | None, text: str) -> bool:
    """By the date; where that is unknown by which kind of number follows "Item" more often."""
    if filed_on is not None:
        return filed_on >= NEW_8K_ON
    dotted = len(re.findall(r"(?i)\bitem\s+\d\.\d\d", text))
    return dotted > 0 and dotted >= len(re.findall(r"(?i)\bitem\s+\d{1,2}(?![\d.]\d)", text)) / 3


@lru_cache(maxsize=64)
def order_of(form: str) -> tuple[Key, ...]:
    """All keys of a form in the order of the form; empty for an 8-K, whose Items come as they happen."""
    form = form.upper()
    if form.startswith(("10-Q", "10QSB")):
        return _10Q
    if form.startswith(("10-KSB", "10KSB")):
        return tuple((_ksb_part(item), item) for item in _KSB)
    if form.startswith("10-K"):
        return tuple((part_of_10k(item, ""), item) for item in _10K)
    return ()


def _ksb_part(item: str) -> str:
    number = int(re.sub(r"\D", "", item))
    return "I" if number <= 4 else "II" if number <= 8 else "III"


def part_of_10k(item: str, title: str) -> str:
    number = int(re.sub(r"\D", "", item))
    if number == 14 and re.match(r"\W*exhibit|\W*financial", title, re.I):
        return "IV"
    return "I" if number <= 4 else "II" if number <= 9 else "III" if number <= 14 else "IV"


def title_fits(form: str, key: Key, title: str) -> bool:
    """Does the title begin like that Item's own title? A filer may word it in its own way, so this is a hint only."""
    form = form.upper()
    if form.startswith(("10-Q", "10QSB")):
        pattern = TITLES_10Q.get(key)
    elif form.startswith("10-K") and not form.startswith("10-KSB"):
        pattern = TITLES_10K.get(key[1])
    else:
        return bool(title)
    return bool(pattern and re.match(rf"\W*(?:the )?(?:company.s )?(?:{pattern})", title, re.I))
