"""Planning: every listed filing is to be done, unchanged, or stands in quarantine; what is done of a filing is taken from the lake."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgarmill.schemas.records import Filing, Quarantine, WorkDone
from edgarmill.schemas.store import Drop, Lake, Snapshot, write_part
from edgarmill.workers.block import OPENED, Block, Task, blocks_of, drops_of, input_of, tasks_of

KEYS = {"open": "k0", "parse": "k1", "section": "k2", "chunk": "k3", "context": "k4", "embed": "k5"}
NAMES = list(KEYS)
NOW = datetime(2026, 11, 30, tzinfo=UTC)


def filing(n: int, **changes: object) -> Filing:
    return replace(Filing(f"a{n}", f"a{n}.txt", "folder", sha256=f"{n:064x}", bytes=1000), **changes)  # type: ignore[arg-type]


def done(of: Filing, stages: int, keys: dict[str, str] = KEYS, part: str = "run-0") -> list[WorkDone]:
    return [WorkDone(of.accession, name, 1, keys[name], input_of(of), "done", part) for name in NAMES[:stages]]


def failed(of: Filing, stage: str) -> WorkDone:
    return WorkDone(of.accession, stage, 1, KEYS[stage], input_of(of), "quarantined", "")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake.open(str(tmp_path_factory.mktemp("block") / "lake"), create=True)


@pytest.fixture
def holding(lake: Lake) -> Iterator[object]:
    """Gives a snapshot with these rows of `work` and `filings`, and no others."""

    def hold(work: list[WorkDone], filings: list[Filing] | None = None) -> Snapshot:
        return hold_rows(lake, work, filings or [])

    yield hold


def stands(work: list[WorkDone]) -> list[Quarantine]:
    return [quarantine(w.subject) for w in work if w.outcome == "quarantined"]


def hold_rows(lake: Lake, work: list[WorkDone], filings: list[Filing]) -> Snapshot:
    now = lake.snapshot()
    columns = {"quarantine": "subject", "work": "subject", "filings": "accession"}
    old = [Drop(table, column, frozenset(now.read(table)[column].to_pylist())) for table, column in columns.items()]
    parts = [write_part(lake.root, "quarantine", "q", stands(work), "r"), write_part(lake.root, "work", "w", work, "r"),
             write_part(lake.root, "filings", "f", filings, "r")]
    with lake.writer("r") as writer:
        return writer.commit(parts, key=f"{now.number}", drop=old)


@settings(max_examples=25, deadline=None)
@given(states=st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.booleans()), max_size=8), retry=st.booleans())
def test_everything_listed_is_to_be_done_unchanged_or_in_quarantine(tmp_path_factory: pytest.TempPathFactory,
                                                                    states: list[tuple[int, bool, bool]], retry: bool) -> None:
    lake = Lake.open(str(tmp_path_factory.mktemp("plans") / "lake"), create=True)
    filings = [filing(n) for n in range(len(states))]
    work = [row for one, (stages, _, _) in zip(filings, states, strict=True) for row in done(one, stages)]
    work += [failed(one, NAMES[n]) for one, (n, bad, _) in zip(filings, states, strict=True) if bad and n < len(NAMES)]
    offered = [replace(one, sha256="f" * 64) if changed else one for one, (_, _, changed) in zip(filings, states, strict=True)]
    todo, unchanged, standing = tasks_of(offered, hold_rows(lake, work, []), KEYS, retry)
    assert len(todo) + unchanged + len(standing) == len(offered)
    assert not standing & {t.filing.accession for t in todo}
    assert all(t.done in (0, *range(OPENED, len(KEYS))) for t in todo)
    if retry:
        assert not standing


def test_a_new_filing_begins_at_the_first_stage(holding: object) -> None:
    todo, unchanged, standing = tasks_of([filing(1)], holding([]), KEYS)  # type: ignore[operator]
    assert [(t.done, t.known) for t in todo] == [(0, False)]
    assert (unchanged, standing) == (0, set())


def test_a_filing_done_to_the_end_is_unchanged(holding: object) -> None:
    assert tasks_of([filing(1)], holding(done(filing(1), 6), [filing(1)]), KEYS) == ([], 1, set())  # type: ignore[operator]


@pytest.mark.parametrize("changed", [{"sha256": "e" * 64}, {"company": "As the manifest says"}, {"fiscal_year": 2020}, {"tickers": ("X",)}])
def test_other_bytes_or_another_line_of_the_manifest_are_another_input(holding: object, changed: dict[str, object]) -> None:
    assert input_of(filing(1, **changed)) != input_of(filing(1))
    snapshot = holding(done(filing(1), 6), [filing(1)])  # type: ignore[operator]
    todo, unchanged, _ = tasks_of([filing(1, **changed)], snapshot, KEYS)
    assert [(t.done, t.known) for t in todo] == [(0, True)] and unchanged == 0


@pytest.mark.parametrize(("stage", "left"), [("open", 0), ("parse", 0), ("section", 0), ("chunk", 3), ("context", 4), ("embed", 5)])
def test_a_changed_stage_redoes_itself_and_what_follows_and_never_half_of_the_opening(holding: object, stage: str, left: int) -> None:
    keys, at = dict(KEYS), NAMES.index(stage)
    keys.update({name: f"new-{name}" for name in NAMES[at:]})
    todo, _, _ = tasks_of([filing(1)], holding(done(filing(1), 6), [filing(1)]), keys)  # type: ignore[operator]
    assert [t.done for t in todo] == [left]
    assert todo[0].parts == ("run-0",) * left


def test_each_stage_that_is_done_names_the_parts_that_hold_its_rows(holding: object) -> None:
    work = [replace(row, part=f"run-{n}") for n, row in enumerate(done(filing(1), 4))]
    todo, _, _ = tasks_of([filing(1)], holding(work), KEYS)  # type: ignore[operator]
    assert todo[0].parts == ("run-0", "run-1", "run-2", "run-3")


def test_an_expected_failure_stands_until_the_file_the_stage_or_the_user_changes(holding: object) -> None:
    snapshot = holding([failed(filing(1), "open")])  # type: ignore[operator]
    assert tasks_of([filing(1)], snapshot, KEYS) == ([], 0, {"a1"})
    assert len(tasks_of([filing(1, sha256="e" * 64)], snapshot, KEYS)[0]) == 1
    assert len(tasks_of([filing(1)], snapshot, {**KEYS, "open": "newer"})[0]) == 1
    assert len(tasks_of([filing(1)], snapshot, KEYS, retry=True)[0]) == 1


def test_a_failure_whose_quarantine_row_is_gone_is_tried_again(lake: Lake, holding: object) -> None:
    holding([failed(filing(1), "open")])  # type: ignore[operator]
    with lake.writer("r") as writer:
        snapshot = writer.commit([], key="lifted", drop=[Drop("quarantine", "subject", frozenset({"a1"}))])
    assert len(tasks_of([filing(1)], snapshot, KEYS)[0]) == 1


def test_a_failure_of_one_recipe_does_not_stand_for_another(holding: object) -> None:
    snapshot = holding([*done(filing(1), 3), failed(filing(1), "chunk")])  # type: ignore[operator]
    assert tasks_of([filing(1)], snapshot, KEYS)[2] == {"a1"}
    assert [t.done for t in tasks_of([filing(1)], snapshot, {**KEYS, "chunk": "other"})[0]] == [3]


@given(st.lists(st.integers(0, 30), max_size=30), st.integers(1, 7))
def test_blocks_hold_every_task_once_few_filings_and_few_bytes(sizes: list[int], most: int) -> None:
    tasks = [Task(filing(n, bytes=size), "i") for n, size in enumerate(sizes)]
    blocks = blocks_of(tasks, most, "run", most_bytes=12)
    assert [t for b in blocks for t in b.tasks] == tasks
    assert len({b.block_id for b in blocks}) == len(blocks)
    for block in blocks:
        assert 1 <= len(block.tasks) <= most
        assert len(block.tasks) == 1 or sum(t.filing.bytes for t in block.tasks) <= 12


def quarantine(accession: str) -> Quarantine:
    return Quarantine(accession, "n", "open", "BadFile", "what", "todo", True, "", NOW)


def test_a_block_replaces_the_rows_of_what_it_opened_anew_and_of_nothing_else() -> None:
    anew, new, later, bad = (Task(filing(1), "i", (), True), Task(filing(2), "i"), Task(filing(3), "i", ("p",) * 3, True),
                             Task(filing(4), "i", (), True))
    drops = drops_of(Block("b", (anew, new, later, bad), failed=(quarantine("a4"),)))
    named = {(d.table, d.values) for d in drops}
    assert {t for t, v in named if v == {"a1"}} == {"filings", "documents", "elements", "sections", "facts", "chunks", "chunkings",
                                                     "contexts", "trees", "work"}
    assert ("quarantine", frozenset({"a1", "a2", "a3"})) in named
    assert len(drops) == 11
