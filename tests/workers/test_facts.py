"""Facts of inline XBRL: what the SEC's software extracts, this must extract, and what filers get wrong must not end a parse."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from edgarmill.eval.benchmarks.facts import pairs, tree_of
from edgarmill.schemas.records import Document, Filing
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.tables import FACTS, pylist
from edgarmill.workers import facts as rows
from edgarmill.workers.block import Block, Task, drops_of
from edgarmill.workers.parse import formats
from edgarmill.workers.parse.dei import dei_facts
from edgarmill.workers.parse.facts import facts_in, facts_of
from edgarmill.workers.parse.formats import Unreadable, kind_of, number_of, scaled, value_of
from edgarmill.workers.parse.marks import split_markup
from edgarmill.workers.parse.parsed import Fact, RawDocument
from edgarmill.workers.stages import STAGES, Work

MILLIONS = 'scale="6"'
SPACES = (
    'xmlns:ix="http://www.xbrl.org/2013/inlineXBRL" xmlns:xbrli="http://www.xbrl.org/2003/instance" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:iso4217="http://www.xbrl.org/2003/iso4217"'
)
WHO = "<xbrli:entity><xbrli:identifier scheme='http://www.sec.gov/CIK'>0009990001</xbrli:identifier>%s</xbrli:entity>"
YEAR = "<xbrli:period><xbrli:startDate>2024-01-01</xbrli:startDate><xbrli:endDate>2024-12-31</xbrli:endDate></xbrli:period>"
END = "<xbrli:period><xbrli:instant>2024-12-31</xbrli:instant></xbrli:period>"
MEMBER = '<xbrldi:explicitMember dimension="us-gaap:%s">%s</xbrldi:explicitMember>'
CONTEXTS = (
    f'<xbrli:context id="y">{WHO % ""}{YEAR}</xbrli:context><xbrli:context id="i">{WHO % ""}{END}</xbrli:context>'
    '<xbrli:unit id="usd"><xbrli:measure>iso4217:USD</xbrli:measure></xbrli:unit>'
)


def document(body: str, resources: str = CONTEXTS, hidden: str = "", spaces: str = SPACES) -> str:
    return (f'<html {spaces}><body><div style="display:none"><ix:header><ix:hidden>{hidden}</ix:hidden><ix:resources>{resources}'
            f"</ix:resources></ix:header></div>{body}</body></html>")


def read(body: str, resources: str = CONTEXTS, hidden: str = "", spaces: str = SPACES) -> tuple[list[Fact], list[str]]:
    """Facts by both ways, of the bytes as they stand and of the tree, which must be the same."""
    text = document(body, resources, hidden, spaces)
    found = facts_in(split_markup(text))
    assert facts_of(etree.HTML(text)) == found
    return found


def number(text: str, more: str = "", name: str = "us-gaap:A") -> str:
    return f'<ix:nonFraction name="{name}" contextRef="y" unitRef="usd" decimals="0" {more}>{text}</ix:nonFraction>'


def only(body: str, **given: str) -> Fact:
    (fact,), _ = read(body, **given)
    return fact


# values


@pytest.mark.parametrize(
    ("text", "more", "value"),
    [
        ("1,234", 'format="ixt:num-dot-decimal" scale="6"', "1234000000"),
        ("1,234", 'format="ixt:numdotdecimal" scale="6" sign="-"', "-1234000000"),
        ("1.234,5", 'format="ixt:num-comma-decimal" scale="3"', "1234500"),
        ("1 234,5", 'format="ixt:numspacecomma"', "1234.5"),
        ("1&#160;234.50", 'format="ixt:numspacedot"', "1234.50"),
        ("1'234.5", 'format="ixt:num-dot-decimal-apos"', "1234.5"),
        ("12,34,567.8", 'format="ixt:num-dot-decimal-in"', "1234567.8"),
        ("5 euros 7 cents", 'format="ixt:num-unit-decimal"', "5.07"),
        ("95.2", 'format="ixt:num-dot-decimal" scale="9"', "95200000000"),
        ("5.25", 'format="ixt:num-dot-decimal" scale="-2"', "0.0525"),
        ("0.05", 'scale="-4"', "0.000005"),
        (".5", "", "0.5"),
        ("007", 'scale="3"', "7000"),
        ("0", 'scale="6" sign="-"', "0"),
        ("0.0", 'sign="-"', "0.0"),
        ("&#8212;", 'format="ixt:fixed-zero" scale="6"', "0"),
        ("-", 'format="ixt:zerodash" scale="6" sign="-"', "0"),
        ("none", 'format="ixt:fixed-zero"', "0"),
        ("twenty-one", 'format="ixt-sec:numwordsen"', "21"),
        ("Two hundred and five thousand, three", 'format="ixt-sec:numwordsen"', "205003"),
        ("two million", 'format="ixt-sec:numwordsen" scale="0"', "2000000"),
        ("no", 'format="ixt-sec:numwordsen"', "0"),
        ("(500)", 'format="ixt:num-dot-decimal" sign="-"', "-500"),
        ("(500)", 'format="ixt:num-dot-decimal"', "500"),
        ("<span>1,</span><b>234</b>", 'format="ixt:num-dot-decimal"', "1234"),
        ("  12 ", 'scale="0"', "12"),
        ("9" * 90, 'scale="6"', "9" * 90 + "000000"),
    ],
)
def test_a_number_is_exact_with_sign_and_scale(text: str, more: str, value: str) -> None:
    fact = only(f"<p>{number(text, more)}</p>")
    assert (fact.value, fact.warning, fact.unit, fact.nil) == (value, "", "USD", False)


@pytest.mark.parametrize(
    ("text", "form", "value"),
    [
        ("December 31, 2024", "ixt:date-monthname-day-year-en", "2024-12-31"),
        ("September&#160;28th,2024", "ixt:datemonthdayyearen", "2024-09-28"),
        ("31 Dec 2024", "ixt:date-day-monthname-year-en", "2024-12-31"),
        ("6/30/2023", "ixt:date-month-day-year", "2023-06-30"),
        ("30.06.23", "ixt:date-day-month-year", "2023-06-30"),
        ("2024-12-31", "ixt:date-year-month-day", "2024-12-31"),
        ("12/31", "ixt:date-month-day", "--12-31"),
        ("May 31", "ixt:date-monthname-day-en", "--05-31"),
        ("January 2031", "ixt:date-monthname-year-en", "2031-01"),
        ("12/31/24", "ixt:dateslashus", "2024-12-31"),
        ("31/12/2024", "ixt:dateslasheu", "2024-12-31"),
        ("Third quarter 2024", "ixt-sec:datequarterend", "2024-09-30"),
        ("2024 Q4", "ixt-sec:datequarterend", "2024-12-31"),
        ("5.5", "ixt-sec:duryear", "P5Y6M"),
        ("0.5", "ixt-sec:duryear", "P0Y6M"),
        ("10", "ixt-sec:duryear", "P10Y"),
        ("5.8", "ixt-sec:duryear", "P5Y9M18D"),
        ("18", "ixt-sec:durmonth", "P18M"),
        ("2", "ixt-sec:durweek", "P14D"),
        ("364", "ixt-sec:durday", "P364D"),
        ("1.5", "ixt-sec:durday", "P1DT12H"),
        ("0", "ixt-sec:durday", "P0D"),
        ("three years", "ixt-sec:durwordsen", "P3Y"),
        ("One year and six months", "ixt-sec:durwordsen", "P1Y6M"),
        ("three&#8209;year", "ixt-sec:durwordsen", "P3Y"),
        ("thirty-six months", "ixt-sec:durwordsen", "P36M"),
        ("364-day", "ixt-sec:durwordsen", "P364D"),
        ("&#9746;", "ixt-sec:boolballotbox", "true"),
        ("&#9744;", "ixt-sec:boolballotbox", "false"),
        ("&#9746;", "ixt:booleanfalse", "false"),
        ("anything", "ixt:fixed-true", "true"),
        ("anything", "ixt:fixed-empty", ""),
        ("Delaware", "ixt-sec:stateprovnameen", "DE"),
        ("NEW YORK", "ixt-sec:stateprovnameen", "NY"),
        ("Ontario", "ixt-sec:stateprovnameen", "ON"),
        ("Ontario", "ixt-sec:edgarprovcountryen", "A6"),
        ("Cayman Islands", "ixt-sec:edgarprovcountryen", "E9"),
        ("The Netherlands", "ixt-sec:countrynameen", "NL"),
        ("The Nasdaq Stock Market LLC", "ixt-sec:exchnameen", "NASDAQ"),
        ("New York Stock Exchange", "ixt-sec:exchnameen", "NYSE"),
        ("Large accelerated filer", "ixt-sec:entityfilercategoryen", "Large Accelerated Filer"),
        ("Non-Accelerated Filer", "ixt-sec:entityfilercategoryen", "Non-accelerated Filer"),
    ],
)
def test_a_format_gives_the_value_behind_the_print(text: str, form: str, value: str) -> None:
    fact = only(f'<p><ix:nonNumeric name="dei:X" contextRef="y" format="{form}">{text}</ix:nonNumeric></p>')
    assert (fact.value, fact.warning, fact.unit) == (value, "", None)


@pytest.mark.parametrize(
    ("body", "value", "warning"),
    [
        (number("7 and a bit", 'format="ixt:num-from-the-future"'), None, "unknown format: ixt:num-from-the-future"),
        (number("n/a", 'format="ixt:num-dot-decimal"'), None, "text is not of its format: ixt:num-dot-decimal"),
        (number("", ""), None, "text is not of its format: a decimal"),
        (number("5", 'scale="999999999"'), None, "text is not of its format: a decimal"),
        (number("5", 'scale="six"'), None, "text is not of its format: a decimal"),
        (number("-5", ""), "-5", "minus sign within the number"),
        (number("\u0665\u0665", ""), None, "text is not of its format: a decimal"),
        (number("9" * 300, ""), None, "text is not of its format: a decimal"),
        ('<ix:nonNumeric name="a:B" contextRef="y" format="ixt-sec:durwordsen">a while</ix:nonNumeric>', "a while",
         "text is not of its format: ixt-sec:durwordsen"),
        ('<ix:nonNumeric name="a:B" contextRef="y" format="ixt:date-month-day-year">2/30/2024</ix:nonNumeric>', "2/30/2024",
         "text is not of its format: ixt:date-month-day-year"),
        (number("5").replace('"y"', '"gone"'), "5", "context is missing: gone"),
        (number("5").replace('"usd"', '"gone"'), "5", "unit is missing: gone"),
        (number("5").replace(' contextRef="y"', ""), "5", "context is missing: "),
    ],
)
def test_what_cannot_be_read_is_kept_as_printed_with_a_warning(body: str, value: str, warning: str) -> None:
    fact = only(f"<p>{body}</p>")
    assert (fact.value, fact.warning) == (value, warning)


@pytest.mark.parametrize("more", ['xsi:nil="true"', 'xsi:nil="1"', 'xs:nil="true"', "xsi:nil='true'"])
def test_nil_is_no_value_and_not_zero_and_swallows_nothing(more: str) -> None:
    (nil, after), _ = read(f'<p><ix:nonFraction name="a:F" contextRef="y" unitRef="usd" {more}/> after nil {number("7")}</p>')
    assert (nil.value, nil.nil, nil.text, after.value, after.nil) == (None, True, "", "7", False)
    (shown,), _ = read(f'<p><ix:nonFraction name="a:F" contextRef="y" unitRef="usd" {more}>&#8212;</ix:nonFraction></p>')
    assert (shown.value, shown.nil, shown.text) == (None, True, "—")


@given(st.decimals(min_value=0, max_value=10**12, places=4), st.integers(-12, 12), st.booleans())
def test_scaling_is_exact(value: Decimal, scale: int, negative: bool) -> None:
    text = scaled(f"{value:f}", scale, negative)
    assert Decimal(text) == value.scaleb(scale) * (-1 if negative else 1)
    assert "e" not in text.lower() and not text.startswith("-0") or Decimal(text) != 0


@given(st.text(max_size=40))
def test_no_text_breaks_a_format(text: str) -> None:
    for table, read_by in ((formats._NUMBERS, number_of), (formats._VALUES, value_of)):
        for kind in table:
            try:
                assert isinstance(read_by(text, kind), str)
            except Unreadable:
                pass
    for kind in ("datemonthdayyearen", "dateyearmonthday", "datedaymonth"):
        try:
            assert value_of(text, kind)
        except Unreadable:
            pass


@pytest.mark.parametrize("more", ["scale=6", "scale='6'", "scale = \"6\"", "SCALE=\"6\"", "x scale=\"6\"", "\n\tscale=\"6\" y", 
                                  "title='a=\"b\"' scale=\"6\"", "scale=\"&#54;\"", "scale=\"6\" scale=\"3\"", "scale=6 sign=\"\""])
def test_attributes_however_written(more: str) -> None:
    assert only(f"<p>{number('5', more)}</p>").value == "5000000"


def test_spellings_of_all_registries_are_one() -> None:
    assert kind_of("ixt:num-dot-decimal") == kind_of("ixt4:numDotDecimal") == "numdotdecimal"


# where, when, of what


def test_contexts_are_resolved_to_company_period_and_parts() -> None:
    segment = f"<xbrli:segment>{MEMBER % ('ZAxis', 'a:Z')}{MEMBER % ('BAxis', 'a:B')}</xbrli:segment>"
    typed = ('<xbrli:scenario><xbrldi:typedMember dimension="a:Plan"><a:Name> first <b>plan</b> </a:Name></xbrldi:typedMember>'
             '<xbrldi:typedMember dimension="a:Nil"><a:Name xsi:nil="true"/></xbrldi:typedMember></xbrli:scenario>')
    resources = CONTEXTS + (
        f'<xbrli:context id="s">{WHO % segment}{END}</xbrli:context>'
        f'<xbrli:context id="t">{WHO % ""}{YEAR}{typed}</xbrli:context>'
        f'<xbrli:context id="f">{WHO % ""}<xbrli:period><xbrli:forever/></xbrli:period></xbrli:context>')
    facts, _ = read("".join(f"<p>{number('1').replace(chr(34) + 'y' + chr(34), chr(34) + c + chr(34))}</p>" for c in "yistf"), resources)
    year, instant, segmented, planned, ever = facts
    assert (year.entity, year.start, year.end, year.instant, year.dimensions) == ("0009990001", "2024-01-01", "2024-12-31", None, ())
    assert (instant.start, instant.end, instant.instant) == (None, None, "2024-12-31")
    assert segmented.dimensions == (("us-gaap:BAxis", "a:B"), ("us-gaap:ZAxis", "a:Z"))
    assert planned.dimensions == (("a:Nil", ""), ("a:Plan", "first plan"))
    assert (ever.start, ever.end, ever.instant, ever.warning) == (None, None, None, "")


def test_units_keep_local_names_of_currencies_and_prefixes_of_all_else() -> None:
    divide = "<xbrli:divide><xbrli:unitNumerator>%s</xbrli:unitNumerator><xbrli:unitDenominator>%s</xbrli:unitDenominator></xbrli:divide>"
    measures = {"a": "iso4217:EUR", "b": "xbrli:shares", "c": "shares", "d": "utr:bbl", "e": "money:GBP"}
    units = "".join(f'<xbrli:unit id="{k}"><xbrli:measure>{m}</xbrli:measure></xbrli:unit>' for k, m in measures.items())
    per_share = divide % ("<xbrli:measure>iso4217:USD</xbrli:measure>", "<xbrli:measure>xbrli:shares</xbrli:measure>")
    product = "<xbrli:measure>utr:h</xbrli:measure><xbrli:measure>iso4217:USD</xbrli:measure>"
    units += f'<xbrli:unit id="f">{per_share}</xbrli:unit><xbrli:unit id="g">{product}</xbrli:unit>'
    body = "".join(number("1").replace('"usd"', f'"{unit}"') for unit in "abcdefg")
    facts, _ = read(f"<p>{body}</p>", CONTEXTS + units, spaces=SPACES + ' xmlns:money="http://www.xbrl.org/2003/iso4217"')
    assert [fact.unit for fact in facts] == ["EUR", "shares", "shares", "utr:bbl", "GBP", "USD/shares", "USD*utr:h"]


def test_other_prefixes_than_the_usual_ones() -> None:
    text = document(f"<p>{number('1,000')}</p>").replace("ix:", "inline:").replace(":ix=", ":inline=").replace("xbrli:", "x:")
    text = text.replace("xmlns:x:", "xmlns:").replace("xmlns:xbrli=", "xmlns:x=")
    (fact,), warnings = facts_in(split_markup(text))
    assert (fact.value, fact.unit, fact.entity, fact.end, warnings) == ("1000", "USD", "0009990001", "2024-12-31", [])
    assert facts_of(etree.HTML(text))[0] == [fact]


def test_a_date_that_is_none_is_told_and_a_time_of_day_dropped() -> None:
    bad = CONTEXTS.replace("2024-12-31</xbrli:ins", "soon</xbrli:ins").replace("31</xbrli:endDate>", "31T00:00:00</xbrli:endDate>")
    (late, soon), _ = read(number("5") + number("6").replace('"y"', '"i"'), bad)
    assert (late.end, late.warning) == ("2024-12-31", "")
    assert (soon.instant, soon.warning, soon.value) == (None, "a date of its context is none", "6")


def test_hidden_facts_are_facts_and_known_as_hidden() -> None:
    (hidden, shown), _ = read(f"<p>{number('2')}</p>", hidden=number("1"))
    assert (hidden.value, hidden.hidden, shown.value, shown.hidden) == ("1", True, "2", False)


def test_a_fact_within_a_fact_and_facts_in_order_of_their_start() -> None:
    inner = number("5", 'scale="0"', "a:Inner")
    (outer, nested, around, within), _ = read(
        number(inner, 'scale="3"', "a:Outer")
        + f'<ix:nonNumeric name="a:Block" contextRef="y" escape="true"><p>It is {number("7", "", "a:Within")}.</p></ix:nonNumeric>')
    assert [f.concept for f in (outer, nested, around, within)] == ["a:Outer", "a:Inner", "a:Block", "a:Within"]
    assert [f.value for f in (outer, nested, around, within)] == ["5000", "5", "It is 7.", "7"]


def test_a_fraction_is_no_number_glued_from_its_halves() -> None:
    third = "<ix:numerator>1</ix:numerator><ix:denominator>3</ix:denominator>"
    fact = only(f'<ix:fraction name="a:Third" contextRef="y" unitRef="usd">{third}</ix:fraction>')
    assert (fact.value, fact.warning, row(fact).number) == ("1/3", "", None)  # type: ignore[attr-defined]


# text


def block(text: str, more: str = 'id="n1"') -> str:
    return f'<ix:nonNumeric name="a:TextBlock" contextRef="y" escape="true" {more}>{text}</ix:nonNumeric>'


def test_a_text_block_is_its_visible_text_with_blanks_at_borders_of_blocks_alone() -> None:
    cells = "<table><tr><td>Cash</td><td></td><td>$</td><td>1,234</td></tr><tr><td>Debt</td><td/><td>5</td></tr></table>"
    note = "<div>Note <b>1</b>.<span>Ca</span><span>sh</span></div><div>R&amp;D&#160;&#8212; &amp;amp; x&lt;y</div>"
    fact = only(block(f"{note}{cells}a<br/>b"))
    assert fact.value == "Note 1.Cash R&D — &amp; x<y Cash $ 1,234 Debt 5 a b"
    assert (fact.text, fact.unit, fact.decimals) == (fact.value, None, None)


def test_letters_of_windows_1252_and_ligatures_are_mapped() -> None:
    assert only(block("the Company&#146;s of&#xFB01;ce&#173;r \u0093x\u0094")).value == "the Company’s officer “x”"


def test_a_chain_of_continuations_in_any_order_and_what_is_excluded() -> None:
    facts, warnings = read(
        block("Alpha <b>beta</b>.<ix:exclude><i> 41 <ix:exclude>x</ix:exclude></i></ix:exclude> Gamma.", 'continuedAt="n-1"')
        +        '<table><tr><td><ix:continuation id="n-2">Epsilon<ix:exclude>9</ix:exclude>.</ix:continuation></td></tr></table>'
        '<p><ix:exclude>Header 42</ix:exclude></p><p><ix:continuation id="n-1" continuedAt="n-2">Delta.</ix:continuation></p>'
        '<p><ix:continuation id="lost-1">Orphan words.</ix:continuation></p>')
    assert [fact.value for fact in facts] == ["Alpha beta. Gamma. Delta. Epsilon."]
    assert warnings == ["continuation without origin: lost-1"]


@pytest.mark.parametrize(
    ("after", "value", "warning"),
    [
        ("", "One.", "continuation is missing: c"),
        ('<ix:continuation id="c" continuedAt="d">Two.</ix:continuation><ix:continuation id="d" continuedAt="c">Three.</ix:continuation>',
         "One. Two. Three.", "continuations in a circle: c"),
        ('<ix:continuation id="c" continuedAt="c">Two.</ix:continuation>', "One. Two.", "continuations in a circle: c"),
    ],
)
def test_a_broken_chain_gives_what_there_is_and_a_warning(after: str, value: str, warning: str) -> None:
    fact = only(block("One.", 'continuedAt="c"') + after)
    assert (fact.value, fact.warning) == (value, warning)


def test_footnotes_belong_to_their_facts_in_the_new_and_the_old_way() -> None:
    notes = ('<ix:footnote id="fn1">Restated <b>twice</b>.</ix:footnote><ix:footnote footnoteID="fn2">As of May.</ix:footnote>'
             '<ix:relationship fromRefs="f1 f2" toRefs="fn1"/><ix:relationship fromRefs="f1" toRefs="fn3 gone"/>'
             '<ix:footnote id="fn3" continuedAt="more">Begun</ix:footnote><ix:continuation id="more">and ended.</ix:continuation>')
    numbers = number("1", 'id="f1"') + number("2", 'id="f2"') + number("3", 'id="f3" footnoteRefs="fn2"') + number("4")
    facts, warnings = read(numbers + notes)
    assert [fact.footnotes for fact in facts] == [("Restated twice.", "Begun and ended."), ("Restated twice.",), ("As of May.",), ()]
    assert warnings == []


# hostile input


def bounded(body: str) -> list[Fact]:
    return facts_in(split_markup(document(body)))[0]


def test_facts_a_thousand_deep_around_much_text_are_bounded() -> None:
    deep = 3000
    facts = bounded("".join(block("", "").removesuffix("</ix:nonNumeric>") for _ in range(deep)) + "<p>word</p>" * 3000
                    + "</ix:nonNumeric>" * deep)
    assert len(facts) == deep
    assert any(fact.warning == "too much nested text: some was left out" for fact in facts)
    assert sum(len(fact.value or "") for fact in facts) < 5_000_000


def test_many_facts_that_share_one_long_chain_are_bounded() -> None:
    chain = "".join(f'<ix:continuation id="c{n}" continuedAt="c{n + 1}">w</ix:continuation>' for n in range(5000))
    facts = bounded(block("x", 'continuedAt="c0"') * 2000 + chain)
    assert len(facts) == 2000 and sum(len(fact.value or "") for fact in facts) < 5_000_000


@pytest.mark.parametrize(
    "body",
    [
        "<p></ix:nonFraction></p>", "<ix:nonFraction>", "<ix:nonFraction", "<ix:nonFraction/>", "<ix:exclude>", "</ix:hidden></ix:header>",
        "<ix:nonNumeric name=a:B contextRef=y>5</ix:nonNumeric>", '<ix:nonFraction name="a" name="b" ="">5</ix:nonFraction>',
        '<ix:footnote id="x" continuedAt="x">n</ix:footnote>', "<ix:fraction><ix:numerator>1</ix:numerator></ix:fraction>",
        "<ix:relationship>", "<>", "< >", "</>",
    ],
)
def test_broken_marks_raise_nothing(body: str) -> None:
    facts = bounded(body + number("5"))
    assert facts[-1].value == "5" or len(facts) == 1


BITS = ["<ix:nonFraction a='1'>", "</ix:nonFraction>", "<ix:nonNumeric continuedAt='c'>", "</ix:nonNumeric>", "<ix:continuation id='c'>",
        "</ix:continuation>", "<ix:exclude>", "</ix:exclude>", "<ix:resources>", "</ix:resources>", "<xbrli:context id='y'>",
        "</xbrli:context>", "<ix:hidden>", "</ix:hidden>", "<ix:footnote id='f'>", "<p>", "x", "&"]


@given(st.lists(st.sampled_from(BITS), max_size=30))
def test_any_order_of_marks_gives_one_fact_a_start_tag(bits: list[str]) -> None:
    facts = bounded("".join(bits))
    assert len(facts) == sum(bit.startswith(("<ix:nonF", "<ix:nonN")) for bit in bits)


# cases and real filings


def test_the_cases(shared: Path) -> None:
    def values(case: str) -> dict[str, Fact]:
        (path,) = shared.glob(f"cases/{case}-*/input.htm")
        return {fact.concept.rpartition(":")[2]: fact for fact in facts_of(tree_of(path.read_bytes()))[0]}

    three, six = values("03"), values("06")
    assert [fact.value for fact in three.values()] == ["95200000000", "61400000000", "1.25", "22.50"]
    assert [fact.value for fact in six.values()] == ["0", "0", "21", "0", "0.0525", "P3Y", "2024-12-31", "false", None, None]
    assert six["F"].nil and six["G"].warning.startswith("unknown format")
    (chained,) = values("05").values()
    assert chained.value == "Alpha nested beta. Gamma. Delta. Epsilon."


def test_facts_equal_the_instances_of_the_sec(shared: Path) -> None:
    found = pairs(shared)
    assert found["differ"] == []
    assert (found["pairs"], found["equal"], found["instance"], found["numbers_equal"]) == (3, 828, 828, 674)


def inline_filings(shared: Path) -> list[Path]:
    """Every fifth inline filing of the development set, those of 8-K all."""
    lines = [json.loads(line) for line in (shared / "filings/dev/manifest.jsonl").read_text("utf-8").splitlines()]
    names = sorted(line["file"] for line in lines if line["file"].endswith(".htm.gz"))
    return [shared / "filings/dev" / name for name in names[::5]]


def test_every_fact_of_real_filings_is_read_and_resolved(shared: Path) -> None:
    facts_read = 0
    for path in inline_filings(shared):
        data = gzip.decompress(path.read_bytes())
        if b"inlineXBRL" not in data:
            continue
        facts, warnings = facts_in(split_markup(data.decode("utf-8", "replace")))
        facts_read += len(facts)
        assert len(facts) == data.count(b"<ix:nonFraction") + data.count(b"<ix:nonNumeric"), path.name
        assert [fact for fact in facts if fact.warning] == [] and warnings == [], path.name
        for fact in facts:
            assert fact.nil == (fact.value is None)
            assert len(fact.entity) == 10 and (fact.instant or (fact.start and fact.end and fact.start <= fact.end))
            assert fact.unit is None or fact.nil or f"{Decimal(fact.value or ''):f}" == fact.value
        _agrees_with_dei(facts, data)
    assert facts_read > 10_000


def _agrees_with_dei(facts: list[Fact], data: bytes) -> None:
    """What the scan before the parse says of the cover page is the value or the print of a fact."""
    mine: dict[str, set[str]] = {}
    for fact in facts:
        if fact.concept.startswith("dei:"):
            mine.setdefault(fact.concept[4:], set()).update({fact.value or "", fact.text, fact.text.replace(" ", "")})
    for name, value in dei_facts(data).items():
        assert {value, value.replace(" ", "")} & mine[name] or any(text.startswith(value) for text in mine[name]), name  # not continued


# rows


def row(fact: Fact) -> object:
    document = Document("a:1", "a", 1, "10-K", "x.htm", "html", 0, "utf-8", "", 1, "html-2", None, 0, None, None)
    return rows.row_of(document, 3, fact)


def test_a_row_says_the_same_as_its_fact_and_holds_in_the_table() -> None:
    parts = (("b:B", "x"), ("a:A", "y"))
    fact = Fact("us-gaap:A", "0009990001", "2024-01-01", "2024-12-31", None, parts, "USD", "-0.10", "2", "0.10", False, True, ("note",), "")
    stored = row(fact)
    (held,) = pylist(FACTS.arrow([stored]))
    assert (held["days"], held["dimensions"], held["number"], held["value"]) == (366, '{"a:A": "y", "b:B": "x"}', -0.1, "-0.10")
    assert rows.fact_of(FACTS.record_of(held)) == fact._replace(dimensions=(("a:A", "y"), ("b:B", "x")))


def test_a_row_bounds_texts_and_drops_dates_that_no_calendar_has() -> None:
    long = Fact("a:T", "1", None, None, "2024-02-30", (), None, "x" * 9000, None, "x" * 9000)
    stored = rows.row_of(Document("a:1", "a", 1, "", "", "html", 0, "", "", 1, "", None, 0, None, None), 0, long)
    assert (len(stored.value or ""), len(stored.text), stored.instant_on, stored.number) == (4000, 4000, None, None)
    assert stored.warning.startswith("no date")


@pytest.mark.parametrize(("value", "number"), [("7 and a bit", None), ("INF", None), ("9" * 400, None), ("12.5", 12.5), (None, None)])
def test_a_number_that_is_none_is_null(value: str | None, number: float | None) -> None:
    fact = Fact("a:N", "1", None, None, "2024-02-28", (), "USD", value, "0", "", value is None)
    assert row(fact).number == number  # type: ignore[attr-defined]


def test_the_parse_stage_gives_rows_and_a_filing_that_is_read_again_drops_the_old_ones() -> None:
    stage = next(stage for stage in STAGES if stage.name == "parse")
    assert "facts" in stage.gives
    raw = RawDocument(1, "10-K", "x.htm", document(f"<p>Sales were {number('1,234', MILLIONS)} in total.</p>").encode(), "html")
    setup = SimpleNamespace(recipe=SimpleNamespace(parser=SimpleNamespace(engine="native")), settings=Settings())
    rows_given = stage.run(setup, Work(Filing("0000000009-24-000001", form="10-K"), raw=[raw])).rows
    (stored,) = rows_given["facts"]
    assert (stored.document_id, stored.concept, stored.value, stored.days) == (rows_given["documents"][0].document_id, "us-gaap:A",
                                                                               "1234000000", 366)
    again = Block("b", (Task(Filing("0000000009-24-000001"), "x", known=True),))
    assert ("facts", "accession") in {(drop.table, drop.column) for drop in drops_of(again)}
