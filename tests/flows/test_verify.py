"""Verification as people meet it: Ctrl-C amid it says nothing of an index."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from small_ingest import World, accession, indexed, ingest, texts, write_filings

from edgarmill.retrieval.versions import versions
from edgarmill.schemas.store import Lake, Snapshot

SUPPORT = Path(__file__).parents[1] / "support"


def snapshot(lake: Path) -> Snapshot:
    return Lake.open(str(lake)).snapshot()


def struck(place: str, *words: object) -> subprocess.CompletedProcess[str]:
    """The command, interrupted in that function."""
    return subprocess.run([sys.executable, str(SUPPORT / "struck.py"), place, *map(str, words)], capture_output=True, text=True,
                          timeout=300, env={**os.environ, "EDGARMILL_DEVICE": "cpu"}, check=False)


@pytest.mark.parametrize("place", ["_hold", "_identity"])
def test_ctrl_c_amid_a_build_or_its_checks_is_no_damage_and_the_next_run_goes_on(world: World, prefect: str, tmp_path: Path, place: str
                                                                                ) -> None:
    folder, lake = write_filings(tmp_path / "in", 1, 2, 3), world.seeded(tmp_path / "lake")
    first = ingest(lake, folder, world.recipe).record
    write_filings(folder, 2, words="violently shaken")
    before = snapshot(lake).indexes
    ran = struck(place, "ingest", "--lake", lake, "--path", folder, "--recipe", world.recipe, "--engine", "loop",
                 "--set", f"prefect_api_url={prefect}")
    assert ran.returncode == 130, ran.stderr
    assert "go on with: edgarmill ingest" in ran.stderr and "verify; writing all rows anew" not in ran.stderr
    now = snapshot(lake)
    assert [(v.tag, v.state) for v in versions(now)] == [(first.tag, "verified")] and now.indexes == before
    assert [(r.outcome, r.exit_code) for r in now.records("runs")][-1] == ("stopped", 130)
    second = ingest(lake, folder, world.recipe).record
    assert (second.outcome, second.indexed, second.unchanged) == ("done", 0, 3) and second.tag != first.tag
    assert indexed(lake) == {accession(n): 3 for n in (1, 2, 3)} and "violently shaken" in texts(lake)
    assert all(v.state == "verified" for v in versions(snapshot(lake)))


def test_ctrl_c_amid_index_verify_rejects_nothing(world: World) -> None:
    before = snapshot(world.lake)
    ran = struck("_identity", "index", "verify", "--reject", "--lake", world.lake)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "edgarmill: interrupted\n")
    assert snapshot(world.lake).number == before.number


SLOW = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
main = threading.main_thread().ident
def names(frame):
    while frame is not None:
        yield frame.f_code.co_name
        frame = frame.f_back
def strike():
    while "query" not in names(sys._current_frames()[main]):
        time.sleep(0.01)
    time.sleep(0.5)  # it is at work then, for hours
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=strike, daemon=True).start()
from edgarmill.__main__ import run
sys.exit(run(sys.argv[1:]))
"""


def test_ctrl_c_amid_a_query_is_no_defect(world: World) -> None:
    words = ["sql", "--lake", str(world.lake), "select count(*) from range(1000000000000) t(i) where i % 7 = 3"]
    ran = subprocess.run([sys.executable, "-c", SLOW, *words], capture_output=True, text=True, timeout=100, check=False)
    assert (ran.returncode, ran.stderr) == (130, "edgarmill: interrupted\n")
