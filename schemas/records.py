"""Frozen records that travel between stages. Field names are column names of `tables.py`, where units and meanings stand.

A list below is a tuple so that records stay hashable and picklable. Character ranges are [start, end) into `Document.text`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Filing:
    """One accession. What a source knows; the open stage completes it from the content."""

    accession: str
    name: str = ""  # file name in a folder source, primary document on EDGAR, corpus and id of a passage
    source: str = ""  # edgar | folder | passages
    url: str | None = None
    form: str = ""
    family: str = ""  # 10-K | 10-Q | 8-K | other
    amends: bool = False
    ciks: tuple[str, ...] = ()  # ten digits
    company: str | None = None
    tickers: tuple[str, ...] = ()
    filed_on: date | None = None
    period_on: date | None = None
    accepted_at: datetime | None = None  # UTC
    fiscal_year: int | None = None
    fiscal_quarter: int | None = None  # 1-4; 4 for an annual report; None for an 8-K
    fiscal_year_end: str | None = None  # MMDD
    items: tuple[str, ...] = ()
    sic: str | None = None
    state: str | None = None
    sha256: str = ""  # of the bytes as received, decompressed
    bytes: int = 0
    status: str = "parsed"  # parsed | quarantined | removed | missing
    filers: tuple[str, ...] = ()  # conformed names, one per CIK of `ciks`
    file_numbers: tuple[str, ...] = ()
    film_numbers: tuple[str, ...] = ()
    original: str | None = None  # of an amendment: accession of what it amends


@dataclass(frozen=True, slots=True)
class Received:
    """Bytes that a source gave for an accession, kept in raw/ under their hash."""

    accession: str
    source: str
    place: str  # URL, or name in the folder
    sha256: str
    bytes: int
    received_at: datetime
    part: str | None = None  # submission | bundle | header | document


@dataclass(frozen=True, slots=True)
class Listing:
    """One filing as EDGAR lists it, kept so that what was listed once is never lost and need not be listed again."""

    accession: str
    ciks: tuple[str, ...]  # filers under which it was met, ten digits each
    form: str
    filed_on: date | None
    period_on: date | None  # None in an index file, which does not say it
    company: str | None
    tickers: tuple[str, ...]
    items: tuple[str, ...]
    primary: str  # name of the primary document, "" where it is not said
    size: int | None  # bytes of the full submission text
    accepted: str  # as listed: its Z is false for many filers
    file_number: str
    fiscal_year_end: str | None
    sic: str | None
    state: str | None
    found: str  # filer | daily | full
    listed_at: datetime  # first


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of one filer: everything that EDGAR lists of the families we take, filed from `since` through `through`, stands in `listings`."""

    cik: str
    since: date | None  # None = from the first
    through: date
    found: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Event:
    """Something that EDGAR changed, or says in two ways; or a filing that was taken out, or put back."""

    accession: str
    kind: str  # changed | gone | unlisted | relisted | disagrees | removed | missing | restored
    before: str
    after: str
    at: datetime

    @property
    def what(self) -> tuple[str, str, str, str]:
        """Without its time: told once."""
        return self.accession, self.kind, self.before, self.after


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a filing that carries text."""

    document_id: str
    accession: str
    sequence: int
    type: str  # 10-K, EX-99.1 …
    name: str
    media: str  # html | text | pdf
    bytes: int
    encoding: str
    text: str
    pages: int
    engine: str  # parser name and version
    visible_chars_in: int | None  # of the source, None where the engine cannot say
    visible_chars_out: int
    numbers_in: int | None  # distinct numbers
    numbers_out: int | None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Element:
    document_id: str
    accession: str
    ordinal: int
    kind: str  # heading | paragraph | list_item | table | footnote | signature
    level: int | None  # of a heading, 1 is the highest
    start: int
    end: int
    page: int
    page_label: str | None
    section: str | None  # "II.7" (part.item) | "2.02" | "EX-99.1"
    grid: str | None = None  # JSON of a table: {"rows": [[…]], "header_rows": n, "unit": …}


@dataclass(frozen=True, slots=True)
class Section:
    document_id: str
    accession: str
    part: str  # "I" … "IV", "" on an 8-K
    item: str  # "1A", "7", "2.02"; "" for text before the first item
    title: str
    start: int
    end: int
    page_start: int
    page_end: int
    pointer: str | None  # what a stub points to
    found: str  # heading | index | combined
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class FactRow:
    """One fact of inline XBRL as stored."""

    document_id: str
    accession: str
    ordinal: int
    concept: str
    entity: str
    start_on: date | None
    end_on: date | None
    instant_on: date | None
    days: int | None
    dimensions: str  # JSON {axis: member}, sorted; "{}" = the company as a whole
    unit: str | None
    value: str | None
    number: float | None
    decimals: str | None
    text: str
    nil: bool
    hidden: bool
    footnotes: tuple[str, ...]
    warning: str


@dataclass(frozen=True, slots=True)
class Chunk:
    chunk_id: str
    document_id: str
    accession: str
    chunker: str  # fingerprint
    ordinal: int  # order in the document
    start: int
    end: int
    text: str
    tokens: int  # of the text alone, without special tokens
    part: str
    item: str
    section_title: str
    page_start: int
    page_end: int
    prefix: str | None = None  # unit and header rows of the table that the text continues; embedded before it, no part of the text
    parent_start: int | None = None  # of the passage that this one is a part of
    parent_end: int | None = None


@dataclass(frozen=True, slots=True)
class Chunking:
    """What a chunker made of one document, in visible characters: chars = kept + dropped + left_out."""

    document_id: str
    accession: str
    chunker: str  # fingerprint
    chunks: int
    tokens: int  # of the chunks; what two share counts twice
    chars: int
    kept: int
    dropped: int  # fragments too short to be a chunk
    left_out: int  # outside of the Items that the recipe keeps


@dataclass(frozen=True, slots=True)
class Context:
    chunk_id: str
    accession: str
    fingerprint: str
    context: str
    tokens: int  # of context and text as embedded, special tokens included
    cut_tokens: int  # beyond the model's window
    text_hash: str  # of the embedded text: context, blank line, chunk text
    fallback: str | None = None  # why it is the metadata context and not the recipe's: class of the error


@dataclass(frozen=True, slots=True)
class TreeNode:
    """One node of a document's tree. Its own text is its range without those of its children."""

    document_id: str
    accession: str
    tree: str  # key of the tree stage
    node_id: str  # "0001" in reading order, the root first
    parent: str | None
    ordinal: int  # reading order, from 0
    level: int  # 0 is the root
    title: str
    section: str | None  # the Item that it is or lies in, as in elements
    start_index: int  # first physical page
    end_index: int  # last physical page, inclusive
    start: int
    end: int
    chars: int  # of its own text
    tokens: int | None  # of its own text; None where nobody asked
    cut_tokens: int | None  # of those, beyond what a model is shown
    summary: str | None
    summarised: str | None  # model | text (as short as a summary); None = no summary
    builder: str
    model: str | None  # that was asked for the tree or its summaries
    fallback: str | None  # why the builder is not the recipe's: class of the error, and what was wrong with the tree
    unsummarised: str | None  # why a summary that was asked for is not there: class of the error


@dataclass(frozen=True, slots=True)
class Embedding:
    text_hash: str
    model_hash: str
    accession: str  # the filing that first needed it
    vector: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """What one stage spent on one subject. None = not measured; a reused result has origin "reused" and 0 dollars.

    The six token buckets are disjoint: together they are what the provider counted in all.
    """

    subject: str
    stage: str
    model: str | None = None
    provider: str | None = None
    origin: str = "counted"  # provider | counted | reused
    calls: int = 0
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float | None = None
    cpu_seconds: float | None = None
    gpu_seconds: float | None = None
    peak_bytes: int | None = None
    dollars: Decimal | None = None
    price: str | None = None  # which price row or setting made the dollars
    cache_write_tokens: int | None = None
    cache_write_hour_tokens: int | None = None
    reasoning_tokens: int | None = None
    hits: int | None = None  # calls answered from our own cache
    tier: str | None = None  # standard | batch
    price_set: str | None = None  # hash of the price table that was asked


@dataclass(frozen=True, slots=True)
class Estimated:
    """What a run was estimated to take in one stage, of one model, before it was made. None = not known."""

    stage: str
    model: str | None
    provider: str | None  # None = the work is done on this machine
    tier: str | None
    filings: int
    requests: int | None
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    input_low: int | None
    input_high: int | None
    seconds: float | None
    dollars_low: Decimal | None
    dollars: Decimal | None
    dollars_high: Decimal | None


@dataclass(frozen=True, slots=True)
class Quarantine:
    subject: str  # accession
    name: str
    stage: str
    reason: str  # class of the error
    message: str
    todo: str
    expected: bool  # False: our own defect
    sha256: str
    at: datetime


@dataclass(frozen=True, slots=True)
class WorkDone:
    """(subject, stage, version, fingerprint, input) was done; `part` names the Parquet parts that hold its rows."""

    subject: str
    stage: str
    version: int
    fingerprint: str
    sha256: str  # of the raw bytes
    outcome: str  # done | quarantined
    part: str


@dataclass(frozen=True, slots=True)
class RunRecord:
    run_id: str
    command: str
    started_at: datetime
    ended_at: datetime | None
    outcome: str  # done | quarantined | failed | stopped
    exit_code: int
    source: str
    recipe: str
    recipe_fingerprint: str
    recipe_json: str
    engine: str  # loop | ray
    planned: int
    indexed: int
    unchanged: int
    quarantined: int
    tag: str | None
    versions: str  # JSON of package versions, commit, machine
    message: str
    fetched: int | None = None


@dataclass(frozen=True, slots=True)
class RunStage:
    run_id: str
    stage: str
    subjects: int
    rows: int
    seconds: float
    peak_bytes: int | None


@dataclass(frozen=True, slots=True)
class IndexVersion:
    version_id: str
    recipe: str
    recipe_fingerprint: str
    model: str
    model_hash: str
    lance_version: int
    tag: str | None
    parent: str | None
    state: str  # draft | verified | rejected
    filings: int
    chunks: int
    tokens: int
    cut_tokens: int
    bytes: int
    dollars: Decimal | None
    manifest: str  # JSON: corpus snapshot, counts, versions
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Check:
    version_id: str
    check: str
    expected: str
    found: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Gold:
    """One piece of evidence. `document_id`, `start`, `end` are set by resolution against the document's text.

    A set may state `start` itself, where the quote begins in that text: of several places the nearest one is then meant.
    """

    ref: str  # what the set names: file name, accession or document
    quote: str  # "" of a whole document
    part: str = ""
    item: str = ""
    page: int | None = None  # counted from 1
    type: str = "text"  # text | table | mixed | passage | document
    document_id: str | None = None
    start: int | None = None
    end: int | None = None
    how: str | None = None  # exact | fuzzy | document (no range: it counts for documents alone) | None = unresolved


@dataclass(frozen=True, slots=True)
class Question:
    question_id: str
    question: str
    category: str  # single-hop | multi-hop | summary | null
    answer: str
    gold: tuple[Gold, ...] = ()
    kind: str = ""  # what the set itself calls such a question


@dataclass(frozen=True, slots=True)
class Hit:
    """One found chunk, best first. Provenance down to page and character."""

    rank: int
    score: float
    chunk_id: str
    document_id: str
    accession: str
    company: str | None
    tickers: tuple[str, ...]
    form: str
    fiscal_year: int | None
    filed_on: date | None
    period_on: date | None
    part: str
    item: str
    section_title: str
    page_start: int
    page_end: int
    start: int
    end: int
    text: str
    url: str | None
    scores: dict[str, float] = field(default_factory=dict)  # by source: vector, keyword, rerank
    ciks: tuple[str, ...] = ()
    fiscal_quarter: int | None = None
    ordinal: int = 0  # order in the document


@dataclass(frozen=True, slots=True)
class GoldRow:
    """A question set as stored: one row per piece of evidence (one with empty gold fields where a question has none)."""

    set_hash: str
    set_name: str
    question_id: str
    ordinal: int
    question: str
    category: str
    answer: str
    ref: str
    quote: str
    part: str
    item: str
    page: int | None
    type: str
    document_id: str | None
    start: int | None
    end: int | None
    how: str | None
    questions_hash: str | None = None  # of the questions alone, whatever the texts; null in rows of old
    licence: str | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Ranking:
    """One hit of one question in one evaluation."""

    evaluation_id: str
    set_hash: str
    version_id: str
    mode: str  # vector | keyword | hybrid
    question_id: str
    rank: int
    chunk_id: str
    document_id: str
    start: int
    end: int
    score: float
    gold: tuple[int, ...]  # ordinals of the gold that this hit holds: overlap of at least half of the shorter range
    accession: str | None = None
    page_start: int | None = None
    page_end: int | None = None
    tokens: int | None = None  # of the passage given in its place, which several hits may share
    given_start: int | None = None  # of that passage; None = the hit itself
    given_end: int | None = None  # equal to given_start: nothing, for want of room


@dataclass(frozen=True, slots=True)
class EvaluationRow:
    """One question set asked of one index version by one retriever. Its rows in the other tables carry its id."""

    evaluation_id: str
    set_hash: str  # of questions and texts
    questions_hash: str  # of the questions alone
    set_name: str
    version_id: str
    recipe: str
    tag: str | None
    manifest_hash: str
    corpus_hash: str
    retriever: str  # JSON of its knobs
    retriever_hash: str
    experiment: str | None
    arm: str
    k: int
    questions: int  # asked
    judged: int
    null_questions: int
    unresolved: int  # questions kept out: some of their gold is not found
    failed: int
    hits: int
    metrics: int  # version of the definitions that `scores` follows
    software: str  # JSON
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of one evaluation: what it took, and why it has no hits where it failed. None = not measured, or not done."""

    evaluation_id: str
    question_id: str
    embed_seconds: float | None = None
    search_seconds: float | None = None
    rerank_seconds: float | None = None
    expand_seconds: float | None = None
    model_seconds: float | None = None
    tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: Decimal | None = None
    filters: str | None = None
    error: str | None = None
    notes: str | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of one evaluation, over all questions or one category. Null = not measured."""

    evaluation_id: str
    set_hash: str
    version_id: str
    mode: str
    category: str  # "all", a category, or a slice: form:10-K, year:2024, type:table
    metric: str  # MRR@5, Recall@5, hit@5, nDCG@10, latency_p50_seconds …
    value: float | None
    questions: int


@dataclass(frozen=True, slots=True)
class GateRow:
    """One answer of a promotion gate: which version, against which, by which rule, and what was said."""

    gate_id: str
    questions_hash: str
    set_hash: str
    set_name: str
    version_id: str
    evaluation_id: str
    before_version_id: str | None
    before_evaluation_id: str | None
    rule: str
    rule_hash: str
    rule_json: str
    outcome: str  # pass | fail | undecided | not comparable
    line: str
    checks: str  # JSON
    at: datetime


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One question of a set answered in one way: an answerer, its model and prompts, a retriever, an index version."""

    answer_id: str
    answers_id: str
    question_id: str
    question: str
    category: str
    gold: str  # the set's answer
    document: str  # that the set's first evidence is of; "" where it names none
    questions_hash: str
    set_name: str
    version_id: str
    kind: str
    model: str  # provider/model
    prompt_hash: str
    retriever: str  # JSON of its knobs
    retriever_hash: str
    text: str
    claims: str  # JSON
    citations: str  # JSON
    given: str  # JSON
    refused: bool | None  # None where there is no answer
    error: str | None
    why: str | None
    notes: str | None
    seconds: float | None
    calls: int
    hits: int
    input_tokens: int | None
    output_tokens: int | None
    usd: Decimal | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class JudgementRow:
    """What a judge says of an answer, or of two. Advisory: no gate reads it."""

    judgement_id: str
    series: str
    kind: str  # gold | pair | claims
    judge: str | None  # provider/model
    prompt_hash: str
    question_id: str
    answers_id: str
    answer_id: str
    other_answers_id: str | None
    other_id: str | None
    label: str | None
    detail: str  # JSON
    flipped: bool | None
    claims: int | None
    supported: int | None
    unsupported: int | None
    by_string: int | None
    why: str | None
    seconds: float | None
    calls: int
    hits: int
    input_tokens: int | None
    output_tokens: int | None
    usd: Decimal | None
    created_at: datetime
