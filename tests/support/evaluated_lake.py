"""A lake with evaluations in it, made without any search: invented filings, questions about their chunks, and where each arm found them."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from tiny_lake import NOW, accession, filing, rows_of

from edgarmill.eval.evaluation import places_of
from edgarmill.eval.scores import METRICS, scores
from edgarmill.eval.stored import stored
from edgarmill.retrieval.retriever import retriever_of
from edgarmill.schemas import records
from edgarmill.schemas.store import Lake, write_part

SET, QUESTIONS = "5e7" * 5, "9ae" * 5
ATTACK = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
CATEGORIES = ("single-hop", "multi-hop", "summary")


@dataclass(frozen=True)
class Asking:
    """One evaluation to be made. `quality`: how likely the gold comes early; `usd`: of a question, None = no model was asked."""

    arm: str
    knobs: Mapping[str, Any]
    quality: float
    version: int = 2
    recipe: str = "tiny"
    seconds: float = 0.02
    usd: Decimal | None = None
    experiment: str | None = None

    @property
    def id(self) -> str:
        return f"{self.arm.encode().hex()[:20]}{self.version}{self.recipe}"


TWO = (Asking("vector", {"mode": "vector"}, 0.35), Asking("hybrid", {"mode": "hybrid"}, 0.75, seconds=0.03),
       *(Asking("hybrid", {"mode": "hybrid"}, quality, version) for version, quality in ((0, 0.4), (1, 0.6))))


def evaluated_lake(folder: Path, asked: Sequence[Asking] = TWO, questions: int = 40, filings: int = 12, chunks: int = 16, words: str = "",
                   hostile: bool = False) -> Lake:
    """The lake; evaluations are called by `Asking.id`. Every third question has two pieces of gold; one question of each arm fails."""
    lake = Lake.open(str(folder / "lake"), create=True)
    name = f"Com{ATTACK}pany" if hostile else "Company"
    known = [filing(n, company=f"{name} {'ABC'[n % 3]}", url=f"https://www.sec.gov/Archives/{n}") for n in range(filings)]
    rows = [rows_of(one, chunks, f"{words}{ATTACK if hostile else ''}") for one in known]
    places = [chunk for one in rows for chunk in one["chunks"]]
    gold = _gold(places, questions, hostile)
    tables: dict[str, list[Any]] = {table: [row for one in rows for row in one[table]] for table in ("filings", "documents", "chunks")}
    tables["question_sets"] = gold
    tables["index_versions"] = [_version(n, recipe, filings) for recipe in sorted({one.recipe for one in asked}) for n in range(3)]
    for one in asked:
        made = _evaluation(one, gold, places, questions)
        for table, more in made.items():
            tables.setdefault(table, []).extend(more)
    _commit(lake, "evaluated", tables)
    snapshot = lake.snapshot()
    scored: list[Any] = []
    for one in asked:
        found = stored(snapshot, one.id)
        scored += scores(found.evaluation, one.knobs["mode"], found.judged, found.ranked, found.asked, places_of(snapshot, gold))
    _commit(lake, "scored", {"scores": scored})
    return lake


def _commit(lake: Lake, key: str, tables: Mapping[str, list[Any]]) -> None:
    with lake.writer(key) as writer:
        writer.commit([write_part(lake.root, table, key, rows, key) for table, rows in tables.items()], key=key)


def _gold(places: Sequence[Any], questions: int, hostile: bool) -> list[records.GoldRow]:
    rows = []
    for n in range(questions):
        for ordinal in range(2 if n % 3 == 2 else 1):
            chunk = places[(n * 7 + ordinal * 29) % len(places)]
            question = f"What did {chunk.accession} say of paragraph {chunk.ordinal}?{ATTACK if hostile else ''}"
            rows.append(records.GoldRow(SET, f"questions{ATTACK if hostile else ''}", f"q{n:04d}", ordinal, question, CATEGORIES[n % 3],
                                        f"answer {n}", "", chunk.text, "I", chunk.item, chunk.page_start, "text" if n % 2 else "table",
                                        chunk.document_id, chunk.start, chunk.end, "exact", QUESTIONS))
    return rows


def _version(n: int, recipe: str, filings: int) -> records.IndexVersion:
    corpus = {accession(i): f"sha {i}" for i in range(filings - (2 - n))}
    manifest = json.dumps({"corpus": {"sha256": corpus}, "recipe": {"name": recipe}, "software": {"lance": f"{n}.0"}})
    return records.IndexVersion(f"version {recipe} {n}", recipe, "f", "model1", "m", n, f"2026-11-{28 + n}.1", None, "verified",
                                len(corpus), 100, 1000, 0, 10, None, manifest, NOW + timedelta(days=n - 2))


def _evaluation(one: Asking, gold: Sequence[records.GoldRow], places: Sequence[Any], questions: int) -> dict[str, list[Any]]:
    retriever = retriever_of(one.knobs)
    by_question: dict[str, list[records.GoldRow]] = {}
    for row in gold:
        by_question.setdefault(row.question_id, []).append(row)
    luck = random.Random(f"{one.arm} {one.version} {one.recipe}")
    rankings, asked = [], []
    for number, (question, pieces) in enumerate(by_question.items()):
        if number == 5:
            asked.append(records.Asked(one.id, question, error="SearchFailed: the disk is full"))
            continue
        hits = _hits(one, retriever.k, question, pieces, places, luck)
        rankings += hits
        seconds, tokens = one.seconds * luck.uniform(0.5, 1.5), sum(hit.tokens or 0 for hit in hits)
        asked.append(records.Asked(one.id, question, 0.004, seconds, tokens=tokens, usd=one.usd, input_tokens=900 if one.usd else None,
                                   filters='{"form": "10-K"}'))
    version = f"version {one.recipe} {one.version}"
    row = records.EvaluationRow(one.id, SET, QUESTIONS, gold[0].set_name, version, one.recipe, f"2026-11-{28 + one.version}.1", "manifest",
                                "corpus", json.dumps(asdict(retriever)), retriever.hash, one.experiment, one.arm, retriever.k, questions,
                                questions, 0, 0, 1, len(rankings), METRICS, '{"engine": "loop", "edgarmill": "1"}', NOW)
    return {"evaluations": [row], "rankings": rankings, "asked": asked}


def _hits(one: Asking, k: int, question: str, pieces: Sequence[records.GoldRow], places: Sequence[Any],
          luck: random.Random) -> list[records.Ranking]:
    """The gold at a rank that its quality decides, or not at all; other chunks elsewhere."""
    at = {g.ordinal: luck.randrange(1, max(2, round(8 * (1.1 - one.quality)))) for g in pieces if luck.random() < one.quality}
    of = {(g.document_id, g.start): g.ordinal for g in pieces}
    others = iter(luck.sample([c for c in places if (c.document_id, c.start) not in of], k))
    rows = []
    for rank in range(1, k + 1):
        ordinal = next((o for o, r in sorted(at.items()) if r == rank), None)
        chunk = next(others) if ordinal is None else next(c for c in places if of.get((c.document_id, c.start)) == ordinal)
        rows.append(records.Ranking(one.id, SET, f"version {one.recipe} {one.version}", one.knobs["mode"], question, rank, chunk.chunk_id,
                                    chunk.document_id, chunk.start, chunk.end, 1 / rank, () if ordinal is None else (ordinal,),
                                    chunk.accession, chunk.page_start, chunk.page_end, 200 + luck.randrange(200)))
    return rows


def gate(lake: Lake, before: str, after: str, outcome: str = "undecided") -> None:
    """A gate's answer about two evaluations."""
    checks = [{"check": "questions", "rule": "at least 50 judged", "found": "40", "outcome": outcome}]
    row = records.GateRow("gate", QUESTIONS, SET, "questions", "version tiny 2", after, "version tiny 1", before, "default", "hash", "{}",
                          outcome, f"{outcome} by rule default on questions: questions: 40", json.dumps(checks), NOW)
    _commit(lake, "gate", {"gates": [row]})


def replaced_text(lake: Lake, n: int) -> None:
    """Another text for the n-th filing's document, as if it was parsed anew."""
    document = lake.snapshot().records("documents", {"accession": [accession(n)]})[0]
    from edgarmill.schemas.store import Drop

    part = write_part(lake.root, "documents", "again", [replace(document, text="Nothing of what was." * 100)], "again")
    with lake.writer("again") as writer:
        writer.commit([part], key="again", drop=[Drop("documents", "accession", frozenset([accession(n)]))])
