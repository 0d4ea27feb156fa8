"""Index files: both families, whole or refused; which days were published is asked, never guessed."""

from __future__ import annotations

import gzip
from datetime import date

import pytest
from edgar_desk import daily_index, day_folder, folder_path, full_index, scripted_desk
from hypothesis import given, settings
from hypothesis import strategies as st

from edgarmill.schemas.errors import FetchFailed
from edgarmill.workers.source.edgar.indexes import Quarter, Row, published, quarters, read_master
from edgarmill.workers.source.edgar.submissions import FORMS

DAY = date(2024, 3, 1)
ROWS = [(1, "ALPHA | BETA CORP", "10-K", DAY, "0000000001-24-000001"), (1, "ALPHA", "4", DAY, "0000000001-24-000002"),
        (22, "SOCI\xc9T\xc9 DE L'\xc9T\xc9", "8-K/A", date(2023, 7, 1), "0000000022-24-000003")]
BODY = daily_index(DAY, ROWS)


def recorded(shared, name: str) -> bytes:
    return gzip.decompress((shared / "edgar_api" / f"{name}.gz").read_bytes())


def test_both_families_give_the_same_rows():
    assert read_master(BODY, "daily", ()) == read_master(full_index(ROWS), "full", ())
    assert read_master(BODY, "daily", ()) == [
        Row("0000000001", "ALPHA | BETA CORP", "10-K", DAY, "0000000001-24-000001"),
        Row("0000000022", "SOCI\xc9T\xc9 DE L'\xc9T\xc9", "8-K/A", date(2023, 7, 1), "0000000022-24-000003")]


def test_of_the_filers_named_all_rows_are_read_so_that_a_changed_form_shows():
    assert [row.form for row in read_master(BODY, "daily", {"0000000001"})] == ["10-K", "4", "8-K/A"]


def test_forms_that_only_begin_like_ours_are_left_out():
    forms = ["10-K405", "10-KSB40/A", "10-QT", "8-K12B", "NT 10-K", "10-D", "10-12G", "11-K", "10-K405T", "8-K "]
    rows = [(1, "A", form, DAY, f"0000000001-24-{n:06}") for n, form in enumerate(forms)]
    assert [row.form for row in read_master(daily_index(DAY, rows), "x", ())] == ["10-K405", "10-KSB40/A", "10-QT", "8-K12B", "8-K"]


@pytest.mark.parametrize("body", [
    b"", b"<html><body>no</body></html>", BODY[:-1], BODY[:-40], BODY.replace(b"-" * 80, b""), BODY.replace(b"CIK|Company", b"KIC|Company"),
    BODY + b"1|ALPHA|10-K|20240301\n", BODY.replace(b"|20240301|", b"|20241301|"), BODY.replace(b"edgar/data/1/", b"../../etc/"),
    BODY.replace(b"\n1|ALPHA |", b"\nx|ALPHA |"), daily_index(DAY, []), BODY.replace(b"\n", b"\r")])
def test_what_is_no_whole_index_is_an_error_and_never_an_empty_day(body):
    with pytest.raises(FetchFailed) as caught:
        read_master(body, "master.idx", ())
    assert caught.value.subject == "master.idx" and caught.value.todo


def test_an_odd_row_of_a_form_that_is_not_ours_does_not_stop_the_day():
    body = BODY.replace(b"edgar/data/1/0000000001-24-000002.txt", b"edgar/data/1/paper.pdf")
    assert len(read_master(body, "x", {"0000000001"})) == 2


def test_a_quarter_that_has_just_begun_may_be_empty():
    assert read_master(full_index([]), "x", (), empty=True) == []


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(BODY) - 1))
def test_no_cut_of_an_index_is_read_as_whole_unless_it_ends_with_a_row(length):
    try:
        rows = read_master(BODY[:length], "x", ())
    except FetchFailed:
        return
    assert BODY[:length].endswith(b".txt\n") and rows == read_master(BODY, "x", ())[: len(rows)]


def test_recorded_indexes_of_edgar(shared):
    quarter = recorded(shared, "full-index/master.1993QTR4.idx")
    ours = [row for row in quarter.decode("latin-1").splitlines() if row.count("|") == 4 and row.split("|")[2] in FORMS]
    assert [f"{int(r.cik)}|{r.company}|{r.form}|{r.filed_on}|edgar/data/{int(r.cik)}/{r.accession}.txt"
            for r in read_master(quarter, "x", ())] == ours
    with pytest.raises(FetchFailed, match="cut"):  # the repository that recorded it kept a few rows and no last line end
        read_master(recorded(shared, "daily-index/master.20181231.idx"), "x", ())
    day = recorded(shared, "daily-index/master.20181231.idx") + b"\n"
    assert [(row.cik, row.form) for row in read_master(day, "x", ())] == [("0001000694", "8-K")]
    for other in ("daily-index/form.20200318.idx", "daily-index/company.20221003.idx", "full-index/form.2025QTR2-empty.idx",
                  "block/undeclared-automated-tool.html", "daily-index/2018-QTR4-listing.html"):
        with pytest.raises(FetchFailed, match="not an index"):
            read_master(recorded(shared, other), "x", ())


# -- days and quarters


def test_days_are_those_the_folder_lists(tmp_path):
    days = [date(2024, 1, 2), date(2024, 1, 4), date(2024, 3, 29)]
    with scripted_desk(tmp_path, {folder_path(days[0]): day_folder(*reversed(days), date(2024, 4, 1))}) as desk:
        assert list(published(desk.transport, desk.settings, Quarter(2024, 1))) == days
        with pytest.raises(FetchFailed) as caught:
            published(desk.transport, desk.settings, Quarter(2024, 2))
        assert caught.value.status == 404


@pytest.mark.parametrize("body", [b"[]", b"{}", b"{", b'{"directory": {"item": [{}]}}', b'{"directory": {"item": [{"name": 3}]}}',
                                  b"[" * 99_999])
def test_a_folder_of_another_form_is_an_error_and_not_without_days(tmp_path, body):
    with scripted_desk(tmp_path, {folder_path(DAY): body}) as desk, pytest.raises(FetchFailed):
        published(desk.transport, desk.settings, Quarter.of(DAY))


@given(st.dates(date(1993, 1, 1), date(2040, 1, 1)), st.dates(date(1993, 1, 1), date(2040, 1, 1)))
def test_quarters_hold_every_day_once_and_in_order(one, other):
    first, last = sorted((one, other))
    found = list(quarters(first, last))
    assert found == sorted(set(found)) and found[0].first_day <= first and last <= found[-1].last_day
    assert all(a.last_day < b.first_day and (b.first_day - a.last_day).days == 1 for a, b in zip(found, found[1:], strict=False))
    assert all(Quarter.of(q.first_day) == Quarter.of(q.last_day) == q for q in found)
