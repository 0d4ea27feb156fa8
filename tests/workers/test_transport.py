"""Manners towards EDGAR, over real HTTP against the replay server; time is an argument, so nothing waits."""

from __future__ import annotations

import gzip
import itertools
import multiprocessing
import os
import socket
import threading
import time
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from edgarmill.sample.replay import TOO_FAST, UNDECLARED, Limit, Reply, serving
from edgarmill.schemas.errors import Blocked, FetchFailed, SettingsError, Stopped, StorageError, TooLarge
from edgarmill.schemas.settings import Settings
from edgarmill.workers.at_once import at_once
from edgarmill.workers.pace import Pace, site_of
from edgarmill.workers.transport import REFUSALS_IN_A_ROW, RETRIED, Transport, identity, refusal_of

WHO = "Test Company test@company.example"
PAGE = "/files/company_tickers.json"


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now, self.slept = 1_700_000_000.0, list[float]()

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ask(tmp_path, clock):
    """ask(script, …) answers with what a transport makes of the scripted server: (body or error, requests)."""
    folder = tmp_path / "filings"
    folder.mkdir()

    def run(script, path=PAGE, max_bytes=None, **settings):
        with serving(folder, script=script, limit=Limit(10_000)) as server:
            made = Settings(user_agent=WHO, edgar_url=server.url, edgar_data_url=server.url, **settings)
            with Transport(made, clock=clock, sleep=clock.sleep, jitter=lambda: 0.5, pace_folder=str(tmp_path / "pace")) as transport:
                try:
                    return transport.get(server.url + path, max_bytes), server.requests
                except Exception as error:  # the test looks at it
                    return error, server.requests

    return run


def first(*replies):
    """A script that gives these answers in turn, then a good one."""
    return lambda request: replies[request.number - 1] if request.number <= len(replies) else Reply(200, b'{"good": 1}', "application/json")


@pytest.mark.parametrize("agent", ["", "  ", "Test Company", "Mozilla/5.0 (X11)", "Firm a@b", "Firm a@b.example\r\nX-Evil: 1",
                                   "Fïrm a@b.example"])
def test_without_a_declared_contact_nothing_is_sent(agent):
    with pytest.raises(SettingsError, match="EDGARMILL_USER_AGENT"):
        Transport(Settings(user_agent=agent))


def test_the_declared_agent_is_what_is_sent(ask):
    _, requests = ask(first())
    assert requests[0].headers["user-agent"] == WHO == identity(Settings(user_agent=f" {WHO} "))


# -- pace


def test_requests_are_even_and_an_idle_time_saves_up_nothing(tmp_path, clock):
    pace = Pace("site", 8, folder=str(tmp_path), clock=clock, sleep=clock.sleep)
    times = []
    for number in range(24):
        pace.take()
        times.append(clock.now)
        if number == 11:
            clock.now += 60
    gaps = [round(b - a, 6) for a, b in zip(times, times[1:], strict=False)]
    assert gaps == [0.125] * 11 + [60.0] + [0.125] * 11


def test_two_paces_of_one_site_share_their_slots_and_other_sites_do_not(tmp_path, clock):
    one, two, other = (Pace(site, 10, folder=str(tmp_path), clock=clock, sleep=clock.sleep) for site in ("a", "a", "b"))
    one.take()
    two.take()
    assert clock.slept[-1] == pytest.approx(0.1)
    before = list(clock.slept)
    other.take()
    assert clock.slept == before


def forty_slots(folder):
    """When forty requests left, by the clock's last reading before each."""
    readings, left = [], []

    def clock():
        readings.append(time.time())
        return readings[-1]

    pace = Pace("site", 400, folder=folder, clock=clock)
    for _ in range(40):
        pace.take()
        left.append(readings[-1])
    return left


def test_processes_share_their_slots(tmp_path):
    """Three processes take 40 slots each: no two of the 120 are closer than the pace allows, however the machine schedules them."""
    with multiprocessing.get_context("fork").Pool(3) as pool:
        left = sorted(time for times in pool.map(forty_slots, [str(tmp_path)] * 3, chunksize=1) for time in times)
    assert len(left) == 120
    assert min(b - a for a, b in zip(left, left[1:], strict=False)) >= 0.9 / 400 - 1e-5


def test_who_was_held_up_does_not_catch_up_in_a_burst(tmp_path, clock):
    """A process that wakes late makes good a tenth of an interval per request: no second sees more than nine leave at eight a second."""
    lateness = itertools.cycle([0.0, 0.4, 0.05, 0.0, 0.0, 0.9])
    pace = Pace("a", 8, folder=str(tmp_path), clock=clock, sleep=lambda seconds: clock.sleep(seconds + next(lateness)))
    left = []
    for _ in range(200):
        pace.take()
        left.append(clock.now)
    assert max(sum(1 for other in left if one <= other < one + 1.0) for one in left) <= 9


def test_a_silence_holds_for_everyone_even_when_it_begins_during_a_wait(tmp_path):
    clock = Clock()
    other = Pace("a", 10, folder=str(tmp_path), clock=clock)

    def sleep(seconds):
        if not clock.slept:
            other.silence(30)
        clock.sleep(seconds)

    pace = Pace("a", 10, folder=str(tmp_path), clock=clock, sleep=sleep)
    begun = clock.now
    pace.take()
    pace.take()
    assert clock.now - begun >= 30


@pytest.mark.parametrize("content", [b"", b"junk", b"nan", b"1e300 1e300", b"9999999999 9999999999", b"\xff\xfe\x00", b"1 2 3"])
def test_a_broken_or_stale_pace_file_stops_nobody(tmp_path, clock, content):
    (tmp_path / "pace-a").write_bytes(content)
    pace = Pace("a", 10, folder=str(tmp_path), clock=clock, sleep=clock.sleep)
    pace.take()
    assert sum(clock.slept) == 0
    pace.take()
    assert sum(clock.slept) == pytest.approx(0.1)


def test_a_clock_that_is_set_back_does_not_stop_the_pace(tmp_path, clock):
    pace = Pace("a", 10, folder=str(tmp_path), clock=clock, sleep=clock.sleep)
    pace.take()
    clock.now -= 1800
    pace.take()
    assert clock.slept == []


def test_a_link_in_place_of_the_pace_file_is_refused(tmp_path, clock):
    (tmp_path / "target").write_text("mine", encoding="utf-8")
    os.symlink(tmp_path / "target", tmp_path / "pace-a")
    with pytest.raises(StorageError, match="pace"):
        Pace("a", 10, folder=str(tmp_path), clock=clock).take()
    assert (tmp_path / "target").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("url, site", [
    ("https://www.sec.gov/Archives/x", "sec.gov"), ("https://data.sec.gov/submissions/x", "sec.gov"),
    ("http://127.0.0.1:8123/x", "127.0.0.1_8123"),
    ("http://localhost:99/x", "localhost_99"), ("http://[::1]:99/x", "::1_99")])
def test_both_hosts_of_edgar_are_one_budget(url, site):
    assert site_of(url) == site


def test_the_replay_server_with_edgars_limit_never_refuses_a_paced_client(tmp_path, clock):
    with serving(tmp_path, limit=Limit(clock=clock)) as server:
        settings = Settings(user_agent=WHO, edgar_url=server.url)
        with Transport(settings, clock=clock, sleep=clock.sleep, pace_folder=str(tmp_path / "pace")) as transport:
            for _ in range(60):
                transport.get(server.url + PAGE)
            assert transport.requests == 60
        assert clock.now - 1_700_000_000.0 == pytest.approx(59 / 8)


# -- retries


@pytest.mark.parametrize("status", sorted(RETRIED))
def test_a_passing_failure_is_asked_again(ask, clock, status):
    body, requests = ask(first(Reply(status, b"no"), Reply(status, b"no")))
    assert body == b'{"good": 1}' and len(requests) == 3
    assert [s for s in clock.slept if s >= 0.5] == [0.5, 1.0]


@pytest.mark.parametrize("value", ["soon", "-1", "Mon, 01 Jan 99999999999 00:00:00 GMT", "9" * 4000])
def test_a_retry_after_of_no_sense_ends_nothing(ask, value):
    body, requests = ask(first(Reply(503, b"wait", headers={"Retry-After": value})))
    assert body == b'{"good": 1}' and len(requests) == 2


def test_back_off_grows_and_ends_in_an_error_that_says_what_to_do(ask, clock):
    error, requests = ask(lambda request: Reply(500, b"no"), request_retries=3)
    assert isinstance(error, FetchFailed) and len(requests) == 4
    assert "status 500, 4 times" in str(error) and PAGE in error.subject and "again" in error.todo
    assert [s for s in clock.slept if s >= 0.5] == [0.5, 1.0, 2.0]


@pytest.mark.parametrize("value", ["7", format_datetime(datetime.fromtimestamp(1_700_000_007, UTC), usegmt=True)])
def test_retry_after_is_obeyed_as_seconds_and_as_a_date(ask, clock, value):
    body, requests = ask(first(Reply(429, b"wait", headers={"Retry-After": value})))
    assert body == b'{"good": 1}' and len(requests) == 2
    assert clock.now == pytest.approx(1_700_000_007, abs=0.2)


@pytest.mark.parametrize("status", [301, 302, 400, 401, 403, 404, 410])
def test_a_final_answer_is_asked_for_once(ask, status):
    error, requests = ask(lambda request: Reply(status, b"<Error>no</Error>", headers={"Location": "/elsewhere"}))
    assert isinstance(error, FetchFailed) and len(requests) == 1 and str(status) in str(error)


def test_a_cut_answer_is_asked_again(ask):
    body, requests = ask(first(Reply(200, b"x" * 5000, cut=1234)))
    assert body == b'{"good": 1}' and len(requests) == 2


def test_a_cut_gzip_stream_is_not_taken_for_whole(ask):
    packed = gzip.compress(b"filing " * 10_000)
    error, requests = ask(lambda request: Reply(200, packed[:-20], headers={"Content-Encoding": "gzip"}), request_retries=1)
    assert isinstance(error, FetchFailed) and "cut" in str(error) and len(requests) == 2


def test_a_damaged_gzip_stream_is_asked_again(ask):
    body, requests = ask(first(Reply(200, b"\x1f\x8bnot gzip at all", headers={"Content-Encoding": "gzip"})))
    assert body == b'{"good": 1}' and len(requests) == 2


def test_a_gzip_stream_of_several_members_is_read_to_its_end(ask):
    packed = gzip.compress(b"one " * 10_000) + gzip.compress(b"two " * 10_000)
    body, requests = ask(lambda request: Reply(200, packed, headers={"Content-Encoding": "gzip"}))
    assert body == b"one " * 10_000 + b"two " * 10_000 and len(requests) == 1
    for rest in (packed[:-9], packed + b"more"):
        error, _ = ask(lambda request, rest=rest: Reply(200, rest, headers={"Content-Encoding": "gzip"}), request_retries=0)
        assert isinstance(error, FetchFailed)


def test_a_web_page_in_place_of_json_or_of_a_submission_is_not_content(ask):
    page = Reply(200, b"\n<!DOCTYPE html><html><body>Maintenance</body></html>")
    for path in (PAGE, "/Archives/edgar/data/1/0000000001-24-000001.txt", "/Archives/edgar/full-index/2024/QTR1/master.idx"):
        error, _ = ask(lambda request: page, path, request_retries=0)
        assert isinstance(error, FetchFailed) and "web page" in str(error)
    body, _ = ask(lambda request: page, "/Archives/edgar/data/1/000000000124000001/a.htm")
    assert body == page.body


def test_a_closed_port_is_told_without_user_and_password(tmp_path, clock):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    settings = Settings(user_agent=WHO, request_retries=1)
    with Transport(settings, clock=clock, sleep=clock.sleep, pace_folder=str(tmp_path)) as transport, pytest.raises(FetchFailed) as caught:
        transport.get(f"http://me:secret@127.0.0.1:{port}/x?token=secret")
    assert f"127.0.0.1:{port}/x" in str(caught.value) and "secret" not in str(caught.value) and WHO not in str(caught.value)


@pytest.mark.parametrize("url", ["www.sec.gov/files/x", "ftp://www.sec.gov/x", "", "http://"])
def test_what_is_no_address_is_a_matter_of_settings_and_not_tried_again(tmp_path, clock, url):
    with Transport(Settings(user_agent=WHO), clock=clock, sleep=clock.sleep, pace_folder=str(tmp_path)) as transport:
        with pytest.raises(SettingsError, match="edgar_url"):
            transport.get(url)
        assert transport.requests == 0


# -- sizes


def test_an_announced_length_over_the_bound_is_not_read(ask):
    error, requests = ask(lambda request: Reply(200, b"x" * 400), max_bytes=399)
    assert isinstance(error, TooLarge) and "400 bytes" in str(error) and len(requests) == 1


def test_a_small_answer_that_unpacks_to_more_than_the_bound_is_refused(ask):
    bomb = gzip.compress(bytes(30_000_000))
    error, requests = ask(lambda request: Reply(200, bomb, headers={"Content-Encoding": "gzip"}), max_bytes=100_000)
    assert isinstance(error, TooLarge) and len(requests) == 1


@pytest.mark.parametrize("size", [1, 1999, 2000])
def test_an_answer_within_the_bound_is_whole(ask, size):
    body, _ = ask(lambda request: Reply(200, b"y" * size), max_bytes=2000)
    assert body == b"y" * size


def test_an_empty_answer_is_asked_again(ask):
    body, requests = ask(first(Reply(200, b"")))
    assert body == b'{"good": 1}' and len(requests) == 2


# -- refusals


@pytest.mark.parametrize("status", [200, 403, 429])
def test_after_a_refusal_all_are_silent_and_then_it_is_asked_again(ask, clock, status):
    body, requests = ask(first(Reply(status, TOO_FAST)), block_pause_seconds=600)
    assert body == b'{"good": 1}' and len(requests) == 2
    assert clock.now - 1_700_000_000.0 >= 600


def test_refusals_in_a_row_end_the_run_and_leave_the_silence_to_others(ask, clock, tmp_path):
    error, requests = ask(lambda request: Reply(403, TOO_FAST), block_pause_seconds=600)
    assert isinstance(error, Blocked) and error.exit_code == 4 and len(requests) == REFUSALS_IN_A_ROW + 1 and "10 minutes" in error.todo
    silent_until = max(float(p.read_text(encoding="ascii").split()[1]) for p in (tmp_path / "pace").iterdir())
    assert silent_until == pytest.approx(clock.now + 600)


def test_good_answers_between_refusals_let_a_run_go_on(tmp_path, clock):
    """Many blocks over a night, each waited for: the count begins anew with every good answer."""

    def script(request):
        return Reply(403, TOO_FAST) if request.number % 2 else Reply(200, b"good")

    with serving(tmp_path, script=script, limit=Limit(10_000)) as server:
        settings = Settings(user_agent=WHO, edgar_url=server.url, block_pause_seconds=600)
        with Transport(settings, clock=clock, sleep=clock.sleep, pace_folder=str(tmp_path / "pace")) as transport:
            assert [transport.get(server.url + PAGE) for _ in range(2 * REFUSALS_IN_A_ROW)] == [b"good"] * 2 * REFUSALS_IN_A_ROW
    assert clock.now - 1_700_000_000.0 >= 2 * REFUSALS_IN_A_ROW * 600


def test_an_address_that_is_always_refused_does_not_stop_the_others_for_ever(tmp_path, clock):
    def sleep(seconds):
        clock.sleep(seconds)
        if seconds > 100:  # after each pause another thread gets its answer
            transport.get(server.url + "/good")

    def script(request):
        return Reply(403, TOO_FAST) if request.path == "/bad" else Reply(200, b"good")

    with serving(tmp_path, script=script, limit=Limit(10_000)) as server:
        settings = Settings(user_agent=WHO, edgar_url=server.url)
        with Transport(settings, clock=clock, sleep=sleep, pace_folder=str(tmp_path / "pace")) as transport:
            with pytest.raises(FetchFailed, match="block page came 4 times"):
                transport.get(server.url + "/bad")
    assert [request.path for request in server.requests].count("/bad") == REFUSALS_IN_A_ROW + 1


def test_an_undeclared_tool_stops_at_once(ask):
    error, requests = ask(lambda request: Reply(403, UNDECLARED))
    assert isinstance(error, Blocked) and len(requests) == 1 and "user_agent" in error.todo


def test_one_block_met_by_many_requests_is_one_block(tmp_path):
    """Eight requests under way get the page together: one pause, said once, and all go on after it."""
    gate, said = threading.Barrier(8), []

    def script(request):
        if request.number <= 8:
            gate.wait(10)
            return Reply(403, TOO_FAST)
        return Reply(200, b"good")

    with serving(tmp_path, script=script, limit=Limit(10_000)) as server:
        settings = Settings(user_agent=WHO, edgar_url=server.url, requests_per_second=10, block_pause_seconds=0.3)
        with Transport(settings, note=said.append, pace_folder=str(tmp_path / "pace")) as transport:
            done = [future.result() for _, future in at_once(lambda n: transport.get(f"{server.url}/{n}"), range(8), 8)]
    assert done == [b"good"] * 8 and len(said) == 1 and len(server.requests) == 16


def test_stop_ends_waits_and_open_answers_in_all_threads(tmp_path):
    with serving(tmp_path, script=lambda request: Reply(200, b"x" * 10, delay=60), limit=Limit(10_000)) as server:
        settings = Settings(user_agent=WHO, edgar_url=server.url, requests_per_second=10)
        transport = Transport(settings, pace_folder=str(tmp_path / "pace"))
        calls = at_once(lambda n: transport.get(f"{server.url}/{n}"), range(4), 4)
        timer = threading.Timer(0.6, transport.stop)
        timer.start()
        errors = [future.exception() for _, future in calls]
        timer.join()
    assert [type(error) for error in errors] == [Stopped] * 4


def test_both_recorded_refusal_pages_are_recognized(shared):
    names = {"request-rate-threshold.html.gz": "Request Rate Threshold Exceeded",
             "undeclared-automated-tool.html.gz": "Undeclared Automated Tool"}
    for name, words in names.items():
        assert refusal_of(gzip.decompress((shared / "edgar_api" / "block" / name).read_bytes())) == words


def test_a_filing_that_speaks_of_the_refusal_is_not_one():
    assert refusal_of(b"<SEC-DOCUMENT>x\n<p>the page said Request Rate Threshold Exceeded</p>") == ""
    assert refusal_of(b"<html><title>10-K</title><p>Undeclared Automated Tool</p></html>") == ""
    assert refusal_of(b"Request Rate Threshold Exceeded") == "" == refusal_of(b"")
