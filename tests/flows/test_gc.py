"""What a lake may forget, and what it never does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tiny_lake import commit, filing, publish, rows_of, tiny_lake

from edgarmill.flows.gc import Collected, collect, rubbish
from edgarmill.flows.promote import promote, rollback
from edgarmill.flows.request import new_run_id
from edgarmill.retrieval.versions import resolve, versions
from edgarmill.schemas import records
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake, write_part
from edgarmill.workers.index import verify_again
from edgarmill.workers.index.dataset import open_dataset

FEW = Settings(keep_candidates=2, keep_prod=2, keep_rejected_days=0)
LATER = datetime.now(UTC) + timedelta(days=8)


def nights(folder: Path, count: int) -> tuple[Lake, list[records.IndexVersion]]:
    lake = tiny_lake(folder, filings=2, chunks=3)
    found = [publish(lake)[1]]
    for night in range(1, count):
        commit(lake, f"night-{night}", [rows_of(filing(10 + night), 2)])
        found.append(publish(lake, run_id=f"night{night}")[1])
    return lake, found


def collected(lake: Lake, settings: Settings = FEW, at: datetime = LATER) -> Collected:
    with lake.writer(new_run_id()) as writer:
        return collect(lake, writer, rubbish(lake, settings, at), settings)


def standing(lake: Lake) -> set[str]:
    return {str(v.tag) for v in versions(lake.snapshot()) if v.state == "verified"}


def test_prod_its_past_and_the_newest_candidates_stay(tmp_path: Path) -> None:
    lake, made = nights(tmp_path, 7)
    for number in (0, 1, 2):
        promote(lake, made[number], f"night {number}")
    assert collected(lake).versions == 3
    kept = {str(made[n].tag) for n in (1, 2, 5, 6)}
    assert standing(lake) == kept == open_dataset(lake, "tiny").tags.list().keys()
    for version in versions(lake.snapshot()):
        if version.state == "verified":
            assert all(check.ok for check in verify_again(lake, version)), version.tag
    assert rollback(lake, "back").tag == made[1].tag and resolve(lake.snapshot()).tag == made[1].tag


def test_a_second_collection_finds_nothing_and_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    lake, _ = nights(tmp_path, 5)
    before = lake.snapshot().number
    assert len(rubbish(lake, FEW, LATER).versions) == 3 and lake.snapshot().number == before
    collected(lake)
    number = lake.snapshot().number
    assert collected(lake).versions == 0 and lake.snapshot().number == number


def test_rejected_versions_stay_some_days(tmp_path: Path) -> None:
    from dataclasses import replace

    lake, made = nights(tmp_path, 1)
    bad = replace(made[0], version_id="bad", state="rejected", tag=None, lance_version=99, created_at=datetime.now(UTC))
    with lake.writer("run") as writer:
        writer.commit([write_part(lake.root, "index_versions", "bad", [bad], "run")], key="bad")
    three = Settings(keep_rejected_days=3)
    assert rubbish(lake, three, datetime.now(UTC)).versions == ()
    assert [v.version_id for v in rubbish(lake, three, datetime.now(UTC) + timedelta(days=4)).versions] == ["bad"]


def test_rankings_go_with_their_version_and_scores_stay(tmp_path: Path) -> None:
    lake, made = nights(tmp_path, 4)
    rows = [records.Ranking(f"e{n}", "set", v.version_id, "hybrid", "q1", 1, "c", "d", 0, 9, 0.5, (0,)) for n, v in enumerate(made)]
    scores = [records.Score(f"e{n}", "set", v.version_id, "hybrid", "all", "MRR@5", 0.5, 1) for n, v in enumerate(made)]
    with lake.writer("run") as writer:
        parts = [write_part(lake.root, name, "r", list(some), "run") for name, some in (("rankings", rows), ("scores", scores))]
        writer.commit(parts, key="rankings")
    assert collected(lake).rankings == 2
    left = lake.snapshot().read("rankings")["version_id"].to_pylist()
    assert set(left) == {v.version_id for v in made[2:]} and lake.snapshot().count("scores") == 4


def aged(lake: Lake) -> None:
    """Every raw file and answer as if it had been written a year ago."""
    year = time.time() - 365 * 86_400
    for room in ("raw", "calls"):
        for folder, _, names in os.walk(os.path.join(lake.root, room)):
            for name in names:
                os.utime(os.path.join(folder, name), (year, year))


def test_raw_files_that_a_filing_or_a_receipt_names_stay(tmp_path: Path) -> None:
    lake, _ = nights(tmp_path, 1)
    named, nobody = lake.put_raw(b"a filing"), lake.put_raw(b"left by a fetch that never committed")
    receipt = records.Received("0000000001-24-000001", "edgar", "u", named, 8, datetime.now(UTC), "submission")
    with lake.writer("run") as writer:
        writer.commit([write_part(lake.root, "received", "r", [receipt], "run")], key="r")
    assert collected(lake, at=datetime.now(UTC)).raw == 0  # it may be of a fetch under way
    aged(lake)
    assert collected(lake, at=datetime.now(UTC)).raw == 1
    assert lake.read_raw(named) == b"a filing" and not lake.has_raw(nobody)


def test_answers_that_were_paid_for_stay_unless_a_rule_is_set(tmp_path: Path) -> None:
    from edgarmill.workers.models.cache import Calls

    lake, _ = nights(tmp_path, 1)
    Calls(lake).keep("ab" * 16, {"text": "paid"})
    aged(lake)
    assert collected(lake).calls == 0
    assert collected(lake, Settings(keep_call_days=30), datetime.now(UTC)).calls == 1
    assert Calls(lake).known("ab" * 16) is None


def test_the_words_of_a_removed_version_go_with_it(tmp_path: Path) -> None:
    lake, made = nights(tmp_path, 4)
    folder = Path(lake.folder("vocabulary"))
    names = [f"{made[0].version_id}-1.parquet", f"{made[3].version_id}-1.parquet", f"{made[3].version_id}-1.parquet.77"]
    for name in names:
        (folder / name).write_bytes(b"words")
        os.utime(folder / name, (0, 0))
    collected(lake)
    assert [path.name for path in folder.iterdir()] == [names[1]]


@pytest.mark.parametrize("after", [0.0, 0.05, 0.3])
def test_a_killed_collection_is_finished_by_the_next_one(tmp_path: Path, after: float) -> None:
    lake, made = nights(tmp_path, 6)
    promote(lake, made[0], "good")
    rules = ["--set", "keep_rejected_days=0", "--keep-candidates", "2", "--keep-prod", "1"]
    command = [sys.executable, "-m", "edgarmill", "--lake", lake.root, "gc", *rules]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60  # it imports Lance first: the kill is counted from its lock on
    while after and not os.path.getsize(os.path.join(lake.root, "catalog", "writer.lock")) and child.poll() is None:
        assert time.monotonic() < deadline
    time.sleep(after)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert str(made[0].tag) in standing(lake) and resolve(lake.snapshot()).tag == made[0].tag
    collected(lake, Settings(keep_candidates=2, keep_prod=1, keep_rejected_days=0))
    kept = {str(made[n].tag) for n in (0, 4, 5)}
    assert standing(lake) == kept == open_dataset(lake, "tiny").tags.list().keys()
    assert all(check.ok for check in verify_again(lake, resolve(lake.snapshot())))
