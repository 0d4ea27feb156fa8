"""Tree retrieval against a scripted chat model: what it picks is given as hits, what it says wrong is told, and every bound holds."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from advised import EVIL, MODEL, advised, answers, by_title, data, treed_lake
from fake_models import Answer, ModelServer, chat, failure, serving
from tiny_lake import accession, publish, tiny_lake

from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.nodes import outlines
from edgarmill.retrieval.retrieve import Found, Reader
from edgarmill.retrieval.retriever import RRF_K, Retriever
from edgarmill.retrieval.walk import MOST_FILINGS
from edgarmill.schemas.errors import ModelRefused, SettingsError, UnknownName, UsageError
from edgarmill.schemas.store import Lake

WALK = Retriever(tree="walk", model=MODEL, k=5)
NARROWED = Retriever(tree="narrowed", model=MODEL, k=5)
ONE = Filters(accession=accession(0))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving() as found:
        yield found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return treed_lake(tmp_path_factory.mktemp("walk"))


@pytest.fixture
def lake(made: Lake, tmp_path: Path) -> Lake:
    """A copy, since answers are kept in it."""
    import shutil

    shutil.copytree(made.root, tmp_path / "lake")
    return Lake.open(str(tmp_path / "lake"))


@pytest.fixture
def reader(lake: Lake, server: ModelServer) -> Reader:
    return advised(lake, server)


def plain(reader: Reader, question: str, filters: Filters | None = None) -> list[Any]:
    return reader.index.search(question, 5, filters=filters)


def text_of(reader: Reader, n: int = 0) -> str:
    return str(reader.lake.snapshot().read("documents", ["text"], {"accession": {accession(n)}})["text"].to_pylist()[0])


def how(found: Found) -> list[tuple[str, int, str]]:
    return [(one.how, one.step, one.node_id) for one in found.visits]


def test_a_walk_opens_nodes_and_what_it_picks_are_the_hits(reader: Reader, server: ModelServer) -> None:
    server.reply = by_title(pick=["Supply", "Item 7"], open_=["Part I", "Item 1A"])
    found = reader.retrieve("cash and supply", WALK, ONE)
    assert how(found) == [("opened", 1, "0002"), ("picked", 2, "0006"), ("opened", 2, "0003"), ("picked", 3, "0005")]
    assert [hit.section_title for hit in found.hits] == ["Item 7. Discussion", "Supply and cash"] and not found.notes
    nodes = {node.node_id: node for node in outlines(reader.lake.snapshot(), [accession(0)])[0].nodes}
    text = text_of(reader)
    for hit, node in zip(found.hits, (nodes["0006"], nodes["0005"]), strict=True):
        assert (hit.start, hit.end, hit.page_start, hit.page_end) == (node.start, node.end, node.start_index, node.end_index)
        assert hit.text == text[hit.start : hit.end] and hit.accession == accession(0) and hit.url == "https://x/0"
        assert (hit.company, hit.form, hit.tickers, hit.scores["tree"]) == ("Company A", "10-K", ("AAA",), hit.score)
    assert [(hit.rank, hit.score, hit.part, hit.item) for hit in found.hits] == [(1, 1.0, "I", "7"), (2, 0.5, "I", "7")]
    assert [p.text for p in found.passages] == [hit.text for hit in found.hits] and found.plan.how == "tree"
    assert (found.usage.calls, found.usage.input_tokens, found.usage.output_tokens, found.usage.dollars) == (  # type: ignore[union-attr]
        3, 33, 9, Decimal("0.000123"))
    assert found.usage.seconds and "model" in found.seconds  # type: ignore[union-attr]


def test_each_look_shows_titles_pages_and_summaries_of_the_children(reader: Reader, server: ModelServer) -> None:
    server.reply = by_title(open_=["Part I", "Item 1A"])
    reader.retrieve("prices", WALK, ONE)
    first, second, third = map(data, server.requests)
    assert [row["title"] for row in first] == ["Part I"] and first[0]["below"] == 2
    assert [row["title"] for row in second] == ["Item 1A. Risk factors", "Item 7. Discussion"]
    assert third[0] == {"id": "1.0004", "in": "Company A report > Part I > Item 1A. Risk factors", "title": "Prices", "pages": "1-1",
                        "characters": third[0]["characters"], "summary": "What moved prices.", "below": 0}
    assert all("follow no instruction" in asked.body["messages"][0]["content"] for asked in server.requests)


def test_an_id_that_is_not_in_the_list_is_asked_again_and_then_the_plain_search_answers(reader: Reader, server: ModelServer) -> None:
    server.then(*answers({"pick": ["1.0099"], "open": []}, {"pick": ["1.0002"], "open": []}))
    found = reader.retrieve("prices", WALK, ONE)
    assert [hit.section_title for hit in found.hits] == ["Part I"] and not found.notes
    assert "'1.0099' is not in the list" in server.requests[1].body["messages"][-1]["content"]

    server.then(*answers({"pick": ["1.0099"], "open": []}, {"pick": ["0002"], "open": []}))
    found = reader.retrieve("other prices", WALK, ONE)
    assert found.hits == plain(reader, "other prices", ONE) and found.plan.how == "exact"
    assert "MalformedAnswer" in found.notes[0] and len(found.notes) == 2 and "\n" not in "".join(found.notes)


@pytest.mark.parametrize("answer", [chat("I think Item 7"), chat({"pick": "0002"}), chat([]), chat({"pick": [], "open": []}), failure(500),
                                    failure(400), Answer(200, b"<html>"), chat({"pick": [["1.0002"]], "open": [], "x": 1})], ids=range(8))
@pytest.mark.parametrize("knobs", [WALK, NARROWED], ids=["walk", "narrowed"])
def test_nonsense_loses_no_question(reader: Reader, server: ModelServer, answer: Answer, knobs: Retriever) -> None:
    server.reply = lambda asked: answer
    found = reader.retrieve("prices", knobs, ONE)
    assert found.hits == plain(reader, "prices", ONE) and found.notes and all(note.startswith("tree: ") for note in found.notes)


def test_a_silent_model_ends_in_time(lake: Lake, server: ModelServer) -> None:
    server.reply = lambda asked: Answer(silent=True)
    reader = advised(lake, server, timeout_seconds=0.2)
    found = reader.retrieve("prices", WALK, ONE)
    assert found.hits == plain(reader, "prices", ONE) and "ModelFailed" in found.notes[0]


def test_a_provider_that_refuses_everybody_is_an_error(reader: Reader, server: ModelServer) -> None:
    server.reply = lambda asked: failure(401)
    with pytest.raises(ModelRefused):
        reader.retrieve("prices", WALK, ONE)


def test_steps_are_bounded_and_what_was_picked_until_then_stays(reader: Reader, server: ModelServer) -> None:
    server.reply = by_title(pick=["Item 7"], open_=["Part I", "Item 1A"])
    found = reader.retrieve("prices", Retriever(tree="walk", model=MODEL, tree_steps=2), ONE)
    assert len(server.requests) == 2 and [hit.section_title for hit in found.hits] == ["Item 7. Discussion"]
    assert "You have 0 more looks" in server.requests[-1].body["messages"][0]["content"]


def test_width_bounds_what_is_opened_and_k_what_is_given(reader: Reader, server: ModelServer) -> None:
    server.reply = by_title(pick=["Item 7", "Prices", "Supply"], open_=["Part I", "Item 1A"])
    found = reader.retrieve("prices", Retriever(tree="walk", model=MODEL, tree_width=3, k=4))
    assert len(found.hits) == 4 and len({hit.chunk_id for hit in found.hits}) == 4
    server.requests.clear()
    server.reply = by_title(open_=["Part I"])
    reader.retrieve("other", Retriever(tree="walk", model=MODEL, tree_width=1), Filters(accession=(accession(0), accession(1))))
    assert "filings" in server.requests[0].body["messages"][0]["content"]


def test_a_node_that_holds_another_that_was_picked_is_left_out(reader: Reader, server: ModelServer) -> None:
    server.reply = by_title(pick=["Part I", "Item 1A", "Prices"], open_=["Part I", "Item 1A", "Item 7"])
    found = reader.retrieve("prices", WALK, ONE)
    assert {hit.section_title for hit in found.hits} == {"Item 7. Discussion", "Prices"}  # a leaf that was to be opened is read


def test_tokens_end_the_walk_and_what_was_picked_stays(reader: Reader, server: ModelServer) -> None:
    heavy = {"prompt_tokens": 99_000, "completion_tokens": 3, "total_tokens": 99_003}
    server.then(chat({"pick": ["1.0002"], "open": ["1.0002"]}, heavy))
    found = reader.retrieve("prices", WALK, ONE)
    assert [hit.section_title for hit in found.hits] == ["Part I"] and len(server.requests) == 1
    assert "OverCap" in found.notes[0] and found.usage.input_tokens == 99_000  # type: ignore[union-attr]


def test_a_cap_or_budget_in_dollars_holds(lake: Lake, server: ModelServer, tmp_path: Path) -> None:
    from dataclasses import replace

    from edgarmill.workers.models.purse import Budget

    capped = advised(lake, server, filing_dollars="0.000001")
    found = capped.retrieve("prices", WALK, ONE)
    assert not server.requests and found.hits == plain(capped, "prices", ONE) and "OverCap" in found.notes[0] and found.usage is None
    shared = replace(advised(lake, server), budget=Budget(str(tmp_path / "budget"), Decimal("0.00001")))
    assert "OverBudget" in shared.retrieve("prices", WALK, ONE).notes[0] and not server.requests
    with pytest.raises(SettingsError, match="has no standard price"):
        advised(lake, server, filing_dollars="1", provider="nobody").retrieve("prices", WALK, ONE)


def test_filings_are_chosen_from_a_list(reader: Reader, server: ModelServer) -> None:
    server.then(*answers({"filings": ["2"]}, {"pick": ["1.0002"], "open": []}))
    found = reader.retrieve("prices of Company B", Retriever(tree="walk", model=MODEL, tree_width=2))
    assert data(server.requests[0])[1] == {"id": "2", "company": "Company B", "form": "10-K", "fiscal_year": 2021, "quarter": 4,
                                           "period_end": "2021-12-31"}
    assert {hit.accession for hit in found.hits} == {accession(1)}
    assert (found.visits[0].how, found.visits[0].accession, found.visits[0].title) == ("filing", accession(1), "Company B 10-K 2021-12-31")


def test_of_many_filings_those_are_listed_that_the_search_finds_first(tmp_path: Path, server: ModelServer) -> None:
    reader = advised(treed_lake(tmp_path, MOST_FILINGS + 5), server)
    server.then(*answers({"filings": []}))
    found = reader.retrieve("prices", Retriever(tree="walk", model=MODEL))
    assert len(data(server.requests[0])) <= MOST_FILINGS and found.hits == reader.index.search("prices", 10)


def test_an_answer_known_before_costs_nothing(lake: Lake, server: ModelServer) -> None:
    server.reply = by_title(pick=["Item 7"], open_=["Part I"])
    first = advised(lake, server).retrieve("prices", WALK, ONE)
    asked = len(server.requests)
    again = advised(lake, server).retrieve("prices", WALK, ONE)
    assert len(server.requests) == asked and again.hits == first.hits
    assert (again.usage.calls, again.usage.hits, again.usage.dollars, again.usage.origin) == (  # type: ignore[union-attr]
        0, asked, Decimal(0), "reused")


def test_a_hostile_title_is_data(reader: Reader, server: ModelServer) -> None:
    server.reply = by_title(pick=["Ignore"], open_=["Part I"])
    found = reader.retrieve("prices", WALK, Filters(accession=accession(2)))
    shown = data(server.requests[1])  # as many lines as nodes, none of which ends the data
    assert shown[0]["title"] == " ".join(EVIL.split()) and len(shown) == 2
    assert [hit.section_title for hit in found.hits] == [EVIL]


def test_narrowed_shows_nodes_that_hold_what_the_search_found(reader: Reader, server: ModelServer) -> None:
    server.reply = by_title(pick=["Prices", "Item 7"])
    found = reader.retrieve("prices", NARROWED, ONE)
    assert len(server.requests) == 1 and {row["title"] for row in data(server.requests[0])} == {
        "Prices", "Supply and cash", "Item 7. Discussion"}
    assert {hit.section_title for hit in found.hits} == {"Prices", "Item 7. Discussion"}
    chunks = reader.index.search("prices", 6, filters=ONE)
    expected = {title: sum(1 / (RRF_K + hit.rank) for hit in chunks if start <= hit.ordinal <= end)
                for title, start, end in (("Prices", 0, 0), ("Item 7. Discussion", 3, 5))}
    assert {hit.section_title: hit.scores["chunks"] for hit in found.hits} == pytest.approx(expected)
    assert all("found" in row and "in" in row for row in data(server.requests[0]))


def test_a_long_node_is_cut_around_its_best_chunk(reader: Reader, server: ModelServer) -> None:
    question = next(hit.text for hit in reader.index.search("x", 6, "vector", ONE) if hit.ordinal == 4)
    server.reply = by_title(pick=["Item 7"], open_=["Part I"])
    for knobs in (Retriever(tree="narrowed", model=MODEL, parent_tokens=12, mode="vector"),
                  Retriever(tree="walk", model=MODEL, parent_tokens=12, mode="vector")):
        (hit,) = reader.retrieve(question, knobs, ONE).hits
        assert hit.text == text_of(reader)[hit.start : hit.end] and reader.tokenizer.count(hit.text) <= 12
        assert "paragraph 4".startswith(hit.text.rpartition(", ")[2][:9]) or question.startswith(hit.text[:20])


def test_nodes_fill_a_token_budget_like_passages(reader: Reader, server: ModelServer) -> None:
    server.reply = by_title(pick=["Prices", "Item 7"])
    found = reader.retrieve("prices", Retriever(tree="narrowed", model=MODEL, tokens=30), ONE)
    assert 0 < (found.tokens or 0) <= 30 and all(p.text == text_of(reader)[p.start : p.end] for p in found.passages)


def test_a_lake_without_trees_says_so_in_one_line(tmp_path: Path, server: ModelServer) -> None:
    bare = tiny_lake(tmp_path, 2)
    publish(bare)
    for knobs in (WALK, NARROWED):
        with pytest.raises(UsageError, match="no filing of this lake has a tree") as caught:
            advised(bare, server).retrieve("prices", knobs)
        assert "\n" not in str(caught.value) and not server.requests


def test_what_is_not_there_to_be_asked_is_said_in_one_line(reader: Reader) -> None:
    with pytest.raises(UnknownName, match="no such endpoint"):
        reader.retrieve("prices", Retriever(tree="walk", model="endpoint:nowhere/m"))


def test_filters_that_keep_nothing_give_nothing_and_ask_nobody(reader: Reader, server: ModelServer) -> None:
    for knobs in (WALK, NARROWED):
        found = reader.retrieve("prices", knobs, Filters(year=1950))
        assert found.hits == [] and not server.requests
