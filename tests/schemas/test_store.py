"""What a lake promises when nothing crashes: whole snapshots, one key once, copy-on-write, typed errors. Crashes: test_store_crash.py."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from edgarmill.schemas import snapshot as snapshots
from edgarmill.schemas.errors import (
    LakeCorrupt,
    LakeLocked,
    LakeNotFound,
    NewerSchema,
    RunError,
    SettingsError,
    StorageError,
    UnknownName,
    UsageError,
)
from edgarmill.schemas.ids import sha256
from edgarmill.schemas.records import Filing, Quarantine, RunStage, Section, Usage
from edgarmill.schemas.store import Drop, Lake, Part, write_part
from edgarmill.schemas.tables import SCHEMA_VERSION, TABLES


def section(accession: str, ordinal: int = 0) -> Section:
    return Section(f"{accession}:1", accession, "II", "7", "Discussion", 0, 10, 1, 2, None, "heading", ordinal)


def put(lake: Lake, key: str, *accessions: str, **more: object) -> None:
    """Commits one section a filing."""
    with lake.writer("run-" + key) as writer:
        part = write_part(lake.root, "sections", key, [section(a) for a in accessions], "run-" + key)
        writer.commit([part], key=key, **more)  # type: ignore[arg-type]


def accessions(lake: Lake, number: int | None = None) -> list[str]:
    return lake.snapshot(number).read("sections", ["accession"])["accession"].to_pylist()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(str(tmp_path / "lake"), create=True)


# --- opening


def test_a_new_lake_is_an_empty_snapshot_zero(lake: Lake) -> None:
    now = lake.snapshot()
    assert (now.number, now.parent, dict(now.tables), dict(now.indexes)) == (0, None, {}, {})
    for name, table in TABLES.items():
        assert now.files(name) == []
        assert now.count(name) == 0
        assert [n for n in now.read(name).column_names if n != "run_id"] == [n for n in table.schema.names if n != "run_id"]
        assert now.records(name) == []


def test_opening_again_changes_nothing(lake: Lake) -> None:
    put(lake, "one", "a")
    assert Lake.open(lake.root, create=True).snapshot() == lake.snapshot()
    assert lake.numbers() == [0, 1]


def test_where_there_is_no_lake_the_user_is_told_the_next_command(tmp_path: Path) -> None:
    with pytest.raises(LakeNotFound, match="edgarmill ingest"):
        Lake.open(str(tmp_path / "nowhere"))
    with pytest.raises(LakeNotFound):
        Lake.open(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("address", ["s3://bucket/lake", "file:///tmp/lake"])
def test_an_object_store_is_refused_in_the_first_second(address: str) -> None:
    with pytest.raises(SettingsError, match="local folder"):
        Lake.open(address, create=True)


def test_a_file_in_place_of_a_folder_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "lake").write_bytes(b"")
    for create in (False, True):
        with pytest.raises(StorageError, match=r"lake"):
            Lake.open(str(tmp_path / "lake"), create=create)


def test_a_relative_root_means_the_same_lake_after_a_change_of_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lake = Lake.open("lake", create=True)
    part = write_part("lake", "sections", "p", [section("a")], "r")
    monkeypatch.chdir("/")
    with lake.writer("r") as writer:
        writer.commit([part], key="k")
    assert accessions(lake) == ["a"]


# --- writing and reading


def test_records_come_back_as_they_went_in_with_the_run_beside_them(lake: Lake) -> None:
    filing = Filing("0000000001-24-000001", form="10-K", family="10-K", ciks=("0000000001", "0000000002"), filed_on=date(2024, 2, 29),
                    accepted_at=datetime(2024, 2, 29, 21, 5, 0, 1, UTC), tickers=(), company="Zoë Ltd \U0001f9ea", bytes=2**40)
    usage = Usage("0000000001-24-000001", "embed", seconds=0.1, dollars=Decimal("0.000000001"), input_tokens=None)
    stage = RunStage("r1", "parse", 1, 2, 0.5, None)
    with lake.writer("r1") as writer:
        rows = {"filings": [filing], "usage": [usage], "run_stages": [stage]}
        after = writer.commit([write_part(lake.root, t, "p", r, "r1") for t, r in rows.items()], key="k")
    assert after.records("filings") == [filing]
    assert after.records("usage") == [usage]
    assert after.records("run_stages") == [stage]
    assert after.read("filings")["run_id"].to_pylist() == ["r1"]
    assert after.read("run_stages").column_names.count("run_id") == 1


def test_one_commit_covers_several_tables_and_index_versions(lake: Lake) -> None:
    with lake.writer("r1", "edgarmill ingest") as writer:
        parts = [write_part(lake.root, "sections", "p", [section("a")], "r1"), write_part(lake.root, "filings", "p", [Filing("a")], "r1")]
        writer.commit(parts, key="one", indexes={"default": 3, "paper": 1}, message="first")
        after = writer.commit([], key="two", indexes={"default": 4})
    assert (after.number, after.parent, after.run_id, after.command, after.key) == (2, 1, "r1", "edgarmill ingest", "two")
    assert dict(after.indexes) == {"default": 4, "paper": 1}
    assert after.count("sections") == after.count("filings") == 1
    assert lake.snapshot() == after
    assert lake.snapshot(1).message == "first"
    assert after.created_at.utcoffset() is not None


def test_uncommitted_parts_are_never_read(lake: Lake) -> None:
    write_part(lake.root, "sections", "p", [section("a")], "r1")
    (Path(lake.root) / "tables" / "sections" / "stray.parquet").write_bytes(b"junk")
    assert lake.snapshot().count("sections") == 0
    assert accessions(lake) == []


def test_no_rows_make_no_file(lake: Lake) -> None:
    part = write_part(lake.root, "sections", "p", [], "r1")
    assert part == Part("sections", "", 0, 0)
    with lake.writer("r1") as writer:
        assert writer.commit([part], key="k").files("sections") == []


def test_rows_come_in_commit_order_and_columns_in_the_order_asked_for(lake: Lake) -> None:
    wanted = [f"a{i:03}" for i in range(40)]
    for i in range(0, 40, 4):
        put(lake, f"k{i}", *wanted[i : i + 4])
    found = lake.snapshot().read("sections", ["item", "accession"])
    assert found.column_names == ["item", "accession"]
    assert found["accession"].to_pylist() == wanted


def test_a_condition_may_use_columns_that_are_not_read(lake: Lake) -> None:
    put(lake, "one", "a", "b")
    found = lake.snapshot().read("sections", ["title"], pc.field("accession") == "b")
    assert found.to_pylist() == [{"title": "Discussion"}]
    assert [r.accession for r in lake.snapshot().records("sections", pc.field("accession").isin(["a"]))] == ["a"]
    with pytest.raises(UsageError, match="does not fit"):
        lake.snapshot().read("sections", where=pc.field("colour") == "red")


def test_rows_are_chosen_by_text_columns_without_the_weight_of_an_expression(lake: Lake) -> None:
    for key in ("one", "two", "three"):
        with lake.writer("r") as writer:
            rows = [section(a, i) for i in range(3) for a in ("a", key, "b")]
            writer.commit([write_part(lake.root, "sections", key, rows, key)], key=key)
    now = lake.snapshot()
    both = {"accession": {"two", "b"}, "run_id": {"two", "three"}}
    for wanted in ({"accession": ["a"]}, both, {"accession": []}, {"item": ("7", "8")}, {}):
        condition = pc.scalar(True)
        for column, values in wanted.items():
            condition = condition & pc.field(column).isin(pa.array(list(values), pa.string()))
        assert now.read("sections", where=wanted).equals(now.read("sections", where=condition))
        assert now.read("sections", ["ordinal"], wanted).num_rows == now.read("sections", where=condition).num_rows
    for bad, error in (({"colour": ["red"]}, UnknownName), ({"start": ["0"]}, UsageError)):
        with pytest.raises(error):
            now.read("sections", where=bad)


def test_large_rows_are_written_in_groups_and_found_in_each(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgarmill.schemas.parts._GROUP_BYTES", 2_000)
    keys = [f"a{n:03}" for n in range(300)]
    rows = pa.table({"chunk_id": keys, "accession": [key[:3] for key in keys], "text": ["word " * 10] * 300})
    part = write_part(lake.root, "chunks", "p", rows, "r")
    with lake.writer("r") as writer:
        writer.commit([part], key="k")
    with pq.ParquetFile(Path(lake.root) / part.path) as file:
        assert file.num_row_groups > 9
        assert max(file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)) < 40
    now = lake.snapshot()
    assert now.read("chunks", ["chunk_id"])["chunk_id"].to_pylist() == keys
    wanted = {"accession": ["a00", "a17", "no"], "chunk_id": ["a003", "a171", "a299"]}
    for few in (10_000, 0):  # plain Python for a few rows, Arrow for many
        monkeypatch.setattr("edgarmill.schemas.parts._FEW_ROWS", few)
        assert now.read("chunks", ["chunk_id"], wanted)["chunk_id"].to_pylist() == ["a003", "a171"]
        assert now.read("chunks", ["chunk_id"], {**wanted, "accession": ["a00", "zz"]})["chunk_id"].to_pylist() == ["a003"]
        assert now.read("chunks", ["chunk_id"], {"chunk_id": keys[5:9] + keys[250:], "accession": ["a25"]}).num_rows == 10


def test_distinct_values_come_from_statistics_or_from_the_rows(lake: Lake) -> None:
    put(lake, "one", "a", "b")
    put(lake, "two", "b", "c")
    now = lake.snapshot()
    assert now.values("sections", "accession") == {"a", "b", "c"}
    assert now.values("sections", "run_id") == set(now.read("sections", ["run_id"])["run_id"].to_pylist())
    part = write_part(lake.root, "chunks", "p", pa.table({"chunk_id": ["x", None], "accession": [None, None]}), "r")
    with lake.writer("r") as writer:
        writer.commit([part], key="nulls")
    assert lake.snapshot().values("chunks", "chunk_id") == {"x"}
    assert lake.snapshot().values("chunks", "accession") == set()
    assert lake.snapshot().values("documents", "accession") == set()
    with pytest.raises(UsageError):
        lake.snapshot().values("chunks", "ordinal")


def test_unknown_tables_and_columns_are_named_with_those_that_exist(lake: Lake) -> None:
    now = lake.snapshot()
    for ask in (lambda: now.read("section"), lambda: now.files("section"), lambda: now.count("section"), lambda: now.records("section"),
                lambda: write_part(lake.root, "section", "p", [], "r")):
        with pytest.raises(UnknownName, match="sections"):
            ask()
    with pytest.raises(UnknownName, match="ordinal"):
        now.read("sections", ["ordnial"])
    with pytest.raises(UnknownName, match="colour"):
        write_part(lake.root, "sections", "p", pa.table({"colour": ["red"]}), "r")
    nobody = pa.table({"accession": ["a", "b"], "run_id": ["r", None]})
    with pytest.raises(UsageError, match=r"sections\.run_id: rows without the run that wrote them"):
        write_part(lake.root, "sections", "p", nobody, "r")


def test_columns_that_a_file_does_not_have_are_null(lake: Lake) -> None:
    """An older edgarmill wrote fewer columns."""
    folder = Path(lake.root) / "tables" / "sections"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"accession": ["old"], "gone": [1]}), folder / "old-1.parquet")
    part = Part("sections", "tables/sections/old-1.parquet", 1, (folder / "old-1.parquet").stat().st_size)
    with lake.writer("r") as writer:
        writer.commit([part, write_part(lake.root, "sections", "p", [section("new")], "r")], key="k")
        found = lake.snapshot().read("sections", ["accession", "title", "run_id"]).to_pylist()
        assert found == [{"accession": "old", "title": None, "run_id": None}, {"accession": "new", "title": "Discussion", "run_id": "r"}]
        writer.commit([], key="d", drop=[Drop("sections", "title", frozenset({"Discussion"}))])
    assert accessions(lake) == ["old"]


def test_an_arrow_table_may_lack_columns_and_keeps_its_own_run(lake: Lake) -> None:
    rows = pa.table({"run_id": ["r0", "r0"], "accession": pa.array(["a", "b"], pa.large_string())})
    with lake.writer("r1") as writer:
        after = writer.commit([write_part(lake.root, "sections", "p", rows, "r1")], key="k")
    found = after.read("sections", ["accession", "run_id", "start"]).to_pylist()
    assert found == [{"accession": "a", "run_id": "r0", "start": None}, {"accession": "b", "run_id": "r0", "start": None}]


def test_batches_are_the_same_rows_without_reading_all(lake: Lake) -> None:
    put(lake, "one", "a", "b")
    put(lake, "two", "c")
    batches = list(lake.snapshot().batches("sections", ["accession"]))
    assert pa.Table.from_batches(batches)["accession"].to_pylist() == ["a", "b", "c"]


def test_other_readers_need_only_the_file_list(lake: Lake) -> None:
    import duckdb

    put(lake, "one", "a", "b")
    put(lake, "two", "c", drop=[Drop("sections", "accession", frozenset({"a"}))])
    found = duckdb.read_parquet(lake.snapshot().files("sections")).aggregate("count(*), max(accession)").fetchall()
    assert found == [(2, "c")]


def test_each_stored_column_carries_its_meaning(lake: Lake) -> None:
    put(lake, "one", "a")
    stored = pq.read_schema(lake.snapshot().files("sections")[0])
    assert stored.field("end").metadata[b"meaning"] == b"one past the last character"
    assert stored.metadata[b"edgarmill.schema_version"] == str(SCHEMA_VERSION).encode()


# --- keys, drops, snapshots


def test_the_same_key_commits_once(lake: Lake) -> None:
    put(lake, "one", "a")
    put(lake, "one", "a")
    assert accessions(lake) == ["a"]
    assert lake.numbers() == [0, 1]
    put(lake, "two", "b")
    put(lake, "one", "c", drop=[Drop("sections", "accession", frozenset({"a"}))], indexes={"default": 9})
    assert (accessions(lake), dict(lake.snapshot().indexes)) == (["a", "b"], {})


def test_a_key_is_remembered_after_its_snapshot_is_vacuumed(lake: Lake) -> None:
    for key in ("one", "two", "three"):
        put(lake, key, key)
    with lake.writer("r") as writer:
        writer.vacuum(grace_seconds=-60, keep=1)
    assert lake.numbers() == [3]
    put(lake, "one", "again")
    assert accessions(lake) == ["one", "two", "three"]


def test_a_filing_is_replaced_in_one_commit(lake: Lake) -> None:
    put(lake, "one", "a", "b", "c")
    put(lake, "two", "b", drop=[Drop("sections", "accession", frozenset({"b", "unknown"}))])
    assert accessions(lake) == ["a", "c", "b"]
    assert lake.snapshot().count("sections") == 3


def test_drops_copy_and_leave_old_snapshots_as_they_were(lake: Lake) -> None:
    put(lake, "one", "a", "b")
    put(lake, "two", "c", "d")
    put(lake, "three", "e")
    before = lake.snapshot().files("sections")
    put(lake, "drop", drop=[Drop("sections", "accession", frozenset({"a", "c", "d"}))])
    after = lake.snapshot().files("sections")
    assert accessions(lake) == ["b", "e"]
    assert accessions(lake, 3) == ["a", "b", "c", "d", "e"]
    assert before[0] not in after  # rewritten
    assert before[1] not in after  # nothing left of it
    assert before[2] in after  # untouched


def test_dropping_everything_leaves_an_empty_table(lake: Lake) -> None:
    put(lake, "one", "a", "b")
    put(lake, "drop", drop=[Drop("sections", "accession", frozenset({"a", "b"}))])
    assert accessions(lake) == []
    assert lake.snapshot().files("sections") == []


def test_a_drop_of_nothing_keeps_the_files(lake: Lake) -> None:
    put(lake, "one", "a")
    files = lake.snapshot().files("sections")
    put(lake, "d1", drop=[Drop("sections", "accession", frozenset())])
    put(lake, "d2", drop=[Drop("sections", "accession", frozenset({"0", "z"}))])
    put(lake, "d3", drop=[Drop("chunks", "accession", frozenset({"a"}))])
    assert lake.snapshot().files("sections") == files


def test_rows_with_null_in_the_column_are_not_dropped(lake: Lake) -> None:
    rows = pa.table({"accession": ["a", None, "b"], "item": ["1", "2", "3"]})
    with lake.writer("r") as writer:
        writer.commit([write_part(lake.root, "sections", "p", rows, "r")], key="k")
        after = writer.commit([], key="d", drop=[Drop("sections", "accession", frozenset({"a"}))])
    assert after.read("sections", ["item"])["item"].to_pylist() == ["2", "3"]


def test_a_quarantined_filing_is_dropped_by_its_subject(lake: Lake) -> None:
    at = datetime(2024, 1, 1, tzinfo=UTC)
    rows = [Quarantine(s, "f.htm", "open", "BadFile", "empty file", "Fetch it again.", True, "", at) for s in ("a", "b")]
    with lake.writer("r") as writer:
        writer.commit([write_part(lake.root, "quarantine", "p", rows, "r")], key="k")
        after = writer.commit([], key="d", drop=[Drop("quarantine", TABLES["quarantine"].subject or "", frozenset({"a"}))])
    assert after.records("quarantine") == rows[1:]


@pytest.mark.parametrize(("drop", "error"), [(Drop("sections", "colour", frozenset({"a"})), UnknownName),
                                             (Drop("colours", "accession", frozenset({"a"})), UnknownName),
                                             (Drop("sections", "start", frozenset({"0"})), UsageError)])
def test_a_drop_that_fits_no_column_changes_nothing(lake: Lake, drop: Drop, error: type[Exception]) -> None:
    with pytest.raises(error):
        put(lake, "one", "a", drop=[drop])
    assert lake.numbers() == [0]


def test_old_snapshots_are_read_by_number_and_unknown_ones_refused(lake: Lake) -> None:
    put(lake, "one", "a")
    put(lake, "two", "b")
    assert [accessions(lake, n) for n in (0, 1, 2)] == [[], ["a"], ["a", "b"]]
    with pytest.raises(UnknownName, match="0 to 2"):
        lake.snapshot(3)


@pytest.mark.parametrize("spoil", ["missing", "short", "rows", "junk", "outside", "twice", "table"])
def test_a_part_that_is_not_what_it_says_is_refused(lake: Lake, spoil: str) -> None:
    part = write_part(lake.root, "sections", "p", [section("a"), section("b")], "r")
    path = Path(lake.root) / part.path
    parts = [part]
    if spoil == "missing":
        path.unlink()
    elif spoil == "short":
        path.write_bytes(path.read_bytes()[:-1])
    elif spoil == "rows":
        parts = [replace(part, rows=3)]
    elif spoil == "junk":
        path.write_bytes(bytes(part.bytes))
    elif spoil == "outside":
        shutil.copy(path, Path(lake.root) / "stolen.parquet")
        parts = [replace(part, path="tables/sections/../../stolen.parquet")]
    elif spoil == "twice":
        parts = [part, part]
    elif spoil == "table":
        parts = [replace(part, table="chunks")]
    with lake.writer("r") as writer:
        with pytest.raises(LakeCorrupt):
            writer.commit(parts, key="k")
        assert lake.numbers() == [0]
        writer.commit([write_part(lake.root, "sections", "p", [section("c")], "r")], key="k")
    assert accessions(lake) == ["c"]


def test_a_part_is_not_committed_by_a_second_key(lake: Lake) -> None:
    part = write_part(lake.root, "sections", "p", [section("a")], "r")
    with lake.writer("r") as writer:
        writer.commit([part], key="one")
        with pytest.raises(LakeCorrupt, match="already"):
            writer.commit([part], key="two")
    assert accessions(lake) == ["a"]


def test_a_closed_writer_commits_nothing(lake: Lake) -> None:
    with lake.writer("r") as writer:
        pass
    for act in (lambda: writer.commit([], key="k"), writer.vacuum, writer.compact):
        with pytest.raises(RunError, match="closed"):
            act()


def test_a_failed_run_frees_the_lock(lake: Lake) -> None:
    with pytest.raises(ZeroDivisionError), lake.writer("r1"):
        raise ZeroDivisionError
    put(lake, "one", "a")


def test_a_second_writer_in_the_same_process_is_told_who_writes(lake: Lake) -> None:
    with lake.writer("run-7", "edgarmill ingest"):
        with pytest.raises(LakeLocked, match=rf"process {os.getpid()} on .*run run-7, since 20"), lake.writer("run-8"):
            pass
        with pytest.raises(LakeLocked), lake.writer("run-9"):  # the refused one did not free it
            pass


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "x" * 300, "a\nb", "a\0b"])
def test_names_are_one_plain_path_component(lake: Lake, name: str) -> None:
    rows = [Filing("a")]
    for act in (lambda: lake.index_uri(name), lambda: lake.folder(name), lambda: write_part(lake.root, "filings", name, rows, "r")):
        with pytest.raises(UsageError, match="plain name"):
            act()


def test_tools_have_their_own_folders_and_recipes_their_index(lake: Lake) -> None:
    assert Path(lake.folder("prefect")).is_dir()
    assert lake.folder("prefect") == str(Path(lake.root) / "prefect")
    assert lake.index_uri("default") == str(Path(lake.root) / "index" / "default.lance")


# --- damage


def test_a_missing_committed_file_is_named(lake: Lake) -> None:
    put(lake, "one", "a")
    put(lake, "two", "b")
    gone = lake.snapshot().files("sections")[1]
    os.unlink(gone)
    with pytest.raises(LakeCorrupt, match="missing") as caught:
        lake.snapshot().read("sections")
    assert caught.value.subject == gone
    assert lake.snapshot().count("filings") == 0
    with pytest.raises(LakeCorrupt):
        put(lake, "drop", drop=[Drop("sections", "accession", frozenset({"b"}))])
    assert lake.numbers() == [0, 1, 2]


@pytest.mark.parametrize("place", ["cut", "head", "middle", "foot"])
def test_a_damaged_committed_file_is_named(lake: Lake, place: str) -> None:
    put(lake, "one", "a")
    put(lake, "two", *(f"b{i}" for i in range(500)))
    path = Path(lake.snapshot().files("sections")[1])
    data = bytearray(path.read_bytes())
    if place == "cut":
        del data[-10:]
    else:
        at = {"head": 40, "middle": 700, "foot": len(data) - 30}[place]
        data[at : at + 20] = bytes(b ^ 0xFF for b in data[at : at + 20])
    path.write_bytes(data)
    with pytest.raises(LakeCorrupt) as caught:
        lake.snapshot().read("sections")
    assert caught.value.subject == str(path)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"schema_version":1}', b'{"schema_version":"x"}',
                                    pytest.param(b"[" * 100_000, id="deep")])
def test_a_damaged_snapshot_is_named(lake: Lake, damage: bytes) -> None:
    put(lake, "one", "a")
    path = Path(lake.root) / "catalog" / "snapshots" / "00000001.json"
    path.write_bytes(damage)
    with pytest.raises(LakeCorrupt) as caught:
        Lake.open(lake.root)
    assert caught.value.subject == str(path)
    with pytest.raises(LakeCorrupt):
        put(lake, "two", "b")


def test_a_changed_snapshot_does_not_pass_for_the_written_one(lake: Lake) -> None:
    put(lake, "one", "a")
    path = Path(lake.root) / "catalog" / "snapshots" / "00000001.json"
    good = path.read_bytes()
    other = b'1"}' if good.endswith(b'0"}') else b'0"}'
    for bad in (good.replace(b".parquet\",1,", b".parquet\",2,"), good.replace(b"tables/", b"../../"), good[:-3] + other):
        assert bad != good
        path.write_bytes(bad)
        with pytest.raises(LakeCorrupt):
            lake.snapshot()
    path.write_bytes(good)
    shutil.copy(path, path.with_name("00000002.json"))
    with pytest.raises(LakeCorrupt):
        lake.snapshot()


def test_a_snapshot_file_is_plain_json(lake: Lake) -> None:
    put(lake, "one", "a")
    head = json.loads((Path(lake.root) / "catalog" / "snapshots" / "00000001.json").read_text(encoding="utf-8"))
    [[path, rows, size]] = head["tables"]["sections"]
    assert (head["number"], rows, size) == (1, 1, (Path(lake.root) / path).stat().st_size)


def test_other_files_in_the_catalog_are_no_snapshots(lake: Lake) -> None:
    put(lake, "one", "a")
    folder = Path(lake.root) / "catalog" / "snapshots"
    for name in (".tmp-123", "00000009.json.bak", "9.json", "latest.json", "-0000001.json"):
        (folder / name).write_bytes(b"junk")
    assert lake.numbers() == [0, 1]
    assert Lake.open(lake.root).snapshot().number == 1


def test_a_lake_of_a_newer_edgarmill_is_not_read_nor_written(lake: Lake) -> None:
    put(lake, "one", "a")
    path = Path(lake.root) / "catalog" / "snapshots" / "00000002.json"
    path.write_text(json.dumps({"schema_version": SCHEMA_VERSION + 1, "shape": "unknown"}), encoding="utf-8")
    with pytest.raises(NewerSchema, match="Update edgarmill"):
        Lake.open(lake.root)
    with pytest.raises(NewerSchema), lake.writer("r"):
        pass
    assert accessions(lake, 1) == ["a"]


def test_a_file_of_a_newer_edgarmill_is_not_read(lake: Lake) -> None:
    folder = Path(lake.root) / "tables" / "sections"
    folder.mkdir(parents=True)
    newer = {b"edgarmill.schema_version": str(SCHEMA_VERSION + 1).encode()}
    pq.write_table(pa.table({"accession": ["a"]}).replace_schema_metadata(newer), folder / "n-1.parquet")
    part = Part("sections", "tables/sections/n-1.parquet", 1, (folder / "n-1.parquet").stat().st_size)
    with lake.writer("r") as writer, pytest.raises(NewerSchema):
        writer.commit([part], key="k")
    forged = replace(lake.snapshot(), number=1, parent=0, tables={"sections": (part,)})
    (Path(lake.root) / "catalog" / "snapshots" / "00000001.json").write_bytes(snapshots.encode(forged))
    with pytest.raises(NewerSchema, match="n-1.parquet"):
        lake.snapshot().read("sections")
    with lake.writer("r") as writer, pytest.raises(NewerSchema):
        writer.commit([], key="d", drop=[Drop("sections", "accession", frozenset({"a"}))])


# --- raw files


def test_raw_bytes_are_addressed_by_their_hash(lake: Lake) -> None:
    for data in (b"", b"<html>", bytes(range(256)) * 5000):
        name = lake.put_raw(data)
        assert name == sha256(data)
        assert lake.put_raw(data) == name
        assert lake.has_raw(name)
        assert lake.read_raw(name) == data
    assert sum(1 for p in (Path(lake.root) / "raw").rglob("*") if p.is_file()) == 3


def test_bytes_that_are_there_already_are_compared_piece_by_piece(lake: Lake) -> None:
    def put() -> str:
        with lake.new_raw() as raw:
            for number in range(32):
                raw.write(b"%08d" % number * 2**17)
            return raw.keep()

    name = put()
    tracemalloc.start()
    try:
        assert put() == name
        assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    finally:
        tracemalloc.stop()


def test_missing_and_damaged_raw_files_are_named_and_mended_by_the_next_put(lake: Lake) -> None:
    data = b"0123456789" * 1000
    name = lake.put_raw(data)
    path = Path(lake.root) / "raw" / name[:2] / f"{name}.zst"
    good = path.read_bytes()
    for bad in (b"", b"junk", good[:-3], good[: len(good) // 2], good + b"x"):
        path.write_bytes(bad)
        with pytest.raises(LakeCorrupt, match=name):
            lake.read_raw(name)
        lake.put_raw(data)
        assert lake.read_raw(name) == data
    path.unlink()
    assert not lake.has_raw(name)
    with pytest.raises(LakeCorrupt, match="missing"):
        lake.read_raw(name)


@pytest.mark.parametrize("name", ["", "../../../etc/passwd", "A" * 64, "0" * 63, "0" * 65, "0" * 63 + "\n", "../" + "0" * 61])
def test_only_a_sha256_names_a_raw_file(lake: Lake, name: str) -> None:
    for act in (lake.read_raw, lake.has_raw):
        with pytest.raises(UsageError, match="sha256"):
            act(name)


def test_a_folder_that_cannot_be_written_is_a_storage_error(lake: Lake) -> None:
    """A file where a folder should be: the refusal that binds root as well."""
    for name in ("raw", "tables"):
        (Path(lake.root) / name).write_bytes(b"")
    with pytest.raises(StorageError):
        lake.put_raw(b"x")
    with pytest.raises(StorageError):
        write_part(lake.root, "filings", "p", [Filing("a")], "r")
    (Path(lake.root) / "catalog" / "writer.lock").mkdir()
    with pytest.raises(StorageError, match="writer.lock"), lake.writer("r"):
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_no_write_permission_is_a_storage_error(lake: Lake) -> None:
    os.chmod(Path(lake.root) / "catalog" / "snapshots", 0o500)
    with lake.writer("r") as writer, pytest.raises(StorageError, match="no permission"):
        writer.commit([], key="k")
    os.chmod(Path(lake.root) / "catalog" / "snapshots", 0o700)


# --- housekeeping


def test_vacuum_removes_only_what_no_kept_snapshot_names(lake: Lake) -> None:
    put(lake, "one", "a", "b")
    put(lake, "two", "c", drop=[Drop("sections", "accession", frozenset({"a"}))])
    put(lake, "three", "d", drop=[Drop("sections", "accession", frozenset({"c"}))])
    stray = write_part(lake.root, "chunks", "p", pa.table({"chunk_id": ["x"]}), "r")
    (Path(lake.root) / "tables" / "chunks" / ".tmp-1").write_bytes(b"half")
    (Path(lake.root) / "catalog" / "snapshots" / ".tmp-2").write_bytes(b"half")
    with lake.writer("r") as writer:
        assert writer.vacuum(grace_seconds=3600, keep=1) == 0  # all of it is young
        assert lake.numbers() == [0, 1, 2, 3]
        assert writer.vacuum(grace_seconds=-60, keep=2) == 4  # the first file with a, the stray part, two halves
        assert lake.numbers() == [2, 3]
        assert not (Path(lake.root) / stray.path).exists()
        assert (accessions(lake, 2), accessions(lake)) == (["b", "c"], ["b", "d"])
        assert writer.vacuum(grace_seconds=-60, keep=1) == 1  # the file with c
        assert writer.vacuum(grace_seconds=-60, keep=0) == 0  # the current snapshot always stays
    assert (lake.numbers(), accessions(lake)) == ([3], ["b", "d"])


def test_vacuum_leaves_raw_files_and_indexes_alone(lake: Lake) -> None:
    name = lake.put_raw(b"x")
    os.makedirs(lake.index_uri("default"))
    put(lake, "one", "a")
    with lake.writer("r") as writer:
        writer.vacuum(grace_seconds=-60, keep=1)
    assert lake.read_raw(name) == b"x"
    assert os.path.isdir(lake.index_uri("default"))


def test_compaction_keeps_rows_order_and_runs(lake: Lake) -> None:
    for i in range(9):
        put(lake, f"k{i}", f"a{i}", f"b{i}")
    before = lake.snapshot()
    with lake.writer("r") as writer:
        assert writer.compact(most=20).number == before.number  # few enough
        after = writer.compact(most=3)
        assert writer.compact(most=3).number == after.number
    assert len(after.files("sections")) == 1
    assert after.read("sections").equals(before.read("sections"))
    assert before.count("sections") == after.count("sections") == 18


def test_a_snapshot_of_thousands_of_parts_is_carried_through_commits(lake: Lake) -> None:
    table = tuple(Part("chunks", f"tables/chunks/part-{i:032x}.parquet", 1000, 10_000_000) for i in range(5000))
    forged = replace(lake.snapshot(), number=1, parent=0, tables={"chunks": table})
    (Path(lake.root) / "catalog" / "snapshots" / "00000001.json").write_bytes(snapshots.encode(forged))
    put(lake, "one", "a")
    assert lake.snapshot().count("chunks") == 5_000_000
    assert lake.snapshot().tables["chunks"] == table


def test_reading_needs_nothing_heavy(lake: Lake) -> None:
    put(lake, "one", "a")
    code = """
import sys
from edgarmill.schemas.store import Lake
now = Lake.open(sys.argv[1]).snapshot()
print(now.records("sections", {"accession": {"a"}})[0].accession, now.read("filings").num_rows, now.count("sections"))
print(sorted({m.split(".")[0] for m in sys.modules} & set("ray torch prefect lancedb lance pandas httpx pydantic duckdb".split())))
"""
    done = subprocess.run([sys.executable, "-c", code, lake.root], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["a 0 1", "[]"]
