"""Stretches of documents around gold and hits, each character once, and whether the texts are still those that were searched."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgarmill.eval.page.words import plain
from edgarmill.schemas.ids import chunk_id
from edgarmill.schemas.records import GoldRow, Ranking
from edgarmill.schemas.snapshot import Snapshot

AROUND = 400  # characters shown before and after a range
PART = 1_200  # of a long range, at either end
ALIKE = 60.0  # per cent, of a quote and the text at its range; fuzzy gold is above 80 when it is resolved
COMPARED = 2_000  # characters

Range = tuple[int, int]
Level = dict[str, list[Range]]  # by document
Check = tuple[Hashable, Callable[[str], bool]]  # of a document's text


@dataclass(frozen=True, slots=True)
class Excerpts:
    """`kept`: of each document in turn [start, text, start, text …]; `sure`: the checks that hold; `levels`: how many were kept."""

    kept: list[list[Any]]
    sure: frozenset[Hashable]
    levels: int


def excerpts(snapshot: Snapshot, documents: Sequence[str], levels: Sequence[Level], checks: Mapping[str, Sequence[Check]],
             most: int) -> Excerpts:
    """As many levels of ranges as have no more than `most` characters together; the first ones are the most wanted."""
    ranges, kept_levels = within(levels, most)
    numbers, sure = {name: n for n, name in enumerate(documents)}, set[Hashable]()
    kept: list[list[Any]] = [[] for _ in documents]
    for batch in snapshot.batches("documents", ["document_id", "text"], {"document_id": sorted(documents)}):
        for name, text in zip(batch["document_id"].to_pylist(), batch["text"].to_pylist(), strict=True):
            sure |= {key for key, holds in checks.get(name, ()) if holds(text)}
            kept[numbers[name]] = [part for start, end in ranges.get(name, ()) if start < len(text)
                                   for part in (start, plain(text[start:end]))]
    return Excerpts(kept, frozenset(sure), kept_levels)


def within(levels: Sequence[Level], most: int) -> tuple[Level, int]:
    """The ranges of the first levels, merged, and how many levels they are."""
    kept: Level = {}
    for n, level in enumerate(levels):
        more = {name: merged([*kept.get(name, ()), *level.get(name, ())]) for name in kept.keys() | level.keys()}
        if sum(end - start for ranges in more.values() for start, end in ranges) > most:
            return kept, n
        kept = more
    return kept, len(levels)


def merged(ranges: Iterable[Range]) -> list[Range]:
    """In order and without overlap, those that touch joined."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def levels_of(gold: Iterable[GoldRow], hits: Iterable[Ranking], ranks: int) -> list[Level]:
    """What is wanted: gold first, then hits of the first rank, of the second …"""
    levels: list[Level] = [defaultdict(list) for _ in range(ranks + 1)]
    for g in gold:
        levels[0][g.document_id or ""] += _shown(g.start or 0, g.end or 0)
    for hit in hits:
        levels[min(hit.rank, ranks)][hit.document_id] += _shown(hit.start, hit.end)
    return levels


def _shown(start: int, end: int) -> list[Range]:
    """A range with its surroundings; of a long one both ends."""
    if end - start <= 2 * PART + AROUND:
        return [(max(0, start - AROUND), end + AROUND)]
    return [(max(0, start - AROUND), start + PART), (end - PART, end + AROUND)]


def checks_of(gold: Iterable[GoldRow], hits: Iterable[Ranking], chunkers: Mapping[str, str]) -> dict[str, list[Check]]:
    """By document: that a chunk's id is still the hash of its text, by the chunker's fingerprint; that a quote still stands at its range.
    Keys are chunk ids, and pairs of question and ordinal."""
    found: dict[str, list[Check]] = defaultdict(list)
    for hit in {hit.chunk_id: hit for hit in hits}.values():
        if chunker := chunkers.get(hit.chunk_id):
            found[hit.document_id].append((hit.chunk_id, _unchanged(hit, chunker)))
    for g in gold:
        found[g.document_id or ""].append(((g.question_id, g.ordinal), _quoted(g)))
    return found


def _unchanged(hit: Ranking, chunker: str) -> Callable[[str], bool]:
    return lambda text: chunk_id(hit.document_id, chunker, hit.start, hit.end, text[hit.start : hit.end]) == hit.chunk_id


def _quoted(g: GoldRow) -> Callable[[str], bool]:
    from rapidfuzz.fuzz import ratio

    return lambda text: ratio(_folded(g.quote), _folded(text[g.start or 0 : g.end or 0])) >= ALIKE


def _folded(text: str) -> str:
    return " ".join(text[:COMPARED].split())
