"""What a page is about, read from the lake: arms side by side, what is said of them, the versions before them. Nothing is searched.

The first arm is what the others are held against. With several others the primary metric's p is adjusted for that (Holm).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from edgarmill.eval.certainty import Difference, Verdict, differences, holm
from edgarmill.eval.compare import PRIMARY, Comparison, compare, is_share, why_not
from edgarmill.eval.evaluation import places_of, rescored
from edgarmill.eval.experiments import BASELINE, Experiment
from edgarmill.eval.metrics import Values, by_metric
from edgarmill.eval.scores import METRICS
from edgarmill.eval.stored import Stored, evaluations, stored
from edgarmill.retrieval.versions import versions
from edgarmill.schemas.errors import NotComparable, UnknownName, UsageError
from edgarmill.schemas.paper.ladders import Figure, Ladder, ladder
from edgarmill.schemas.records import EvaluationRow, GateRow, Score
from edgarmill.schemas.snapshot import Snapshot

MOST_ARMS = 60
ALL = "all"
SHOWN = (PRIMARY, "MRR@5", "Recall@5", "hit@5", "nDCG@10", "AllGold@10", "doc_hit@5", "page_hit@5")


@dataclass(frozen=True, slots=True)
class Cell:
    """One printed figure: a mean, the interval where it has one, and over how many questions. None = not measured."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    questions: int = 0


NOTHING = Cell()


@dataclass(frozen=True, slots=True)
class Arm:
    """One evaluation of the page. `difference` is that of the primary metric to the first arm; None for that one itself."""

    label: str
    stored: Stored
    cells: Mapping[tuple[str, str], Cell]  # by slice and metric
    values: Values
    changes: str = ""
    difference: Difference | None = None
    verdict: Verdict | None = None
    p: float | None = None  # that the verdict rests on

    @property
    def row(self) -> EvaluationRow:
        return self.stored.evaluation

    def cell(self, metric: str, part: str = ALL) -> Cell:
        return self.cells.get((part, metric), NOTHING)


@dataclass(frozen=True, slots=True)
class Point:
    """One index version in a line of versions. `same`: asked over the same texts as the arms of the page."""

    tag: str
    at: datetime
    cell: Cell
    same: bool
    evaluation_id: str


@dataclass(frozen=True, slots=True)
class Line:
    """Versions of one recipe, asked by one retriever, in the order in which they were made."""

    label: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Subject:
    arms: tuple[Arm, ...]
    primary: str
    metrics: tuple[str, ...]  # shown, the primary one first
    slices: tuple[str, ...]  # without "all"
    comparison: Comparison | None  # of two arms, every metric and slice
    lines: tuple[Line, ...]
    gate: GateRow | None
    experiment: Experiment | None
    published: Ladder | None
    left_out: tuple[str, ...]  # what was asked for and is not on the page, a line each


def subject_of(snapshot: Snapshot, named: Sequence[str], experiment: Experiment | None = None, primary: str = "") -> Subject:
    """`named`: ids of evaluations, or how they begin; with an experiment and no ids, its arms as the lake last has them.

    Raises UnknownName, UsageError, and NotComparable where the evaluations have other questions or texts.
    """
    rows, left_out = _arms_of(snapshot, experiment) if experiment and not named else (list(named), [])
    if not 0 < len(rows) <= MOST_ARMS:
        raise UsageError(f"{len(rows)} evaluations", "", f"Name 1 to {MOST_ARMS}; edgarmill report lists them.")
    found: list[Stored] = []
    for name in rows:
        try:
            found.append(stored(snapshot, name))
        except UsageError as error:  # its rankings are gone; of an experiment the other arms go on
            if named:
                raise
            left_out.append(f"{name[:12]}: {error.what}")
    if not found:
        raise UsageError("no evaluation is left to report", experiment.name if experiment else "", "Evaluate again.")
    unique = list({one.evaluation.evaluation_id: one for one in found}.values())
    for one in unique[1:]:
        if reason := why_not(unique[0].evaluation, one.evaluation):
            ids = f"{unique[0].evaluation.evaluation_id[:12]} and {one.evaluation.evaluation_id[:12]}"
            raise NotComparable(reason, ids, "Evaluate both again on one set.")
    return _subject(snapshot, unique, experiment, primary, left_out)


def _subject(snapshot: Snapshot, found: Sequence[Stored], experiment: Experiment | None, primary: str, left_out: list[str]) -> Subject:
    labels, changes = _labels(found, experiment), _changes(experiment)
    arms = [Arm(label, one, _cells(snapshot, one), by_metric(one.judged, one.ranked, one.asked), changes.get(label, ""))
            for label, one in zip(labels, found, strict=True)]
    metrics = _metrics(arms, experiment, primary)
    if metrics[0] not in arms[0].values:
        raise UsageError("no such metric", metrics[0], f"Metrics: {', '.join(sorted(arms[0].values))}.")
    slices = sorted({part for arm in arms for part, _ in arm.cells} - {ALL}, key=lambda name: (":" in name, name))
    first = found[0].evaluation
    left_out += list(experiment.problems) if experiment else []
    comparison = compare(snapshot, found[0], found[1], metrics[0]) if len(found) == 2 else None
    return Subject(tuple(_compared(arms, metrics[0])), metrics[0], metrics, tuple(slices), comparison,
                   tuple(_lines(snapshot, arms, metrics[0])), _gate(snapshot, [one.evaluation for one in found]), experiment,
                   ladder(experiment.published) if experiment and experiment.published else None,
                   (*left_out, *([f"{first.unresolved:,} questions: some of their evidence is not found in the texts"]
                                 if first.unresolved else [])))


def _arms_of(snapshot: Snapshot, experiment: Experiment) -> tuple[list[str], list[str]]:
    """Ids of the newest evaluations that are its arms, all of one question set over the same texts, and which arms have none."""
    known = evaluations(snapshot)
    hashes = {arm.retriever.hash for arm in experiment.arms}
    of_arms = [row for row in known if row.retriever_hash in hashes]
    mine = [row for row in of_arms if row.experiment == experiment.name] or of_arms  # made before, under other names
    baseline = next((row for row in mine if row.retriever_hash == experiment.arms[0].retriever.hash), mine[0] if mine else None)
    if baseline is None:
        todo = f"Run edgarmill evaluate SET --experiment {experiment.asked}."
        raise UnknownName("no evaluation of this experiment", experiment.name, todo)
    ids, missing = [], []
    for arm in experiment.arms:
        recipe = arm.recipe or experiment.arms[0].recipe or baseline.recipe
        key = (arm.retriever.hash, recipe, baseline.set_hash)
        fit = [row for row in known if (row.retriever_hash, row.recipe, row.set_hash) == key]
        fit = [row for row in fit if row.version_id == baseline.version_id] or fit
        if fit:
            ids.append(fit[0].evaluation_id)
        else:
            missing.append(f"arm {arm.name}: not evaluated")
    return ids, missing


def _labels(found: Sequence[Stored], experiment: Experiment | None) -> list[str]:
    """The arm's name; with recipe and tag, or the id, where it alone would not tell them apart."""
    rows = [one.evaluation for one in found]
    names = [_arm_name(row, experiment) for row in rows]
    for more in (lambda row: f"{row.recipe} {row.tag or row.version_id[:8]}", lambda row: row.evaluation_id[:8]):
        names = [f"{name}, {more(row)}" if names.count(name) > 1 else name for name, row in zip(list(names), rows, strict=True)]
    return names


def _arm_name(row: EvaluationRow, experiment: Experiment | None) -> str:
    fit = [arm for arm in experiment.arms if arm.retriever.hash == row.retriever_hash] if experiment else []
    exact = [arm.name for arm in fit if arm.recipe == row.recipe] or [arm.name for arm in fit if not arm.recipe]
    return exact[0] if exact else row.arm or row.evaluation_id[:8]


def _changes(experiment: Experiment | None) -> dict[str, str]:
    return {arm.name: arm.changes for arm in experiment.arms} if experiment else {}


def _cells(snapshot: Snapshot, found: Stored) -> dict[tuple[str, str], Cell]:
    """Stored scores, computed anew where they follow older definitions or are not there."""
    row = found.evaluation
    scores: list[Score] = snapshot.records("scores", {"evaluation_id": [row.evaluation_id]}) if row.metrics == METRICS else []
    if not scores:
        scores = rescored(found, places_of(snapshot, (gold for q in found.judged for gold in q.gold)))
    return cells_of(scores)


def cells_of(scores: Iterable[Score]) -> dict[tuple[str, str], Cell]:
    """Figures by slice and metric, each with its bounds."""
    rows = {(s.category, s.metric): s for s in scores}

    def bound(part: str, metric: str, side: str) -> float | None:
        found = rows.get((part, f"{metric}_{side}"))
        return found.value if found else None

    return {(part, metric): Cell(s.value, bound(part, metric, "low"), bound(part, metric, "high"), s.questions)
            for (part, metric), s in rows.items() if not metric.endswith(("_low", "_high"))}


def _metrics(arms: Sequence[Arm], experiment: Experiment | None, primary: str) -> tuple[str, ...]:
    wanted = (*(experiment.metrics if experiment else ()), *SHOWN)
    known = [m for m in dict.fromkeys(wanted) if any(arm.cell(m).value is not None for arm in arms)]
    quality = [m for m in known if m in arms[0].values and not m.startswith(("tokens", "usd"))]
    first = primary or (quality[0] if experiment and experiment.metrics and quality else PRIMARY)
    return (first, *(m for m in known if m != first))


def _compared(arms: Sequence[Arm], primary: str) -> Iterator[Arm]:
    """The arms, each with its difference; verdicts on the primary metric hold for all of them together."""
    judged = arms[0].stored.judged
    table = np.array([[arm.values.get(primary, {}).get(q.question_id, np.nan) for arm in arms] for q in judged], dtype=np.float64)
    first, others = np.repeat(table[:, :1], len(arms) - 1, axis=1), table[:, 1:]
    found = differences(first, others, [q.document_id for q in judged], [is_share(primary)] * (len(arms) - 1)) if len(arms) > 1 else []
    yield arms[0]
    for arm, one, p in zip(arms[1:], found, holm([one.p for one in found]), strict=True):
        yield replace(arm, difference=one, verdict=one.verdict(p), p=p)


def _gate(snapshot: Snapshot, rows: Sequence[EvaluationRow]) -> GateRow | None:
    """The newest answer of a gate about two evaluations of the page, or about the one that it is about."""
    ids = {row.evaluation_id for row in rows}
    asked: list[GateRow] = snapshot.records("gates", {"evaluation_id": sorted(ids)})
    fit = [one for one in asked if len(rows) == 1 or one.before_evaluation_id in ids]
    return max(fit, key=lambda one: one.at, default=None)


def _lines(snapshot: Snapshot, arms: Sequence[Arm], primary: str) -> Iterator[Line]:
    """For each recipe and retriever of the page all versions that were asked the same questions."""
    made = {v.version_id: v.created_at for v in versions(snapshot, manifests=False)}
    known = evaluations(snapshot, questions_hash=arms[0].row.questions_hash)
    of = {(arm.row.recipe, arm.row.retriever_hash): arm for arm in reversed(arms)}
    cells = _primary_cells(snapshot, known, primary)
    several = len({recipe for recipe, _ in of}) > 1
    for (recipe, retriever), arm in reversed(of.items()):
        newest: dict[str, EvaluationRow] = {}
        for row in sorted(known, key=lambda row: (row.set_hash == arm.row.set_hash, row.created_at)):
            if (row.recipe, row.retriever_hash) == (recipe, retriever):
                newest[row.version_id] = row
        points = [Point(row.tag or row.version_id[:8], made.get(row.version_id, row.created_at), cells[row.evaluation_id],
                        row.set_hash == arm.row.set_hash, row.evaluation_id) for row in newest.values() if row.evaluation_id in cells]
        name = _knob_name(arm, arms)
        yield Line(f"{name}, {recipe}" if several and recipe not in name else name, tuple(sorted(points, key=lambda p: (p.at, p.tag))))


def _knob_name(arm: Arm, arms: Sequence[Arm]) -> str:
    """The arm's own name where it tells retrievers apart: a line is of many versions."""
    same = [one for one in arms if one.row.retriever_hash == arm.row.retriever_hash]
    return arm.label if len(same) == 1 else arm.row.arm or BASELINE


def _primary_cells(snapshot: Snapshot, known: Sequence[EvaluationRow], primary: str) -> dict[str, Cell]:
    where = {"evaluation_id": [row.evaluation_id for row in known], "category": [ALL],
             "metric": [primary, f"{primary}_low", f"{primary}_high"]}
    found: dict[str, list[Score]] = {}
    for score in snapshot.records("scores", where):
        found.setdefault(score.evaluation_id, []).append(score)
    return {name: cells[ALL, primary] for name, scores in found.items() if (ALL, primary) in (cells := cells_of(scores))}


def ours(arms: Sequence[Arm], figure: Figure) -> float | None:
    """Our figure beside a published one: the arm's, or its change from the baseline; None where it was not measured."""
    by_label = {arm.label: arm.cell(figure.metric).value for arm in arms}
    mine, before = by_label.get(figure.arm), by_label.get(BASELINE)
    if mine is None or figure.change is None:
        return mine
    return None if before is None else mine - before
