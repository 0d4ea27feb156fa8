"""What the index finds, row by row of what it must reach: ours, wanted, holds or not; and every miss with its class.

    python -m edgarmill.eval.benchmarks.quality [--pages LAKE SET] [--filings LAKE SET] [--multihop LAKE SET]
        [--set LAKE SET]... [--recipe NAME] [--misses] [--json]

Each lake holds the texts of its set: PDFs for `--pages` (FinanceBench's documents), filings for `--filings`, short passages for
`--multihop`, and whatever else its questions ask for `--set`, of which nothing is wanted but that hybrid is no worse than its parts. The
newest index version is asked; questions are embedded in batches, so nothing here tells of latency. Rows whose lake is
not given are not printed. Filters are inferred from the question in the first two. Intervals: paired bootstrap by document.

Classes of misses, the first that holds: gold (its text is not in the lake), filter (the filters in force keep no row of its document),
parse (no chunk has a character of it), cut (no chunk holds it by the rule of replay.py), rank (a chunk that holds it ranks 11 to 100),
vocabulary (question and evidence share no word of five letters or more), far (all else: it ranks behind 100).
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from edgarmill.eval.certainty import differences
from edgarmill.eval.metrics import Judged, Values, by_metric, is_hit, judged_questions
from edgarmill.eval.replay import EvaluationKey, Replay, TokenCounter, Vector, holds, replay
from edgarmill.eval.stored import ranked_of
from edgarmill.retrieval.retrieve import Reader
from edgarmill.retrieval.retriever import Retriever
from edgarmill.schemas.records import GoldRow

BATCH, DEEP = 16, 100
MODES = ("vector", "keyword", "hybrid")
PLAIN = {"filters": "inferred"}
BEST = {**PLAIN, "terms": True, "spread": "page"}
ARMS: dict[str, dict[str, Any]] = {
    **{mode: {**PLAIN, "mode": mode} for mode in MODES}, "terms": {**PLAIN, "terms": True}, "spread": {**PLAIN, "spread": "page"},
    "by ranks": {**PLAIN, "fusion": "ranks"},
    "terms, spread": BEST, "terms, spread by vector": {**BEST, "mode": "vector"}, "terms, spread by keyword": {**BEST, "mode": "keyword"},
    "spread, page given": {**PLAIN, "spread": "page", "parent": "page"}, "terms, spread, page given": {**BEST, "parent": "page"},
    "terms, no filters": {"terms": True, "spread": "page", "filters": "none"},
}
FILED = {name: ARMS[name] for name in (*MODES, "by ranks", "terms")} | {
    "terms, neighbours": {**PLAIN, "terms": True, "neighbours": 1}, "neighbours": {**PLAIN, "neighbours": 1},
    "fifty hits": {**PLAIN, "k": 50}, "by rule": {**PLAIN, "decompose": "rule"},
    "late interaction": {**PLAIN, "reranker": "late_interaction", "k_initial": 50},
}
OTHER = {name: FILED[name] for name in (*MODES, "by ranks", "neighbours", "by rule")} | {"no filters": {}}
_WORD = re.compile(r"[a-z]{5,}")


@dataclass(frozen=True)
class Row:
    """One line of what must be reached. `wanted` None: reported only."""

    what: str
    arm: str
    metric: str
    ours: float
    wanted: float | None
    holds: bool | None


@dataclass(frozen=True)
class Asked:
    """A set asked of a lake by several arms."""

    reader: Reader
    rows: list[GoldRow]
    judged: list[Judged]
    vectors: Mapping[str, Vector]
    values: dict[str, Values]
    replays: dict[str, Replay]


def asked(folder: str, questions: str, arms: Mapping[str, Mapping[str, Any]], backend: str, recipe: str | None = None) -> Asked:
    """Every arm over every question, on the newest version, or on that recipe's."""
    from edgarmill.eval import questions as question_sets
    from edgarmill.eval.resolve import resolved_rows
    from edgarmill.retrieval.retrieve import open_reader
    from edgarmill.retrieval.versions import newest
    from edgarmill.schemas.settings import Settings
    from edgarmill.schemas.store import Lake

    lake = Lake.open(folder)
    snapshot = lake.snapshot()
    reader = open_reader(lake, newest(snapshot, recipe), Settings(lake=folder, embed_backend=backend))
    rows = list(resolved_rows(question_sets.load(questions), snapshot).rows)
    judged = judged_questions(rows)[0]
    vectors = _embedded(reader, sorted({row.question for row in rows}))
    values: dict[str, Values] = {}
    replays: dict[str, Replay] = {}
    counter = TokenCounter(reader.tokenizer.counts)
    for name, knobs in arms.items():
        replays[name] = replay(EvaluationKey("", "", ""), rows, reader, Retriever(**knobs), vectors=vectors, tokens=counter)
        values[name] = by_metric(judged, ranked_of(replays[name].rankings))
    return Asked(reader, rows, judged, vectors, values, replays)


def _embedded(reader: Reader, texts: Sequence[str]) -> dict[str, Vector]:
    encoder = reader.encoder()
    found: dict[str, Vector] = {}
    for at in range(0, len(texts), BATCH):
        batch = texts[at : at + BATCH]
        found |= {text: Vector(vector, 0.0) for text, vector in zip(batch, encoder.encode(list(batch)), strict=True)}
    return found


def of_pages(one: Asked) -> list[Row]:
    first = "terms, spread"
    read = "terms, spread, page given"
    wanted = [("right document in the top five", first, "doc_hit@5", 0.97), ("evidence page in the top five", first, "page_hit@5", 0.55),
              ("evidence page in the top ten", first, "page_hit@10", 0.70),
              ("all evidence inside 2,000 tokens", read, "inside@2000t", 0.60)]
    parts = [f"{first} by {mode}" for mode in ("vector", "keyword")]
    return [*_rows(one, wanted), *_beside(one, "page_hit@5", first, parts), *_beside(one, "page_hit@10", first, parts),
            *_beside(one, "page_hit@10", "hybrid", ["vector", "keyword"])]


def of_filings(one: Asked) -> list[Row]:
    wanted = [("right document in the top five", "hybrid", "doc_hit@5", 0.97),
              ("gold half covered in the top five", "hybrid", "half@5", 0.60),
              ("gold half covered in the top ten", "hybrid", "half@10", 0.75),
              ("all evidence inside 2,000 tokens", "fifty hits", "inside@2000t", 0.60)]
    hopping = {row.question_id for row in one.rows if row.category == "multi-hop"}
    ours = _mean({q: value for q, value in one.values["hybrid"]["AllGold@10"].items() if q in hopping})
    what = "all gold of a multi-hop question in the top ten"
    found = [] if ours is None else [Row(what, "hybrid", "AllGold@10", ours, 0.45, ours >= 0.45)]
    return [*_rows(one, wanted), *found, *_beside(one, "half@10", "hybrid", ["vector", "keyword"])]


def of_multihop(one: Asked) -> list[Row]:
    parts = ["vector", "keyword"]
    return [*_beside(one, "AllGold@10", "hybrid", parts, more=1e-9), *_beside(one, "Recall@10", "hybrid", parts)]


def of_other(one: Asked) -> list[Row]:
    parts = ["vector", "keyword"]
    return [row for metric in ("doc_hit@5", "half@10", "AllGold@10") for row in _beside(one, metric, "hybrid", parts)]


def _rows(one: Asked, wanted: Iterable[tuple[str, str, str, float]]) -> list[Row]:
    means = [(what, arm, metric, _mean(one.values[arm].get(metric)), least) for what, arm, metric, least in wanted]
    return [Row(what, arm, metric, ours, least, ours >= least) for what, arm, metric, ours, least in means if ours is not None]


def _beside(one: Asked, metric: str, arm: str, others: Sequence[str], more: float = 0.0) -> list[Row]:
    """At least as good as the better of its parts."""
    ours, theirs = _mean(one.values[arm].get(metric)), [_mean(one.values[other].get(metric)) for other in others]
    best = max((value for value in theirs if value is not None), default=None)
    if ours is None or best is None:
        return []
    return [Row("hybrid at least as good as its better part", arm, metric, ours, best, ours >= best + more)]


def _mean(values: Mapping[str, float] | None) -> float | None:
    return float(np.mean(list(values.values()))) if values else None


def compared(one: Asked, metrics: Sequence[str], base: str = "hybrid") -> list[dict[str, Any]]:
    """Each arm against the plain one, with its interval and verdict, over all questions and over two halves of the documents."""
    halves = {document: n % 2 for n, document in enumerate(sorted({q.document_id for q in one.judged}))}
    found = []
    for arm in one.values:
        for metric in metrics:
            if arm == base or not one.values[base].get(metric):  # gold that is whole documents has no places
                continue
            asked_ = [q for q in one.judged if q.question_id in one.values[base][metric]]
            first, second = (np.array([[one.values[a][metric][q.question_id]] for q in asked_]) for a in (base, arm))
            change = differences(first, second, [q.document_id for q in asked_], [is_hit(metric)])[0]
            by_half = [[b - a for a, b, q in zip(first[:, 0], second[:, 0], asked_, strict=True) if halves[q.document_id] == n]
                       for n in (0, 1)]
            half = [float(np.mean(some)) if some else None for some in by_half]
            found.append({"arm": arm, "metric": metric, "first": change.first, "second": change.second, "low": change.low,
                          "high": change.high, "p": change.p, "verdict": change.verdict(change.p), "halves": half})
    return found


def misses(one: Asked, arm: str, given: Mapping[str, Any], metric: str) -> dict[str, str]:
    """Question id → class, of those that the arm, of the given knobs, misses."""
    knobs = {**asdict(Retriever(**given)), "k": DEEP, "spread": "none", "parent": "none"}
    chunks = _chunks(one.reader, {g.document_id or "" for q in one.judged for g in q.gold})
    found = {row.question_id: "gold" for row in one.rows if row.ordinal >= 0 and row.how is None}
    missed = [q for q in one.judged if not one.values[arm].get(metric, {}).get(q.question_id, 1.0)]
    wanted = [row for row in one.rows if row.question_id in {q.question_id for q in missed}]
    deep = replay(EvaluationKey("", "", ""), wanted, one.reader, Retriever(**knobs), vectors=one.vectors)
    ranked = ranked_of(deep.rankings)
    for q in missed:
        found[q.question_id] = _class(one, q, chunks, bool(ranked.get(q.question_id) and any(h.gold for h in ranked[q.question_id])))
    return found


def _class(one: Asked, q: Judged, chunks: Mapping[str, list[tuple[int, int]]], ranks: bool) -> str:
    from edgarmill.retrieval.inference import infer

    filters = infer(q.gold[0].question, one.reader.companies, _no_filters(), one.reader.index.count).filters
    kept = " AND ".join(filter(None, (filters.expression, f"document_id IN ({', '.join(_quoted(g.document_id) for g in q.gold)})")))
    if not one.reader.index.dataset.count_rows(filter=kept):
        return "filter"
    placed = [(g, chunks.get(g.document_id or "", [])) for g in q.gold]
    if not any(min(end, g.end or 0) > max(start, g.start or 0) for g, spans in placed for start, end in spans):
        return "parse"
    if not any(holds(g.document_id or "", start, end, g) for g, spans in placed for start, end in spans):
        return "cut"
    if ranks:
        return "rank"
    words = set(_WORD.findall(q.gold[0].question.lower()))
    return "far" if words & {word for g in q.gold for word in _WORD.findall(g.quote.lower())} else "vocabulary"


def _no_filters() -> Any:
    from edgarmill.retrieval.filters import Filters

    return Filters()


def _quoted(name: str | None) -> str:
    from edgarmill.workers.index.rows import quoted

    return quoted(name or "")


def _chunks(reader: Reader, documents: Iterable[str]) -> dict[str, list[tuple[int, int]]]:
    where = f"document_id IN ({', '.join(map(_quoted, sorted(documents)))})"
    found: dict[str, list[tuple[int, int]]] = {}
    for row in reader.index.dataset.scanner(columns=["document_id", "start", "end"], filter=where).to_table().to_pylist():
        found.setdefault(row["document_id"], []).append((row["start"], row["end"]))
    return found


SETS = {"pages": (ARMS, of_pages, "terms, spread", "page_hit@10"), "filings": (FILED, of_filings, "hybrid", "half@10"),
        "multihop": ({**{mode: {"mode": mode} for mode in MODES}, "by ranks": {"fusion": "ranks"}}, of_multihop, "hybrid", "AllGold@10"),
        "set": (OTHER, of_other, "hybrid", "AllGold@10")}
METRICS = ("doc_hit@5", "page_hit@5", "page_hit@10", "half@10", "AllGold@10", "inside@2000t", "inside@4000t", "MRR@10", "nDCG@10")


def measured(given: Mapping[str, Sequence[str]], missed: bool, backend: str, recipe: str | None = None) -> dict[str, Any]:
    """All that is printed, by what is given: the name of an option, after a blank what tells several of it apart."""
    found: dict[str, Any] = {}
    for name, (folder, questions) in given.items():
        arms, rows, arm, metric = SETS[name.split(" ")[0]]
        one = asked(folder, questions, arms, backend, recipe)
        kinds = {row.question_id: row.kind or row.category for row in one.rows}
        found[name] = {
            "questions": len(one.judged), "rows": [asdict(row) for row in rows(one)],
            "arms": {a: {m: _mean(values.get(m)) for m in METRICS if m in values} for a, values in one.values.items()},
            "by_kind": {kind: {a: {m: _mean({q: v for q, v in values[m].items() if kinds[q] == kind}) for m in METRICS if m in values}
                               for a, values in one.values.items()} for kind in sorted(set(kinds.values()))},
            "differences": compared(one, METRICS),
            "misses": misses(one, arm, arms[arm], metric) if missed else None,
        }
    return found


def shown(found: Mapping[str, Any]) -> None:
    for name, one in found.items():
        print(f"{name}: {one['questions']} questions")
        for row in one["rows"]:
            verdict = "holds" if row["holds"] else "does not hold"
            print(f"  {row['what']:44} {row['arm']:28} {row['metric']:13} {row['ours']:.3f}  wanted {row['wanted']:.3f}  {verdict}")
        for arm, values in one["arms"].items():
            print(f"  {arm:28}", "  ".join(f"{m} {v:.3f}" for m, v in values.items() if v is not None))
        for kind, arms in one["by_kind"].items():
            for arm, values in arms.items():
                print(f"    {kind:18} {arm:28}", "  ".join(f"{m} {v:.3f}" for m, v in values.items() if v is not None))
        for d in one["differences"]:
            halves = " ".join("-" if half is None else f"{half:+.3f}" for half in d["halves"])
            interval = f"{d['low']:+.3f} to {d['high']:+.3f}" if d["low"] is not None else "no interval"
            print(f"    {d['arm']:28} {d['metric']:13} {d['second'] - d['first']:+.3f} ({interval}; halves {halves}) {d['verdict']}")
        for question, why in sorted((one["misses"] or {}).items(), key=lambda pair: (pair[1], pair[0])):
            print(f"    missed {question}: {why}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in SETS:
        parser.add_argument(f"--{name}", nargs=2, metavar=("LAKE", "SET"), action="append", default=[])
    parser.add_argument("--misses", action="store_true", help="name every missed question with its class")
    parser.add_argument("--recipe", help="of which the newest version is asked; without it, of whichever")
    parser.add_argument("--backend", default="torch", help="embed_backend of the settings")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    given = {f"{name} {pair[1]}": pair for name in SETS for pair in getattr(options, name)}
    if not given:
        parser.error("name a lake and its set: --pages, --filings, --multihop or --set")
    found = measured(given, options.misses, options.backend, options.recipe)
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        shown(found)


if __name__ == "__main__":
    main()
