"""Head, verdicts, figures of all arms and slices, as HTML tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from edgarmill.eval.compare import Comparison
from edgarmill.eval.page.charts import table
from edgarmill.eval.page.subject import Arm, Cell, Subject, ours
from edgarmill.eval.page.words import MEANING, bounds, change, figure, named, number, plain, said, signed, sure, verdict
from edgarmill.eval.replay import RULE
from edgarmill.eval.report import FULL, OTHER, TABLES
from edgarmill.retrieval.retriever import Retriever
from edgarmill.schemas.records import EvaluationRow

SENTENCES = 3  # arms that have a sentence each; more have a row
WIDE = 5  # arms that stand beside each other
BADGE = {"better": "▲ better", "worse": "▼ worse", "undecided": "◆ undecided", "equal": "= equal",
         "pass": "✓ pass", "fail": "✗ fail", "not comparable": "◆ not comparable"}


def title_of(subject: Subject) -> str:
    first, name = subject.arms[0], subject.arms[0].row.set_name
    if subject.experiment is not None:
        return plain(subject.experiment.title)
    if len(subject.arms) == 1:
        return plain(f"{name}: {first.label}")
    others = subject.arms[1].label if len(subject.arms) == 2 else f"{len(subject.arms) - 1} others"
    return plain(f"{name}: {others} against {first.label}")


def head(subject: Subject) -> str:
    row = subject.arms[0].row
    about = f'<p class="about">{said(subject.experiment.about)}</p>' if subject.experiment and subject.experiment.about else ""
    some = [f"{arm.row.failed:,} of {arm.label}" for arm in subject.arms if arm.row.failed]
    failed = ", ".join(some) if len(some) <= WIDE else f"{sum(arm.row.failed for arm in subject.arms):,} of {len(some)} arms together"
    broken = f' <b class="bad">Questions that ended with an error, and count 0: {said(failed)}.</b>' if failed else ""
    out = "".join(f"<li>{said(line)}</li>" for line in subject.left_out)
    left = f'<details class="left"><summary>{len(subject.left_out)} not on this page, or not judged</summary><ul>{out}</ul></details>'
    return (f"<header><h1>{said(title_of(subject))}</h1><p>{said(row.set_name)}: {row.judged:,} of {row.questions:,} questions judged; "
            f"kept out are {row.unresolved:,} with evidence that is not found and {row.null_questions:,} without evidence.{broken}</p>"
            f"{about}{_verdicts(subject)}{_gate(subject)}{_corpus(subject)}{left if out else ''}</header>")


def _badge(outcome: str) -> str:
    return f'<b class="badge {said(outcome.replace(" ", "-"))}">{said(BADGE.get(outcome, outcome))}</b>'


def _verdicts(subject: Subject) -> str:
    first, others = subject.arms[0], subject.arms[1:]
    if not others:
        return ""
    if len(others) <= SENTENCES:
        return "".join(f'<p class="verdict">{_badge(arm.verdict or "undecided")} {said(verdict(arm, first, subject.primary))}</p>'
                       for arm in others)
    heads = ("arm", f"change of {subject.primary}", "p (Holm)", "up / down")
    head = "".join(f'<th scope="col">{said(one)}</th>' for one in heads) + '<th scope="col">verdict</th>'
    body = "".join(f'<tr><th scope="row">{said(arm.label)}</th>{_verdict_cells(arm, subject.primary)}</tr>' for arm in others)
    return (f'<div class="scroll"><table><caption>Against {said(first.label)}</caption><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>")


def _verdict_cells(arm: Arm, metric: str) -> str:
    d = arm.difference
    if d is None or arm.verdict is None:
        return "<td>–</td>" * 4
    return (f"<td>{said(change(metric, d))}</td><td>{said(sure(arm.p))}</td><td>{d.higher:,} / {d.lower:,}</td>"
            f'<td class="word" title="{said(MEANING[arm.verdict])}">{_badge(arm.verdict)}</td>')


def _gate(subject: Subject) -> str:
    gate = subject.gate
    if gate is None:
        return ""
    checks = [(one["check"], one["rule"], one["found"], one["outcome"]) for one in json.loads(gate.checks)]
    return (f'<div class="gate"><p class="verdict">{_badge(gate.outcome)} Gate of {gate.at:%Y-%m-%d %H:%M}: {said(gate.line)}</p><details>'
            f'<summary>the rule, line by line</summary><div class="scroll">{table(("check", "rule", "found", "outcome"), checks)}</div>'
            "</details></div>")


def _corpus(subject: Subject) -> str:
    """What the second of two index versions has otherwise."""
    found = subject.comparison
    if found is None or found.corpus is None:
        return ""
    counts = [f"{len(found.corpus[what]):,} filings {what}" for what in ("added", "removed", "changed") if found.corpus[what]]
    settings = found.corpus["settings"]
    told = (f"The corpus changed: {', '.join(counts)}. A difference may be the corpus's." if counts
            else "Both versions hold the same filings.")
    rows = ((name, *(str(value) for value in both)) for name, both in settings.items())
    more = (f"<details><summary>{len(settings)} settings differ</summary><div class=\"scroll\">"
            f"{table(('setting', subject.arms[0].label, subject.arms[1].label), rows)}</div></details>" if settings else "")
    return f"<p>{said(told)}</p>{more}"


# --- what was compared -------------------------------------------------------------------------------------------------------------

def evaluations(subject: Subject) -> str:
    """Versions, recipes, retrievers, hashes and dates."""
    heads = ("arm", "recipe", "version", "retriever", "changes", "k", "failed", "evaluated", "evaluation", "manifest", "corpus", "searched")
    rows = ((arm.label, row.recipe, row.tag or row.version_id[:12], knobs(row), arm.changes, f"{row.k:,}", f"{row.failed:,}",
             f"{row.created_at:%Y-%m-%d %H:%M}", row.evaluation_id[:12], row.manifest_hash[:12], row.corpus_hash[:12], _software(row))
            for arm in subject.arms for row in [arm.row])
    first = subject.arms[0].row
    return ('<section id="compared"><h2>What is compared</h2>'
            f'<p class="about">Rule: {said(RULE)}. Questions {said(first.questions_hash[:12])}, with texts {said(first.set_hash[:12])}.'
            f' Metrics are defined in eval/metrics.py, intervals and verdicts in eval/certainty.py.</p><div class="scroll" tabindex="0">'
            f'{table(heads, rows)}</div></section>')


def knobs(row: EvaluationRow) -> str:
    """Those that are not as in a plain retriever; the mode always."""
    standard = asdict(Retriever())
    found = {name: value for name, value in json.loads(row.retriever).items() if name == "mode" or standard.get(name) != value}
    return ", ".join(f"{name} {value}" for name, value in sorted(found.items(), key=lambda one: one[0] != "mode"))


def _software(row: EvaluationRow) -> str:
    found = json.loads(row.software or "{}")
    return ", ".join(f"{name} {found[name]}" for name in ("engine", "edgarmill") if name in found)


# --- figures -----------------------------------------------------------------------------------------------------------------------

def figures(subject: Subject) -> str:
    """All metrics of all arms; what an experiment shows comes first."""
    groups = {"What the experiment shows": subject.metrics, **TABLES} if subject.experiment else TABLES
    parts: list[str] = []
    for title, metrics in groups.items():
        known = [m for m in metrics if any(arm.cell(m).value is not None for arm in subject.arms)]
        if known:
            parts.append(f'<details{"" if parts else " open"}><summary>{said(title)}</summary><div class="scroll" tabindex="0">'
                         f"{_arms_table(subject.arms, known)}</div></details>")
    short = any(_unfilled(arm, m) for arm in subject.arms for m in TABLES["Within a budget of tokens"])
    note = '<p class="about">* fewer tokens were given than the budget holds.</p>' if short else ""
    return f'<section id="figures"><h2>Figures</h2>{"".join(parts)}{note}{_published(subject)}</section>'


def _arms_table(arms: Sequence[Arm], metrics: Sequence[str]) -> str:
    def cell(arm: Arm, metric: str) -> str:
        return figure(metric, arm.cell(metric)) + ("*" if _unfilled(arm, metric) else "")

    if len(arms) <= WIDE:
        return table(("metric", *(arm.label for arm in arms)), ((named(m), *(cell(arm, m) for arm in arms)) for m in metrics))
    heads = ("arm", *map(named, metrics))
    return table(heads, ((arm.label, *(cell(arm, m).replace(" [", "\n[") for m in metrics)) for arm in arms))


def _unfilled(arm: Arm, metric: str) -> bool:
    budget = metric.rpartition("@")[2].removesuffix("t")
    read = arm.cell(f"tokens@{budget}t").value
    return metric.endswith("t") and budget.isdigit() and read is not None and read < FULL * int(budget)


def _published(subject: Subject) -> str:
    found = subject.published
    if found is None:
        return ""
    rows = []
    for one in found.figures:
        form, printed = (number, one.value) if one.change is None else (signed, one.change)
        what = named(one.metric) + ("" if one.change is None else ", change")
        mine = form(one.metric, ours(subject.arms, one))
        rows.append((one.arm or "(the ladder)", what, mine, form(one.metric, printed), one.note))
    return (f'<h3>Beside published figures</h3><p class="about">Published: {said(found.source)}, on {said(found.corpus)}. {said(OTHER)}</p>'
            f'<div class="scroll" tabindex="0">{table(("arm", "metric", "ours", "published", "note"), rows)}</div>')


# --- slices ------------------------------------------------------------------------------------------------------------------------

def slices(subject: Subject) -> str:
    """Each metric shown by category, form, year and type of evidence; of two arms the primary metric's verdict too."""
    if not subject.slices:
        return ""
    parts: list[str] = []
    for metric in subject.metrics:
        body = list(_slice_rows(subject, metric))
        if not body:
            continue
        two = ("change", "verdict") if metric == subject.primary and subject.comparison else ()
        heads = ("slice", "questions", *(arm.label for arm in subject.arms), *two)
        parts.append(f'<details{"" if parts else " open"}><summary>{said(named(metric))}</summary><div class="scroll" tabindex="0">'
                     f"{table(heads, body)}</div></details>")
    told = "A question with evidence of several forms, years or types counts in each. Verdicts are adjusted for being looked at together."
    return f'<section id="slices"><h2>Slices</h2><p class="about">{said(told)}</p>{"".join(parts)}</section>'


def _slice_rows(subject: Subject, metric: str) -> Iterator[tuple[str, ...]]:
    found = subject.comparison if metric == subject.primary else None
    for name in subject.slices:
        cells = [arm.cell(metric, name) for arm in subject.arms]
        if any(cell.value is not None for cell in cells):
            yield name, f"{_most(cells):,}", *(figure(metric, cell) for cell in cells), *_sliced(found, name, metric)


def _most(cells: Iterable[Cell]) -> int:
    return max(cell.questions for cell in cells)


def _sliced(found: Comparison | None, name: str, metric: str) -> tuple[str, ...]:
    if found is None:
        return ()
    one = next((one for one in found.slices if one.slice == name), None)
    if one is None:
        return "–", "–"
    d = one.difference
    return f"{signed(metric, d.mean)} {bounds(metric, d.low, d.high) or 'no interval'}", one.verdict
