"""A filer's listing and the ticker map: over real HTTP, on recorded answers of EDGAR, and with what may come instead."""

from __future__ import annotations

import gzip
import inspect
import json
import threading
from datetime import date
from importlib.metadata import version

import pytest
from edgar_desk import columns, listing, noon, scripted_desk, submissions

from edgarmill.sample.corpus import write_corpus
from edgarmill.sample.replay import Limit, Reply, serving
from edgarmill.schemas.errors import FetchFailed
from edgarmill.schemas.records import Coverage
from edgarmill.workers.filing import FAMILIES
from edgarmill.workers.source.edgar.selection import listed_of
from edgarmill.workers.source.edgar.submissions import list_filer, ticker_map

NOW = noon(date(2026, 6, 1))
APPLE = "0000320193"
PAGES = [{"name": "CIK0000000001-submissions-001.json", "filingCount": 2, "filingFrom": "2010-01-05", "filingTo": "2012-03-01"},
         {"name": "CIK0000000001-submissions-002.json", "filingCount": 1, "filingFrom": "2001-01-05", "filingTo": "2009-12-01"}]
PAGED = {"/submissions/CIK0000000001.json": submissions(columns(("0000000001-13-000001", "10-K", "2013-03-01")), PAGES),
         "/submissions/" + PAGES[0]["name"]: json.dumps(columns(("0000000001-12-000001", "10-K", "2012-03-01"),
                                                                ("0000000001-10-000001", "8-K", "2010-01-05"))).encode(),
         "/submissions/" + PAGES[1]["name"]: json.dumps(columns(("0000000001-01-000001", "10-K405", "2001-01-05"))).encode()}
NAMES = ["CIK0000000001.json", *(page["name"] for page in PAGES)]


@pytest.fixture
def answers():
    return {}


@pytest.fixture
def desk(tmp_path, answers):
    with scripted_desk(tmp_path, answers) as desk:
        yield desk


@pytest.fixture
def recorded(shared, desk, answers):
    """EDGAR's own answers."""
    for path in (shared / "edgar_api" / "submissions").glob("*.gz"):
        answers["/submissions/" + path.name.removesuffix(".gz")] = gzip.decompress(path.read_bytes())
    answers["/files/company_tickers_exchange.json"] = gzip.decompress((shared / "edgar_api/company_tickers_exchange.json.gz").read_bytes())
    return desk


def listed(desk, cik="0000000001", **options):
    return list_filer(desk.transport, desk.settings, cik, NOW, **options)


def names(desk, run):
    return [path.rpartition("/")[2] for path in desk.counted(run)]


def by_hand(shared, *files) -> list[dict]:
    """Rows of recorded pages, put together without our code."""
    rows = []
    for name in files:
        value = json.loads(gzip.decompress((shared / "edgar_api" / "submissions" / f"{name}.json.gz").read_bytes()))
        found = value["filings"]["recent"] if "filings" in value else value
        rows += [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]
    return rows


# -- recorded answers of EDGAR


def test_recorded_pages_come_out_row_by_row(recorded, shared):
    found = listed(recorded, APPLE)
    rows = [row for row in by_hand(shared, "CIK0000320193", "CIK0000320193-submissions-001") if row["form"].removesuffix("/A") in FAMILIES]
    assert len(found.listings) == len(rows) > 250 and found.since is None
    for one, row in zip(found.listings, rows, strict=True):
        assert (one.accession, one.form, str(one.filed_on)) == (row["accessionNumber"], row["form"], row["filingDate"])
        assert str(one.period_on or "") == row["reportDate"] and ",".join(one.items) == row["items"]
        assert one.primary == row["primaryDocument"].rpartition("/")[2] and (one.size or 0) == row["size"]
        assert (one.accepted, one.file_number) == (row["acceptanceDateTime"], row["fileNumber"])
        assert (one.ciks, one.company, one.tickers, one.sic, one.state) == ((APPLE,), "Apple Inc.", ("AAPL",), "3571", "CA")
        assert (one.fiscal_year_end, one.found, one.listed_at) == ("0930", "filer", NOW)
    assert any(one.primary == "" for one in found.listings)  # the 1990s


def test_recorded_tickers_and_share_classes(recorded):
    tickers = ticker_map(recorded.transport, recorded.settings)
    assert tickers["AAPL"] == APPLE and tickers["BRK-B"] == tickers["BRK-A"] == "0001067983"
    assert tickers["GOOG"] == tickers["GOOGL"] and len(tickers) > 10_000
    assert recorded.asked() == ["/files/company_tickers_exchange.json"]


def test_the_replay_server_lists_every_filing_of_its_folder(tmp_path):
    corpus = write_corpus(tmp_path / "sample", 28, per_company=14)
    with scripted_desk(tmp_path, {}) as desk, serving(corpus.folder, page_size=5, limit=Limit(10_000)) as server:
        desk.settings = desk.settings.model_copy(update={"edgar_url": server.url, "edgar_data_url": server.url + "/"})
        found = listed(desk, "0009990001").listings
        assert [r.path for r in server.requests] == [f"/submissions/CIK0009990001{tail}.json"
                                                     for tail in ("", "-submissions-001", "-submissions-002")]
        assert len(found) == 14 and len({one.accession for one in found}) == 14
        data = desk.transport.get(listed_of(found[0], desk.settings).where)
        assert data == (tmp_path / "sample" / f"{found[0].accession}.txt").read_bytes() and found[0].size == len(data)


# -- pages


@pytest.mark.parametrize("since, pages", [
    (None, 3), (date(2013, 1, 1), 1), (date(2012, 3, 2), 1), (date(2012, 3, 1), 2), (date(2009, 12, 1), 3)])
def test_pages_that_end_before_the_window_are_not_asked_for(desk, answers, since, pages):
    answers.update(PAGED)
    assert names(desk, lambda: listed(desk, since=since)) == NAMES[:pages]


def test_pages_that_are_covered_are_not_asked_for_again(desk, answers):
    answers.update(PAGED)
    have = Coverage("0000000001", date(2010, 1, 1), date(2020, 1, 1), "filer", NOW)
    assert names(desk, lambda: listed(desk, have=have)) == [NAMES[0], NAMES[2]]
    assert listed(desk, have=have).since is None


def test_no_page_is_asked_for_beyond_what_is_enough_and_it_is_said_from_when_all_are_there(desk, answers):
    answers.update(PAGED)
    assert names(desk, lambda: listed(desk, enough=lambda rows: len(rows) >= 2)) == NAMES[:2]
    found = listed(desk, enough=lambda rows: len(rows) >= 2)
    assert found.since == date(2009, 12, 2) and len(found.listings) == 3


def test_a_filer_without_older_pages_may_leave_their_list_out(desk, answers):
    answers["/submissions/CIK0000000001.json"] = json.dumps({"name": "A", "filings": {"recent": columns()}}).encode()
    assert listed(desk).listings == ()


# -- rows


def test_columns_that_are_absent_are_empty(desk, answers):
    rows = columns(("0000000001-94-000001", "10-K405", "1994-03-01"))
    answers["/submissions/CIK0000000001.json"] = submissions(rows, tickers=None, name="")
    assert listed(desk).listings == (listing("0000000001-94-000001", "10-K405", "1994-03-01", company=None, listed_at=NOW),)


def test_forms_are_ours_or_of_a_filing_that_is_known(desk, answers):
    rows = [("0000000001-24-000001", "10-K/A", "2024-04-01"), ("0000000001-24-000002", "NT 10-K", "2024-02-01"),
            ("0000000001-24-000003", "10-12G", "2024-01-01"), ("0000000001-24-000004", "10-D", "2024-01-01")]
    answers["/submissions/CIK0000000001.json"] = submissions(columns(*rows))
    assert [one.form for one in listed(desk).listings] == ["10-K/A"]
    assert [one.form for one in listed(desk, known={"0000000001-24-000004"}).listings] == ["10-K/A", "10-D"]


@pytest.mark.parametrize("year_end, kept", [
    ("1231", "1231"), ("--12-31", "1231"), ("0000", None), ("1300", None), ("", None), (None, None), (930, None)])
def test_a_year_end_that_is_no_day_is_none(desk, answers, year_end, kept):
    rows = columns(("0000000001-94-000001", "10-K", "1994-03-01"))
    answers["/submissions/CIK0000000001.json"] = submissions(rows, fiscalYearEnd=year_end)
    assert listed(desk).listings[0].fiscal_year_end == kept


def test_the_name_of_a_rendered_view_is_that_of_the_file(desk, answers):
    rows = columns(("0000000001-24-000001", "10-K", "2024-03-01")) | {
        "primaryDocument": ["xslF345X05/../doc.xml"], "size": [0], "items": [" 2.02, ,9.01"]}
    answers["/submissions/CIK0000000001.json"] = submissions(rows)
    one = listed(desk).listings[0]
    assert (one.primary, one.size, one.items) == ("doc.xml", None, ("2.02", "9.01"))


UNEQUAL = columns(("0000000001-24-000001", "10-K", "2024-03-01")) | {"filingDate": []}


@pytest.mark.parametrize("body", [
    b"[]", b"{}", b"not json", b'{"filings": 3}', b'{"filings": {"recent": {}, "files": []}}', b"[" * 100_000,
    b'{"filings": {"recent": [], "files": [{}]}}', submissions(columns(), [{"name": "../../x"}]), submissions(columns(), [{"name": None}]),
    submissions(UNEQUAL), submissions(columns(("../../etc/passwd", "10-K", "2024-03-01"))),
    submissions(columns((None, "10-K", "2024-03-01"))), submissions(columns(("٠٠٠٠٠٠٠٠٠١-24-000001", "10-K", "2024-03-01"))),
    submissions(columns(("0000000001-24-000001", "10-K", ""))), submissions(columns(), name={}),
    submissions(columns(("0000000001-24-000001", "10-K", "2024-03-01")), stateOfIncorporation=["DE"]),
    submissions(columns(), [PAGES[0] | {"filingTo": "9999-12-31"}])])
def test_a_listing_of_another_form_is_an_error_and_not_a_shorter_list(desk, answers, body):
    answers["/submissions/CIK0000000001.json"] = Reply(200, body, "application/json")
    with pytest.raises(FetchFailed):
        listed(desk)


@pytest.mark.parametrize("body", [b"{}", b"[]", json.dumps(UNEQUAL).encode(), PAGED["/submissions/" + NAMES[1]][:-30]])
def test_an_older_page_of_another_form_fails_the_whole_filer(desk, answers, body):
    answers.update(PAGED | {"/submissions/" + NAMES[1]: body})
    with pytest.raises(FetchFailed):
        listed(desk)


def test_an_older_page_that_is_not_there_does_not_say_that_the_filer_is_not(desk, answers):
    answers.update(PAGED | {"/submissions/" + NAMES[1]: Reply(404)})
    with pytest.raises(FetchFailed, match="404") as caught:
        listed(desk)
    assert caught.value.status is None and NAMES[1] in caught.value.subject


def test_values_that_no_table_could_hold_are_made_ones_that_it_can(desk, answers):
    row = columns(("0000000001-24-000001", "10-K", "2024-03-01")) | {"size": [10**30], "primaryDocument": ["a\ud800.htm"]}
    answers["/submissions/CIK0000000001.json"] = submissions(row, name="A\udfff", sic=3571, stateOfIncorporation=5)
    [one] = listed(desk).listings
    assert (one.size, one.primary, one.company, one.sic, one.state) == (None, "a?.htm", "A?", "3571", "5")


def test_an_unknown_filer_is_told_by_its_status(desk):
    with pytest.raises(FetchFailed) as caught:
        listed(desk)
    assert caught.value.status == 404


# -- tickers


@pytest.mark.parametrize("value", [
    {"fields": ["cik", "name", "ticker", "exchange"], "data": [[320193, "Apple Inc.", "AAPL", "Nasdaq"], [1067983, "B", "brk.b", None]]},
    {"fields": ["ticker", "cik"], "data": [["AAPL", "0000320193"], ["BRK/B", "1067983"], [None, 7]]},
    {"0": {"cik_str": 320193, "ticker": "AAPL", "title": "Apple Inc."}, "1": {"cik_str": 1067983, "ticker": "BRK-B", "title": "B"}},
    {"0": {"cik_str": "0000320193", "ticker": "aapl"}, "7": {"cik_str": "0001067983", "ticker": "BRK-B"}}])
def test_ticker_files_in_every_form_that_is_met(desk, answers, value):
    answers["/files/company_tickers_exchange.json"] = json.dumps(value).encode()
    assert ticker_map(desk.transport, desk.settings) == {"AAPL": APPLE, "BRK-B": "0001067983"}


@pytest.mark.parametrize("body", [b"[]", b"{}", b"not json", b'{"fields": ["cik", "ticker"], "data": [[1]]}', b"[" * 100_000,
                                  b'{"fields": ["cik", "ticker"], "data": [["x", "A"]]}', b'{"fields": ["cik", "ticker"], "data": []}',
                                  b'{"0": {"ticker": "A"}}', b'{"0": 3}'])
def test_a_ticker_file_of_another_form_is_told(desk, answers, body):
    answers["/files/company_tickers_exchange.json"] = body
    with pytest.raises(FetchFailed, match="ticker"):
        ticker_map(desk.transport, desk.settings)


# -- the seam in sec-edgar-downloader


def test_the_package_has_the_names_that_are_used_and_gets_its_function_back(desk, answers):
    from sec_edgar_downloader import _constants, _sec_gateway

    assert version("sec-edgar-downloader").startswith("5.1.")
    theirs = _sec_gateway._call_sec
    assert list(inspect.signature(inspect.unwrap(theirs)).parameters) == ["uri", "user_agent", "host"]
    assert list(inspect.signature(_sec_gateway.get_list_of_available_filings).parameters) == ["uri", "user_agent"]
    assert list(inspect.signature(_sec_gateway.get_ticker_metadata).parameters) == ["user_agent"]
    assert _constants.URL_SUBMISSIONS == "https://data.sec.gov/submissions/{submission}"
    assert _sec_gateway.URL_CIK_MAPPING == "https://www.sec.gov/files/company_tickers_exchange.json"
    answers.update(PAGED)
    listed(desk)
    with pytest.raises(FetchFailed):
        ticker_map(desk.transport, desk.settings)
    assert _sec_gateway._call_sec is theirs


def test_threads_list_at_once_each_through_its_own_transport(tmp_path, answers):
    from sec_edgar_downloader import _sec_gateway

    theirs, found = _sec_gateway._call_sec, {}
    gate = threading.Barrier(4, timeout=20)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()

    def run(desk, name):
        gate.wait()
        found[name] = [listed(desk).listings[0].company for _ in range(5)]

    other = {"/submissions/CIK0000000001.json": submissions(columns(("0000000001-13-000001", "10-K", "2013-03-01")), name="B")}
    with scripted_desk(tmp_path / "a", {**PAGED}) as one, scripted_desk(tmp_path / "b", other) as two:
        threads = [threading.Thread(target=run, args=(desk, n)) for n, desk in enumerate((one, two, one, two))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {0: ["A"] * 5, 1: ["B"] * 5, 2: ["A"] * 5, 3: ["B"] * 5} and _sec_gateway._call_sec is theirs


def test_addresses_are_those_the_package_would_ask_for(desk):
    from sec_edgar_downloader import _orchestrator

    one = listed_of(listing(), desk.settings)
    theirs = _orchestrator.get_to_download("0000000001", one.filing.accession, "x.htm").raw_filing_uri
    assert one.where.removeprefix(desk.server.url) == theirs.removeprefix("https://www.sec.gov")
