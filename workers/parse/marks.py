"""Marks of inline XBRL in a run of tags: which tags they are, what each tag puts into the text, and what an element says of itself."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any, NamedTuple

from edgarmill.workers.parse.contexts import attributes_of

# What a tag puts into the text, one character each so that places in a joined run are places of tags; all but the border go again.
INLINE, BORDER, MARK, NUMBER = "\2", " ", "\0", "\1"
_IX = "http://www.xbrl.org/20"  # …13/inlineXBRL and …08/inlineXBRL
_KINDS = frozenset({"nonfraction", "nonnumeric", "fraction", "continuation", "exclude", "footnote", "hidden", "resources", "relationship"})
_BORDERS = frozenset(
    "p div h1 h2 h3 h4 h5 h6 li ul ol dl dt dd table tr td th center blockquote pre address form section article header footer caption "
    "thead tbody tfoot br hr".split())
Values = tuple[str | None, ...]


def split_markup(text: str) -> list[str]:
    """Text, tag, text, tag, …, text of well-nested markup without comments; tags without their brackets."""
    first, *pieces = text.split("<")
    parts = [first]
    for piece in pieces:
        tag, _, after = piece.partition(">")
        parts += (tag, after)
    return parts


class Roles(dict[str, str]):
    """Tag as written -> a mark of inline XBRL, the border of a block, or nothing. Learns prefixes on its way, as they are declared."""

    def __init__(self) -> None:
        self.prefixes: dict[str, str] = {}
        self.kinds: dict[str, str] = {}  # name with prefix in lower case -> kind
        self.numbers: tuple[str, ...] = ()
        self._learn("ix")

    def _learn(self, prefix: str) -> None:
        self.kinds |= {f"{prefix.lower()}:{kind}": kind for kind in _KINDS}
        self.numbers += (f"{prefix}:nonFraction ", f"{prefix.lower()}:nonfraction ")

    def __missing__(self, tag: str) -> str:
        if tag.startswith(self.numbers):
            return NUMBER  # with its id it comes once: not kept
        if "xmlns:" in tag:
            self._declare(attributes_of(tag))
        name = self.name_of(tag)
        if name in self.kinds:
            sign = NUMBER if self.kinds[name] == "nonfraction" and tag[0] != "/" else MARK
        else:
            border = name in _BORDERS or name.startswith("td>")  # an empty cell may be one piece: <td></td>
            sign = BORDER if border or name.endswith((":numerator", ":denominator")) else INLINE
        if sign is not MARK or tag[0] == "/":
            self[tag] = sign
        return sign

    @staticmethod
    def name_of(tag: str) -> str:
        """Name in lower case, with its prefix; of an end tag too."""
        words = tag.lstrip("/").split(None, 1)
        return words[0].rstrip("/").lower() if words else ""

    def _declare(self, attributes: dict[str, str]) -> None:
        for name, value in attributes.items():
            if name.startswith("xmlns:"):
                prefix = name[6:]
                self.prefixes.setdefault(prefix, value)
                if value.startswith(_IX) and value.endswith("/inlineXBRL") and prefix != "ix":
                    self._learn(prefix)


class Said(NamedTuple):
    """What an element of inline XBRL says of itself; None = nothing. Field names are attribute names in lower case."""

    name: str | None = None
    contextref: str | None = None
    unitref: str | None = None
    decimals: str | None = None
    scale: str | None = None
    format: str | None = None
    sign: str | None = None
    nil: str | None = None  # by any prefix: some filings declare the schema instance as xs
    id: str | None = None
    continuedat: str | None = None
    footnoterefs: str | None = None  # inline XBRL 1.0
    footnoteid: str | None = None
    fromrefs: str | None = None
    torefs: str | None = None


class Layouts:
    """Reads the values of `fields` out of tags. What stands between the values tells where each is: a filing has a dozen such layouts."""

    def __init__(self, fields: tuple[str, ...]) -> None:
        self._fields = fields
        self._getters: dict[tuple[str, ...], Callable[[list[Any]], Values] | None] = {}
        self._between: list[str] = []  # of the tag before: the next one is often alike
        self._getter: Callable[[list[Any]], Values] | None = None

    def of(self, tag: str) -> Values:
        """The values of a tag in the order of `fields`."""
        bits: list[Any] = tag.split('"')
        between = bits[::2]
        if between != self._between:
            self._between, self._getter = between, self._getter_of(tuple(between))
        if self._getter is None or "&" in tag:
            return self._slowly(tag)
        bits.append(None)
        return self._getter(bits)

    def _slowly(self, tag: str) -> Values:
        attributes = attributes_of(tag)
        for key in [key for key in attributes if key.endswith(":nil")]:
            attributes["nil"] = attributes[key]
        return tuple(map(attributes.get, self._fields))

    def _getter_of(self, between: tuple[str, ...]) -> Callable[[list[Any]], Values] | None:
        """None where a value stands in single quotes or in none: not XHTML, but an HTML reader takes it."""
        if between in self._getters:
            return self._getters[between]
        places: dict[str, int] = {}
        odd = len(between) == 1 or "=" in between[-1]
        for at, text in enumerate(between[:-1]):
            key, _, more = text.strip().rpartition("=")
            odd = odd or bool(more) or "=" in key or "'" in text
            words = key.split()
            name = words[-1].lower() if words else ""
            places.setdefault("nil" if name.endswith(":nil") else name, 2 * at + 1)
        found = None if odd else itemgetter(*(places.get(key, -1) for key in self._fields))
        if len(self._getters) < 1000:
            self._getters[between] = found
        return found
