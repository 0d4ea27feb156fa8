"""Damage: what of a dataset's files is not as it was written, told without reading them through; and whether its indexes answer.

Lance records the size of each file. One that is missing, cut or replaced is so found by one look; what has its size and other bytes is
found by reading (`readable`, verification.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date
from typing import Any

from edgarmill.schemas.interrupts import heeding


def damaged(dataset: Any) -> list[str]:
    """Files of this version that are missing or have another size than was recorded, each with both; [] = none."""
    return [f"{path}: {_said(found)} instead of {_said(size)}" for path, size in _files(dataset)
            if size is not None and (found := _size(os.path.join(dataset.uri, path))) != size]


def readable(dataset: Any) -> bool:
    """Whether every file is there and what tells rows apart can be read: what may be built on."""
    if damaged(dataset):
        return False
    try:
        with heeding():
            for _ in dataset.scanner(columns=["chunk_id", "row_hash"]).to_batches():
                pass
    except (OSError, ValueError, RuntimeError):
        return False
    return True


def silent(dataset: Any, row: dict[str, Any], fragments: list[Any] | None = None) -> list[str]:
    """Columns whose index does not give for a row's own value what a scan of those fragments (None: of all) gives. `row`: one of the
    dataset, with `text` and `chunk_id`."""
    wrong = []
    names = [index.field_names[0] for index in dataset.describe_indices() if index.field_names != ["vector"]]
    for column in sorted({*names} - {"text"}):
        where = _equals(column, row.get(column))
        if where and _count(dataset, where, True, fragments) != _count(dataset, where, False, fragments):
            wrong.append(column)
    if "text" in names and (words := row["text"].split()):
        from lance.query import MatchQuery

        mine = dataset.scanner(columns=["chunk_id", "_score"], filter=f"chunk_id = '{row['chunk_id']}'", prefilter=True, limit=1,
                               full_text_query=MatchQuery(max(words, key=len), "text")).to_table()
        wrong += [] if mine.num_rows == 1 else ["text"]
    return wrong


def _count(dataset: Any, where: str, indexed: bool, fragments: list[Any] | None) -> int:
    """Rows that meet a condition, by the index or by reading its column."""
    scan = dataset.scanner(columns=[], with_row_id=True, filter=where, use_scalar_index=indexed, fragments=fragments)
    return int(scan.count_rows())


def _equals(column: str, value: Any) -> str:
    """A condition of Lance's filter language; "" for a value that is none."""
    if isinstance(value, list):
        return f"array_has({column}, {_literal(value[0])})" if value else ""
    return "" if value is None else f"{column} = {_literal(value)}"


def _literal(value: Any) -> str:
    if isinstance(value, date):
        return f"date '{value.isoformat()}'"
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def _files(dataset: Any) -> Iterator[tuple[str, int | None]]:
    """Data files with their size; folders of indexes with that of all their files."""
    for fragment in dataset.get_fragments():
        for file in fragment.data_files():
            yield f"data/{file.path}", file.file_size_bytes
    for index in dataset.describe_indices():
        for segment in index.segments:
            yield f"_indices/{segment.uuid}", segment.size_bytes


def _size(path: str) -> int | None:
    """Bytes of a file, or of all files below a folder; None where there is neither."""
    if os.path.isdir(path):
        return sum(os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(path) for name in names)
    return os.path.getsize(path) if os.path.exists(path) else None


def _said(size: int | None) -> str:
    return "nothing" if size is None else f"{size:,} bytes"
