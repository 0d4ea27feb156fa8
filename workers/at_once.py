"""One function over many items in threads, and waiting in a way that hears Ctrl-C: for work that waits for a network."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from itertools import islice
from queue import Empty, SimpleQueue
from typing import TypeVar

WAKE = 0.5  # seconds between looks for a Ctrl-C that the system gave to another thread: it does not wake this one

Item = TypeVar("Item")
Result = TypeVar("Result")


def at_once(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int, stop: Callable[[], None] = lambda: None
) -> Generator[tuple[Item, Future[Result]], None, None]:
    """(item, its finished future) in the order in which they finish; `future.result()` gives the result or raises what the call raised.

    At most twice `threads` items are taken in advance, so `items` may be long. When the caller leaves early (close the generator), what has
    not begun is given up, `stop` is called, which should make the function's own waiting end, and what has begun is waited for.
    """
    queue, finished = iter(items), SimpleQueue[Future[Result]]()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="at-once")
    pending: dict[Future[Result], Item] = {}
    whole = False
    try:
        while True:
            for item in islice(queue, 2 * threads - len(pending)):
                future = pool.submit(copy_context().run, function, item)  # so that its notes go where the caller's go
                pending[future] = item
                future.add_done_callback(finished.put)
            if not pending:
                whole = True
                return
            future = _next(finished)
            yield pending.pop(future), future
    finally:
        if not whole:  # whatever `pending` says: a Ctrl-C within `submit` leaves a call that it does not know
            stop()
        pool.shutdown(wait=True, cancel_futures=True)


def _next(finished: SimpleQueue[Future[Result]]) -> Future[Result]:
    while True:
        try:
            return finished.get(timeout=WAKE)
        except Empty:
            continue


def waited(event: threading.Event, seconds: float = math.inf) -> bool:
    """`event.wait(seconds)` that a Ctrl-C ends even where the system gave the signal to another thread."""
    last = time.monotonic() + seconds
    while not event.is_set() and (left := last - time.monotonic()) > 0:
        event.wait(min(left, WAKE))
    return event.is_set()
