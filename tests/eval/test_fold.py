"""Folding takes away what differs between a quote and its source, and still knows where each character stood."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgarmill.eval.fold import fold, folded

ODD = st.text(st.sampled_from("ab \n\t\xa0\xad\u200b\u2019\u201c\u2014$|%()9\U0001f600\ud800"), max_size=60)


@pytest.mark.parametrize(("source", "loose"), [
    ("a\xa0 \n\n b", "a b"),
    ("the Company\u2019s \u201cplan\u201d", "the Company's \"plan\""),
    ("2022\u20132023 \u2014 \u22125", "2022-2023 - -5"),
    ("co\xadopera\u200btion", "cooperation"),
    ("a \u200b b", "a b"),
    ("", ""),
])
def test_what_differs_by_typesetting_is_folded_away(source: str, loose: str) -> None:
    assert fold(source).text == loose


def test_a_row_is_the_same_with_and_without_its_cells_and_signs() -> None:
    assert folded("Effective tax rate | 20.9 % | $ (23.6)", tight=True) == folded("Effective tax rate 20.9% 23.6", tight=True)


@given(ODD, st.booleans())
def test_every_kept_character_is_one_of_the_source_in_order(source: str, tight: bool) -> None:
    result = fold(source, tight)
    places = result.places.tolist()
    assert len(places) == len(result.text) and places == sorted(set(places))
    assert all(fold(source[p], tight).text == c for p, c in zip(places, result.text, strict=True))
    assert fold(result.text, tight).text == result.text


@given(ODD, st.data(), st.booleans())
def test_a_part_of_the_source_folds_to_a_part_of_the_folded_text(source: str, data: st.DataObject, tight: bool) -> None:
    start = data.draw(st.integers(0, len(source)))
    end = data.draw(st.integers(start, len(source)))
    quote = folded(source[start:end], tight)
    whole = fold(source, tight)
    assert quote in whole.text
    first, last = whole.within(start, end)
    assert all(start <= p < end for p in whole.places[first:last])
