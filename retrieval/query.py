"""An index opened together with the model that it was made with, for questions in words."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import cache
from typing import Any

from edgarmill.retrieval.search import Embedder, Index, open_index
from edgarmill.schemas.recipe import EmbeddingModel
from edgarmill.schemas.records import IndexVersion
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.workers.embed.models import Model, resolve


def open_for(lake: Lake, version: IndexVersion, settings: Settings, modes: Collection[str]) -> Index:
    """The index ready for these modes; the keyword mode alone loads no model.

    Raises UnknownName when the version's model is not at hand, UsageError when the one at hand has other weights.
    """
    if set(modes) <= {"keyword"}:
        return open_index(lake, version)
    model = resolve(EmbeddingModel.model_validate(json.loads(version.manifest)["recipe"]["embedding"]), settings)
    return open_index(lake, version, embedder_of(model, settings, lake), model.model_hash)


def embedder_of(model: Model, settings: Settings, lake: Lake) -> Embedder:
    """Question → vector. The model is loaded at the first question. One at an endpoint is paid for each new question; what it answered is
    kept in the lake."""

    @cache
    def encoder() -> Any:
        if model.endpoint:
            from edgarmill.workers.embed.hosted import for_questions

            return for_questions(model, settings, lake)
        from edgarmill.workers.embed.local import open_encoder

        return open_encoder(model, settings)

    return lambda question: encoder().encode([question])[0]
