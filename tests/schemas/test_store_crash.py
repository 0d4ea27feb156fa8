"""What a lake promises when processes die, collide or run out of disk. Real processes, real kill -9."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from edgarmill.schemas.errors import LakeLocked, StorageError
from edgarmill.schemas.records import Filing
from edgarmill.schemas.store import Drop, Lake, Snapshot, write_part

# One commit: the filing before goes, the next one comes, in two tables, with an index version. Shared by the children below.
COMMIT = """
import os, signal, sys
from edgarmill.schemas.records import Filing, Section
from edgarmill.schemas.store import Drop, Lake, write_part

def commit(lake, tick=lambda: None):
    with lake.writer("run") as writer:
        n = lake.snapshot().number + 1
        old, new = f"a{n - 1}", f"a{n}"
        rows = [Section(f"{new}:1", new, "I", "1", "t", 0, 1, 1, 1, None, "heading", i) for i in range(3)]
        sections = write_part(lake.root, "sections", "p", rows, "run"); tick()
        filings = write_part(lake.root, "filings", "p", [Filing(new), Filing(f"kept{n}")], "run"); tick()
        drop = [Drop("filings", "accession", frozenset({old})), Drop("sections", "accession", frozenset({old}))]
        writer.commit([sections, filings], key=new, drop=drop, indexes={"default": n}); tick()
"""


def check_whole(now: Snapshot) -> None:
    """The snapshot is exactly what its number says: nothing of another commit, nothing twice."""
    n = now.number
    filings = sorted(f.accession for f in now.records("filings"))
    assert filings == sorted([f"a{n}"] * (n > 0) + [f"kept{i}" for i in range(1, n + 1)])
    assert [(s.accession, s.ordinal) for s in now.records("sections")] == [(f"a{n}", i) for i in range(3)] * (n > 0)
    assert dict(now.indexes) == ({"default": n} if n else {})


def run(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)


def finish(child: subprocess.Popen[str]) -> None:
    """Lets a child that waits for a line go on, and sees that it ends well."""
    out, _ = child.communicate("go\n")
    assert child.returncode == 0, out


def line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(str(tmp_path / "lake"), create=True)


def leftovers(lake: Lake) -> set[str]:
    """Files in tables/ that the current snapshot does not name, and half-written ones anywhere."""
    named = {p for table in lake.snapshot().tables for p in lake.snapshot().files(table)}
    files = {str(p) for p in Path(lake.root).rglob("*") if p.is_file() and ("/tables/" in str(p) or p.name.startswith(".tmp-"))}
    return files - named


def test_killed_at_every_line_of_a_commit_leaves_the_old_or_the_new(lake: Lake) -> None:
    """A forked child is killed at the 1st, 2nd, 3rd … line that it executes where files are changed, until one commit gets through."""
    code = COMMIT + """
lake = Lake.open(sys.argv[1])
commit(lake)  # warm: imports are done, folders are there
step, finished = 0, False
while not finished:
    step += 1
    before = lake.snapshot().number
    child = os.fork()
    if not child:
        left = step
        def trace(frame, event, argument):
            global left
            if not frame.f_code.co_filename.endswith("schemas/disk.py") and frame.f_code.co_name not in ("commit", "_publish", "writer"):
                return None
            if event == "line":
                left -= 1
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace
        commit(lake, lambda: sys.settrace(trace))  # from the first tick on: one of the two parts is written
        os._exit(0)
    _, status = os.waitpid(child, 0)
    finished = status == 0
    assert finished or os.WTERMSIG(status) == signal.SIGKILL, status
    print(lake.snapshot().number - before, flush=True)
    sys.stdin.readline()
    for name in os.listdir(snapshots := os.path.join(lake.root, "catalog", "snapshots")):  # back to the start: every step the same lines
        if name.startswith(".tmp-") or name > f"{before:08d}.json":
            os.unlink(os.path.join(snapshots, name))
"""
    child, gained = run(code, lake.root), []
    assert child.stdin is not None
    while text := line(child):
        gained.append(int(text))
        if gained[-1] or len(gained) % 10 == 0:
            check_whole(lake.snapshot())
        child.stdin.write("next\n")
    finish(child)
    check_whole(lake.snapshot())
    assert gained.count(0) > 50  # killed before the link
    assert gained.count(1) > 2  # and after it
    assert gained == sorted(gained)  # one line in between
    assert leftovers(lake)
    with lake.writer("later") as writer:
        writer.vacuum(grace_seconds=-60, keep=1)
    assert leftovers(lake) == set()
    check_whole(lake.snapshot())


def test_killed_from_outside_at_random_moments_leaves_whole_snapshots(lake: Lake) -> None:
    """The children are in C code, in fsync, anywhere, when the signal comes."""
    code = COMMIT + """
lake = Lake.open(sys.argv[1])
commit(lake)
for _ in iter(sys.stdin.readline, ""):
    child = os.fork()
    if not child:
        while True:
            commit(lake, lambda: print(os.getpid(), flush=True))
    os.waitpid(child, 0)
    print("dead", flush=True)
"""
    parent, dice = run(code, lake.root), random.Random(7)
    assert parent.stdin is not None
    for _ in range(10):
        before = lake.snapshot().number
        parent.stdin.write("go\n")
        pid = int(line(parent))
        for _ in range(dice.randrange(8)):
            line(parent)
        os.kill(pid, signal.SIGKILL)
        while (text := line(parent)) != "dead":
            assert text
        assert lake.snapshot().number >= before
        check_whole(lake.snapshot())
    parent.communicate()
    assert parent.returncode == 0


def test_a_reader_during_commits_sees_whole_snapshots(lake: Lake) -> None:
    child = run(COMMIT + """
lake = Lake.open(sys.argv[1])
for _ in range(15):
    commit(lake)
    print("done", flush=True)
""", lake.root)
    seen = []
    while child.poll() is None:
        now = lake.snapshot()
        check_whole(now)
        seen.append(now.number)
    assert child.wait() == 0
    check_whole(lake.snapshot())
    assert seen == sorted(seen)
    assert lake.snapshot().number == 15


def test_vacuum_during_reads_leaves_readers_of_the_current_snapshot_alone(lake: Lake) -> None:
    child = run(COMMIT + """
lake = Lake.open(sys.argv[1])
for _ in range(15):
    commit(lake)
    with lake.writer("v") as writer:
        writer.vacuum(grace_seconds=3600, keep=1)
        for number in lake.numbers()[:-1]:  # as if the grace time of the snapshots were over, that of their files not
            os.unlink(os.path.join(lake.root, "catalog", "snapshots", f"{number:08d}.json"))
""", lake.root)
    while child.poll() is None:
        check_whole(lake.snapshot())
    assert child.wait() == 0
    assert lake.numbers() == [15]


# --- the lock


HOLD = """
import os, sys
from edgarmill.schemas.store import Lake
with Lake.open(sys.argv[1]).writer("run-first", "edgarmill ingest"):
    if len(sys.argv) > 2 and not os.fork():  # an orphan to be: a forked worker outlives its killed parent
        os.write(1, b"forked\\n")
        sys.stdin.readline()
        os._exit(0)
    os.write(1, b"held\\n")
    sys.stdin.readline()
"""


def test_the_second_writer_is_told_who_holds_the_lake(lake: Lake) -> None:
    child = run(HOLD, lake.root)
    assert line(child) == "held"
    with pytest.raises(LakeLocked, match=rf"process {child.pid} on .+, run run-first, since 20..-") as caught, lake.writer("second"):
        pass
    assert "Wait until it ends, or stop it" in str(caught.value)
    finish(child)
    with lake.writer("second") as writer:
        assert writer.commit([], key="k").run_id == "second"


def test_the_lock_dies_with_its_process(lake: Lake) -> None:
    child = run(HOLD, lake.root)
    assert line(child) == "held"
    child.kill()
    child.communicate()
    with lake.writer("second") as writer:
        writer.commit([], key="k")


def test_the_lock_dies_with_its_process_even_if_a_forked_child_lives_on(lake: Lake) -> None:
    child = run(HOLD, lake.root, "fork")
    assert {line(child), line(child)} == {"forked", "held"}
    child.kill()
    child.wait()
    with lake.writer("second") as writer:
        writer.commit([], key="k")
    assert child.stdin is not None
    child.stdin.close()  # the orphan reads the end of its input and leaves


def test_a_forked_child_cannot_commit_with_its_parents_lock(lake: Lake) -> None:
    code = """
import os, sys
from edgarmill.schemas.errors import RunError
from edgarmill.schemas.store import Lake
lake = Lake.open(sys.argv[1])
with lake.writer("parent") as writer:
    if not os.fork():
        try:
            writer.commit([], key="child")
        except RunError as error:
            os._exit(7 if "another process" in str(error) else 1)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.wait()[1]), writer.commit([], key="parent").number)
"""
    child = run(code, lake.root)
    assert line(child) == "7 1"
    finish(child)


def test_two_processes_that_make_the_same_lake_at_once_make_one(tmp_path: Path) -> None:
    code = """
import sys
from edgarmill.schemas.store import Lake
sys.stdin.readline()
print(Lake.open(sys.argv[1], create=True).numbers())
"""
    children = [run(code, str(tmp_path / "new" / "lake")) for _ in range(4)]
    for child in children:
        out, _ = child.communicate("go\n")
        assert (child.returncode, out) == (0, "[0]\n")


# --- a full disk


def fill(lake: Lake) -> None:
    with lake.writer("r") as writer:
        writer.commit([write_part(lake.root, "filings", "p", [Filing("a")], "r")], key="k", indexes={"default": 1})


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)], capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a small disk here; the limit on file sizes below covers the same path")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_leaves_the_old_snapshot_and_the_next_try_works(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        lake = Lake.open(str(disk / "lake"), create=True)
        fill(lake)
        with lake.writer("r") as writer:
            part = write_part(lake.root, "filings", "p", [Filing("b")], "r")
            with open(disk / "ballast", "wb", buffering=0) as ballast:
                for size in (4096, 1):
                    try:
                        while ballast.write(b"x" * size):
                            pass
                    except OSError:
                        pass
            for act in (lambda: writer.commit([part], key="b"), lambda: lake.put_raw(os.urandom(50_000)),
                        lambda: writer.commit([], key="c", drop=[Drop("filings", "accession", frozenset({"a"}))]),
                        lambda: write_part(lake.root, "filings", "p", [Filing("c")] * 1000, "r")):
                with pytest.raises(StorageError, match="no space left"):
                    act()
            assert lake.numbers() == [0, 1]
            assert [f.accession for f in lake.snapshot().records("filings")] == ["a"]
            (disk / "ballast").unlink()
            assert not [p for p in disk.rglob(".tmp-*")]
            writer.commit([part], key="b")
        assert [f.accession for f in lake.snapshot().records("filings")] == ["a", "b"]


def test_a_limit_on_file_sizes_is_a_full_disk_too(lake: Lake) -> None:
    """EFBIG in a child process, because the limit binds all of a process."""
    fill(lake)
    code = """
import os, resource, sys
from edgarmill.schemas.errors import StorageError
from edgarmill.schemas.records import Filing
from edgarmill.schemas.store import Drop, Lake, write_part
lake = Lake.open(sys.argv[1])
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
with lake.writer("r") as writer:
    part = write_part(lake.root, "filings", "p", [Filing("b")], "r")
    resource.setrlimit(resource.RLIMIT_FSIZE, (150, hard))
    for act in (lambda: writer.commit([part], key="b"), lambda: lake.put_raw(os.urandom(500)),
                lambda: write_part(lake.root, "filings", "p", [Filing("c")], "r")):
        try:
            act()
        except StorageError as error:
            print(error.what)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    print(lake.snapshot().number, writer.commit([part], key="b").number)
"""
    out, _ = (child := run(code, lake.root)).communicate()
    assert child.returncode == 0
    assert out.splitlines() == ["no space left to write"] * 3 + ["1 2"]
    assert [f.accession for f in lake.snapshot().records("filings")] == ["a", "b"]
    assert leftovers(lake) == set()


def test_too_many_open_files_is_a_storage_error_and_no_damage(lake: Lake) -> None:
    fill(lake)
    code = """
import os, resource, sys
from edgarmill.schemas.errors import StorageError
from edgarmill.schemas.store import Lake
now = Lake.open(sys.argv[1]).snapshot()
now.read("filings")
resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
try:
    now.read("filings")
except StorageError as error:
    print(error.subject)
"""
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("counts open files through /proc")
    child = run(code, lake.root)
    assert line(child) == lake.snapshot().files("filings")[0]
    finish(child)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 64
