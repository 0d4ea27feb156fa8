"""The context that a chat model writes once per filing: what it is asked, what becomes of its answer, what is on record."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from fake_models import Answer, ModelServer, chat, failure, serving
from hypothesis import given
from hypothesis import settings as bounds
from hypothesis import strategies as st

from edgarmill.schemas.errors import SettingsError, UnknownName
from edgarmill.schemas.recipe import Kind, Recipe
from edgarmill.schemas.records import Chunk, Document, Filing
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake, write_part
from edgarmill.workers.asking import Answered, endpoint_for, open_asker
from edgarmill.workers.context.document import Keys, Options, context
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.fit import check_recipe

TOKENIZER = Tokenizer(check_recipe(Recipe(name="r", chunker=Kind(kind="structure")), Settings()).model.tokenizer_path)
FILING = Filing("0000320193-24-000123", form="10-K", family="10-K", company="Acme Inc.", filed_on=date(2024, 11, 1))
CHUNK = Chunk("c", "d:1", "d", "f", 0, 0, 4, "text", 1, "II", "7", "Results", 1, 1)
KEYS = {"company": "Acme Inc.", "form": "10-K", "filed": "November 1, 2024", "period": "fiscal 2024",
        "metrics": ["Net sales $391 billion", ""], "highlights": ["Pumps and valves.", "Risks of supply"]}
DOCUMENT = Kind(kind="document", endpoint="house", model="gpt-4.1")  # type: ignore[call-arg]


def document(text: str, type: str = "10-K") -> Document:
    return Document(f"a:{type}", "a", 1, type, "x.htm", "html", 1, "utf-8", text, 1, "e", None, 1, None, None)


def answered(server: ModelServer, root: Path, text: str = "Acme Inc. annual report. " * 400, **more: Any) -> Answered:
    house = {"base_url": server.url, "provider": "openai", "model": "other", "retries": 0, **more.pop("house", {})}
    settings = Settings(endpoints={"house": house}, **more)  # type: ignore[arg-type]
    asker = open_asker(DOCUMENT, settings, Lake.open(str(root / "lake"), create=True).root, "run")
    assert asker is not None
    with asker.client:
        return asker.ask(FILING, [document("exhibit", "EX-13"), document(text)], [CHUNK])


def test_the_model_reads_the_beginning_of_the_main_document_once(tmp_path: Path) -> None:
    with serving() as server:
        server.then(chat(KEYS))
        found = answered(server, tmp_path)
        [asked] = server.requests
        assert asked.body["model"] == "gpt-4.1"
        assert asked.body["messages"][1]["content"] == ("Acme Inc. annual report. " * 400)[:4000]
        assert (found.fallback, found.error, found.usage.calls, found.usage.dollars) == (None, None, 1, Decimal("0.000046"))
        lake = Lake.open(str(tmp_path / "lake"))
        with lake.writer("run") as writer:
            writer.commit([write_part(lake.root, "usage", "part", [found.usage], "run")], key="run")
        again = answered(server, tmp_path)
        assert len(server.requests) == 1
    assert again.found == found.found
    assert (again.usage.origin, again.usage.hits, again.usage.dollars) == ("reused", 1, 0)
    assert context(FILING, CHUNK, Options(), TOKENIZER, found.found["c"]) == (
        "Acme Inc. 10-K for fiscal 2024, filed November 1, 2024. Net sales $391 billion. Pumps and valves.; Risks of supply.")


@pytest.mark.parametrize(("answers", "more", "reason"), [
    ([chat("no"), chat("never")], {}, "MalformedAnswer"),
    ([], {"house": {"filing_tokens": 500}}, "OverCap"),
    ([], {"house": {"filing_dollars": "0.0001"}}, "OverCap"),
    ([], {"text": "begin\n" + "M_]C_X``02D9)1@`!`0$`8`!@``#_VP!#``@&!@<&!0@'!P<)\n" * 99}, "BadFile"),
])
def test_without_a_good_answer_the_filing_falls_back_and_what_was_paid_is_on_record(
        tmp_path: Path, answers: list[Answer], more: dict[str, Any], reason: str) -> None:
    with serving() as server:
        server.then(*answers)
        found = answered(server, tmp_path, **more)
        assert len(server.requests) == len(answers)
    assert (found.found["c"].reason, found.error, found.usage.calls) == (reason, None, len(answers))


@pytest.mark.parametrize(("answers", "more", "reason"), [
    ([chat("no"), failure(500)], {}, "ModelFailed"),
    ([], {"budget_dollars": Decimal("0.001")}, "OverBudget"),
])
def test_without_any_answer_or_budget_the_filing_is_set_aside(
        tmp_path: Path, answers: list[Answer], more: dict[str, Any], reason: str) -> None:
    with serving() as server:
        server.then(*answers)
        found = answered(server, tmp_path, **more)
        assert len(server.requests) == len(answers)
    assert found.error is not None
    assert (found.error.reason, found.fallback, found.usage.calls) == (reason, None, min(1, len(answers)))


def test_an_endpoint_is_checked_before_any_work(tmp_path: Path) -> None:
    assert endpoint_for(Kind(kind="metadata"), Settings()) is None
    with pytest.raises(UnknownName, match=r"\[endpoints.house\]"):
        endpoint_for(DOCUMENT, Settings())
    house = {"base_url": "http://127.0.0.1:9/v1", "model": "m"}
    with pytest.raises(SettingsError, match="no standard price"):
        endpoint_for(DOCUMENT, Settings(endpoints={"house": house}, budget_dollars=Decimal(1)))  # type: ignore[dict-item]


@given(st.text(max_size=400), st.lists(st.text(max_size=300), max_size=12), st.integers(16, 100))
@bounds(max_examples=40, deadline=None)
def test_whatever_a_model_says_the_context_keeps_to_its_bound(words: str, lines: list[str], most: int) -> None:
    found = Keys.model_validate({"company": words, "form": words, "filed": words, "period": words, "metrics": lines, "highlights": lines})
    text = context(FILING, CHUNK, Options(max_tokens=most), TOKENIZER, found)
    assert TOKENIZER.count(text) <= most
    assert text == text.strip()
    assert "\n" not in text


def test_other_words_to_the_model_are_another_context(monkeypatch: pytest.MonkeyPatch) -> None:
    from edgarmill.workers.context import document as module

    house = {"base_url": "http://127.0.0.1:9/v1", "model": "m"}
    settings = Settings(endpoints={"house": house})  # type: ignore[dict-item]
    recipe = Recipe(name="r", chunker=Kind(kind="structure", max_tokens=400), context=DOCUMENT, embedding={"overflow": "cut"})  # type: ignore
    before = check_recipe(recipe, settings).context_fingerprint
    assert check_recipe(recipe, settings).context_fingerprint == before
    monkeypatch.setattr(module, "INSTRUCTION", "Answer in verse.")
    assert check_recipe(recipe, settings).context_fingerprint != before
