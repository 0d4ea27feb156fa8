"""FinRAG-Eval: evidence by accession, section ("Item 1C - Cybersecurity") and quoted words; its ids of chunks are not used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from edgarmill.eval.questions.question_set import File, Found, Off, Problem, category_of, list_of, of_lines, text_of
from edgarmill.schemas.records import Gold, Question

LICENCE = "MIT"
ITEM = re.compile(r"\s*item\s+(\d{1,2}[A-C]?|\d\.\d\d)\b", re.IGNORECASE)


def claims(name: str, head: str) -> bool:
    return name.endswith(".jsonl") and '"gold_evidence"' in head and '"filing_accession"' in head


def read(file: File) -> Iterator[Found | Problem]:
    return of_lines(file, _question)


def _question(record: Mapping[str, Any]) -> Question:
    gold = tuple(_gold(one, f"evidence {n}: ") for n, one in enumerate(list_of(record, "gold_evidence"), 1))
    if not gold:
        raise Off("no evidence")
    kind = text_of(record, "question_type", empty=True) if record.get("question_type") else ""
    return Question(text_of(record, "qa_id"), text_of(record, "question"), category_of(gold),
                    text_of(record, "gold_answer", empty=True), gold, kind)


def _gold(record: Any, where: str) -> Gold:
    if not isinstance(record, dict):
        raise Off(f"{where}not a JSON object")
    item = ITEM.match(text_of(record, "section", where, empty=True)) if record.get("section") else None
    return Gold(text_of(record, "filing_accession", where), text_of(record, "quote", where), item=item[1].upper() if item else "")
