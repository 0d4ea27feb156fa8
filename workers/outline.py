"""A document's outline as it is grown: nodes that nest, each with its range of the text; and what makes it a tree.

A node's own text is its range without those of its children: every character of a document is the own text of exactly one node.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from edgarmill.schemas.errors import InvalidTree
from edgarmill.schemas.records import Document, Element

LONGEST_TITLE = 200  # characters


@dataclass(slots=True, eq=False)
class Node:
    """`section`: the Item that it is or lies in, as in `elements.section`; None outside of the Items."""

    title: str
    start: int
    end: int
    section: str | None = None
    children: list[Node] = field(default_factory=list)


def walk(root: Node) -> Iterator[tuple[Node, Node | None, int]]:
    """Every node in reading order, with its parent and its depth below the root."""
    left: list[tuple[Node, Node | None, int]] = [(root, None, 0)]
    while left:
        node, parent, depth = left.pop()
        yield node, parent, depth  # whoever takes children away here is not shown them
        left += [(child, node, depth + 1) for child in reversed(node.children)]


def own_ranges(node: Node) -> list[tuple[int, int]]:
    """The runs of a node's text that are no child's, blank ones too."""
    edges = [node.start, *(edge for child in node.children for edge in (child.start, child.end)), node.end]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b > a]


def own_text(node: Node, text: str) -> str:
    parts = (text[a:b].strip() for a, b in own_ranges(node))
    return "\n\n".join(part for part in parts if part)


def check(root: Node, length: int, most_depth: int, most_children: int) -> None:
    """Raises InvalidTree where it is none: siblings out of order, a child outside of its parent, too deep, too wide, or not the text."""
    if (root.start, root.end) != (0, length):
        raise InvalidTree("it does not cover the text")
    for node, _, depth in walk(root):
        if depth > most_depth or len(node.children) > most_children:
            raise InvalidTree("it is deeper or wider than allowed")
        at = node.start
        for child in node.children:
            if child.start < at:
                raise InvalidTree("siblings overlap, or a child begins before its parent")
            if child.end <= child.start or child.end > node.end:
                raise InvalidTree("a child ends outside of its parent")
            at = child.end


def bounded(root: Node, most_depth: int, most_children: int) -> None:
    """No node deeper or wider than allowed: the shortest go, and are text of their parent."""
    for node, _, depth in walk(root):
        if depth >= most_depth:
            node.children = []
        if len(node.children) > most_children:
            longest = sorted(node.children, key=lambda child: (child.start - child.end, child.start))[:most_children]
            node.children = sorted(longest, key=lambda child: child.start)


def pager(elements: Sequence[Element]) -> Callable[[int], int]:
    """The physical page of a character; pages never turn back."""
    starts = [element.start for element in elements]
    pages = list(accumulate((element.page for element in elements), max))
    return lambda at: pages[max(0, bisect_right(starts, at) - 1)] if pages else 1


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without white space at its ends."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def split_long(root: Node, document: Document, elements: Sequence[Element], most: int) -> None:
    """Gives every run of own text beyond `most` characters nodes of its own, cut where elements begin, at a new page where there is one."""
    long = [node for node, _, _ in walk(root) if node.end - node.start > most and not (node is root and root.children)]
    page, starts = pager(elements), [e.start for e in elements] if long else []
    for node in long:
        made = [piece for run in own_ranges(node) if run[1] - run[0] > most for piece in _pieces(run, document.text, starts, page, most)]
        if len(made) > 1:
            for piece in made:
                piece.section = node.section
            node.children = sorted([*node.children, *made], key=lambda child: child.start)


def _pieces(run: tuple[int, int], text: str, starts: Sequence[int], page: Callable[[int], int], most: int) -> Iterator[Node]:
    begin, end = run
    number = 0
    while begin < end:
        inside = starts[bisect_right(starts, begin) : bisect_right(starts, min(begin + most, end - 1))]
        if end - begin <= most or not inside:
            cut = end if end - begin <= most or not inside else inside[-1]
            if cut == end and end - begin > most:  # one long element: the next that begins, or the rest
                cut = min(next((s for s in starts[bisect_right(starts, begin) :]), end), end)
        else:
            late = [s for s in inside if s - begin >= most // 2] or inside
            fresh = [s for s in late if page(s) != page(s - 1)]
            cut = (fresh or late)[-1]
        first, last = trimmed(text, begin, cut)
        number += 1
        if last > first:
            one, other = page(first), page(last - 1)
            yield Node(f"Page {one}" if one == other else f"Pages {one} to {other}", first, last)
        begin = cut
