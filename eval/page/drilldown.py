"""Every question of a page as data: gold, what each arm found, and the text around both, once. The page's script makes rows of it.

What is kept is bounded: questions by MOST_QUESTIONS and MOST_HITS, those in which the arms differ most first; texts by MOST_CHARACTERS, the
best ranks first. What is left out is counted and said. Text is shown of a hit only where it still is what was searched: the chunk's
id, a hash of its text, tells.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edgarmill.eval.evaluation import places_of
from edgarmill.eval.metrics import Judged
from edgarmill.eval.page.excerpts import checks_of, excerpts, levels_of
from edgarmill.eval.page.subject import Arm, Subject
from edgarmill.eval.page.words import plain, short
from edgarmill.eval.scores import STEPS, slices
from edgarmill.schemas.records import Asked, GoldRow, Ranking
from edgarmill.schemas.snapshot import Snapshot

MOST_QUESTIONS = 1_000
MOST_HITS = 40_000
MOST_CHARACTERS = 22_000_000  # of documents' text: 6 to 10 MB in the page
HITS = 10  # shown of a question and arm
QUOTE, NAME, LINE = 4_000, 120, 500  # characters kept of a quote or question, of a name, of an error or note

Key = tuple[str, str, int, int]  # chunk, document, start, end


@dataclass
class Index:
    """Values by number, each once."""

    places: dict[Any, int] = field(default_factory=dict)

    def of(self, value: Any) -> int:
        return self.places.setdefault(value, len(self.places))


def drilldown(snapshot: Snapshot, subject: Subject) -> dict[str, Any]:
    """The data that the page carries; keys are read by page.js."""
    questions = chosen(subject)
    gold = [g for q in questions for g in q.gold]
    hits = [hit for q in questions for arm in subject.arms for hit in _hits(arm, q)]
    documents, chunks = Index(), Index()
    for document in (*(g.document_id for g in gold), *(hit.document_id for hit in hits)):
        documents.of(document)
    rows = _chunk_rows(snapshot, hits)
    checks = checks_of(gold, hits, {key: row["chunker"] for key, row in rows.items()})
    texts = excerpts(snapshot, list(documents.places), levels_of(gold, hits, HITS), checks, MOST_CHARACTERS)
    parts = slices(questions, places_of(snapshot, gold))
    names = [name for name in parts if name != "all"]
    of = {name: {q.question_id for q in parts[name]} for name in names}
    made = []
    for q in questions:
        marks = [n for n, name in enumerate(names) if q.question_id in of[name]]
        held = [(g.question_id, g.ordinal) in texts.sure for g in q.gold]
        pieces = [_gold(g, documents, sure) for g, sure in zip(q.gold, held, strict=True)]
        made.append({**_question(subject, q), "s": marks, "g": pieces,
                     "h": [[_hit(hit, chunks) for hit in _hits(arm, q)] for arm in subject.arms]})
    return {
        "arms": [plain(arm.label) for arm in subject.arms],
        "metrics": _metrics(subject),
        "slices": [plain(name) for name in names],
        "documents": [_document(row) for row in _filings(snapshot, documents)],
        "chunks": [_chunk(key, documents, rows.get(key[0], {}), key[0] in texts.sure) for key in chunks.places],
        "texts": texts.kept,
        "ranks": texts.levels - 1,  # hits up to this rank have their text
        "all": len(subject.arms[0].stored.judged),
        "questions": made,
    }


def chosen(subject: Subject) -> list[Judged]:
    """Judged questions in the order of their ids; where they are too many, those in which the primary metric differs most."""
    judged = subject.arms[0].stored.judged
    each = sum(min(HITS, arm.row.k) for arm in subject.arms)
    most = max(1, min(MOST_QUESTIONS, MOST_HITS // max(each, 1)))
    if len(judged) <= most:
        return list(judged)
    columns = [arm.values.get(subject.primary, {}) for arm in subject.arms]

    def apart(q: Judged) -> float:
        values = [column[q.question_id] for column in columns if q.question_id in column]
        return max(values, default=0.0) - min(values, default=0.0)

    kept = {q.question_id for q in sorted(judged, key=lambda q: (-apart(q), q.question_id))[:most]}
    return [q for q in judged if q.question_id in kept]


def encoded(data: Mapping[str, Any]) -> str:
    """JSON that can stand in a script element: nothing in it can end that, or begin a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate({ord(c): f"\\u{ord(c):04x}" for c in "&<>\u2028\u2029"})


def packed(texts: Sequence[Any]) -> str:
    """JSON as base64 of gzip: what is unpacked when a passage is first opened, a third as long as it is."""
    data = json.dumps(texts, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()


def _hits(arm: Arm, q: Judged) -> Sequence[Ranking]:
    return arm.stored.ranked.get(q.question_id, ())[:HITS]


def _metrics(subject: Subject) -> list[str]:
    return [metric for metric in subject.metrics if metric in subject.arms[0].values]


# --- rows --------------------------------------------------------------------------------------------------------------------------

def _question(subject: Subject, q: Judged) -> dict[str, Any]:
    """id, question, category, answer; by arm: values of the metrics, the rank of each piece of gold, what it took."""
    first = subject.arms[0].stored.questions[q.question_id]
    return {
        "id": plain(q.question_id),
        "q": plain(first.question[:QUOTE]),
        "c": plain(q.category[:NAME]),
        "a": plain(first.answer[:QUOTE]),
        "v": [[_rounded(arm.values.get(metric, {}).get(q.question_id)) for metric in _metrics(subject)] for arm in subject.arms],
        "r": [_ranks(arm.stored.ranked.get(q.question_id, ()), q) for arm in subject.arms],
        "t": [_taken(arm.stored.asked.get(q.question_id)) for arm in subject.arms],
    }


def _gold(g: GoldRow, documents: Index, held: bool) -> list[Any]:
    """document, start, end, page, quote, type, Item, whether its text is still there."""
    item = ".".join(filter(None, (g.part, g.item)))
    words = (plain(g.quote[:QUOTE]), plain(g.type[:NAME]), plain(item[:NAME]))
    return [documents.of(g.document_id), g.start, g.end, g.page, *words, int(held)]


def _hit(hit: Ranking, chunks: Index) -> list[Any]:
    """rank, chunk, score, gold, given start and end (null: itself), tokens."""
    place = chunks.of((hit.chunk_id, hit.document_id, hit.start, hit.end))
    return [hit.rank, place, _rounded(hit.score), list(hit.gold), hit.given_start, hit.given_end, hit.tokens]


def _ranks(hits: Iterable[Ranking], q: Judged) -> list[int | None]:
    """The first rank of each piece of gold, in the order of the question's gold."""
    found: dict[int, int] = {}
    for hit in hits:
        for ordinal in hit.gold:
            found.setdefault(ordinal, hit.rank)
    return [found.get(g.ordinal) for g in q.gold]


def _taken(one: Asked | None) -> list[Any]:
    """seconds, tokens, dollars, filters, error, notes."""
    if one is None:
        return [None] * 6
    seconds = sum(getattr(one, f"{step}_seconds") or 0.0 for step in STEPS)
    said = [None if text is None else short(text, LINE) for text in (one.filters, one.error, one.notes)]
    return [_rounded(seconds), one.tokens, None if one.usd is None else float(one.usd), *said]


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")


def _document(row: Mapping[str, Any]) -> list[Any]:
    """company, form, period, accession, address on EDGAR (null: not known), document."""
    url = row.get("url") or ""
    return [short(row.get("company") or "", NAME), short(row.get("form") or "", NAME), str(row.get("period_on") or ""), row["accession"],
            plain(url) if url.startswith("https://") else None, row["sequence"]]


def _filings(snapshot: Snapshot, documents: Index) -> Iterator[dict[str, Any]]:
    keys = [(key or "").rpartition(":") for key in documents.places]
    wanted = ["accession", "company", "form", "period_on", "url"]
    rows = snapshot.read("filings", wanted, {"accession": sorted({accession for accession, _, _ in keys})}).select(wanted).to_pylist()
    known = {row["accession"]: row for row in rows}
    return ({**known.get(accession, {}), "accession": accession, "sequence": sequence} for accession, _, sequence in keys)


def _chunk_rows(snapshot: Snapshot, hits: Iterable[Ranking]) -> dict[str, dict[str, Any]]:
    """Section, pages and chunker of the chunks that the lake still has."""
    wanted = ["chunk_id", "chunker", "part", "item", "section_title", "page_start", "page_end"]
    table = snapshot.read("chunks", wanted, {"chunk_id": sorted({hit.chunk_id for hit in hits})})
    return {row["chunk_id"]: row for row in table.select(wanted).to_pylist()}


def _chunk(key: Key, documents: Index, row: Mapping[str, Any], sure: bool) -> list[Any]:
    """document, start, end, section, first and last page (null: not known), whether its text is still what was searched."""
    item = ".".join(filter(None, (row.get("part"), row.get("item"))))
    section = short(" ".join(filter(None, (item, row.get("section_title")))), NAME)
    return [documents.of(key[1]), key[2], key[3], section, row.get("page_start"), row.get("page_end"), int(sure)]
