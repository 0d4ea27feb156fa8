"""Stubs that point elsewhere, and sentences that only sound like it."""

from __future__ import annotations

import pytest

from edgarmill.workers.pointers import pointer_of


@pytest.mark.parametrize("body", [
    "The information required by this Item is incorporated herein by reference to the Proxy Statement.",
    "See pages F-1 to F-40.",
    "The discussion in Exhibit 99.1 is incorporated by reference.",
    "The financial statements are included in Part II, Item 8 of this report.",
    "Not in this document: refer to the Annual Report (Exhibit 13)."])
def test_a_stub_says_where_the_content_is(body: str) -> None:
    assert pointer_of(f"Intro.\n\n{body}") == body


@pytest.mark.parametrize("body", [
    "None.", "We own one plant in Ohio.", "x" * 2000,
    "The information in this Item 2.02 shall not be deemed filed, nor shall it be deemed incorporated by reference in any filing."])
def test_content_is_no_stub(body: str) -> None:
    assert pointer_of(body) is None
