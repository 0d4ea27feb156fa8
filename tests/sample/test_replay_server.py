"""The replay server answers under EDGAR's addresses and refuses as EDGAR does. Real HTTP throughout."""

from __future__ import annotations

import gzip
import http.client
import json
from pathlib import Path

import httpx
import pytest
import zstandard

from edgarmill.sample.archive import content, parts, read_archive
from edgarmill.sample.corpus import write_corpus
from edgarmill.sample.replay import Limit, Reply, serving
from edgarmill.schemas.errors import StorageError, UsageError

WHO = {"User-Agent": "Test Company test@company.example"}
OPEN = 10_000  # requests a second: no limit


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("replay"), 20, per_company=10)


@pytest.fixture(scope="module")
def server(corpus):
    with serving(corpus.folder, page_size=4, limit=Limit(OPEN)) as server:
        yield server


@pytest.fixture(scope="module")
def get(server):
    with httpx.Client(base_url=server.url, headers=WHO, trust_env=False) as client:
        yield client.get


def submission(accession: str, filers: list[str], form: str = "8-K", filed: str = "20240105") -> bytes:
    """A small filing of several filers."""
    blocks = "".join(f"FILER:\n\n\tCOMPANY DATA:\t\n\t\tCOMPANY CONFORMED NAME:\t\t\tFIRM {cik}\n\t\tCENTRAL INDEX KEY:\t\t\t{cik}\n\n"
                     for cik in filers)
    return (f"<SEC-DOCUMENT>{accession}.txt : {filed}\n<SEC-HEADER>{accession}.hdr.sgml : {filed}\n<ACCEPTANCE-DATETIME>{filed}161500\n"
            f"ACCESSION NUMBER:\t\t{accession}\nCONFORMED SUBMISSION TYPE:\t{form}\nPUBLIC DOCUMENT COUNT:\t\t1\n"
            f"FILED AS OF DATE:\t\t{filed}\n\n{blocks}"
            f"</SEC-HEADER>\n<DOCUMENT>\n<TYPE>{form}\n<SEQUENCE>1\n<FILENAME>a.htm\n<TEXT>\n<html><body>x</body></html>\n</TEXT>\n</DOCUMENT>\n"
            "</SEC-DOCUMENT>\n").encode()


def test_ticker_files_have_the_two_forms_of_edgar(get, corpus):
    plain, exchange = get("/files/company_tickers.json").json(), get("/files/company_tickers_exchange.json").json()
    assert plain["0"] == {"cik_str": 9990001, "ticker": "ALBR", "title": "Alderbridge Corporation"}
    assert exchange["fields"] == ["cik", "name", "ticker", "exchange"]
    assert [row[2] for row in exchange["data"]] == list(corpus.tickers)


def test_submissions_are_columns_newest_first_and_older_ones_are_on_pages(get):
    found = get("/submissions/CIK0009990001.json").json()
    assert (found["cik"], found["tickers"], found["fiscalYearEnd"], found["sic"]) == ("9990001", ["ALBR"], "1231", "3561")
    recent, files = found["filings"]["recent"], found["filings"]["files"]
    assert len(recent["accessionNumber"]) == 4 and [f["filingCount"] for f in files] == [4, 2]
    pages = [recent] + [get(f"/submissions/{f['name']}").json() for f in files]
    dates = [day for page in pages for day in page["filingDate"]]
    assert dates == sorted(dates, reverse=True) and len(dates) == 10
    for file, page in zip(files, pages[1:], strict=True):
        assert (file["filingFrom"], file["filingTo"]) == (page["filingDate"][-1], page["filingDate"][0])
    assert all(len(column) == len(page["form"]) for page in pages for column in page.values())
    assert get("/submissions/CIK0009990001-submissions-003.json").status_code == 404


def test_a_row_of_the_submissions_says_what_the_header_says(get, corpus):
    rows = get("/submissions/CIK0009990001.json").json()["filings"]["recent"]
    place = rows["form"].index("8-K")
    text = Path(corpus.folder, f"{rows['accessionNumber'][place]}.txt").read_text(encoding="utf-8")
    assert rows["items"][place] == "2.02,9.01" and rows["size"][place] == len(text.encode())
    assert f"<FILENAME>{rows['primaryDocument'][place]}\n" in text and rows["isInlineXBRL"][place] == 1
    stamp = text.split("<ACCEPTANCE-DATETIME>")[1][:14]
    assert rows["acceptanceDateTime"][place].replace("-", "").replace(":", "").replace("T", "") == stamp + ".000Z"


def test_a_submission_lies_under_its_long_and_its_short_address(get, corpus):
    for path in sorted(Path(corpus.folder).glob("*.txt"))[:3]:
        cik = path.stem[:10].lstrip("0")
        long = get(f"/Archives/edgar/data/{cik}/{path.stem.replace('-', '')}/{path.name}")
        assert long.content == get(f"/Archives/edgar/data/{cik}/{path.name}").content == path.read_bytes()
    assert get(f"/Archives/edgar/data/320193/{path.name}").status_code == 404


def test_a_folder_lists_its_documents_and_serves_each(get, corpus):
    entry = next(e for e in read_archive(corpus.folder).entries.values() if e.form == "10-K")
    folder = f"/Archives/edgar/data/{entry.filers[0].cik}/{entry.accession.replace('-', '')}"
    items = {item["name"]: item["size"] for item in get(f"{folder}/index.json").json()["directory"]["item"]}
    assert items[f"{entry.accession}.txt"] == ""
    for part in parts(content(entry.path)):
        assert get(f"{folder}/{part.name}").content == part.body and items[part.name] == str(len(part.body))
    detail = get(f"{folder}/{entry.accession}-index.htm").text
    assert "Form 10-K" in detail and all(part.name in detail for part in parts(content(entry.path)))


def test_index_files_are_of_the_two_families(get, corpus):
    entry = next(iter(read_archive(corpus.folder).entries.values()))
    year, quarter = entry.filed[:4], (int(entry.filed[4:6]) + 2) // 3
    full = get(f"/Archives/edgar/full-index/{year}/QTR{quarter}/master.idx").text
    daily = get(f"/Archives/edgar/daily-index/{year}/QTR{quarter}/master.{entry.filed}.idx").text
    row = f"{entry.filers[0].cik}|{entry.filers[0].name}|{entry.form}|{{}}|edgar/data/{entry.filers[0].cik}/{entry.accession}.txt"
    assert row.format(f"{year}-{entry.filed[4:6]}-{entry.filed[6:]}") + "\r\n" in full and "|Filename\r\n" in full
    assert row.format(entry.filed) + "\n" in daily and "|File Name\n" in daily and "\r" not in daily
    listing = get(f"/Archives/edgar/daily-index/{year}/QTR{quarter}/index.json").json()
    assert f"master.{entry.filed}.idx" in [item["name"] for item in listing["directory"]["item"]]
    assert get("/Archives/edgar/daily-index/1999/QTR1/master.19990101.idx").status_code == 404


def test_index_rows_are_filings_times_filers_and_one_filing_lies_under_all_its_filers(tmp_path):
    name = "0009990001-24-000001"
    (tmp_path / f"{name}.txt").write_bytes(submission(name, ["0009990001", "0009990002"]))
    with serving(tmp_path, limit=Limit(OPEN)) as server, httpx.Client(base_url=server.url, headers=WHO, trust_env=False) as client:
        rows = [line for line in client.get("/Archives/edgar/full-index/2024/QTR1/master.idx").text.splitlines() if name in line]
        assert len(rows) == 2
        one, two = (client.get(f"/Archives/edgar/data/{cik}/{name}.txt").content for cik in (9990001, 9990002))
        assert one == two and b"FIRM 0009990002" in one


def test_packed_folders_are_served_unpacked(corpus, tmp_path):
    paths = sorted(Path(corpus.folder).glob("*.txt"))[:2]
    (tmp_path / f"{paths[0].name}.gz").write_bytes(gzip.compress(paths[0].read_bytes()))
    (tmp_path / f"{paths[1].name}.zst").write_bytes(zstandard.compress(paths[1].read_bytes()))
    (tmp_path / "notes.txt").write_text("not a filing", encoding="utf-8")
    (tmp_path / "broken.txt.gz").write_bytes(b"\x1f\x8b broken")
    with serving(tmp_path, limit=Limit(OPEN)) as server, httpx.Client(base_url=server.url, headers=WHO, trust_env=False) as client:
        assert len(server.archive.entries) == 2
        for path in paths:
            assert client.get(f"/Archives/edgar/data/{path.stem[:10].lstrip('0')}/{path.name}").content == path.read_bytes()


def test_answers_are_packed_when_asked_and_always_have_a_length(server):
    path = "/files/company_tickers_exchange.json"
    plain = httpx.get(server.url + "/submissions/CIK0009990001.json", headers=WHO | {"Accept-Encoding": "identity"}, trust_env=False)
    packed = httpx.get(server.url + "/submissions/CIK0009990001.json", headers=WHO | {"Accept-Encoding": "gzip"}, trust_env=False)
    assert plain.content == packed.content and packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) == len(plain.content)
    head = httpx.head(server.url + path, headers=WHO, trust_env=False)
    assert head.status_code == 200 and head.content == b"" and int(head.headers["content-length"]) > 0


@pytest.mark.parametrize("agent", ["", "Mozilla/5.0 (X11; Linux x86_64)", "python-httpx/0.28"])
def test_an_undeclared_tool_is_refused(server, agent):
    answer = httpx.get(server.url + "/files/company_tickers.json", headers={"User-Agent": agent}, trust_env=False)
    assert answer.status_code == 403 and "Undeclared Automated Tool" in answer.text


def test_the_eleventh_request_within_a_second_blocks_and_asking_on_extends_it():
    now = [100.0]
    limit = Limit(clock=lambda: now[0], block_seconds=600)
    assert [limit.exceeded() for _ in range(11)] == [False] * 10 + [True]
    now[0] += 599
    assert limit.exceeded()  # this extends the block
    now[0] += 599
    assert limit.exceeded()
    now[0] += 601
    assert not limit.exceeded()


def test_eight_requests_a_second_are_allowed_for_ever():
    now = [0.0]
    limit = Limit(clock=lambda: now[0])
    for _ in range(100):
        assert not limit.exceeded()
        now[0] += 0.125


def test_too_fast_a_client_sees_the_refusal_page(corpus):
    with (serving(corpus.folder, limit=Limit(clock=lambda: 0.0)) as server,
          httpx.Client(base_url=server.url, headers=WHO, trust_env=False) as client):
        codes = [client.get("/files/company_tickers.json").status_code for _ in range(11)]
        assert codes == [200] * 10 + [403]
        assert "Request Rate Threshold Exceeded" in client.get("/files/company_tickers.json").text


@pytest.mark.parametrize("path", ["/Archives/edgar/data/9990001/../../../../etc/passwd",
                                  "/Archives/edgar/data/9990001/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
                                  "/Archives/edgar/data/9990001/000999000125000001/../questions.jsonl", "/questions.jsonl",
                                  "/" + "a" * 5000, "*", "/\x7f"])
def test_no_path_leaves_the_addresses_of_edgar(server, path):
    """Asked raw, because clients tidy paths before they send them."""
    connection = http.client.HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]), timeout=10)
    connection.putrequest("GET", path.replace("\x7f", "%7f"), skip_accept_encoding=True)
    connection.putheader("User-Agent", WHO["User-Agent"])
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 404 and b"root:" not in answer.read()
    connection.close()


def test_other_methods_are_refused(server):
    assert httpx.post(server.url + "/files/company_tickers.json", headers=WHO, trust_env=False).status_code == 405


def test_a_script_may_answer_first_and_the_log_keeps_every_request(corpus):
    def script(request):
        return Reply(503, b"later", headers={"Retry-After": "3"}) if request.number == 1 else None

    with serving(corpus.folder, script=script) as server, httpx.Client(base_url=server.url, headers=WHO, trust_env=False) as client:
        first, second = client.get("/files/company_tickers.json"), client.get("/files/company_tickers.json")
        assert (first.status_code, first.headers["retry-after"], second.status_code) == (503, "3", 200)
        assert [r.path for r in server.requests] == ["/files/company_tickers.json"] * 2


def test_it_listens_on_loopback_only(server):
    assert server.url.startswith("http://127.0.0.1:")


def test_a_port_that_is_taken_is_told(server, tmp_path):
    with pytest.raises(UsageError, match="port"), serving(tmp_path, int(server.url.rpartition(":")[2])):
        pass


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(StorageError, match="folder of filings"), serving(tmp_path / "none"):
        pass


def test_a_ticker_file_of_another_form_is_told(tmp_path):
    (tmp_path / "company_tickers_exchange.json").write_text(json.dumps(["AAPL"]), encoding="utf-8")
    with pytest.raises(StorageError, match="ticker file"), serving(tmp_path):
        pass


def test_real_submissions_of_all_dialects_are_read(shared):
    archive = read_archive(shared / "filings" / "submissions")
    told = [json.loads(line) for line in (shared / "filings" / "submissions" / "manifest.jsonl").read_text(encoding="utf-8").splitlines()]
    for record in told:
        entry = archive.entries[record["accession"]]
        if record["file"].removesuffix(".gz") != entry.path.name.removesuffix(".gz"):
            continue  # the same filing in another dialect
        assert entry.form == record["form"], record["file"]
        assert {f.cik for f in entry.filers} >= {cik.lstrip("0") for cik in record["filer_ciks"]}, record["file"]
        assert entry.size == record["bytes"] and entry.filed == (record["filing_date"] or "").replace("-", "")
        assert len(parts(content(entry.path))) == record["documents"], record["file"]
