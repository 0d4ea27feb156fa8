"""The HTTP service: what each address answers, whom it refuses, and that it follows prod. Asked over HTTP, in a process of its own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from advised import by_title, treed_lake
from fake_models import failure
from fake_models import serving as models
from service_desk import Answer, Desk, serving, started
from tiny_lake import accession, commit, filing, publish, rows_of, tiny_lake

from edgarmill import __main__ as main
from edgarmill.flows.promote import promote, rollback
from edgarmill.retrieval.search import open_index
from edgarmill.retrieval.versions import resolve
from edgarmill.schemas import records
from edgarmill.schemas.records import IndexVersion
from edgarmill.schemas.store import Lake

if TYPE_CHECKING:
    from small_ingest import World

KEY, OTHER = "first-key-0123456789", "second-key-0123456789"
FILINGS, CHUNKS = 6, 8
Moving = tuple[Lake, IndexVersion, IndexVersion]


def described(n: int) -> dict[str, list[object]]:
    """A filing with sections, a tree and a fact."""
    rows = rows_of(filing(n), CHUNKS)
    document = rows["documents"][0].document_id  # type: ignore[attr-defined]
    rows["sections"] = [records.Section(document, accession(n), "II", "7", "Discussion", 0, 90, 1, 2, None, "heading", 0)]
    node = records.TreeNode(document, accession(n), "t1", "0001", None, 0, 0, "Report", None, 1, 2, 0, 90, 90, None, None, None, None,
                            "structural", None, None, None)
    rows["trees"] = [node]
    end = date(2020 + n % 4, 12, 31)
    rows["facts"] = [records.FactRow(document, accession(n), 0, "us-gaap:Revenues", f"{n % 3 + 1:010d}", date(end.year, 1, 1), end, None,
                                     366, "{}", "USD", f"{n + 1}000", 1000.0 * (n + 1), "0", f"{n + 1},000", False, False, (), "")]
    return rows


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    made = Lake.open(str(tmp_path_factory.mktemp("served") / "lake"), create=True)
    commit(made, "ingest", [described(n) for n in range(FILINGS)])
    _, version = publish(made)
    promote(made, version, "known to be good")
    return made


@pytest.fixture(scope="module")
def desk(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with serving(lake, tmp_path_factory.mktemp("desk"), service_hits=20) as found:
        yield found


def served(lake: Lake) -> dict[str, Any]:
    version = resolve(lake.snapshot())
    return {"recipe": version.recipe, "tag": version.tag, "version_id": version.version_id, "prod": True}


# what each address answers


def test_a_search_is_that_of_the_version_which_it_names(desk: Desk, lake: Lake) -> None:
    answer = desk.search("gross margin", k=3, mode="keyword", filters={"ticker": ["BBB", "CCC"], "year": 2021})
    found = answer.json()
    assert answer.status == 200 and found["version"] == served(lake)
    from edgarmill.retrieval.filters import Filters

    mine = open_index(lake, resolve(lake.snapshot())).search("gross margin", 3, "keyword", Filters(ticker=("BBB", "CCC"), year=2021))
    assert [(hit["chunk_id"], hit["score"], hit["text"]) for hit in found["hits"]] == [(h.chunk_id, h.score, h.text) for h in mine]
    assert found["hits"][0]["scores"] == {"keyword": mine[0].score} and found["filters"] == {"ticker": ["BBB", "CCC"], "year": 2021}


def test_the_defaults_are_a_hybrid_search_of_ten(desk: Desk) -> None:
    found = desk.search().json()
    assert len(found["hits"]) == 10 and found["plan"] == {"rows": FILINGS * CHUNKS, "how": "exact"} and found["passages"] is None
    assert set(found["hits"][0]["scores"]) <= {"vector", "keyword"}


def test_hits_come_with_neighbours_within_a_budget_and_filters_are_inferred(desk: Desk) -> None:
    knobs = {"filters": "inferred", "neighbours": 1, "tokens": 200}
    found = desk.search("margin in fiscal 2021", k=2, mode="keyword", retriever=knobs).json()
    assert {hit["fiscal_year"] for hit in found["hits"]} == {2021}
    assert found["inferred"][0]["text"] == "fiscal 2021" and found["filters"] == {"year": [2021]}
    assert 0 < found["tokens"] <= 200 and len(found["passages"]) + found["left_out"] <= 2


def test_every_answer_names_its_version_in_headers_too(desk: Desk, lake: Lake) -> None:
    wanted = served(lake)
    for answer in (desk.search(), desk.ask("GET", "/health"), desk.ask("GET", "/nothing"), desk.search(k=0)):
        said = {name: answer.headers[f"x-edgarmill-{name}"] for name in ("recipe", "tag", "version")}
        assert said == {"recipe": wanted["recipe"], "tag": wanted["tag"], "version": wanted["version_id"]}


def test_a_chunk_comes_with_those_around_it(desk: Desk) -> None:
    hit = desk.search("gross margin", k=1, mode="keyword", filters={"accession": accession(1)}).json()["hits"][0]
    found = desk.ask("GET", f"/chunks/{hit['chunk_id']}?neighbours=2").json()
    assert found["chunk"] == {name: value for name, value in hit.items() if name not in ("rank", "score", "scores")}
    places = [one["ordinal"] for one in (*found["before"], found["chunk"], *found["after"])]
    assert places == list(range(max(0, hit["ordinal"] - 2), min(CHUNKS, hit["ordinal"] + 3)))
    assert {one["accession"] for one in found["before"]} == {accession(1)}
    assert desk.ask("GET", f"/chunks/{hit['chunk_id']}").json()["before"] == []


def test_an_outline_has_sections_and_the_tree(desk: Desk) -> None:
    found = desk.ask("GET", f"/filings/{accession(2)}/outline").json()
    assert (found["company"], found["form"], found["documents"][0]["sections"][0]["item"]) == ("Company C", "10-Q", "7")
    assert (found["tree"]["title"], found["tree"]["nodes"]) == ("Report", [])


def test_facts_are_found_by_concept_period_and_filer(desk: Desk) -> None:
    found = desk.ask("GET", "/facts?concept=revenues&period=2021&ticker=BBB").json()
    assert [(row["company"], row["value"], row["fiscal"]) for row in found["facts"]] == [("Company B", "2000", "2021")]
    all_of_them = desk.ask("GET", "/facts?concept=Revenues&limit=2").json()
    assert (len(all_of_them["facts"]), all_of_them["total"]) == (2, FILINGS)
    assert desk.ask("GET", "/facts?concept=Revenue").json()["near"] == ["us-gaap:Revenues"]


def test_versions_say_which_one_is_served(desk: Desk, lake: Lake) -> None:
    found = desk.ask("GET", "/versions").json()
    assert [(one["version_id"], one["state"], one["serving"]) for one in found["versions"]] == [
        (served(lake)["version_id"], "verified", True)]


def test_prometheus_reads_routes_not_paths(desk: Desk, lake: Lake) -> None:
    desk.ask("GET", "/chunks/abcdef")
    text = desk.ask("GET", "/metrics").data.decode()
    assert 'edgarmill_requests_total{method="GET",route="/chunks/{chunk_id}",status="404"}' in text
    assert "abcdef" not in text and f'version_id="{served(lake)["version_id"]}"}} 1.0' in text
    assert "edgarmill_behind 0.0" in text and "process_resident_memory_bytes" in text


def test_the_document_says_what_is_answered_and_has_examples(desk: Desk) -> None:
    document = desk.ask("GET", "/openapi.json").json()
    asked = document["paths"]["/search"]["post"]
    assert set(asked["responses"]) == {"200", "400", "401", "404", "408", "409", "413", "421", "429", "503", "504"}
    for example in asked["requestBody"]["content"]["application/json"]["examples"].values():
        assert desk.ask("POST", "/search", example["value"]).status == 200


# what is refused


@pytest.mark.parametrize(("method", "path", "body", "status", "words"), [
    ("GET", "/nothing", None, 404, "no such address"),
    ("PUT", "/search", {}, 405, "this address takes another method"),
    ("POST", "/search", b"{", 400, "JSON decode error"),
    ("POST", "/search", b"\xff\xfe", 400, ""),
    ("POST", "/search", b"[" * 60_000, 400, ""),
    ("POST", "/search", b'{"question": "\\ud800"}', 400, ""),
    ("POST", "/search", b'{"question": "x", "k": 1' + b"0" * 6000 + b"}", 400, ""),
    ("POST", "/search", b'{"question": "x", "\\ud800": 1}', 400, "Input should be a valid string"),
    ("POST", "/search", {}, 400, "Field required"),
    ("POST", "/search", {"question": "   "}, 400, "the question is empty"),
    ("POST", "/search", {"question": "x" * 4001}, 400, "String should have at most 4000 characters"),
    ("POST", "/search", {"question": "x", "k": 21}, 400, "21 hits asked for"),
    ("POST", "/search", {"question": "x", "k": True}, 400, "Input should be a valid integer"),
    ("POST", "/search", {"question": "x", "k": "5"}, 400, "Input should be a valid integer"),
    ("POST", "/search", {"question": "x", "filters": {"year": "2024"}}, 400, "Input should be a valid integer"),
    ("POST", "/search", {"question": "x", "retriever": {"keyword_weight": True}}, 400, "Input should be a valid number"),
    ("POST", "/search", {"question": "x", "retriever": {"spelling": "False"}}, 400, "Input should be a valid boolean"),
    ("POST", "/search", {"question": "x", "where": "1 = 1"}, 400, "Extra inputs are not permitted"),
    ("POST", "/search", {"question": "x", "filters": {"ticker": "A' OR '1' = '1"}}, 400, "not a ticker"),
    ("POST", "/search", {"question": "x", "filters": {"since": "2024-02-02", "until": "2024-01-01"}}, 400, "since 2024-02-02 is after"),
    ("POST", "/search", {"question": "x", "retriever": {"reranker": "cross_encoder:/etc/passwd"}}, 400, "no such reranker of this service"),
    ("POST", "/search", {"question": "x", "retriever": {"vector_weight": 0, "keyword_weight": 0}}, 400, "weights 0.0 and 0.0"),
    ("GET", "/chunks/0000", None, 404, "no such chunk in this version"),
    ("GET", "/chunks/a'b", None, 400, "String should match pattern"),
    ("GET", "/chunks/0000?neighbours=1000", None, 400, "Input should be less than or equal to 20"),
    ("GET", "/filings/0000000009-24-000001/outline", None, 404, "no such filing in this lake"),
    ("GET", "/facts?concept=Revenues&period=soon", None, 400, "not a period"),
    ("GET", "/facts", None, 400, "Field required"),
])
def test_what_cannot_be_answered_is_said_in_one_form(desk: Desk, method: str, path: str, body: Any, status: int, words: str) -> None:
    answer = desk.ask(method, path, body)
    assert (answer.status, answer.headers["content-type"]) == (status, "application/json")
    assert answer.what.startswith(words)
    assert "Traceback" not in desk.said()


def test_a_body_that_is_too_large_is_not_read(desk: Desk) -> None:
    answer = desk.ask("POST", "/search", b" " * 70_000)
    assert (answer.status, answer.headers["connection"], answer.what) == (413, "close", "a body of more than 65,536 bytes")
    with socket.create_connection(("127.0.0.1", desk.port), timeout=20) as line:
        line.sendall(b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            for _ in range(10_000):  # a body of 10 GB in pieces, of which no length is told
                line.sendall(b"100000\r\n" + b" " * 0x100000 + b"\r\n")
            raise AssertionError("all of it was read")
        except OSError:
            pass
    assert desk.ask("GET", "/health").status == 200


def test_no_secret_and_no_path_is_in_log_or_answers(desk: Desk, lake: Lake) -> None:
    desk.ask("GET", "/facts?concept=Secretive&ticker=HUSH")
    desk.search("a confidential question")
    assert "Secretive" not in desk.said() and "confidential" not in desk.said() and "GET /facts 200" in desk.said()


@pytest.mark.parametrize("knobs", [{"tree": "walk"}, {"rounds": 2}, {"rewrite": "query"}, {"decompose": "model", "filters": "inferred"}],
                         ids=lambda knobs: next(iter(knobs)))
def test_nobody_has_a_model_asked_that_the_operator_does_not_allow(desk: Desk, knobs: dict[str, Any]) -> None:
    answer = desk.search(retriever=knobs)
    assert (answer.status, answer.what) == (400, "this service asks no model")
    named = desk.search(retriever={**knobs, "model": "endpoint:openai/gpt-4.1"})
    assert (named.status, named.what, named.json()["error"]["todo"]) == (400, "no such model of this service", "Allowed: none.")


def test_a_part_for_each_company_needs_no_model(desk: Desk) -> None:
    found = desk.search("revenue of AAA and BBB", k=4, mode="keyword", retriever={"filters": "inferred", "decompose": "rule"}).json()
    assert [(one["why"], one["filters"]["filer"]) for one in found["searched"]] == [
        ("rule", ["0000000001", "AAA"]), ("rule", ["0000000002", "BBB"])]
    assert {hit["tickers"][0] for hit in found["hits"]} == {"AAA", "BBB"}
    assert (found["notes"], found["visits"], found["usage"]) == ([], [], None)


def test_what_the_service_lacks_is_its_own_fault_and_is_told_to_its_log_alone(lake: Lake, tmp_path: Path) -> None:
    with serving(lake, tmp_path, service_rerankers="endpoint:secret/path") as desk:
        answer = desk.search(retriever={"reranker": "endpoint"})
        assert (answer.status, answer.what) == (503, "a setting of the service does not fit")
        assert "secret" not in answer.data.decode() and "secret: no such endpoint" in desk.said()
        other = desk.search(retriever={"reranker": "late_interaction"})
        assert other.status == 400 and other.json()["error"]["todo"] == "Allowed: endpoint."


def test_a_model_that_is_allowed_is_asked_within_its_tokens(tmp_path: Path) -> None:
    lake = treed_lake(tmp_path)
    with models() as server:
        server.reply = by_title(pick=["Item 7"], open_=["Part I"])
        house = {"house": {"base_url": server.url, "model": "m", "retries": 0}}
        with serving(lake, tmp_path / "desk", service_models="endpoint:house", service_model_tokens=9_000, endpoints=house) as desk:
            asked = {"filters": {"accession": accession(0)}, "retriever": {"tree": "walk"}}
            found = desk.search("prices", **asked).json()
            assert [hit["section_title"] for hit in found["hits"]] == ["Item 7. Discussion"] and found["plan"]["how"] == "tree"
            assert (found["usage"]["calls"], found["usage"]["input_tokens"], found["usage"]["dollars"]) == (2, 22, None)
            assert [visit["how"] for visit in found["visits"]] == ["opened", "picked"] and found["retriever"]["model_tokens"] == 9_000
            more = desk.search("prices", retriever={"tree": "walk", "model_tokens": 9_001})
            assert (more.status, more.what) == (400, "9,001 tokens asked for")
            server.reply = lambda _: failure(400, "", "words of the provider")
            other = desk.search("risk", **asked)
            notes = ["tree: no use of the model (ModelFailed)", "tree: the model picked no node"]
            assert other.status == 200 and other.json()["notes"] == notes and len(other.json()["hits"]) == 6


def test_a_model_that_is_not_at_hand_is_known_at_the_start(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--lake", str(world.lake), "--set", "service_models=endpoint:nowhere/m", "serve", "--port", "0"]) == 2
    assert "nowhere: no such endpoint" in capsys.readouterr().err


# keys


def test_without_a_key_only_health_is_told(lake: Lake, tmp_path: Path) -> None:
    with serving(lake, tmp_path, host="0.0.0.0", service_keys=f"{KEY},{OTHER}") as desk:
        for path in ("/versions", "/metrics", "/openapi.json", "/nothing", "/search"):
            answer = desk.ask("GET", path)
            assert (answer.status, answer.what) == (401, "no key, or not one of this service's")
            assert answer.headers["www-authenticate"] == "Bearer"
        assert desk.ask("GET", "/health").status == desk.ask("GET", "/ready").status == 200
        for headers, status in (({"Authorization": f"Bearer {KEY}"}, 200), ({"authorization": f"bearer {OTHER}"}, 200),
                                ({"X-API-Key": OTHER}, 200), ({"X-API-Key": KEY[:-1]}, 401), ({"Authorization": "Bearer "}, 401),
                                ({"Authorization": f"Basic {KEY}"}, 401), ({"X-API-Key": ""}, 401)):
            assert desk.ask("GET", "/versions", headers=headers).status == status, headers
        assert KEY not in desk.said()


def test_other_machines_are_not_served_without_a_key(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.com"):
        assert main.run(["--lake", lake.root, "serve", "--host", host]) == 2
        assert capsys.readouterr().err.splitlines() == [
            f"edgarmill: --host {host}: other machines could ask without a key. Set EDGARMILL_SERVICE_KEYS (16 characters or more, "
            "parted by commas), or serve on 127.0.0.1."]


def test_who_reaches_this_machine_by_a_name_of_its_own_is_refused_without_a_key(desk: Desk, lake: Lake, tmp_path: Path) -> None:
    own = ("localhost", "LOCALHOST:8788", f"127.0.0.1:{desk.port}", "127.9.9.9", "[::1]:80", "[::1]")
    for host in own:
        assert desk.ask("GET", "/versions", headers={"Host": host}).status == 200, host
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "localhost:80:80", "a@127.0.0.1",
                 "[::2]", "127.0.0.1, evil.example", "\xe9"):
        for path in ("/versions", "/health"):
            answer = desk.ask("GET", path, headers={"Host": host})
            assert (answer.status, answer.what) == (421, "a Host header that is not this machine's"), host
    with serving(lake, tmp_path, service_keys=KEY) as keyed:  # whoever has the key may come by any name
        assert keyed.ask("GET", "/versions", headers={"Host": "filings.example", "X-API-Key": KEY}).status == 200


# limits


def test_health_is_answered_while_every_thread_searches(lake: Lake, tmp_path: Path) -> None:
    with serving(lake, tmp_path, service_threads=2) as desk, ThreadPoolExecutor(16) as askers:
        waiting = [askers.submit(desk.search, f"wait for number {n}", k=1) for n in range(16)]
        until(lambda: "edgarmill_under_way 16.0" in desk.ask("GET", "/metrics").data.decode())
        assert desk.ask("GET", "/health").json() == {"live": True} and desk.ask("GET", "/ready").status == 200
        assert not any(one.done() for one in waiting)
        desk.release()
        assert [one.result().status for one in waiting] == [200] * 16


def test_more_than_may_be_under_way_is_refused(lake: Lake, tmp_path: Path) -> None:
    with serving(lake, tmp_path, service_threads=1, service_at_once=3) as desk, ThreadPoolExecutor(3) as askers:
        waiting = [askers.submit(desk.search, "wait") for _ in range(3)]
        until(lambda: "edgarmill_under_way 3.0" in desk.ask("GET", "/metrics").data.decode())
        answer = desk.search()
        assert (answer.status, answer.headers["retry-after"], answer.what) == (429, "1", "3 requests are under way, as many as may be")
        desk.release()
        assert [one.result().status for one in waiting] == [200] * 3
        until(lambda: desk.search().status == 200)


def test_what_takes_too_long_is_said_to_and_its_thread_stays_taken(lake: Lake, tmp_path: Path) -> None:
    with serving(lake, tmp_path, service_threads=1, service_at_once=1, service_seconds=0.3) as desk:
        answer = desk.search("wait")
        assert (answer.status, answer.what) == (504, "no answer within 0.3 seconds")
        assert desk.search().status == 429
        with socket.create_connection(("127.0.0.1", desk.port), timeout=20) as line:  # a body that is told and does not come
            line.sendall(b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
            assert line.makefile("rb").read().startswith(b"HTTP/1.1 408 ")
        desk.release()
        until(lambda: desk.search().status == 200)


def test_a_connection_without_a_whole_request_is_closed_and_one_under_way_is_not(lake: Lake, tmp_path: Path) -> None:
    with serving(lake, tmp_path, patience=1.5) as desk, ThreadPoolExecutor(1) as asker:
        waiting = asker.submit(desk.search, "wait")
        until(lambda: "edgarmill_under_way 1.0" in desk.ask("GET", "/metrics").data.decode())
        for head in (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: y", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /he"):
            with socket.create_connection(("127.0.0.1", desk.port), timeout=20) as line:
                line.sendall(head)
                rest = line.makefile("rb").read()  # to its end
                assert rest.startswith(b"HTTP/1.1 200") if head.endswith(b"/he") else rest == b""
        assert not waiting.done()
        desk.release()
        assert waiting.result().status == 200


def test_what_is_under_way_is_answered_before_the_service_ends(lake: Lake, tmp_path: Path) -> None:
    with serving(lake, tmp_path) as desk, ThreadPoolExecutor(1) as asker:
        waiting = asker.submit(desk.search, "wait")
        until(lambda: "edgarmill_under_way 1.0" in desk.ask("GET", "/metrics").data.decode())
        desk.process.send_signal(signal.SIGTERM)
        until(lambda: not listens(desk.port))
        desk.release()
        assert waiting.result().status == 200 and desk.process.wait(30) == 0


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except ConnectionRefusedError:
        return False
    return True


# following prod


@pytest.fixture
def moving(tmp_path: Path) -> Moving:
    lake = tiny_lake(tmp_path, filings=3)
    _, first = publish(lake)
    promote(lake, first, "good")
    commit(lake, "more", [rows_of(filing(7), 2)])
    _, second = publish(lake, run_id="second")
    return lake, first, second


def test_prod_moves_twenty_times_under_load_and_no_request_fails(moving: Moving, tmp_path: Path) -> None:
    lake, first, second = moving
    chunks = {first.version_id: first.chunks, second.version_id: second.chunks}
    with serving(lake, tmp_path / "desk") as desk, ThreadPoolExecutor(32) as askers:
        ended, asked = threading.Event(), list[Future[Answer]]()

        def keep_asking() -> None:
            while not ended.wait(0.02):  # fifty a second, whatever becomes of those before
                asked.append(askers.submit(desk.search, k=20, mode="vector"))

        feeder = threading.Thread(target=keep_asking)
        feeder.start()
        try:
            for n in range(20):
                wanted = second if n % 2 == 0 else first
                promote(lake, second, "better") if wanted is second else rollback(lake, "worse")
                until(lambda wanted=wanted: version_of(desk) == wanted.version_id)  # type: ignore[misc]
        finally:
            ended.set()
            feeder.join()
        answers = [one.result() for one in asked]
        assert {answer.status for answer in answers} == {200}
        for answer in answers:  # each is of one version through and through
            found = answer.json()
            assert found["plan"]["rows"] == chunks[found["version"]["version_id"]]
            assert found["version"]["version_id"] == answer.headers["x-edgarmill-version"]
        assert {answer.json()["version"]["version_id"] for answer in answers} == set(chunks)
        assert "edgarmill_version_swaps_total 21.0" in desk.ask("GET", "/metrics").data.decode()


def test_a_version_that_cannot_be_opened_leaves_the_old_one_serving(moving: Moving, tmp_path: Path) -> None:
    lake, first, second = moving
    newest = max((Path(lake.index_uri("tiny")) / "data").rglob("*.lance"), key=lambda path: path.stat().st_mtime_ns)
    with serving(lake, tmp_path / "desk") as desk:
        newest.write_bytes(newest.read_bytes()[:16])
        promote(lake, second, "better, it seemed")
        until(lambda: desk.ask("GET", "/ready").json()["behind"] is not None)
        ready = desk.ask("GET", "/ready")
        assert ready.status == 200 and ready.json()["version"]["version_id"] == first.version_id
        assert ready.json()["behind"] == {"what": "a file of the index or of a table is damaged or missing", "subject": "LakeCorrupt",
                                          "todo": "Ask again later; the service's log says more."}
        assert desk.search().json()["version"]["version_id"] == first.version_id
        assert "edgarmill_behind 1.0" in desk.ask("GET", "/metrics").data.decode()
        assert "goes on serving" in desk.said() and lake.root not in ready.data.decode()
        rollback(lake, "damaged")
        until(lambda: desk.ask("GET", "/ready").json()["behind"] is None)
        assert desk.search().status == 200


def test_a_service_that_starts_on_a_damaged_prod_waits_for_a_better_one(moving: Moving, tmp_path: Path) -> None:
    lake, _, second = moving
    promote(lake, second, "better, it seemed")
    newest = max((Path(lake.index_uri("tiny")) / "data").rglob("*.lance"), key=lambda path: path.stat().st_mtime_ns)
    newest.write_bytes(newest.read_bytes()[:16])
    with serving(lake, tmp_path / "desk") as desk:
        assert desk.ask("GET", "/health").status == 200
        for answer in (desk.ask("GET", "/ready"), desk.search(), desk.ask("GET", "/versions")):
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            assert answer.what.startswith("no version is open")
        rollback(lake, "damaged")
        until(lambda: desk.ask("GET", "/ready").status == 200)
        assert desk.search().status == 200


def test_where_nothing_is_promoted_the_newest_version_serves_and_the_next_one_follows(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=3)
    _, first = publish(lake)
    with serving(lake, tmp_path / "desk") as desk:
        assert desk.ask("GET", "/ready").json()["version"] == {
            "recipe": "tiny", "tag": first.tag, "version_id": first.version_id, "prod": False}
        commit(lake, "more", [rows_of(filing(7), 2)])
        _, second = publish(lake, run_id="second")
        until(lambda: version_of(desk) == second.version_id)
        promote(lake, second, "good")
        until(lambda: desk.search().json()["version"]["prod"])
        assert "edgarmill_version_swaps_total 2.0" in desk.ask("GET", "/metrics").data.decode()  # it was open already


def version_of(desk: Desk) -> str:
    return str(desk.ask("GET", "/ready").json()["version"]["version_id"])


def until(holds: Any) -> None:
    """Asked again until it holds; a test that waits in vain is ended by its limit of tries."""
    tick = threading.Event()
    for _ in range(1500):
        if holds():
            return
        tick.wait(0.02)
    raise AssertionError("it never came to that")


# the command


def test_the_command_serves_what_ingest_made_and_ends_when_told(world: World, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "edgarmill", "--lake", str(world.lake), "--set", "device=cpu", "--json", "serve", "--port", "0"]
    with started(command, tmp_path) as desk:
        found = desk.search("Which company sold more?", k=2).json()
        assert len(found["hits"]) == 2 and found["version"]["recipe"] == "small" and not found["version"]["prod"]
        until(lambda: '"method"' in desk.said().splitlines()[-1])  # a line is written when its answer has left
        last = json.loads(desk.said().splitlines()[-1])
        assert (last["method"], last["path"], last["status"], last["version"].split()[0]) == ("POST", "/search", 200, "small")
        assert desk.stop(signal.SIGINT) == 130  # SIGTERM, which ends it with 0, ends every other test here
        assert desk.said().splitlines()[-1] == "edgarmill: interrupted" and "Traceback" not in desk.said()


@pytest.mark.parametrize(("words", "line"), [
    (["--set", "service_keys=short", "serve"], "a key has at least 16 characters"),
    (["serve", "--host", "127.0.0.1", "--port", "1"], "cannot listen there"),
    (["--lake", "nowhere", "serve"], "no lake here"),
])
def test_what_keeps_it_from_starting_is_one_line(lake: Lake, capsys: pytest.CaptureFixture[str], words: list[str], line: str) -> None:
    if words[-1] == "1":
        taken = socket.create_server(("127.0.0.1", 0))
        words[-1] = str(taken.getsockname()[1])
    assert main.run(["--lake", lake.root, *words]) == 2
    assert line in (said := capsys.readouterr().err) and len(said.splitlines()) == 1


def test_a_reranker_that_is_not_at_hand_is_known_at_the_start(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--lake", str(world.lake), "--set", "service_rerankers=endpoint:nowhere/m", "serve", "--port", "0"]
    assert main.run(words) == 2
    assert "nowhere: no such endpoint" in capsys.readouterr().err


def test_an_embedder_that_does_not_fit_is_refused_at_the_start(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--lake", lake.root, "serve", "--port", "0"]) == 2
    assert "the index was made with model" in capsys.readouterr().err


# anything at all


def test_no_request_that_the_document_allows_or_forbids_ends_in_a_5xx(desk: Desk) -> None:
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    command = [Path(sys.executable).with_name("schemathesis"), "run", f"http://127.0.0.1:{desk.port}/openapi.json", "--checks", checks,
               "--max-examples", "10", "--seed", "11", "--no-color"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=desk.log.parent)
    assert ran.returncode == 0, ran.stdout[-6000:]
    assert "passed" in ran.stdout and "a defect of edgarmill" not in desk.said()
