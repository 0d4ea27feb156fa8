"""The benchmark of node trees: Items as nodes, and a cost that adds up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_ingest import accession, write_filings

from edgarmill.eval.benchmarks.trees import measure, show


def test_items_stand_as_nodes_and_dollars_are_those_of_the_tokens(tmp_path: Path) -> None:
    folder = write_filings(tmp_path / "in", 1, 2)
    expected = tmp_path / "items.jsonl"
    present = [["I", "1"], ["I", "1A"], ["II", "7"], ["II", "8"]]
    expected.write_text(json.dumps({"file": f"{accession(1)}.txt", "present": present}), encoding="utf-8")
    found = measure(folder, expected, most=1, summaries=True)
    shape, cost = found["structure"]["10-K"], found["summaries"]["10-K"]
    assert (shape["filings"], shape["items_expected"], shape["items_as_nodes"], shape["pages_as_sections"]) == (2, 4, 3, 1.0)
    assert (cost["filings"], cost["output_tokens"] % 60, cost["cut_tokens"]) == (1, 0, 0)
    assert cost["asked"] * 60 >= cost["output_tokens"] > 0
    assert cost["dollars"] == pytest.approx(cost["input_tokens"] * 2.5e-6 + cost["output_tokens"] * 10e-6, abs=1e-4)  # GPT-4o's list price
    assert {row["dollars"] for row in found["paper"] if row["form"] == "10-K"} >= {6.12, 0.97}
    assert "summaries 10-K: " in show(found)
