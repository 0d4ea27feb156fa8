"""Page furniture goes, what pages say once or each anew stays; and paragraphs and bullets that were set in pieces."""

from __future__ import annotations

import json

import pytest

from edgarmill.workers.parse import html
from edgarmill.workers.parse.parsed import Parsed, RawDocument

BREAK = '<hr style="page-break-after:always">'
BODY = "<p>The company made many things in {} and sold them all in the same year.</p>"


def parsed(pages: list[str]) -> Parsed:
    return html.parse(RawDocument(1, "10-K", "a.htm", f"<html><body>{BREAK.join(pages)}</body></html>".encode(), "html"))


def page(number: int, head: str = "", foot: str = "") -> str:
    return f"{head}{BODY.format(1000 + number)}{BODY.format(2000 + number)}{foot}"


@pytest.mark.parametrize("foot", ["{}", "- {} -", "Acme Corp. | 2024 Form 10-K | {}", "{} Acme Corp.", "Page {} of 90"])
def test_page_numbers_go_and_stay_as_labels(foot: str) -> None:
    result = parsed([page(n, foot=f"<p>{foot.format(n + 20)}</p>") for n in range(9)])
    assert len(result.furniture) == 9
    assert {block.page_label for block in result.blocks} == {str(n + 20) for n in range(9)}


@pytest.mark.parametrize("line", ["Not applicable.", "None.", "[Reserved]", "Item 1B. Not applicable."])
def test_a_body_of_one_word_is_no_running_head(line: str) -> None:
    assert parsed([page(n, foot=f"<p>{line}</p>") for n in range(6)]).text.count(line) == 6


def test_headings_with_a_count_of_their_own_are_no_page_numbers() -> None:
    text = parsed([page(n, head=f"<p>NOTE {n + 1}</p>") for n in range(8)]).text
    assert all(f"NOTE {n + 1}" in text for n in range(8))


def test_dates_that_go_on_by_a_day_a_page_stay() -> None:
    text = parsed([page(n, foot=f"<p>July {n + 10}, 2024</p>") for n in range(8)]).text
    assert all(f"July {n + 10}, 2024" in text for n in range(8))


def test_a_running_title_stands_once() -> None:
    text = parsed([page(n, head="<p><b>NOTES TO FINANCIAL STATEMENTS</b></p>") for n in range(8)]).text
    assert text.count("NOTES TO FINANCIAL STATEMENTS") == 1


def test_a_note_that_pages_repeat_stands_once() -> None:
    foot = '<div style="position:absolute;bottom:0"><p>* Not a measure of GAAP</p></div>'
    assert parsed([page(n, foot=foot) for n in range(6)]).text.count("Not a measure of GAAP") == 1


def test_far_repetitions_are_content() -> None:
    pages = [page(n, foot="<p>Six months compared to the six months before</p>" if n % 6 == 0 else "") for n in range(30)]
    assert parsed(pages).text.count("Six months compared") == 5


def test_a_misprinted_number_at_the_foot_goes_where_the_others_are_numbers() -> None:
    result = parsed([page(n, foot=f"<p>{430 if n == 4 else n + 26}</p>") for n in range(9)])
    assert "430" in result.furniture and "430" not in result.text


def test_the_unit_at_the_foot_of_each_page_is_the_unit_of_its_tables() -> None:
    table = "<table><tr><td></td><td>2024</td><td>2023</td></tr><tr><td>Sales</td><td>7</td><td>8</td></tr></table>"
    foot = "<p>Amounts in millions of dollars except per share amounts.</p>"
    result = parsed([page(n) + table + BODY.format(n) + foot for n in range(12)])
    grids = [json.loads(block.grid) for block in result.blocks if block.grid]
    assert len(grids) == 12 and {grid["unit"] for grid in grids} == {"Amounts in millions of dollars except per share amounts."}
    assert "Amounts in millions" not in result.text


def test_lines_set_as_blocks_are_one_paragraph() -> None:
    lines = ["We enter into swaps to hedge the effects of interest rate and currency changes on debt",
             "it has issued. Hedges that are not designated as such serve the same economic purpose as the",
             "Company’s other hedges do."]
    assert parsed(["".join(f"<div><span>{line}</span></div>" for line in lines)]).text == " ".join(lines)


def test_items_of_a_list_stay_apart() -> None:
    lines = ["Level 2 – inputs other than quoted prices that are observable for the asset or liability; and",
             "Level 3 – inputs that are not observable and that the company thinks others would use."]
    assert parsed(["".join(f"<p>{line}</p>" for line in lines)]).text.split("\n\n") == lines


def test_a_bullet_in_a_block_of_its_own_stands_before_its_text() -> None:
    text = parsed(["<div>•</div><div>original makers of computers</div><div>(ii)</div><div>Provide assurance</div>"]).text
    assert text.split("\n\n") == ["• original makers of computers", "(ii) Provide assurance"]


def test_a_bullet_beside_its_text_keeps_a_gap() -> None:
    assert parsed(['<div><span style="display:inline-flex">•</span><div style="display:inline">our hope</div></div>']).text == "• our hope"
