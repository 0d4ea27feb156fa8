"""What the replay server shows of a filing, on which day, and what it answers from recordings. Real HTTP throughout."""

from __future__ import annotations

import gzip
import html
import json
import re
from contextlib import contextmanager
from datetime import date

import httpx
import pytest

from edgarmill.sample.archive import Archive, as_of, content, header, parts, read_archive
from edgarmill.sample.kept import Kept
from edgarmill.sample.replay import Limit, Reply, serving
from edgarmill.schemas.errors import StorageError, UsageError

WHO = {"User-Agent": "Test Company test@company.example"}
OPEN = 10_000  # requests a second: no limit
PIXELS = bytes(range(256)) * 3


def uuencoded(data: bytes, name: str, padding: bytes = b"") -> bytes:
    """As EDGAR's encoders write it: the last line padded to whole groups, some with other bytes than zeros."""
    lines = [data[i:i + 45] for i in range(0, len(data), 45)]
    coded = [bytes([32 + len(line)]) + b"".join(bytes(32 + (int.from_bytes(line[i:i + 3].ljust(3, padding or b"\0"), "big") >> shift & 63)
                                                for shift in (18, 12, 6, 0)) for i in range(0, len(line), 3)) for line in lines]
    return b"begin 644 " + name.encode() + b"\n" + b"\n".join(coded) + b"\n \nend\n"


def block(body: bytes, name: str = "", form: str = "EX-99.1", sequence: int = 1) -> bytes:
    named = f"<FILENAME>{name}\n" if name else ""
    head = f"<DOCUMENT>\n<TYPE>{form}\n<SEQUENCE>{sequence}\n{named}<DESCRIPTION>Q&A, one\n<TEXT>\n"
    return head.encode() + body + b"</TEXT>\n</DOCUMENT>\n"


def submission(number: int, filed: str, *blocks: bytes, form: str = "8-K", cik: int = 9990001) -> bytes:
    accession = f"{cik:010}-{filed[2:4]}-{number:06}"
    head = (f"<SEC-DOCUMENT>{accession}.txt : {filed}\n<SEC-HEADER>{accession}.hdr.sgml : {filed}\n<ACCEPTANCE-DATETIME>{filed}161500\n"
            f"ACCESSION NUMBER:\t\t{accession}\nCONFORMED SUBMISSION TYPE:\t{form}\nPUBLIC DOCUMENT COUNT:\t\t1\n"
            f"FILED AS OF DATE:\t\t{filed}\n\nFILER:\n\n\tCOMPANY DATA:\t\n\t\tCOMPANY CONFORMED NAME:\t\t\tFIRM & CO\n"
            f"\t\tCENTRAL INDEX KEY:\t\t\t{cik:010}\n</SEC-HEADER>\n")
    return head.encode() + b"".join(blocks or (block(b"<html></html>\n", "a.htm", form),)) + b"</SEC-DOCUMENT>\n"


def put(folder, *texts: bytes) -> list[str]:
    """Writes submissions; their accession numbers."""
    names = [re.search(rb"ACCESSION[ -]NUMBER:?>?\s*(\S+)", text)[1].decode() for text in texts]
    for name, text in zip(names, texts, strict=True):
        (folder / f"{name}.txt").write_bytes(text)
    return names


@contextmanager
def asking(folder, **more):
    """(get, server) over a folder."""
    with (serving(folder, limit=Limit(OPEN), **more) as server,
          httpx.Client(base_url=server.url, headers=WHO, trust_env=False) as client):
        yield client.get, server


def folder_of(accession: str) -> str:
    return f"/Archives/edgar/data/{accession[:10].lstrip('0')}/{accession.replace('-', '')}"


# --- documents ---------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("inside", "served"), [
    (b"\n\n  text\n\n", b"\n\n  text\n\n"),
    (b"<XBRL>\n<?xml version='1.0'?>\n<html></html>\n</XBRL>\n", b"<?xml version='1.0'?>\n<html></html>\n"),
    (b"<XML>\n<a/>\n</XML>\n", b"<a/>\n"),
    (uuencoded(PIXELS, "a.jpg"), PIXELS), (uuencoded(PIXELS[:46], "a.jpg", b"\xff"), PIXELS[:46]),
    (b"<PDF>\n" + uuencoded(b"%PDF-1.4 x", "a.pdf") + b"</PDF>\n", b"%PDF-1.4 x"),
    (b"begin 644 a.jpg\nM!!!\nno end", b"begin 644 a.jpg\nM!!!\nno end"), (b"begin with words\nend\n", b"begin with words\nend\n"),
    (b"one\r\ntwo \xff\xfe\r\n", b"one\r\ntwo \xff\xfe\r\n"), (b"", b""),
    (b"a </TEXT> in the text\n", b"a </TEXT> in the text\n"),
])
def test_a_document_is_served_as_the_bytes_within_text_unwrapped_and_decoded(tmp_path, inside, served):
    accession, = put(tmp_path, submission(1, "20240105", block(inside, "a.htm")))
    with asking(tmp_path) as (get, _):
        assert get(f"{folder_of(accession)}/a.htm").content == served
        sizes = {item["name"]: item["size"] for item in get(f"{folder_of(accession)}/index.json").json()["directory"]["item"]}
        assert sizes["a.htm"] == str(len(served))


def test_bare_carriage_returns_stay_in_text_and_document(tmp_path):
    text = (b"<SUBMISSION>\n<ACCESSION-NUMBER>0009990001-24-000001\r<TYPE>8-K\r<FILING-DATE>20240105\r<FILER>\r<COMPANY-DATA>\r"
            b"<CONFORMED-NAME>FIRM\r<CIK>0009990001\r</COMPANY-DATA>\r</FILER>\r<DOCUMENT>\r<TYPE>8-K\r<SEQUENCE>1\r<FILENAME>a.htm\r"
            b"<TEXT>\r<html>\r</html>\r</TEXT>\r</DOCUMENT>\r</SUBMISSION>\r")
    (tmp_path / "0009990001-24-000001.nc").write_bytes(text)
    with asking(tmp_path) as (get, _):
        place = folder_of("0009990001-24-000001")
        assert get(f"{place}/0009990001-24-000001.txt").content == text
        assert get(f"{place}/a.htm").content == b"<html>\r</html>\r"
        page = get(f"{place}/0009990001-24-000001-index-headers.html").text
        inside = page[page.index("<!--"):page.index("-->")]
        assert "\n<CONFORMED-NAME>FIRM\n<CIK>0009990001\n" in inside and "&lt;CIK&gt;0009990001\n" in page and "\r" not in page


def test_a_document_without_a_name_cannot_be_asked_for(tmp_path):
    accession, = put(tmp_path, submission(1, "19970105", block(b"text\n"), block(b"more\n", sequence=2)))
    with asking(tmp_path) as (get, _):
        items = get(f"{folder_of(accession)}/index.json").json()["directory"]["item"]
        assert [item["name"] for item in items] == [f"{accession}{end}" for end in ("-index-headers.html", "-index.html", ".txt")]
        assert {get(f"{folder_of(accession)}/{name}").status_code for name in ("0001.txt", "1", "%20")} == {404}
        assert "<a " not in get(f"{folder_of(accession)}/{accession}-index-headers.html").text


def test_the_header_page_holds_the_header_as_it_stands_and_a_link_for_each_text(tmp_path):
    text = submission(1, "20240105", block(b"<html>body</html>\n", "a.htm", "8-K"), block(b"<XML>\n<a/>\n</XML>\n", "R1.xml", "XML", 2))
    accession, = put(tmp_path, text)
    with asking(tmp_path) as (get, _):
        page = get(f"{folder_of(accession)}/{accession}-index-headers.html")
        assert page.headers["content-type"] == "text/html"
        assert page.text.startswith(f"<HTML><HEAD><TITLE>SEC EDGAR Submission {accession}</TITLE>\n<!--\n<SEC-HEADER>")
        assert get(f"{folder_of(accession)}/{accession}-index.html").text == get(f"{folder_of(accession)}/{accession}-index.htm").text
    pre = re.search(r"<PRE>(.*)</PRE></BODY></HTML>\n", page.text, re.S)[1]
    plain = html.unescape(re.sub(r"<a .*?</a><br>\n", "", pre))
    assert plain.startswith(f"<SEC-DOCUMENT>{accession}-index.html : 20240105\n") and plain.endswith("</DOCUMENT>\n</SEC-DOCUMENT>")
    assert header(text).decode() in plain and "\t\t\tFIRM & CO\n" in plain
    assert "<TYPE>8-K\n<SEQUENCE>1\n<FILENAME>a.htm\n<DESCRIPTION>Q&A, one\n<TEXT>\n</DOCUMENT>\n" in plain and "body" not in plain
    assert re.findall(r'<a href="(.*?)">', pre) == ["a.htm", "xsl/R1.xml", "R1.xml"]


@pytest.mark.parametrize("name", ["0001971857-23-000246", "23andme"])
def test_the_header_page_has_the_form_of_the_recorded_ones(tmp_path, shared, name):
    """A submission made of a recorded page's tab header and document heads has that page."""
    page = gzip.decompress((shared / "edgar_api" / "folder" / f"{name}-index-headers.html.gz").read_bytes()).decode()
    told = html.unescape(re.sub(r"<a .*?</a><br>\n", "", re.search(r"<PRE>(.*)</PRE>", page, re.S)[1]))
    text = told.replace("<TEXT>\n", "<TEXT>\nbody\n</TEXT>\n") + "\n"
    accession, = put(tmp_path, text.encode())
    with asking(tmp_path) as (get, server):
        filer = server.archive.entries[accession].filers[0].cik
        ours = get(f"/Archives/edgar/data/{filer}/{accession.replace('-', '')}/{accession}-index-headers.html").text
    day = re.search(r"-index.html : (\d{8})", page)[1]  # of making the page: ours are of the filing's day
    assert ours == page.replace(f"-index.html : {day}", f"-index.html : {server.archive.entries[accession].filed}")


def test_items_have_the_numbers_of_their_time(tmp_path):
    text = submission(1, "20240105").replace(b"FILED AS", b"ITEM INFORMATION:\t\tOther Events\nITEM INFORMATION:\nFILED AS")
    accession, = put(tmp_path, text)
    old, = put(tmp_path, text.replace(b"20240105", b"19990105").replace(b"-24-", b"-99-"))
    with asking(tmp_path) as (get, _):
        assert get("/submissions/CIK0009990001.json").json()["filings"]["recent"]["items"] == ["8.01", "5"]
        for name, number in ((accession, "8.01"), (old, "5")):
            assert f"\n<ITEMS>{number}\n<FILING-DATE>" in get(f"{folder_of(name)}/{name}-index-headers.html").text


def test_a_file_written_over_is_served_anew(tmp_path):
    accession, = put(tmp_path, submission(1, "20240105"))
    with asking(tmp_path) as (get, _):
        assert get(f"{folder_of(accession)}/a.htm").content == b"<html></html>\n"
        put(tmp_path, submission(1, "20240105", block(b"<html>another text</html>\n", "a.htm")))
        assert get(f"{folder_of(accession)}/a.htm").content == b"<html>another text</html>\n"


def test_documents_of_a_manifest_are_served_as_they_are(tmp_path):
    files = {"one.htm": b"<html>one</html>", "two.txt": b"<DOCUMENT>\n<TYPE>10-Q\n<FILENAME>q.txt\n<TEXT>\ntwo\n</TEXT>\n</DOCUMENT>\n",
             "three.htm": b"<XBRL>\n<html/>\n</XBRL>", "four.htm": b""}
    told = [{"file": "one.htm.gz", "accession": "0000320193-23-000001", "cik": "320193", "company": "Apple & Co", "form": "10-K",
             "period": "2022-09-24", "filing_date": "2022-10-28"},
            {"file": "two.txt.gz", "form": "10-Q", "period": "2015-03-31", "cik": None, "accession": None, "filing_date": None},
            {"file": "three.htm.gz", "form": "10-K", "period": None}, {"file": "four.htm.gz", "form": "10-K"},
            {"file": "none.htm", "form": "10-K"}]
    for name, data in files.items():
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(data))
    (tmp_path / "manifest.jsonl").write_text("\n".join(map(json.dumps, told)), encoding="utf-8")
    with asking(tmp_path) as (get, server):
        assert len(server.archive.entries) == 3
        assert get("/Archives/edgar/data/320193/000032019323000001/one.htm").content == files["one.htm"]
        text = get("/Archives/edgar/data/320193/0000320193-23-000001.txt").content
        assert len(text) == server.archive.entries["0000320193-23-000001"].size and text.endswith(b"</DOCUMENT>\n</SEC-DOCUMENT>\n")
        row = get("/submissions/CIK0000320193.json").json()
        recent = row["filings"]["recent"]
        assert (row["name"], recent["form"]) == ("Apple & Co", ["10-K"])
        assert (recent["filingDate"], recent["reportDate"]) == (["2022-10-28"], ["2022-09-24"])
        made_up = {e.form: e for e in server.archive.entries.values() if e.accession.startswith("9999")}
        assert made_up["10-Q"].filed == "20150331" and made_up["10-K"].filed == "19930101"
        for form, name, data in (("10-Q", "q.txt", b"two\n"), ("10-K", "three.htm", files["three.htm"])):
            entry = made_up[form]
            assert get(f"/Archives/edgar/data/{entry.filers[0].cik}/{entry.accession.replace('-', '')}/{name}").content == data


@pytest.mark.parametrize("told", ["[1]", "{", '{"form": "10-K"}', '{"file": "a.htm", "cik": "x"}'])
def test_a_manifest_of_another_form_is_told(tmp_path, told):
    (tmp_path / "manifest.jsonl").write_text(told, encoding="utf-8")
    with pytest.raises(StorageError, match="manifest"):
        read_archive(tmp_path)


# --- days --------------------------------------------------------------------------------------------------------------------------------

def days_listed(get, year, quarter):
    answer = get(f"/Archives/edgar/daily-index/{year}/QTR{quarter}/index.json")
    return [item["name"][7:15] for item in answer.json()["directory"]["item"]] if answer.status_code == 200 else answer.status_code


def rows_of(get, day):
    quarter = (int(day[4:6]) + 2) // 3
    text = get(f"/Archives/edgar/daily-index/{day[:4]}/QTR{quarter}/master.{day}.idx").text
    return [tuple(line.split("|")[2:4]) for line in text.splitlines()[6:]]


def test_a_filing_stands_in_the_index_of_its_day_of_publication(tmp_path):
    early, late = put(tmp_path, submission(1, "20240102"), submission(2, "20240103", form="10-K"))
    with asking(tmp_path, published={late: date(2024, 4, 2)}) as (get, _):
        assert days_listed(get, 2024, 1) == ["20240102"] and days_listed(get, 2024, 2) == ["20240402"]
        assert rows_of(get, "20240402") == [("10-K", "20240103")]  # a daily file holds older filing dates
        full = get("/Archives/edgar/full-index/2024/QTR1/master.idx").content
        assert early.encode() in full and late.encode() in full
        assert gzip.decompress(get("/Archives/edgar/full-index/2024/QTR1/master.gz").content) == full


def test_nothing_later_than_a_day_is_there_and_the_day_may_move(tmp_path):
    first, second = put(tmp_path, submission(1, "20240102"), submission(2, "20240401"))
    with asking(tmp_path, until="2024-01-31") as (get, server):
        def seen():
            listed = get("/submissions/CIK0009990001.json").json()["filings"]["recent"]["accessionNumber"]
            return listed, days_listed(get, 2024, 2), get(f"{folder_of(second)}/{second}.txt").status_code

        assert seen() == ([first], 404, 404)
        assert get("/Archives/edgar/full-index/2024/QTR2/master.idx").status_code == 404
        server.show(until=date(2024, 4, 1))
        assert seen() == ([second, first], ["20240401"], 200)
        server.show(published={second: "20240405"}, until="20240402")
        assert seen() == ([first], 404, 404)


def test_a_day_without_a_filing_of_ours_may_have_an_index_and_it_is_not_empty(tmp_path):
    put(tmp_path, submission(1, "20240102"))
    with asking(tmp_path) as (get, server):
        server.show(days=["20240102", "2024-01-03", date(2024, 1, 4)], until="20240103")
        assert days_listed(get, 2024, 1) == ["20240102", "20240103"]
        assert rows_of(get, "20240102") == [("8-K", "20240102")] and rows_of(get, "20240103") == [("4", "20240103")]


def test_filings_can_be_withdrawn_and_listed_otherwise(tmp_path):
    gone, other = put(tmp_path, submission(1, "20240102"), submission(2, "20240102", form="10-K"))
    with asking(tmp_path) as (get, server):
        server.show(withdrawn=[gone], relisted={other: ("10-K/A", "2024-01-03")})
        assert get(f"{folder_of(gone)}/{gone}.txt").status_code == get(f"{folder_of(gone)}/index.json").status_code == 404
        assert rows_of(get, "20240103") == [("10-K/A", "20240103")] and days_listed(get, 2024, 1) == ["20240103"]
        assert get(f"{folder_of(other)}/{other}.txt").status_code == 200
        server.show()
        assert sorted(rows_of(get, "20240102")) == [("10-K", "20240102"), ("8-K", "20240102")]


def test_another_day_changes_no_archive():
    archive = Archive({}, {})
    assert as_of(archive, until="20240101").entries == {} and archive.published == {}


def test_an_absent_index_answers_404_or_403_as_asked(tmp_path):
    put(tmp_path, submission(1, "20240102"))
    paths = ["/Archives/edgar/daily-index/2024/QTR1/master.20240103.idx", "/Archives/edgar/daily-index/2024/QTR2/index.json",
             "/Archives/edgar/full-index/2024/QTR2/master.idx"]
    with asking(tmp_path) as (get, _):
        assert {get(path).status_code for path in paths} == {404}
    with asking(tmp_path, absent=403) as (get, _):
        answers = [get(path) for path in paths]
        assert {a.status_code for a in answers} == {403} and not any("html" in a.text.lower() for a in answers)
        assert get("/Archives/edgar/data/1/000000000124000001/a.htm").status_code == 404
    with pytest.raises(UsageError, match="403 or 404"), serving(tmp_path, absent=500):
        pass


# --- recordings --------------------------------------------------------------------------------------------------------------------------

def test_recorded_responses_come_first(tmp_path):
    put(tmp_path, submission(1, "20240102"))
    place = tmp_path / "recorded"
    (place / "days").mkdir(parents=True)
    (place / "days" / "master.idx.gz").write_bytes(gzip.compress(b"recorded index\n"))
    (place / "filer.json").write_bytes(b'{"recorded": 1}')
    (place / "older.json").write_bytes(b'{"recorded": 2}')
    (place / "feed.atom").write_bytes(b"<feed/>")
    (place / "headers.html").write_bytes(b"<TITLE>0000000009-24-000007</TITLE>")
    told = [("days/master.idx.gz", "https://www.sec.gov/Archives/edgar/daily-index/2024/QTR1/master.20240105.idx"),
            ("filer.json", "https://data.sec.gov/submissions/CIK0009990001.json"),
            ("older.json", "https://data.sec.gov/submissions/CIK0009990001.json"),
            ("feed.atom", "https://www.sec.gov/cgi-bin/browse-edgar?action=getcurrent&output=atom"),
            ("headers.html", "https://www.sec.gov/Archives/edgar/data/{cik}/{accession18}/{accession}-index-headers.html"),
            ("block.html", "any path of www.sec.gov"), ("more.json", "https://efts.sec.gov/LATEST/search-index?q=...")]
    (place / "manifest.jsonl").write_text("\n".join(json.dumps({"file": f, "url": u}) for f, u in told), encoding="utf-8")
    with asking(tmp_path, recorded=place) as (get, _):
        assert get("/submissions/CIK0009990001.json").json() == {"recorded": 1}
        daily = get("/Archives/edgar/daily-index/2024/QTR1/master.20240105.idx")
        assert daily.content == b"recorded index\n" and daily.headers["content-type"] == "text/plain"
        assert days_listed(get, 2024, 1) == ["20240102", "20240105"]
        assert get("/cgi-bin/browse-edgar?action=getcurrent&output=atom").headers["content-type"] == "application/atom+xml"
        assert get("/cgi-bin/browse-edgar?action=other").status_code == 404
        assert get("/Archives/edgar/data/77/000000000924000007/0000000009-24-000007-index-headers.html").status_code == 200
        assert get("/Archives/edgar/data/77/000000000924000008/0000000009-24-000008-index-headers.html").status_code == 404
        assert get("/files/company_tickers.json").status_code == 200


@pytest.mark.parametrize("told", [None, "{", "[]", '{"file": "x"}'])
def test_recordings_that_cannot_be_read_are_told(tmp_path, told):
    if told is not None:
        (tmp_path / "manifest.jsonl").write_text(told, encoding="utf-8")
    (tmp_path / "filings").mkdir()
    with pytest.raises(StorageError, match="recorded responses"), serving(tmp_path / "filings", recorded=tmp_path):
        pass


def test_real_recordings_are_served_byte_for_byte(tmp_path, shared):
    told = [json.loads(line) for line in (shared / "edgar_api" / "manifest.jsonl").read_text(encoding="utf-8").splitlines()]
    with asking(tmp_path, recorded=shared / "edgar_api") as (get, _):
        seen = set()
        for record in told:
            path = record["url"].partition("sec.gov")[2].replace("{cik}", "320193")
            if "://" not in record["url"] or "..." in path or "{" in path or path in seen:
                continue
            seen.add(path)
            assert get(path).content == gzip.decompress((shared / "edgar_api" / record["file"]).read_bytes()), path
        assert len(seen) > 20


@pytest.mark.parametrize("folder", ["submissions", "dev"])
def test_real_filings_are_served_byte_for_byte_with_their_documents(shared, folder):
    root = shared / "filings" / folder
    with asking(root) as (get, server):
        entries = list(server.archive.entries.values())
        for entry in entries if folder == "submissions" else entries[::12]:
            base = f"/Archives/edgar/data/{entry.filers[0].cik}/{entry.accession.replace('-', '')}"
            text, raw = get(f"{base}/{entry.accession}.txt").content, content(entry.path)
            assert len(text) == entry.size and text == entry.around[0] + raw + entry.around[1]
            for part in parts(text):
                assert not part.name or get(f"{base}/{part.name}").content == part.body
                if part.name.endswith((".jpg", ".zip", ".xlsx")):
                    assert part.body[:2] in (b"\xff\xd8", b"PK"), part.name
            if entry.around[0].endswith(b">\n") and b"<DOCUMENT>" not in raw[:20]:
                assert get(f"{base}/{entry.primary}").content == raw


# --- limit and cache ---------------------------------------------------------------------------------------------------------------------

def test_the_limit_counts_what_it_refused_and_the_most_in_a_second():
    limit = Limit(requests=3)
    assert [limit.exceeded(0.25 * n) for n in range(3)] == [False] * 3 and (limit.blocked, limit.most) == (0, 3)
    assert not limit.exceeded(1.0) and limit.most == 3  # a second later to the point is another second
    assert limit.exceeded(1.1) and limit.exceeded(300.0) and (limit.blocked, limit.most) == (2, 4)


def test_arrivals_told_in_another_order_count_by_their_time():
    limit = Limit(requests=3)
    assert [limit.exceeded(t) for t in (0.0, 2.0, 0.2, 2.2, 0.4)] == [False] * 5
    assert limit.exceeded(0.6) and limit.most == 4  # the fourth within the first second, though told last


def test_a_server_tells_whether_it_ever_blocked(tmp_path):
    with serving(tmp_path, limit=Limit(3, clock=lambda: 0.0), script=lambda request: Reply(200, b"hides it")) as server:
        assert [httpx.get(server.url + "/", headers=WHO, trust_env=False).status_code for _ in range(5)] == [200] * 5
        assert (server.limit.blocked, server.limit.most) == (2, 5)


def test_a_body_is_compressed_once(tmp_path):
    body = b"a long text, " * 100_000
    with asking(tmp_path, script=lambda request: Reply(200, body)) as (get, server):
        assert all(get(f"/{n}").content == body for n in range(5))
        assert server.packed(body) is server.packed(bytes(bytearray(body)))


def test_a_cache_keeps_within_its_bytes_and_drops_the_longest_unused():
    made = []

    def get(key, size=4):
        return kept.get(key, lambda: made.append(key) or key * size)

    kept = Kept[str](10, len)
    assert [get(key) for key in "abab"] == ["aaaa", "bbbb"] * 2 and made == ["a", "b"]
    get("c")
    assert [get(key) for key in "cba"] == ["cccc", "bbbb", "aaaa"] and made == ["a", "b", "c", "a"]
    assert get("d", 6) == get("d", 6) == "dddddd" and made[-2:] == ["d", "d"]  # over half of all: not kept, and drops nothing
    assert get("b") and get("a") and made[-1] == "d"
