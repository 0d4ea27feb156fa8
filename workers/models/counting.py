"""What a request can take at most, and what an answer took: tokens, and dollars at today's prices."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from edgarmill.schemas.endpoints import Endpoint
from edgarmill.schemas.prices import PriceSet
from edgarmill.workers.models.answers import text_of
from edgarmill.workers.models.buckets import Tokens, tokens_of
from edgarmill.workers.models.purse import Cost, Purse

UNKNOWN, NOTHING = Cost(None, None), Cost(0, Decimal(0))
TEMPLATE_TOKENS = 32  # that a chat template adds to a message, at most


class Counting:
    """For one endpoint. Threads share it."""

    def __init__(self, endpoint: Endpoint, prices: PriceSet, clock: Callable[[], float]) -> None:
        self.endpoint, self.prices, self._clock = endpoint, prices, clock
        self._count = _counter(endpoint.tokenizer)

    def today(self) -> date:
        return datetime.fromtimestamp(self._clock(), UTC).date()

    def most(self, body: Mapping[str, Any], texts: Sequence[str], output: int) -> Cost:
        """The most that a request can take: its text as counted, or else its bytes, and all the output that it may write."""
        if self._count is None:
            read = len(json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        else:
            read = sum(self._count(text) + TEMPLATE_TOKENS for text in texts) + len(json.dumps(body.get("response_format", "")))
        ways = [Tokens(input=read, output=output), Tokens(input=0, cache_write=read, output=output),
                Tokens(input=0, cache_write_hour=read, output=output)]  # a written cache may cost more than plain input
        known = [dollars for way in ways if (dollars := self.cost(way).dollars) is not None]
        return Cost(read + output, max(known) if known and self.cost(ways[0]).dollars is not None else None)

    def cost(self, tokens: Tokens) -> Cost:
        purse = Purse("", "")
        purse.paid(tokens, "provider")
        row = purse.usage(self.endpoint.model, self.endpoint.provider, self.endpoint.tier)
        return Cost(tokens.total, self.prices.cost(row, self.today()))

    def spent(self, kind: str, answer: Mapping[str, Any], texts: Sequence[str]) -> tuple[Tokens, str]:
        """Tokens as the provider says; where it does not, counted by the model's tokenizer (a chat template's own aside); else unknown."""
        said = tokens_of(answer.get("usage"), writes=kind == "chat")
        if said.known or self._count is None:
            return said, "provider"
        wrote = self._count(text_of(answer)) if kind == "chat" else 0
        return Tokens(input=sum(self._count(text) for text in texts), output=wrote), "counted"


def _counter(path: str) -> Callable[[str], int] | None:
    if not path:
        return None
    from edgarmill.workers.embed.tokens import Tokenizer

    return Tokenizer(path).count
