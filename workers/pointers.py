"""Stubs: Items of a sentence or two that say where the content is (the proxy statement, pages F-1 and following, Exhibit 13)."""

from __future__ import annotations

import re

STUB = 900  # characters; a longer body is no pointer
_POINTER = re.compile(
    r"(?:[^.\n]|\.(?=\d))*\b(?:incorporated (?:herein |in this \w+ )?by reference|(?:see|refer to|(?:included|set forth) (?:in|under|on)|"
    r"appears? (?:in|under|on|at)|begin(?:s|ning) on|submitted as|(?:presented|contained|described|discussed|found|given) (?:in|under|on)"
    r")\b|incorporates?\b[^.\n]*\bby reference)[^\n]*", re.I)
_NO_POINTER = re.compile(r"\bdeemed\b.{0,40}\b(?:filed|incorporated)\b|\bnot be incorporated\b", re.I)


def pointer_of(body: str) -> str | None:
    """The sentence of a stub that says where the content is; None of a body with content of its own."""
    if len(body) > STUB:
        return None
    match = _POINTER.search(body)
    return " ".join(match[0].split())[:400] if match and not _NO_POINTER.search(match[0]) else None
