"""Figures of answers for a terminal of 80 columns, a null as "-"; as JSON they are what they are."""

from __future__ import annotations

from collections.abc import Iterator

from edgarmill.eval.judging.figures import Figures, Share, Spent
from edgarmill.eval.judging.pairs import Rate


def as_lines(f: Figures) -> list[str]:
    """In brackets 95 %; n is the number of questions behind a figure."""
    return [*_head(f), *_rows(f), *_series(f)]


def _head(f: Figures) -> Iterator[str]:
    yield f"Answers {f.answers_id[:12]}: {f.kind}, {f.model}; prompts {f.prompt_hash}, retriever {f.retriever_hash}"
    nulls = f", {f.null_questions} of them without an answer" if f.null_questions else ""
    yield f"{f.set_name}: {f.questions} questions{nulls}"


def _rows(f: Figures) -> Iterator[str]:
    for name, share in f.gold.items():
        yield _line(name, share)
    if not f.gold:
        yield _line("refused", f.refused)
        yield _line("failed", f.failed)
    for name, count in sorted(f.errors.items()):
        yield f"  {name:<28} {count}"
    if f.abstained.questions:
        yield _line("refused where no answer is", f.abstained)
    for tolerance, share in f.numbers.items():
        yield _line(f"figures within {tolerance}", share)
    if f.names.questions:
        yield _line("names, ANLS", f.names)
    yield from _claims(f)
    yield from _pairs(f)
    yield from _spent("answers", f.spent)
    if f.judged is not None and f.judged.calls:
        yield from _spent("judge", f.judged)


def _claims(f: Figures) -> Iterator[str]:
    if f.claims is None:
        return
    c = f.claims
    yield _line("answers with faithful claims", c.faithful)
    undecided = f", {c.undecided} undecided" if c.undecided else ""
    without = f"; {c.without} answers make no claim" if c.without else ""
    yield f"  {c.claims} claims: {c.supported} supported ({c.by_string} by their numbers), {c.unsupported} unsupported{undecided}{without}"


def _pairs(f: Figures) -> Iterator[str]:
    if f.pairs is None:
        return
    p = f.pairs
    yield _line(f"wins against {p.other[:12]}", Share(p.rate.value, p.rate.low, p.rate.high, p.rate.questions))
    flips = "-" if p.flip_rate is None else f"{100 * p.flip_rate:.0f} %"
    yield f"  {p.rate.wins} wins, {p.rate.ties} ties; the order in which they stood decided {flips} of {p.asked}"
    yield "  " + ", ".join(f"{name} {_rate(rate)}" for name, rate in p.criteria.items())


def _series(f: Figures) -> Iterator[str]:
    for kind, series in f.series.items():
        yield f"Judged ({kind}): series {series}. Advisory: another judge or prompt is another series, and no gate reads it."
    for reasons in (f.unmeasured, f.pairs.unmeasured if f.pairs else {}):
        if reasons:
            yield "Not judged, and in no figure: " + ", ".join(f"{count} {why or 'unknown'}" for why, count in sorted(reasons.items()))


def _spent(who: str, s: Spent) -> Iterator[str]:
    seconds = " / ".join("-" if one is None else f"{one:.2f} s" for one in (s.p50_seconds, s.p95_seconds))
    tokens = "-" if s.tokens is None else f"{s.tokens:,.0f}"
    dollars = "unpriced" if s.dollars is None else f"${s.dollars:.4f}"
    known = f"; {s.known} known before" if s.known else ""
    yield f"{who}: p50 / p95 {seconds}; {tokens} tokens a question; {dollars} in all; {s.calls} calls{known}"


def _line(name: str, share: Share) -> str:
    bounds = "" if share.low is None or share.high is None else f"[{share.low:.3f} {share.high:.3f}]"
    value = "-" if share.value is None else f"{share.value:.3f}"
    return f"{name:<30} {value:>6} {bounds:<15} n = {share.questions}"


def _rate(rate: Rate) -> str:
    return "-" if rate.value is None else f"{rate.value:.2f}"
