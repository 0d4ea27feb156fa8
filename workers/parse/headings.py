"""What kind of block a run of text is, and how high a heading stands."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter

from edgarmill.workers.parse.runs import Run

_LIST = re.compile(r"(?:[•●▪■◦○·❖➢✓]|[-–—*](?=\s)|\(?(?:[a-z]|[ivx]{1,4}|\d{1,2})[.)](?=\s))\s*\S", re.I)
_NOTE = re.compile(r"(?:\(?\d{1,2}\)|\(?[a-z]\)|\*{1,3}|[†‡]|\d{1,2})\s+\S", re.I)
_PART = re.compile(r"part\s+[ivx]{1,4}\b", re.I)
_ITEM = re.compile(r"i\s?tems?\s*\d", re.I)
_SIGNED = re.compile(r"(?:by:?\s*)?/s/|_{8,}", re.I)
_LETTERS = re.compile(r"(?:[\W\d_]*[^\W\d_]){3}")  # three of them
LONGEST = 250


def kind_of(run: Run, after_table: bool, after_signatures: bool) -> str:
    """heading | paragraph | list_item | footnote | signature. `after_table`: no prose between it and a table before it."""
    text = run.text
    if _SIGNED.match(text) or (after_signatures and run.tag == "row" and "/s/" in text):
        return "signature"
    if is_heading(run):
        return "heading"
    if after_table and _NOTE.match(text):
        return "footnote"
    if run.tag in ("li", "dd") or _LIST.match(text):
        return "list_item"
    return "paragraph"


def is_heading(run: Run) -> bool:
    """Short, with letters, set apart by tag, weight, capitals or underline; or "Item 1A." and "Part II" at the start of a short run."""
    text = run.text
    if len(text) > LONGEST or not _LETTERS.match(text, 0, 40) or text.count("\n") > 3:
        return False
    if _LIST.match(text) and not run.tag.startswith("h"):
        return run.bold > 0.9 and text[0].isalnum() and len(text) < 120
    if _ITEM.match(text) or _PART.match(text):
        plain = len(text) < 120 and not (len(text) > 60 and text[-1] in ".;,")
        return plain or run.bold > 0.5 or run.underlined > 0.5 or text[:4].isupper()
    if run.tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
        return run.linked < 0.9
    if run.linked > 0.9 or text.startswith("(") or text[-1] in ",;":
        return False
    if run.bold > 0.9:
        return len(text) < 160 or not text.endswith(".")
    if text.endswith((".", ":")) and not run.underlined > 0.9:
        return False
    if run.underlined > 0.9:
        return len(text) < 120
    if run.italic > 0.9:
        return len(text) < 100 and run.tag != "row"
    return len(text) < 100 and text.isupper() and len(text.split()) > 1 and run.tag != "row"


def style_key(run: Run) -> tuple[float, bool, bool, bool]:
    """Sorts headings of a document from high to low."""
    capitals = run.text.isupper()
    return (-round(run.size), not (run.bold > 0.9 and capitals), not run.bold > 0.9, not capitals)


def levels(headings: list[Run]) -> list[int]:
    """Part 1, Item 2, the rest 3 to 6 by how strongly they are set; `<h1>` to `<h6>` count like styles."""
    counts = Counter(style_key(run) for run in headings if not (_PART.match(run.text) or _ITEM.match(run.text)))
    usual = sorted(key for key, count in counts.items() if count >= 3) or sorted(counts)  # a cover's large letters are no level
    place = {key: min(3 + bisect_left(usual, key), 6) for key in counts}
    return [1 if _PART.match(run.text) else 2 if _ITEM.match(run.text) else place[style_key(run)] for run in headings]
