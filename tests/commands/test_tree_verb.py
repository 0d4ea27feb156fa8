"""`edgarmill tree`: a filing's tree as an outline, and as the JSON of the paper's Figure 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgarmill.retrieval.trees import faults, nested, tree_of
from edgarmill.schemas.records import Document, Filing, TreeNode
from edgarmill.schemas.store import Lake, write_part

ONE, TWO = "0000000001-24-000007", "0000000001-24-000008"


def node(n: int, parent: int | None, level: int, title: str, pages: tuple[int, int], summary: str | None = None, **more: Any) -> TreeNode:
    given: dict[str, Any] = {
        "document_id": f"{ONE}:1", "accession": ONE, "tree": "key1", "node_id": f"{n:04d}", "parent": f"{parent:04d}" if parent else None,
        "ordinal": n - 1, "level": level, "title": title, "section": None, "start_index": pages[0], "end_index": pages[1],
        "start": 0, "end": 9, "chars": 9,
        "tokens": None, "cut_tokens": None, "summary": summary, "summarised": "model" if summary else None,
        "builder": "structural", "model": None, "fallback": None, "unsummarised": None,
    }  # fmt: skip
    return TreeNode(**{**given, **more})


NODES = [node(1, None, 0, "Acme 10-K", (1, 9), "All of it."), node(2, 1, 1, "Part I\x1b[31m", (1, 4)),
         node(3, 2, 2, "Item 1. Business", (2, 2), "Pumps."), node(4, 1, 1, "Part II", (5, 9))]
WHY = "InvalidTree: pages out of range"
EXHIBIT = [replace(n, document_id=f"{ONE}:2", builder="structural", model="m", fallback=WHY) for n in NODES[:2]]


@pytest.fixture(scope="module")
def treed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with a filing that has two trees of its main document and one of an exhibit, and a filing without any."""
    lake = Lake.open(str(tmp_path_factory.mktemp("treed") / "lake"), create=True)
    document = Document(f"{ONE}:1", ONE, 1, "10-K", "a.htm", "html", 9, "utf-8", "text", 9, "native 1", 4, 4, 0, 0)
    later = [replace(NODES[0], tree="key2", title="Later")]
    rows: dict[str, list[Any]] = {
        "filings": [Filing(ONE, "acme.txt", form="10-K", family="10-K"), Filing(TWO, "bare.txt", form="10-K", family="10-K")],
        "documents": [replace(document, document_id=f"{ONE}:2", sequence=2, type="EX-13", name="b.htm"), document],
    }
    for run, trees in (("20261101-a", [*NODES[::-1], *EXHIBIT]), ("20261102-b", later)):
        parts = [write_part(lake.root, table, run, found, run) for table, found in {**rows, "trees": trees}.items()]
        with lake.writer(run, "test") as writer:
            writer.commit(parts, key=run)
        rows = {}
    return Path(lake.root)


def test_an_outline_shows_numbers_pages_titles_and_summaries(edgarmill: Callable[..., Any], treed: Path) -> None:
    shown = edgarmill("--lake", treed, "tree", ONE, "--tree", "key1")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.splitlines()[:5] == [
        "0001  p. 1-9      Acme 10-K", "                   All of it.", "0002  p. 1-4        Part I [31m",
        "0003  p. 2            Item 1. Business",
        "                       Pumps."]
    assert "\x1b" not in shown.out and "also: --document EX-13" in shown.out
    assert "Pumps." not in edgarmill("--lake", treed, "tree", "acme.txt", "--tree", "key1", "--no-summaries").out


def test_json_is_the_tree_of_the_paper_s_figure(edgarmill: Callable[..., Any], treed: Path) -> None:
    made = edgarmill("--lake", treed, "tree", ONE.replace("-", ""), "--tree", "key1", "--json").json
    leaf = {"title": "Item 1. Business", "start_index": 2, "end_index": 2, "node_id": "0003", "summary": "Pumps.", "nodes": []}
    assert made == {
        "title": "Acme 10-K", "start_index": 1, "end_index": 9, "node_id": "0001", "summary": "All of it.",
        "nodes": [{"title": "Part I\x1b[31m", "start_index": 1, "end_index": 4, "node_id": "0002", "nodes": [leaf]},
                  {"title": "Part II", "start_index": 5, "end_index": 9, "node_id": "0004", "nodes": []}]}
    assert list(made) == ["title", "start_index", "end_index", "node_id", "summary", "nodes"]
    assert "summary" not in nested(tree_of(Lake.open(str(treed)).snapshot(), ONE, "", "key1"), summaries=False)


def test_of_two_trees_the_last_is_shown_and_an_exhibit_s_says_why_it_is_not_the_model_s(edgarmill: Callable[..., Any], treed: Path) -> None:
    assert edgarmill("--lake", treed, "tree", ONE).out.startswith("0001  p. 1-9      Later")
    exhibit = edgarmill("--lake", treed, "tree", ONE, "--document", "ex-13")
    assert "not the recipe's own tree, but the one by headings: InvalidTree: pages out of range" in exhibit.out
    assert "also: --document 10-K" in exhibit.out


@pytest.mark.parametrize(("words", "said"), [
    ((TWO,), 'no tree was made of it. Ingest it with a recipe that makes trees: [tree] with kind = "structural"'),
    ((ONE, "--document", "EX-99"), "There are: 10-K, EX-13."),
    ((ONE, "--tree", "oak"), "There are: key2, key1."),
    (("nobody",), "no such filing in this lake"),
])
def test_what_is_not_there_is_one_line(edgarmill: Callable[..., Any], treed: Path, words: tuple[str, ...], said: str) -> None:
    shown = edgarmill("--lake", treed, "tree", *words, "--json")
    assert (shown.code, shown.out) == (2, "")
    assert said in shown.err and shown.err.count("\n") == 1


def test_faults_are_counted_by_model(treed: Path) -> None:
    assert faults(Lake.open(str(treed)).snapshot()) == [{"model": "m", "trees": 1, "invalid": 1, "other": 0, "invalid_share": 1.0}]
