"""A local EDGAR: real HTTP on this machine's loopback, answering from a folder of filings under EDGAR's own addresses.

    with serving("filings") as server:
        Settings(edgar_url=server.url, edgar_data_url=server.url, user_agent="Me me@company.example")

It refuses as EDGAR does: an undeclared User-Agent, and more than ten requests in any second (then everything for a time-out, which
further requests extend). One server stands for both hosts; the path tells which is meant. `script` is the seam for faults: it sees each
request first and may give another answer, a cut one too.
"""

from __future__ import annotations

import gzip
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from edgarmill.sample.addresses import Page, page
from edgarmill.sample.archive import Archive, read_archive
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


@dataclass(frozen=True)
class Request:
    number: int  # counted from 1
    method: str
    path: str
    headers: dict[str, str]  # names in small letters


@dataclass(frozen=True)
class Reply:
    """An answer. `cut` closes the connection after so many bytes of the body, though the whole length was announced."""

    status: int
    body: bytes = b""
    media: str = "text/html"
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None


Script = Callable[[Request], Reply | None]


@dataclass
class Limit:
    """EDGAR's rule: more than `requests` within any second blocks for `block_seconds` from the last request."""

    requests: int = 10
    block_seconds: float = 600.0
    clock: Callable[[], float] = time.monotonic
    _recent: deque[float] = field(default_factory=deque)
    _until: float = 0.0

    def exceeded(self) -> bool:
        now = self.clock()
        while self._recent and self._recent[0] <= now - 1.0:
            self._recent.popleft()
        self._recent.append(now)
        if now < self._until or len(self._recent) > self.requests:
            self._until = now + self.block_seconds
            return True
        return False


class ReplayServer:
    """`url` is the base of both hosts. `requests` is the log of what was asked, in order."""

    def __init__(self, archive: Archive, port: int, page_size: int, limit: Limit, script: Script | None) -> None:
        self.archive, self.requests = archive, list[Request]()
        self._page_size, self._limit, self._script, self._lock = page_size, limit, script, threading.Lock()
        try:
            self._http = ThreadingHTTPServer(("127.0.0.1", port), _connection(self.answer))
        except OSError as error:
            raise UsageError(f"port cannot be opened: {error.strerror}", str(port), "Name another, or 0 for a free one.") from None
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def answer(self, method: str, path: str, headers: dict[str, str]) -> Reply:
        with self._lock:
            request = Request(len(self.requests) + 1, method, path, headers)
            self.requests.append(request)
            fast = self._limit.exceeded()
        if self._script is not None and (reply := self._script(request)) is not None:
            return reply
        if not DECLARED.search(headers.get("user-agent", "")):
            return Reply(403, UNDECLARED)
        if fast:
            return Reply(403, TOO_FAST)
        if method not in ("GET", "HEAD"):
            return Reply(405, b"only GET and HEAD\n", "text/plain")
        found: Page | None = page(self.archive, path.partition("?")[0], self._page_size)
        return Reply(200, found.body, found.media) if found else Reply(404, b"<html><body>Not found</body></html>\n")

    def run(self) -> None:
        self._http.serve_forever(poll_interval=0.05)

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@contextmanager
def serving(folder: str | Path, port: int = 0, *, page_size: int = 1000, limit: Limit | None = None,
            script: Script | None = None) -> Iterator[ReplayServer]:
    """A server over a folder of submissions, for as long as the block runs. Port 0 takes a free one. Raises StorageError, UsageError."""
    server = ReplayServer(read_archive(folder), port, page_size, limit or Limit(), script)
    thread = threading.Thread(target=server.run, name="edgar-replay", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()


def _connection(answer: Callable[[str, str, dict[str, str]], Reply]) -> type[BaseHTTPRequestHandler]:
    """One connection of the standard library's server, around `answer`."""

    class Connection(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version, sys_version = "edgarmill-replay", ""
        timeout = 30.0
        disable_nagle_algorithm = True
        wbufsize = -1

        def _send(self) -> None:
            reply = answer(self.command, self.path, {k.lower(): v for k, v in self.headers.items()})
            body, headers = reply.body, dict(reply.headers)
            packable = reply.status == 200 and len(body) > 500 and reply.cut is None and "Content-Encoding" not in headers
            if packable and "gzip" in self.headers.get("Accept-Encoding", ""):
                body = gzip.compress(body, 1, mtime=0)
                headers["Content-Encoding"] = "gzip"
            self.send_response(reply.status)
            headers = {"Content-Type": reply.media, "Content-Length": str(len(body)), "Vary": "Accept-Encoding"} | headers
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body[: reply.cut])
            self.wfile.flush()
            self.close_connection = self.close_connection or reply.cut is not None

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _send

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: `ReplayServer.requests` is the log."""

    return Connection
