"""The PDF parser on PDFs written here by hand: text, tables, pages, scans, damage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pdf_bytes import pdf

from edgarmill.schemas.errors import BadFile, NoText, UnknownName
from edgarmill.workers.parse import engine_for
from edgarmill.workers.parse import pdf as module
from edgarmill.workers.parse.figures import cells, figure_rows
from edgarmill.workers.parse.parsed import RawDocument
from edgarmill.workers.parse.pdf import ENGINE, OCR, _joined, _Line, _pieces, _units, first_lines, image_pages, listed, parse


def raw(data: bytes) -> RawDocument:
    return RawDocument(1, "10-K", "a.pdf", data, "pdf")


PAGE_1 = [("*Item 7. Discussion and Analysis", 740), ("Sales rose because the company sold more power to homes and to the indus-", 700),
          ("try of three states than ever before, which we expect to go on.", 688), ("A second paragraph stands below a wider gap.", 650)]
PAGE_2 = [("Net sales $ 752,257 $ 454,707", 700), ("Cost of goods sold (611,400) (402,150)", 688), ("Other - 12", 676), ("2", 40)]


def test_paragraphs_headings_and_tables_with_their_pages() -> None:
    parsed = parse(raw(pdf(PAGE_1, PAGE_2)))
    assert [(b.kind, b.page) for b in parsed.blocks][:4] == [("heading", 1), ("paragraph", 1), ("paragraph", 1), ("table", 2)]
    texts = [parsed.text[b.start : b.end] for b in parsed.blocks]
    assert texts[1] == ("Sales rose because the company sold more power to homes and to the industry of three states than ever before, "
                        "which we expect to go on.")
    assert json.loads(parsed.blocks[3].grid or "")["rows"] == [
        ["Net sales", "$752,257", "$454,707"], ["Cost of goods sold", "(611,400)", "(402,150)"], ["Other", "-", "12"]]
    assert (parsed.pages, parsed.engine) == (2, ENGINE)


IMAGE = "q 500 0 0 700 50 40 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x7f EI Q"


def test_a_page_that_is_an_image_keeps_its_number_and_is_named() -> None:
    parsed = parse(raw(pdf(PAGE_1, IMAGE, PAGE_2)))
    assert parsed.pages == 3
    assert [b.page for b in parsed.blocks if b.kind == "table"] == [3]
    assert parsed.warnings == (f"an image without a text layer {OCR}: page 2",)


def test_a_blank_page_counts_and_is_no_image() -> None:
    parsed = parse(raw(pdf([], PAGE_2, IMAGE)))
    assert (parsed.pages, parsed.warnings) == (3, (f"an image without a text layer {OCR}: page 3",))
    assert image_pages(pdf([], PAGE_2, IMAGE), "") == (3, [3])
    with pytest.raises(NoText, match="all of 2 pages are blank"):
        parse(raw(pdf([], [])))


def test_a_scan_is_no_text_and_points_to_ocr() -> None:
    with pytest.raises(NoText, match="none of 2 pages has a text layer") as caught:
        parse(raw(pdf(IMAGE, IMAGE)))
    assert 'engine = "unstructured"' in caught.value.todo


@pytest.mark.parametrize(("numbers", "said"), [
    ([2], "page 2"), ([2, 5, 6, 7], "pages 2, 5-7"), ([*range(1, 60, 2)], ", ".join(map(str, range(1, 40, 2)))),
])
def test_page_numbers_are_told_as_ranges(numbers: list[int], said: str) -> None:
    assert said in listed(numbers)
    assert listed(numbers).endswith("and more, 30 in all") == (len(numbers) == 30)


@pytest.mark.parametrize("data", [b"%PDF-1.4 and nothing", b"", pdf(PAGE_1)[:60]])
def test_a_damaged_pdf_is_a_bad_file(data: bytes) -> None:
    with pytest.raises(BadFile, match="damaged"):
        parse(raw(data))


def test_an_encrypted_pdf_is_a_bad_file() -> None:
    keys = b"/O (" + b"o" * 32 + b") /U (" + b"u" * 32 + b")"
    locked = pdf(PAGE_2).replace(b"/Root 1 0 R", b"/Root 1 0 R /Encrypt << /Filter /Standard /V 1 /R 2 " + keys + b" /P -44 >> /ID [(a)]")
    with pytest.raises(BadFile, match="encrypted"):
        parse(raw(locked))


def test_the_first_lines_serve_as_a_cover() -> None:
    assert first_lines(pdf(PAGE_1, PAGE_2))[0] == "Item 7. Discussion and Analysis"


@pytest.mark.parametrize(("line", "row"), [
    ("Cash $ 2,853 $ 3,053", ["Cash", "$2,853", "$3,053"]), ("Loss ( 48 ) (16,135)", ["Loss", "(48)", "(16,135)"]),
    ("Margin 12.5 % 11 %", ["Margin", "12.5%", "11%"]), ("in 2019, 2018 and 2017", []), ("Note 12", []),
    ("2018 2017", ["", "2018", "2017"]),
    ("Total debt (Note 12) $ 14,622 $ 1,211", ["Total debt (Note 12)", "$14,622", "$1,211"]),
    ("Total (Notes 3 and 4) (12) 13", ["Total (Notes 3 and 4)", "(12)", "13"]),
])
def test_a_row_of_figures_is_a_label_and_cells(line: str, row: list[str]) -> None:
    assert cells(line) == row


def test_rows_of_figures_take_no_time_on_a_hostile_line() -> None:
    assert list(figure_rows(["- 5 " * 99 + "x", "$ ( " * 99 + "x"])) == []


def test_an_unknown_engine_and_an_unknown_media_are_told() -> None:
    with pytest.raises(UnknownName, match="native, unstructured"):
        engine_for("html", "magic")
    with pytest.raises(BadFile):
        engine_for("zip", "native")


def test_a_real_8k_keeps_its_words(shared: Path) -> None:
    data = next((shared / "financebench" / "pdfs").glob("FOOTLOCKER_2022_8K*")).read_bytes()
    parsed = parse(raw(data))
    assert parsed.warnings == ()
    assert "Foot Locker" in parsed.text and all(block.page <= parsed.pages for block in parsed.blocks)


def set_apart(*pieces: tuple[str, float, float], y: float = 700.0) -> list[_Line]:
    """Pieces of one line, (text, left, right), as pdfium gives them where it ends a line behind each."""
    return [_Line(text, left, right, y, 10.0, False) for text, left, right in pieces]


@pytest.mark.parametrize(("pieces", "text"), [
    ([("UNITED", 0, 40), ("STATES", 42, 80)], "UNITED STATES"),
    ([("Ta", 0, 10), ("b", 10, 15), ("l", 15, 17), ("e", 17, 22), ("o", 24.5, 29), ("f", 29, 32)], "Table of"),
    ([("A", 0, 7), ("RT", 7, 20), ("I", 20, 23), ("CLE", 23, 40)], "ARTICLE"),
    ([("except", 0, 30), ("for", 30.4, 42)], "except for"),  # words in italics nearly touch
    ([("Net revenue", 0, 60), ("1,708", 200, 225), ("1,267", 260, 285)], "Net revenue 1,708 1,267"),
])
def test_pieces_side_by_side_are_the_line_they_are(pieces: list[tuple[str, float, float]], text: str) -> None:
    [line] = _joined(set_apart(*pieces))
    assert (line.text, line.left, line.right) == (text, pieces[0][1], pieces[-1][2])


def test_lines_below_each_other_and_what_begins_again_at_the_left_stay_apart() -> None:
    lines = [*set_apart(("one", 0, 20)), *set_apart(("two", 22, 40), y=688.0), *set_apart(("three", 0, 20), y=688.0)]
    assert _joined(lines) == lines


class SetPage:
    """A page as pdfium reads it: a text, and where each of its characters stands, ten high."""

    def __init__(self, *lines: tuple[str, float]) -> None:
        self.text = _units("".join(text for text, _ in lines))
        self.places = [(5.0 * n, y) for text, y in lines for n in range(len(_units(text)))]

    def get_charbox(self, index: int, loose: bool) -> tuple[float, float, float, float]:
        left, bottom = self.places[index]
        return left, bottom, left + 5, bottom + 10


def test_what_runs_down_the_page_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_character", lambda page, index: index)
    monkeypatch.setattr(module, "_is_bold", lambda page, index: False)
    page = SetPage(*((letter, 700.0 - 12 * n) for n, letter in enumerate("Annual report")))
    assert [piece.text for piece in _pieces(page, [page.text])] == ["Annual report"]


@pytest.mark.parametrize(("lines", "read"), [
    ([("owners. ", 700), ("AVAILABLE INFORMATION", 680)], ["owners.", "AVAILABLE INFORMATION"]),
    ([("been anti\ufffe", 700), ("dilutive in 2022", 688)], ["been anti\ufffedilutive in 2022"]),  # a hyphen at the end of a line
    ([("see note", 700), ("1", 704), (" below", 700)], ["see note1 below"]),  # a raised sign
    ([("• one; ", 700), ("• two; ", 688), ("• three", 676)], ["• one;", "• two;", "• three"]),
    ([("call \U0001f4de or write \U0001d400 to us. ", 700), ("FOR MORE", 680)], ["call \U0001f4de or write \U0001d400 to us.", "FOR MORE"]),
])
def test_a_part_that_reaches_over_lines_is_cut_where_they_end(lines: list[tuple[str, float]], read: list[str],
                                                              monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_character", lambda page, index: index)
    monkeypatch.setattr(module, "_is_bold", lambda page, index: False)
    page = SetPage(*lines)
    assert [piece.text for piece in _pieces(page, [page.text])] == read


def test_an_item_under_the_heading_of_its_part_is_a_heading_of_its_own() -> None:
    page = [("Part I. FINANCIAL INFORMATION", 760), ("Item 1. Financial Statements", 748),
            ("A first line of text that reaches to the edge of the page", 700)]
    text = parse(raw(pdf(page))).text
    assert "INFORMATION\n\nItem 1. Financial Statements\n" in text
