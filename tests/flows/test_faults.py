"""What may happen to a publication: killed anywhere, no disk, two at once, damaged files. `prod` stays, the next run repairs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tiny_lake import SPEC, accession, commit, filing, publish, rows_of, tiny_lake

from edgarmill.flows.gc import collect, rubbish
from edgarmill.flows.gc import now as clock
from edgarmill.flows.promote import promote
from edgarmill.flows.rejection import reject
from edgarmill.retrieval.search import open_index
from edgarmill.retrieval.versions import resolve, versions
from edgarmill.schemas.records import IndexVersion
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.workers.index import verify_again
from edgarmill.workers.index.dataset import open_dataset

SUPPORT = str(Path(__file__).parents[1] / "support")
# One process imports everything; each case is a fork of it, so none waits for imports. A line of JSON a case, on both sides.
PUBLISHER = """
import json, os, resource, signal, sys
sys.path.insert(0, sys.argv[1])
import lance, duckdb, pyarrow.dataset, pyarrow.compute
import edgarmill.workers.index
from tiny_lake import publish
from edgarmill.schemas.errors import EdgarmillError
from edgarmill.schemas.store import Lake

def child(root, limit, run):
    if limit:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        publish(Lake.open(root), run_id=run)
        code = 0
    except EdgarmillError as error:
        print(type(error).__name__, str(error)[:300].replace(chr(10), " "), file=sys.stderr, flush=True)
        code = 7
    except BaseException as error:
        print("NOT TYPED", type(error).__name__, error, file=sys.stderr, flush=True)
        code = 9
    os._exit(code)

print("ready", flush=True)
for line in sys.stdin:
    cases = json.loads(line)
    pids = [os.fork() or child(*case) for case in cases]
    print(json.dumps(pids), flush=True)
    print(json.dumps([os.waitpid(pid, 0)[1] for pid in pids]), flush=True)
"""


class Publishers:
    """Runs of `publish` in forks of one warm process."""

    def __init__(self) -> None:
        self._parent = subprocess.Popen([sys.executable, "-c", PUBLISHER, SUPPORT], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, cwd=SUPPORT,
                                        env={**os.environ, "LANCE_LOG": "error", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)})
        assert self._line() == "ready"

    def begin(self, *cases: tuple[str, int, str]) -> list[int]:
        """Process ids. A case: root of the lake, most bytes of a file (0 = any), run id."""
        assert self._parent.stdin is not None
        self._parent.stdin.write(json.dumps(cases) + "\n")
        self._parent.stdin.flush()
        return list(json.loads(self._line()))

    def ended(self) -> list[int]:
        """Of each its exit code, or the negative number of the signal that killed it."""
        return [os.waitstatus_to_exitcode(status) for status in json.loads(self._line())]

    def close(self) -> str:
        """What all of them said."""
        return self._parent.communicate()[1]

    def _line(self) -> str:
        assert self._parent.stdout is not None
        line = self._parent.stdout.readline().strip()
        assert line, self._parent.communicate()[1]
        return line


@pytest.fixture(scope="module")
def publishers() -> Any:
    made = Publishers()
    yield made
    said = made.close()
    assert "NOT TYPED" not in said and "Traceback" not in said, said


def night(folder: Path) -> tuple[Lake, IndexVersion]:
    """A lake whose first version is prod, and a night's change of it that is not indexed yet."""
    lake = tiny_lake(folder, filings=4, chunks=4)
    _, first = publish(lake)
    promote(lake, first, "good")
    commit(lake, "night", [rows_of(filing(1), 2, "in new words"), rows_of(filing(9), 3)], drop=[accession(1)])
    return lake, first


def rows(lake: Lake, version: IndexVersion) -> dict[str, str]:
    data = open_dataset(lake, version.recipe, version.tag).to_table(columns=["chunk_id", "row_hash"])
    return dict(zip(data["chunk_id"].to_pylist(), data["row_hash"].to_pylist(), strict=True))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The rows of the night's version where nothing happened."""
    lake, _ = night(tmp_path_factory.mktemp("undisturbed"))
    return rows(lake, publish(lake, run_id="night")[1])


def check_repaired(lake: Lake, first: IndexVersion, before: dict[str, str], undisturbed: dict[str, str]) -> None:
    """prod is as it was; the next run gives what an undisturbed one gives."""
    assert resolve(lake.snapshot()).version_id == first.version_id and rows(lake, first) == before
    assert open_index(lake, resolve(lake.snapshot())).search("revenue", 3, "keyword")
    second = publish(lake, run_id="repair")[1]
    assert second.tag != first.tag and rows(lake, second) == undisturbed
    assert [c for c in verify_again(lake, second) if not c.ok] == []


# killed


def count(folder: str, *parts: str) -> Callable[[], int]:
    """How many names a folder of the lake has now."""
    place = os.path.join(folder, *parts)
    return lambda: len(os.listdir(place)) if os.path.isdir(place) else 0


PHASES = {  # the folder in which a publication, on its way, leaves a new name
    "its rows are written": ("index", "tiny.lance", "data"), "its rows are committed": ("index", "tiny.lance", "_versions"),
    "an index is being built": ("index", "tiny.lance", "_indices"), "it has its tag": ("index", "tiny.lance", "_refs", "tags"),
    "its record is written": ("tables", "index_versions"), "it is in the catalog": ("catalog", "snapshots"),
}


@pytest.mark.parametrize("phase", PHASES)
def test_a_publisher_that_is_killed_leaves_prod_and_the_next_run_repairs(
        publishers: Publishers, tmp_path: Path, undisturbed: dict[str, str], phase: str) -> None:
    lake, first = night(tmp_path)
    before = rows(lake, first)
    names = count(lake.root, *PHASES[phase])
    there = names()
    [process] = publishers.begin((lake.root, 0, "killed"))
    while names() == there and os.path.exists(f"/proc/{process}"):
        pass
    os.kill(process, signal.SIGKILL)
    assert publishers.ended() == [-signal.SIGKILL]
    check_repaired(lake, first, before, undisturbed)


# no disk


@pytest.mark.parametrize("limit", [64, 1_500, 5_000])
def test_a_disk_that_is_full_leaves_prod_and_the_next_run_repairs(publishers: Publishers, tmp_path: Path, undisturbed: dict[str, str],
                                                                  limit: int) -> None:
    lake, first = night(tmp_path)
    before = rows(lake, first)
    publishers.begin((lake.root, limit, "full"))
    assert publishers.ended() in ([0], [7])  # all fits, or an error that says so
    check_repaired(lake, first, before, undisturbed)


# two at once


def test_of_two_publishers_one_waits_for_its_turn(publishers: Publishers, tmp_path: Path, undisturbed: dict[str, str]) -> None:
    lake, first = night(tmp_path)
    before = rows(lake, first)
    publishers.begin((lake.root, 0, "one"), (lake.root, 0, "other"))
    codes = publishers.ended()
    assert set(codes) <= {0, 7} and 0 in codes  # the other one met the lock, or came later and found it done
    assert [v.state for v in versions(lake.snapshot())] == ["verified", "verified"]
    assert rows(lake, versions(lake.snapshot())[0]) == undisturbed
    check_repaired(lake, first, before, undisturbed)


# damaged


def newest(lake: Lake, folder: str) -> Path:
    """The file of the dataset that was written last."""
    files = [path for path in (Path(lake.index_uri("tiny")) / folder).rglob("*") if path.is_file()]
    return max(files, key=lambda path: path.stat().st_mtime_ns)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:16])


def other_bytes(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:200] + bytes(byte ^ 0xFF for byte in data[200:260]) + data[260:])


DAMAGES: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "a fragment is cut": ("data", cut, "damaged files"), "a fragment is gone": ("data", Path.unlink, "damaged files"),
    "a fragment has other bytes": ("data", other_bytes, "reading"), "an index is cut": ("_indices", cut, "damaged files"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_version_is_named_and_made_anew_while_prod_serves(tmp_path: Path, undisturbed: dict[str, str], damage: str) -> None:
    folder, harm, check = DAMAGES[damage]
    lake, first = night(tmp_path)
    before = rows(lake, first)
    second = publish(lake, run_id="night")[1]
    harmed = newest(lake, folder)
    harm(harmed)
    failed = {c.check: c.found for c in verify_again(lake, second) if not c.ok}
    assert list(failed) == [check]
    assert check != "damaged files" or (harmed.name in failed[check] or harmed.parent.name in failed[check])
    if check == "reading":  # only reading finds it: whoever verified says so
        with lake.writer("verify") as writer:
            reject(lake, writer, second, verify_again(lake, second))
    check_repaired(lake, first, before, undisturbed)
    assert [v.state for v in versions(lake.snapshot())] == ["verified", "verified"]


def test_prod_itself_is_whole_again_once_its_content_is_built_anew(tmp_path: Path) -> None:
    lake, first = night(tmp_path)
    second = publish(lake, run_id="night")[1]
    promote(lake, second, "better")
    whole = rows(lake, second)
    cut(newest(lake, "data"))
    publish(lake, run_id="repair")
    prod = resolve(lake.snapshot())
    assert prod.version_id == second.version_id and prod.tag != second.tag and rows(lake, prod) == whole
    with lake.writer("gc") as writer:  # the damaged one's tag goes: nobody names it
        collect(lake, writer, rubbish(lake, Settings(), clock()), Settings())
    assert open_dataset(lake, "tiny").tags.list().keys() == {first.tag, prod.tag}


def test_damage_amid_a_night_of_changes_is_mended_by_that_night(tmp_path: Path) -> None:
    lake, _ = night(tmp_path)
    publish(lake, run_id="night")
    cut(newest(lake, "data"))
    commit(lake, "next", [rows_of(filing(8), 2)])
    third = publish(lake, run_id="next")[1]
    assert third.chunks == 3 * 4 + 2 + 3 + 2 and [c for c in verify_again(lake, third) if not c.ok] == []


def test_a_dataset_of_another_schema_is_named_and_rolled_over(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    import lance

    lake, first = night(tmp_path)
    before = rows(lake, first)
    second = publish(lake, run_id="night")[1]
    lance.write_dataset(pa.table({"x": [1, 2]}), lake.index_uri("tiny"), mode="overwrite")
    assert [c for c in verify_again(lake, second) if not c.ok] == []  # nobody names what was written there
    dataset = lance.dataset(lake.index_uri("tiny"))
    dataset.tags.update(second.tag, dataset.version)
    assert [c.check for c in verify_again(lake, second) if not c.ok] == ["version", "columns"]
    check_repaired(lake, first, before, undisturbed)
    assert SPEC.recipe.name in lake.snapshot().indexes
