"""Averages per filing: who paid first, what is unpriced."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from edgarmill.retrieval.costs import Costs, costs, repriced_calls
from edgarmill.schemas.prices import price_set
from edgarmill.schemas.records import Chunk, Filing, IndexVersion, RunRecord, Usage
from edgarmill.schemas.store import Lake, write_part


def usage(subject: str, stage: str, seconds: float | None, **more: Any) -> Usage:
    return Usage(subject, stage, **{"seconds": seconds, "cpu_seconds": seconds, "dollars": Decimal("0.5"), **more})


def chunks(accession: str, chunker: str, count: int) -> list[Chunk]:
    return [
        Chunk(f"{accession}{chunker}{i}", f"{accession}:1", accession, chunker, i, 0, 1, "t", 1, "", "", "", 1, 1) for i in range(count)
    ]


def run(run_id: str, recipe: str) -> RunRecord:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return RunRecord(run_id, "", at, at, "done", 0, "", recipe, "", "{}", "loop", 1, 1, 0, 0, None, "{}", "")


def version(recipe: str, chunker: str) -> IndexVersion:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    manifest = json.dumps({"fingerprints": {"chunker": chunker}})
    return IndexVersion(recipe, recipe, "f", "m", "h", 1, "2026-01-01.1", None, "verified", 1, 1, 1, 0, 1, None, manifest, at)


def filed(accession: str, form: str = "10-K", status: str = "parsed") -> Filing:
    return Filing(accession, form=form, status=status)


def reckon(root: Path, *runs: tuple[str, dict[str, list[Any]]]) -> Costs:
    lake = Lake.open(str(root / "lake"), create=True)
    for run_id, rows in runs:
        with lake.writer(run_id) as writer:
            writer.commit([write_part(lake.root, table, run_id, found, run_id) for table, found in rows.items()], key=run_id)
    return costs(lake.snapshot())


FIRST = (
    "a",
    {
        "runs": [run("a", "default")],
        "filings": [filed("one"), filed("two"), filed("three", "8-K"), filed("bad", status="quarantined")],
        "index_versions": [version("default", "c")],
        "chunks": [*chunks("one", "c", 3), *chunks("two", "c", 5)],
        "usage": [
            usage("one", "parse", 2.0),
            usage("one", "chunk", 1.0, input_tokens=999),
            usage("one", "embed", 5.0, model="m", input_tokens=30),
            usage("two", "parse", 4.0),
            usage("two", "chunk", 1.0),
            usage("two", "embed", 1.0, model="m", input_tokens=10),
            usage("three", "parse", 1.0, dollars=None),
            usage("bad", "parse", 100.0),
            usage("index:default", "build", 7.0),
        ],
    },
)


def by_form(found: Costs) -> dict[tuple[str, str], dict[str, Any]]:
    return {(r["recipe"], r["form"]): r for r in found.by_form}


def test_an_average_is_over_the_filings_of_a_form(tmp_path: Path) -> None:
    row = by_form(reckon(tmp_path, FIRST))["default", "10-K"]
    assert (row["filings"], row["chunks"], row["input_tokens"], row["seconds"]) == (2, 4.0, 20.0, 7.0)
    assert float(row["dollars"]) == 1.5


def test_what_has_no_price_is_unpriced_and_what_was_not_counted_is_null(tmp_path: Path) -> None:
    row = by_form(reckon(tmp_path, FIRST))["default", "8-K"]
    assert (row["filings"], row["dollars"], row["input_tokens"], row["chunks"]) == (1, None, None, None)


def test_a_quarantined_filing_is_in_no_average_but_in_what_was_spent(tmp_path: Path) -> None:
    found = reckon(tmp_path, FIRST)
    assert sum(r["filings"] for r in found.by_form) == 3
    assert found.spent["seconds"] == pytest.approx(122.0)
    assert found.spent["dollars"] is None


def test_a_reused_stage_counts_as_what_the_first_payer_paid(tmp_path: Path) -> None:
    second = (
        "b",
        {
            "runs": [run("b", "paper")],
            "index_versions": [version("paper", "d")],
            "chunks": chunks("one", "d", 2),
            "usage": [
                usage("one", "parse", 0.0, origin="reused", dollars=Decimal(0)),
                usage("one", "chunk", 3.0),
                usage("one", "embed", 9.0, model="m", input_tokens=50),
            ],
        },
    )
    found = by_form(reckon(tmp_path, FIRST, second))
    assert (found["paper", "10-K"]["seconds"], found["paper", "10-K"]["chunks"], found["paper", "10-K"]["filings"]) == (14.0, 2.0, 1)
    assert (found["default", "10-K"]["seconds"], found["default", "10-K"]["chunks"]) == (7.0, 4.0)


def test_a_run_that_was_repeated_changes_no_average(tmp_path: Path) -> None:
    again = ("b", {"runs": [run("b", "default")], "usage": [usage("one", "parse", 50.0), usage("two", "parse", 0.0, origin="reused")]})
    assert by_form(reckon(tmp_path, FIRST, again))["default", "10-K"]["seconds"] == 7.0


def test_a_killed_run_without_a_record_pays_for_the_run_that_went_on(tmp_path: Path) -> None:
    killed = ("a", {"filings": [filed("one")], "usage": [usage("one", "parse", 2.0)]})
    went_on = ("b", {"runs": [run("b", "default")], "usage": [usage("one", "parse", 0.0, origin="reused"), usage("one", "chunk", 1.0)]})
    found = by_form(reckon(tmp_path, killed, went_on))
    assert list(found) == [("default", "10-K")]
    assert found["default", "10-K"]["seconds"] == 3.0


def test_what_an_index_cost_stands_apart(tmp_path: Path) -> None:
    assert [(r["subject"], r["stage"], r["seconds"]) for r in reckon(tmp_path, FIRST).by_index] == [("index:default", "build", 7.0)]


def test_an_empty_lake_has_no_averages(tmp_path: Path) -> None:
    found = reckon(tmp_path)
    assert found.by_form == found.by_stage == found.by_index == []


def test_the_paper_stands_beside_with_its_audit(tmp_path: Path) -> None:
    found = reckon(tmp_path)
    cell = next(c for c in found.paper if (c["table"], c["form"], c["model"]) == (1, "10-K", "GPT-4o"))
    assert cell["dollars"] == Decimal("30.62")
    assert {c["verdict"] for c in found.paper} <= {"agrees", "contradicts", "not computable"}
    assert all(c["dollars"] is None or c["dollars"] > 0 for c in found.paper)  # what is not at hand is null, never 0
    assert "Not like for like" in found.note


def test_every_bucket_of_a_providers_tokens_counts_once(tmp_path: Path) -> None:
    call = usage("one", "context", None, model="gpt", provider="p", origin="provider", tier="standard", input_tokens=10, cached_tokens=20,
                 cache_write_tokens=30, cache_write_hour_tokens=40, output_tokens=5, reasoning_tokens=6)
    found = reckon(tmp_path, FIRST, ("b", {"runs": [run("b", "default")], "usage": [call]}))
    [row] = [r for r in found.by_stage if r["stage"] == "context"]
    assert (row["input_tokens"], row["output_tokens"]) == (100, 11)


def test_paid_calls_at_another_price_leave_the_ledger_as_it_is(tmp_path: Path) -> None:
    asked = {"model": "gpt-4o", "provider": "openai", "tier": "standard", "output_tokens": 0}
    call = usage("one", "context", None, origin="provider", input_tokens=10**6, **asked)
    hit = usage("two", "context", None, origin="reused", input_tokens=0, **asked)
    reckon(tmp_path, FIRST, ("b", {"usage": [call, hit]}))
    snapshot = Lake.open(str(tmp_path / "lake")).snapshot()
    [again] = repriced_calls(snapshot, price_set(), date(2026, 1, 1), model="gpt-4.1", tier="batch")
    assert (again.subject, again.dollars, again.price) == ("one", 1, "openai gpt-4.1 batch 2026-01-01")
    assert call in snapshot.records("usage")


def test_the_prices_behind_the_papers_columns_are_shown_with_what_is_wrong(tmp_path: Path) -> None:
    notes = {(p["model"], p["form"]): (str(p["input"]), str(p["output"]), p["note"]) for p in reckon(tmp_path, FIRST).paper_prices}
    assert notes["GPT-4o", ""][:2] == ("2.75", "11")
    assert "Azure" in notes["GPT-4o", ""][2]
    assert notes["GPT-4.1 mini", "10-K"][:2] == ("2", "8")
    assert notes["GPT-4.1 mini", "10-Q"][:2] == ("1.60", "6.40")
    assert notes["Gemini 2.5 Flash", ""][:2] == ("0.30", "2.50")
