"""Evaluations made by hand: where each question's gold was found, by rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from edgarmill.eval.metrics import Judged
from edgarmill.eval.stored import Stored
from edgarmill.schemas.records import Asked, EvaluationRow, GoldRow, Ranking

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
LENGTH = 100  # characters of a chunk, and of a piece of gold
TOKENS = 300


def gold(question: str, document: str, ordinal: int = 0, set_hash: str = "s") -> GoldRow:
    return GoldRow(set_hash, "set", question, ordinal, f"What of {question}?", "single-hop", "", document, f"quote of {question}", "", "",
                   None, "text", document, 0, LENGTH, "exact")


def hits(evaluation: str, question: str, document: str, found_at: int | None, k: int = 10) -> list[Ranking]:
    """Ten hits; the one at `found_at` is the gold, the others are other places of the same document."""
    rows = []
    for rank in range(1, k + 1):
        start = 0 if rank == found_at else rank * 1000
        rows.append(Ranking(evaluation, "s", "v", "hybrid", question, rank, f"{document} {start}", document, start, start + LENGTH,
                            1 / rank,
                            (0,) if rank == found_at else (), document.rpartition(":")[0], 1, 1, TOKENS))
    return rows


def row(name: str, **changes: Any) -> EvaluationRow:
    made = EvaluationRow(name, "s", "q", "set", f"v-{name}", "tiny", "2026-11-30.1", "m", "c", '{"mode": "hybrid"}', "r", None, "hybrid",
                         10, 0, 0, 0, 0, 0, 0, 2, "{}", NOON)
    return replace(made, **changes)


def stored(name: str, found_at: Sequence[int | None], per_document: int = 3, seconds: float = 0.01, usd: Decimal | None = None,
           documents: Mapping[int, str] | None = None, **changes: Any) -> Stored:
    """One question for each rank, `per_document` of them to a document."""
    judged, ranked, asked, questions = [], {}, {}, {}
    for n, rank in enumerate(found_at):
        question = f"q{n:03d}"
        document = (documents or {}).get(n, f"0000000001-24-{n // per_document:06d}:1")
        piece = gold(question, document)
        judged.append(Judged(question, "single-hop" if n % 2 else "multi-hop", (piece,)))
        ranked[question] = hits(name, question, document, rank)
        asked[question] = Asked(name, question, search_seconds=seconds, tokens=10 * TOKENS, usd=usd, input_tokens=5 if usd else None)
        questions[question] = piece
    counts = {"questions": len(found_at), "judged": len(found_at), "hits": 10 * len(found_at)}
    return Stored(row(name, **{**counts, **changes}), judged, ranked, asked, questions)
