"""Evaluate: scores and rankings are committed once; the same evaluation again is read back and searches nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_ingest import World, accession

from edgarmill.schemas.store import Lake, Snapshot

Edgarmill = Callable[..., Any]


def question(n: int, named: str, quote: str) -> str:
    gold = [{"accession": named, "quote": quote}]
    return json.dumps({"id": f"q{n}", "question": f"What were the net sales of division {n}?", "category": "single-hop", "answer": "x",
                       "gold": gold})


@pytest.fixture
def lake(world: World, tmp_path: Path) -> Path:
    return Path(shutil.copytree(world.lake, tmp_path / "lake"))


def snapshot(lake: Path) -> Snapshot:
    return Lake.open(str(lake)).snapshot()


def questions(folder: Path, *lines: str) -> Path:
    file = folder / "set.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_scores_are_committed_and_the_second_time_nothing_is_searched(edgarmill: Edgarmill, lake: Path, prefect: str,
                                                                      tmp_path: Path) -> None:
    asked = questions(tmp_path, *(question(n, accession(n), f"Its net sales amounted to ${n + 1},{100 + n} million") for n in (1, 2, 3)))
    words = ("evaluate", asked, "--lake", lake, "--set", f"prefect_api_url={prefect}", "--json")
    ran = edgarmill(*words)
    assert ran.code == 0, ran.err
    first = snapshot(lake)
    found = {(s.mode, s.metric): s.value for s in first.records("scores") if s.category == "all"}
    assert {mode for mode, _ in found} == {"vector", "keyword", "hybrid"}
    assert {"MRR@5", "Recall@5", "hit@5", "nDCG@10"} <= {metric for _, metric in found}
    for metric in ("MRR@5", "Recall@5", "hit@5", "nDCG@10"):
        assert all(0 <= found[mode, metric] <= 1 for mode in ("vector", "keyword", "hybrid")), metric
    assert first.count("question_sets") == 3 and first.count("rankings") > 0
    with Lake.open(str(lake)).writer("another run"):  # nothing is to be done: no lock, no server, no model
        again = edgarmill(*words, "--set", "prefect_api_url=http://127.0.0.1:9/api")
    assert (again.code, again.err) == (0, "")
    assert json.loads(again.out)["stored"] is True and json.loads(ran.out)["stored"] is False
    for table in ("scores", "rankings", "question_sets"):
        assert snapshot(lake).count(table) == first.count(table)


def test_what_is_piped_is_one_table_of_80_columns_and_a_line_for_each_thing_said(edgarmill: Edgarmill, lake: Path, prefect: str,
                                                                                  tmp_path: Path) -> None:
    absent = question(9, "0000000123-24-000001", "There is no such sentence in any filing of this lake, however long one looks for it.")
    asked = questions(tmp_path, question(1, accession(1), "Its net sales amounted to $2,101 million"), absent)
    words = ("evaluate", asked, "--lake", lake, "--set", f"prefect_api_url={prefect}", "--mode", "keyword")
    ran = edgarmill(*words)
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert len(lines) <= 24 and "\x1b" not in ran.out and max(len(line) for line in lines if line[0] in "┏┃┡│└") <= 80
    assert any(line.startswith("set: 1 of 2 questions judged; kept out: 1 with evidence that is not found") and line.endswith("1 not.")
               for line in lines), lines
    assert sum("0000000123-24-000001 is not in this lake" in line for line in lines) == 1
    whole = edgarmill(*words, "--all", COLUMNS="80").out
    assert len(whole.splitlines()) > 2 * len(lines) and "half@5" in whole and "half@5" not in ran.out


def test_a_set_whose_evidence_is_in_no_filing_of_the_lake_says_so(edgarmill: Edgarmill, lake: Path, prefect: str, tmp_path: Path) -> None:
    asked = questions(tmp_path, question(1, "0000000123-24-000001", "There is no such sentence anywhere."))
    ran = edgarmill("evaluate", asked, "--lake", lake, "--mode", "keyword", "--set", f"prefect_api_url={prefect}", "--json")
    assert "Traceback" not in ran.err + ran.out
    told = json.loads(ran.out) if ran.code == 0 else ran.err
    assert "0000000123-24-000001" in str(told)


@pytest.mark.parametrize(("words", "says"), [
    (("absent.jsonl",), "absent.jsonl"),
    (("set.jsonl", "--recipe", "nobody"), "nobody"),
    (("set.jsonl", "--tag", "2001-01-01.1"), "2001-01-01.1"),
    (("empty.jsonl",), "no question can be used"),
    (("set.jsonl", "--with", "spelling=yes"), "spelling is 'yes', neither true nor false"),
    (("set.jsonl", "--with", "keyword_weight=TRUE"), "weights 1.0 and True"),
    (("set.jsonl", "--with", "k=" + "1" * 5_000), "k is a number of too many digits"),
    (("set.jsonl", "--with", "k=0x" + "f" * 5_000), "a number of very many digits hits asked for"),
    (("set.jsonl", "--with", "reranker=magic"), "no such reranker"),
    (("set.jsonl", "--experiment", ""), "no such experiment"),
])
def test_what_cannot_be_evaluated_is_refused_before_anything_is_started(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                                        monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...],
                                                                        says: str) -> None:
    from edgarmill import __main__ as main

    monkeypatch.chdir(tmp_path)
    questions(tmp_path, question(1, accession(1), "net sales"))
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    assert main.run(["evaluate", *words, "--lake", str(world.lake)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("edgarmill: ") and err.count("\n") == 1 and says in err


def test_a_lake_that_is_not_there_is_not_made_by_asking(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from edgarmill import __main__ as main

    asked = questions(tmp_path, question(1, accession(1), "net sales"))
    assert main.run(["evaluate", str(asked), "--lake", str(tmp_path / "none")]) == 2
    assert "no lake here" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
