"""Bytes of an HTML document to a stream of text and tags; and, apart from it, the plain visible text of a source."""

from __future__ import annotations

import re
from dataclasses import dataclass

from edgarmill.schemas.errors import BadFile, NoText, TooLarge
from edgarmill.workers.parse import stream
from edgarmill.workers.parse.walk import Walked, walked

LARGEST_BYTES = 200_000_000
BREAK = b'<hr style="page-break-after:always"/>'
_CONTENT = re.compile(rb"[^\s\0\x1a]")
_DATA_URI = re.compile(rb"([\"'])data:[^\"'<>]{64,}\1")
_CDATA = re.compile(rb"<!\[CDATA\[|\]\]>")
_MEANT = re.compile(rb"<!--\s*(?i:doctype|page\s?break|new\s?page|pb)\b")
_DOCTYPE_COMMENT = re.compile(rb"<!--\s*(?i:DOCTYPE)\b(?:(?!-->)[^>])*>")
_BREAK_COMMENT = re.compile(rb"<!--\s*(?i:page\s?break|new\s?page|pb)\b[^<>]{0,80}-->")


@dataclass(frozen=True, slots=True)
class Source:
    """A document's bytes, mended, and how they are to be read."""

    data: bytes
    encoding: str

    def walked(self, white: bool = False) -> tuple[Walked, list[str], tuple[str, ...]]:
        """Runs and tables in reading order, the stream that gave them, and warnings. White letters on white are text where `white`.

        Raises BadFile, NoText.
        """
        try:
            parts = stream.tokens(self.data.decode(self.encoding, "replace"))
            return walked(parts, white), parts, ()
        except stream.NotNested:
            parts, warnings = stream.rewritten(self.data, self.encoding)
            if not parts:
                raise NoText("the markup holds no text", todo="look at the file: an image, a frame set or an empty page") from None
            return walked(parts, white), parts, warnings


def read(data: bytes) -> Source:
    """Raises BadFile (empty, not HTML), TooLarge."""
    if not _CONTENT.search(data):
        raise BadFile("the file is empty", todo="fetch it again")
    if len(data) > LARGEST_BYTES:
        raise TooLarge(f"{len(data):,} bytes of HTML, more than {LARGEST_BYTES:,}", todo="split it or leave it out")
    data, encoding = decoded(data)
    if data.count(b"\0", 0, 4096) > 64:
        raise BadFile("binary data under the name of HTML", todo="check what was downloaded")
    return Source(mended(data), encoding)


def decoded(data: bytes) -> tuple[bytes, str]:
    """Bytes and the encoding under which they are to be read. What is not UTF-8 is windows-1252, read as Latin-1: the
    C1 signs are mapped later, together with references such as &#146;."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace").encode("utf-8"), "utf-8"
    data = data.removeprefix(b"\xef\xbb\xbf")
    if data.isascii():
        return data, "utf-8"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return data, "iso-8859-1"
    return data, "utf-8"


def mended(data: bytes) -> bytes:
    """The same markup without what makes readers lose text: embedded images, CDATA marks, open comments."""
    if b"\0" in data or b"\x1a" in data:
        data = data.replace(b"\0", b"").replace(b"\x1a", b"")
    if b"data:" in data and (b'"data:' in data or b"'data:" in data):
        data = _DATA_URI.sub(b'"data:"', data)
    if b"\x0c" in data:
        data = data.replace(b"\x0c", BREAK)
    if any(data.startswith(b"<![CDATA[", at) for at in stream.declarations(data, b"!")):
        data = _CDATA.sub(b"", data)
    if any(_MEANT.match(data, at) for at in stream.declarations(data, b"!")):
        data = _BREAK_COMMENT.sub(BREAK, _DOCTYPE_COMMENT.sub(b"", data))
    return _closed_comment(data)


def _closed_comment(data: bytes) -> bytes:
    """An opened comment without an end is closed at the end of its line."""
    start = max((at for at in stream.declarations(data, b"!") if data.startswith(b"<!--", at)), default=-1)
    if start < 0 or data.find(b"-->", start) >= 0:
        return data
    ends = [end for end in (data.find(b"\n", start), data.find(b">", start)) if end >= 0]
    return data[:start] + (data[max(ends[0], start + 4) :] if ends else b"")
