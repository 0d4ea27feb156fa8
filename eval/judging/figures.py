"""What a set of answers is worth, in figures: from rows alone, nothing is asked.

Shares are over questions. A question whose answer never came counts as failed, beside correct, incorrect and refused; it is not right in
any figure. A judgement that was not measured is left out and counted with its reason. Questions without an answer (category "null") are
told apart: there a refusal is right. Intervals resample by the document that the set's first evidence names; a share of 0 or 1, or of one
document, has Wilson's. Time and tokens are of answers none of which was known before; those that were are counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from edgarmill.eval.certainty import intervals, wilson
from edgarmill.eval.judging.judge import CRITERIA
from edgarmill.eval.judging.names import anls, is_name
from edgarmill.eval.judging.numbers import TOLERANCES, is_figure, right
from edgarmill.eval.judging.pairs import Rate, win_rate
from edgarmill.schemas.records import AnswerRow, JudgementRow

GOLD_LABELS = ("correct", "incorrect", "refused")


@dataclass(frozen=True, slots=True)
class Share:
    """A mean of values from 0 to 1 with 95 %; null where there is no question."""

    value: float | None
    low: float | None
    high: float | None
    questions: int


@dataclass(frozen=True, slots=True)
class Claims:
    """`undecided`: neither numbers nor a judge told. `answers` with claims; `without`: to which this does not apply."""

    answers: int
    without: int
    claims: int
    supported: int
    by_string: int
    unsupported: int
    undecided: int
    faithful: Share  # answers all of whose claims are supported, of those decided


@dataclass(frozen=True, slots=True)
class Pairs:
    """A against B. `flip_rate`: of the pairs that were asked twice."""

    series: str
    judge: str | None
    other: str
    rate: Rate
    criteria: dict[str, Rate]
    flip_rate: float | None
    asked: int
    unmeasured: dict[str, int]


@dataclass(frozen=True, slots=True)
class Spent:
    """Null = not measured. Of the answers, or of the judge."""

    p50_seconds: float | None
    p95_seconds: float | None
    tokens: float | None  # a question, read and written
    dollars: Decimal | None  # in all; null where a part is unpriced
    calls: int
    known: int  # questions some of whose model answers were known before


@dataclass(frozen=True, slots=True)
class Figures:
    answers_id: str
    set_name: str
    kind: str
    model: str
    prompt_hash: str
    retriever_hash: str
    version_id: str
    questions: int
    null_questions: int
    refused: Share  # of questions with an answer
    failed: Share
    abstained: Share  # refusals of questions without one
    errors: dict[str, int]
    numbers: dict[str, Share]  # by tolerance
    names: Share  # ANLS
    series: dict[str, str]  # by kind of judgement: series and judge
    gold: dict[str, Share]
    unmeasured: dict[str, int]  # judgements against gold, by reason
    claims: Claims | None
    spent: Spent
    judged: Spent | None
    pairs: Pairs | None


def figures(answers: Sequence[AnswerRow], judgements: Sequence[JudgementRow] = ()) -> Figures:
    """`answers`: all of one set in one way, one at least; `judgements` of one judge."""
    first = answers[0]
    real = [row for row in answers if row.category != "null"]
    nulls = [row for row in answers if row.category == "null"]
    by_kind: dict[str, list[JudgementRow]] = {}
    for one in judgements:
        by_kind.setdefault(one.kind, []).append(one)
    gold, unmeasured = _gold(real, {one.answer_id: one for one in by_kind.get("gold", ())})
    return Figures(
        first.answers_id, first.set_name, first.kind, first.model, first.prompt_hash, first.retriever_hash, first.version_id, len(answers),
        len(nulls), _share(real, [row.refused is True for row in real]), _share(answers, [row.error is not None for row in answers]),
        _share(nulls, [row.refused is True for row in nulls]), dict(Counter(row.error for row in answers if row.error)), _numbers(real),
        _names(real), {kind: f"{rows[0].series} ({rows[0].judge or 'no judge'})" for kind, rows in by_kind.items()}, gold, unmeasured,
        _claims(answers, by_kind["claims"]) if "claims" in by_kind else None, _spent(answers), _spent(judgements) if judgements else None,
        _pairs(by_kind["pair"]) if "pair" in by_kind else None)


def _share(rows: Sequence[AnswerRow], values: Iterable[float | bool]) -> Share:
    found = [float(value) for value in values]
    if not found:
        return Share(None, None, None, 0)
    mean = sum(found) / len(found)
    documents = [row.document or f"question {row.question_id}" for row in rows]
    few = len(set(documents)) < 2
    if set(found) <= {0.0, 1.0} and (few or mean in (0.0, 1.0)):
        return Share(mean, *wilson(mean, len(found)), len(found))
    if few:
        return Share(mean, None, None, len(found))
    low, high = intervals(np.array([[value] for value in found]), documents)
    return Share(mean, float(low[0]), float(high[0]), len(found))


def _numbers(rows: Sequence[AnswerRow]) -> dict[str, Share]:
    """Of questions whose gold answer is a figure."""
    mine = [row for row in rows if is_figure(row.gold)]
    return {f"{100 * t:g} %": _share(mine, [right(row.text, row.gold, row.question, t) is True for row in mine]) for t in TOLERANCES}


def _names(rows: Sequence[AnswerRow]) -> Share:
    mine = [row for row in rows if is_name(row.gold)]
    return _share(mine, [anls(row.text, [row.gold]) for row in mine])


def _gold(rows: Sequence[AnswerRow], by: Mapping[str, JudgementRow]) -> tuple[dict[str, Share], dict[str, int]]:
    """Shares of each label and of failed questions, over those that are failed or judged."""
    if not by:
        return {}, {}
    labels = {row.answer_id: "failed" if row.error else by[row.answer_id].label if row.answer_id in by else None for row in rows}
    known = [row for row in rows if labels[row.answer_id] is not None]
    why = Counter((by[row.answer_id].why or "").partition(":")[0] if row.answer_id in by else "not asked"
                  for row in rows if labels[row.answer_id] is None)
    return ({name: _share(known, [labels[row.answer_id] == name for row in known]) for name in (*GOLD_LABELS, "failed")}, dict(why))


def _claims(answers: Sequence[AnswerRow], rows: Sequence[JudgementRow]) -> Claims:
    by = {row.answer_id: row for row in answers}
    mine = [row for row in rows if row.claims and row.answer_id in by]
    decided = [row for row in mine if row.label is not None]
    total, supported, against, by_string = (sum(getattr(row, name) or 0 for row in mine)
                                            for name in ("claims", "supported", "unsupported", "by_string"))
    faithful = _share([by[row.answer_id] for row in decided], [row.label == "supported" for row in decided])
    without = sum(row.claims == 0 for row in rows)
    return Claims(len(mine), without, total, supported, by_string, against, total - supported - against, faithful)


def _pairs(rows: Sequence[JudgementRow]) -> Pairs:
    outcomes = {row.question_id: row.label for row in rows if row.label is not None}
    asked = [row for row in rows if row.flipped is not None]
    by_criterion: dict[str, dict[str, str]] = {name: {} for name in CRITERIA}
    for row in asked:
        for name, one in json.loads(row.detail)["outcomes"].items():
            if name in by_criterion:
                by_criterion[name][row.question_id] = one
    return Pairs(rows[0].series, rows[0].judge, rows[0].other_answers_id or "", win_rate(outcomes),
                 {name: win_rate(found) for name, found in by_criterion.items()},
                 sum(bool(row.flipped) for row in asked) / len(asked) if asked else None, len(asked),
                 dict(Counter((row.why or "").partition(":")[0] for row in rows if row.label is None)))


def _spent(rows: Sequence[Any]) -> Spent:
    """Of rows of answers or of judgements."""
    fresh = [row for row in rows if row.calls and not row.hits]
    seconds = [row.seconds for row in rows if row.seconds is not None]
    told = [row.input_tokens + row.output_tokens for row in fresh if row.input_tokens is not None and row.output_tokens is not None]
    paid = [row.usd for row in rows if row.calls]
    dollars = None if any(one is None for one in paid) else sum(paid, Decimal(0))
    p50, p95 = (float(np.percentile(seconds, at)) for at in (50, 95)) if seconds else (None, None)
    tokens = sum(told) / len(told) if told else None
    return Spent(p50, p95, tokens, dollars, sum(row.calls for row in rows), sum(bool(row.hits) for row in rows))
