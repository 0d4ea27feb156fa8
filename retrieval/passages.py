"""Small to big: what is given around a hit. Neighbours of its section, its whole section or page, or what its chunker cut it from.

What is given is always document[start:end] of one document; stretches that overlap or touch are given once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from edgarmill.retrieval.fusion import has_pages
from edgarmill.retrieval.pagination import Pages, Span, page_of
from edgarmill.schemas.records import Hit
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.workers.index.rows import quoted

THREADS = 8
_PLACE = ["chunk_id", "document_id", "ordinal", "start", "end", "part", "item", "section_title", "page_start", "page_end"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of one document: text = document[start:end]. `hits`: ranks of the hits in it, the best one first; section and pages are
    the best one's, the pages as far as the stretch goes where that is known."""

    hits: tuple[int, ...]
    document_id: str
    accession: str
    part: str
    item: str
    section_title: str
    page_start: int
    page_end: int
    start: int
    end: int
    text: str
    url: str | None
    tokens: int | None = None  # by the index's tokenizer; None where nothing was counted
    cut: bool = False  # at a border of sentences, for want of room


def plain(hit: Hit) -> Passage:
    """A hit by itself."""
    return Passage((hit.rank,), hit.document_id, hit.accession, hit.part, hit.item, hit.section_title, hit.page_start, hit.page_end,
                   hit.start, hit.end, hit.text, hit.url)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Where a hit's surroundings lie."""

    hit: Hit
    start: int
    end: int
    page_start: int
    page_end: int


def neighbours(dataset: Any, hits: Sequence[Hit], reach: int, fetch: str) -> list[Stretch]:
    """Each hit with up to `reach` chunks before and after it, of its document and section. The three ways to fetch give the same."""
    asks = [_around(hit, reach) for hit in hits]
    if fetch == "query":
        accessions = ", ".join(sorted({quoted(hit.accession) for hit in hits}))
        found = _rows(dataset, f"accession IN ({accessions}) AND ({' OR '.join(f'({ask})' for ask in asks)})") if hits else []
        rows = [found] * len(hits)
    elif fetch == "parallel":
        with ThreadPoolExecutor(min(THREADS, max(1, len(asks)))) as pool:
            rows = list(pool.map(lambda ask: _rows(dataset, ask), asks))
    else:
        rows = [_rows(dataset, ask) for ask in asks]
    return [_walked(hit, some, reach) for hit, some in zip(hits, rows, strict=True)]


def sections(dataset: Any, hits: Sequence[Hit]) -> list[Stretch]:
    """Each hit with its whole section."""
    documents = sorted({(hit.accession, hit.document_id) for hit in hits})
    asks = " OR ".join(f"(accession = {quoted(a)} AND document_id = {quoted(d)})" for a, d in documents)
    accessions = ", ".join(sorted({quoted(a) for a, _ in documents}))
    rows = _rows(dataset, f"accession IN ({accessions}) AND ({asks})") if hits else []
    return [_walked(hit, rows, None) for hit in hits]


def pages(dataset: Any, hits: Sequence[Hit], known: Mapping[str, Pages]) -> list[Stretch]:
    """Each hit with the page that most of it stands on, alone where its document has none. `known`: pages by document; where they are not,
    all chunks that lie on the hit's pages, in part at least."""
    paged = [hit for hit in hits if has_pages(hit) and not known.get(hit.document_id)]
    asks = [f"(accession = {quoted(h.accession)} AND document_id = {quoted(h.document_id)} AND page_start <= {h.page_end} AND "
            f"page_end >= {h.page_start})" for h in paged]
    accessions = ", ".join(sorted({quoted(hit.accession) for hit in paged}))
    rows = _rows(dataset, f"accession IN ({accessions}) AND ({' OR '.join(asks)})") if paged else []
    return [_on_page(hit, known[hit.document_id]) if has_pages(hit) and known.get(hit.document_id) else _paged(hit, rows) for hit in hits]


def _on_page(hit: Hit, known: Pages) -> Stretch:
    start, end = known.get(page_of(hit, known), (hit.start, hit.end))
    return Stretch(hit, min(start, hit.start), max(end, hit.end), hit.page_start, hit.page_end)


def _paged(hit: Hit, rows: Iterable[Mapping[str, Any]]) -> Stretch:
    on = [row for row in rows if has_pages(hit) and row["document_id"] == hit.document_id
          and row["page_start"] <= hit.page_end and row["page_end"] >= hit.page_start]
    ends = [(hit.start, hit.end), *((row["start"], row["end"]) for row in on)]
    return Stretch(hit, min(start for start, _ in ends), max(end for _, end in ends), min([hit.page_start, *(r["page_start"] for r in on)]),
                   max([hit.page_end, *(r["page_end"] for r in on)]))


def ranges(snapshot: Snapshot, hits: Sequence[Hit]) -> list[Stretch]:
    """Each hit with the passage that its chunker cut it from; the hit alone where the chunker makes none."""
    where = {"accession": sorted({hit.accession for hit in hits})}
    wanted = {hit.chunk_id for hit in hits}
    table = snapshot.read("chunks", ["chunk_id", "parent_start", "parent_end"], where)
    parents = {row["chunk_id"]: (row["parent_start"], row["parent_end"]) for row in table.to_pylist()
               if row["chunk_id"] in wanted and row["parent_start"] is not None}
    spans = [parents.get(hit.chunk_id, (hit.start, hit.end)) for hit in hits]
    return [Stretch(hit, min(start, hit.start), max(end, hit.end), hit.page_start, hit.page_end)
            for hit, (start, end) in zip(hits, spans, strict=True)]


def _around(hit: Hit, reach: int) -> str:
    low, high = max(0, hit.ordinal - reach), hit.ordinal + reach
    return f"accession = {quoted(hit.accession)} AND document_id = {quoted(hit.document_id)} AND ordinal >= {low} AND ordinal <= {high}"


def _rows(dataset: Any, where: str) -> list[dict[str, Any]]:
    return list(dataset.scanner(columns=_PLACE, filter=where).to_table().to_pylist())


def _walked(hit: Hit, rows: Iterable[Mapping[str, Any]], reach: int | None) -> Stretch:
    """From the hit outwards, as far as its section goes without a gap, and `reach`."""
    section = (hit.part, hit.item, hit.section_title)
    by = {row["ordinal"]: row for row in rows if row["document_id"] == hit.document_id
          and (row["part"], row["item"], row["section_title"]) == section}
    first = last = hit.ordinal
    while first - 1 in by and (reach is None or hit.ordinal - first < reach):
        first -= 1
    while last + 1 in by and (reach is None or last - hit.ordinal < reach):
        last += 1
    run = [by[place] for place in range(first, last + 1) if place in by]
    ends = [(hit.start, hit.end, hit.page_start, hit.page_end), *((r["start"], r["end"], r["page_start"], r["page_end"]) for r in run)]
    return Stretch(hit, min(e[0] for e in ends), max(e[1] for e in ends), min(e[2] for e in ends), max(e[3] for e in ends))


def passages(stretches: Sequence[Stretch], texts: Mapping[str, str], clip: Callable[[str, Stretch], Span]) -> tuple[list[Passage], int]:
    """The stretches as text, best hits first, and how many hits stand alone because their document's text is not the indexed one any more.

    `clip` gives the range of a stretch that may be given; it holds the hit.
    """
    alone = [plain(s.hit) for s in stretches if texts.get(s.hit.document_id, "")[s.hit.start : s.hit.end] != s.hit.text]
    stale = {rank for passage in alone for rank in passage.hits}
    made: list[Passage] = []
    for stretch in (s for s in stretches if s.hit.rank not in stale):
        text = texts[stretch.hit.document_id]
        start, end = clip(text, stretch)
        whole = (start, end) == (stretch.start, stretch.end)
        made.append(replace(plain(stretch.hit), start=start, end=end, page_start=stretch.page_start, page_end=stretch.page_end,
                            text=text[start:end], cut=not whole))
    merged = [*_merged(made, texts), *alone]
    return sorted(merged, key=lambda passage: passage.hits[0]), len(alone)


def _merged(made: list[Passage], texts: Mapping[str, str]) -> list[Passage]:
    found: list[Passage] = []
    for one in sorted(made, key=lambda passage: (passage.document_id, passage.start, passage.end)):
        last = found[-1] if found else None
        if last is None or last.document_id != one.document_id or one.start > last.end:
            found.append(one)
            continue
        best = min(last, one, key=lambda passage: passage.hits[0])
        start, end = last.start, max(last.end, one.end)
        found[-1] = replace(best, hits=tuple(sorted({*last.hits, *one.hits})), start=start, end=end, text=texts[one.document_id][start:end],
                            page_start=min(last.page_start, one.page_start), page_end=max(last.page_end, one.page_end),
                            cut=last.cut or one.cut)
    return found
