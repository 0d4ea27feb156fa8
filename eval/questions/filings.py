"""Our own form: one JSON record a line, its evidence quoted from filings that are named by file or by accession.

    {"id": "q1", "question": "…", "category": "single-hop", "answer": "…",
     "gold": [{"file": "….htm.gz", "quote": "…", "part": "II", "item": "7", "type": "text"}]}

`accession` stands for `file` where the file's name is not known, and wins where both are given; `page` (from 1) is optional. `company`,
`form`, `period` and `needs` may stand beside the question; they are not kept. Category "null" marks a question that no filing answers: it
has no gold.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from edgarmill.eval.questions.question_set import Found, Line, Problem
from edgarmill.schemas.records import Gold, Question

REQUIRED = ("id", "question", "category", "answer", "gold")
OPTIONAL = ("company", "form", "period", "needs")
GOLD_FIELDS = ("file", "accession", "quote", "part", "item", "type", "page")
TYPES = ("text", "table")


class _Off(Exception):
    """What is wrong with a record; becomes a Problem."""


def claims(name: str, head: str) -> bool:
    return name.endswith(".jsonl") and '"question"' in head and '"gold"' in head


def read(lines: Iterable[Line]) -> Iterator[Found | Problem]:
    for line in lines:
        try:
            yield Found(line.number, _question(_record(line.text)))
        except _Off as off:
            yield Problem(line.number, str(off))


def _record(text: str) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _Off(f"not JSON ({getattr(error, 'msg', type(error).__name__)})") from None
    if not isinstance(record, dict):
        raise _Off("not a JSON object")
    return record


def _question(record: dict[str, Any]) -> Question:
    _fields(record, REQUIRED, OPTIONAL, "")
    category = "null" if record["category"] is None else _text(record, "category", "")
    if category == "all":
        raise _Off("category 'all' is the name of the whole set")
    evidence = record["gold"]
    if not isinstance(evidence, list):
        raise _Off("'gold' is not a list")
    if category == "null" and evidence:
        raise _Off("a question of category 'null' has gold")
    if category != "null" and not evidence:
        raise _Off("empty gold; mark a question without answer with category 'null'")
    gold = tuple(_gold(g, f"gold {n}: ") for n, g in enumerate(evidence, 1))
    return Question(_text(record, "id", ""), _text(record, "question", ""), category, _text(record, "answer", "", empty=True), gold)


def _gold(record: Any, where: str) -> Gold:
    if not isinstance(record, dict):
        raise _Off(f"{where}not a JSON object")
    _fields(record, ("quote",), GOLD_FIELDS, where)
    given = {name: _text(record, name, where, empty=True) for name in GOLD_FIELDS if name != "page" and name in record}
    ref = given.get("accession") or given.get("file")
    if not ref:
        raise _Off(f"{where}neither 'file' nor 'accession'")
    if not given["quote"].strip():
        raise _Off(f"{where}empty quote")
    kind = given.get("type", "text")
    if kind not in TYPES:
        raise _Off(f"{where}type {kind[:20]!r} is none of {', '.join(TYPES)}")
    page = record.get("page")
    if page is not None and (isinstance(page, bool) or not isinstance(page, int) or not 1 <= page <= 1_000_000):
        raise _Off(f"{where}'page' is no page number from 1")
    return Gold(ref, given["quote"], given.get("part", ""), given.get("item", ""), page, kind)


def _fields(record: dict[str, Any], required: tuple[str, ...], optional: tuple[str, ...], where: str) -> None:
    missing = [name for name in required if name not in record]
    if missing:
        raise _Off(f"{where}field {missing[0]!r} is missing")
    unknown = [name for name in record if name not in required and name not in optional]
    if unknown:
        raise _Off(f"{where}unknown field {unknown[0][:40]!r}; known: {', '.join(dict.fromkeys(required + optional))}")


def _text(record: dict[str, Any], name: str, where: str, *, empty: bool = False) -> str:
    value = record[name]
    if not isinstance(value, str):
        raise _Off(f"{where}{name!r} is not text")
    if not empty and not value.strip():
        raise _Off(f"{where}{name!r} is empty")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise _Off(f"{where}{name!r} holds half a surrogate pair") from None
    return value
