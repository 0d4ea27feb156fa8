"""Listings over a small lake: what they show, and that their JSON says the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgarmill.schemas.settings import Settings

Edgarmill = Callable[..., Any]
APPLE, ACME, BROKEN = "0000320193-24-000123", "0000000001-24-000007", "local-0123456789abcdef"


def test_config_show_tells_where_each_value_came_from(edgarmill: Edgarmill, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "edgarmill.toml").write_text('workers = 2\ndevice = "cpu"\n', encoding="utf-8")
    monkeypatch.setenv("EDGARMILL_DEVICE", "mps")
    monkeypatch.setenv("EDGARMILL_HUB_TOKEN", "deadbeef")
    rows = {r["setting"]: r for r in edgarmill("config", "show", "--json", "--set", "embed_batch=4").json}
    assert set(rows) == set(Settings.model_fields)
    assert (rows["workers"]["value"], rows["workers"]["origin"]) == (2, "file edgarmill.toml")
    assert (rows["device"]["value"], rows["device"]["origin"]) == ("mps", "environment EDGARMILL_DEVICE")
    assert (rows["embed_batch"]["value"], rows["embed_batch"]["origin"]) == (4, "command line")
    assert rows["loop_below"]["origin"] == "default"
    assert "deadbeef" not in str(rows)
    assert "deadbeef" not in edgarmill("config", "show").out


def test_quarantine_list_says_what_why_and_what_to_do(edgarmill: Edgarmill, lake: Path) -> None:
    ran = edgarmill("quarantine", "list", "--lake", lake)
    assert ran.code == 0
    for word in (BROKEN, "broken.htm", "open", "BadFile", "a zip named .htm", "Unpack it."):
        assert word in ran.out
    assert [r["subject"] for r in edgarmill("quarantine", "list", "--lake", lake, "--json").json] == [BROKEN]


def test_runs_list_has_the_newest_first_and_no_time_for_what_did_not_end(edgarmill: Edgarmill, lake: Path) -> None:
    rows = edgarmill("runs", "list", "--lake", lake, "--json").json
    assert [(r["run_id"], r["seconds"]) for r in rows] == [("20261102-b", None), ("20261101-a", 120.0)]
    assert "2 min 00 s" in edgarmill("runs", "list", "--lake", lake).out


def test_index_list_always_shows_the_share_of_cut_tokens(edgarmill: Edgarmill, lake: Path) -> None:
    rows = edgarmill("index", "list", "--lake", lake, "--json").json
    assert [(r["recipe"], r["cut_share"]) for r in rows] == [("paper", 0.75), ("default", 0.0)]
    out = edgarmill("index", "list", "--lake", lake).out
    assert "75.0 %" in out and "0.0 %" in out and "unpriced" in out


def test_index_show_has_each_check(edgarmill: Edgarmill, lake: Path) -> None:
    found = edgarmill("index", "show", "2026-11-01.1", "--lake", lake, "--json").json
    assert found["recipe"] == "default"
    assert [(c["check"], c["expected"], c["found"], c["ok"]) for c in found["checks"]] == [("rows", "5", "5", True)]


def test_an_unknown_tag_is_told_what_is_near(edgarmill: Edgarmill, lake: Path) -> None:
    ran = edgarmill("index", "show", "2026-11-01.2", "--lake", lake)
    assert ran.code == 2
    assert "Near: 2026-11-01.1" in ran.err


def test_recipes_show_fingerprint_and_what_is_cut_here(edgarmill: Edgarmill) -> None:
    rows = {r["recipe"]: r for r in edgarmill("recipes", "--json").json}
    assert set(rows) >= {"default", "paper", "snowflake"}
    assert rows["default"]["overflow"] == "refuse" and rows["paper"]["overflow"] == "cut"
    assert rows["paper"]["chunker"] == "fixed tokens=512 overlap=50"
    assert rows["default"]["cut_share"] is None  # no lake: not known, never 0


@pytest.mark.parametrize("verb", [("quarantine", "list"), ("runs", "list"), ("index", "list"), ("costs",)])
def test_an_empty_lake_says_so_in_a_sentence(edgarmill: Edgarmill, tmp_path: Path, verb: tuple[str, ...]) -> None:
    from edgarmill.schemas.store import Lake

    Lake.open(str(tmp_path / "new"), create=True)
    ran = edgarmill(*verb, "--lake", tmp_path / "new")
    assert ran.code == 0
    assert len(ran.out.splitlines()[0]) > 10
    assert edgarmill(*verb, "--lake", tmp_path / "new", "--json").code == 0


def test_why_tells_the_whole_story(edgarmill: Edgarmill, lake: Path) -> None:
    found = edgarmill("why", APPLE, "--lake", lake, "--json").json
    assert [r["run_id"] for r in found["runs"]] == ["20261101-a", "20261102-b"]
    assert [(s["stage"], s["origin"], s["version"]) for s in found["stages"]][:2] == [("parse", "counted", 3), ("chunk", "counted", None)]
    assert [(c["chunker"], c["chunks"], c["tokens"], c["recipes"]) for c in found["chunks"]] == [
        ("c1", 3, 30, ["default"]),
        ("c2", 1, 10, ["paper"]),
    ]
    assert found["contexts"] == [{"fingerprint": "ctx", "chunks": 1, "tokens": 14, "cut_tokens": 3}]
    assert [v["tag"] for v in found["index_versions"]] == ["2026-11-02.1", "2026-11-01.1"]
    assert found["documents"][0]["type"] == "10-K" and "text" not in found["documents"][0]


@pytest.mark.parametrize("name", [APPLE, APPLE.replace("-", ""), "aapl.htm", "some/folder/aapl.htm.gz"])
def test_why_takes_accession_or_file_name(edgarmill: Edgarmill, lake: Path, name: str) -> None:
    assert edgarmill("why", name, "--lake", lake, "--json").json["accession"] == APPLE


def test_why_of_a_filing_in_quarantine_says_why(edgarmill: Edgarmill, lake: Path) -> None:
    ran = edgarmill("why", "broken.htm", "--lake", lake)
    assert ran.code == 0
    assert "never opened" in ran.out and "a zip named .htm" in ran.out


def test_why_of_an_unknown_filing_names_what_is_near(edgarmill: Edgarmill, lake: Path) -> None:
    ran = edgarmill("why", "0000320193-24-000132", "--lake", lake)
    assert ran.code == 2
    assert f"Near: {APPLE}" in ran.err


def test_a_filing_cannot_steer_the_terminal(edgarmill: Edgarmill, lake: Path) -> None:
    out = edgarmill("why", APPLE, "--lake", lake).out
    assert "\x1b" not in out and "Apple [31m Inc." in out


def test_sql_answers_over_the_snapshot(edgarmill: Edgarmill, lake: Path) -> None:
    rows = edgarmill("sql", "select form, count(*) as n from filings group by 1", "--lake", lake, "--json").json
    assert rows == [{"form": "10-K", "n": 2}]


def test_a_sample_can_be_written(edgarmill: Edgarmill, tmp_path: Path) -> None:
    made = edgarmill("sample", "write", tmp_path / "made", "--filings", "3", "--json").json
    assert made["filings"] == len(list((tmp_path / "made").glob("*.txt"))) == 3
    assert Path(made["questions_file"]).exists()
