"""A server's working time, shared out among filings."""

from __future__ import annotations

from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path

from fake_models import serving
from hypothesis import given
from hypothesis import strategies as st

from edgarmill.schemas.endpoints import Endpoint
from edgarmill.schemas.prices import price_set
from edgarmill.schemas.store import Lake
from edgarmill.workers.models.busy import Busy
from edgarmill.workers.models.client import Client


def test_two_calls_at_once_share_the_time_and_one_alone_takes_it_all() -> None:
    now = [0.0]
    busy = Busy(lambda: now[0])
    with busy.during("a"):
        now[0] = 2.0
        with busy.during("b"):
            now[0] = 6.0
    now[0] = 100.0  # nobody asks
    assert (busy.seconds("a"), busy.seconds("b"), busy.seconds("c")) == (4.0, 2.0, 0.0)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.floats(0, 9, width=16)), max_size=30))
def test_the_shares_add_up_to_the_time_in_which_any_call_was_under_way(steps: list[tuple[str, bool, float]]) -> None:
    now, worked = [0.0], 0.0
    busy, open_calls = Busy(lambda: now[0]), list[ExitStack]()
    for payer, begins, seconds in steps:
        if begins:
            open_calls.append(ExitStack())
            open_calls[-1].enter_context(busy.during(payer))
        elif open_calls:
            open_calls.pop().close()
        now[0] += seconds
        worked += seconds if open_calls else 0.0
    for call in open_calls:
        call.close()
    assert abs(sum(map(busy.seconds, "abc")) - worked) < 1e-6


def test_a_server_of_our_own_is_charged_by_the_hour_of_its_gpus(tmp_path: Path) -> None:
    with serving() as server:
        endpoint = Endpoint(base_url=server.url, provider="vllm", model="m", gpus=2, gpu_dollars_per_hour=Decimal("3.6"))
        client = Client(endpoint, Lake.open(str(tmp_path / "lake"), create=True), price_set(), pace_folder=str(tmp_path / "pace"))
        purse = client.purse("0000000001-24-000001", "context")
        client.chat([{"role": "user", "content": "hello"}], purse)
        row = client.usage(purse)
        again = client.purse("0000000001-24-000002", "context")
        client.chat([{"role": "user", "content": "hello"}], again)
        free = client.usage(again)
    assert row.gpu_seconds is not None and row.gpu_seconds > 0 and row.calls == 1
    assert row.dollars == (Decimal(repr(row.gpu_seconds)) * Decimal("0.001")).quantize(Decimal("0.000000001"))
    assert row.price == "gpu 3.6 USD/h"
    assert (free.origin, free.dollars, free.gpu_seconds) == ("reused", Decimal(0), None)
