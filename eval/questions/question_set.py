"""What a reader of question sets gives, and what it is given. A reader is a module of this folder with

    claims(name: str, head: str) -> bool                          is this file mine? by its name and its first 64 KB
    read(lines: Iterable[Line]) -> Iterator[Found | Problem]      one for each line

`load` bounds the lines, decodes them, and refuses an id that was there before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from edgarmill.schemas.ids import digest
from edgarmill.schemas.records import Question


@dataclass(frozen=True, slots=True)
class Line:
    number: int  # from 1
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """A question and the line it began on."""

    number: int
    question: Question


@dataclass(frozen=True, slots=True)
class Problem:
    """Why one line is no question; the others go on."""

    number: int
    what: str


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions of one file or folder. `set_hash` covers all their fields, whatever their order and the file they stand in."""

    name: str
    questions: tuple[Question, ...]
    set_hash: str
    licence: str | None
    problems: tuple[str, ...] = ()  # "FILE line N: what": lines left out


def hash_of(questions: Iterable[Question]) -> str:
    """Id of the questions as asked: 32 hex digits."""
    ordered = sorted(questions, key=lambda q: q.question_id)
    return digest(*(json.dumps(asdict(q), sort_keys=True, ensure_ascii=False) for q in ordered))
