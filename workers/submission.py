"""The full submission text of EDGAR: its header and its documents.

Own code rather than secsgml 0.3.6, which drops an unclosed last document without a word, joins long lines and skips bad uuencode.
Dialects: tab header (`<SEC-HEADER>`, 1993-95 `<IMS-HEADER>`, often in a PEM envelope), tag header (`<SUBMISSION>` of the
dissemination feed, with bare-CR line ends at times), and bare `<DOCUMENT>` blocks without a header. The header is read flat, so that
a label without a value cannot swallow what follows.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from edgarmill.schemas.errors import BadFile
from edgarmill.workers.parse.media import media_of
from edgarmill.workers.parse.parsed import RawDocument

ACCESSION = re.compile(r"(?<!\d)(\d{10})-?(\d{2})-?(\d{6})(?!\d)")
EASTERN = ZoneInfo("America/New_York")
NEW_8K_ITEMS = date(2004, 8, 23)  # SEC release 33-8400: Items 1-12 became 1.01-9.01

_OPENERS = (b"-----BEGIN PRIVACY-ENHANCED MESSAGE-----", b"<SEC-DOCUMENT>", b"<IMS-DOCUMENT>", b"<SEC-HEADER>", b"<IMS-HEADER>",
            b"<SUBMISSION>")
_CLOSERS = (b"</SEC-DOCUMENT>", b"</IMS-DOCUMENT>", b"</SUBMISSION>", b"-----END PRIVACY-ENHANCED MESSAGE-----")
_DOCUMENT = re.compile(rb"(?:\A|[\r\n])[ \t]*<DOCUMENT>[ \t]*(?=[\r\n])")
_TEXT = re.compile(rb"<TEXT>[ \t]*\r?\n?")
_WRAPPER = re.compile(rb"\s*<(XBRL|PDF|XML|JSON)>[ \t]*\r?\n?")
_HEAD_LINE = re.compile(rb"<(TYPE|SEQUENCE|FILENAME|DESCRIPTION)>([^\r\n<]*)")
_UU = re.compile(rb"\s*begin [0-7]{3,4} [^\r\n]{0,255}[\r\n]")


@dataclass(frozen=True, slots=True)
class Filer:
    """One company or person of a header: `role` is FILER, SUBJECT COMPANY, REPORTING-OWNER … as the header says."""

    role: str
    cik: str  # ten digits, "" where absent
    name: str
    sic: str | None = None
    state: str | None = None  # of incorporation
    fiscal_year_end: str | None = None  # MMDD
    file_number: str | None = None
    film_number: str | None = None


@dataclass(frozen=True, slots=True)
class Header:
    """What a submission says of itself. Without a header every field is empty."""

    accession: str = ""
    form: str = ""
    filed_on: date | None = None
    period_on: date | None = None
    accepted_at: datetime | None = None  # UTC; the header's clock is US Eastern
    items: tuple[str, ...] = ()  # 8-K numbers where the title is known, else the title
    public_document_count: int | None = None
    filers: tuple[Filer, ...] = ()

    @property
    def ciks(self) -> tuple[str, ...]:
        """Every CIK once, in the header's order."""
        return tuple(dict.fromkeys(filer.cik for filer in self.filers if filer.cik))

    @property
    def names(self) -> tuple[str, ...]:
        """Conformed names, one per entry of `ciks`."""
        names = {filer.cik: filer.name for filer in reversed(self.filers)}
        return tuple(names[cik] for cik in self.ciks)


@dataclass(frozen=True, slots=True)
class Submission:
    header: Header
    documents: tuple[RawDocument, ...]
    warnings: tuple[str, ...] = ()


def is_submission(data: bytes) -> bool:
    """Does it begin as a submission text, of any dialect?"""
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    return start.startswith(_OPENERS) or re.match(rb"<DOCUMENT>\s*<TYPE>", start) is not None


def read_submission(data: bytes) -> Submission:
    """Header and all documents. Raises BadFile for no submission, for one without documents, and for a cut file."""
    if not is_submission(data):
        raise BadFile("not a submission text", "", "Give the full submission .txt of EDGAR, or a primary document as .htm or .txt.")
    starts = [match.end() for match in _DOCUMENT.finditer(data)]
    header = read_header(data)
    if not starts:
        raise BadFile("a submission header without any document", header.accession, "Download the full submission text again.")
    chunks = [data[start:end] for start, end in zip(starts, [*starts[1:], len(data)], strict=True)]
    documents = _numbered([_document(chunk, i + 1) for i, chunk in enumerate(chunks)])
    closed = any(closer in data[-400:] for closer in _CLOSERS)
    return Submission(header, documents, _judge_end(header, chunks, documents, closed))


def _judge_end(header: Header, chunks: list[bytes], documents: tuple[RawDocument, ...], closed: bool) -> tuple[str, ...]:
    """Warnings about what the end lacks. Raises BadFile where that may be prose: a cut text, or announced documents that never begin."""
    last, announced = documents[-1], header.public_document_count or 0
    lost = [i for i, chunk in enumerate(chunks) if b"</DOCUMENT>" not in chunk and (b"</TEXT>" not in chunk or i == len(chunks) - 1)]
    harmless = lost == [len(chunks) - 1] and last.left_out and len(chunks) >= announced > 0
    few = 2 * len(chunks) < announced  # one fewer than announced is common since 2024; half of them is a copy that somebody shortened
    if (lost and not harmless) or (not lost and not closed and len(chunks) < announced) or few:
        what = f"submission is cut off: {len(chunks) - len(lost)} of {max(announced, len(chunks))} documents are whole"
        raise BadFile(what, header.accession, "Download the full submission text again.")
    if lost:
        return (f"the file ends inside document {last.sequence} ({last.type}), which carries no prose; the others are whole",)
    if len(chunks) < announced - 1:
        return (f"the header announces {announced} documents, {len(chunks)} are here",)
    return ()


# --- documents ---------------------------------------------------------------------------------------------------------------------

def _document(chunk: bytes, position: int) -> RawDocument:
    end = chunk.rfind(b"</DOCUMENT>")
    chunk = chunk if end < 0 else chunk[:end]
    opening = _TEXT.search(chunk)
    head = chunk[: opening.start()] if opening else chunk[:4096]
    said = {key.decode(): value.decode("cp1252", "replace").strip() for key, value in reversed(_HEAD_LINE.findall(head))}
    closing = chunk.rfind(b"</TEXT>")
    body = _unwrapped(chunk[opening.end() : closing if closing >= opening.end() else len(chunk)] if opening else b"")
    data, damage = _decoded(body)
    name, form = said.get("FILENAME", ""), said.get("TYPE", "").upper()
    media = media_of(data, name)
    sequence = said.get("SEQUENCE", "")
    number = int(sequence) if sequence.isascii() and sequence.isdigit() and len(sequence) < 7 else position
    return RawDocument(number, form, name, data, media, said.get("DESCRIPTION", ""), damage or no_text(form, name, media))


def _unwrapped(body: bytes) -> bytes:
    while match := _WRAPPER.match(body):
        closing = body.rfind(b"</" + match[1] + b">")
        body = body[match.end() : closing if closing >= match.end() else len(body)]
    return body


def _decoded(body: bytes) -> tuple[bytes, str]:
    """Bytes out of uuencode, and what is wrong with them."""
    match = _UU.match(body)
    if not match:
        return body, ""
    out = bytearray()
    for line in body[match.end() :].splitlines():
        if line.strip() in (b"end", b"`"):
            return bytes(out), ""
        size = (line[0] - 32 & 63) if line else 0
        try:
            out += binascii.a2b_uu(line[: 1 + (size * 8 + 5) // 6])  # encoders differ in what they pad a line with
        except binascii.Error:
            return bytes(out), "uuencoded data is damaged"
    return bytes(out), "uuencoded data has no end"


def no_text(form: str, name: str, media: str) -> str:
    """Why a document carries no prose of the filer's, or ""."""
    if re.fullmatch(r"EX-10[01](\..*)?|XML|XBRL|EX-101\.INS", form) or re.fullmatch(r"R\d+\.html?", name, re.I):
        return "XBRL data or a rendering that EDGAR makes of it"
    if form.startswith("EX-27") and media == "text":
        return "financial data schedule: tags and values, no prose"
    return {"image": "an image carries no text", "zip": "an archive is never opened", "pdf": "a PDF in a submission is an unofficial copy",
            "other": "not a text document"}.get(media, "")


def _numbered(documents: list[RawDocument]) -> tuple[RawDocument, ...]:
    """Sequence numbers as stated when they are unique and positive, else by position."""
    numbers = [document.sequence for document in documents]
    if len(set(numbers)) == len(numbers) and min(numbers) > 0:
        return tuple(documents)
    return tuple(replace(document, sequence=i) for i, document in enumerate(documents, start=1))


# --- header ------------------------------------------------------------------------------------------------------------------------

_TAB_LINE = re.compile(r"(\s*)([A-Z0-9][^:<>]{0,80}):(.*)")
_TAG_LINE = re.compile(r"\s*<(/?)([A-Z0-9_-]{1,60})>(.*)")
_NAMES = {  # label of the tab header or tag of the tag header -> our name
    "ACCESSION NUMBER": "accession", "ACCESSION-NUMBER": "accession",
    "CONFORMED SUBMISSION TYPE": "form", "TYPE": "form",
    "PUBLIC DOCUMENT COUNT": "count", "PUBLIC-DOCUMENT-COUNT": "count",
    "CONFORMED PERIOD OF REPORT": "period", "PERIOD": "period",
    "FILED AS OF DATE": "filed", "FILING-DATE": "filed",
    "ITEM INFORMATION": "item", "ITEMS": "item", "ACCEPTANCE-DATETIME": "accepted",
    "COMPANY CONFORMED NAME": "name", "CONFORMED-NAME": "name",
    "CENTRAL INDEX KEY": "cik", "CIK": "cik",
    "STANDARD INDUSTRIAL CLASSIFICATION": "sic", "ASSIGNED-SIC": "sic",
    "STATE OF INCORPORATION": "state", "STATE-OF-INCORPORATION": "state",
    "FISCAL YEAR END": "year_end", "FISCAL-YEAR-END": "year_end",
    "SEC FILE NUMBER": "file_number", "FILE-NUMBER": "file_number",
    "FILM NUMBER": "film_number", "FILM-NUMBER": "film_number",
}
_OF_A_FILER = ("name", "cik", "sic", "state", "year_end", "file_number", "film_number")
_DATA = ("COMPANY DATA", "OWNER DATA", "COMPANY-DATA", "OWNER-DATA")


def read_header(data: bytes) -> Header:
    """The header at the start of `data`; it may be cut anywhere. Fields that are absent or unreadable stay empty."""
    end = _DOCUMENT.search(data)
    top: dict[str, list[str]] = {}
    groups: list[dict[str, str]] = []
    for label, value, role in _pairs(_text(data[: end.start()] if end else data)):
        key = _NAMES.get(label)
        if label in _DATA:
            groups.append({"role": role})
        elif value and key in _OF_A_FILER and groups:
            if key in ("name", "cik") and key in groups[-1]:  # a header that repeats them without a group of their own
                groups.append({"role": role})
            groups[-1].setdefault(key, value)
        elif value and key and key not in _OF_A_FILER and not (groups and key == "form"):
            top.setdefault(key, []).append(value)
    filed = _day(_first(top, "filed"))
    number = ACCESSION.search(_first(top, "accession"))
    count = _first(top, "count")
    return Header(
        accession="-".join(number.groups()) if number else "", form=_first(top, "form").upper(), filed_on=filed,
        period_on=_day(_first(top, "period")), accepted_at=_utc(_first(top, "accepted")),
        items=tuple(dict.fromkeys(item_number(title, filed) for title in top.get("item", []))),
        public_document_count=int(count) if count.isascii() and count.isdigit() and len(count) < 7 else None,
        filers=tuple(_filer(group) for group in groups if group.get("cik") or group.get("name")),
    )


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _pairs(text: str) -> Iterator[tuple[str, str, str]]:
    """(label, value, role): the role is the group around the company data, e.g. FILER."""
    role = ""
    for line in text.splitlines():
        if tag := _TAG_LINE.match(line):
            closing, label, value = tag[1], tag[2], tag[3].strip()
            if closing:
                continue
        elif tab := _TAB_LINE.match(line):
            label, value = tab[2].strip(), tab[3].strip()
        else:
            continue
        if not value and label not in _DATA and label not in _NAMES:
            role = label
        yield label, value, role


def _filer(group: dict[str, str]) -> Filer:
    cik = re.sub(r"\D", "", group.get("cik", ""))
    sic = re.search(r"\[(\d{4})\]|^(\d{4})$", group.get("sic", ""))
    year_end = re.fullmatch(r"(0[1-9]|1[0-2])([0-2]\d|3[01])", group.get("year_end", ""))
    return Filer(
        role=group.get("role", ""), cik=cik.zfill(10) if 0 < len(cik) <= 10 else "", name=group.get("name", ""),
        sic=(sic[1] or sic[2]) if sic else None, state=group.get("state"), fiscal_year_end=year_end[0] if year_end else None,
        file_number=group.get("file_number"), film_number=group.get("film_number"),
    )


def _first(values: dict[str, list[str]], key: str) -> str:
    return values[key][0] if key in values else ""


def _day(text: str) -> date | None:
    match = re.match(r"(\d{4})-?(\d{2})-?(\d{2})", text)
    try:
        return date(int(match[1]), int(match[2]), int(match[3])) if match else None
    except ValueError:
        return None


def _utc(text: str) -> datetime | None:
    """14 digits of US Eastern time to UTC."""
    try:
        return datetime.strptime(text[:14], "%Y%m%d%H%M%S").replace(tzinfo=EASTERN).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


# --- 8-K items: the tab header gives titles, the tag header numbers ----------------------------------------------------------------

_TITLES = {  # beginnings of titles, letters only
    "entry into a material": "1.01", "termination of a material": "1.02", "bankruptcy or receivership": "1.03", "mine safety": "1.04",
    "material cybersecurity": "1.05", "completion of acquisition": "2.01", "results of operations": "2.02",
    "creation of a direct": "2.03", "triggering events": "2.04", "cost associated with exit": "2.05",
    "costs associated with exit": "2.05", "material impairments": "2.06", "notice of delisting": "3.01", "unregistered sales": "3.02",
    "material modification": "3.03", "changes in registrants certifying": "4.01", "nonreliance on previously": "4.02",
    "changes in control": "5.01", "departure of directors": "5.02", "amendments to articles": "5.03", "temporary suspension": "5.04",
    "amendments to the registrants code": "5.05", "change in shell company": "5.06", "submission of matters": "5.07",
    "shareholder nominations": "5.08", "shareholder director nominations": "5.08", "abs informational": "6.01",
    "change of servicer": "6.02", "change in credit enhancement": "6.03", "failure to make a required": "6.04",
    "securities act updating": "6.05", "static pool": "6.06", "regulation fd": "7.01", "other events": "8.01",
    "financial statements and exhibits": "9.01",
}
_OLD_TITLES = {  # until 22 August 2004
    "changes in control": "1", "acquisition or disposition": "2", "bankruptcy or receivership": "3",
    "changes in registrants certifying": "4", "other events": "5", "resignations of registrants directors": "6",
    "financial statements": "7", "change in fiscal year": "8", "regulation fd": "9", "amendments to the registrants code": "10",
    "temporary suspension": "11", "results of operations": "12",
}


def item_number(title: str, filed_on: date | None) -> str:
    """The number of an 8-K item's title (by the numbering in force on the filing date); a number, or a title not known, stays as it is."""
    key = " ".join(re.sub(r"[^a-z ]", "", title.lower()).split())
    known = _OLD_TITLES if filed_on and filed_on < NEW_8K_ITEMS else _TITLES
    return next((number for start, number in known.items() if key.startswith(start)), title.strip())
