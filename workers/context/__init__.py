"""Contexts: every other file of this folder is one, and its name is its kind. What it writes stands before a chunk's text when that is
embedded. A context is a module with

    Options                                             frozen pydantic model with bounds, extra="forbid"
    largest(options) -> int                             most tokens of a context
    context(filing, chunk, options, tokenizer) -> str   the context of one chunk; "" for none
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from edgarmill.schemas.errors import UnknownName


def kinds() -> list[str]:
    """The contexts there are; imports none of them."""
    return sorted(p.stem for p in Path(__file__).parent.glob("*.py") if not p.stem.startswith("_"))


def contextualizer(kind: str) -> ModuleType:
    """The context of that name. Raises UnknownName."""
    if kind not in kinds():
        raise UnknownName("no such context", kind, f"Known: {', '.join(kinds())}.")
    return importlib.import_module(f"{__name__}.{kind}")


def embedded_text(context: str, text: str) -> str:
    """What the model gets: context, blank line, text."""
    return f"{context}\n\n{text}" if context else text
