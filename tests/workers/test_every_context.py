"""What holds for whatever contexts are found, and what the metadata context says."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgarmill.schemas.errors import UnknownName
from edgarmill.schemas.recipe import Kind, Recipe
from edgarmill.schemas.records import Chunk, Filing
from edgarmill.schemas.settings import Settings
from edgarmill.workers import context
from edgarmill.workers.context import metadata
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.fit import check_recipe

TOKENIZER = Tokenizer(check_recipe(Recipe(name="r", chunker=Kind(kind="structure")), Settings()).model.tokenizer_path)
ANNUAL = Filing("0000320193-24-000123", form="10-K", family="10-K", company="Acme Inc.", tickers=("ACM",), filed_on=date(2024, 11, 1),
                period_on=date(2024, 9, 28), fiscal_year=2024, fiscal_quarter=4)
CURRENT = Filing("0000320193-24-000124", form="8-K", family="8-K", company="Acme Inc.", filed_on=date(2024, 11, 1),
                 period_on=date(2024, 10, 31))
QUARTER = Filing("0000320193-24-000125", form="10-Q/A", family="10-Q", company="Acme Inc", period_on=date(2024, 6, 29), fiscal_year=2024,
                 fiscal_quarter=3)


def chunk(part: str = "II", item: str = "7", title: str = "Management's Discussion") -> Chunk:
    return Chunk("c", "d:1", "d", "f", 0, 0, 4, "text", 1, part, item, title, 1, 1)


def text_of(kind: str, filing: Filing, of: Chunk) -> str:
    module = context.contextualizer(kind)
    return module.context(filing, of, module.Options(), TOKENIZER)


anything = st.text(max_size=300)


@pytest.mark.parametrize("kind", context.kinds())
@given(company=anything, ticker=anything, form=anything, part=anything, item=anything, title=anything)
@settings(max_examples=40, deadline=None)
def test_a_context_keeps_to_its_bound_whatever_the_filing_says(kind: str, company: str, ticker: str, form: str, part: str, item: str,
                                                               title: str) -> None:
    module = context.contextualizer(kind)
    filing = Filing("a", company=company, tickers=(ticker, ticker), form=form, fiscal_year=2024, period_on=date(2024, 1, 1))
    assert TOKENIZER.count(text_of(kind, filing, chunk(part, item, title))) <= module.largest(module.Options())


@pytest.mark.parametrize("kind", context.kinds())
def test_a_filing_of_which_nothing_is_known_gets_a_context_without_gaps(kind: str) -> None:
    text = text_of(kind, Filing("a"), chunk("", "", ""))
    assert text == text.strip() and "None" not in text and "()" not in text


@pytest.mark.parametrize(
    ("filing", "of", "text"),
    [
        (ANNUAL, chunk(title="X"), "Acme Inc. (ACM) 10-K for fiscal year 2024 ended 2024-09-28, filed 2024-11-01. Part II, Item 7: X."),
        (CURRENT, chunk("", "2.02", "Results"), "Acme Inc. 8-K of 2024-10-31, filed 2024-11-01. Item 2.02: Results."),
        (CURRENT, chunk("", "EX-99.1", ""), "Acme Inc. 8-K of 2024-10-31, filed 2024-11-01. EX-99.1."),
        (QUARTER, chunk("I", "2", "Legal."), "Acme Inc 10-Q/A for quarter 3 of fiscal year 2024 ended 2024-06-29. Part I, Item 2: Legal."),
    ],
)
def test_metadata_says_who_what_when_and_where(filing: Filing, of: Chunk, text: str) -> None:
    assert text_of("metadata", filing, of) == text


def test_a_long_title_is_cut_at_a_word_and_the_rest_stays() -> None:
    text = text_of("metadata", ANNUAL, chunk(title="Market for Registrant's Common Equity, " * 9))
    assert text.startswith("Acme Inc. (ACM) 10-K for fiscal year 2024")
    assert 50 <= TOKENIZER.count(text) <= metadata.Options().max_tokens
    assert text.rstrip(".").split()[-1].strip(",") in {"Market", "for", "Registrant's", "Common", "Equity"}


def test_the_embedded_text_is_context_blank_line_text() -> None:
    assert context.embedded_text("Acme.", "Sales rose.") == "Acme.\n\nSales rose."
    assert context.embedded_text("", "Sales rose.") == "Sales rose."


def test_an_unknown_context_is_answered_with_those_there_are() -> None:
    with pytest.raises(UnknownName, match="metadata, none"):
        context.contextualizer("llm")
