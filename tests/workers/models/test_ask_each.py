"""Many asks at once: their order, their errors, their money."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path

import pytest
from fake_models import Answer, Asked, ModelServer, chat, failure
from model_desk import Desk
from pydantic import BaseModel, ConfigDict

from edgarmill.schemas.errors import BadFile, MalformedAnswer, ModelFailed, ModelRefused, OverBudget, OverCap, Stopped
from edgarmill.workers.models.purse import Budget, Purse


class Said(BaseModel):
    model_config = ConfigDict(extra="forbid")
    said: str


def ask(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def echo(server: ModelServer, **odd: Answer) -> None:
    """What was asked comes back, but for the odd ones."""
    server.reply = lambda asked: odd.get(asked.body["messages"][0]["content"], chat({"said": asked.body["messages"][0]["content"]}))


def test_answers_come_in_the_order_of_the_asks_and_the_first_are_sent_first(desk: Desk) -> None:
    echo(desk.server)
    with desk.client(concurrency=1) as client:
        found = client.ask_each(Said, [ask(f"{n}") for n in range(20)], mine := Purse("a", "context"))
        assert client.usage(mine).calls == 20
    assert [one.said for one in found if isinstance(one, Said)] == [f"{n}" for n in range(20)]
    assert [asked.body["messages"][0]["content"] for asked in desk.server.requests] == [f"{n}" for n in range(20)]


def test_as_many_are_asked_at_a_time_as_the_endpoint_takes(desk: Desk) -> None:
    gate = threading.Barrier(4)

    def reply(asked: Asked) -> Answer:
        gate.wait(10)  # none of four could end if three were asked at a time
        return chat({"said": "x"})

    desk.server.reply = reply
    with desk.client(concurrency=4) as client:
        assert len(client.ask_each(Said, [ask(f"{n}") for n in range(8)], Purse("a", "context"))) == 8


def test_no_asks_are_no_answers(desk: Desk) -> None:
    with desk.client() as client:
        assert client.ask_each(Said, [], Purse("a", "context")) == []


def test_what_is_malformed_or_no_text_stands_in_its_place_and_the_rest_is_answered(desk: Desk) -> None:
    echo(desk.server, bad=chat("no form"))
    with desk.client() as client:
        found = client.ask_each(Said, [ask("one"), ask("bad"), ask("a\0b"), ask("two")], mine := Purse("a", "context"))
        assert client.usage(mine).calls == 4  # one, two, and the bad one twice
    assert [type(one) for one in found] == [Said, MalformedAnswer, BadFile, Said]


def test_equal_asks_are_paid_once(desk: Desk) -> None:
    echo(desk.server)
    with desk.client() as client:
        found = client.ask_each(Said, [ask("same")] * 9, mine := Purse("a", "context"))
        assert (client.usage(mine).calls, client.usage(mine).hits, len(set(map(str, found)))) == (1, 8, 1)


def test_what_calls_under_way_only_hold_is_not_over_the_cap(desk: Desk) -> None:
    echo(desk.server)
    with desk.client(filing_tokens=1500, max_output_tokens=300, concurrency=8) as client:  # one call holds about 900, and costs 14
        found = client.ask_each(Said, [ask(f"{n}") for n in range(40)], client.purse("a", "context"))
    assert all(isinstance(one, Said) for one in found)


def test_what_is_over_the_cap_is_told_in_its_place(desk: Desk) -> None:
    echo(desk.server)
    with desk.client(filing_tokens=1000, max_output_tokens=300, concurrency=8) as client:
        found = client.ask_each(Said, [ask(f"{n}") for n in range(40)], mine := client.purse("a", "context"))
        spent = client.usage(mine)
    over = [isinstance(one, OverCap) for one in found]
    assert 0 < sum(over) < 40
    assert spent.calls == 40 - sum(over) and 14 * spent.calls <= 1000


def test_a_budget_that_is_used_up_ends_it_and_was_not_passed(desk: Desk, tmp_path: Path) -> None:
    echo(desk.server)
    budget = Budget(str(tmp_path / "budget"), Decimal("0.005"))
    with desk.client(max_output_tokens=300, concurrency=8) as client, pytest.raises(OverBudget):
        client.ask_each(Said, [ask(f"{n}") for n in range(200)], client.purse("a", "context", budget))
    assert 20 < len(desk.server.requests) < 200
    assert budget.taken == len(desk.server.requests) * Decimal("0.000046")


@pytest.mark.parametrize(("bad", "error"), [(failure(400), ModelFailed), (failure(401), ModelRefused)])
def test_another_error_ends_it_and_what_came_is_kept(desk: Desk, bad: Answer, error: type[Exception]) -> None:
    echo(desk.server, **{"7": bad})
    asks = [ask(f"{n}") for n in range(40)]
    with desk.client(concurrency=2) as client:
        with pytest.raises(error):
            client.ask_each(Said, asks, Purse("a", "context"))
        came = len(desk.server.requests)
        assert came < 20
        echo(desk.server)
        assert len(client.ask_each(Said, asks, Purse("a", "context"))) == 40  # the client goes on
    assert len(desk.server.requests) == 41


def test_a_stopped_client_asks_nothing_more(desk: Desk) -> None:
    def reply(asked: Asked) -> Answer:
        client.stop()
        return chat({"said": "x"})

    desk.server.reply = reply
    with desk.client(concurrency=2) as client, pytest.raises(Stopped):
        client.ask_each(Said, [ask(f"{n}") for n in range(40)], Purse("a", "context"))
    assert len(desk.server.requests) <= 4


def test_a_ctrl_c_ends_the_waits_of_all_threads_at_once(desk: Desk, tmp_path: Path) -> None:
    """A server that asks for two minutes of patience; the process leaves without them."""
    desk.server.reply = lambda asked: failure(429, Retry_After="110")
    program = f"""
import json
from pydantic import BaseModel
from edgarmill.schemas.endpoints import Endpoint
from edgarmill.schemas.prices import price_set
from edgarmill.schemas.store import Lake
from edgarmill.workers.models.client import Client
from edgarmill.workers.models.purse import Purse

class Said(BaseModel):
    said: str

endpoint = Endpoint(base_url={desk.server.url!r}, model="m", provider="p")
client = Client(endpoint, Lake({desk.lake.root!r}), price_set(), pace_folder={str(desk.folder)!r})
print("asking", flush=True)
try:
    client.ask_each(Said, [[{{"role": "user", "content": str(n)}}] for n in range(20)], Purse("a", "context"))
except KeyboardInterrupt:
    print("left", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "asking\n"
        while not desk.server.requests:
            assert process.poll() is None
            threading.Event().wait(0.05)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "left\n"
        assert process.returncode == 0


def test_the_same_asks_after_a_malformed_one_cost_nothing(desk: Desk) -> None:
    echo(desk.server, bad=chat(json.dumps({"other": 1})))
    with desk.client() as client:
        for _ in range(2):
            found = client.ask_each(Said, [ask("bad"), ask("good")], mine := Purse("a", "context"))
            assert [type(one) for one in found] == [MalformedAnswer, Said]
        assert client.usage(mine).calls == 0
    assert len(desk.server.requests) == 3
