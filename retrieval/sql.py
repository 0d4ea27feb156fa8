"""SQL over the tables of a snapshot: one SELECT, read-only, bounded in time, memory and rows."""

from __future__ import annotations

import threading
from typing import Any

import pyarrow as pa

from edgarmill.schemas.errors import UsageError
from edgarmill.schemas.interrupts import heeding
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.tables import TABLES
from edgarmill.schemas.views import connect

MEMORY = "2GB"
SECONDS = 60.0
ROWS = 1_000_000


def query(snapshot: Snapshot, sql: str, seconds: float = SECONDS, rows: int = ROWS, memory: str = MEMORY) -> pa.Table:
    """The result of one SELECT (also DESCRIBE, SHOW, SUMMARIZE) over views named as the tables; tables without rows are empty views.

    It sees the snapshot and nothing else: no file, no extension, no setting. Raises UsageError in one line, LakeCorrupt, NewerSchema.
    """
    import duckdb

    connection = connect(snapshot, TABLES, memory)
    alarm = threading.Timer(seconds, connection.interrupt)
    alarm.daemon = True
    try:
        _check(connection, sql)
        alarm.start()
        found = connection.sql(sql)  # what is said of the query has its words in it
        with heeding():
            return _bounded(found.to_arrow_reader(10_000), rows)
    except duckdb.InterruptException:
        raise UsageError(f"the query took over {seconds:g} seconds and was stopped", "", "Ask for less.") from None
    except duckdb.OutOfMemoryException:
        raise UsageError(f"the query needs over {memory} of memory and was stopped", "", "Ask for less.") from None
    except (duckdb.Error, pa.ArrowException, UnicodeEncodeError) as error:
        raise UsageError(_line(error), "sql", "DESCRIBE <table> lists its columns.") from None
    finally:
        alarm.cancel()
        connection.close()


def _check(connection: Any, sql: str) -> None:
    """One statement that only reads. DuckDB also takes COPY inside WITH for a SELECT: there the locked connection refuses the file."""
    import duckdb

    sql.encode()  # raises UnicodeEncodeError for lone surrogates, which DuckDB does not take either
    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise UsageError("only one SELECT at a time", "sql", "Tables: " + ", ".join(TABLES) + ".")


def _bounded(reader: pa.RecordBatchReader, rows: int) -> pa.Table:
    kept, count = [], 0
    for batch in reader:
        count += batch.num_rows
        if count > rows:
            raise UsageError(f"the result has over {rows:,} rows", "sql", "Add a LIMIT.")
        kept.append(batch)
    return pa.Table.from_batches(kept, reader.schema)


def _line(error: Exception) -> str:
    """The first line of DuckDB's message, and its suggestion."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    words = [lines[0] if lines else type(error).__name__, *(line for line in lines[1:] if line.startswith("Did you mean"))]
    return " ".join(words).rstrip(".?")[:300]
