"""compare: two evaluations of the same questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.terminal import Column, clean, columns, listing, show, show_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgarmill.eval.compare import Comparison, Cost, Moved, MovedGold
    from edgarmill.schemas.records import EvaluationRow

EVALUATIONS = (Column("", ""), *columns("recipe", "tag", "arm", "evaluation_id:evaluation", "created_at:made (UTC)"))
METRICS = columns("metric", "A", "B", "difference", "interval:95 %", "n", "p", "verdict")
COSTS = columns("cost:a question", "A", "B", "difference", "interval:95 %")
SHOWN = 5  # regressions in words; --json has ten of each


@click.command()
@click.argument("first")
@click.argument("second")
@click.option("--questions", metavar="SET", help="Of which set, by name or hash, where a version was asked several.")
@click.option("--metric", default=None, help="That decides about regressions and slices (default coverage@2000t).")
@shared
@pass_given
def command(given: Given, first: str, second: str, questions: str | None, metric: str | None) -> None:
    """The second evaluation against the first: by metric and slice, with intervals, the worst regressions, and what differs.

    Each is named by evaluation id, version tag, prod, recipe or arm. Ends with 7 where the two were not asked the same.
    """
    from edgarmill.eval.compare import PRIMARY, compare, pair
    from edgarmill.eval.stored import evaluations, stored
    from edgarmill.schemas.promotions import promotions

    snapshot = given.snapshot()
    rows = [row for row in evaluations(snapshot) if questions is None or _of_set(row, questions)]
    moves = promotions(snapshot.root)
    one, other = pair(rows, first, second, moves[-1].version_id if moves else "")
    found = compare(snapshot, stored(snapshot, one.evaluation_id), stored(snapshot, other.evaluation_id), metric or PRIMARY)
    if given.json:
        show_json(found)
    else:
        tell(found)


def _of_set(row: EvaluationRow, name: str) -> bool:
    return name == row.set_name or (len(name) >= 6 and (row.questions_hash.startswith(name) or row.set_hash.startswith(name)))


def tell(found: Comparison) -> None:
    """Prints a comparison."""
    from dataclasses import asdict

    show([{"": side, **asdict(row), "evaluation_id": row.evaluation_id[:12]} for side, row in (("A", found.first), ("B", found.second))],
         EVALUATIONS)
    print(f"\n{clean(found.first.set_name)}: {found.first.judged:,} judged questions. Differences are B - A, with intervals resampled by "
          f"document; {found.primary} decides, the p of all others are adjusted (Holm).")
    show([_metric(one.metric, one) for one in found.metrics], METRICS)
    print()
    listing([_metric(one.slice, one) for one in found.slices], METRICS, as_json=False, empty="No slices.")
    print()
    show([_cost(one) for one in found.costs], COSTS)
    tell_moved(f"Worst regressions of {found.primary}", found.regressions, found.regressed)
    tell_moved(f"Best gains of {found.primary}", found.gains, found.gained)
    if found.corpus is not None:
        _tell_corpus(found.corpus)


def _metric(name: str, one: Any) -> dict[str, Any]:
    d = one.difference
    return {"metric": clean(name), "A": _figure(d.first), "B": _figure(d.second), "difference": _figure(d.mean, "+"),
            "interval": _interval(d.low, d.high), "n": d.questions, "p": _figure(one.adjusted), "verdict": one.verdict}


def _cost(one: Cost) -> dict[str, Any]:
    d = one.difference
    mean = d.mean if d else None
    return {"cost": one.name, "A": _amount(one.first), "B": _amount(one.second), "difference": None if mean is None else f"{mean:+.4g}",
            "interval": f"[{d.low:.4g} {d.high:.4g}]" if d and d.low is not None and d.high is not None else None}


def _figure(value: float | None, sign: str = "") -> str | None:
    return None if value is None else f"{value:{sign}.3f}"


def _amount(value: float | None) -> str | None:
    return None if value is None else f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"


def _interval(low: float | None, high: float | None) -> str | None:
    return None if low is None or high is None else f"[{low:+.3f} {high:+.3f}]"


def tell_moved(title: str, moved: Sequence[Moved], count: int) -> None:
    """Prints questions that got worse, or better: the ranks of their evidence, and what stands where it should."""
    if not moved:
        return
    print(f"\n{title} ({min(SHOWN, len(moved))} of {count:,})")
    for one in moved[:SHOWN]:
        print(f"  {clean(one.question_id)}  {one.first:.2f} -> {one.second:.2f}  {clean(one.question)}")
        for gold in one.gold[:3]:
            print(f"     evidence at {_ranks(gold)}: {clean(gold.document_id)} “{clean(gold.quote)[:100]}”")
        if one.instead is not None:
            page = f" p. {one.instead.page}" if one.instead.page else ""
            text = f" “{clean(one.instead.text)[:100]}”" if one.instead.text else ""
            print(f"     instead at {one.instead.rank}: {clean(one.instead.document_id)}{page}{text}")


def _ranks(gold: MovedGold) -> str:
    return " -> ".join("none" if rank is None else str(rank) for rank in (gold.first_rank, gold.second_rank))


def _tell_corpus(corpus: Any) -> None:
    filings = ", ".join(f"{len(corpus[change]):,} {change}" for change in ("added", "removed", "changed") if corpus[change])
    print(f"\nThe second index version: {filings + ' filings' if filings else 'the same filings, byte for byte'}")
    for name, values in {**corpus["settings"], **corpus["counts"]}.items():
        print(f"  {clean(name)}: {clean(values[0])} -> {clean(values[1])}")
