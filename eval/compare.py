"""Two evaluations of the same questions side by side: two index versions, or two ways of asking one.

Only what was asked alike is compared: the same questions, their gold resolved on the same texts (equal `set_hash`); else NotComparable
says what differs. Values come from the stored rankings; nothing is searched. The primary metric's p stands as it is, those of the other
metrics are adjusted for being looked at together (Holm), and so are those of the primary metric by slice. Rules of verdicts: certainty.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgarmill.eval.certainty import Difference, Floats, Verdict, differences, holm
from edgarmill.eval.evaluation import places_of
from edgarmill.eval.metrics import NAMES, Values, by_metric
from edgarmill.eval.scores import STEPS, slices
from edgarmill.eval.stored import Stored
from edgarmill.retrieval.versions import by_id, difference
from edgarmill.schemas.errors import LakeCorrupt, NotComparable, UnknownName, UsageError
from edgarmill.schemas.records import Asked, EvaluationRow, Ranking
from edgarmill.schemas.snapshot import Snapshot

PRIMARY = "coverage@2000t"  # comparable between chunk sizes, as metrics of ranks are not
SHOWN = 10  # regressions, and gains
SHORTEST_ID = 6  # characters of an id that is typed
QUOTED = 240  # characters of a text that is shown
SHARES = ("hit@", "half@", "inside@", "AllGold@", "doc_hit@", "page_hit@")  # metrics that are 0 or 1
NO_QUALITY = ("tokens", "usd", "Judged@")  # of which more is not better
COSTS = ("tokens", "input_tokens", "output_tokens", "usd")


@dataclass(frozen=True, slots=True)
class Compared:
    """One metric over all questions or a slice. `adjusted` is the p that the verdict rests on."""

    metric: str
    slice: str
    difference: Difference
    adjusted: float | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Cost:
    """What a question took: means, or percentiles of seconds (without a difference). None = not measured."""

    name: str
    first: float | None
    second: float | None
    difference: Difference | None = None


@dataclass(frozen=True, slots=True)
class MovedGold:
    """A piece of gold and the rank of the first hit that holds it; None = none of the hits does."""

    document_id: str
    quote: str
    first_rank: int | None
    second_rank: int | None


@dataclass(frozen=True, slots=True)
class Instead:
    """The best hit that holds no gold. `text` is None where the lake no longer has the chunk."""

    rank: int
    chunk_id: str
    document_id: str
    page: int | None
    text: str | None


@dataclass(frozen=True, slots=True)
class Moved:
    """A question of which the primary metric changed. `instead`: on the side that is worse."""

    question_id: str
    question: str
    category: str
    first: float
    second: float
    gold: tuple[MovedGold, ...]
    instead: Instead | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """`corpus`: what the second index version has otherwise (retrieval.versions.difference); None where both are one version, or where one
    of them is no longer in the catalog."""

    first: EvaluationRow
    second: EvaluationRow
    primary: str
    metrics: tuple[Compared, ...]  # the primary one first
    slices: tuple[Compared, ...]
    costs: tuple[Cost, ...]
    regressions: tuple[Moved, ...]  # the worst first
    gains: tuple[Moved, ...]  # the best first
    regressed: int
    gained: int
    corpus: Mapping[str, Any] | None

    def metric(self, name: str) -> Compared:
        """Raises UsageError for one that neither evaluation has."""
        found = [one for one in self.metrics if one.metric == name]
        if not found:
            raise UsageError("no such metric", name, f"Metrics: {', '.join(sorted(one.metric for one in self.metrics))}.")
        return found[0]


def pair(rows: Sequence[EvaluationRow], first: str, second: str, prod: str = "") -> tuple[EvaluationRow, EvaluationRow]:
    """The two evaluations that are meant: by id (or how it begins), version tag or id, "prod", recipe, or arm.

    A name stands for all evaluations of the version (of a recipe's newest one evaluated); of these the two are taken that are asked most
    alike: one set, then one retriever or one version, then by hybrid search, then the newest. `rows`: the newest first; `prod`: id of the
    version that is prod. Raises UnknownName, UsageError where both names mean one evaluation.
    """
    found = [_named(rows, name, prod) for name in (first, second)]
    pairs = [(one, other) for one in found[0] for other in found[1] if one.evaluation_id != other.evaluation_id]
    if not pairs:
        raise UsageError("both names mean the same evaluation", f"{first} and {second}", "Name the evaluations by their ids.")
    return max(pairs, key=lambda p: (why_not(*p) is None, _alike(*p), *sorted((p[0].created_at, p[1].created_at))))


def _alike(one: EvaluationRow, other: EvaluationRow) -> tuple[int, int]:
    hybrid = sum(json.loads(row.retriever).get("mode") == "hybrid" for row in (one, other))
    return (one.version_id == other.version_id) + (one.retriever_hash == other.retriever_hash), hybrid


def _named(rows: Sequence[EvaluationRow], name: str, prod: str) -> list[EvaluationRow]:
    of_recipe = [row for row in rows if row.recipe == name]
    choices = (
        [row for row in rows if len(name) >= SHORTEST_ID and row.evaluation_id.startswith(name)],
        [row for row in rows if name == "prod" and row.version_id == prod],
        [row for row in rows if name == row.tag or (len(name) >= SHORTEST_ID and row.version_id.startswith(name))],
        [row for row in rows if name == row.arm],
        [row for row in of_recipe if row.version_id == of_recipe[0].version_id],
    )
    found = next(filter(None, choices), None)
    if found is None:
        known = ", ".join(dict.fromkeys(f"{row.tag} ({row.recipe}, {row.arm})" for row in rows[:10]))
        raise UnknownName("no evaluation of that name", name[:60], f"Evaluated: {known}." if known else "edgarmill evaluate makes one.")
    return found


def why_not(first: EvaluationRow, second: EvaluationRow) -> str | None:
    """What makes two evaluations not comparable; None = nothing."""
    if first.questions_hash != second.questions_hash:
        return f"other questions: {first.set_name} ({first.questions_hash[:8]}) and {second.set_name} ({second.questions_hash[:8]})"
    if first.set_hash != second.set_hash:
        return f"the evidence of {first.set_name} was resolved on other texts: filings that it names were parsed anew, added or removed"
    if not first.judged:
        return f"no question of {first.set_name} can be judged"
    return None


def compare(snapshot: Snapshot, first: Stored, second: Stored, primary: str = PRIMARY) -> Comparison:
    """Second against first.

    Raises NotComparable, UsageError for a primary metric that does not exist; one that these questions do not have is not measured.
    """
    reason = why_not(first.evaluation, second.evaluation)
    if reason:
        raise NotComparable(reason, f"{first.evaluation.evaluation_id[:12]} and {second.evaluation.evaluation_id[:12]}",
                            "Evaluate both again on one set.")
    unmeasured: Values = {primary: {}} if primary in NAMES else {}
    values = (unmeasured | by_metric(first.judged, first.ranked), unmeasured | by_metric(second.judged, second.ranked))
    metrics = _metrics(first, values, primary)
    regressions, gains = _moved(first, second, values[0][primary], values[1][primary])
    shown = _with_texts(snapshot, regressions[:SHOWN]), _with_texts(snapshot, gains[:SHOWN])
    return Comparison(first.evaluation, second.evaluation, primary, metrics, _slices(first, values, primary, snapshot),
                      costs(first, second), *shown, len(regressions), len(gains), _corpus(snapshot, first.evaluation, second.evaluation))


def is_share(metric: str) -> bool:
    return metric.startswith(SHARES)


def _metrics(first: Stored, values: tuple[Values, Values], primary: str) -> tuple[Compared, ...]:
    both = {m for m in values[0].keys() & values[1].keys() if not m.startswith(NO_QUALITY)}
    if primary not in both:
        raise UsageError("no such metric", primary, f"Metrics: {', '.join(sorted(both))}.")
    names = sorted(both, key=lambda m: (m != primary, m))
    found = _differences(first, [v[m] for m in names for v in values], [is_share(m) for m in names])
    measured = [(m, d) for m, d in zip(names, found, strict=True) if d.questions or m == primary]
    adjusted = [measured[0][1].p, *holm([d.p for _, d in measured[1:]])]
    return tuple(Compared(m, "all", d, p, d.verdict(p)) for (m, d), p in zip(measured, adjusted, strict=True))


def _slices(first: Stored, values: tuple[Values, Values], primary: str, snapshot: Snapshot) -> tuple[Compared, ...]:
    """The primary metric in every slice. A slice is a column in which the other questions are not measured."""
    of = places_of(snapshot, (gold for q in first.judged for gold in q.gold))
    chosen = {name: {q.question_id for q in judged} for name, judged in slices(first.judged, of).items() if name != "all"}
    columns = [{q: x for q, x in v[primary].items() if q in ids} for ids in chosen.values() for v in values]
    found = _differences(first, columns, [is_share(primary)] * len(chosen))
    return tuple(Compared(primary, name, d, p, d.verdict(p))
                 for name, d, p in zip(chosen, found, holm([d.p for d in found]), strict=True) if d.questions)


def _differences(first: Stored, columns: Sequence[Mapping[str, float]], shares: Sequence[bool]) -> list[Difference]:
    """`columns`: values by question, those of the first evaluation and of the second in turn."""
    rows = [[column.get(q.question_id, np.nan) for column in columns] for q in first.judged]
    table = np.array(rows, dtype=np.float64).reshape(len(first.judged), len(columns))
    return differences(table[:, ::2], table[:, 1::2], [q.document_id for q in first.judged], shares)


def costs(first: Stored, second: Stored) -> tuple[Cost, ...]:
    """Seconds of a question (all steps), tokens and dollars, over the questions that both asked without an error."""
    names = sorted(q for q in first.asked.keys() & second.asked.keys() if not first.asked[q].error and not second.asked[q].error)
    document = {q.question_id: q.document_id for q in first.judged}
    sides = [[side.asked[q] for q in names] for side in (first, second)]
    found = [Cost(f"seconds p{percent}", percentile(seconds(sides[0]), percent), percentile(seconds(sides[1]), percent))
             for percent in (50, 95)]
    table = np.array([[[_number(getattr(one, name)) for name in COSTS] for one in side] for side in sides])
    table = table.reshape(2, len(names), len(COSTS))
    changes = differences(table[0], table[1], [document.get(q, q) for q in names], [False] * len(COSTS))
    means = [[mean(table[side, :, column]) for column in range(len(COSTS))] for side in (0, 1)]
    return (*found, *(Cost(n, a, b, d if d.questions else None) for n, a, b, d in zip(COSTS, *means, changes, strict=True)))


def seconds(asked: Iterable[Asked]) -> list[float]:
    """Of each question, from its words to the passages given."""
    return [sum(getattr(one, f"{step}_seconds") or 0.0 for step in STEPS) for one in asked]


def percentile(values: Sequence[float], percent: int) -> float | None:
    return float(np.percentile(values, percent)) if values else None


def mean(values: Floats) -> float | None:
    """Of those that were measured."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _number(value: Any) -> float:
    return np.nan if value is None else float(value)


def _moved(first: Stored, second: Stored, before: Mapping[str, float], after: Mapping[str, float]) -> tuple[list[Moved], list[Moved]]:
    """Regressions and gains, the largest first; the texts of what was found instead are not read yet."""
    moved = []
    for q in first.judged:
        name = q.question_id
        change = after[name] - before[name] if name in before and name in after else 0.0
        if change:
            ranked = first.ranked.get(name, []), second.ranked.get(name, [])
            ranks = [_ranks(hits) for hits in ranked]
            gold = tuple(MovedGold(g.document_id or "", _short(g.quote), ranks[0].get(g.ordinal), ranks[1].get(g.ordinal)) for g in q.gold)
            instead = next((Instead(h.rank, h.chunk_id, h.document_id, h.page_start, None) for h in ranked[change < 0] if not h.gold), None)
            moved.append(Moved(name, first.questions[name].question, q.category, before[name], after[name], gold, instead))
    moved.sort(key=lambda m: (-abs(m.second - m.first), m.question_id))
    return [m for m in moved if m.second < m.first], [m for m in moved if m.second > m.first]


def _ranks(hits: Iterable[Ranking]) -> dict[int, int]:
    """The first rank of each piece of gold."""
    found: dict[int, int] = {}
    for hit in hits:
        for ordinal in hit.gold:
            found.setdefault(ordinal, hit.rank)
    return found


def _with_texts(snapshot: Snapshot, moved: Sequence[Moved]) -> tuple[Moved, ...]:
    wanted = sorted({m.instead.chunk_id for m in moved if m.instead})
    rows = snapshot.read("chunks", ["chunk_id", "text"], {"chunk_id": wanted})
    texts = {key: _short(text) for key, text in zip(rows["chunk_id"].to_pylist(), rows["text"].to_pylist(), strict=True)}
    return tuple(replace(m, instead=replace(m.instead, text=texts.get(m.instead.chunk_id))) if m.instead else m for m in moved)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= QUOTED else f"{line[:QUOTED]}…"


def _corpus(snapshot: Snapshot, first: EvaluationRow, second: EvaluationRow) -> Mapping[str, Any] | None:
    if first.version_id == second.version_id:
        return None
    try:
        return difference(snapshot, by_id(snapshot, first.version_id), by_id(snapshot, second.version_id))
    except LakeCorrupt:  # collected away: its manifest went with it
        return None
