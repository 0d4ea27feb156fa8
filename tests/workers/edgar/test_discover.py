"""What is asked of EDGAR, and that nothing it lists is missed, whatever happened on the nights before."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

import pytest
from edgar_desk import (
    columns,
    daily_index,
    daily_path,
    day_folder,
    folder_path,
    full_index,
    full_path,
    listing,
    noon,
    scripted_desk,
    selection,
    submissions,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from edgarmill.sample.corpus import write_corpus
from edgarmill.sample.replay import Limit, Reply, serving
from edgarmill.schemas.errors import Blocked, UnknownName
from edgarmill.schemas.records import Coverage
from edgarmill.workers.source.edgar.discover import Plan, joined_coverage, plan
from edgarmill.workers.source.edgar.indexes import Quarter
from edgarmill.workers.source.edgar.submissions import FORMS

DAY = timedelta(days=1)
ONE, TWO, THREE = "0000000001", "0000000002", "0000000003"
MANY = [f"{n:010}" for n in range(1, 10)]
FRIDAY, MONDAY, TUESDAY, WEDNESDAY = date(2024, 3, 1), date(2024, 3, 4), date(2024, 3, 5), date(2024, 3, 6)
THURSDAY = date(2024, 2, 29)
REFUSAL = b"<html><head><title>SEC.gov | Your Request Originates from an Undeclared Automated Tool</title></head></html>"


class Answers(dict[str, Any]):
    """What a server says by path; from the first request for `block_at` on it refuses everything."""

    block_at, blocked = "", False

    def get(self, path, default=None):
        self.blocked = self.blocked or path == self.block_at
        return Reply(403, REFUSAL) if self.blocked else super().get(path, default)


@pytest.fixture
def answers():
    return Answers()


@pytest.fixture
def desk(tmp_path, answers):
    with scripted_desk(tmp_path, answers) as desk:
        yield desk


def covered(*ciks: str, through: date, since: date | None = None) -> dict[str, Coverage]:
    return {cik: Coverage(cik, since, through, "filer", noon(through + DAY)) for cik in ciks}


def filer(cik: str, *rows: tuple[str, str, str]) -> dict[str, bytes]:
    return {f"/submissions/CIK{cik}.json": submissions(columns(*rows), name=f"FILER {int(cik)}")}


def days(*published: date, rows=()) -> dict[str, bytes]:
    """Daily indexes, each with a row of a filing filed that day by filer 1, and `rows` of (day, row) besides."""
    answers = {daily_path(day): daily_index(day, [(1, "A", "8-K", day, f"0000000001-24-{day:%m%d}00"),
                                                  *(row for on, row in rows if on == day)]) for day in published}
    folders = {folder_path(day): day_folder(*(d for d in published if Quarter.of(d) == Quarter.of(day))) for day in published}
    return answers | folders


def names(paths) -> list[str]:
    return sorted("/".join(path.split("/")[-2:]) for path in paths)


# -- what is asked


def test_a_filer_that_is_new_is_asked_and_then_covered_until_yesterday(desk, answers):
    answers |= filer(ONE, ("0000000001-24-000001", "10-K", "2024-03-01")) | filer(TWO)
    wanted = selection("1", "2", since=date(2020, 1, 1))
    assert sorted(desk.counted(lambda: desk.discover(wanted, noon(WEDNESDAY)))) == [f"/submissions/CIK{cik}.json" for cik in (ONE, TWO)]
    assert list(desk.known) == ["0000000001-24-000001"]
    assert desk.coverage == {cik: Coverage(cik, date(2020, 1, 1), TUESDAY, "filer", noon(WEDNESDAY)) for cik in (ONE, TWO)}


def test_a_night_without_news_costs_one_folder_and_one_index_for_a_thousand_filers(desk, answers):
    ciks = [f"{n:010}" for n in range(1, 1001)]
    answers |= days(FRIDAY, MONDAY)
    desk.coverage = covered(*ciks, through=date(2024, 3, 3))
    asked = desk.counted(lambda: desk.discover(selection(*ciks), noon(TUESDAY)))
    assert names(asked) == ["QTR1/index.json", "QTR1/master.20240304.idx"]
    assert {one.through for one in desk.coverage.values()} == {MONDAY}


def test_after_days_missed_each_published_day_is_read_once_and_gaps_are_not(desk, answers):
    ciks = [f"{n:010}" for n in range(1, 1001)]
    published = [date(2024, 3, 28), date(2024, 4, 1), date(2024, 4, 2)]  # the 29th was Good Friday, though a weekday
    answers |= days(*published)
    desk.coverage = covered(*ciks, through=date(2024, 3, 27))
    asked = desk.counted(lambda: desk.discover(selection(*ciks), noon(date(2024, 4, 3))))
    assert names(asked) == ["QTR1/index.json", "QTR1/master.20240328.idx", "QTR2/index.json", "QTR2/master.20240401.idx",
                            "QTR2/master.20240402.idx"]
    assert len(desk.known) == 3 and {one.through for one in desk.coverage.values()} == {date(2024, 4, 2)}
    assert names(desk.counted(lambda: desk.discover(selection(*ciks), noon(date(2024, 4, 3))))) == ["QTR2/index.json"]


def test_where_more_days_were_missed_than_there_are_filers_the_filers_are_asked(desk, answers):
    answers |= filer(ONE) | filer(TWO)
    desk.coverage = covered(ONE, TWO, through=FRIDAY)
    assert names(desk.counted(lambda: desk.discover(selection("1", "2"), noon(date(2024, 6, 3))))) == [
        f"submissions/CIK{cik}.json" for cik in (ONE, TWO)]


def test_one_filer_far_behind_is_asked_by_itself_and_costs_the_others_nothing(desk, answers):
    ciks = [f"{n:010}" for n in range(1, 101)]
    answers |= days(MONDAY) | filer(TWO)
    desk.coverage = covered(*ciks, through=FRIDAY) | covered(TWO, through=date(2023, 3, 1))
    asked = desk.counted(lambda: desk.discover(selection(*ciks), noon(TUESDAY)))
    assert names(asked) == ["QTR1/index.json", "QTR1/master.20240304.idx", f"submissions/CIK{TWO}.json"]


def test_a_wider_window_asks_again_and_a_narrower_does_not():
    coverage = covered(ONE, through=MONDAY, since=date(2020, 1, 1))
    for since, asked in ((date(2020, 1, 1), ()), (date(2022, 1, 1), ()), (date(2019, 12, 31), (ONE,)), (None, (ONE,))):
        assert plan(selection("1", since=since), {}, coverage, noon(TUESDAY)).filers == asked


def test_limits_that_are_met_need_no_wider_window():
    known = {f"0000000001-24-{n:06}": listing(f"0000000001-24-{n:06}", "8-K", f"2024-02-0{n}") for n in (1, 2, 3)}
    coverage = covered(ONE, through=MONDAY, since=date(2024, 2, 2))
    assert plan(selection("1", forms=("8-K:2",)), known, coverage, noon(TUESDAY)) == Plan((), (), TUESDAY)
    assert plan(selection("1", forms=("8-K:3",)), known, coverage, noon(TUESDAY)).filers == (ONE,)
    assert plan(selection("1", limit=2), known, coverage, noon(TUESDAY)).filers == ()


def test_asked_for_filers_every_filer_is_asked(desk, answers):
    answers |= filer(ONE)
    desk.coverage = covered(ONE, through=MONDAY)
    assert names(desk.counted(lambda: desk.discover(selection("1"), noon(TUESDAY), "filers"))) == [f"submissions/CIK{ONE}.json"]


@pytest.mark.parametrize("hour, day", [(3, FRIDAY), (5, date(2024, 3, 2))])
def test_a_day_ends_at_midnight_in_the_east(desk, answers, hour, day):
    """03:00 UTC of the second is still the first there."""
    answers |= filer(ONE)
    desk.discover(selection("1"), noon(date(2024, 3, 2)).replace(hour=hour))
    assert desk.coverage[ONE].through == day - DAY


# -- what is taken


def test_an_index_of_a_day_gives_filings_of_earlier_dates_and_no_other_filers(desk, answers):
    late = (1, "A", "10-K", date(2023, 7, 18), "0000000001-23-000001")
    other = (9, "Z", "10-K", MONDAY, "0000000009-24-000001")
    owner = (1, "A", "4", MONDAY, "0000000001-24-000004")
    answers |= days(MONDAY, rows=[(MONDAY, row) for row in (late, other, owner)])
    desk.coverage = covered(*MANY, through=FRIDAY)
    desk.discover(selection(*MANY[:8], since=date(2024, 1, 1)), noon(TUESDAY))
    assert set(desk.known) == {"0000000001-24-030400", "0000000001-23-000001"}
    one = desk.known["0000000001-23-000001"]
    assert (one.form, one.filed_on, one.company, one.found, one.period_on) == ("10-K", date(2023, 7, 18), "A", "daily", None)


def test_filers_of_one_filing_are_merged_and_it_is_listed_once(desk, answers):
    joint = "0000000001-24-000009"
    rows = [(cik, f"F{cik}", "8-K", MONDAY, joint) for cik in (1, 2, 9)]
    answers |= days(MONDAY, rows=[(MONDAY, row) for row in rows]) | filer(THREE, (joint, "8-K", "2024-03-04"))
    desk.coverage = covered(*(set(MANY) - {THREE, MANY[8]}), through=FRIDAY)
    found = desk.discover(selection(*MANY[:8]), noon(TUESDAY))
    assert desk.known[joint].ciks == (THREE, ONE, TWO, "0000000009")
    assert [one.accession for batch in found[1:] for one in batch.listings].count(joint) == 1


def test_what_a_filer_says_completes_what_an_index_said_and_is_not_undone_by_it(desk, answers):
    accession = "0000000001-24-030400"
    answers |= days(MONDAY)
    desk.coverage = covered(*MANY, through=FRIDAY)
    desk.discover(selection(*MANY), noon(TUESDAY))
    rows = columns((accession, "8-K", "2024-03-04")) | {"reportDate": ["2024-03-03"], "items": ["2.02"], "primaryDocument": ["a.htm"]}
    for cik in MANY[1:]:
        answers |= filer(cik)
    answers["/submissions/CIK0000000001.json"] = submissions(rows, name="NAME OF TODAY", fiscalYearEnd="1231")
    desk.discover(selection(*MANY), noon(TUESDAY), "filers")
    one = desk.known[accession]
    assert (one.company, one.period_on, one.items, one.primary, one.fiscal_year_end, one.found) == (
        "A", date(2024, 3, 3), ("2.02",), "a.htm", "1231", "filer")
    assert one.listed_at == noon(TUESDAY)
    desk.coverage = covered(*MANY, through=FRIDAY)
    assert [batch.listings for batch in desk.discover(selection(*MANY), noon(TUESDAY))] == [()]
    assert desk.known[accession] == one and not desk.events


def test_a_form_that_changes_is_told_once_and_the_later_word_holds(desk, answers):
    accession = "0000000001-24-030100"
    for cik in MANY:
        answers |= filer(cik, *[(accession, "8-K", "2024-03-01")] * (cik == ONE))
    desk.discover(selection(*MANY), noon(MONDAY))
    answers |= days(MONDAY, rows=[(MONDAY, (1, "A", "8-K12B", FRIDAY, accession))])
    desk.discover(selection(*MANY), noon(TUESDAY))
    assert desk.known[accession].form == "8-K12B"
    assert [(e.accession, e.kind, e.before, e.after) for e in desk.events] == [
        (accession, "relisted", "8-K 2024-03-01", "8-K12B 2024-03-01")]
    desk.discover(selection(*MANY), noon(TUESDAY))
    assert len(desk.events) == 1


def test_an_old_day_that_is_read_again_for_another_filer_undoes_nothing(desk, answers):
    """Filer 1 was asked after its form changed; filer 2 lags, so that the days before are read again."""
    accession = "0000000001-24-000007"
    answers |= days(FRIDAY, MONDAY, TUESDAY, rows=[(FRIDAY, (1, "A", "10-K", FRIDAY, accession))])
    desk.known = {accession: listing(accession, "10-KT", "2024-03-01")}
    desk.coverage = covered(*MANY, through=FRIDAY - DAY) | covered(ONE, through=TUESDAY)
    desk.discover(selection(*MANY), noon(WEDNESDAY))
    assert desk.known[accession].form == "10-KT" and not desk.events
    assert {one.through for one in desk.coverage.values()} == {TUESDAY}


# -- what fails


def test_a_filer_that_fails_is_told_and_stays_uncovered_and_the_others_go_on(desk, answers):
    answers |= filer(ONE) | {f"/submissions/CIK{TWO}.json": b"not json"}
    desk.known = {"0000000002-24-000001": listing("0000000002-24-000001", ciks=(TWO,))}
    desk.discover(selection("1", "2"), noon(TUESDAY))
    assert set(desk.coverage) == {ONE} and len(desk.said) == 1 and TWO in desk.said[0]
    assert set(desk.known) == {"0000000002-24-000001"}
    answers |= filer(TWO)
    asked = desk.counted(lambda: desk.discover(selection("1", "2"), noon(TUESDAY)))
    assert [path for path in asked if "submissions" in path] == [f"/submissions/CIK{TWO}.json"] and set(desk.coverage) == {ONE, TWO}


def test_a_filer_that_was_listed_before_is_not_unknown_for_one_404(desk, answers):
    answers |= filer(ONE)
    desk.coverage = covered(ONE, TWO, through=FRIDAY)
    found = desk.discover(selection("1", "2"), noon(TUESDAY), "filers")
    assert found[-1].unread == (f"filer {TWO}",) and desk.coverage[TWO].through == FRIDAY


def test_an_older_page_that_is_not_there_leaves_its_filer_unread(desk, answers):
    page = {"name": f"CIK{TWO}-submissions-001.json", "filingFrom": "2001-01-01", "filingTo": "2024-02-01"}
    answers |= filer(ONE) | {f"/submissions/CIK{TWO}.json": submissions(columns(), [page])}
    assert desk.discover(selection("1", "2"), noon(TUESDAY))[-1].unread == (f"filer {TWO}",) and set(desk.coverage) == {ONE}


def test_coverage_written_while_the_clock_was_ahead_counts_for_nothing(desk, answers):
    """Else no day would be read until that date, and nobody told."""
    answers |= filer(ONE, ("0000000001-24-000001", "10-K", "2024-03-01"))
    desk.coverage = covered(ONE, through=date(2025, 3, 3))
    desk.discover(selection("1"), noon(TUESDAY))
    assert desk.coverage[ONE].through == MONDAY and list(desk.known) == ["0000000001-24-000001"]


def test_a_filer_edgar_does_not_know_is_told_and_an_error_where_it_is_all_that_is_asked(desk, answers):
    answers |= filer(ONE)
    desk.discover(selection("1", "42"), noon(TUESDAY))
    assert "0000000042" in desk.said[0]
    with pytest.raises(UnknownName, match="0000000042"):
        desk.discover(selection("42"), noon(TUESDAY))


@pytest.mark.parametrize("answer", [
    b"", b"<html>sorry</html>", days(MONDAY)[daily_path(MONDAY)][:-1], daily_index(MONDAY, []), Reply(404), Reply(403, b"no"), Reply(500),
    Reply(200, days(MONDAY)[daily_path(MONDAY)], cut=100)])
def test_a_day_that_cannot_be_read_ends_it_there_and_the_next_run_goes_on_from_it(desk, answers, answer):
    answers |= days(FRIDAY, MONDAY, TUESDAY)
    whole, answers[daily_path(MONDAY)] = answers[daily_path(MONDAY)], answer
    desk.coverage = covered(*(f"{n:010}" for n in range(1, 10)), through=FRIDAY - DAY)
    wanted = selection(*desk.coverage)
    desk.discover(wanted, noon(WEDNESDAY))
    assert {one.through for one in desk.coverage.values()} == {FRIDAY} and any("2024-03-04" in line for line in desk.said)
    answers[daily_path(MONDAY)] = whole
    desk.discover(wanted, noon(WEDNESDAY))
    assert {one.through for one in desk.coverage.values()} == {TUESDAY} and len(desk.known) == 3


@pytest.mark.parametrize("status", [403, 404])
def test_the_folder_of_a_quarter_just_begun_may_be_absent(desk, answers, status):
    answers |= days(date(2024, 3, 28)) | {folder_path(date(2024, 4, 1)): Reply(status, b"no")}
    desk.coverage = covered(*MANY, through=date(2024, 3, 27))
    desk.discover(selection(*MANY), noon(date(2024, 4, 2)))
    assert {one.through for one in desk.coverage.values()} == {date(2024, 3, 28)} and not desk.said


@pytest.mark.parametrize("answer", [Reply(404), Reply(500), b"{}", b"<html></html>"])
def test_no_day_behind_a_folder_that_cannot_be_read_counts(desk, answers, answer):
    answers |= days(date(2024, 3, 28), date(2024, 4, 1)) | {folder_path(date(2024, 3, 28)): answer}
    desk.coverage = covered(*MANY, through=date(2024, 3, 27))
    desk.discover(selection(*MANY), noon(date(2024, 4, 2)))
    assert {one.through for one in desk.coverage.values()} == {date(2024, 3, 27)} and "quarter 1" in desk.said[0]


def test_a_filer_far_behind_that_fails_stays_behind_when_days_are_read(desk, answers):
    answers |= days(MONDAY)
    desk.coverage = covered(*MANY, through=FRIDAY) | covered(TWO, through=date(2023, 3, 1))
    desk.discover(selection(*MANY), noon(TUESDAY))
    assert desk.coverage[TWO].through == date(2023, 3, 1) and desk.coverage[ONE].through == MONDAY


def test_todays_index_is_read_when_it_is_there_and_again_tomorrow(desk, answers):
    answers |= days(MONDAY)
    desk.coverage = covered(*MANY, through=date(2024, 3, 3))
    desk.discover(selection(*MANY), noon(MONDAY))
    assert len(desk.known) == 1 and {one.through for one in desk.coverage.values()} == {date(2024, 3, 3)}
    answers |= days(MONDAY, rows=[(MONDAY, (2, "B", "8-K", MONDAY, "0000000002-24-000001"))])
    desk.discover(selection(*MANY), noon(TUESDAY))
    assert len(desk.known) == 2 and {one.through for one in desk.coverage.values()} == {MONDAY}


def test_a_block_ends_the_run_after_what_was_found(desk, answers):
    ciks = [f"{n:010}" for n in range(1, 61)]
    for cik in ciks:
        answers |= filer(cik, (f"{cik}-24-000001", "8-K", "2024-03-01"))
    answers.block_at = f"/submissions/CIK{ciks[-1]}.json"
    with pytest.raises(Blocked):
        desk.discover(selection(*ciks), noon(TUESDAY))
    assert len(desk.known) == len(desk.coverage) >= 50


def test_a_block_among_days_keeps_the_days_before_it(desk, answers):
    answers |= days(FRIDAY, MONDAY)
    answers.block_at = daily_path(MONDAY)
    desk.coverage = covered(*MANY, through=FRIDAY - DAY)
    with pytest.raises(Blocked):
        desk.discover(selection(*MANY), noon(TUESDAY))
    assert {one.through for one in desk.coverage.values()} <= {FRIDAY, FRIDAY - DAY}


def test_a_daily_index_that_came_late_is_read_though_later_days_were(desk, answers):
    """Thursday's index was written on Saturday, when Friday had been read: nothing else would ever show its rows."""
    late = (1, "A", "8-K", THURSDAY, "0000000001-24-000009")
    answers |= days(THURSDAY, FRIDAY, MONDAY) | {daily_path(THURSDAY): daily_index(THURSDAY, [late])}
    folder = json.loads(answers[folder_path(MONDAY)])
    for item in folder["directory"]["item"]:
        if f"{THURSDAY:%Y%m%d}" in item["name"]:
            item["last-modified"] = f"{FRIDAY + 2 * DAY} 09:00:00"
    answers[folder_path(MONDAY)] = json.dumps(folder).encode()
    desk.coverage = covered(*MANY, "0000000001", through=FRIDAY)
    desk.discover(selection(*MANY, "1"), noon(TUESDAY))
    assert late[4] in desk.known and {one.through for one in desk.coverage.values()} == {MONDAY}
    before = len(desk.asked())
    desk.discover(selection(*MANY, "1"), noon(TUESDAY))
    assert desk.asked()[before:] == [folder_path(TUESDAY)]  # once


# -- the full index


def quarter_rows(*rows) -> dict[str, bytes]:
    """Full indexes of the quarters of these rows, and an empty daily folder for the days after."""
    by_quarter: dict[str, list] = {}
    for row in rows:
        by_quarter.setdefault(full_path(row[3]), []).append(row)
    return {path: full_index(found) for path, found in by_quarter.items()}


def test_closed_quarters_are_read_whole_and_the_open_one_by_days(desk, answers):
    old = (1, "A", "10-K405", date(2023, 11, 1), "0000000001-23-000001")
    new = (1, "A", "10-Q", date(2024, 2, 1), "0000000001-24-000001")
    answers |= quarter_rows(old, new) | days(date(2024, 4, 1))
    ciks = [f"{n:010}" for n in range(1, 100)]
    asked = desk.counted(lambda: desk.discover(selection(*ciks, since=date(2023, 10, 1)), noon(date(2024, 4, 9)), "full"))
    assert names(asked) == ["QTR1/master.idx", "QTR2/index.json", "QTR2/master.20240401.idx", "QTR4/master.idx"]
    assert len(desk.known) == 3 and desk.known[old[4]].found == "full"
    assert desk.coverage[ciks[50]] == Coverage(ciks[50], date(2023, 10, 1), date(2024, 4, 1), "daily", noon(date(2024, 4, 9)))


def test_a_quarter_that_closed_this_week_is_not_taken_for_final():
    wanted = selection("1", since=date(2024, 1, 1))
    assert plan(wanted, {}, {}, noon(date(2024, 4, 5)), "full").quarters == ()
    assert plan(wanted, {}, {}, noon(date(2024, 4, 7)), "full").quarters == (Quarter(2024, 1),)
    assert len(plan(selection("1"), {}, {}, noon(date(2024, 4, 7)), "full").quarters) == 4 * 31 + 1


def test_a_closed_quarter_tells_what_changed_and_what_is_gone_and_takes_nothing_away(desk, answers):
    kept, moved, retyped, gone = (f"0000000001-24-00000{n}" for n in range(4))
    desk.known = {a: listing(a, "10-Q", "2024-02-01") for a in (kept, retyped, gone)}
    other = listing("0000000009-24-000001", ciks=("0000000009",))
    desk.known |= {moved: listing(moved, "8-K", "2024-04-01"), other.accession: other}
    answers |= quarter_rows((1, "A", "10-Q", date(2024, 2, 1), kept), (1, "A", "8-K", date(2024, 3, 28), moved),
                            (1, "A", "10-D", date(2024, 2, 1), retyped), (2, "B", "8-K", date(2024, 6, 3), "0000000002-24-000001"))
    answers |= filer(ONE)
    desk.discover(selection("1", since=date(2024, 1, 1)), noon(date(2024, 7, 9)), "full")
    assert {(e.accession, e.kind, e.before) for e in desk.events} == {
        (moved, "relisted", "8-K 2024-04-01"), (retyped, "relisted", "10-Q 2024-02-01"), (gone, "unlisted", "10-Q 2024-02-01")}
    assert desk.known[moved].filed_on == date(2024, 3, 28) and desk.known[retyped].form == "10-D" and len(desk.known) == 5


def test_a_quarter_that_cannot_be_read_leaves_what_lies_before_it_uncovered(desk, answers):
    rows = [(1, "A", "10-Q", Quarter(2023, n).first_day, f"0000000001-23-00000{n}") for n in (1, 2, 3, 4)]
    answers |= quarter_rows(*rows) | {full_path(date(2023, 4, 1)): b"<html></html>"} | filer(ONE)
    desk.discover(selection(*MANY, since=date(2023, 1, 1)), noon(date(2024, 1, 9)), "full")
    assert "2023 quarter 2" in desk.said[0] and len(desk.known) == 3 and not desk.events
    assert desk.coverage[TWO] == Coverage(TWO, date(2023, 7, 1), date(2023, 12, 31), "full", noon(date(2024, 1, 9)))
    assert desk.coverage[ONE].since == date(2023, 1, 1) and desk.coverage[ONE].found == "filer"  # those that answered were asked


# -- coverage


def test_coverage_that_meets_is_one_and_what_does_not_serve_gives_way():
    def span(since, through):
        return Coverage(ONE, since, through, "filer", noon(through))

    a, b = span(date(2020, 1, 1), date(2021, 1, 1)), span(date(2021, 1, 2), date(2022, 1, 1))
    assert joined_coverage(a, b, None) == replace(b, since=a.since) and joined_coverage(b, a, None).through == b.through
    assert joined_coverage(a, span(None, date(2020, 6, 1)), None) == replace(span(None, date(2020, 6, 1)), through=a.through)
    far = span(date(2023, 1, 1), date(2024, 1, 1))
    assert joined_coverage(a, far, date(2023, 6, 1)) == far and joined_coverage(far, a, date(2020, 6, 1)) == a


# -- the replay server


def test_nightly_runs_against_the_replay_server_find_every_filing_by_one_index_a_day(tmp_path):
    corpus = write_corpus(tmp_path / "sample", 28, per_company=14)
    with scripted_desk(tmp_path, {}) as desk, serving(corpus.folder, page_size=5, limit=Limit(10_000)) as server:
        desk.settings = desk.settings.model_copy(update={"edgar_url": server.url, "edgar_data_url": server.url})
        entries = sorted(server.everything.entries.values(), key=lambda entry: entry.filed)
        first, last = (date.fromisoformat(entries[n].filed) for n in (-8, -1))
        weekdays = [first + n * DAY for n in range(-1, (last - first).days + 8) if (first + n * DAY).weekday() < 5]
        late = {entries[-5].accession: weekdays[-1]}  # published long after its filing date
        wanted = selection("9990001", "9990002")
        for today in weekdays:
            server.show(until=today, days=weekdays, published=late)
            before = len(server.requests)
            desk.discover(wanted, noon(today).replace(hour=9))
            asked = [request.path for request in server.requests[before:]]
            if today != weekdays[0]:
                assert not any("submissions" in path for path in asked) and sum("master" in path for path in asked) == 2  # and today's
        desk.discover(wanted, noon(weekdays[-1] + 3 * DAY))
        assert {a: (one.form, f"{one.filed_on:%Y%m%d}") for a, one in desk.known.items()} == {
            entry.accession: (entry.form, entry.filed) for entry in entries}
        assert not desk.said and not desk.events


# -- whatever happened


@dataclass(frozen=True)
class Row:
    """A filing as published on a day: perhaps again, under another form."""

    number: int
    ciks: tuple[int, ...]
    form: str
    filed: date
    published: date

    @property
    def accession(self) -> str:
        return f"0000000001-24-{self.number:06}"


START, END = date(2024, 3, 11), date(2024, 4, 19)
WEEKDAYS = [START + n * DAY for n in range((END - START).days + 1) if (START + n * DAY).weekday() < 5]
ROWS = st.builds(lambda n, ciks, form, lag, day: Row(n, ciks, form, day - lag * DAY, day), st.integers(1, 30),
                 st.sampled_from([(1,), (2,), (3,), (1, 2), (3, 9), (9,)]), st.sampled_from(["10-K", "8-K", "10-Q/A", "4"]),
                 st.one_of(st.just(0), st.integers(0, 200)), st.sampled_from(WEEKDAYS))
FAULTS = st.sampled_from([None, None, "day", "folder", "filer"])


def world(rows: list[Row], holidays: set[date], today: date) -> dict[str, bytes]:
    """What EDGAR answers at noon of `today`: indexes of the days before; filers' lists are up to the minute."""
    answers: dict[str, bytes] = {}
    published = [day for day in WEEKDAYS if day < today and day not in holidays]
    for day in published:
        found = [(cik, "A", r.form, r.filed, r.accession) for r in rows if r.published == day for cik in r.ciks]
        answers[daily_path(day)] = daily_index(day, [(999, "ANY", "4", day, "0000000999-24-000001"), *found])
        answers[folder_path(day)] = day_folder(*(d for d in published if Quarter.of(d) == Quarter.of(day)))
    now = {row.number: row for row in rows if row.published < today or (row.published == today and row.number % 2)}
    for cik in (1, 2, 3):
        mine = [(row.accession, row.form, str(row.filed)) for row in now.values() if cik in row.ciks]
        answers[f"/submissions/CIK{cik:010}.json"] = submissions(columns(*mine))
    return answers


def true_rows(rows: list[Row]) -> dict[str, tuple]:
    """Accession to form, date and filers as the full index has them in the end, of our filers and forms."""
    last = {row.number: row for row in rows}
    first = [row for row in rows if row.form in FORMS]
    return {row.accession: (row.form, row.filed, {f"{cik:010}" for cik in row.ciks}) for row in last.values()
            if set(row.ciks) & {1, 2, 3} and any(r.number == row.number for r in first)}


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """One server for all examples."""
    answers: dict[str, bytes | Reply] = {}
    with scripted_desk(tmp_path_factory.mktemp("discover"), answers) as desk:
        yield desk, answers


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(ROWS, max_size=25), holidays=st.sets(st.sampled_from(WEEKDAYS), max_size=4),
       nights=st.lists(st.tuples(st.sampled_from(WEEKDAYS), FAULTS, st.sampled_from(["auto", "auto", "auto", "filers"]),
                                 st.sampled_from([(1,), (1, 2), (1, 2, 3)])), max_size=12))
def test_whatever_nights_ran_or_failed_in_the_end_every_filing_is_listed(standing, rows, holidays, nights):
    desk, answers = standing
    open_days = [day for day in WEEKDAYS if day not in holidays]
    rows = one_filing_each([replace(row, published=next(day for day in open_days if day >= row.published))
                            for row in rows if row.published <= open_days[-1]])
    desk.known, desk.coverage, desk.events, desk.said = {}, {}, [], []
    before: dict[str, object] = {}
    for today, fault, how, ciks in [*sorted(nights, key=lambda night: night[0]), (END + 3 * DAY, None, "auto", (1, 2, 3))]:
        answers.clear()
        answers.update(world(rows, holidays, today))
        spoil(answers, fault)
        desk.discover(selection(*map(str, ciks)), noon(today), how)
        assert before.keys() <= desk.known.keys()  # nothing is ever taken away
        before = dict(desk.known)
    expected = true_rows(rows)
    assert {a: (one.form, one.filed_on, set(one.ciks) & {ONE, TWO, THREE}) for a, one in desk.known.items()} == {
        a: (form, filed, ciks & {ONE, TWO, THREE}) for a, (form, filed, ciks) in expected.items()}


def one_filing_each(rows: list[Row]) -> list[Row]:
    """Rows of one number are one filing: its filers stay, and its form only changes within ours, on a later day."""
    kept: dict[int, Row] = {}
    found = []
    for row in sorted(rows, key=lambda r: r.published):
        first = kept.get(row.number)
        if first is None:
            kept[row.number] = row
            found.append(row)
        elif row.published > kept[row.number].published and first.form in FORMS and row.form in FORMS:
            kept[row.number] = replace(row, ciks=first.ciks, filed=first.filed)
            found.append(kept[row.number])
    return found


def spoil(answers: dict, fault: str | None) -> None:
    """One day, folder or filer cannot be read that night."""
    parts = {"day": "master.", "folder": "index.json", "filer": "/submissions/"}
    paths = [path for path in answers if fault and parts[fault] in path]
    if paths:
        answers[paths[len(paths) // 2]] = b"<html>out of order</html>"


@given(st.dates(date(2000, 1, 1), date(2030, 1, 1)), st.integers(0, 400))
def test_days_of_a_plan_reach_back_to_the_one_that_is_furthest_behind_or_it_is_asked(day, behind):
    coverage = covered(ONE, through=day) | covered(TWO, through=day - behind * DAY)
    found = plan(selection("1", "2"), {}, coverage, noon(day + 3 * DAY))
    for cik, one in coverage.items():
        assert cik in found.filers or (found.days_from is not None and found.days_from <= one.through + DAY)
