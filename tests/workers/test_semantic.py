"""Breakpoints: a chunk ends where neighbouring sentences are further apart than a percentile of the document's distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from documents import parsed

from edgarmill.schemas.recipe import Kind, Recipe
from edgarmill.schemas.settings import Settings
from edgarmill.workers import chunk
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.fit import check_recipe

RECIPE = Recipe(name="r", chunker=Kind.model_validate({"kind": "semantic", "buffer": 0, "percentile": 75}))
PLAN = check_recipe(RECIPE, Settings())
TOKENIZER = Tokenizer(PLAN.model.tokenizer_path)


class Topics:
    """A model that knows two topics; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: list[str]) -> np.ndarray[Any, Any]:
        self.asked += texts
        return np.array([[1.0, 0.0] if "sales" in text else [0.0, 1.0] for text in texts])


def test_a_chunk_ends_where_the_topic_changes() -> None:
    of = parsed([("paragraph", "Our sales rose. The sales grew. New sales came. Our debt fell. The debt is small. All debt is due.")])
    made = chunk.chunked(of.document, of.elements, of.sections, RECIPE.chunker, PLAN, TOKENIZER, Topics())
    assert [c.text for c in made.chunks] == ["Our sales rose. The sales grew. New sales came.",
                                             "Our debt fell. The debt is small. All debt is due."]


def test_equal_sentences_are_embedded_once_and_all_of_one_topic_stay_together() -> None:
    model, of = Topics(), parsed([("paragraph", "Our sales rose. " * 8)])
    made = chunk.chunked(of.document, of.elements, of.sections, RECIPE.chunker, PLAN, TOKENIZER, model)
    assert len(model.asked) <= 2 and len(made.chunks) == 1


def test_the_model_is_part_of_the_fingerprint_and_only_here() -> None:
    assert chunk.needs_encoder("semantic")
    assert [kind for kind in chunk.kinds() if chunk.needs_encoder(kind)] == ["semantic"]


@pytest.mark.parametrize("percentile", [10, 101])
def test_percentiles_out_of_bounds_are_refused(percentile: int) -> None:
    with pytest.raises(Exception, match=r"chunker\.percentile"):
        check_recipe(Recipe(name="r", chunker=Kind.model_validate({"kind": "semantic", "percentile": percentile})), Settings())
