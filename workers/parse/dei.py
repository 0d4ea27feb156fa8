"""Document and entity facts (`dei:`) of an inline-XBRL document, hidden ones included, by one linear scan of the bytes.

The scan is cheap enough to run before the parse: it never builds a tree and each expression has a single, bounded star.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

_NAMESPACE = re.compile(rb"xmlns:([\w.-]{1,40})\s*=\s*[\"']https?://xbrl\.sec\.gov/dei/", re.I)
_OPEN = re.compile(rb"<([\w.-]{1,40}:non(?:numeric|fraction))\b([^<>]{0,4000})>", re.I)
_ATTRIBUTE = re.compile(rb"([\w.:-]{1,60})\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_TAG = re.compile(r"<[^<>]*>")
_EXCLUDED = re.compile(r"<(\w{1,40}:exclude)\b[^<>]*>.*?</\1\s*>", re.I | re.S)
_LONGEST_VALUE = 5000
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
_MONTH_NAME = "|".join(month[:3] + "[a-z]*" for month in _MONTHS)
_DATE_FORMS = (  # each with the order of its groups
    (re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})"), "ymd"),
    (re.compile(rf"({_MONTH_NAME})\.?\s*(\d{{1,2}})(?:st|nd|rd|th)?\s*,?\s*(\d{{4}})", re.I), "mdy"),
    (re.compile(rf"(\d{{1,2}})(?:st|nd|rd|th)?\s*({_MONTH_NAME})\.?\s*,?\s*(\d{{4}})", re.I), "dmy"),
    (re.compile(r"(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})"), "mdy"),
)
_MONTH_DAY_FORMS = (
    (re.compile(r"--(\d{1,2})-?(\d{1,2})"), "md"),
    (re.compile(rf"({_MONTH_NAME})\.?\s*(\d{{1,2}})", re.I), "md"),
    (re.compile(rf"(\d{{1,2}})\s*({_MONTH_NAME})", re.I), "dm"),
    (re.compile(r"(\d{1,2})[/.-](\d{1,2})"), "md"),
)


@dataclass(frozen=True, slots=True)
class _Fact:
    name: str
    context: str
    value: str


def dei_facts(data: bytes) -> dict[str, str]:
    """Name without prefix -> value; empty for a document without inline facts.

    Where a name occurs more than once (several registrants, several share classes), the one in the context of `DocumentType` wins,
    then the first. Dates come as `2024-09-28` and `--09-28`, flags as `true` and `false`; all else as printed.
    """
    facts = _scan(data)
    main = next((fact.context for fact in facts if fact.name == "DocumentType"), None)
    found: dict[str, str] = {}
    for fact in sorted(facts, key=lambda fact: fact.context != main):
        found.setdefault(fact.name, fact.value)
    return found


def _scan(data: bytes) -> list[_Fact]:
    prefixes = {match.lower() for match in _NAMESPACE.findall(data[:200_000])} or {b"dei"}
    facts = []
    for match in _OPEN.finditer(data):
        attributes = {key.lower(): first or second for key, first, second in _ATTRIBUTE.findall(match[2])}
        prefix, _, name = attributes.get(b"name", b"").partition(b":")
        if prefix.lower() not in prefixes or not name or match[2].endswith(b"/") or _is_nil(attributes):
            continue
        text = _inner_text(data, match[1], match.end())
        value = _value(name.decode("ascii", "replace"), text, attributes.get(b"format", b"").decode("ascii", "replace"))
        if value:
            facts.append(_Fact(name.decode("ascii", "replace"), attributes.get(b"contextref", b"").decode("ascii", "replace"), value))
    return facts


def _is_nil(attributes: dict[bytes, bytes]) -> bool:
    return any(key.endswith(b":nil") and value in (b"true", b"1") for key, value in attributes.items())


def _inner_text(data: bytes, tag: bytes, start: int) -> str:
    """Text between the opening tag that ends at `start` and its own closing tag, nested facts of the same name counted."""
    depth, end, limit = 1, start, min(len(data), start + _LONGEST_VALUE)
    for match in re.finditer(rb"<(/?)" + re.escape(tag) + rb"\b[^<>]*>", data[start:limit], re.I):
        if match[0].endswith(b"/>"):
            continue
        depth += -1 if match[1] else 1
        if depth == 0:
            end = start + match.start()
            break
    raw = data[start:end].decode("utf-8", "replace")
    return " ".join(html.unescape(_TAG.sub("", _EXCLUDED.sub("", raw))).split())


def _value(name: str, text: str, form: str) -> str:
    """The value behind the printed text; the text itself where no rule applies."""
    kind = form.rpartition(":")[2].lower().replace("-", "")
    fixed = {"fixedfalse": "false", "booleanfalse": "false", "fixedtrue": "true", "booleantrue": "true"}.get(kind)
    if fixed:
        return fixed
    if kind == "boolballotbox":
        return {"☐": "false", "☒": "true", "☑": "true"}.get(text[:1], text)
    if name.endswith(("EndDate", "StartDate")):
        return iso_date(text) or month_day(text) or text
    if name.endswith("Flag"):
        return text.lower()
    return text


def iso_date(text: str) -> str:
    """`2024-09-28` out of a printed English date; "" when there is none."""
    for form, order in _DATE_FORMS:
        match = form.search(text)
        if match:
            part = dict(zip(order, match.groups(), strict=True))
            month, day = _month(part["m"]), int(part["d"])
            if 1 <= month <= 12 and 1 <= day <= 31:
                return f"{part['y']}-{month:02d}-{day:02d}"
    return ""


def month_day(text: str) -> str:
    """`--09-28`, as XBRL writes a day without year; "" when there is none."""
    for form, order in _MONTH_DAY_FORMS:
        match = form.search(text)
        if match:
            part = dict(zip(order, match.groups(), strict=True))
            month, day = _month(part["m"]), int(part["d"])
            if 1 <= month <= 12 and 1 <= day <= 31:
                return f"--{month:02d}-{day:02d}"
    return ""


def _month(text: str) -> int:
    if text.isdecimal():
        return int(text)
    return next((number for number, name in enumerate(_MONTHS, 1) if name.startswith(text[:3].lower())), 0)
