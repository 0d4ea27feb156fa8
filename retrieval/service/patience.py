"""A connection that is held open without a whole request on it is closed: a thousand of them would be all that the service takes."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

SECONDS = 15.0  # for the head of a request to come; a body has its own limit (gate.py)

_Protocol: Any = AutoHTTPProtocol


class Patience(_Protocol):  # type: ignore[misc]  # which of uvicorn's two it is depends on what is installed
    """uvicorn's protocol, with a look at the connection every so often."""

    seconds = SECONDS

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._look_later(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._looking.cancel()
        super().connection_lost(exc)

    def _look_later(self, before: Any) -> None:
        self._looking = self.loop.call_later(self.seconds, self._look, before)

    def _look(self, before: Any) -> None:
        """`before`: the request that was there at the last look."""
        waiting = self.cycle is None or self.cycle.response_complete
        if waiting and self.cycle is before:
            self.transport.close()
        else:
            self._look_later(self.cycle)
