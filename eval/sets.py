"""The question sets that a lake holds, each as resolved on its texts."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from edgarmill.schemas.records import GoldRow
from edgarmill.schemas.snapshot import Snapshot


def sets_of(snapshot: Snapshot) -> list[dict[str, Any]]:
    """One row a set and its texts, by name: counts of questions and evidence, hashes, licence, and how many evaluations asked it."""
    asked = Counter(row.set_hash for row in snapshot.records("evaluations"))
    by_hash: dict[str, list[GoldRow]] = defaultdict(list)
    for row in snapshot.records("question_sets"):
        by_hash[row.set_hash].append(row)
    return sorted((_row(rows, asked[key]) for key, rows in by_hash.items()), key=lambda row: (row["set_name"], row["set_hash"]))


def _row(rows: list[GoldRow], evaluations: int) -> dict[str, Any]:
    gold = Counter(row.how for row in rows if row.ordinal >= 0)
    first = rows[0]
    return {"set_name": first.set_name, "set_hash": first.set_hash, "questions_hash": first.questions_hash, "licence": first.licence,
            "questions": len({row.question_id for row in rows}), "evidence": sum(gold.values()), "exact": gold["exact"],
            "fuzzy": gold["fuzzy"], "document": gold["document"], "unresolved": gold[None], "evaluations": evaluations}
