"""What holds for whatever builders are found: what they give is a tree over the whole text."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from documents import Parsed, parsed
from hypothesis import given, settings
from hypothesis import strategies as st

from edgarmill.schemas.errors import InvalidTree, SettingsError, UnknownName
from edgarmill.schemas.recipe import Kind
from edgarmill.workers import tree
from edgarmill.workers.outline import Node, check, own_ranges, own_text, pager, walk
from edgarmill.workers.tree.model import Outline
from edgarmill.workers.trees import options_of

words = st.text("abc de.\nXY", min_size=1, max_size=60).filter(str.strip)
kinds = st.sampled_from(["heading", "heading 2", "heading 3", "heading 6", "paragraph", "paragraph", "list_item", "table", "signature"])
documents = st.lists(st.tuples(kinds, words), min_size=1, max_size=40)


def reader(form: type[Outline], messages: list[dict[str, str]], most: int) -> Outline:
    """A model that reads well: every line in capitals is a heading on its page."""
    nodes: list[dict[str, Any]] = []
    for page, text in re.findall(r"<page (\d+)>\n(.*?)(?=\n\n<page|\Z)", messages[-1]["content"], re.S):
        pages = {"start_page": int(page), "end_page": int(page)}
        nodes += [{"title": line, "level": 1, **pages} for line in re.findall(r"^[XY]+$", text, re.M)]
    for one, after in pairwise(nodes):
        one["end_page"] = after["start_page"]
    return form.model_validate({"nodes": nodes})


def built(kind: str, given: Parsed, **options: Any) -> Node:
    module = tree.builder(kind)
    ask = (reader,) if getattr(module, "ASKS_MODEL", False) else ()
    root: Node = module.build(given.document, given.elements, given.sections, module.Options(**options), *ask)
    return root


@pytest.mark.parametrize("kind", tree.kinds())
@given(blocks=documents, cuts=st.sets(st.integers(0, 39), max_size=4), depth=st.integers(2, 4), width=st.integers(2, 5),
       least=st.sampled_from([0, 20, 200]))
@settings(max_examples=60, deadline=None)
def test_a_tree_covers_the_text_and_nests_whatever_the_document_is(kind: str, blocks: list[tuple[str, str]], cuts: set[int], depth: int,
                                                                   width: int, least: int) -> None:
    items = {n: (str(k + 1),) for k, n in enumerate(sorted(c for c in cuts if c < len(blocks)))}
    given = parsed(blocks, items)
    try:
        root = built(kind, given, max_depth=depth, max_children=width, min_characters=least)
    except InvalidTree:
        assert kind != "structural"
        return
    text, page = given.document.text, pager(given.elements)
    check(root, len(text), depth, width)
    for node, parent, _ in walk(root):
        assert node.title
        if parent is not None:
            assert text[node.start : node.end].strip()
            assert page(parent.start) <= page(node.start) <= page(node.end - 1) <= page(max(parent.start, parent.end - 1))
    owned = sorted(run for node, _, _ in walk(root) for run in own_ranges(node))
    assert "".join(text[a:b] for a, b in owned) == text
    assert sum(len("".join(own_text(node, text).split())) for node, _, _ in walk(root)) == len("".join(text.split()))  # "X.Y": a word cut


@pytest.mark.parametrize("kind", tree.kinds())
def test_a_long_document_without_a_heading_is_cut_at_its_pages(kind: str) -> None:
    given = parsed([("paragraph", f"{n} " + "word " * 300) for n in range(40)])
    try:
        root = built(kind, given, leaf_characters=6000)
    except InvalidTree as error:
        assert error.what == "no node"  # a model that names nothing is none
        return
    assert max(b - a for node, _, _ in walk(root) for a, b in own_ranges(node)) <= 6000
    assert {node.title.split()[0] for node in root.children} <= {"Page", "Pages"}
    starts = {e.start for e in given.elements}
    assert all(node.start in starts for node in root.children)


@pytest.mark.parametrize("kind", tree.kinds())
def test_a_misspelt_option_is_refused_in_one_line(kind: str) -> None:
    with pytest.raises(SettingsError, match=r"tree\.max_dept: .* Options: .*max_depth"):
        options_of(Kind(kind=kind, max_dept=3))  # type: ignore[call-arg]
    with pytest.raises(SettingsError, match='a rule holds only with summaries = "rule"'):
        options_of(Kind(kind=kind, rule={"least_tokens": 3}))  # type: ignore[call-arg]
    with pytest.raises(SettingsError, match=r"tree\.rule\.levels"):
        options_of(Kind(kind=kind, summaries="rule", rule={"levels": [-1]}))  # type: ignore[call-arg]


def test_an_unknown_tree_is_answered_with_those_there_are() -> None:
    with pytest.raises(UnknownName, match="none, model, structural"):
        tree.builder("oak")
