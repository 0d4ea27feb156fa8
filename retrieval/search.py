"""Searching one tagged index version: by meaning, by words, or both fused. The embedder is handed in, so nothing heavy is imported here.

    index = open_index(lake, resolve(snapshot), embedder, model_hash)
    hits = index.search("What drove gross margin?", k=10, filters=Filters(ticker="AAPL", year=2024))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.fusion import Scored, fused, fused_by_score
from edgarmill.retrieval.retriever import MAX_HITS, RRF_K, Mode, Retriever
from edgarmill.schemas.errors import EdgarmillError, LakeCorrupt, UsageError
from edgarmill.schemas.interrupts import heeding
from edgarmill.schemas.parts import RESTORE
from edgarmill.schemas.records import Hit, IndexVersion
from edgarmill.schemas.store import Lake
from edgarmill.workers.index.dataset import open_dataset
from edgarmill.workers.index.nearest import EXACT_ROWS, nearest_rows

__all__ = ["EXACT_ROWS", "MAX_HITS", "MAX_QUESTION", "OVER_FETCH", "RRF_K", "Candidates", "Embedder", "Index", "Mode", "Plan", "open_index"]

Embedder = Callable[[str], Sequence[float]]

OVER_FETCH = 10  # candidates per hit asked for: lance#4957 missed some of the best by words otherwise, and ties must all be seen
# Candidates of each list where scores are fused and the rows are scanned: their mean and spread stand for all that the filter keeps. Of
# 100, 300, 500, 1,000 and 2,000 the last lost nothing to all rows. With a vector index the lists stay short: it would read the vector of
# each one.
SCORED = 2_000
MAX_QUESTION = 20_000  # characters
INDEX_CACHE, METADATA_CACHE = 512 * 2**20, 128 * 2**20  # bytes; Lance's own limits are 6 GiB and 1 GiB

_COLUMNS = [f.name for f in fields(Hit) if f.name not in ("rank", "score", "scores")]


@dataclass(frozen=True)
class Plan:
    """How the rows were searched by meaning. `rows`: that the filter keeps, of all where there is none; None: they were not counted."""

    rows: int | None
    how: str  # exact: every row the filter keeps; index: the vector index; words: by words alone


@dataclass(frozen=True)
class Candidates:
    hits: list[Hit]
    plan: Plan


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
        return self.candidates(question, Retriever(mode=mode, k=k), filters, vector).hits

    def candidates(self, question: str, retriever: Retriever, filters: Filters | None = None,
                   vector: Sequence[float] | None = None) -> Candidates:
        """As `search`, by mode, words, weights and k of a retriever, and how it was done; its other knobs are `retrieve`'s."""
        check_question(question)
        where = (filters or Filters()).expression
        mode, k = retriever.mode, retriever.k
        depth = max(k * OVER_FETCH, 100)
        columns = ["_rowid", "chunk_id"] if mode == "hybrid" and retriever.fusion == "ranks" else ["_rowid"]  # texts are read of hits alone
        lists: dict[str, Any] = {}  # Arrow tables of these columns and `score`
        plan = Plan(None, "words")
        if mode in ("vector", "hybrid"):
            asked = self._vector(question, vector)
            with readable(self.dataset.uri):
                plan = self._plan(where)
            if mode == "hybrid" and retriever.fusion == "scores" and plan.how == "exact":
                depth = max(depth, SCORED)
            lists["vector"], plan = self._by_vector(asked, depth, where, plan, columns)
        if mode in ("keyword", "hybrid"):
            lists["keyword"] = self._by_words(question, retriever.words, depth, where, columns)
        scored = {source: (found["_rowid"].to_numpy(), found["score"].to_numpy().astype(float)) for source, found in lists.items()}
        if mode != "hybrid":
            best = scored[mode]
        elif retriever.fusion == "ranks":
            best = _by_ranks(lists, retriever)
        else:
            every = len(lists["keyword"]) < depth  # every row that holds a word of the question is there
            best = fused_by_score(scored, retriever.weights, {"keyword": 0.0} if every else {})
        return Candidates(self._hits(best, scored, k), plan)

    def count(self, filters: Filters) -> int:
        """Rows that a filter keeps. Raises UsageError, LakeCorrupt."""
        where = filters.expression
        with readable(self.dataset.uri):
            return int(self.dataset.count_rows(filter=where))

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

    def _by_vector(self, vector: Any, depth: int, where: str | None, plan: Plan, columns: list[str]) -> tuple[Any, Plan]:
        """Candidates by cosine similarity, never fewer than there are rows to give."""
        with readable(self.dataset.uri):
            found = self._nearest(vector, depth, where, plan, columns)
            if plan.how == "index" and len(found) < min(depth, plan.rows or 0):
                plan = Plan(plan.rows, "exact")
                found = self._nearest(vector, depth, where, plan, columns)
        return found.append_column("score", [1.0 - found["_distance"].to_numpy().astype(float)]), plan

    def _nearest(self, vector: Any, depth: int, where: str | None, plan: Plan, columns: list[str]) -> Any:
        wanted = max(1, depth // OVER_FETCH)
        return nearest_rows(self.dataset, vector, depth, columns, where, exact=plan.how == "exact", wanted=wanted)

    def _hits(self, best: Scored, lists: Mapping[str, Scored], k: int) -> list[Hit]:
        """The `k` best, equal ones by chunk id; read in full, and with them those that equal the last."""
        import numpy as np

        rows, scores = best
        if not len(rows):
            return []
        if len(rows) > k:
            first = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
            rows, scores = rows[first], scores[first]
        with readable(self.dataset.uri):
            places = ", ".join(map(str, rows.tolist()))
            found = self.dataset.scanner(columns=_COLUMNS, filter=f"_rowid IN ({places})", with_row_id=True).to_table().to_pylist()
        total = dict(zip(rows.tolist(), scores.tolist(), strict=True))
        found.sort(key=lambda row: (-total[row["_rowid"]], row["chunk_id"]))
        of = {source: dict(zip(keys.tolist(), each.tolist(), strict=True)) for source, (keys, each) in lists.items()}
        return [_hit(row, rank, total[row["_rowid"]], {source: one[row["_rowid"]] for source, one in of.items() if row["_rowid"] in one})
                for rank, row in enumerate(found[:k], 1)]

    def _plan(self, where: str | None) -> Plan:
        """Scan or vector index? The filter's rows are counted first."""
        rows = self._rows if where is None else int(self.dataset.count_rows(filter=where))
        return Plan(rows, "index" if self._indexed and (where is None or rows > EXACT_ROWS) else "exact")

    @cached_property
    def _rows(self) -> int:
        return int(self.dataset.count_rows())

    @cached_property
    def _indexed(self) -> bool:
        return any(index.field_names == ["vector"] for index in self.dataset.describe_indices())

    def _by_words(self, question: str, words: str, depth: int, where: str | None, columns: list[str]) -> Any:
        """Candidates by BM25 over the chunk texts. Signs are dropped: there is no query language."""
        with readable(self.dataset.uri):
            found = self.dataset.scanner(columns=[*columns, "_score"], full_text_query=_text_query(question, words), filter=where,
                                         prefilter=True, limit=depth).to_table()
        return found.append_column("score", found["_score"])


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
def readable(uri: str) -> Iterator[None]:
    """Turns Lance's errors into LakeCorrupt: question, filter and vector were checked before, so the files are at fault."""
    try:
        with heeding():
            yield
    except EdgarmillError:
        raise  # some are ValueErrors
    except (OSError, ValueError, RuntimeError) as error:
        raise LakeCorrupt(f"index cannot be read ({str(error).splitlines()[0][:200]})", uri, RESTORE) from error


def check_question(question: str) -> None:
    """Raises UsageError for what cannot be asked."""
    if not question.strip():
        raise UsageError("the question is empty", "", "Ask something.")
    if len(question) > MAX_QUESTION:
        raise UsageError(f"the question has {len(question):,} characters", "", f"Ask in at most {MAX_QUESTION:,}.")
    if not question.isprintable() and any("\ud800" <= c <= "\udfff" for c in question):
        raise UsageError("the question is not valid text", "", "Give it as UTF-8.")


def _text_query(question: str, words: str) -> Any:
    """A query of Lance's full-text index: any word, all of them, or the words side by side in this order."""
    from lance.query import FullTextOperator, MatchQuery, PhraseQuery

    if words == "phrase":
        return PhraseQuery(question, "text")
    return MatchQuery(question, "text", operator=FullTextOperator.AND if words == "all" else FullTextOperator.OR)


def _by_ranks(lists: Mapping[str, Any], retriever: Retriever) -> Scored:
    """Fused by reciprocal ranks, equal scores of a list by chunk id."""
    import numpy as np

    rows: dict[str, int] = {}
    ranked: dict[str, list[str]] = {}
    for source, found in lists.items():
        ids = found["chunk_id"].to_pylist()
        rows |= zip(ids, found["_rowid"].to_pylist(), strict=True)
        ranked[source] = [key for _, key in sorted(zip((-found["score"].to_numpy()).tolist(), ids, strict=True))]
    best = fused(ranked, retriever.weights, retriever.rrf_k)
    return np.array([rows[key] for key, _ in best], dtype=np.uint64), np.array([score for _, score in best], dtype=float)


def _hit(row: dict[str, Any], rank: int, score: float, scores: dict[str, float]) -> Hit:
    known = {name: row[name] for name in _COLUMNS}
    for name in ("tickers", "ciks"):
        known[name] = tuple(known[name] or ())
    return Hit(rank=rank, score=score, scores=scores, **known)
