"""Whether what came is the file that was asked for, and whole. Each is a sink of `Transport.download`: bytes go into raw/ as they come."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from edgarmill.schemas.errors import BadFile
from edgarmill.schemas.raw import RawFile
from edgarmill.schemas.store import Lake
from edgarmill.workers.bundle import read_header_page
from edgarmill.workers.parse.media import media_of
from edgarmill.workers.submission import Submission

HEAD, TAIL = 2**18, 4096  # bytes; a header of 239 filers has 143,418
BEGINS = re.compile(rb"\s*(?:-----BEGIN PRIVACY-ENHANCED MESSAGE-----|<(?:SEC|IMS)-(?:DOCUMENT|HEADER)>|<SUBMISSION>)")
STATED = re.compile(rb"ACCESSION[ -]NUMBER(?::\s*|>)(\d{10}-\d{2}-\d{6})")
ANNOUNCED = re.compile(rb"PUBLIC[ -]DOCUMENT[ -]COUNT(?::\s*|>)(\d{1,6})\b")
ENDS = re.compile(rb"(?:</SEC-DOCUMENT>|</IMS-DOCUMENT>|</SUBMISSION>|-----END PRIVACY-ENHANCED MESSAGE-----)\s*$")
OPENED, CLOSED = b"<DOCUMENT>", b"</DOCUMENT>"
SITE_PAGE = re.compile(rb"<title>\s*SEC\.gov\s*\|", re.I)  # of the site: an error, maintenance; no filing is entitled so
SHORT = 16_384  # bytes; the two recorded refusal pages have 5 KB
MARK = 16  # bytes in which either mark of a document fits


@dataclass(frozen=True, slots=True)
class Kept:
    """A file in raw/."""

    sha256: str
    bytes: int


class _Ends:
    """Writes to raw/ and remembers how it begins and ends."""

    def __init__(self, raw: RawFile) -> None:
        self.raw, self.head, self.tail = raw, b"", b""

    def write(self, piece: bytes) -> None:
        self.raw.write(piece)
        if len(self.head) < HEAD:
            self.head += piece[: HEAD - len(self.head)]
        self.tail = (self.tail + piece[-TAIL:])[-TAIL:]

    def kept(self) -> Kept:
        return Kept(self.raw.keep(), self.raw.size)


class SubmissionSink(_Ends):
    """A full submission text: the right accession, every document closed, the end there."""

    def __init__(self, raw: RawFile, accession: str) -> None:
        super().__init__(raw)
        self._accession, self._carry, self._opened, self._closed = accession, b"", 0, 0

    def write(self, piece: bytes) -> None:
        super().write(piece)
        seen = self._carry + piece
        self._opened += _marks(OPENED, seen, len(self._carry))
        self._closed += _marks(CLOSED, seen, len(self._carry))
        self._carry = seen[-MARK:]

    def finish(self) -> tuple[Kept, bytes]:
        """The file and its beginning, which holds the header. Raises BadFile."""
        if not BEGINS.match(self.head):
            raise BadFile("what came is not a submission", self._accession)
        stated = STATED.search(self.head)
        if stated is None or stated[1].decode() != self._accession:
            raise BadFile(f"what came is {stated[1].decode() if stated else 'without an accession number'}", self._accession)
        announced = int(found[1]) if (found := ANNOUNCED.search(self.head)) else 0
        if self._opened != self._closed or not self._opened or not ENDS.search(self.tail) or 2 * self._closed < announced:
            many = max(self._opened, announced)
            raise BadFile(f"the submission is cut: {self._closed} of {many} documents are whole", self._accession)
        return self.kept(), self.head


def _marks(mark: bytes, data: bytes, known: int) -> int:
    """How often the mark begins a line and ends behind the first `known` bytes. A pattern for it takes eighty times as long."""
    found, place = 0, data.find(mark)
    while place >= 0:
        found += place + len(mark) > known and (place == 0 or data[place - 1] in b"\r\n")  # CR may end a line
        place = data.find(mark, place + 1)
    return found


@contextmanager
def submission_sink(lake: Lake, accession: str) -> Iterator[SubmissionSink]:
    with lake.new_raw() as raw:
        yield SubmissionSink(raw, accession)


@dataclass
class DocumentCheck:
    """One document over all of its tries.

    Every HTML document of 197 real ones ends in </html>, and few are as short as an error page. One that lacks the end or is that short is
    in doubt, and so is plain text, whose end nobody can tell: it must have the length that `listed_bytes`, the folder's listing, gives.
    That is asked for once, and only then; it raises BadFile where the listing is there and cannot be read now.
    """

    name: str
    listed_bytes: Callable[[], int | None]

    @contextmanager
    def sink(self, lake: Lake) -> Iterator[DocumentSink]:
        with lake.new_raw() as raw:
            yield DocumentSink(raw, self)

    def judge(self, head: bytes, tail: bytes, size: int) -> None:
        """Raises BadFile."""
        if SITE_PAGE.search(head[:8192]):
            raise BadFile("a page of the site in place of the document", self.name)
        media, ended = media_of(head, self.name), b"</html" in tail.lower()
        if media not in ("html", "text") or (media == "html" and ended and size > SHORT):
            return
        listed = self.listed_bytes()
        if listed is None and media == "html" and not ended:
            raise BadFile("the document is cut: its HTML has no end", self.name)
        if listed is not None and listed != size:
            raise BadFile(f"{size:,} bytes came where the folder lists {listed:,}", self.name)


class DocumentSink(_Ends):
    """One document of a filing."""

    def __init__(self, raw: RawFile, check: DocumentCheck) -> None:
        super().__init__(raw)
        self._check = check

    def finish(self) -> Kept:
        """Raises BadFile."""
        self._check.judge(self.head, self.tail, self.raw.size)
        return self.kept()


class HeaderSink:
    """A header page: of the right filing, with its end. Small, so it is held and read at once."""

    def __init__(self, accession: str) -> None:
        self._accession, self._pieces = accession, list[bytes]()

    def write(self, piece: bytes) -> None:
        self._pieces.append(piece)

    def finish(self) -> tuple[bytes, Submission]:
        """Raises BadFile."""
        page = b"".join(self._pieces)
        if b"</html>" not in page[-200:].lower():
            raise BadFile("the header page is cut", self._accession)
        read = read_header_page(page)
        if read.header.accession != self._accession:
            raise BadFile(f"what came is {read.header.accession or 'without an accession number'}", self._accession)
        return page, read
