"""How a question is answered, in one record: every knob of the reading side, with a hash, so that experiments vary one at a time.

    plain = Retriever()
    wider = replace(plain, neighbours=1)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from edgarmill.schemas import ids
from edgarmill.schemas.errors import UnknownName, UsageError

Mode = Literal["vector", "keyword", "hybrid"]
Words = Literal["any", "all", "phrase"]
FilterUse = Literal["given", "inferred", "none"]
Parent = Literal["none", "section", "range", "page"]
Spread = Literal["none", "page"]
Fusion = Literal["scores", "ranks"]
Fetch = Literal["sequence", "parallel", "query"]
Rewrite = Literal["none", "query", "passage"]
Decompose = Literal["none", "rule", "model"]
TreeUse = Literal["none", "walk", "narrowed"]

# Of reciprocal rank fusion. Cormack, Clarke and Buettcher chose 60 (SIGIR 2009) for many lists of strangers; of the two lists of one index
# the first places say more, and words alone are the weaker list. Both were chosen on three question sets (eval/benchmarks/RESULTS.md).
RRF_K, KEYWORD_WEIGHT = 10, 0.6
MAX_HITS = 1_000
_CHOICES: dict[str, Any] = {"mode": Mode, "words": Words, "filters": FilterUse, "parent": Parent, "fetch": Fetch, "rewrite": Rewrite,
                            "decompose": Decompose, "tree": TreeUse, "spread": Spread, "fusion": Fusion}
_BOUNDS = {"k": (1, MAX_HITS), "k_initial": (1, MAX_HITS), "rrf_k": (1, 10_000), "neighbours": (0, 20), "parent_tokens": (1, 100_000),
           "tokens": (1, 10_000_000), "rounds": (1, 5), "tree_steps": (1, 12), "tree_width": (1, 20), "model_tokens": (1_000, 10_000_000)}
_WHATS = {"k": "hits asked for"}
_FLAGS, _TEXTS = ("spelling", "terms"), ("reranker", "model")
# Knobs that came after evaluations were stored, and what each then was without saying so: at that value they are left out of the hash.
_CAME_LATER = {"fusion": "ranks", "terms": False, "spread": "none", "rewrite": "none", "decompose": "none", "rounds": 1, "tree": "none",
               "tree_steps": 6, "tree_width": 4, "model": "", "model_tokens": 100_000}


@dataclass(frozen=True)
class Retriever:
    """Raises UsageError for a value of another kind or out of its bounds."""

    mode: Mode = "hybrid"
    k: int = 10  # hits given; with a reranker its k_final
    words: Words = "any"  # any: BM25 over those that occur; all: each must occur; phrase: in this order, side by side
    fusion: Fusion = "scores"  # of the two lists of one search: by how far their scores stand out, or by ranks; lists of parts: by ranks
    rrf_k: int = RRF_K  # of fusion by ranks
    vector_weight: float = 1.0  # of the list by meaning in the fusion
    keyword_weight: float = KEYWORD_WEIGHT  # of the list by words; 1.5 is a published setting
    filters: FilterUse = "given"  # inferred: those given, and what they leave open from the question; none: neither
    spelling: bool = False  # words that the index does not have are corrected to words that it has
    reranker: str = ""  # a file of rerank/, and after a colon its model: late_interaction, cross_encoder:PATH, endpoint:NAME/MODEL
    k_initial: int = 30  # hits that the reranker reads
    neighbours: int = 0  # passages before and after a hit, of its section, that are given with it
    fetch: Fetch = "query"  # how neighbours are got: one after the other, at once, or all in one query
    terms: bool = False  # accounting terms of the question are searched too as lines of the statement that they stand in (terms.py)
    spread: Spread = "none"  # page: one hit a page, its best, so that k hits are k pages; where a document has no pages nothing changes
    parent: Parent = "none"  # what is given in place of a hit: its whole section or page, or what its chunker cut it from (range)
    parent_tokens: int = 2_000  # a longer parent is cut to this around the hit, a longer node around its best chunk
    tokens: int | None = None  # most tokens of all that is given, by the tokenizer of the index
    rewrite: Rewrite = "none"  # the model puts the question in a filing's words, or writes the passage that would answer (HyDE)
    decompose: Decompose = "none"  # into sub-questions, fused: by rule one for each company and year named, or as the model says
    rounds: int = 1  # searches at most, the model looking at what came back before each further one
    tree: TreeUse = "none"  # the model picks nodes of the filings' trees: walking down from the roots, or among those the search finds
    tree_steps: int = 6  # looks at nodes in one walk
    tree_width: int = 4  # filings walked, and nodes opened at a step
    model: str = ""  # the chat model that all these ask: endpoint:NAME, endpoint:NAME/MODEL
    model_tokens: int = 100_000  # that one question may take of it, read and written

    def __post_init__(self) -> None:
        self._check_kinds()
        self._check_numbers()
        if self.neighbours and self.parent != "none":
            raise UsageError("neighbours and a parent are two ways to the same end", "", "Ask for one of them.")
        if self.reranker and self.k_initial < self.k:
            raise UsageError(f"the reranker reads {self.k_initial} hits and {self.k} are asked for", "", "Raise k_initial.")
        self._check_model()

    def _check_kinds(self) -> None:
        """Files of experiments and requests hold whatever was written there: "False" as text would be true."""
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in get_args(choices):
                raise UsageError(f"no such {name}", value[:40] if isinstance(value, str) and value else shown(value),
                                 f"Known: {', '.join(get_args(choices))}.")
        for name in _FLAGS:
            if not isinstance(getattr(self, name), bool):
                raise UsageError(f"{name} is {shown(getattr(self, name))}, neither true nor false", "", "Say one of these, not quoted.")
        for name in _TEXTS:
            if not isinstance(getattr(self, name), str):
                raise UsageError(f"{name} is {shown(getattr(self, name))}, no text", "", "Give its name in quotes.")

    def _check_numbers(self) -> None:
        for name, (low, high) in _BOUNDS.items():
            value = getattr(self, name)
            if value is None and name == "tokens":
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                raise UsageError(f"{name} is {shown(value)}, no whole number", "", f"Ask for {low:,} to {high:,}.")
            if not low <= value <= high:
                raise UsageError(f"{shown(value)} {_WHATS.get(name, f'is no {name}')}", "", f"Ask for {low:,} to {high:,}.")
        weights = (self.vector_weight, self.keyword_weight)
        if not all(isinstance(w, int | float) and not isinstance(w, bool) and 0 <= w <= 1000 for w in weights) or not any(weights):
            raise UsageError(f"weights {shown(weights[0])} and {shown(weights[1])}", "", "Give numbers from 0 to 1,000, not both 0.")

    def _check_model(self) -> None:
        kind, colon, name = self.model.partition(":")
        if self.model and (kind != "endpoint" or not colon or not name.partition("/")[0]):
            raise UsageError("no such model", self.model[:40], "Write endpoint:NAME/MODEL, NAME as in [endpoints.NAME] of the settings.")
        if self.asks_model and not self.model:
            what = "these settings ask a model, and none is named"
            raise UsageError(what, ", ".join(self.asks_model), "Give model = endpoint:NAME/MODEL.")
        if self.decompose == "rule" and self.filters != "inferred":
            raise UsageError("sub-questions by rule are those of the filters inferred", "decompose", 'Give filters = "inferred" too.')
        if self.rewrite == "passage" and self.mode == "keyword":
            raise UsageError("a written passage is searched by meaning", "rewrite", "Take mode vector or hybrid.")
        if self.tree != "none" and (self.neighbours or self.parent != "none" or self.reranker):
            raise UsageError("a node is given as the model picked it", "tree", "Leave out reranker, neighbours and parent.")

    @property
    def asks_model(self) -> list[str]:
        """The knobs that ask a chat model."""
        asking = {"rewrite": self.rewrite != "none", "decompose": self.decompose == "model", "rounds": self.rounds > 1,
                  "tree": self.tree != "none"}
        return [name for name, asks in asking.items() if asks]

    @property
    def weights(self) -> dict[str, float]:
        """By source."""
        return {"vector": float(self.vector_weight), "keyword": float(self.keyword_weight)}

    @property
    def hash(self) -> str:
        """16 hex digits; another value of any knob gives another, a new knob that does nothing the same as before."""
        unsaid = _CAME_LATER if self.mode == "hybrid" else {**_CAME_LATER, "fusion": self.fusion}  # of one list nothing is fused
        said = {name: value for name, value in asdict(self).items() if name not in unsaid or value != unsaid[name]}
        return ids.fingerprint({**said, **{f"{name}_weight": value for name, value in self.weights.items()}})


def retriever_of(given: Mapping[str, Any]) -> Retriever:
    """From a table of names and values, as in a file of experiments. Raises UsageError for a name that is not there, a reranker's too."""
    from edgarmill.retrieval.rerank import kinds

    known = {f.name for f in fields(Retriever)}
    if strange := sorted(set(given) - known):
        raise UsageError("no such setting of a retriever", str(strange[0])[:40], f"Settings: {', '.join(sorted(known))}.")
    found = Retriever(**given)
    kind = found.reranker.partition(":")[0]
    if found.reranker and kind not in kinds():
        raise UnknownName("no such reranker", kind[:40], f"Known: {', '.join(kinds())}.")
    return found


def shown(value: object) -> str:
    """A value as an error names it, short: Python writes out no number of more than 4,300 digits."""
    try:
        return repr(value)[:40]
    except ValueError:
        return "a number of very many digits"
