"""questions: what resolves of a question set, which sets a lake knows, and questions proposed from a lake."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.terminal import clean, columns, complain, counted, listing, show_json

if TYPE_CHECKING:
    from edgarmill.eval.questions.question_set import QuestionSet
    from edgarmill.eval.resolve import Resolved

INCOMPLETE = 3  # as of a run that leaves something over
SHOWN = 40  # problems on a terminal; --json has all
COLUMNS = columns("set_name:set", "questions", "evidence", "exact", "fuzzy", "document:whole", "unresolved", "evaluations",
                  "questions_hash:hash", "set_hash:texts", "licence")


@click.group()
@shared
def command() -> None:
    """Question sets: check one, list those of a lake, propose one, export an evaluation for other tools."""


@command.command("check")
@click.argument("path", metavar="FILE", type=click.Path())
@click.option("--form-only", is_flag=True, help="Only how the set is written; no lake is looked at.")
@shared
@pass_given
def check(given: Given, path: str, form_only: bool) -> int:
    """What of a question set can be used: how many questions, how their evidence is found in the lake, and each problem in a line.

    FILE is a file or a folder: our own JSONL or Parquet, BEIR, FinanceBench, FinRAG-Eval, KG-RAG, MultiHop-RAG or TAT-QA, also as .gz.
    Ends with 0 if all of it can be used, with 3 if some cannot, with 2 if nothing can.
    """
    from edgarmill.eval import questions as question_sets
    from edgarmill.eval.resolve import resolved_rows

    asked = question_sets.load(path)
    resolved = None if form_only else resolved_rows(asked, given.snapshot())
    said = _said(asked, resolved)
    if given.json:
        show_json(said)
    else:
        _show(asked, said)
    return INCOMPLETE if said["problems"] else 0


def _said(asked: QuestionSet, resolved: Resolved | None) -> dict[str, Any]:
    gold = [one for question in asked.questions for one in question.gold]
    found = None
    if resolved is not None:
        hows = Counter(row.how for row in resolved.rows if row.ordinal >= 0)
        found = {"exact": hows["exact"], "fuzzy": hows["fuzzy"], "document": hows["document"], "unresolved": hows[None]}
    return {
        "set": asked.name, "licence": asked.licence, "questions_hash": asked.set_hash, "set_hash": resolved.key if resolved else None,
        "questions": len(asked.questions), "categories": dict(sorted(Counter(q.category for q in asked.questions).items())),
        "evidence": len(gold), "types": dict(sorted(Counter(one.type for one in gold).items())), "found": found,
        "problems": [*asked.problems, *(resolved.problems if resolved else ())], "notes": list(asked.notes),
    }


def _show(asked: QuestionSet, said: dict[str, Any]) -> None:
    print(f"{clean(asked.name)}: {counted(said['questions'], 'question')} ({_counts(said['categories'])}); "
          f"{counted(said['evidence'], 'piece')} of evidence ({_counts(said['types'])})")
    print(f"Licence: {clean(asked.licence or 'not stated')}. Hash {asked.set_hash}.")
    if found := said["found"]:
        parts = [f"{found['exact']:,} exactly", f"{found['fuzzy']:,} nearly"]
        if found["document"]:
            parts.append(f"{found['document']:,} are whole documents (they count for documents alone)")
        print(f"Found in the lake: {', '.join(parts)}; {found['unresolved']:,} not found.")
    for note in said["notes"]:
        print(clean(note))
    for problem in said["problems"][:SHOWN]:
        complain(problem)
    if len(said["problems"]) > SHOWN:
        complain(f"{len(said['problems']) - SHOWN:,} further problems: --json lists all")


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {clean(name)}" for name, count in counts.items())


@command.command("list")
@shared
@pass_given
def list_(given: Given) -> None:
    """The sets that the lake knows, each as resolved on its texts; one whose filings were parsed anew stands there twice."""
    from edgarmill.eval.sets import sets_of

    rows = sets_of(given.snapshot())
    hashes = ("questions_hash", "set_hash")
    shown = [{**row, "licence": (row["licence"] or "")[:24], **{name: row[name][:8] for name in hashes}} for row in rows]
    listing(rows if given.json else shown, COLUMNS, as_json=given.json,
            empty="No question set yet: edgarmill evaluate FILE keeps the one that it asks.")


@command.command("propose")
@click.option("--out", required=True, type=click.Path(dir_okay=False), help="The JSONL file to write.")
@click.option("-n", "--number", type=click.IntRange(1, 10_000), default=60, show_default=True, help="How many at most.")
@click.option("--seed", type=int, default=1, show_default=True, help="Another seed gives other questions of the same lake.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@shared
@pass_given
def propose(given: Given, out: str, number: int, seed: int, force: bool) -> None:
    """Write questions made by templates from the lake's facts and sections, each with its evidence: a start for a team without any.

    They are easier than what people ask, and say in `kind` that a template made them. Read them, throw out and rewrite.
    """
    from edgarmill.eval.propose import proposed, written
    from edgarmill.schemas.files import check_free

    check_free(out, force)
    records = proposed(given.snapshot(), number, seed)
    check_free(out, force)  # what came meanwhile stays too
    written(records, out)
    kinds = dict(sorted(Counter(record["kind"] for record in records).items()))
    if given.json:
        show_json({"file": out, "questions": len(records), "kinds": kinds})
    else:
        print(f"{counted(len(records), 'question')} ({_counts(kinds)}) in {out}. Next: edgarmill questions check {out}")


@command.command("export")
@click.argument("evaluation")
@click.option("--out", required=True, type=click.Path(file_okay=False), help="A new folder.")
@click.option("--whole-index", is_flag=True, help="The corpus with every chunk of the index version, not only what runs and gold name.")
@shared
@pass_given
def export_(given: Given, evaluation: str, out: str, whole_index: bool) -> None:
    """Write an evaluation, by its id, as run files in TREC form, qrels, and corpus and queries as BEIR has them.

    measures.json says which measure over which run gives which of our figures.
    """
    from edgarmill.eval.export import export
    from edgarmill.eval.stored import stored

    snapshot = given.snapshot()
    names = export(snapshot, stored(snapshot, evaluation), out, whole_index)
    if given.json:
        show_json({"folder": out, "files": names})
    else:
        print(f"{out}: {', '.join(names)}")
