"""Fetching over real HTTP: what comes is the filing, whole, byte for byte; what does not is asked for again, then told."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from edgar_desk import Desk as ListingDesk
from edgar_desk import listing, selection

from edgarmill.sample.archive import Entry
from edgarmill.sample.corpus import write_corpus
from edgarmill.sample.faults import (
    at,
    bad_gzip,
    block200,
    block403,
    block429,
    cut_body,
    cut_document,
    cut_gzip,
    empty,
    first_of,
    missing,
    reset,
    reset_in_body,
    unavailable,
    web_page,
    wrong_accession,
)
from edgarmill.sample.replay import Limit, Reply, serving
from edgarmill.schemas.errors import BadFile, FetchFailed
from edgarmill.schemas.records import Listing
from edgarmill.schemas.store import Lake
from edgarmill.workers import bundle
from edgarmill.workers.filing import describe, described
from edgarmill.workers.source.edgar import fetch as fetching
from edgarmill.workers.source.edgar.whole import HEAD, SubmissionSink
from edgarmill.workers.submission import read_submission

HTML = b"<html><body><p>Net sales rose.</p></body></html>"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("edgar"), 14, per_company=14)


class Desk(ListingDesk):
    """A server, a transport whose time passes by sleeping only, and a lake."""

    def __init__(self, server, folder):
        super().__init__(server, folder)
        self.lake = Lake.open(str(folder / "lake"), create=True)

    def fetch(self, of: Listing, what="documents", wanted=None):
        settings = self.settings.model_copy(update={"fetch": what})
        return fetching.fetch(of, fetching.Desk(self.transport, settings, self.lake, wanted))

    def opened(self, got):
        """The filing as the open stage sees it."""
        data = self.lake.read_raw(got.filing.sha256)
        if bundle.is_bundle(data):
            return described(got.filing, bundle.opened(bundle.decode(data), self.lake.read_raw))
        return describe(got.filing, data)

    def raw_files(self):
        return [path for path in Path(self.lake.root, "raw").rglob("*") if path.is_file()]


def listed(entry: Entry) -> Listing:
    """A filing as a filer's own list tells it."""
    day = f"{entry.filed[:4]}-{entry.filed[4:6]}-{entry.filed[6:]}"
    return listing(entry.accession, entry.form, day, ciks=tuple(filer.cik.zfill(10) for filer in entry.filers[:1]), primary=entry.primary,
                   size=entry.size, items=entry.items)


@pytest.fixture
def served(corpus, tmp_path):
    """served(script) is a desk over the sample, and the listing of its newest 8-K with an exhibit."""
    servers = []

    def open_desk(script=None, folder=None):
        server = serving(folder or corpus.folder, limit=Limit(10_000), script=script)
        desk = Desk(server.__enter__(), tmp_path)
        servers.append(server)
        entry = next((e for e in desk.server.archive.entries.values() if e.form == "8-K" and "9.01" in e.items), None)
        return desk, listed(entry) if entry else None

    yield open_desk
    for server in servers:
        server.__exit__(None, None, None)


# -- what comes


def test_by_default_the_header_page_the_main_document_and_the_exhibits_are_fetched(served, corpus):
    desk, one = served()
    got = desk.fetch(one)
    base = f"/Archives/edgar/data/{int(one.ciks[0])}/{one.accession.replace('-', '')}/"
    text = Path(corpus.folder, f"{one.accession}.txt").read_bytes()
    documents = [d for d in read_submission(text).documents if d.type == "8-K" or d.type.startswith("EX-99")]
    assert len(documents) > 1
    asked = [path for path in desk.asked() if path != base + "index.json"]  # these documents are so short that their sizes are looked up
    assert asked == [base + f"{one.accession}-index-headers.html", *(base + d.name for d in documents)]
    assert [desk.lake.read_raw(r.sha256) for r in got.received if r.part == "document"] == [d.data for d in documents]
    assert [r.part for r in got.received] == ["bundle", "header", *["document"] * len(documents)]
    assert got.filing.bytes == sum(len(d.data) for d in documents) and got.filing.sha256 == got.received[0].sha256


def test_single_documents_and_the_full_text_open_to_the_same_filing(served):
    desk, one = served()
    apart, whole = desk.opened(desk.fetch(one)), desk.opened(desk.fetch(one, "submission"))
    assert replace(apart.filing, sha256="", bytes=0) == replace(whole.filing, sha256="", bytes=0)
    assert [(d.sequence, d.type, d.name, d.data) for d in apart.documents if not d.left_out] == [
        (d.sequence, d.type, d.name, d.data) for d in whole.documents if not d.left_out]
    assert [d.name for d in apart.documents] == [d.name for d in whole.documents]  # what was not fetched is named all the same
    assert apart.filing.filers and apart.filing.accepted_at is not None


def test_the_header_of_the_time_is_stronger_than_the_listing_of_today(served, corpus, tmp_path):
    """A filing of several filers is listed under one; all of them are kept, and the company's name is that of the filing."""
    desk, one = served()
    folder = tmp_path / "two"
    folder.mkdir()
    data = Path(corpus.folder, f"{one.accession}.txt").read_bytes()
    other = b"FILER:\n\n\tCOMPANY DATA:\t\n\t\tCOMPANY CONFORMED NAME:\t\t\tOLD NAME CORP\n\t\tCENTRAL INDEX KEY:\t\t\t0009990077\n\n"
    other += b"\tFILING VALUES:\n\t\tSEC FILE NUMBER:\t001-77\n\t\tFILM NUMBER:\t\t77\n\n"
    (folder / f"{one.accession}.txt").write_bytes(data.replace(b"FILER:\n", other + b"FILER:\n", 1))
    desk, _ = served(folder=folder)
    got = desk.fetch(replace(one, tickers=("ALBR",)))
    filing = desk.opened(got).filing
    assert filing.ciks == ("0009990077", "0009990001") and filing.filers == ("OLD NAME CORP", "ALDERBRIDGE CORPORATION")
    assert (filing.company, filing.tickers, filing.file_numbers[0], filing.film_numbers[0]) == ("OLD NAME CORP", ("ALBR",), "001-77", "77")
    assert got.listing is not None and set(got.listing.ciks) == set(filing.ciks)


def test_an_index_row_is_completed_by_the_header_and_need_not_be_wanted_after_all(served):
    desk, one = served()
    row = replace(one, primary="", items=(), period_on=None, found="daily")
    got = desk.fetch(row)
    assert got.listing is not None and got.listing.period_on and got.listing.items == one.items and got.listing.primary == one.primary
    assert got.filing == replace(got.filing, name=one.primary, items=one.items)
    year = got.listing.period_on.year
    unwanted = desk.fetch(row, wanted=selection(one.ciks[0], fiscal_years=(year + 5, year + 6)))
    assert not unwanted.wanted and unwanted.listing == replace(got.listing, primary="") and not unwanted.received
    assert desk.fetch(row, wanted=selection(one.ciks[0], fiscal_years=(year, year))).wanted


@pytest.mark.parametrize("script", [
    at(r"-index-headers\.html$", missing), at(r"-index-headers\.html$", lambda request: Reply(403, b"<Error>AccessDenied</Error>")),
    at(r"/[a-z][^/]*\.html?$", missing)], ids=["no header page", "header page forbidden", "no document of that name"])
def test_where_single_files_are_not_to_be_had_the_full_text_is_taken(served, script):
    desk, one = served(script)
    got = desk.fetch(one)
    assert [r.part for r in got.received] == ["submission"] and desk.asked()[-1].endswith(f"{one.accession}.txt")


def test_a_filing_of_the_1990s_is_one_request(served, shared):
    desk, _ = served(folder=shared / "filings" / "submissions")
    entry = next(e for e in desk.server.archive.entries.values() if e.form == "8-K" and e.filed < "2000")
    got = desk.fetch(listed(entry))
    assert [r.part for r in got.received] == ["submission"] and len(desk.asked()) == 1
    assert desk.lake.read_raw(got.filing.sha256) == desk.server.archive.text(entry)


def test_every_recorded_submission_comes_byte_for_byte_with_its_metadata(shared, served):
    """All 37 files, whatever their form: whole ones as the full text and as single documents; cut ones are told as cut."""
    desk, _ = served(folder=shared / "filings" / "submissions")
    whole, cut = [], []
    for entry in desk.server.archive.entries.values():
        one = listed(entry)
        try:
            got = desk.fetch(one, "submission")
        except FetchFailed as failure:
            cut.append((entry.accession, failure.what))
            continue
        whole.append(entry.accession)
        assert desk.lake.read_raw(got.filing.sha256) == desk.server.archive.text(entry)
        read = read_submission(desk.server.archive.text(entry))
        apart = desk.fetch(one)
        for received in apart.received:
            if received.part == "document":
                name = received.place.rpartition("/")[2]
                assert desk.lake.read_raw(received.sha256).strip() == next(d.data for d in read.documents if d.name == name).strip()
        assert apart.filing.ciks == got.filing.ciks and set(read.header.ciks) <= set(apart.filing.ciks)
    assert len(whole) == 31 and all("documents are whole" in what for _, what in cut)
    assert "2 of 160" in dict(cut)["0001564590-20-004475"]


# -- what does not come whole


ONCE = [block403, block429, block200, empty, bad_gzip, cut_gzip, cut_body, cut_document, reset, reset_in_body, unavailable, web_page,
        wrong_accession]


@pytest.mark.parametrize("what", ["documents", "submission"])
@pytest.mark.parametrize("fault", ONCE, ids=lambda fault: fault.__name__)
def test_what_goes_wrong_once_is_asked_for_again_and_comes(served, corpus, fault, what):
    path = rf"{'htm' if what == 'documents' else 'txt'}$"
    desk, one = served(at(path, fault, times=1))
    if fault in (block403, block429, block200):
        desk.transport._welcome = True  # else "undeclared" would be taken for a matter of settings
    if fault is wrong_accession and what == "documents":
        path = "index-headers.html$"  # of two filings' documents nobody can tell which is which but by its header page
        desk, one = served(at(path, fault, times=1))
    got = desk.fetch(one, what)
    names = {d.name: d.data for d in read_submission(Path(corpus.folder, f"{one.accession}.txt").read_bytes()).documents}
    for received in got.received:
        if received.part == "document":
            assert desk.lake.read_raw(received.sha256) == names[received.place.rpartition("/")[2]]
        if received.part == "submission":
            assert desk.lake.read_raw(received.sha256) == Path(corpus.folder, f"{one.accession}.txt").read_bytes()
    assert not any(path.name.startswith(".tmp-") for path in desk.raw_files())


@pytest.mark.parametrize("what, fault, says", [
    ("documents", empty, "empty"), ("documents", cut_gzip, "cut"), ("documents", unavailable, "503"),
    ("submission", cut_document, "documents are whole"), ("submission", web_page, "web page"),
    ("submission", wrong_accession, "what came is"), ("submission", reset, "connection failed")])
def test_what_never_comes_whole_is_told_and_leaves_nothing(served, what, fault, says):
    desk, one = served(at(rf"{'htm' if what == 'documents' else 'txt'}$", fault))
    with pytest.raises(FetchFailed, match=says) as caught:
        desk.fetch(one, what)
    assert caught.value.todo and "2 times" in str(caught.value)
    assert desk.raw_files() == []


def test_a_filing_that_is_nowhere_is_told_as_404(served):
    desk, one = served(at(r"/Archives/", missing))
    with pytest.raises(FetchFailed) as caught:
        desk.fetch(one)
    assert fetching.not_there(caught.value)


def test_a_page_of_the_site_is_no_document_though_it_ends_well(served):
    page = Reply(200, b"<!DOCTYPE html><html><head><title>SEC.gov | File Unavailable</title></head><body>Sorry</body></html>", "text/html")
    desk, one = served(at(r"\.htm$", lambda request: page))  # and the sizes of the folder do not help: its listing is not there
    assert [r.part for r in desk.fetch(one).received] == ["submission"]


def test_a_site_in_trouble_in_the_midst_of_a_filing_stores_none_of_its_pages(served):
    """Its pages end well and it cannot list the folder: what is in doubt stays so, and the full text is taken."""
    desk, one = served(at(r"(\.htm|index\.json)$", web_page))
    assert [r.part for r in desk.fetch(one).received] == ["submission"]
    desk, one = served(first_of(at(r"\.htm$", web_page), at(r"index\.json$", lambda request: Reply(200, b'{"directory": null}'))))
    assert [r.part for r in desk.fetch(one).received] == ["submission"]
    desk, one = served(first_of(at(r"\.htm$", web_page), at(r"index\.json$", unavailable), at(r"\.txt$", unavailable)))
    with pytest.raises(FetchFailed):
        desk.fetch(one)


def test_plain_text_that_is_cut_is_asked_for_again(served, tmp_path, corpus):
    desk, one = served()
    folder = tmp_path / "plain"
    folder.mkdir()
    data = Path(corpus.folder, f"{one.accession}.txt").read_bytes()
    begin, end = data.index(b"<TEXT>\n") + 7, data.index(b"</TEXT>")
    plain = b"Item 2.02 Results of Operations\n\nNet sales rose.\n" * 40
    (folder / f"{one.accession}.txt").write_bytes((data[:begin] + plain + data[end:]).replace(one.primary.encode(), b"plain.txt"))
    desk, _ = served(at(r"plain\.txt$", cut_document, times=1), folder=folder)
    got = desk.fetch(one)
    assert [r.part for r in got.received][:2] == ["bundle", "header"] and desk.lake.read_raw(got.received[2].sha256) == plain
    assert desk.asked().count(next(path for path in desk.asked() if path.endswith("plain.txt"))) == 2


def test_html_without_an_end_is_taken_when_it_has_the_listed_size(served, tmp_path, corpus):
    desk, one = served()
    folder = tmp_path / "endless"
    folder.mkdir()
    data = Path(corpus.folder, f"{one.accession}.txt").read_bytes()
    (folder / f"{one.accession}.txt").write_bytes(data.replace(b"</html>", b""))
    desk, _ = served(folder=folder)
    got = desk.fetch(one)
    documents = [r for r in got.received if r.part == "document"]
    assert documents and all(b"</html>" not in desk.lake.read_raw(r.sha256) for r in documents)
    assert sum(path.endswith("index.json") for path in desk.asked()) == 1  # each was in doubt; the folder was listed once
    desk, _ = served(at("index.json$", missing), folder=folder)
    assert [r.part for r in desk.fetch(one).received] == ["submission"]  # nobody tells its size: the full text has marks of its own


def test_where_a_document_never_comes_whole_the_full_text_is_taken(served, corpus):
    desk, one = served(at(r"\.htm$", cut_document))
    got = desk.fetch(one)
    assert [r.part for r in got.received] == ["submission"]
    assert desk.lake.read_raw(got.filing.sha256) == Path(corpus.folder, f"{one.accession}.txt").read_bytes()


def test_names_from_a_header_never_leave_the_filings_folder(served, tmp_path, corpus):
    desk, one = served()
    folder = tmp_path / "hostile"
    folder.mkdir()
    data = Path(corpus.folder, f"{one.accession}.txt").read_bytes()
    names = (b"../../../files/company_tickers.json", b"a b.htm", b"x?y.htm", b"https://elsewhere.example/x.htm", b"..")
    for number, name in enumerate(names):
        (folder / f"{one.accession}.txt").write_bytes(data.replace(f"<FILENAME>{one.primary}".encode(), b"<FILENAME>" + name, 1))
        desk, _ = served(folder=folder)
        got = desk.fetch(one)
        assert [r.part for r in got.received] == ["submission"] and len(desk.asked()) == 2, number


# -- header and listing


def test_what_header_and_listing_say_in_two_ways_is_written_down(served):
    desk, one = served()
    header = desk.opened(desk.fetch(one)).filing
    eastern = f"{header.accepted_at.astimezone(fetching.EASTERN):%Y-%m-%dT%H:%M:%S}.000Z"
    told = replace(one, accepted=eastern, filed_on=date(2001, 2, 3), items=(*one.items, "8.88"))
    said = {(event.kind, event.before.split()[0]): event for event in desk.fetch(told).events}
    assert set(said) == {("disagrees", "accepted_at"), ("disagrees", "filed_on"), ("disagrees", "items")}
    assert "false Z" in said["disagrees", "accepted_at"].before
    true = replace(one, accepted=f"{header.accepted_at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.000Z")
    assert desk.fetch(true).events == () and desk.fetch(replace(one, accepted="yesterday")).events == ()


# -- pieces of whatever size


@pytest.mark.parametrize("size", [1, 7, 16, 17, 1000])
def test_documents_are_counted_right_however_the_text_is_cut_into_pieces(tmp_path, size):
    text = (b"-----BEGIN PRIVACY-ENHANCED MESSAGE-----\r<SEC-HEADER>\rACCESSION NUMBER: 0000000001-24-000001\r</SEC-HEADER>\r"
            + b"<DOCUMENT>\r<TEXT>\r<p>a <DOCUMENT> in a line counts for nothing</p>\r</TEXT>\r</DOCUMENT>\r" * 7 + b"</SEC-DOCUMENT>\r")
    lake = Lake.open(str(tmp_path), create=True)
    with lake.new_raw() as raw:
        sink = SubmissionSink(raw, "0000000001-24-000001")
        for start in range(0, len(text), size):
            sink.write(text[start : start + size])
        kept, head = sink.finish()
    assert lake.read_raw(kept.sha256) == text and head == text[:HEAD] and kept.bytes == len(text)
    with lake.new_raw() as raw:
        sink = SubmissionSink(raw, "0000000001-24-000001")
        for start in range(0, len(text), size):
            sink.write(text[start : start + size])
        sink.write(b"<DOCUMENT>\r")
        with pytest.raises(BadFile, match="7 of 8 documents are whole"):
            sink.finish()


# -- bundles


def test_a_bundle_is_known_by_its_form_and_nothing_else_is_one():
    one = bundle.Bundle("0000000001-24-000001", "ab" * 32, (bundle.Piece(1, "8-K", "a.htm", "Ünïcode", "cd" * 32, 7),))
    assert bundle.decode(bundle.encode(one)) == one and bundle.is_bundle(bundle.encode(one)) and one.bytes == 7
    for data in (b"", b"{}", b'{"accession":1}', HTML, b'{"accession":"x","kind":"edgarmill-bundle-1"}'):
        with pytest.raises(BadFile):
            bundle.decode(data)


def test_a_hostile_header_page_takes_no_hours():
    for piece in (b"<PRE>", b"<PRE></PRE", b"<a >", b"<a <a ", b" ", b"&amp;", b"\n\n<DOCUMENT>"):
        with pytest.raises(BadFile):
            bundle.read_header_page(b"<PRE>" + piece * (400_000 // len(piece)) + b"</html>")
    page = b"<PRE><SEC-HEADER>\n" + b"".join(b"COMPANY DATA:\nCENTRAL INDEX KEY: %d\n" % n for n in range(1, 20_001))
    read = bundle.read_header_page(page + b"</SEC-HEADER>\n<DOCUMENT>\n<TYPE>8-K\n<TEXT>\n</TEXT>\n</DOCUMENT>\n</PRE>")
    assert len(read.header.ciks) == len(read.header.names) == 20_000


def test_a_header_page_that_says_nothing_is_refused():
    for page in (b"", HTML, b"<PRE></PRE>", b"<PRE>&lt;SEC-HEADER&gt;</PRE>"):
        with pytest.raises(BadFile):
            bundle.read_header_page(page)


def test_the_recorded_header_pages_are_read(shared):
    import gzip

    page = gzip.decompress((shared / "edgar_api" / "folder" / "23andme-index-headers.html.gz").read_bytes())
    read = bundle.read_header_page(page)
    assert (read.header.accession, read.header.form, read.header.items) == ("0001193125-24-152391", "8-K", ("7.01", "9.01"))
    assert read.header.accepted_at == datetime(2024, 6, 3, 12, 6, 2, tzinfo=UTC)
    assert [(d.name, d.type) for d in read.documents if not d.left_out] == [("d836506d8k.htm", "8-K"), ("d836506dex991.htm", "EX-99.1")]


def test_scripts_compose(served):
    desk, one = served(first_of(at("headers", empty, times=1), at("htm$", reset, times=1)))
    assert desk.fetch(one).received
