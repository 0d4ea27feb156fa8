"""Our own form: one JSON record a line, its evidence quoted from filings that are named by file or by accession.

    {"id": "q1", "question": "…", "category": "single-hop", "answer": "…",
     "gold": [{"file": "….htm.gz", "quote": "…", "part": "II", "item": "7", "type": "text"}]}

`accession` stands for `file` where the file's name is not known, and wins where both are given; `page` (from 1) is optional, and so is
`start`, where the quote begins in the document's text. `type` is text, table (rows), mixed (text and figures), passage, or document: a
whole document, without a quote, counts for finding documents alone. `kind` is what the set itself calls such a question; it and the
category have 60 characters at most, the category no colon. `company`, `form`, `period` and `needs` may stand beside the question; they are
not kept. Category "null" marks a question that no filing answers: it has no gold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from edgarmill.eval.questions.question_set import File, Found, Off, Problem, list_of, of_lines, text_of
from edgarmill.schemas.records import Gold, Question

REQUIRED = ("id", "question", "category", "answer", "gold")
OPTIONAL = ("kind", "company", "form", "period", "needs")
GOLD_FIELDS = ("file", "accession", "quote", "part", "item", "type", "page", "start")
TYPES = ("text", "table", "mixed", "passage", "document")


def claims(name: str, head: str) -> bool:
    return name.endswith(".jsonl") and '"question"' in head and '"gold"' in head


def read(file: File) -> Iterator[Found | Problem]:
    return of_lines(file, question_of)


def question_of(record: Mapping[str, Any]) -> Question:
    _fields(record, REQUIRED, OPTIONAL, "")
    category = "null" if record["category"] is None else text_of(record, "category")
    if category == "all":
        raise Off("category 'all' is the name of the whole set")
    evidence = list_of(record, "gold")
    if category == "null" and evidence:
        raise Off("a question of category 'null' has gold")
    if category != "null" and not evidence:
        raise Off("empty gold; mark a question without answer with category 'null'")
    gold = tuple(_gold(g, f"gold {n}: ") for n, g in enumerate(evidence, 1))
    kind = "" if record.get("kind") is None else text_of(record, "kind", empty=True)
    answer = text_of(record, "answer", empty=True)
    return Question(text_of(record, "id"), text_of(record, "question"), category, answer, gold, kind)


def _gold(record: Any, where: str) -> Gold:
    if not isinstance(record, dict):
        raise Off(f"{where}not a JSON object")
    kind = record.get("type", "text")
    _fields(record, () if kind == "document" else ("quote",), GOLD_FIELDS, where)
    given = {name: text_of(record, name, where, empty=True) for name in GOLD_FIELDS if name not in ("page", "start") and name in record}
    ref = given.get("accession") or given.get("file")
    if not ref:
        raise Off(f"{where}neither 'file' nor 'accession'")
    if kind not in TYPES:
        raise Off(f"{where}type {str(kind)[:20]!r} is none of {', '.join(TYPES)}")
    quote = given.get("quote", "")
    if bool(quote.strip()) == (kind == "document"):
        raise Off(f"{where}a whole document has no quote" if quote.strip() else f"{where}empty quote")
    page = _number(record, "page", 1, where, "no page number from 1")
    start = _number(record, "start", 0, where, "no number of characters")
    return Gold(ref, quote, given.get("part", ""), given.get("item", ""), page, kind, start=start)


def _number(record: Mapping[str, Any], name: str, least: int, where: str, what: str) -> int | None:
    value = record.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not least <= value <= 10**9):
        raise Off(f"{where}{name!r} is {what}")
    return value


def _fields(record: Mapping[str, Any], required: tuple[str, ...], optional: tuple[str, ...], where: str) -> None:
    missing = [name for name in required if name not in record]
    if missing:
        raise Off(f"{where}field {missing[0]!r} is missing")
    unknown = [name for name in record if name not in required and name not in optional]
    if unknown:
        raise Off(f"{where}unknown field {unknown[0][:40]!r}; known: {', '.join(dict.fromkeys(required + optional))}")
