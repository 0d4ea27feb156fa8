"""Late interaction by tokens with the index's own embedding model: each token of the question finds its nearest token of the text, and the
mean of their cosines is the score (ColBERT's max-sim, Khattab and Zaharia 2020, with a model that was not trained for it)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edgarmill.retrieval.rerank import Reranker, Scored, Tools
from edgarmill.schemas.errors import SettingsError
from edgarmill.workers.embed.local import batches, cores, threads


def open_reranker(model: str, tools: Tools) -> Reranker:
    """Raises SettingsError: it takes no model, and the index's must run on this machine."""
    if model:
        raise SettingsError("late interaction uses the index's own model", model, "Leave out what stands after the colon.")
    encoder = tools.encoder()
    if not hasattr(encoder, "network"):
        raise SettingsError("the index's model is served by an endpoint, which gives no vectors of tokens", "late_interaction",
                            "Take another reranker.")

    def rerank(question: str, texts: Sequence[str]) -> Scored:
        if not texts:
            return Scored(())
        with threads(max(1, cores() // 2)):
            return Scored(_scores(encoder, question, texts))

    return rerank


def _scores(encoder: Any, question: str, texts: Sequence[str]) -> tuple[float, ...]:
    asked = _tokens(encoder, encoder.ids([question]))[0]
    scores = [0.0] * len(texts)
    ids = encoder.ids(texts)
    for places in batches(ids, encoder.batch_tokens):
        for place, vectors in zip(places, _tokens(encoder, [ids[n] for n in places]), strict=True):
            scores[place] = _max_sim(asked, vectors)
    return tuple(scores)



def _max_sim(question: Any, text: Any) -> float:
    if not len(question) or not len(text):
        return 0.0
    return float((question @ text.T).max(dim=1).values.mean())


def _tokens(encoder: Any, ids: Sequence[Sequence[int]]) -> list[Any]:
    """Of each text the unit vectors of its tokens, without the special ones at both ends."""
    import torch

    width = max(map(len, ids))
    tokens = torch.full((len(ids), width), encoder.padding, dtype=torch.long)
    mask = torch.zeros((len(ids), width), dtype=torch.long)
    for row, one in enumerate(ids):
        tokens[row, : len(one)] = torch.tensor(one)
        mask[row, : len(one)] = 1
    with torch.inference_mode():
        out = encoder.network({"input_ids": tokens.to(encoder.device), "attention_mask": mask.to(encoder.device)})["token_embeddings"]
        vectors = torch.nn.functional.normalize(out.float(), dim=2).cpu()
    return [vectors[row, 1 : len(one) - 1] for row, one in enumerate(ids)]
