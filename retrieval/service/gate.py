"""Before every request: who asks, and how much comes with it. After it: the version in its headers, a line in the log, the metrics.

Plain ASGI, so that a body is counted as it comes: a length that is told may be a lie, and one sent in pieces tells none.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from edgarmill.retrieval.service.failures import body_of
from edgarmill.retrieval.service.following import Following, Served
from edgarmill.retrieval.service.host import is_own
from edgarmill.retrieval.service.log import Log
from edgarmill.retrieval.service.metrics import Metrics

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = ("/health", "/ready")  # for whoever starts and stops the service; they tell nothing of the filings


class Gone(Exception):
    """Who asked has left."""


class Refusal(Exception):
    def __init__(self, status: int, what: str, todo: str) -> None:
        super().__init__(status, what, todo)
        self.status, self.what, self.todo = status, what, todo


@dataclass(frozen=True)
class Gate:
    app: App
    keys: tuple[str, ...]
    body_bytes: int
    body_seconds: float  # for a body to come whole
    following: Following
    metrics: Metrics
    log: Log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, served, status = time.perf_counter(), self.following.served, 0
        scope.setdefault("state", {})["served"] = served  # the whole request on one version, whatever is promoted meanwhile

        async def answered(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                named = [] if served is None or status == 401 else _version_headers(served)
                message["headers"] = [*message.get("headers", ()), *named]
            await send(message)

        try:
            await self._passed(scope, receive, answered)
        finally:
            seconds = time.perf_counter() - begun
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.request(scope["method"], route, status, seconds)
            path = scope.get("raw_path", b"").decode("ascii", "replace")
            version = f"{served.version.recipe} {served.version.tag}" if served else ""
            self.log.request(scope["method"], path, status, seconds, version)

    async def _passed(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._check_host(scope)
            self._check_key(scope)
            body = await asyncio.wait_for(self._body(scope, receive), self.body_seconds)
        except Gone:
            return
        except Refusal as no:
            await _refuse(send, no)
            return
        except TimeoutError:
            await _refuse(send, Refusal(408, "the body did not come in time", f"Send it whole within {self.body_seconds:g} seconds."))
            return
        left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replayed() -> Message:
            return left.pop() if left else await receive()

        await self.app(scope, replayed, send)

    def _check_host(self, scope: Scope) -> None:
        """Without keys it serves this machine alone, under its own names: see host.py."""
        if not self.keys and not all(is_own(value) for name, value in scope["headers"] if name == b"host"):
            todo = "Ask it as localhost or 127.0.0.1, or set EDGARMILL_SERVICE_KEYS."
            raise Refusal(421, "a Host header that is not this machine's", todo)

    def _check_key(self, scope: Scope) -> None:
        if not self.keys or scope["path"] in OPEN:
            return
        headers = dict(scope["headers"])
        kind, _, bearer = headers.get(b"authorization", b"").partition(b" ")
        given = bearer.strip() if kind.lower() == b"bearer" else headers.get(b"x-api-key", b"")
        # Digests are of one length, and all keys are compared, so that the time taken tells nothing.
        digest = hashlib.sha256(given).digest()
        if not sum(hmac.compare_digest(digest, hashlib.sha256(key.encode()).digest()) for key in self.keys):
            raise Refusal(401, "no key, or not one of this service's", "Send it as Authorization: Bearer KEY, or as X-API-Key: KEY.")

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """Raises Refusal as soon as there is more of it than may be."""
        stated = dict(scope["headers"]).get(b"content-length", b"0")
        size = int(stated) if stated.isdigit() else 0
        parts: list[bytes] = []
        more = True
        while more and size <= self.body_bytes:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            parts.append(message.get("body", b""))
            size, more = max(size, sum(map(len, parts))), message.get("more_body", False)
        if size > self.body_bytes:
            raise Refusal(413, f"a body of more than {self.body_bytes:,} bytes", "Ask for less in one request.")
        return b"".join(parts)


def _version_headers(served: Served) -> list[tuple[bytes, bytes]]:
    version = served.version
    named = {"recipe": version.recipe, "tag": version.tag or "", "version": version.version_id}
    return [(f"x-edgarmill-{name}".encode(), value.encode("ascii", "replace")) for name, value in named.items()]


async def _refuse(send: Send, no: Refusal) -> None:
    """The connection ends with it: what else is on its way is not read."""
    body = json.dumps(body_of(no.what, "", no.todo)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), (b"connection", b"close")]
    headers += [(b"www-authenticate", b"Bearer")] if no.status == 401 else []
    await send({"type": "http.response.start", "status": no.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
