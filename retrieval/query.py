"""An index opened together with the model that it was made with, for questions in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
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
    model = model_of(version, settings)
    return open_index(lake, version, embedder_of(model, settings, lake), model.model_hash)


def model_of(version: IndexVersion, settings: Settings) -> Model:
    """The embedding model of a version; nothing is loaded. Raises UnknownName, SettingsError."""
    return resolve(EmbeddingModel.model_validate(json.loads(version.manifest)["recipe"]["embedding"]), settings)


def embedder_of(model: Model, settings: Settings, lake: Lake) -> Embedder:
    """Question → vector. The model is loaded at the first question. One at an endpoint is paid for each new question; what it answered is
    kept in the lake."""
    return embedding(encoder_of(model, settings, lake))


def embedding(encoder: Callable[[], Any]) -> Embedder:
    def embed(question: str) -> Any:
        opened = encoder()
        if not hasattr(opened, "network"):  # of an endpoint
            return opened.encode([question])[0]
        from edgarmill.workers.embed.local import threads

        with threads(1):
            return opened.encode([question])[0]

    return embed


def encoder_of(model: Model, settings: Settings, lake: Lake) -> Callable[[], Any]:
    """Opens the model when it is first called, and gives the same one from then on."""

    @cache
    def encoder() -> Any:
        if model.endpoint:
            from edgarmill.workers.embed.hosted import for_questions

            return for_questions(model, settings, lake)
        from edgarmill.workers.embed.local import open_encoder

        return open_encoder(model, settings)

    return encoder
