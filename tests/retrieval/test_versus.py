"""Our trees beside the paper's, and what a change costs in trees and in vectors: figures that can be checked by hand."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from edgarmill.retrieval.change import Change, change
from edgarmill.retrieval.ledger import Prices
from edgarmill.retrieval.versus import Versus, versus
from edgarmill.schemas.errors import UnknownName
from edgarmill.schemas.prices import price_set
from edgarmill.schemas.records import Filing, RunRecord, TreeNode, Usage
from edgarmill.schemas.store import Lake, Snapshot, write_part

DAY, D = date(2026, 11, 30), Decimal
MODEL = ("openai", "gpt-4.1-mini")


def run(run_id: str, recipe: str, **tree: Any) -> RunRecord:
    at = datetime(2026, 11, 30, int(run_id[-1]), tzinfo=UTC)
    return RunRecord(run_id, "", at, at, "done", 0, "", recipe, "", json.dumps({"tree": tree}), "loop", 1, 1, 0, 0, None, "{}", "")


def usage(subject: str, stage: str, model: str | None = None, **more: Any) -> Usage:
    return Usage(subject, stage, model, "openai" if model else None, **{"dollars": D(0), "seconds": None if model else 1.0, **more})


def root(accession: str, fallback: str | None = None, summary: str | None = None, builder: str = "model") -> TreeNode:
    return TreeNode(f"{accession}:1", accession, "key", "0001", None, 0, 0, "A filing", None, 1, 9, 0, 99, 99, 25, 0, summary, None,
                    builder, "gpt-4o", fallback, None)


def lake(folder: Path, *runs: tuple[RunRecord, dict[str, list[Any]]]) -> Snapshot:
    made = Lake.open(str(folder / "lake"), create=True)
    for record, rows in runs:
        tables = {"runs": [record], **rows}
        with made.writer(record.run_id) as writer:
            writer.commit([write_part(made.root, t, record.run_id, found, record.run_id) for t, found in tables.items()], key=record.run_id)
    return made.snapshot()


def filings(**forms: str) -> list[Filing]:
    return [Filing(key, form=form, ciks=("0000000001",), company="One") for key, form in forms.items()]


WITH = (run("r1", "summed", kind="model", summaries="all"), {
    "filings": filings(a="10-K", b="10-K", c="10-Q", d="8-K"),
    "trees": [root("a"), root("b", "InvalidTree: it has no root", builder="structural"), root("c"),
              root("d", "OverCap", builder="structural")],
    "usage": [
        usage("a", "tree", seconds=3.0),
        usage("a", "tree", "gpt-4o", input_tokens=50_000, cached_tokens=10_000, output_tokens=4_000, calls=9),
        usage("b", "tree", seconds=5.0), usage("b", "tree", "gpt-4o", input_tokens=100_000, output_tokens=6_000, calls=9),
        usage("c", "tree"), usage("c", "tree", "gpt-4o", input_tokens=20_000, output_tokens=1_000, calls=3),
        usage("a", "chunk", input_tokens=60_000), usage("b", "chunk", input_tokens=100_000), usage("c", "chunk", input_tokens=20_000)]})
BARE = (run("r2", "bare", kind="structural", summaries="none"), {
    "filings": filings(a="10-K"), "usage": [usage("a", "tree", input_tokens=0, output_tokens=0), usage("a", "chunk", input_tokens=60_000)]})


def row(found: Versus, table: int, form: str, model: str = "GPT-4o") -> dict[str, Any]:
    [one] = [r for r in found.rows if (r["table"], r["form"], r["model"]) == (table, form, model)]
    return one


def test_trees_with_summaries_stand_beside_tables_1_and_2(tmp_path: Path) -> None:
    found = versus(lake(tmp_path, WITH), price_set(), DAY)
    assert {(r["table"], r["form"]) for r in found.rows} == {(1, "10-K"), (2, "10-K"), (1, "10-Q"), (2, "10-Q")}
    one = row(found, 2, "10-K")
    assert (one["filings"], one["tokens_in"], one["tokens_out"], one["seconds"]) == (2, 80_000, 5_000, 4.0)
    assert one["dollars"] == D("0.275")  # 80,000 at 2.75 and 5,000 at 11, per million
    assert one["dollars_at_list"] == D("0.25")
    assert one["dollars_ratio"] == pytest.approx(0.275 / 6.12)
    assert (one["paper_corrected"], one["corrected_ratio"]) == (D("2.16"), pytest.approx(0.275 / 2.16))
    assert one["tokens_ratio"] == pytest.approx(85_000 / 667_333)
    assert one["tokens_per_million"] == pytest.approx(85_000 / 80_000 * 1e6)
    assert one["dollars_per_million"] == pytest.approx(0.275 / 80_000 * 1e6)


def test_table_1_is_per_company(tmp_path: Path) -> None:
    one = row(versus(lake(tmp_path, WITH), price_set(), DAY), 1, "10-K")
    assert (one["tokens_in"], one["dollars"]) == (160_000, D("0.55"))  # two filings of one company
    assert one["dollars_ratio"] == pytest.approx(0.55 / 30.62)


def test_invalid_trees_are_those_a_model_was_to_read_and_got_wrong(tmp_path: Path) -> None:
    found = versus(lake(tmp_path, WITH), price_set(), DAY)
    assert row(found, 2, "10-K")["invalid_share"] == 0.5
    assert row(found, 2, "10-Q")["invalid_share"] == 0.0
    assert row(found, 2, "10-K")["paper_invalid_share"] is None


def test_a_structural_tree_without_summaries_is_free_and_stands_beside_table_3(tmp_path: Path) -> None:
    found = versus(lake(tmp_path, BARE), price_set(), DAY)
    assert {r["table"] for r in found.rows} == {3}
    one = row(found, 3, "10-K")
    assert (one["tokens_in"], one["tokens_out"], one["dollars"], one["tokens_ratio"], one["invalid_share"]) == (0, 0, 0, 0.0, None)
    assert one["paper_dollars"] == D("0.97")


def test_without_trees_the_paper_stands_alone_with_what_is_known_of_it(tmp_path: Path) -> None:
    found = versus(lake(tmp_path, (run("r1", "none"), {})), price_set(), DAY)
    assert len(found.rows) == 18
    assert all(r["recipe"] is None and r["dollars"] is None and r["tokens_ratio"] is None for r in found.rows)
    assert sum(r["paper_dollars"] is not None for r in found.rows) == 3
    assert "Not like for like" in found.note
    assert {(p["model"], p["form"], str(p["input"])) for p in found.prices} == {
        ("GPT-4o", None, "2.75"), ("GPT-4.1 mini", "10-K", "2"), ("GPT-4.1 mini", "10-Q", "1.60"), ("Gemini 2.5 Flash", None, "0.30")}


# --- trees and vectors of a change


def spent(tmp_path: Path, tree: str | None, vectors: str, **more: Any) -> Change:
    rows = [usage("a", "parse", dollars=D(1)), usage("a", "embed", "m", input_tokens=9, dollars=D(vectors)), usage("index:x", "build")]
    rows += [usage("a", "tree", "gpt-4o", input_tokens=9, output_tokens=1, dollars=D(tree))] if tree is not None else []
    trees = [root("a", summary="s" * 2932)]  # 3,000 characters of outline: 750 tokens
    before = {"usage": [usage("a", "tree", dollars=D(99))]}
    snapshot = lake(tmp_path, (run("r1", "x"), before), (run("r2", "x"), {"usage": rows, "trees": trees}))
    return change(snapshot, None, Prices(price_set()), MODEL, DAY, **more)


def test_the_last_run_is_told_by_kind_and_what_both_need_stands_apart(tmp_path: Path) -> None:
    found = spent(tmp_path, "0.5", "2")
    assert found.run_id == "r2"
    assert {k["kind"]: k["dollars"] for k in found.kinds} == {"trees": D("0.5"), "vectors": D(2), "shared": D(1)}
    assert (found.outline_tokens, found.question_tree, found.question_vectors) == (750, D("0.0003"), 0)


@pytest.mark.parametrize(("tree", "vectors", "by_tree", "by_vectors", "questions", "words"), [
    ("1", "2", "0.30", "0.05", 4, "Trees are cheaper below 4"), ("2", "1", "0.05", "0.30", 4, "Vectors are cheaper below 4"),
    ("1", "2", "0.05", "0.30", None, "Trees are cheaper, however"), ("2", "1", "0.30", "0.05", None, "Vectors are cheaper, however"),
    ("1", "1", "0.10", "0.10", None, "Both cost the same"), ("1", "1", "0.20", "0.10", None, "Vectors are cheaper, however"),
])
def test_after_how_many_questions_one_is_cheaper(
        tmp_path: Path, tree: str, vectors: str, by_tree: str, by_vectors: str, questions: int | None, words: str) -> None:
    found = spent(tmp_path, tree, vectors, question_tree=D(by_tree), question_vectors=D(by_vectors))
    assert found.questions == questions
    assert found.verdict.startswith(words)


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    assert "no trees" in spent(tmp_path / "a", None, "1").verdict
    unpriced = (run("r1", "x"), {"usage": [usage("a", "tree", dollars=None), usage("a", "embed", "m", dollars=D(1))]})
    assert "unpriced" in change(lake(tmp_path / "b", unpriced), "r1", Prices(price_set()), MODEL, DAY).verdict
    with pytest.raises(UnknownName):
        change(lake(tmp_path / "c", unpriced), "r9", Prices(price_set()), MODEL, DAY)
    with pytest.raises(UnknownName, match="ingest"):
        change(Lake.open(str(tmp_path / "d"), create=True).snapshot(), None, Prices(price_set()), MODEL, DAY)
