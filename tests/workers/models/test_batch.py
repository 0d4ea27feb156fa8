"""Many requests in one file: what is submitted, what is paid, what is found again by the run that comes after."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_models import Answer, Asked, FakeBatches, chat, failure, vectors
from model_desk import KEY, Desk
from pydantic import BaseModel, ConfigDict

from edgarmill.schemas.errors import (
    BadInput,
    LakeCorrupt,
    MalformedAnswer,
    ModelFailed,
    ModelRefused,
    OverBudget,
    OverCap,
    Stopped,
)
from edgarmill.workers.models import batch as batches
from edgarmill.workers.models.client import Client
from edgarmill.workers.models.purse import Budget, Purse


class Said(BaseModel):
    model_config = ConfigDict(extra="forbid")
    said: str


def ask(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def echo(**odd: Answer | str) -> Callable[[Asked], Answer | str]:
    def give(asked: Asked) -> Answer | str:
        text = asked.body["messages"][0]["content"]
        return odd.get(text, chat({"said": text}))

    return give


def purse() -> Purse:
    return Purse("a", "context", run_id="one")


def asked(client: Client, *texts: str, by: Purse | None = None) -> list[Any]:
    found = client.ask_each(Said, [ask(text) for text in texts], by or purse())
    return [one.said if isinstance(one, Said) else type(one) for one in found]


def records(desk: Desk) -> list[Path]:
    return sorted((Path(desk.lake.root) / "calls" / "batches").glob("*.json"))


def test_all_asks_go_in_one_file_and_come_back_in_their_order_at_the_batch_price(desk: Desk) -> None:
    desk.server.reply = fake = FakeBatches(echo())
    mine = purse()
    with desk.client(tier="batch") as client:
        assert asked(client, "one", "two", "three", by=mine) == ["one", "two", "three"]
        row = client.usage(mine)
        assert (row.calls, row.hits, row.origin, row.tier, row.input_tokens) == (3, 0, "provider", "batch", 33)
        assert row.dollars == 3 * Decimal("0.000023")  # half of the standard price
        assert asked(client, "one", "two", "three", by=mine) == ["one", "two", "three"]
        assert client.usage(mine).hits == 3
    [lines] = fake.lines
    assert len({line["custom_id"] for line in lines}) == 3
    assert {(line["method"], line["url"], line["body"]["model"]) for line in lines} == {("POST", "/v1/chat/completions", "gpt-4.1")}
    assert [request.path for request in desk.server.requests][:3] == ["/v1/files", "/v1/batches", "/v1/batches/batch_0"]
    assert all(request.headers["authorization"] == f"Bearer {KEY}" for request in desk.server.requests)
    assert b'name="purpose"\r\n\r\nbatch\r\n' in desk.server.requests[0].data
    assert records(desk) == []
    assert desk.waits == [2.0, 3.0]


def test_a_single_call_is_a_batch_of_one(desk: Desk) -> None:
    desk.server.reply = fake = FakeBatches(lambda asked: vectors(asked.body["input"]) if "input" in asked.body else chat("fine"))
    with desk.client(tier="batch", model="text-embedding-3-small") as client:
        assert client.chat(ask("x"), purse()).text == "fine"
        assert np.array_equal(client.embed(["a", "bbb"], purse()), np.array([[1, 1], [3, 1]], dtype=np.float32))
        found = client.embed_each([(["cc"], purse()), (["a\0"], purse())])
        assert isinstance(found[1], BadInput) and np.array_equal(found[0], np.array([[2, 1]], dtype=np.float32))
    assert [[line["url"] for line in lines] for lines in fake.lines] == [["/v1/chat/completions"], ["/v1/embeddings"], ["/v1/embeddings"]]


def test_a_malformed_answer_is_asked_for_once_more_in_a_batch_of_all_of_them(desk: Desk) -> None:
    desk.server.reply = fake = FakeBatches(echo(bad=chat("no"), worse=chat({"said": 1})))
    with desk.client(tier="batch") as client:
        assert asked(client, "one", "bad", "a\0", "worse", by=(mine := purse())) == [
            "one", MalformedAnswer, desk_error("BadFile"), MalformedAnswer]
        assert client.usage(mine).calls == 5
    assert [len(lines) for lines in fake.lines] == [3, 2]


def desk_error(name: str) -> type[BadInput]:
    from edgarmill.schemas import errors

    return getattr(errors, name)  # type: ignore[no-any-return]


@pytest.mark.parametrize("odd", ["lost", "expired", failure(500), failure(429), Answer(200, {"choices": []}), Answer(200, [1])])
def test_what_failed_in_passing_is_asked_again_in_another_batch_and_then_given_up(desk: Desk, odd: Answer | str) -> None:
    desk.server.reply = fake = FakeBatches(echo(odd=odd))
    with desk.client(tier="batch") as client, pytest.raises(ModelFailed, match="3 times"):
        asked(client, "one", "odd", "two")
    assert [len(lines) for lines in fake.lines] == [3, 1, 1]
    fake.give = echo()
    with desk.client(tier="batch") as client:
        assert asked(client, "one", "odd", "two", by=(mine := purse())) == ["one", "odd", "two"]
        assert (client.usage(mine).calls, client.usage(mine).hits) == (1, 2)  # what came is kept
    assert [len(lines) for lines in fake.lines] == [3, 1, 1, 1]


def test_a_batch_that_expires_in_part_gives_what_it_has_and_the_rest_is_asked_again(desk: Desk) -> None:
    desk.server.reply = fake = FakeBatches(echo(late="expired"), end="expired")
    with desk.client(tier="batch") as client:
        client_pause = desk.pass_time

        def later(seconds: float) -> None:
            client_pause(seconds)
            if len(fake.lines) == 2:
                fake.give, fake.end = echo(), "completed"

        client._sleep = later  # type: ignore[method-assign]
        assert asked(client, "one", "late", by=(mine := purse())) == ["one", "late"]
        assert client.usage(mine).calls == 2
    assert [len(lines) for lines in fake.lines] == [2, 1]


@pytest.mark.parametrize(("end", "said"), [("failed", "line 1 is wrong"), ("cancelled", "was cancelled")])
def test_a_batch_that_its_provider_refuses_is_told_in_its_words(desk: Desk, end: str, said: str) -> None:
    desk.server.reply = FakeBatches(lambda asked: "lost", end=end)
    with desk.client(tier="batch") as client, pytest.raises(ModelFailed, match=said):
        asked(client, "one", "two")
    assert records(desk) == []


def test_a_request_refused_for_good_ends_it_and_the_others_are_kept(desk: Desk) -> None:
    for bad, error in ((failure(400, "context_length_exceeded"), ModelFailed), (failure(401), ModelRefused)):
        desk.server.reply = fake = FakeBatches(echo(bad=bad))
        with desk.client(tier="batch") as client, pytest.raises(error):
            asked(client, f"one{bad.status}", "bad")
        with desk.client(tier="batch") as client:
            assert asked(client, f"one{bad.status}", by=purse()) == [f"one{bad.status}"]
        assert len(fake.lines) == 1


# --- cut off and found again


def cut_off(desk: Desk, after: int, *texts: str) -> None:
    """A run that ends at its so many-th wait."""
    with desk.client(tier="batch") as client:
        waits = 0

        def sleep(seconds: float) -> None:
            nonlocal waits
            waits += 1
            if waits > after:
                raise KeyboardInterrupt

        client._sleep = sleep  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            asked(client, *texts)


def test_a_run_that_was_killed_while_it_waited_finds_its_batch_and_pays_nothing_twice(desk: Desk) -> None:
    desk.server.reply = fake = FakeBatches(echo())
    cut_off(desk, 1, "one", "two", "gone")
    assert len(records(desk)) == 1
    with desk.client(tier="batch", booked=lambda payer: False) as client:
        mine = Purse("a", "context", run_id="two")
        assert asked(client, "two", "new", "one", by=mine) == ["two", "new", "one"]
        assert (client.usage(mine).calls, client.usage(mine).hits) == (3, 0)  # the run before could not tell: told now
        assert asked(client, "gone", by=(other := Purse("a", "context", run_id="two"))) == ["gone"]
        assert client.usage(other).calls == 1
    assert [len(lines) for lines in fake.lines] == [3, 1]
    assert records(desk) == []


def test_a_batch_begun_whose_word_was_lost_is_found_by_its_name(desk: Desk) -> None:
    desk.server.reply = fake = FakeBatches(echo())
    fake.once["POST /batches"], fake.deaf = Answer(200, chat("x").body, cut=9), True
    with desk.client(tier="batch") as client, pytest.raises(ModelFailed, match="cut answer"):
        asked(client, "one")
    assert len(fake.batches) == 1 and json.loads(records(desk)[0].read_text())["id"] == ""
    with desk.client(tier="batch") as client:
        assert asked(client, "one") == ["one"]
    assert len(fake.batches) == 1


def test_a_batch_that_never_began_is_begun_from_its_file(desk: Desk) -> None:
    desk.server.reply = fake = FakeBatches(echo())
    fake.once["POST /batches"] = Answer(200, b"", cut=0)
    with desk.client(tier="batch") as client, pytest.raises(ModelFailed, match="not a JSON object"):
        asked(client, "one")
    assert fake.batches == {}
    with desk.client(tier="batch") as client:
        assert asked(client, "one") == ["one"]
    assert (len(fake.batches), sum(request.path == "/v1/files" for request in desk.server.requests)) == (1, 1)


def test_a_failure_that_passes_is_tried_again_at_every_step(desk: Desk) -> None:
    desk.server.reply = fake = FakeBatches(echo())
    fake.once = {"POST /files": failure(503), "POST /batches": failure(429, Retry_After="5"), "GET /batches/batch_0": failure(500),
                 "GET /files/file-1/content": Answer(200, b"{}", cut=1)}
    with desk.client(tier="batch") as client:
        assert asked(client, "one") == ["one"]
    assert fake.once == {} and len(fake.batches) == 1


def test_a_batch_that_its_provider_does_not_know_and_a_damaged_record_are_told_with_what_to_do(desk: Desk) -> None:
    desk.server.reply = FakeBatches(echo())
    cut_off(desk, 0, "one")
    desk.server.reply = FakeBatches(echo())
    with desk.client(tier="batch") as client, pytest.raises(ModelRefused, match=r"remove calls/batches/\w+.json"):
        asked(client, "one")
    records(desk)[0].write_text("{")
    with desk.client(tier="batch") as client, pytest.raises(LakeCorrupt, match="record of a batch"):
        asked(client, "one")


def test_a_batch_without_end_is_left_after_its_time_and_found_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "LONGEST", 600.0)
    desk.server.reply = fake = FakeBatches(echo(), looks=10**6)
    with desk.client(tier="batch") as client, pytest.raises(ModelFailed, match="not ended in two days"):
        asked(client, "one")
    fake.looks = 0
    with desk.client(tier="batch") as client:
        assert asked(client, "one") == ["one"]
    assert len(fake.batches) == 1


def test_who_stops_the_client_stops_the_wait_and_the_batch_goes_on(desk: Desk) -> None:
    desk.server.reply = fake = FakeBatches(echo(), looks=9)
    with desk.client(tier="batch") as client:
        client._sleep = lambda seconds: client.stop()  # type: ignore[method-assign]
        with pytest.raises(Stopped):
            asked(client, "one")
    with desk.client(tier="batch") as client:
        assert asked(client, "one") == ["one"]
    assert len(fake.batches) == 1


# --- money and hostile servers


def test_a_cap_holds_over_a_batch_and_what_has_no_room_beside_the_others_goes_in_the_next(desk: Desk) -> None:
    desk.server.reply = fake = FakeBatches(echo())
    with desk.client(tier="batch", filing_tokens=3000, max_output_tokens=300) as client:  # a request may take 900 or so, and takes 14
        mine = client.purse("a", "context")
        assert asked(client, *map(str, range(8)), by=mine) == [str(n) for n in range(8)]
    assert [len(lines) for lines in fake.lines] == [4, 4]
    with desk.client(tier="batch", filing_tokens=100) as client:
        assert asked(client, "new", by=client.purse("a", "context")) == [OverCap]


def test_a_budget_is_held_for_all_of_a_batch_and_given_back_where_it_cost_less(desk: Desk, tmp_path: Path) -> None:
    desk.server.reply = fake = FakeBatches(echo())
    budget = Budget(str(tmp_path / "budget"), Decimal("0.005"))
    with desk.client(tier="batch", max_output_tokens=500) as client:  # at most some $0.0025 each
        assert asked(client, "one", "two", "three", by=client.purse("a", "context", budget)) == ["one", "two", "three"]
        assert budget.taken == 3 * Decimal("0.000023")
        with pytest.raises(OverBudget):
            asked(client, "four", by=client.purse("b", "context", Budget(str(tmp_path / "small"), Decimal("0.001"))))
    assert [len(lines) for lines in fake.lines] == [2, 1]


def test_equal_asks_are_one_request(desk: Desk) -> None:
    desk.server.reply = fake = FakeBatches(echo())
    with desk.client(tier="batch") as client:
        assert asked(client, "same", "same", by=(mine := purse())) == ["same", "same"]
        assert (client.usage(mine).calls, client.usage(mine).hits) == (1, 1)
    assert [len(lines) for lines in fake.lines] == [1]


def test_many_requests_are_several_batches_under_way_together(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MOST_REQUESTS", {"chat": 2})
    desk.server.reply = fake = FakeBatches(echo())
    with desk.client(tier="batch") as client:
        assert asked(client, *"abcde") == [*"abcde"]
    assert [len(lines) for lines in fake.lines] == [2, 2, 1]
    assert [r.path for r in desk.server.requests][:6] == ["/v1/files", "/v1/batches"] * 3


@pytest.mark.parametrize("name", ["../../steal", "", 7, None, "a/b", "x" * 999])
def test_an_id_that_would_be_another_address_is_refused(desk: Desk, name: object) -> None:
    desk.server.reply = lambda asked: Answer(200, {"id": name, "status": "completed"})
    with desk.client(tier="batch") as client, pytest.raises(ModelFailed, match="without id"):
        asked(client, "one")
    assert len(desk.server.requests) == 1


@pytest.mark.parametrize("junk", [b"", b"\xff\xfe", b"[" * 100_000, b"null\n7\n[]\n{}", b'{"custom_id": ["x"]}',
                                  b'{"custom_id": "another", "response": {"status_code": 200, "body": {}}}', b'{"custom_id": {}}\n' * 999])
def test_a_file_of_answers_that_is_none_is_no_answer(desk: Desk, junk: bytes) -> None:
    fake = FakeBatches(echo())

    def reply(asked: Asked) -> Answer:
        found = fake(asked)
        return Answer(200, junk) if asked.path.endswith("/content") else found

    desk.server.reply = reply
    with desk.client(tier="batch", retries=0) as client, pytest.raises(ModelFailed, match="not answered in its batch"):
        asked(client, "one")
