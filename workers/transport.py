"""Polite HTTP to EDGAR, and the seam of all network tests: one identity, one limiter, retries, block page.

EDGAR allows ten requests a second per user, whatever number of machines, over all of its hosts. So the pace is kept in one small file
per user of this machine, shared by every process; it is even, without bursts. A block page stops everyone. Sources: sec.gov/developer
and the texts of the two refusal pages.
"""

from __future__ import annotations

import random
import re
import socket
import ssl
import threading
import time
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, NoReturn, Protocol, TypeVar
from urllib.parse import urlsplit

import httpx

from edgarmill.schemas.errors import BadFile, Blocked, FetchFailed, SettingsError, Stopped, TooLarge
from edgarmill.schemas.settings import Settings
from edgarmill.workers.at_once import waited
from edgarmill.workers.pace import Pace, Silence, site_of

RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
MOST_PER_SECOND = 9.25  # whatever the setting: an even 10 are 11 in some second of the server's clock
LONGEST_WAIT_SECONDS = 120.0  # of one back-off; a longer Retry-After is cut to it
REFUSALS_IN_A_ROW = 3  # block pages with no good answer between them; the next one ends the run
HEAD_BYTES = 8192  # of an answer are looked at before any of it is kept: a refusal stands within
ERROR_BYTES = 2**16  # of a page that tells of an error
UNPACKED = 2**16  # bytes of a piece at most: with 16 answers at a time, pieces of 1 MB cost 45 MB more
SLOWEST = 20  # a whole answer may take this many times the time-out of one read
CONTACT = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")
REFUSALS = re.compile(
    rb"<(?:title|h1)[^>]*>[^<]*(Undeclared Automated Tool|Request Rate Threshold Exceeded|exceeded the SEC.{1,8}s Traffic)", re.I)
Kept = TypeVar("Kept", covariant=True)
NEVER_HTML = re.compile(r"\.json$|\.idx$|/\d{10}-\d{2}-\d{6}\.txt$")


class _Again(Exception):
    """This attempt failed in a way that may pass; `wait` in seconds where the server named one."""

    def __init__(self, what: str, wait: float | None = None, status: int | None = None) -> None:
        super().__init__(what)
        self.what, self.wait, self.status = what, wait, status


def identity(settings: Settings) -> str:
    """The declared User-Agent. Raises SettingsError where it is empty, names no contact, or cannot be sent."""
    agent = settings.user_agent.strip()
    if not agent.isascii() or not agent.isprintable() or not CONTACT.search(agent):
        what = "no user_agent is set" if not agent else "user_agent has no contact address"
        raise SettingsError(what, "user_agent", "EDGAR asks who you are: set EDGARMILL_USER_AGENT='Company name you@company.example', "
                                                "or user_agent in edgarmill.toml.")
    return agent


class _Refused(Silence):
    """A block page came for this request, and began the pause."""


class Sink(Protocol[Kept]):
    """Takes one answer's bytes, piece by piece. `finish` gives what is kept of them, or raises BadFile: then it is asked for again."""

    def write(self, piece: bytes, /) -> object: ...
    def finish(self) -> Kept: ...


class Memory:
    """A sink that keeps all bytes."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, piece: bytes) -> None:
        self._pieces.append(piece)

    def finish(self) -> bytes:
        return b"".join(self._pieces)


class Transport:
    """GET with manners. One per process; threads share it. `requests` counts what was really sent, `received` the bytes that came.

    `note` gets a line when everyone has to wait. `clock`, `sleep` and `jitter` are arguments so that tests need no time; `pace_folder`
    replaces the per-user folder.
    """

    def __init__(self, settings: Settings, *, note: Callable[[str], None] = lambda line: None, clock: Callable[[], float] = time.time,
                 sleep: Callable[[float], None] | None = None, jitter: Callable[[], float] = random.random,
                 pace_folder: str | None = None) -> None:
        self._settings, self._note, self._clock, self._jitter = settings, note, clock, jitter
        self._sleep, self._pace_folder = sleep or self._wait, pace_folder
        self._paces: dict[str, Pace] = {}
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._refusals, self._silent_until, self._welcome = 0, 0.0, False
        self.requests = self.received = 0
        self._headers = {"User-Agent": identity(settings), "Accept-Encoding": "gzip"}
        self._clients: dict[bool, httpx.Client] = {}

    def get(self, url: str, max_bytes: int | None = None) -> bytes:
        """The whole body, decoded. Raises FetchFailed, TooLarge (this address), Blocked (all must wait), StorageError, SettingsError."""
        return self.download(url, lambda: nullcontext(Memory()), max_bytes)

    def download(self, url: str, sink: Callable[[], AbstractContextManager[Sink[Kept]]], max_bytes: int | None = None) -> Kept:
        """What `finish` gives of the whole body, decoded; each try gets a sink of its own. Raises as `get`, and Stopped."""
        limit = max_bytes or self._settings.max_filing_bytes
        failed = refused = 0
        while True:
            self._check_going()
            try:
                return self._once(url, sink, limit)
            except _Refused:
                refused += 1
                if refused > REFUSALS_IN_A_ROW:  # while others are answered: to stop everyone for it again would never end
                    raise FetchFailed(f"a block page came {refused} times", _shown(url), "Run again later.", 200) from None
            except Silence:
                continue
            except _Again as failure:
                failed += 1
                if failed > self._settings.request_retries and not self._stopped.is_set():
                    raise FetchFailed(f"{failure.what}, {failed} times", _shown(url), "Run again later; what is done stays done.",
                                      failure.status) from None
                self._back_off(url, failed, failure.wait)

    def stop(self) -> None:
        """Ends all that is under way: every waiting and every open answer, in whatever thread, ends with Stopped."""
        self._stopped.set()
        with self._lock:
            sockets = list(self._sockets)
        for one in sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients = {}

    def __enter__(self) -> Transport:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _once(self, url: str, sink: Callable[[], AbstractContextManager[Sink[Kept]]], limit: int) -> Kept:
        """One request. Raises _Again, Silence (a pause began meanwhile: nothing was sent) and what `get` raises."""
        pace = self._pace(url)
        pace.listen()  # before a connection is opened, which would not outlive it
        sent = [0.0]

        def event(name: str, info: Mapping[str, Any]) -> None:
            if name == "http11.send_request_headers.started":  # the connection stands: this is the moment of leaving
                pace.take(patient=False)
                self._check_going()
                sent[0] = self._clock()
                with self._lock:
                    self.requests += 1
            elif name in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
                with self._lock:
                    self._sockets.add(info["return_value"].get_extra_info("socket"))

        try:
            with self._client(_local(url)).stream("GET", url, extensions={"trace": event}) as response:
                return self._taken(url, response, sink, limit, sent[0])
        except (httpx.UnsupportedProtocol, httpx.InvalidURL):
            raise SettingsError("not an address", _shown(url), "Check edgar_url and edgar_data_url: they begin with https://.") from None
        except httpx.TimeoutException:
            raise _Again("no answer in time") from None
        except httpx.TransportError as error:
            raise _Again(f"connection failed ({type(error).__name__})") from None

    def _taken(self, url: str, response: httpx.Response, sink: Callable[[], AbstractContextManager[Sink[Kept]]], limit: int,
               sent: float) -> Kept:
        good = response.status_code == 200
        pieces = self._pieces(response, limit if good else min(limit, ERROR_BYTES))
        try:
            head = _at_least(HEAD_BYTES, pieces)
        except TooLarge:
            if good:
                raise
            head = b""  # of an error page only its beginning matters
        if refusal := refusal_of(head):
            self._refused(_shown(url), refusal, sent)
        _check_status(url, response.status_code, self._retry_after(response.headers.get("retry-after", "")))
        _check_head(url, head)
        with sink() as taker:
            taker.write(head)
            for piece in pieces:
                taker.write(piece)
            try:
                kept = taker.finish()
            except BadFile as error:
                raise _Again(error.what, status=200) from None
        with self._lock:
            self._welcome = True
            if sent >= self._silent_until:  # what was under way when a block began says nothing of its end
                self._refusals = 0
        return kept

    def _client(self, local: bool) -> httpx.Client:
        """One client for this machine, without the environment's proxy and without the costly load of certificates, one for the world."""
        with self._lock:
            if local not in self._clients:
                verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if local else True
                many = max(self._settings.fetch_at_once, 1) + 4
                limits = httpx.Limits(max_connections=many, max_keepalive_connections=many, keepalive_expiry=30.0)
                self._clients[local] = httpx.Client(headers=self._headers, timeout=self._settings.request_timeout_seconds,
                                                    trust_env=not local, verify=verify, limits=limits)
            return self._clients[local]

    def _pieces(self, response: httpx.Response, limit: int) -> Iterator[bytes]:
        """The decoded body, at most `limit` bytes. The unpacking is ours: httpx takes a cut gzip stream for whole."""
        deadline = self._clock() + SLOWEST * self._settings.request_timeout_seconds
        length = response.headers.get("content-length", "")
        packed = response.headers.get("content-encoding", "identity").lower()
        if packed not in ("identity", "gzip", "x-gzip"):
            raise _Again(f"an encoding that was not asked for ({packed[:20]!r})")
        todo = "Raise max_filing_bytes to take it."
        if length.isdecimal() and int(length) > limit:
            raise TooLarge(f"{int(length):,} bytes, more than {limit:,}", _shown(str(response.url)), todo)
        unpack = _Gzip() if packed != "identity" else None
        room = limit + 1
        for data in response.iter_raw():
            for part in unpack.pieces(data, room) if unpack else (data,):
                room -= len(part)
                if room <= 0:
                    raise TooLarge(f"more than {limit:,} bytes", _shown(str(response.url)), todo)
                yield part
            if self._clock() > deadline:
                raise _Again("an answer that does not end")
            self._check_going()
        came = response.num_bytes_downloaded
        with self._lock:
            self.received += came
        if (length.isdecimal() and int(length) != came) or (unpack and came and not unpack.whole):
            raise _Again("a cut answer")

    def _refused(self, shown: str, refusal: str, sent: float) -> NoReturn:
        """After a block page everyone is silent, since asking on extends the block; then it is tried again.

        What was under way when the block began tells nothing new. Raises Silence (to be asked again once the pause is over), or Blocked
        where the refusals come too often in a row.
        """
        with self._lock:
            if sent >= self._silent_until:
                if "undeclared" in refusal.lower() and not self._welcome:
                    todo = "Check user_agent (company, contact address), wait, run again."
                    raise Blocked("EDGAR takes us for an undeclared tool", shown, todo)
                pause = self._settings.block_pause_seconds
                self._refusals += 1
                self._silent_until = self._clock() + pause
                self._pace(shown).silence(pause)
                if self._refusals > REFUSALS_IN_A_ROW:
                    raise Blocked("EDGAR's request limit was exceeded", shown, self._later())
                until = datetime.fromtimestamp(self._silent_until).strftime("%H:%M:%S")
                self._note(f"EDGAR refused a request ({refusal}): no request until {until}")
                raise _Refused
        raise Silence

    def _later(self) -> str:
        minutes = max(1, round(self._settings.block_pause_seconds / 60))
        return f"Wait {minutes} minutes and run the same command again; what is done stays done. Lower requests_per_second if it recurs."

    def _back_off(self, url: str, failed: int, wait: float | None) -> None:
        if wait is not None:  # named by the server: it holds for everyone
            self._pace(url).silence(min(wait, LONGEST_WAIT_SECONDS))
        else:
            self._sleep(min(0.25 * 2**failed, LONGEST_WAIT_SECONDS) * (0.5 + self._jitter()))

    def _wait(self, seconds: float) -> None:
        waited(self._stopped, seconds)
        self._check_going()

    def _check_going(self) -> None:
        if self._stopped.is_set():
            raise Stopped("the download was stopped", todo="Run the command again to go on.")

    def _pace(self, url: str) -> Pace:
        site = site_of(url)
        if site not in self._paces:
            self._paces[site] = Pace(site, min(self._settings.requests_per_second, MOST_PER_SECOND), folder=self._pace_folder,
                                     clock=self._clock, sleep=self._sleep)
        return self._paces[site]

    def _retry_after(self, value: str) -> float | None:
        """Seconds of a Retry-After header, which may be a number or a date."""
        if value.strip().isdecimal():
            return float(value)
        try:
            when = parsedate_to_datetime(value)
        except (TypeError, ValueError, OverflowError):
            return None
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return max(0.0, (when - datetime.fromtimestamp(self._clock(), UTC)).total_seconds())


class _Gzip:
    """Unpacks a gzip stream, which may have several members, one behind the other. `whole` once the last one has ended."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(16 + zlib.MAX_WBITS)

    @property
    def whole(self) -> bool:
        return self._member.eof

    def pieces(self, data: bytes, room: int) -> Iterator[bytes]:
        """Content of `data` in pieces of at most UNPACKED bytes, `room` in all: a small packed piece may hold a thousand times its size."""
        while data and room > 0:
            if self._member.eof:
                self._member = zlib.decompressobj(16 + zlib.MAX_WBITS)
            try:
                part = self._member.decompress(data, min(room, UNPACKED))
            except zlib.error:
                raise _Again("a damaged gzip stream") from None
            data = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            room -= len(part)
            yield part


def _at_least(size: int, pieces: Iterator[bytes]) -> bytes:
    """The first pieces joined, until they hold `size` bytes or end."""
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= size:
            break
    return head


def refusal_of(body: bytes) -> str:
    """Which of EDGAR's two refusal pages this is, or "". By the body: they came with 403, 429 and 200."""
    found = REFUSALS.search(body, 0, 8192) if body[:200].lstrip()[:1] == b"<" else None
    return found[1].decode("latin-1") if found else ""


def _check_status(url: str, status: int, wait: float | None) -> None:
    if status in RETRIED:
        raise _Again(f"status {status}", wait, status)
    if status == 404:
        raise FetchFailed("not there (404)", _shown(url), "Check the accession or the address; EDGAR may have withdrawn it.", 404)
    if status != 200:
        raise FetchFailed(f"status {status}", _shown(url), "Open the address in a browser to see why.", status)


def _check_head(url: str, head: bytes) -> None:
    if not head:
        raise _Again("an empty answer")
    start = head[:500].lstrip().lower()
    if NEVER_HTML.search(urlsplit(url).path) and start.startswith((b"<!doctype html", b"<html")):
        raise _Again("a web page in place of the file")


def _local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _shown(url: str) -> str:
    """The address without user, password and query."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"
