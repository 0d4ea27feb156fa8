"""Published figures of comparisons that our experiments repeat, as data (ladders.toml), null where the figure is not at hand."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any

from edgarmill.schemas.errors import UnknownName


@dataclass(frozen=True, slots=True)
class Figure:
    """One printed figure. `change`: what is printed is the difference from the ladder's baseline."""

    arm: str  # of our experiment; "" = of the ladder as a whole
    metric: str
    value: float | None
    change: float | None
    note: str


@dataclass(frozen=True, slots=True)
class Ladder:
    name: str
    source: str
    corpus: str  # on what it was measured
    figures: tuple[Figure, ...]


def ladder(name: str) -> Ladder:
    """Raises UnknownName."""
    known = ladders()
    found = [one for one in known if one.name == name]
    if not found:
        raise UnknownName("no published figures of that name", name[:60], f"Known: {', '.join(one.name for one in known)}.")
    return found[0]


def ladders() -> list[Ladder]:
    data = tomllib.loads((resources.files("edgarmill") / "schemas" / "paper" / "ladders.toml").read_text(encoding="utf-8"))
    return [Ladder(one["name"], one["source"], one["corpus"], tuple(_figure(f, data["not_at_hand"]) for f in one["figures"]))
            for one in data["ladder"]]


def _figure(given: dict[str, Any], missing: str) -> Figure:
    known = "value" in given or "change" in given
    note = given["note"] if known else f"{missing}: {given['note']}"
    return Figure(given["arm"], given["metric"], given.get("value"), given.get("change"), note)
