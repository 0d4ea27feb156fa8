"""A resolved question set asked of an index: what came back at which rank, what gold it holds, and how long it took.

A chunk holds a piece of gold when the two ranges, in one document, overlap by at least half of the shorter of the two. So a chunk as long
as the evidence or longer must cover half of it, and of evidence longer than the chunk at least half of the chunk must be evidence (no chunk
could cover half of a long passage; how much of it came back is what coverage@k tells).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from edgarmill.schemas.records import GoldRow, Hit, Ranking

MODES = ("vector", "keyword", "hybrid")
RULE = "a chunk is relevant when it overlaps the evidence by at least half of the shorter of the two ranges; all others are not relevant"


class Searcher(Protocol):
    """Hits for a question, best first. `vector` is the question's embedding where the caller has it; the keyword mode needs none."""

    def __call__(self, question: str, mode: str, k: int, vector: Any = None) -> list[Hit]: ...


@dataclass(frozen=True, slots=True)
class Replay:
    """Rankings of all modes; seconds of each question: of the search by mode, of embedding it (none where the searcher embeds)."""

    rankings: tuple[Ranking, ...]
    search_seconds: Mapping[str, tuple[float, ...]]
    embed_seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class EvaluationKey:
    """What is asked of what: the ids that every ranking and score carries."""

    evaluation_id: str
    set_hash: str  # of questions and texts
    version_id: str


def replay(key: EvaluationKey, rows: Sequence[GoldRow], search: Searcher, *, embed: Callable[[str], Any] | None = None,
           modes: Sequence[str] = MODES, k: int = 10, progress: Callable[[], None] = lambda: None) -> Replay:
    """Every question of the set, those without gold too, in every mode. `progress` is called once a question."""
    rankings: list[Ranking] = []
    seconds: dict[str, list[float]] = {mode: [] for mode in modes}
    embed_seconds: list[float] = []
    for question, gold in by_question(rows):
        vector = None
        if embed and any(mode != "keyword" for mode in modes):
            began = time.perf_counter()
            vector = embed(question.question)
            embed_seconds.append(time.perf_counter() - began)
        for mode in modes:
            began = time.perf_counter()
            hits = search(question.question, mode, k, vector if mode != "keyword" else None)
            seconds[mode].append(time.perf_counter() - began)
            rankings += _ranked(key, mode, question.question_id, hits[:k], gold)
        progress()
    return Replay(tuple(rankings), {mode: tuple(s) for mode, s in seconds.items()}, tuple(embed_seconds))


def by_question(rows: Iterable[GoldRow]) -> Iterator[tuple[GoldRow, list[GoldRow]]]:
    """Each question's first row, for what is asked, and the rows of its gold by ordinal; in the order of the rows."""
    grouped: dict[str, list[GoldRow]] = {}
    for row in rows:
        grouped.setdefault(row.question_id, []).append(row)
    for group in grouped.values():
        yield group[0], sorted((row for row in group if row.ordinal >= 0), key=lambda row: row.ordinal)


def holds(document_id: str, start: int, end: int, gold: GoldRow) -> bool:
    """Does the chunk hold the gold? By the rule of this module; never where the gold is unresolved."""
    if gold.document_id != document_id or gold.start is None or gold.end is None:
        return False
    overlap = min(end, gold.end) - max(start, gold.start)
    return overlap > 0 and 2 * overlap >= min(end - start, gold.end - gold.start)


def _ranked(key: EvaluationKey, mode: str, question_id: str, hits: Sequence[Hit], gold: Sequence[GoldRow]) -> Iterator[Ranking]:
    """One row a hit, ranks from 1 in the order given; a chunk that comes twice keeps its first place."""
    first = {hit.chunk_id: hit for hit in reversed(hits)}
    for rank, hit in enumerate((h for h in hits if first[h.chunk_id] is h), 1):
        held = tuple(row.ordinal for row in gold if holds(hit.document_id, hit.start, hit.end, row))
        yield Ranking(key.evaluation_id, key.set_hash, key.version_id, mode, question_id, rank, hit.chunk_id, hit.document_id, hit.start,
                      hit.end, hit.score, held)
