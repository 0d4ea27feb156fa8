"""What one filing may take, and what it took."""

from __future__ import annotations

import ctypes
import gc
import resource
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from edgarmill.schemas.errors import TooLarge


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises TooLarge in this thread once it has used so many CPU seconds; 0 = no limit.

    Not by signal: Ray runs an actor's work beside its main thread. A call into C is interrupted when it returns.
    """
    if not seconds:
        yield
        return
    thread, over, lock = threading.get_ident(), threading.Event(), threading.Lock()
    spent = _clock_of(thread)
    deadline = spent() + seconds

    def watch() -> None:
        while not over.wait(max(0.05, deadline - spent())):
            with lock:
                if not over.is_set() and spent() >= deadline:
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_OverTime))
                    return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        try:
            yield
        finally:  # within the outer try: it may strike while the watch is being called off
            with lock:
                over.set()
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None)
    except _OverTime:
        raise TooLarge(f"took more than {seconds:g} CPU seconds", todo="Raise parse_seconds if the file is worth it.") from None
    finally:
        over.set()


def _clock_of(thread: int) -> Callable[[], float]:
    """CPU seconds of a thread; where the system does not tell them (macOS), plain seconds."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    clock = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(clock)


class _OverTime(BaseException):
    """Raised by the watcher; no BaseException handler of a parser's library swallows it by accident."""


@contextmanager
def memory_limit(size: int) -> Iterator[None]:
    """Raises TooLarge when the process would grow by more than so many bytes of address space; 0 = no limit.

    By the kernel (RLIMIT_AS), so it strikes inside C too. Where the system does not tell a process its size (macOS), there is no limit.
    """
    held = address_bytes()
    if not size or not held:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    ceiling = held + size
    known = [limit for limit in (ceiling, *before) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(known), before[1]))
    try:
        yield
    except MemoryError:
        raise TooLarge(f"needs more than {size:,} bytes of memory", todo="Raise parse_memory_bytes if the file is worth it.") from None
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextmanager
def uncollected() -> Iterator[None]:
    """No search for reference cycles meanwhile: a filing makes a million objects and no cycle, and the search takes a sixth of its time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def address_bytes() -> int:
    """Address space of this process; 0 where the system does not tell it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def peak_bytes() -> int:
    """Peak resident memory of this process so far (ru_maxrss is in KiB on Linux)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
