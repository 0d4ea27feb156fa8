"""Fixed windows: size, overlap, whole words."""

from __future__ import annotations

import pytest
from documents import parsed

from edgarmill.schemas.errors import SettingsError
from edgarmill.schemas.recipe import Kind, Recipe
from edgarmill.schemas.records import Chunk
from edgarmill.schemas.settings import Settings
from edgarmill.workers.chunk import chunks_of
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.fit import check_recipe


def chunked(text: str, tokens: int, overlap: int) -> list[Chunk]:
    of = parsed([("paragraph", text)])
    kind = Kind.model_validate({"kind": "fixed", "tokens": tokens, "overlap": overlap})
    plan = check_recipe(Recipe(name="r", chunker=kind), Settings())
    return chunks_of(of.document, of.elements, of.sections, kind, plan, Tokenizer(plan.model.tokenizer_path))


def test_windows_have_the_size_and_share_the_overlap() -> None:
    text = " ".join(str(n) for n in range(100, 200))  # one token each
    chunks = chunked(text, 40, 10)
    assert [c.tokens for c in chunks] == [40, 40, 40]
    assert chunks[1].text.split()[:10] == chunks[0].text.split()[-10:]


def test_without_overlap_no_text_is_there_twice() -> None:
    text = " ".join(str(n) for n in range(100, 200))
    assert " ".join(c.text for c in chunked(text, 30, 0)) == text


def test_a_word_of_several_pieces_is_never_cut() -> None:
    text = "unaffable " * 60
    assert all(set(c.text.split()) == {"unaffable"} for c in chunked(text, 16, 5))


@pytest.mark.parametrize(("tokens", "overlap"), [(40, 21), (4, 0), (10_000, 0), (40, -1)])
def test_bad_sizes_are_refused_in_one_line(tokens: int, overlap: int) -> None:
    with pytest.raises(SettingsError, match=r"recipe: chunker"):
        chunked("text", tokens, overlap)
