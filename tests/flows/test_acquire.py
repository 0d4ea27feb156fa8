"""Downloads that are disturbed: by storms, kill -9, Ctrl-C and by each other. Each filing is there once, and EDGAR's limit is kept."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

import pytest

from edgarmill.eval.benchmarks.account import account
from edgarmill.eval.benchmarks.local_edgar import Download, start, write_filings
from edgarmill.flows.job import Job
from edgarmill.flows.plain import fetched
from edgarmill.flows.request import Request
from edgarmill.sample.faults import at, block403, block429, storm
from edgarmill.sample.replay import ReplayServer, Reply, Script, serving
from edgarmill.sample.replay import Request as AskedFor
from edgarmill.schemas.errors import Blocked
from edgarmill.schemas.store import Lake


def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    last = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < last, "it did not come about"
        time.sleep(0.02)


@contextmanager
def edgar(folder: Path, script: Script) -> Iterator[ReplayServer]:
    """With EDGAR's own limit, and an index of each of the last days."""
    with serving(folder, script=script) as server:
        server.show(days=[datetime.now(UTC).date() - timedelta(days=back) for back in range(10)])
        yield server


def begin(server: ReplayServer, lake: Path, ciks: list[str], **settings: object) -> Download:
    return start(server.url, lake, ciks=ciks, settings={"block_pause_seconds": 0.1, **settings})


def silent_until(folder: Path, server: ReplayServer) -> float:
    """What the file that all processes share says of a pause."""
    [path] = folder.glob(f"edgarmill-*/pace-127.0.0.1_{server.url.rpartition(':')[2]}")
    return float((path.read_bytes().split() or [b"0", b"0"])[1])


@pytest.fixture
def pace(tmp_path, monkeypatch):
    """Where the processes of a test keep their pace."""
    folder = tmp_path / "pace"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def finished(lake: Path, folder: Path, count: int) -> None:
    """All filings are there, each once, whole and as they were served."""
    found = account(lake, folder)
    assert found.good and (found.on_server, found.listed, found.fetched, found.quarantined) == (count, count, count, 0)


def plainly(server: ReplayServer, lake: Path, ciks: list[str]) -> Job:
    settings = {"edgar_url": server.url, "edgar_data_url": server.url, "user_agent": "Test Company test@company.example"}
    return fetched(Request(source="edgar", ciks=ciks, overrides={"lake": str(lake), "block_pause_seconds": 0.1, **settings}))


def test_after_a_storm_every_listed_filing_is_there_once_or_quarantined(tmp_path):
    ciks = write_filings(tmp_path / "in", 2, 4, lambda number: number % 2)
    with edgar(tmp_path / "in", storm(2, 0.05)) as server:
        for _ in range(9):
            try:
                plainly(server, tmp_path / "lake", ciks)
            except Blocked:
                continue
            if account(tmp_path / "lake", tmp_path / "in").listed == 8:
                break
    found = account(tmp_path / "lake", tmp_path / "in")
    assert found.good and found.listed == found.fetched + found.quarantined == 8
    assert server.limit.blocked == 0


def test_what_came_before_a_lasting_block_is_not_asked_for_again(tmp_path):
    ciks = write_filings(tmp_path / "in", 1, 8)
    blocked = Event()

    def script(request: AskedFor) -> Reply | None:
        return block403(request) if request.number > 12 and not blocked.is_set() else None

    with edgar(tmp_path / "in", script) as server:
        with pytest.raises(Blocked):
            plainly(server, tmp_path / "lake", ciks)
        blocked.set()
        there = account(tmp_path / "lake", tmp_path / "in").fetched
        before = len(server.requests)
        plainly(server, tmp_path / "lake", ciks)
        again = [request.path for request in server.requests[before:] if "-index-headers" in request.path]
    assert 0 < there < 8 and len(again) == 8 - there
    finished(tmp_path / "lake", tmp_path / "in", 8)


def test_kill_9_loses_nothing_and_doubles_nothing(tmp_path, pace):
    ciks = write_filings(tmp_path / "in", 3, 4, lambda number: number % 2)
    with edgar(tmp_path / "in", storm(5, 0.02)) as server:
        for requests in (2, 14, 19):  # while it lists; among the files; there again
            before, download = len(server.requests), begin(server, tmp_path / "lake", ciks)
            until(lambda before=before, requests=requests: len(server.requests) >= before + requests)
            download.kill()
        for _ in range(9):
            if begin(server, tmp_path / "lake", ciks).wait() == 0:
                break
    finished(tmp_path / "lake", tmp_path / "in", 12)
    assert server.limit.blocked == 0


@pytest.mark.parametrize("where", ["/submissions/", "-index-headers"])
def test_ctrl_c_within_a_pause_of_ten_minutes_ends_at_once(tmp_path, pace, where):
    ciks = write_filings(tmp_path / "in", 3, 2)
    with edgar(tmp_path / "in", at(where, block429, times=1)) as server:
        download = begin(server, tmp_path / "lake", ciks, block_pause_seconds=600)
        until(lambda: server.requests and silent_until(pace, server) > time.time() + 500)
        download.process.send_signal(signal.SIGINT)
        assert download.wait(60) == 130
        assert silent_until(pace, server) > time.time() + 400  # who starts it again waits with everyone
        [path] = pace.glob("edgarmill-*/pace-*")
        os.unlink(path)  # as after ten minutes
        assert begin(server, tmp_path / "lake", ciks).wait() == 0
    finished(tmp_path / "lake", tmp_path / "in", 6)
    assert Lake.open(str(tmp_path / "lake")).snapshot().read("runs", ["outcome"])["outcome"].to_pylist() == ["stopped", "done"]


def test_two_processes_with_a_lake_each_keep_one_limit_and_one_pause(tmp_path, pace):
    ciks = write_filings(tmp_path / "in", 1, 12)
    with edgar(tmp_path / "in", at("headers", block403, times=1)) as server:
        both = [begin(server, tmp_path / name, ciks) for name in ("one", "two")]
        assert [download.wait() for download in both] == [0, 0]
    assert server.limit.blocked == 0 and server.limit.most >= 7  # both at the full pace would have been 16
    for name in ("one", "two"):
        finished(tmp_path / name, tmp_path / "in", 12)
