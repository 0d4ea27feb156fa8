"""Runs whose recipe has a tree: every filing gets one, what a model is paid for is on record, and a tree is nobody else's business."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from fake_models import Answer, Asked, chat, failure, serving
from small_ingest import accession, counts, filing, indexed, ingest, tiny_model, write_filings, write_recipe

from edgarmill.schemas.errors import SettingsError, UnknownName
from edgarmill.schemas.records import TreeNode, Usage
from edgarmill.schemas.store import Lake

STRUCTURAL = '[tree]\nkind = "structural"\nmin_characters = 20\n'
SUMMED = STRUCTURAL + 'summaries = "all"\nsummary_tokens = 16\n'
READ = '[tree]\nkind = "model"\n'
BLOCKS = {"block_filings": 2}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder of three filings, and a model."""
    root = tmp_path_factory.mktemp("trees")
    return write_filings(root / "in", 1, 2, 3), tiny_model(root / "model")


def recipe(folder: Path, model: Path, tree: str, name: str = "small", **more: str) -> str:
    folder.mkdir(exist_ok=True, parents=True)
    path = Path(write_recipe(folder, model, name, **more))
    path.write_text(path.read_text(encoding="utf-8") + tree, encoding="utf-8")
    return str(path)


def house(url: str, **more: Any) -> dict[str, Any]:
    return {"openai": {"base_url": url, "model": "any", "retries": 0, **more}}


def good(asked: Asked) -> Answer:
    """Any summary; of pages a tree of the filing's three Items."""
    if "outline" in asked.body["messages"][0]["content"]:
        return chat({"nodes": [{"title": t, "level": 1, "start_page": 1, "end_page": 1} for t in ("Item 1", "Item 1A", "Item 7")]})
    return chat({"summary": "It makes pumps."})


def rows(lake: Path, n: int | None = None) -> list[TreeNode]:
    found = Lake.open(str(lake)).snapshot().records("trees")
    return sorted((r for r in found if n is None or r.accession == accession(n)), key=lambda r: (r.document_id, r.ordinal))


def usage(lake: Path, paid: bool = True) -> list[Usage]:
    return [u for u in Lake.open(str(lake)).snapshot().records("usage") if u.stage == "tree" and (u.tier is not None) == paid]


TITLES = ["Item 1. Business", "Item 1A. Risk Factors", "Item 7. Management's Discussion"]


@pytest.mark.parametrize("engine", ["loop", "ray"])
def test_every_filing_gets_a_tree_without_a_token(place: tuple[Path, Path], tmp_path: Path, engine: str) -> None:
    folder, model = place
    made = recipe(tmp_path, model, STRUCTURAL)
    assert counts(ingest(tmp_path / "lake", folder, made, engine=engine, **BLOCKS).record) == (3, 3, 0, 0)
    for n in (1, 2, 3):
        root, *items = [r for r in rows(tmp_path / "lake", n) if not r.title.startswith("Part")]
        assert (root.node_id, root.parent, root.title) == ("0001", None, f"COMPANY {n} 10-K for 2023-12-31")
        assert [r.title for r in items] == TITLES
        assert [r.section for r in items] == ["I.1", "I.1A", "II.7"]
        assert {(r.builder, r.model, r.fallback, r.summary, r.tokens) for r in items} == {("structural", None, None, None, None)}
    assert usage(tmp_path / "lake") == []
    assert [(u.calls, u.input_tokens) for u in usage(tmp_path / "lake", paid=False)] == [(0, 0)] * 3
    assert counts(ingest(tmp_path / "lake", folder, made, **BLOCKS).record) == (3, 0, 3, 0)


def test_a_tree_added_later_redoes_nothing_else_and_a_recipe_without_one_asks_for_none(place: tuple[Path, Path], tmp_path: Path) -> None:
    folder, model = place
    bare, lake = recipe(tmp_path / "a", model, ""), tmp_path / "lake"
    assert counts(ingest(lake, folder, bare, **BLOCKS).record) == (3, 3, 0, 0)
    assert rows(lake) == []
    before, had = indexed(lake), len(Lake.open(str(lake)).snapshot().records("work"))
    with_tree = recipe(tmp_path / "b", model, STRUCTURAL)
    job = ingest(lake, folder, with_tree, **BLOCKS)
    assert counts(job.record) == (3, 3, 0, 0)
    assert {name for name, stage in job.stages.items() if stage.subjects} - {"list", "fetch", "index"} == {"tree"}
    assert job.stages["tree"].subjects == 3
    snapshot = Lake.open(str(lake)).snapshot()
    assert len(snapshot.records("work")) == had + 3
    assert indexed(lake) == before
    assert len(snapshot.records("index_versions")) == 1  # the index holds no tree: it stays as it is
    assert len({(r.document_id, r.tree, r.node_id) for r in rows(lake)}) == len(rows(lake)) > 9
    assert counts(ingest(lake, folder, bare, **BLOCKS).record) == (3, 0, 3, 0)


def test_recipes_that_differ_in_their_chunks_share_a_tree(place: tuple[Path, Path], tmp_path: Path) -> None:
    folder, model = place
    lake = tmp_path / "lake"
    ingest(lake, folder, recipe(tmp_path / "a", model, STRUCTURAL), **BLOCKS)
    before = rows(lake)
    job = ingest(lake, folder, recipe(tmp_path / "b", model, STRUCTURAL, name="other", chunker="fixed"), **BLOCKS)
    assert counts(job.record) == (3, 3, 0, 0)
    assert job.stages["tree"].subjects == 0 and job.stages["chunk"].subjects == 3
    assert rows(lake) == before
    assert sum(indexed(lake, "other").values()) > 0


def test_a_filing_that_changed_has_the_nodes_of_its_new_text_alone(place: tuple[Path, Path], tmp_path: Path) -> None:
    folder, model = write_filings(tmp_path / "in", 1, 2), place[1]
    lake, made = tmp_path / "lake", recipe(tmp_path, model, STRUCTURAL)
    ingest(lake, folder, made, **BLOCKS)
    other = filing(2, "unsteady").replace(b"Risk Factors", b"Risks of ours")
    (folder / f"{accession(2)}.txt").write_bytes(other)
    assert counts(ingest(lake, folder, made, **BLOCKS).record) == (2, 1, 1, 0)
    assert [r.title for r in rows(lake, 2) if "Risk" in r.title] == ["Item 1A. Risks of ours"]
    assert len({(r.document_id, r.node_id) for r in rows(lake)}) == len(rows(lake))


def test_summaries_are_asked_once_and_only_a_changed_filing_is_asked_again(place: tuple[Path, Path], tmp_path: Path) -> None:
    folder, model = write_filings(tmp_path / "in", 1, 2, 3), place[1]
    lake, made = tmp_path / "lake", recipe(tmp_path, model, SUMMED)
    with serving() as server:
        server.reply = good
        given = {"endpoints": house(server.url), **BLOCKS}
        assert counts(ingest(lake, folder, made, **given).record) == (3, 3, 0, 0)
        nodes = rows(lake)
        assert {(r.summarised, r.model) for r in nodes} <= {("model", "gpt-4.1-mini"), ("text", "gpt-4.1-mini")}
        assert all(r.summary and r.tokens is not None and r.cut_tokens == 0 for r in nodes)
        assert {r.summary for r in nodes if r.summarised == "model"} == {"It makes pumps."}
        spent = usage(lake)
        asked = sum(u.calls for u in spent)
        assert asked == len(server.requests)
        assert asked + sum(u.hits or 0 for u in spent) == sum(r.summarised == "model" for r in nodes)  # equal texts are asked once
        assert all(u.dollars == u.calls * Decimal("0.0000092") for u in spent)  # 11 tokens in, 3 out

        assert counts(ingest(lake, folder, made, **given).record) == (3, 0, 3, 0)
        assert len(server.requests) == asked
        (folder / f"{accession(2)}.txt").write_bytes(filing(2, "unsteady"))
        assert counts(ingest(lake, folder, made, **given).record) == (3, 1, 2, 0)
        later = [r.body["messages"][-1]["content"] for r in server.requests[asked:]]
        assert len(later) >= 3 and all("unsteady" in text or "Company 2" in text or "It makes pumps." in text for text in later)
        assert {u.subject for u in usage(lake)[len(spent) :]} == {accession(2)}


def test_what_a_model_reads_off_the_pages_is_kept_and_what_is_no_tree_falls_back(place: tuple[Path, Path], tmp_path: Path) -> None:
    folder, model = place
    lake, made = tmp_path / "lake", recipe(tmp_path, model, READ)
    nodes = [{"title": "Item 1", "level": 1, "start_page": 1, "end_page": 9}]
    with serving() as server:
        server.reply = good
        server.then(chat({"nodes": nodes}), chat("no"), chat("never"))
        assert counts(ingest(lake, folder, made, endpoints=house(server.url), **BLOCKS).record) == (3, 3, 0, 0)
        assert len(server.requests) == 4  # one out of range, one malformed and asked again, one good
        found = {n: {(r.builder, r.fallback) for r in rows(lake, n)} for n in (1, 2, 3)}
        assert found == {1: {("structural", "InvalidTree: pages out of range")}, 2: {("structural", "MalformedAnswer")},
                         3: {("model", None)}}
        assert [r.title for r in rows(lake, 3)][1:] == ["Item 1", "Item 1A", "Item 7"]
        assert {u.subject: u.calls for u in usage(lake)} == {accession(1): 1, accession(2): 2, accession(3): 1}
        from edgarmill.retrieval.sql import query

        [counted] = query(Lake.open(str(lake)).snapshot(), "SELECT model, trees, invalid, other FROM tree_faults").to_pylist()
        assert counted == {"model": "gpt-4.1-mini", "trees": 3, "invalid": 2, "other": 0}
        assert counts(ingest(lake, folder, made, endpoints=house(server.url), **BLOCKS).record) == (3, 0, 3, 0)
        assert len(server.requests) == 4


def test_over_its_cap_a_filing_gets_the_structural_tree_and_nothing_is_sent(place: tuple[Path, Path], tmp_path: Path) -> None:
    folder, model = place
    lake = tmp_path / "lake"
    with serving() as server:
        both = READ + 'summaries = "all"\nsummary_tokens = 16\nmin_characters = 20\n'
        endpoints = house(server.url, filing_tokens=50)
        assert counts(ingest(lake, folder, recipe(tmp_path, model, both), endpoints=endpoints, **BLOCKS).record) == (3, 3, 0, 0)
        assert server.requests == []
    assert {(r.builder, r.fallback) for r in rows(lake)} == {("structural", "OverCap")}
    assert {(r.summary is None, r.unsummarised) for r in rows(lake) if r.summarised != "text"} == {(True, "OverCap")}


def test_a_budget_ends_the_calls_and_no_answer_sets_aside_and_what_is_left_resumes(place: tuple[Path, Path], tmp_path: Path) -> None:
    folder, model = place
    lake, made = tmp_path / "lake", recipe(tmp_path, model, READ + "outline_tokens = 256\n")
    with serving() as server:
        server.reply = good
        budget = {"endpoints": house(server.url), "budget_dollars": "0.0025", **BLOCKS}  # a call may cost about 0.0015
        nodes = {"nodes": [{"title": "Item 1", "level": 1, "start_page": 1, "end_page": 1}]}
        server.then(failure(500), chat(nodes, {"prompt_tokens": 4000, "completion_tokens": 100, "total_tokens": 4100}))
        assert counts(ingest(lake, folder, made, **budget).record) == (3, 1, 0, 2)
        held = {q.subject: (q.reason, q.stage) for q in Lake.open(str(lake)).snapshot().records("quarantine")}
        assert held == {accession(1): ("ModelFailed", "tree"), accession(3): ("OverBudget", "tree")}
        assert len(server.requests) == 2
        assert counts(ingest(lake, folder, made, endpoints=house(server.url), retry=True, **BLOCKS).record)[3] == 0
    assert len({r.accession for r in rows(lake)}) == 3
    assert len({(r.document_id, r.node_id) for r in rows(lake)}) == len(rows(lake))


def test_without_its_endpoint_or_with_a_wrong_word_it_is_refused_in_the_first_second(place: tuple[Path, Path], tmp_path: Path) -> None:
    folder, model = place
    with pytest.raises(UnknownName, match=r"\[endpoints.openai\]"):
        ingest(tmp_path / "lake", folder, recipe(tmp_path, model, SUMMED))
    with pytest.raises(SettingsError, match="tree.summaries"):
        ingest(tmp_path / "lake", folder, recipe(tmp_path, model, STRUCTURAL + 'summaries = "some"\n'))
    assert not (tmp_path / "lake").exists()
