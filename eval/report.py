"""Scores as a table to read and as JSON to keep. Both come from rows of `scores`; a null is shown as "-", never as 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from edgarmill.eval.evaluation import Evaluation
from edgarmill.eval.metrics import WITH_INTERVAL
from edgarmill.eval.replay import RULE
from edgarmill.schemas.records import Score

SECOND = ("hit@10", "AllGold@10", "coverage@5", "coverage@10", "doc_hit@5")
BY_CATEGORY = ("MRR@5", "Recall@5", "hit@5", "nDCG@10", "AllGold@10")
TIMES = {"search p50": "latency_p50_seconds", "search p95": "latency_p95_seconds",
         "embed p50": "embed_p50_seconds", "embed p95": "embed_p95_seconds"}
SHOWN_PROBLEMS = 10

Cells = dict[tuple[str, str, str], Score]  # (mode, category, metric)


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """All figures: {"modes": {mode: {category: {metric: value}}}} with the rule, counts and problems beside them."""
    modes: dict[str, dict[str, dict[str, float | int | None]]] = {mode: {} for mode in evaluation.modes}
    for s in evaluation.scores:
        figures = modes[s.mode].setdefault(s.category, {})
        figures[s.metric] = s.value
        if s.metric == "MRR@5":
            figures["questions"] = s.questions
    return {"rule": RULE, **_head(evaluation), "modes": modes, "problems": list(evaluation.problems)}


def as_table(evaluation: Evaluation) -> RenderableType:
    """For a terminal of 80 columns: the rule, counts, all questions, categories, time, then what of the set cannot be used."""
    cells: Cells = {(s.mode, s.category, s.metric): s for s in evaluation.scores}
    parts: list[RenderableType] = [Text(f"Rule: {RULE}."), Text(_counts(evaluation))]
    parts += [_first(evaluation.modes, cells), _second(evaluation.modes, cells)]
    categories = sorted({s.category for s in evaluation.scores} - {"all"})
    if len(categories) > 1:
        parts.append(_by_category(evaluation.modes, categories, cells))
    parts.append(_times(evaluation.modes, cells))
    parts.append(Text("In brackets: 95 % interval, resampled by document. Definitions: eval/metrics.py."))
    parts += [Text(line) for line in _problem_lines(evaluation.problems)]
    return Group(*parts)


def _head(evaluation: Evaluation) -> dict[str, Any]:
    names = ("null_questions", "unresolved_questions", "unresolved_gold")
    counts = {s.metric: int(s.value or 0) for s in evaluation.scores if s.metric in names}
    judged = max((s.questions for s in evaluation.scores if s.metric == "MRR@5"), default=0)
    return {
        "evaluation_id": evaluation.key.evaluation_id,
        "version_id": evaluation.key.version_id,
        "set": evaluation.set_name,
        "set_hash": evaluation.key.set_hash,
        "questions": evaluation.questions,
        "judged": judged,
        **counts,
        "gold_exact": evaluation.exact,
        "gold_fuzzy": evaluation.fuzzy,
    }


def _counts(evaluation: Evaluation) -> str:
    h = _head(evaluation)
    gold = h["gold_exact"] + h["gold_fuzzy"] + h["unresolved_gold"]
    return (
        f"{_plain(h['set'])}: {h['judged']} of {h['questions']} questions judged; kept out: {h['unresolved_questions']} with evidence "
        f"that is not found, {h['null_questions']} without evidence. Evidence: {gold} pieces, {h['gold_exact']} found exactly, "
        f"{h['gold_fuzzy']} nearly, {h['unresolved_gold']} not."
    )


def _first(modes: Sequence[str], cells: Cells) -> Table:
    """The rank metrics that carry an interval, each over its bounds."""
    table = _table("All questions", ("mode", *WITH_INTERVAL))
    for mode in modes:
        table.add_row(mode, *(f"{_cell(cells, mode, 'all', m)}\n{_bounds(cells, mode, m)}" for m in WITH_INTERVAL))
    return table


def _second(modes: Sequence[str], cells: Cells) -> Table:
    table = _table("", ("mode", *SECOND))
    for mode in modes:
        table.add_row(mode, *(_cell(cells, mode, "all", metric) for metric in SECOND))
    return table


def _by_category(modes: Sequence[str], categories: Sequence[str], cells: Cells) -> Table:
    table = _table("By category", ("category (n)", "mode", *BY_CATEGORY))
    for category in categories:
        for mode in modes:
            questions = cells[mode, category, "MRR@5"].questions
            figures = (_cell(cells, mode, category, metric) for metric in BY_CATEGORY)
            table.add_row(Text(f"{_plain(category)} ({questions})"), mode, *figures)
        table.add_section()
    return table


def _times(modes: Sequence[str], cells: Cells) -> Table:
    table = _table("A question's milliseconds, and tokens of the first five chunks", ("mode", *TIMES, "tokens@5"))
    for mode in modes:
        times = (_milliseconds(cells.get((mode, "all", name))) for name in TIMES.values())
        table.add_row(mode, *times, _cell(cells, mode, "all", "tokens@5"))
    return table


def _table(title: str, columns: Iterable[str]) -> Table:
    table = Table(title=title or None, title_justify="left")
    for column in columns:
        table.add_column(column, justify="left" if column.startswith(("mode", "category")) else "right", no_wrap=True)
    return table


def _cell(cells: Cells, mode: str, category: str, metric: str) -> str:
    score = cells.get((mode, category, metric))
    if score is None or score.value is None:
        return "-"
    return f"{score.value:,.0f}" if metric.startswith("tokens") else f"{score.value:.3f}"


def _bounds(cells: Cells, mode: str, metric: str) -> str:
    low, high = (_cell(cells, mode, "all", f"{metric}_{side}") for side in ("low", "high"))
    return "" if "-" in (low, high) else f"[{low[:4]} {high[:4]}]"


def _milliseconds(score: Score | None) -> str:
    return "-" if score is None or score.value is None else f"{1000 * score.value:.1f}"


def _problem_lines(problems: Sequence[str]) -> list[str]:
    if not problems:
        return []
    more = len(problems) - SHOWN_PROBLEMS
    lines = [f"{len(problems)} problems of the set (not misses of the index):", *(f"  {_plain(p)}" for p in problems[:SHOWN_PROBLEMS])]
    return [*lines, f"  and {more} more; --json lists them all"] if more > 0 else lines


def _plain(text: str) -> str:
    """Without control characters: names and quotes are the set's, the terminal is the user's."""
    return "".join(c if c.isprintable() else "?" for c in text)
