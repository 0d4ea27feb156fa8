"""EDGAR as a source over real HTTP: the sample through the replay server, and recorded answers of EDGAR itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgarmill.sample.corpus import write_corpus
from edgarmill.sample.replay import Limit, Reply, serving
from edgarmill.schemas.errors import BadFile, FetchFailed
from edgarmill.schemas.records import Filing
from edgarmill.schemas.settings import Settings
from edgarmill.workers.filing import describe
from edgarmill.workers.source.edgar.fetch import fetch
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


def test_the_header_of_the_time_is_stronger_than_the_listing_of_today(corpus, desk):
    """A filing of several filers is listed under one; all of them are kept, and the company's name is that of the filing."""
    one = desk.list(ciks=("9990001",), limit=1)[0]
    other = b"FILER:\n\n\tCOMPANY DATA:\t\n\t\tCOMPANY CONFORMED NAME:\t\t\tOLD NAME CORP\n\t\tCENTRAL INDEX KEY:\t\t\t0009990077\n\n"
    data = desk.fetch(one).replace(b"FILER:\n", other + b"FILER:\n", 1)
    filing = describe(one.filing, data).filing
    assert filing.ciks == ("0009990077", "0009990001") and filing.company == "OLD NAME CORP"
    assert filing.tickers == ("ALBR",) and filing.accepted_at is not None and filing.url is not None
