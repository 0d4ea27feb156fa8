"""What a benchmark of contexts counts is what a provider with a prompt cache would bill."""

from __future__ import annotations

from edgarmill.eval.benchmarks.contexts import counted
from edgarmill.schemas.recipe import EmbeddingModel
from edgarmill.schemas.records import Chunk
from edgarmill.schemas.settings import Settings
from edgarmill.workers.context import Ask
from edgarmill.workers.embed.models import resolve
from edgarmill.workers.embed.tokens import Tokenizer

TOKENIZER = Tokenizer(resolve(EmbeddingModel(), Settings()).tokenizer_path)


def chunk(key: str, tokens: int) -> Chunk:
    return Chunk(key, "d:1", "d", "f", 0, 0, 4, "text", tokens, "I", "1", "", 1, 1)


def test_the_first_call_of_a_window_pays_for_what_the_others_read_from_the_cache_in_whole_blocks() -> None:
    window = "cash " * 1300  # with the instruction's one token, 1,301
    asks = [Ask("go", window, "x", (key,)) for key in "abc"] + [Ask("go", "debt " * 500, "x", (key,)) for key in "de"]
    chunks = [chunk(key, 10) for key in "abcde"]
    full, cached, wrote = counted(asks, chunks, 60, TOKENIZER)
    assert cached == 2 * 1280  # 501 tokens are too few for a cache
    assert full == 1301 + 2 * 21 + 2 * 501 + 5 * 10
    assert wrote == 300
