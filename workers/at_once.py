"""One function over many items in threads: for work that waits for a network."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def at_once(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int, stop: Callable[[], None] = lambda: None
) -> Generator[tuple[Item, Future[Result]], None, None]:
    """(item, its finished future) in the order in which they finish; `future.result()` gives the result or raises what the call raised.

    At most twice `threads` items are taken in advance, so `items` may be long. When the caller leaves early (close the generator), what has
    not begun is given up, `stop` is called, which should make the function's own waiting end, and what has begun is waited for.
    """
    queue = iter(items)
    pool = ThreadPoolExecutor(threads, thread_name_prefix="at-once")
    pending: dict[Future[Result], Item] = {}
    try:
        while True:
            for item in islice(queue, 2 * threads - len(pending)):
                pending[pool.submit(copy_context().run, function, item)] = item  # so that its notes go where the caller's go
            if not pending:
                return
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                yield pending.pop(future), future
    finally:
        if pending:
            stop()
        pool.shutdown(wait=True, cancel_futures=True)
