"""gc of rows that a changed recipe left behind: what stays is what the recipe of today would have made alone."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from small_ingest import World, content, counts, ingest, write_recipe

from edgarmill.flows import gc
from edgarmill.flows.gc import Rubbish, collect, rubbish
from edgarmill.flows.promote import promote
from edgarmill.flows.request import new_run_id
from edgarmill.retrieval.versions import resolve, versions
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.workers.index import verify_again

RULE = Settings(keep_candidates=1, keep_prod=1, keep_rejected_days=0, keep_superseded_days=30)
LATER = datetime.now(UTC) + timedelta(days=40)
SHARED = ("chunks", "contexts", "embeddings", "work")


@pytest.fixture(scope="module")
def changed(world: World, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A lake whose recipe cut at sections first, and at a fixed length then; both recipes. For copying only."""
    root = tmp_path_factory.mktemp("changed")
    (root / "then").mkdir()
    (root / "now").mkdir()
    then, now = (write_recipe(root / name, world.model, chunker=kind) for name, kind in (("then", "structure"), ("now", "fixed")))
    lake = world.seeded(root / "lake")
    for recipe in (then, now):
        ingest(lake, world.folder, recipe, block_filings=2)
    return lake, then, now


@pytest.fixture
def lake(changed: tuple[Path, str, str], tmp_path: Path) -> Lake:
    return Lake.open(str(shutil.copytree(changed[0], tmp_path / "lake")))


def found(lake: Lake, rule: Settings = RULE, at: datetime = LATER) -> Rubbish:
    return rubbish(lake, rule, at)


def collected(lake: Lake) -> Rubbish:
    with lake.writer(new_run_id()) as writer:
        going = found(lake)
        collect(lake, writer, going, RULE)
    return going


def test_what_stays_is_what_the_recipe_of_today_makes_alone(
        lake: Lake, changed: tuple[Path, str, str], world: World, tmp_path: Path) -> None:
    _, then, now = changed
    first = next(v for v in versions(lake.snapshot()) if v.parent is None)
    before = {table: lake.snapshot().count(table) for table in (*SHARED, "chunkings")}
    number = lake.snapshot().number
    going = found(lake)
    assert lake.snapshot().number == number and going == found(lake)

    assert collected(lake) == going
    taken = Counter({table: rows - lake.snapshot().count(table) for table, rows in before.items()})
    assert taken == Counter(dict(going.superseded.rows)) and taken["chunks"] > 0 and taken["embeddings"] > 0
    ingest(tmp_path / "alone", world.folder, now, block_filings=2)
    alone = content(Lake.open(str(tmp_path / "alone")).snapshot())
    left = content(lake.snapshot())
    for table in ("chunks", "contexts", "work"):
        assert left[table] == alone[table], table
    assert len(left["embeddings"]) == len(alone["embeddings"])
    assert all(check.ok for check in verify_again(lake, resolve(lake.snapshot())))
    assert found(lake).superseded.rows == ()

    assert counts(ingest(Path(lake.root), world.folder, now).record) == (7, 0, 5, 2)
    assert counts(ingest(Path(lake.root), world.folder, then).record) == (7, 5, 0, 2)
    again = resolve(lake.snapshot())
    assert again.version_id == first.version_id and all(check.ok for check in verify_again(lake, again))


def test_rows_of_versions_that_stay_and_of_late_runs_stay(lake: Lake) -> None:
    assert found(lake, at=datetime.now(UTC)).superseded.rows == ()  # the runs are young
    assert found(lake, Settings(keep_candidates=1)).superseded.rows == ()  # no rule is set
    assert found(lake, RULE.model_copy(update={"keep_candidates": 2})).superseded.rows == ()
    promote(lake, next(v for v in versions(lake.snapshot()) if v.parent is None), "it was better")
    assert found(lake).superseded.rows == ()


def test_a_lake_without_a_version_keeps_all_rows(lake: Lake) -> None:
    from edgarmill.flows.superseded import superseded

    assert superseded(lake.snapshot(), [], LATER, 1).drops == ()


@pytest.mark.parametrize("step", ["_free", "_vocabularies"])
def test_a_collection_that_was_broken_off_is_finished_by_the_next(lake: Lake, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as then, pytest.raises(Killed):
        then.setattr(gc, step, die)
        collected(lake)
    assert all(check.ok for check in verify_again(lake, resolve(lake.snapshot())))
    collected(lake)
    assert found(lake).superseded.rows == () and len({key for key in lake.snapshot().read("chunks")["chunker"].to_pylist()}) == 1


def test_a_collection_killed_between_its_commits_takes_the_rows_next_time(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    going = found(lake)
    with lake.writer(new_run_id()) as writer:
        gc._forget(lake, writer, going)  # the first commit alone
    assert dict(found(lake).superseded.rows) == dict(going.superseded.rows)
    collected(lake)
    assert found(lake).superseded.rows == ()
