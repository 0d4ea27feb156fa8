"""Contexts and units of an inline document: who, when, of what part, and in what measure a fact speaks.

They are read from the run of tags and texts of `ix:resources`: `tags[i]` is a tag without its brackets, `texts[i]` what stands before it.
"""

from __future__ import annotations

import html as references
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

Context = tuple[str, str | None, str | None, str | None, tuple[tuple[str, str], ...]]  # entity, start, end, instant, dimensions
NO_CONTEXT: Context = ("", None, None, None, ())
MOST_CONTEXTS = 200_000
_ATTRIBUTE = re.compile(r"([^\s=/\"'>]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_STANDARD_MEASURES = ("http://www.xbrl.org/2003/iso4217", "http://www.xbrl.org/2003/instance")
_READ = frozenset("context /context identifier startdate enddate instant explicitmember typedmember unit /unit measure unitdenominator".split())


@dataclass(slots=True)
class Resources:
    """Contexts and units by id, and the ids of contexts whose dates cannot be read."""

    contexts: dict[str, Context] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    undated: dict[str, str] = field(default_factory=dict)

    def read(self, tags: Sequence[str], texts: Sequence[str], prefixes: dict[str, str]) -> None:
        """Takes in one `ix:resources`: what stands in it as tags, and the text before each. The first of an id counts."""
        steps = list(map(_Steps().__getitem__, tags))
        name = ""
        open_ = _Open()
        above: list[str] = []
        below: list[str] = []
        side = above
        for at, step in enumerate(steps):
            if not step:
                continue
            if step == "explicitmember":
                open_.dimensions.append((_first_value(tags[at], "dimension"), texts[at + 1].strip()))
            elif step == "typedmember":
                open_.dimensions.append((_first_value(tags[at], "dimension"), _typed(tags, texts, at + 1)))
            elif step == "identifier":
                open_.entity = texts[at + 1].strip()
            elif step == "context":
                name, open_ = _first_value(tags[at], "id"), _Open()
            elif step == "/context":
                if len(self.contexts) < MOST_CONTEXTS:
                    self._keep(name, open_)
            elif step == "unit":
                name, above, below = _first_value(tags[at], "id"), [], []
                side = above
            elif step == "/unit":
                unit = "*".join(sorted(above))
                self.units.setdefault(name, f"{unit}/{'*'.join(sorted(below))}" if below else unit)
            elif step == "measure":
                side.append(_measure(texts[at + 1].strip(), prefixes))
            elif step == "unitdenominator":
                side = below
            else:
                open_.days[step] = texts[at + 1].strip()

    def _keep(self, name: str, found: _Open) -> None:
        """Of a time the date counts: EDGAR allows no time of day."""
        days = found.days
        for day in days.values():
            if not _DAY.match(day):
                self.undated.setdefault(name, f"no date: {day[:40]}")
                days = {}
                break
        start, end, instant = days.get("startdate"), days.get("enddate"), days.get("instant")
        dimensions = tuple(sorted(found.dimensions)) if len(found.dimensions) > 1 else tuple(found.dimensions)
        self.contexts.setdefault(name, (found.entity, start and start[:10], end and end[:10], instant and instant[:10], dimensions))


class _Open:
    """A context that is being read."""

    __slots__ = ("days", "dimensions", "entity")

    def __init__(self) -> None:
        self.entity = ""
        self.days: dict[str, str] = {}
        self.dimensions: list[tuple[str, str]] = []


class _Steps(dict[str, str]):
    """Tag as written -> local name in lower case where it is to be read, "" else."""

    def __missing__(self, tag: str) -> str:
        words = tag.split(None, 1)
        name = words[0].lower() if words else ""
        local = name.rpartition(":")[2].lstrip("/")
        found = "/" + local if name[:1] == "/" else local
        step = found if found in _READ and not tag.endswith("/") else ""
        self[tag] = step
        return step


def attributes_of(tag: str) -> dict[str, str]:
    """Attributes of a tag by their names in lower case."""
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(tag):
        value = double or single or bare
        found.setdefault(name.lower(), references.unescape(value) if "&" in value else value)
    return found


def _first_value(tag: str, name: str) -> str:
    """The value of the attribute `name`; mostly there is no other."""
    bits = tag.split('"')
    if len(bits) == 3 and "&" not in tag and "'" not in tag and bits[0].endswith(name + "="):
        return bits[1]
    return attributes_of(tag).get(name, "")


def _typed(tags: Sequence[str], texts: Sequence[str], at: int) -> str:
    """Text of the one element in a typed member, which begins before tag `at`; "" when it is nil."""
    pieces: list[str] = []
    for text, tag in zip(texts[at : at + 100], tags[at : at + 100], strict=False):
        pieces.append(text)
        if tag[:1] == "/" and tag.lower().rstrip().endswith("typedmember"):
            break
    return " ".join(references.unescape("".join(pieces)).split())


def _measure(text: str, prefixes: dict[str, str]) -> str:
    """The local name of a currency or of a measure of XBRL itself; others keep their prefix."""
    prefix, _, local = text.rpartition(":")
    standard = prefixes.get(prefix, "") in _STANDARD_MEASURES or prefix.lower() in ("iso4217", "xbrli")
    return local if standard or not prefix else text
