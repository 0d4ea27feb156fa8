"""Verification as people meet it: Ctrl-C amid it says nothing of an index, and tables that moved on say nothing of an older one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_ingest import World, accession, indexed, ingest, texts, write_filings, write_recipe

from edgarmill.flows.promote import promote
from edgarmill.retrieval.versions import resolve, versions
from edgarmill.schemas.store import Lake, Snapshot
from edgarmill.workers.index import verify_again

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


def test_another_recipes_run_over_a_changed_filing_says_nothing_of_a_version(
        world: World, edgarmill: Callable[..., Any], tmp_path: Path) -> None:
    folder, lake = write_filings(tmp_path / "in", 1, 2, 3), world.seeded(tmp_path / "lake")
    ingest(lake, folder, world.recipe)
    version = resolve(snapshot(lake))
    promote(Lake.open(str(lake)), version, "good")
    write_filings(folder, 2, words="violently shaken")
    ingest(lake, folder, write_recipe(tmp_path, world.model, "other", context="none"))
    ran = edgarmill("index", "verify", "--recipe", "small", "--reject", "--lake", lake)
    assert ran.code == 0, ran.out
    assert ran.out.count("6 of 9; 3 not compared, the tables have moved on") == 2
    assert {v.state for v in versions(snapshot(lake))} == {"verified"}
    assert resolve(snapshot(lake)).version_id == version.version_id
    write_filings(folder, 1, 3, words="violently shaken")
    ingest(lake, folder, str(tmp_path / "other.toml"))
    checks = verify_again(Lake.open(str(lake)), version)
    assert all(check.ok for check in checks)
    assert [(c.expected, c.found) for c in checks][-2:] == [("0 of 9; 9 not compared, the tables have moved on", "0")] * 2
