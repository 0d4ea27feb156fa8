"""A token budget for what is returned: whole passages in their order, and the last one cut at a border of sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from edgarmill.retrieval.pagination import Span
from edgarmill.retrieval.passages import Passage
from edgarmill.schemas.records import Hit
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.sentences import sentence_starts

CHARACTERS = 6  # of a token, in what is looked at to fill a budget; English has 4.5


def within(passages: Sequence[Passage], hits: Mapping[int, Hit], tokens: int | None, tokenizer: Tokenizer) -> list[Passage]:
    """The passages with their tokens counted, as many as there is room for (None: all).

    What does not fit whole is cut around the beginning of its best hit, and nothing comes after it.
    """
    counts = tokenizer.counts([passage.text for passage in passages])
    kept: list[Passage] = []
    room = tokens
    for passage, count in zip(passages, counts, strict=True):
        if room is None or count <= room:
            kept.append(replace(passage, tokens=count))
            room = room - count if room is not None else None
            continue
        if room > 0:
            kept += _cut(passage, hits[passage.hits[0]], room, tokenizer)
        break
    return kept


def _cut(passage: Passage, hit: Hit, room: int, tokenizer: Tokenizer) -> list[Passage]:
    at = passage.start
    core = (max(hit.start, at) - at, min(hit.end, passage.end) - at)
    start, end = around(passage.text, (0, len(passage.text)), core, room, tokenizer)
    text = passage.text[start:end]
    if not text.strip():
        return []
    held = tuple(rank for rank in passage.hits if rank == hit.rank)
    return [replace(passage, hits=held, start=at + start, end=at + end, text=text, tokens=tokenizer.count(text), cut=True)]


def around(text: str, span: Span, core: Span, room: int, tokenizer: Tokenizer) -> Span:
    """The range within `span` that begins with `core` and grows by whole sentences, on both sides in turn, while it has at most `room`
    tokens. Where not even the first sentence of `core` has room, that is cut between words."""
    reach = room * CHARACTERS
    low, high = max(span[0], core[0] - reach), min(span[1], core[1] + reach)
    cuts = sorted({low, high, *core, *sentence_starts(text, low, high)})
    counts = tokenizer.counts([text[a:b] for a, b in zip(cuts, cuts[1:], strict=False)])
    first = last = cuts.index(core[0])
    left = room
    while last < len(counts) and cuts[last] < core[1] and counts[last] <= left:
        left -= counts[last]
        last += 1
    if last == first:
        end = cuts[first + 1] if first + 1 < len(cuts) else core[1]
        return core[0], core[0] + tokenizer.pieces(text[core[0] : end]).bounded(0, end - core[0], room)
    if cuts[last] >= core[1]:
        first, last = _grown(counts, first, last, left)
    while last > first + 1 and tokenizer.count(text[cuts[first] : cuts[last]]) > room:  # of tokens that join across a border
        first, last = (first, last - 1) if cuts[last] > core[1] or cuts[first] >= core[0] else (first + 1, last)
    start, end = cuts[first], cuts[last]
    return start, max(start + len(text[start:end].rstrip()), core[0] + 1)


def _grown(counts: Sequence[int], first: int, last: int, left: int) -> tuple[int, int]:
    """One sentence after and one before in turn, until neither side has one that fits."""
    ahead = behind = True
    while ahead or behind:
        ahead = ahead and last < len(counts) and counts[last] <= left
        if ahead:
            left -= counts[last]
            last += 1
        behind = behind and first > 0 and counts[first - 1] <= left
        if behind:
            first -= 1
            left -= counts[first]
    return first, last
