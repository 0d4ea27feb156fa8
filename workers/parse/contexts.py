"""Contexts and units of an inline document: who, when, of what part, and in what measure a fact speaks.

They are read from the run of tags and texts of `ix:resources`: `tags[i]` is a tag without its brackets, `texts[i]` what stands before it.
"""

from __future__ import annotations

import html as references
import re
from collections.abc import Sequence
from dataclasses import dataclass

_ATTRIBUTE = re.compile(r"([^\s=/\"'>]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_STANDARD_MEASURES = ("http://www.xbrl.org/2003/iso4217", "http://www.xbrl.org/2003/instance")
MOST_CONTEXTS = 200_000


@dataclass(slots=True)
class Context:
    """One xbrli:context. Neither instant nor start nor end: for ever."""

    entity: str = ""
    start: str | None = None
    end: str | None = None
    instant: str | None = None
    dimensions: tuple[tuple[str, str], ...] = ()
    warning: str = ""


class Names(dict[str, tuple[str, dict[str, str]]]):
    """Tag as written -> local name in lower case, "/" before it for an end tag, and attributes by lower-case name."""

    def __missing__(self, tag: str) -> tuple[str, dict[str, str]]:
        name = tag.split(None, 1)[0].rstrip("/") if tag.strip() else ""
        end = "/" if name.startswith("/") else ""
        found = end + name.lstrip("/").rpartition(":")[2].lower(), attributes_of(tag)
        if len(self) < 10_000:  # those with an id come once
            self[tag] = found
        return found


def attributes_of(tag: str) -> dict[str, str]:
    """Attributes of a tag by their names in lower case."""
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(tag):
        value = double or single or bare
        found.setdefault(name.lower(), references.unescape(value) if "&" in value else value)
    return found


def resources_of(tags: Sequence[str], texts: Sequence[str], start: int, end: int, names: Names, contexts: dict[str, Context],
                 units: dict[str, str], prefixes: dict[str, str]) -> None:
    """Reads what stands between the tags `start` and `end` into `contexts` and `units`, by id. The first of an id counts."""
    at = start
    while at < end and len(contexts) < MOST_CONTEXTS:
        name, attributes = names[tags[at]]
        at += 1
        if name == "context":
            context, at = _context(tags, texts, at, end, names)
            contexts.setdefault(attributes.get("id", ""), context)
        elif name == "unit":
            unit, at = _unit(tags, texts, at, end, names, prefixes)
            units.setdefault(attributes.get("id", ""), unit)


def _context(tags: Sequence[str], texts: Sequence[str], at: int, end: int, names: Names) -> tuple[Context, int]:
    """A context from behind its start tag, and the place behind its end tag. The text of an element stands before its end tag."""
    found = Context()
    dimensions: list[tuple[str, str]] = []
    axis = ""
    while at < end:
        name, attributes = names[tags[at]]
        if name == "/context":
            break
        if name == "/identifier":
            found.entity = texts[at].strip()
        elif name in ("/startdate", "/enddate", "/instant"):
            day = _day(texts[at].strip(), found)
            if name == "/startdate":
                found.start = day
            elif name == "/enddate":
                found.end = day
            else:
                found.instant = day
        elif name in ("explicitmember", "typedmember"):
            axis = attributes.get("dimension", "")
        elif name == "/explicitmember":
            dimensions.append((axis, texts[at].strip()))
        elif name == "/typedmember":
            dimensions.append((axis, _typed(tags, texts, at)))
        at += 1
    found.dimensions = tuple(sorted(dimensions))
    return found, at + 1


def _typed(tags: Sequence[str], texts: Sequence[str], at: int) -> str:
    """Text of the one element in a typed member, whose end tag is at `at`; "" when it is nil."""
    pieces: list[str] = []
    while at >= 0 and len(pieces) < 100:
        pieces.append(texts[at])
        at -= 1
        if at < 0 or "typedmember" in tags[at].lower():
            break
    return " ".join(references.unescape("".join(reversed(pieces))).split())


def _day(text: str, context: Context) -> str | None:
    """The date part; a time of day behind it is dropped, as EDGAR allows none."""
    if _DAY.match(text):
        return text[:10]
    context.warning = f"no date: {text[:40]}"
    return None


def _unit(tags: Sequence[str], texts: Sequence[str], at: int, end: int, names: Names, prefixes: dict[str, str]) -> tuple[str, int]:
    """`USD`, `shares`, `USD/shares`; measures that are multiplied are joined by `*`."""
    above: list[str] = []
    below: list[str] = []
    side = above
    while at < end:
        name, _ = names[tags[at]]
        if name == "/unit":
            break
        if name == "unitdenominator":
            side = below
        elif name == "unitnumerator":
            side = above
        elif name == "/measure":
            side.append(_measure(texts[at].strip(), prefixes))
        at += 1
    unit = "*".join(sorted(above))
    return (f"{unit}/{'*'.join(sorted(below))}" if below else unit), at + 1


def _measure(text: str, prefixes: dict[str, str]) -> str:
    """The local name of a currency or of a measure of XBRL itself; others keep their prefix."""
    prefix, _, local = text.rpartition(":")
    standard = prefixes.get(prefix, "") in _STANDARD_MEASURES or prefix.lower() in ("iso4217", "xbrli")
    return local if standard or not prefix else text
