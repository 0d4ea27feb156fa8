"""A resolved question set asked of an index by one retriever: what came back at which rank, what gold it holds, what it took.

A chunk holds a piece of gold when the two ranges, in one document, overlap by at least half of the shorter of the two. So a chunk as long
as the evidence or longer must cover half of it, and of evidence longer than the chunk at least half of the chunk must be evidence (no chunk
could cover half of a long passage; how much of it came back is what coverage@k tells).

A question that cannot be asked, or for which a model gives nothing, has its row with the error; what would strike every question alike (a
reranker that is not there, a damaged index, a refused key) is raised.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

from edgarmill.retrieval.passages import Passage
from edgarmill.retrieval.retrieve import Found
from edgarmill.retrieval.retriever import Retriever
from edgarmill.schemas.errors import BadInput, SettingsError, UnknownName, UsageError
from edgarmill.schemas.records import Asked, GoldRow, Ranking

MODES = ("vector", "keyword", "hybrid")
RULE = "a chunk is relevant when it overlaps the evidence by at least half of the shorter of the two ranges; all others are not relevant"
MOST_WORDS = 300  # characters of an error or note

EXPANDING = ("surroundings", "texts", "budget")
SEARCHING = ("spelling", "filters", "search")


class Reading(Protocol):
    """What answers: `retrieval.retrieve.Reader`."""

    def retrieve(self, question: str, retriever: Retriever | None = None, filters: Any = None, vector: Any = None) -> Found: ...


@dataclass(frozen=True, slots=True)
class Vector:
    """A question's embedding, and the seconds that it took."""

    values: Any
    seconds: float


@dataclass(frozen=True, slots=True)
class EvaluationKey:
    """What is asked of what: the ids that every ranking and score carries."""

    evaluation_id: str
    set_hash: str  # of questions and texts
    version_id: str


@dataclass(frozen=True, slots=True)
class Replay:
    """One row of `asked` a question, in the order of the set, and its hits."""

    rankings: tuple[Ranking, ...]
    asked: tuple[Asked, ...]


def embedded(questions: Iterable[str], embed: Callable[[str], Any], progress: Callable[[], None] = lambda: None) -> dict[str, Vector]:
    """Each different question embedded once, alone and timed, as a reader does it; the first one twice, since opening the model is no
    question's time. One that cannot be embedded is absent: the reader will say why."""
    found: dict[str, Vector] = {}
    embed("warm")
    for text in questions:
        if text not in found:
            began = time.perf_counter()
            try:
                found[text] = Vector(embed(text), time.perf_counter() - began)
            except (BadInput, ValueError):
                pass
        progress()
    return found


class TokenCounter:
    """Tokens of passages; a chunk that many questions find is counted once."""

    def __init__(self, counts: Callable[[Sequence[str]], list[int]]) -> None:
        """`counts` gives the tokens of texts."""
        self._counts = counts
        self._known: dict[tuple[str, int, int], int] = {}

    def counted(self, passages: Sequence[Passage]) -> list[int | None]:
        """Tokens of each passage."""
        places = [(p.document_id, p.start, p.end) for p in passages]
        new = [n for n, (p, place) in enumerate(zip(passages, places, strict=True)) if p.tokens is None and place not in self._known]
        if new:
            self._known |= zip((places[n] for n in new), self._counts([passages[n].text for n in new]), strict=True)
        return [self._known[place] if p.tokens is None else p.tokens for p, place in zip(passages, places, strict=True)]


def replay(key: EvaluationKey, rows: Sequence[GoldRow], reader: Reading, retriever: Retriever, *,
           vectors: Mapping[str, Vector] | None = None, tokens: TokenCounter | None = None,
           progress: Callable[[], None] = lambda: None) -> Replay:
    """Every question of the set, those without gold too. `vectors` by question; without `tokens` none are counted; `progress` is called
    once a question. Raises what would strike every question alike."""
    rankings: list[Ranking] = []
    asked: list[Asked] = []
    for question, gold in by_question(rows):
        vector = (vectors or {}).get(question.question) if retriever.mode != "keyword" and not retriever.spelling else None
        try:
            found = reader.retrieve(question.question, retriever, None, vector.values if vector else None)
        except (SettingsError, UnknownName):
            raise
        except (BadInput, UsageError) as error:
            asked.append(Asked(key.evaluation_id, question.question_id, error=_line(error)))
        else:
            counts = tokens.counted(found.passages) if tokens else [passage.tokens for passage in found.passages]
            rankings += _ranked(key, question.question_id, found, counts, gold)
            asked.append(_asked(key, question.question_id, found, counts, vector))
        progress()
    return Replay(tuple(rankings), tuple(asked))


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


def _ranked(key: EvaluationKey, question_id: str, found: Found, counts: Sequence[int | None], gold: Sequence[GoldRow]) -> Iterator[Ranking]:
    """One row a hit, ranks from 1 in the order given; a chunk that comes twice keeps its first place. `counts`: tokens by passage."""
    given = {rank: (passage.start, passage.end, count) for passage, count in zip(found.passages, counts, strict=True)
             for rank in passage.hits}
    first = {hit.chunk_id: hit for hit in reversed(found.hits)}
    for rank, hit in enumerate((h for h in found.hits if first[h.chunk_id] is h), 1):
        held = tuple(row.ordinal for row in gold if holds(hit.document_id, hit.start, hit.end, row))
        start, end, tokens = given.get(hit.rank, (hit.start, hit.start, 0))
        yield Ranking(key.evaluation_id, key.set_hash, key.version_id, found.retriever.mode, question_id, rank, hit.chunk_id,
                      hit.document_id, hit.start, hit.end, hit.score, held, hit.accession, hit.page_start, hit.page_end, tokens, start, end)


def _asked(key: EvaluationKey, question_id: str, found: Found, counts: Sequence[int | None], vector: Vector | None) -> Asked:
    seconds = dict(found.seconds)
    embedding = [seconds.pop("embed", None), vector.seconds if vector else None]
    taken = {
        "search": _sum(seconds.pop(step, None) for step in SEARCHING),
        "rerank": seconds.pop("rerank", None),
        "expand": _sum(seconds.pop(step, None) for step in EXPANDING),
        "embed": _sum(embedding),
        "model": _sum(seconds.values()),  # whatever else a retriever does, a chat model does it
    }
    used = found.usage
    filters = {f.name: value for f in fields(found.filters) if (value := getattr(found.filters, f.name)) is not None}
    return Asked(
        key.evaluation_id, question_id, taken["embed"], taken["search"], taken["rerank"], taken["expand"], taken["model"],
        _total(counts),
        used.input_tokens if used else None, used.output_tokens if used else None, used.dollars if used else None,
        json.dumps(filters, sort_keys=True, default=str) if filters else None, None, _line("; ".join(found.notes)) or None)


def _sum(parts: Iterable[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _line(error: object) -> str:
    return " ".join(str(error).split())[:MOST_WORDS]


def _total(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if None in known else sum(one for one in known if one is not None)
