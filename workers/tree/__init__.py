"""Builders of node trees: every other file of this folder is one, and its name is its kind. A builder is a module with

    Options(TreeOptions)                                      frozen pydantic model with bounds; what every builder takes is in TreeOptions
    build(document, elements, sections, options) -> Node      the root: a tree over the whole text that `outline.check` takes
    ASKS_MODEL = True                                         only where it does: `build` then gets `ask` as its last argument
    VERSION                                                   raised when it gives another tree

`ask(form, messages, most_output)` is one question to the recipe's chat model. A recipe without a tree has kind "none", which is no file.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from edgarmill.schemas.errors import UnknownName

NONE = "none"
QUESTIONS: dict[str, tuple[str, ...]] = {  # our reading of the question types: a figure is found by its page, a theme by its summary
    "single-hop": ("II.8", "I.1"),
    "multi-hop": ("7", "7A", "II.8", "I.1", "I.2"),
    "summary": ("1", "1A", "7", "I.2", "II.1A"),
}


class Rule(BaseModel):
    """Which nodes get a summary. All that is said must hold; a node without one is named to its parent by its title."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    least_tokens: int = Field(0, ge=0, description="of the text of the node and all below it")
    levels: tuple[Annotated[int, Field(ge=0, le=12)], ...] | None = Field(
        None, min_length=1, description="depths below the root, 0 = the root"
    )
    items: tuple[str, ...] | None = Field(None, min_length=1, description='Items, "7" or "II.1A"; what is outside of these is not asked')
    questions: tuple[Literal["single-hop", "multi-hop", "summary"], ...] | None = Field(
        None, min_length=1, description="only the Items that such questions are answered from: see QUESTIONS"
    )


class TreeOptions(BaseModel):
    """What every builder takes beside its own options: bounds of the tree, and who gets a summary."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    max_depth: int = Field(6, ge=2, le=12, description="levels below the root")
    max_children: int = Field(60, ge=2, le=200, description="of one node; beyond, the shortest become text of their parent")
    min_characters: int = Field(200, ge=0, le=10_000, description="a heading over less text is no node")
    leaf_characters: int = Field(24_000, ge=2_000, le=400_000, description="a longer run of text without headings is cut at pages")
    endpoint: str = Field("openai", description="name of the server in the settings")
    model: str = Field("gpt-4.1-mini", min_length=1, description="what is asked there, whatever the endpoint's own default")
    summaries: Literal["none", "all", "rule"] = "none"
    summary_tokens: int = Field(60, ge=16, le=512, description="most tokens of a summary; a text as short is its own")
    window_tokens: int = Field(8_000, ge=500, le=200_000, description="most tokens of a node's own text that are shown; beyond, it is cut")
    rule: Rule = Rule()

    @model_validator(mode="after")
    def _ruled(self) -> TreeOptions:
        if self.summaries != "rule" and self.rule != Rule():
            raise ValueError('a rule holds only with summaries = "rule"')
        return self


def kinds() -> list[str]:
    """The builders there are; imports none of them."""
    return sorted(p.stem for p in Path(__file__).parent.glob("*.py") if not p.stem.startswith("_"))


def builder(kind: str) -> ModuleType:
    """The builder of that name. Raises UnknownName."""
    if kind not in kinds():
        raise UnknownName("no such tree", kind, f"Known: {', '.join([NONE, *kinds()])}.")
    return importlib.import_module(f"{__name__}.{kind}")
