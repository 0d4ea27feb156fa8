"""A local EDGAR: real HTTP on this machine's loopback, answering from a folder of filings under EDGAR's own addresses.

    with serving("filings") as server:
        Settings(edgar_url=server.url, edgar_data_url=server.url, user_agent="Me me@company.example")

It refuses as EDGAR does: an undeclared User-Agent, and more than ten requests in any second (then everything for a time-out, which
further requests extend). One server stands for both hosts; the path tells which is meant. `script` is the seam for faults: it sees each
request first and may give another answer (edgarmill.sample.faults has many). Each connection has its thread: a slow answer delays no other.
"""

from __future__ import annotations

import bisect
import gzip
import os
import re
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from edgarmill.sample.addresses import page
from edgarmill.sample.archive import Archive, as_of, read_archive
from edgarmill.sample.kept import Kept
from edgarmill.sample.recorded import Recorded, read_recorded
from edgarmill.schemas.errors import UsageError

DECLARED = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")
REFUSAL = """<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Replay | {title}</title></head>
<body><h1>{title}</h1><p>{text}</p><p>This is the local replay server of edgarmill, not EDGAR.</p></body></html>
"""
UNDECLARED = REFUSAL.format(title="Your Request Originates from an Undeclared Automated Tool",
                            text="Say who you are: a User-Agent header with a company and an e-mail address.").encode()
TOO_FAST = REFUSAL.format(title="Request Rate Threshold Exceeded",
                          text="Slow down, and stay away until the time-out is over; asking on extends it.").encode()


NOT_FOUND = b"<html><body>Not found</body></html>\n"
NO_ACCESS = b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>'
INDEX = re.compile(r"/Archives/edgar/(?:daily|full)-index/")
PACKED_BYTES = 256 * 2**20  # of compressed bodies kept, with their originals
LONGEST_STALL_SECONDS = 600.0


@dataclass(frozen=True)
class Reply:
    """An answer, and how it goes wrong on its way."""

    status: int
    body: bytes = b""
    media: str = "text/html"
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None  # the connection closes after so many bytes of the body, though the whole length was announced
    reset: int | None = None  # TCP reset after so many bytes of the body; at 0 not even a status line is sent
    dribble: tuple[int, float] | None = None  # so many bytes every so many seconds
    delay: float = 0.0  # seconds before the first byte
    stalled: bool = False  # nothing is ever answered
    packed: bool = True  # a good body goes compressed where the client takes it


def _nothing(path: str) -> Reply:
    return Reply(404, NOT_FOUND)


@dataclass(frozen=True)
class Request:
    number: int  # counted from 1
    method: str
    path: str
    headers: dict[str, str]  # names in small letters
    archive: Archive = field(default_factory=lambda: Archive({}, {}), repr=False, compare=False)
    ask: Callable[[str], Reply] = field(default=_nothing, repr=False, compare=False)

    def good(self, path: str | None = None) -> Reply:
        """What the server answers of itself, at this path or at another one: a refusal too, where one is due."""
        return self.ask(self.path if path is None else path)


Script = Callable[[Request], Reply | None]


@dataclass
class Limit:
    """EDGAR's rule: more than `requests` within any second blocks for `block_seconds` from the last request.

    Times are those of arrival; they may be told in another order. `blocked` counts requests that met a block, `most` is the highest
    number within any one second.
    """

    requests: int = 10
    block_seconds: float = 600.0
    clock: Callable[[], float] = time.monotonic
    blocked: int = 0
    most: int = 0
    _recent: list[float] = field(default_factory=list)
    _until: float = 0.0

    def exceeded(self, arrived: float | None = None) -> bool:
        now = self.clock() if arrived is None else arrived
        recent = self._recent
        bisect.insort(recent, now)
        del recent[: bisect.bisect_right(recent, recent[-1] - 10.0)]
        ends = range(bisect.bisect_left(recent, now), bisect.bisect_left(recent, now + 1.0))  # the seconds that hold this request
        within = max((end + 1 - bisect.bisect_right(recent, recent[end] - 1.0) for end in ends), default=1)
        self.most = max(self.most, within)
        if now < self._until or within > self.requests:
            self._until = max(self._until, now + self.block_seconds)
            self.blocked += 1
            return True
        return False


class ReplayServer:
    """`url` is the base of both hosts. `requests` is the log of what was asked, in order; `limit` tells whether it ever blocked.

    `everything` holds all filings; `archive` what is there now, and may be set while the server runs.
    """

    def __init__(self, archive: Archive, port: int, page_size: int, limit: Limit, script: Script | None, *, latency: float = 0.0,
                 recorded: Recorded | None = None, absent: int = 404) -> None:
        self.everything = self.archive = archive
        self.requests, self.limit, self.latency = list[Request](), limit, latency
        self._page_size, self._script, self._absent = page_size, script, absent
        self._recorded = recorded or Recorded({})
        self._lock, self.closing = threading.Lock(), threading.Event()
        self._packed = Kept[tuple[bytes, bytes]](PACKED_BYTES, lambda pair: len(pair[0]) + len(pair[1]))
        try:
            self._http = _Listener(port, self)
        except OSError as error:
            raise UsageError(f"port cannot be opened: {error.strerror}", str(port), "Name another, or 0 for a free one.") from None
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def show(self, *, published: Mapping[str, date | str] | None = None, until: date | str | None = None,
             days: Collection[date | str] = (), withdrawn: Collection[str] = (),
             relisted: Mapping[str, tuple[str, date | str]] | None = None) -> None:
        """From now on answers as on another day; see archive.as_of. What is not said again is forgotten."""
        known = [*days, *self._recorded.days]
        self.archive = as_of(self.everything, published=published, until=until, days=known, withdrawn=withdrawn, relisted=relisted)

    def answer(self, method: str, path: str, headers: dict[str, str], arrived: float | None = None) -> Reply:
        archive = self.archive
        with self._lock:
            fast = self.limit.exceeded(arrived)
            request = Request(len(self.requests) + 1, method, path, headers, archive,
                              lambda asked: self._true(archive, method, asked, headers, fast))
            self.requests.append(request)
        reply = self._script(request) if self._script is not None else None
        reply = request.good() if reply is None else reply
        return replace(reply, delay=reply.delay + self.latency) if self.latency else reply

    def _true(self, archive: Archive, method: str, path: str, headers: dict[str, str], fast: bool) -> Reply:
        if not DECLARED.search(headers.get("user-agent", "")):
            return Reply(403, UNDECLARED)
        if fast:
            return Reply(403, TOO_FAST)
        if method not in ("GET", "HEAD"):
            return Reply(405, b"only GET and HEAD\n", "text/plain")
        found = self._recorded.page(path) or page(archive, path.partition("?")[0], self._page_size)
        if found:
            return Reply(200, found.body, found.media)
        return Reply(403, NO_ACCESS, "application/xml") if self._absent == 403 and INDEX.match(path) else Reply(404, NOT_FOUND)

    def packed(self, body: bytes) -> bytes:
        """The body compressed; once, while it is kept."""
        return self._packed.get(body, lambda: (body, gzip.compress(body, 1, mtime=0)))[1]

    def run(self) -> None:
        self._http.serve_forever(poll_interval=0.05)

    def stop(self) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()


@contextmanager
def serving(folder: str | Path, port: int = 0, *, page_size: int = 1000, limit: Limit | None = None, script: Script | None = None,
            latency: float = 0.0, recorded: str | Path | None = None, published: Mapping[str, date | str] | None = None,
            until: date | str | None = None, absent: int = 404) -> Iterator[ReplayServer]:
    """A server over a folder of submissions, for as long as the block runs. Port 0 takes a free one. Raises StorageError, UsageError.

    `latency` seconds pass before each answer. `recorded` is a folder of responses that EDGAR once gave (its manifest.jsonl names their
    addresses): they come first. `published` and `until`: see archive.as_of. `absent` is the status of an index that is not there, 404 or
    403, EDGAR gives either.
    """
    if absent not in (403, 404):
        raise UsageError("an absent index answers 403 or 404", str(absent), "Say one of them.")
    server = ReplayServer(read_archive(folder), port, page_size, limit or Limit(), script, latency=latency, absent=absent,
                          recorded=read_recorded(recorded) if recorded is not None else None)
    server.show(published=published, until=until)
    thread = threading.Thread(target=server.run, name="edgar-replay", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, owner: ReplayServer) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", port), _Connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is none of ours."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Connection(BaseHTTPRequestHandler):
    """One connection of the standard library's server, around `ReplayServer.answer`."""

    server: _Listener
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "edgarmill-replay", ""
    timeout = 30.0
    disable_nagle_algorithm = True
    wbufsize = -1
    arrived = 0.0

    def parse_request(self) -> bool:
        self.arrived = self.server.owner.limit.clock()  # the request line is in, nothing else is done yet
        return super().parse_request()

    def _send(self) -> None:
        owner = self.server.owner
        reply = owner.answer(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, self.arrived)
        if reply.delay:
            owner.closing.wait(reply.delay)
        if reply.stalled or reply.reset is not None or reply.cut is not None:
            self.close_connection = True
        if reply.stalled:
            self._stall()
        elif reply.reset == 0:
            self._reset()
        else:
            self._write(reply)

    def _write(self, reply: Reply) -> None:
        body, headers = reply.body, dict(reply.headers)
        packable = reply.packed and reply.status == 200 and len(body) > 500 and reply.cut is None and "Content-Encoding" not in headers
        if packable and "gzip" in self.headers.get("Accept-Encoding", ""):
            body = self.server.owner.packed(body)
            headers["Content-Encoding"] = "gzip"
        self.send_response(reply.status)
        headers = {"Content-Type": reply.media, "Content-Length": str(len(body)), "Vary": "Accept-Encoding"} | headers
        for name, value in headers.items():
            self.send_header(name, value)
        try:
            self.end_headers()
            if self.command != "HEAD":
                self._body(body[: reply.cut if reply.reset is None else reply.reset], reply.dribble)
            self.wfile.flush()
        except (ConnectionError, TimeoutError):  # the client went away, as many do in tests
            self.close_connection = True
            return
        if reply.reset is not None:
            self._reset()

    def _body(self, body: bytes, dribble: tuple[int, float] | None) -> None:
        size, seconds = dribble or (max(len(body), 1), 0.0)
        for start in range(0, len(body), size):
            self.wfile.write(body[start:start + size])
            if dribble:
                self.wfile.flush()
                if self.server.owner.closing.wait(seconds):
                    self.close_connection = True
                    return

    def _stall(self) -> None:
        """Until the client goes away."""
        last = time.monotonic() + LONGEST_STALL_SECONDS
        while time.monotonic() < last and not self.server.owner.closing.wait(0.02):
            if select.select([self.connection], [], [], 0)[0] and not self.connection.recv(1, socket.MSG_PEEK):
                return

    def _reset(self) -> None:
        """RST instead of a close: to linger for no time, and no orderly shutdown before."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _send

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: `ReplayServer.requests` is the log."""
