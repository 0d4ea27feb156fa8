"""An estimate takes the pipeline's own stages over a few filings; a run keeps its own and says how far off it was."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from fake_models import chat, serving
from small_ingest import ingest, tiny_model, write_filings, write_recipe

from edgarmill.flows.estimate import asks_models, check_budget, estimate_run, estimated, wanted
from edgarmill.flows.forecast import Forecast
from edgarmill.flows.job import Job
from edgarmill.flows.request import Request
from edgarmill.retrieval.accuracy import accuracy, spent_on_models
from edgarmill.schemas import settings as all_settings
from edgarmill.schemas.errors import UnknownName, UsageError
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake

KEYS = {"company": "Company", "form": "10-K", "filed": "", "period": "2023", "metrics": ["Net sales $1"], "highlights": ["Pumps"]}
HOUSE = {"openai": {"base_url": "http://127.0.0.1:9/v1", "model": "any", "key_env": "NO_SUCH_KEY"}}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine filings in `in`, recipes `small` (no model is asked) and `asks` (a context by a model)."""
    root = tmp_path_factory.mktemp("forecast")
    write_filings(root / "in", *range(1, 10))
    model = tiny_model(root / "model")
    write_recipe(root, model)
    write_recipe(root, model, name="asks", context="document")
    return root


def settings(lake: Path, **more: Any) -> Settings:
    return all_settings.load({"lake": str(lake), "device": "cpu", **more})[0]


def told(place: Path, lake: Path, recipe: str = "small", sample: int = 4, request: Request | None = None, **more: Any) -> Forecast:
    asked = request or Request(source="folder", path=str(place / "in"))
    return estimate_run(settings(lake, **more), str(place / f"{recipe}.toml"), asked, lambda *a: None, lambda line: None, sample=sample)


def test_a_folder_is_estimated_without_a_lake_and_nothing_is_written(place: Path, tmp_path: Path) -> None:
    found = told(place, tmp_path / "lake", cpu_dollars_per_hour="0.04")
    assert (found.planned, found.todo, found.opened) == (9, 9, 9)
    assert 3 <= found.tried < 9
    assert os.listdir(tmp_path) == []
    embed = found.rows[-1]
    ingest(tmp_path / "lake", place / "in", str(place / "small.toml"))
    done = [u for u in Lake.open(str(tmp_path / "lake")).snapshot().records("usage") if u.stage == "embed"]
    assert embed.input_tokens == pytest.approx(sum(u.input_tokens for u in done), rel=0.1)
    assert embed.requests == pytest.approx(sum(u.calls for u in done), rel=0.1)
    assert [row.stage for row in found.rows] == ["open", "parse", "section", "chunk", "context", "embed"]
    assert all(row.dollars is not None and row.seconds for row in found.rows)
    assert found.wall_seconds and found.dollars() == sum((row.dollars or 0 for row in found.rows), Decimal(0))


def test_what_is_done_is_left_out(place: Path, tmp_path: Path) -> None:
    ingest(tmp_path / "lake", place / "in", str(place / "small.toml"))
    assert told(place, tmp_path / "lake").rows == ()
    again = told(place, tmp_path / "lake", "asks", endpoints=HOUSE)
    assert [(row.stage, row.filings) for row in again.rows] == [("chunk", 9), ("context", 9), ("context", 9), ("embed", 9)]
    everything = estimate_run(settings(tmp_path / "lake"), str(place / "small.toml"), None, lambda *a: None, lambda line: None, sample=4)
    assert (everything.planned, everything.todo) == (9, 0)


def test_a_model_is_rehearsed_without_its_key_and_priced_with_a_range(place: Path, tmp_path: Path) -> None:
    found = told(place, tmp_path / "lake", "asks", endpoints=HOUSE)
    [row] = [row for row in found.rows if row.provider]
    assert (row.stage, row.model, row.provider, row.filings, row.requests, row.output_tokens) == (
        "context", "gpt-4.1-mini", "openai", 9, 9, 720)
    assert row.dollars_low is not None and row.dollars is not None and row.dollars_high is not None
    assert 0 < row.dollars_low < row.dollars < row.dollars_high
    assert row.seconds is None  # nobody knows how long that server takes
    assert found.dollars() is None  # local work has no price here
    assert found.dollars(models=True) == row.dollars


def test_an_unpriced_model_has_no_estimate_in_dollars(place: Path, tmp_path: Path) -> None:
    found = told(place, tmp_path / "lake", "asks", endpoints={"openai": {**HOUSE["openai"], "provider": "somebody"}})
    assert found.dollars(models=True) is None
    assert any("unpriced" in line for line in found.notes)


def test_nothing_to_estimate_is_told(place: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no filing"):
        told(place, tmp_path / "lake", request=Request(source="folder", path=str(tmp_path / "empty")))
    with pytest.raises(UsageError, match="no filing"):
        estimate_run(settings(tmp_path / "lake"), str(place / "small.toml"), None, lambda *a: None, lambda line: None, sample=4)


def run(place: Path, lake: Path, **more: Any) -> Job:
    """A run that makes its estimate, as flow `ingest` does."""
    class Estimating(Job):
        def transform(self) -> None:
            if wanted(self):
                estimated(self)
            super().transform()

    import small_ingest

    before, small_ingest.Job = small_ingest.Job, Estimating  # type: ignore[misc]
    try:
        return ingest(lake, place / "in", str(place / "asks.toml"), **more)
    finally:
        small_ingest.Job = before  # type: ignore[misc]


def test_a_run_with_a_budget_keeps_its_estimate_and_how_far_off_it_was(place: Path, tmp_path: Path) -> None:
    with serving() as server:
        server.reply = lambda asked: chat(KEYS, {"prompt_tokens": 400, "completion_tokens": 80, "total_tokens": 480})
        job = run(place, tmp_path / "lake", endpoints={"openai": {"base_url": server.url, "model": "any"}}, budget_dollars="1")
        assert len(server.requests) == 9
    snapshot = Lake.open(str(tmp_path / "lake")).snapshot()
    rows = accuracy(snapshot, job.run_id)
    [asked] = [row for row in rows if row["provider"]]
    assert asked["requests"] == [9, 9, 0.0]
    assert asked["tokens_out"] == [720, 720, 0.0]
    assert asked["tokens_in"][1] == 3600
    assert asked["dollars"][1] == 9 * Decimal("0.000288")
    guess, took, off = spent_on_models(rows)
    assert (guess, took) == (asked["dollars"][0], asked["dollars"][1])
    assert off == pytest.approx(float(guess / took) - 1)
    assert rows[-1]["stage"] == "sum"
    assert rows[-1]["tokens_in"][1] >= 3600


def test_a_budget_below_the_low_estimate_is_refused_before_any_call(place: Path, tmp_path: Path) -> None:
    with serving() as server:
        house = {"openai": {"base_url": server.url, "model": "any"}}
        with pytest.raises(UsageError, match=r"models are estimated at \$0\.00\d+, at least \$0\.00\d+, and the budget is \$0\.0001"):
            run(place, tmp_path / "lake", endpoints=house, budget_dollars="0.0001")
        assert server.requests == []
    [record] = Lake.open(str(tmp_path / "lake")).snapshot().records("runs")
    assert (record.outcome, record.exit_code) == ("failed", 2)


def test_a_budget_needs_no_estimate_where_nobody_is_paid(place: Path, tmp_path: Path) -> None:
    from small_ingest import setup

    assert not asks_models(setup(tmp_path / "lake", str(place / "small.toml")))
    assert asks_models(setup(tmp_path / "lake", str(place / "asks.toml"), endpoints={"openai": {"base_url": "http://x/v1", "model": "m"}}))


def test_an_unknown_run_is_told_and_one_without_an_estimate_has_none(place: Path, tmp_path: Path) -> None:
    job = ingest(tmp_path / "lake", place / "in", str(place / "small.toml"))
    snapshot = Lake.open(str(tmp_path / "lake")).snapshot()
    assert accuracy(snapshot, job.run_id) == []
    with pytest.raises(UnknownName):
        accuracy(snapshot, "nobody")


def test_an_estimate_that_is_unpriced_holds_no_budget_back(place: Path, tmp_path: Path) -> None:
    found = told(place, tmp_path / "lake")
    check_budget(found, settings(tmp_path / "lake", budget_dollars="0.01"))


def test_a_hosted_embedder_is_priced_by_the_tokens_it_will_read(place: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "hosted.toml"
    recipe.write_text(f"""
name = "hosted"
[chunker]
kind = "structure"
[context]
kind = "metadata"
[embedding]
model = "endpoint:openai/text-embedding-3-small"
window = 256
dimensions = 8
tokenizer = "{place / 'model' / 'tokenizer.json'}"
""", encoding="utf-8")
    request = Request(source="folder", path=str(place / "in"))
    found = estimate_run(settings(tmp_path / "lake", endpoints=HOUSE), str(recipe), request, lambda *a: None, lambda line: None, sample=4)
    [row] = [row for row in found.rows if row.stage == "embed"]
    assert (row.model, row.provider, row.tier) == ("text-embedding-3-small", "openai", "standard")
    assert row.requests == 9  # one a filing: their texts are few
    assert row.dollars == pytest.approx(Decimal(row.input_tokens or 0) * Decimal("0.02") / 10**6, abs=Decimal("1e-6"))


def test_a_batch_is_priced_as_one_and_rehearsed_all_the_same(place: Path, tmp_path: Path) -> None:
    usual = told(place, tmp_path / "lake", "asks", endpoints=HOUSE)
    batch = told(place, tmp_path / "lake", "asks", endpoints={"openai": {**HOUSE["openai"], "tier": "batch"}})
    one, other = usual.dollars(models=True), batch.dollars(models=True)
    assert one is not None and other is not None
    assert float(other) == pytest.approx(float(one) / 2, rel=1e-6)
    assert [row.tier for row in batch.rows if row.provider] == ["batch"]
