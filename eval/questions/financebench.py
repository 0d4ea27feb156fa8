"""FinanceBench: one JSON record a line, its evidence on pages of PDFs that are named without their ending.

Its pages count from 0, ours from 1. Evidence is a page's text as another reader of PDF gave it, so a fifth of its words being figures
makes it `mixed`. A question's type (metrics-generated, domain-relevant, novel-generated) is kept as its kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from edgarmill.eval.questions.question_set import File, Found, Off, Problem, category_of, list_of, of_lines, text_of
from edgarmill.schemas.records import Gold, Question

LICENCE = "CC BY-NC 4.0, as its card on the hub says; its repository states none"


def claims(name: str, head: str) -> bool:
    return name.endswith(".jsonl") and '"financebench_id"' in head and '"evidence"' in head


def read(file: File) -> Iterator[Found | Problem]:
    return of_lines(file, _question)


def _question(record: Mapping[str, Any]) -> Question:
    document = text_of(record, "doc_name")
    gold = tuple(_gold(one, document, f"evidence {n}: ") for n, one in enumerate(list_of(record, "evidence"), 1))
    if not gold:
        raise Off("no evidence")
    kind = text_of(record, "question_type", empty=True) if record.get("question_type") else ""
    return Question(text_of(record, "financebench_id"), text_of(record, "question"), category_of(gold),
                    text_of(record, "answer", empty=True), gold, kind)


def _gold(record: Any, document: str, where: str) -> Gold:
    if not isinstance(record, dict):
        raise Off(f"{where}not a JSON object")
    page = record.get("evidence_page_num")
    if page is not None and (isinstance(page, bool) or not isinstance(page, int) or not 0 <= page < 10**6):
        raise Off(f"{where}'evidence_page_num' is no page number from 0")
    quote = text_of(record, "evidence_text", where)
    named = text_of(record, "doc_name", where) if record.get("doc_name") else document
    return Gold(named, quote, page=None if page is None else page + 1, type="mixed" if _figures(quote) else "text")


def _figures(quote: str) -> bool:
    words = quote.split()
    return 5 * sum(any(c.isdigit() for c in word) for word in words) >= len(words)
