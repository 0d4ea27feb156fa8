"""Rerankers: every other file of this folder is one, and its name is its kind. A reranker is a module with

    open_reranker(model, tools) -> Reranker      `model` is what stands after the colon: cross_encoder:PATH, endpoint:NAME/MODEL

It reads a question with each of some texts and gives each text a score; who gets how many and what becomes of the scores is not its matter.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgarmill.schemas.errors import UnknownName
from edgarmill.schemas.records import Usage
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake


@dataclass(frozen=True)
class Tools:
    """What a reranker may need. `encoder` opens the index's own embedding model."""

    settings: Settings
    lake: Lake
    encoder: Callable[[], Any]


@dataclass(frozen=True)
class Scored:
    """A score a text, in their order, higher is better; `usage` where a provider was paid."""

    scores: tuple[float, ...]
    usage: Usage | None = None


Reranker = Callable[[str, Sequence[str]], Scored]


def kinds() -> list[str]:
    """The rerankers there are; imports none of them."""
    return sorted(p.stem for p in Path(__file__).parent.glob("*.py") if not p.stem.startswith("_"))


def reranker(name: str, tools: Tools) -> Reranker:
    """By KIND or KIND:MODEL. Raises UnknownName, SettingsError."""
    kind, _, model = name.partition(":")
    if kind not in kinds():
        raise UnknownName("no such reranker", kind[:40], f"Known: {', '.join(kinds())}.")
    opened: Reranker = importlib.import_module(f"{__name__}.{kind}").open_reranker(model, tools)
    return opened
