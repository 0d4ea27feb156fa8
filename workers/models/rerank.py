"""Relevance scores by POST /rerank, as Cohere, Jina, Voyage, vLLM and Infinity have it; kept, paced and paid as every call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from edgarmill.workers.models.answers import relevances
from edgarmill.workers.models.client import Client, refuse_binary
from edgarmill.workers.models.purse import Purse


def rerank(client: Client, question: str, texts: Sequence[str], purse: Purse) -> list[float]:
    """One score a text, in their order, higher is more relevant. Raises as `Client.chat`.

    Cohere bills by the search and says no tokens: dollars are null then.
    """
    if not texts:
        return []
    for text in (question, *texts):
        refuse_binary(text, purse.subject)
    body = {"model": client.endpoint.model, "query": question, "documents": list(texts)}
    answer, _ = client._now(partial(client._answer, "rerank", body, purse, [question, *texts], 0))
    return relevances(answer, len(texts))
