"""The fan-out: loop and Ray Data give the same rows, a bad filing costs itself alone, and a killed worker costs nothing."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from small_ingest import (
    GOOD,
    JUNK,
    World,
    accession,
    content,
    counts,
    filing,
    indexed,
    ingest,
    setup,
    submission,
    texts,
    write_filings,
    write_recipe,
)

from edgarmill.schemas.errors import LakeCorrupt, SettingsError, TooLarge
from edgarmill.schemas.ids import sha256
from edgarmill.schemas.records import Filing, Usage
from edgarmill.schemas.store import Lake
from edgarmill.workers.block import Block, Task, blocks_of, input_of
from edgarmill.workers.fanout import _Operator, run_blocks, run_segment
from edgarmill.workers.limits import time_limit
from edgarmill.workers.stages import STAGES, Outcome, Stage, Work


def version_of(lake: Path, recipe: str = "small") -> str:
    rows = [v for v in Lake.open(str(lake)).snapshot().records("index_versions") if v.recipe == recipe and v.state == "verified"]
    return str(max(rows, key=lambda v: v.lance_version).version_id)


# the two ways


def test_ray_gives_the_same_rows_and_the_same_index_version_as_the_loop(world: World, tmp_path: Path) -> None:
    job = ingest(tmp_path / "lake", world.folder, world.recipe, block_filings=2, engine="ray")
    assert counts(job.record) == (7, 5, 0, 2) and job.record.engine == "ray"
    loop, ray = (content(Lake.open(str(lake)).snapshot()) for lake in (world.lake, tmp_path / "lake"))
    for table, rows in loop.items():
        assert ray[table] == rows, table
    assert version_of(tmp_path / "lake") == version_of(world.lake)
    assert not [p for p in psutil.Process().children(recursive=True) if "ray" in p.name()]


def test_the_size_of_blocks_changes_no_row(world: World, tmp_path: Path) -> None:
    ingest(world.seeded(tmp_path / "lake"), world.folder, world.recipe, block_filings=100)
    one, other = content(Lake.open(str(world.lake)).snapshot()), content(Lake.open(str(tmp_path / "lake")).snapshot())
    for table in set(one) - {"usage"}:  # the texts were known, so their usage is "reused"
        assert one[table] == other[table], table


# failures


def test_a_bad_filing_is_quarantined_in_its_own_words_and_the_others_go_on(world: World) -> None:
    rows = {q.name: q for q in Lake.open(str(world.lake)).snapshot().records("quarantine")}
    assert set(rows) == set(JUNK)
    for row in rows.values():
        assert (row.reason, row.expected, row.stage) == ("BadFile", True, "open")
        assert row.todo and len(row.sha256) == 64
    assert set(indexed(world.lake)) == {accession(n) for n in GOOD}


def stage(name: str, run: Callable[[Any, Work], Outcome]) -> Stage:
    return Stage(name, 1, (), ("documents",), lambda setup: None, run, lambda recipe, plan: "")


def one_block(world: World, *numbers: int) -> Block:
    return Block("b-0", tuple(Task(Filing(accession(n), f"{n}.txt", sha256=f"{n:064x}"), f"in{n}") for n in numbers))


def test_an_unexpected_error_is_a_row_that_says_where_and_shows_no_traceback(world: World) -> None:
    def run(state: None, work: Work) -> Outcome:
        if work.filing.accession == accession(2):
            raise ZeroDivisionError("division by zero\nsecond line")
        return Outcome({"documents": []})

    block, _ = run_segment((stage("parse", run),), {"parse": None}, setup(world.lake, world.recipe), one_block(world, 1, 2, 3), "run")
    (row,) = block.failed
    assert (row.subject, row.reason, row.expected, row.stage) == (accession(2), "ZeroDivisionError", False, "parse")
    assert "test_fanout.py:" in row.message and "Traceback" not in row.message and "\n" not in row.message
    assert "defect of edgarmill" in row.todo
    assert [t.filing.accession for t in block.good] == [accession(1), accession(3)]


def test_a_whole_block_that_fails_is_tried_filing_by_filing(world: World) -> None:
    def run(state: None, works: list[Work]) -> list[Outcome]:
        if any(w.filing.accession == accession(2) for w in works):
            raise MemoryError
        return [Outcome({"documents": []}, Usage(w.filing.accession, "embed")) for w in works]

    whole = replace(STAGES[-1], takes=(), gives=(), run=run)
    block, _ = run_segment((whole,), {"embed": None}, setup(world.lake, world.recipe), one_block(world, 1, 2, 3), "run")
    assert [q.subject for q in block.failed] == [accession(2)]


def test_what_fails_in_a_later_segment_leaves_no_rows_but_its_cost(world: World) -> None:
    made = setup(world.lake, world.recipe)

    def parse(state: None, work: Work) -> Outcome:
        return Outcome(filing=replace(work.filing, company="C"))

    def embed(state: None, works: list[Work]) -> list[Outcome]:
        if works[-1].filing.accession == accession(2):
            raise ValueError("late")
        return [Outcome() for _ in works]

    first = replace(stage("open", parse), gives=("filings",))
    block, works = run_segment((first,), {"open": None}, made, one_block(world, 1, 2), "run")
    block, _ = run_segment((replace(STAGES[-1], takes=(), gives=(), run=embed),), {"embed": None}, made, block, "run", works)
    snapshot = replace(Lake.open(made.lake).snapshot(), tables={})
    rows = {name: replace(snapshot, tables={name: tuple(p for p in block.parts if p.table == name and p.rows)}).read(name)
            for name in ("filings", "work", "usage")}
    assert rows["filings"]["accession"].to_pylist() == [accession(1)]
    assert set(rows["work"]["subject"].to_pylist()) == {accession(1)}
    assert set(rows["usage"]["subject"].to_pylist()) == {accession(1), accession(2)}


def test_what_would_strike_every_filing_ends_the_run_as_that_error(world: World, tmp_path: Path) -> None:
    made = setup(tmp_path / "lake", world.recipe)
    lake = Lake.open(made.lake, create=True)
    lake.put_raw(filing(1))
    filings = [Filing(accession(n), f"{n}.txt", "folder", sha256=sha256(filing(n))) for n in (1, 2)]  # the second one's bytes are gone
    blocks = blocks_of([Task(f, input_of(f)) for f in filings], 1, "run")
    with pytest.raises(LakeCorrupt, match="raw file is missing"):
        run_blocks(made, blocks, "run", "loop", lambda block: None)
    operator = _Operator(0, made, "run")  # as a worker of Ray has it: the error travels in the block, through a pickle
    good, bad = (pickle.loads(pickle.dumps(operator({"block": block})["block"])) for block in blocks)
    assert good.error is None and good.parts
    assert isinstance(bad.error, LakeCorrupt) and "raw file is missing" in bad.error.what
    assert operator({"block": bad})["block"] == bad  # a later operator leaves it alone


def test_a_device_that_is_not_there_ends_the_run(world: World, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no such device"):
        ingest(tmp_path / "lake", write_filings(tmp_path / "in", 1), world.recipe, device="cuda:77")
    (run,) = Lake.open(str(tmp_path / "lake")).snapshot().records("runs")
    assert (run.outcome, run.exit_code) == ("failed", 2)


def test_a_filing_without_a_word_to_index_is_no_silent_loss(world: World, tmp_path: Path) -> None:
    folder = write_filings(tmp_path / "in", 1)
    (folder / f"{accession(2)}.txt").write_bytes(submission(2, "<html><body><p>Ok.</p></body></html>"))
    job = ingest(world.seeded(tmp_path / "lake"), folder, world.recipe)
    planned, done, _, bad = counts(job.record)
    assert (planned, done + bad) == (2, 2)
    assert len(indexed(tmp_path / "lake")) == done


# what is done is used


def test_a_second_recipe_uses_the_documents_of_the_first(world: World, tmp_path: Path) -> None:
    lake = world.seeded(tmp_path / "lake")
    ingest(lake, world.folder, world.recipe)
    before = Lake.open(str(lake)).snapshot()
    other = write_recipe(tmp_path, world.model, "other", chunker="fixed", context="none")
    job = ingest(lake, world.folder, other, block_filings=2)
    after = Lake.open(str(lake)).snapshot()
    assert counts(job.record) == (7, 5, 0, 2)
    for table in ("filings", "documents", "elements", "sections"):
        assert after.count(table) == before.count(table), table
    fresh = after.read("work", where={"run_id": {job.run_id}})
    assert set(fresh["stage"].to_pylist()) == {"chunk", "context", "embed"}
    assert set(indexed(lake, "other")) == set(indexed(lake, "small")) == {accession(n) for n in GOOD}
    assert len({v.recipe for v in after.records("index_versions")}) == 2


def test_a_recipe_that_differs_in_its_vectors_alone_only_embeds(world: World, tmp_path: Path) -> None:
    lake = world.seeded(tmp_path / "lake")
    ingest(lake, world.folder, world.recipe)
    longer = write_recipe(tmp_path, world.model, "longer", normalize=False)
    job = ingest(lake, world.folder, longer)
    assert counts(job.record) == (7, 5, 0, 2)
    assert [s for s in job.stages if job.stages[s].subjects and s not in ("list", "fetch", "index")] == ["embed"]
    assert indexed(lake, "longer") == indexed(lake, "small")


def test_a_changed_filing_beside_one_that_needs_only_new_chunks_is_read_anew(world: World, tmp_path: Path) -> None:
    folder, lake = write_filings(tmp_path / "in", 1, 2), world.seeded(tmp_path / "lake")
    ingest(lake, folder, world.recipe)
    write_filings(folder, 2, words="violently shaken")
    other = write_recipe(tmp_path, world.model, "other", chunker="fixed", context="none")
    assert counts(ingest(lake, folder, other).record) == (2, 2, 0, 0)
    assert "violently shaken" in texts(lake, "other")
    assert "division 2 Company 2 makes pumps and its business was steady" not in texts(lake, "other")
    assert Lake.open(str(lake)).snapshot().count("filings") == 2


def test_rows_are_found_again_after_the_lake_was_compacted(world: World, tmp_path: Path) -> None:
    lake = world.seeded(tmp_path / "lake")
    ingest(lake, world.folder, world.recipe, block_filings=1)
    with Lake.open(str(lake)).writer("compact") as writer:
        writer.compact(most=0)
    other = write_recipe(tmp_path, world.model, "other", chunker="fixed", context="metadata")
    assert counts(ingest(lake, world.folder, other, block_filings=2).record) == (7, 5, 0, 2)
    assert set(indexed(lake, "other")) == {accession(n) for n in GOOD}


# limits


def spin(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(500))


def test_a_filing_that_spins_is_stopped_in_whatever_thread_it_runs() -> None:
    caught: list[BaseException] = []

    def work() -> None:
        try:
            with time_limit(0.1):
                spin(20)
        except TooLarge as error:
            caught.append(error)
        spin(0.2)  # nothing strikes later
        caught.append(StopIteration())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [type(c) for c in caught] == [TooLarge, StopIteration]
    assert "parse_seconds" in str(caught[0])


def test_a_limit_that_was_kept_strikes_nobody_afterwards() -> None:
    before = threading.active_count()
    for _ in range(20):
        with time_limit(0.06):
            spin(0.055)
    spin(0.3)
    assert threading.active_count() <= before + 20
    for thread in threading.enumerate():
        if "watch" in thread.name:
            thread.join()
    assert threading.active_count() == before


def test_waiting_is_not_spinning() -> None:
    with time_limit(0.05):
        threading.Event().wait(0.2)


# a killed worker


def operators() -> Iterator[psutil.Process]:
    """Processes of our own Ray runtime that run a segment."""
    for process in psutil.Process().children(recursive=True):
        try:
            if any("Operator" in word or "MapWorker" in word for word in process.cmdline()):
                yield process
        except psutil.Error:
            continue


@pytest.mark.skipif(sys.platform != "linux", reason="finds the worker by its title")
def test_a_worker_killed_in_the_middle_costs_nothing(world: World, tmp_path: Path) -> None:
    folder = write_filings(tmp_path / "in", *range(1, 13))
    killed: list[int] = []
    ended = threading.Event()

    def kill() -> None:
        while not killed and not ended.wait(0.02):
            for process in operators():
                if process.cpu_times().user > 0.5:  # it has begun to import its segment
                    os.kill(process.pid, signal.SIGKILL)
                    killed.append(process.pid)
                    return

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        job = ingest(world.seeded(tmp_path / "lake"), folder, world.recipe, block_filings=1, engine="ray", workers=1)
    finally:
        ended.set()
        killer.join()
    assert killed
    assert counts(job.record) == (12, 12, 0, 0)
    assert set(indexed(tmp_path / "lake").values()) == {3}
    snapshot = Lake.open(str(tmp_path / "lake")).snapshot()
    for table, key in (("filings", "accession"), ("documents", "document_id"), ("chunks", "chunk_id")):
        found = snapshot.read(table, [key])[key].to_pylist()
        assert len(found) == len(set(found)), table


