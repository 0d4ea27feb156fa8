"""Answers judged, block by block, as rows: what was judged in a series is not judged again.

A judge that gives no answer, or nonsense twice, leaves a null with its reason; one that failed in passing, or had no budget left, is asked
again by the next run. No row is made of an answer that never came. A refusal needs no judge to be one, nor do two equal answers to tie.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from edgarmill.eval.answering.answer import CONTEXT_WINDOW, one_line
from edgarmill.eval.answering.desk import too_long
from edgarmill.eval.answering.run import AGAIN, BLOCK, Resumed, asking, commit
from edgarmill.eval.judging.claims import by_numbers, label_of
from edgarmill.eval.judging.judge import CRITERIA, Judge, prompt_hash, series_of
from edgarmill.eval.judging.pairs import outcome
from edgarmill.schemas.errors import BadInput, ModelFailed
from edgarmill.schemas.ids import digest, text_hash
from edgarmill.schemas.records import AnswerRow, JudgementRow
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.store import Lake, Writer
from edgarmill.workers.at_once import at_once

if TYPE_CHECKING:
    from edgarmill.workers.models.purse import Budget, Purse

REFUSAL = "(no answer: it says that what it was given does not hold one)"
NO_CLAIM, NO_GOLD, NO_JUDGE, GONE = "no claim", "the set gives no answer", "no judge", "what it was given is not in the lake any more"
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Case:
    """What is to be judged. `given`: texts that the answerer was given; None where they are gone."""

    kind: str
    answer: AnswerRow
    other: AnswerRow | None = None
    given: tuple[str, ...] | None = ()


@dataclass(frozen=True, slots=True)
class Found:
    """What a judgement says."""

    label: str | None = None
    detail: Any = None
    flipped: bool | None = None
    claims: int | None = None
    supported: int | None = None
    unsupported: int | None = None
    by_string: int | None = None
    why: str | None = None


def cases(snapshot: Snapshot, answers: Sequence[AnswerRow], others: Sequence[AnswerRow] = (), kinds: Iterable[str] = ("gold", "claims")
          ) -> list[Case]:
    """The answers by kind, and the pairs with others of the same question."""
    mine = [row for row in answers if row.error is None]
    found: list[Case] = []
    if "gold" in kinds:
        found += [Case("gold", row) for row in mine]
    if "claims" in kinds:
        texts = _texts(snapshot, mine)
        found += [Case("claims", row, given=_given(row, texts)) for row in mine]
    by = {row.question_id: row for row in others if row.error is None}
    return found + [Case("pair", row, by[row.question_id]) for row in mine if row.question_id in by]


def judge_all(lake: Lake, writer: Writer, todo: Sequence[Case], model: str, settings: Settings, *, budget: Budget | None = None,
              progress: Progress = lambda done, total: None) -> list[JudgementRow]:
    """A judgement of each case, in order. `model`: endpoint:NAME/MODEL of the judge; "": what needs none is judged, the rest is null.

    Raises what would strike every case alike; what was judged until then is committed.
    """
    rows = {row.judgement_id: row for row in lake.snapshot().records("judgements")}
    resumed = Resumed({name for name, row in rows.items() if not _again(row)})
    if not model:
        return _judged(lake, writer, todo, None, rows, budget, resumed, progress)
    with asking(model, settings, lake, resumed.booked) as client:
        return _judged(lake, writer, todo, Judge(client), rows, budget, resumed, progress)


def _judged(lake: Lake, writer: Writer, cases: Sequence[Case], judge: Judge | None, rows: dict[str, JudgementRow], budget: Budget | None,
            resumed: Resumed, progress: Progress) -> list[JudgementRow]:
    names = [_id_of(case, judge) for case in cases]
    todo = [case for case, name in zip(cases, names, strict=True) if name not in rows or _again(rows[name])]
    threads = judge.client.endpoint.concurrency if judge else 1
    stop = judge.client.stop if judge else (lambda: None)
    known = set(rows)
    for start in range(0, len(todo), BLOCK):
        made: list[JudgementRow] = []
        try:
            with closing(at_once(lambda case: _judgement(case, judge, budget, writer.run_id, resumed), todo[start : start + BLOCK], threads,
                                 stop)) as asked:
                for _, future in asked:
                    made.append(future.result())
                    progress(start + len(made), len(todo))
        finally:
            commit(lake, writer, "judgements", "judgement_id", made, known)
        rows |= {row.judgement_id: row for row in made}
    return [rows[name] for name in names]


def _again(row: JudgementRow) -> bool:
    """Failed in passing?"""
    return row.label is None and (row.why or "").partition(":")[0] in AGAIN


def _id_of(case: Case, judge: Judge | None) -> str:
    return digest(series_of(case.kind, judge.served if judge else None), case.answer.answer_id, case.other.answer_id if case.other else "")


def _judgement(case: Case, judge: Judge | None, budget: Budget | None, run_id: str, resumed: Resumed) -> JudgementRow:
    from edgarmill.workers.models.purse import Purse

    name = _id_of(case, judge)
    purse = judge.client.purse(name, "judge", budget, run_id) if judge else Purse(name, "judge")
    began = time.perf_counter()
    found = _WAYS[case.kind](case, judge, purse)
    seconds = time.perf_counter() - began
    used = judge.client.usage(purse) if judge else None
    paid = used if used and used.calls else None
    timed = paid is not None and not paid.hits and not resumed(name)
    served = judge.served if judge else None
    return JudgementRow(
        name, series_of(case.kind, served), case.kind, served, prompt_hash(case.kind), case.answer.question_id, case.answer.answers_id,
        case.answer.answer_id, case.other.answers_id if case.other else None, case.other.answer_id if case.other else None, found.label,
        json.dumps(found.detail, ensure_ascii=False, sort_keys=True), found.flipped, found.claims, found.supported, found.unsupported,
        found.by_string, found.why, round(seconds, 6) if timed else None, paid.calls if paid else 0, (used.hits or 0) if used else 0,
        paid.input_tokens if paid else None, paid.output_tokens if paid else None, paid.dollars if paid else None, datetime.now(UTC))


def _against_gold(case: Case, judge: Judge | None, purse: Purse) -> Found:
    row = case.answer
    if row.refused:
        return Found("refused")
    if not row.gold.strip():
        return Found(why=NO_GOLD)
    if judge is None:
        return Found(why=NO_JUDGE)
    try:
        said = judge.against_gold(row.question, row.gold, row.text, purse)
    except BadInput as error:
        return Found(why=_why(error))
    return Found(said.label, {"reason": said.reason})


def _of_two(case: Case, judge: Judge | None, purse: Purse) -> Found:
    assert case.other is not None
    one, other = (REFUSAL if row.refused else row.text for row in (case.answer, case.other))
    if one == other:
        return Found("tie", {"equal": True})
    if judge is None:
        return Found(why=NO_JUDGE)
    try:
        asked = judge.of_two(case.answer.question, case.answer.gold, one, other, purse).model_dump()
        swapped = judge.of_two(case.answer.question, case.answer.gold, other, one, purse).model_dump()
    except BadInput as error:
        return Found(why=_why(error))
    outcomes = {name: outcome(asked[name], swapped[name]) for name in (*CRITERIA, "overall")}
    label, flipped = outcomes["overall"]
    return Found(label, {"as_asked": asked, "swapped": swapped, "outcomes": {name: one for name, (one, _) in outcomes.items()}}, flipped)


def _of_claims(case: Case, judge: Judge | None, purse: Purse) -> Found:
    claims = [one["text"] for one in json.loads(case.answer.claims)]
    if not claims:
        return Found(why=NO_CLAIM, claims=0)
    if case.given is None:
        return Found(why=GONE, claims=len(claims))
    numbers = by_numbers(claims, case.given)
    found: dict[int, bool | None] = {n: one or None for n, one in numbers.items()}  # a number that is not there may have been reckoned
    left = {n: claims[n - 1] for n, one in found.items() if one is None}
    why = None
    if left and judge is None:
        why = f"{NO_JUDGE} for {len(left)} claims"
    elif left and judge is not None:
        try:
            said = judge.of_claims(case.answer.question, case.given, left, purse)
            found |= {**dict.fromkeys(said.supported, True), **dict.fromkeys(said.unsupported, False)}
        except BadInput as error:
            why = _why(error)
    kept = list(found.values())
    detail = [{"claim": n, "numbers": numbers[n], "supported": found[n]} for n in found]
    label = None if why else label_of(found)
    return Found(label, detail, claims=len(claims), supported=kept.count(True), unsupported=kept.count(False),
                 by_string=sum(one is True for one in numbers.values()), why=why)


_WAYS: Mapping[str, Callable[[Case, Judge | None, Purse], Found]] = {"gold": _against_gold, "pair": _of_two, "claims": _of_claims}


def _why(error: BadInput) -> str:
    too_much = isinstance(error, ModelFailed) and too_long(error)
    return one_line(f"{CONTEXT_WINDOW if too_much else error.reason}: {error.what}")


def _texts(snapshot: Snapshot, rows: Iterable[AnswerRow]) -> dict[str, str]:
    wanted = {one["document_id"] for row in rows for one in json.loads(row.given) if "fact" not in one}
    table = snapshot.read("documents", ["document_id", "text"], {"document_id": sorted(wanted)}) if wanted else None
    return dict(zip(table["document_id"].to_pylist(), table["text"].to_pylist(), strict=True)) if table is not None else {}


def _given(row: AnswerRow, texts: Mapping[str, str]) -> tuple[str, ...] | None:
    """What the answerer was given, by its place; None where a text is not what it was."""
    found = []
    for one in json.loads(row.given):
        if (fact := one.get("fact")) is not None:
            found.append(f"{fact['company']}: {fact['concept']} {fact['value']} {fact['unit'] or ''}")
            continue
        text = texts.get(one["document_id"], "")[one["start"] : one["end"]]
        if text_hash(text) != one["text_hash"]:
            return None
        found.append(text)
    return tuple(found)
