"""A version checked again: the rows that the tables still have are held against them, the others say nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from tiny_lake import accession, commit, filing, publish, rows_of, tiny_lake

from edgarmill.schemas.records import IndexVersion
from edgarmill.schemas.store import Drop, Lake
from edgarmill.workers.index import verify_again
from edgarmill.workers.index.dataset import open_dataset

VECTORS, TEXTS = "sample vectors equal embeddings", "sample texts equal documents"
MOVED = " not compared, the tables have moved on"


def compared(lake: Lake, version: IndexVersion) -> list[tuple[str, str]]:
    """Expected and found of the two checks; all checks hold."""
    checks = verify_again(lake, version)
    assert [c for c in checks if not c.ok] == []
    return [(c.expected, c.found) for c in checks if c.check in (VECTORS, TEXTS)]


def change(lake: Lake, *numbers: int) -> None:
    """Those filings are worked on anew, and the run ends before it comes to the index."""
    commit(lake, f"died.{numbers[0]}", [rows_of(filing(n), 8, "in new words") for n in numbers], drop=[accession(n) for n in numbers])


def harmed(lake: Lake, version: IndexVersion, accession: str, column: str, harm: Any) -> IndexVersion:
    """The version as it would be with a filing's values of that column otherwise."""
    dataset = open_dataset(lake, version.recipe, version.tag)
    rows = dataset.to_table(filter=f"accession = '{accession}'").to_pylist()
    dataset.restore()
    other = [row | {column: harm(row[column])} for row in rows]
    dataset.merge_insert("chunk_id").when_matched_update_all().execute(pa.Table.from_pylist(other, schema=dataset.schema))
    dataset.optimize.optimize_indices()
    return replace(version, tag=None, lance_version=dataset.latest_version)


def test_a_filing_that_changed_since_is_left_out_and_the_others_are_compared(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=4, chunks=8)
    _, version = publish(lake)
    assert compared(lake, version) == [("32", "32")] * 2
    change(lake, 1)
    assert compared(lake, version) == [(f"24 of 32; 8{MOVED}", "24")] * 2
    change(lake, 0, 2, 3)
    assert compared(lake, version) == [(f"0 of 32; 32{MOVED}", "0")] * 2


def test_an_older_version_is_compared_too(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=4, chunks=8)
    _, version = publish(lake)
    change(lake, 1)
    _, newer = publish(lake, run_id="night")
    assert compared(lake, version) == [(f"24 of 32; 8{MOVED}", "24")] * 2
    assert compared(lake, newer) == [("32", "32")] * 2


def test_another_context_or_a_vector_that_went_leaves_the_texts_to_compare(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=4, chunks=4)
    _, version = publish(lake)
    rows = rows_of(filing(1), 4)
    contexts = rows["contexts"]
    rows["contexts"] = [replace(one, context="Renamed", text_hash="f" * 32) for one in contexts]  # type: ignore[type-var]  # any record's
    commit(lake, "renamed", [rows], drop=[accession(1)])
    assert compared(lake, version) == [(f"12 of 16; 4{MOVED}", "12"), ("16", "16")]
    gone = frozenset(one.text_hash for one in rows_of(filing(2), 4)["contexts"])  # type: ignore[attr-defined]  # the same
    with lake.writer("gone") as writer:
        writer.commit([], key="gone", drop=[Drop("embeddings", "text_hash", gone)])
    assert compared(lake, version) == [(f"8 of 16; 8{MOVED}", "8"), ("16", "16")]


def test_a_repeated_chunk_is_told_with_its_filing(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=3, chunks=4)
    _, version = publish(lake)
    dataset = open_dataset(lake, version.recipe, version.tag)
    row = dataset.take([5])
    twice = lance.write_dataset(row, dataset.uri, mode="append")
    twice.optimize.optimize_indices()
    checks = verify_again(lake, replace(version, tag=None, lance_version=twice.latest_version))
    [found] = [c.found for c in checks if c.check == "repeated chunk ids"]
    assert found == f"1; first {row['chunk_id'][0]} of {row['accession'][0]}"


@pytest.mark.parametrize(("column", "harm", "check"), [
    ("vector", lambda vector: [-x for x in vector], VECTORS), ("text", lambda text: text.replace("paragraph", "section"), TEXTS)])
def test_damage_in_rows_that_the_tables_have_is_found_though_others_moved_on(tmp_path: Path, column: str, harm: Any, check: str) -> None:
    lake = tiny_lake(tmp_path, filings=4, chunks=8)
    _, version = publish(lake)
    change(lake, 1)
    failed = [c for c in verify_again(lake, harmed(lake, version, accession(2), column, harm)) if not c.ok]
    assert [(c.check, c.expected, c.found) for c in failed] == [(check, f"24 of 32; 8{MOVED}", "16")]
