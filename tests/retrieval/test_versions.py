"""Which version a reader gets."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from edgarmill.retrieval.versions import resolve, versions
from edgarmill.schemas.errors import LakeNotFound, UnknownName, UsageError
from edgarmill.schemas.records import IndexVersion
from edgarmill.schemas.store import Lake, Snapshot, write_part


def version(recipe: str, number: int, tag: str | None, state: str = "verified", hours: int = 0) -> IndexVersion:
    at = datetime(2026, 11, 30, tzinfo=UTC) + timedelta(hours=hours)
    return IndexVersion(f"{recipe}{number}", recipe, "f", "m", "h", number, tag, None, state, 1, 1, 1, 0, 1, None, f'{{"n": {number}}}', at)


def catalog(folder: Path, rows: list[IndexVersion], indexes: dict[str, int]) -> Snapshot:
    lake = Lake.open(str(folder / "lake"), create=True)
    with lake.writer("run") as writer:
        return writer.commit([write_part(lake.root, "index_versions", "v", list(rows), "run")], key="v", indexes=indexes)


ROWS = [version("a", 3, "2026-11-30.1"), version("a", 7, "2026-11-30.2", hours=1), version("b", 4, "2026-11-30.1", hours=2),
        version("a", 9, None, "rejected", hours=3)]


def test_the_newest_verified_version_is_the_default(tmp_path: Path) -> None:
    snapshot = catalog(tmp_path, ROWS, {"a": 7, "b": 4})
    assert resolve(snapshot).version_id == "b4"
    assert resolve(snapshot, "a").version_id == "a7"
    assert [v.version_id for v in versions(snapshot)] == ["a9", "b4", "a7", "a3"]


def test_a_resolved_version_has_its_manifest_and_a_list_may_do_without(tmp_path: Path) -> None:
    snapshot = catalog(tmp_path, ROWS, {"a": 7, "b": 4})
    assert resolve(snapshot).manifest == '{"n": 4}'
    assert {v.manifest for v in versions(snapshot, manifests=False)} == {""}


def test_the_catalog_decides_which_version_is_current(tmp_path: Path) -> None:
    assert resolve(catalog(tmp_path, ROWS, {"a": 3, "b": 4}), "a").version_id == "a3"


def test_a_version_is_found_by_its_tag(tmp_path: Path) -> None:
    snapshot = catalog(tmp_path, ROWS, {"a": 7, "b": 4})
    assert resolve(snapshot, "a", "2026-11-30.1").version_id == "a3"
    assert resolve(snapshot, tag="2026-11-30.2").version_id == "a7"


def test_a_tag_of_two_recipes_needs_the_recipe(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="several recipes have this tag. Name one with --recipe: a, b"):
        resolve(catalog(tmp_path, ROWS, {"a": 7}), tag="2026-11-30.1")


def test_unknown_names_are_answered_with_the_known_ones(tmp_path: Path) -> None:
    snapshot = catalog(tmp_path, ROWS, {"a": 7, "b": 4})
    with pytest.raises(UnknownName, match=r"2020-01-01.1: no such tag. Tags: 2026-11-30.2 \(a\), 2026-11-30.1 \(a\)"):
        resolve(snapshot, "a", "2020-01-01.1")
    with pytest.raises(UnknownName, match="c: no index of this recipe. Indexed: a, b"):
        resolve(snapshot, "c")


@pytest.mark.parametrize("rows", [[], [version("a", 9, None, "rejected")]], ids=["none", "only rejected"])
def test_a_lake_without_a_verified_version_says_what_to_do(tmp_path: Path, rows: list[IndexVersion]) -> None:
    with pytest.raises(LakeNotFound, match="nothing indexed yet. Run edgarmill ingest"):
        resolve(catalog(tmp_path, rows, {}))


def test_listing_versions_imports_no_engine() -> None:
    code = "import sys; import edgarmill.retrieval.versions; print({'lance', 'lancedb', 'torch', 'ray', 'duckdb'} & sys.modules.keys())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "set()"
