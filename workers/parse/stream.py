"""Markup as a stream: text and tags in turn. Filings repeat a few hundred tags tens of thousands of times, so each is read once.

Inline XBRL must be well-formed XHTML, and most older filings nest well too: their bytes are the stream. What does not nest goes through
libxml2 first, whose tree is written out again, well nested, and then read the same way. libxml2 and no HTML5 parser: it keeps inline XBRL
nested as written and honours self-closed elements.
"""

from __future__ import annotations

import html as references
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from sys import intern
from typing import AnyStr

from lxml import etree

from edgarmill.schemas.errors import BadFile
from edgarmill.workers.parse.runs import Cell, Room
from edgarmill.workers.parse.styles import BOLD, ITALIC, LINK, PLAIN, RAISED, SYMBOL, UNDERLINED, is_symbol_font, style_of

END, INLINE, PLAIN_BLOCK, ROW, CELL, BLOCK, EMPTY, LINE, RULE, IGNORED, SLOW = range(11)

DEEPEST = 1000  # libxml2 drops everything behind depth 2,048 and tells only its error log
TOKEN = re.compile(r"<([^<>]*)>")
BLOCKS = frozenset(
    "p div h1 h2 h3 h4 h5 h6 li ul ol dl dt dd table tr td th center blockquote pre address form section article header footer nav "
    "main aside figure figcaption fieldset caption thead tbody tfoot page dir menu text document".split())
_CELLS = frozenset({"td", "th"})
_FIXED = frozenset({"td", "th", "tr", "table"})  # blocks whatever their display
_SPECIAL = frozenset({"table", "pre", "page"})
_VOID = frozenset("br hr img input meta link col area base embed param wbr".split())
_SILENT = frozenset({"script", "style", "noscript", "template", "title", "object", "textarea", "select"})
_WRAPPERS = frozenset({"html", "body", "head"})
_FLAGS = {"b": BOLD, "strong": BOLD, "th": BOLD, "i": ITALIC, "em": ITALIC, "u": UNDERLINED, "ins": UNDERLINED, "sup": RAISED,
          **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), BOLD)}
_FONT_POINTS = {"1": 7.5, "2": 10.0, "3": 12.0, "4": 13.5, "5": 18.0, "6": 24.0, "7": 36.0}
_FACTS = frozenset({"nonfraction", "nonnumeric", "fraction", "continuation", "exclude", "footnote"})
_PROPER, _IMPROPER = re.compile(r"[A-Za-z][\w:.-]*"), re.compile(r"[<>\"'=/]")
_WELL_FORMED = re.compile(r"/?[A-Za-z][\w:.-]*(?: [^\s\"'<>/=]+=\"[^\"]*\")*/?")
_NAME = re.compile(r"/?([A-Za-z][\w:.-]*)")
_ATTRIBUTE = re.compile(r"([^\s=/\"'>]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?")
_UNIQUE = re.compile(r"\s(?:id|name|contextref|unitref|decimals|format|scale|continuedat|escape|order|title)=\"[^\"]*\"", re.I)
_REFERENCE = re.compile(r"(&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?))")  # as the standard library finds them
_TARGET = re.compile(r" href=\"[^\"]*\"")
_WIDTH = re.compile(r"w(?:(?<=style=\"w)|(?<=;w))idth:[\d.]{1,9}%(?=[;\"])")  # begins with a letter, not a look back, to be found fast
_LONG = 1000
_COLUMNS, _ROWS = (re.compile(rf"\s{span}span\s*=\s*[\"']?\s*(\d+)", re.I) for span in ("col", "row"))
_HIDING = re.compile("none|hidden", re.I)
_TAG = re.compile(rb"<(/?)([A-Za-z][\w:.-]*)[^<>]*>")
_CLOSERS = re.compile(rb"</(?:[bB][oO][dD][yY]|[hH][tT][mM][lL])\s*>")
_BYTE_VOID = frozenset(name.encode() for name in _VOID)


class NotNested(Exception):
    """The markup does not nest well, or holds what a plain reading of its tags cannot tell."""


class Action:
    """What a tag asks for. `add` and `drop` are flags of text; `silent` hides what is inside, `white` perhaps."""

    __slots__ = ("add", "block", "centered", "drop", "fact", "gap", "hollow", "kind", "name", "room", "shaded", "silent", "size", "style",
                 "white")

    def __init__(self, tag: str) -> None:
        found = _NAME.match(tag)
        if found is None:
            if not tag.startswith(("!", "?")):
                raise NotNested(tag[:40])
            self.kind, self.name = IGNORED, ""
            return
        self.name = name = intern(found[1].lower())  # names are compared at each end
        if tag[0] == "/":
            self.kind = IGNORED if name in _WRAPPERS or name in _VOID else END
            return
        empty_cell = name in _CELLS and tag.endswith("/")
        if empty_cell and _HIDING.search(tag) is None:
            self._make_room(tag)
            return
        body = tag[len(found[0]) :]
        if body.count('"') % 2 and body.count("'") % 2 == 0:  # a ">" within a value has cut the tag
            raise NotNested(tag[:40])
        attributes = _attributes(body)
        css = attributes.get("style")
        self.style = style = PLAIN if css is None else style_of(css)
        self.add, self.drop, self.size = _FLAGS.get(name, 0) | style.add, style.drop, style.size
        self.gap, self.white = style.gap, style.white
        ground = attributes.get("bgcolor", "").lower()
        self.shaded = style.shaded or ground not in ("", "#ffffff", "white", "ffffff")
        self.silent = style.hidden or name in _SILENT or "hidden" in attributes or (name[-7:] == ":header" and ":" in name)
        self.centered = style.centered or name == "center" or attributes.get("align", "").lower() == "center"
        self.fact = name.rpartition(":")[2] if ":" in name and name.rpartition(":")[2] in _FACTS else ""
        if name in _CELLS:
            self.room = Room(_span(attributes.get("colspan"), 1000), _span(attributes.get("rowspan"), 10_000), name == "th")
            self.hollow: Cell = self.room, []  # one for all empty cells that are written so
        self._more(name, attributes)
        self.block = (name in BLOCKS and (not style.inline or name in _FIXED)) or (name not in BLOCKS and style.block)
        self.kind = self._kind(name, body.rstrip().endswith("/"))

    def _make_room(self, tag: str) -> None:
        """Of a cell without content, half of all cells, nothing counts but the room that it takes."""
        self.kind, self.style, self.block = EMPTY, PLAIN, True
        columns, rows = _COLUMNS.search(tag), _ROWS.search(tag)
        self.room = Room(_span(columns[1] if columns else None, 1000), _span(rows[1] if rows else None, 10_000))
        self.hollow = self.room, []

    def _more(self, name: str, attributes: dict[str, str]) -> None:
        if name == "font":
            self.size = _FONT_POINTS.get(attributes.get("size", ""), self.size)
            face = attributes.get("face", "")
            if face:
                self.add, self.drop = (self.add | SYMBOL, self.drop) if is_symbol_font(face) else (self.add, self.drop | SYMBOL)
        elif name == "a" and "href" in attributes:
            self.add |= LINK

    def _kind(self, name: str, closed: bool) -> int:
        if name in _WRAPPERS or name in _VOID:
            return {"br": LINE, "hr": RULE}.get(name, IGNORED)
        if closed:
            return self._closed(name)
        if self.silent or self.white or (self.fact and (self.block or self.fact == "exclude")):
            return SLOW
        if not (self.style.break_before or self.style.break_after or self.style.footer):
            if name in _CELLS:
                return CELL
            if name == "tr":
                return ROW
            if self.block and name not in _SPECIAL:
                return PLAIN_BLOCK
        return BLOCK if self.block else INLINE

    def _closed(self, name: str) -> int:
        """Of an element that is closed at once."""
        if self.silent:
            return IGNORED  # a hidden cell makes no room
        if self.block and (self.style.break_before or self.style.break_after or name == "page"):
            return RULE
        return EMPTY if self.block or name in _CELLS else IGNORED


class Actions(dict[str, Action]):
    """Tag as written, without its angle brackets -> what it asks for. Reading a tag that is not known raises NotNested where it must."""

    prefixed = False  # has the name of any tag a prefix?

    def __missing__(self, tag: str) -> Action:
        if tag.startswith("ix:non") and tag[-1] != "/" and "style=" not in tag:
            self.prefixed = True
            return _action(tag.split(None, 1)[0])  # with its id it comes once: not kept
        plain = tag
        if "=" in tag:  # tags that differ only by their ids or widths ask for the same
            if tag.count('="') > tag.count('style="') + tag.count('span="'):
                plain = _UNIQUE.sub("", tag)
            if " href" in plain:
                plain = _TARGET.sub(" href", plain)
            if "width:" in plain and len(plain) < _LONG:  # each column of a table has its own
                plain = _WIDTH.sub("", plain)
        action = self[tag] = _action(plain)
        self.prefixed = self.prefixed or ":" in tag.partition(" ")[0]
        return action


@lru_cache(maxsize=50_000)
def _action(tag: str) -> Action:
    """One for all filings that a worker reads: the programs that make them are few, and write the same tags."""
    return Action(tag)


def closed_at(name: str, tag: str) -> int:
    """Of a tag inside an element of this name: -1 where it ends one of that name, +1 where it begins a further one, else 0."""
    if tag[:1] == "/":
        return -1 if tag[1:].rstrip().lower() == name else 0
    if tag[: len(name)].lower() != name or tag[-1:] == "/":
        return 0
    return 1 if tag[len(name) :][:1] in ("", " ", "\t", "\n", "\r") else 0


def unbalanced(parts: list[str], name: str) -> bool:
    """Has an element certainly more beginnings than ends, or fewer? What may be hidden is not read, and then nothing is certain."""
    actions, balance = Actions(), 0
    try:
        for tag, count in Counter(parts[1::2]).items():
            action = actions[tag]
            if action.kind == SLOW:
                return False
            if action.name == name and action.kind <= BLOCK:
                balance += -count if action.kind == END else count
    except NotNested:
        return False
    return balance != 0


def tokens(text: str) -> list[str]:
    """Text, tag, text, tag, …, text; an empty cell is one tag. Raises NotNested for a bracket that begins no tag."""
    text = _without_comments(text).replace('"></td>', '"/>')
    # Cut at both brackets alike, ten times as fast as by a pattern. Were a ">" of the text met by a stray "<" elsewhere, tags and texts
    # between them would change places, and not nest.
    parts = text.replace("<", ">").split(">")
    if len(parts) == 2 * text.count("<") + 1:  # as many of both
        return parts
    parts = TOKEN.split(text)
    if "<" in "".join(parts[::2]):
        raise NotNested("<")
    return parts


def declarations(markup: AnyStr, mark: AnyStr) -> Iterator[int]:
    """Where "<!" may begin; `mark` is "!", so rare that it is found ten times as fast as "<!" is."""
    at = markup.find(mark)
    while at >= 0:
        yield at - 1
        at = markup.find(mark, at + 1)


def _without_comments(text: str) -> str:
    kept, at = [], 0
    for start in declarations(text, "!"):
        if start >= at and text.startswith("<!--", start):
            end = text.find("-->", start + 4)
            if end < 0:
                break
            kept.append(text[at:start])
            at = end + 3
    return "".join([*kept, text[at:]]) if at else text


def rewritten(data: bytes, encoding: str) -> tuple[list[str], tuple[str, ...]]:
    """The stream of the markup as libxml2 reads it, well nested; and a warning where it had to be flattened. An empty one holds no text."""
    data = _CLOSERS.sub(b"", data)  # libxml2 drops what comes behind an early end
    root, too_deep = parsed_tree(data, encoding)
    warnings: tuple[str, ...] = ()
    if too_deep:
        root, _ = parsed_tree(_flattened(data), encoding)
        warnings = (f"markup nested deeper than {DEEPEST} levels was flattened",)
    if root is None:
        return [], warnings
    try:
        parts = _written(root)
        proper = all(map(_WELL_FORMED.fullmatch, set(parts[1::2])))
    except NotNested:
        proper = False
    if not proper:
        _mend_names(root)
        parts = _written(root)
    return parts, warnings


def _written(root: etree._Element) -> list[str]:
    return tokens(str(etree.tostring(root, encoding="unicode", method="xml")))


def _mend_names(root: etree._Element) -> None:
    """libxml2 takes "<a<>" for an element of that name."""
    for element in root.iter():
        if not _PROPER.fullmatch(element.tag):
            element.tag = "span"
        for name in filter(_IMPROPER.search, element.keys()):
            del element.attrib[name]


class _Signs(dict[str, str]):
    """Reference as written -> its sign: few kinds, each many times."""

    def __missing__(self, reference: str) -> str:
        sign = references.unescape(reference)
        if len(self) < 5000:
            self[reference] = sign
        return sign


_SIGNS = _Signs()


@lru_cache(maxsize=20_000)
def unescaped(text: str) -> str:
    """Text with its references as signs; the same as `html.unescape`, at a fifth of the time."""
    pieces = _REFERENCE.split(text)
    pieces[1::2] = map(_SIGNS.__getitem__, pieces[1::2])
    return "".join(pieces)


def _attributes(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(text):
        value = double or single or bare
        found.setdefault(name.lower(), references.unescape(value) if "&" in value else value)
    return found


def _span(text: str | None, most: int) -> int:
    """A colspan or rowspan, between 1 and `most`: larger ones are mistakes or attacks."""
    if text is None:
        return 1
    text = text.strip()[:9]
    return min(max(int(text), 1), most) if text.isascii() and text.isdigit() else 1


def parsed_tree(data: bytes, encoding: str) -> tuple[etree._Element | None, bool]:
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
        if name in _BYTE_VOID or match[0].endswith(b"/>"):
            return match[0]
        if closing:
            depth -= depth > 0
            return match[0] if depth < DEEPEST else b"<br>"
        depth += 1
        return match[0] if depth <= DEEPEST else b"<br>"

    return _TAG.sub(kept, data)
