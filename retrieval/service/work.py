"""Where searching is done: a few threads beside the event loop, which stays free to answer who asks for health.

What cannot be begun within the limits is refused, not queued without end; what takes too long is answered so, and its thread counts as
busy until it really ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from edgarmill.retrieval.service.failures import TooBusy, TooSlow
from edgarmill.retrieval.service.metrics import Metrics

T = TypeVar("T")


class Work:
    """`threads` search at once; `most` requests may be under way, those that wait for a thread included; each has `seconds`."""

    def __init__(self, threads: int, most: int, seconds: float, metrics: Metrics) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="search")
        self._most, self._seconds, self._metrics = most, seconds, metrics
        self._under_way = 0  # touched on the event loop alone

    async def run(self, do: Callable[[], T]) -> T:
        """Raises TooBusy, TooSlow, and what `do` raises."""
        if self._under_way >= self._most:
            raise TooBusy(f"{self._under_way} requests are under way, as many as may be", "", "Ask again in a second.")
        loop = asyncio.get_running_loop()
        future = self._pool.submit(do)
        self._count(1)
        future.add_done_callback(lambda done: self._ended(loop, done))
        ended, _ = await asyncio.wait({waiting := asyncio.wrap_future(future)}, timeout=self._seconds)
        if not ended:
            waiting.cancel()  # one that has no thread yet never gets one
            raise TooSlow(f"no answer within {self._seconds:g} seconds", "", "Ask for less, or again when there is less to do.")
        return waiting.result()

    def close(self) -> None:
        """Begins nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _ended(self, loop: asyncio.AbstractEventLoop, done: Future[Any]) -> None:
        """Called by the thread that did it, or by the loop for what was never begun."""
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._count, -1)

    def _count(self, change: int) -> None:
        self._under_way += change
        self._metrics.under_way.set(self._under_way)
