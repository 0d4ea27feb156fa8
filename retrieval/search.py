"""Searching one tagged index version: by meaning, by words, or both fused. The embedder is handed in, so nothing heavy is imported here.

    index = open_index(lake, resolve(snapshot), embedder, model_hash)
    hits = index.search("What drove gross margin?", k=10, filters=Filters(ticker="AAPL", year=2024))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from edgarmill.retrieval.filters import Filters
from edgarmill.schemas.errors import LakeCorrupt, UsageError
from edgarmill.schemas.parts import RESTORE
from edgarmill.schemas.records import Hit, IndexVersion
from edgarmill.schemas.store import Lake
from edgarmill.workers.index.dataset import open_dataset
from edgarmill.workers.index.verification import nearest

Embedder = Callable[[str], Sequence[float]]
Mode = Literal["vector", "keyword", "hybrid"]

RRF_K = 60  # of reciprocal rank fusion, as Cormack, Clarke and Buettcher chose (SIGIR 2009)
OVER_FETCH = 10  # candidates per hit asked for: lance#4957 missed some of the best by words otherwise, and ties must all be seen
EXACT_ROWS = 20_000  # a filter that keeps no more is searched exactly, in milliseconds; a vector index would lose some
MAX_HITS = 1_000
MAX_QUESTION = 20_000  # characters
INDEX_CACHE, METADATA_CACHE = 512 * 2**20, 128 * 2**20  # bytes; Lance's own limits are 6 GiB and 1 GiB

_COLUMNS = [f.name for f in fields(Hit) if f.name not in ("rank", "score", "scores")]


@dataclass(frozen=True)
class Index:
    """One version, opened for reading. A later version or tag does not change it."""

    version: IndexVersion
    dataset: Any = field(repr=False)
    embedder: Embedder | None = field(default=None, repr=False)

    def search(self, question: str, k: int = 10, mode: Mode = "hybrid", filters: Filters | None = None,
               vector: Sequence[float] | None = None) -> list[Hit]:
        """The best `k` chunks, best first; fewer only when the filter keeps fewer, or no word of the question occurs (keyword).

        `vector` replaces the embedder's. Equal scores are ordered by chunk id, so the same question has the same answer twice.
        Raises UsageError.
        """
        _check(question, k, mode)
        where = (filters or Filters()).expression
        depth = max(k * OVER_FETCH, 100)
        lists: dict[str, list[dict[str, Any]]] = {}
        if mode in ("vector", "hybrid"):
            lists["vector"] = self._by_vector(self._vector(question, vector), depth, where)
        if mode in ("keyword", "hybrid"):
            lists["keyword"] = self._by_words(question, depth, where)
        return _fused(lists, k) if mode == "hybrid" else _hits(lists[mode], mode, k)

    def _vector(self, question: str, given: Sequence[float] | None) -> Any:
        import numpy as np

        if given is None and self.embedder is None:
            raise UsageError("a search by meaning needs the embedding model", self.version.model, "Give an embedder, or use mode keyword.")
        vector = np.asarray(given if given is not None else self.embedder(question), dtype=np.float32)  # type: ignore[misc]
        wanted = self.dataset.schema.field("vector").type.list_size
        if vector.shape != (wanted,):
            raise UsageError(f"query vector has shape {vector.shape}, not ({wanted},)", self.version.model, "Use the index's model.")
        if not np.isfinite(vector).all() or not vector.any():
            raise UsageError("query vector is zero or not finite", self.version.model, "Ask in other words.")
        return vector

    def _by_vector(self, vector: Any, depth: int, where: str | None) -> list[dict[str, Any]]:
        """Candidates by cosine similarity, best first."""
        with _readable(self.dataset.uri):
            ask = nearest(vector, depth, exact=self._exact(where))
            found = self.dataset.scanner(columns=[*_COLUMNS, "_distance"], nearest=ask, filter=where, prefilter=True).to_table()
        return _ranked({**row, "score": 1.0 - row.pop("_distance")} for row in found.to_pylist())

    def _exact(self, where: str | None) -> bool:
        """Scan or vector index? The filter's rows are counted first."""
        if not any(index.field_names == ["vector"] for index in self.dataset.describe_indices()):
            return True
        return where is not None and self.dataset.count_rows(filter=where) <= EXACT_ROWS

    def _by_words(self, question: str, depth: int, where: str | None) -> list[dict[str, Any]]:
        """Candidates by BM25 over the chunk texts, best first; any word counts. Signs are dropped: there is no query language."""
        from lance.query import MatchQuery

        with _readable(self.dataset.uri):
            found = self.dataset.scanner(columns=[*_COLUMNS, "_score"], full_text_query=MatchQuery(question, "text"), filter=where,
                                         prefilter=True, limit=depth).to_table()
        return _ranked({**row, "score": row.pop("_score")} for row in found.to_pylist())


def open_index(lake: Lake, version: IndexVersion, embedder: Embedder | None = None, model_hash: str | None = None) -> Index:
    """The version by its tag. `model_hash` tells what the embedder is: another model than the version's is refused.

    Raises UsageError, LakeCorrupt (the index is gone or the tag names something else), NewerSchema.
    """
    import lance

    if embedder is not None and model_hash != version.model_hash:
        theirs = f"{version.model} ({version.model_hash[:12]})"
        raise UsageError(f"the index was made with model {theirs}, the reader embeds with {(model_hash or 'an unnamed one')[:12]}",
                         version.tag or version.version_id, "Use that model, or build an index with yours.")
    session = lance.Session(index_cache_size_bytes=INDEX_CACHE, metadata_cache_size_bytes=METADATA_CACHE)
    dataset = open_dataset(lake, version.recipe, version.tag or version.lance_version, session)
    if dataset.version != version.lance_version:
        raise LakeCorrupt(f"tag names Lance version {dataset.version}, the catalog {version.lance_version}", str(version.tag),
                          RESTORE)
    return Index(version, dataset, embedder)


@contextmanager
def _readable(uri: str) -> Iterator[None]:
    """Turns Lance's errors into LakeCorrupt: question, filter and vector were checked before, so the files are at fault."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        raise LakeCorrupt(f"index cannot be read ({str(error).splitlines()[0][:200]})", uri, RESTORE) from error


def _check(question: str, k: int, mode: str) -> None:
    if not question.strip():
        raise UsageError("the question is empty", "", "Ask something.")
    if len(question) > MAX_QUESTION:
        raise UsageError(f"the question has {len(question):,} characters", "", f"Ask in at most {MAX_QUESTION:,}.")
    if not question.isprintable() and any("\ud800" <= c <= "\udfff" for c in question):
        raise UsageError("the question is not valid text", "", "Give it as UTF-8.")
    if not 1 <= k <= MAX_HITS:
        raise UsageError(f"{k} hits asked for", "", f"Ask for 1 to {MAX_HITS}.")
    if mode not in get_args(Mode):
        raise UsageError("no such mode", mode[:40], f"Modes: {', '.join(get_args(Mode))}.")


def _ranked(rows: Any) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (-row["score"], row["chunk_id"]))


def _hits(rows: list[dict[str, Any]], source: str, k: int) -> list[Hit]:
    return [_hit(row, rank, row["score"], {source: row["score"]}) for rank, row in enumerate(rows[:k], 1)]


def _fused(lists: dict[str, list[dict[str, Any]]], k: int) -> list[Hit]:
    """Reciprocal rank fusion: each list gives 1 / (60 + rank) to what it found."""
    rows: dict[str, dict[str, Any]] = {}
    scores: dict[str, dict[str, float]] = {}
    fused: dict[str, float] = {}
    for source, ranked in lists.items():
        for rank, row in enumerate(ranked, 1):
            key = row["chunk_id"]
            rows[key] = row
            scores.setdefault(key, {})[source] = row["score"]
            fused[key] = fused.get(key, 0.0) + 1.0 / (RRF_K + rank)
    best = sorted(fused, key=lambda key: (-fused[key], key))[:k]
    return [_hit(rows[key], rank, fused[key], scores[key]) for rank, key in enumerate(best, 1)]


def _hit(row: dict[str, Any], rank: int, score: float, scores: dict[str, float]) -> Hit:
    known = {name: row[name] for name in _COLUMNS}
    known["tickers"] = tuple(known["tickers"] or ())
    return Hit(rank=rank, score=score, scores=scores, **known)
