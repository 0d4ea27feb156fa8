"""Moving prod: what readers get, who is told, and what stays readable."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from tiny_lake import commit, fake_vector, filing, publish, rows_of, tiny_lake

from edgarmill.flows.promote import announce, promote, rollback
from edgarmill.retrieval.search import open_index
from edgarmill.retrieval.versions import newest, resolve
from edgarmill.schemas.errors import LakeCorrupt, NotVerified, UnknownName, UsageError
from edgarmill.schemas.promotions import promotions
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake


def two_versions(folder: Path) -> tuple[Lake, Any, Any]:
    lake = tiny_lake(folder, filings=3)
    _, first = publish(lake)
    commit(lake, "more", [rows_of(filing(7), 2)])
    _, second = publish(lake, run_id="second")
    return lake, first, second


def opened(lake: Lake) -> str | None:
    return resolve(lake.snapshot()).tag


def test_readers_get_prod_and_a_nightly_version_waits(tmp_path: Path) -> None:
    lake, first, second = two_versions(tmp_path)
    assert opened(lake) == second.tag  # nothing is promoted: the newest
    promote(lake, first, "known to be good")
    assert opened(lake) == first.tag and newest(lake.snapshot()).tag == second.tag
    assert resolve(lake.snapshot(), tag="prod").tag == first.tag
    assert resolve(lake.snapshot(), "tiny").tag == second.tag  # who names a recipe wants its newest


def test_a_bad_night_is_undone_while_a_run_is_writing(tmp_path: Path) -> None:
    lake, first, second = two_versions(tmp_path)
    promote(lake, first, "good")
    promote(lake, second, "better, it seemed")
    with lake.writer("a night run"):
        made = rollback(lake, "answers got worse")
    assert opened(lake) == first.tag
    assert (made.action, made.before, made.reason) == ("rollback", second.version_id, "answers got worse")
    with pytest.raises(UsageError, match="no version was prod before this one"):
        rollback(lake, "further")


def test_a_reader_of_the_old_version_keeps_its_answers(tmp_path: Path) -> None:
    lake, first, second = two_versions(tmp_path)
    promote(lake, first, "good")
    reader = open_index(lake, resolve(lake.snapshot()), fake_vector, "model1")
    before = reader.search("revenue rose", k=3)
    promote(lake, second, "better")
    assert reader.search("revenue rose", k=3) == before
    with pytest.raises(UsageError, match="was made with model"):
        open_index(lake, resolve(lake.snapshot()), fake_vector, "another model")


def test_only_a_verified_version_that_is_there_can_be_prod(tmp_path: Path) -> None:
    from dataclasses import replace

    lake, first, second = two_versions(tmp_path)
    with pytest.raises(UsageError, match="a move of prod needs a reason"):
        promote(lake, first, "  ")
    with pytest.raises(NotVerified, match="this version is rejected"):
        promote(lake, replace(first, state="rejected"), "why not")
    promote(lake, first, "good")
    with pytest.raises(UsageError, match="this version is prod already"):
        promote(lake, first, "once more")
    with pytest.raises(LakeCorrupt, match="the catalog says 7"):
        promote(lake, replace(second, chunks=7), "wrong count")
    assert [one.version_id for one in promotions(lake.root)] == [first.version_id]


def test_without_a_move_prod_is_no_name(tmp_path: Path) -> None:
    lake, _, _ = two_versions(tmp_path)
    with pytest.raises(UnknownName, match="nothing is promoted yet"):
        resolve(lake.snapshot(), tag="prod")


def test_prod_that_the_catalog_lost_is_no_other_version(tmp_path: Path) -> None:
    from dataclasses import replace

    from edgarmill.schemas.promotions import move

    lake, first, _ = two_versions(tmp_path)
    move(lake.root, [], replace(first, version_id="gone"), "promote", "x", "by hand")
    with pytest.raises(LakeCorrupt, match="a version that was prod is not in the catalog"):
        opened(lake)


@contextmanager
def webhook(status: int = 200) -> Iterator[tuple[str, list[tuple[dict[str, str], bytes]]]]:
    told: list[tuple[dict[str, str], bytes]] = []

    class Taker(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Taker)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/prod", told
    finally:
        server.shutdown()
        server.server_close()


def test_the_webhook_is_told_what_a_reader_needs_and_can_check_who_tells(tmp_path: Path) -> None:
    lake, first, _ = two_versions(tmp_path)
    made = promote(lake, first, "good")
    with webhook() as (url, told):
        assert announce(Settings(promotion_webhook=url, promotion_secret=SecretStr("between us")), made) is None
    [(headers, body)] = told
    said = json.loads(body)
    assert (said["recipe"], said["tag"], said["model_hash"], said["reason"]) == ("tiny", first.tag, "model1", "good")
    assert headers["X-Edgarmill-Signature"] == hmac.new(b"between us", body, hashlib.sha256).hexdigest()


def test_a_webhook_that_fails_undoes_nothing(tmp_path: Path) -> None:
    lake, first, _ = two_versions(tmp_path)
    made = promote(lake, first, "good")
    with webhook(500) as (url, _):
        assert announce(Settings(promotion_webhook=url), made) == "the webhook answered 500: tell who follows prod by hand"
    told = announce(Settings(promotion_webhook="http://127.0.0.1:9/nobody"), made)
    assert told is not None and told.startswith("the webhook could not be told (ConnectError)")
    assert announce(Settings(), made) is None and opened(lake) == first.tag


def test_who_asks_during_a_hundred_moves_always_gets_a_version(tmp_path: Path) -> None:
    """A reader that asks what prod is, all the time, always gets one of the two."""
    lake, first, second = two_versions(tmp_path)
    promote(lake, first, "good")
    seen: list[str | None] = []
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            seen.append(opened(lake))

    asking = threading.Thread(target=ask)
    asking.start()
    for n in range(50):
        promote(lake, second, f"up {n}")
        rollback(lake, f"down {n}")
    stop.set()
    asking.join()
    assert set(seen) <= {first.tag, second.tag} and opened(lake) == first.tag
    assert len(promotions(lake.root)) == 101
