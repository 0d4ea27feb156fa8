"""A cache bounded by bytes: what a server makes anew for each request though it stays the same."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")
STRIPES = 16  # makers of different keys seldom wait for each other; of one key they always do


class Kept(Generic[T]):
    """Values by key, the longest unused dropped first once their `size` passes `limit` bytes. Threads may share it."""

    def __init__(self, limit: int, size: Callable[[T], int]) -> None:
        self._limit, self._size, self._held = limit, size, 0
        self._values: OrderedDict[Hashable, T] = OrderedDict()
        self._lock, self._making = threading.Lock(), [threading.Lock() for _ in range(STRIPES)]

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value kept, or one made now; two threads do not make the same one. What `make` raises goes through and keeps nothing."""
        with self._making[hash(key) % STRIPES]:
            with self._lock:
                if key in self._values:
                    self._values.move_to_end(key)
                    return self._values[key]
            value = make()
            with self._lock:
                self._keep(key, value)
            return value

    def _keep(self, key: Hashable, value: T) -> None:
        size = self._size(value)
        if size > self._limit // 2:
            return
        self._values[key] = value
        self._held += size
        while self._held > self._limit:
            self._held -= self._size(self._values.popitem(last=False)[1])
