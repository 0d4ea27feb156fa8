"""The client against a real server: what is sent, what is paid, what is told when it goes wrong."""

from __future__ import annotations

import json
import logging
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_models import Answer, chat, failure, serving, vectors
from model_desk import KEY, Desk
from pydantic import BaseModel, ConfigDict

from edgarmill.schemas.errors import (
    BadFile,
    EdgarmillError,
    MalformedAnswer,
    ModelFailed,
    ModelRefused,
    SettingsError,
    Stopped,
    UnknownName,
)
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.workers.embed.models import resolve
from edgarmill.workers.models import wire
from edgarmill.workers.models.client import open_client, refuse_binary
from edgarmill.workers.models.purse import Budget, Purse

SAY = [{"role": "user", "content": "say"}]


class Keys(BaseModel):
    model_config = ConfigDict(extra="forbid")
    company: str
    year: int


def purse(**more: Any) -> Purse:
    return Purse("a", "context", **more)


def test_an_answer_comes_with_its_tokens_and_their_price(desk: Desk) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 300, "total_tokens": 1300, "prompt_tokens_details": {"cached_tokens": 400},
             "completion_tokens_details": {"reasoning_tokens": 100}}
    desk.server.then(chat("hello", usage))
    mine = purse()
    with desk.client() as client:
        reply = client.chat(SAY, mine, most_output=50)
        row = client.usage(mine)
    assert (reply.text, reply.finish, reply.origin) == ("hello", "stop", "provider")
    assert (row.subject, row.stage, row.model, row.provider) == ("a", "context", "gpt-4.1", "openai")
    assert (row.origin, row.calls, row.hits) == ("provider", 1, 0)
    assert (row.input_tokens, row.cached_tokens, row.output_tokens, row.reasoning_tokens) == (600, 400, 200, 100)
    assert row.dollars == Decimal("0.0038")  # 600 x 2 + 400 x 0.5 + 300 x 8, per million
    assert row.price_set == client.prices.hash
    [asked] = desk.server.requests
    assert (asked.path, asked.headers["authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert asked.body == {"model": "gpt-4.1", "messages": SAY, "temperature": 0, "max_tokens": 50}


def test_what_was_paid_is_never_paid_again(desk: Desk) -> None:
    mine = purse()
    with desk.client() as client:
        first = client.chat(SAY, purse())
        again = client.chat(SAY, mine)
        assert (first.text, again.text) == ("fine", "fine")
        row = client.usage(mine)
    with desk.client(key="another", retries=0, concurrency=1) as other:
        assert other.chat(SAY, mine).origin == "reused"
        assert other.sent == 0
    assert (row.origin, row.calls, row.hits, row.dollars, row.input_tokens) == ("reused", 0, 1, 0, 0)
    assert len(desk.server.requests) == 1


@pytest.mark.parametrize("change", [{"model": "gpt-4o"}, {"provider": "azure"}, {"max_output_tokens": 7}])
def test_another_request_is_another_call(desk: Desk, change: dict[str, Any]) -> None:
    with desk.client() as one, desk.client(**change) as other:
        one.chat(SAY, purse())
        other.chat(SAY, purse())
    assert len(desk.server.requests) == 2


def test_the_same_answer_at_another_address_is_known(desk: Desk) -> None:
    with desk.client() as client, serving() as moved, desk.client(base_url=moved.url) as other:
        client.chat(SAY, purse())
        assert other.chat(SAY, purse()).origin == "reused"
        assert moved.requests == []


def test_workers_that_ask_the_same_at_once_pay_once(desk: Desk) -> None:
    replies: list[str] = []
    with desk.client() as one, desk.client() as other:
        threads = [threading.Thread(target=lambda c=c: replies.append(c.chat(SAY, purse()).origin)) for c in (one, other) * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(replies) == ["provider"] + ["reused"] * 7
    assert len(desk.server.requests) == 1


def test_a_damaged_answer_in_the_lake_is_asked_for_again_and_mended(desk: Desk) -> None:
    with desk.client() as client:
        client.chat(SAY, purse())
        [stored] = (Path(desk.lake.root) / "calls").rglob("*.zst")
        whole = stored.read_bytes()
        stored.write_bytes(whole[:-5])
        assert client.chat(SAY, purse()).origin == "provider"
        assert client.chat(SAY, purse()).origin == "reused"
    assert len(desk.server.requests) == 2


def test_what_a_killed_worker_paid_is_told_by_the_run_that_comes_after(desk: Desk) -> None:
    with desk.client() as client:
        client.chat(SAY, Purse("a", "context", run_id="one"))  # and dies before its row is committed
    ledger: list[dict[str, str]] = []
    with desk.client(booked=lambda payer: payer in ledger) as client:
        mine, other = Purse("a", "context", run_id="two"), Purse("b", "context", run_id="two")
        for _ in range(2):
            client.chat(SAY, mine)
            client.chat(SAY, other)
        assert (client.usage(mine).calls, client.usage(mine).hits, client.usage(mine).dollars) == (1, 1, Decimal("0.000046"))
        assert (client.usage(other).calls, client.usage(other).hits) == (0, 2)
        ledger.append({"run_id": "one", "subject": "a", "stage": "context"})
        client.chat(SAY, again := Purse("a", "context", run_id="three"))
        assert (client.usage(again).origin, client.usage(again).hits) == ("reused", 1)
        assert client.sent == 0


def test_of_a_long_request_its_beginning_is_kept_and_the_whole_of_it_is_the_key(desk: Desk) -> None:
    one, other = ("word " * 9000 + end for end in ("a", "b"))
    with desk.client() as client:
        for text in (one, other, one):
            client.chat([{"role": "user", "content": text}], purse())
    assert len(desk.server.requests) == 2
    stored = list((Path(desk.lake.root) / "calls").rglob("*.zst"))
    assert len(stored) == 2 and max(file.stat().st_size for file in stored) < 1500


# --- failures that pass


@pytest.mark.parametrize("bad", [
    failure(500), failure(503), failure(529), failure(408), failure(429, "rate_limit_exceeded"), chat("cut", finish="stop", status=502),
    Answer(200, chat("hello").body, cut=9), Answer(200, b"<html>"), Answer(200, {"object": "chat.completion"}), Answer(200, [1]),
    Answer(200, b""), Answer(200, {"choices": []}), Answer(200, {"error": {"message": "upstream", "code": 502}}),
])
def test_a_failure_that_may_pass_is_tried_again(desk: Desk, bad: Answer) -> None:
    desk.server.then(bad, bad, chat("at last"))
    with desk.client() as client:
        assert client.chat(SAY, purse()).text == "at last"
    assert client.sent == 3
    assert [wait for wait in desk.waits if wait > 0.01] == [1.0, 2.0]


def test_retry_after_is_waited_for_by_everyone_who_asks_this_model(desk: Desk) -> None:
    began = desk.now
    desk.server.then(failure(429, "rate_limit_exceeded", Retry_After="7"), failure(503, retry_after_ms="2500"))
    with desk.client() as client, desk.client() as other:
        client.chat(SAY, purse())
        assert 9.5 <= desk.now - began < 9.6
        desk.server.then(failure(429, Retry_After="Thu, 01 Jan 2026 00:01:00 GMT"))
        client.chat([{"role": "user", "content": "more"}], purse())
        assert 60 <= desk.now - began < 60.1
        other.chat([{"role": "user", "content": "other"}], purse())
    assert client.sent == 5


def test_a_slow_answer_ends_at_the_time_out(desk: Desk) -> None:
    desk.server.then(Answer(silent=True))
    with desk.client(timeout_seconds=0.5, retries=9) as client:
        assert client.chat(SAY, purse()).text == "fine"
    assert client.sent >= 2


def test_what_does_not_pass_ends_in_an_error_of_this_filing(desk: Desk) -> None:
    desk.server.then(*[failure(500)] * 3)
    with desk.client() as client, pytest.raises(ModelFailed, match="status 500.*3 times") as caught:
        client.chat(SAY, purse())
    assert caught.value.subject == "a"
    assert client.sent == 3


def test_a_server_that_is_not_there_is_told(desk: Desk) -> None:
    with desk.client(base_url="http://127.0.0.1:9/v1", retries=0) as client, pytest.raises(ModelFailed, match="no connection"):
        client.chat(SAY, purse())


# --- failures that do not pass


@pytest.mark.parametrize(("bad", "words"), [
    (failure(429, "insufficient_quota", "You exceeded your current quota"), "quota and payment"),
    (failure(402), "quota and payment"),
    (failure(401, "invalid_api_key", f"Incorrect API key provided: {KEY}"), "Check key_env or key"),
    (failure(403), "Check key_env or key"),
    (failure(401, f"Bearer {KEY}"), "Check key_env or key"),
    (Answer(200, {"error": {"message": "credits", "code": 402}}), "quota and payment"),
    (failure(404, "model_not_found", "The model does not exist"), "Check model 'gpt-4.1'"),
    (Answer(302, b"", {"Location": "http://127.0.0.1:9/steal"}), "Check model"),
])
def test_what_would_strike_every_call_ends_the_run_at_once(desk: Desk, bad: Answer, words: str) -> None:
    desk.server.then(bad)
    with desk.client() as client, pytest.raises(ModelRefused, match=words) as caught:
        client.chat(SAY, purse())
    assert client.sent == 1
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("bad", [
    failure(400, "context_length_exceeded", f"too long {KEY} sk-other-12345678"), failure(413), failure(422), failure(501),
    failure(400, f"Bearer {KEY}"),
])
def test_a_request_that_is_refused_is_not_repeated(desk: Desk, bad: Answer) -> None:
    desk.server.then(bad)
    with desk.client() as client, pytest.raises(ModelFailed, match="refused") as caught:
        client.chat(SAY, purse())
    assert client.sent == 1
    assert "sk-" not in str(caught.value)
    assert KEY not in str(caught.value)


def test_the_key_shows_nowhere(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with desk.client() as client:
        client.chat(SAY, purse())
        shown = f"{client!r} {client.endpoint!r} {client.endpoint.model_dump_json()} {vars(client)} {vars(client._wire)}"
    stored = b"".join(p.read_bytes() for p in Path(desk.lake.root).rglob("*") if p.is_file())
    import zstandard

    [answer] = (Path(desk.lake.root) / "calls").rglob("*.zst")
    content = zstandard.decompress(answer.read_bytes()).decode()
    assert json.loads(content)["request"]["messages"] == SAY
    for text in (shown, caplog.text, content, stored.decode("latin-1")):
        assert KEY not in text


# --- hostile answers


DEEP = b'{"choices": ' + b"[" * 100_000


@pytest.mark.parametrize("bad", [
    DEEP, b'{"choices": [{"message": {"content": {"a": 1}}}], "usage": 7}', b'{"choices": "abc"}', b'{"choices": [[]]}', b"\xff\xfe{}",
])
def test_an_answer_that_is_no_answer_is_asked_for_again_or_read_as_empty(desk: Desk, bad: bytes) -> None:
    desk.server.then(Answer(200, bad))
    with desk.client(retries=1) as client:
        assert client.chat(SAY, purse()).text in ("fine", "")


def test_an_answer_without_end_is_left(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_BYTES", 10_000)
    desk.server.then(Answer(200, b" " * 20_000))
    with desk.client() as client, pytest.raises(ModelFailed, match="more than 10,000 bytes"):
        client.chat(SAY, purse())
    assert client.sent == 1


@pytest.mark.parametrize("usage", [
    {"prompt_tokens": -5, "completion_tokens": 1}, {"prompt_tokens": 10**400, "completion_tokens": "7"}, {"prompt_tokens": True}, [], "x",
    {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 10**9}},
])
def test_a_usage_that_cannot_be_right_is_never_a_negative_cost(desk: Desk, usage: object) -> None:
    desk.server.then(chat("hello", usage))
    mine = purse()
    with desk.client() as client:
        assert client.chat(SAY, mine).text == "hello"
        row = client.usage(mine)
    assert row.dollars is None or row.dollars >= 0
    assert all(n is None or n >= 0 for n in (row.input_tokens, row.cached_tokens, row.output_tokens))


# --- checked answers


def test_a_malformed_answer_is_shown_to_the_model_and_asked_for_once_more(desk: Desk) -> None:
    desk.server.then(chat('{"company": "Acme"'), chat('```json\n{"company": "Acme", "year": 2024}\n```'))
    mine = purse()
    with desk.client() as client:
        assert client.ask(Keys, SAY, mine) == Keys(company="Acme", year=2024)
        assert client.usage(mine).calls == 2
        assert client.ask(Keys, SAY, mine) == Keys(company="Acme", year=2024)
        assert client.usage(mine).hits == 2
    first, second = (asked.body for asked in desk.server.requests)
    assert first["response_format"]["json_schema"]["schema"] == Keys.model_json_schema()
    assert first["response_format"]["json_schema"]["strict"] is True
    assert [m["role"] for m in second["messages"]] == ["user", "assistant", "user"]


@pytest.mark.parametrize("answers", [
    [chat("no"), chat({"company": "Acme"})], [chat({"company": "Acme", "year": "soon"}), chat("")],
    [chat({"company": "A", "year": 1, "more": 2}), chat('{"company"', finish="length")],
])
def test_an_answer_malformed_twice_is_an_error_that_the_caller_may_fall_back_from(desk: Desk, answers: list[Answer]) -> None:
    desk.server.then(*answers)
    mine = purse()
    with desk.client() as client, pytest.raises(MalformedAnswer, match="twice in another form"):
        client.ask(Keys, SAY, mine)
    row = client.usage(mine)
    assert (client.sent, row.calls, row.input_tokens) == (2, 2, 22)  # and both are paid


@pytest.mark.parametrize(("answers", "expected"), [
    ("object", {"type": "json_object"}), ("grammar", {"type": "json_object", "schema": Keys.model_json_schema()}), ("text", None)])
def test_a_server_without_schemas_is_asked_otherwise(desk: Desk, answers: str, expected: object) -> None:
    desk.server.then(chat({"company": "Acme", "year": 1}))
    with desk.client(answers=answers) as client:
        client.ask(Keys, SAY, purse())
    assert desk.server.requests[0].body.get("response_format") == expected


# --- tokens that the server does not say


def tokenizer() -> str:
    from edgarmill.schemas.recipe import EmbeddingModel

    return str(resolve(EmbeddingModel(), Settings()).tokenizer_path)


def test_without_usage_tokens_are_counted_where_there_is_a_tokenizer_and_else_unknown(desk: Desk) -> None:
    desk.server.then(chat("three words here", usage=None))
    mine, other = purse(), purse()
    with desk.client(tokenizer=tokenizer()) as client:
        reply = client.chat(SAY, mine)
        row = client.usage(mine)
    assert (reply.origin, row.origin, row.input_tokens, row.output_tokens) == ("counted", "counted", 1, 3)
    assert row.dollars == Decimal("0.000026")
    desk.server.then(chat("x", usage=None))
    with desk.client(max_output_tokens=5) as client:
        client.chat(SAY, other)
        row = client.usage(other)
    assert (row.origin, row.input_tokens, row.output_tokens, row.dollars) == ("provider", None, None, None)


# --- embeddings


def test_vectors_come_in_the_order_of_the_texts(desk: Desk) -> None:
    mine = purse()
    with desk.client(model="text-embedding-3-small") as client:
        found = client.embed(["a", "bbb", "cc"], mine)
        assert np.array_equal(found, np.array([[1, 1], [3, 1], [2, 1]], dtype=np.float32))
        assert np.array_equal(client.embed(["a", "bbb", "cc"], mine), found)
        row = client.usage(mine)
    assert (client.sent, row.calls, row.hits, row.input_tokens, row.output_tokens) == (1, 1, 1, 6, 0)
    assert row.dollars == Decimal("0.000000120")


@pytest.mark.parametrize("change", [
    lambda data: data[:1], lambda data: [data[0], data[0]], lambda data: [{**data[0], "embedding": [1.0]}, data[1]],
    lambda data: [{**data[0], "embedding": "AAAA"}, data[1]], lambda data: [{**data[0], "embedding": [float("nan"), 1]}, data[1]],
    lambda data: None, lambda data: [{**data[0], "embedding": [10**400, 1]}, data[1]], lambda data: [{**data[0], "index": "0"}, data[1]],
    lambda data: [{**data[0], "embedding": [1e39, 1]}, data[1]], lambda data: [{**data[0], "embedding": [[1], 1]}, data[1]],
    lambda data: {"a": 1}, lambda data: [data[0], {**data[1], "index": 2}],
])
def test_vectors_that_are_not_those_asked_for_are_asked_for_again(desk: Desk, change: Any) -> None:
    good = vectors(["a", "b"])
    desk.server.then(Answer(200, {**good.body, "data": change(good.body["data"])}))
    mine = purse()
    with desk.client(model="text-embedding-3-small") as client:
        assert client.embed(["a", "b"], mine).shape == (2, 2)
        assert client.usage(mine).calls == 2  # the wrong one was paid as well


# --- pace, texts, names


def test_requests_and_tokens_a_minute_hold_over_all_clients(desk: Desk) -> None:
    began = desk.now
    with desk.client(requests_per_minute=6) as one, desk.client(requests_per_minute=6) as other:
        for n in range(3):
            for client in (one, other):
                client.chat([{"role": "user", "content": f"{n} {client is one}"}], purse())
    assert 47 <= desk.now - began <= 51  # six requests, ten seconds apart, a tenth made good at most
    began = desk.now
    with desk.client(tokens_per_minute=6000, max_output_tokens=900, model="gpt-4o") as client:
        for n in range(3):
            client.chat([{"role": "user", "content": f"{n}"}], purse())
    assert 19 <= desk.now - began <= 24  # about a thousand tokens each, at most a hundred a second


@pytest.mark.parametrize("text", ["a\0b", "begin\n" + "M_]C_X``02D9)1@`!`0$`8`!@``#_VP!#``@&!@<&!0@'!P<)\n" * 9, "QUJD" * 2000])
def test_nothing_binary_reaches_a_model(desk: Desk, text: str) -> None:
    with desk.client() as client, pytest.raises(BadFile, match="binary"):
        client.chat([{"role": "user", "content": text}], purse())
    with desk.client() as client, pytest.raises(BadFile, match="binary"):
        client.embed([text], purse())
    assert desk.server.requests == []


def test_text_with_rules_and_tables_is_no_binary() -> None:
    refuse_binary("TOTAL ASSETS ......................... 1,234\n" * 50 + "-" * 3000 + "\n" + ("=" * 70 + "\n" + "A B C\n") * 20, "a")


def test_a_stopped_client_sends_nothing_more(desk: Desk) -> None:
    with desk.client() as client:
        client.stop()
        with pytest.raises(Stopped):
            client.chat(SAY, purse())
    assert desk.server.requests == []


def test_an_endpoint_is_opened_by_name(desk: Desk) -> None:
    settings = Settings(endpoints={"house": {"base_url": desk.server.url, "model": "m", "key_env": "EDGARMILL_TEST_NO_SUCH_KEY"},
                                   "open": {"base_url": desk.server.url, "model": "m"}})  # type: ignore[dict-item]
    with open_client(settings, "open", desk.lake, pace_folder=str(desk.folder)) as client:
        client.chat(SAY, purse())
        row = client.usage(mine := client.purse("a", "context"))
    assert (row.provider, row.dollars, mine.subject) == ("open", 0, "a")
    assert "authorization" not in desk.server.requests[0].headers
    with pytest.raises(SettingsError, match="EDGARMILL_TEST_NO_SUCH_KEY is not set"):
        open_client(settings, "house", desk.lake)
    with pytest.raises(UnknownName, match="Known: house, open"):
        open_client(settings, "hous", desk.lake)


# --- money, before the call


def test_a_budget_refuses_what_could_pass_it_and_nothing_is_sent(desk: Desk, tmp_path: Path) -> None:
    budget = Budget(str(tmp_path / "budget"), Decimal("0.02"))
    with desk.client(max_output_tokens=1000) as client:  # at most $0.008 and some input
        client.chat(SAY, client.purse("a", "context", budget))
        assert budget.taken == Decimal("0.000046")  # 11 in, 3 out
        client.chat([{"role": "user", "content": "two"}], client.purse("b", "context", budget))
        with pytest.raises(EdgarmillError, match="is left"):
            client.chat([{"role": "user", "content": "three"}], client.purse("c", "context", budget), most_output=4000)
    assert len(desk.server.requests) == 2
    assert budget.taken == Decimal("0.000092")


def test_a_try_that_may_have_been_billed_stays_held(desk: Desk, tmp_path: Path) -> None:
    budget = Budget(str(tmp_path / "budget"), Decimal(1))
    desk.server.then(Answer(200, chat("hello").body, cut=9), failure(500))
    with desk.client(max_output_tokens=1000) as client:
        client.chat(SAY, client.purse("a", "context", budget))
    assert Decimal("0.008") < budget.taken < Decimal("0.0085")


def test_a_cap_in_tokens_stops_a_filing_before_the_call(desk: Desk) -> None:
    with desk.client(filing_tokens=2000, max_output_tokens=100) as client:
        mine = client.purse("a", "context")
        client.chat(SAY, mine)
        with pytest.raises(EdgarmillError, match="of 2,000") as caught:
            client.chat([{"role": "user", "content": "word " * 500}], mine)
        assert caught.value.reason == "OverCap"
        client.chat([{"role": "user", "content": "short"}], mine)
    assert len(desk.server.requests) == 2


def test_an_unpriced_model_has_no_budget(desk: Desk, tmp_path: Path) -> None:
    with desk.client(model="unheard-of") as client, pytest.raises(EdgarmillError, match="no price") as caught:
        client.chat(SAY, client.purse("a", "context", Budget(str(tmp_path / "budget"), Decimal(1))))
    assert caught.value.reason == "OverBudget"
    assert desk.server.requests == []


def test_a_lake_of_one_worker_serves_another(desk: Desk) -> None:
    with desk.client() as one, desk.client(lake=Lake(desk.lake.root)) as other:
        one.chat(SAY, purse())
        assert other.chat(SAY, purse()).origin == "reused"
