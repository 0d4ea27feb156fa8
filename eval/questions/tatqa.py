"""TAT-QA: a JSON list of contexts, a table with paragraphs, and questions whose answers are mapped to cells and character ranges.

The contexts are documents by way of the source `passages`; where a paragraph or a row begins in that text is known, so each piece of gold
states its `start`. Gold is the mapped range of a paragraph, or the row of a mapped cell. A question's kind is where its answer is from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from edgarmill.eval.questions.question_set import File, Found, Off, Problem, category_of, found, json_of, list_of, text_of
from edgarmill.schemas.errors import BadFile
from edgarmill.schemas.records import Gold, Question
from edgarmill.workers.source.passages import context_text

LICENCE = "CC BY 4.0"


def claims(name: str, head: str) -> bool:
    return name.endswith(".json") and '"paragraphs"' in head and '"uid"' in head and '"table"' in head


def read(file: File) -> Iterator[Found | Problem]:
    contexts = json_of(file.whole())
    if not isinstance(contexts, list):
        raise Off("not a JSON list of contexts")
    number = 0
    for place, context in enumerate(contexts, 1):
        try:
            reference, made = str(context["table"]["uid"]), context_text(context)
            asked = list_of(context, "questions")
        except (KeyError, TypeError, AttributeError, BadFile, Off) as error:
            number += 1
            yield Problem(number, f"context {place}: no table, paragraphs and questions ({type(error).__name__})")
            continue
        for record in asked:
            number += 1
            yield found(number, record, partial(_question, reference, *made))


def _question(reference: str, text: str, paragraphs: Mapping[str, int], rows: list[int], record: Any) -> Question:
    if not isinstance(record, dict):
        raise Off("not a JSON object")
    found = (_gold(*pair, reference, text, paragraphs, rows) for one in list_of(record, "mappings") for pair in dict(one).items())
    gold = tuple(dict.fromkeys(found))
    if not gold:
        raise Off("its answer is mapped to nothing")
    kind = text_of(record, "answer_from", empty=True) if record.get("answer_from") else ""
    return Question(text_of(record, "uid"), text_of(record, "question"), category_of(gold), _answer(record), gold, kind)


def _gold(name: str, place: Any, reference: str, text: str, paragraphs: Mapping[str, int], rows: list[int]) -> Gold:
    if not (isinstance(place, list) and len(place) == 2 and all(isinstance(n, int) and n >= 0 for n in place)):
        raise Off(f"mapping {str(place)[:40]!r} is no pair of numbers")
    if name == "table":
        if place[0] >= len(rows):
            raise Off(f"row {place[0]} is not in the table")
        start = rows[place[0]]
        return Gold(reference, text[start:].split("\n", 1)[0], type="table", start=start)
    if name not in paragraphs:
        raise Off(f"{name[:40]!r} is not in the context")
    start = paragraphs[name] + place[0]
    quote = text[start : paragraphs[name] + place[1]]
    if not quote.strip():
        raise Off("its answer is mapped to an empty range")
    return Gold(reference, quote, start=start)


def _answer(record: Mapping[str, Any]) -> str:
    """The answer with its scale: "17.7 percent"; several spans with "; " between."""
    answer, scale = record.get("answer"), record.get("scale")
    words = "; ".join(map(str, answer)) if isinstance(answer, list) else str("" if answer is None else answer)
    return f"{words} {scale}".strip() if isinstance(scale, str) else words
