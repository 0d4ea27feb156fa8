"""What a reader of question sets gives, and what it is given. A reader is a module of this folder with

    claims(name: str, head: str) -> bool                   is this file mine? by its name without .gz and its first 64 KB, unpacked
    read(file: File) -> Iterator[Found | Problem | Note]   what it holds, in its order; a file beside it is `file.beside(name)`
    LICENCE: str                                           of a published set, where no README says it

A reader names what is wrong with a record (`Off`) and goes on. `load` refuses an id that was there before.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from edgarmill.schemas.ids import digest
from edgarmill.schemas.records import Question

HEAD_BYTES = 64 * 1024
MAX_LINE_BYTES = 1024 * 1024  # one question with its evidence; those of filings-dev have 1 KB
MAX_FILE_BYTES = 256 * 2**20  # unpacked; what follows is not read
MAX_WHOLE_BYTES = 64 * 2**20  # of a file that is one JSON value: as objects it takes some ten times as much

DAMAGED = (gzip.BadGzipFile, EOFError, zlib.error)


class Off(Exception):
    """What is wrong with a record, or with a whole file; becomes a Problem."""


@dataclass(frozen=True, slots=True)
class Line:
    number: int  # from 1
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """A question and the line or row it began on."""

    number: int
    question: Question


@dataclass(frozen=True, slots=True)
class Problem:
    """Why one line is no question; the others go on. Number 0: the file as a whole."""

    number: int
    what: str


@dataclass(frozen=True, slots=True)
class Note:
    """What is left aside rightly, and should be known."""

    what: str


@dataclass(frozen=True)
class File:
    """A file of a set; .gz is unpacked as it is read. OSError goes through where it cannot be opened."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name.removesuffix(".gz")

    def beside(self, *names: str) -> File | None:
        """The first of these files that is in the same folder, packed or not."""
        places = (self.path.parent / f"{name}{packed}" for name in names for packed in ("", ".gz"))
        return next((File(place) for place in places if place.is_file()), None)

    def head(self) -> str:
        """The first 64 KB as text; "" of a damaged file."""
        try:
            with self.opened() as stream:
                return stream.read(HEAD_BYTES).decode("utf-8", "replace")
        except DAMAGED:
            return ""

    def lines(self) -> Iterator[Line | Problem]:
        """Lines that are not blank, never holding more than MAX_LINE_BYTES of one."""
        number = read = 0
        with self.opened() as stream:
            while True:
                number += 1
                try:
                    data, skipped = _line(stream, MAX_FILE_BYTES - read)
                except DAMAGED as error:
                    yield Problem(number, f"compressed file is damaged ({error}); the rest is left out")
                    return
                read += len(data) + skipped
                if not data:
                    return
                if read >= MAX_FILE_BYTES:
                    yield Problem(number, f"more than {MAX_FILE_BYTES:,} bytes unpacked; the rest is left out")
                    return
                item = _decoded(number, data, skipped)
                if item:
                    yield item

    def whole(self) -> bytes:
        """All of it. Raises Off over MAX_WHOLE_BYTES or where it is damaged."""
        try:
            with self.opened() as stream:
                data = stream.read(MAX_WHOLE_BYTES + 1)
        except DAMAGED as error:
            raise Off(f"compressed file is damaged ({error})") from None
        if len(data) > MAX_WHOLE_BYTES:
            raise Off(f"more than {MAX_WHOLE_BYTES:,} bytes unpacked")
        return data

    def opened(self) -> IO[bytes]:
        return gzip.open(self.path) if self.path.name.endswith(".gz") else self.path.open("rb")  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions of one file or folder. `set_hash` covers all their fields, whatever their order and the file they stand in."""

    name: str
    questions: tuple[Question, ...]
    set_hash: str
    licence: str | None
    problems: tuple[str, ...] = ()  # "FILE line N: what": lines left out
    notes: tuple[str, ...] = ()  # what was left aside rightly


def hash_of(questions: Iterable[Question]) -> str:
    """Id of the questions as asked: 32 hex digits."""
    ordered = sorted(questions, key=lambda q: q.question_id)
    return digest(*(json.dumps(_hashed(q), sort_keys=True, ensure_ascii=False) for q in ordered))


def _hashed(question: Question) -> dict[str, Any]:
    """All that was there from the first, and of later fields those that say something: sets keep their hashes."""
    fields = asdict(question)
    return fields if fields["kind"] else {name: value for name, value in fields.items() if name != "kind"}


def objects(file: File) -> Iterator[tuple[int, dict[str, Any]] | Problem]:
    """The JSON object of each line, with its number."""
    for line in file.lines():
        if isinstance(line, Problem):
            yield line
            continue
        try:
            yield line.number, object_of(line.text)
        except Off as off:
            yield Problem(line.number, str(off))


def of_lines(file: File, question_of: Callable[[Mapping[str, Any]], Question]) -> Iterator[Found | Problem]:
    """The question of each line, or what is wrong with it."""
    for item in objects(file):
        yield item if isinstance(item, Problem) else found(*item, question_of)


def found(number: int, record: Any, question_of: Callable[[Any], Question]) -> Found | Problem:
    """The question of a record, or what is wrong with it."""
    try:
        return Found(number, question_of(record))
    except Off as off:
        return Problem(number, str(off))


def object_of(text: str | bytes) -> dict[str, Any]:
    record = json_of(text)
    if not isinstance(record, dict):
        raise Off("not a JSON object")
    return record


def json_of(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Off(f"not JSON ({getattr(error, 'msg', type(error).__name__)})") from None


def text_of(record: Mapping[str, Any], name: str, where: str = "", *, empty: bool = False) -> str:
    """The text of a field, which may be empty where it says so. Raises Off."""
    if name not in record:
        raise Off(f"{where}field {name!r} is missing")
    value = record[name]
    if not isinstance(value, str):
        raise Off(f"{where}{name!r} is not text")
    if not empty and not value.strip():
        raise Off(f"{where}{name!r} is empty")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise Off(f"{where}{name!r} holds half a surrogate pair") from None
    return value


def list_of(record: Mapping[str, Any], name: str) -> list[Any]:
    value = record.get(name)
    if not isinstance(value, list):
        raise Off(f"{name!r} is not a list")
    return value


def category_of(gold: Sequence[object]) -> str:
    """What a set that names no categories of ours leaves to be said: one piece of evidence, or several that are all needed."""
    return "multi-hop" if len(gold) > 1 else "single-hop"


def _line(stream: IO[bytes], most: int) -> tuple[bytes, int]:
    """The next line, at most MAX_LINE_BYTES + 1 of it, and how many bytes behind that were passed over."""
    data = stream.readline(MAX_LINE_BYTES + 1)
    skipped, more = 0, data
    while len(more) >= MAX_LINE_BYTES and not more.endswith(b"\n") and skipped < most:
        more = stream.readline(MAX_LINE_BYTES)
        skipped += len(more)
    return data, skipped


def _decoded(number: int, data: bytes, skipped: int) -> Line | Problem | None:
    if len(data) > MAX_LINE_BYTES or skipped:
        return Problem(number, f"longer than {MAX_LINE_BYTES:,} bytes")
    try:
        text = data.decode("utf-8-sig" if number == 1 else "utf-8").strip()
    except UnicodeDecodeError:
        return Problem(number, "not UTF-8")
    return Line(number, text) if text else None
