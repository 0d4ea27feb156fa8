"""Question sets: `load` gives one from a JSONL file or a folder of them. One reader a file, found by what the file holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from edgarmill.eval.questions.question_set import Found, Line, Problem, QuestionSet, hash_of
from edgarmill.schemas.errors import UsageError
from edgarmill.schemas.records import Question

HEAD_BYTES = 64 * 1024
MAX_LINE_BYTES = 1024 * 1024  # one question with its evidence; those of filings-dev have 1 KB
OWN_FORM = "filings"  # the reader that says what is wrong with a file which none claims
LICENCE = re.compile(r"^\W*licen[cs]e\W+(\w.*)$", re.IGNORECASE | re.MULTILINE)


def load(path: str) -> QuestionSet:
    """All questions of a file, or of the *.jsonl files of a folder in the order of their names; lines left out are listed in `problems`.

    Raises UsageError where the path cannot be read or where no line of it is a question.
    """
    place = Path(path)
    questions: dict[str, Question] = {}
    problems: list[str] = []
    for file in _files(place):
        for item in _items(file):
            what = item.what if isinstance(item, Problem) else _repeats(item, questions)
            if what:
                problems.append(f"{file.name} line {item.number}: {what}")
            elif isinstance(item, Found):
                questions[item.question.question_id] = item.question
    if not questions:
        first = f"{problems[0]} ({len(problems)} lines in all)" if problems else "it is empty"
        raise UsageError(f"no question can be used: {first}", path, "The form is in eval/questions/filings.py.")
    asked = tuple(questions.values())
    whole = place.resolve()
    return QuestionSet(whole.stem if whole.is_file() else whole.name, asked, hash_of(asked), _licence(place), tuple(problems))


def readers() -> dict[str, ModuleType]:
    """The readers of this folder by name, our own form last."""
    names = [m.name for m in iter_modules(__path__) if m.name != "question_set"]
    return {name: import_module(f"{__name__}.{name}") for name in sorted(names, key=lambda n: (n == OWN_FORM, n))}


def _files(place: Path) -> list[Path]:
    try:
        files = sorted(place.glob("*.jsonl")) if place.is_dir() else [place]
    except OSError as error:
        raise _unreadable(place, error) from None
    if not files:
        raise UsageError("no *.jsonl file in the folder of questions", str(place), "Name a question set: a JSONL file or a folder of them.")
    return files


def _items(file: Path) -> list[Found | Problem]:
    """What the file's reader finds, by line; over-long and undecodable lines are problems before a reader sees them."""
    try:
        with file.open("rb") as stream:
            head = stream.read(HEAD_BYTES).decode("utf-8", "replace")
        lines = list(_lines(file))
    except OSError as error:
        raise _unreadable(file, error) from None
    known = readers()
    reader = next((r for r in known.values() if r.claims(file.name, head)), known[OWN_FORM])
    bad = [line for line in lines if isinstance(line, Problem)]
    good = [line for line in lines if isinstance(line, Line)]
    return sorted(chain(bad, reader.read(good)), key=lambda item: item.number)


def _lines(file: Path) -> Iterator[Line | Problem]:
    """The file's lines that are not blank, never holding more than MAX_LINE_BYTES of one."""
    with file.open("rb") as stream:
        number = 0
        while data := stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(data) > MAX_LINE_BYTES:
                while data and not data.endswith(b"\n"):
                    data = stream.readline(MAX_LINE_BYTES)
                yield Problem(number, f"longer than {MAX_LINE_BYTES:,} bytes")
                continue
            try:
                text = data.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            except UnicodeDecodeError:
                yield Problem(number, "not UTF-8")
                continue
            if text:
                yield Line(number, text)


def _repeats(item: Found, before: dict[str, Question]) -> str:
    name = item.question.question_id
    return f"id {name[:40]!r} was there before; the first one counts" if name in before else ""


def _licence(place: Path) -> str | None:
    """The line of a folder's README that begins with "Licence:", without that word."""
    for file in sorted(place.glob("README*")) if place.is_dir() else []:
        with file.open("rb") as stream:
            match = LICENCE.search(stream.read(HEAD_BYTES).decode("utf-8", "replace"))
        if match:
            return match[1].strip()[:500]
    return None


def _unreadable(path: Path, error: OSError) -> UsageError:
    reason = "no such file" if isinstance(error, FileNotFoundError) else type(error).__name__
    return UsageError(f"questions cannot be read ({reason})", str(path), "Name a question set: a JSONL file or a folder of them.")
