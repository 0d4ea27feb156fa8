"""A run whose vectors come from a server: what is sent and paid, what is refused, and a search through the same server."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_models import Answer, Asked, FakeBatches, ModelServer, failure, serving
from small_ingest import accession, counts, indexed, ingest, write_filings

from edgarmill.flows.job import Job
from edgarmill.retrieval.query import open_for
from edgarmill.retrieval.retrieve import open_reader
from edgarmill.retrieval.retriever import Retriever
from edgarmill.retrieval.versions import resolve
from edgarmill.schemas.errors import SettingsError, Stopped, UnknownName
from edgarmill.schemas.recipe import Recipe, load
from edgarmill.schemas.records import Usage
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.workers.embed import hosted
from edgarmill.workers.fit import check_recipe
from edgarmill.workers.models import batch

RECIPE = """
name = "hosted"
[chunker]
kind = "{chunker}"
[context]
kind = "none"
[embedding]
model = "endpoint:house/text-embedding-3-small"
dimensions = {dimensions}
window = 200
tokenizer = "packaged:all-MiniLM-L6-v2"
"""


def write_recipe(root: Path, dimensions: int = 8, chunker: str = "structure\"\nmax_tokens = \"150") -> str:
    path = root / f"hosted{dimensions}.toml"
    text = RECIPE.format(dimensions=dimensions, chunker=chunker)
    path.write_text(text.replace('max_tokens = "150"', "max_tokens = 150"), encoding="utf-8")
    return str(path)


def house(url: str, **more: Any) -> dict[str, Any]:
    return {"house": {"base_url": url, "provider": "openai", "model": "any", "retries": 0, **more}}


def vector(text: str) -> list[float]:
    return [byte - 100.5 for byte in hashlib.sha256(text.encode()).digest()[:8]]


def embeddings(asked: Asked) -> Answer:
    texts = asked.body["input"]
    data = [{"index": n, "embedding": vector(text)} for n, text in enumerate(texts)]
    return Answer(200, {"data": data[::-1], "usage": {"prompt_tokens": 10 * len(texts), "total_tokens": 10 * len(texts)}})


@pytest.fixture
def server() -> Any:
    with serving() as one:
        one.reply = embeddings
        yield one


def sent(server: ModelServer) -> list[str]:
    return [text for asked in server.requests for text in asked.body["input"]]


def paid(lake: Path) -> dict[str, Usage]:
    return {u.subject: u for u in Lake.open(str(lake)).snapshot().records("usage") if u.tier is not None}


def test_every_text_is_embedded_once_paid_by_its_filing_and_found_by_a_question_embedded_there_too(
        server: ModelServer, tmp_path: Path) -> None:
    folder, recipe, lake = write_filings(tmp_path / "in", 1, 2), write_recipe(tmp_path), tmp_path / "lake"
    assert counts(ingest(lake, folder, recipe, endpoints=house(server.url)).record) == (2, 2, 0, 0)
    texts = sent(server)
    assert len(texts) == len(set(texts)) == sum(indexed(lake, "hosted").values()) and len(server.requests) == 2
    assert all(asked.path == "/v1/embeddings" and asked.body["model"] == "text-embedding-3-small" for asked in server.requests)
    rows = paid(lake)
    assert sum(u.input_tokens or 0 for u in rows.values()) == 10 * len(texts)
    assert {(u.stage, u.model, u.provider, u.origin, u.calls, u.output_tokens) for u in rows.values()} == {
        ("embed", "text-embedding-3-small", "openai", "provider", 1, 0)}
    assert rows[accession(1)].dollars == (rows[accession(1)].input_tokens or 0) * Decimal("0.02") / 1_000_000

    snapshot = Lake.open(str(lake)).snapshot()
    stored = snapshot.records("embeddings")
    assert all(abs(np.linalg.norm(e.vector) - 1) < 1e-6 for e in stored)
    settings = Settings(endpoints=house(server.url))
    index = open_for(Lake.open(str(lake)), resolve(snapshot, "hosted", None), settings, ("vector",))
    asked = len(server.requests)
    for _ in range(2):
        best = index.search(texts[0], 3, "vector")[0]
        assert best.text in texts[0] and best.score > 0.999999
    assert server.requests[asked].body["input"] == [texts[0]] and len(server.requests) == asked + 1

    assert counts(ingest(lake, folder, recipe, endpoints=house(server.url)).record) == (2, 0, 2, 0)
    assert len(server.requests) == asked + 1


def test_a_question_pays_for_its_vector_and_for_the_model_that_rewords_it_once(server: ModelServer, tmp_path: Path) -> None:
    from fake_models import chat

    folder, lake = write_filings(tmp_path / "in", 1), tmp_path / "lake"
    ingest(lake, folder, write_recipe(tmp_path), endpoints=house(server.url))
    server.reply = lambda asked: embeddings(asked) if asked.path.endswith("/embeddings") else chat({"query": "sales"})
    knobs = Retriever(rewrite="query", model="endpoint:house/gpt-4.1-mini")
    for calls, dollars in ((2, Decimal("0.0000002") + Decimal("0.0000092")), (0, Decimal(0))):
        opened = Lake.open(str(lake))
        found = open_reader(opened, resolve(opened.snapshot(), "hosted", None), Settings(endpoints=house(server.url))).retrieve("x?", knobs)
        assert [(u.stage, u.calls) for u in found.usages] == [("embed", calls // 2), ("retrieve", calls // 2)]
        assert found.usage is not None and (found.usage.calls, found.usage.hits, found.usage.dollars) == (calls, 2 - calls, dollars)
        assert found.hits and server.requests[-1].body["input"] == ["sales"]


def test_equal_texts_of_two_filings_are_one_text_and_the_second_one_pays_when_the_first_may_not(
        server: ModelServer, tmp_path: Path) -> None:
    folder, recipe = write_filings(tmp_path / "in", 1), write_recipe(tmp_path)
    twin = (folder / f"{accession(1)}.txt").read_bytes().replace(accession(1).encode(), accession(2).encode())
    (folder / f"{accession(2)}.txt").write_bytes(twin)
    assert counts(ingest(tmp_path / "lake", folder, recipe, endpoints=house(server.url)).record) == (2, 2, 0, 0)
    assert len(server.requests) == 1 and len(indexed(tmp_path / "lake", "hosted")) == 2

    (refused,) = [asked.body["input"] for asked in server.requests]
    seen: list[list[str]] = []

    def once(asked: Asked) -> Answer:
        seen.append(asked.body["input"])
        return failure(400, "", "no") if len(seen) == 1 else embeddings(asked)

    server.reply = once
    assert counts(ingest(tmp_path / "other", folder, recipe, endpoints=house(server.url)).record) == (2, 1, 0, 1)
    assert seen == [refused, refused] and len(indexed(tmp_path / "other", "hosted")) == 1


def test_a_filing_over_its_cap_or_without_an_answer_is_set_aside_and_the_others_go_on(server: ModelServer, tmp_path: Path) -> None:
    folder, recipe = write_filings(tmp_path / "in", 1, 2, 3), write_recipe(tmp_path)
    server.reply = lambda asked: failure(500) if "Company 2" in str(asked.body) else embeddings(asked)
    assert counts(ingest(tmp_path / "lake", folder, recipe, endpoints=house(server.url)).record) == (3, 2, 0, 1)
    [aside] = Lake.open(str(tmp_path / "lake")).snapshot().records("quarantine")
    assert (aside.subject, aside.stage, aside.reason) == (accession(2), "embed", "ModelFailed")
    server.reply = embeddings
    retried = ingest(tmp_path / "lake", folder, recipe, retry=True, endpoints=house(server.url))
    assert counts(retried.record) == (3, 1, 2, 0)

    capped = house(server.url, filing_tokens=20)
    assert counts(ingest(tmp_path / "capped", folder, recipe, endpoints=capped).record) == (3, 0, 0, 3)
    reasons = {q.reason for q in Lake.open(str(tmp_path / "capped")).snapshot().records("quarantine")}
    assert reasons == {"OverCap"}


def test_a_budget_holds_for_vectors_and_needs_a_price(server: ModelServer, tmp_path: Path) -> None:
    folder, recipe = write_filings(tmp_path / "in", 1, 2, 3), write_recipe(tmp_path)
    budget = {"endpoints": house(server.url, concurrency=1), "budget_dollars": "0.000005"}  # a request may cost its bytes, 0.00002
    assert counts(ingest(tmp_path / "lake", folder, recipe, **budget).record) == (3, 0, 0, 3)
    assert server.requests == []
    assert {q.reason for q in Lake.open(str(tmp_path / "lake")).snapshot().records("quarantine")} == {"OverBudget"}
    unpriced = {"house": {"base_url": server.url, "model": "any"}}
    with pytest.raises(SettingsError, match="no standard price"):
        ingest(tmp_path / "other", folder, recipe, endpoints=unpriced, budget_dollars="1")


def test_vectors_of_another_length_than_the_recipes_end_the_run_with_what_to_write(server: ModelServer, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="have 8 numbers and the recipe says 9.*dimensions = 8"):
        ingest(tmp_path / "lake", write_filings(tmp_path / "in", 1), write_recipe(tmp_path, 9), endpoints=house(server.url))


@pytest.mark.parametrize("bad", [[0.0] * 8, [float("nan")] * 8, [1e308] * 8, ["1"] * 7 + [None], []])
def test_a_vector_that_is_none_sets_its_filing_aside(server: ModelServer, tmp_path: Path, bad: list[Any]) -> None:
    server.reply = lambda asked: Answer(200, {"data": [{"index": n, "embedding": bad} for n in range(len(asked.body["input"]))]})
    job = ingest(tmp_path / "lake", write_filings(tmp_path / "in", 1), write_recipe(tmp_path), endpoints=house(server.url))
    assert counts(job.record) == (1, 0, 0, 1)
    [aside] = Lake.open(str(tmp_path / "lake")).snapshot().records("quarantine")
    assert (aside.reason, aside.expected) == ("ModelFailed", True)


def test_what_a_killed_run_paid_is_not_paid_again(server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, recipe, lake = write_filings(tmp_path / "in", 1, 2), write_recipe(tmp_path), tmp_path / "lake"

    def stopped(*_: object) -> None:
        raise Stopped("by the test")

    monkeypatch.setattr(Job, "_commit_block", stopped)
    with pytest.raises(Stopped):
        ingest(lake, folder, recipe, endpoints=house(server.url))
    monkeypatch.undo()
    assert counts(ingest(lake, folder, recipe, endpoints=house(server.url)).record) == (2, 2, 0, 0)
    assert len(server.requests) == 2
    assert [(u.calls, u.origin) for u in paid(lake).values()] == [(1, "provider")] * 2


def test_long_filings_are_several_requests_filled_by_tokens(
        server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosted, "MOST_TOKENS", 40)
    ingest(tmp_path / "lake", write_filings(tmp_path / "in", 1), write_recipe(tmp_path), endpoints=house(server.url))
    assert len(server.requests) > 1
    assert paid(tmp_path / "lake")[accession(1)].calls == len(server.requests)


def test_in_batches_a_block_is_one_batch_and_a_question_waits_for_none(
        server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "FIRST_LOOK", 0.01)
    fake = FakeBatches(embeddings)
    server.reply = lambda asked: embeddings(asked) if asked.path.endswith("/embeddings") else fake(asked)
    folder, recipe, endpoints = write_filings(tmp_path / "in", 1, 2), write_recipe(tmp_path), house(server.url, tier="batch")
    assert counts(ingest(tmp_path / "lake", folder, recipe, endpoints=endpoints).record) == (2, 2, 0, 0)
    assert [len(lines) for lines in fake.lines] == [2]
    assert {(u.calls, u.hits, u.tier) for u in paid(tmp_path / "lake").values()} == {(1, 0, "batch")}
    lake = Lake.open(str(tmp_path / "lake"))
    index = open_for(lake, resolve(lake.snapshot(), "hosted", None), Settings(endpoints=endpoints), ("vector",))
    assert index.search("What was sold?", 3, "vector") and len(fake.lines) == 1


@pytest.mark.parametrize(("change", "said"), [
    ({"dimensions": None}, "does not tell embedding.dimensions"),
    ({"window": None, "tokenizer": None}, "embedding.window and embedding.tokenizer"),
    ({"tokenizer": "nowhere/tokenizer.json"}, "no such tokenizer"),
    ({"model": "endpoint:house"}, "Write endpoint:NAME/MODEL"),
    ({"model": "packaged:all-MiniLM-L6-v2"}, "has its own"),
])
def test_what_a_server_does_not_tell_must_stand_in_the_recipe(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    recipe = load(write_recipe(tmp_path))
    changed = Recipe.model_validate({**recipe.model_dump(), "embedding": {**recipe.embedding.model_dump(), **change}})
    with pytest.raises(SettingsError, match=said) as error:
        check_recipe(changed, Settings(endpoints=house("http://127.0.0.1:9/v1")))
    assert "\n" not in str(error.value)


def test_an_endpoint_or_a_chunker_that_does_not_fit_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"\[endpoints.house\]"):
        check_recipe(load(write_recipe(tmp_path)), Settings())
    with pytest.raises(SettingsError, match="semantic asks the model for every sentence"):
        check_recipe(load(write_recipe(tmp_path, chunker="semantic")), Settings(endpoints=house("http://127.0.0.1:9/v1")))


def test_recipes_from_before_keep_their_name_and_a_hosted_one_has_its_own(tmp_path: Path) -> None:
    assert set(load("default").content["embedding"]) == {"model", "window", "normalize", "overflow"}
    assert load(write_recipe(tmp_path)).fingerprint != load(write_recipe(tmp_path, 9)).fingerprint
    here, there = (house(url, provider=name) for url, name in (("http://127.0.0.1:9/v1", "openai"), ("http://127.0.0.1:8/v1", "openai")))
    one, other = (check_recipe(load(write_recipe(tmp_path)), Settings(endpoints=at)).model.model_hash for at in (here, there))
    assert one == other
    azure = house("http://127.0.0.1:9/v1", provider="azure")
    assert check_recipe(load(write_recipe(tmp_path)), Settings(endpoints=azure)).model.model_hash != one
