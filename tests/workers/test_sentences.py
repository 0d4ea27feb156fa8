"""Sentence starts in legal text."""

from __future__ import annotations

import pytest

from edgarmill.workers.sentences import sentence_starts


def sentences(text: str) -> list[str]:
    edges = [0, *sentence_starts(text, 0, len(text)), len(text)]
    return [text[a:b].strip() for a, b in zip(edges, edges[1:], strict=False)]


@pytest.mark.parametrize(
    "text",
    ["See Item 1A. Risk Factors.", "Lease No. 5 ended.", "Acme Inc. We sell.", "It is under U.S. Law.", "Refer to Note 5. Leases.",
     "We and Mr. Smith left.", "Item 7A. Quantitative Disclosures."],
)
def test_abbreviations_and_item_numbers_end_no_sentence(text: str) -> None:
    assert sentences(text) == [text]


def test_full_stops_end_sentences() -> None:
    assert sentences("Sales rose 5.2% in 2024. Costs fell. Did cash rise?") == ["Sales rose 5.2% in 2024.", "Costs fell.", "Did cash rise?"]


def test_long_text_is_looked_at_in_parts_and_no_sentence_is_lost() -> None:
    text = "Sales rose in all regions. " * 3000
    assert len(sentences(text.strip())) == 3000
    assert len("".join(sentences("x" * 100_000))) == 100_000


def test_only_the_range_asked_for_is_looked_at() -> None:
    text = "One is here. Two is here. Three is here."
    assert sentence_starts(text, 13, len(text)) == [26]


def test_an_item_number_at_the_start_of_the_range_ends_no_sentence() -> None:
    text = "One is here.\n\nItem 2. Properties"
    assert sentence_starts(text, 14, len(text)) == []
