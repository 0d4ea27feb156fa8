"""A recipe that cannot fit its model is refused at once; what may be cut is counted to the token."""

from __future__ import annotations

from datetime import date

import pytest
from documents import parsed

from edgarmill.schemas.errors import SettingsError, UnknownName
from edgarmill.schemas.ids import text_hash
from edgarmill.schemas.recipe import Recipe, load, shipped
from edgarmill.schemas.records import Context, Filing
from edgarmill.schemas.settings import Settings
from edgarmill.workers.chunk import chunks_of
from edgarmill.workers.context import embedded_text
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.fit import Plan, check_recipe, contexts_of

FILING = Filing("d", form="10-K", company="Acme Inc.", filed_on=date(2024, 11, 1), fiscal_year=2024)
TABLE = "Sales | 1,234 | 5,678\n" * 80
BLOCKS = [("heading", "Item 7. Discussion"), ("paragraph", "Net sales rose in all regions. " * 120), ("table", TABLE)]


def plan_of(**parts: object) -> Plan:
    return check_recipe(Recipe.model_validate({"name": "r", "chunker": {"kind": "structure"}, **parts}), Settings())


def contexts(recipe: Recipe) -> list[tuple[Context, str]]:
    """Contexts of a document of several chunks, each with the text that is embedded."""
    of, plan = parsed(BLOCKS, {0: ("7",)}), check_recipe(recipe, Settings())
    tokenizer = Tokenizer(plan.model.tokenizer_path)
    chunks = chunks_of(of.document, of.elements, of.sections, recipe.chunker, plan, tokenizer)
    made = contexts_of(FILING, chunks, recipe.context, plan, tokenizer)
    return [(c, embedded_text(c.context, one.text)) for c, one in zip(made, chunks, strict=True)]


@pytest.mark.parametrize(("name", "may_cut"), [("default", False), ("paper", True), ("snowflake", True)])
def test_shipped_recipes_fit_or_say_that_they_may_cut(name: str, may_cut: bool) -> None:
    assert check_recipe(load(name), Settings()).may_cut == may_cut


ASKING = [name for name in shipped() if {load(name).context.kind, load(name).tree.kind} & {"document", "chunk", "model"}]


@pytest.mark.parametrize("name", ASKING)
def test_a_shipped_recipe_that_asks_a_model_fits_and_without_its_endpoint_is_refused_in_one_line(name: str) -> None:
    there = Settings(endpoints={"openai": {"base_url": "http://127.0.0.1:9/v1", "model": "any"}})  # type: ignore[dict-item]
    assert check_recipe(load(name), there).may_cut is False
    with pytest.raises(UnknownName, match=r"no such endpoint.*Add \[endpoints.openai\]") as error:
        check_recipe(load(name), Settings())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["default", "paper", "snowflake"])
def test_tokens_are_those_that_the_model_gets_and_cut_ones_those_it_does_not(name: str) -> None:
    plan = check_recipe(load(name), Settings())
    model_ids = Tokenizer(plan.model.tokenizer_path).cutter(100_000)
    for c, text in contexts(load(name)):
        assert c.tokens == len(model_ids([text])[0])
        assert c.cut_tokens == max(0, c.tokens - 256)
        assert c.text_hash == text_hash(text)


def test_the_default_recipe_cuts_nothing_and_the_paper_one_what_is_over_256() -> None:
    assert max(c.tokens for c, _ in contexts(load("default"))) <= 256
    assert max(c.cut_tokens for c, _ in contexts(load("paper"))) == 512 + 2 - 256


@pytest.mark.parametrize(
    "parts",
    [
        {"chunker": {"kind": "fixed", "tokens": 255}},
        {"chunker": {"kind": "recursive"}},
        {"chunker": {"kind": "structure", "max_tokens": 257}},
        {"chunker": {"kind": "fixed", "tokens": 200}, "context": {"kind": "metadata"}},
    ],
)
def test_what_may_be_longer_than_the_window_is_refused(parts: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=r"reads 256\. .*overflow"):
        plan_of(**parts)


def test_what_fits_exactly_is_taken() -> None:
    assert plan_of(chunker={"kind": "fixed", "tokens": 254}).may_cut is False
    assert plan_of(chunker={"kind": "structure"}).room == 254
    assert plan_of(context={"kind": "metadata"}).room == 194


@pytest.mark.parametrize("overflow", ["refuse", "cut"])
def test_a_context_that_leaves_no_room_is_refused_even_where_cutting_is_allowed(overflow: str) -> None:
    with pytest.raises(SettingsError, match="leave no room"):
        plan_of(context={"kind": "metadata", "max_tokens": 240}, embedding={"overflow": overflow})


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"chunker": {"kind": "nope"}}, "no such chunker"),
        ({"context": {"kind": "nope"}}, "no such context"),
        ({"embedding": {"model": "packaged:nope"}}, "no such packaged model"),
        ({"parser": {"engine": "nope"}}, "no such parser"),
    ],
)
def test_unknown_names_are_refused_with_those_there_are(parts: dict[str, object], said: str) -> None:
    with pytest.raises(UnknownName, match=said) as error:
        plan_of(**parts)
    assert "Known" in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("context", [{"kind": "metadata", "max_tokens": 4}, {"kind": "none", "size": 1}])
def test_bad_options_of_a_context_are_refused(context: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=r"context\."):
        plan_of(context=context)


def test_fingerprints_change_with_what_they_cover_and_only_then() -> None:
    base = plan_of()
    assert plan_of(chunker={"kind": "structure", "max_tokens": 256}) == base  # the default, said aloud
    assert plan_of(chunker={"kind": "structure", "min_tokens": 8}).chunker_fingerprint != base.chunker_fingerprint
    other = plan_of(context={"kind": "metadata"})  # leaves less room
    assert other.chunker_fingerprint != base.chunker_fingerprint and other.context_fingerprint != base.context_fingerprint
    narrow = plan_of(chunker={"kind": "structure", "max_tokens": 128}, embedding={"window": 128})
    assert narrow.context_fingerprint != base.context_fingerprint


@pytest.mark.parametrize("kind", ["structure", "hierarchical", "markdown"])
def test_who_lets_the_model_cut_has_chunks_of_the_size_asked_for(kind: str) -> None:
    """They were once no larger than the window, whatever the recipe said: "512 tokens" was another name of 256."""
    def largest(size: int, overflow: str) -> int:
        parts = {"chunker": {"kind": kind, "max_tokens": size}, "embedding": {"overflow": overflow}}
        return max(c.tokens for c, _ in contexts(Recipe.model_validate({"name": "r", **parts})))

    assert largest(256, "cut") == largest(256, "refuse") <= 256 < largest(512, "cut") <= 512
