"""A folder of filings as EDGAR's server sees it: which filers it has, which filings, which documents.

Headers are read here by few plain patterns and not by the pipeline's own reader, on purpose: the replay server is what the pipeline
is tested against, and a mistake in one must not hide in the other.
"""

from __future__ import annotations

import binascii
import gzip
import json
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path

import zstandard

from edgarmill.sample.bare import Bare, read_bare
from edgarmill.sample.headers import item_number
from edgarmill.sample.kept import Kept
from edgarmill.schemas.errors import StorageError

SUFFIXES = (".txt", ".nc")
BEGINNING = 2**20  # bytes; the longest recorded header, of 239 filers, has 143,418
TICKERS = "company_tickers_exchange.json"  # beside the filings: tickers are in no filing's header
ACCESSION = re.compile(rb"\d{10}-\d{2}-\d{6}")
HEAD_END = re.compile(rb"</(?:SEC|IMS)-HEADER>|<DOCUMENT>")
HEADER = re.compile(rb"^<(?:SEC-HEADER|IMS-HEADER|SUBMISSION)>", re.M)
LINE_END = re.compile(rb"[ \t]*(?:\r\n|\n|\r|\Z)")
WRAPPER = re.compile(rb"<(XBRL|XML|PDF)>[ \t]*(?:\r\n|\n|\r)?")
UUENCODED = re.compile(rb"begin [0-7]{3,4} [^\r\n]*(?:\r\n|\n|\r)")
KEPT_BYTES = 192 * 2**20  # of texts and of documents each
CIK = re.compile(rb"^(?:\s*CENTRAL INDEX KEY:\s*|<CIK>)0*(\d{1,10})", re.M)


@dataclass(frozen=True, slots=True)
class Filer:
    """As the header of the filer's newest filing says it."""

    cik: str  # without leading zeros
    name: str
    sic: str = ""
    state: str = ""
    fiscal_year_end: str = ""  # MMDD


@dataclass(frozen=True, slots=True)
class Entry:
    """One filing. Dates are YYYYMMDD as in the header, "" where it has none."""

    accession: str
    path: Path
    form: str
    filed: str
    period: str
    accepted: str  # 14 digits, US Eastern
    items: tuple[str, ...]
    filers: tuple[Filer, ...]
    size: int  # of the full submission text
    primary: str
    description: str
    inline: bool
    around: tuple[bytes, bytes] = (b"", b"")  # what stands before and after the file's bytes, where it is a document alone


@dataclass(frozen=True, slots=True)
class Part:
    """One <DOCUMENT> of a submission; `name` is "" before about 2000."""

    type: str
    sequence: str
    name: str
    description: str
    body: bytes


@dataclass(frozen=True)
class Archive:
    """What is there to be asked for; `as_of` makes one of another day."""

    entries: dict[str, Entry]  # by accession
    by_filer: dict[str, list[Entry]]  # by CIK without zeros, newest first
    tickers: list[tuple[str, str, str, str]] = field(default_factory=list)  # cik, name, ticker, exchange
    published: Mapping[str, str] = field(default_factory=dict)  # day of the daily index by accession, where it is not the filing date
    days: frozenset[str] = frozenset()  # days with a daily index though none of these filings was published on them
    texts: Kept[bytes] = field(default_factory=lambda: Kept(KEPT_BYTES, len))
    documents: Kept[list[Part]] = field(default_factory=lambda: Kept(KEPT_BYTES, _weight))

    def day(self, entry: Entry) -> str:
        """The day whose daily index names it, YYYYMMDD."""
        return self.published.get(entry.accession, entry.filed)

    def text(self, entry: Entry) -> bytes:
        """The full submission, unpacked."""
        return self.texts.get(_version(entry.path), lambda: content(entry.path).join(entry.around))

    def parts(self, entry: Entry) -> list[Part]:
        return self.documents.get(_version(entry.path), lambda: parts(self.text(entry)))


def read_archive(folder: str | Path) -> Archive:
    """The filings of a folder (.txt and .nc, plain, .gz or .zst), and the documents that its manifest names. Raises StorageError."""
    root = Path(folder)
    entries: dict[str, Entry] = {}
    try:
        for path in sorted(p for p in root.iterdir() if _stem(p).endswith(SUFFIXES) and p.is_file()):
            entry = _entry(path, *_beginning(path))
            if entry is not None and (entry.accession not in entries or entry.size > entries[entry.accession].size):
                entries[entry.accession] = entry
        known = {entry.path for entry in entries.values()}
        for bare in read_bare(root):
            if (path := root / bare.file) not in known and path.is_file() and (entry := _bare_entry(path, bare)):
                entries.setdefault(entry.accession, entry)
    except OSError as error:
        what = f"folder of filings cannot be read: {error.strerror}"
        raise StorageError(what, str(root), "Name a readable folder of submissions.") from None
    return Archive(entries, _by_filer(entries), list(_tickers(root / TICKERS)))


def as_of(archive: Archive, *, published: Mapping[str, date | str] | None = None, until: date | str | None = None,
          days: Collection[date | str] = (), withdrawn: Collection[str] = (),
          relisted: Mapping[str, tuple[str, date | str]] | None = None) -> Archive:
    """The archive on another day: nothing published after `until` is there, nor what was `withdrawn`.

    `published` says by accession which day's index names a filing first (its filing date otherwise); `days` have an index without any
    filing of ours; `relisted` gives an accession another form and filing date. Days are dates, YYYYMMDD or YYYY-MM-DD.
    """
    last = _digits(until) if until is not None else "99999999"
    told = {accession: _digits(day) for accession, day in (published or {}).items()}
    other = {accession: (form, _digits(day)) for accession, (form, day) in (relisted or {}).items()}
    entries = {accession: entry for accession, entry in archive.entries.items()
               if told.get(accession, entry.filed) <= last and accession not in withdrawn}
    entries |= {accession: replace(entries[accession], form=form, filed=day)
                for accession, (form, day) in other.items() if accession in entries}
    quiet = frozenset(day for day in map(_digits, days) if day <= last)
    return replace(archive, entries=entries, by_filer=_by_filer(entries), published=told, days=quiet)


def weekdays(last: date, count: int = 70) -> list[date]:
    """The last so many, for days of an EDGAR that publishes to this day though none of our filings is so young."""
    days = (last - timedelta(days=n) for n in range(2 * count))
    return [day for day in days if day.weekday() < 5][:count]


def _by_filer(entries: Mapping[str, Entry]) -> dict[str, list[Entry]]:
    by_filer: dict[str, list[Entry]] = {}
    for entry in entries.values():
        for filer in entry.filers:
            by_filer.setdefault(filer.cik, []).append(entry)
    for found in by_filer.values():
        found.sort(key=lambda e: (e.filed, e.accepted, e.accession), reverse=True)
    return by_filer


def _digits(day: date | str) -> str:
    return str(day).replace("-", "")


def _weight(found: list[Part]) -> int:
    return sum(len(part.body) for part in found)


def _version(path: Path) -> tuple[str, int, int]:
    """A file as it is now: one that is written over is read anew."""
    found = path.stat()
    return str(path), found.st_mtime_ns, found.st_size


def content(path: Path) -> bytes:
    """The bytes of a filing, unpacked."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix == ".zst":
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return data


def parts(data: bytes) -> list[Part]:
    """The documents of a submission, in order, their bytes as EDGAR serves them."""
    return [_part(block) for block in _blocks(data)]


def _blocks(data: bytes) -> Iterator[bytes]:
    """Between <DOCUMENT> and </DOCUMENT>. Found without patterns: those held every thread of the server for half a second per 12 MB."""
    end = 0
    while (start := _at_line(data, b"<DOCUMENT>", end)) >= 0 and (end := _at_line(data, b"</DOCUMENT>", start)) >= 0:
        yield data[start + len(b"<DOCUMENT>"): end]


def _at_line(data: bytes, mark: bytes, place: int) -> int:
    """Where the mark next begins a line, or -1."""
    while (found := data.find(mark, place)) > 0 and data[found - 1] not in b"\r\n":
        place = found + 1
    return found


def header(data: bytes) -> bytes:
    """The header of a submission as it stands, with LF line ends; "" where it has none."""
    data = _lines(data[:BEGINNING])
    end = HEAD_END.search(data)
    head = data[: end.start() if end[0] == b"<DOCUMENT>" else end.end()] if end else data
    start = HEADER.search(head)
    return head[start.start():] if start else b""


def _lines(data: bytes) -> bytes:
    """Bare CR line ends, as some feed copies have them, made into LF."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data[:4096] else data


def _beginning(path: Path) -> tuple[bytes, int]:
    """Enough of a filing to hold its header and the start of its first document, and its whole size. Damaged packing is as nothing."""
    if path.suffix in (".gz", ".zst"):
        try:
            data = content(path)
        except (zlib.error, EOFError, zstandard.ZstdError, gzip.BadGzipFile):
            return b"", 0
        return data[:BEGINNING], len(data)
    with path.open("rb") as file:
        return file.read(BEGINNING), path.stat().st_size


def _bare_entry(path: Path, bare: Bare) -> Entry | None:
    data, size = _beginning(path)
    if not data or HEADER.search(data[:4096]):
        return None
    before, after = bare.around(data)
    entry = _entry(path, before + data, len(before) + size + len(after))
    return entry and replace(entry, around=(before, after))


def _entry(path: Path, data: bytes, size: int) -> Entry | None:
    """None where the file is no submission: a folder may hold other texts."""
    data = _lines(data)
    end = HEAD_END.search(data)
    header = data[: end.start()] if end else data
    number = re.search(rb"ACCESSION[ -]NUMBER:?>?\s*(\d{10}-\d{2}-\d{6})", header) or ACCESSION.search(header)
    filers = tuple(_filers(header))
    if number is None or not filers:
        return None
    filed = _value(header, "FILED AS OF DATE", "FILING-DATE")[:8]
    first = data.find(b"\n<DOCUMENT>")
    block = data[first:] if first >= 0 else b""
    primary = _part(block[: block.find(b"\n</DOCUMENT>")])
    return Entry(
        accession=(number[1] if number.re.groups else number[0]).decode(),
        path=path,
        form=_value(header, "CONFORMED SUBMISSION TYPE", "TYPE") or primary.type,
        filed=filed,
        period=_value(header, "CONFORMED PERIOD OF REPORT", "PERIOD")[:8],
        accepted=_value(header, "<ACCEPTANCE-DATETIME>", "ACCEPTANCE-DATETIME")[:14],
        items=tuple(_items(header, filed)),
        filers=filers,
        size=size,
        primary=primary.name,
        description=primary.description,
        inline=b"<ix:header" in block[: 2**18].lower(),
    )


def _value(header: bytes, label: str, tag: str) -> str:
    """First value of a tab header's label or of a tag."""
    pattern = rf"^[ \t]*(?:{re.escape(label)}:?[ \t]*|<{re.escape(tag)}>)([^\s<][^\n<]*)"
    found = re.search(pattern.encode(), header, re.M)
    return found[1].decode("latin-1").strip() if found else ""


def _filers(header: bytes) -> Iterator[Filer]:
    """One per CIK of the header, whatever its role. The values of a filer stand between its own CIK and the next."""
    found = list(CIK.finditer(header))
    seen: set[str] = set()
    for place, match in enumerate(found):
        start = header.rfind(b"\n\n", 0, match.start()) if place else 0
        block = header[max(start, 0): found[place + 1].start() if place + 1 < len(found) else len(header)]
        cik = match[1].decode()
        if cik not in seen:
            seen.add(cik)
            sic = _value(block, "STANDARD INDUSTRIAL CLASSIFICATION", "ASSIGNED-SIC")
            digits = re.search(r"\d{4}", sic)
            yield Filer(cik, _value(block, "COMPANY CONFORMED NAME", "CONFORMED-NAME"), digits[0] if digits else "",
                        _value(block, "STATE OF INCORPORATION", "STATE-OF-INCORPORATION"),
                        _value(block, "FISCAL YEAR END", "FISCAL-YEAR-END"))


def _items(header: bytes, filed: str) -> Iterator[str]:
    for match in re.finditer(rb"^(?:ITEM INFORMATION:[ \t]*|<ITEMS>)([^\s<][^\n<]*)", header, re.M):
        if number := item_number(match[1].decode("latin-1").strip(), filed):
            yield number


def _part(block: bytes) -> Part:
    """What stands between <TEXT> and </TEXT>, byte for byte, without the line end after the tag, without a wrapper, and decoded."""
    head, mark, body = block.partition(b"<TEXT>")
    head = head.replace(b"\r", b"\n")
    values = {tag: _value(head, "\0", tag) for tag in ("TYPE", "SEQUENCE", "FILENAME", "DESCRIPTION")}
    body = body.rpartition(b"</TEXT>")[0] if mark else b""
    body = body[line.end():] if (line := LINE_END.match(body)) else body
    if wrapped := WRAPPER.match(body):
        body = body[wrapped.end():].rpartition(b"</" + wrapped[1] + b">")[0]
    return Part(values["TYPE"], values["SEQUENCE"], values["FILENAME"], values["DESCRIPTION"], _decoded(body))


def _decoded(body: bytes) -> bytes:
    """Out of uuencode; as it stands where it is none, or damaged."""
    begin = UUENCODED.match(body)
    found: list[bytes] = []
    for line in body[begin.end():].splitlines() if begin else ():
        if line.strip() == b"end":
            return b"".join(found)
        if line:
            wanted = 1 + -(-(line[0] - 32 & 63) * 4 // 3)  # what follows is padding, which encoders fill as they like
            try:
                found.append(binascii.a2b_uu(line[:wanted]))
            except binascii.Error:
                break
    return body


def _tickers(path: Path) -> Iterator[tuple[str, str, str, str]]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        names = table["fields"]
        rows: Iterable[dict[str, object]] = [dict(zip(names, row, strict=True)) for row in table["data"]]
        for row in rows:
            yield str(row["cik"]), str(row["name"]), str(row["ticker"]), str(row["exchange"] or "")
    except FileNotFoundError:
        return
    except (ValueError, KeyError, TypeError, OSError):
        todo = "It has EDGAR's form: fields cik, name, ticker, exchange, and data."
        raise StorageError("ticker file cannot be read", str(path), todo) from None


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".zst")
