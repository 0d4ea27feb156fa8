"""Many calls at a time, in threads."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import closing
from contextvars import ContextVar

from edgarmill.workers.at_once import at_once, waited


def test_every_item_comes_back_with_what_its_call_gave_or_raised():
    results, errors = {}, {}
    for item, future in at_once(lambda n: 10 // n, range(5), 3):
        error = future.exception()
        if error:
            errors[item] = type(error)
        else:
            results[item] = future.result()
    assert results == {1: 10, 2: 5, 3: 3, 4: 2} and errors == {0: ZeroDivisionError}


def test_so_many_run_at_a_time_and_items_are_taken_as_they_are_needed():
    gate, taken = threading.Barrier(4), []

    def items():
        for n in range(100):
            taken.append(n)
            yield n

    calls = at_once(lambda n: gate.wait(10), items(), 4)  # none of four could end if three ran at a time
    next(calls)
    assert len(taken) <= 12
    assert sum(1 for _ in calls) == 99


def test_who_leaves_early_stops_what_is_under_way_and_begins_nothing_more():
    stop, begun = threading.Event(), []

    def call(n):
        begun.append(n)
        if n:
            assert stop.wait(10)

    with closing(at_once(call, range(50), 3, stop.set)) as calls:
        assert next(calls)[0] == 0
    assert stop.is_set() and len(begun) <= 6


def test_a_full_round_does_not_stop_anything():
    stop = threading.Event()
    assert len(list(at_once(str, range(7), 3, stop.set))) == 7 and not stop.is_set()


def test_a_call_sees_what_is_set_where_it_was_asked_for():
    where = ContextVar("where", default="nowhere")
    where.set("here")
    assert [future.result() for _, future in at_once(lambda _: where.get(), range(3), 2)] == ["here"] * 3


SIGNALLED = """
import signal, threading
from edgarmill.workers.at_once import at_once, waited

stop = threading.Event()

def call(n):
    threading.Timer(0.2, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT)).start()
    stop.wait()

signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    for _ in at_once(call, [1], 2, stop.set):
        pass
except KeyboardInterrupt:
    print("interrupted", stop.is_set())
"""


def test_ctrl_c_is_heard_though_the_system_gives_it_to_another_thread():
    ended = subprocess.run([sys.executable, "-c", SIGNALLED], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "interrupted True\n"


def test_waiting_ends_with_the_event_or_with_the_time():
    event = threading.Event()
    assert not waited(event, 0.01)
    threading.Timer(0.05, event.set).start()
    assert waited(event, 60)
