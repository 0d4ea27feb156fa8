"""What a filing is: out of its header, dei facts, cover page or name, and what cannot be one."""

from __future__ import annotations

import gzip
import json
import re
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdf_bytes import pdf

from edgarmill.schemas.errors import BadFile, BadInput, UnknownForm
from edgarmill.schemas.records import Filing
from edgarmill.workers.cover import cover_facts, dates, form_of, html_lines
from edgarmill.workers.filing import describe, family_of, fiscal, name_facts

COVER = """<html><body>
<p>UNITED STATES SECURITIES AND EXCHANGE COMMISSION</p><p>FORM&nbsp;10-Q</p>
<p>QUARTERLY REPORT PURSUANT TO SECTION 13 OR 15(d)</p><p>For the quarterly period ended December&#160;31, 2014</p>
<p>Fennimore Textile Works, Inc.</p><p>(Exact name of registrant as specified in its charter)</p>
<p>These statements go with the Annual Report on Form 10-K for the year ended September 30, 2014.</p></body></html>"""
DEI = """<html xmlns:ix="http://www.xbrl.org/2013/inlineXBRL" xmlns:dei="http://xbrl.sec.gov/dei/2024"><body><ix:header><ix:hidden>
<ix:nonNumeric name="dei:EntityCentralIndexKey" contextRef="c">0009990077</ix:nonNumeric>
<ix:nonNumeric name="dei:DocumentFiscalYearFocus" contextRef="c">2023</ix:nonNumeric>
<ix:nonNumeric name="dei:DocumentFiscalPeriodFocus" contextRef="c">FY</ix:nonNumeric>
<ix:nonNumeric name="dei:AmendmentFlag" contextRef="c">false</ix:nonNumeric>
<ix:nonNumeric name="dei:CurrentFiscalYearEndDate" contextRef="c">--01-28</ix:nonNumeric>
</ix:hidden></ix:header><p>FORM <ix:nonNumeric name="dei:DocumentType" contextRef="c">10-K</ix:nonNumeric></p>
<p>For the fiscal year ended <ix:nonNumeric name="dei:DocumentPeriodEndDate" contextRef="c">January 28, 2024</ix:nonNumeric></p>
<p><ix:nonNumeric name="dei:EntityRegistrantName" contextRef="c">OSTREA POWER CO</ix:nonNumeric></p>
<p>Trading symbol <ix:nonNumeric name="dei:TradingSymbol" contextRef="c">OSTR</ix:nonNumeric></p></body></html>"""
SGML = """<SEC-DOCUMENT>0009999999-04-000021.txt : 20040310
<SEC-HEADER>0009999999-04-000021.hdr.sgml : 20040310
ACCESSION NUMBER:\t\t0009999999-04-000021
CONFORMED SUBMISSION TYPE:\t{form}
CONFORMED PERIOD OF REPORT:\t20031231
FILED AS OF DATE:\t\t20040310

FILER:

\tCOMPANY DATA:\t
\t\tCOMPANY CONFORMED NAME:\t\t\tOSTREA POWER CO
\t\tCENTRAL INDEX KEY:\t\t\t0009990021
\t\tFISCAL YEAR END:\t\t\t1231
</SEC-HEADER>
{documents}</SEC-DOCUMENT>
"""


def document(kind: str, sequence: int, text: str = "FORM 10-K of another company", name: str = "a.txt") -> str:
    return f"<DOCUMENT>\n<TYPE>{kind}\n<SEQUENCE>{sequence}\n<FILENAME>{name}\n<TEXT>\n{text}\n</TEXT>\n</DOCUMENT>\n"


def submission(form: str = "10-K", documents: str = "") -> bytes:
    return SGML.format(form=form, documents=documents or document(form, 1)).encode()


def about(data: bytes | str, **known: object) -> Filing:
    return describe(Filing(**{"accession": "local-1", **known}), data if isinstance(data, bytes) else data.encode()).filing  # type: ignore[arg-type]


def test_a_cover_page_alone_gives_form_period_company_and_fiscal_quarter() -> None:
    filing = about(COVER)
    assert (filing.form, filing.family, filing.period_on) == ("10-Q", "10-Q", date(2014, 12, 31))
    assert filing.company == "Fennimore Textile Works, Inc."
    assert (filing.fiscal_year_end, filing.fiscal_year, filing.fiscal_quarter) == ("0930", 2015, 1)


@pytest.mark.parametrize(("mentions", "known"), [
    (["as set out in the Annual Report on Form 10-K for the year ended September 24, 2022"], ("0924", 2023, 1)),
    (["years ended September 24, 2022 and"], (None, 2022, None)),  # not the words that tell
    (["year ended September 25, 2021", "fiscal year ended September 24, 2022"], ("0924", 2023, 1)),
    ([], (None, 2022, None)),
])
def test_a_quarter_in_a_pdf_has_the_fiscal_year_that_its_pages_mention(mentions: list[str],
                                                                       known: tuple[str | None, int, int | None]) -> None:
    cover = [("FORM 10-Q", 760), ("For the quarterly period ended December 31, 2022", 700), ("Fennimore Textile Works, Inc.", 640),
             ("(Exact name of Registrant as specified in its charter)", 620)]
    pages: list[list[tuple[str, int]] | str] = [cover, *([(text, 700)] for text in mentions)]
    filing = about(pdf(*pages), name="quarter.pdf")
    assert (filing.form, filing.period_on, filing.company) == ("10-Q", date(2022, 12, 31), "Fennimore Textile Works, Inc.")
    assert (filing.fiscal_year_end, filing.fiscal_year, filing.fiscal_quarter) == known


def test_dei_facts_overrule_the_cover() -> None:
    filing = about(DEI)
    assert (filing.form, filing.ciks, filing.company, filing.tickers) == ("10-K", ("0009990077",), "OSTREA POWER CO", ("OSTR",))
    assert (filing.period_on, filing.fiscal_year, filing.fiscal_quarter, filing.fiscal_year_end) == (date(2024, 1, 28), 2023, 4, "0128")


def test_the_header_overrules_the_content_and_the_manifest_overrules_all() -> None:
    filing = about(submission(documents=document("10-K", 1, COVER, "a.htm")), accession="0009999999-04-000021")
    assert (filing.form, filing.company) == ("10-K", "OSTREA POWER CO")
    assert (filing.period_on, filing.filed_on) == (date(2003, 12, 31), date(2004, 3, 10))
    assert filing.url == "https://www.sec.gov/Archives/edgar/data/9990021/000999999904000021/0009999999-04-000021-index.htm"
    overruled = about(submission(), company="Ostrea", form="10-K405", period_on=date(2003, 6, 30))
    assert (overruled.company, overruled.form, overruled.period_on) == ("Ostrea", "10-K405", date(2003, 6, 30))


def test_a_file_name_is_the_last_resort() -> None:
    assert name_facts("sub/aapl-20240629-10q.htm.gz") == {"form": "10-Q", "period_on": date(2024, 6, 29)}
    assert name_facts("0001193125-24-000123.txt") == {}
    assert about("<html><p>Our sales rose.</p></html>", name="x-2019-03-31-10-q.htm").form == "10-Q"


def test_a_text_document_without_marks_is_read_by_its_cover() -> None:
    text = ("                 FORM 10-K\n\nFor the fiscal year ended      Commission file number\n  June 30, 1995                1-8037\n\n"
            "               AEROFENN CORP\n   (Exact name of registrant as specified in its charter)\n")
    filing = about(text)
    assert (filing.form, filing.period_on, filing.company) == ("10-K", date(1995, 6, 30), "AEROFENN CORP")


@pytest.mark.parametrize("lines", [
    ["FORM 10-K", "Commission File Number 001-37845", "OSTREA POWER CORPORATION", "WASHINGTON 91-1144442", "(STATE OF INCORPORATION)"],
    ["FORM 10-K", "Commission File Number 001-37622 ______________________ OSTREA POWER CORPORATION",
     "(Exact name of registrant as specified in its charter) ______________________ Delaware 80-0429876"],
    ["10-K", "Commission File No. 1-3285", "(Exact name of registrant)", "Commission file number 1-3285", "OSTREA POWER CORPORATION"],
])
def test_a_cover_without_the_usual_caption_names_the_company_behind_its_file_number(lines: list[str]) -> None:
    assert cover_facts(lines)["company"] == "OSTREA POWER CORPORATION"


@pytest.mark.parametrize(("text", "day"), [
    ("FORM 8-K Date of Report (Date of earliest event reported): March 3, 2005", date(2005, 3, 3)),
    ("FORM 8-K April 15, 2025 (April 10, 2025) Date of Report (Date of earliest event reported)", date(2025, 4, 10)),
    ("FORM 8-K Date of report (Date of earliest event reported) August 30, 2005 (August 29, 2005)", date(2005, 8, 29)),
    ("FORM 8-K Date of Report: June 12, 2001", date(2001, 6, 12)),
])
def test_an_8k_is_dated_by_its_earliest_event(text: str, day: date) -> None:
    assert cover_facts([text])["period_on"] == day


@pytest.mark.parametrize(("text", "form"), [
    ("FORM 10-K/A Amendment", "10-K/A"), ("Form 10-KSB", "10-KSB"), ("FORM 10-K405", "10-K405"), ("F ORM 8-K", "8-K"),
    ("FORM 10-Q", "10-Q"), ("FORM 10-K (Amendment No. 1)", "10-K/A"), ("FORM 10QSB", "10-QSB"), ("FORM 20-F", ""), ("FORM 10-KX", ""),
    ("ANNUAL REPORT PURSUANT TO SECTION 13", "10-K"), ("Washington, D.C. 20549 Form 10-Q", "10-Q"), ("ACME CORP FORM 10-Q", "10-Q"),
    ("Acme reports its first quarter. See our Quarterly Report on Form 10-Q filed with the Securities and Exchange Commission", ""),
    ("Acme reports its first quarter (Q1 2023 Form 10-Q).", ""),
])
def test_the_form_on_the_cover(text: str, form: str) -> None:
    assert form_of(text) == form


@pytest.mark.parametrize("form", ["10-12G", "10-D", "NT 10-K", "11-K", "4", "S-1", "10-12B/A"])
def test_a_form_outside_the_families_is_refused_by_name(form: str) -> None:
    with pytest.raises(UnknownForm, match=re.escape(form).replace(r"\ ", " ?")) as caught:
        describe(Filing("local-1"), submission(form))
    assert "manifest" in caught.value.todo


@pytest.mark.parametrize(("form", "family"), [
    ("10-K405/A", "10-K"), ("10-KT", "10-K"), ("10-QSB", "10-Q"), ("8-K12G3", "8-K"), ("10-12G", "other"),
])
def test_families_are_an_explicit_list(form: str, family: str) -> None:
    assert family_of(form) == family


def test_an_amendment_is_marked() -> None:
    filing = about(submission("10-K/A"))
    assert filing.amends and filing.family == "10-K"


@pytest.mark.parametrize(("data", "said"), [
    (b"", "empty"), (b" \n\r\n ", "empty"), (b"PK\x03\x04" + bytes(99), "archive"), (bytes(range(256)) * 9, "binary"),
    (b"<html><title>SEC.gov | Request Rate Threshold Exceeded</title></html>", "block page"),
    (b"<html><h1>Your Request Originates from an Undeclared Automated Tool</h1></html>", "block page"),
    (b"<html><head></head></html>", "without any text"), (submission()[:-60], "cut off"), (b"%PDF-1.4 nothing", "damaged"),
])
def test_what_cannot_be_a_filing_is_refused_with_what_to_do(data: bytes, said: str) -> None:
    with pytest.raises(BadFile, match=said) as caught:
        describe(Filing("local-1", name="x.htm", form="10-K"), data)
    assert caught.value.todo


def test_main_document_and_exhibits_13_and_99_are_parsed_and_the_rest_is_named() -> None:
    kinds = ("EX-10.1", "10-K", "EX-13.1", "EX-99.(A)", "EX-27")
    parts = "".join(document(kind, number) for number, kind in enumerate(kinds, 1)) + document("10-K", 6, "%PDF-1.4")
    opened = describe(Filing("local-1"), submission(documents=parts))
    assert [d.type for d in opened.documents if not d.left_out] == ["10-K", "EX-13.1", "EX-99.(A)"]
    assert all(d.left_out for d in opened.documents if d.type in ("EX-10.1", "EX-27"))


def test_a_pdf_is_the_main_document_only_where_there_is_no_other() -> None:
    parts = document("10-K", 1, "%PDF-1.4\nx", "a.pdf") + document("10-K", 2)
    assert [d.sequence for d in describe(Filing("local-1"), submission(documents=parts)).documents if not d.left_out] == [2]


@pytest.mark.parametrize(("family", "period", "year_end", "year", "quarter"), [
    ("10-K", "2024-09-28", "0928", 2024, 4), ("10-K", "2024-01-28", "0128", 2023, 4), ("10-K", "2006-02-03", None, 2005, 4),
    ("10-K", "2017-01-01", "1231", 2016, 4), ("10-Q", "2024-06-29", "0928", 2024, 3), ("10-Q", "2023-12-30", "0928", 2024, 1),
    ("10-Q", "2023-07-30", "0128", 2023, 2), ("10-Q", "2023-09-30", "1231", 2023, 3), ("10-Q", "2023-10-01", "1231", 2023, 3),
    ("10-Q", "2000-01-01", "0930", 2000, 1), ("10-Q", "2023-03-31", None, 2023, None), ("8-K", "2023-03-31", "0930", 2023, None),
    ("10-Q", None, "1231", None, None), ("10-Q", "2024-02-29", "0831", 2024, 2), ("10-Q", "2024-05-31", "0229", 2025, 1),
])
def test_fiscal_year_and_quarter_follow_from_period_and_year_end(
        family: str, period: str | None, year_end: str | None, year: int | None, quarter: int | None) -> None:
    assert fiscal(family, date.fromisoformat(period) if period else None, year_end) == (year, quarter)


@given(st.dates(date(1993, 1, 1), date(2030, 12, 31)))
def test_every_printed_date_is_read_back(day: date) -> None:
    number, year = day.day, day.year
    for text in (f"{day:%B} {number}, {year}", f"{day:%b}. {number}, {year}", f"{number} {day:%B} {year}", f"{day:%m/%d/%Y}"):
        assert [found for found, _, _ in dates(f"ended {text} x")] == [day]


@given(st.binary(max_size=3000))
def test_any_bytes_end_in_a_filing_or_in_an_expected_error(data: bytes) -> None:
    for start in (b"", b"<html>", b"<SEC-HEADER>\n"):
        try:
            describe(Filing("local-1", name="x.txt"), start + data)
        except BadInput as error:
            assert error.todo


def test_the_cover_of_an_inline_document_shows_nothing_hidden() -> None:
    assert "0009990077" not in " ".join(html_lines(DEI.encode()))


def test_the_development_filings_tell_their_form_and_period_by_content_alone(shared: Path) -> None:
    folder = shared / "filings" / "dev"
    lines = [json.loads(line) for line in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines()][::5]
    right = {"form": 0, "period": 0}
    for line in lines:
        filing = about(gzip.decompress((folder / line["file"]).read_bytes()), name="x")
        right["form"] += filing.form == line["form"]
        right["period"] += str(filing.period_on) == line["period"]
    assert right["form"] >= 0.99 * len(lines) and right["period"] >= 0.95 * len(lines), right
