"""A build that dies at any point leaves the old version readable, and the next build repairs what it left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_lake import SPEC, accession, commit, filing, publish, rows_of, tiny_lake

from edgarmill.schemas.store import Lake
from edgarmill.workers.index import build, verify
from edgarmill.workers.index.dataset import open_dataset

# The child builds and tags as a run does, and kills itself with SIGKILL just before or after the named step.
CHILD = """
import os, signal, sys
sys.path.insert(0, sys.argv[3])
import lance
from tiny_lake import publish
from edgarmill.schemas.store import Lake
from edgarmill.workers.index import dataset, release, rows

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def killing(owner, name, after):
    real = getattr(owner, name)
    def step(*args, **kwargs):
        result = real(*args, **kwargs) if after else None
        die()
        return result
    setattr(owner, name, step)

def half_written(real):
    def batches(reader, schema):
        for n, batch in enumerate(real(reader, schema)):
            yield batch.slice(0, 3)
            die()
    return batches

point = sys.argv[2]
if point == "fragments half written":
    rows._once = half_written(rows._once)
elif point == "rows deleted":
    killing(lance.LanceDataset, "delete", True)
elif point == "rows appended":
    killing(dataset, "_write", True)
elif point == "an index half made":
    killing(lance.LanceDataset, "create_scalar_index", True)
elif point == "indexes made":
    killing(dataset, "_index", True)
elif point == "before the tag":
    killing(release, "_next_name", True)
elif point == "tagged, not committed":
    import tiny_lake
    killing(tiny_lake, "tag", True)
publish(Lake.open(sys.argv[1]), run_id="child")
"""
POINTS = ["fragments half written", "rows deleted", "rows appended", "indexes made", "before the tag", "tagged, not committed"]


def run_child(lake: Lake, point: str) -> None:
    folder = str(Path(__file__).parents[1] / "support")
    done = subprocess.run([sys.executable, "-c", CHILD, lake.root, point, folder], capture_output=True, text=True, timeout=120, check=False,
                          cwd=folder, env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)})
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_build_leaves_the_old_version_and_the_next_one_repairs(tmp_path: Path, point: str) -> None:
    lake = tiny_lake(tmp_path, filings=4, chunks=4)
    _, old = publish(lake)
    before = open_dataset(lake, "tiny", old.tag).to_table().sort_by("chunk_id")
    commit(lake, "night", [rows_of(filing(1), 2, "in new words"), rows_of(filing(9), 3)], drop=[accession(1)])
    run_child(lake, point)
    assert lake.snapshot().indexes == {"tiny": old.lance_version}
    assert open_dataset(lake, "tiny", old.tag).to_table().sort_by("chunk_id") == before
    built, new = publish(lake, run_id="repair")
    assert new.tag == "2026-11-30.2"
    assert all(c.ok for c in verify(lake, built, SPEC))
    assert open_dataset(lake, "tiny", new.tag).count_rows() == 3 * 4 + 2 + 3
    assert set(open_dataset(lake, "tiny").tags.list()) == {old.tag, new.tag}


@pytest.mark.parametrize("point", ["fragments half written", "an index half made"])
def test_a_killed_first_build_is_made_anew(tmp_path: Path, point: str) -> None:
    lake = tiny_lake(tmp_path, filings=2, chunks=4)
    run_child(lake, point)
    built, version = publish(lake, run_id="repair")
    assert version.tag == "2026-11-30.1"
    assert all(c.ok for c in verify(lake, built, SPEC))
    assert open_dataset(lake, "tiny", version.tag).count_rows() == 8


def test_a_commit_after_the_tag_that_never_came_is_made_up_without_writing(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=2, chunks=4)
    run_child(lake, "tagged, not committed")
    newest = open_dataset(lake, "tiny").version
    built = build(lake, lake.snapshot(), SPEC, "repair")
    assert (built.lance_version, built.changed, built.known) == (newest, False, False)
