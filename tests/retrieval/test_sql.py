"""SQL over a snapshot: what it answers and what it cannot reach."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from tiny_lake import commit, filing, rows_of, tiny_lake

from edgarmill.retrieval.sql import query
from edgarmill.schemas.errors import UsageError
from edgarmill.schemas.store import Lake, Snapshot
from edgarmill.schemas.tables import TABLES
from edgarmill.schemas.views import VIEWS


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return tiny_lake(tmp_path_factory.mktemp("sql"), 6, 4)


@pytest.fixture(scope="module")
def snapshot(lake: Lake) -> Snapshot:
    return lake.snapshot()


def test_tables_are_views_of_the_snapshot(snapshot: Snapshot) -> None:
    found = query(snapshot, "SELECT f.company, count(*) AS n FROM chunks c JOIN filings f USING (accession) GROUP BY 1 ORDER BY 1")
    assert found.to_pylist() == [{"company": f"Company {c}", "n": 8} for c in "ABC"]


def test_every_table_is_there_with_its_columns_even_without_rows(snapshot: Snapshot) -> None:
    assert set(query(snapshot, "SHOW TABLES")["name"].to_pylist()) == {*TABLES, *VIEWS}
    for name, table in TABLES.items():
        columns = query(snapshot, f"SELECT * FROM {name} LIMIT 0").column_names
        assert set(columns) == {*table.schema.names, "run_id"}
    assert query(snapshot, "SELECT count(*) AS n, sum(dollars) AS d FROM usage").to_pylist() == [{"n": 0, "d": None}]


def test_an_old_snapshot_keeps_its_answer(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, 1, 2)
    old = lake.snapshot()
    commit(lake, "more", [rows_of(filing(5), 3)])
    count = "SELECT count(*) AS n FROM chunks"
    assert query(old, count).to_pylist() == [{"n": 2}] and query(lake.snapshot(), count).to_pylist() == [{"n": 5}]


@pytest.mark.parametrize("sql", ["DESCRIBE chunks", "SUMMARIZE filings", "FROM filings LIMIT 1", "WITH x AS (SELECT 1) SELECT * FROM x;",
                                 "SELECT date '2024-01-01', 1.5::DECIMAL(9,2), now()"])
def test_what_only_reads_is_answered(snapshot: Snapshot, sql: str) -> None:
    assert query(snapshot, sql).num_rows >= 1


ATTACKS = [
    "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'", "SELECT * FROM glob('/*')", "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM read_json('/etc/passwd')",
    "SELECT * FROM parquet_metadata('{file}')", "SELECT * FROM read_parquet('{file}')", "SELECT * FROM read_parquet('https://example.com/x')",
    "COPY (SELECT 1) TO '{target}'", "WITH x AS (COPY (SELECT 1) TO '{target}') SELECT 1",
    "WITH x AS (COPY (SELECT 1 AS a) TO '{file}' (USE_TMP_FILE false)) SELECT 1", "EXPLAIN ANALYZE COPY chunks TO '{target}'",
    "SELECT * FROM query('COPY chunks TO ''{target}''')", "EXPORT DATABASE '{target}'", "ATTACH '{target}'", "ATTACH ':memory:' AS m",
    "WITH x AS (COPY (SELECT 1) TO 'edgarmill-attack.csv') SELECT 1", "WITH x AS (COPY (SELECT 1) TO '.tmp/x') SELECT 1",
    "INSTALL httpfs", "LOAD httpfs", "SET enable_external_access = true", "SET memory_limit = '100GB'", "RESET lock_configuration",
    "PRAGMA enable_external_access", "CALL pragma_version()", "CREATE TABLE x AS SELECT 1", "CREATE VIEW x AS SELECT 1", "DROP VIEW chunks",
    "INSERT INTO chunks SELECT * FROM chunks", "DELETE FROM chunks", "UPDATE chunks SET text = ''",
    "WITH x AS (DELETE FROM chunks RETURNING *) FROM x",
    "SELECT 1; SELECT 2", "SELECT 1; DROP VIEW chunks", "", "   ", "-- nothing", "BEGIN", "VACUUM", "CHECKPOINT", "PREPARE p AS SELECT 1",
    "SELECT * FROM secret_table", "SELECT getenv('HOME')", "SELECT * FROM duckdb_secrets()", "USE memory", "SELECT '\ud800'",
]


@pytest.mark.parametrize("sql", ATTACKS, ids=range(len(ATTACKS)))
def test_an_attack_gets_one_line_and_reaches_nothing(lake: Lake, snapshot: Snapshot, tmp_path: Path, sql: str) -> None:
    secret_table = pa.table({"password": ["x"]})  # DuckDB would find a caller's variable by its name
    file, target = snapshot.files("chunks")[0], tmp_path / "out"
    before = Path(file).read_bytes()
    with pytest.raises(UsageError) as caught:
        query(snapshot, sql.replace("{file}", file).replace("{target}", str(target)))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600
    assert not target.exists() and not Path("edgarmill-attack.csv").exists() and Path(file).read_bytes() == before
    assert secret_table.num_rows == 1


@pytest.mark.parametrize(("sql", "words"), [
    ("SELEC 1", "syntax error"), ("SELECT nothing FROM chunks", "nothing"), ("FROM chunkz", "does not exist! Did you mean \"chunks"),
    ("SELECT 1/'a'", "Could not convert"), ("SELECT 'a'::DATE", "invalid date")])
def test_a_mistake_is_named_in_one_line(snapshot: Snapshot, sql: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        query(snapshot, sql)
    assert "\n" not in str(caught.value)


def test_a_query_without_end_is_stopped(snapshot: Snapshot) -> None:
    with pytest.raises(UsageError, match="over 0.3 seconds and was stopped"):
        query(snapshot, "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b", seconds=0.3)


def test_a_result_without_end_is_stopped(snapshot: Snapshot) -> None:
    with pytest.raises(UsageError, match="over 50,000 rows. Add a LIMIT"):
        query(snapshot, "SELECT * FROM range(100000000000)", rows=50_000)


def test_a_query_beyond_its_memory_is_stopped(snapshot: Snapshot, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="over 60MB of memory"):
        query(snapshot, "SELECT list(range) FROM range(100000000)", memory="60MB")


def test_a_damaged_file_is_said_to_be_damaged(tmp_path: Path) -> None:
    from edgarmill.schemas.errors import LakeCorrupt

    lake = tiny_lake(tmp_path, 1, 2)
    Path(lake.snapshot().files("chunks")[0]).unlink()
    with pytest.raises(LakeCorrupt, match="missing"):
        query(lake.snapshot(), "SELECT 1")
