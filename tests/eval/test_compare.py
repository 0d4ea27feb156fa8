"""Two evaluations side by side, on rankings that a reader can follow."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from stored_evaluations import NOON, row, stored
from tiny_lake import commit, filing, rows_of

from edgarmill.eval.compare import Comparison, compare, pair, why_not
from edgarmill.eval.stored import Stored
from edgarmill.schemas.errors import NotComparable, UnknownName, UsageError
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.store import Lake


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    """A lake with filings 0 to 19, so that slices by form and year can be told."""
    lake = Lake.open(str(tmp_path / "lake"), create=True)
    return commit(lake, "one", [rows_of(filing(n), 1) for n in range(20)])


def compared(snapshot: Snapshot, first: Stored, second: Stored, primary: str = "nDCG@10") -> Comparison:
    return compare(snapshot, first, second, primary)


def test_the_same_rankings_are_equal_in_every_metric(snapshot: Snapshot) -> None:
    ranks = [1, 2, None, 4, 1, 7] * 10
    found = compared(snapshot, stored("a", ranks), stored("b", ranks, seconds=0.5))
    assert {one.verdict for one in (*found.metrics, *found.slices)} == {"equal"}
    assert (found.regressed, found.gained, found.regressions, found.gains) == (0, 0, (), ())
    seconds = {c.name: (c.first, c.second) for c in found.costs}
    assert seconds["seconds p95"] == (pytest.approx(0.01), pytest.approx(0.5))


def test_a_loss_is_worse_in_the_metric_and_told_by_question(snapshot: Snapshot) -> None:
    before = [1] * 60
    after = [None if n % 5 == 0 else 2 if n == 1 else 1 for n in range(60)]
    found = compared(snapshot, stored("a", before), stored("b", after))
    primary = found.metrics[0]
    assert (primary.metric, primary.verdict, primary.difference.higher, primary.difference.lower) == ("nDCG@10", "worse", 0, 13)
    assert found.metric("hit@5").difference.mean == pytest.approx(-0.2)
    assert found.metric("doc_hit@5").verdict == "equal"
    assert (found.regressed, len(found.regressions), found.gained) == (13, 10, 0)
    worst = found.regressions[0]
    assert (worst.question_id, worst.first, worst.second) == ("q000", 1.0, 0.0)
    assert (worst.gold[0].first_rank, worst.gold[0].second_rank, worst.gold[0].quote) == (1, None, "quote of q000")
    assert worst.instead is not None and (worst.instead.rank, worst.instead.page) == (1, 1)
    assert worst.instead.text is None, "the lake does not have that chunk: nothing is said of its text"


def test_gains_stand_apart_with_what_was_found_before(snapshot: Snapshot) -> None:
    found = compared(snapshot, stored("a", [3, 1, None] * 8), stored("b", [1, 1, None] * 8))
    assert (found.regressed, found.gained) == (0, 8)
    assert {(m.gold[0].first_rank, m.gold[0].second_rank) for m in found.gains} == {(3, 1)}
    assert found.gains[0].instead is not None and found.gains[0].instead.rank == 1, "what stood before the gold in the first evaluation"


def test_slices_follow_category_form_year_and_type(snapshot: Snapshot) -> None:
    before, after = [1] * 60, [1 if n % 2 else None for n in range(60)]
    found = {one.slice: one for one in compared(snapshot, stored("a", before), stored("b", after)).slices}
    assert {"single-hop", "multi-hop", "form:10-K", "form:10-Q", "type:text"} <= set(found) and any(s.startswith("year:") for s in found)
    assert (found["single-hop"].verdict, found["multi-hop"].verdict) == ("equal", "worse")
    assert found["multi-hop"].difference.mean == -1.0
    assert found["multi-hop"].adjusted is not None and found["multi-hop"].difference.p is not None
    assert found["multi-hop"].adjusted >= found["multi-hop"].difference.p


def test_the_primary_metric_is_not_adjusted_and_the_others_are(snapshot: Snapshot) -> None:
    after = [2 if n < 9 else 1 for n in range(60)]
    found = compared(snapshot, stored("a", [1] * 60), stored("b", after))
    assert found.metrics[0].adjusted == found.metrics[0].difference.p
    others = [one for one in found.metrics[1:] if one.difference.p is not None]
    assert any(one.adjusted is not None and one.difference.p is not None and one.adjusted > one.difference.p for one in others)


def test_more_tokens_and_dollars_are_no_gain_in_quality(snapshot: Snapshot) -> None:
    first, second = stored("a", [1] * 12, usd=Decimal("0.001")), stored("b", [1] * 12, usd=Decimal("0.002"))
    found = compared(snapshot, first, second)
    costs = {cost.name: cost for cost in found.costs}
    assert (costs["usd"].first, costs["usd"].second) == (pytest.approx(0.001), pytest.approx(0.002))
    assert costs["tokens"].first == costs["tokens"].second == 3000
    assert (costs["output_tokens"].first, costs["output_tokens"].difference) == (None, None), "not measured, not 0"
    assert not [one for one in found.metrics if one.metric.startswith(("tokens", "usd", "Judged"))]


def test_what_was_not_asked_alike_is_not_compared(snapshot: Snapshot) -> None:
    same = stored("a", [1, 1])
    for changes, says in (({"questions_hash": "other"}, "other questions"), ({"set_hash": "t"}, "resolved on other texts")):
        with pytest.raises(NotComparable, match=says) as error:
            compared(snapshot, same, stored("b", [1, 1], **changes))
        assert error.value.exit_code == 7
    assert why_not(row("a"), row("b")) == "no question of set can be judged"
    with pytest.raises(UsageError, match="no such metric"):
        compared(snapshot, same, stored("b", [1, 1]), "MAP")


def test_a_version_that_was_collected_leaves_the_corpus_untold(snapshot: Snapshot) -> None:
    found = compared(snapshot, stored("a", [1, 1]), stored("b", [1, 1]))
    assert found.corpus is None


def test_names_mean_the_evaluations_that_were_asked_most_alike() -> None:
    asked = [(version, mode, name) for version in ("29", "30") for name in ("old", "new") for mode in ("vector", "hybrid")]
    rows = [row(f"{n:02d}{version}{mode}{name}", version_id=f"version-{version}", tag=f"2026-11-{version}.1", arm=mode, retriever_hash=mode,
                retriever=f'{{"mode": "{mode}"}}', set_hash=name, questions_hash=name, judged=5, created_at=NOON + timedelta(hours=n))
            for n, (version, mode, name) in enumerate(asked)]
    newest_first = rows[::-1]
    by_tag = pair(newest_first, "2026-11-29.1", "2026-11-30.1")
    assert [(r.tag, r.arm, r.set_hash) for r in by_tag] == [("2026-11-29.1", "hybrid", "new"), ("2026-11-30.1", "hybrid", "new")]
    by_arm = pair(newest_first, "vector", "hybrid")
    assert [(r.tag, r.arm, r.set_hash) for r in by_arm] == [("2026-11-30.1", "vector", "new"), ("2026-11-30.1", "hybrid", "new")]
    assert pair(newest_first, rows[0].evaluation_id, rows[7].evaluation_id) == (rows[0], rows[7]), "ids are taken at their word"
    assert pair(newest_first, "prod", "2026-11-30.1", "version-29")[0].version_id == "version-29"
    assert {r.version_id for r in pair(newest_first, "tiny", "2026-11-29.1")} == {"version-29", "version-30"}
    with pytest.raises(UnknownName, match="Evaluated: 2026-11-30.1 .tiny, hybrid."):
        pair(newest_first, "prod", "2026-11-30.1")
    with pytest.raises(UsageError, match="both names mean the same evaluation"):
        pair(rows[:1], "tiny", "2026-11-29.1")
