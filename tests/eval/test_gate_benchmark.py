"""The benchmark of the gate runs, on less than it is meant for, and finds what it seeds."""

from __future__ import annotations

from pathlib import Path

from edgarmill.eval import rule as rules
from edgarmill.eval.benchmarks.gate import caught, made, reruns
from edgarmill.schemas.store import Lake


def test_seeded_regressions_do_not_pass_and_the_same_version_does(tmp_path: Path) -> None:
    index = made(Lake.open(str(tmp_path / "lake"), create=True).snapshot())
    rule = rules.load().model_copy(update={"floors": {}})
    found = {row["kind"]: row for row in caught(index, rule, 1)}
    assert set(found) == {"chunks dropped", "vectors shuffled", "company missing", "wrong tokenizer"}
    assert all(set(row["gate"]) <= {"fail"} for row in found.values()) and sum(row["counted"] for row in found.values()) >= 3
    assert dict(reruns(index, rule, 2)) == {"pass": 2}
