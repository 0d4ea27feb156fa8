"""What may be asked and what is answered, field by field: the source of the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from edgarmill.retrieval.filters import MOST_VALUES, Filters
from edgarmill.retrieval.retriever import (
    KEYWORD_WEIGHT,
    RRF_K,
    Decompose,
    FilterUse,
    Fusion,
    Mode,
    Parent,
    Retriever,
    Rewrite,
    Spread,
    TreeUse,
    Words,
)
from edgarmill.schemas.errors import UsageError

MOST_CHARACTERS = 4_000  # of a question

Text = Annotated[str, StringConstraints(min_length=1, max_length=201)]
Texts = Text | Annotated[list[Text], Field(min_length=1, max_length=MOST_VALUES)] | None
# Not lenient: true would be 1, and "5" 5.
Whole = Annotated[int, Field(strict=True)]
Number = Annotated[float, Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Year = Annotated[Whole, Field(ge=1900, le=2200)]
Quarter = Annotated[Whole, Field(ge=1, le=4)]


class Strict(BaseModel):
    """A field that does not exist is refused, not ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AskedFilters(Strict):
    """All given ones must hold; of several values of one, any."""

    ticker: Texts = Field(None, description="filer by ticker", examples=["AAPL"])
    cik: Texts = Field(None, description="filer by CIK", examples=["320193"])
    filer: Texts = Field(None, description="CIKs, tickers, and names exactly as filed (=Apple Inc.), any of which")
    form: Texts = Field(None, description="10-K, 10-Q, 8-K: the whole family; any other: exactly that form", examples=["10-K"])
    year: Year | Annotated[list[Year], Field(min_length=1, max_length=MOST_VALUES)] | None = Field(None, description="fiscal year")
    quarter: Quarter | Annotated[list[Quarter], Field(min_length=1, max_length=4)] | None = Field(
        None, description="fiscal quarter; 4 is the annual report")
    item: Texts = Field(None, description="7, 1A, II.1A, 2.02", examples=["7"])
    part: Texts = Field(None, description="I, II, III, IV")
    accession: Texts = Field(None, description="one filing or several", examples=["0000320193-24-000123"])
    since: date | None = Field(None, description="filed on that day or later")
    until: date | None = Field(None, description="filed on that day or before")
    period_since: date | None = Field(None, description="period ended on that day or later")
    period_until: date | None = Field(None, description="period ended on that day or before")

    def filters(self) -> Filters:
        given: Any = {name: tuple(value) if isinstance(value, list) else value for name, value in self}
        return Filters(**given)


class AskedRetriever(Strict):
    """How it is searched."""

    words: Words = Field("any", description="any: those that occur; all: each must occur; phrase: in this order, side by side")
    fusion: Fusion = Field("scores", description="of the two lists: by how far their scores stand out, or by ranks")
    rrf_k: Whole = Field(RRF_K, ge=1, le=10_000, description="k of reciprocal rank fusion")
    vector_weight: Number = Field(1.0, ge=0, le=1000, description="of the list by meaning in the fusion")
    keyword_weight: Number = Field(KEYWORD_WEIGHT, ge=0, le=1000, description="of the list by words")
    filters: FilterUse = Field("given", description="inferred: those given, and what they leave open from the question; none: neither")
    spelling: Flag = Field(False, description="words that the index does not have are corrected to words that it has")
    reranker: str = Field("", max_length=200, description="a kind that the service allows: cross_encoder, late_interaction, endpoint")
    k_initial: Whole = Field(30, ge=1, le=200, description="hits that the reranker reads")
    neighbours: Whole = Field(0, ge=0, le=5, description="passages before and after a hit, of its section, that are given with it")
    parent: Parent = Field("none", description="given in place of a hit: its section or page whole, or the passage its chunker cut it from")
    terms: Flag = Field(False, description="accounting terms are searched too as lines of the statements that they stand in")
    spread: Spread = Field("none", description="page: one hit a page")
    parent_tokens: Whole = Field(2_000, ge=1, le=10_000, description="a longer parent is cut to this around the hit")
    tokens: Whole | None = Field(None, ge=1, le=200_000, description="most tokens of all passages, by the tokenizer of the index")
    decompose: Decompose = Field("none", description="into sub-questions; rule: one for each company and year that filters=inferred finds")
    rewrite: Rewrite = Field("none", description="query: in a filing's words; passage: the vector is that of a passage that would answer")
    rounds: Whole = Field(1, ge=1, le=3, description="searches at most, a model looking at what came back before each further one")
    tree: TreeUse = Field("none", description="a model picks nodes of the filings' trees: walk, or narrowed to those that the search finds")
    tree_steps: Whole = Field(6, ge=1, le=8, description="looks at nodes in a walk")
    tree_width: Whole = Field(4, ge=1, le=8, description="filings walked, and nodes opened at a step")
    model: str = Field("", max_length=200, description=(
        "what decompose=model, rewrite, rounds and tree ask: one that the service allows (setting service_models); the first of them"))
    model_tokens: Whole | None = Field(None, ge=1_000, le=10_000_000, description="of the model; the service may allow fewer")


class Question(Strict):
    question: str = Field(min_length=1, max_length=MOST_CHARACTERS)
    k: Whole = Field(10, ge=1, le=1000, description="hits; the service may allow fewer (setting service_hits)")
    mode: Mode = Field("hybrid", description="by meaning, by words, or both fused")
    filters: AskedFilters = AskedFilters()
    retriever: AskedRetriever = AskedRetriever()

    def knobs(self, rerankers: Mapping[str, str], models: Sequence[str] = (), model_tokens: int = 50_000) -> Retriever:
        """`rerankers`: the whole name, which may hold a path, by kind; `models`: that may be asked, for at most so many tokens.

        Raises UsageError for what is not allowed, and for knobs that do not go together.
        """
        given = self.retriever.model_dump()
        asked = given["model_tokens"] or model_tokens
        if asked > model_tokens:
            raise UsageError(f"{asked:,} tokens asked for", "model_tokens", f"This service gives at most {model_tokens:,}.")
        if given["model"] and given["model"] not in models:
            raise UsageError("no such model of this service", given["model"][:40], f"Allowed: {', '.join(models) or 'none'}.")
        asking = given["decompose"] == "model" or given["rewrite"] != "none" or given["rounds"] > 1 or given["tree"] != "none"
        if asking and not models:
            raise UsageError("this service asks no model", "", "Leave out rewrite, rounds, tree and decompose=model.")
        given |= {"model_tokens": asked, "model": given["model"] or (models[0] if asking else "")}
        if given["reranker"]:
            if given["reranker"] not in rerankers:
                raise UsageError("no such reranker of this service", given["reranker"][:40], f"Allowed: {', '.join(rerankers) or 'none'}.")
            given["reranker"] = rerankers[given["reranker"]]
        return Retriever(mode=self.mode, k=self.k, **given)


QUESTIONS: dict[str, Any] = {
    "one company": {"summary": "One company's annual report of one fiscal year", "value": {
        "question": "What drove the change in gross margin?", "k": 5, "filters": {"ticker": "AAPL", "form": "10-K", "year": 2024}}},
    "words": {"summary": "By words alone, each of which must occur", "value": {
        "question": "largest supplier", "mode": "keyword", "retriever": {"words": "all"}}},
    "context": {"summary": "Filters read from the question, each hit with its neighbours, at most 2,000 tokens", "value": {
        "question": "What moved Apple's gross margin in fiscal 2024?",
        "retriever": {"filters": "inferred", "neighbours": 1, "tokens": 2000}}},
    "companies": {"summary": "A part for each company and year that is named, fused", "value": {
        "question": "How did gross margin differ between Apple and Microsoft in fiscal 2024?",
        "retriever": {"filters": "inferred", "decompose": "rule"}}},
    "weights": {"summary": "Both lists, words weighing more, over several companies", "value": {
        "question": "credit loss provision", "filters": {"ticker": ["JPM", "BAC"]}, "retriever": {"keyword_weight": 1.5}}},
}


class Version(BaseModel):
    """Which version answered. Headers X-Edgarmill-Recipe, -Tag and -Version say the same, in refusals too."""

    recipe: str
    tag: str | None
    version_id: str
    prod: bool = Field(description="false: nothing is promoted, this is the newest verified version")


class Passage(BaseModel):
    """A chunk with its place: text = document[start:end]."""

    chunk_id: str
    document_id: str
    accession: str
    company: str | None
    ciks: list[str]
    tickers: list[str]
    form: str
    fiscal_year: int | None
    fiscal_quarter: int | None
    filed_on: date | None
    period_on: date | None
    part: str
    item: str
    section_title: str
    page_start: int
    page_end: int
    start: int
    end: int
    ordinal: int
    text: str
    url: str | None


class Hit(Passage):
    rank: int
    score: float
    scores: dict[str, float] = Field(description="by source")


class Plan(BaseModel):
    rows: int | None = Field(description="that the filters keep; null where they were not counted")
    how: Literal["exact", "index", "words", "tree"]


class Correction(BaseModel):
    """question[start:end] as it was given, read as another word."""

    text: str
    corrected: str
    start: int
    end: int


class Inferred(BaseModel):
    field: Literal["filer", "year", "quarter", "form"]
    values: list[int | str]
    text: str = Field(description="of the question, from start to end")
    start: int
    end: int
    dropped: bool = Field(description="it would have left nothing")


class Given(BaseModel):
    """A stretch of one document, text = document[start:end], with the hits that lie in it."""

    hits: list[int] = Field(description="their ranks")
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
    tokens: int | None
    cut: bool


class Searched(BaseModel):
    """A part of the question as it was searched."""

    question: str
    why: str = Field(description="question, rule, model, or the round that asked for it")
    filters: dict[str, Any]
    hits: int
    searched: str | None = Field(description="the text that was searched for, where it is not the question's")


class Visit(BaseModel):
    how: Literal["filing", "opened", "picked"]
    step: int
    accession: str
    node_id: str
    title: str
    page_start: int | None
    page_end: int | None


class Spent(BaseModel):
    """On models at endpoints."""

    calls: int
    hits: int | None = Field(description="calls that were answered before, and cost nothing")
    input_tokens: int | None
    output_tokens: int | None
    dollars: str | None


class Hits(BaseModel):
    version: Version
    question: str = Field(description="as it was read, that is, spelt")
    retriever: dict[str, Any] = Field(description="every knob that was in force")
    retriever_hash: str
    filters: dict[str, Any] = Field(description="that were in force")
    corrections: list[Correction]
    inferred: list[Inferred]
    plan: Plan
    hits: list[Hit]
    passages: list[Given] | None = Field(description="what is to be given to whoever answers; null where it is the hits as they are")
    tokens: int | None = Field(description="of all passages; null where nothing was counted")
    left_out: int = Field(description="passages that there was no room for")
    stale: int = Field(description="hits given alone: their document was read anew since the version was built")
    seconds: dict[str, float] = Field(description="by step")
    searched: list[Searched]
    visits: list[Visit] = Field(description="filings and nodes that a model chose")
    notes: list[str] = Field(description="steps that went on without their model, and why")
    usage: Spent | None


class Chunk(BaseModel):
    version: Version
    chunk: Passage
    before: list[Passage] = Field(description="the chunks before it in its document, in reading order")
    after: list[Passage]


class Section(BaseModel):
    part: str
    item: str
    title: str
    start: int
    end: int
    page_start: int
    page_end: int
    pointer: str | None
    found: str


class OutlinedDocument(BaseModel):
    document_id: str
    sequence: int
    type: str
    name: str
    media: str
    bytes: int
    pages: int
    sections: list[Section]


class Outline(BaseModel):
    version: Version
    snapshot: int = Field(description="number of the lake's snapshot that was read: tables are as they are now")
    accession: str
    company: str | None
    form: str
    fiscal_year: int | None
    fiscal_quarter: int | None
    period_on: date | None
    filed_on: date | None
    url: str | None
    documents: list[OutlinedDocument]
    tree: dict[str, Any] | None = Field(description="nodes of the main document: title, start_index, end_index, node_id, summary, nodes")


class Facts(BaseModel):
    version: Version
    snapshot: int
    total: int
    facts: list[dict[str, Any]] = Field(description="of restated figures the newest filing's")
    near: list[str] = Field(description="concepts that are spelt alike, where there is none of this name")


class KnownVersion(BaseModel):
    recipe: str
    tag: str | None
    version_id: str
    state: str
    model: str
    filings: int
    chunks: int
    created_at: str
    serving: bool


class Versions(BaseModel):
    version: Version
    snapshot: int
    total: int
    versions: list[KnownVersion]


class Health(BaseModel):
    live: bool


class Ready(BaseModel):
    ready: bool
    version: Version
    behind: dict[str, str] | None = Field(description="why the version that is wanted is not the one that is served")


class Problem(BaseModel):
    what: str
    subject: str
    todo: str


class Failure(BaseModel):
    error: Problem
