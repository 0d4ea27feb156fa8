"""MultiHop-RAG as it is published: a JSON list of queries, each with the facts of several articles, which are named by their address.

The articles are the corpus beside it; the source `passages` makes documents of them. A `null_query` has no evidence: nothing answers it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from edgarmill.eval.questions.question_set import File, Found, Off, Problem, category_of, found, json_of, list_of, text_of
from edgarmill.schemas.ids import digest
from edgarmill.schemas.records import Gold, Question

LICENCE = "ODC-BY"


def claims(name: str, head: str) -> bool:
    return name.endswith(".json") and '"evidence_list"' in head and '"query"' in head


def read(file: File) -> Iterator[Found | Problem]:
    records = json_of(file.whole())
    if not isinstance(records, list):
        raise Off("not a JSON list of queries")
    for number, record in enumerate(records, 1):
        yield found(number, record, _question)


def _question(record: Any) -> Question:
    """The published queries have no ids: one is made of the words."""
    if not isinstance(record, dict):
        raise Off("not a JSON object")
    query, kind = text_of(record, "query"), text_of(record, "question_type")
    gold = tuple(_gold(one, f"evidence {n}: ") for n, one in enumerate(list_of(record, "evidence_list"), 1))
    if kind.startswith("null") == bool(gold):
        raise Off("a null query has evidence" if gold else "empty evidence_list")
    category = "null" if not gold else category_of(gold)
    return Question(f"mh-{digest(query)[:12]}", query, category, text_of(record, "answer", empty=True), gold, kind)


def _gold(record: Mapping[str, Any], where: str) -> Gold:
    if not isinstance(record, dict):
        raise Off(f"{where}not a JSON object")
    return Gold(text_of(record, "url", where), text_of(record, "fact", where))
