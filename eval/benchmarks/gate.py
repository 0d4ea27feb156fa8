"""Does the gate catch what is broken, and leave alone what is not? Regressions are seeded into an index and put before the gate.

    python -m edgarmill.eval.benchmarks.gate [--lake LAKE --questions SET] [--draws N] [--reruns N] [--json]

Without a lake: 40 made filings of 8 companies, 20 chunks each, three questions a filing; vectors near their subject's. With one: the chunks
and vectors of its newest index version, a question set with the filters inferred from each question, and the model of the version. Either
way the ten nearest chunks are found by exact search, by vectors alone (keywords would soften the fall), and the shipped rule decides. Each
regression is drawn anew:

  chunks dropped     one in four, at random
  vectors shuffled   of every fourth chunk, among themselves
  company missing    all filings of one (of as many as it takes for a fifth of the questions)
  wrong tokenizer    every text embedded from its first eight words; of made chunks, vectors that keep half of their direction

A draw that takes less than ten points of the rule's primary metric is made twice as severe, then three times; what still takes less is not
counted. Then the same version again and again, with other latencies:
each answer but pass is a false alarm. Last, pairs of versions that differ by chance alone (every vector slightly moved, each in its own
way) on random halves of the filings: how often is one called worse?
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from edgarmill.eval import rule as rules
from edgarmill.eval.certainty import differences
from edgarmill.eval.compare import compare
from edgarmill.eval.gate import Corpus, decide, no_worse
from edgarmill.eval.metrics import Judged, by_metric
from edgarmill.eval.replay import holds
from edgarmill.eval.rule import Rule
from edgarmill.eval.stored import Stored
from edgarmill.schemas.records import Asked, EvaluationRow, GoldRow, Ranking
from edgarmill.schemas.snapshot import Snapshot

HITS, POINTS, WORDS = 10, 0.10, 8
SHARES = (0.25, 0.5, 0.75)  # of an index that is broken: the mildest that takes POINTS
NOISE = 1.5  # of a made question, beside its subject
MOVED = 0.25  # length of the noise in versions that differ by chance, beside a vector's own
Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Index:
    """Chunks as an index holds them, and questions with their vectors."""

    chunks: list[tuple[str, str, int, int, int]]  # chunk id, document, start, end, tokens
    companies: npt.NDArray[np.int64]  # of each chunk
    vectors: Vectors
    shortened: Callable[[float], Vectors]  # by share: vectors as a wrong tokenizer would give them
    judged: list[Judged]
    asked: Vectors
    snapshot: Snapshot
    within: npt.NDArray[np.bool_] | None = None  # question x chunk: kept by the question's filters


def made(snapshot: Snapshot, companies: int = 8, filings: int = 5, chunks: int = 20, wide: int = 32) -> Index:
    random = np.random.default_rng(7)
    rows, subjects, judged, questions = [], random.normal(size=(companies * filings * chunks, wide)), [], []
    for n in range(companies * filings):
        document = f"{n:010d}-24-000001:1"
        rows += [(f"{document} {i}", document, i * 1000, i * 1000 + 900, 200) for i in range(chunks)]
        for q, i in enumerate(random.choice(chunks, 3, replace=False)):
            place = (document, int(i) * 1000, int(i) * 1000 + 900)
            name = f"q{n:03d}-{q}"
            judged.append(Judged(name, "single-hop", (GoldRow("made", "made", name, 0, name, "single-hop", "", document, name, "", "", None,
                                                              "text", *place, "exact"),)))
            questions.append(subjects[n * chunks + i] + NOISE * random.normal(size=wide))
    vectors = _unit(subjects)
    return Index(rows, np.repeat(np.arange(companies), filings * chunks), vectors,
                 lambda share: _unit(vectors + _unit(random.normal(size=vectors.shape)) * 6.8 * share),
                 judged, _unit(np.array(questions)), snapshot)


def of_lake(folder: str, questions: str) -> Index:
    """The newest version's chunks and vectors."""
    from edgarmill.eval import questions as question_sets
    from edgarmill.eval.metrics import judged_questions
    from edgarmill.eval.resolve import resolved_rows
    from edgarmill.retrieval.filters import Filters
    from edgarmill.retrieval.inference import infer
    from edgarmill.retrieval.retrieve import open_reader
    from edgarmill.retrieval.versions import newest
    from edgarmill.schemas.settings import Settings
    from edgarmill.schemas.store import Lake

    lake = Lake.open(folder)
    reader = open_reader(lake, newest(lake.snapshot()), Settings(lake=folder))
    judged = judged_questions(resolved_rows(question_sets.load(questions), lake.snapshot()).rows)[0]
    columns = ["chunk_id", "document_id", "start", "end", "tokens", "company", "text", "vector"]
    rows = reader.index.dataset.to_table(columns=columns).to_pylist()
    places = {row["chunk_id"]: place for place, row in enumerate(rows)}
    within = np.zeros((len(judged), len(rows)), dtype=bool)
    for kept, question in zip(within, judged, strict=True):
        where = infer(question.gold[0].question, reader.companies, Filters(), reader.index.count).filters.expression
        found = reader.index.dataset.to_table(columns=["chunk_id"], filter=where)["chunk_id"].to_pylist()
        kept[[places[chunk] for chunk in found]] = True

    def embedded(texts: list[str]) -> Vectors:
        encode = reader.encoder().encode
        return _unit(np.concatenate([encode(texts[i:i + 256]) for i in range(0, len(texts), 256)]))

    return Index([(r["chunk_id"], r["document_id"], r["start"], r["end"], r["tokens"]) for r in rows],
                 np.unique([row["company"] for row in rows], return_inverse=True)[1], _unit(np.array([r["vector"] for r in rows])),
                 lambda share: embedded([" ".join(r["text"].split()[:round(WORDS * SHARES[0] / share)]) for r in rows]),
                 judged, embedded([q.gold[0].question for q in judged]), lake.snapshot(), within)


def _unit(rows: Any) -> Vectors:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def evaluated(index: Index, name: str, vectors: Vectors | None = None, keep: npt.NDArray[np.bool_] | None = None,
              seconds: float = 0.02) -> Stored:
    """What the nearest chunks give, of those that are kept."""
    likeness = index.asked @ (index.vectors if vectors is None else vectors).T
    if index.within is not None:
        likeness[~index.within] = -np.inf
    if keep is not None:
        likeness[:, ~keep] = -np.inf
    best = np.argsort(-likeness, axis=1, kind="stable")[:, :HITS]
    ranked, asked = {}, {}
    random = np.random.default_rng(len(name))
    for n, (q, row) in enumerate(zip(index.judged, best, strict=True)):
        hits = [_hit(name, q, rank, *index.chunks[place]) for rank, place in enumerate(row, 1) if np.isfinite(likeness[n, place])]
        ranked[q.question_id] = hits
        asked[q.question_id] = Asked(name, q.question_id, search_seconds=seconds * float(random.lognormal(0, 0.5)),
                                     tokens=sum(hit.tokens or 0 for hit in hits))
    n = len(index.judged)
    at = datetime(2026, 11, 30, tzinfo=UTC)
    head = EvaluationRow(name, "s", "q", "set", name, "made", None, "", "", "{}", "", None, "vector", HITS, n, n, 0, 0, 0, HITS * n, 2,
                         "{}", at)
    return Stored(head, index.judged, ranked, asked, {q.question_id: q.gold[0] for q in index.judged})


def _hit(name: str, q: Judged, rank: int, chunk: str, document: str, start: int, end: int, tokens: int) -> Ranking:
    held = tuple(g.ordinal for g in q.gold if holds(document, start, end, g))
    return Ranking(name, "s", name, "vector", q.question_id, rank, chunk, document, start, end, 1 / rank, held, tokens=tokens)


def _dropped(index: Index, share: float, random: np.random.Generator) -> tuple[Stored, float]:
    keep = random.random(len(index.chunks)) >= share
    return evaluated(index, "dropped", keep=keep), 1 - float(keep.mean())


def _shuffled(index: Index, share: float, random: np.random.Generator) -> tuple[Stored, float]:
    vectors = index.vectors.copy()
    some = np.flatnonzero(random.random(len(vectors)) < share)
    vectors[some] = vectors[random.permutation(some)]
    return evaluated(index, "shuffled", vectors), 0.0


def _missing(index: Index, share: float, random: np.random.Generator) -> tuple[Stored, float]:
    """Without one company, or as many as it takes for the evidence of 0.8 x share of the questions."""
    of = {chunk[1]: int(company) for chunk, company in zip(index.chunks, index.companies, strict=True)}
    gone: list[int] = []
    for company in random.permutation(np.unique(index.companies)):
        gone.append(int(company))
        if sum(of.get(q.document_id) in gone for q in index.judged) >= 0.8 * share * len(index.judged):
            break
    keep = ~np.isin(index.companies, gone)
    return evaluated(index, "missing", keep=keep), 1 - float(keep.mean())


def _tokenized(index: Index, share: float, random: np.random.Generator) -> tuple[Stored, float]:
    return evaluated(index, "tokenizer", index.shortened(share)), 0.0


REGRESSIONS = {"chunks dropped": _dropped, "vectors shuffled": _shuffled, "company missing": _missing, "wrong tokenizer": _tokenized}


def caught(index: Index, rule: Rule, draws: int) -> list[dict[str, Any]]:
    """A row a kind: points lost, and outcomes of the draws that lost ten or more; `quality`: by the primary metric alone."""
    prod = evaluated(index, "prod")
    found = []
    for kind, broken in REGRESSIONS.items():
        points: list[float] = []
        quality: Counter[str] = Counter()
        gate: Counter[str] = Counter()
        made = min(draws, 1) if broken is _tokenized else draws  # nothing is drawn there
        for draw in range(made):
            for share in SHARES:
                new, lost = broken(index, share, np.random.default_rng(draw))
                comparison = compare(index.snapshot, prod, new, rule.primary)
                difference = comparison.metric(rule.primary).difference
                if difference.mean is not None and difference.mean <= -POINTS:
                    gone = ("one",) if kind == "company missing" else ()
                    points.append(round(100 * difference.mean, 1))
                    quality[no_worse(difference, rule.margin)] += 1
                    gate[decide(rule, new, prod, comparison, Corpus(gone, gone, (), lost, 0, 0, 0)).outcome] += 1
                    break
        found.append({"kind": kind, "draws": made, "counted": len(points), "points": [min(points), max(points)] if points else None,
                      "quality": quality, "gate": gate})
    return found


def reruns(index: Index, rule: Rule, times: int) -> Counter[str]:
    """Outcomes of the same version asked again."""
    prod = evaluated(index, "prod")
    found: Counter[str] = Counter()
    for n in range(times):
        again = evaluated(index, "again" + "." * n, seconds=0.02 * (1 + n % 5))
        found[decide(rule, again, prod, compare(index.snapshot, prod, again, rule.primary), Corpus((), (), (), 0.0, 0, 0, 0)).outcome] += 1
    return found


def by_chance(index: Index, rule: Rule, pairs: int) -> dict[str, Any]:
    """Outcomes of the primary metric for versions that differ by chance, on random halves of the filings."""
    outcomes: Counter[str] = Counter()
    documents = sorted({q.document_id for q in index.judged})
    widths = []
    for n in range(pairs):
        random = np.random.default_rng(1000 + n)
        half = set(random.choice(documents, len(documents) // 2, replace=False))
        chosen = [q.document_id in half for q in index.judged]
        part = replace(index, judged=[q for q, c in zip(index.judged, chosen, strict=True) if c], asked=index.asked[chosen],
                       within=None if index.within is None else index.within[chosen])
        sides = []
        for _ in range(2):
            moved = _unit(index.vectors + MOVED * _unit(random.normal(size=index.vectors.shape)))
            one = evaluated(part, "moved", moved)
            values = by_metric(one.judged, one.ranked)[rule.primary]
            sides.append(np.array([[values[q.question_id]] for q in part.judged]))
        [d] = differences(sides[0], sides[1], [q.document_id for q in part.judged], [False])
        outcomes[no_worse(d, rule.margin)] += 1
        if d.low is not None and d.high is not None:
            widths.append(d.high - d.low)
    return {"pairs": pairs, **outcomes, "interval points wide": round(100 * float(np.median(widths)), 1) if widths else None}


def main() -> None:
    import tempfile

    from edgarmill.schemas.store import Lake

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--lake", help="whose newest version is broken (in memory; nothing is written)")
    parser.add_argument("--questions", help="a question set on it")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--reruns", type=int, default=50)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = of_lake(given.lake, given.questions) if given.lake else made(Lake.open(folder, create=True).snapshot())
        rule = rules.load().model_copy(update={"floors": {}})  # they would catch some of it without any comparison
        prod = evaluated(index, "prod")
        values = by_metric(prod.judged, prod.ranked)[rule.primary]
        found = {"chunks": len(index.chunks), "questions": len(index.judged), rule.primary: round(sum(values.values()) / len(values), 3),
                 "seeded": caught(index, rule, given.draws), "reruns": reruns(index, rule, given.reruns),
                 "by chance": by_chance(index, rule, given.pairs)}
    print(json.dumps(found) if given.json else json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
