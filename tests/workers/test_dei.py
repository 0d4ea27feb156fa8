"""Facts about the document itself, out of inline XBRL."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from edgarmill.workers.parse.dei import dei_facts, iso_date, month_day

HEAD = b'<html xmlns:ix="http://www.xbrl.org/2013/inlineXBRL" xmlns:%s="http://xbrl.sec.gov/dei/2024"><body>'


def test_hidden_and_visible_facts_are_read() -> None:
    page = HEAD % b"dei" + (
        b'<div style="display:none"><ix:header><ix:hidden><ix:nonNumeric contextRef="c" name="dei:AmendmentFlag" '
        b'format="ixt:fixed-false">FALSE</ix:nonNumeric></ix:hidden></ix:header></div>'
        b'<p>For <ix:nonNumeric name="dei:DocumentPeriodEndDate" contextRef="c"><b>September</b> 28, 2024</ix:nonNumeric></p>'
    )
    assert dei_facts(page) == {"AmendmentFlag": "false", "DocumentPeriodEndDate": "2024-09-28"}


def test_prefix_and_case_do_not_matter() -> None:
    page = HEAD % b"d1" + b"<IX1:NONNUMERIC NAME='d1:EntityRegistrantName' CONTEXTREF='c'>Larch &amp; Sons</IX1:NONNUMERIC>"
    assert dei_facts(page) == {"EntityRegistrantName": "Larch & Sons"}


def test_the_context_of_the_document_type_wins_over_a_co_registrant() -> None:
    fact = b'<ix:nonNumeric contextRef="%s" name="dei:%s">%s</ix:nonNumeric>'
    page = HEAD % b"dei" + (
        fact % (b"sub", b"EntityRegistrantName", b"Subsidiary") + fact % (b"main", b"DocumentType", b"10-K")
        + fact % (b"main", b"EntityRegistrantName", b"Parent")
    )
    assert dei_facts(page)["EntityRegistrantName"] == "Parent"


def test_nested_facts_and_nil_facts_do_not_swallow_text() -> None:
    page = HEAD % b"dei" + (
        b'<ix:nonNumeric contextRef="c" name="dei:TradingSymbol" xsi:nil="true"/>'
        b'<ix:nonNumeric contextRef="c" name="x:Cover">a '
        b'<ix:nonNumeric contextRef="c" name="dei:DocumentType">10-Q</ix:nonNumeric> b</ix:nonNumeric>'
    )
    assert dei_facts(page) == {"DocumentType": "10-Q"}


def test_a_document_without_inline_facts_has_none() -> None:
    assert dei_facts(b"") == dei_facts(b"<html><p>dei:DocumentType</p>") == dei_facts(b"\x00<ix:nonNumeric name='dei:X") == {}


@pytest.mark.parametrize(
    ("printed", "wanted"),
    [("September 28, 2024", "2024-09-28"), ("Sept. 3 , 2024", "2024-09-03"), ("28 June 2024", "2024-06-28"), ("2024-1-2", "2024-01-02"),
     ("12/31/2024", "2024-12-31"), ("December 31", ""), ("", "")],
)
def test_printed_dates(printed: str, wanted: str) -> None:
    assert iso_date(printed) == wanted


@pytest.mark.parametrize(("printed", "wanted"), [("December 31", "--12-31"), ("--12-31", "--12-31"), ("31 March", "--03-31"), ("soon", "")])
def test_printed_month_and_day(printed: str, wanted: str) -> None:
    assert month_day(printed) == wanted


def test_facts_of_a_real_10_k(shared: Path) -> None:
    facts = dei_facts(gzip.decompress((shared / "filings/dev/0000050863-24-000010.10-k.htm.gz").read_bytes()))
    wanted = {"DocumentType": "10-K", "DocumentPeriodEndDate": "2023-12-30", "DocumentFiscalPeriodFocus": "FY", "TradingSymbol": "INTC",
              "EntityCentralIndexKey": "0000050863", "CurrentFiscalYearEndDate": "--12-30", "AmendmentFlag": "false"}
    assert {name: facts[name] for name in wanted} == wanted
