"""report: evaluations side by side as one page of HTML."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.terminal import columns, listing, show_json, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgarmill.eval.page.subject import Subject
    from edgarmill.schemas.snapshot import Snapshot


@click.command()
@click.argument("evaluations", nargs=-1, metavar="[EVALUATION]...")
@click.option("--experiment", metavar="NAME", help="Its arms as they were last evaluated, in its order; or only those named.")
@click.option("--metric", default="", metavar="NAME", help="The primary metric (default coverage@2000t, or the experiment's first).")
@click.option("--out", default="report.html", show_default=True, metavar="FILE", help="The page.")
@click.option("--force", is_flag=True, help="Replace a file that is there even if it is no page of edgarmill.")
@shared
@pass_given
def command(given: Given, evaluations: tuple[str, ...], experiment: str | None, metric: str, out: str,
            force: bool) -> None:
    """Evaluations side by side as one page of HTML: plots, figures, slices, and every question down to the passage in its document.

    EVALUATION is an id, or how it begins; all others are held against the first. Two are also named as `edgarmill compare` names them. One
    alone works as well; without any, the evaluations of the lake are listed. The page works from disk and offline, and loads nothing.

    \b
    Examples:
      edgarmill report
      edgarmill report prod default --out tonight.html
      edgarmill report 3f2a01 91cc7e 0b44d2
      edgarmill report --experiment reranking --metric MRR@5
    """
    if not evaluations and not experiment:
        return _list(given)
    from edgarmill.eval.experiments import load
    from edgarmill.eval.page import page_of, subject_of
    from edgarmill.schemas.disk import refusals, whole_file
    from edgarmill.schemas.files import PAGE, check_free

    check_free(out, force, PAGE)
    full = os.path.abspath(out)
    asked, snapshot = load(experiment) if experiment else None, given.snapshot()
    subject = subject_of(snapshot, _ids(snapshot, evaluations), asked, metric)
    data = page_of(snapshot, subject).encode("utf-8", "replace")
    with refusals(out), whole_file(full) as file:
        file.write(data)
    if given.json:
        return show_json({"html": full, "bytes": len(data), **_said(subject)})
    print(f"{out}: {size(len(data))}, {len(subject.arms)} evaluations; open it in a browser")


def _ids(snapshot: Snapshot, named: Sequence[str]) -> Sequence[str]:
    if len(named) != 2:
        return named
    from edgarmill.eval.compare import pair
    from edgarmill.eval.stored import evaluations
    from edgarmill.schemas.promotions import promotions

    moves = promotions(snapshot.root)
    return [row.evaluation_id for row in pair(evaluations(snapshot), named[0], named[1], moves[-1].version_id if moves else "")]


def _said(subject: Subject) -> dict[str, Any]:
    return {"primary": subject.primary, "left_out": list(subject.left_out),
            "evaluations": [{"arm": arm.label, "evaluation_id": arm.row.evaluation_id, "verdict": arm.verdict} for arm in subject.arms]}


def _list(given: Given) -> None:
    rows = given.snapshot().read("evaluations").to_pylist()
    rows.sort(key=lambda row: (row["created_at"], row["evaluation_id"]), reverse=True)
    shown = [{**row, "evaluation_id": row["evaluation_id"][:12], "set_hash": row["set_hash"][:8]} for row in rows]
    listing(rows if given.json else shown,
            columns("evaluation_id:evaluation", "arm", "experiment", "set_name:set", "set_hash:texts", "recipe", "tag", "judged", "failed",
                    "created_at:made"), as_json=given.json, empty="No evaluation yet: edgarmill evaluate QUESTIONS makes some.")
