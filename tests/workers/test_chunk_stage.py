"""The chunk stage: what it counts, and what becomes of a filing of which a recipe keeps nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from documents import Parsed, parsed

from edgarmill.schemas.errors import NoText
from edgarmill.schemas.recipe import Recipe
from edgarmill.schemas.records import Filing
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.workers.stages import STAGES, Outcome, Work, setup_of

OF = parsed([("heading", "Item 1. Business"), ("paragraph", "We sell goods. We buy them too."), ("heading", "Item 2. Properties"),
             ("paragraph", "We own none.")], {0: ("1",), 2: ("2",)})


def outcome(folder: Path, of: Parsed = OF, **chunker: Any) -> Outcome:
    root = str(folder / "lake")
    Lake.open(root, create=True)
    setup = setup_of(Recipe.model_validate({"name": "r", "chunker": chunker}), Settings(), root)
    stage = next(s for s in STAGES if s.name == "chunk")
    work = Work(Filing("d"), {"documents": [of.document], "elements": list(of.elements), "sections": list(of.sections)})
    result: Outcome = stage.run(stage.open(setup), work)
    return result


def test_what_a_recipe_leaves_out_stands_in_the_lake(tmp_path: Path) -> None:
    found = outcome(tmp_path, kind="structure", items=["2"])
    account = found.rows["chunkings"][0]
    assert [c.item for c in found.rows["chunks"]] == ["2"]
    assert account.left_out == len("Item1.BusinessWesellgoods.Webuythemtoo.") and account.kept == account.chars - account.left_out > 0


def test_a_filing_without_the_items_kept_is_quarantined_and_told_so(tmp_path: Path) -> None:
    with pytest.raises(NoText, match=r"none of the Items that the recipe keeps \(7, 7A\)"):
        outcome(tmp_path, kind="fixed", tokens=64, overlap=0, items=["7", "7A"])


def test_a_chunker_that_asks_the_model_says_what_the_model_read(tmp_path: Path) -> None:
    usage = outcome(tmp_path, kind="semantic").usage
    assert usage is not None and (usage.stage, usage.provider, usage.calls) == ("chunk", "local", 5)
    assert usage.model == "packaged:all-MiniLM-L6-v2" and 5 * 3 < (usage.input_tokens or 0) < 60


def test_one_that_does_not_names_no_model(tmp_path: Path) -> None:
    usage = outcome(tmp_path, kind="structure").usage
    assert usage is not None and usage.model is None and usage.calls == 0
