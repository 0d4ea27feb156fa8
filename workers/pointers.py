"""Stubs: Items of a sentence or two that say where the content is (the proxy statement, pages F-1 and following, Exhibit 13)."""

from __future__ import annotations

import re

STUB = 900  # characters; a longer body is no pointer
_POINTS = re.compile(
    r"\b(?:incorporated (?:herein |in this \w+ )?by reference|(?:see|refer to|(?:included|set forth) (?:in|under|on)|"
    r"appears? (?:in|under|on|at)|begin(?:s|ning) on|submitted as|(?:presented|contained|described|discussed|found|given) (?:in|under|on)"
    r")\b|incorporates?\b[^.\n]{0,200}\bby reference)", re.I)
_SENTENCE_END = re.compile(r"\n|\.(?!\d)")
_NO_POINTER = re.compile(r"\bdeemed\b.{0,40}\b(?:filed|incorporated)\b|\bnot be incorporated\b", re.I)


def pointer_of(body: str) -> str | None:
    """The sentence of a stub that says where the content is; None of a body with content of its own."""
    if len(body) > STUB:
        return None
    match = _POINTS.search(body)
    if match is None:
        return None
    start = max((end.end() for end in _SENTENCE_END.finditer(body, 0, match.start())), default=0)
    sentence = body[start:].partition("\n")[0]
    return None if _NO_POINTER.search(sentence) else " ".join(sentence.split())[:400]
