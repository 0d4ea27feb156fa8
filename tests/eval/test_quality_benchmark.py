"""The benchmark of quality runs on a small lake: every row has a figure, and every miss a class that is true of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgarmill.eval.benchmarks.quality import measured, shown
from tests.support.small_ingest import World, accession


def asked(folder: Path) -> str:
    """One question that its own words find, one whose gold the lake does not have."""
    quote = "In division 2 Company 2 may lose customers and its business was steady throughout the 1A part of the year number 2."
    lines = [
        {"id": "found", "question": "Which customers may Company 2 of division 2 lose?", "category": "single-hop", "answer": "some",
         "gold": [{"accession": accession(2), "quote": quote}]},
        {"id": "foreign", "question": "What did Company 3 pay?", "category": "single-hop", "answer": "nothing",
         "gold": [{"accession": accession(3), "quote": "An altogether different sentence on zebras and unpaid dividends of 1987."}]},
    ]
    path = folder / "own.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", ["filings", "multihop"])
def test_rows_arms_and_misses(world: World, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = measured({name: (str(world.lake), asked(tmp_path))}, True, "torch")[name]
    assert found["questions"] == 1
    assert all(set(values) >= {"doc_hit@5", "MRR@10"} for values in found["arms"].values())
    assert found["misses"]["foreign"] == "gold"
    assert {d["arm"] for d in found["differences"]} == set(found["arms"]) - {"hybrid"}
    assert all(row["holds"] == (row["ours"] >= row["wanted"]) for row in found["rows"] if name == "filings")
    shown({name: found})
    assert "missed foreign: gold" in capsys.readouterr().out
