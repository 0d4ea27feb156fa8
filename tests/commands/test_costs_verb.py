"""The verbs of money at the terminal: what is asked wrongly is told in one line, JSON says what the table says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgarmill.schemas.store import Lake

Edgarmill = Callable[..., Any]
APPLE = "0000320193-24-000123"


@pytest.mark.parametrize("view", ["run", "form", "company", "stage", "model", "recipe", "day"])
def test_a_view_says_the_same_as_a_table_and_as_json(edgarmill: Edgarmill, lake: Path, view: str) -> None:
    out = edgarmill("costs", "--by", view, "--lake", lake).out
    found = edgarmill("costs", "--by", view, "--lake", lake, "--json").json
    assert found["by"] == view
    assert set(found["rows"][0]) == {view, *found["sum"]}
    assert sum(row["rows"] for row in found["rows"]) == found["sum"]["rows"] == 10
    assert found["sum"]["dollars"] is None and found["sum"]["known_dollars"] == 4.0
    assert "unpriced" in out and "$4.00" in out and "\x1b" not in out
    assert all(str(row[view]).replace("\x1b", " ") in out for row in found["rows"])


def test_a_filing_shows_its_rows_and_their_sum(edgarmill: Edgarmill, lake: Path) -> None:
    ran = edgarmill("costs", "--filing", APPLE, "--lake", lake)
    assert ran.code == 0
    assert "In all: $2.50." in ran.out
    found = edgarmill("costs", "--filing", APPLE, "--lake", lake, "--json").json
    assert [row["stage"] for row in found["rows"]] == ["parse", "chunk", "embed", "parse", "chunk", "embed"]
    assert found["sum"] == {"rows": 6, "unpriced_rows": 0, "known_dollars": 2.5, "dollars": 2.5}


def test_other_prices_are_said_and_leave_the_lake_as_it_is(edgarmill: Edgarmill, lake: Path) -> None:
    before = edgarmill("costs", "--by", "stage", "--lake", lake, "--json").json
    at = edgarmill("costs", "--by", "stage", "--lake", lake, "--json", "--price-cpu", "3600", "--price-gpu", "0").json
    assert at["at"] == "CPU $3600/h, GPU $0/h"
    assert at["sum"]["dollars"] == at["sum"]["cpu_seconds"]
    assert "the ledger keeps what was paid" in edgarmill("costs", "--by", "stage", "--lake", lake, "--price-cpu", "1").out
    assert edgarmill("costs", "--by", "stage", "--lake", lake, "--json").json == before


@pytest.mark.parametrize(("words", "said"), [
    (("--by", "colour"), "colour"), (("--price-on", "yesterday"), "yesterday"), (("--filing", "0000000009-99-000009"), "no usage"),
    (("--by", "day", "--filing", APPLE), "say one of"), (("--price-model", "gpt-4o"), "provider/model"),
    (("--by", "stage", "--price-model", "nobody/x"), "no price of this model"), (("--price-cpu", "cheap"), "USD per hour"),
    (("--price-cpu", "-1"), "USD per hour"), (("--price-cpu", "nan"), "USD per hour"),
    (("--price-gpu", "1e9999"), "USD per hour"), (("--price-cpu", "1e30"), "USD per hour"), (("--tier", "free"), "free"),
    (("--change", "--run", "nobody"), "no such run"), (("--run", "x"), "go with --change"), (("--vs-paper", "--change"), "say one of"),
])
def test_what_is_asked_wrongly_is_told_in_one_line(edgarmill: Edgarmill, lake: Path, words: tuple[str, ...], said: str) -> None:
    ran = edgarmill("costs", *words, "--lake", lake)
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("words", [("--by", "day"), ("--vs-paper",), ()])
def test_an_empty_lake_says_what_to_do(edgarmill: Edgarmill, tmp_path: Path, words: tuple[str, ...]) -> None:
    Lake.open(str(tmp_path / "none"), create=True)
    ran = edgarmill("costs", *words, "--lake", tmp_path / "none")
    assert ran.code == 0
    assert "edgarmill ingest" in ran.out or "[tree]" in ran.out
    assert edgarmill("costs", "--by", "day", "--lake", tmp_path / "none", "--json").json["rows"] == []


def test_a_change_and_the_paper_have_their_json(edgarmill: Edgarmill, lake: Path) -> None:
    found = edgarmill("costs", "--change", "--lake", lake, "--json").json
    assert [k["kind"] for k in found["kinds"]] == ["trees", "vectors", "shared"]
    paper = edgarmill("costs", "--vs-paper", "--lake", lake, "--json").json
    assert set(paper) == {"rows", "findings", "prices", "note"}
    out = edgarmill("costs", "--vs-paper", "--lake", lake).out
    for words in ("399,952", "39,952", "$2.16", "$30.62", "per company", "Azure", "GPT-4.1, not of its mini", "fits no split",
                  "Not like for like"):
        assert words in " ".join(out.split())


def test_an_estimate_that_cannot_be_made_is_told(edgarmill: Edgarmill, lake: Path, tmp_path: Path) -> None:
    for words, said in (
            (("--path", "nowhere"), "no such folder"), (("--fetch", "--path", "x"), "say one of"), (("--run", "nobody"), "no such run"),
            (("--path", "x", "--ticker", "AAPL"), "filers of EDGAR"), (("--recipe", "nobody"), "no such recipe"), (("--sample", "0"), "0")):
        ran = edgarmill("estimate", *words, "--lake", lake)
        assert (ran.code, "Traceback" in ran.err) == (2, False), words
        assert said in ran.err
    assert "made no estimate" in edgarmill("estimate", "--run", "20261101-a", "--lake", lake).out
    assert edgarmill("estimate", "--lake", tmp_path / "no").code == 2
