"""Whether what came is the file that was asked for, and whole. Each is a sink of `Transport.download`: bytes go into raw/ as they come."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from edgarmill.schemas.errors import BadFile
from edgarmill.schemas.raw import RawFile
from edgarmill.schemas.store import Lake
from edgarmill.workers.bundle import read_header_page
from edgarmill.workers.parse.media import media_of
from edgarmill.workers.submission import Submission

HEAD, TAIL = 2**18, 4096  # bytes; a header of 239 filers has 143,418
BEGINS = re.compile(rb"\s*(?:-----BEGIN PRIVACY-ENHANCED MESSAGE-----|<(?:SEC|IMS)-(?:DOCUMENT|HEADER)>|<SUBMISSION>)")
STATED = re.compile(rb"ACCESSION[ -]NUMBER(?::\s*|>)(\d{10}-\d{2}-\d{6})")
ENDS = re.compile(rb"(?:</SEC-DOCUMENT>|</IMS-DOCUMENT>|</SUBMISSION>|-----END PRIVACY-ENHANCED MESSAGE-----)\s*$")
OPENED, CLOSED = (re.compile(rb"(?<![^\r\n])" + mark) for mark in (rb"<DOCUMENT>", rb"</DOCUMENT>"))  # CR may end a line
SITE_PAGE = re.compile(rb"<title>\s*SEC\.gov\s*\|", re.I)  # of the site: an error, maintenance; no filing is entitled so
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
        self._opened += sum(match.end() > len(self._carry) for match in OPENED.finditer(seen))
        self._closed += sum(match.end() > len(self._carry) for match in CLOSED.finditer(seen))
        self._carry = seen[-MARK:]

    def finish(self) -> tuple[Kept, bytes]:
        """The file and its beginning, which holds the header. Raises BadFile."""
        if not BEGINS.match(self.head):
            raise BadFile("what came is not a submission", self._accession)
        stated = STATED.search(self.head)
        if stated is None or stated[1].decode() != self._accession:
            raise BadFile(f"what came is {stated[1].decode() if stated else 'without an accession number'}", self._accession)
        if self._opened != self._closed or not self._opened or not ENDS.search(self.tail):
            raise BadFile(f"the submission is cut: {self._opened} documents begin, {self._closed} end", self._accession)
        return self.kept(), self.head


@contextmanager
def submission_sink(lake: Lake, accession: str) -> Iterator[SubmissionSink]:
    with lake.new_raw() as raw:
        yield SubmissionSink(raw, accession)


@dataclass
class DocumentCheck:
    """One document over all of its tries. `listed_bytes` asks the folder's listing, once, and only in doubt.

    Every HTML document among 197 real ones ends in </html>. One that does not is asked for again, and taken when the same bytes come a
    second time and have the length that the folder's listing gives.
    """

    name: str
    listed_bytes: Callable[[], int | None]
    _unfinished: set[str] = field(default_factory=set)

    @contextmanager
    def sink(self, lake: Lake) -> Iterator[DocumentSink]:
        with lake.new_raw() as raw:
            yield DocumentSink(raw, self)

    def judge(self, head: bytes, tail: bytes, sha256: str, size: int) -> None:
        """Raises BadFile."""
        if SITE_PAGE.search(head[:8192]):
            raise BadFile("a page of the site in place of the document", self.name)
        if media_of(head, self.name) != "html" or b"</html" in tail.lower():
            return
        if sha256 in self._unfinished and self.listed_bytes() == size:
            return
        self._unfinished.add(sha256)
        raise BadFile("the document is cut: its HTML has no end", self.name)


class DocumentSink(_Ends):
    """One document of a filing."""

    def __init__(self, raw: RawFile, check: DocumentCheck) -> None:
        super().__init__(raw)
        self._check = check

    def finish(self) -> Kept:
        """Raises BadFile."""
        self._check.judge(self.head, self.tail, self.raw.sha256, self.raw.size)
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
