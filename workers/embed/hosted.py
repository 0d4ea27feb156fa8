"""Vectors by a server that speaks OpenAI's protocol: a recipe's `model = "endpoint:NAME/MODEL"`.

The recipe says what such a server does not: how long a vector is, how much text the model takes, and a tokenizer to count by. Chunks are
cut and requests are filled by that tokenizer; what is paid is told by the provider's own count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from edgarmill.schemas.errors import BadInput, ModelFailed, SettingsError
from edgarmill.schemas.records import Usage
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.workers.embed.models import Model
from edgarmill.workers.embed.tokens import Tokenizer

if TYPE_CHECKING:
    import numpy as np

    from edgarmill.workers.models.client import Client
    from edgarmill.workers.models.purse import Budget, Purse

MOST_TEXTS, MOST_TOKENS = 256, 32_768  # of one request; OpenAI takes 2,048 and 300,000, a server on a small GPU less


@dataclass(frozen=True, slots=True)
class Given:
    """What one filing got: vectors by text hash, or the error that sets it aside; and what was spent."""

    usage: Usage
    vectors: Mapping[str, Any] = field(default_factory=dict)
    error: BadInput | None = None


@dataclass(frozen=True, slots=True)
class Hosted:
    """A model at an endpoint, with the client that asks it."""

    model: Model
    client: Client
    tokenizer: Tokenizer
    budget: Budget | None = None
    run_id: str = ""

    def encode(self, texts: Sequence[str], purse: Purse | None = None) -> np.ndarray[Any, Any]:
        """Float32 array (texts, dimensions) for a question, charged to no filing but to `purse`. Raises as `Client.embed`, and
        SettingsError."""
        return self._checked(self.client.embed([self._cut(text) for text in texts], purse or self._purse("question")))

    def embedded(self, needs: Mapping[str, Mapping[str, str]]) -> dict[str, Given]:
        """By filing what it needs: {accession: {text hash: text}}. A text of several filings is asked for once, for the first of them that
        gets its vectors: where that one is set aside, the next one's purse asks for it.

        Raises ModelRefused, StorageError, Stopped, and SettingsError for vectors of another length than the recipe says.
        """
        purses = {accession: self._purse(accession) for accession in needs}
        vectors: dict[str, dict[str, Any]] = {accession: {} for accession in needs}
        failed: dict[str, BadInput] = {}
        while batches := self._owed(needs, vectors, failed):
            answers = self.client.embed_each([(list(texts.values()), purses[accession]) for accession, texts in batches])
            for (accession, texts), answer in zip(batches, answers, strict=True):
                if isinstance(answer, BadInput):
                    failed[accession] = answer
                else:
                    vectors[accession] |= zip(texts, self._checked(answer), strict=True)
        return {a: Given(self.client.usage(p), {} if a in failed else vectors[a], failed.get(a)) for a, p in purses.items()}

    def _owed(self, needs: Mapping[str, Mapping[str, str]], vectors: Mapping[str, Mapping[str, Any]],
              failed: Mapping[str, BadInput]) -> list[tuple[str, dict[str, str]]]:
        """The requests that are still to be made: (accession, {text hash: text}), each text once, filings in order."""
        there = {key for accession, found in vectors.items() if accession not in failed for key in found}
        owed: list[tuple[str, dict[str, str]]] = []
        for accession in needs:
            if accession not in failed:
                mine = {key: self._cut(text) for key, text in needs[accession].items() if key not in there}
                there |= mine.keys()
                owed += [(accession, batch) for batch in _batches(mine, self.tokenizer)]
        return owed

    def _checked(self, found: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        import numpy as np

        if found.shape[1] != self.model.dimensions:
            what = f"its vectors have {found.shape[1]} numbers and the recipe says {self.model.dimensions}"
            raise SettingsError(what, self.model.name, f"Set embedding.dimensions = {found.shape[1]}, or name another model.")
        lengths = np.linalg.norm(found.astype(np.float64), axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise ModelFailed("a vector of length zero or without end", self.model.name, "Try another model.")
        return (found / lengths).astype(np.float32) if self.model.normalize else found

    def _cut(self, text: str) -> str:
        """The text without what is beyond the model's window: a local model cuts it likewise, a server would refuse it."""
        room = self.model.window - self.model.specials
        return text if self.tokenizer.count(text) <= room else text[: self.tokenizer.pieces(text).bounded(0, len(text), room)]

    def _purse(self, subject: str) -> Purse:
        return self.client.purse(subject, "embed", self.budget, self.run_id)


def _batches(texts: Mapping[str, str], tokenizer: Tokenizer) -> Iterator[dict[str, str]]:
    """The texts, in order, in requests of at most so many texts and tokens."""
    batch: dict[str, str] = {}
    filled = 0
    for (key, text), tokens in zip(texts.items(), tokenizer.counts(list(texts.values())), strict=True):
        if batch and (len(batch) == MOST_TEXTS or filled + tokens > MOST_TOKENS):
            yield batch
            batch, filled = {}, 0
        batch[key] = text
        filled += tokens
    if batch:
        yield batch


def for_questions(model: Model, settings: Settings, lake: Lake) -> Hosted:
    """Ready for questions, which wait for no batch. Raises UnknownName, SettingsError."""
    from edgarmill.schemas.prices import price_set
    from edgarmill.workers.models.client import Client

    endpoint = settings.endpoint(model.endpoint, model.served).model_copy(update={"tier": "standard"})
    return Hosted(model, Client(endpoint, lake, price_set(settings.prices)), Tokenizer(model.tokenizer_path))
