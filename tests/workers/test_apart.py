"""Work in a process of its own: what hangs, dies or breaks there is told in one line, and the next piece is done all the same."""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from edgarmill.schemas.errors import BadFile, TooLarge
from edgarmill.workers.apart import Done, each
from edgarmill.workers.limits import memory_limit


def work(task: str) -> bytes:
    while task == "spin":
        pass
    if task == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "crash":
        faulthandler.disable()  # pytest's would print its stack
        os.abort()
    if task == "bad":
        raise BadFile("not a filing", "a.htm", "Give another.")
    if task == "defect":
        raise ZeroDivisionError("by\nzero")
    if task == "memory":
        with memory_limit(50_000_000):
            return bytes(100_000_000)
    return f"{task} {os.getpid()}".encode()


def done(*tasks: str, seconds: float = 60) -> list[Done]:
    return list(each(work, tasks, seconds))


def test_answers_come_in_order_from_one_other_process() -> None:
    first, second = done("a", "b")
    assert [first.task, second.task] == ["a", "b"]
    assert first.data.split()[1] == second.data.split()[1] != str(os.getpid()).encode()


@pytest.mark.parametrize(("task", "kind", "words"), [
    ("killed", TooLarge, "lack of memory"),
    ("crash", BadFile, "SIGABRT"),
    ("bad", BadFile, "not a filing"),
    ("defect", BadFile, "ZeroDivisionError: by zero (test_apart.py:"),
    ("memory", TooLarge, "50,000,000 bytes"),
])
def test_what_fails_is_told_and_the_next_goes_on(task: str, kind: type, words: str) -> None:
    before, failed, after = done("a", task, "b")
    assert before.error is None and after.error is None and after.data.startswith(b"b ")
    assert type(failed.error) is kind and words in str(failed.error) and "\n" not in str(failed.error)


def test_what_hangs_is_ended_by_the_kernel() -> None:
    spun, after = done("spin", "b", seconds=0.1)
    assert type(spun.error) is TooLarge and "parse_seconds" in str(spun.error)
    assert after.error is None


def test_the_child_ends_with_the_asking() -> None:
    asking = each(work, ["a", "b"], 60)
    child = int(next(asking).data.split()[1])
    asking.close()
    assert not Path(f"/proc/{child}").exists()


def test_a_memory_limit_is_taken_back() -> None:
    with pytest.raises(TooLarge, match="memory"), memory_limit(50_000_000):
        bytes(100_000_000)
    assert len(bytes(100_000_000)) == 100_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process together with its parent")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_that_works_ends_with_its_parent(how: signal.Signals) -> None:
    code = """
import os
from edgarmill.workers.apart import each
def work(task):
    os.write(1, f"{os.getpid()}\\n".encode())
    while True:
        pass
list(each(work, ["spin"], 60))
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.send_signal(how)
        parent.wait(timeout=20)
        deadline = time.monotonic() + 20
        while _runs(child) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not _runs(child)


def _runs(pid: int) -> bool:
    """Whether the process works on: one that has ended and that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
