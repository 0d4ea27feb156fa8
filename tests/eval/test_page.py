"""What the page says and carries: arms, verdicts, plots, questions and texts."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from evaluated_lake import ATTACK, TWO, Asking, evaluated_lake, gate, replaced_text
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from stored_evaluations import row

from edgarmill.__main__ import run
from edgarmill.eval import certainty
from edgarmill.eval.experiments import load, parse
from edgarmill.eval.page import page_of, plots, subject_of
from edgarmill.eval.page.charts import axis, grid_of, whole
from edgarmill.eval.page.drilldown import chosen, drilldown, encoded
from edgarmill.eval.page.excerpts import merged, within
from edgarmill.eval.page.subject import Cell
from edgarmill.eval.page.tables import knobs
from edgarmill.eval.page.words import bounds, number
from edgarmill.eval.stored import Stored, stored
from edgarmill.schemas.errors import NotComparable, UnknownName, UsageError
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.store import Lake

VECTOR, HYBRID = TWO[0].id, TWO[1].id


@pytest.fixture(scope="module", autouse=True)
def few_resamples() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certainty, "RESAMPLES", 100)
        yield


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return evaluated_lake(tmp_path_factory.mktemp("evaluated"), questions=24, filings=6)


def data_of(page: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(re.findall(r'<script type="application/json" id="data">(.*)</script>', page)[0])
    return found


# what is compared


def test_the_first_arm_is_what_the_others_are_held_against(lake: Lake) -> None:
    subject = subject_of(lake.snapshot(), [VECTOR, HYBRID])
    first, second = subject.arms
    assert (first.label, second.label, first.verdict) == ("vector", "hybrid", None)
    assert second.difference is not None and subject.comparison is not None
    assert second.difference == subject.comparison.metrics[0].difference
    assert second.p == second.difference.p  # one comparison: nothing to adjust for
    assert second.cell("MRR@5").value == pytest.approx(sum(second.values["MRR@5"].values()) / 24)


def test_of_several_arms_the_p_is_adjusted(lake: Lake) -> None:
    subject = subject_of(lake.snapshot(), [VECTOR, HYBRID, TWO[2].id])
    ps = sorted(arm.difference.p for arm in subject.arms[1:] if arm.difference and arm.difference.p is not None)
    least = min(1, 2 * ps[0])
    assert sorted(arm.p for arm in subject.arms[1:] if arm.p is not None) == pytest.approx([least, max(least, ps[1])])
    assert [arm.label for arm in subject.arms] == ["vector", "hybrid, tiny 2026-11-30.1", "hybrid, tiny 2026-11-28.1"]


def test_an_unknown_metric_or_evaluation_and_none_at_all_are_told(lake: Lake) -> None:
    with pytest.raises(UsageError, match="no such metric"):
        subject_of(lake.snapshot(), [VECTOR], primary="MRR@7")
    with pytest.raises(UnknownName):
        subject_of(lake.snapshot(), ["nothing"])
    with pytest.raises(UsageError, match="0 evaluations"):
        subject_of(lake.snapshot(), [])
    with pytest.raises(UnknownName, match="no evaluation of this experiment"):
        subject_of(lake.snapshot(), [], load("reranking"))


def test_other_questions_are_not_compared(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def other(snapshot: Snapshot, name: str) -> Stored:
        found = stored(snapshot, name)
        return replace(found, evaluation=replace(found.evaluation, questions_hash=name))

    monkeypatch.setattr("edgarmill.eval.page.subject.stored", other)
    with pytest.raises(NotComparable):
        subject_of(lake.snapshot(), [VECTOR, HYBRID])


def test_an_experiment_is_found_arm_by_arm_and_what_is_not_evaluated_is_said(lake: Lake) -> None:
    mine = parse('published = "one-knob"\nmetrics = ["AllGold@10"]\n[baseline]\nmode = "vector"\n[[arm]]\nname = "both"\nmode = "hybrid"\n'
                 '[[arm]]\nname = "words"\nmode = "keyword"\n[[arm]]\nname = "nothing"', "mine")
    ids = [VECTOR, HYBRID]
    subject = subject_of(lake.snapshot(), ids, mine)
    assert [arm.label for arm in subject.arms] == ["baseline", "both"] and subject.primary == "AllGold@10"
    assert any("changes nothing" in line for line in subject.left_out)
    page = page_of(lake.snapshot(), subject)
    assert "Other corpus, other questions" in page and "0.398" in page and "changes nothing" in page


def test_an_experiment_by_name_takes_its_newest_arms(tmp_path: Path) -> None:
    asked = [Asking("baseline", {"mode": "vector", "k": 5}, 0.5, experiment="reranking"),
             Asking("(10, 5)", {"mode": "vector", "k": 5, "reranker": "late_interaction", "k_initial": 10}, 0.5)]
    found = evaluated_lake(tmp_path, asked, questions=9, filings=3)
    subject = subject_of(found.snapshot(), [], load("reranking"))
    assert [arm.label for arm in subject.arms] == ["baseline", "(10, 5)"]
    assert sum(line.endswith("not evaluated") for line in subject.left_out) == 10


def test_an_experiment_whose_arms_were_all_evaluated_before_under_other_names_is_found(tmp_path: Path) -> None:
    asked = [Asking("vector", {"mode": "vector", "k": 5}, 0.5), Asking("words", {"mode": "keyword"}, 0.5)]
    subject = subject_of(evaluated_lake(tmp_path, asked, questions=9, filings=3).snapshot(), [], load("reranking"))
    assert [arm.label for arm in subject.arms] == ["baseline"] and len(subject.left_out) == 11


def test_versions_over_time_are_those_of_the_same_questions_and_retriever(lake: Lake) -> None:
    lines = {line.label: line for line in subject_of(lake.snapshot(), [VECTOR, HYBRID]).lines}
    assert [point.tag for point in lines["hybrid"].points] == ["2026-11-28.1", "2026-11-29.1", "2026-11-30.1"]
    assert [point.tag for point in lines["vector"].points] == ["2026-11-30.1"]
    assert all(point.same and point.cell.value is not None for point in lines["hybrid"].points)


def test_a_gate_about_these_two_is_shown_and_no_other(tmp_path: Path) -> None:
    found = evaluated_lake(tmp_path, questions=9, filings=3)
    assert subject_of(found.snapshot(), [VECTOR, HYBRID]).gate is None
    gate(found, VECTOR, HYBRID)
    told = page_of(found.snapshot(), subject_of(found.snapshot(), [VECTOR, HYBRID]))
    assert "undecided by rule default" in told and "at least 50 judged" in told
    assert subject_of(found.snapshot(), [TWO[2].id, HYBRID]).gate is None


# the page as a whole


def test_certainty_is_said_in_words_and_nothing_unmeasured_is_a_zero(lake: Lake) -> None:
    page = page_of(lake.snapshot(), subject_of(lake.snapshot(), [VECTOR, HYBRID]))
    assert re.search(r"hybrid against vector: (surely better|undecided|surely worse)", page)
    assert "Nothing to show of dollars a question" in page
    assert "Questions that ended with an error, and count 0: 1 of vector, 1 of hybrid." in page
    assert "$0" not in page


def test_all_that_comes_from_a_lake_is_escaped(tmp_path: Path) -> None:
    found = evaluated_lake(tmp_path, questions=9, filings=3, hostile=True)
    page = page_of(found.snapshot(), subject_of(found.snapshot(), [VECTOR, HYBRID]))
    assert page.count("<script") == page.count("</script>") == 3 and "<img" not in page
    assert ATTACK in json.dumps(data_of(page), ensure_ascii=False).replace('\\"', '"')
    nodes = list(etree.fromstring(page.encode(), etree.HTMLParser(encoding="utf-8", huge_tree=True)).iter())
    assert not [name for node in nodes for name in node.attrib if name.startswith("on") or name in ("src", "href", "style", "action")]


def test_the_policy_allows_the_pages_own_style_and_script_alone(lake: Lake) -> None:
    import base64
    import hashlib

    page = page_of(lake.snapshot(), subject_of(lake.snapshot(), [VECTOR]))
    policy = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)[0]
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy


def test_the_same_rows_give_the_same_page(lake: Lake) -> None:
    one, other = (page_of(lake.snapshot(), subject_of(lake.snapshot(), [VECTOR, HYBRID])) for _ in range(2))
    assert one == other


# questions and texts


def test_a_question_leads_to_its_gold_and_hits_and_their_text(lake: Lake) -> None:
    subject = subject_of(lake.snapshot(), [VECTOR, HYBRID])
    data = drilldown(lake.snapshot(), subject)
    texts = {row["document_id"]: row["text"] for row in lake.snapshot().read("documents").to_pylist()}
    known = [f"{document[3]}:{document[5]}" for document in data["documents"]]
    assert len(data["questions"]) == 24
    for q in data["questions"]:
        for document, start, end, _, quote, _, _, sure in q["g"]:
            assert sure and texts[known[document]][start:end] == quote and piece(data, document, start, end) == quote
        for arm, shown in zip(subject.arms, q["h"], strict=True):
            ranked = arm.stored.ranked[q["id"]]
            assert [(hit[0], tuple(hit[3])) for hit in shown] == [(hit.rank, hit.gold) for hit in ranked]
            for hit in shown:
                document, start, end, section, page, _, sure = data["chunks"][hit[1]]
                assert sure and section.startswith("I.") and page >= 1
                assert piece(data, document, start, end) == texts[known[document]][start:end]


def piece(data: dict[str, object], document: int, start: int, end: int) -> str:
    """The text of a range, out of what the page carries."""
    kept = data["texts"][document]  # type: ignore[index]
    pieces = zip(kept[::2], kept[1::2], strict=True)
    return next((text[start - at : end - at] for at, text in pieces if at <= start < end <= at + len(text)), "")


def test_text_that_was_parsed_anew_is_not_passed_off_as_what_was_searched(tmp_path: Path) -> None:
    found = evaluated_lake(tmp_path, questions=12, filings=3)
    replaced_text(found, 0)
    data = drilldown(found.snapshot(), subject_of(found.snapshot(), [HYBRID]))
    changed = [n for n, document in enumerate(data["documents"]) if document[3].endswith("000000")]
    assert changed and all(chunk[6] == (chunk[0] not in changed) for chunk in data["chunks"])
    assert all(gold[7] == (gold[0] not in changed) for q in data["questions"] for gold in q["g"])


def test_where_questions_are_too_many_those_that_differ_most_stay_and_it_is_said(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = subject_of(lake.snapshot(), [VECTOR, HYBRID])
    changes = {q: abs(subject.arms[1].values[subject.primary][q] - value) for q, value in subject.arms[0].values[subject.primary].items()}
    monkeypatch.setattr(sys.modules[chosen.__module__], "MOST_QUESTIONS", 5)
    kept = [q.question_id for q in chosen(subject)]
    assert kept == sorted(kept) and len(kept) == 5
    assert min(changes[q] for q in kept) >= max(change for q, change in changes.items() if q not in kept)
    assert "5 of 24 questions, those in which the arms differ most" in page_of(lake.snapshot(), subject)


def test_where_texts_are_too_many_the_best_ranks_keep_theirs(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = subject_of(lake.snapshot(), [HYBRID])
    full = drilldown(lake.snapshot(), subject)
    assert full["ranks"] == 10
    monkeypatch.setattr(sys.modules[drilldown.__module__], "MOST_CHARACTERS", 1)
    assert drilldown(lake.snapshot(), subject)["ranks"] == -1


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(1, 60)).map(lambda p: (p[0], p[0] + p[1])), max_size=12))
def test_merged_ranges_cover_the_same_characters_once(ranges: list[tuple[int, int]]) -> None:
    found = merged(ranges)
    assert {c for start, end in ranges for c in range(start, end)} == {c for start, end in found for c in range(start, end)}
    assert all(one[1] < other[0] for one, other in zip(found, found[1:], strict=False))


def test_levels_are_kept_whole_as_long_as_there_is_room() -> None:
    levels = [{"a": [(0, 10)]}, {"a": [(5, 20)], "b": [(0, 5)]}, {"b": [(3, 50)]}]
    assert within(levels, 25) == ({"a": [(0, 20)], "b": [(0, 5)]}, 2)
    assert within(levels, 9) == ({}, 0)


@given(st.text())
def test_data_in_the_page_is_read_back_and_ends_no_script(text: str) -> None:
    from edgarmill.eval.page.words import plain

    made = encoded({"q": plain(text)})
    assert "<" not in made and "\u2028" not in made and json.loads(made) == {"q": plain(text)}
    assert len(plain(text)) == len(text)


# plots and words


@given(st.floats(0, 1e6), st.floats(1e-3, 1e6), st.integers(2, 8))
def test_ticks_are_round_few_and_span_the_values(low: float, wide: float, most: int) -> None:
    found = plots.ticks(low, low + wide, most)
    assert found[0] <= low * (1 + 1e-6) + 1e-9 and found[-1] >= (low + wide) * (1 - 1e-6) and 2 <= len(found) <= most + 3
    steps = {round((b - a) / (found[1] - found[0]), 6) for a, b in zip(found, found[1:], strict=False)}
    assert steps == {1.0}


def test_what_was_not_measured_is_not_drawn() -> None:
    drawn = plots.rows("t", ["a", "b"], [Cell(0.5, 0.4, 0.6, 9), Cell()], lambda v: f"{v:.3f}", axis("MRR@5"), (0, 1))
    assert drawn.count('class="point"') == 1 and ">–</text>" in drawn
    line = plots.lines("t", [[Cell(0.5, None, None, 9), Cell(), Cell(0.7, 0.6, 0.8, 9)]], ["a"], ["x", "y", "z"], axis("MRR@5"), (0, 1))
    assert line.count('class="point"') == 2 and "no interval" in line


def test_a_grid_needs_two_knobs_that_alone_vary(lake: Lake) -> None:
    assert grid_of(subject_of(lake.snapshot(), [VECTOR, HYBRID]).arms) is None
    assert whole("MRR@5") == (0, 1) and whole("tokens@5")[1] == float("inf")


def test_figures_read_with_what_they_need() -> None:
    assert (number("MRR@5", 0.41234), number("MRR@5", None), number("latency_p50_seconds", 0.0123)) == ("0.412", "–", "12.3")
    assert (number("tokens", 1234.4), number("usd", 0.00012)) == ("1,234", "0.00012")
    assert (bounds("MRR@5", None, None), bounds("MRR@5", 0.1, None)) == ("", "[0.100 –]")
    assert knobs(row("a", retriever='{"mode": "hybrid", "k": 10, "filters": "inferred"}')) == "mode hybrid, filters inferred"


# the command


def test_the_command_writes_the_page_and_lists_what_there_is(lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report.html"
    assert run(["--lake", lake.root, "report", VECTOR, HYBRID, "--out", str(out)]) == 0
    assert "2 evaluations; open it in a browser" in capsys.readouterr().out
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert run(["--lake", lake.root, "report", "--json"]) == 0
    assert {one["evaluation_id"] for one in json.loads(capsys.readouterr().out)} == {one.id for one in TWO}
    assert run(["--lake", lake.root, "report", VECTOR, "--out", str(out)]) == 0, "a page is written again"
    out.write_text("<!doctype html>\n<p>my own notes", encoding="utf-8")
    assert run(["--lake", lake.root, "report", VECTOR, "--out", str(out)]) == 2
    assert "it is there already" in capsys.readouterr().err and out.read_text(encoding="utf-8").endswith("my own notes")
    assert run(["--lake", lake.root, "report", VECTOR, "--out", str(out), "--force"]) == 0
    assert run(["--lake", lake.root, "report", VECTOR, "--out", str(tmp_path)]) == 2
    assert run(["--lake", lake.root, "report", "nothing", "--out", str(out)]) != 0
    assert "no such evaluation" in capsys.readouterr().err
