"""Our own form as Parquet: the columns are the fields of `filings.py`, `gold` a list of structs or the same as JSON text.

A field that is null is one that was not given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from edgarmill.eval.questions import filings
from edgarmill.eval.questions.question_set import MAX_FILE_BYTES, MAX_LINE_BYTES, File, Found, Off, Problem, found, json_of

MAX_ROWS_AT_ONCE = 256


def claims(name: str, head: str) -> bool:
    return name.endswith(".parquet")


def read(file: File) -> Iterator[Found | Problem]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(file.path) as opened:
            at_once = _bounded(opened.metadata)
            for batch in opened.iter_batches(batch_size=at_once):
                for row in batch.to_pylist():
                    number += 1
                    yield _row(number, row)
    except (pa.ArrowException, UnicodeDecodeError, ValueError) as error:  # ArrowInvalid is a ValueError, a bad page only an ArrowException
        raise Off(f"not Parquet that can be read ({' '.join(str(error).split())[:100]})") from None


def _bounded(metadata: Any) -> int:
    """Rows that may be read at once. Raises Off where the file is too large."""
    groups = [metadata.row_group(n) for n in range(metadata.num_row_groups)]
    columns = [group.column(n).total_uncompressed_size for group in groups for n in range(group.num_columns)]
    if sum(columns) > MAX_FILE_BYTES:
        raise Off(f"more than {MAX_FILE_BYTES:,} bytes unpacked")
    return max(1, min(MAX_ROWS_AT_ONCE, MAX_FILE_BYTES // (max(columns, default=0) + 1)))  # one value may stand in many rows


def _row(number: int, row: dict[str, Any]) -> Found | Problem:
    if sum(len(value) for value in row.values() if isinstance(value, str)) > MAX_LINE_BYTES:
        return Problem(number, f"longer than {MAX_LINE_BYTES:,} characters")
    given = _given(row)
    try:
        given |= {name: _evidence(row[name]) if name == "gold" else row[name] for name in ("gold", "category") if name in row}
    except Off as off:
        return Problem(number, str(off))
    return found(number, given, filings.question_of)


def _evidence(gold: Any) -> Any:
    gold = json_of(gold) if isinstance(gold, str) else gold
    return [_given(one) if isinstance(one, dict) else one for one in gold] if isinstance(gold, list) else ([] if gold is None else gold)


def _given(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if value is not None}
