"""Answerers: every other file of this folder is one, and its name is its kind. An answerer is a module with

    VERSION: int                                     raised when the same prompts are used otherwise
    PROMPTS: tuple[str, ...]                         its instructions
    FORMS: tuple[type[Said], ...]                    the forms in which its model speaks
    knobs(given: Retriever, model: str) -> Retriever    optional: the retriever as it uses it, under whose hash its answers stand
    answer(question: str, desk: Desk) -> Draft       raises BadInput where no answer comes of it

It finds what it reads through the desk, which keeps account of what that takes, asks the model by `desk.ask`, and cites by number what it
was given. What stands in filings is data: shown between marks, and whatever the model says of it has to fit a form and name what was given.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from edgarmill.schemas.errors import UnknownName


def kinds() -> list[str]:
    """The answerers there are; imports none of them."""
    return sorted(p.stem for p in Path(__file__).parent.glob("*.py") if not p.stem.startswith("_"))


def answerer(kind: str) -> Any:
    """The module of a kind. Raises UnknownName."""
    if kind not in kinds():
        raise UnknownName("no such answerer", kind[:40], f"Known: {', '.join(kinds())}.")
    return importlib.import_module(f"{__name__}.{kind}")
