"""EDGAR as a source over real HTTP: the sample through the replay server, and recorded answers of EDGAR itself."""

from __future__ import annotations

import gzip
import inspect
import json
from datetime import date
from importlib.metadata import version
from pathlib import Path

import pytest

from edgarmill.sample.corpus import write_corpus
from edgarmill.sample.replay import Limit, Reply, serving
from edgarmill.schemas.errors import BadFile, FetchFailed, UnknownName, UsageError
from edgarmill.schemas.records import Filing
from edgarmill.schemas.settings import Settings
from edgarmill.workers.filing import FAMILIES, describe
from edgarmill.workers.source.edgar import Selection, fetch, list_filings
from edgarmill.workers.source.listed import Listed
from edgarmill.workers.transport import Transport


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("edgar"), 28, per_company=14)


class Desk:
    """A server over a folder and a transport to it, whose time passes by sleeping only."""

    def __init__(self, server, folder):
        self.server, self.now = server, 1_700_000_000.0
        self.settings = Settings(user_agent="Test Company test@company.example", edgar_url=server.url + "/", edgar_data_url=server.url)
        self.transport = Transport(self.settings, clock=lambda: self.now, sleep=self.pass_time, jitter=lambda: 0.5, pace_folder=str(folder))

    def pass_time(self, seconds):
        self.now += seconds

    def list(self, **selection):
        return list(list_filings(self.transport, self.settings, Selection(**selection)))

    def fetch(self, listed):
        return fetch(listed, self.transport)

    def asked(self):
        return [request.path for request in self.server.requests]


@pytest.fixture
def desk(corpus, tmp_path):
    with serving(corpus.folder, page_size=5, limit=Limit(10_000)) as server:
        yield Desk(server, tmp_path)


@pytest.fixture
def scripted(tmp_path):
    """A desk whose server gives what a table of paths says."""
    answers: dict[str, Reply] = {}
    folder = tmp_path / "none"
    folder.mkdir()
    with serving(folder, limit=Limit(10_000), script=lambda request: answers.get(request.path)) as server:
        yield Desk(server, tmp_path), answers


@pytest.fixture
def recorded(shared, scripted):
    """EDGAR's own answers, as recorded."""
    desk, answers = scripted
    for path in (shared / "edgar_api" / "submissions").glob("*.gz"):
        answers["/submissions/" + path.name.removesuffix(".gz")] = Reply(200, gzip.decompress(path.read_bytes()), "application/json")
    for name in ("company_tickers.json", "company_tickers_exchange.json"):
        answers["/files/" + name] = Reply(200, gzip.decompress((shared / "edgar_api" / f"{name}.gz").read_bytes()), "application/json")
    return desk


def by_hand(shared, *names) -> list[dict]:
    """Rows of recorded pages, put together without our code."""
    rows = []
    for name in names:
        value = json.loads(gzip.decompress((shared / "edgar_api" / "submissions" / f"{name}.json.gz").read_bytes()))
        columns = value["filings"]["recent"] if "filings" in value else value
        rows += [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return rows


# -- the sample, end to end


def test_what_is_listed_and_fetched_is_every_filing_of_the_folder(desk, corpus):
    listed = desk.list(tickers=corpus.tickers)
    assert len(listed) == 28 and not any(one.error for one in listed)
    for one in listed:
        assert desk.fetch(one) == Path(corpus.folder, f"{one.filing.accession}.txt").read_bytes()


def test_the_record_of_a_filing_holds_all_that_the_listing_says(desk, corpus):
    filing = next(one.filing for one in desk.list(tickers=("albr",)) if one.filing.form == "8-K" and "2.02" in one.filing.items)
    text = Path(corpus.folder, f"{filing.accession}.txt").read_text(encoding="utf-8")
    assert (filing.source, filing.family, filing.amends, filing.items) == ("edgar", "8-K", False, ("2.02", "9.01"))
    assert (filing.ciks, filing.company, filing.tickers) == (("0009990001",), "ALDERBRIDGE CORPORATION", ("ALBR",))
    assert (filing.sic, filing.state, filing.fiscal_year_end) == ("3561", "DE", "1231")
    assert f"FILED AS OF DATE:\t\t{filing.filed_on:%Y%m%d}" in text and f"CONFORMED PERIOD OF REPORT:\t{filing.period_on:%Y%m%d}" in text
    assert f"<FILENAME>{filing.name}\n" in text
    assert (filing.url, filing.accepted_at, filing.bytes) == (None, None, 0)  # the open stage knows them better


def test_tickers_and_ciks_name_the_same_filer_once(desk):
    assert desk.list(tickers=("ALBR",), ciks=("9990001", "0009990001")) == desk.list(tickers=(" albr ",))
    assert len(desk.list(ciks=("9990001", "9990002"))) == 28


@pytest.mark.parametrize("forms, expected", [(("10-K",), {"10-K": 3}), (("10-Q",), {"10-Q": 5}), (("8-K",), {"8-K": 6}),
                                             (("10-K", "8-K"), {"10-K": 3, "8-K": 6}),
                                             (("10-KT",), {}), (("4",), {})])
def test_forms_are_taken_by_name(desk, forms, expected):
    found = [one.filing.form for one in desk.list(tickers=("ALBR",), forms=forms)]
    assert {form: found.count(form) for form in found} == expected


def test_a_window_of_dates_holds_both_ends_and_leaves_pages_outside_it_unasked(desk):
    dates = [one.filing.filed_on for one in desk.list(ciks=("9990001",))]
    assert dates == sorted(dates, reverse=True)
    before = len(desk.asked())
    newest = desk.list(ciks=("9990001",), since=dates[2])
    assert [one.filing.filed_on for one in newest] == dates[:3]
    assert desk.asked()[before:] == ["/submissions/CIK0009990001.json"]
    oldest = desk.list(ciks=("9990001",), until=dates[-2])
    assert [one.filing.filed_on for one in oldest] == dates[-2:]
    assert desk.asked()[-2:] == ["/submissions/CIK0009990001.json", "/submissions/CIK0009990001-submissions-002.json"]


def test_a_limit_is_per_filer_newest_first_and_asks_for_no_page_beyond_it(desk):
    listed = desk.list(ciks=("9990001", "9990002"), limit=3)
    assert [one.filing.ciks[0] for one in listed] == ["0009990001"] * 3 + ["0009990002"] * 3
    assert not any("-submissions-" in path for path in desk.asked())


def test_listing_is_lazy(desk):
    assert next(iter(list_filings(desk.transport, desk.settings, Selection(ciks=("9990001", "9990002"))))).filing.ciks == ("0009990001",)
    assert desk.asked() == ["/submissions/CIK0009990001.json"]


def test_unknown_names_are_told_by_name(desk):
    with pytest.raises(UnknownName, match="ZZZZ"):
        desk.list(tickers=("ALBR", "ZZZZ"))
    assert not any(path.startswith("/submissions") for path in desk.asked())
    with pytest.raises(UnknownName, match="0000000042"):
        desk.list(ciks=("42",))


@pytest.mark.parametrize("selection", [{}, {"ciks": ("AAPL",)}, {"ciks": ("12345678901",)}, {"ciks": ("../../x",)}])
def test_selections_that_name_no_filer_are_refused(desk, selection):
    with pytest.raises(UsageError):
        desk.list(**selection)


# -- hostile and broken answers


def rows_of(*filings) -> bytes:
    """A submissions answer with these (accession, form, date)."""
    columns = {"accessionNumber": [f[0] for f in filings], "form": [f[1] for f in filings], "filingDate": [f[2] for f in filings]}
    return json.dumps({"cik": "1", "name": "A", "tickers": ["A"], "filings": {"recent": columns, "files": []}}).encode()


def test_columns_that_are_absent_are_empty(scripted):
    desk, answers = scripted
    answers["/submissions/CIK0000000001.json"] = Reply(200, rows_of(("0000000001-94-000001", "10-K405", "1994-03-01")))
    filing = desk.list(ciks=("1",))[0].filing
    assert (filing.form, filing.family, filing.name, filing.period_on, filing.items) == ("10-K405", "10-K", "", None, ())


def test_amendments_are_their_own_filings_and_may_be_left_out(scripted):
    desk, answers = scripted
    answers["/submissions/CIK0000000001.json"] = Reply(200, rows_of(
        ("0000000001-24-000001", "10-K", "2024-03-01"), ("0000000001-24-000002", "10-K/A", "2024-04-01"),
        ("0000000001-24-000003", "NT 10-K", "2024-02-01"),
        ("0000000001-24-000004", "10-12G", "2024-01-01"), ("0000000001-24-000005", "10-D", "2024-01-01"),
        ("0000000001-24-000006", "11-K", "2024-01-01")))
    found = [one.filing for one in desk.list(ciks=("1",))]
    assert [(f.form, f.amends, f.family) for f in found] == [("10-K", False, "10-K"), ("10-K/A", True, "10-K")]
    assert [one.filing.form for one in desk.list(ciks=("1",), amendments=False)] == ["10-K"]
    assert [one.filing.form for one in desk.list(ciks=("1",), forms=("10-K/A",), amendments=False)] == ["10-K/A"]


def test_one_accession_of_two_filers_is_listed_once(scripted):
    desk, answers = scripted
    for cik in ("1", "2"):
        answers[f"/submissions/CIK000000000{cik}.json"] = Reply(200, rows_of(("0000000009-24-000001", "8-K", "2024-03-01")))
    assert len(desk.list(ciks=("1", "2"))) == 1


@pytest.mark.parametrize("row", [("../../etc/passwd", "10-K", "2024-03-01"), ("0000000001-24-00001", "10-K", "2024-03-01"),
                                 (None, "10-K", "2024-03-01")])
def test_a_row_without_a_true_accession_makes_no_address(scripted, row):
    desk, answers = scripted
    answers["/submissions/CIK0000000001.json"] = Reply(200, rows_of(row))
    assert desk.list(ciks=("1",)) == []


@pytest.mark.parametrize("body", [b"[]", b"{}", b"not json", b'{"filings": 3}', b'{"filings": {"recent": {}, "files": []}}',
                                  b'{"filings": {"recent": [], "files": [{}]}}',
                                  b"[" * 100_000, b'{"filings": {"recent": {"accessionNumber": []}, "files": [{"name": "../../x"}]}}'])
def test_a_listing_of_another_form_is_an_error_not_an_empty_list(scripted, body):
    desk, answers = scripted
    answers["/submissions/CIK0000000001.json"] = Reply(200, body, "application/json")
    with pytest.raises(FetchFailed):
        desk.list(ciks=("1",))


@pytest.mark.parametrize("body", [b"[]", b"{}", b"not json", b'{"fields": ["cik"], "data": [[1]]}',
                                  b'{"fields": ["cik", "ticker"], "data": [[]]}'])
def test_a_ticker_file_of_another_form_is_told(scripted, body):
    desk, answers = scripted
    answers["/files/company_tickers_exchange.json"] = Reply(200, body, "application/json")
    with pytest.raises(FetchFailed, match="ticker"):
        desk.list(tickers=("ALBR",))


@pytest.mark.parametrize("damage, error", [
    (lambda text: text[:-200], FetchFailed), (lambda text: text[: len(text) // 2], FetchFailed),
    (lambda text: text.replace(b"</SEC-DOCUMENT>\n", b""), FetchFailed),
    (lambda text: text.replace(b"ACCESSION NUMBER:\t\t00099", b"ACCESSION NUMBER:\t\t00088"), BadFile), (lambda text: b"", BadFile),
    (lambda text: b"PK\x03\x04" + text, BadFile), (lambda text: text.split(b"<DOCUMENT>")[0] + b"</SEC-DOCUMENT>\n", FetchFailed),
    (lambda text: text.split(b"ACCESSION")[0] + b"</SEC-DOCUMENT>", BadFile)])
def test_what_is_fetched_must_be_that_filing_and_whole(corpus, scripted, damage, error):
    desk, answers = scripted
    path = next(Path(corpus.folder).glob("*.txt"))
    answers["/x.txt"] = Reply(200, damage(path.read_bytes()), "text/plain")
    with pytest.raises(error) as caught:
        desk.fetch(Listed(Filing(path.stem), desk.server.url + "/x.txt"))
    assert caught.value.subject == path.stem and caught.value.todo


def test_every_whole_real_submission_passes_the_check(shared, tmp_path):
    with serving(shared / "filings" / "submissions", limit=Limit(10_000)) as server:
        desk, passed, cut = Desk(server, tmp_path), 0, []
        for entry in server.archive.entries.values():
            try:
                desk.fetch(Listed(Filing(entry.accession), f"{server.url}/Archives/edgar/data/{entry.filers[0].cik}/{entry.accession}.txt"))
                passed += 1
            except FetchFailed:
                cut.append(entry.path.name)
    assert passed == 32 and all("-header" in name for name in cut)


# -- recorded answers of EDGAR


def test_recorded_listings_parse_to_the_rows_they_hold(recorded, shared):
    wanted = by_hand(shared, "CIK0000320193", "CIK0000320193-submissions-001")
    listed = recorded.list(tickers=("AAPL",))
    rows = [row for row in wanted if row["form"].removesuffix("/A") in FAMILIES]
    assert len(listed) == len(rows) > 250
    for one, row in zip(listed, rows, strict=True):
        filing = one.filing
        filed_on = date.fromisoformat(row["filingDate"])
        assert (filing.accession, filing.form, filing.filed_on) == (row["accessionNumber"], row["form"], filed_on)
        assert filing.period_on == (date.fromisoformat(row["reportDate"]) if row["reportDate"] else None)
        assert ",".join(filing.items) == row["items"] and filing.name == row["primaryDocument"].rpartition("/")[2]
    assert listed[0].filing.company == "Apple Inc." and listed[0].filing.fiscal_year_end == "0930" and listed[0].filing.sic == "3571"


@pytest.mark.parametrize("ticker, cik, form, count", [
    ("TSLA", "CIK0001318605", "10-K", 9), ("MSFT", "CIK0000789019", "10-K", 7), ("msft", "CIK0000789019", "8-K", 65)])
def test_recorded_filers_are_found_by_ticker(recorded, shared, ticker, cik, form, count):
    rows = [row for row in by_hand(shared, cik) if row["form"] == form]
    listed = recorded.list(tickers=(ticker,), forms=(form,), amendments=False, since=min(date.fromisoformat(r["filingDate"]) for r in rows))
    assert [one.filing.accession for one in listed] == [row["accessionNumber"] for row in rows]
    assert len(listed) == count


def test_a_share_class_is_found_with_a_dot_and_with_a_dash(recorded):
    with pytest.raises(UnknownName, match="0001067983"):  # known as a ticker; its filings are not recorded
        recorded.list(tickers=("BRK.B",))


# -- the seam in sec-edgar-downloader


def test_the_package_has_the_names_that_are_replaced_and_gets_them_back(desk):
    from sec_edgar_downloader import _orchestrator, _sec_gateway

    assert version("sec-edgar-downloader").startswith("5.1.")
    assert list(inspect.signature(inspect.unwrap(_sec_gateway._call_sec)).parameters) == ["uri", "user_agent", "host"]
    assert _orchestrator.get_ticker_metadata is _sec_gateway.get_ticker_metadata
    before = (_sec_gateway._call_sec, _sec_gateway.URL_CIK_MAPPING, _orchestrator.URL_FILING)
    desk.list(tickers=("ALBR",))
    with pytest.raises(UnknownName):
        desk.list(tickers=("ZZZZ",))
    assert (_sec_gateway._call_sec, _sec_gateway.URL_CIK_MAPPING, _orchestrator.URL_FILING) == before
    assert desk.asked()[0] == "/files/company_tickers_exchange.json"


def test_addresses_are_those_the_package_would_ask_for(desk):
    from sec_edgar_downloader import _orchestrator

    one = desk.list(ciks=("9990001",))[0]
    theirs = _orchestrator.get_to_download("0009990001", one.filing.accession, one.filing.name).raw_filing_uri
    assert one.where.removeprefix(desk.server.url) == theirs.removeprefix("https://www.sec.gov")


def test_the_header_of_the_time_is_stronger_than_the_listing_of_today(corpus, desk):
    """A filing of several filers is listed under one; all of them are kept, and the company's name is that of the filing."""
    one = desk.list(ciks=("9990001",), limit=1)[0]
    other = b"FILER:\n\n\tCOMPANY DATA:\t\n\t\tCOMPANY CONFORMED NAME:\t\t\tOLD NAME CORP\n\t\tCENTRAL INDEX KEY:\t\t\t0009990077\n\n"
    data = desk.fetch(one).replace(b"FILER:\n", other + b"FILER:\n", 1)
    filing = describe(one.filing, data).filing
    assert filing.ciks == ("0009990077", "0009990001") and filing.company == "OLD NAME CORP"
    assert filing.tickers == ("ALBR",) and filing.accepted_at is not None and filing.url is not None
