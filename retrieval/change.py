"""What a run's change cost in trees and in vectors, and after how many questions the one is cheaper than the other.

    trees    stage tree
    vectors  stages chunk, context, embed, and building the index
    shared   open, parse, section: both need them

A question costs its answer and what it reads. Both kinds read the same passages and write the same answer, so that these cancel; one that
goes by the tree reads, before it, the outline of the filing's tree. That is the difference unless the costs of a question are given.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from math import ceil
from typing import Any

from edgarmill.retrieval.ledger import Prices, at_prices, fetched
from edgarmill.schemas.errors import UnknownName
from edgarmill.schemas.prices import PriceSet
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.views import connect

CHARACTERS_A_TOKEN = 4  # of English; a node's numbers and punctuation in JSON are some 60 characters beside its title and summary
KINDS = """case when subject like 'index:%' or stage in ('chunk', 'context', 'embed') then 'vectors' when stage = 'tree' then 'trees'
else 'shared' end"""
SPENT = f"""
select {KINDS} as kind, count(distinct subject) filter (subject not like 'index:%' and origin <> 'reused') as filings, sum(calls) as calls,
sum(input_tokens + coalesce(cached_tokens, 0) + coalesce(cache_write_tokens, 0) + coalesce(cache_write_hour_tokens, 0))
    filter (model is not null) as tokens_in,
sum(output_tokens + coalesce(reasoning_tokens, 0)) filter (model is not null) as tokens_out, sum(seconds) as seconds,
sum(dollars) as known_dollars, case when count(*) = count(dollars) then sum(dollars) end as dollars
from usage where run_id = ? group by 1
"""
OUTLINE = """
select avg(characters) from (
    select sum(length(title) + coalesce(length(summary), 0) + 60) as characters from trees group by accession, tree)
"""


@dataclass(frozen=True, slots=True)
class Change:
    """`kinds`: trees, vectors, shared. Costs of a question in USD, None = not known. `questions`: from so many on the other is cheaper."""

    run_id: str
    kinds: list[dict[str, Any]]
    outline_tokens: int | None
    question_tree: Decimal | None
    question_vectors: Decimal | None
    questions: int | None
    verdict: str


def change(snapshot: Snapshot, run_id: str | None, prices: Prices, model: tuple[str, str], on: date, *,
           question_tree: Decimal | None = None, question_vectors: Decimal | None = None) -> Change:
    """Of that run, else of the last one that worked on anything. `model` reads the outline. Raises UnknownName."""
    with connect(snapshot, ("usage", "runs", "trees")) as connection:
        if prices.changes:
            connection.register("usage", at_prices(snapshot, prices))
        run = _run(connection, run_id)
        found = {row["kind"]: row for row in fetched(connection.execute(SPENT, [run]))}
        [(characters,)] = connection.execute(OUTLINE).fetchall()
    kinds = [{**_NOTHING, **found.get(kind, {}), "kind": kind} for kind in ("trees", "vectors", "shared")]
    outline = round(characters / CHARACTERS_A_TOKEN) if characters else None
    if question_tree is None and outline is not None:
        question_tree = _reading(prices.set, model, outline, on)
    question_vectors = Decimal(0) if question_vectors is None and question_tree is not None else question_vectors
    questions, verdict = _verdict("trees" in found, kinds[0]["dollars"], kinds[1]["dollars"], question_tree, question_vectors)
    return Change(run, kinds, outline, question_tree, question_vectors, questions, verdict)


_NOTHING: dict[str, Any] = {"kind": "", "filings": 0, "calls": 0, "tokens_in": None, "tokens_out": None, "seconds": 0.0,
                            "known_dollars": Decimal(0), "dollars": Decimal(0)}


def _run(connection: Any, run_id: str | None) -> str:
    if run_id is not None:
        if not connection.execute("select 1 from usage where run_id = ? limit 1", [run_id]).fetchall():
            raise UnknownName("no such run, or it worked on nothing", run_id, "See edgarmill runs list.")
        return run_id
    last = connection.execute("select max(run_id) from usage where origin <> 'reused'").fetchall()[0][0]
    if last is None:
        raise UnknownName("no run has worked on anything yet", "", "Run edgarmill ingest first.")
    return str(last)


def _reading(prices: PriceSet, model: tuple[str, str], tokens: int, on: date) -> Decimal | None:
    price = prices.find(*model, "input", "standard", on)
    return None if price is None else tokens * price.dollars / Decimal(1_000_000)


def _verdict(trees: bool, tree: Decimal | None, vectors: Decimal | None, by_tree: Decimal | None, by_vectors: Decimal | None
             ) -> tuple[int | None, str]:
    """From how many questions on which one is cheaper."""
    if not trees:
        return None, "The run made no trees: a recipe with [tree] makes them."
    if tree is None or vectors is None:
        return None, "Not comparable: a part is unpriced."
    if by_tree is None or by_vectors is None:
        return None, "The cost of a question is not known: give --question-tree and --question-vectors."
    saved, more = vectors - tree, by_tree - by_vectors  # by trees in the making, and what each question then costs more
    if saved >= 0 >= more:
        return None, "Trees are cheaper, however many questions are asked." if saved or more else "Both cost the same."
    if saved <= 0 <= more:
        return None, "Vectors are cheaper, however many questions are asked."
    questions = ceil(saved / more)
    first, then = ("Trees", "vectors") if saved > 0 else ("Vectors", "trees")
    return questions, f"{first} are cheaper below {questions:,} questions about what changed, {then} from then on."
