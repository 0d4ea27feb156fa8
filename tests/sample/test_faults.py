"""Each fault is what it says, seen from the client's side of real HTTP, and comes when the script says so."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import time
import zlib
from collections import Counter
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from edgarmill.commands.replay import command
from edgarmill.sample.archive import read_archive
from edgarmill.sample.corpus import write_corpus
from edgarmill.sample.fault_file import read_faults
from edgarmill.sample.faults import (
    FAULTS,
    STORM,
    at,
    bad_gzip,
    block200,
    block403,
    block429,
    changed,
    cut_body,
    cut_document,
    cut_gzip,
    dribble,
    empty,
    first_of,
    latency,
    missing,
    reset,
    reset_in_body,
    slow,
    stalled,
    storm,
    too_many,
    unavailable,
    web_page,
    wrong_accession,
)
from edgarmill.sample.replay import Limit, Reply, Request, serving
from edgarmill.schemas.errors import SettingsError, UsageError

WHO = {"User-Agent": "Test Company test@company.example"}
OPEN = 10_000  # requests a second: no limit
PLAIN = WHO | {"Accept-Encoding": "identity"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("faults"), 6, per_company=3)


@pytest.fixture(scope="module")
def entry(corpus):
    return min(read_archive(corpus.folder).entries.values(), key=lambda e: e.size)


@pytest.fixture(scope="module")
def text(entry):
    """Path of a full submission."""
    return f"/Archives/edgar/data/{entry.filers[0].cik}/{entry.accession}.txt"


@pytest.fixture(scope="module")
def document(entry):
    """Path of an HTML document."""
    return f"/Archives/edgar/data/{entry.filers[0].cik}/{entry.accession.replace('-', '')}/{entry.primary}"


@pytest.fixture(scope="module")
def script():
    """What the server of `get` does at present."""
    return []


@pytest.fixture(scope="module")
def server(corpus, script):
    with serving(corpus.folder, limit=Limit(OPEN), script=lambda request: script[-1](request) if script else None) as server:
        yield server


@pytest.fixture
def get(server, script):
    """get(path, fault) asks once under that fault; get(path) for the true answer."""
    with httpx.Client(base_url=server.url, headers=WHO, trust_env=False, timeout=5.0) as client:
        def ask(path, fault=None, **more):
            script[:] = [fault] if fault else []
            return client.get(path, **more)

        yield ask
        script.clear()


def bare(server, path, headers=PLAIN):
    """A response without any client's decoding."""
    connection = http.client.HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]), timeout=5)
    connection.request("GET", path, headers=headers)
    return connection.getresponse()


@pytest.mark.parametrize(("fault", "status"), [(block403, 403), (block429, 429), (block200, 200)])
def test_block_pages_come_with_each_status_and_of_both_kinds(get, text, fault, status):
    answer = get(text, fault)
    assert answer.status_code == status and "Request Rate Threshold Exceeded" in answer.text
    assert "Undeclared Automated Tool" in get(text, lambda request: fault(request, page="undeclared")).text


def test_retry_after_comes_in_seconds_and_as_a_date(get, text):
    answer = get(text, lambda request: too_many(request, retry_after=3))
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "3") and "<html" not in answer.text
    answer = get(text, lambda request: too_many(request, retry_after=60, as_date=True))
    assert 55 < parsedate_to_datetime(answer.headers["Retry-After"]).timestamp() - time.time() < 65
    assert "Retry-After" not in get(text, unavailable).headers and get(text, unavailable).status_code == 503
    assert get(text, lambda request: unavailable(request, retry_after=0.5)).headers["Retry-After"] == "0.5"


def test_answers_with_another_body(get, text):
    assert (get(text, empty).status_code, get(text, empty).content) == (200, b"")
    assert get(text, missing).status_code == 404
    page = get(text, web_page)
    assert page.status_code == 200 and "Maintenance" in page.text and "Threshold" not in page.text
    assert page.headers["content-type"] == "text/html"


def test_changed_content_is_whole_and_differs(get, text, document):
    for path, end in ((text, b"</SEC-DOCUMENT>\n"), (document, b"</html>\n")):
        good, other = get(path), get(path, changed)
        assert other.content != good.content and other.content.endswith(end) and good.content.endswith(end)
        assert other.content.replace(b"Changed after the filing was published.\n", b"") == good.content
        assert int(other.headers["content-length"]) > 0
    assert get("/files/company_tickers.json", changed).json() == get("/files/company_tickers.json").json()


def test_a_wrong_accession_is_a_whole_other_filing(get, server, text, document, entry):
    other = get(text, wrong_accession).text
    assert other.endswith("</SEC-DOCUMENT>\n") and f"ACCESSION NUMBER:\t\t{entry.accession}" not in other and "ACCESSION NUMBER:" in other
    assert get(document, wrong_accession).content not in (get(document).content, b"")
    folder = document.rpartition("/")[0]
    assert get(f"{folder}/index.json", wrong_accession).json() != get(f"{folder}/index.json").json()
    page = get(f"{folder}/{entry.accession}-index-headers.html", wrong_accession).text
    assert page.startswith("<HTML><HEAD><TITLE>SEC EDGAR Submission") and entry.accession not in page
    assert get("/files/company_tickers.json", wrong_accession).status_code == 200  # nothing of another filing fits there


def test_a_cut_document_has_a_length_that_agrees(get, server, script, text, document):
    good = get(document).content
    script[:] = [cut_document]
    answer = bare(server, document)
    body = answer.read()
    assert int(answer.headers["content-length"]) == len(body) and good.startswith(body) and b"</html>" not in body
    body = bare(server, text).read()
    assert body.count(b"<DOCUMENT>") == body.count(b"</DOCUMENT>") + 1 and b"</SEC-HEADER>" in body


def test_a_cut_gzip_stream_has_a_length_that_agrees(get, server, script, text):
    good = get(text).content
    script[:] = [cut_gzip]
    answer = bare(server, text, WHO | {"Accept-Encoding": "gzip"})
    body = answer.read()
    assert answer.headers["content-encoding"] == "gzip" and int(answer.headers["content-length"]) == len(body)
    unpacker = zlib.decompressobj(31)
    assert good.startswith(unpacker.decompress(body)) and not unpacker.eof
    with pytest.raises(EOFError):
        gzip.decompress(body)


def test_a_damaged_gzip_stream_cannot_be_read(get, text):
    with pytest.raises(httpx.DecodingError):
        get(text, bad_gzip)


def test_a_cut_body_breaks_its_promise(get, server, script, text):
    with pytest.raises(httpx.RemoteProtocolError):
        get(text, cut_body)
    script[:] = [cut_body]
    answer = bare(server, text)
    with pytest.raises(http.client.IncompleteRead) as told:
        answer.read()
    assert 0 < len(told.value.partial) < int(answer.headers["content-length"])


def test_a_reset_is_a_reset_before_and_within_the_body(get, server, script, text):
    script[:] = [reset]
    with pytest.raises(ConnectionResetError):
        bare(server, text)
    script[:] = [lambda request: reset_in_body(request, after=300)]
    answer = bare(server, text)
    assert answer.status == 200 and len(answer.read(300)) == 300
    with pytest.raises(ConnectionResetError):
        answer.read()
    with pytest.raises(httpx.ReadError):
        get(text, reset)


def test_a_slow_body_comes_whole_and_a_stalled_answer_never(get, text):
    good = get(text).content
    assert get(text, slow).content == good
    assert get(text, lambda request: dribble(request, bytes_each=len(good) // 2, seconds=0.01)).content == good
    with pytest.raises(httpx.ReadTimeout):
        get(text, lambda request: dribble(request, bytes_each=100, seconds=0.4), timeout=0.1)
    with pytest.raises(httpx.ReadTimeout):
        get(text, stalled, timeout=0.1)
    assert get(text).content == good


def test_faults_leave_refusals_and_absent_pages_as_they_are(get, server):
    for name in ("changed", "wrong_accession", "cut_document", "cut_gzip", "bad_gzip", "cut_body", "reset_in_body", "slow", "dribble"):
        assert get("/nothing", FAULTS[name]).status_code == 404
        assert get("/files/company_tickers.json", FAULTS[name], headers={"User-Agent": "none"}).status_code == 403


def test_at_strikes_its_path_so_many_times(get, text, document):
    script = at(r"\.txt$", missing, times=2)
    assert [get(path, script).status_code for path in (document, text, text, text)] == [200, 404, 404, 200]
    always = at(r"", missing)
    assert {get(text, always).status_code for _ in range(3)} == {404}


def test_times_count_only_where_the_fault_fits(get, text):
    script = at("", cut_document, times=1)
    assert get("/nothing", script).status_code == 404
    assert len(get(text, script).content) < len(get(text, script).content)


def test_the_first_script_that_answers_is_taken(get, text, document):
    script = first_of(at(r"\.txt$", missing), at("", unavailable))
    assert (get(text, script).status_code, get(document, script).status_code) == (404, 503)
    assert get(text, first_of()).status_code == 200


def answers_of(script, path, count):
    """Which fault struck each of so many requests for one path, without a network."""
    for number in range(1, count + 1):
        yield script(Request(number, "GET", path, {}, ask=lambda asked: Reply(200, b"<html>true</html>")))


def test_a_storm_is_the_same_for_the_same_seed_and_strikes_with_its_share():
    def struck(seed, count=4000):
        script = storm(seed, 0.05, (missing, unavailable), in_a_row=count)
        return [reply.status if reply else 200 for reply in answers_of(script, "/a.txt", count)]

    assert struck(1) == struck(1) != struck(2)
    counts = Counter(struck(1))
    assert 150 < counts[404] < 250 and 150 < counts[503] < 250 and len(counts) == 3


def test_a_storm_strikes_a_path_no_more_often_in_a_row_than_asked_but_for_ever_where_told():
    script = storm(3, 0.5, (missing, unavailable), in_a_row=2, for_ever=["/lost/"])
    rows = "".join("x" if reply else "." for reply in answers_of(script, "/a.txt", 200))
    assert rows[:9] == "xx.xx.xx." and "xxx" not in rows
    assert all(answers_of(script, "/lost/a.txt", 50))


def test_a_storm_may_be_kept_to_some_paths_and_cannot_exceed_everything():
    script = storm(3, 1.0, (missing,), path=r"\.txt$")
    assert not any(answers_of(script, "/files/company_tickers.json", 20)) and next(answers_of(script, "/a.txt", 1))
    assert not any(answers_of(storm(3, 0.0), "/a.txt", 100))
    with pytest.raises(UsageError, match="more than all requests"):
        storm(1, 0.5, STORM)


def test_latency_is_added_to_each_answer(corpus, text):
    with (serving(corpus.folder, limit=Limit(OPEN), latency=0.02, script=latency(0.03, at(r"json$", missing))) as server,
          httpx.Client(base_url=server.url, headers=WHO, trust_env=False) as client):
        for path, status in ((text, 200), ("/files/company_tickers.json", 404)):
            start = time.monotonic()
            assert client.get(path).status_code == status and time.monotonic() - start >= 0.05


def test_a_late_answer_delays_no_other_and_a_stopping_server_waits_for_none(corpus, text, document):
    with serving(corpus.folder, limit=Limit(OPEN), script=at(r"\.txt$", latency(600.0))) as server:
        late = socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=20)
        late.sendall(f"GET {text} HTTP/1.1\r\nHost: x\r\nUser-Agent: a a@b.example\r\n\r\n".encode())
        for _ in range(3):
            assert httpx.get(server.url + document, headers=WHO, trust_env=False).status_code == 200
        late.setblocking(False)
        with pytest.raises(BlockingIOError):
            late.recv(1)
        late.settimeout(20)
    with late:
        assert late.recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_a_fault_file_says_the_same_as_a_script(corpus, text, document, tmp_path, suffix):
    told = {"seed": 7, "storm": {"share": 0.5, "faults": ["empty", "missing"], "path": "company", "in_a_row": 1},
            "fault": [{"kind": "block403", "path": r"\.txt$", "times": 1, "page": "undeclared"},
                      {"kind": "too_many", "path": r"\.txt$", "times": 1, "retry_after": 2},
                      {"kind": "missing", "path": r"\.htm$", "share": 0.0}]}
    path = tmp_path / f"faults.{suffix}"
    path.write_text(json.dumps(told) if suffix == "json" else """
seed = 7
[storm]
share = 0.5
faults = ["empty", "missing"]
path = "company"
in_a_row = 1
[[fault]]
kind = "block403"
path = '\\.txt$'
times = 1
page = "undeclared"
[[fault]]
kind = "too_many"
path = '\\.txt$'
times = 1
retry_after = 2
[[fault]]
kind = "missing"
path = '\\.htm$'
share = 0.0
""", encoding="utf-8")
    with (serving(corpus.folder, limit=Limit(OPEN), script=read_faults(path)) as server,
          httpx.Client(base_url=server.url, headers=WHO, trust_env=False) as client):
        first, second, third = (client.get(text) for _ in range(3))
        assert "Undeclared" in first.text and second.headers["Retry-After"] == "2" and third.status_code == 200
        assert client.get(document).status_code == 200
        answers = [client.get("/files/company_tickers.json") for _ in range(4)]
        assert ["." if a.content and a.status_code == 200 else "x" for a in answers] == ["x", ".", "x", "."]


@pytest.mark.parametrize(("told", "word"), [
    ("", "no [[fault]]"), ("[[fault]]\nkind = 'hail'", "no known kind"), ("[[fault]]\npath = 'x'", "no known kind"),
    ("[[fault]]\nkind = ['hail']", "no known kind"), ("[[fault]]\nkind = 'slow'\npath = '('", "path cannot be"),
    ("[[fault]]\nkind = 'slow'\ntimes = -1", "times cannot be"), ("[[fault]]\nkind = 'slow'\ntimes = true", "times cannot be"),
    ("[[fault]]\nkind = 'slow'\nshare = 2", "share cannot be"), ("[[fault]]\nkind = 'slow'\nsecond = 2", "unknown word: second"),
    ("[[fault]]\nkind = 'slow'\nseconds = 'two'", "seconds cannot be"), ("[[fault]]\nkind = 'block403'\npage = 'x'", "page cannot be"),
    ("[[fault]]\nkind = 'too_many'\nas_date = 1", "as_date cannot be"), ("fault = 3", "fault cannot be"),
    ("other = 3", "unknown word: other"),
    ("[storm]\nshare = 0.5", "more than all requests"), ("[storm]\nfaults = []", "faults cannot be"),
    ("[storm]\nfaults = 'x'", "faults cannot be"),
    ("[storm]\nfor_ever = ['(']", "for_ever cannot be"), ("x = ", "no TOML"),
])
def test_a_bad_fault_file_is_told_in_one_line(tmp_path, told, word):
    path = tmp_path / "faults.toml"
    path.write_text(told, encoding="utf-8")
    with pytest.raises(SettingsError) as error:
        read_faults(path)
    assert word in str(error.value) and str(path) in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("told", ["[]", "{", "[" * 100_000, "3"])
def test_a_bad_json_fault_file_is_told_in_one_line(tmp_path, told):
    path = tmp_path / "faults.json"
    path.write_text(told, encoding="utf-8")
    with pytest.raises(SettingsError, match="fault file"):
        read_faults(path)


def test_a_fault_file_that_is_not_there_is_told_by_the_verb(corpus, tmp_path):
    with pytest.raises(SettingsError, match="cannot be read"):
        read_faults(tmp_path / "none.toml")
    result = CliRunner().invoke(command, [str(Path(corpus.folder)), "--port", "0", "--faults", str(tmp_path / "none.toml")])
    assert isinstance(result.exception, SettingsError)
