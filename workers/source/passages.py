"""Passages that a set of questions brings with it: each is one document of the lake, its text exactly as given.

What is read, each also as .gz:
- corpus.jsonl of BEIR: {"_id": …, "title": …, "text": …}, beside them "url", "source" (who published it) and "published_at"
- a JSON list of articles, as MultiHop-RAG has them: {"title": …, "body": …, "url": …}, named by their address
- the JSON list of TAT-QA: a table and its paragraphs are one passage, named by the table's id
In a folder, the files whose names begin with "corpus" are taken, else all but those that begin with "queries".

A passage goes into raw/ as JSON of its title and text. It is no filing: its form is "passage", and nothing is looked for in its text.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import IO, Any

from edgarmill.schemas import ids
from edgarmill.schemas.errors import BadFile, BadInput, DuplicateAccession, StorageError, TooLarge, UsageError
from edgarmill.schemas.records import Filing
from edgarmill.schemas.settings import Settings
from edgarmill.workers.source.listed import Listed

FORM = "passage"
MAX_BYTES = 2**30  # of a corpus, unpacked: its texts are held until they are in raw/
MAX_JSON_BYTES = 64 * 2**20  # of a corpus that is one JSON value
DAMAGED = (gzip.BadGzipFile, EOFError, zlib.error)
HINT = "Name a corpus: JSONL with _id and text, or the folder that it is in."


@dataclass(frozen=True, slots=True)
class Passage:
    name: str
    text: str
    title: str = ""
    url: str | None = None
    publisher: str | None = None
    published_on: date | None = None


def corpora_at(path: str) -> list[Path]:
    """The files to read. Raises UsageError, StorageError."""
    place = Path(path)
    try:
        if place.is_file():
            return [place]
        files = sorted(p for p in place.iterdir() if p.is_file() and _bare(p).endswith((".jsonl", ".json")))
    except FileNotFoundError:
        raise UsageError("no such file or folder", path, HINT) from None
    except OSError as error:
        raise StorageError(f"cannot be read: {error.strerror}", path, "Check its permissions.") from None
    named = [p for p in files if p.name.startswith("corpus")] or [p for p in files if not p.name.startswith("queries")]
    if not named:
        raise UsageError("no corpus of passages in the folder", path, HINT)
    return named


def corpus_name(path: Path) -> str:
    """The name of the folder for a file that is called corpus, else the file's own."""
    stem = _bare(path).rpartition(".")[0]
    return path.resolve().parent.name if stem == "corpus" else stem


def list_passages(path: str, settings: Settings) -> Iterator[tuple[Listed, bytes]]:
    """Every passage with its bytes for raw/, in the order of the corpus. What is wrong with one is its error, and the others go on."""
    for file in corpora_at(path):
        corpus = corpus_name(file)
        taken: set[str] = set()
        for number, found in passages_of(file):
            name = f"{corpus}/{found.name}" if isinstance(found, Passage) else f"{corpus} record {number}"
            if name in taken:
                found = DuplicateAccession(f"passage {name[:80]} was there before; the first one counts", "", "Give each an id of its own.")
                name = f"{corpus} record {number}"
            taken.add(name)
            yield _listed(name, found, str(file.resolve()), settings)


def passages_of(path: Path) -> Iterator[tuple[int, Passage | BadInput]]:
    """What the records of a corpus hold, numbered from 1. Raises UsageError where the file is no corpus at all."""
    try:
        with _opened(path) as stream:
            records = _of_one_value(stream) if _bare(path).endswith(".json") else _of_lines(stream)
            for number, record in records:
                yield number, _passage(record) if isinstance(record, dict) else record
    except DAMAGED as error:
        yield 0, BadFile(f"compressed file is damaged: {error}", path.name, "Compress or download it again.")
    except OSError as error:
        raise StorageError(f"cannot be read: {error.strerror or error}", str(path), "Check its permissions and its disk.") from None


def opened_passage(data: bytes) -> tuple[str, str]:
    """Title and text out of raw/. Raises BadFile."""
    try:
        record = json.loads(data)
        return record["title"], record["text"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadFile("no passage, though its source says so", "", "Ingest the corpus again.") from None


def context_text(record: dict[str, Any]) -> tuple[str, dict[str, int], list[int]]:
    """A context of TAT-QA as text: the rows of its table, then its paragraphs in their order, blank lines between.

    Beside it, where each paragraph begins (by "paragraph_1" …) and each row. Raises BadFile.
    """
    try:
        lines = [" | ".join(str(cell) for cell in row) for row in record["table"]["table"]]
        told = [(f"paragraph_{p['order']}", str(p["text"])) for p in sorted(record["paragraphs"], key=lambda p: int(p["order"]))]
    except (KeyError, TypeError, ValueError):
        raise BadFile("no context with a table and paragraphs", "", "Take the file as it is published.") from None
    rows, at = [], 0
    for line in lines:
        rows.append(at)
        at += len(line) + 1
    parts, starts = ["\n".join(lines)], {}
    at = len(parts[0]) + 2
    for name, text in told:
        starts[name] = at
        parts.append(text)
        at += len(text) + 2
    return "\n\n".join(parts), starts, rows


def _listed(name: str, found: Passage | BadInput, where: str, settings: Settings) -> tuple[Listed, bytes]:
    filing = Filing(ids.local_accession(name), name=name, source="passages", form=FORM, family="other")
    if isinstance(found, BadInput):
        return Listed(filing, where, found), b""
    try:
        data = json.dumps({"title": found.title, "text": found.text}, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return Listed(filing, where, BadFile("half a surrogate pair in its text", name, "Mend the corpus.")), b""
    if len(data) > settings.max_filing_bytes:
        error = TooLarge(f"more than {settings.max_filing_bytes} bytes", name, "Raise max_filing_bytes if it is a passage.")
        return Listed(filing, where, error), b""
    filing = replace(filing, url=found.url, company=found.publisher, filed_on=found.published_on, sha256=ids.sha256(data), bytes=len(data))
    return Listed(filing, where), data


def _passage(record: dict[str, Any]) -> Passage | BadInput:
    if "paragraphs" in record and isinstance(record.get("table"), dict):
        try:
            return Passage(str(record["table"]["uid"]), context_text(record)[0])
        except (BadFile, KeyError) as error:
            return error if isinstance(error, BadFile) else BadFile("a context without uid", "", "Take the file as it is published.")
    name, text = record.get("_id", record.get("id", record.get("url"))), record.get("text", record.get("body"))
    if isinstance(name, int):
        name = str(name)
    if not isinstance(name, str) or not name.strip() or not isinstance(text, str):
        return BadFile("no passage: it needs _id and text", "", "Mend the corpus.")
    if not text.strip():
        return BadFile(f"passage {name[:80]} is empty", "", "Take it out of the corpus.")
    published = None
    with suppress(ValueError, TypeError):
        published = date.fromisoformat(str(record.get("published_at"))[:10])
    return Passage(name, text, _said(record, "title") or "", _said(record, "url"), _said(record, "source"), published)


def _said(record: dict[str, Any], field: str) -> str | None:
    value = record.get(field)
    return value.strip()[:2000] or None if isinstance(value, str) else None


def _of_lines(stream: IO[bytes]) -> Iterator[tuple[int, dict[str, Any] | BadInput]]:
    number = read = 0
    while data := stream.readline(MAX_JSON_BYTES + 1):
        number += 1
        read += len(data)
        if read > MAX_BYTES or len(data) > MAX_JSON_BYTES:
            what = f"the corpus has more than {MAX_BYTES:,} bytes, or {MAX_JSON_BYTES:,} in one line; the rest is left out"
            yield number, TooLarge(what, "", "Divide it into several.")
            return
        if data.strip():
            record = _json(data)
            yield number, record if isinstance(record, (dict, BadInput)) else BadFile("no JSON object", "", "Mend the corpus.")


def _of_one_value(stream: IO[bytes]) -> Iterator[tuple[int, dict[str, Any] | BadInput]]:
    data = stream.read(MAX_JSON_BYTES + 1)
    if len(data) > MAX_JSON_BYTES:
        yield 1, TooLarge(f"one JSON value of more than {MAX_JSON_BYTES:,} bytes", "", "Write the corpus as JSONL.")
        return
    records = _json(data)
    if not isinstance(records, list):
        yield 1, records if isinstance(records, BadInput) else BadFile("no JSON list of passages", "", HINT)
        return
    for number, record in enumerate(records, 1):
        yield number, record if isinstance(record, dict) else BadFile("no JSON object", "", "Mend the corpus.")


def _json(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return BadFile(f"not JSON ({getattr(error, 'msg', type(error).__name__)})", "", "Mend the corpus.")


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.name.endswith(".gz") else path.open("rb")  # type: ignore[return-value]


def _bare(path: Path) -> str:
    return path.name.removesuffix(".gz")
