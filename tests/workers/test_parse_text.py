"""The plain-text parser: paragraphs, headings, pages, tables, and that no word is lost."""

from __future__ import annotations

import gzip
import json
import re
import string
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgarmill.schemas.errors import NoText
from edgarmill.workers.parse.columns import is_columnar, is_rule, without_leaders
from edgarmill.workers.parse.hyphens import mended
from edgarmill.workers.parse.parsed import Parsed, RawDocument
from edgarmill.workers.parse.text import parse
from edgarmill.workers.submission import is_submission, read_submission


def parsed(text: str | bytes) -> Parsed:
    return parse(RawDocument(1, "10-K", "a.txt", text if isinstance(text, bytes) else text.encode(), "text"))


def blocks(text: str) -> list[tuple[str, str]]:
    result = parsed(text)
    return [(block.kind, result.text[block.start : block.end]) for block in result.blocks]


def rows(text: str) -> list[list[str]]:
    grids = [json.loads(block.grid) for block in parsed(text).blocks if block.grid]
    assert len(grids) == 1
    return grids[0]["rows"]  # type: ignore[no-any-return]


def test_hard_wraps_are_joined_and_first_line_indents_begin_paragraphs() -> None:
    text = """
   The company sells power to homes in three states and it has done so for more
than forty years without any interruption.
   In 1996 the company bought a second plant, which stands beside the first one
and serves the same homes.
"""
    assert [kind for kind, _ in blocks(text)] == ["paragraph", "paragraph"]
    assert blocks(text)[1][1].startswith("In 1996 the company bought a second plant, which stands beside the first one and")


def test_words_broken_at_the_end_of_a_line() -> None:
    words = frozenset({"long-lived"})
    assert mended("the manage-", "ment", words) == "the management"
    assert mended("a long-", "term debt", words) == "a long-term debt"
    assert mended("its long-", "lived assets", words) == "its long-lived assets"
    assert mended("Regulation S-", "K", words) == "Regulation S-K"
    assert mended("Form 10-", "K", words) == "Form 10-K"


def test_headings_by_item_capitals_underline_and_place() -> None:
    text = """
                                  PART II

Item 7.  Management's Discussion
The sales rose by a third since the plant that we bought in 1995 ran all year.

Liquidity
---------

Cash was enough.

                          Year 2000 Readiness

We are ready, and have been ready for some time, as have all of those who sell to us and
all of those who buy from us.

Backlog

Orders on hand at the end of the year were worth more than they have been at any time since
the company was founded.
"""
    found = blocks(text)
    headings = [body for kind, body in found if kind == "heading"]
    assert headings == ["PART II", "Item 7. Management's Discussion", "Liquidity", "Year 2000 Readiness", "Backlog"]


def test_an_item_named_in_a_sentence_is_no_heading() -> None:
    text = """
The statements should be read together with the discussion of results in
Item 7 of this report, which speaks of the plant.
"""
    assert [kind for kind, _ in blocks(text)] == ["paragraph"]


def test_pages_come_from_page_marks_and_form_feeds_and_their_numbers_are_labels() -> None:
    result = parsed("First page.\n\n<PAGE>                 12\n\nSecond page.\n\fThird page.\n")
    assert [(b.page, b.page_label) for b in result.blocks] == [(1, None), (2, "12"), (3, None)]
    assert result.text == "First page.\n\nSecond page.\n\nThird page."


def test_running_page_numbers_are_left_out_and_a_running_head_is_kept_once() -> None:
    pages = "\n<PAGE>\n".join(f"ACME CORP\n\nSentence number {word}.\n\n                 -{i}-\n"
                              for i, word in enumerate(("one", "two", "three", "four"), 1))
    assert [body for _, body in blocks(pages)] == ["ACME CORP", *(f"Sentence number {word}." for word in ("one", "two", "three", "four"))]


def test_a_marked_table_becomes_a_grid_with_its_unit_and_notes() -> None:
    text = """
<TABLE>
<CAPTION>
                                        Year ended June 30,
                                   -----------------------------
                                     1996     1995       1994
                                   -------  ---------   -------
                                        (In thousands)
<S>                                <C>      <C>         <C>
Net sales......................... $ 752    $  (454)    $   --
Cost of goods sold and
  occupancy expenses..............   611        402         288
                                   =====    =======     =======
</TABLE>
<FN>
(1) Restated.
</FN>
"""
    result = parsed(text)
    grid = json.loads(result.blocks[0].grid or "")
    assert grid["rows"][-2:] == [["Net sales", "$752", "$(454)", "$--"], ["Cost of goods sold and occupancy expenses", "611", "402", "288"]]
    assert grid["rows"][1] == ["", "1996", "1995", "1994"]
    assert (grid["header_rows"], grid["unit"]) == (3, "In thousands")
    assert result.blocks[1].kind == "footnote"


def test_a_table_without_marks_is_found() -> None:
    text = """
The figures of the last two years follow.

                                 1996          1995
                              ----------    ----------
Sales                         $  1,234      $  1,100
Cost of sales                      900           850
                              ----------    ----------
Gross margin                  $    334      $    250

They speak for themselves.
"""
    assert rows(text) == [["", "1996", "1995"], ["Sales", "$1,234", "$1,100"], ["Cost of sales", "900", "850"],
                          ["Gross margin", "$334", "$250"]]
    assert [kind for kind, _ in blocks(text)] == ["paragraph", "table", "paragraph"]


def test_prose_inside_table_marks_stays_prose() -> None:
    text = "<TABLE>\nThe company has two plants, and each of them stands in a state of its own choice.\nOne more follows.\n</TABLE>\n"
    assert [kind for kind, _ in blocks(text)] == ["paragraph"]


def test_a_table_without_its_closing_mark_ends_at_the_page() -> None:
    text = "<TABLE>\n<S>      <C>\nSales      1\nCosts      2\n<PAGE>\nThe next page has a sentence of its own.\n"
    assert [kind for kind, _ in blocks(text)] == ["table", "paragraph"]


def test_less_than_signs_and_ampersands_are_text() -> None:
    assert blocks("Growth less than <5% at AT&T and R&amp;D.")[0][1] == "Growth less than <5% at AT&T and R&D."


def test_two_columns_of_prose_are_read_one_after_the_other() -> None:
    left = "The company was founded by two sisters who had learned to weave at home and sold their cloth from a cart in the town. "
    right = "Today it runs nine mills in three states and employs more people than any other firm of its kind as it has done for long. "
    halves = [[" ".join(w) for w in _wrapped(side, 34)] for side in (left * 3, right * 3)]
    text = "\n".join(f"{a:<38}{b}" for a, b in zip(*halves, strict=False))
    result = parsed(text).text
    assert "learned to weave at home and sold" in result and "nine mills in three states and employs more" in result


def _wrapped(text: str, width: int) -> list[list[str]]:
    lines: list[list[str]] = [[]]
    for word in text.split():
        if sum(map(len, lines[-1])) + len(lines[-1]) + len(word) > width:
            lines.append([])
        lines[-1].append(word)
    return lines


def test_plain_text_wrapped_into_html_pre() -> None:
    data = b"<html><head><title></title></head><pre>\nItem 1.  Business\n\nWe sell R&amp;D.\n" + b"More of it.\n" * 30 + b"</pre></html>"
    result = parsed(data)
    assert result.text.startswith("Item 1. Business\n\nWe sell R&D.")


def test_windows_letters_survive() -> None:
    result = parsed("The company\x92s plant costs 5\xa2.".encode("latin-1"))
    assert (result.text, result.encoding) == ("The company’s plant costs 5¢.", "cp1252")


@pytest.mark.parametrize("data", [b"", b" \n\f\n", b"<PAGE>\n------\n"])
def test_nothing_to_read_is_no_text(data: bytes) -> None:
    with pytest.raises(NoText):
        parsed(data)


@pytest.mark.parametrize(("line", "rule"), [
    ("-----  -----", True), ("  ====", True), ("--", False), ("--   --", False), ("a ---", False), ("", False),
])
def test_what_is_a_rule(line: str, rule: bool) -> None:
    assert is_rule(line) is rule


def test_leaders_go_and_all_else_keeps_its_place() -> None:
    assert without_leaders("Sales......  5") == "Sales        5"
    assert without_leaders("e.g. 5.5 percent...") == "e.g. 5.5 percent   "


@pytest.mark.parametrize(("line", "columnar"), [
    ("Sales           $ 1,234     $ 1,100", True), ("Sales  5", False), ("Sales.........5", True), ("The  year  1996", False),
    ("Total             --", True), ("a sentence that ends in 1996", False),
])
def test_what_is_columnar(line: str, columnar: bool) -> None:
    assert is_columnar(line) is columnar


WORDS = st.lists(st.text(string.ascii_letters, min_size=3, max_size=9), min_size=1, max_size=9)
ROW = st.tuples(WORDS.map(" ".join), st.integers(1000, 99999)).map(lambda t: f"{t[0]}        {t[1]:,}")
LINES = st.lists(st.one_of(WORDS.map(" ".join), WORDS.map("   ".join), ROW, st.sampled_from(["", "<PAGE>", "<TABLE>", "</TABLE>"])),
                 max_size=30)


@given(LINES)
@settings(max_examples=120, deadline=None)
def test_no_word_is_lost_and_ranges_slice_the_text(lines: list[str]) -> None:
    source = "\n".join(lines)
    words = re.findall(r"[A-Za-z]{3,}|\d[\d,]+", re.sub(r"</?(?:PAGE|TABLE)>", " ", source))
    try:
        result = parsed(source)
    except NoText:
        assert not words
        return
    lost = Counter(words) - Counter(re.findall(r"[A-Za-z]{3,}|\d[\d,]+", result.text))
    running_heads = " ".join(line for line in lines if lines.count(line) >= 3)  # a line at the edge of three pages
    assert set(lost) <= set(running_heads.split())
    at = 0
    for block in result.blocks:
        assert block.start == at and result.text[block.start : block.end].strip()
        at = block.end + 2


@given(st.binary(max_size=600))
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_parsed_or_are_no_text(data: bytes) -> None:
    try:
        parsed(data)
    except NoText:
        pass


@pytest.mark.parametrize("line", [
    "- " * 20_000, " " * 40_000 + "x", "." * 40_000, ". " * 20_000 + "x", "a  " * 13_000 + "5", "(" * 40_000, "-=" * 20_000 + "x",
    "<" * 40_000, "1 " * 20_000, "$ " * 20_000 + "x", "_" * 39_999 + "a" + "_" * 40_000, "----  " * 6_000 + "x",
])
def test_a_hostile_line_ends(line: str) -> None:
    parsed("A sentence.\n" + (line + "\n") * 3)


def test_the_plain_text_table_of_the_cases(shared: Path) -> None:
    data = next((shared / "cases").glob("22-*")).joinpath("input.txt").read_bytes()
    result = parsed(data)
    grid = next(json.loads(block.grid) for block in result.blocks if block.grid)
    assert [row for row in grid["rows"] if row[0]] == [
        ["Net sales", "$752,257", "$454,707", "$300,000"],
        ["Cost of goods sold and occupancy expenses", "611,400", "402,150", "288,010"],
        ["Net earnings (loss)", "(26,509)", "--", "1,204"], ["Growth less than <5%", "yes", "no", "yes"]]
    assert grid["unit"].lower() == "dollars in thousands"
    assert result.text.endswith("(1) Restated.\n\nThe management of the long-term debt held 41 plants in three states.")


def test_the_old_8ks_of_the_cases(shared: Path) -> None:
    folder = next((shared / "cases").glob("14-*"))
    newer, older = (parsed((folder / name).read_bytes()) for name in ("input.txt", "older.txt"))
    items = [[p.text[b.start : b.end][:6] for b in p.blocks if b.kind == "heading" and b.level == 2] for p in (newer, older)]
    assert items == [["Item 4", "Items ", "Item 9"], ["Item 5", "ITEM 7"]]
    assert [b.page for b in newer.blocks if "99.1" in newer.text[b.start : b.end]] == [2]


@pytest.mark.parametrize("name", [
    "0000320193-95-000016.10-k.txt.gz", "0000950135-01-000920.10-k405.txt.gz", "0000774352-01-000002.8-k.txt.gz",
])
def test_real_filings_keep_their_numbers(shared: Path, name: str) -> None:
    data = gzip.decompress((shared / "filings" / "dev" / name).read_bytes())
    assert is_submission(data)
    result = parse(read_submission(data).documents[0])
    assert result.warnings == ()
    assert result.numbers_in is not None and result.numbers_in > 5
