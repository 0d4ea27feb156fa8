"""What may be asked and what is answered, field by field: the source of the OpenAPI document."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from edgarmill.retrieval.filters import MOST_VALUES, Filters
from edgarmill.retrieval.retriever import RRF_K, Mode, Retriever, Words

MOST_CHARACTERS = 4_000  # of a question

Text = Annotated[str, StringConstraints(min_length=1, max_length=201)]
Texts = Text | Annotated[list[Text], Field(min_length=1, max_length=MOST_VALUES)] | None
Year = Annotated[int, Field(ge=1900, le=2200)]
Quarter = Annotated[int, Field(ge=1, le=4)]


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
    rrf_k: int = Field(RRF_K, ge=1, le=10_000, description="k of reciprocal rank fusion")
    vector_weight: float = Field(1.0, ge=0, le=1000, description="of the list by meaning in the fusion")
    keyword_weight: float = Field(1.0, ge=0, le=1000, description="of the list by words")


class Question(Strict):
    question: str = Field(min_length=1, max_length=MOST_CHARACTERS)
    k: int = Field(10, ge=1, le=1000, description="hits; the service may allow fewer (setting service_hits)")
    mode: Mode = Field("hybrid", description="by meaning, by words, or both fused")
    filters: AskedFilters = AskedFilters()
    retriever: AskedRetriever = AskedRetriever()

    def knobs(self) -> Retriever:
        """Raises UsageError for knobs that do not go together."""
        return Retriever(mode=self.mode, k=self.k, **self.retriever.model_dump())


QUESTIONS: dict[str, Any] = {
    "one company": {"summary": "One company's annual report of one fiscal year", "value": {
        "question": "What drove the change in gross margin?", "k": 5, "filters": {"ticker": "AAPL", "form": "10-K", "year": 2024}}},
    "words": {"summary": "By words alone, each of which must occur", "value": {
        "question": "largest supplier", "mode": "keyword", "retriever": {"words": "all"}}},
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
    how: Literal["exact", "index", "words"]


class Hits(BaseModel):
    version: Version
    question: str
    retriever: dict[str, Any] = Field(description="every knob that was in force")
    retriever_hash: str
    plan: Plan
    hits: list[Hit]


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
