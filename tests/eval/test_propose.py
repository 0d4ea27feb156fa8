"""Questions proposed from a lake: their answers are right, their evidence is found again, and only what was chosen is read."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from told_lake import RISK, amounts, told_lake

from edgarmill.eval import told as reading
from edgarmill.eval.propose import proposed, written
from edgarmill.eval.questions import load
from edgarmill.eval.resolve import resolved_rows
from edgarmill.eval.told import told
from edgarmill.schemas.errors import UsageError
from edgarmill.schemas.store import Lake


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return told_lake(tmp_path_factory.mktemp("told"))


def test_every_kind_is_proposed_and_all_evidence_is_found_again_exactly(lake: Lake, tmp_path: Path) -> None:
    records = proposed(lake.snapshot(), 100)
    kinds = Counter(record["kind"].removeprefix("template:") for record in records)
    assert set(kinds) == {"fact-value", "fact-change", "table-value", "table-change", "risk", "section", "summary"}
    assert len({record["id"] for record in records}) == len({record["question"] for record in records}) == len(records)
    written(records, str(tmp_path / "set.jsonl"))
    questions = load(str(tmp_path / "set.jsonl"))
    resolved = resolved_rows(questions, lake.snapshot())
    assert questions.problems == resolved.problems == () and len(questions.questions) == len(records)
    starts = [gold["start"] for record in records for gold in record["gold"]]
    assert [(row.start, row.how) for row in resolved.rows] == [(start, "exact") for start in starts]


def test_answers_are_the_figures_of_the_period_asked_for(lake: Lake) -> None:
    answers = {record["question"]: record["answer"] for record in proposed(lake.snapshot(), 100)}
    (sales, assets), (sales_before, _) = amounts(1, 2023), amounts(1, 2022)
    assert answers["What were the net sales of Quarry B in fiscal 2023?"] == f"${sales:,},000,000"  # of the whole company and year
    assert answers["What were the total assets of Quarry B at the end of fiscal 2023?"] == f"${assets:,},000,000"
    change = answers["By how much did the net sales of Quarry B change from fiscal 2022 to fiscal 2023?"]
    assert change == f"up by $7,000,000, from ${sales_before:,},000,000 to ${sales:,},000,000"
    (sales, assets), (sales_before, _) = amounts(2, 2023), amounts(2, 2022)  # without facts: from tables
    assert answers["What were the net sales of Quarry C in fiscal 2023?"] == f"${sales:,} (in millions)"
    assert answers["What were the total assets of Quarry C at the end of fiscal 2023?"] == f"{assets:,} (in millions)"
    change = answers["How did the net sales of Quarry C change from fiscal 2022 to fiscal 2023?"]
    assert change == f"from ${sales_before:,} to ${sales:,} (in millions)"


def test_prose_is_asked_for_where_it_answers(lake: Lake) -> None:
    records = {record["question"]: record for record in proposed(lake.snapshot(), 100)}
    risk = records[f"In its 10-K for fiscal 2022, Quarry A warns: “{RISK}” What reasons or consequences does it give?"]
    assert risk["gold"][0]["item"] == "1A" and "comes from hole 0" in risk["gold"][0]["quote"]
    outline = records["Give an outline of the business of Quarry A, as described in its 10-K for fiscal 2022."]
    assert outline["category"] == "summary" and len(outline["gold"]) == 2
    assert not any("forward-looking" in gold["quote"] for gold in outline["gold"])
    assert "Which other event did Quarry A report on March 31, 2024?" in records
    assert "What did Quarry A conclude about its disclosure controls in the quarter ended March 31, 2024?" in records


def test_the_same_seed_gives_the_same_and_another_seed_others(lake: Lake) -> None:
    first, again, other = (proposed(lake.snapshot(), 10, seed) for seed in (1, 1, 2))
    assert first == again and first != other and len(first) == len(other) == 10


def test_texts_are_read_of_the_filings_chosen_alone(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    documents = reading._documents

    def watched(snapshot: object, filings: dict[str, object]) -> object:
        read.extend(filings)
        return documents(snapshot, filings)  # type: ignore[arg-type]

    monkeypatch.setattr(reading, "_documents", watched)
    monkeypatch.setattr(reading, "AT_ONCE", 4)
    companies = list(told(lake.snapshot(), 5, random.Random(3)))
    assert len(read) == len(set(read)) == 8 and [len(company) for company in companies] == [4, 4]
    assert [one.filing.form for one in companies[0]] == ["10-K", "10-K", "10-Q", "8-K"]


def test_a_figure_that_tables_contradict_is_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import told_lake as made

    annual = made._annual

    def contradicted(company: int, year: int) -> object:
        blocks, items = annual(company, year)
        head = "As percent | 2023 | 2022\nNet sales | $"
        return [(kind, text.replace(f"{head}1", f"{head}2")) for kind, text in blocks], items

    monkeypatch.setattr(made, "_annual", contradicted)
    asked = [record["question"] for record in proposed(told_lake(tmp_path, 1).snapshot(), 100)]
    assert "What were the total assets of Quarry A at the end of fiscal 2023?" in asked
    assert "What were the net sales of Quarry A in fiscal 2022?" in asked
    assert "What were the net sales of Quarry A in fiscal 2023?" not in asked


def test_nothing_to_ask_and_no_place_to_write_are_errors_of_one_line(tmp_path: Path) -> None:
    empty = Lake.open(str(tmp_path / "empty"), create=True)
    assert proposed(empty.snapshot(), 5) == []
    with pytest.raises(UsageError, match="nothing that the templates could ask for"):
        written([], str(tmp_path / "set.jsonl"))
    with pytest.raises(UsageError, match="cannot be written"):
        written([{"id": "x"}], str(tmp_path / "none" / "set.jsonl"))
    written([{"id": "ä"}], str(tmp_path / "set.jsonl"))
    assert json.loads((tmp_path / "set.jsonl").read_text(encoding="utf-8")) == {"id": "ä"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "set.jsonl"]
