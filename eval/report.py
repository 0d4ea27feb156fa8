"""Evaluations as tables to read and as JSON to keep. Both come from stored rows; a null is shown as "-", never as 0.

Every figure stands over its 95 % interval. Arms stand below each other, as many metrics beside each other as the terminal is wide. What
is shown unasked (`as_short`) is one table of what decides; `as_table` has every metric, the slices and published figures.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from edgarmill.eval.evaluation import Evaluated, Result
from edgarmill.eval.metrics import BUDGETS
from edgarmill.eval.replay import RULE
from edgarmill.schemas.paper.ladders import Figure, Ladder, ladder
from edgarmill.schemas.records import Score

RANKS = ("MRR@5", "Recall@5", "hit@5", "nDCG@10", "AllGold@10", "MRR@10", "Recall@10", "hit@10", "Judged@10", "AllGold@10_g2")
READ = ("half@5", "half@10", "coverage@5", "coverage@10", "doc_hit@5", "doc_hit@10", "page_hit@5", "page_hit@10")
WITHIN = tuple(f"{what}@{budget}t" for what in ("coverage", "inside") for budget in BUDGETS)
TAKES = ("latency_p50_seconds", "latency_p95_seconds", "embed_p50_seconds", "search_p50_seconds", "rerank_p50_seconds",
         "expand_p50_seconds", "model_p50_seconds", "tokens@5", "tokens", "usd")
TABLES = {"What is found, by rank": RANKS, "What is read of the evidence": READ, "Within a budget of tokens": WITHIN,
          "What a question takes": TAKES}
DECIDES = ("coverage@2000t", "MRR@5", "Recall@5", "nDCG@10", "latency_p50_seconds", "tokens")  # the first is compare's and the gate's
DOCUMENTS = ("doc_hit@5", "doc_hit@10")
BY_SLICE = "Recall@5"
MOST_ARMS_BY_SLICE = 4
FULL = 0.9  # of a budget; what has less is marked
SHOWN_PROBLEMS, FEW = 10, 3
LABEL, EDGES = 26, 3  # columns of the terminal: an arm's name at most, and what a column takes beside its text
OTHER = "Other corpus, other questions: compare the steps, not the levels."
UNFILLED = "* fewer tokens were given than the budget holds: k = 50 gives more."


def as_json(evaluated: Evaluated) -> dict[str, Any]:
    """All figures: {"evaluations": [{"scores": {slice: {metric: {value, low, high, questions}}}}]}, with rule, counts and problems."""
    experiment = evaluated.experiment
    head: dict[str, Any] = {"rule": RULE, **_head(evaluated), "stored": evaluated.stored}
    if len(evaluated.versions) == 1:
        version = next(iter(evaluated.versions.values()))
        head |= {"recipe": version.recipe, "tag": version.tag}
    return {
        **head,
        "evaluations": [_result_json(result) for result in evaluated.results],
        "experiment": None if experiment is None else {"name": experiment.name, "title": experiment.title, "about": experiment.about},
        "published": [{"source": one.source, "corpus": one.corpus, "note": OTHER,
                       "figures": [{**asdict(f), "ours": _ours(evaluated, f)} for f in one.figures]} for one in _published(evaluated)],
        "skipped": list(evaluated.skipped),
        "problems": _problems(evaluated),
    }


def as_short(evaluated: Evaluated, width: int = 80) -> Group:
    """For a terminal, what decides: set, versions, one table of the main metrics with each evaluation's id, what was kept out, and why."""
    cells = [_by_metric(result.scores, "all") for result in evaluated.results]
    arms = list(zip(_labels(evaluated), [result.evaluation for result in evaluated.results], strict=True))
    labels = [f"{label}\n{row.evaluation_id[:12]}" for label, row in arms]
    metrics = (evaluated.experiment.metrics if evaluated.experiment else ()) or DECIDES
    if all(_value(c, metric) == "-" for c in cells for metric in metrics if metric not in TAKES):  # whole documents have no places
        metrics = (*DOCUMENTS, *metrics)
    table = next(iter(_figures("", metrics, labels, cells, width)), Text("Nothing was measured."))
    lines = ["In brackets: 95 % interval, resampled by document; under each arm the id of its evaluation.",
             f"More: --all (every metric, slices{', published figures' if _published(evaluated) else ''}), --json, {_page(evaluated)}."]
    if any("*" in _value(c, metric) for c in cells for metric in metrics):
        lines.insert(0, UNFILLED)
    lines += [f"{label}: {row.failed:,} of {row.questions:,} questions failed and count 0; --retry asks them again."
              for label, row in arms if row.failed]
    return Group(*map(Text, _some(list(_versions(evaluated)), FEW, "index versions")), Text(_counts(evaluated)), table, *map(Text, lines),
                 *map(Text, _lines(evaluated, FEW)))


def _page(evaluated: Evaluated) -> str:
    if evaluated.experiment is not None:
        return f"edgarmill report --experiment {_plain(evaluated.experiment.asked)} (a page, with verdicts against the baseline)"
    return "edgarmill report ID ID (a page)"


def _some(lines: Sequence[str], most: int, what: str) -> list[str]:
    return [*lines[:most], *([f"and {len(lines) - most:,} further {what}"] if len(lines) > most else [])]


def as_table(evaluated: Evaluated, width: int = 80) -> Group:
    """For a terminal: versions, rule, counts; the figures of all arms; slices; published figures; what was left out, and why."""
    cells = [_by_metric(result.scores, "all") for result in evaluated.results]
    labels = _labels(evaluated)
    parts: list[RenderableType] = [Text(line) for line in _versions(evaluated)]
    parts += [Text(f"Rule: {RULE}."), Text(_counts(evaluated))]
    parts += [table for title, metrics in _tables(evaluated).items() for table in _figures(title, metrics, labels, cells, width)]
    if any("*" in _value(c, metric) for c in cells for metric in WITHIN):
        parts.append(Text(UNFILLED))
    if len(evaluated.results) <= MOST_ARMS_BY_SLICE:
        parts += _slices(evaluated, labels)
    parts += [_beside(evaluated, one) for one in _published(evaluated)]
    parts += [Text(f"Published: {one.source}, on {one.corpus}. {OTHER}") for one in _published(evaluated)]
    parts.append(_ids(evaluated, labels))
    parts.append(Text("In brackets: 95 % interval, resampled by document. Definitions: eval/metrics.py. Slices: --json."))
    parts += [Text(line) for line in _lines(evaluated)]
    return Group(*parts)


def as_brief(evaluated: Evaluated) -> RenderableType:
    """One table of all arms, 80 columns wide, for where evaluating is not the main thing."""
    cells = [_by_metric(result.scores, "all") for result in evaluated.results]
    tables = _figures("All questions", RANKS[:4], _labels(evaluated), cells, 80)
    end = Text("In brackets: 95 % interval, resampled by document. edgarmill evaluate shows more.")
    return Group(*(Text(line) for line in _versions(evaluated)), Text(_counts(evaluated)), *tables, end)


# what is said before the figures


def _head(evaluated: Evaluated) -> dict[str, Any]:
    hows = [row.how for row in evaluated.resolved.rows if row.ordinal >= 0]
    first, lost, exact, whole = evaluated.results[0].evaluation, hows.count(None), hows.count("exact"), hows.count("document")
    return {
        "set": evaluated.asked.name, "set_hash": first.set_hash, "questions_hash": first.questions_hash, "questions": first.questions,
        "judged": first.judged, "null_questions": first.null_questions, "unresolved_questions": first.unresolved,
        "unresolved_gold": lost, "gold_exact": exact, "gold_fuzzy": len(hows) - lost - exact - whole, "gold_documents": whole,
    }


def _counts(evaluated: Evaluated) -> str:
    h = _head(evaluated)
    gold = h["gold_exact"] + h["gold_fuzzy"] + h["gold_documents"] + h["unresolved_gold"]
    whole = f", {h['gold_documents']} are whole documents" if h["gold_documents"] else ""
    return (
        f"{_plain(h['set'])}: {h['judged']} of {h['questions']} questions judged; kept out: {h['unresolved_questions']} with evidence "
        f"that is not found, {h['null_questions']} without evidence. Evidence: {gold} pieces, {h['gold_exact']} found exactly, "
        f"{h['gold_fuzzy']} nearly, {h['unresolved_gold']} not{whole}."
    )


def _versions(evaluated: Evaluated) -> Iterator[str]:
    again = " (as stored: nothing was searched again)" if evaluated.stored else ""
    if evaluated.experiment is not None:
        yield f"Experiment {evaluated.experiment.name}: {_plain(evaluated.experiment.title)}{again}"
    for version in evaluated.versions.values():
        told = again if evaluated.experiment is None else ""
        yield f"Index {version.recipe} {version.tag}: {version.filings:,} filings, {version.chunks:,} chunks{told}"


def _labels(evaluated: Evaluated) -> list[str]:
    """Arms, with their version where there are several."""
    several = len(evaluated.versions) > 1 and not (evaluated.experiment and len({r.arm.name for r in evaluated.results})
                                                    == len(evaluated.results))
    return [_plain(f"{r.arm.name}, {r.evaluation.recipe} {r.evaluation.tag}" if several else r.arm.name) for r in evaluated.results]


# figures


def _tables(evaluated: Evaluated) -> dict[str, Sequence[str]]:
    if evaluated.experiment is None or not evaluated.experiment.metrics:
        return dict(TABLES)
    return {"All questions": evaluated.experiment.metrics}


def _figures(title: str, metrics: Sequence[str], labels: Sequence[str], cells: Sequence[dict[str, Score]], width: int) -> Iterator[Table]:
    """Tables of as many metrics as fit; metrics that no arm has are left out."""
    known = [metric for metric in metrics if any(_value(c, metric) != "-" for c in cells)]
    label = min(LABEL, max(len(line) for label in [*labels, "arm"] for line in label.split("\n")))
    for number, some in enumerate(_fitting(known, cells, width - label - 4)):
        table = _table("" if number else title, ("arm", *map(_named, some)))
        for name, figures in zip(labels, cells, strict=True):
            table.add_row(Text(name), *(f"{_value(figures, m)}\n{_bounds(figures, m)}" for m in some))
        yield table


def _fitting(metrics: Sequence[str], cells: Sequence[dict[str, Score]], width: int) -> Iterator[list[str]]:
    """The metrics in groups that fit beside each other, at least one each."""
    group, taken = list[str](), 0
    for metric in metrics:
        wide = EDGES + max(len(_named(metric)), *(len(text) for c in cells for text in (_value(c, metric), _bounds(c, metric))))
        if group and taken + wide > width:
            yield group
            group, taken = [], 0
        group.append(metric)
        taken += wide
    if group:
        yield group


def _slices(evaluated: Evaluated, labels: Sequence[str]) -> Iterator[Table]:
    """One metric by category, form, year and type of evidence; a slice that holds every question says nothing new."""
    judged = evaluated.results[0].evaluation.judged
    names = sorted({s.category for s in evaluated.results[0].scores if s.metric == BY_SLICE and s.questions < judged})
    if len(names) < 2:
        return
    table = _table(f"{BY_SLICE} by slice", ("slice (questions)", *labels))
    for name in names:
        cells = [_by_metric(result.scores, name) for result in evaluated.results]
        questions = cells[0][BY_SLICE].questions if BY_SLICE in cells[0] else 0
        table.add_row(Text(f"{_plain(name)} ({questions})"), *(f"{_value(c, BY_SLICE)} {_bounds(c, BY_SLICE)}" for c in cells))
    yield table


def _ids(evaluated: Evaluated, labels: Sequence[str]) -> Table:
    table = _table("Evaluations", ("arm", "id", "recipe", "tag", "k", "failed", "changes"))
    for name, result in zip(labels, evaluated.results, strict=True):
        row = result.evaluation
        table.add_row(Text(name), row.evaluation_id[:12], row.recipe, row.tag or "-", str(row.k), str(row.failed), Text(result.arm.changes))
    return table


def _table(title: str, columns: Iterable[str]) -> Table:
    table = Table(title=title or None, title_justify="left")
    for column in columns:
        left = column.startswith(("arm", "slice", "changes", "metric", "note", "id", "recipe", "tag"))
        table.add_column(Text(column), justify="left" if left else "right", no_wrap=not left, overflow="fold",
                         max_width=LABEL if column == "arm" else None)
    return table


def _by_metric(scores: Iterable[Score], name: str) -> dict[str, Score]:
    return {score.metric: score for score in scores if score.category == name}


def _value(cells: dict[str, Score], metric: str) -> str:
    score = cells.get(metric)
    if score is None or score.value is None:
        return "-"
    return _number(metric, score.value) + ("*" if _short(cells, metric) else "")


def _short(cells: dict[str, Score], metric: str) -> bool:
    """Whether a budget was not filled."""
    budget = metric.rpartition("@")[2].removesuffix("t")
    if not metric.endswith("t") or not budget.isdigit():
        return False
    read = cells.get(f"tokens@{budget}t")
    return read is not None and read.value is not None and read.value < FULL * int(budget)


def _bounds(cells: dict[str, Score], metric: str) -> str:
    low, high = cells.get(f"{metric}_low"), cells.get(f"{metric}_high")
    if low is None or high is None or (low.value is None and high.value is None):
        return ""
    shown = ("-" if one.value is None else _number(metric, one.value, short=True) for one in (low, high))
    return f"[{' '.join(shown)}]"


def _number(metric: str, value: float, short: bool = False) -> str:
    if metric.endswith("_seconds"):
        return f"{1000 * value:.0f}" if short else f"{1000 * value:.1f}"
    if metric.startswith("tokens"):
        return f"{value:.0f}" if short else f"{value:,.0f}"
    return f"{value:.5f}" if metric == "usd" else f"{value:.2f}" if short else f"{value:.3f}"


def _named(metric: str) -> str:
    """As a column's heading: milliseconds and tokens say so."""
    if metric.endswith("_seconds"):
        step, percent, _ = metric.split("_", 2)
        return f"{'in all' if step == 'latency' else step} {percent} ms"
    return metric


# beside published figures


def _published(evaluated: Evaluated) -> list[Ladder]:
    name = evaluated.experiment.published if evaluated.experiment else ""
    return [ladder(name)] if name else []


def _beside(evaluated: Evaluated, published: Ladder) -> Table:
    table = _table("Ours beside published figures", ("arm", "metric", "ours", "published", "note"))
    for figure in published.figures:
        ours, change = _ours(evaluated, figure), figure.change is not None
        printed = figure.change if change else figure.value
        figures = (_signed(ours, change), _signed(printed, change))
        table.add_row(Text(figure.arm or "(the ladder)"), Text(figure.metric), *figures, Text(figure.note))
    return table


def _signed(value: float | None, change: bool) -> str:
    return "-" if value is None else f"{value:+.3f}" if change else f"{value:.3f}"


def _ours(evaluated: Evaluated, figure: Figure) -> float | None:
    """Our arm's figure, or its change from the baseline; None where it was not measured."""
    values = {result.arm.name: _by_metric(result.scores, "all").get(figure.metric) for result in evaluated.results}
    mine, before = values.get(figure.arm), values.get("baseline")
    if mine is None or mine.value is None:
        return None
    if figure.change is None:
        return mine.value
    return None if before is None or before.value is None else mine.value - before.value


# the rest


def _result_json(result: Result) -> dict[str, Any]:
    row = result.evaluation
    scores: dict[str, dict[str, dict[str, float | int | None]]] = {}
    found = {(s.category, s.metric): s.value for s in result.scores}
    for s in result.scores:
        if not s.metric.endswith(("_low", "_high")):
            bounds = {side: found.get((s.category, f"{s.metric}_{side}")) for side in ("low", "high")}
            scores.setdefault(s.category, {})[s.metric] = {"value": s.value, **bounds, "questions": s.questions}
    return {"evaluation_id": row.evaluation_id, "arm": result.arm.name, "changes": result.arm.changes, "recipe": row.recipe,
            "tag": row.tag, "version_id": row.version_id, "retriever": json.loads(row.retriever), "k": row.k, "stored": result.stored,
            "failed_questions": row.failed, "created_at": row.created_at, "software": json.loads(row.software), "scores": scores}


def _problems(evaluated: Evaluated) -> list[str]:
    return [*evaluated.asked.problems, *evaluated.resolved.problems]


def _lines(evaluated: Evaluated, most: int = SHOWN_PROBLEMS) -> Iterator[str]:
    """What was not evaluated, each with its reason, and what of the set cannot be used."""
    if evaluated.skipped:
        yield f"Not evaluated ({len(evaluated.skipped)}):"
        yield from (f"  {_plain(line)}" for line in _by_reason(evaluated.skipped))
    problems = _problems(evaluated)
    if problems:
        yield f"{len(problems)} problems of the set (not misses of the index):"
        yield from (f"  {_plain(line)}" for line in problems[:most])
        if len(problems) > most:
            yield f"  and {len(problems) - most:,} more; --json lists them all"


def _by_reason(skipped: Sequence[str]) -> Iterator[str]:
    """ "ARM: why", of arms that are left out for one reason the first alone."""
    arms: dict[str, list[str]] = {}
    for line in skipped:
        arm, _, why = line.partition(": ")
        arms.setdefault(why, []).append(arm)
    for why, named in arms.items():
        more = f" and {len(named) - 1} more" if len(named) > 1 else ""
        yield f"{named[0]}{more}: {why}" if why else named[0]


def _plain(text: str) -> str:
    """Without control characters: names and quotes are the set's, the terminal is the user's."""
    return "".join(c if c.isprintable() else "?" for c in text)
