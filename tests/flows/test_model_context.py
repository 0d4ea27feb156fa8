"""A run whose context asks a chat model: every filing ends indexed or set aside, and every dollar is on record."""

from __future__ import annotations

import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from fake_models import Answer, Asked, FakeBatches, PrefixCache, chat, failure, serving
from small_ingest import accession, counts, indexed, ingest, tiny_model, write_filings, write_recipe

from edgarmill.flows.job import Job
from edgarmill.schemas.errors import Stopped, UnknownName
from edgarmill.schemas.records import Usage
from edgarmill.schemas.store import Lake
from edgarmill.workers.models import batch

KEYS = {"company": "Company", "form": "10-K", "filed": "", "period": "2023", "metrics": ["Net sales $1"], "highlights": ["Pumps"]}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder of three filings, and a recipe whose context asks a model."""
    root = tmp_path_factory.mktemp("asked")
    return write_filings(root / "in", 1, 2, 3), write_recipe(root, tiny_model(root / "model"), context="document")


def paid(lake: Path) -> list[Usage]:
    return [u for u in Lake.open(str(lake)).snapshot().records("usage") if u.tier is not None]


def house(url: str, **more: Any) -> dict[str, Any]:
    return {"openai": {"base_url": url, "model": "any", "retries": 0, "concurrency": 1, **more}}


def test_every_filing_is_asked_once_falls_back_or_is_set_aside_and_nothing_is_paid_twice(place: tuple[Path, str], tmp_path: Path) -> None:
    folder, recipe = place
    lake = tmp_path / "lake"
    with serving() as server:
        server.then(chat(KEYS), chat("no"), chat("never"), chat("no"), failure(500))
        assert counts(ingest(lake, folder, recipe, endpoints=house(server.url)).record) == (3, 2, 0, 1)
        snapshot = Lake.open(str(lake)).snapshot()
        fallback = {c.accession: (c.fallback, c.context.split(",")[0].split(".")[0]) for c in snapshot.records("contexts")}
        assert fallback == {accession(1): (None, "Company 10-K for 2023"),
                            accession(2): ("MalformedAnswer", "COMPANY 2 10-K for fiscal year 2023 ended 2023-12-31")}
        [aside] = snapshot.records("quarantine")
        assert (aside.subject, aside.reason, aside.stage) == (accession(3), "ModelFailed", "context")
        spent = {u.subject: (u.calls, u.origin, u.dollars) for u in paid(lake)}
        one = Decimal("0.0000092")  # 11 tokens in, 3 out
        assert spent == {accession(1): (1, "provider", one), accession(2): (2, "provider", 2 * one), accession(3): (1, "provider", one)}

        server.then(chat(KEYS))
        asked = len(server.requests)
        assert counts(ingest(lake, folder, recipe, endpoints=house(server.url), retry=True).record) == (3, 1, 2, 0)
        assert len(server.requests) == asked + 1
    [later] = [u for u in paid(lake) if u.subject == accession(3) and u.hits]
    assert (later.calls, later.hits, later.dollars) == (1, 1, one)


def test_the_filings_of_a_block_are_asked_at_once(place: tuple[Path, str], tmp_path: Path) -> None:
    folder, recipe = place
    gate = threading.Barrier(3)

    def reply(asked: Asked) -> Answer:
        gate.wait(30)  # none of three could end if two were asked at a time
        return chat(KEYS)

    with serving() as server:
        server.reply = reply
        assert counts(ingest(tmp_path / "lake", folder, recipe, endpoints=house(server.url, concurrency=3)).record) == (3, 3, 0, 0)


@pytest.mark.parametrize("kind", ["document", "chunk"])
def test_in_batches_the_filings_of_a_block_are_one_batch_each_at_its_own_cost(
        place: tuple[Path, str], tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "FIRST_LOOK", 0.01)
    folder, recipe = place[0], write_recipe(tmp_path, place[0].parent / "model", context=kind)
    answer = {"context": "Pumps."} if kind == "chunk" else KEYS

    def give(asked: Asked) -> Answer:
        return failure(400) if "Company 2" in asked.body["messages"][1]["content"] else chat(answer)

    with serving() as server:
        server.reply = fake = FakeBatches(give)
        job = ingest(tmp_path / "lake", folder, recipe, endpoints=house(server.url, tier="batch"))
        assert counts(job.record) == (3, 2, 0, 1)
    snapshot = Lake.open(str(tmp_path / "lake")).snapshot()
    [lines] = fake.lines
    assert len(lines) == (3 if kind == "document" else 3 * len(snapshot.records("chunks")) // 2)
    each = len(lines) // 3
    spent = {u.subject: (u.calls, u.hits, u.tier, u.dollars) for u in paid(tmp_path / "lake")}
    one = Decimal("0.0000046")  # half of the standard price
    assert spent == {accession(1): (each, 0, "batch", each * one), accession(2): (0, 0, "batch", 0),
                     accession(3): (each, 0, "batch", each * one)}
    [aside] = snapshot.records("quarantine")
    assert (aside.subject, aside.reason) == (accession(2), "ModelFailed")


def test_each_chunk_is_situated_in_its_section_and_one_without_a_good_answer_is_flagged_and_found(
        place: tuple[Path, str], tmp_path: Path) -> None:
    folder, recipe = place[0], write_recipe(tmp_path, place[0].parent / "model", context="chunk")

    def situate(asked: Asked) -> object:
        own = asked.body["messages"][1]["content"].rpartition("PASSAGE:")[2]
        return "no" if "plant 2" in own and "Risk" in own else {"context": f"On {'risks' if 'Risk' in own else 'pumps'}."}

    with serving() as server:
        server.reply = PrefixCache(situate)
        assert counts(ingest(tmp_path / "lake", folder, recipe, endpoints=house(server.url, concurrency=4)).record) == (3, 3, 0, 0)
    snapshot = Lake.open(str(tmp_path / "lake")).snapshot()
    contexts = snapshot.records("contexts")
    flagged = [c for c in contexts if c.fallback]
    assert len(contexts) == sum(indexed(tmp_path / "lake").values()) and len(flagged) == 1
    assert (flagged[0].accession, flagged[0].fallback) == (accession(2), "MalformedAnswer")
    assert flagged[0].context.startswith("COMPANY 2 10-K") and {c.context for c in contexts if not c.fallback} <= {"On risks.", "On pumps."}
    assert all(u.cached_tokens is not None and u.dollars is not None for u in paid(tmp_path / "lake"))


def test_a_budget_ends_the_calls_and_what_is_left_resumes(place: tuple[Path, str], tmp_path: Path) -> None:
    folder, recipe = place
    lake = tmp_path / "lake"
    with serving() as server:
        server.then(*[chat(KEYS, {"prompt_tokens": 2000, "completion_tokens": 400, "total_tokens": 2400})] * 3)
        budget = {"endpoints": house(server.url), "budget_dollars": "0.005"}  # a call may cost about 0.0025, and costs 0.00144
        assert counts(ingest(lake, folder, recipe, **budget).record) == (3, 2, 0, 1)
        assert len(server.requests) == 2
        [aside] = Lake.open(str(lake)).snapshot().records("quarantine")
        assert aside.reason == "OverBudget"
        assert "--retry-quarantined" in aside.todo
        assert sum(u.dollars or 0 for u in paid(lake)) == Decimal("0.00288")
        assert counts(ingest(lake, folder, recipe, retry=True, **budget).record) == (3, 1, 2, 0)
        assert len(server.requests) == 3


def test_what_a_run_paid_and_lost_is_on_record_after_the_next(
        place: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, recipe = place
    lake = tmp_path / "lake"
    with serving() as server:
        server.then(*[chat(KEYS)] * 3)
        monkeypatch.setattr(Job, "_commit_block", stopped)
        with pytest.raises(Stopped):
            ingest(lake, folder, recipe, endpoints=house(server.url))
        monkeypatch.undo()
        assert paid(lake) == []
        assert counts(ingest(lake, folder, recipe, endpoints=house(server.url)).record) == (3, 3, 0, 0)
        assert len(server.requests) == 3
    assert [(u.calls, u.hits, u.origin) for u in paid(lake)] == [(1, 0, "provider")] * 3


def stopped(*_: object) -> None:
    raise Stopped("by the test")


def test_without_its_endpoint_a_recipe_is_refused_in_the_first_second(place: tuple[Path, str], tmp_path: Path) -> None:
    folder, recipe = place
    with pytest.raises(UnknownName, match=r"\[endpoints.openai\]"):
        ingest(tmp_path / "lake", folder, recipe)
    assert not (tmp_path / "lake").exists()
