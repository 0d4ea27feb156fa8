"""What holds for whatever chunkers are found: a new file in workers/chunk is tested before its author writes a test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from documents import Parsed, parsed, uncovered
from hypothesis import given, settings
from hypothesis import strategies as st

from edgarmill.schemas.errors import SettingsError, UnknownName
from edgarmill.schemas.recipe import Kind, Recipe
from edgarmill.schemas.records import Filing
from edgarmill.schemas.settings import Settings
from edgarmill.workers import chunk
from edgarmill.workers.context import embedded_text
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.fit import Plan, check_recipe, contexts_of

SMALL: dict[str, dict[str, Any]] = {  # options that make many chunks out of little text; a kind that is not named here takes its defaults
    "fixed": {"tokens": 24, "overlap": 6},
    "recursive": {"characters": 120, "overlap": 30},
    "structure": {"max_tokens": 40, "min_tokens": 6},
    "sentences": {"tokens": 40, "overlap": 1},
    "markdown": {"max_tokens": 40, "max_level": 2},
    "hierarchical": {"max_tokens": 40, "parent_tokens": 90},
    "semantic": {"max_tokens": 40, "percentile": 60},
}
RECIPES = {
    kind: Recipe.model_validate({"name": "r", "chunker": {"kind": kind, **SMALL.get(kind, {})}, "embedding": {"overflow": "cut"}})
    for kind in chunk.kinds()
}
PLANS: dict[str, Plan] = {kind: check_recipe(recipe, Settings()) for kind, recipe in RECIPES.items()}
TOKENIZER = Tokenizer(next(iter(PLANS.values())).model.tokenizer_path)
MODEL_IDS = TOKENIZER.cutter(100_000)
every_kind = pytest.mark.parametrize("kind", chunk.kinds())


def letters(texts: list[str]) -> np.ndarray[Any, Any]:
    """Stands for the embedding model: how often each of 64 classes of characters is met."""
    return np.array([np.bincount([ord(c) % 64 for c in text] or [0], minlength=64) for text in texts], dtype=np.float32)


def chunked(kind: str, of: Parsed, **more: Any) -> chunk.Chunked:
    asked = Kind.model_validate({**RECIPES[kind].chunker.model_dump(), **more})
    return chunk.chunked(of.document, of.elements, of.sections, asked, PLANS[kind], TOKENIZER, letters)


word = st.sampled_from(
    ["net", "sales", "rose", "Inc.", "No. 5", "$1,234", "Item 1A.", "中文字", "[SEP]", "____________", "x" * 60, "é", "\u200b", "\x0c"]
)
sentence = st.lists(word, min_size=1, max_size=30).map(lambda words: " ".join(words) + ".")
paragraph = st.lists(sentence, min_size=1, max_size=4).map(" ".join)
row = st.lists(word, min_size=1, max_size=6).map(" | ".join)
blocks = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["heading", "heading 2", "heading 3"]), st.lists(word, min_size=1, max_size=5).map(" ".join)),
        st.tuples(st.sampled_from(["paragraph", "list_item"]), paragraph),
        st.tuples(st.just("table"), st.lists(row, min_size=1, max_size=20).map("\n".join)),
    ),
    max_size=8,
)


@st.composite
def documents(draw: st.DrawFn) -> Parsed:
    drawn = draw(blocks)
    begins = draw(st.sets(st.integers(0, max(0, len(drawn) - 1)), max_size=3)) if drawn else set()
    combined = draw(st.booleans())
    header_rows, unit = draw(st.one_of(st.none(), st.integers(0, 4))), draw(st.sampled_from([None, "in millions", "中" * 50]))
    made = parsed(drawn, {b: (str(b), f"{b}A") if combined else (str(b),) for b in begins}, header_rows, unit)
    kept = draw(st.sets(st.integers(0, 8), max_size=2))  # elements that the parser did not report
    return replace(made, elements=[e for e in made.elements if e.ordinal not in kept])


@every_kind
@given(of=documents())
@settings(max_examples=25, deadline=None)
def test_chunks_are_slices_of_the_text_with_true_tokens_and_own_ids(kind: str, of: Parsed) -> None:
    chunks = chunked(kind, of).chunks
    assert all(c.text == of.document.text[c.start : c.end] == c.text.strip() != "" for c in chunks)
    assert [c.tokens for c in chunks] == TOKENIZER.counts([c.text for c in chunks])
    assert [c.ordinal for c in chunks] == list(range(len(chunks)))
    assert len({c.chunk_id for c in chunks}) == len(chunks)
    assert [c.start for c in chunks] == sorted(c.start for c in chunks)


@every_kind
@given(of=documents())
@settings(max_examples=25, deadline=None)
def test_all_visible_text_is_in_a_chunk_or_in_a_counted_drop(kind: str, of: Parsed) -> None:
    result = chunked(kind, of)
    assert uncovered(of.document.text, [(c.start, c.end) for c in result.chunks] + [(s.start, s.end) for s in result.dropped]) == ""


@every_kind
@given(of=documents())
@settings(max_examples=25, deadline=None)
def test_chunks_keep_to_the_limit_that_the_recipe_was_checked_with(kind: str, of: Parsed) -> None:
    module = chunk.chunker(kind)
    given_options = chunk.options(module.Options, RECIPES[kind].chunker.options, "chunker")
    most = module.largest(given_options, PLANS[kind].model.specials)
    assert all(c.tokens + TOKENIZER.count(c.prefix or "") <= most for c in chunked(kind, of).chunks)


@every_kind
@given(of=documents(), metadata=st.booleans())
@settings(max_examples=15, deadline=None)
def test_context_header_text_and_special_tokens_fit_the_window_of_a_recipe_that_does_not_cut(kind: str, of: Parsed, metadata: bool) -> None:
    small = SMALL[kind] if kind != "recursive" else {"characters": 50, "overlap": 0}
    context = {"kind": "metadata", "max_tokens": 20} if metadata else {"kind": "none"}
    cuts = {"window": 64, "overflow": "cut" if kind == "recursive" else "refuse"}  # its characters may have four tokens each
    size = {"max_tokens": 62} if "max_tokens" in small and metadata else {}
    recipe = Recipe.model_validate({"name": "r", "chunker": {"kind": kind, **small, **size}, "context": context, "embedding": cuts})
    plan = check_recipe(recipe, Settings())
    chunks = chunk.chunked(of.document, of.elements, of.sections, recipe.chunker, plan, TOKENIZER, letters).chunks
    contexts = contexts_of(Filing("d", form="10-K", company="Acme Inc."), chunks, recipe.context, plan, TOKENIZER)
    ids = MODEL_IDS([embedded_text(x.context, c.text) for x, c in zip(contexts, chunks, strict=True)])
    assert [x.tokens for x in contexts] == [len(one) for one in ids]
    assert all((c.prefix or "") in x.context for x, c in zip(contexts, chunks, strict=True))
    if not plan.may_cut:
        assert all(x.tokens <= 64 and x.cut_tokens == 0 for x in contexts)


@every_kind
@given(of=documents())
@settings(max_examples=15, deadline=None)
def test_what_became_of_every_visible_character_is_counted(kind: str, of: Parsed) -> None:
    made = chunked(kind, of)
    account = chunk.chunking(of.document, made, PLANS[kind])
    assert account.chars == account.kept + account.dropped + account.left_out == len("".join(of.document.text.split()))
    assert account.left_out == 0 and (account.dropped == 0) == (made.dropped == [])


@every_kind
@given(of=documents(), kept=st.sets(st.sampled_from(["0", "1A", "2", "I.3", "5"]), min_size=1))
@settings(max_examples=25, deadline=None)
def test_a_recipe_that_keeps_some_items_has_their_text_and_counts_the_rest(kind: str, of: Parsed, kept: set[str]) -> None:
    made = chunked(kind, of, items=sorted(kept))
    wanted = [(s.start, s.end) for s in of.sections if s.item in kept or f"I.{s.item}" in kept]
    ours = [(c.start, c.end) for c in made.chunks] + [(s.start, s.end) for s in made.dropped]
    outside = uncovered(of.document.text, wanted)
    assert uncovered(of.document.text, [*ours, *((s.start, s.end) for s in made.left_out)]) == ""
    assert uncovered(of.document.text, ours) == outside
    account = chunk.chunking(of.document, made, PLANS[kind])
    assert account.left_out == len(outside) and account.chars == account.kept + account.dropped + account.left_out
    assert all(c.text == of.document.text[c.start : c.end] for c in made.chunks)
    assert [c.tokens for c in made.chunks] == TOKENIZER.counts([c.text for c in made.chunks])


@every_kind
@given(of=documents())
@settings(max_examples=10, deadline=None)
def test_a_parent_holds_its_chunk(kind: str, of: Parsed) -> None:
    for c in chunked(kind, of).chunks:
        assert (c.parent_start is None) == (c.parent_end is None) == (kind != "hierarchical")
        assert c.parent_start is None or c.parent_end is None or c.parent_start <= c.start < c.end <= c.parent_end


@every_kind
@pytest.mark.parametrize("items", [[], ["7", "risk"], [7], "7", ["IX.1"]])
def test_items_that_are_none_are_refused_in_one_line(kind: str, items: object) -> None:
    with pytest.raises(SettingsError) as error:
        check_recipe(Recipe(name="r", chunker=Kind.model_validate({"kind": kind, "items": items})), Settings())
    assert "chunker.items" in str(error.value) and "\n" not in str(error.value)


def test_the_order_and_case_of_items_are_no_other_recipe() -> None:
    one, other = (
        check_recipe(Recipe(name="r", chunker=Kind.model_validate({"kind": "structure", "items": items})), Settings())
        for items in (["1A", "7"], ["7", "1a", "7"])
    )
    assert one == other != PLANS["structure"]


@every_kind
@given(of=documents())
@settings(max_examples=8, deadline=None)
def test_the_same_document_gives_the_same_chunks(kind: str, of: Parsed) -> None:
    shuffled = replace(of, elements=of.elements[::-1], sections=of.sections[::-1])
    assert chunked(kind, of) == chunked(kind, of)
    assert [c.chunk_id for c in chunked(kind, shuffled).chunks] == [c.chunk_id for c in chunked(kind, of).chunks]


@every_kind
@pytest.mark.parametrize("run", ["a", "_", "中", "M@X#1", "a. ", "\u200b", "-\n", "| ", "[SEP]", "<|endoftext|>"])
def test_pathological_runs_end_in_few_chunks(kind: str, run: str) -> None:
    of = parsed([("paragraph", "Before."), ("paragraph", (run * 5000)[:20000].strip()), ("table", run * 2000), ("heading", run * 500)])
    result = chunked(kind, of)
    assert uncovered(of.document.text, [(c.start, c.end) for c in result.chunks] + [(s.start, s.end) for s in result.dropped]) == ""
    assert len(result.chunks) <= len(of.document.text) // 5


@every_kind
@pytest.mark.parametrize("blocks", [[], [("paragraph", "")], [("paragraph", " \n ")]])
def test_no_text_gives_no_chunk(kind: str, blocks: list[tuple[str, str]]) -> None:
    assert chunked(kind, parsed(blocks)).chunks == []


@every_kind
def test_chunks_say_their_section_and_pages(kind: str) -> None:
    body = "Net sales rose by five percent in the year because volumes rose in all regions."
    two = [("paragraph", body), ("paragraph", body)]
    of = parsed([("heading", "Item 1. Business"), *two, ("heading", "Item 2. Properties"), *two], {0: ("1",), 3: ("2", "3")})
    chunks = chunked(kind, of).chunks
    assert (chunks[0].part, chunks[0].item, chunks[0].section_title) == ("I", "1", "Title 1")
    assert (chunks[-1].part, chunks[-1].item) == ("I", "2")  # of combined Items the first
    assert (chunks[0].page_start, chunks[-1].page_end) == (1, 2)
    assert all(c.page_start <= c.page_end for c in chunks)


@every_kind
def test_an_option_that_does_not_exist_is_refused_in_one_line(kind: str) -> None:
    with pytest.raises(SettingsError) as error:
        check_recipe(Recipe(name="r", chunker=Kind.model_validate({"kind": kind, "size": 3})), Settings())
    assert "chunker.size" in str(error.value) and "\n" not in str(error.value)


def test_an_unknown_chunker_is_answered_with_those_there_are() -> None:
    with pytest.raises(UnknownName, match="fixed, hierarchical, markdown, recursive, semantic, sentences, structure"):
        check_recipe(Recipe(name="r", chunker=Kind(kind="neural")), Settings())
    with pytest.raises(UnknownName):
        chunk.chunker("__init__")
