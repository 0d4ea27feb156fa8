"""Items and Parts: what proves a heading, and what only looks like one."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgarmill.schemas.records import Document, Element, Section
from edgarmill.workers.items import numbering_of, read_heading, read_part
from edgarmill.workers.parse.parsed import RawDocument
from edgarmill.workers.sections import find_sections, label_elements

TEN_K = numbering_of("10-K", None, "")
FILLER = "The company made and sold many things in many places during the year, and it expects to go on doing so. " * 4


def document(text: str, kind: str = "10-K") -> Document:
    return Document("d:1", "d", 1, kind, "a.htm", "html", len(text), "utf-8", text, 1, "html-1", None, len(text), None, None)


def laid_out(blocks: Iterable[tuple[str, str]]) -> tuple[str, list[Element]]:
    """Text and elements of (kind, text) pairs, "h" for a heading, "p" for a paragraph, "t" for a table; "|" begins a new page."""
    names = {"h": "heading", "p": "paragraph", "t": "table"}
    at, page, elements, parts = 0, 1, [], []
    for kind, text in blocks:
        page += kind == "|"
        if kind == "|":
            continue
        elements.append(Element("d:1", "d", len(elements), names[kind], None, at, at + len(text), page, None, None))
        parts.append(text)
        at += len(text) + 2
    return "\n\n".join(parts), elements


def found(blocks: Iterable[tuple[str, str]], form: str = "10-K", filed_on: date | None = None) -> dict[tuple[str, str], str]:
    """Key -> text of the section, heading included."""
    text, elements = laid_out(blocks)
    return {(s.part, s.item): text[s.start : s.end] for s in find_sections(document(text, form), elements, form, filed_on)}


def of_file(shared: Path, name: str, form: str, filed_on: date | None = None) -> tuple[str, list[Section], list[Element]]:
    path = shared / name
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    media = "html" if ".htm" in name else "text"
    result = import_module(f"edgarmill.workers.parse.{media}").parse(RawDocument(1, form, name, data, media))
    elements = [Element("d:1", "d", number, block.kind, block.level, block.start, block.end, block.page, block.page_label, None)
                for number, block in enumerate(result.blocks)]
    return result.text, find_sections(document(result.text, form), elements, form, filed_on), elements


# ---- reading one line


@pytest.mark.parametrize(
    ("line", "numbers", "title"),
    [
        ("Item 1. Business", ("1",), "Business"),
        ("ITEM 1A: RISK FACTORS", ("1A",), "RISK FACTORS"),
        ("Item\u00a07\u00a0\u2014\u00a0Management", ("7",), "Management"),
        ("Item l. Business", ("1",), "Business"),
        ("I TEM 1. Business", ("1",), "Business"),
        ("Item 4Mine Safety Disclosures", ("4",), "Mine Safety Disclosures"),
        ("Item 1ARisk Factors", ("1A",), "Risk Factors"),
        ("Item 9A(T). Controls", ("9A",), "Controls"),
        ("------Item 9. Changes", ("9",), "Changes"),
        ("Items 1 and 2. Business and Properties", ("1", "2"), "Business and Properties"),
        ("Items 7. and 7A. Management", ("7", "7A"), "Management"),
        ("Items 10 through 14.", ("10", "11", "12", "13", "14"), ""),
        ("Items 10-14. Part III", ("10", "11", "12", "13", "14"), "Part III"),
        ("ITEM SEVEN - MANAGEMENT'S DISCUSSION", ("7",), "MANAGEMENT'S DISCUSSION"),
        ("Item 6. [Reserved]", ("6",), "[Reserved]"),
    ],
)
def test_an_item_heading_in_any_spelling(line: str, numbers: tuple[str, ...], title: str) -> None:
    heading = read_heading(line, TEN_K)
    assert heading is not None
    assert (heading.numbers, heading.title) == (numbers, title)


OTHERS = ["Item 601 of Regulation S-K", "Item 402(b)", "Item 14(a)(1): Statements", "Items of note", "1. Business", "Item 8C. New"]


@pytest.mark.parametrize("line", OTHERS)
def test_other_lines_are_none(line: str) -> None:
    assert read_heading(line, TEN_K) is None


@pytest.mark.parametrize(
    ("line", "part"),
    [("PART II", ("II", "")), ("Part II - OTHER INFORMATION", ("II", "OTHER INFORMATION")), ("P A R T  I", ("I", "")),
     ("PART 2.", ("II", "")), ("Part II of this report", None), ("Part I, Item 1", None), ("Counterparties", None), ("Partners II", None)],
)
def test_part_headings(line: str, part: tuple[str, str] | None) -> None:
    assert read_part(line) == part


# ---- 10-K

BODY = [("h", "PART I"), ("h", "Item 1. Business"), ("p", FILLER), ("h", "Item 1A. Risk Factors"), ("p", FILLER),
        ("h", "Item 2. Properties"), ("p", "None."),
        ("h", "PART II"), ("h", "Item 7. Management's Discussion"), ("p", FILLER), ("h", "Item 8. Financial Statements"), ("p", FILLER)]
KEYS = [("I", "1"), ("I", "1A"), ("I", "2"), ("II", "7"), ("II", "8")]
ROWS = ["Item 1. | Business | 3", "Item 1A. | Risk Factors | 9", "Item 2. | Properties | 20", "Item 7. | Management's Discussion | 21",
        "Item 8. | Financial Statements | 40"]


@pytest.mark.parametrize(
    "contents",
    [
        [("t", "\n".join(ROWS))],
        [("p", row.replace(" |", "")) for row in ROWS],
        [("p", row.rsplit(" | ", 1)[0].replace(" |", "")) for row in ROWS],
        [(kind, text) for row in ROWS for kind, text in zip("hhp", row.split(" | "), strict=True)],
        [("p", "\n".join(row.replace(" | ", "  ") for row in ROWS))],
    ],
    ids=["table", "lines", "no page numbers", "cells as blocks", "one paragraph"],
)
def test_a_table_of_contents_starts_nothing(contents: list[tuple[str, str]]) -> None:
    sections = found([("h", "TABLE OF CONTENTS"), *contents, *BODY])
    assert list(sections) == KEYS
    assert sections["I", "1"].endswith(FILLER.strip())


def test_cross_references_start_nothing() -> None:
    blocks = list(BODY)
    blocks[2:2] = [("p", "Item 7 of this report tells more."), ("p", "Item 8, and the notes there, are part of it."),
                   ("p", "See Item 2. Properties.")]
    assert list(found(blocks)) == KEYS
    assert "Item 8, and" in found(blocks)["I", "1"]


def test_running_headers_start_nothing() -> None:
    header = [("|", ""), ("h", "Item 1A. Risk Factors (continued)"), ("p", FILLER), ("|", ""), ("h", "Item 1A. Risk Factors"),
              ("p", FILLER)]
    blocks = [*BODY[:5], *header, *BODY[5:]]
    assert list(found(blocks)) == KEYS
    assert found(blocks)["I", "1A"].count(FILLER.strip()) == 3


def test_sections_end_at_the_next_in_the_document_even_out_of_order() -> None:
    blocks = [*BODY[8:12], *BODY[:7]]
    sections = found(blocks)
    assert set(sections) == set(KEYS)
    assert FILLER.strip() not in sections["I", "2"] and sections["II", "8"].count(FILLER.strip()) == 1


def test_a_part_heading_belongs_to_no_item_and_signatures_end_the_last() -> None:
    sections = found([*BODY, ("h", "SIGNATURES"), ("p", "Pursuant to the requirements …")])
    assert not any("PART II" in text or "SIGNATURES" in text for text in sections.values())


def test_text_before_the_first_item_has_no_section() -> None:
    text, elements = laid_out([("p", "Cover."), *BODY])
    sections = find_sections(document(text), elements, "10-K", None)
    labels = [element.section for element in label_elements(elements, sections)]
    assert labels[:3] == [None, None, "I.1"] and labels[-1] == "II.8"


def test_a_title_on_the_line_below_belongs_to_its_number() -> None:
    text, elements = laid_out([("h", "ITEM 4."), ("h", "MINE SAFETY DISCLOSURES"), ("p", "Not applicable.")])
    (section,) = find_sections(document(text), elements, "10-K", None)
    assert (section.part, section.item, section.title) == ("I", "4", "MINE SAFETY DISCLOSURES")


def test_exhibits_are_item_14_before_2003_and_item_15_after() -> None:
    assert list(found([*BODY, ("h", "Item 14. Exhibits, Financial Statement Schedules"), ("p", "(a)(1)")]))[-1] == ("IV", "14")
    assert list(found([*BODY, ("h", "Item 14. Principal Accountant Fees"), ("p", "x"), ("h", "Item 15. Exhibits"), ("p", "y")]))[-2:] == [
        ("III", "14"), ("IV", "15")]


def test_a_10_ksb_has_a_numbering_of_its_own() -> None:
    blocks = [("h", "Item 6. Management's Plan of Operation"), ("p", FILLER), ("h", "Item 8A. Controls"), ("p", FILLER),
              ("h", "Item 9. Directors"), ("p", "x")]
    assert list(found(blocks, "10-KSB")) == [("II", "6"), ("II", "8A"), ("III", "9")]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [("It is incorporated by reference from our proxy statement.", "It is incorporated by reference from our proxy statement."),
     ("See pages F-1 to F-40.", "See pages F-1 to F-40."), ("None.", None), (FILLER * 3 + "It is incorporated by reference.", None)],
)
def test_stubs_say_what_they_point_to(body: str, pointer: str | None) -> None:
    text, elements = laid_out([("h", "Item 8. Financial Statements"), ("p", body)])
    assert find_sections(document(text), elements, "10-K", None)[0].pointer == pointer


def paged_body(*pages: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [block for page in pages for block in (*page, ("|", ""))]


def test_financial_statements_behind_the_items_have_a_row_of_their_own() -> None:
    items = [("h", "Item 7. Management's Discussion"), ("p", FILLER), ("h", "Item 8. Financial Statements"), ("p", "See pages F-1 to F-9."),
             ("h", "Item 15. Exhibits"), ("p", "31.1"), ("h", "SIGNATURES"), ("p", "/s/ A")]
    behind = [("h", "INDEX TO CONSOLIDATED FINANCIAL STATEMENTS"), ("p", FILLER * 25)]
    sections = found(paged_body(items, behind))
    assert list(sections) == [("II", "7"), ("II", "8"), ("IV", "15"), ("F", "8")]
    assert sections["F", "8"].startswith("INDEX TO") and sections["IV", "15"].endswith("31.1")


def test_financial_statements_in_front_of_item_2_are_item_1_of_a_10_q() -> None:
    blocks = [("p", "Cover."), ("h", "Condensed Consolidated Balance Sheets"), ("p", FILLER * 25), ("h", "Item 2. Management's Discussion"),
              ("p", FILLER), ("h", "Item 4. Controls"), ("p", FILLER), ("h", "PART II"), ("h", "Item 6. Exhibits"), ("p", "31")]
    assert list(found(blocks, "10-Q")) == [("I", "1"), ("I", "2"), ("I", "4"), ("II", "6")]


def test_items_of_a_cross_reference_index_are_found_by_printed_pages() -> None:
    rows = ["Form 10-K Cross-Reference Index | Page(s)", "Part I", "Item 1. | Business | 1-2", "Item 1A. | Risk Factors | 4",
            "Item 1B. | Unresolved Staff Comments | Not applicable", "Item 3. | Legal Proceedings | 4", "Part II",
            "Item 7. | Management's Discussion | 3", "Item 7A. | Market Risk | 5", "Item 8. | Financial Statements | 5-6", "Signatures | 7"]
    pages = [[("p", f"Page {number}. {FILLER}")] for number in range(1, 7)]
    pages[3] += [("h", "LEGAL PROCEEDINGS"), ("p", "One claim of 77.")]
    text, elements = laid_out(paged_body(*pages, [("t", "\n".join(rows))]))
    elements = [replace(element, page_label=str(element.page)) for element in elements]
    sections = find_sections(document(text), elements, "10-K", None)
    bodies = {(s.part, s.item): text[s.start : s.end] for s in sections}
    assert list(bodies) == [("I", "1"), ("II", "7"), ("I", "1A"), ("I", "3"), ("II", "8"), ("II", "7A")]
    assert bodies["I", "1"].startswith("Page 1.") and "Page 2." in bodies["I", "1"] and "Page 3." not in bodies["I", "1"]
    assert "77" in bodies["I", "3"] and "77" not in bodies["I", "1A"]
    assert {s.item for s in sections if s.found == "index"} == {"1", "7", "1A", "3"}
    assert {s.item for s in sections if s.found == "combined"} == {"8", "7A"}


# ---- 10-Q, 8-K, exhibits


def test_the_same_number_in_both_parts_of_a_10_q() -> None:
    blocks = [("h", "PART I"), ("h", "Item 1. Financial Statements"), ("p", FILLER), ("h", "Item 2. Management's Discussion"),
              ("p", FILLER), ("h", "PART II"), ("h", "Item 1. Legal Proceedings"), ("p", "None."), ("h", "Item 2. Unregistered Sales"),
              ("p", "None."), ("h", "Item 6."), ("p", "31.1")]
    assert list(found(blocks, "10-Q")) == [("I", "1"), ("I", "2"), ("II", "1"), ("II", "2"), ("II", "6")]
    without_parts = [block for block in blocks if not block[1].startswith("PART")]
    assert list(found(without_parts, "10-Q")) == [("I", "1"), ("I", "2"), ("II", "1"), ("II", "2"), ("II", "6")]


def test_8_k_numbers_go_by_the_date() -> None:
    blocks = [("h", "Item 5. Other Events"), ("p", "We bought a mill."), ("h", "Item 7. Exhibits"), ("p", "2.1")]
    assert list(found(blocks, "8-K", date(2001, 6, 12))) == [("", "5"), ("", "7")]
    assert list(found(blocks, "8-K", date(2005, 6, 12))) == []
    assert list(found(blocks, "8-K")) == [("", "5"), ("", "7")]
    new = [("h", "Item 5.02. Departure"), ("p", "A director left, see Item 401(b)."), ("h", "A bold line"), ("p", "250"),
           ("h", "Item 9.01 Exhibits"), ("p", "99")]
    assert list(found(new, "8-K")) == [("", "5.02"), ("", "9.01")]
    assert found(new, "8-K")["", "5.02"].endswith("250")


def test_a_number_that_comes_again_in_a_combined_heading_is_counted_once() -> None:
    sections = found([("h", "Item 7.01. Regulation FD"), ("p", "A."), ("h", "Items 7.01 and 8.01."), ("p", "B.")], "8-K")
    assert sections["", "8.01"].endswith("B.") and sections["", "7.01"].endswith("A.")


def test_an_exhibit_is_one_section() -> None:
    text, elements = laid_out([("h", "Acme reports results"), ("p", "Item 1. of the release")])
    (section,) = find_sections(document(text, "EX-99.1"), elements, "8-K", None)
    assert (section.part, section.item, section.title, section.start, section.end) == ("", "EX-99.1", "Acme reports results", 0, len(text))
    assert label_elements(elements, [section])[1].section == "EX-99.1"


def test_a_form_without_items_has_no_sections() -> None:
    assert found(BODY, "DEF 14A") == {}
    assert found([], "10-K") == {}


# ---- real filings


REAL = ["aapl-2025-03-29-10-q.htm.gz", "0001437749-16-028287.8-k.htm.gz", "verizoncommu-2008-12-31-10-k.htm.gz"]


@pytest.mark.parametrize("name", REAL)
def test_real_filings_have_the_items_that_a_reader_finds(shared: Path, name: str) -> None:
    rows = map(json.loads, (shared / "sections_dev.jsonl").read_text(encoding="utf-8").splitlines())
    truth = next(row for row in rows if row["file"] == name)
    text, sections, elements = of_file(shared, f"filings/dev/{name}", truth["form"])
    keys = {(s.part, s.item) for s in sections}
    assert {(p, i) for p, i in truth["present"]} <= keys
    assert not keys & {(p, i) for p, i in truth["absent"]}
    assert all(first.end <= second.start for first, second in zip(sections, sections[1:], strict=False) if first.found == "heading")
    assert all(text[s.start : s.end] == text[s.start : s.end].strip() for s in sections)


# ---- properties

EXTRA = [("t", "\n".join(ROWS)), ("p", "Item 7, as said"), ("h", "SIGNATURES"), ("h", "Items 1 and 2."), ("|", "")]
BLOCKS = st.lists(st.sampled_from([*BODY, *EXTRA]), max_size=30)


@settings(deadline=None)  # machines differ
@given(BLOCKS, st.sampled_from(["10-K", "10-Q", "8-K", "10-KSB", "10-K/A"]))
def test_sections_never_overlap_but_where_combined(blocks: list[tuple[str, str]], form: str) -> None:
    text, elements = laid_out(blocks)
    sections = find_sections(document(text, form), elements, form, None)
    ranges = sorted({(s.start, s.end) for s in sections})
    assert all(0 <= start < end <= len(text) for start, end in ranges)
    assert all(first[1] <= second[0] for first, second in zip(ranges, ranges[1:], strict=False))
    assert len({(s.part, s.item) for s in sections}) == len(sections)
    shared_starts = {s.start for s in sections if s.found == "combined"}
    assert len({s.start for s in sections} | shared_starts) == len(ranges)
