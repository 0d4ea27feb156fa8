"""Bytes of an HTML document to a tree without hidden content, and the plain visible text of that tree.

libxml2 is used because it keeps inline XBRL nested as written and honours self-closed elements; HTML5 parsers do neither.
"""

from __future__ import annotations

import html as references
import re
from dataclasses import dataclass

from lxml import etree

from edgarmill.schemas.errors import BadFile, NoText, TooLarge
from edgarmill.workers.parse.characters import mapped
from edgarmill.workers.parse.styles import style_of

LARGEST_BYTES = 200_000_000
DEEPEST = 1000  # libxml2 drops everything behind depth 2,048 and tells only its error log
_DROPPED = "x-dropped"
_SILENT = frozenset({"script", "style", "noscript", "template", "title", "object", "textarea", "select"})
_VOID = frozenset({b"br", b"hr", b"img", b"input", b"meta", b"link", b"col", b"area", b"base", b"embed", b"param", b"wbr"})
_CONTENT = re.compile(rb"[^\s\0\x1a]")
_DATA_URI = re.compile(rb"([\"'])\s*data:[^\"'<>]{64,}\1", re.I)
_CLOSERS = re.compile(rb"</(?:body|html)\s*>", re.I)
_CDATA = re.compile(rb"<!\[CDATA\[|\]\]>")
_DOCTYPE_COMMENT = re.compile(rb"<!--\s*DOCTYPE\b(?:(?!-->)[^>])*>", re.I)
_BREAK_COMMENT = re.compile(rb"<!--\s*(?:page\s?break|new\s?page|pb)\b[^<>]{0,80}-->", re.I)
_TAG = re.compile(rb"<(/?)([A-Za-z][\w:.-]*)[^<>]*>")
_BORDER = re.compile(
    r"</?(?:p|div|td|th|tr|table|br|hr|li|ul|ol|dl|dt|dd|h[1-6]|center|blockquote|pre|address|section|article|caption|page)\b[^>]*>")
_ANY_TAG = re.compile(r"<[^>]*>")
BREAK = b'<hr style="page-break-after:always">'


@dataclass(frozen=True, slots=True)
class Markup:
    """A tree, how its bytes were read, and what had to be mended."""

    root: etree._Element
    encoding: str
    warnings: tuple[str, ...]


def read(data: bytes, white: bool = False) -> Markup:
    """The tree without hidden content; white letters on white stay when `white`. Raises BadFile (empty, not HTML), NoText, TooLarge."""
    if not _CONTENT.search(data):
        raise BadFile("the file is empty", todo="fetch it again")
    if len(data) > LARGEST_BYTES:
        raise TooLarge(f"{len(data):,} bytes of HTML, more than {LARGEST_BYTES:,}", todo="split it or leave it out")
    data, encoding = _decoded(data)
    if data.count(b"\0", 0, 4096) > 64:
        raise BadFile("binary data under the name of HTML", todo="check what was downloaded")
    data = mended(data)
    root, too_deep = _tree(data, encoding)
    warnings: tuple[str, ...] = ()
    if too_deep:
        root, _ = _tree(_flattened(data), encoding)
        warnings = (f"markup nested deeper than {DEEPEST} levels was flattened",)
    if root is None:
        raise NoText("the markup holds no text", todo="look at the file: an image, a frame set or an empty page")
    _prune(root, white)
    return Markup(root, encoding, warnings)


def visible_text(data: bytes) -> str:
    """Plain visible text of an HTML source: no hidden content, a blank at every block and cell border, nothing else changed.

    Independent of the walk over blocks, so that what that walk loses can be counted. Raises what `read` raises.
    """
    return visible_text_of(read(data).root)


def visible_text_of(root: etree._Element) -> str:
    source = etree.tostring(root, encoding="unicode", method="html")
    return mapped(references.unescape(_ANY_TAG.sub("", _BORDER.sub(" ", source))))


def _decoded(data: bytes) -> tuple[bytes, str]:
    """Bytes and the encoding under which libxml2 is to read them. What is not UTF-8 is windows-1252, read as Latin-1: the
    C1 signs are mapped after the parse together with references such as &#146;."""
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
    """The same markup without what makes libxml2 lose text: embedded images, early ends, CDATA marks, open comments."""
    if b"\0" in data or b"\x1a" in data:
        data = data.replace(b"\0", b"").replace(b"\x1a", b"")
    if b"data:" in data:
        data = _DATA_URI.sub(b'"data:"', data)
    if b"\x0c" in data:
        data = data.replace(b"\x0c", BREAK)
    if b"<![CDATA[" in data:
        data = _CDATA.sub(b"", data)
    if b"<!--" in data:
        data = _BREAK_COMMENT.sub(BREAK, _DOCTYPE_COMMENT.sub(b"", data))
        data = _closed_comment(data)
    return _CLOSERS.sub(b"", data)


def _closed_comment(data: bytes) -> bytes:
    """An opened comment without an end is closed at the end of its line."""
    start = data.rfind(b"<!--")
    if start < 0 or data.find(b"-->", start) >= 0:
        return data
    ends = [end for end in (data.find(b"\n", start), data.find(b">", start)) if end >= 0]
    return data[:start] + (data[max(ends[0], start + 4) :] if ends else b"")


def _tree(data: bytes, encoding: str) -> tuple[etree._Element | None, bool]:
    parser = etree.HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True, encoding=encoding, no_network=True)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, etree.ParserError) as error:
        if "empty" in str(error).lower():
            return None, False
        raise BadFile(f"unreadable markup: {str(error)[:120]}", todo="look at the file") from error
    return root, any("depth" in entry.message for entry in parser.error_log.filter_from_errors())


def _flattened(data: bytes) -> bytes:
    """Tags below DEEPEST taken out, so that the text there and behind it stays. Cells and blocks leave a line break."""
    depth = 0

    def kept(match: re.Match[bytes]) -> bytes:
        nonlocal depth
        closing, name = match[1], match[2].lower()
        if name in _VOID or match[0].endswith(b"/>"):
            return match[0]
        if closing:
            depth -= depth > 0
            return match[0] if depth < DEEPEST else b"<br>"
        depth += 1
        return match[0] if depth <= DEEPEST else b"<br>"

    return _TAG.sub(kept, data)


def _prune(root: etree._Element, white: bool) -> None:
    """Takes hidden elements out of the tree, with what is in them; the text after them stays."""
    found = False
    for element in root.iter():
        style = element.get("style")
        if style is not None:
            look = style_of(style)
            if not (look.hidden or look.white):
                continue
            if look.white and not look.hidden and (white or _on_shade(element, look.shaded)):
                continue
        elif not _silent(element.tag) and element.get("hidden") is None:
            continue  # the common case: nothing said
        if element is not root and element.tag != "body":
            element.tag, found = _DROPPED, True
    if found:
        etree.strip_elements(root, _DROPPED, with_tail=False)


def _silent(tag: str) -> bool:
    return tag in _SILENT or (tag[-7:] == ":header" and ":" in tag)


def _on_shade(element: etree._Element, shaded: bool) -> bool:
    """White letters are visible where a cell, row or table around them has a dark ground."""
    if shaded:
        return True
    for outer in element.iterancestors():
        if outer.get("bgcolor", "").lower() not in ("", "#ffffff", "white", "ffffff"):
            return True
        style = outer.get("style")
        if style is not None and style_of(style).shaded:
            return True
    return False
