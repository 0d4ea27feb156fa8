"""Question sets: `load` gives one from a file or a folder of files, .gz in place. One reader a file, found by what the file holds."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from edgarmill.eval.questions.question_set import DAMAGED, HEAD_BYTES, File, Found, Note, Off, Problem, QuestionSet, hash_of
from edgarmill.schemas.errors import UsageError
from edgarmill.schemas.files import check_regular
from edgarmill.schemas.records import Question

KINDS = (".jsonl", ".json", ".parquet")
OWN_FORM = "filings"  # the reader that says what is wrong with a file which none claims
MAX_PROBLEMS = 1_000  # kept; the others are counted
MOST_CHARACTERS = 60  # of a category and a kind: they are headings of tables
LICENCE = re.compile(r"\b(?:Licen[cs]e|LICEN[CS]E)\b[^\n:]{0,40}:\W*(\w[^\n]*)")
HINT = "Name a question set: a JSONL or Parquet file, or a folder of them."


def load(path: str) -> QuestionSet:
    """All questions of a file, or of the files of a folder in the order of their names; what was left out is listed in `problems`.

    In a folder, files that no reader claims are passed over, with a note. Raises UsageError where the path cannot be read or where it holds
    no question.
    """
    place = Path(path)
    files, notes = _chosen(place)
    questions: dict[str, Question] = {}
    problems: list[str] = []
    lost = 0
    for file, reader in files:
        for item in _items(file, reader):
            if isinstance(item, Note):
                notes.append(f"{file.name}: {item.what}")
                continue
            what = item.what if isinstance(item, Problem) else _unfit(item.question, questions)
            if what:
                lost += 1
                problems += [f"{_where(file, item.number)}: {what}"] if lost <= MAX_PROBLEMS else []
            elif isinstance(item, Found):
                questions[item.question.question_id] = item.question
    if lost > MAX_PROBLEMS:
        problems.append(f"{lost - MAX_PROBLEMS:,} further lines are left out")
    if not questions:
        first = f"{problems[0]} ({lost} lines in all)" if problems else "it is empty"
        raise UsageError(f"no question can be used: {first}", path, "The forms are in eval/questions/, our own in filings.py.")
    asked = tuple(questions.values())
    licence = _licence(place) or next((found for _, reader in files if (found := getattr(reader, "LICENCE", None))), None)
    return QuestionSet(_name(place), asked, hash_of(asked), licence, tuple(problems), tuple(notes))


def readers() -> dict[str, ModuleType]:
    """The readers of this folder by name, our own form last."""
    names = [m.name for m in iter_modules(__path__) if m.name != "question_set"]
    return {name: import_module(f"{__name__}.{name}") for name in sorted(names, key=lambda n: (n == OWN_FORM, n))}


def _name(place: Path) -> str:
    whole = place.resolve()
    return File(whole).name.rpartition(".")[0] or whole.name if whole.is_file() else whole.name


def _chosen(place: Path) -> tuple[list[tuple[File, ModuleType]], list[str]]:
    """The files with their readers, and notes on those passed over."""
    known = readers()
    found = [(file, next((r for r in known.values() if r.claims(file.name, _head(file))), None)) for file in _files(place)]
    claimed = [(file, reader) for file, reader in found if reader]
    if not claimed:
        return [(file, known[OWN_FORM]) for file, _ in found], []
    left = [file.name for file, reader in found if not reader]
    return claimed, [f"{name}: passed over, no reader knows its form" for name in left if name != "corpus.jsonl"]


def _files(place: Path) -> list[File]:
    try:
        if not place.is_dir():
            check_regular(str(place), UsageError)
            return [File(place)]
        files = [File(path) for path in sorted(place.iterdir()) if File(path).name.endswith(KINDS) and path.is_file()]
    except OSError as error:
        raise _unreadable(place, error) from None
    if not files:
        raise UsageError(f"no {', '.join('*' + kind for kind in KINDS)} file in the folder of questions", str(place), HINT)
    return files


def _head(file: File) -> str:
    try:
        return file.head()
    except OSError as error:
        raise _unreadable(file.path, error) from None


def _items(file: File, reader: ModuleType) -> list[Found | Problem | Note]:
    """What the reader finds; what is wrong with the file as a whole is one problem behind what was found until then."""
    found: list[Found | Problem | Note] = []
    try:
        for item in reader.read(file):
            found.append(item)
    except Off as off:
        found.append(Problem(0, str(off)))
    except DAMAGED as error:
        found.append(Problem(0, f"compressed file is damaged ({error})"))
    except OSError as error:
        raise _unreadable(file.path, error) from None
    return found


def _where(file: File, number: int) -> str:
    return f"{file.name} {'row' if file.name.endswith('.parquet') else 'line'} {number}" if number else file.name


def _unfit(question: Question, before: dict[str, Question]) -> str:
    """Why a question cannot stand in the set, whatever its form. Categories are names of slices, beside `form:10-K` and `year:2024`."""
    for name, value in (("category", question.category), ("kind", question.kind)):
        if len(value) > MOST_CHARACTERS:
            return f"{name!r} has {len(value):,} characters; at most {MOST_CHARACTERS}"
    if ":" in question.category:
        return f"category {question.category!r} has a colon, as slices by form, year and type have"
    name = question.question_id
    return f"id {name[:40]!r} was there before; the first one counts" if name in before else ""


def _licence(place: Path) -> str | None:
    """What follows "Licence:" in a README of the folder, to the end of the line."""
    folder = place if place.is_dir() else place.resolve().parent
    for file in sorted(folder.glob("README*")):
        if file.is_file():
            with file.open("rb") as stream:
                match = LICENCE.search(stream.read(HEAD_BYTES).decode("utf-8", "replace"))
            if match:
                return match[1].replace("**", "").strip().rstrip(".")[:500]
    return None


def _unreadable(path: Path, error: OSError) -> UsageError:
    reason = "no such file" if isinstance(error, FileNotFoundError) else type(error).__name__
    return UsageError(f"questions cannot be read ({reason})", str(path), HINT)
