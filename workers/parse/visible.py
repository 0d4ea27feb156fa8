"""The plain visible text of an HTML source, by a way of its own: libxml2's tree, without the stream, the walk and its blocks.

For tests and benchmarks: what the parser loses is counted against it.
"""

from __future__ import annotations

import html as references
import re

from lxml import etree

from edgarmill.schemas.errors import NoText
from edgarmill.workers.parse.characters import mapped
from edgarmill.workers.parse.markup import read
from edgarmill.workers.parse.stream import parsed_tree
from edgarmill.workers.parse.styles import RAISED, style_of

_DROPPED = "x-dropped"
_SILENT = frozenset({"script", "style", "noscript", "template", "title", "object", "textarea", "select"})
_BORDER = re.compile(
    r"</?(?:p|div|td|th|tr|table|br|hr|li|ul|ol|dl|dt|dd|h[1-6]|center|blockquote|pre|address|section|article|caption|page|sup)\b[^>]*>")
_ANY_TAG = re.compile(r"<[^>]*>")


def visible_text(data: bytes) -> str:
    """No hidden content, a blank at block and cell borders and beside raised signs, else unchanged. Raises BadFile, NoText, TooLarge."""
    source = read(data)
    root, _ = parsed_tree(source.data, source.encoding)
    if root is None:
        raise NoText("the markup holds no text", todo="look at the file: an image, a frame set or an empty page")
    _prune(root)
    text = etree.tostring(root, encoding="unicode", method="html")
    return mapped(references.unescape(_ANY_TAG.sub("", _BORDER.sub(" ", text))))


def _prune(root: etree._Element) -> None:
    """Takes hidden elements out of the tree, with what is in them; the text after them stays."""
    for element in root.iter():
        look = style_of(element.get("style") or "")
        if look.add & RAISED and element.text:
            element.text = " " + element.text  # a note mark, not a digit of the number before it
        silent = element.tag in _SILENT or (element.tag[-7:] == ":header" and ":" in element.tag)
        if not (look.hidden or look.white or silent or element.get("hidden") is not None):
            continue
        if look.white and not look.hidden and not silent and _on_shade(element, look.shaded):
            continue
        if element is not root and element.tag != "body":
            element.tag = _DROPPED
    etree.strip_elements(root, _DROPPED, with_tail=False)


def _on_shade(element: etree._Element, shaded: bool) -> bool:
    """White letters are visible where a cell, row or table around them has a dark ground."""
    if shaded:
        return True
    for outer in element.iterancestors():
        if outer.get("bgcolor", "").lower() not in ("", "#ffffff", "white", "ffffff"):
            return True
        style = outer.get("style")
        if style is not None and style_of(style).shaded:
            return True
    return False
