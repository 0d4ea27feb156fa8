"""KG-RAG: questions over whole reports. Gold is the documents that are named (`source_docs`), without place or quote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from edgarmill.eval.questions.question_set import File, Found, Off, Problem, list_of, of_lines, text_of
from edgarmill.schemas.records import Gold, Question

LICENCE = "MIT"
SINGLE = "Single-Doc Single-Chunk"


def claims(name: str, head: str) -> bool:
    return name.endswith(".jsonl") and '"source_docs"' in head and '"question"' in head


def read(file: File) -> Iterator[Found | Problem]:
    return of_lines(file, _question)


def _question(record: Mapping[str, Any]) -> Question:
    named = list_of(record, "source_docs")
    if not named or not all(isinstance(name, str) and name.strip() for name in named):
        raise Off("'source_docs' names no documents")
    kind = text_of(record, "question_type", empty=True) if record.get("question_type") else ""
    gold = tuple(Gold(name, "", type="document") for name in dict.fromkeys(named))
    category = "single-hop" if kind.startswith(SINGLE) and len(gold) == 1 else "multi-hop"
    return Question(text_of(record, "id"), text_of(record, "question"), category, text_of(record, "answer", empty=True), gold, kind)
