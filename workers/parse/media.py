"""What a file is, by its content: an extension is only a hint (a submission's `.txt` may be HTML, an `.htm` a zip)."""

from __future__ import annotations

import re

HEAD = 64 * 1024

SIGNATURES = (
    (b"%PDF-", "pdf"), (b"PK\x03\x04", "zip"), (b"PK\x05\x06", "zip"), (b"\x1f\x8b", "zip"), (b"7z\xbc\xaf", "zip"), (b"Rar!", "zip"),
    (b"BZh", "zip"), (b"\xfd7zXZ", "zip"), (b"\x28\xb5\x2f\xfd", "zip"), (b"\xd0\xcf\x11\xe0", "other"), (b"\x89PNG", "image"),
    (b"\xff\xd8\xff", "image"), (b"GIF8", "image"), (b"II*\x00", "image"), (b"MM\x00*", "image"), (b"BM", "image"), (b"MZ", "other"),
)
# A page says so in its first tags; a fragment is known by tags that the plain text of the 1990s never had
# (that had <PAGE>, <TABLE>, <S>, <C>, <CAPTION>, <FN>).
_PAGE = re.compile(rb"<(?:!doctype\s+html|html|body|head)[\s>]", re.I)
_TAGS = re.compile(rb"<(?:div|span|p|td|tr|br|font|h[1-6]|li|hr|center|a|b|i|u)(?:\s[^<>]{0,2000})?/?>", re.I)
_PRE = re.compile(rb"<pre[^<>]{0,200}>.*?</pre\s*>", re.I | re.S)
_XML = re.compile(rb"\s*(?:<\?xml\s[^>]{0,300}\?>|<[A-Za-z_][\w.:-]{0,100}\s[^<>]{0,4000}xmlns)")


def media_of(data: bytes, name: str = "") -> str:
    """html | text | pdf | zip | image | other. `name` decides only between text and other kinds of marked-up data (.json, .xml, .xsd)."""
    if signed := _by_signature(data):
        return signed
    head = _readable(data[:HEAD])
    if head is None:
        return "other"
    if _is_html(head, data):
        return "html"
    if name.lower().endswith((".json", ".xml", ".xsd", ".js", ".css")) or _XML.match(head):
        return "other"
    return "text"


def plain_in_html(data: bytes) -> bool:
    """True of plain text wrapped into `<html><pre>`: nearly all of it stands in `<pre>`, without table cells or paragraphs."""
    inside = sum(match.end() - match.start() for match in _PRE.finditer(data))
    if inside < 0.9 * len(data.strip()):
        return False
    return not re.search(rb"<(?:td|tr|p|div)[\s>]", data, re.I)


def _by_signature(data: bytes) -> str:
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:16] if data[:1] in b"\xef \t\r\n" else data[:16]
    for sign, media in SIGNATURES:
        if start.startswith(sign) and (sign not in (b"BM", b"MZ") or b"\0" in data[:64]):
            return media
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image"
    return "pdf" if b"%PDF-" in data[:1024] and b"\0" not in data[:5] else ""


def _readable(head: bytes) -> bytes | None:
    """The head as one byte per character, or None where it is no text: NUL bytes or many control characters."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        head = head[: len(head) // 2 * 2].decode("utf-16", "replace").encode("utf-8")
    control = sum(head.count(code) for code in range(32) if code not in (9, 10, 12, 13, 26, 27))
    return None if control > len(head) * 0.01 else head


def _is_html(head: bytes, data: bytes) -> bool:
    if _PAGE.search(head):
        return not plain_in_html(data)
    return len(_TAGS.findall(head)) >= max(3, len(head) // 8000)
