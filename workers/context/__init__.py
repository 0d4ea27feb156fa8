"""Contexts: every other file of this folder is one, and its name is its kind. What it writes stands before a chunk's text when that is
embedded. A context is a module with

    Options                                             frozen pydantic model with bounds, extra="forbid"
    largest(options) -> int                             most tokens of a context
    context(filing, chunk, options, tokenizer) -> str   the context of one chunk; "" for none

and one that asks a model has beside them

    ASKS_MODEL = True, INSTRUCTION, FORM                what it is told, and the pydantic model that an answer is read into
    asks(filing, documents, chunks, options) -> [Ask]   what it is asked of one filing; those with the same `shared` stand together

`context` then takes as its last argument what was found for the chunk. Who asks, in which order, and what becomes of a chunk without an
answer is asking.py's.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from edgarmill.schemas.errors import UnknownName


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to a model. Several with the same `instruction` and `shared` text begin alike: a provider's cache can hold it."""

    instruction: str
    shared: str
    own: str
    chunks: tuple[str, ...]  # ids of those for which the answer holds

    @property
    def messages(self) -> list[dict[str, str]]:
        return [{"role": "system", "content": self.instruction}, {"role": "user", "content": self.shared + self.own}]


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
