"""Facts of inline XBRL 1.1 out of the markup as a run of tags and texts.

Rules: https://www.xbrl.org/specification/inlinexbrl-part1/rec-2013-11-18/
A filing has some thousand facts among a hundred thousand tags. So a tag is looked up once for all its occurrences, only marks of inline
XBRL are walked, and text is joined from pieces that are there already.
"""

from __future__ import annotations

import html as references
import re
from bisect import bisect, bisect_left
from dataclasses import dataclass, field
from functools import lru_cache

from lxml import etree

from edgarmill.workers.parse import formats
from edgarmill.workers.parse.characters import mapped, spaced
from edgarmill.workers.parse.contexts import NO_CONTEXT, Context, Resources
from edgarmill.workers.parse.marks import INLINE, MARK, NUMBER, Layouts, Roles, Said, Values, split_markup
from edgarmill.workers.parse.parsed import Fact

MOST_FACTS = 200_000
LONGEST_VALUE = 2_000_000  # characters
_FACTS = frozenset({"nonfraction", "nonnumeric", "fraction"})
_PAIR = re.compile(NUMBER + MARK)
_MARK = re.compile(f"[{NUMBER}{MARK}]")
_REFERENCE = re.compile(r"&[#\w]{1,31};")
_ZEROS = {None: "", "0": "", "2": "00", "3": "000", "6": "000000", "9": "000000000"}
_UNKNOWN = ("?", "", "")


def facts_of(root: etree._Element) -> tuple[list[Fact], list[str]]:
    """Facts of a tree in document order, and what is wrong with them. The tree must still hold its hidden parts."""
    return facts_in(split_markup(str(etree.tostring(root, encoding="unicode", method="xml", with_tail=False))))


def facts_in(parts: list[str]) -> tuple[list[Fact], list[str]]:
    """Facts of well-nested markup in document order, and what is wrong with them. `parts` are text, tag, text, tag, …, text."""
    roles = Roles()
    signs = "".join(map(roles.__getitem__, parts[1::2]))
    pairs = [found.start() for found in _PAIR.finditer(signs)]
    marks = [found.start() for found in _MARK.finditer(signs.replace(NUMBER + MARK, INLINE * 2))]
    if not pairs and not marks:
        return [], []
    return _Reading(parts, signs, roles, left=10 * len(parts) + 100_000).facts(pairs, marks)


@dataclass(slots=True)
class _Element:
    """An element of inline XBRL: its kind, what it says, and the numbers of its start and end tag."""

    kind: str
    said: Said
    start: int
    end: int
    hidden: bool


@dataclass(slots=True)
class _Reading:
    parts: list[str]  # the n-th tag is at 2 * n + 1, the text before it at 2 * n
    signs: str  # what each tag puts into the text
    roles: Roles
    left: int  # pieces that may still be joined: a bound for facts that are nested a thousand deep
    resources: Resources = field(default_factory=Resources)
    elements: list[_Element] = field(default_factory=list)  # in document order, numbers without anything in them aside
    stops: list[int] = field(default_factory=list)  # tags at which a text begins, ends or is interrupted
    holes: dict[int, int] = field(default_factory=dict)  # start and end tag of what is excluded
    shown: dict[int, str] = field(default_factory=dict)  # text behind a stop
    continuations: dict[str, _Element] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)
    manners: dict[Values, tuple[str, str, str] | None] = field(default_factory=dict)  # -> unit, sign and zeros of digits as printed
    found: dict[int, Fact] = field(default_factory=dict)  # by number of the start tag

    def facts(self, pairs: list[int], marks: list[int]) -> tuple[list[Fact], list[str]]:
        """`pairs`: start tags of numbers before another mark, mostly their end tag; `marks`: all other marks."""
        parts = self.parts
        alone = [at for at in pairs if parts[2 * at + 1][-1] != "/" and parts[2 * at + 3][0] == "/"]
        if len(alone) < len(pairs):
            rest = set(pairs).difference(alone)
            marks = sorted({*marks, *rest, *(at + 1 for at in rest)})
        self._walk(marks)
        self._sort()
        self._numbers(alone)
        for element in self.elements:
            if element.kind in _FACTS:
                self.found[element.start] = self._fact(element)
        order = sorted(self.found)
        if len(order) > MOST_FACTS:
            self.warnings.append(f"more than {MOST_FACTS:,} facts: the rest was left out")
            order = order[:MOST_FACTS]
        facts = [self.found[at] for at in order]
        notes = self._footnotes()
        if notes:
            of = Layouts(Said._fields).of
            facts = [_noted(fact, Said._make(of(parts[2 * at + 1])), notes) for fact, at in zip(facts, order, strict=True)]
        lost = [name for name in self.continuations if name not in self.used]
        self.warnings.extend(f"continuation without origin: {name[:80]}" for name in lost[:100])
        return facts, self.warnings

    def _walk(self, marks: list[int]) -> None:
        """Elements with their ends."""
        open_: list[_Element] = []
        hidden = 0
        kinds, name_of, of = self.roles.kinds, self.roles.name_of, Layouts(Said._fields).of
        for at in marks:
            tag = self.parts[2 * at + 1]
            kind = kinds[name_of(tag)]
            if tag[0] == "/":
                hidden -= self._closed(open_, kind, at)
                continue
            element = _Element(kind, Said._make(of(tag)), at, at, hidden > 0)
            self.elements.append(element)
            if tag[-1] != "/":
                open_.append(element)
                hidden += kind == "hidden"
        self._closed(open_, "", len(self.signs))

    def _closed(self, open_: list[_Element], kind: str, at: int) -> int:
        """Ends the innermost open element of a kind and what is open within it. Gives how many ix:hidden ended."""
        hidden = 0
        while open_:
            element = open_.pop()
            element.end = at
            hidden += element.kind == "hidden"
            if element.kind == kind:
                break
        return hidden

    def _sort(self) -> None:
        stops: set[int] = set()
        for element in self.elements:
            stops |= {element.start, element.end}
            if element.kind == "exclude":
                self.holes[element.start] = element.end
            elif element.kind == "resources":
                start, end = 2 * element.start + 2, 2 * element.end + 1
                self.resources.read(self.parts[start + 1 : end : 2], self.parts[start:end:2], self.roles.prefixes)
            elif element.kind == "continuation":
                name = element.said.id or ""
                if self.continuations.setdefault(name, element) is not element:
                    self.warnings.append(f"two continuations of one id: {name[:80]}")
        self.stops = sorted(stops)

    # text

    def _text(self, element: _Element) -> str:
        """What stands between its tags, excluded parts aside, folded; borders of blocks are blanks."""
        if element.end <= element.start + 1:
            return "" if element.end == element.start else folded(self.parts[2 * element.end])
        stops = self.stops
        at = bisect(stops, element.start)
        end = bisect_left(stops, element.end)
        self.left -= end - at
        if self.left < 0:
            return ""
        start, joined = element.start, []
        while at < end:
            stop = stops[at]
            joined.append(self._between(start, stop))
            start = self.holes.get(stop, stop)
            at = at + 1 if start == stop else bisect(stops, start)
        joined.append(self._between(start, element.end))
        text = spaced("".join(joined))
        self.left -= len(text) // 10
        return text

    def _between(self, start: int, end: int) -> str:
        """Text from one tag to another with nothing in between that is to be told apart. Facts within facts share such pieces."""
        known = self.shown.get(start)
        if known is None:
            pieces = self.parts[2 * start + 2 : 2 * end + 1]
            pieces[1::2] = self.signs[start + 1 : end]
            text = "".join(pieces).replace(INLINE, "").replace(MARK, "").replace(NUMBER, "")
            known = self.shown[start] = read_text(text)
        return known

    def _chained(self, element: _Element) -> tuple[str, str]:
        """Text of an element with all that continues it, and a warning."""
        joined = [self._text(element)]
        seen = {id(element)}
        warning = ""
        name = element.said.continuedat
        while name and self.left >= 0:
            self.used.add(name)
            following = self.continuations.get(name)
            if following is None or id(following) in seen:
                warning = f"{'continuation is missing' if following is None else 'continuations in a circle'}: {name[:80]}"
                break
            self.left -= 5
            seen.add(id(following))
            joined.append(self._text(following))
            name = following.said.continuedat
        if self.left < 0:
            warning = "too much nested text: some was left out"
        text = " ".join(text for text in joined if text)
        if len(text) > LONGEST_VALUE:
            return text[:LONGEST_VALUE], f"text of {len(text):,} characters was cut"
        return text, warning

    # facts

    def _fact(self, element: _Element) -> Fact:
        if element.kind == "fraction":
            return self._fraction(element)
        if element.kind != "nonnumeric":
            return self._any_number_fact(element.said, self._text(element), element.hidden)
        said = element.said
        text, warning = self._chained(element)
        context, lost = self._context(said.contextref)
        nil = _is_nil(said.nil)
        value, doubt = (None, "") if nil else _words(text, said.format)
        return Fact(said.name or "", *context, None, value, said.decimals, text, nil, element.hidden, (), warning or lost or doubt)

    def _numbers(self, starts: list[int]) -> None:
        """Facts with a unit and nothing but text in them. The usual print, digits with commas, is read at once."""
        hidden = [(element.start, element.end) for element in self.elements if element.kind == "hidden"][:10]
        last = max((end for _, end in hidden), default=-1)
        of, parts, found = Layouts(Said._fields[:8]).of, self.parts, self.found
        contexts, manners, new = self.resources.contexts, self.manners, tuple.__new__
        for at in starts:
            said = of(parts[2 * at + 1])
            text = parts[2 * at + 2]
            key = said[2:]
            manner = manners.get(key, _UNKNOWN)
            if manner is _UNKNOWN:
                manner = manners[key] = self._manner(*key)
            below = at < last and any(start < at < end for start, end in hidden)
            context = contexts.get(said[1])  # type: ignore[arg-type]
            digits = text.replace(",", "")
            if manner and context and digits.isdecimal() and digits[0] != "0" and digits.isascii() and len(digits) < 100:
                value = manner[1] + digits + manner[2]
                found[at] = new(Fact, (said[0] or "", *context, manner[0], value, said[3], text, False, below, (), ""))
            else:
                found[at] = self._any_number_fact(said, folded(text), below)

    def _manner(self, unit: str | None, decimals: str | None, scale: str | None, form: str | None, sign: str | None,
                nil: str | None) -> tuple[str, str, str] | None:
        """None where a number needs a closer look."""
        measure = self.resources.units.get(unit or "")
        usual = scale in _ZEROS and sign in (None, "-") and nil is None and measure and not self.resources.undated
        return (measure or "", sign or "", _ZEROS[scale]) if usual and formats.is_dotted(form or "") else None

    def _any_number_fact(self, said: Values, text: str, hidden: bool) -> Fact:
        name, of, unit_of, decimals, scale, form, sign, nil = said[:8]
        context, lost = self._context(of)
        unit = self.resources.units.get(unit_of or "")
        is_nil = _is_nil(nil)
        value, doubt = (None, "") if is_nil else _number(text, form, scale, sign)
        lost = lost or ("" if unit else f"unit is missing: {(unit_of or '')[:80]}")
        return Fact(name or "", *context, unit, value, decimals, text, is_nil, hidden, (), lost or doubt)

    def _fraction(self, element: _Element) -> Fact:
        """Numerator and denominator as `1/3`. EDGAR allows no fractions; others do."""
        fact = self._any_number_fact(element.said, self._text(element), element.hidden)
        numbers = fact.text.split()
        plain = len(numbers) == 2 and all(formats.is_plain(number) for number in numbers)
        if fact.nil or not plain:
            return fact
        warning = fact.warning if fact.warning.startswith(("context", "unit", "no date")) else ""
        return fact._replace(value="/".join(numbers), warning=warning)

    def _context(self, name: str | None) -> tuple[Context, str]:
        found = self.resources.contexts.get(name or "")
        if found is None:
            return NO_CONTEXT, f"context is missing: {(name or '')[:80]}"
        return found, self.resources.undated.get(name or "", "")

    def _footnotes(self) -> dict[str, list[str]]:
        """Texts of footnotes by "#" and the id of a fact they belong to, and by their own id."""
        texts: dict[str, str] = {}
        for element in self.elements:
            if element.kind == "footnote":
                texts.setdefault(element.said.id or element.said.footnoteid or "", self._chained(element)[0])
        notes = {name: [text] for name, text in texts.items()}
        pairs = 0
        for element in self.elements:
            if element.kind == "relationship":
                found = [texts[name] for name in (element.said.torefs or "").split() if name in texts]
                for name in (element.said.fromrefs or "").split():
                    pairs += len(found)
                    if pairs > MOST_FACTS:
                        return notes
                    notes.setdefault("#" + name, []).extend(found)
        return notes


def folded(text: str) -> str:
    """Text as it is seen, white space as one blank."""
    return spaced(read_text(text))


def read_text(text: str) -> str:
    """References as signs, typography mapped."""
    if not text.isascii():
        text = mapped(text)
    if "&" in text:
        for reference in set(_REFERENCE.findall(text)):  # a few kinds, each many times
            sign = _sign(reference)
            if sign != "&":
                text = text.replace(reference, sign)
        text = references.unescape(text) if "&" in text else text
    return text


@lru_cache(maxsize=4096)
def _sign(reference: str) -> str:
    """A C1 control means the letter of windows-1252, which `unescape` knows."""
    return mapped(references.unescape(reference))


def _noted(fact: Fact, said: Said, notes: dict[str, list[str]]) -> Fact:
    names = (said.footnoterefs or "").split()[:100]
    found = [*notes.get(f"#{said.id}", ()), *(text for name in names for text in notes.get(name, ()))]
    return fact._replace(footnotes=tuple(found)) if found else fact


def _is_nil(said: str | None) -> bool:
    return said is not None and said.strip() in ("true", "1")


def _number(text: str, form: str | None, scale: str | None, sign: str | None) -> tuple[str | None, str]:
    """The exact decimal, or none and why: what is no number has no value, its text stays."""
    try:
        digits = formats.number_of(text, formats.kind_of(form or ""))
        below = digits[0] == "-"
        value = formats.scaled(digits[below:], int((scale or "0")[:9]), below or (sign or "").strip() == "-")
    except KeyError:
        return None, f"unknown format: {(form or '')[:80]}"
    except ValueError:
        return None, "text is not of its format: " + (form or "a decimal")[:80]
    return value, "minus sign within the number" if below and not sign else ""


def _words(text: str, form: str | None) -> tuple[str, str]:
    """The value behind a text, or the text itself and why."""
    if not form:
        return text, ""
    try:
        return formats.value_of(text, formats.kind_of(form)), ""
    except KeyError:
        return text, f"unknown format: {form[:80]}"
    except ValueError:
        return text, f"text is not of its format: {form[:80]}"



