"""Errors cross processes, speak in one line, and carry their exit code."""

from __future__ import annotations

import pickle

import pytest

from edgarmill.schemas import errors
from edgarmill.schemas.errors import BadInput, EdgarmillError, RunError, UsageError


def tree(kind: type[EdgarmillError]) -> list[type[EdgarmillError]]:
    return [kind, *(deeper for child in kind.__subclasses__() for deeper in tree(child))]


KINDS = [kind for kind in tree(EdgarmillError) if kind.__module__ == errors.__name__]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_survives_pickling_with_its_fields(kind: type[EdgarmillError]) -> None:
    error = kind("no text", "0000000001-24-000001", "Look at the file.")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(error, protocol))
        assert type(again) is kind
        assert (again.what, again.subject, again.todo) == ("no text", "0000000001-24-000001", "Look at the file.")
        assert str(again) == str(error) == "0000000001-24-000001: no text. Look at the file."


def test_parts_that_are_not_known_are_left_out() -> None:
    assert str(BadInput("no text")) == "no text"
    assert str(BadInput("no text", "a")) == "a: no text"
    assert str(BadInput("no text", todo="Go.")) == "no text. Go."


@pytest.mark.parametrize("kind", KINDS)
def test_the_branch_decides_the_exit_code(kind: type[EdgarmillError]) -> None:
    wanted = 2 if issubclass(kind, UsageError) else 3 if issubclass(kind, BadInput) else 7 if kind is errors.NotComparable else 4
    assert kind("x").exit_code == wanted


def test_every_error_but_the_root_is_in_one_branch_and_in_the_drawing() -> None:
    for kind in KINDS[1:]:
        assert sum(issubclass(kind, branch) for branch in (UsageError, RunError, BadInput)) == 1
        assert f"── {kind.__name__} " in (errors.__doc__ or "")


def test_users_words_are_also_the_fitting_builtin() -> None:
    assert issubclass(errors.SettingsError, ValueError)
    assert issubclass(errors.UnknownName, LookupError)
    assert issubclass(errors.LakeNotFound, LookupError)


def test_the_stored_reason_is_the_class() -> None:
    assert errors.TooLarge("x").reason == "TooLarge"
