"""What stands in an answer: the text of a chat, the vectors of embeddings; and what is wrong with it where it cannot be read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from edgarmill.workers.models.buckets import Tokens
from edgarmill.workers.models.wire import Again

_MOST = 3.4e38  # of a number of 32 bits
_FENCE = re.compile(r"\A\s*```[a-z]*\s*\n(.*?)\n?\s*```\s*\Z", re.S)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model wrote. `finish` as the server says: stop, length, content_filter …"""

    text: str
    finish: str
    tokens: Tokens
    origin: str  # provider | counted | reused


def bare(text: str) -> str:
    """Without the fence that models like to put around JSON."""
    found = _FENCE.match(text)
    return found[1] if found else text


def fault(error: ValidationError, reply: Reply) -> str:
    """What is wrong with an answer, in a few words without its content."""
    if reply.finish == "length":
        return "it was cut at the most output allowed"
    first = error.errors(include_input=False, include_url=False)[0]
    return ": ".join(filter(None, (".".join(str(part) for part in first["loc"]), first["msg"])))[:200]


def text_of(answer: Mapping[str, Any]) -> str:
    """What was written; "" where there is nothing to read."""
    try:
        return written(answer)[0]
    except Again:
        return ""


def written(answer: Mapping[str, Any]) -> tuple[str, str]:
    """Text and finish reason. Raises Again where there is no choice in it."""
    try:
        choice = answer["choices"][0]
        content, finish = choice["message"].get("content"), choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise Again("an answer without a choice", billed=True) from None
    if isinstance(content, list):  # parts, as some servers give them
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else "", str(finish or "")


def check_usable(kind: str, answer: Mapping[str, Any], wanted: int) -> None:
    """Raises Again for an answer in which there is nothing to read: it was paid, and is not kept."""
    if kind == "embeddings":
        vectors(answer, wanted)
    elif kind == "rerank":
        relevances(answer, wanted - 1)  # the question is one of its texts
    else:
        written(answer)


def vectors(answer: Mapping[str, Any], wanted: int) -> list[list[float]]:
    """Vectors in the order of the texts. Raises Again where one is missing, of another size, or no numbers."""
    try:
        rows = sorted(answer["data"], key=lambda row: row["index"])
        vectors = [[float(number) for number in row["embedding"]] for row in rows]
        places = [row["index"] for row in rows]
    except (KeyError, TypeError, ValueError, OverflowError):
        raise Again("an answer without vectors", billed=True) from None
    whole = places == list(range(wanted)) and len({len(v) for v in vectors}) <= 1 and all(vectors)
    if not whole or not all(-_MOST < number < _MOST for vector in vectors for number in vector):  # nor is NaN
        raise Again("an answer whose vectors are not those asked for", billed=True)
    return vectors


def relevances(answer: Mapping[str, Any], wanted: int) -> list[float]:
    """Scores of a rerank in the order of the texts. Raises Again where one is missing, twice there, or no number."""
    try:
        rows = answer["results"] if "results" in answer else answer["data"]
        scores = {int(row["index"]): float(row["relevance_score"] if "relevance_score" in row else row["score"]) for row in rows}
    except (KeyError, TypeError, ValueError, OverflowError):
        raise Again("an answer without relevance scores", billed=True) from None
    if len(rows) != wanted or sorted(scores) != list(range(wanted)) or not all(-_MOST < score < _MOST for score in scores.values()):
        raise Again("an answer whose scores are not those asked for", billed=True)
    return [scores[place] for place in range(wanted)]
