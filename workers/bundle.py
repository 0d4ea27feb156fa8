"""A filing received as several files: its header page and those of its documents that are indexed.

One small JSON file in raw/ names them by their sha256; its own sha256 stands for the filing, as that of a full submission text does.
The header page is `{accession}-index-headers.html`: in its <PRE> stands the SGML header, whole, and the head of every document.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass

from edgarmill.schemas.errors import BadFile
from edgarmill.workers.parse.media import media_of
from edgarmill.workers.parse.parsed import RawDocument
from edgarmill.workers.submission import Submission, no_text, read_submission

KIND = "edgarmill-bundle-1"
_PRE, _PRE_END = re.compile(rb"<PRE>", re.I), re.compile(rb"</PRE>", re.I)
_LINK = re.compile(rb"<a\s[^<>]{0,2000}>[^<\r\n]{0,2000}</a>(?:<br>)?", re.I)  # bounds: a hostile page must not take hours
_MEDIA = {"htm": "html", "html": "html", "txt": "text", "pdf": "pdf", "jpg": "image", "jpeg": "image", "gif": "image", "png": "image",
          "zip": "zip"}


@dataclass(frozen=True, slots=True)
class Piece:
    """One document of the filing, as its header lists it; `sha256` is "" where it was not fetched."""

    sequence: int
    type: str
    name: str
    description: str
    sha256: str = ""
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Bundle:
    accession: str
    header: str  # sha256 of the header page
    documents: tuple[Piece, ...]

    @property
    def bytes(self) -> int:
        """Of the documents that were fetched."""
        return sum(piece.bytes for piece in self.documents)

    @property
    def contents(self) -> dict[str, str]:
        """sha256 by name of the documents that were fetched: the header page is made anew by EDGAR from time to time, they are not."""
        return {piece.name: piece.sha256 for piece in self.documents if piece.sha256}


def encode(bundle: Bundle) -> bytes:
    """The same bundle gives the same bytes."""
    return json.dumps({"kind": KIND, **asdict(bundle)}, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def decode(data: bytes) -> Bundle:
    """Raises BadFile."""
    try:
        value = json.loads(data)
        if value["kind"] != KIND:
            raise KeyError(KIND)
        return Bundle(value["accession"], value["header"], tuple(Piece(**piece) for piece in value["documents"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadFile("not a bundle of this form", "", "Fetch the filing again.") from None


def is_bundle(data: bytes) -> bool:
    return data.startswith(b'{"accession":') and KIND.encode() in data[-200:]


def opened(bundle: Bundle, read: Callable[[str], bytes]) -> Submission:
    """The filing with its documents' bytes, as `read_submission` gives it of a full text. `read` gives raw bytes by sha256."""
    header = read_header_page(read(bundle.header)).header
    return Submission(header, tuple(_document(piece, read(piece.sha256) if piece.sha256 else b"") for piece in bundle.documents))


def read_header_page(page: bytes) -> Submission:
    """Header and heads of the documents; these carry no bytes, and a media type by their name alone. Raises BadFile."""
    begin = _PRE.search(page)
    end = max((match.start() for match in _PRE_END.finditer(page)), default=-1)
    if begin is None or end < begin.end():
        raise BadFile("not a header page of EDGAR", "", "Fetch it again.")
    text = _LINK.sub(b"", page[begin.end() : end])
    try:
        words = text.decode("utf-8")
    except UnicodeDecodeError:
        words = text.decode("cp1252", "replace")
    stub = read_submission(html.unescape(words).encode("utf-8").lstrip())
    return Submission(stub.header, tuple(_head(document) for document in stub.documents), stub.warnings)


def _head(stub: RawDocument) -> RawDocument:
    media = _MEDIA.get(stub.name.rpartition(".")[2].lower(), "other")
    return RawDocument(stub.sequence, stub.type, stub.name, b"", media, stub.description, no_text(stub.type, stub.name, media))


def _document(piece: Piece, data: bytes) -> RawDocument:
    if not piece.sha256:
        why = f"{piece.type or 'a further document'} was not fetched: only the main document, EX-13 and EX-99 are"
        return RawDocument(piece.sequence, piece.type, piece.name, b"", "other", piece.description, why)
    media = media_of(data, piece.name)
    return RawDocument(piece.sequence, piece.type, piece.name, data, media, piece.description, no_text(piece.type, piece.name, media))
