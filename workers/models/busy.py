"""How long a server of our own worked for each filing: its GPUs cost by the hour, whatever the tokens."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager


class Busy:
    """Seconds in which calls were under way, shared out among those under way at the time: together they are the time in which any was.

    One per process. Where several processes ask one server at the same time each takes all of that time, so the sum is an upper bound.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock, self._lock, self._last = clock, threading.Lock(), 0.0
        self._under_way: dict[Hashable, int] = {}
        self._seconds: dict[Hashable, float] = {}

    @contextmanager
    def during(self, payer: Hashable) -> Iterator[None]:
        """A call for that payer."""
        with self._lock:
            self._share_out()
            self._under_way[payer] = self._under_way.get(payer, 0) + 1
        try:
            yield
        finally:
            with self._lock:
                self._share_out()
                self._under_way[payer] -= 1
                if not self._under_way[payer]:
                    del self._under_way[payer]

    def seconds(self, payer: Hashable) -> float:
        with self._lock:
            self._share_out()
            return self._seconds.get(payer, 0.0)

    def _share_out(self) -> None:
        now = self._clock()
        calls = sum(self._under_way.values())
        for payer, count in self._under_way.items():
            self._seconds[payer] = self._seconds.get(payer, 0.0) + (now - self._last) * count / calls
        self._last = now
