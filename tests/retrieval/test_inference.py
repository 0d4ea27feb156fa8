"""What a question implies: whose filings, which years, quarters and forms; and what it does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgarmill.retrieval.companies import Companies, companies_of
from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.inference import infer
from edgarmill.retrieval.periods import forms, periods

COMPANIES = companies_of([
    ("Apple Inc.", "0000320193", ("AAPL",)), ("APPLE COMPUTER INC", "0000320193", ()), ("JPMORGAN CHASE & CO", "0000019617", ("JPM",)),
    ("TARGET CORP", "0000027419", ("TGT",)), ("GAP INC", "0000039911", ("GPS",)), ("ALLSTATE CORP", "0000899051", ("ALL",)),
    ("VISA INC.", "0001403161", ("V",)), ("Johnson & Johnson", "0000200406", ("JNJ",)), ("AMAZON.COM, INC.", "0001018724", ("AMZN",)),
    ("WELLS FARGO & COMPANY/MN", "0000072971", ("WFC",)), ("Alphabet Inc.", "0001652044", ("GOOGL", "GOOG")),
    ("AT&T INC.", "0000732717", ("T",)),
    ("GENERAL ELECTRIC CO", "0000040545", ("GE",)), ("ESTEE LAUDER COMPANIES INC", "0001001250", ("EL",)),
    ("WAL MART STORES INC", "0000104169", ()),
    ("Exxon Mobil Corporation", "0000034088", ("XOM",)), ("C3.ai, Inc.", "0001577526", ("AI",)), ("3M CO", "0000066740", ("MMM",)),
    ("UNITED AIRLINES HOLDINGS INC", "0000100517", ("UAL",)), ("UNITED PARCEL SERVICE INC", "0001090727", ("UPS",)),
])


def named(question: str, companies: Companies = COMPANIES) -> list[str]:
    """The words read as companies."""
    return [question[m.start : m.end] for m in companies.mentions(question)]


@pytest.mark.parametrize(("question", "words"), [
    ("What drove Apple's gross margin?", ["Apple"]),
    ("How did apple do against JPMorgan Chase?", ["apple", "JPMorgan Chase"]),
    ("Did JPMorgan raise its dividend?", ["JPMorgan"]),
    ("Is Johnson & Johnson or J&J or Johnson and Johnson meant?", ["Johnson & Johnson", "J&J", "Johnson and Johnson"]),
    ("Amazon.com's cash, Amazon’s debt", ["Amazon", "Amazon"]),
    ("Wells Fargo office space", ["Wells Fargo"]),
    ("what did google and GOOG earn", ["google", "GOOG"]),
    ("AT&T's margin, General Electric's engines, GE's orders", ["AT&T", "General Electric", "GE"]),
    ("the Estée Lauder buyback and Wal-Mart notes", ["Estée Lauder", "Wal-Mart"]),
    ("Exxon, ExxonMobil and Exxon Mobil", ["Exxon", "ExxonMobil", "Exxon Mobil"]),
    ("How far did C3.ai fall, and 3M?", ["C3.ai", "3M"]),
    ("Did UPS ship for Target, Gap and Visa?", ["UPS", "Target", "Gap", "Visa"]),
    ("Target's stores and (NYSE: ALL) and $T and ticker AI", ["Target", "ALL", "T", "AI"]),
])
def test_a_company_is_known_by_the_names_people_use(question: str, words: list[str]) -> None:
    assert named(question) == words


@pytest.mark.parametrize("question", [
    "What is the target range of the federal funds rate, and the gap to it?", "Target prices were cut.",
    "Which visa rules hit all staff?",
    "ALL RISKS OF ALL TARGET MARKETS", "The Gap Between Plan and Result", "general electric utilities", "AI spending and EPS",
    "All companies that mention AI", "Do united shareholders agree?", "United we stand", "What is 3 m wide?",
    "the exxons of this world",
])
def test_a_word_is_no_company(question: str) -> None:
    assert named(question) == []


def test_a_company_stands_for_all_its_numbers_and_tickers() -> None:
    assert COMPANIES.mentions("Alphabet")[0].filers == ("0001652044", "GOOG", "GOOGL")
    assert COMPANIES.mentions("Apple Computer")[0].filers == ("0000320193", "AAPL")


def years(question: str) -> list[Any]:
    return [value for one in periods(question) if one.field == "year" for value in one.values]


@pytest.mark.parametrize(("question", "expected"), [
    ("revenue in 2023?", [2023]), ("fiscal 2024", [2024]), ("FY24 and FY2022", [2024, 2022]), ("fiscal year '19", [2019]),
    ("fiscal 98", [1998]),
    ("2021-2023", [2021, 2022, 2023]), ("from 2021 through 2023", [2021, 2022, 2023]), ("fiscal 2019 to fiscal 2020", [2019, 2020]),
    ("2022 and 2024", [2022, 2024]), ("2021–23", [2021, 2022, 2023]), ("at September 28, 2024", [2024, 2025]),
    ("January 28, 2024", [2023, 2024]),
    ("the quarter to July 2023", [2023, 2024]), ("1999-2050", [1999]), ("Q3 2024", [2024]), ("3Q24", [2024]), ("Q3'24", [2024]),
    ("2024 Q3", [2024]),
    ("$2,023 and 2023% and 2023.5 and 12023 and 20231", []), ("notes due 2030, by 2035", []), ("the 2024 senior notes", []),
    ("the 2021 Equity Incentive Plan", []), ("the 2020s", []), ("0000320193-23-000106", []), ("since 2015 and 2016", [2016]),
])
def test_fiscal_years_are_read(question: str, expected: list[int]) -> None:
    assert years(question) == expected


@pytest.mark.parametrize(("question", "expected"), [
    ("third quarter of 2024", [3]), ("Q3 2024", [3]), ("second-quarter sales", [2]), ("4Q23", [4]), ("2024 Q1", [1]),
    ("the 2nd quarter's", [2]),
    ("first fiscal quarter", [1]), ("a quarter of sales", []), ("Q5", []), ("fiscal 2023, and in the second quarter", []),
    ("Q2 2023 against the full year", []),
])
def test_quarters_are_read_unless_a_whole_year_is_asked_for_too(question: str, expected: list[int]) -> None:
    assert [v for one in periods(question) if one.field == "quarter" for v in one.values] == expected


@pytest.mark.parametrize(("question", "expected"), [
    ("in its 10-K", ["10-K"]), ("the 10K and the Form 8-K/A", ["10-K", "8-K"]), ("annual report", ["10-K"]),
    ("quarterly reports", ["10-Q"]),
    ("10-Q's", ["10-Q"]), ("a current report", ["8-K"]), ("report annually 110-K and 8-KQ", []), ("$10 K", ["10-K"]),
])
def test_forms_are_read(question: str, expected: list[str]) -> None:
    assert [one.values[0] for one in forms(question)] == expected


def test_all_that_was_read_makes_one_filter_and_is_told_with_its_words() -> None:
    question = "What did Apple say of Q3 2024 in its 10-Q?"
    found = infer(question, COMPANIES, Filters(item="2"), lambda _: 1)
    assert found.filters == Filters(item="2", filer=("0000320193", "AAPL"), year=(2024,), quarter=(3,), form=("10-Q",))
    assert [(one.field, one.text) for one in found.found] == [("filer", "Apple"), ("quarter", "Q3 2024"), ("year", "Q3 2024"),
    ("form", "10-Q")]
    assert all(question[one.start : one.end] == one.text and not one.dropped for one in found.found)


def test_a_question_that_names_nothing_stays_unfiltered() -> None:
    assert infer("Which risks does the company see?", COMPANIES, Filters(), lambda _: 1) == (infer("risks", COMPANIES, Filters(),
    lambda _: 0))


def test_what_is_given_is_not_inferred() -> None:
    given = Filters(ticker="AAPL", year=2020)
    found = infer("Target's 10-K of 2023", COMPANIES, given, lambda _: 1)
    assert found.filters == Filters(ticker="AAPL", year=2020, form=("10-K",))
    assert not infer("Target in 2023", COMPANIES, Filters(accession="x"), lambda _: 1).found


def test_what_leaves_no_row_is_dropped_the_least_sure_first_and_told() -> None:
    question = "Apple's Q3 2024 in the annual report"
    found = infer(question, COMPANIES, Filters(), lambda f: 0 if f.quarter and f.form else 5)
    assert {one.field for one in found.found if one.dropped} == {"quarter"} and found.filters.form == ("10-K",)
    found = infer(question, COMPANIES, Filters(), lambda f: 0 if f.year else 5)
    assert {one.field for one in found.found if one.dropped} == {"year"}
    found = infer(question, COMPANIES, Filters(), lambda f: 0)
    assert found.filters == Filters() and all(one.dropped for one in found.found)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80) | st.lists(st.sampled_from(["Apple", "Q3", "2024", "'s", "fiscal", "10-K", "&", "-", "\x00", "'", "FY",
"ALL"]), max_size=30).map(" ".join))
def test_any_text_gives_a_filter_that_can_be_asked(question: str) -> None:
    found = infer(question, COMPANIES, Filters(), lambda f: int(f.expression is None or len(f.expression) > 0))
    assert found.filters.expression is None or "'" not in "".join(found.filters.expression.split("'")[1::2])
    assert all(question[one.start : one.end] == one.text for one in found.found)


@pytest.mark.parametrize("unit", ["2021-", "Q3 ", "fiscal ", "January ", "a.", "Apple & ", "'", "10-K ", "2024 senior senior ", "\x00",
"J.", "x"])
def test_a_long_question_of_one_kind_is_read_to_its_end(unit: str) -> None:
    question = (unit * 20_000)[:20_000]
    assert infer(question, COMPANIES, Filters(), lambda _: 1).filters.accession is None  # in linear time: it ends


def test_a_filing_without_number_or_ticker_goes_by_its_name_as_filed() -> None:
    known = companies_of([("LOWE'S COMPANIES INC", None, ()), ("Boeing Co", "0000012927", ("BA",)), ("THE BOEING COMPANY", None, ())])
    assert known.mentions("Lowe's margin")[0].filers == ("=LOWE'S COMPANIES INC",)
    assert known.mentions("Boeing")[0].filers == ("0000012927", "=THE BOEING COMPANY", "BA")
    assert Filters(filer="=LOWE'S OR 1=1 --").expression == "company = 'LOWE''S OR 1=1 --'"
