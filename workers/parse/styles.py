"""What a CSS style attribute says about a piece of text, as far as the parser asks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

BOLD, ITALIC, UNDERLINED, LINK, RAISED, SYMBOL = 1, 2, 4, 8, 16, 32
_SIZE = re.compile(r"([\d.]+)\s*(pt|px|em|rem|%)?")
_POINTS = {"pt": 1.0, "px": 0.75, "em": 10.0, "rem": 10.0, "%": 0.1, None: 0.75}
_WHITE = re.compile(r"#fff(?:fff)?\b|\bwhite\b|rgb\(\s*255\s*,\s*255\s*,\s*255\s*\)")
_NEW_SIDE, _NEW_PAGE = ("always", "left", "right"), ("page", "always")
_LONGEST_STYLE = 4000


@dataclass(slots=True)  # not frozen, which would take three times as long to make; nobody changes one
class Style:
    """`add` and `drop` are flags switched on and off; sizes in points, 0 where not stated."""

    hidden: bool = False
    white: bool = False
    shaded: bool = False  # a background that is not white
    add: int = 0
    drop: int = 0
    size: float = 0.0
    block: bool = False  # by its display, whatever the element
    inline: bool = False
    break_before: bool = False
    break_after: bool = False
    footer: bool = False  # nailed to the page's bottom
    placed: bool = False  # by left and top: source order need not be reading order
    centered: bool = False
    gap: bool = False  # a visible gap although the source has no blank
    indent: float = 0.0


PLAIN = Style()


@lru_cache(maxsize=20_000)
def style_of(text: str) -> Style:
    """The style of one attribute value; filings repeat a few hundred values tens of thousands of times."""
    pairs = _pairs(text)
    get = pairs.get
    display, position, color = get("display", ""), get("position"), get("color")
    size = points(get("font-size", ""))
    add, drop = _flags(pairs)
    background = get("background-color", "") or get("background", "")
    left = points(get("padding-left", "")) or points(get("margin-left", "")) or _side(get("padding", ""), 3)
    footer = position == "absolute" and "bottom" in pairs and "top" not in pairs
    return Style(
        hidden=display == "none" or get("visibility") == "hidden" or ("font-size" in pairs and size <= 0.75),
        white=color is not None and _WHITE.fullmatch(color) is not None,
        shaded=bool(background) and not _WHITE.search(background) and background not in ("transparent", "none", "inherit"),
        add=add, drop=drop, size=size,
        block=footer or display in ("block", "table", "list-item"),
        inline=display.startswith("inline"),
        break_before=get("page-break-before") in _NEW_SIDE or get("break-before") in _NEW_PAGE,
        break_after=get("page-break-after") in _NEW_SIDE or get("break-after") in _NEW_PAGE,
        footer=footer,
        placed=position == "absolute" and "top" in pairs and "left" in pairs,
        centered=get("text-align") == "center",
        gap=display in ("inline-block", "inline-flex")
        or max(left, points(get("padding-right", "")), points(get("margin-right", ""))) >= 3,
        indent=left + min(0.0, points(get("text-indent", ""))),
    )


def _pairs(text: str) -> dict[str, str]:
    return dict(filter(None, map(_declared, text[:_LONGEST_STYLE].lower().split(";"))))


@lru_cache(maxsize=5000)  # new styles are mostly put together of old declarations
def _declared(text: str) -> tuple[str, str] | None:
    key, colon, value = text.partition(":")
    return (key.strip(), value.replace("!important", "").strip()) if colon else None


def _flags(pairs: dict[str, str]) -> tuple[int, int]:
    add = drop = 0
    weight = pairs.get("font-weight", "")
    if weight:
        bold = weight.startswith("bold") or (weight.isdecimal() and int(weight[:5]) >= 600)
        add, drop = (add | BOLD, drop) if bold else (add, drop | BOLD)
    slant = pairs.get("font-style", "")
    if slant:
        add, drop = (add, drop | ITALIC) if slant == "normal" else (add | ITALIC, drop)
    if "underline" in pairs.get("text-decoration", ""):
        add |= UNDERLINED
    if pairs.get("vertical-align") == "super":
        add |= RAISED
    family = pairs.get("font-family", "") or pairs.get("font", "")
    if family:
        add, drop = (add | SYMBOL, drop) if is_symbol_font(family) else (add, drop | SYMBOL)
    if "bold" in pairs.get("font", ""):
        add |= BOLD
    return add, drop


def is_symbol_font(family: str) -> bool:
    first = family.lower().lstrip("'\" ")
    return "wingdings" in family.lower() or first.startswith("symbol")


@lru_cache(maxsize=2000)
def points(text: str) -> float:
    """A CSS length in points, roughly; 0 where there is none."""
    negative = text.startswith("-")
    match = _SIZE.match(text.lstrip("-"))
    if not match or match[1].count(".") > 1 or match[1] == ".":
        return 0.0
    value = float(match[1][:12]) * _POINTS[match[2]]
    return -value if negative else value


def _side(text: str, side: int) -> float:
    values = text.split()
    return points(values[side]) if len(values) == 4 else 0.0
