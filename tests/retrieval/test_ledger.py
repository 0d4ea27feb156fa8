"""The ledger adds up: every row in one place of every view, exactly, at its own prices and at others; and no row ever changes."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from edgarmill.retrieval.ledger import VIEWS, Prices, at_price, at_prices, filing, summed, tokens_read
from edgarmill.schemas.endpoints import PriceEntry
from edgarmill.schemas.errors import UnknownName, UsageError
from edgarmill.schemas.prices import UNITS, price_set
from edgarmill.schemas.records import Filing, RunRecord, Usage
from edgarmill.schemas.store import Lake, Snapshot, write_part
from edgarmill.workers.models.buckets import tokens_of

AT = datetime(2026, 1, 31, 23, tzinfo=UTC)
D = Decimal
RUNS = ("20260131T230000-a", "20260201T000000-b", "odd")  # the last one was killed: no record, no day
OWN = price_set([PriceEntry.model_validate({"provider": "p", "models": ["m"], "source": "contract of the test", **{
    unit: f"0.{n}7" for n, unit in enumerate(UNITS, start=1)}})])


def run(run_id: str, recipe: str = "default") -> RunRecord:
    return RunRecord(run_id, "", AT, AT, "done", 0, "", recipe, "", "{}", "loop", 1, 1, 0, 0, None, "{}", "")


def made(root: Path, rows: list[tuple[str, Usage]]) -> Snapshot:
    """A lake of two filings with these rows of usage, each with the name of its run."""
    lake = Lake.open(str(root / "lake"), create=True)
    filings = [Filing("one", form="10-K", company="Acme"), Filing("two", form="8-K")]
    for run_id in RUNS:
        tables: dict[str, list[Any]] = {"usage": [u for name, u in rows if name == run_id]}
        if run_id != "odd":
            tables["runs"] = [run(run_id, "default" if run_id == RUNS[0] else "other")]
        tables["filings"] = filings if run_id == RUNS[0] else []
        with lake.writer(run_id) as writer:
            writer.commit([write_part(lake.root, t, run_id, found, run_id) for t, found in tables.items() if found], key=run_id)
    return lake.snapshot()


tokens = st.none() | st.integers(0, 10**7)
money = st.none() | st.decimals(0, 10**6, places=9)


@st.composite
def usages(draw: st.DrawFn) -> tuple[str, Usage]:
    model = draw(st.sampled_from([None, "m", "gpt-4o", "unheard-of"]))
    asked = model is not None and draw(st.booleans())
    origin = draw(st.sampled_from(["provider", "counted", "reused"])) if model else "counted"
    row = Usage(
        draw(st.sampled_from(["one", "two", "gone", "index:default"])), draw(st.sampled_from(["parse", "context", "embed"])), model,
        {"m": "p", "gpt-4o": "openai"}.get(model or "", "local"), origin, draw(st.integers(0, 9)),
        input_tokens=draw(tokens), cached_tokens=draw(tokens), cache_write_tokens=draw(tokens), cache_write_hour_tokens=draw(tokens),
        output_tokens=draw(tokens), reasoning_tokens=draw(tokens), seconds=draw(st.none() | st.floats(0, 1e4)),
        cpu_seconds=draw(st.none() | st.floats(0, 1e4)), dollars=D(0) if origin == "reused" else draw(money),
        tier=draw(st.sampled_from(["standard", "batch"])) if asked else None)
    return draw(st.sampled_from(RUNS)), row


def folded(rows: list[Usage]) -> dict[str, Any]:
    """What a sum of these rows must say."""
    of_models = [u for u in rows if u.model is not None]
    known = [u.dollars for u in rows if u.dollars is not None]
    return {
        "rows": len(rows), "calls": sum(u.calls for u in rows),
        "input_tokens": total(u.input_tokens for u in of_models), "output_tokens": total(u.output_tokens for u in of_models),
        "cached_tokens": total(u.cached_tokens for u in rows), "reasoning_tokens": total(u.reasoning_tokens for u in rows),
        "cache_write_tokens": total(n for u in rows for n in (u.cache_write_tokens, u.cache_write_hour_tokens)),
        "unpriced_rows": len(rows) - len(known), "known_dollars": sum(known, D(0)) if known else None,
        "dollars": sum(known, D(0)) if known and len(known) == len(rows) else None,
    }


def total(counts: Any) -> int | None:
    known = [n for n in counts if n is not None]
    return sum(known) if known else None


def together(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The sum of a view's rows."""
    names = ("rows", "calls", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cache_write_tokens", "unpriced_rows")
    money = [row["known_dollars"] for row in rows if row["known_dollars"] is not None]
    exact = sum(money, D(0)) if money else None
    return {**{name: total(row[name] for row in rows) for name in names}, "known_dollars": exact,
            "dollars": exact if all(row["dollars"] is not None for row in rows) else None}


@effort(max_examples=10, deadline=None)
@given(st.lists(usages(), min_size=1, max_size=12))
def test_every_view_is_the_sum_of_all_rows_to_the_billionth(rows: list[tuple[str, Usage]]) -> None:
    with tempfile.TemporaryDirectory() as root:
        snapshot = made(Path(root), rows)
        wanted = folded([u for _, u in rows])
        for view in VIEWS:
            found, whole = summed(snapshot, view)
            assert len({row[view] for row in found}) == len(found)
            assert {name: whole[name] for name in wanted} == wanted
            assert {name: together(found)[name] for name in wanted} == wanted
            for row in found:
                assert row["known_dollars"] is None or row["known_dollars"] == row["known_dollars"].quantize(D("1e-9"))


@effort(max_examples=6, deadline=None)
@given(st.lists(usages(), min_size=1, max_size=8), st.sampled_from([
    {"on": date(2026, 5, 1)}, {"tier": "batch"}, {"provider": "p", "model": "m"}, {"cpu": D("0.04")}, {"cpu": D(1), "gpu": D(2)},
    {"provider": "openai", "model": "text-embedding-3-small"}]))
def test_other_prices_change_dollars_alone_and_no_row_of_the_lake(rows: list[tuple[str, Usage]], asked: dict[str, Any]) -> None:
    prices = Prices(OWN, **asked)
    with tempfile.TemporaryDirectory() as root:
        snapshot = made(Path(root), rows)
        before = snapshot.read("usage")
        read = at_prices(snapshot, prices)
        kept = [n for n in before.column_names if n not in ("dollars", "price", "price_set", "model", "provider", "tier")]
        assert read.select(kept) == before.select(kept)
        for view in ("stage", "company"):
            found, whole = summed(snapshot, view, prices)
            known = [d for d in read["dollars"].to_pylist() if d is not None]
            assert (whole["known_dollars"] or 0) == sum(known, D(0)) == sum((r["known_dollars"] or 0 for r in found), D(0))
            assert (whole["dollars"] is None) == (len(known) < len(rows))
        assert Lake.open(snapshot.root).snapshot().read("usage") == before
        for row in read.to_pylist():
            assert row["origin"] != "reused" or row["dollars"] == 0


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.booleans())
def test_buckets_are_disjoint_and_add_up_to_the_providers_total(read: int, cached: int, wrote: int, reasoning: int, beside: bool) -> None:
    """However a provider words it: cached tokens within the prompt's or beside them."""
    if beside:
        said = {"input_tokens": read, "cache_read_input_tokens": cached, "output_tokens": wrote}
        whole = read + cached + wrote
    else:
        said = {"prompt_tokens": read + cached, "prompt_tokens_details": {"cached_tokens": cached}, "completion_tokens": wrote + reasoning,
                "completion_tokens_details": {"reasoning_tokens": reasoning}, "total_tokens": read + cached + wrote + reasoning}
        whole = read + cached + wrote + reasoning
    found = tokens_of(said)
    assert found.total == whole
    assert (found.input, found.cached) == (read, cached)


# --- by hand


def call(stage: str = "context", **more: Any) -> Usage:
    base = {"model": "gpt-4o", "provider": "openai", "origin": "provider", "calls": 1, "input_tokens": 10**6, "output_tokens": 0,
            "tier": "standard", "dollars": D("2.5"), "price": "openai gpt-4o standard 2026-01-31"}
    return Usage("one", stage, **{**base, **more})


LOCAL = Usage("one", "embed", "packaged:small", "local", "counted", 5, input_tokens=10**6, output_tokens=0, seconds=3600.0,
              cpu_seconds=7200.0)


def test_each_view_names_what_a_row_belongs_to(tmp_path: Path) -> None:
    parse = Usage("gone", "parse", seconds=1.0)
    rows = [(RUNS[0], call()), (RUNS[1], replace(call(), tier="batch")), ("odd", parse), (RUNS[0], Usage("index:default", "build"))]
    snapshot = made(tmp_path, rows)
    named = {view: {row[view] for row in summed(snapshot, view)[0]} for view in VIEWS}
    assert named == {
        "run": set(RUNS), "form": {"10-K", "(index)", "(set aside before it was read)"},
        "company": {"Acme", "(index)", "(set aside before it was read)"}, "stage": {"context", "parse", "build"},
        "model": {"openai gpt-4o", "openai gpt-4o batch", "(no model)"}, "recipe": {"default", "other", "(run without a record)"},
        "day": {"2026-01-31", "(no day)"}}


def test_an_unpriced_part_makes_the_sum_unpriced_and_the_rest_stays_known(tmp_path: Path) -> None:
    snapshot = made(tmp_path, [(RUNS[0], call()), (RUNS[0], LOCAL)])
    rows, whole = summed(snapshot, "stage")
    assert {row["stage"]: row["dollars"] for row in rows} == {"context": D("2.5"), "embed": None}
    assert (whole["dollars"], whole["known_dollars"], whole["unpriced_rows"]) == (None, D("2.5"), 1)


def test_an_embedder_on_this_machine_and_a_hosted_one_stand_in_one_view(tmp_path: Path) -> None:
    hosted = call("embed", model="text-embedding-3-small", dollars=D("0.02"))
    on_gpu = replace(LOCAL, subject="two", model="on-gpu", gpu_seconds=3600.0)
    snapshot = made(tmp_path, [(RUNS[0], LOCAL), (RUNS[1], hosted), (RUNS[0], on_gpu)])
    rows, whole = summed(snapshot, "model", Prices(price_set(), cpu=D("0.05"), gpu=D("2.50")))
    assert {row["model"]: row["dollars"] for row in rows} == {
        "local packaged:small": D("0.10"), "openai text-embedding-3-small": D("0.02"), "local on-gpu": D("2.60")}
    assert whole["dollars"] == D("2.72")


def test_what_was_embedded_here_can_be_read_at_a_hosted_models_price() -> None:
    prices = Prices(price_set(), provider="openai", model="text-embedding-3-large")
    assert at_price(LOCAL, prices).dollars == D("0.13")
    assert at_price(call(), prices) == call()  # a chat model's call is none of it


def test_calls_are_read_at_another_model_day_or_tier() -> None:
    at = {"on": date(2026, 3, 1)}
    assert at_price(call(), Prices(price_set(), provider="openai", model="gpt-4.1")).dollars == 2
    assert at_price(call(), Prices(price_set(), tier="batch")).dollars == D("1.25")
    assert at_price(call(), Prices(price_set(), **at)).price == "openai gpt-4o standard 2026-03-01"  # type: ignore[arg-type]
    assert at_price(call(origin="reused", dollars=D(0)), Prices(price_set(), tier="batch")).dollars == 0
    assert at_price(LOCAL, Prices(price_set(), tier="batch")) == LOCAL


def test_a_price_per_hour_keeps_the_other_rate_of_the_row_and_a_part_is_no_whole() -> None:
    both = replace(LOCAL, gpu_seconds=3600.0, dollars=D(9), price="cpu 0.5 USD/h + gpu 8 USD/h")
    assert at_price(both, Prices(price_set(), gpu=D(2))).dollars == D(3)
    assert at_price(replace(LOCAL, gpu_seconds=1.0), Prices(price_set(), cpu=D(2))).dollars is None


def test_one_filing_has_its_rows_and_an_unknown_one_is_told(tmp_path: Path) -> None:
    snapshot = made(tmp_path, [(RUNS[1], call()), (RUNS[0], LOCAL)])
    assert [(row["run_id"], row["stage"]) for row in filing(snapshot, "one")] == [(RUNS[0], "embed"), (RUNS[1], "context")]
    assert [row["dollars"] for row in filing(snapshot, "one", Prices(price_set(), cpu=D("0.05")))] == [D("0.1"), D("2.5")]
    with pytest.raises(UnknownName):
        filing(snapshot, "nobody")


def test_what_cannot_be_asked_for_is_told(tmp_path: Path) -> None:
    snapshot = made(tmp_path, [(RUNS[0], LOCAL)])
    with pytest.raises(UnknownName, match="run, form"):
        summed(snapshot, "colour")
    with pytest.raises(UsageError, match="openai/gpt-4o"):
        summed(snapshot, "stage", Prices(price_set(), provider="nobody", model="x"))


def test_tokens_that_were_read_are_all_input() -> None:
    assert tokens_read({"input_tokens": 1, "cached_tokens": None, "cache_write_tokens": 4}) == 5
    assert tokens_read({"input_tokens": None, "cached_tokens": None, "cache_write_tokens": None}) is None
