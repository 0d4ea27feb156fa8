"""Tables, records and Parquet agree column by column."""

from __future__ import annotations

import pickle
from dataclasses import fields
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgarmill.schemas.tables import TABLES, Table

EACH = pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))


def example(kind: pa.DataType, salt: int = 1) -> Any:
    """Some value of an Arrow type as a record carries it."""
    if pa.types.is_list(kind):
        return (example(kind.value_type), example(kind.value_type, 2))
    if pa.types.is_decimal(kind):
        return Decimal(salt).scaleb(-9)
    if pa.types.is_timestamp(kind):
        return datetime(2024, 2, 29, 23, 59, 59, salt, UTC)
    if pa.types.is_date(kind):
        return date(2024, 2, 28 + salt)
    if pa.types.is_boolean(kind):
        return True
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return f"Zoë {salt}"
    return salt / 2 if pa.types.is_floating(kind) else 2**40


def record(table: Table) -> Any:
    return table.record(**{name: example(kind) for name, kind, _ in table.columns})


@EACH
def test_columns_are_the_fields_of_the_record(table: Table) -> None:
    assert [name for name, _, _ in table.columns] == [f.name for f in fields(table.record)]


@EACH
def test_a_record_survives_arrow_and_pickle(table: Table) -> None:
    one = record(table)
    stored = table.arrow([one])
    assert stored.schema.equals(table.schema)
    assert [table.record_of(row) for row in stored.to_pylist()] == [one]
    assert pickle.loads(pickle.dumps(one)) == one
    assert hash(one) == hash(record(table))


@EACH
def test_no_rows_have_the_schema_too(table: Table) -> None:
    assert table.arrow([]).schema.equals(table.schema)


@EACH
def test_key_and_subject_are_columns(table: Table) -> None:
    names = {name for name, _, _ in table.columns} | {"run_id"}
    assert set(table.key) <= names
    assert table.subject is None or table.schema.field(table.subject).type == pa.string()


def test_units_are_the_same_everywhere() -> None:
    for table in TABLES.values():
        for name, kind, _ in table.columns:
            if name in ("start", "end"):
                assert kind == pa.int64(), (table.name, name)
            if name == "at" or name.endswith("_at"):
                assert kind == pa.timestamp("us", tz="UTC"), (table.name, name)
            if name.endswith("_on"):
                assert kind == pa.date32(), (table.name, name)
            if name == "dollars":
                assert pa.types.is_decimal(kind), (table.name, name)
            if name.endswith("seconds"):
                assert kind == pa.float64(), (table.name, name)


def test_unknown_columns_of_a_later_edgarmill_are_ignored() -> None:
    table = TABLES["sections"]
    row = table.arrow([record(table)]).to_pylist()[0]
    assert table.record_of({**row, "run_id": "r", "colour": "red"}) == record(table)


@given(st.decimals(0, 10**8, places=9))
def test_money_is_exact(dollars: Decimal) -> None:
    table = TABLES["usage"]
    one = table.record(subject="a", stage="s", dollars=dollars)
    assert table.record_of(table.arrow([one]).to_pylist()[0]).dollars == dollars
