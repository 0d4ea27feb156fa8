"""Small to big, and a budget of tokens: whatever is given is text = document[start:end], once, and holds its hit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_lake import RECIPE, SPEC, accession, commit, fake_vector, filing, publish, rows_of, tiny_lake

from edgarmill.retrieval.budget import around, within
from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.passages import Passage, neighbours, plain, ranges, sections
from edgarmill.retrieval.retrieve import Reader
from edgarmill.retrieval.retriever import Retriever
from edgarmill.retrieval.search import open_index
from edgarmill.retrieval.versions import resolve
from edgarmill.schemas.recipe import EmbeddingModel
from edgarmill.schemas.records import Hit
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.workers.embed.models import resolve as model_of
from edgarmill.workers.embed.tokens import Tokenizer

CHUNKS = 12
TOKENIZER = Tokenizer(model_of(EmbeddingModel(), Settings()).tokenizer_path)


def in_sections(n: int) -> dict[str, list[Any]]:
    """A filing whose chunks lie in three sections of four; chunks 4 to 7 have a parent."""
    rows = rows_of(filing(n), CHUNKS)
    chunks = [replace(c, item=str(c.ordinal // 4 + 1),
    section_title=f"Section {c.ordinal // 4}") for c in rows["chunks"]]  # type: ignore[type-var]
    span = (chunks[4].start, chunks[7].end)
    rows["chunks"] = [replace(c, parent_start=span[0], parent_end=span[1]) if 4 <= c.ordinal < 8 else c for c in chunks]
    return rows


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    found = Lake.open(str(tmp_path_factory.mktemp("passages") / "lake"), create=True)
    commit(found, "ingest", [in_sections(n) for n in range(4)])
    publish(found)
    return found


@pytest.fixture(scope="module")
def reader(lake: Lake) -> Reader:
    return Reader(open_index(lake, resolve(lake.snapshot()), fake_vector, "model1"), lake, Settings(), lambda: None)


@pytest.fixture(scope="module")
def hits(reader: Reader) -> list[Hit]:
    return reader.index.search("anything", 48, "vector")


@pytest.fixture(scope="module")
def texts(lake: Lake) -> dict[str, str]:
    return {row["document_id"]: row["text"] for row in lake.snapshot().read("documents", ["document_id", "text"]).to_pylist()}


@pytest.mark.parametrize("reach", [1, 2, 3, 20])
def test_neighbours_are_those_of_the_section_however_they_are_fetched(reader: Reader, hits: list[Hit], reach: int) -> None:
    ways = [neighbours(reader.index.dataset, hits, reach, fetch) for fetch in ("sequence", "parallel", "query")]
    assert ways[0] == ways[1] == ways[2]
    by = {(hit.document_id, hit.ordinal): hit for hit in hits}
    for hit, stretch in zip(hits, ways[0], strict=True):
        first, last = max(hit.ordinal - reach, hit.ordinal // 4 * 4), min(hit.ordinal + reach, hit.ordinal // 4 * 4 + 3)
        assert (stretch.start, stretch.end) == (by[hit.document_id, first].start, by[hit.document_id, last].end)


def test_a_section_and_a_parent_hold_their_hit(reader: Reader, lake: Lake, hits: list[Hit]) -> None:
    by = {(hit.document_id, hit.ordinal): hit for hit in hits}
    for hit, section, parent in zip(hits, sections(reader.index.dataset, hits), ranges(lake.snapshot(), hits), strict=True):
        first = hit.ordinal // 4 * 4
        whole = (by[hit.document_id, first].start, by[hit.document_id, first + 3].end)
        assert (section.start, section.end) == whole
        assert (parent.start, parent.end) == (whole if first == 4 else (hit.start, hit.end))


def test_no_hit_has_no_surroundings(reader: Reader, lake: Lake) -> None:
    dataset = reader.index.dataset
    assert [neighbours(dataset, [], 1, "query"), neighbours(dataset, [], 1, "parallel"), sections(dataset, [])] == [[], [], []]
    assert reader.retrieve("x", Retriever(neighbours=2), Filters(year=1950)).passages == []


def whole(passages: list[Passage], texts: dict[str, str]) -> None:
    """Each is what its document says there, and no two overlap."""
    places = sorted((p.document_id, p.start, p.end) for p in passages)
    assert all(p.text == texts[p.document_id][p.start : p.end] for p in passages)
    assert all(a[0] != b[0] or a[2] <= b[1] for a, b in zip(places, places[1:], strict=False))


KNOBS = st.sampled_from([{"neighbours": 1}, {"neighbours": 3, "fetch": "parallel"}, {"parent": "section"}, {"parent": "range"}, {},
                         {"parent": "section", "parent_tokens": 20}, {"parent": "section", "parent_tokens": 1}])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(knobs=KNOBS, k=st.sampled_from([1, 5, 48]), tokens=st.none() | st.integers(1, 400), question=st.sampled_from(["cash", "margin",
"x"]))
def test_what_is_given_is_the_documents_own_text_within_the_budget(
        reader: Reader, texts: dict[str, str], knobs: dict[str, Any], k: int, tokens: int | None, question: str) -> None:
    found = reader.retrieve(question, Retriever(k=k, tokens=tokens, **knobs))
    whole(found.passages, texts)
    assert found.stale == 0 and [hit.rank for hit in found.hits] == list(range(1, k + 1))
    ranks = [rank for passage in found.passages for rank in passage.hits]
    assert len(ranks) == len(set(ranks)) and [p.hits[0] for p in found.passages] == sorted(p.hits[0] for p in found.passages)
    by = {hit.rank: hit for hit in found.hits}
    assert all(p.start <= by[p.hits[0]].start < p.end for p in found.passages)
    if tokens is None:
        assert set(ranks) == set(by) and found.tokens is None and not found.left_out
    else:
        counted = [TOKENIZER.count(p.text) for p in found.passages]
        assert [p.tokens for p in found.passages] == counted and sum(counted) == found.tokens <= tokens
        assert found.left_out or found.passages[-1].cut or set(ranks) == set(by)
        assert not any(p.cut for p in found.passages[:-1]) or "parent_tokens" in knobs


def test_hits_of_one_stretch_are_given_once(reader: Reader, texts: dict[str, str]) -> None:
    found = reader.retrieve("x", Retriever(k=12, mode="vector", neighbours=3), Filters(accession=accession(0)))
    assert len(found.passages) == 3 and sorted(rank for p in found.passages for rank in p.hits) == list(range(1, 13))
    assert [p.item for p in sorted(found.passages, key=lambda p: p.start)] == ["1", "2", "3"]


def test_a_hit_whose_document_was_parsed_anew_stands_alone(tmp_path: Any) -> None:
    lake = tiny_lake(tmp_path, 2, 8)
    publish(lake)
    reader = Reader(open_index(lake, resolve(lake.snapshot()), fake_vector, "model1"), lake, Settings(), lambda: None)
    rows = rows_of(filing(0), 8, "otherwise")
    commit(lake, "anew", [{"documents": rows["documents"], "filings": rows["filings"]}], drop=[accession(0)])
    found = reader.retrieve("x", Retriever(k=16, mode="vector", neighbours=1))
    assert found.stale == 8 and {hit.chunk_id for hit in found.hits if hit.accession == accession(0)}
    alone = [p for p in found.passages if p.accession == accession(0)]
    assert len(alone) == 8 and all(p.text == found.hits[p.hits[0] - 1].text for p in alone)
    assert RECIPE.name == SPEC.recipe.name


SENTENCES = "Net sales rose to $5.2 million. Costs fell. The board met twice. Freight was dear in May. Cash is king. "


@settings(max_examples=150, deadline=None)
@given(room=st.integers(1, 90), first=st.integers(0, 180), length=st.integers(1, 120))
def test_a_cut_holds_the_hits_beginning_and_fits(room: int, first: int, length: int) -> None:
    text = SENTENCES * 3
    core = (first, min(first + length, len(text)))
    start, end = around(text, (0, len(text)), core, room, TOKENIZER)
    assert start <= core[0] < end <= len(text) and TOKENIZER.count(text[start:end]) <= room


def test_a_cut_is_at_a_border_of_sentences() -> None:
    start, end = around(SENTENCES, (0, len(SENTENCES)), (45, 64), 9, TOKENIZER)
    assert SENTENCES[start:end] == "Costs fell. The board met twice."  # what comes after has no room, what stands before has


def test_nothing_has_room_where_the_first_word_has_none() -> None:
    hit = Hit(1, 1.0, "c", "d", "a", None, (), "10-K", None, None, None, "", "", "", 1, 1, 0, 30, "internationalization " + "x" * 9, None)
    assert [p.text for p in within([plain(hit)], {1: hit}, 1, TOKENIZER)] in (["international"], ["internationalization"], [])
    assert within([plain(hit)], {1: hit}, None, TOKENIZER)[0].tokens == TOKENIZER.count(hit.text)
