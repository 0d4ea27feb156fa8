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
_DAYS = frozenset({"startdate", "enddate", "instant"})
_READ = _DAYS | frozenset("context /context identifier explicitmember typedmember unit /unit measure unitdenominator".split())


@dataclass(slots=True)
class Resources:
    """Contexts and units by id, and the ids of contexts whose dates cannot be read."""

    contexts: dict[str, Context] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    undated: dict[str, str] = field(default_factory=dict)

    def read(self, tags: Sequence[str], texts: Sequence[str], prefixes: dict[str, str]) -> None:
        """Takes in one `ix:resources`: what stands in it as tags, and the text before each. The first of an id counts."""
        steps = list(map(_Steps().__getitem__, tags))
        axes, dates = _Axes(), _Dates()
        name = entity = ""
        days: dict[str, str | None] = {}
        dimensions: list[tuple[str, str]] = []
        for at, step in enumerate(steps):
            if not step:
                continue
            if step == "explicitmember":
                dimensions.append((axes[tags[at]], texts[at + 1].strip()))
            elif step in _DAYS:
                days[step] = dates[texts[at + 1]]
            elif step == "context":
                name, entity, days, dimensions = _value_of(tags[at], "id"), "", {}, []
            elif step == "identifier":
                entity = texts[at + 1].strip()
            elif step == "/context":
                self._keep(name, entity, days, dimensions)
            elif step == "typedmember":
                dimensions.append((axes[tags[at]], _typed(tags, texts, at + 1)))
        at = -1
        for _ in range(steps.count("unit")):
            at = steps.index("unit", at + 1)
            self._read_unit(_value_of(tags[at], "id"), steps, texts, at + 1, prefixes)

    def _keep(self, name: str, entity: str, days: dict[str, str | None], dimensions: list[tuple[str, str]]) -> None:
        if name in self.contexts or len(self.contexts) >= MOST_CONTEXTS:
            return
        if None in days.values():
            self.undated[name] = "a date of its context is none"
        get = days.get
        self.contexts[name] = (entity, get("startdate"), get("enddate"), get("instant"), tuple(sorted(dimensions)))

    def _read_unit(self, name: str, steps: Sequence[str], texts: Sequence[str], at: int, prefixes: dict[str, str]) -> None:
        """`USD`, `shares`, `USD/shares`; measures that are multiplied are joined by `*`."""
        above: list[str] = []
        below: list[str] = []
        side = above
        for step, text in zip(steps[at : at + 200], texts[at + 1 : at + 201], strict=False):
            if step == "/unit":
                break
            if step == "unitdenominator":
                side = below
            elif step == "measure":
                side.append(_measure(text.strip(), prefixes))
        unit = "*".join(sorted(above))
        self.units.setdefault(name, f"{unit}/{'*'.join(sorted(below))}" if below else unit)


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


class _Axes(dict[str, str]):
    """Tag as written -> the axis it names: few, each many times."""

    def __missing__(self, tag: str) -> str:
        axis = self[tag] = _value_of(tag, "dimension")
        return axis


class _Dates(dict[str, str | None]):
    """Text -> ISO date, None where there is none. Of a time the date counts: EDGAR allows no time of day."""

    def __missing__(self, text: str) -> str | None:
        found = _DAY.match(text.strip())
        day = self[text] = found[0] if found else None
        return day


def attributes_of(tag: str) -> dict[str, str]:
    """Attributes of a tag by their names in lower case."""
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(tag):
        value = double or single or bare
        found.setdefault(name.lower(), references.unescape(value) if "&" in value else value)
    return found


def _value_of(tag: str, name: str) -> str:
    """The value of the attribute `name`; mostly there is no other."""
    bits = tag.split('"')
    if len(bits) == 3 and "&" not in tag and "'" not in tag and bits[0].endswith(f" {name}="):
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
