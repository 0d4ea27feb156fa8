"""An index version opened with the embedding model that it was made with, as its manifest records it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from edgarmill.retrieval.search import Embedder, Index, open_index
from edgarmill.retrieval.versions import resolve
from edgarmill.schemas.recipe import EmbeddingModel
from edgarmill.schemas.records import IndexVersion
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake


def open_reader(lake: Lake, settings: Settings, recipe: str | None = None, tag: str | None = None, by_meaning: bool = True) -> Index:
    """The current version (of the recipe, or of the newest), or the one with that tag. Without `by_meaning` no model is loaded.

    Raises LakeNotFound, UnknownName, UsageError (the model here is another one than the index was made with), LakeCorrupt.
    """
    version = resolve(lake.snapshot(), recipe, tag)
    if not by_meaning:
        return open_index(lake, version)
    embedder, model_hash = embedder_of(version, settings)
    return open_index(lake, version, embedder, model_hash)


def embedder_of(version: IndexVersion, settings: Settings) -> tuple[Embedder, str]:
    """The model of a version, loaded, and its hash."""
    from edgarmill.workers.embed import models
    from edgarmill.workers.embed.local import open_encoder

    recorded = json.loads(version.manifest).get("recipe", {}).get("embedding", {"model": version.model})
    model = models.resolve(EmbeddingModel.model_validate(recorded), settings)
    encoder = open_encoder(model, settings)

    def embed(question: str) -> Sequence[float]:
        vector: Sequence[float] = encoder.encode([question])[0]
        return vector

    return embed, model.model_hash
