"""The pipeline: one tuple of stages, in order. Nothing else decides the order.

A stage is a frozen record. `open(setup)` loads what is heavy once per worker; `run(state, work)` turns one filing's rows into more rows.
A stage of `scope="block"` gets a list of works and gives a list of outcomes (the embedder sorts a whole block by length).
The same stages run on Ray Data and in a plain loop: see `fanout.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from edgarmill.schemas.recipe import Recipe
from edgarmill.schemas.records import Filing, Usage
from edgarmill.schemas.settings import Settings


@dataclass(frozen=True)
class Setup:
    """All that a stage may depend on. `lake` is the lake's root."""

    recipe: Recipe
    settings: Settings
    lake: str


@dataclass(slots=True)
class Work:
    """One filing on its way: its record and its rows by table, those of earlier stages included."""

    filing: Filing
    rows: dict[str, list[Any]] = field(default_factory=dict)
    raw: list[Any] = field(default_factory=list)  # RawDocument, between open and parse only


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a stage gives: rows by table (they replace the work's rows of that table), usage without seconds, warnings."""

    rows: dict[str, list[Any]] = field(default_factory=dict)
    usage: Usage | None = None
    filing: Filing | None = None
    raw: list[Any] | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stage:
    """`fingerprint(setup)` covers all that decides the stage's rows, earlier stages included; with `version` it keys done work."""

    name: str
    version: int
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    open: Callable[[Setup], Any]
    run: Callable[[Any, Any], Any]
    fingerprint: Callable[[Setup], str]
    scope: Literal["filing", "block"] = "filing"
    cpus: float = 1.0
    gpus: float = 0.0
    memory: int = 0  # bytes per worker, 0 = not stated
