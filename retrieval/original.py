"""The original of a document as markup that cannot do anything: for display beside what was read of it.

Written anew from libxml2's tree with the tags and attributes that are known to be harmless; what is not known is left out. The page around
it forbids scripts and loads once more (Content-Security-Policy, a sandboxed frame).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from html import escape
from itertools import accumulate
from typing import Any

LARGEST_BYTES = 8_000_000  # of an original that is shown

_TAGS = frozenset(
    "abbr address article b big blockquote br caption center cite code col colgroup dd del dfn div dl dt em font h1 h2 h3 h4 h5 h6 hr i "
    "ins kbd li nobr ol p pre q s samp section small span strike strong sub sup table tbody td tfoot th thead tr tt u ul var".split())
_VOID = frozenset({"br", "hr", "col"})
_SILENT = frozenset({"script", "style", "title", "template", "ix:header"})  # of all other tags that are left out the words stay
_ATTRIBUTES = frozenset(
    "align bgcolor border cellpadding cellspacing color colspan face height nowrap rowspan size start type valign width".split())
_VALUE = re.compile(r"[\w#%.,+\- '\"]{0,200}")
_DECLARATION = re.compile(r"\s*([a-z-]{1,40})\s*:\s*([^\\@{}<>]{1,500})", re.I)
_FUNCTION = re.compile(r"([\w-]*)\s*\(")
_HARMLESS_FUNCTIONS = frozenset({"rgb", "rgba", "hsl", "hsla"})
_NO_PROPERTY = frozenset({"behavior", "-moz-binding", "position", "z-index"})
_C1 = {code: bytes([code]).decode("cp1252", "ignore") or " " for code in range(0x80, 0xA0)}
_CONTROL = {code: " " for code in (*range(9), 11, 12, *range(14, 32), 127, 0xFFFE, 0xFFFF)}
_HEAD = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    "<style>body{font-family:serif;margin:8px}pre{font-size:12px}table{max-width:100%}"
    ".fact{border-bottom:1px dotted #07c}.none{color:#888;font-style:italic}:target{outline:2px solid #d60}</style>")


def shown(data: bytes, media: str, wanted: Sequence[tuple[str, str]] = ()) -> tuple[str, set[str]]:
    """The document's markup, and which of the `wanted` (mark, words) were found and bear their mark as an id; "" where none is shown."""
    if not data or len(data) > LARGEST_BYTES or media not in ("html", "text"):
        return "", set()
    pieces = _of_html(data) if media == "html" else [_words(line) for line in _decoded(data).splitlines(keepends=True)]
    marks = _places(pieces, wanted)
    body = "".join(f'<a id="{marks[n]}"></a>{markup}' if n in marks else markup for n, (markup, _) in enumerate(pieces))
    return _HEAD + (body if media == "html" else f"<pre>{body}</pre>"), set(marks.values())


def _decoded(data: bytes) -> str:
    for encoding in ("utf-16", "utf-8-sig") if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig",):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("cp1252", "replace")


def _of_html(data: bytes) -> list[tuple[str, str]]:
    """Markup in pieces, each beside the words that it shows ("" for a tag)."""
    from lxml import etree

    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, recover=True)
    pieces: list[tuple[str, str]] = []
    try:
        root = etree.fromstring(re.sub(r"</(?:body|html)\s*>", "", _decoded(data), flags=re.I).encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:  # nothing in it
        return pieces
    silent = 0
    for event, node in etree.iterwalk(root, events=("start", "end")) if root is not None else ():
        name = node.tag.lower() if isinstance(node.tag, str) else "script"
        if event == "start":
            silent += name in _SILENT
            if not silent:
                pieces.append((_opening(name, node), ""))
                pieces.append(_words(node.text))
            continue
        if not silent and _written(name) and name not in _VOID:
            pieces.append((f"</{_written(name)}>", ""))
        silent -= name in _SILENT
        if not silent:
            pieces.append(_words(node.tail))
    return pieces


def _words(text: str | None) -> tuple[str, str]:
    clean = (text or "").translate(_C1 | _CONTROL)
    return escape(clean), clean


def _written(name: str) -> str:
    """The tag under which an element is written, "" for none."""
    return name if name in _TAGS else "span" if name.startswith("ix:") or name == "a" else ""


def _opening(name: str, node: Any) -> str:
    if name == "img":
        return '<span class="none">[image]</span>'
    written = _written(name)
    if not written:
        return ""
    said = [f' {key}="{escape(value)}"' for key, value in node.attrib.items() if key.lower() in _ATTRIBUTES and _VALUE.fullmatch(value)]
    style = _harmless(node.get("style") or "")
    if style:
        said.append(f' style="{escape(style)}"')
    if name in ("ix:nonfraction", "ix:nonnumeric", "ix:fraction"):
        said.append(f' class="fact" title="{escape(str(node.get("name") or "")[:200].translate(_C1 | _CONTROL))}"')
    return f"<{written}{''.join(said)}>"


def _harmless(style: str) -> str:
    """The declarations that neither load nor run anything."""
    kept = []
    for declaration in style[:5000].split(";"):
        found = _DECLARATION.fullmatch(declaration)
        if found and found[1].lower() not in _NO_PROPERTY and {f.lower() for f in _FUNCTION.findall(found[2])} <= _HARMLESS_FUNCTIONS:
            kept.append(f"{found[1]}:{found[2].strip()}")
    return ";".join(kept)


def _places(pieces: list[tuple[str, str]], wanted: Sequence[tuple[str, str]]) -> dict[int, str]:
    """By number of a piece the mark that it gets: the words are looked for one after the other, letters and digits alone.

    Few letters are looked for only where they are due: "None" stands everywhere.
    """
    folded = [_folded(words) for _, words in pieces]
    starts = list(accumulate((len(part) for part in folded), initial=0))
    whole, marks, after, due = "".join(folded), dict[int, str](), 0, 0
    for mark, words in wanted:
        letters = _folded(words)
        asked = letters[:100]
        reach = 100_000 if len(asked) >= 40 else 5_000 if len(asked) >= 15 else 300
        found = whole.find(asked, after, due + reach) if len(asked) > 2 else -1
        if found >= 0:
            marks.setdefault(bisect_right(starts, found) - 1, mark)
            after, due = found + len(letters) * 9 // 10, found  # not all of it: the parser may have added a word
        due += len(letters)
    return marks


def _folded(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())
