"""search on a terminal and as JSON: what was read from the question, where each passage stands, and the modes side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from advised import by_title, treed_lake
from fake_models import chat, serving
from tiny_lake import fake_vector, publish, tiny_lake

from edgarmill.commands.search import _compared, _show_compared
from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.retrieve import Reader
from edgarmill.retrieval.retriever import Retriever
from edgarmill.retrieval.search import open_index
from edgarmill.retrieval.versions import resolve
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake

Edgarmill = Callable[..., Any]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tiny_lake(tmp_path_factory.mktemp("search-verb"), 6, 6)
    publish(found)
    return Path(found.root)


@pytest.fixture
def search(edgarmill: Edgarmill, lake: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *words: edgarmill("search", *words, "--mode", "keyword", "--lake", str(lake))


def test_what_was_read_from_the_question_stands_above_the_hits(search: Callable[..., Any]) -> None:
    ran = search("gros margn of AAA in fiscal 2020 and Q3 1995", "--infer", "--correct")
    assert ran.code == 0
    assert "Read as: gros → gross, margn → margin" in ran.out
    assert "Filter from “AAA”: filer 0000000001, AAA" in ran.out
    assert "left out, it would keep no passage" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_each_passage_tells_its_place(search: Callable[..., Any]) -> None:
    ran = search("gross margin", "-k", "1", "--ticker", "BBB", "--ticker", "AAA", "--year", "2021", "--part", "I")
    for words in ("1. Company B (BBB)  10-K  period 2021-12-31  Part I, Item 7, Section 1  p. 2", "keyword",
    "0000000001-24-000001, characters ",
                  "https://x/1", "gross margin was not changed"):
        assert words in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_json_is_one_object_with_hits_and_passages(search: Callable[..., Any]) -> None:
    ran = search("gross margin", "--json", "-k", "2", "--around", "1", "--tokens", "60", "--knob", "fetch=sequence")
    found = json.loads(ran.out)
    assert set(found) == {"recipe", "tag", "question", "retriever", "filters", "inferred", "corrections", "hits", "passages", "tokens",
    "left_out",
                          "usage", "seconds", "searched", "visits", "notes"}
    assert found["retriever"]["fetch"] == "sequence" and len(found["hits"]) == 2 and found["tokens"] <= 60
    hit = found["hits"][0]
    assert {"accession", "part", "item", "section_title", "page_start", "page_end", "start", "end", "url", "scores", "ciks",
    "ordinal"} <= set(hit)


def test_words_all_and_phrase(search: Callable[..., Any]) -> None:
    assert "cash flow from" in search("flow cash", "--words", "all").out
    assert "Nothing found" in search("flow cash", "--words", "phrase").out


@pytest.mark.parametrize(("words", "says"), [
    (("--knob", "magic=1"), "no such knob"), (("--knob", "rrf_k=x"), "rrf_k is 'x', no whole"), (("--rerank", "magic"), "no such reranker"),
    (("--around", "1", "--parent", "section"), "two ways to the same end"), (("--ticker", "A'"), "not a ticker"),
    (("--part", "V"), "not a part"),
    (("--knob", "fetch=x"), "no such fetch"), (("--tree", "walk"), "these settings ask a model"), (("--rounds", "2"), "none is named"),
    (("--tree", "walk", "--model", "endpoint:nowhere"), "no such endpoint"), (("--model", "gpt"), "no such model"),
    (("--compare", "--rounds", "2", "--model", "endpoint:x"), "modes are compared without a model")])
def test_what_cannot_be_is_refused_in_one_line(search: Callable[..., Any], words: tuple[str, ...], says: str) -> None:
    ran = search("cash", *words)
    assert ran.code == 2 and says in ran.err and ran.err.count("\n") == 1


def test_parts_by_rule_are_told_with_their_filters(search: Callable[..., Any]) -> None:
    ran = search("risk at AAA and BBB", "--decompose", "rule", "-k", "2")
    said = " ".join(ran.out.split())
    assert ran.code == 0 and "Searched (rule): risk at AAA and [filer 0000000001, AAA; 2 hits]" in said
    assert "Searched (rule): risk at and BBB [filer 0000000002, BBB; 2 hits]" in said and max(map(len, ran.out.splitlines())) <= 80


def test_a_walk_is_told_step_by_step_with_what_it_cost(edgarmill: Edgarmill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lake = treed_lake(tmp_path, 1)
    with serving() as server:
        config = tmp_path / "edgarmill.toml"
        config.write_text(f'[endpoints.house]\nbase_url = "{server.url}"\nmodel = "m"\nretries = 0\n'
                          '[[prices]]\nprovider = "house"\nmodels = ["m"]\ninput = "1"\noutput = "10"\nsource = "test"\n')
        server.reply = by_title(pick=["Item 7"], open_=["Part I"])
        words = ("search", "prices", "--mode", "keyword", "--lake", lake.root, "--config", str(config), "--tree", "walk", "--model",
                 "endpoint:house")
        ran = edgarmill(*words)
        for line in ("1. opened Part I, p. 1-2 (0000000001-24-000000 0002)",
                     "2. picked Item 7. Discussion, p. 2 (0000000001-24-000000 0006)",
                     "Models: 2 calls, 0 known before, 22 tokens read, 6 tokens written, $0.000082", "score 1.0000 (tree 1.000)"):
            assert line in ran.out
        told = edgarmill(*words, "--json").json
        assert (told["usage"]["calls"], told["usage"]["hits"], [visit["how"] for visit in told["visits"]]) == (0, 2, ["opened", "picked"])
        server.reply = lambda asked: chat("\x1b[31m nonsense")
        ran = edgarmill(*(word.replace("prices", "margin") for word in words))
        assert ran.code == 0 and "Note: tree: no use of the model (MalformedAnswer" in ran.out and "\x1b" not in ran.out


def test_the_modes_stand_side_by_side_with_their_ranks(lake: Path, capsys: pytest.CaptureFixture[str],
monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    opened = Lake.open(str(lake))
    reader = Reader(open_index(opened, resolve(opened.snapshot()), fake_vector, "model1"), opened, Settings(), lambda: None)
    found = _compared(reader, "gross margin", Retriever(k=3), Filters())
    _show_compared(reader, found)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80 and lines[2].split() == ["vector", "keyword", "hybrid"]
    ranks = [line[:22].split() for line in lines[3::2]]
    assert [row[2] for row in ranks[:3]] == ["1", "2", "3"]
    by_meaning = {hit.chunk_id: hit.rank for hit in reader.index.search("gross margin", 36, "vector")}
    assert [int(row[0]) for row in ranks[:3]] == [by_meaning[hit.chunk_id] for hit in found["hybrid"].hits]
    for place in range(3):
        assert {"1", "2", "3"} <= {row[place] for row in ranks}
    assert all(min(int(rank) for rank in row if rank != "-") <= 3 for row in ranks)
    assert all("0000000001-24-" in line for line in lines[3::2])
