"""A hosted reranker: POST /rerank as Cohere, Jina, Voyage, vLLM and Infinity have it: endpoint:NAME/MODEL, NAME as in [endpoints.NAME]
of the settings."""

from __future__ import annotations

from collections.abc import Sequence

from edgarmill.retrieval.rerank import Reranker, Scored, Tools
from edgarmill.schemas.errors import SettingsError


def open_reranker(model: str, tools: Tools) -> Reranker:
    """Raises UnknownName, SettingsError."""
    from edgarmill.schemas.prices import price_set
    from edgarmill.workers.models.client import Client
    from edgarmill.workers.models.rerank import rerank as hosted

    name, _, served = model.partition("/")
    if not name:
        raise SettingsError("no endpoint named", "endpoint", "Write endpoint:NAME/MODEL, NAME as in [endpoints.NAME] of the settings.")
    endpoint = tools.settings.endpoint(name, served).model_copy(update={"tier": "standard"})  # a question waits for no batch
    client = Client(endpoint, tools.lake, price_set(tools.settings.prices))

    def rerank(question: str, texts: Sequence[str]) -> Scored:
        purse = client.purse("question", "rerank")
        scores = hosted(client, question, texts, purse)
        return Scored(tuple(scores), client.usage(purse))

    return rerank
