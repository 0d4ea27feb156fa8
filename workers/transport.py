"""Polite HTTP to EDGAR, and the seam of all network tests: one identity, one limiter, retries, block page.

EDGAR allows ten requests a second per user, whatever number of machines, over all of its hosts. So the pace is kept in one small file
per user of this machine, shared by every process; it is even, without bursts. A block page stops everyone. Sources: sec.gov/developer
and the texts of the two refusal pages.
"""

from __future__ import annotations

import fcntl
import os
import random
import re
import ssl
import stat
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

import httpx

from edgarmill.schemas.errors import Blocked, FetchFailed, SettingsError, StorageError, TooLarge
from edgarmill.schemas.settings import Settings

RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
LONGEST_WAIT_SECONDS = 120.0  # of one back-off; a longer Retry-After is cut to it
SLOWEST = 20  # a whole answer may take this many times the time-out of one read
CONTACT = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")
REFUSALS = re.compile(
    rb"<(?:title|h1)[^>]*>[^<]*(Undeclared Automated Tool|Request Rate Threshold Exceeded|exceeded the SEC.{1,8}s Traffic)", re.I)
NEVER_HTML = re.compile(r"\.json$|\.idx$|/\d{10}-\d{2}-\d{6}\.txt$")


class _Again(Exception):
    """This attempt failed in a way that may pass; `wait` in seconds where the server named one."""

    def __init__(self, what: str, wait: float | None = None) -> None:
        super().__init__(what)
        self.what, self.wait = what, wait


def identity(settings: Settings) -> str:
    """The declared User-Agent. Raises SettingsError where it is empty, names no contact, or cannot be sent."""
    agent = settings.user_agent.strip()
    if not agent.isascii() or not agent.isprintable() or not CONTACT.search(agent):
        what = "no user_agent is set" if not agent else "user_agent has no contact address"
        raise SettingsError(what, "user_agent", "EDGAR asks who you are: set EDGARMILL_USER_AGENT='Company name you@company.example', "
                                                "or user_agent in edgarmill.toml.")
    return agent


class Pace:
    """Time slots for requests to one site, shared by all processes of this user through a locked file.

    The file holds two wall-clock times: the next free slot, and until when everyone must be silent.
    """

    def __init__(self, site: str, per_second: float, *, folder: str | None = None,
                 clock: Callable[[], float] = time.time, sleep: Callable[[float], None] = time.sleep) -> None:
        self._path = _private_folder(folder) / f"pace-{re.sub(r'[^a-z0-9.-]', '_', site.lower())}"
        self._interval, self._clock, self._sleep = 1.0 / per_second, clock, sleep

    def take(self) -> None:
        """Waits for the next slot. A silence that begins while waiting is waited for as well."""
        while True:
            with self._times() as times:
                now = self._clock()
                slot = max(now, times[0], times[1])
                times[0] = slot + self._interval
            self._sleep(slot - now)
            with self._times() as times:
                if times[1] <= self._clock():
                    return

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
            times = _read_times(os.read(handle, 100), self._clock())
            yield times
            os.pwrite(handle, f"{times[0]:.6f} {times[1]:.6f}".ljust(60).encode(), 0)
        finally:
            os.close(handle)


def _read_times(data: bytes, now: float) -> list[float]:
    """Two times; a broken file, or one from before a change of the clock, counts for nothing."""
    try:
        slot, silent = (float(word) for word in data.split())
    except ValueError:
        return [0.0, 0.0]
    hour = 3600.0
    return [slot if slot < now + hour else 0.0, silent if silent < now + 24 * hour else 0.0]


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


class Transport:
    """GET with manners. One per process; threads may share it. `requests` counts what was really sent.

    `clock`, `sleep` and `jitter` are arguments so that tests need no time; `pace_folder` replaces the per-user folder.
    """

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time, sleep: Callable[[float], None] = time.sleep,
                 jitter: Callable[[], float] = random.random, pace_folder: str | None = None) -> None:
        self._settings, self._clock, self._sleep, self._jitter = settings, clock, sleep, jitter
        self._pace_folder = pace_folder
        self._paces: dict[str, Pace] = {}
        self.requests = 0
        self._headers = {"User-Agent": identity(settings), "Accept-Encoding": "gzip"}
        self._clients: dict[bool, httpx.Client] = {}

    def get(self, url: str, max_bytes: int | None = None) -> bytes:
        """The whole body, decoded. Raises FetchFailed, TooLarge (this address), Blocked (all must wait), StorageError, SettingsError."""
        limit = max_bytes or self._settings.max_filing_bytes
        shown = _shown(url)
        refused = False
        tries = self._settings.request_retries + 1
        for attempt in range(tries):
            try:
                status, body, wait = self._once(url, limit)
                if refusal := refusal_of(body):
                    self._refuse(shown, refusal, give_up=refused or attempt + 1 == tries)
                    refused = True
                    continue
                return _accept(url, status, body, wait)
            except _Again as failure:
                if attempt + 1 == tries:
                    raise FetchFailed(f"{failure.what}, {tries} times", shown, "Run again later; what is done stays done.") from None
                self._back_off(url, attempt, failure.wait)
        raise Blocked("EDGAR refused the request", shown, self._later())

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients = {}

    def __enter__(self) -> Transport:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _once(self, url: str, limit: int) -> tuple[int, bytes, float | None]:
        self._pace(url).take()
        self.requests += 1
        deadline = self._clock() + SLOWEST * self._settings.request_timeout_seconds
        try:
            with self._client(_local(url)).stream("GET", url) as response:
                body = self._body(response, limit, deadline)
                return response.status_code, body, self._retry_after(response.headers.get("retry-after", ""))
        except (httpx.UnsupportedProtocol, httpx.InvalidURL):
            raise SettingsError("not an address", _shown(url), "Check edgar_url and edgar_data_url: they begin with https://.") from None
        except httpx.TimeoutException:
            raise _Again("no answer in time") from None
        except httpx.TransportError as error:
            raise _Again(f"connection failed ({type(error).__name__})") from None

    def _client(self, local: bool) -> httpx.Client:
        """One client for this machine, without the environment's proxy and without the costly load of certificates, one for the world."""
        if local not in self._clients:
            verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if local else True
            timeout = self._settings.request_timeout_seconds
            self._clients[local] = httpx.Client(headers=self._headers, timeout=timeout, trust_env=not local, verify=verify)
        return self._clients[local]

    def _body(self, response: httpx.Response, limit: int, deadline: float) -> bytes:
        """Reads and unpacks at most `limit` bytes. The unpacking is ours: httpx takes a cut gzip stream for whole."""
        length = response.headers.get("content-length", "")
        packed = response.headers.get("content-encoding", "identity").lower()
        if packed not in ("identity", "gzip", "x-gzip"):
            raise _Again(f"an encoding that was not asked for ({packed[:20]!r})")
        if length.isdecimal() and int(length) > limit:
            raise TooLarge(f"{int(length):,} bytes, more than {limit:,}", _shown(str(response.url)), "Raise max_filing_bytes to take it.")
        unpack = zlib.decompressobj(16 + zlib.MAX_WBITS) if packed != "identity" else None
        parts: list[bytes] = []
        room = limit + 1
        for data in response.iter_raw():
            try:
                part = unpack.decompress(data, room) if unpack else data
            except zlib.error:
                raise _Again("a damaged gzip stream") from None
            parts.append(part)
            room -= len(part)
            if room <= 0:
                raise TooLarge(f"more than {limit:,} bytes", _shown(str(response.url)), "Raise max_filing_bytes to take it.")
            if self._clock() > deadline:
                raise _Again("an answer that does not end")
        came = response.num_bytes_downloaded
        if (length.isdecimal() and int(length) != came) or (unpack and came and not unpack.eof):
            raise _Again("a cut answer")
        return b"".join(parts)

    def _refuse(self, shown: str, refusal: str, give_up: bool) -> None:
        """After a block page: everyone is silent. Asking on extends the block, so one more try follows the pause and no other."""
        if "undeclared" in refusal.lower():
            raise Blocked("EDGAR takes us for an undeclared tool", shown, "Check user_agent (company, contact address), wait, run again.")
        self._pace(shown).silence(self._settings.block_pause_seconds)
        if give_up:
            raise Blocked("EDGAR's request limit was exceeded", shown, self._later())

    def _later(self) -> str:
        minutes = max(1, round(self._settings.block_pause_seconds / 60))
        return f"Wait {minutes} minutes and run the same command again; what is done stays done. Lower requests_per_second if it recurs."

    def _back_off(self, url: str, attempt: int, wait: float | None) -> None:
        if wait is not None:  # named by the server: it holds for everyone
            self._pace(url).silence(min(wait, LONGEST_WAIT_SECONDS))
        else:
            self._sleep(min(0.5 * 2**attempt, LONGEST_WAIT_SECONDS) * (0.5 + self._jitter()))

    def _pace(self, url: str) -> Pace:
        site = site_of(url)
        if site not in self._paces:
            self._paces[site] = Pace(site, self._settings.requests_per_second, folder=self._pace_folder,
                                     clock=self._clock, sleep=self._sleep)
        return self._paces[site]

    def _retry_after(self, value: str) -> float | None:
        """Seconds of a Retry-After header, which may be a number or a date."""
        if value.strip().isdecimal():
            return float(value)
        try:
            when = parsedate_to_datetime(value)
        except (TypeError, ValueError):
            return None
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return max(0.0, (when - datetime.fromtimestamp(self._clock(), UTC)).total_seconds())


def refusal_of(body: bytes) -> str:
    """Which of EDGAR's two refusal pages this is, or "". By the body: they came with 403, 429 and 200."""
    found = REFUSALS.search(body, 0, 8192) if body[:200].lstrip()[:1] == b"<" else None
    return found[1].decode("latin-1") if found else ""


def _accept(url: str, status: int, body: bytes, wait: float | None) -> bytes:
    if status in RETRIED:
        raise _Again(f"status {status}", wait)
    if status == 404:
        raise FetchFailed("not there (404)", _shown(url), "Check the accession or the address; EDGAR may have withdrawn it.")
    if status != 200:
        raise FetchFailed(f"status {status}", _shown(url), "Open the address in a browser to see why.")
    head = body[:500].lstrip().lower()
    if NEVER_HTML.search(urlsplit(url).path) and head.startswith((b"<!doctype html", b"<html")):
        raise _Again("a web page in place of the file")
    return body


def _local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _shown(url: str) -> str:
    """The address without user, password and query."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"
