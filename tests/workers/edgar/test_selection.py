"""What is wanted: names to filers, words to forms, windows, years, limits; and the files that say it."""

from __future__ import annotations

import gzip
import json
from datetime import date

import pytest
from edgar_desk import listing, scripted_desk, selection
from hypothesis import given
from hypothesis import strategies as st

from edgarmill.schemas.errors import SettingsError, UnknownName, UsageError
from edgarmill.workers.filing import FAMILIES
from edgarmill.workers.source.edgar import selection as selections
from edgarmill.workers.source.edgar import universe
from edgarmill.workers.source.edgar.indexes import _BYTES
from edgarmill.workers.source.edgar.selection import listed_of, parse_forms, with_predecessors
from edgarmill.workers.source.edgar.submissions import FORMS
from edgarmill.workers.source.edgar.universe import Change, Member, largest, newest, parse_universe, read_universe

TICKERS = {"/files/company_tickers_exchange.json": json.dumps({"fields": ["cik", "name", "ticker", "exchange"], "data": [
    [320193, "Apple Inc.", "AAPL", "Nasdaq"], [1067983, "BERKSHIRE", "BRK-B", "NYSE"], [1067983, "BERKSHIRE", "BRK-A", "NYSE"],
    [789019, "MICROSOFT", "MSFT", "Nasdaq"]]}).encode()}
APPLE, BERKSHIRE, MICROSOFT = "0000320193", "0001067983", "0000789019"
ONE, TWO, OLD = "0000000001", "0000000002", "0000000009"


@pytest.fixture
def desk(tmp_path):
    with scripted_desk(tmp_path, TICKERS) as desk:
        yield desk


# -- filers


def test_filers_are_resolved_in_the_order_named_each_once(desk, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("# mine\nticker,cik\nBRK.A,\n,1\n", encoding="utf-8")
    found = desk.select(tickers=("msft", " brk.b ", "BRK/A"), ciks=("320193", "0000320193"), universe=str(path))
    assert found.ciks == (MICROSOFT, BERKSHIRE, APPLE, ONE)
    assert desk.asked() == ["/files/company_tickers_exchange.json"]


def test_ciks_need_no_request(desk):
    assert desk.select(ciks=("1",)).ciks == (ONE,) and desk.asked() == []


def test_an_unknown_ticker_is_told_with_those_that_are_near(desk):
    with pytest.raises(UnknownName, match=r"AAPPL.*Did you mean AAPL"):
        desk.select(tickers=("AAPL", "AAPPL"))
    with pytest.raises(UnknownName, match="ZZZZZ"):
        desk.select(tickers=("ZZZZZ",))


@pytest.mark.parametrize("options", [
    {}, {"ciks": ("AAPL",)}, {"ciks": ("12345678901",)}, {"ciks": ("../../x",)}, {"ciks": ("0",)}, {"ciks": ("١٢",)},
    {"universe": "nowhere"},
    {"ciks": ("1",), "since": date(2024, 2, 1), "until": date(2024, 1, 1)}, {"ciks": ("1",), "fiscal_years": (2024, 2020)},
    {"ciks": ("1",), "limit": 0}, {"ciks": ("1",), "forms": ("4",)}, {"ciks": ("1",), "forms": ()}])
def test_selections_that_cannot_be_meant_are_refused_before_any_request(desk, options):
    with pytest.raises(UsageError) as caught:
        desk.select(**options)
    assert caught.value.todo and desk.asked() == []


ALPHABET, GOOGLE = "0001652044", "0001288776"


def test_predecessors_follow_their_successor_and_count_as_it_until_the_change(desk):
    found = desk.select(ciks=("1652044", "320193"))
    assert found.ciks == (ALPHABET, GOOGLE, APPLE) and found.successor == {GOOGLE: ALPHABET}
    before, after = (listing(filed=day, ciks=(GOOGLE,)) for day in ("2015-10-02", "2015-10-03"))
    assert found.takes(before) and not found.takes(after)


def test_whoever_names_the_old_filer_means_the_one_that_went_on(desk):
    assert desk.select(ciks=("1288776",)).ciks == (ALPHABET, GOOGLE)


def test_a_predecessor_that_ended_before_the_window_is_not_asked(desk):
    assert desk.select(ciks=("1652044",), since=date(2015, 10, 2)).ciks == (ALPHABET, GOOGLE)
    assert desk.select(ciks=("1652044",), since=date(2015, 10, 3)).ciks == (ALPHABET,)
    assert desk.select(ciks=("1652044",), fiscal_years=(2017, 2018)).ciks == (ALPHABET,)


def test_a_chain_of_changes_leads_to_the_newest_filer():
    links = [Change("a", "b", date(2001, 1, 1)), Change("b", "c", date(2002, 1, 1)), Change("x", "y", date(2003, 1, 1))]
    assert [(one.predecessor, one.cik) for one in newest(links)] == [("x", "y"), ("b", "c"), ("a", "c")]
    assert with_predecessors(["c", "y"], newest(links)) == ("c", "b", "a", "y", "x")
    with pytest.raises(SettingsError, match="circle"):
        newest([Change("a", "b", date(2001, 1, 1)), Change("b", "a", date(2002, 1, 1))])


def test_the_shipped_chains_are_sound():
    found = universe.changes()
    assert len({one.predecessor for one in found}) == len(found) > 20
    assert not {one.cik for one in found} & {one.predecessor for one in found}
    broadcom = [one.predecessor for one in found if one.cik == "0001730168"]
    assert broadcom == ["0001649338", "0001441634"]


# -- universe files


def test_the_shipped_universe_is_of_edgars_own_file_in_its_order(shared):
    members = [member.cik for member in read_universe("large")]
    file = gzip.decompress((shared / "edgar_api" / "company_tickers_exchange.json.gz").read_bytes())
    assert len(members) == len(set(members)) == 1000 and all(members)
    assert [cik for cik, _, _ in largest(file, set(members))] == members
    assert largest(file, {MICROSOFT, APPLE, "0000000042"}, 1) == [(MICROSOFT, "MSFT", "MICROSOFT CORP")]
    foreign = {"0000937966", "0001577552", "0001046179"}  # ASML, Alibaba, TSMC
    assert not foreign & set(members) and {APPLE, BERKSHIRE, MICROSOFT} < set(members)


def test_the_default_selection_is_resolved_without_a_request(desk):
    options = selections.read("default")
    found = desk.select(**options)
    assert 1000 <= len(found.ciks) < 1020 and desk.asked() == []
    assert found.forms == (("10-K", None), ("10-Q", None), ("8-K", 3)) and found.since == date(2022, 1, 1)


@pytest.mark.parametrize("text, members", [
    ("320193\n0000789019\n", [Member(APPLE), Member(MICROSOFT)]),
    ("AAPL # largest\n\n# none\nBRK.B\n", [Member("", "AAPL"), Member("", "BRK.B")]),
    ("cik\n1\n1\n", [Member(ONE)]), ("Ticker, CIK ,name\nAAPL,320193,\"Apple, Inc.\"\nMSFT,,M\n", [Member(APPLE), Member("", "MSFT")])])
def test_universe_files(text, members):
    assert parse_universe(text, "mine.csv") == members


@pytest.mark.parametrize("text, place", [
    ("AAPL\n\n# so\nnot a ticker\n", "mine:4"), ("cik\n1\nx\n", "mine:3"), ("cik,ticker\n,\n", "mine:2"), ("", "mine"),
    ("# only\n", "mine"),
    ("name,place\nA,B\n", "mine:1"), ("cik\n99999999999\n", "mine:2"), ('ticker,name\nA,"x\n', "mine:2"), ("<html>\n", "mine:1")])
def test_a_universe_with_a_bad_line_is_told_by_its_number(text, place):
    with pytest.raises(SettingsError) as caught:
        parse_universe(text, "mine")
    assert caught.value.subject == place


def test_universe_files_that_cannot_be_read_are_told(tmp_path):
    (tmp_path / "latin.csv").write_bytes(b"cik\n\xff\n")
    with pytest.raises(SettingsError):
        read_universe(str(tmp_path / "latin.csv"))
    with pytest.raises(UnknownName, match="large"):
        read_universe("larg")
    with pytest.raises(UnknownName):
        read_universe(str(tmp_path))
    with pytest.raises(UsageError):
        read_universe("a\0b")


# -- forms


def test_a_family_takes_all_its_forms_and_a_form_itself_alone():
    assert {form for form in FAMILIES if selection("1", forms=("10-K",)).takes(listing(form=form))} == {
        "10-K", "10-K405", "10-KSB", "10-KSB40", "10-KT", "10-KT405"}
    assert {form for form in FAMILIES if selection("1", forms=("10-kt", "8-K12B")).takes(listing(form=form))} == {"10-KT", "8-K12B"}
    assert not any(selection("1").takes(listing(form=form)) for form in ("NT 10-K", "10-D", "10-12G", "11-K", "10-K405T", "ARS", ""))


@pytest.mark.parametrize("words, amendments, expected", [
    (("10-K",), False, {"10-K"}), (("10-K",), True, {"10-K", "10-K/A", "10-K405/A"}), (("10-K/A",), False, {"10-K/A", "10-K405/A"}),
    (("10-K405",), True, {"10-K405/A"}), (("10-K405/A",), False, {"10-K405/A"}), (("10-Q",), True, set())])
def test_amendments_when_asked(words, amendments, expected):
    wanted = selection("1", forms=words, amendments=amendments)
    assert {form for form in ("10-K", "10-K/A", "10-K405/A", "NT 10-K/A") if wanted.takes(listing(form=form))} == expected


def test_words_of_forms():
    assert parse_forms(("10k", "8-K:3", "10-Q/A")) == (("10-K", None), ("8-K", 3), ("10-Q/A", None))
    for bad in ("10", "8-K:", "8-K:0", "8-K:x", "8-K:-1", "S-1", "10-K/B", ":3"):
        with pytest.raises(UsageError) as caught:
            parse_forms((bad,))
        assert caught.value.subject == bad


# -- windows


def test_both_ends_of_a_window_are_in_it():
    wanted = selection("1", since=date(2024, 1, 2), until=date(2024, 1, 4))
    assert [day for day in range(1, 6) if wanted.takes(listing(filed=f"2024-01-0{day}"))] == [2, 3, 4]


@pytest.mark.parametrize("form, period, year_end, year", [
    ("10-K", "2024-01-28", None, 2023), ("10-K", "2024-06-30", "0630", 2024), ("10-Q", "2023-09-30", "0630", 2024),
    ("10-Q", "2024-04-28", "0131", 2024), ("8-K", "2023-12-29", "0630", 2023), ("10-KT", "2023-12-31", None, 2023)])
def test_fiscal_years_go_by_the_period(form, period, year_end, year):
    one = listing(form=form, period=period, fiscal_year_end=year_end, filed="2030-01-01")
    assert [y for y in range(2020, 2030) if selection("1", fiscal_years=(y, y)).takes(one)] == [year]


@given(st.sampled_from(sorted(FAMILIES)), st.dates(date(1995, 1, 1), date(2030, 1, 1)), st.integers(10, 90),
       st.sampled_from(["0131", "0228", "0630", "0930", "1231"]))
def test_a_filing_whose_period_is_not_listed_is_never_left_out_of_its_year(form, period, days, year_end):
    """Filed up to a quarter after its period ends, as the rules have it."""
    filed = date.fromordinal(period.toordinal() + days)
    known = listing(form=form, period=str(period), fiscal_year_end=year_end, filed=str(filed))
    years = [y for y in range(1990, 2035) if selection("1", fiscal_years=(y, y)).takes(known)]
    assert len(years) == 1
    wanted = selection("1", fiscal_years=(years[0], years[0]))
    assert wanted.takes(listing(form=form, filed=str(filed))) and wanted.first <= filed


# -- limits


def accessions(found):
    return [one.accession for one in found]


ROWS = [listing(f"0000000001-24-{n:06}", form, f"2024-0{n}-01") for n, form in enumerate(["10-K", "8-K", "10-Q", "8-K", "8-K", "10-Q"], 1)]


def test_limits_take_the_newest_of_each_filer():
    def numbers(**options):
        return [int(a[-1]) for a in accessions(selection("1", **options).choose(ROWS))]

    assert numbers() == [6, 5, 4, 3, 2, 1] and numbers(limit=2) == [6, 5] and numbers(forms=("8-K:1", "10-K")) == [5, 1]
    assert numbers(forms=("8-K:2", "10-Q:1"), limit=2) == [6, 5] and numbers(forms=("8-K:2", "10-Q:1")) == [6, 5, 4]


def test_filers_come_in_their_order_and_each_accession_once():
    both = listing("0000000003-24-000001", "8-K", "2024-09-01", ciks=(TWO, ONE))
    rows = [*ROWS, both, listing("0000000002-24-000001", "8-K", "2024-01-01", ciks=(TWO,))]
    found = selection("2", "1", forms=("8-K:2",)).choose([*rows, *rows])
    assert accessions(found) == ["0000000003-24-000001", "0000000002-24-000001", "0000000001-24-000005"]
    assert selection("7").choose(rows) == []


def test_a_filer_and_its_predecessor_share_a_limit():
    rows = [listing("0000000009-23-000001", "10-K", "2023-03-01", ciks=(OLD,)), listing("0000000001-24-000001"),
            listing("0000000009-22-000001", "10-K", "2022-03-01", ciks=(OLD,))]
    found = selection("1", "9", forms=("10-K:2",), successor={OLD: ONE}).choose(rows)
    assert accessions(found) == ["0000000001-24-000001", "0000000009-23-000001"]


@given(st.lists(st.tuples(st.sampled_from(["10-K", "10-K/A", "10-Q", "8-K"]), st.dates(date(2020, 1, 1), date(2024, 1, 1)))),
       st.one_of(st.none(), st.integers(1, 4)), st.one_of(st.none(), st.integers(1, 4)), st.integers(0, 30))
def test_what_is_enough_is_not_changed_by_older_filings(filings, limit, most, cut):
    rows = sorted((listing(f"0000000001-24-{n:06}", form, str(day)) for n, (form, day) in enumerate(filings)),
                  key=lambda one: (one.filed_on, one.accession), reverse=True)
    word = f":{most}" if most else ""
    wanted = selection("1", forms=(f"10-K{word}", f"8-K{word}"), limit=limit)
    if wanted.enough(rows[:cut]):
        assert wanted.choose(rows[:cut]) == wanted.choose(rows)


# -- as a source gives it


def test_a_filing_as_it_is_listed(desk):
    one = listing(form="10-K405/A", period="2023-12-31", items=("2.02",), primary="a.htm", file_number="001-1", tickers=("A",), sic="1",
                  state="DE", fiscal_year_end="1231", ciks=(TWO, ONE), accepted="2024-01-01T00:00:00.000Z")
    found = listed_of(one, desk.settings)
    filing = found.filing
    assert found.where == f"{desk.server.url}/Archives/edgar/data/2/000000000124000001/0000000001-24-000001.txt" and found.error is None
    assert (filing.accession, filing.name, filing.source, filing.form, filing.family, filing.amends) == (
        "0000000001-24-000001", "a.htm", "edgar", "10-K405/A", "10-K", True)
    assert (filing.ciks, filing.company, filing.tickers, filing.items) == ((TWO, ONE), "A", ("A",), ("2.02",))
    assert (filing.sic, filing.state) == ("1", "DE")
    assert (filing.period_on, filing.fiscal_year_end, filing.file_numbers) == (date(2023, 12, 31), "1231", ("001-1",))
    assert (filing.accepted_at, filing.url) == (None, None)  # the open stage knows them better


# -- selection files


def test_a_selection_file_gives_the_options_of_wanted(desk, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('ciks = ["1"]\nforms = ["10-K", "8-K:3"]\nsince = 2020-01-01\nfiscal_years = [2020, 2024]\nlimit = 9\n'
                    "amendments = true\n", encoding="utf-8")
    found = desk.select(**selections.read(str(path)))
    assert found.forms == (("10-K", None), ("8-K", 3)) and found.fiscal_years == (2020, 2024) and found.since == date(2020, 1, 1)


@pytest.mark.parametrize("text", ["forms = ", 'form = ["10-K"]', 'forms = "10-K"', "forms = [3]", 'since = "2020-01-01"', "limit = true",
                                  "fiscal_years = [2020]", "since = 2020-01-01T00:00:00", 'forms = ["4"]'])
def test_a_selection_file_that_is_off_is_told(tmp_path, text):
    with pytest.raises(UsageError):
        selections.parse(text, "mine.toml")


def test_selections_that_are_not_there_are_told(tmp_path):
    with pytest.raises(UnknownName, match="default"):
        selections.read("defualt")
    with pytest.raises(SettingsError):
        selections.read(str(tmp_path / "none.toml"))


@pytest.mark.parametrize("text, years", [("2020-2024", (2020, 2024)), ("2024", (2024, 2024)), (" 1999 : 2001 ", (1999, 2001))])
def test_ranges_of_years(text, years):
    assert selections.parse_years(text) == years
    with pytest.raises(UsageError):
        selections.parse_years(text + "x")


@pytest.mark.parametrize("form, word", [
    ("10KSB", "10-K"), ("10KSB40/A", "10-K"), ("10QSB", "10-Q"), ("10KT405", "10-K"), ("10-KSB", "10-KSB"), ("10KSB", "10-KSB")])
def test_a_form_is_the_same_with_and_without_its_dash(form, word):
    """A real 10-KSB of 2008 stands in EDGAR's lists as 10KSB."""
    wanted = selection("1", forms=(word,), amendments=True)
    assert form in FORMS and form.encode() in _BYTES and wanted.takes(listing(form=form))
