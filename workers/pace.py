"""When a request may leave: time slots for one site, shared by every process of this user.

EDGAR allows ten requests a second per user, whatever number of machines, over all of its hosts; a block page stops everyone.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from edgarmill.schemas.errors import StorageError

RESOLUTION = 2e-6  # seconds; what the file keeps is rounded to one millionth
CLOSEST = 0.108  # seconds: eleven requests then span 1.08 s, and may arrive some hundredths nearer together than they left
FARTHEST = 60.0  # seconds from now at which the next slot can truly be
IDLE = 1.0  # seconds after which a free slot was not missed but not wanted


class Silence(Exception):
    """A pause for everyone is on: nothing is sent."""


class Pace:
    """Time slots for requests to one site, shared by all processes of this user through a locked file.

    The file holds two wall-clock times: when the next request may leave, and until when everyone must be silent. The slot is taken at the
    moment of leaving and never in advance: a process that was held up cannot send what it missed in a burst. Lateness is made good by at
    most a tenth of an interval per request, so that at 8 a second no second ever sees more than 9 leave.
    """

    def __init__(self, site: str, per_second: float, *, folder: str | None = None, farthest: float = FARTHEST,
                 clock: Callable[[], float] = time.time, sleep: Callable[[float], None] = time.sleep) -> None:
        self._path = _private_folder(folder) / f"pace-{re.sub(r'[^a-z0-9.-]', '_', site.lower())}"
        self._interval, self._clock, self._sleep = 1.0 / per_second, clock, sleep
        self._farthest = max(farthest, 2 * self._interval)
        self._turn = threading.Lock()  # of this process's threads one stands at the gate

    def take(self, patient: bool = True, slots: float = 1.0) -> None:
        """Waits for the next slot and takes it, and those after it where more `slots` than one are wanted (tokens of one request).

        A silence is waited for as well, or raises Silence where the caller is not `patient`.
        """
        with self._turn:
            while True:
                with self._times() as times:
                    now = self._clock()
                    if times[1] - now >= RESOLUTION and not patient:
                        raise Silence
                    due = max(times[0], times[1])
                    if due - now < RESOLUTION:
                        late = max(0.0, now - due)
                        made_good = min(late, 0.1 * self._interval) if late < IDLE else 0.0
                        times[0] = now + (slots - 1.0) * self._interval + max(self._interval - made_good, min(CLOSEST, self._interval))
                        return
                self._sleep(due - now)

    def listen(self) -> None:
        """Waits for the end of a silence."""
        while True:
            with self._times() as times:
                left = times[1] - self._clock()
            if left < RESOLUTION:
                return
            self._sleep(left)

    def silence(self, seconds: float) -> None:
        """No one sends anything for so long from now."""
        with self._times() as times:
            times[1] = max(times[1], self._clock() + seconds)

    @contextmanager
    def _times(self) -> Iterator[list[float]]:
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _unkept(error, self._path) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            times = _read_times(os.read(handle, 100), self._clock(), self._farthest)
            yield times
            os.pwrite(handle, f"{times[0]:.6f} {times[1]:.6f}".ljust(60).encode(), 0)
        finally:
            os.close(handle)


def _read_times(data: bytes, now: float, farthest: float) -> list[float]:
    """Two times; a broken file, or one from before the clock was set back, counts for nothing."""
    try:
        slot, silent = (float(word) for word in data.split())
    except ValueError:
        return [0.0, 0.0]
    return [slot if slot < now + farthest else 0.0, silent if silent < now + 86_400.0 else 0.0]


def _private_folder(folder: str | None) -> Path:
    """A folder for the pace files that only this user can write to. Raises StorageError."""
    path = Path(folder or Path(tempfile.gettempdir()) / f"edgarmill-{os.getuid()}")
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        raise _unkept(error, path) from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise StorageError("the folder of the request pace belongs to someone else", str(path), "Remove it, or set TMPDIR.")
    return path


def _unkept(error: OSError, path: Path) -> StorageError:
    return StorageError(f"the request pace cannot be kept: {error.strerror}", str(path), "Set TMPDIR to a writable folder.")


def site_of(url: str) -> str:
    """What shares one limit: the registered domain (www.sec.gov and data.sec.gov are one user's budget), or host and port."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    numeric = host.replace(".", "").isdecimal() or ":" in host
    if numeric or "." not in host:
        return f"{host}_{parts.port or 80}"
    return ".".join(host.split(".")[-2:])
