"""The benchmark of the gate runs, on less than it is meant for, and finds what it seeds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from edgarmill.eval import rule as rules
from edgarmill.eval.benchmarks.gate import caught, evaluated, made, of_lake, reruns
from edgarmill.eval.metrics import by_metric
from edgarmill.schemas.store import Lake
from tests.support.small_ingest import World, accession


def test_seeded_regressions_do_not_pass_and_the_same_version_does(tmp_path: Path) -> None:
    index = made(Lake.open(str(tmp_path / "lake"), create=True).snapshot())
    rule = rules.load().model_copy(update={"floors": {}})
    found = {row["kind"]: row for row in caught(index, rule, 1)}
    assert set(found) == {"chunks dropped", "vectors shuffled", "company missing", "wrong tokenizer"}
    assert all(set(row["gate"]) <= {"fail"} for row in found.values()) and sum(row["counted"] for row in found.values()) >= 3
    assert dict(reruns(index, rule, 2)) == {"pass": 2}


def test_a_lake_is_asked_within_the_filters_of_each_question(world: World, tmp_path: Path) -> None:
    quote = "In division 2 Company 2 may lose customers and its business was steady throughout the 1A part of the year number 2."
    gold = [{"accession": accession(2), "quote": quote}]
    asked = {"named": "Which customers may Company 2 of division 2 lose?", "unnamed": "Which customers may be lost?"}
    lines = [{"id": name, "question": text, "category": "single-hop", "answer": "some", "gold": gold} for name, text in asked.items()]
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    index = of_lake(str(world.lake), str(path))
    assert index.within is not None and len(np.unique(index.companies)) > 1
    kept = dict(zip([q.question_id for q in index.judged], index.within, strict=True))
    assert kept["unnamed"].all() and 0 < kept["named"].sum() < len(index.chunks)
    assert {chunk[1].split(":")[0] for chunk, one in zip(index.chunks, kept["named"], strict=True) if one} == {accession(2)}
    whole = evaluated(index, "prod")
    assert by_metric(whole.judged, whole.ranked)["hit@5"]["named"] == 1
    assert all(hit.chunk_id in {chunk[0] for chunk, one in zip(index.chunks, kept[question], strict=True) if one}
               for question, hits in whole.ranked.items() for hit in hits)
    short = index.shortened(0.25)
    assert short.shape == index.vectors.shape and not np.allclose(short, index.vectors)
