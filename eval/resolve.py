"""A question set resolved against the texts of a lake: every piece of evidence becomes a character range of a document, once.

The rows are stored in `question_sets` under a key that covers the questions and the texts of the filings they name; as long as neither
changes, they are read back instead of resolved again. Evidence that cannot be found is an error of the set, named in `problems`: it is no
miss of an index.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from posixpath import basename

from edgarmill.eval.locate import Source, locate
from edgarmill.eval.questions.question_set import QuestionSet
from edgarmill.schemas.ids import digest, text_hash
from edgarmill.schemas.records import Gold, GoldRow, Question, Section
from edgarmill.schemas.store import Snapshot

RESOLVER = 2  # raise it when locate.py decides otherwise: stored ranges are then found anew
BATCH_BYTES = 64 * 2**20  # of filings whose texts are held at a time

ENDING = re.compile(r"\.(?:txt|html?|pdf|nc)$")
ACCESSION = re.compile(r"(\d{10})-?(\d{2})-?(\d{6})(?!\d)")


@dataclass(frozen=True, slots=True)
class Resolved:
    """Rows of `question_sets`, in the order of the set; `stored` when the lake holds them already."""

    key: str
    rows: tuple[GoldRow, ...]
    problems: tuple[str, ...]
    stored: bool


def resolved_rows(questions: QuestionSet, snapshot: Snapshot) -> Resolved:
    """The set's evidence as ranges of the snapshot's documents; rows that are stored under the same key are taken from there."""
    filings = _filings_named(questions, snapshot)
    key = _key(questions, filings, snapshot)
    rows = _stored(questions, snapshot, key)
    found = rows or _resolve(questions, filings, snapshot, key)
    return Resolved(key, found, tuple(_problems(found, filings)), bool(rows))


def stored_rows(questions: QuestionSet, snapshot: Snapshot) -> Resolved | None:
    """As `resolved_rows` where the lake holds them; else None, and the texts are not searched."""
    filings = _filings_named(questions, snapshot)
    key = _key(questions, filings, snapshot)
    rows = _stored(questions, snapshot, key)
    return Resolved(key, rows, tuple(_problems(rows, filings)), True) if rows else None


def _stored(questions: QuestionSet, snapshot: Snapshot, key: str) -> tuple[GoldRow, ...]:
    import pyarrow.compute as pc

    return _in_order(questions, snapshot.records("question_sets", where=pc.field("set_hash") == key))


def _filings_named(questions: QuestionSet, snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    """For each name that the gold uses: the accessions that it may mean (none: not in the lake; several: ambiguous)."""
    table = snapshot.read("filings", columns=["accession", "name"])
    accessions, by_name = set(table["accession"].to_pylist()), defaultdict(set)
    for accession, name in zip(table["accession"].to_pylist(), table["name"].to_pylist(), strict=True):
        for tier, form in enumerate(_spellings(name or "")):
            by_name[tier, form].add(accession)
    refs = {gold.ref for question in questions.questions for gold in question.gold}
    return {ref: _meant(ref, questions.name, accessions, by_name) for ref in refs}


def _meant(ref: str, corpus: str, accessions: set[str], by_name: dict[tuple[int, str], set[str]]) -> tuple[str, ...]:
    """By accession or document id as stored; as a passage of the set's own corpus; by file name, as strictly as one is found by; and last
    by the accession with which a file's name begins."""
    stem = ref.partition(":")[0]
    if stem in accessions:
        return (stem,)
    own = by_name.get((0, _spellings(f"{corpus}/{ref}")[0]))
    tiers = (by_name.get((tier, form)) for tier, form in enumerate(_spellings(ref)))
    named = own or next((found for found in tiers if found), None)
    if named:
        return tuple(sorted(named))
    match = ACCESSION.match(basename(ref))
    accession = "-".join(match.groups()) if match else ""
    return (accession,) if accession in accessions else ()


def _spellings(name: str) -> tuple[str, str, str, str]:
    """A file's or passage's name, ever less of it: the whole, without its first folder (of a passage the corpus), without any, and
    without its ending. Letter case, blanks and packing make no difference."""
    whole = name.removesuffix(".gz").removesuffix(".zst").lower().replace(" ", "_")
    bare = basename(whole)
    return whole, whole.partition("/")[2] or whole, bare, ENDING.sub("", bare)


def _key(questions: QuestionSet, filings: dict[str, tuple[str, ...]], snapshot: Snapshot) -> str:
    """Hash of the questions and of the texts of all filings that they name."""
    texts = sorted((s.document_id, text_hash(s.text)) for sources in _sources(filings.values(), snapshot, frozenset()) for s in sources)
    return digest(RESOLVER, questions.set_hash, *(part for pair in texts for part in pair))


def _sources(meant: Iterable[tuple[str, ...]], snapshot: Snapshot, paged: frozenset[str]) -> Iterator[list[Source]]:
    """The documents of each filing that is meant without doubt, filing by filing, BATCH_BYTES at a time; those of `paged` with pages."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = sorted({accessions[0] for accessions in meant if len(accessions) == 1})
    sizes = snapshot.read("documents", columns=["accession", "bytes"], where=pc.field("accession").isin(pa.array(wanted, pa.string())))
    for batch in _batches(sizes["accession"].to_pylist(), sizes["bytes"].to_pylist()):
        chosen = pc.field("accession").isin(batch)
        sections: dict[str, list[Section]] = defaultdict(list)
        for section in snapshot.records("sections", where=chosen):
            sections[section.document_id].append(section)
        pages = _pages([accession for accession in batch if accession in paged], snapshot)
        by_filing: dict[str, list[Source]] = defaultdict(list)
        for d in sorted(snapshot.records("documents", where=chosen), key=lambda d: (d.accession, d.sequence)):
            ordered = tuple(sorted(sections[d.document_id], key=lambda s: s.ordinal))
            by_filing[d.accession].append(Source(d.document_id, d.type, d.text, ordered, pages.get(d.document_id, ())))
        yield from by_filing.values()


def _pages(accessions: Sequence[str], snapshot: Snapshot) -> dict[str, tuple[tuple[int, int, int], ...]]:
    """(page, start, end) of each element, by document."""
    import pyarrow.compute as pc

    found: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    if accessions:
        table = snapshot.read("elements", columns=["document_id", "page", "start", "end"], where=pc.field("accession").isin(accessions))
        for document, *place in zip(*(table[name].to_pylist() for name in table.column_names), strict=True):
            found[document].append((place[0], place[1], place[2]))
    return {document: tuple(sorted(places, key=lambda p: p[1])) for document, places in found.items()}


def _batches(accessions: Sequence[str], sizes: Sequence[int | None]) -> Iterator[list[str]]:
    total: dict[str, int] = defaultdict(int)
    for accession, size in zip(accessions, sizes, strict=True):
        total[accession] += size or 0
    batch: list[str] = []
    held = 0
    for accession in sorted(total):
        if batch and held + total[accession] > BATCH_BYTES:
            yield batch
            batch, held = [], 0
        batch.append(accession)
        held += total[accession]
    if batch:
        yield batch


def _resolve(questions: QuestionSet, filings: dict[str, tuple[str, ...]], snapshot: Snapshot, key: str) -> tuple[GoldRow, ...]:
    asked: dict[str, set[Gold]] = defaultdict(set)
    for gold in (gold for question in questions.questions for gold in question.gold):
        if len(filings[gold.ref]) == 1:
            asked[filings[gold.ref][0]].add(gold)
    paged = frozenset(accession for accession, golds in asked.items() if any(gold.page for gold in golds))
    found: dict[Gold, Gold] = {}
    for sources in _sources(filings.values(), snapshot, paged):
        for gold in asked[sources[0].document_id.rpartition(":")[0]]:
            found[gold] = locate(gold, [s for s in sources if s.document_id == gold.ref] or sources)
    return tuple(row for question in questions.questions for row in _rows(question, found, questions, key))


def _rows(question: Question, found: dict[Gold, Gold], of: QuestionSet, key: str) -> Iterator[GoldRow]:
    """One row for each piece of evidence; one without evidence, ordinal -1, for a question that has none."""
    head = (key, of.name, question.question_id)
    asked, last = (question.question, question.category, question.answer), (of.set_hash, of.licence, question.kind or None)
    if not question.gold:
        yield GoldRow(*head, -1, *asked, "", "", "", "", None, "", None, None, None, None, *last)
    for ordinal, gold in enumerate(question.gold):
        place = found.get(gold) or replace(gold, start=None)
        yield GoldRow(*head, ordinal, *asked, gold.ref, gold.quote, gold.part, gold.item, gold.page, gold.type,
                      place.document_id, place.start, place.end, place.how, *last)


def _in_order(questions: QuestionSet, rows: Iterable[GoldRow]) -> tuple[GoldRow, ...]:
    order = {question.question_id: number for number, question in enumerate(questions.questions)}
    return tuple(sorted(rows, key=lambda row: (order[row.question_id], row.ordinal)))


def _problems(rows: Iterable[GoldRow], filings: dict[str, tuple[str, ...]]) -> Iterator[str]:
    for row in rows:
        if row.ordinal < 0 or row.how:
            continue
        accessions = filings[row.ref]
        if not accessions:
            what = f"{row.ref} is not in this lake"
        elif len(accessions) > 1:
            what = f"{row.ref} may be any of {len(accessions)} filings; name its accession"
        elif row.type == "document":
            what = f"{row.ref} has no document with text"
        else:
            what = f"not found in the text of {row.ref}: {' '.join(row.quote.split())[:80]!r}"
        yield f"{row.question_id} gold {row.ordinal + 1}: {what}"
