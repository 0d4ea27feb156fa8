"""The log of what prod meant."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgarmill.schemas.errors import LakeCorrupt, LakeLocked
from edgarmill.schemas.promotions import Promotion, history, move, promotions
from edgarmill.schemas.records import IndexVersion

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def version(name: str) -> IndexVersion:
    return IndexVersion(name, "tiny", "f", "m", "h", 1, f"tag-{name}", None, "verified", 1, 1, 1, 0, 1, None, "{}", NOON)


def test_a_move_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    assert promotions(str(tmp_path)) == []
    first = move(str(tmp_path), [], version("a"), "promote", "the first", "by hand")
    second = move(str(tmp_path), [first], version("b"), "promote", "ein “besseres”", "by hand")
    assert promotions(str(tmp_path)) == [first, second]
    assert (second.number, second.before, second.tag) == (2, "a", "tag-b")


def test_a_move_of_old_has_no_verdict_and_a_new_one_keeps_its_own(tmp_path: Path) -> None:
    first = move(str(tmp_path), [], version("a"), "promote", "one", "by hand")
    path = tmp_path / "catalog" / "promotions" / "00000001.json"
    told = json.loads(path.read_text(encoding="utf-8"))
    assert told.pop("verdict") is None
    path.write_text(json.dumps(told), encoding="utf-8")
    second = move(str(tmp_path), [first], version("b"), "promote", "wanted", "overruled: fail by rule x", "fail")
    assert [one.verdict for one in promotions(str(tmp_path))] == [None, "fail"] and promotions(str(tmp_path))[1] == second


def test_of_two_publishers_one_wins(tmp_path: Path) -> None:
    move(str(tmp_path), [], version("a"), "promote", "one", "by hand")
    with pytest.raises(LakeLocked, match="prod was moved by someone else meanwhile"):
        move(str(tmp_path), [], version("b"), "promote", "two", "by hand")
    assert [one.version_id for one in promotions(str(tmp_path))] == ["a"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "prod"}', "[" * 60_000])
def test_a_damaged_move_is_named(tmp_path: Path, text: str) -> None:
    move(str(tmp_path), [], version("a"), "promote", "one", "by hand")
    (tmp_path / "catalog" / "promotions" / "00000002.json").write_text(text)
    with pytest.raises(LakeCorrupt, match="00000002.json: a move of prod cannot be read"):
        promotions(str(tmp_path))


def test_what_is_no_move_is_not_looked_at(tmp_path: Path) -> None:
    made = move(str(tmp_path), [], version("a"), "promote", "one", "by hand")
    (tmp_path / "catalog" / "promotions" / ".tmp-00000002.json").write_text("half")
    assert promotions(str(tmp_path)) == [made]
    assert json.loads((tmp_path / "catalog" / "promotions" / "00000001.json").read_text())["tag"] == "tag-a"


@given(st.lists(st.sampled_from("abcd-"), max_size=30))
def test_a_rollback_undoes_the_last_move_that_stands(steps: list[str]) -> None:
    """Against a plain stack: a letter promotes, "-" rolls back where something is left."""
    stack: list[str] = []
    moves: list[Promotion] = []

    def made(name: str, action: str) -> None:
        before = moves[-1].version_id if moves else None
        moves.append(Promotion(len(moves) + 1, "prod", action, "r", "t", name, "m", "h", "", "", before, NOON))  # type: ignore[arg-type]

    for step in steps:
        if step != "-" and (not stack or stack[-1] != step):
            stack.append(step)
            made(step, "promote")
        elif step == "-" and len(stack) > 1:
            stack.pop()
            made(history(moves)[-2].version_id, "rollback")
    assert [one.version_id for one in history(moves)] == stack
