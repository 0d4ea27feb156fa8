"""A provider's usage as disjoint buckets: whatever its spelling, they add up to its total."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgarmill.workers.models.buckets import Tokens, tokens_of

COUNT = st.integers(0, 10**9)


@pytest.mark.parametrize(("usage", "expected"), [
    ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, Tokens(10, output=5)),
    ({"prompt_tokens": 10, "completion_tokens": 5}, Tokens(10, output=5)),
    # OpenAI: both details within
    ({"prompt_tokens": 2006, "completion_tokens": 300, "total_tokens": 2306, "prompt_tokens_details": {"cached_tokens": 1920},
      "completion_tokens_details": {"reasoning_tokens": 192}}, Tokens(86, 1920, output=108, reasoning=192)),
    # OpenRouter: cache writes within
    ({"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101,
      "prompt_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 70}}, Tokens(10, 20, 70, output=1)),
    # Responses
    ({"input_tokens": 75, "input_tokens_details": {"cached_tokens": 5}, "output_tokens": 1186,
      "output_tokens_details": {"reasoning_tokens": 1024}, "total_tokens": 1261}, Tokens(70, 5, output=162, reasoning=1024)),
    # Anthropic: beside, by life
    ({"input_tokens": 50, "cache_read_input_tokens": 100_000, "cache_creation_input_tokens": 248, "output_tokens": 503,
      "cache_creation": {"ephemeral_5m_input_tokens": 148, "ephemeral_1h_input_tokens": 100}}, Tokens(50, 100_000, 148, 100, 503)),
    # LiteLLM in front of Anthropic: within again
    ({"prompt_tokens": 100_298, "completion_tokens": 503, "total_tokens": 100_801, "cache_read_input_tokens": 100_000,
      "cache_creation_input_tokens": 248}, Tokens(50, 100_000, 248, output=503)),
    # DeepSeek, Moonshot
    ({"prompt_tokens": 30, "prompt_cache_hit_tokens": 20, "prompt_cache_miss_tokens": 10, "completion_tokens": 7, "total_tokens": 37},
     Tokens(10, 20, output=7)),
    ({"prompt_tokens": 30, "cached_tokens": 20, "completion_tokens": 7, "total_tokens": 37}, Tokens(10, 20, output=7)),
    # xAI, Gemini: reasoning beside, told by the total
    ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 151, "completion_tokens_details": {"reasoning_tokens": 110}},
     Tokens(32, output=9, reasoning=110)),
    ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 100}, Tokens(10, output=5, reasoning=85)),
    ({"promptTokenCount": 40, "cachedContentTokenCount": 30, "candidatesTokenCount": 5, "thoughtsTokenCount": 7, "totalTokenCount": 52},
     Tokens(10, 30, output=5, reasoning=7)),
    ({"promptTokenCount": 40, "candidatesTokenCount": 5, "thoughtsTokenCount": 7}, Tokens(40, output=5, reasoning=7)),
    ({"prompt_tokens": 10, "total_tokens": 15}, Tokens(10, output=5)),
    ({"promptTokenCount": 10, "thoughtsTokenCount": 4, "totalTokenCount": 15}, Tokens(10, output=1, reasoning=4)),
])
def test_every_spelling_gives_disjoint_buckets(usage: dict[str, Any], expected: Tokens) -> None:
    found = tokens_of(usage)
    assert found == expected
    if "total_tokens" in usage:
        assert found.total == usage["total_tokens"]


def test_embeddings_write_nothing() -> None:
    assert tokens_of({"prompt_tokens": 8, "total_tokens": 8}, writes=False) == Tokens(8, output=0)
    assert tokens_of({"prompt_tokens": 8}, writes=False).total == 8


@pytest.mark.parametrize("usage", [
    None, {}, [], "12", {"prompt_tokens": None}, {"prompt_tokens": -1}, {"prompt_tokens": True}, {"prompt_tokens": 1e3},
    {"prompt_tokens": 10**15, "completion_tokens": 1}, {"completion_tokens": 4},
])
def test_what_is_no_usage_is_unknown_and_not_zero(usage: object) -> None:
    found = tokens_of(usage)
    assert (found.known, found.total, found.input) == (False, None, None)


def test_an_answer_without_its_output_is_unknown_in_all() -> None:
    assert tokens_of({"prompt_tokens": 10}).total is None


@pytest.mark.parametrize("usage", [
    {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 12},
    {"prompt_tokens": 15, "thoughtsTokenCount": 1, "total_tokens": 15},
    {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 11}},
    {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "completion_tokens_details": {"reasoning_tokens": 6}},
])
def test_a_provider_that_contradicts_itself_is_doubted(usage: dict[str, Any]) -> None:
    found = tokens_of(usage)
    assert found.doubt
    assert found.total == 15


@given(COUNT, COUNT, COUNT, COUNT, COUNT)
@settings(deadline=None)
def test_openais_form_adds_up(read: int, cached: int, written: int, wrote: int, reasoning: int) -> None:
    usage = {"prompt_tokens": read + cached + written, "completion_tokens": wrote + reasoning,
             "total_tokens": read + cached + written + wrote + reasoning,
             "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
             "completion_tokens_details": {"reasoning_tokens": reasoning}}
    found = tokens_of(usage)
    assert found == Tokens(read, cached, written, None, wrote, reasoning)
    assert found.total == usage["total_tokens"]


@given(COUNT, COUNT, COUNT, COUNT, COUNT)
@settings(deadline=None)
def test_anthropics_form_adds_up(read: int, cached: int, usual: int, hour: int, wrote: int) -> None:
    usage = {"input_tokens": read, "cache_read_input_tokens": cached, "cache_creation_input_tokens": usual + hour, "output_tokens": wrote,
             "cache_creation": {"ephemeral_5m_input_tokens": usual, "ephemeral_1h_input_tokens": hour}}
    assert tokens_of(usage) == Tokens(read, cached, usual, hour, wrote)


JSON = st.none() | st.booleans() | st.integers(-5, 50) | st.text(max_size=3) | st.lists(st.integers(0, 5), max_size=2)
NAMES = st.sampled_from([
    "prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens",
    "cache_read_input_tokens", "cache_creation_input_tokens", "prompt_tokens_details", "completion_tokens_details", "cache_creation",
    "ephemeral_1h_input_tokens", "thoughtsTokenCount", "promptTokenCount", "totalTokenCount", "candidatesTokenCount", "cache_write_tokens",
])


@given(st.dictionaries(NAMES, JSON | st.dictionaries(NAMES, JSON)), st.booleans())
@settings(deadline=None)
def test_whatever_a_server_sends_no_bucket_is_negative_and_a_total_is_kept_or_doubted(usage: dict[str, Any], writes: bool) -> None:
    found = tokens_of(usage, writes)
    buckets = (found.input, found.cached, found.cache_write, found.cache_write_hour, found.output, found.reasoning)
    assert all(n is None or n >= 0 for n in buckets)
    total = usage.get("total_tokens")
    if writes and found.known and not found.doubt and isinstance(total, int) and not isinstance(total, bool) and total >= 0:
        assert found.total == total
