"""Amounts in words, and when two are one."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgarmill.eval.judging.names import anls, is_name
from edgarmill.eval.judging.numbers import amounts, is_figure, right, stated

SCALES = {"": 0, " thousand": 3, " million": 6, " billion": 9, " trillion": 12, " mm": 6, "bn": 9}
UNITS = {("$", ""): "USD", ("US$", ""): "USD", ("USD ", ""): "USD", ("", " dollars"): "USD", ("€", ""): "EUR", ("", ""): None}
numbers = st.decimals(min_value=0, max_value=10**9, places=2).map(lambda d: Decimal(f"{d:.2f}"))


def read(text: str) -> list[tuple[str, str | None]]:
    return [(f"{one.value.normalize():f}", one.unit) for one in amounts(text)]


@settings(deadline=None, max_examples=200)
@given(numbers, st.sampled_from(sorted(SCALES)), st.sampled_from(sorted(UNITS)), st.booleans(),
       st.sampled_from(["{}", "-{}", "({})", "negative {}"]), st.sampled_from(["{}", "It was {}.", "sales of {}, as told", "({})?"]))
def test_what_is_written_in_any_of_these_forms_is_read_as_it_was(number: Decimal, scale: str, unit: tuple[str, str], commas: bool,
                                                                 sign: str, around: str) -> None:
    before, after = unit
    written = f"{number:,}" if commas else f"{number}"
    [found] = amounts(around.format(sign.format(f"{before}{written}{scale}{after}")))
    negative = sign != "{}" or around == "({})?"  # what stands in parentheses alone
    assert found.value == (-number if negative else number).scaleb(SCALES[scale]) and found.unit == UNITS[unit]


@settings(deadline=None, max_examples=100)
@given(numbers, st.sampled_from(["%", " %", " percent", " per cent", " percentage points"]), st.booleans())
def test_a_per_cent_is_a_hundredth(number: Decimal, sign: str, negative: bool) -> None:
    [found] = amounts(f"{'-' if negative else ''}{number}{sign}")
    assert (found.value, found.unit) == ((-number if negative else number).scaleb(-2), "%")


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    for one in amounts(text):
        assert 0 <= one.start < one.end <= len(text) and text[one.start : one.end][-1].isdigit()
    assert right(text, "5") in (True, False) and is_figure(text) in (True, False)


@settings(deadline=None, max_examples=200)
@given(numbers.filter(lambda n: n > 1), st.floats(0.9, 1.1))
def test_right_is_within_the_tolerance_and_what_is_right_at_half_a_per_cent_is_at_two_and_a_half(number: Decimal, factor: float) -> None:
    other = number * Decimal(str(factor))
    off = abs(other - number) / number
    for tolerance in (0.005, 0.025):
        assert right(f"{other:f} dollars", f"${number}", tolerance=tolerance) is (off <= Decimal(str(tolerance)))


@pytest.mark.parametrize(("text", "wanted"), [
    ("(1,577) million dollars", [("-1577000000", "USD")]), ("$(5.2)", [("-5.2", "USD")]), ("(12.3)%", [("-0.123", "%")]),
    ("(12.3%)", [("-0.123", "%")]), ("−4", [("-4", None)]), ("50 bps", [("0.005", "%")]), ("$3.4B", [("3400000000", "USD")]),
    ("5-7%", [("5", None), ("0.07", "%")]), ("1.5x", [("1.5", None)]), ("3M and its 10-K of 2018", []),
    ("On December 29, 2018, and in FY 2018, Q3 2019 and fiscal 2020", []), ("2018: 5", [("5", None)]), ("1,2345", []), ("v1.2.3", []),
])
def test_amounts(text: str, wanted: list[tuple[str, str | None]]) -> None:
    assert read(text) == wanted


@pytest.mark.parametrize(("answer", "gold", "question", "is_right"), [
    ("$1.577 billion", "$1577.00", "capital expenditure (in USD millions)?", True),
    ("1577", "$1577.00", "capital expenditure (in USD millions)?", True),
    ("$1,577 million, up from $1,373 million", "$1577.00", "in USD millions", True),
    ("$1,373 million, then $1,577 million", "$1577.00", "in USD millions", False),  # the first amount counts
    ("1,577,000,000", "$1,577 million", "", True), ("1577", "$1,577 million", "", False),
    ("1577 thousand", "$1577", "in $ millions", False),
    ("$1,577 thousand", "$1577.00", "in USD thousands", True), ("1578", "$1577.00", "in USD millions", True),
    ("1600", "$1577.00", "in USD millions", False), ("0.123", "12.3%", "", True), ("12.3", "12.3%", "what percentage of sales?", True),
    ("12.3", "12.3%", "", False), ("1,230 basis points", "12.3%", "", True), ("$12.3", "12.3%", "", False),
    ("€5 million", "$5 million", "", False),
    ("-5.2%", "(5.2)%", "", True), ("5.2%", "-5.2%", "", False), ("2019", "2019", "which year?", True), ("In 2018, 0.66", "0.66", "", True),
    ("3.1% in 2022 and 2.5% in 2021", "2.5% in 2021, 3.1% in 2022", "", True), ("2.5% in both", "2.5% and 3.1%", "", False),
    ("none", "5", "", False),
])
def test_right(answer: str, gold: str, question: str, is_right: bool) -> None:
    assert right(answer, gold, question) is is_right


def test_a_gold_answer_without_an_amount_says_nothing_of_figures() -> None:
    assert right("5", "Apple") is None
    assert all(map(is_figure, ("$1577.00", "65.4%", "about 0.66x")))
    assert not any(map(is_figure, ("No, 5.1%", "Apple Inc.", "It sold more of 5 kinds of pumps")))
    assert (stated("in $ billions").scale, stated("as a percentage").percent, stated("who?").scale) == (9, True, 0)


def test_anls_is_of_names_alone() -> None:
    assert anls("  tim COOK.", ["Tim Cook"]) == 1 and anls("Tim Cooke", ["Tim Cook", "x"]) == pytest.approx(8 / 9)
    assert anls("Jane Doe", ["Tim Cook"]) == 0 and anls("", ["Tim"]) == 0 and anls("x", []) == 0
    assert is_name("Tim Cook") and not is_name("$1577.00") and not is_name("") and not is_name("a long sentence " * 5)


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=40), st.lists(st.text(max_size=40), max_size=3))
def test_anls_lies_between_its_bounds(answer: str, gold: list[str]) -> None:
    assert anls(answer, gold) == 0 or 0.5 < anls(answer, gold) <= 1
