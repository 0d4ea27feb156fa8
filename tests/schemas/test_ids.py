"""Ids come from content alone and are the same on every machine."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from edgarmill.schemas import ids


def test_ids_are_pinned_because_lakes_out_there_hold_them() -> None:
    assert ids.digest("a", 1) == hashlib.sha256(b"1:a1:1").hexdigest()[:32]
    assert ids.sha256(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert ids.fingerprint({}) == hashlib.sha256(b"2:{}").hexdigest()[:16]
    assert ids.document_id("0000000001-24-000001", 2) == "0000000001-24-000001:2"


@given(st.lists(st.text()), st.lists(st.text()))
def test_two_lists_of_parts_share_an_id_only_if_they_are_equal(one: list[str], other: list[str]) -> None:
    assert (ids.digest(*one) == ids.digest(*other)) == (one == other)


def test_moving_a_boundary_changes_the_id() -> None:
    assert len({ids.digest("ab", "c"), ids.digest("a", "bc"), ids.digest("abc"), ids.digest("abc", "")}) == 4


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.none()))
def test_a_fingerprint_does_not_depend_on_the_order_of_keys(content: dict[str, object]) -> None:
    assert ids.fingerprint(content) == ids.fingerprint(dict(reversed(content.items())))


def test_a_fingerprint_tells_text_from_number() -> None:
    assert ids.fingerprint({"n": 1}) != ids.fingerprint({"n": "1"})


def test_text_with_a_lone_surrogate_has_an_id() -> None:
    assert len(ids.text_hash("\ud800")) == 32


def test_a_chunk_is_named_by_document_chunker_range_and_text() -> None:
    base = ("d:1", "f", 0, 5, "hello")
    others = [("d:2", "f", 0, 5, "hello"), ("d:1", "g", 0, 5, "hello"), ("d:1", "f", 1, 5, "hello"), ("d:1", "f", 0, 6, "hello"),
              ("d:1", "f", 0, 5, "hellO")]
    assert len({ids.chunk_id(*one) for one in (base, *others)}) == 6
    assert ids.chunk_id(*base) == ids.chunk_id(*base)


def test_a_file_keeps_its_local_accession_when_it_is_compressed() -> None:
    plain = ids.local_accession("acme.txt")
    assert plain == ids.local_accession("acme.txt.gz") == ids.local_accession("acme.txt.zst")
    assert plain != ids.local_accession("acme2.txt")
    assert plain.startswith("local-")
