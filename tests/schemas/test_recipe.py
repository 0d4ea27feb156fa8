"""Recipes: what ships reads, the fingerprint covers content only, and bad ones are refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgarmill.schemas import recipe
from edgarmill.schemas.errors import SettingsError, UnknownName

TEXT = """
name = "mine"
[chunker]
kind = "fixed"
tokens = 512
[embedding]
overflow = "cut"
"""


def test_what_ships_can_be_loaded_and_is_named_after_its_file() -> None:
    assert {"default", "paper", "snowflake"} <= set(recipe.shipped())
    for name in recipe.shipped():
        assert recipe.load(name).name == name
    found = [recipe.load(name) for name in recipe.shipped()]
    assert len({(one.fingerprint, one.tree.model_dump_json()) for one in found}) == len(found)


def test_the_paper_recipe_is_the_papers() -> None:
    paper = recipe.load("paper")
    assert (paper.chunker.kind, paper.chunker.options, paper.context.kind) == ("fixed", {"tokens": 512, "overlap": 50}, "none")


def test_the_fingerprint_covers_content_and_neither_name_nor_order_nor_comments() -> None:
    one = recipe.parse(TEXT, "x")
    turned = 'description = "d"\nname = "other" # c\n[embedding]\noverflow = "cut"\n[chunker]\ntokens = 512\nkind = "fixed"'
    same = recipe.parse(turned, "x")
    assert one.fingerprint == same.fingerprint
    others = [TEXT.replace("512", "511"), TEXT.replace("fixed", "recursive"), TEXT.replace('"cut"', '"refuse"'),
              TEXT + 'model = "m"', TEXT + "normalize = false", TEXT + "window = 512", TEXT + '[parser]\nengine = "unstructured"',
              TEXT + '[context]\nkind = "metadata"', TEXT.replace("tokens", "characters")]
    assert len({one.fingerprint, *(recipe.parse(other, "x").fingerprint for other in others)}) == len(others) + 1


def test_a_tree_is_no_content_of_an_index() -> None:
    treed = recipe.parse(TEXT + '[tree]\nkind = "structural"', "x")
    assert treed.fingerprint == recipe.parse(TEXT, "x").fingerprint
    assert (treed.tree.kind, recipe.parse(TEXT, "x").tree.kind) == ("structural", "none")


def test_a_default_that_is_written_out_changes_nothing() -> None:
    assert recipe.parse(TEXT + "normalize = true", "x").fingerprint == recipe.parse(TEXT, "x").fingerprint


def test_a_recipe_by_path_is_the_same_recipe(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TEXT, encoding="utf-8")
    assert recipe.load(str(tmp_path / "mine.toml")) == recipe.parse(TEXT, "x")


@pytest.mark.parametrize(("text", "words"), [
    ("name = ", "not TOML"), ("", "name|chunker"), ("chunker = 3\nname = 'a'", "chunker"),
    (TEXT.replace('"mine"', '"../mine"'), "name"), (TEXT.replace('"mine"', '"Mine"'), "name"),
    (TEXT.replace("[chunker]", "[chunkr]"), "chunk"), (TEXT.replace('kind = "fixed"', ""), "chunker.kind"),
    (TEXT + "windw = 3", "embedding.windw"), (TEXT + "window = 2", "embedding.window"),
    (TEXT.replace('"cut"', '"trim"'), "embedding.overflow"),
])
def test_a_recipe_that_does_not_parse_is_one_line_that_names_place_and_file(text: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words) as caught:
        recipe.parse(text, "mine.toml")
    assert caught.value.subject == "mine.toml"
    assert "\n" not in str(caught.value)


def test_an_unknown_name_is_answered_with_those_that_exist() -> None:
    with pytest.raises(UnknownName, match="default, paper, snowflake"):
        recipe.load("defualt")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe9'")
    for bad in (tmp_path / "none.toml", tmp_path, tmp_path / "latin.toml"):
        with pytest.raises(SettingsError) as caught:
            recipe.load(str(bad))
        assert caught.value.subject == str(bad)


def test_a_recipe_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        recipe.load("default").name = "x"
