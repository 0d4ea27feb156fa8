"""Every table of the lake: its key, its record, its columns with unit and meaning. The only place where they stand.

`run_id` (the run that wrote the row) is added to every table by the store; records do not carry it.
Times are UTC microseconds, money is decimal USD, character ranges are int64 `[start, end)` into `documents.text`.
A figure that was not measured is null, never 0. Columns are only ever added, null for the past; anything else raises
SCHEMA_VERSION, and a reader that meets a newer one says so and stops.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from edgarmill.schemas import records

SCHEMA_VERSION = 1
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

TEXT, LARGE, INT, REAL, FLAG = pa.string(), pa.large_string(), pa.int64(), pa.float64(), pa.bool_()
DAY, TIME, MONEY = pa.date32(), pa.timestamp("us", tz="UTC"), pa.decimal128(18, 9)
TEXTS, INTS = pa.list_(TEXT), pa.list_(INT)


@dataclass(frozen=True)
class Table:
    """A table's name, key columns, record class, and columns as (name, Arrow type, meaning)."""

    name: str
    key: tuple[str, ...]
    record: type
    columns: tuple[tuple[str, pa.DataType, str], ...]
    subject: str | None = "accession"  # column by which a filing's rows are dropped when it is replaced

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema without `run_id`; each field carries its meaning as metadata."""
        return pa.schema([pa.field(n, t, metadata={"meaning": m}) for n, t, m in self.columns])

    def arrow(self, rows: list[Any]) -> pa.Table:
        """Records of this table's class as an Arrow table in column order."""
        names = [f.name for f in fields(self.record)]
        columns = list(zip(*(_values(r) for r in rows), strict=True)) if rows else [() for _ in names]
        by_name = dict(zip(names, columns, strict=True))
        return pa.table([pa.array(by_name[n], t) for n, t, _ in self.columns], schema=self.schema)

    def record_of(self, row: dict[str, Any]) -> Any:
        """A record from a row as `pyarrow.Table.to_pylist` gives it; lists become tuples, unknown columns are ignored."""
        names = {f.name for f in fields(self.record)}
        return self.record(**{k: tuple(v) if isinstance(v, list) else v for k, v in row.items() if k in names})


def pylist(data: pa.Table) -> list[dict[str, Any]]:
    """Rows as dictionaries. As `Table.to_pylist`, which for times imports pandas where it is installed: 0.4 s that no listing has."""
    columns = [_times(column) if pa.types.is_timestamp(column.type) else column.to_pylist() for column in data.columns]
    return [dict(zip(data.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _times(column: pa.ChunkedArray) -> list[datetime | None]:
    """Datetimes of a column of UTC microseconds."""
    counts = [None if n is None else timedelta(microseconds=n) for chunk in column.chunks for n in chunk.view(pa.int64()).to_pylist()]
    return [None if n is None else EPOCH + n for n in counts]


def _values(record: Any) -> tuple[Any, ...]:
    return tuple(getattr(record, f.name) for f in fields(record))


def _table(name: str, key: str, record: type, *columns: tuple[str, pa.DataType, str], subject: str | None = "accession") -> Table:
    return Table(name, tuple(key.split()), record, columns, subject)


FILINGS = _table(
    "filings", "accession", records.Filing,
    ("accession", TEXT, "accession number, or local-… from the file name where nobody states one"),
    ("name", TEXT, "file name in a folder source, primary document's name on EDGAR"),
    ("source", TEXT, "edgar | folder"),
    ("url", TEXT, "address on EDGAR"),
    ("form", TEXT, "form type as filed"),
    ("family", TEXT, "10-K | 10-Q | 8-K | other"),
    ("amends", FLAG, "an amendment (/A)"),
    ("ciks", TEXTS, "filers, ten digits each, the primary one first"),
    ("company", TEXT, "conformed name of the primary filer"),
    ("tickers", TEXTS, "trading symbols"),
    ("filed_on", DAY, "filing date"),
    ("period_on", DAY, "period of report; event date of an 8-K"),
    ("accepted_at", TIME, "acceptance by EDGAR, from the header's Eastern time"),
    ("fiscal_year", INT, "fiscal year focus"),
    ("fiscal_quarter", INT, "1-4; 4 on an annual report; null on an 8-K"),
    ("fiscal_year_end", TEXT, "MMDD"),
    ("items", TEXTS, "8-K items of the header"),
    ("sic", TEXT, "standard industrial classification"),
    ("state", TEXT, "state of incorporation"),
    ("sha256", TEXT, "of the bytes as received, decompressed: the address in raw/"),
    ("bytes", INT, "bytes as received, decompressed"),
    ("status", TEXT, "parsed | quarantined | removed (stays out until it is put back) | missing (its file is gone; comes back with it)"),
    ("filers", TEXTS, "conformed names of the filers, one per entry of ciks"),
    ("file_numbers", TEXTS, "SEC file numbers, in the filers' order"),
    ("film_numbers", TEXTS, "SEC film numbers, in the filers' order"),
    ("original", TEXT, "of an amendment: accession of what it amends (same filer, period and base form); null until that is in the lake"),
)
RECEIVED = _table(
    "received", "accession sha256", records.Received,
    ("accession", TEXT, "accession number"),
    ("source", TEXT, "edgar | folder"),
    ("place", TEXT, "URL, or name in the folder"),
    ("sha256", TEXT, "of the bytes as received, decompressed: the address in raw/"),
    ("bytes", INT, "decompressed"),
    ("received_at", TIME, "first receipt of these bytes"),
    ("part", TEXT, "submission | bundle (what names a filing's header and documents) | header | document; null from a folder"),
    subject=None,
)
LISTINGS = _table(
    "listings", "accession", records.Listing,
    ("accession", TEXT, "accession number"),
    ("ciks", TEXTS, "filers under which it was met, ten digits each"),
    ("form", TEXT, "form type as listed"),
    ("filed_on", DAY, "filing date"),
    ("period_on", DAY, "period of report; null where only an index file lists it"),
    ("company", TEXT, "filer's name today, or as the index file says it"),
    ("tickers", TEXTS, "the filer's trading symbols today"),
    ("items", TEXTS, "8-K items"),
    ("primary", TEXT, "name of the primary document; empty where the listing has none"),
    ("size", INT, "bytes of the full submission text"),
    ("accepted", TEXT, "acceptance time as listed: its Z is false for many filers"),
    ("file_number", TEXT, "SEC file number"),
    ("fiscal_year_end", TEXT, "MMDD, of the filer today"),
    ("sic", TEXT, "of the filer today"),
    ("state", TEXT, "of incorporation today"),
    ("found", TEXT, "filer | daily | full: the listing that showed it first"),
    ("listed_at", TIME, "when it was met first"),
    subject=None,
)
COVERAGE = _table(
    "coverage", "cik", records.Coverage,
    ("cik", TEXT, "filer, ten digits"),
    ("since", DAY, "filing date from which its listing is complete; null = from the first"),
    ("through", DAY, "filing date, or day of the daily index, up to which it is complete"),
    ("found", TEXT, "filer | daily | full"),
    ("at", TIME, "when"),
    subject=None,
)
EVENTS = _table(
    "events", "accession kind at", records.Event,
    ("accession", TEXT, "accession number"),
    ("kind", TEXT, "changed (other bytes) | gone (404) | unlisted | relisted (form or date changed) | disagrees (header and listing) | "
                   "removed or missing (from the next index on) | restored"),
    ("before", TEXT, "sha256, what was said before or by the listing, or the status before"),
    ("after", TEXT, "sha256, what is said now or by the header, or why it was removed or restored"),
    ("at", TIME, "when it was seen"),
    subject=None,
)
DOCUMENTS = _table(
    "documents", "document_id", records.Document,
    ("document_id", TEXT, "accession:sequence"),
    ("accession", TEXT, "its filing"),
    ("sequence", INT, "place in the submission, from 1"),
    ("type", TEXT, "10-K, EX-99.1 …"),
    ("name", TEXT, "file name"),
    ("media", TEXT, "html | text | pdf"),
    ("bytes", INT, "bytes of the document"),
    ("encoding", TEXT, "how its bytes were read"),
    ("text", LARGE, "canonical text; every range slices it"),
    ("pages", INT, "physical pages"),
    ("engine", TEXT, "parser and version"),
    ("visible_chars_in", INT, "visible characters of the source, white space aside; null where the engine cannot say"),
    ("visible_chars_out", INT, "characters of the text, white space aside"),
    ("numbers_in", INT, "distinct numbers of the source"),
    ("numbers_out", INT, "distinct numbers of the text"),
    ("warnings", TEXTS, "what the parser doubts"),
)
ELEMENTS = _table(
    "elements", "document_id ordinal", records.Element,
    ("document_id", TEXT, "its document"),
    ("accession", TEXT, "its filing"),
    ("ordinal", INT, "reading order, from 0"),
    ("kind", TEXT, "heading | paragraph | list_item | table | footnote | signature"),
    ("level", INT, "of a heading, 1 is the highest"),
    ("start", INT, "first character"),
    ("end", INT, "one past the last character"),
    ("page", INT, "physical page, from 1"),
    ("page_label", TEXT, "page number as printed"),
    ("section", TEXT, "part.item, item, or exhibit"),
    ("grid", LARGE, "a table's cells as JSON"),
)
SECTIONS = _table(
    "sections", "document_id ordinal", records.Section,
    ("document_id", TEXT, "its document"),
    ("accession", TEXT, "its filing"),
    ("part", TEXT, "I … IV; empty on an 8-K"),
    ("item", TEXT, "1, 1A, 7, 2.02 …; empty before the first item"),
    ("title", TEXT, "heading as printed"),
    ("start", INT, "first character"),
    ("end", INT, "one past the last character"),
    ("page_start", INT, "first physical page"),
    ("page_end", INT, "last physical page"),
    ("pointer", TEXT, "where the content is, when this is a stub"),
    ("found", TEXT, "heading | index | combined"),
    ("ordinal", INT, "order in the document"),
)
FACTS = _table(
    "facts", "document_id ordinal", records.FactRow,
    ("document_id", TEXT, "its document"),
    ("accession", TEXT, "its filing"),
    ("ordinal", INT, "order in the document, from 0"),
    ("concept", TEXT, "us-gaap:Assets: prefix as filed"),
    ("entity", TEXT, "identifier of the context, as a rule a CIK of ten digits"),
    ("start_on", DAY, "first day of a duration; null on an instant"),
    ("end_on", DAY, "last day of a duration"),
    ("instant_on", DAY, "day of an instant; null on a duration"),
    ("days", INT, "days of a duration, both ends counted: about 91 a quarter, 364-371 a year"),
    ("dimensions", TEXT, "JSON {axis: member}, sorted by axis; {} = the company as a whole"),
    ("unit", TEXT, "USD, shares, USD/shares; null = no number"),
    ("value", TEXT, "exact decimal, sign and scale applied, or text up to 4,000 characters (all of it is in the document); null = nil"),
    ("number", REAL, "value as a double, for ranking and sums; null for texts"),
    ("decimals", TEXT, "stated precision: -6 = to the million, INF = exact"),
    ("text", TEXT, "as printed, up to 4,000 characters"),
    ("nil", FLAG, "stated to have no value: not zero"),
    ("hidden", FLAG, "not printed in the document"),
    ("footnotes", TEXTS, "texts of its footnotes, up to 4,000 characters each"),
    ("warning", TEXT, "what could not be read: an unknown format, a missing context; empty when all is well"),
)
CHUNKS = _table(
    "chunks", "chunk_id", records.Chunk,
    ("chunk_id", TEXT, "hash of document, chunker, range and text"),
    ("document_id", TEXT, "its document"),
    ("accession", TEXT, "its filing"),
    ("chunker", TEXT, "fingerprint of parser, chunker and tokenizer"),
    ("ordinal", INT, "order in the document"),
    ("start", INT, "first character"),
    ("end", INT, "one past the last character"),
    ("text", LARGE, "documents.text[start:end]"),
    ("tokens", INT, "of the text alone, by the embedding model's tokenizer"),
    ("part", TEXT, "part of its first character"),
    ("item", TEXT, "item of its first character"),
    ("section_title", TEXT, "title of that section"),
    ("page_start", INT, "first physical page"),
    ("page_end", INT, "last physical page"),
    ("prefix", LARGE, "of a piece of a table: its unit and header rows, embedded before the text and no part of it; null elsewhere"),
    ("parent_start", INT, "first character of the passage that the chunk is a part of; null where the chunker makes none"),
    ("parent_end", INT, "one past that passage's last character"),
)
CHUNKINGS = _table(
    "chunkings", "document_id chunker", records.Chunking,
    ("document_id", TEXT, "the document"),
    ("accession", TEXT, "its filing"),
    ("chunker", TEXT, "as in chunks"),
    ("chunks", INT, "chunks made"),
    ("tokens", INT, "tokens of the chunks; what two chunks share counts twice"),
    ("chars", INT, "visible characters of the text = kept + dropped + left_out"),
    ("kept", INT, "visible characters that are in a chunk"),
    ("dropped", INT, "visible characters of fragments too short to be a chunk"),
    ("left_out", INT, "visible characters outside of the Items that the recipe keeps"),
)
CONTEXTS = _table(
    "contexts", "chunk_id fingerprint", records.Context,
    ("chunk_id", TEXT, "its chunk"),
    ("accession", TEXT, "its filing"),
    ("fingerprint", TEXT, "of the context's kind and options, and the model's tokenizer and window"),
    ("context", LARGE, "text put before the chunk"),
    ("tokens", INT, "context and chunk as embedded, special tokens included"),
    ("cut_tokens", INT, "tokens beyond the model's window"),
    ("text_hash", TEXT, "of the embedded text"),
    ("fallback", TEXT, "why it is the metadata context and not the recipe's: MalformedAnswer | OverCap | BadFile; null = it is that"),
)
TREES = _table(
    "trees", "document_id tree node_id", records.TreeNode,
    ("document_id", TEXT, "the document: a filing's main one, or an EX-13"),
    ("accession", TEXT, "its filing"),
    ("tree", TEXT, "key of the tree stage: version and settings of it and of the stages that it builds on"),
    ("node_id", TEXT, "number in reading order, the root 0001"),
    ("parent", TEXT, "node_id of its parent; null on the root"),
    ("ordinal", INT, "reading order, from 0"),
    ("level", INT, "depth, 0 on the root"),
    ("title", TEXT, "heading as printed, in one line"),
    ("section", TEXT, "Item that the node is or lies in, as in elements; null outside of the Items"),
    ("start_index", INT, "first physical page, from 1"),
    ("end_index", INT, "last physical page, inclusive"),
    ("start", INT, "first character"),
    ("end", INT, "one past the last character"),
    ("chars", INT, "characters of its own text: its range without those of its children"),
    ("tokens", INT, "of its own text, by the packaged model's tokenizer or the endpoint's; null where no summaries are made"),
    ("cut_tokens", INT, "of those, beyond what a model is shown at once; null where no summaries are made"),
    ("summary", LARGE, "what stands in it and below; null = not asked for, or see unsummarised"),
    ("summarised", TEXT, "model | text (shorter than a summary, so it is its own); null where there is no summary"),
    ("builder", TEXT, "structural | model: what made the tree"),
    ("model", TEXT, "model that was asked for the tree or its summaries; null = none"),
    ("fallback", TEXT, "why it is the structural tree instead: MalformedAnswer | InvalidTree: what | OverCap | BadFile; else null"),
    ("unsummarised", TEXT, "why a summary that was asked for is missing: MalformedAnswer | OverCap | BadFile"),
)
EMBEDDINGS = _table(
    "embeddings", "text_hash model_hash", records.Embedding,
    ("text_hash", TEXT, "of the embedded text"),
    ("model_hash", TEXT, "of weights, tokenizer and options"),
    ("accession", TEXT, "the filing that first needed it"),
    ("vector", pa.list_(pa.float32()), "unit length"),
    subject=None,  # equal texts share one vector: it belongs to no filing
)
USAGE = _table(
    "usage", "run_id subject stage model", records.Usage,
    ("subject", TEXT, "accession, or index:recipe"),
    ("stage", TEXT, "pipeline stage"),
    ("model", TEXT, "model called, null for none"),
    ("provider", TEXT, "local, or the endpoint's name"),
    ("origin", TEXT, "provider | counted | reused"),
    ("calls", INT, "model calls"),
    ("input_tokens", INT, "tokens read, those read from or written to the provider's cache aside"),
    ("cached_tokens", INT, "input tokens read from the provider's cache; null = not said"),
    ("output_tokens", INT, "tokens written, reasoning aside"),
    ("seconds", REAL, "wall clock"),
    ("cpu_seconds", REAL, "CPU"),
    ("gpu_seconds", REAL, "GPU"),
    ("peak_bytes", INT, "peak resident memory of the worker"),
    ("dollars", MONEY, "USD; null = unpriced"),
    ("price", TEXT, "the price or setting that made the dollars"),
    ("cache_write_tokens", INT, "input tokens written to the provider's cache for its usual life of minutes; null = not said"),
    ("cache_write_hour_tokens", INT, "input tokens written to it for an hour; null = not said"),
    ("reasoning_tokens", INT, "tokens of hidden reasoning, billed as output; null = not said"),
    ("hits", INT, "calls answered from the lake's own cache: nothing was sent or paid"),
    ("tier", TEXT, "standard | batch; null where no provider was asked"),
    ("price_set", TEXT, "hash of the price table, settings' own prices included, that was asked; null = none was"),
    subject=None,
)
ESTIMATES = _table(
    "estimates", "run_id stage model provider", records.Estimated,
    ("stage", TEXT, "pipeline stage"),
    ("model", TEXT, "model to be called, null for none"),
    ("provider", TEXT, "whose prices hold; null = work on this machine"),
    ("tier", TEXT, "standard | batch; null where no provider is asked"),
    ("filings", INT, "filings that the stage had to do"),
    ("requests", INT, "calls, or texts to be embedded; those that the lake has an answer for aside"),
    ("input_tokens", INT, "likely tokens read, those from the provider's cache aside"),
    ("cached_tokens", INT, "likely tokens read from the provider's cache"),
    ("output_tokens", INT, "likely tokens written"),
    ("input_low", INT, "all tokens read, lower end of the range"),
    ("input_high", INT, "all tokens read, upper end"),
    ("seconds", REAL, "likely wall clock, summed over workers; null = not known"),
    ("dollars_low", MONEY, "USD, lower end of the range; null = unpriced"),
    ("dollars", MONEY, "USD, likely; null = unpriced"),
    ("dollars_high", MONEY, "USD, upper end; null = unpriced"),
    subject=None,
)
QUARANTINE = _table(
    "quarantine", "run_id subject", records.Quarantine,
    ("subject", TEXT, "accession, or local-…"),
    ("name", TEXT, "file or document name"),
    ("stage", TEXT, "where it stopped"),
    ("reason", TEXT, "error class"),
    ("message", TEXT, "one sentence"),
    ("todo", TEXT, "what to do"),
    ("expected", FLAG, "false = a defect of edgarmill's own"),
    ("sha256", TEXT, "of the bytes as received"),
    ("at", TIME, "when"),
    subject="subject",
)
WORK = _table(
    "work", "subject stage fingerprint", records.WorkDone,
    ("subject", TEXT, "accession"),
    ("stage", TEXT, "pipeline stage"),
    ("version", INT, "of the stage's code"),
    ("fingerprint", TEXT, "of what the stage depends on"),
    ("sha256", TEXT, "of the raw bytes"),
    ("outcome", TEXT, "done | quarantined"),
    ("part", TEXT, "name of the Parquet parts that hold its rows"),
    subject="subject",
)
RUNS = _table(
    "runs", "run_id", records.RunRecord,
    ("run_id", TEXT, "time and random letters"),
    ("command", TEXT, "as typed, secrets masked"),
    ("started_at", TIME, ""),
    ("ended_at", TIME, ""),
    ("outcome", TEXT, "done | quarantined | incomplete (EDGAR not listed to the end) | failed | stopped"),
    ("exit_code", INT, ""),
    ("source", TEXT, "edgar | folder, and where"),
    ("recipe", TEXT, "name"),
    ("recipe_fingerprint", TEXT, ""),
    ("recipe_json", TEXT, "the resolved recipe"),
    ("engine", TEXT, "loop | ray"),
    ("planned", INT, "filings listed = indexed + unchanged + quarantined; of a run that only fetches = fetched + unchanged + quarantined"),
    ("indexed", INT, ""),
    ("unchanged", INT, ""),
    ("quarantined", INT, ""),
    ("tag", TEXT, "index version made or confirmed"),
    ("versions", TEXT, "JSON of packages, commit, machine"),
    ("message", TEXT, "how it ended"),
    ("fetched", INT, "filings whose bytes are new in the lake"),
    subject=None,
)
RUN_STAGES = _table(
    "run_stages", "run_id stage", records.RunStage,
    ("run_id", TEXT, "the run"),
    ("stage", TEXT, "pipeline stage, or build, verify …"),
    ("subjects", INT, "filings that it worked on"),
    ("rows", INT, "rows that it wrote"),
    ("seconds", REAL, "wall clock, summed over workers"),
    ("peak_bytes", INT, "highest resident memory of a worker"),
    subject=None,
)
INDEX_VERSIONS = _table(
    "index_versions", "version_id", records.IndexVersion,
    ("version_id", TEXT, "hash of corpus snapshot and recipe"),
    ("recipe", TEXT, "name"),
    ("recipe_fingerprint", TEXT, ""),
    ("model", TEXT, "embedding model"),
    ("model_hash", TEXT, ""),
    ("lance_version", INT, "version of index/<recipe>.lance"),
    ("tag", TEXT, "YYYY-MM-DD.N; null until verified"),
    ("parent", TEXT, "version_id before it"),
    ("state", TEXT, "draft | verified | rejected"),
    ("filings", INT, ""),
    ("chunks", INT, ""),
    ("tokens", INT, "embedded tokens, those cut aside"),
    ("cut_tokens", INT, "tokens beyond the model's window: in the text, in keyword search, not in the vector"),
    ("bytes", INT, "of the Lance dataset"),
    ("dollars", MONEY, "spent on its filings; null = unpriced"),
    ("manifest", LARGE, "JSON: accessions and source hashes, recipe, software"),
    ("created_at", TIME, ""),
    subject=None,
)
CHECKS = _table(
    "checks", "version_id check", records.Check,
    ("version_id", TEXT, ""),
    ("check", TEXT, ""),
    ("expected", TEXT, ""),
    ("found", TEXT, ""),
    ("ok", FLAG, ""),
    subject=None,
)
EVALUATIONS = _table(
    "evaluations", "evaluation_id", records.EvaluationRow,
    ("evaluation_id", TEXT, "hash of index version, resolved set, retriever and rule of relevance"),
    ("set_hash", TEXT, "of the questions and of the texts that the gold was resolved on"),
    ("questions_hash", TEXT, "of the questions alone"),
    ("set_name", TEXT, "file name"),
    ("version_id", TEXT, "of the index"),
    ("recipe", TEXT, "of the index"),
    ("tag", TEXT, "of the index"),
    ("manifest_hash", TEXT, "sha256 of the version's manifest"),
    ("corpus_hash", TEXT, "of the accessions and source hashes in it"),
    ("retriever", TEXT, "JSON of its knobs"),
    ("retriever_hash", TEXT, "of the knobs"),
    ("experiment", TEXT, "of which it was an arm when it was made; null = of none"),
    ("arm", TEXT, "label shown"),
    ("k", INT, "hits asked for"),
    ("questions", INT, "asked"),
    ("judged", INT, "questions that count: with gold, all of it resolved"),
    ("null_questions", INT, "kept out: without gold"),
    ("unresolved", INT, "questions kept out: some of their gold is not found"),
    ("failed", INT, "questions with an error: they count 0"),
    ("hits", INT, "its rows in rankings"),
    ("metrics", INT, "version of the definitions that its scores follow (eval/metrics.py)"),
    ("software", TEXT, "JSON: versions of edgarmill, of the metric libraries and of the search"),
    ("created_at", TIME, "when it was replayed"),
    subject=None,
)
ASKED = _table(
    "asked", "evaluation_id question_id", records.Asked,
    ("evaluation_id", TEXT, "of the evaluation"),
    ("question_id", TEXT, "of the question"),
    ("embed_seconds", REAL, "embedding the question, as measured when its vector was made; null = the mode needs none"),
    ("search_seconds", REAL, "spelling, filters and the search itself"),
    ("rerank_seconds", REAL, "null = no reranker"),
    ("expand_seconds", REAL, "neighbours or parents, their texts, and the token budget; null = nothing of that"),
    ("model_seconds", REAL, "what a chat model did for the search; null = none was asked"),
    ("tokens", INT, "of all that is given, by the tokenizer of the index"),
    ("input_tokens", INT, "of models asked for this question; null = none, or not told"),
    ("output_tokens", INT, "likewise"),
    ("usd", MONEY, "of models asked for this question; null = none asked, or unpriced"),
    ("filters", TEXT, "JSON of those in force; null = none"),
    ("error", TEXT, "why it has no hits, in one line; null = it was answered"),
    ("notes", TEXT, "what went on without its model, and why; null = all went as asked"),
    subject=None,
)
QUESTION_SETS = _table(
    "question_sets", "set_hash question_id ordinal", records.GoldRow,
    ("set_hash", TEXT, "of the questions and of the texts that the gold was resolved on"),
    ("set_name", TEXT, "file name"),
    ("question_id", TEXT, ""),
    ("ordinal", INT, "of the evidence, from 0; -1 where a question has none"),
    ("question", TEXT, ""),
    ("category", TEXT, "single-hop | multi-hop | summary | null"),
    ("answer", TEXT, ""),
    ("ref", TEXT, "file, accession or document that the set names"),
    ("quote", TEXT, "evidence as quoted"),
    ("part", TEXT, ""),
    ("item", TEXT, ""),
    ("page", INT, "from 1"),
    ("type", TEXT, "text | table | mixed (text and figures) | passage (a whole one) | document (a whole one)"),
    ("document_id", TEXT, "resolved; null = unresolved"),
    ("start", INT, "resolved range; null where the evidence is a whole document"),
    ("end", INT, ""),
    ("how", TEXT, "exact | fuzzy | document (no range: counts for documents alone); null = unresolved: an error of the set, never a miss"),
    ("questions_hash", TEXT, "of the questions alone, whatever the texts; null in rows of old"),
    ("licence", TEXT, "what the set says of its licence; null = nothing"),
    ("kind", TEXT, "what the set itself calls such a question: metrics-generated, template:fact …"),
    subject=None,
)
RANKINGS = _table(
    "rankings", "evaluation_id mode question_id rank", records.Ranking,
    ("evaluation_id", TEXT, "hash of version, set and retriever settings"),
    ("set_hash", TEXT, ""),
    ("version_id", TEXT, ""),
    ("mode", TEXT, "vector | keyword | hybrid"),
    ("question_id", TEXT, ""),
    ("rank", INT, "from 1"),
    ("chunk_id", TEXT, ""),
    ("document_id", TEXT, ""),
    ("start", INT, ""),
    ("end", INT, ""),
    ("score", REAL, "of the mode"),
    ("gold", INTS, "ordinals of the gold that it holds: overlap of at least half of the shorter range (eval/replay.py)"),
    ("accession", TEXT, ""),
    ("page_start", INT, ""),
    ("page_end", INT, ""),
    ("tokens", INT, "of the passage given in its place, by the tokenizer of the index; hits that share a passage have the same"),
    ("given_start", INT, "of that passage, with neighbours or parent; null = the hit itself"),
    ("given_end", INT, "equal to given_start: nothing was given of it, for want of room"),
    subject=None,
)
SCORES = _table(
    "scores", "evaluation_id mode category metric", records.Score,
    ("evaluation_id", TEXT, ""),
    ("set_hash", TEXT, ""),
    ("version_id", TEXT, ""),
    ("mode", TEXT, ""),
    ("category", TEXT, "all, one category, or a slice: form:10-K, year:2024, type:table"),
    ("metric", TEXT, "MRR@5, Recall@5, hit@5, nDCG@10, latency_p50_seconds …"),
    ("value", REAL, "null = not measured"),
    ("questions", INT, "judged questions behind it"),
    subject=None,
)
GATES = _table(
    "gates", "gate_id", records.GateRow,
    ("gate_id", TEXT, "hash of both evaluations, the rule and the outcome: the same answer is written once"),
    ("questions_hash", TEXT, "of the questions: how often a set was asked to decide is counted by it"),
    ("set_hash", TEXT, "of questions and texts"),
    ("set_name", TEXT, "file name"),
    ("version_id", TEXT, "index version that wanted to be prod"),
    ("evaluation_id", TEXT, "of that version"),
    ("before_version_id", TEXT, "prod at that time; null = none"),
    ("before_evaluation_id", TEXT, "of prod; null = none"),
    ("rule", TEXT, "name"),
    ("rule_hash", TEXT, "of all numbers in it"),
    ("rule_json", TEXT, "the rule"),
    ("outcome", TEXT, "pass | fail | undecided | not comparable"),
    ("line", TEXT, "verdict and why"),
    ("checks", TEXT, "JSON: check, rule, found and outcome of each line of the rule"),
    ("at", TIME, "when it was asked"),
    subject=None,
)
ANSWERS = _table(
    "answers", "answer_id", records.AnswerRow,
    ("answer_id", TEXT, "hash of answers_id and question_id"),
    ("answers_id", TEXT, "of all answers of a set in one way: hash of questions, index version, kind, model, prompts and retriever"),
    ("question_id", TEXT, "of the question"),
    ("question", TEXT, "as asked"),
    ("category", TEXT, "of the question; null = it has no answer, and a refusal is right"),
    ("gold", TEXT, "answer that the set gives"),
    ("document", TEXT, "of its first evidence, as the set names it: questions of one document are resampled together"),
    ("questions_hash", TEXT, "of the questions alone"),
    ("set_name", TEXT, "file name"),
    ("version_id", TEXT, "of the index"),
    ("kind", TEXT, "file of eval/answers: plain, agentic, tree, facts"),
    ("model", TEXT, "provider/model"),
    ("prompt_hash", TEXT, "of instructions, forms and options of the kind"),
    ("retriever", TEXT, "JSON of its knobs"),
    ("retriever_hash", TEXT, "of the knobs"),
    ("text", LARGE, "the answer; empty where it refuses"),
    ("claims", LARGE, "JSON: text, cites (numbers of `given`)"),
    ("citations", LARGE, "JSON, one a claim and cite: chunk, document, pages and characters, or accession, concept and context of a fact"),
    ("given", LARGE, "JSON: what the answerer could cite; texts by their range and hash"),
    ("refused", FLAG, "it says that what was given does not hold the answer; null = no answer came"),
    ("error", TEXT, "why no answer came: class of the error, ContextWindow where the model could not read so much; null = one did"),
    ("why", TEXT, "the error in a line"),
    ("notes", TEXT, "what went on otherwise than asked; null = nothing did"),
    ("seconds", REAL, "from question to answer; null = some of it was answered before"),
    ("calls", INT, "of models, paid"),
    ("hits", INT, "of models, answered before"),
    ("input_tokens", INT, "of paid calls, those of retrieval too; null = none, or not told"),
    ("output_tokens", INT, "likewise"),
    ("usd", MONEY, "of paid calls; null = unpriced"),
    ("created_at", TIME, "when it was made"),
    subject=None,
)
JUDGEMENTS = _table(
    "judgements", "judgement_id", records.JudgementRow,
    ("judgement_id", TEXT, "hash of series and answers"),
    ("series", TEXT, "hash of kind, judge, instructions and forms: figures of two series are never compared"),
    ("kind", TEXT, "gold: against the set's answer; pair: two answers; claims: against what was given"),
    ("judge", TEXT, "provider/model; null = no model was needed or at hand"),
    ("prompt_hash", TEXT, "of instruction and form"),
    ("question_id", TEXT, "of the question"),
    ("answers_id", TEXT, "of the answer"),
    ("answer_id", TEXT, "of the answer; of a pair the first, A"),
    ("other_answers_id", TEXT, "of a pair's other, B; null = no pair"),
    ("other_id", TEXT, "likewise"),
    ("label", TEXT, "correct, incorrect, refused; A, B, tie; supported, unsupported; null = not measured, or no claim"),
    ("detail", LARGE, "JSON: reason; winners by criterion in both orders; claims with what was found of each"),
    ("flipped", FLAG, "of a pair: its two orders do not agree"),
    ("claims", INT, "of the answer"),
    ("supported", INT, "claims found in what was given, by numbers or by the judge"),
    ("unsupported", INT, "claims that the judge does not find there"),
    ("by_string", INT, "of the supported: by their numbers, without a model"),
    ("why", TEXT, "why there is no label, in a line"),
    ("seconds", REAL, "of the judge; null = none was asked, or it had answered before"),
    ("calls", INT, "of the judge, paid"),
    ("hits", INT, "of the judge, answered before"),
    ("input_tokens", INT, "of paid calls; null = none, or not told"),
    ("output_tokens", INT, "likewise"),
    ("usd", MONEY, "of paid calls; null = unpriced"),
    ("created_at", TIME, "when it was made"),
    subject=None,
)

TABLES: dict[str, Table] = {
    t.name: t
    for t in (FILINGS, RECEIVED, LISTINGS, COVERAGE, EVENTS, DOCUMENTS, ELEMENTS, SECTIONS, FACTS, CHUNKS, CHUNKINGS, CONTEXTS, TREES,
              EMBEDDINGS, USAGE, ESTIMATES, QUARANTINE, WORK, RUNS, RUN_STAGES, INDEX_VERSIONS, CHECKS, QUESTION_SETS, EVALUATIONS,
              RANKINGS, ASKED, SCORES, GATES, ANSWERS, JUDGEMENTS)
}
