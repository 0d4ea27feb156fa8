"""Nights of changes: what a build that goes on from the last version gives is what a build of everything gives, in rows and in answers."""

from __future__ import annotations

import os
import random
import signal
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from tiny_lake import RECIPE, SPEC, accession, commit, fake_vector, filing, publish, rows_of, tiny_lake

from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.search import MAX_HITS, Mode, open_index
from edgarmill.schemas.errors import RunError, StorageError
from edgarmill.schemas.recipe import load
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Drop, Lake
from edgarmill.workers.fanout import spread_of
from edgarmill.workers.index import IndexSpec, build, verify
from edgarmill.workers.index import rows as rows_module
from edgarmill.workers.index.damage import _count, _equals
from edgarmill.workers.index.dataset import SCALAR_INDEXES, open_dataset
from edgarmill.workers.stages import setup_of

INDEXED = replace(SPEC, vector_index_rows=40)
QUESTIONS = ("revenue on higher prices", "cyber attack", "paragraph 3 of Company B in 2021")
FILTERS = (Filters(), Filters(year=2021), Filters(cik="2", form="10-K"))


def content(lake: Lake) -> list[dict[str, Any]]:
    return sorted(open_dataset(lake, "tiny").to_table().to_pylist(), key=lambda row: str(row["chunk_id"]))


def answers(lake: Lake, version: Any, *modes: Mode) -> list[Any]:
    """Ids and scores of the best hits, by question, mode and filter."""
    index = open_index(lake, version, fake_vector, version.model_hash)
    return [[(hit.chunk_id, round(hit.score, 5)) for hit in index.search(question, 5, mode, some)]
            for question in QUESTIONS for mode in modes for some in FILTERS]


def matches(lake: Lake, version: Any) -> list[set[str]]:
    """Ids of all chunks that have a word of a question, by question and filter."""
    index = open_index(lake, version, fake_vector, version.model_hash)
    return [{hit.chunk_id for hit in index.search(question, MAX_HITS, "keyword", some)} for question in QUESTIONS for some in FILTERS]


def counts(lake: Lake) -> dict[str, list[tuple[str, int]]]:
    """By scalar index, each value with the number of rows that the index finds; a scan finds as many."""
    dataset, found = open_dataset(lake, "tiny"), {}
    rows = dataset.to_table(columns=list(SCALAR_INDEXES)).to_pylist()
    for column in SCALAR_INDEXES:
        wheres = sorted({_equals(column, row[column]) for row in rows} - {""})
        found[column] = [(where, _count(dataset, where, True, None)) for where in wheres]
        assert found[column] == [(where, _count(dataset, where, False, None)) for where in wheres]
    return found


def night(lake: Lake, drawn: random.Random, number: int, there: set[int]) -> set[int]:
    """Removes some filings, changes some, adds some, in one commit or two. Gives those that are there now."""
    gone, changed = set(drawn.sample(sorted(there), 1)), set(drawn.sample(sorted(there), 2))
    new = {100 * number + n for n in range(drawn.randint(1, 3))}
    touched = gone | changed
    fresh = [rows_of(filing(n), drawn.randint(1, 6), f"of night {number}") for n in sorted((changed - gone) | new)]
    commit(lake, f"night{number}", fresh, drop=[accession(n) for n in touched])
    if drawn.random() < 0.5:
        with lake.writer("merging") as writer:
            writer.compact(most=1)
    return (there - gone) | new


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_nights_give_the_rows_and_answers_of_a_build_of_everything(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between rebuilds, words are weighed by rows that are deleted too: so what the words find is compared each night, and their weights
    after the night that rebuilds."""
    monkeypatch.setattr("edgarmill.workers.index.dataset.DELTAS", 2)
    drawn, lake, there = random.Random(seed), tiny_lake(tmp_path, filings=12), set(range(12))
    publish(lake, INDEXED)
    for number in range(1, 5):
        if number == 4:
            monkeypatch.setattr("edgarmill.workers.index.dataset.FRAGMENTS", 0)
        there = night(lake, drawn, number, there)
        built, version = publish(lake, INDEXED, f"night{number}")
        assert built.since is not None
        fresh = Lake.open(str(tmp_path / f"fresh{number}"), create=True)
        _copy(lake, fresh)
        whole, other = publish(fresh, INDEXED)
        assert whole.since is None
        assert (built.version_id, built.totals) == (whole.version_id, whole.totals)
        assert content(lake) == content(fresh)
        assert {row["accession"] for row in content(lake)} == {accession(n) for n in there}
        assert matches(lake, version) == matches(fresh, other)
        assert counts(lake) == counts(fresh)
        modes: list[Mode] = ["vector"] if number < 4 else ["vector", "keyword", "hybrid"]
        assert answers(lake, version, *modes) == answers(fresh, other, *modes)


def _copy(lake: Lake, other: Lake) -> None:
    """The tables of a lake into a new one, in parts of their own."""
    snapshot = lake.snapshot()
    commit(other, "copied", [{table: list(snapshot.records(table)) for table in
                              ("filings", "documents", "chunks", "contexts", "embeddings")}])


def test_only_what_changed_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = tiny_lake(tmp_path, filings=12)
    publish(lake)
    commit(lake, "night", [rows_of(filing(3), 2, "anew"), rows_of(filing(40), 2)], drop=[accession(3), accession(5)])
    seen: list[list[str]] = []
    real = rows_module._load

    def load(connection: Any, snapshot: Any, spec: IndexSpec, accessions: list[str], before: Any) -> None:
        seen.append(accessions)
        real(connection, snapshot, spec, accessions, before)

    monkeypatch.setattr(rows_module, "_load", load)
    publish(lake, run_id="night")
    assert seen == [sorted(map(accession, (3, 5, 40)))]


def test_a_text_that_an_older_part_holds_is_found_there(tmp_path: Path) -> None:
    """A filing comes back as it was: its texts were embedded before the version that the night goes on from."""
    lake = tiny_lake(tmp_path)
    publish(lake)
    before = content(lake)
    commit(lake, "gone", [], drop=[accession(3)])
    publish(lake, run_id="gone")
    back = {name: rows for name, rows in rows_of(filing(3), 8).items() if name != "embeddings"}
    commit(lake, "back", [back, rows_of(filing(40), 2, "new")])
    built, _ = publish(lake, run_id="back")
    assert built.since is not None
    assert [row for row in content(lake) if row["accession"] != accession(40)] == before


def test_with_many_changes_all_rows_are_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "TOUCHED", 0)
    lake = tiny_lake(tmp_path)
    publish(lake)
    commit(lake, "night", [rows_of(filing(3), 2, "anew")], drop=[accession(3)])
    monkeypatch.setattr(rows_module, "_load", None)
    assert publish(lake, run_id="night")[0].chunks == 5 * 8 + 2


def test_where_the_lake_of_then_is_gone_all_rows_are_computed(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path)
    publish(lake)
    commit(lake, "night", [rows_of(filing(3), 2, "anew")], drop=[accession(3)])
    with lake.writer("gc") as writer:
        writer.vacuum(grace_seconds=0, keep=1)
    assert publish(lake, run_id="night")[0].chunks == 5 * 8 + 2


def test_a_filing_that_is_named_no_more_goes_though_its_rows_stay(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path)
    named = frozenset(accession(n) for n in range(6))
    publish(lake, replace(SPEC, accessions=named))
    with lake.writer("work") as writer:
        writer.commit([], key="work", drop=[Drop("quarantine", "subject", frozenset({"nobody"}))])
    built, _ = publish(lake, replace(SPEC, accessions=named - {accession(2)}), "night")
    assert (built.removed, built.filings, built.since is not None) == (8, 5, True)


def test_vectors_of_half_the_size_are_found_as_well(tmp_path: Path) -> None:
    half = RECIPE.model_copy(update={"embedding": RECIPE.embedding.model_copy(update={"stored": "float16"})})
    assert half.fingerprint != RECIPE.fingerprint
    lake = tiny_lake(tmp_path, filings=12)
    built, version = publish(lake, replace(INDEXED, recipe=half))
    dataset = open_dataset(lake, "tiny")
    assert str(dataset.schema.field("vector").type.value_type) == "halffloat"
    assert all(check.ok for check in verify(lake, built, replace(INDEXED, recipe=half)))
    index = open_index(lake, version, fake_vector, version.model_hash)
    text = dataset.take([5], columns=["text", "chunk_id"]).to_pylist()[0]
    assert index.search(text["text"], 3, "vector")[0].chunk_id == text["chunk_id"]
    _, whole = publish(Lake.open(lake.root), INDEXED, "float32")
    assert whole.version_id != version.version_id


def in_processes(work: Any, items: Any) -> list[Any]:
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        return list(pool.map(work, items))


def on_ray(work: Any, items: Any) -> list[Any]:
    spread = spread_of(setup_of(load("default"), Settings(), "lake"), "ray")
    assert spread is not None
    return spread(work, items)


@pytest.mark.parametrize("spread", [in_processes, on_ray])
def test_fragments_of_several_workers_are_the_rows_of_one_writer_in_their_order(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spread: Any) -> None:
    lake = tiny_lake(tmp_path, filings=12)
    one = build(lake, lake.snapshot(), SPEC, "whole")
    monkeypatch.setattr("edgarmill.workers.index.dataset.SHARE_ROWS", 20)
    rows = open_dataset(lake, "tiny").to_table()
    other = tiny_lake(tmp_path / "other", filings=12)
    two = build(other, other.snapshot(), SPEC, "spread", spread)
    assert open_dataset(other, "tiny").to_table() == rows
    assert (one.version_id, one.totals) == (two.version_id, two.totals)
    assert len(open_dataset(other, "tiny").get_fragments()) == 4
    assert all(check.ok for check in verify(other, two, SPEC))


def dying(work: Any, marks: Path, deaths: int) -> Any:
    """The work, done; but the process that did it is killed before it can say so, the first times that it meets its second share."""

    def done(item: Any) -> Any:
        made = work(item)
        if item.number == 1 and len(list(marks.iterdir())) < deaths:
            (marks / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return made

    return done


def test_a_ray_worker_that_is_killed_with_its_fragments_written_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = tiny_lake(tmp_path, filings=12)
    publish(lake)
    rows = open_dataset(lake, "tiny").to_table().drop_columns(["vector"])
    before = content(lake)
    monkeypatch.setattr("edgarmill.workers.index.dataset.SHARE_ROWS", 20)
    commit(lake, "model2", [{"embeddings": [replace(e, model_hash="model2") for e in lake.snapshot().records("embeddings")]}])
    spec = replace(SPEC, model_hash="model2")
    (marks := tmp_path / "marks").mkdir()
    with pytest.raises(RunError):
        build(lake, lake.snapshot(), spec, "dies", lambda work, items: on_ray(dying(work, marks, 99), items))
    assert len(list(marks.iterdir())) == 3 and content(lake) == before
    (again := tmp_path / "again").mkdir()
    built = build(lake, lake.snapshot(), spec, "lives", lambda work, items: on_ray(dying(work, again, 1), items))
    assert len(list(again.iterdir())) == 1 and all(check.ok for check in verify(lake, built, spec))
    dataset = open_dataset(lake, "tiny")
    assert dataset.to_table().drop_columns(["vector"]) == rows and len(dataset.get_fragments()) == 4
    assert len(list(Path(lake.index_uri("tiny"), "data").iterdir())) > 5  # what the dead left has no name


def test_a_worker_that_fails_leaves_the_version_before_and_files_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = tiny_lake(tmp_path, filings=12)
    publish(lake)
    before = content(lake)
    monkeypatch.setattr("edgarmill.workers.index.dataset.SHARE_ROWS", 20)
    commit(lake, "model2", [{"embeddings": [replace(e, model_hash="model2") for e in lake.snapshot().records("embeddings")]}])

    def half(work: Any, items: Any) -> list[Any]:
        work(items[0])
        raise OSError(28, "No space left on device")

    spec = replace(SPEC, model_hash="model2")
    with pytest.raises(StorageError):
        build(lake, lake.snapshot(), spec, "broken", half)
    assert content(lake) == before
    files = len(list(Path(lake.index_uri("tiny"), "data").iterdir()))
    built = build(lake, lake.snapshot(), spec, "again", lambda work, items: [work(item) for item in items])
    assert all(check.ok for check in verify(lake, built, spec))
    dataset = open_dataset(lake, "tiny")
    assert files == 2 and len(dataset.get_fragments()) == 4
