"""What the command prints: cells, tables, JSON, progress."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgarmill.terminal import Column, Progress, clean, columns, complain, dollars, seconds, share, show, show_json, size


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("value", "reads"),
    [(Decimal("0"), "$0.00"), (Decimal("1234.5"), "$1,234.50"), (Decimal("0.000001234"), "$0.00000123"), (0.5, "$0.50")],
)
def test_a_small_sum_never_reads_as_zero(value: Decimal, reads: str) -> None:
    assert dollars(value) == reads


@pytest.mark.parametrize(("value", "reads"), [(0.0, "0.0 %"), (0.00001, "<0.1 %"), (0.25, "25.0 %"), (1.0, "100.0 %")])
def test_a_small_share_never_reads_as_zero(value: float, reads: str) -> None:
    assert share(value) == reads


@pytest.mark.parametrize(
    ("value", "reads"), [(0.0123, "0.012 s"), (3.21, "3.2 s"), (59.4, "59 s"), (61, "1 min 01 s"), (7260, "2 h 01 min")]
)
def test_a_duration_reads_as_a_person_says_it(value: float, reads: str) -> None:
    assert seconds(value) == reads


@pytest.mark.parametrize(("value", "reads"), [(0, "0 B"), (999, "999 B"), (2048, "2.05 kB"), (3e13, "30 TB")])
def test_a_size_has_a_unit(value: float, reads: str) -> None:
    assert size(value) == reads


@given(st.text())
def test_a_clean_text_is_one_line_without_control_characters(text: str) -> None:
    found = clean(text)
    assert len(found.splitlines()) <= 1
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in found)


def test_a_plain_table_aligns_and_cuts_nothing() -> None:
    out = io.StringIO()
    show([{"name": "a" * 300, "n": 5}, {"name": "b", "n": 1234}, {"name": None, "n": None}], columns("name:what", "n"), out)
    lines = out.getvalue().splitlines()
    assert lines[0].split() == ["what", "n"]
    assert lines[1] == "a" * 300 + "      5"
    assert lines[2].endswith("  1,234") and lines[3].split() == ["-", "-"]


def test_what_is_not_there_reads_as_its_column_says_and_zero_stays_zero() -> None:
    column = Column("dollars", "cost", dollars, "unpriced")
    assert (column.cell({"dollars": None}), column.cell({}), column.cell({"dollars": Decimal(0)})) == ("unpriced", "unpriced", "$0.00")


def test_a_wide_table_folds_on_a_terminal_and_loses_no_word() -> None:
    out = Screen()
    show([{"a": "word " * 60, "b": "[red]end"}], columns("a", "b"), out)
    assert out.getvalue().count("word") == 60
    assert "[red]end" in out.getvalue().replace("\n", "").replace(" ", "")


def test_json_keeps_numbers_and_says_null_for_what_was_not_measured() -> None:
    out = io.StringIO()
    show_json(
        {
            "usd": Decimal("0.123456789"),
            "at": datetime(2026, 1, 2, 3, tzinfo=UTC),
            "on": date(2026, 1, 2),
            "none": None,
            "é": frozenset("a"),
        },
        out,
    )
    assert json.loads(out.getvalue()) == {
        "usd": 0.123456789,
        "at": "2026-01-02T03:00:00+00:00",
        "on": "2026-01-02",
        "none": None,
        "é": ["a"],
    }


def test_a_complaint_is_one_line() -> None:
    out = io.StringIO()
    complain("first\nsecond\x1b[2J", out)
    assert out.getvalue() == "edgarmill: first second [2J\n"


def test_plain_progress_says_a_line_every_five_seconds_and_one_at_the_end() -> None:
    out, clock = io.StringIO(), Clock()
    progress = Progress(out, clock)
    for done in range(101):
        clock.now = done / 10
        progress("parse", done, 100)
        progress("parse", done, 100)
    assert out.getvalue().splitlines() == ["parse 50/100, 10/s, 5.0 s left", "parse 100/100 in 10 s, 10/s"]


def test_progress_without_a_total_says_count_and_rate() -> None:
    out, clock = io.StringIO(), Clock()
    progress = Progress(out, clock)
    progress("list", 0, None)
    clock.now = 6
    progress("list", 12, None)
    assert out.getvalue() == "list 12, 2/s\n"


def test_live_progress_draws_one_line_for_all_open_stages_and_leaves_none_behind() -> None:
    out, clock = Screen(), Clock()
    progress = Progress(out, clock)
    progress("parse", 0, 10)
    clock.now = 1
    progress("parse", 5, 10)
    clock.now = 2
    progress("embed", 1, 10)
    assert out.getvalue().rpartition("\r")[2] == "parse 5/10, 2.5/s, 2.0 s left | embed 1/10"
    progress("parse", 10, 10)
    assert "parse 10/10 in 2.0 s, 5/s\n" in out.getvalue()
    progress.close()
    assert out.getvalue().endswith("\r")
