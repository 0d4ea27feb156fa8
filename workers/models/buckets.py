"""A provider's usage as disjoint token buckets that add up to its own total.

Providers agree on names and not on what these hold. Cached tokens stand within the prompt's (OpenAI, vLLM, DeepSeek, Moonshot, LiteLLM,
Gemini) or beside them (Anthropic); reasoning within the completion's (OpenAI, DeepSeek) or beside them (Gemini, xAI): there only the total
tells. Who adds the names up counts tokens twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_LARGEST = 10**12  # a count beyond it is no count


@dataclass(frozen=True, slots=True)
class Tokens:
    """Disjoint counts; None = not said, and then no part of the total. `doubt` tells where the provider contradicts itself."""

    input: int | None = None  # read, caches aside
    cached: int | None = None  # read from the provider's cache
    cache_write: int | None = None  # written to it, for its usual life of minutes
    cache_write_hour: int | None = None  # written to it for an hour
    output: int | None = None  # written, reasoning aside
    reasoning: int | None = None
    doubt: str = ""

    @property
    def known(self) -> bool:
        return self.input is not None and self.output is not None

    @property
    def total(self) -> int | None:
        """As the provider counts it; None where input or output is unknown."""
        parts = (self.input, self.cached, self.cache_write, self.cache_write_hour, self.output, self.reasoning)
        return sum(n or 0 for n in parts) if self.known else None


def tokens_of(usage: object, writes: bool = True) -> Tokens:
    """Buckets of an answer's `usage`; all None where it has none that can be read. Without `writes` (embeddings) none is output."""
    if not isinstance(usage, Mapping):
        return Tokens()
    details = _part(usage, "prompt_tokens_details", "input_tokens_details")
    read, beside = _first(usage, "prompt_tokens", "promptTokenCount"), False
    if read is None:
        read = _first(usage, "input_tokens")
        beside = "cache_read_input_tokens" in usage or "cache_creation_input_tokens" in usage  # Anthropic's own form
    if read is None and not writes:
        read = _first(usage, "total_tokens")  # Jina and Voyage say no more of embeddings and reranks
    if read is None:
        return Tokens()
    cached = _either(_first(details, "cached_tokens"),
                     _first(usage, "cache_read_input_tokens", "prompt_cache_hit_tokens", "cachedContentTokenCount", "cached_tokens"))
    usual, hour = _written(usage, details)
    within = (cached or 0) + (usual or 0) + (hour or 0)
    doubt = ""
    if not beside and within > read:
        doubt = f"{within} cached tokens within {read} of input"
        cached, usual, hour = min(cached or 0, read), None, None
        within = cached
    wrote, reasoning, more = _output(usage, read + (within if beside else 0)) if writes else (0, None, "")
    return Tokens(read if beside else read - within, cached, usual, hour, wrote, reasoning, doubt or more)


def _written(usage: Mapping[str, Any], details: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Tokens written to the provider's cache: for its usual life, and for an hour."""
    lives = _part(usage, "cache_creation")
    hour = _first(lives, "ephemeral_1h_input_tokens")
    usual = _first(lives, "ephemeral_5m_input_tokens")
    both = _either(_first(usage, "cache_creation_input_tokens"), _first(details, "cache_write_tokens", "cache_creation_tokens"))
    if both is not None:
        usual = max(0, both - (hour or 0))
    return usual, hour


def _output(usage: Mapping[str, Any], read: int) -> tuple[int | None, int | None, str]:
    """Tokens written, of reasoning, and what contradicts the provider's own total."""
    details = _part(usage, "completion_tokens_details", "output_tokens_details")
    wrote = _first(usage, "completion_tokens", "output_tokens", "candidatesTokenCount")
    beside = _first(usage, "thoughtsTokenCount")
    reasoning = _either(_first(details, "reasoning_tokens"), _either(beside, _first(usage, "reasoning_tokens")))
    total = _first(usage, "total_tokens", "totalTokenCount")
    if wrote is None:
        if total is None or total < read:
            return None, reasoning, ""
        wrote = total - read
    if total is not None and total > read + wrote:  # hidden reasoning that the answer's count leaves out
        return wrote, total - read - wrote, ""
    if total is None and beside is not None:
        return wrote, beside, ""
    doubt = f"a total of {total} for {read} read and {wrote} written" if total is not None and total < read + wrote else ""
    if (reasoning or 0) > wrote:
        return 0, wrote, f"{reasoning} tokens of reasoning within {wrote}"
    return wrote - (reasoning or 0), reasoning, doubt


def _first(found: Mapping[str, Any], *names: str) -> int | None:
    """The first of these that is a count."""
    return next((n for name in names if isinstance(n := found.get(name), int) and not isinstance(n, bool) and 0 <= n < _LARGEST), None)


def _either(one: int | None, other: int | None) -> int | None:
    return one if one is not None else other


def _part(usage: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return next((part for name in names if isinstance(part := usage.get(name), Mapping)), {})
