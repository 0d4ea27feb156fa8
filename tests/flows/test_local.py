"""A stopped run ends, whatever waits in it."""

from __future__ import annotations

import subprocess
import sys

import pytest

WAITS_FOR_EVER = """
import threading
from edgarmill.flows.local import hurried
from edgarmill.flows.progress import stopped, told

with hurried(0.2) as stop, told(lambda *_: None, print, stop):
    stopped()  # as the job says it; then Prefect waits for a thread that never answers
    threading.Event().wait()
"""
ENDS_IN_TIME = """
import time
from edgarmill.flows.local import hurried

with hurried(0.1) as stop:
    stop()
with hurried(0.1):
    time.sleep(0.3)  # nobody stopped it
time.sleep(0.3)
print("whole")
"""


SWALLOWED = """
import os, signal
from edgarmill.flows.local import stoppable
from edgarmill.flows.progress import go_on, told

signal.signal(signal.SIGINT, signal.SIG_IGN if {ignored} else signal.default_int_handler)
with stoppable() as struck, told(lambda *_: None, print, struck=struck):
    try:
        os.kill(os.getpid(), signal.{name})
    except KeyboardInterrupt:
        pass  # a library that gives it as an error of its own
    go_on()
    print("went on")
"""


@pytest.mark.parametrize(("name", "ignored", "goes_on"), [("SIGINT", False, False), ("SIGTERM", False, False), ("SIGINT", True, True)])
def test_a_signal_that_was_swallowed_is_not_forgotten_and_one_that_is_ignored_stays_so(name: str, ignored: bool, goes_on: bool) -> None:
    program = SWALLOWED.format(name=name, ignored=ignored)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.stdout == "went on\n") == goes_on and ("KeyboardInterrupt" in ran.stderr) != goes_on


def test_a_stop_that_waits_for_ever_is_interrupted_again() -> None:
    ran = subprocess.run([sys.executable, "-c", WAITS_FOR_EVER], capture_output=True, text=True, timeout=60, check=False)
    assert "KeyboardInterrupt" in ran.stderr


def test_what_ends_by_itself_is_left_alone() -> None:
    assert subprocess.run([sys.executable, "-c", ENDS_IN_TIME], capture_output=True, text=True, timeout=60, check=True).stdout == "whole\n"
