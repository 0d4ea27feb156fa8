"""The tree that a model reads off the pages: what it is shown, what is believed, and what is no tree."""

from __future__ import annotations

from typing import Any

import pytest
from documents import Parsed, parsed

from edgarmill.schemas.errors import InvalidTree
from edgarmill.workers.outline import Node, pager, walk
from edgarmill.workers.tree import model
from edgarmill.workers.tree.model import Outline

PAGE = 3  # blocks of the helper's documents that make a page


def pages(*texts: str) -> Parsed:
    """One paragraph and two fillers a page."""
    return parsed([block for text in texts for block in (("paragraph", text), ("paragraph", "more of it"), ("paragraph", "and more"))])


class Script:
    """A model that answers as written; keeps what it was shown."""

    def __init__(self, *answers: list[tuple[str, int, int, int]]) -> None:
        self.answers, self.shown = list(answers), list[str]()

    def __call__(self, form: type[Outline], messages: list[dict[str, str]], most: int) -> Outline:
        self.shown.append(messages[-1]["content"])
        named = [{"title": t, "level": level, "start_page": a, "end_page": b} for t, level, a, b in self.answers.pop(0)]
        return form.model_validate({"nodes": named})


def read(given: Parsed, *answers: list[tuple[str, int, int, int]], **options: Any) -> tuple[Node, Script]:
    script = Script(*answers)
    return model.build(given.document, given.elements, given.sections, model.Options(**options), script), script


def outline(root: Node, given: Parsed) -> list[tuple[str, int, int, int]]:
    page = pager(given.elements)
    return [(n.title, depth, page(n.start), page(n.end - 1)) for n, _, depth in walk(root)][1:]


REPORT = ("Part I", "Business of pumps", "Risks: many", "Part II and results", "the end")


def test_the_model_sees_every_page_under_its_mark_and_its_outline_is_the_tree() -> None:
    given = pages(*REPORT)
    said = [("Part I", 1, 1, 3), ("Business of Pumps", 2, 2, 2), ("Risks", 2, 3, 3), ("Part II and results", 1, 4, 5)]
    root, script = read(given, said)
    assert outline(root, given) == said
    assert [given.document.text[n.start :][:8] for n in root.children] == ["Part I\n\n", "Part II "]
    assert [script.shown[0].count(f"<page {n}>\n{text}") for n, text in enumerate(REPORT, 1)] == [1] * 5


def test_two_headings_of_one_page_share_it() -> None:
    given = parsed([("paragraph", "One"), ("paragraph", "text"), ("paragraph", "Two"), ("paragraph", "rest")])
    root, _ = read(given, [("One", 1, 1, 1), ("Two", 1, 1, 2)])
    assert outline(root, given) == [("One", 1, 1, 1), ("Two", 1, 1, 2)]
    assert root.children[0].end <= root.children[1].start


@pytest.mark.parametrize(("said", "what"), [
    ([("Part I", 1, 0 + 1, 9)], "pages out of range"),
    ([("Part I", 1, 3, 2)], "pages out of range"),
    ([("Part I", 1, 1, 2), ("Risks", 2, 3, 3)], "a child outside of its parent"),
    ([("Part I", 1, 1, 2), ("Business", 2, 2, 3)], "a child outside of its parent"),
    ([("Part I", 1, 1, 4), ("Risks", 1, 3, 3)], "siblings overlap or are out of order"),
    ([("Risks", 1, 3, 3), ("Part I", 1, 1, 1)], "siblings overlap or are out of order"),
    ([("Wholly", 1, 1, 1), ("made", 1, 2, 2), ("up", 1, 3, 3)], "titles that do not stand on their page"),
    ([], "no node"),
])
def test_what_does_not_fit_the_pages_is_no_tree(said: list[tuple[str, int, int, int]], what: str) -> None:
    with pytest.raises(InvalidTree) as error:
        read(pages(*REPORT), said)
    assert error.value.what == what


def test_one_title_in_five_may_be_tidied_up() -> None:
    given = pages(*REPORT)
    said = [("Part I", 1, 1, 1), ("Business", 1, 2, 2), ("Risks", 1, 3, 3), ("Part II", 1, 4, 4), ("Closing remarks", 1, 5, 5)]
    root, _ = read(given, said)
    assert outline(root, given)[-1] == ("Closing remarks", 1, 5, 5)


def test_a_long_document_is_read_in_windows_and_what_is_open_goes_on() -> None:
    filler = "word " * 150  # 750 characters a page: four pages to a window of 3,000
    given = pages(*(f"{name} {filler}" for name in ("Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta")))
    root, script = read(given, [("Alpha", 1, 1, 3), ("Beta", 2, 2, 3)], [("Delta", 2, 4, 4), ("Epsilon", 1, 5, 6)], page_tokens=1000)
    assert outline(root, given) == [("Alpha", 1, 1, 4), ("Beta", 2, 2, 3), ("Delta", 2, 4, 4), ("Epsilon", 1, 5, 6)]
    assert script.shown[1].startswith("Open from the pages before:\nlevel 1: Alpha (from page 1)\nlevel 2: Beta (from page 2)\n\n<page 4>")


def test_a_later_window_names_no_page_of_an_earlier_one() -> None:
    given = pages(*(f"{name} {'word ' * 150}" for name in ("Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta")))
    with pytest.raises(InvalidTree, match="pages out of range"):
        read(given, [("Alpha", 1, 1, 1)], [("Beta", 1, 2, 5)], page_tokens=1000)


@pytest.mark.parametrize("block", ["word " * 300, "x" * 7000, "word " * 3000])
def test_windows_hold_all_the_text_once_and_no_more_than_allowed(block: str) -> None:
    given = pages("Alpha", block, "Gamma", block + "y", "z")
    windows = list(model._windows(given.document.text, given.elements, 3000))
    pieces = [piece for window in windows for piece in window]
    assert [(a.end, b.start) for a, b in zip(pieces, pieces[1:], strict=False)] == [(a.end, a.end) for a in pieces[:-1]]
    assert (pieces[0].start, pieces[-1].end) == (0, len(given.document.text))
    assert all(sum(p.end - p.start for p in window) <= 3000 for window in windows)
    page = pager(given.elements)
    assert all(p.page == page(p.start) for p in pieces)


def test_a_node_knows_the_item_that_it_begins_in() -> None:
    blocks = [("paragraph", "Business"), ("paragraph", "pumps"), ("paragraph", "Risks"), ("paragraph", "many")]
    given = parsed(blocks, {0: ("1",), 2: ("1A",)})
    root, _ = read(given, [("Business", 1, 1, 1), ("Risks", 1, 1, 2)])
    assert [n.section for n in root.children] == ["I.1", "I.1A"]
