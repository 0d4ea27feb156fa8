"""Facts of inline XBRL 1.1 (https://www.xbrl.org/specification/inlinexbrl-part1/rec-2013-11-18/) out of the markup as a run of tags and texts.

A filing has some thousand facts among a hundred thousand tags. So a tag is looked up once for all its occurrences, only marks of inline
XBRL are walked in Python, and the text between two of them is joined from pieces that are there already.
"""

from __future__ import annotations

import html as references
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field

from lxml import etree

from edgarmill.workers.parse import formats
from edgarmill.workers.parse.characters import mapped
from edgarmill.workers.parse.contexts import Context, Names, attributes_of, resources_of
from edgarmill.workers.parse.parsed import Fact

MOST_FACTS = 200_000
LONGEST_VALUE = 2_000_000  # characters
_INLINE, _BORDER, _MARK = "", " ", "\0"
_IX = "http://www.xbrl.org/20"  # …13/inlineXBRL and …08/inlineXBRL
_KINDS = frozenset({"nonfraction", "nonnumeric", "fraction", "continuation", "exclude", "footnote", "hidden", "resources", "relationship"})
_FACTS = frozenset({"nonfraction", "nonnumeric", "fraction"})
_CHAINED = frozenset({"nonnumeric", "continuation", "footnote"})
_BORDERS = frozenset(
    "p div h1 h2 h3 h4 h5 h6 li ul ol dl dt dd table tr td th center blockquote pre address form section article header footer caption thead "
    "tbody tfoot br hr".split())
_NO_CONTEXT = Context(warning="")


def facts_of(root: etree._Element) -> tuple[list[Fact], list[str]]:
    """Facts of a tree in document order, and what is wrong with them. The tree must still hold its hidden parts."""
    return facts_in(split_markup(str(etree.tostring(root, encoding="unicode", method="xml", with_tail=False))))


def split_markup(text: str) -> list[str]:
    """Text, tag, text, tag, …, text of well-nested markup without comments; tags without their brackets."""
    parts = [""]
    first, *pieces = text.split("<")
    parts[0] = first
    for piece in pieces:
        tag, _, after = piece.partition(">")
        parts += (tag, after)
    return parts


def facts_in(parts: Sequence[str]) -> tuple[list[Fact], list[str]]:
    """Facts of well-nested markup in document order, and what is wrong with them. `parts` are text, tag, text, tag, …, text."""
    tags = parts[1::2]
    roles = _Roles()
    signs = list(map(roles.__getitem__, tags))
    marks = [i for i, sign in enumerate(signs) if sign is _MARK]
    if not marks:
        return [], []
    return _Reading(parts, tags, signs, roles).facts(marks)


class _Roles(dict[str, str]):
    """Tag as written -> a mark of inline XBRL, the border of a block, or nothing. Learns prefixes on its way, as they are declared."""

    def __init__(self) -> None:
        self.prefixes: dict[str, str] = {}
        self.marks: dict[str, str] = {f"ix:{kind}": kind for kind in _KINDS}  # name as written in lower case -> kind

    def __missing__(self, tag: str) -> str:
        if "xmlns:" in tag:
            self._declare(attributes_of(tag))
        words = tag.lstrip("/").split(None, 1)
        name = words[0].rstrip("/").lower() if words else ""
        if name in self.marks:
            return _MARK  # with its id it comes once: not kept
        if name in _BORDERS or name.startswith("td"):  # an empty cell may be one piece: <td></td>
            sign = _BORDER
        else:
            sign = _INLINE
        self[tag] = sign
        return sign

    def _declare(self, attributes: dict[str, str]) -> None:
        for name, value in attributes.items():
            if name.startswith("xmlns:"):
                prefix = name[6:]
                self.prefixes.setdefault(prefix, value)
                if value.startswith(_IX) and value.endswith("/inlineXBRL"):
                    self.marks |= {f"{prefix}:{kind}": kind for kind in _KINDS}


@dataclass(slots=True)
class _Element:
    """An element of inline XBRL: its kind, attributes, and the numbers of its start and end tag."""

    kind: str
    attributes: dict[str, str]
    start: int
    end: int
    hidden: bool = False
    plain: bool = True  # holds no element of inline XBRL


@dataclass(slots=True)
class _Reading:
    parts: Sequence[str]
    tags: Sequence[str]
    signs: list[str]
    roles: _Roles
    elements: list[_Element] = field(default_factory=list)  # in document order
    excluded: list[_Element] = field(default_factory=list)
    contexts: dict[str, Context] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    continuations: dict[str, _Element] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    left: int = 0  # pieces that may still be joined: a bound for facts that are nested a thousand deep

    def facts(self, marks: list[int]) -> tuple[list[Fact], list[str]]:
        self.pieces = list(self.parts)
        self.pieces[1::2] = self.signs
        self.left = 40 * len(self.pieces) + 1_000_000
        self._nest(marks)
        notes = self._footnotes()
        used: set[str] = set()
        found = []
        for element in self.elements:
            if element.kind in _FACTS:
                if len(found) == MOST_FACTS:
                    self.warnings.append(f"more than {MOST_FACTS:,} facts: the rest was left out")
                    break
                found.append(self._fact(element, used, notes))
        lost = [name for name in self.continuations if name not in used]
        self.warnings.extend(f"continuation without origin: {name[:80]}" for name in lost[:100])
        return found, self.warnings

    # what is where

    def _nest(self, marks: list[int]) -> None:
        """Pairs start and end tags. What is not closed ends where what is around it ends."""
        open_: list[_Element] = []
        hidden = 0
        tags, names, keys = self.tags, self.roles.marks, _Keys()
        for at in marks:
            tag = tags[at]
            if tag[0] != "/":
                name = tag.split(None, 1)[0].rstrip("/").lower()
                element = _Element(names[name], _quick_attributes(tag, keys), at, at, hidden > 0)
                if open_:
                    open_[-1].plain = False
                self.elements.append(element)
                if tag[-1] != "/":
                    open_.append(element)
                    hidden += element.kind == "hidden"
                continue
            kind = names[tag[1:].strip().lower()]
            while open_:
                element = open_.pop()
                element.end = at
                hidden -= element.kind == "hidden"
                if element.kind == kind:
                    break
        for element in open_:
            element.end = len(tags)
        self._sort()

    def _sort(self) -> None:
        """Excluded ranges, continuations by id, contexts and units."""
        names = Names()
        for element in self.elements:
            if element.kind == "exclude":
                self.excluded.append(element)
            elif element.kind == "continuation":
                name = element.attributes.get("id", "")
                if self.continuations.setdefault(name, element) is not element:
                    self.warnings.append(f"two continuations of one id: {name[:80]}")
            elif element.kind == "resources":
                resources_of(self.tags, self.parts[::2], element.start + 1, element.end, names, self.contexts, self.units,
                             self.roles.prefixes)

    # text

    def _text(self, element: _Element) -> str:
        """What stands between its tags, excluded parts aside, folded; borders of blocks are blanks."""
        if element.end == element.start:
            return ""
        if element.end == element.start + 1:
            return _folded(self.parts[2 * element.end])
        start, end = 2 * element.start + 2, 2 * element.end + 1
        self.left -= end - start
        if self.left < 0:
            return ""
        if element.plain or not self.excluded:
            return _folded("".join(self.pieces[start:end]).replace(_MARK, ""))
        joined = []
        first = bisect(self.excluded, element.start, key=_start)
        for hole in self.excluded[first : bisect(self.excluded, element.end, key=_start)]:
            if 2 * hole.start >= start:  # not within the one before
                joined.append("".join(self.pieces[start : 2 * hole.start + 1]))
                start = 2 * hole.end + 2
        joined.append("".join(self.pieces[start:end]))
        return _folded("".join(joined).replace(_MARK, ""))

    def _chained(self, element: _Element, used: set[str]) -> tuple[str, str]:
        """Text of an element with all that continues it, and a warning."""
        joined = [self._text(element)]
        seen = {id(element)}
        name = element.attributes.get("continuedat")
        while name:
            used.add(name)
            following = self.continuations.get(name)
            if following is None:
                return " ".join(joined), f"continuation is missing: {name[:80]}"
            if id(following) in seen:
                return " ".join(joined), f"continuations in a circle: {name[:80]}"
            self.left -= 1
            if self.left < 0:
                break
            seen.add(id(following))
            joined.append(self._text(following))
            name = following.attributes.get("continuedat")
        warning = "too much nested text: it was left out" if self.left < 0 else ""
        return " ".join(text for text in joined if text), warning

    # facts

    def _fact(self, element: _Element, used: set[str], notes: dict[str, list[str]]) -> Fact:
        attributes = element.attributes
        number = element.kind != "nonnumeric"
        if number:
            text, warning = self._text(element), ""
        else:
            text, warning = self._chained(element, used)
            if len(text) > LONGEST_VALUE:
                text, warning = text[:LONGEST_VALUE], f"text of {len(text):,} characters was cut"
        context = self.contexts.get(attributes.get("contextref", ""))
        unit = None
        if context is None:
            warning = warning or f"context is missing: {attributes.get('contextref', '')[:80]}"
            context = _NO_CONTEXT
        elif context.warning:
            warning = warning or context.warning
        if number:
            unit = self.units.get(attributes.get("unitref", ""))
            if unit is None:
                warning = warning or f"unit is missing: {attributes.get('unitref', '')[:80]}"
        nil = _is_nil(attributes)
        value: str | None = None
        if not nil:
            value, doubt = _number(text, attributes) if number else _words(text, attributes)
            warning = warning or doubt
        return Fact(attributes.get("name", ""), context.entity, context.start, context.end, context.instant, context.dimensions, unit, value,
                    attributes.get("decimals"), text, nil, element.hidden, self._noted(attributes, notes), warning)

    def _noted(self, attributes: dict[str, str], notes: dict[str, list[str]]) -> tuple[str, ...]:
        if not notes:
            return ()
        named = notes.get("#" + attributes.get("id", ""), [])
        for name in attributes.get("footnoterefs", "").split()[:100]:  # inline XBRL 1.0
            named = named + notes.get(name, [])
        return tuple(named)

    def _footnotes(self) -> dict[str, list[str]]:
        """Texts of footnotes by "#" and the id of a fact they belong to, and by their own id."""
        texts: dict[str, str] = {}
        used: set[str] = set()
        for element in self.elements:
            if element.kind == "footnote":
                name = element.attributes.get("id") or element.attributes.get("footnoteid", "")
                texts.setdefault(name, self._chained(element, used)[0][:LONGEST_VALUE])
        notes: dict[str, list[str]] = {name: [text] for name, text in texts.items()}
        pairs = 0
        for element in self.elements:
            if element.kind != "relationship":
                continue
            found = [texts[name] for name in element.attributes.get("torefs", "").split() if name in texts]
            for name in element.attributes.get("fromrefs", "").split():
                pairs += len(found)
                if pairs > MOST_FACTS:
                    return notes
                notes.setdefault("#" + name, []).extend(found)
        for name in used:
            self.continuations.pop(name, None)
        return notes


def _quick_attributes(tag: str, keys: _Keys) -> dict[str, str]:
    """As `attributes_of`, for the usual spelling: name="value"."""
    if "'" in tag or "&" in tag:
        return attributes_of(tag)
    bits = tag.split('"')
    return dict(zip(map(keys.__getitem__, bits[:-1:2]), bits[1::2], strict=False))


def _start(element: _Element) -> int:
    return element.start


class _Keys(dict[str, str]):
    """` contextRef=` -> contextref."""

    def __missing__(self, text: str) -> str:
        words = text.rstrip("= \t\r\n").split()
        key = words[-1].lower() if words else ""
        if len(self) < 1000:
            self[text] = key
        return key


def _folded(text: str) -> str:
    """Text as it is seen: references as signs, white space as one blank."""
    if "&" in text:
        text = references.unescape(text)
    return " ".join(mapped(text).split())


def _is_nil(attributes: dict[str, str]) -> bool:
    """By any prefix: some filings declare the schema instance as xs."""
    if "xsi:nil" in attributes:
        return attributes["xsi:nil"].strip() in ("true", "1")
    return "decimals" not in attributes and any(name.endswith(":nil") and value.strip() in ("true", "1") for name, value in attributes.items())


def _number(text: str, attributes: dict[str, str]) -> tuple[str, str]:
    """The exact decimal, or the text as printed and why."""
    kind = formats.kind_of(attributes.get("format", ""))
    try:
        digits = formats.number_of(text, kind)
        scale = attributes.get("scale", "0").strip() or "0"
        if len(scale) > 4:
            return text, f"scale is no number: {scale[:20]}"
        below = digits[0] == "-"
        value = formats.scaled(digits[below:], int(scale), below or attributes.get("sign", "").strip() == "-")
    except KeyError:
        return text, f"unknown format: {attributes.get('format', '')[:80]}"
    except ValueError:
        return text, "text is not of its format: " + (attributes.get("format") or "a decimal")[:80]
    return value, "minus sign within the number" if below and "sign" not in attributes else ""


def _words(text: str, attributes: dict[str, str]) -> tuple[str, str]:
    """The value behind a text, or the text itself and why."""
    name = attributes.get("format")
    if not name:
        return text, ""
    try:
        return formats.value_of(text, formats.kind_of(name)), ""
    except KeyError:
        return text, f"unknown format: {name[:80]}"
    except ValueError:
        return text, f"text is not of its format: {name[:80]}"
