"""How a question is answered, in one record: every knob of the reading side, with a hash, so that experiments vary one at a time.

    plain = Retriever()
    wider = replace(plain, neighbours=1)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import isfinite
from typing import Any, Literal, get_args

from edgarmill.schemas import ids
from edgarmill.schemas.errors import UsageError

Mode = Literal["vector", "keyword", "hybrid"]
Words = Literal["any", "all", "phrase"]
FilterUse = Literal["given", "inferred", "none"]
Parent = Literal["none", "section", "range"]
Fetch = Literal["sequence", "parallel", "query"]

RRF_K = 60  # of reciprocal rank fusion, as Cormack, Clarke and Buettcher chose (SIGIR 2009)
MAX_HITS = 1_000
_CHOICES: dict[str, Any] = {"mode": Mode, "words": Words, "filters": FilterUse, "parent": Parent, "fetch": Fetch}
_BOUNDS = {"k": (1, MAX_HITS), "k_initial": (1, MAX_HITS), "rrf_k": (1, 10_000), "neighbours": (0, 20), "parent_tokens": (1, 100_000),
           "tokens": (1, 10_000_000)}
_WHATS = {"k": "hits asked for"}


@dataclass(frozen=True)
class Retriever:
    """Raises UsageError for a value out of its bounds."""

    mode: Mode = "hybrid"
    k: int = 10  # hits given; with a reranker its k_final
    words: Words = "any"  # any: BM25 over those that occur; all: each must occur; phrase: in this order, side by side
    rrf_k: int = RRF_K
    vector_weight: float = 1.0  # of the list by meaning in the fusion
    keyword_weight: float = 1.0  # of the list by words; 1.5 is a published setting
    filters: FilterUse = "given"  # inferred: those given, and what they leave open from the question; none: neither
    spelling: bool = False  # words that the index does not have are corrected to words that it has
    reranker: str = ""  # a file of rerank/, and after a colon its model: late_interaction, cross_encoder:PATH, endpoint:NAME/MODEL
    k_initial: int = 30  # hits that the reranker reads
    neighbours: int = 0  # passages before and after a hit, of its section, that are given with it
    fetch: Fetch = "query"  # how neighbours are got: one after the other, at once, or all in one query
    parent: Parent = "none"  # what is given in place of a hit: its whole section, or the passage that its chunker cut it from
    parent_tokens: int = 2_000  # a longer parent is cut to this around the hit
    tokens: int | None = None  # most tokens of all that is given, by the tokenizer of the index

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in get_args(choices):
                raise UsageError(f"no such {name}", str(getattr(self, name))[:40], f"{name.title()}s: {', '.join(get_args(choices))}.")
        for name, (low, high) in _BOUNDS.items():
            value = getattr(self, name)
            if value is None and name == "tokens":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise UsageError(f"{str(value)[:40]} {_WHATS.get(name, f'is no {name}')}", "", f"Ask for {low:,} to {high:,}.")
        weights = (self.vector_weight, self.keyword_weight)
        if not all(isinstance(w, int | float) and isfinite(w) and 0 <= w <= 1000 for w in weights) or not any(weights):
            raise UsageError(f"weights {weights[0]} and {weights[1]}", "", "Give numbers from 0 to 1,000, not both 0.")
        if self.neighbours and self.parent != "none":
            raise UsageError("neighbours and a parent are two ways to the same end", "", "Ask for one of them.")
        if self.reranker and self.k_initial < self.k:
            raise UsageError(f"the reranker reads {self.k_initial} hits and {self.k} are asked for", "", "Raise k_initial.")

    @property
    def weights(self) -> dict[str, float]:
        """By source."""
        return {"vector": float(self.vector_weight), "keyword": float(self.keyword_weight)}

    @property
    def hash(self) -> str:
        """16 hex digits; another value of any knob gives another."""
        return ids.fingerprint({**asdict(self), **{f"{name}_weight": value for name, value in self.weights.items()}})


def retriever_of(given: Mapping[str, Any]) -> Retriever:
    """From a table of names and values, as in a file of experiments. Raises UsageError for a name that is not there."""
    known = {f.name for f in fields(Retriever)}
    if strange := sorted(set(given) - known):
        raise UsageError("no such setting of a retriever", str(strange[0])[:40], f"Settings: {', '.join(sorted(known))}.")
    return Retriever(**given)
