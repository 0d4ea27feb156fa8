"""A rehearsal counts what would be sent, answers in the form that is wanted, and sends nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from edgarmill.schemas.endpoints import Endpoint
from edgarmill.schemas.prices import price_set
from edgarmill.schemas.store import Lake
from edgarmill.workers.models.cache import Calls, key_of
from edgarmill.workers.models.client import Client
from edgarmill.workers.rehearsal import CACHED_BY, Rehearsal, filled, rehearsing

ENDPOINT = Endpoint(base_url="http://127.0.0.1:9/v1", model="gpt-4o", provider="openai", key_env="NOT_SET", requests_per_minute=0.1,
                    tier="batch", answers="text")


class Leaf(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    title: str
    page: Annotated[int, Field(ge=1)]
    kind: Literal["a", "b"]
    children: tuple[Leaf, ...] = ()


class Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    maybe: str | None
    many: tuple[str, ...]
    tree: Leaf
    sure: bool


def words(text: str) -> int:
    return len(text.split())


def client(stage: Rehearsal, lake: Path) -> Client:
    return Client(stage.in_place_of(ENDPOINT), Lake.open(str(lake), create=True), price_set())


def test_any_form_is_filled_in_though_it_holds_itself() -> None:
    found = Form.model_validate(filled(Form.model_json_schema(), "net " * 40))
    assert found.name.startswith("net") and found.tree.page == 1 and found.tree.kind == "a"


def test_tokens_are_counted_and_an_answer_has_as_many_as_it_is_told(tmp_path: Path) -> None:
    with rehearsing(words, lambda model: 50) as stage, client(stage, tmp_path / "lake") as asked:
        purse = asked.purse("one", "context")
        asked.ask(Form, [{"role": "system", "content": "say it"}, {"role": "user", "content": "a b c"}], purse)
        row = purse.usage("gpt-4o", "rehearsed-0", "standard")
    assert (row.calls, row.input_tokens, row.output_tokens) == (1, 5, 50)
    assert stage.endpoints == {"rehearsed-0": ENDPOINT}


def test_what_prompts_share_stands_in_the_cache_from_the_second_on(tmp_path: Path) -> None:
    shared = "word " * 3000
    with rehearsing(words, lambda model: 5) as stage, client(stage, tmp_path / "lake") as asked:
        purse = asked.purse("one", "context")
        for own in ("first", "second", "third"):
            asked.chat([{"role": "user", "content": shared + own}], purse)
        row = purse.usage("gpt-4o", "", "standard")
    assert row.input_tokens is not None and row.cached_tokens is not None
    assert row.cached_tokens == 2 * (3000 // CACHED_BY * CACHED_BY)
    assert row.input_tokens + row.cached_tokens == pytest.approx(3 * 3001, abs=3)


def test_what_the_lake_has_an_answer_for_costs_nothing(tmp_path: Path) -> None:
    real = Lake.open(str(tmp_path / "real"), create=True)
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "known"}], "temperature": 0, "max_tokens": 1024}
    answer = {"choices": [{"message": {"content": "as it was"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9}}
    Calls(real).keep(key_of("openai", "chat", body), {"answer": answer, "request": body, "payer": {}})
    with rehearsing(words, lambda model: 5, Calls(real)) as stage, client(stage, tmp_path / "lake") as asked:
        purse = asked.purse("one", "context")
        assert asked.chat([{"role": "user", "content": "known"}], purse).text == "as it was"
        asked.chat([{"role": "user", "content": "new"}], purse)
        assert purse.usage("", "", "").input_tokens == 1
        assert stage.new == {"rehearsed-0": 0.5}
