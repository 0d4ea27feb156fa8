"""Judges against a scripted model: two orders make one outcome, numbers need no model, what was not measured is null with its reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from advised import MODEL, settings, treed_lake
from answering import KNOBS, REFUSED, a_set, answered, by_form, copied, question, reply, shown
from fake_models import ModelServer, chat, failure, serving
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from edgarmill.eval.answering.run import stored
from edgarmill.eval.judging.claims import by_numbers, label_of
from edgarmill.eval.judging.figures import figures
from edgarmill.eval.judging.judge import CRITERIA, prompt_hash, series_of
from edgarmill.eval.judging.judgements import Case, cases, judge_all
from edgarmill.eval.judging.pairs import outcome, win_rate
from edgarmill.eval.judging.report import as_lines
from edgarmill.schemas.errors import UnknownName
from edgarmill.schemas.records import AnswerRow, JudgementRow
from edgarmill.schemas.store import Lake

CORRECT = {"reason": "the same", "label": "correct"}
NUMBER = "Net sales were $1,577 million."


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving() as found:
        yield found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return treed_lake(tmp_path_factory.mktemp("judged"))


@pytest.fixture
def lake(made: Lake, tmp_path: Path) -> Lake:
    return copied(made, tmp_path)


@pytest.fixture
def rows(lake: Lake, server: ModelServer) -> list[AnswerRow]:
    """Three answers: one of words, a refusal, one that never came; the server then has no script."""
    server.then(chat(reply("It was not changed.")), chat(REFUSED), chat("no"), chat("no"))
    found = answered(lake, server, a_set(question(1), question(2), question(3)), concurrency=1).rows
    server.requests.clear()
    return list(found)


def judge(lake: Lake, server: ModelServer, todo: list[Case], run: str = "judge", model: str = MODEL, **more: Any) -> list[JudgementRow]:
    with lake.writer(run) as writer:
        return judge_all(lake, writer, todo, model, settings(server, concurrency=1, **more))


def verdict(**said: str) -> dict[str, str]:
    return {name: said.get(name, said.get("all", "tie")) for name in (*CRITERIA, "overall")}


def test_against_gold_a_refusal_needs_no_judge_and_an_answer_that_never_came_has_no_row(
        lake: Lake, server: ModelServer, rows: list[AnswerRow]) -> None:
    server.then(chat(CORRECT))
    found = judge(lake, server, cases(lake.snapshot(), rows, kinds=["gold"]))
    assert [(row.label, row.calls, row.why) for row in found] == [("correct", 1, None), ("refused", 0, None)]
    [request] = server.requests
    assert shown(request) == [{"right answer": rows[0].gold}, {"answer": "It was not changed."}] and request.body["temperature"] == 0
    assert found[0].series == series_of("gold", "house/small") and found[0].prompt_hash == prompt_hash("gold")
    told = figures(rows, found)
    assert {name: share.value for name, share in told.gold.items()} == pytest.approx(dict.fromkeys(("correct", "refused", "failed"), 1 / 3)
                                                                                   | {"incorrect": 0})
    assert told.errors == {"MalformedAnswer": 1} and not told.unmeasured


@pytest.mark.parametrize(("answers", "why"), [
    ([chat("nonsense"), chat({"label": "maybe", "reason": "x"})], "MalformedAnswer"), ([failure(500)], "ModelFailed"),
    ([failure(400, "context_length_exceeded", "maximum context length is 8")], "ContextWindow"),
])
def test_a_judge_that_fails_leaves_a_null_with_its_reason_and_no_score(lake: Lake, server: ModelServer, rows: list[AnswerRow],
                                                                       answers: list[Any], why: str) -> None:
    server.then(*answers)
    todo = cases(lake.snapshot(), rows[:1], kinds=["gold"])
    [row] = judge(lake, server, todo)
    assert row.label is None and (row.why or "").startswith(why)
    told = figures(rows[:1], [row])
    assert told.gold["correct"].value is None and told.gold["correct"].questions == 0 and told.unmeasured == {why: 1}
    requests = len(server.requests)
    server.reply = lambda request: chat(CORRECT)
    [again] = judge(lake, server, todo, "again")
    assert (again.label == "correct") is (why == "ModelFailed") and len(server.requests) == requests + (why == "ModelFailed")
    assert lake.snapshot().count("judgements") == 1


def test_a_judge_that_does_not_answer_in_time_is_told_so(lake: Lake, server: ModelServer, rows: list[AnswerRow]) -> None:
    from fake_models import Answer

    server.then(Answer(silent=True))
    [row] = judge(lake, server, cases(lake.snapshot(), rows[:1], kinds=["gold"]), timeout_seconds=0.3)
    assert row.label is None and "no answer in time" in (row.why or "")


def test_a_changed_judge_is_another_series_and_the_same_one_is_not_asked_again(
        lake: Lake, server: ModelServer, rows: list[AnswerRow]) -> None:
    server.reply = lambda request: chat(CORRECT)
    todo = cases(lake.snapshot(), rows[:1], kinds=["gold"])
    first, again, other = judge(lake, server, todo), judge(lake, server, todo, "2"), judge(lake, server, todo, "3", "endpoint:house/large")
    assert first == again and len(server.requests) == 2 and first[0].series != other[0].series
    assert {row.series for row in lake.snapshot().records("judgements")} == {first[0].series, other[0].series}


def test_two_answers_are_shown_in_both_orders_and_only_the_same_winner_wins(lake: Lake, server: ModelServer) -> None:
    asked = a_set(*(question(n) for n in range(4)))
    server.reply = lambda request: chat(reply("Mine."))
    mine = answered(lake, server, asked, concurrency=1)
    server.reply = lambda request: chat(reply("Theirs."))
    other = answered(lake, server, asked, knobs=replace(KNOBS, k=3), concurrency=1, run="2")
    server.requests.clear()
    both = ["first", "second"]  # in each order mine, which is a win; then the place, a flip; then theirs; then it says nothing
    server.then(*(chat(verdict(all=one)) for one in both), *(chat(verdict(all="first")) for _ in both),
                *(chat(verdict(all=one, style="tie")) for one in reversed(both)), chat("no"), chat("no"))
    found = judge(lake, server, cases(lake.snapshot(), mine.rows, other.rows, kinds=[]))
    assert [(row.label, row.flipped) for row in found] == [("A", False), ("tie", True), ("B", False), (None, None)]
    one, swapped = server.requests[:2]
    assert shown(one)[1:] == [{"first": "Mine."}, {"second": "Theirs."}]
    assert shown(swapped)[1:] == [{"first": "Theirs."}, {"second": "Mine."}]
    pairs = figures(mine.rows, found).pairs
    assert pairs is not None and (pairs.rate.value, pairs.rate.questions, pairs.rate.wins, pairs.rate.ties) == (0.5, 3, 1, 1)
    assert pairs.flip_rate == pytest.approx(1 / 3) and pairs.unmeasured == {"MalformedAnswer": 1} and pairs.other == other.answers_id
    assert pairs.criteria["style"].ties == 2 and pairs.criteria["accuracy"].ties == 1


def test_equal_answers_tie_unasked(lake: Lake, server: ModelServer, rows: list[AnswerRow]) -> None:
    twin = replace(rows[1], answer_id="other", answers_id="others")
    [row] = judge(lake, server, [Case("pair", rows[1], twin)])
    assert (row.label, row.flipped, row.calls) == ("tie", None, 0) and not server.requests


@given(st.sampled_from(["first", "second", "tie"]), st.sampled_from(["first", "second", "tie"]))
def test_an_outcome_does_not_depend_on_who_is_called_a(one: str, other: str) -> None:
    label, flipped = outcome(one, other)
    mirrored, also = outcome(other, one)
    assert mirrored == {"A": "B", "B": "A", "tie": "tie"}[label] and flipped == also
    assert label == "tie" or not flipped
    if one == other:
        assert label == "tie"  # a judge that looks at the place alone decides nothing


@hypothesis_settings(deadline=None, max_examples=25)
@given(st.lists(st.sampled_from(["A", "B", "tie"]), min_size=1, max_size=30))
def test_the_win_rates_of_two_sides_are_one(labels: list[str]) -> None:
    mine = win_rate({f"q{n}": label for n, label in enumerate(labels)})
    theirs = win_rate({f"q{n}": {"A": "B", "B": "A", "tie": "tie"}[label] for n, label in enumerate(labels)})
    assert mine.value is not None and theirs.value is not None and mine.value + theirs.value == pytest.approx(1)
    assert mine.questions == len(labels) and mine.ties == theirs.ties == labels.count("tie")
    if len(labels) > 1:
        assert mine.low is not None and mine.high is not None
        assert 0 <= mine.low <= mine.value + 1e-9 and mine.value <= mine.high + 1e-9 <= 1.1
        assert mine.low == pytest.approx(1 - (theirs.high or 0))


def test_no_pair_no_rate() -> None:
    assert win_rate({}).value is None


def test_numbers_of_claims_are_looked_up_before_anybody_is_asked() -> None:
    claims = [NUMBER, "Net sales were $1.577 billion.", "Sales rose.", "It has 5 plants.", "In fiscal 2018 it sold 12.5 % more."]
    assert by_numbers(claims, ["net sales of 1,577 and 5, 12.5 percent"]) == {1: True, 2: False, 3: None, 4: None, 5: True}
    assert by_numbers(["Sales were 577 million."], ["1,577"]) == {1: False}
    assert label_of({}) is None and label_of({1: True}) == "supported" and label_of({1: True, 2: None}) is None
    assert label_of({1: False, 2: None}) == "unsupported"


def claiming(rows: list[AnswerRow], *claims: str) -> AnswerRow:
    return replace(rows[0], claims=json.dumps([{"text": claim, "cites": [1]} for claim in claims]))


def test_claims_that_their_numbers_do_not_settle_are_the_judges(lake: Lake, server: ModelServer, rows: list[AnswerRow]) -> None:
    server.then(chat({"supported": [2], "unsupported": [3]}))
    [row] = judge(lake, server, [Case("claims", claiming(rows, NUMBER, "It rose.", "It fell by $9,999."), given=("1,577 and up",))])
    assert (row.label, row.claims, row.supported, row.by_string, row.unsupported) == ("unsupported", 3, 2, 1, 1)
    assert shown(server.requests[0]) == [{"passage": 1, "text": "1,577 and up"}, {"claim": 2, "text": "It rose."},
                                         {"claim": 3, "text": "It fell by $9,999."}]


def test_claims_settled_by_numbers_ask_nobody_and_without_a_judge_the_rest_is_undecided(
        lake: Lake, server: ModelServer, rows: list[AnswerRow]) -> None:
    todo = [Case("claims", claiming(rows, NUMBER), given=("1,577",))]
    assert [(row.label, row.calls, row.seconds) for row in judge(lake, server, todo)] == [("supported", 0, None)]
    todo = [Case("claims", claiming(rows, NUMBER, "It rose."), given=("1,577",))]
    [row] = judge(lake, server, todo, "2", model="")
    assert (row.label, row.judge, row.supported, row.unsupported, row.why) == (None, None, 1, 0, "no judge for 1 claims")
    assert not server.requests
    claims = figures(rows, [row]).claims
    assert claims is not None and (claims.undecided, claims.faithful.value, claims.faithful.questions) == (1, None, 0)


@pytest.mark.parametrize("said", [{"supported": [1], "unsupported": []}, {"supported": [1, 2], "unsupported": [2]},
                                  {"supported": [1, 2, 7], "unsupported": []}])
def test_a_judge_that_leaves_a_claim_out_says_nothing(lake: Lake, server: ModelServer, rows: list[AnswerRow], said: dict[str, Any]) -> None:
    server.then(chat(said), chat(said))
    [row] = judge(lake, server, [Case("claims", claiming(rows, "It rose.", "It fell."), given=("up",))])
    assert row.label is None and (row.supported, row.unsupported) == (0, 0) and (row.why or "").startswith("MalformedAnswer")


def test_no_claim_is_not_applicable_and_a_text_that_is_gone_is_not_judged(lake: Lake, server: ModelServer, rows: list[AnswerRow]) -> None:
    found = judge(lake, server, cases(lake.snapshot(), rows[1:2], kinds=["claims"]))
    assert [(row.label, row.claims, row.supported, row.why) for row in found] == [(None, 0, None, "no claim")]
    moved = replace(rows[0], given=rows[0].given.replace('"text_hash": "', '"text_hash": "0'))
    [gone] = judge(lake, server, cases(lake.snapshot(), [moved], kinds=["claims"]), "2")
    assert gone.label is None and "not in the lake any more" in (gone.why or "") and not server.requests
    claims = figures(rows, [*found, gone]).claims
    assert claims is not None and claims.without == 1 and claims.faithful.value is None


def test_what_was_given_is_read_from_the_documents(lake: Lake, rows: list[AnswerRow]) -> None:
    [case] = cases(lake.snapshot(), rows[:1], kinds=["claims"])
    assert case.given and all("Company A" in text for text in case.given)


def test_figures_and_names_are_scored_without_a_judge_and_a_refusal_is_right_where_there_is_no_answer(
        lake: Lake, server: ModelServer) -> None:
    asked = a_set(question(1, answer="$1,577 million"), question(2, answer="$2,000 million"), question(3, answer="Tim Cook"),
                  question(4, "Who is the king of pumps?", answer="", category="null"), question(5, answer="$5 million"))
    server.then(chat(reply("$1.577 billion")), chat(reply("$2,040 million")), chat(reply("Tim Cook")), chat(REFUSED), failure(500))
    told = figures(answered(lake, server, asked, concurrency=1).rows)
    assert {name: (share.value, share.questions) for name, share in told.numbers.items()} == {
        "0.5 %": (pytest.approx(1 / 3), 3), "2.5 %": (pytest.approx(2 / 3), 3)}
    assert (told.names.value, told.names.questions, told.abstained.value, told.null_questions) == (1, 1, 1, 1)
    assert (told.failed.value, told.refused.value, told.spent.calls) == (0.2, 0, 4) and told.spent.tokens == 14
    lines = as_lines(told)
    assert any(line.startswith("figures within 0.5 %") and "n = 3" in line for line in lines) and max(map(len, lines)) <= 100


def test_answers_are_found_by_the_beginning_of_their_id(lake: Lake, rows: list[AnswerRow]) -> None:
    assert [row.answer_id for row in stored(lake.snapshot(), rows[0].answers_id[:8])] == [row.answer_id for row in rows]
    for name in ("", "zz"):
        with pytest.raises(UnknownName):
            stored(lake.snapshot(), name)


def test_the_report_tells_all_of_it(lake: Lake, server: ModelServer, rows: list[AnswerRow]) -> None:
    server.reply = by_form(GoldVerdict=CORRECT, ClaimVerdict=lambda request: {
        "supported": [line["claim"] for line in shown(request) if "claim" in line], "unsupported": []}, PairVerdict=verdict())
    twins = [replace(row, answer_id=row.answer_id + "x", answers_id="others", text=row.text and "Else.") for row in rows]
    found = judge(lake, server, cases(lake.snapshot(), rows, twins))
    told = figures(rows, found)
    text = "\n".join(as_lines(told))
    for words in ("correct", "refused", "failed", "answers with faithful claims", "wins against others", "p50 / p95", "tokens a question",
                  f"series {series_of('gold', 'house/small')}", "Advisory", "the order in which they stood decided 0 % of 1"):
        assert words in text, words
    assert told.judged is not None and told.judged.calls == 4
