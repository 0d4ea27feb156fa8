"""Which characters the canonical text holds, and how visible characters and numbers are counted. The same rules for every parser."""

from __future__ import annotations

import re

# References into 0x80-0x9F mean windows-1252 letters, whatever the standard says (edgar filings before 2012 are full of them).
_C1 = {code: bytes([code]).decode("cp1252", "ignore") for code in range(0x80, 0xA0)}
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_INVISIBLE = dict.fromkeys([0xAD, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2028, 0x2029, 0x2060, 0xFEFF, 0x1A], "")
_TABLE = {**_C1, **_LIGATURES, **_INVISIBLE, 0x2028: " ", 0x2029: " "}
_MAPPED = re.compile("[" + "".join(map(chr, _TABLE)) + "]")
_SYMBOL_FONT = str.maketrans("þýxTRo¨q£·§ŸvØàü\u0095", "☒☒☒☒☒☐☐☐☐•••••→✓•")
_PRIVATE = str.maketrans({0xF000 + ord(sign): sign for sign in "þýxTRo¨q£·§ŸvØàü"})
NUMBER = re.compile(r"[0-9][0-9,]*(?:\.[0-9]+)?")
_BLANKS = tuple(sign for sign in map(chr, range(0x3001)) if sign.isspace())
_FIGURES = bytes(code if code in b"0123456789,." else 32 for code in range(256))  # blanks for all that is no part of a number


def mapped(text: str) -> str:
    """Text with 1252 letters for C1 controls, ligatures spelt out, invisible signs removed. White space stays as it is."""
    if text.isascii() or not _MAPPED.search(text):
        return text
    return _MAPPED.sub(lambda match: _TABLE[ord(match[0])], text)


def folded(text: str) -> str:
    """`mapped`, and every run of white space (no-break ones too) as one blank; none at the ends."""
    return spaced(mapped(text))


def spaced(text: str) -> str:
    """Every run of white space as one blank; none at the ends."""
    if text.isprintable() and "  " not in text:  # all white space but the blank is not printable: most texts, at a third of the time
        return text.strip(" ")
    return " ".join(text.split())


def symbols(text: str) -> str:
    """What a text set in Wingdings or Symbol shows: check boxes and bullets; longer texts are left alone."""
    bare = text.strip().translate(_PRIVATE)
    return text.replace(text.strip(), bare.translate(_SYMBOL_FONT)) if 0 < len(bare) <= 2 else text


def numbers(text: str) -> set[str]:
    """The distinct numbers of a text as printed, without thousands commas: {"1234", "0.09"}."""
    rough = set(text.encode("utf-8", "replace").translate(_FIGURES).split())  # twice as fast as the pattern over the whole text
    return {found.replace(",", "") for found in NUMBER.findall(b" ".join(rough).decode())}


def visible_characters(text: str) -> int:
    """Characters that are no white space."""
    return len(text) - sum(text.count(sign) for sign in _BLANKS if sign in text)
