"""The HTML parser: one small input for each trap, the hard cases of invented companies, and properties over generated markup."""

from __future__ import annotations

import html as references
import json
import re
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgarmill.schemas.errors import BadFile, BadInput, NoText, TooLarge
from edgarmill.workers.parse import html, markup, stream
from edgarmill.workers.parse.html import parse, visible_text
from edgarmill.workers.parse.parsed import Block, Parsed, RawDocument

BREAK = '<hr style="page-break-after:always">'


def parsed(source: str | bytes) -> Parsed:
    data = source if isinstance(source, bytes) else source.encode("ascii", "xmlcharrefreplace")
    return parse(RawDocument(1, "10-K", "a.htm", data, "html"))


def texts(source: str | bytes) -> list[str]:
    result = parsed(source)
    return [result.text[block.start : block.end] for block in result.blocks]


def kinds(source: str) -> list[tuple[str, str]]:
    result = parsed(source)
    return [(block.kind, result.text[block.start : block.end]) for block in result.blocks]


def grids(result: Parsed) -> list[dict[str, object]]:
    return [json.loads(block.grid) for block in result.blocks if block.grid]


# ---- text


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("<p>of $<b>95.2</b> billion</p>", ["of $95.2 billion"]),
        ("<p><font size=5>R</font><font size=2>ISK</font> F<font>ACTORS</font></p>", ["RISK FACTORS"]),
        ("<p>Stock</span><span>holders\n  of &nbsp; record</p>", ["Stockholders of record"]),
        ("<p>net&shy;work &#8203;re&#8288;venue &#64257;nancial</p>", ["network revenue financial"]),
        ("<p>company&#146;s &#147;x&#148; &#150; 4&frac12; 10&sup2;</p>", ["company’s “x” – 4½ 10²"]),
        ("<p>AT&T, R&D and S&amp;P</p>", ["AT&T, R&D and S&P"]),
        ("<div>one<div>two</div>three</div>four", ["one", "two", "three", "four"]),
        ("<p>one<br>two<br><br>three</p>", ["one\ntwo", "three"]),
        ("<a name=x><p>in a link</p><table><tr><td>5<td>6<tr><td>7<td>8</table>", ["in a link", "5 | 6\n7 | 8"]),
        ("<p>Item 1.<span style='padding-left:24pt'>Business</span></p>", ["Item 1. Business"]),
        ("<p>1,234<sup>1</sup> and Acme<sup>TM</sup></p>", ["1,234 1 and AcmeTM"]),
        ("<p><font face=Wingdings>&#254;</font> Yes <span style='font-family:Wingdings'>o</span> No</p>", ["☒ Yes ☐ No"]),
        ("<p>before</p><html><body><p>first</p></body></html><html><body><p>second</p></body></html>", ["before", "first", "second"]),
        ("<p>a</p><![CDATA[kept 7]]><p>b</p>", ["a", "kept 7", "b"]),
        ("<p>first<!--DOCTYPE HTML PUBLIC -//W3C>", ["first"]),
        ("<p>less than <5% of x</p>", ["less than <5% of x"]),
        ("plain words without any tag 12", ["plain words without any tag 12"]),
        ("<pre>one  line\n  two</pre>", ["one  line\n  two"]),
    ],
)
def test_text_is_what_a_reader_sees(source: str, wanted: list[str]) -> None:
    assert texts(source) == wanted


@pytest.mark.parametrize(
    "hidden",
    [
        '<div style="display:none">SECRET</div>',
        '<DIV STYLE="DISPLAY: None ;">SECRET</DIV>',
        '<div style="x:1;display:none!important"><p>SECRET</p></div>',
        "<ix:header><ix:hidden>SECRET</ix:hidden></ix:header>",
        "<ix1:HEADER>SECRET</ix1:HEADER>",
        '<span style="visibility:hidden">SECRET</span>',
        '<span style="font-size:0pt">SECRET</span>',
        '<span style="color:#FFFFFF">SECRET</span>',
        "<script>SECRET</script><style>SECRET</style>",
        "<p hidden>SECRET</p>",
        "<!-- SECRET --><?xml SECRET?>",
    ],
)
def test_hidden_text_is_no_text_but_what_follows_is(hidden: str) -> None:
    source = f"<body><p>shown{hidden} after 5</p><p>last</p>"
    assert "SECRET" not in parsed(source).text + visible_text(source.encode())
    assert "after 5" in parsed(source).text and "last" in parsed(source).text


def test_white_letters_on_a_dark_ground_are_visible() -> None:
    assert texts('<table><tr style="background-color:#003366"><td><b style="color:white">Year</b></td></tr></table>') == ["Year"]


def test_self_closed_nil_facts_swallow_nothing() -> None:
    assert texts('<p>x <ix:nonFraction name="a:b" xsi:nil="true"/> after nil</p><p>next</p>') == ["x after nil", "next"]


def test_an_embedded_image_does_not_empty_the_document() -> None:
    image = b"<img src='data:image/png;base64," + b"A" * 12_000_000 + b"'>"
    assert texts(b"<p>before</p>" + image + b"<p>after</p>") == ["before", "after"]


def test_bytes_that_are_not_utf8_are_windows_1252() -> None:
    result = parsed("<p>caf\u00e9 \u201cq\u201d \u20ac</p>".encode("cp1252"))
    assert (result.text, result.encoding) == ("café “q” €", "iso-8859-1")
    assert parsed("<?xml version='1.0' encoding='ASCII'?><p>café €</p>".encode()).text == "café €"
    assert parsed("<p>é €</p>".encode("utf-16")).text == "é €"


def test_what_is_hidden_ends_with_its_own_end_and_not_with_that_of_an_inner_element() -> None:
    hidden = '<div style="display:none"><div>one<div>two</div></div><div/>SECRET</div>'
    for seen in ("<p>Seen.</p>", "<p>Seen.<b><i></b></i></p>"):  # the second does not nest
        assert texts(hidden + seen) == ["Seen."]


# ---- bad input


@pytest.mark.parametrize(
    ("data", "error"),
    [(b"", BadFile), (b" \n\0", BadFile), (b"\0" * 500, BadFile), (b"<html></html>", NoText), (b"<body><img src=a.jpg></body>", NoText),
     (b"<!-- only a comment", NoText), (b"<div style='display:none'>x</div>", NoText)],
)
def test_input_without_text_is_a_typed_error(data: bytes, error: type[BadInput]) -> None:
    with pytest.raises(error) as caught:
        parsed(data)
    assert caught.value.todo


def test_a_document_over_the_limit_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup, "LARGEST_BYTES", 10)
    with pytest.raises(TooLarge):
        parsed("<p>eleven bytes</p>")


@pytest.mark.parametrize(("label", "bare", "mark"), [
    ("Sales (1)", "Sales", "1"), ("Sales*", "Sales", "*"), ("Sales (a), (b)", "Sales", "a b"), ("Other **", "Other", "**"),
    ("Plan 401(k)", "Plan 401(k)", ""), ("Income (loss)", "Income (loss)", ""), ("(1)", "(1)", ""), ("Note 12", "Note 12", "")])
def test_note_marks_stand_apart_from_the_label(label: str, bare: str, mark: str) -> None:
    result = parsed(f"<table><tr><td></td><td>2024</td></tr><tr><td>{label}</td><td>7</td></tr><tr><td>Costs</td><td>8</td></tr></table>")
    (grid,) = grids(result)
    assert (grid["rows"][1][0], grid.get("marks", {}).get("1", "")) == (bare, mark)
    assert label in result.text  # as printed


def test_levels_of_labels_follow_indents() -> None:
    rows = "".join(f"<tr><td{style}>{label}</td><td>{n}</td></tr>" for n, (label, style) in enumerate([
        ("Assets", ""), ("Cash", ' style="padding-left:10pt"'), ("In banks", ' style="padding-left:20pt"'), ("Debt", "")]))
    nbsp = "<tr><td>Own</td><td>5</td></tr><tr><td>&nbsp;&nbsp;Shares</td><td>6</td></tr>"
    assert grids(parsed(f"<table>{rows}</table>"))[0]["levels"] == [0, 1, 2, 0]
    assert grids(parsed(f"<table>{nbsp}</table>"))[0]["levels"] == [0, 1]


def test_a_label_of_marks_alone_costs_nothing() -> None:
    assert "7" in parsed(f"<table><tr><td>a{'*' * 20_000}x)</td><td>7</td></tr><tr><td>b</td><td>8</td></tr></table>").text


def test_absurd_spans_cost_nothing() -> None:
    rows = "<tr><td colspan='376967340' rowspan=999999999>Assets</td><td>5</td></tr><tr><td>Debt</td><td colspan=x>6</td></tr>"
    started = time.perf_counter()
    assert "Assets" in parsed(f"<table>{rows * 50}</table>").text
    assert time.perf_counter() - started < 30  # a guard against hanging, not a measure


# ---- tables


def test_signs_in_cells_of_their_own_join_their_number() -> None:
    result = parsed(
        "<p>(In millions)</p><table><tr><td></td><td colspan=3>2024</td><td></td><td colspan=3>2023</td></tr>"
        "<tr><td>Sales</td><td>$</td><td>1,234</td><td></td><td></td><td>$</td><td>9</td><td></td></tr>"
        "<tr><td>Loss</td><td>$(</td><td>0.09</td><td>)</td><td></td><td></td><td>(3.0</td><td>)%</td></tr></table>")
    grid = grids(result)[0]
    assert grid == {"rows": [["", "2024", "2023"], ["Sales", "$1,234", "$9"], ["Loss", "$(0.09)", "(3.0)%"]], "header_rows": 1,
                    "unit": "In millions", "columns": ["", "2024", "2023"]}
    assert result.text.endswith("2024 | 2023\nSales | $1,234 | $9\nLoss | $(0.09) | (3.0)%")


def test_a_header_over_several_columns_is_repeated_in_the_grid_and_said_once_in_the_text() -> None:
    result = parsed(
        "<table><tr><td></td><td colspan=2>Year ended</td></tr><tr><td></td><td>2024</td><td>2023</td></tr>"
        "<tr><td>Sales</td><td>100</td><td>90</td></tr></table>")
    assert grids(result)[0]["rows"] == [["", "Year ended", "Year ended"], ["", "2024", "2023"], ["Sales", "100", "90"]]
    assert result.text.count("Year ended") == 1


def test_row_spans_and_hidden_spacers_do_not_shift_columns() -> None:
    result = parsed(
        "<table><tr><td rowspan=2>Both</td><td>10</td><td>20</td></tr><tr><td style='display:none'></td><td>30</td><td>40</td></tr>"
        "<tr><td>One</td><td>50</td><td>60</td></tr></table>")
    assert grids(result)[0]["rows"] == [["Both", "10", "20"], ["", "30", "40"], ["One", "50", "60"]]


def test_no_row_of_dates_or_labels_is_taken_for_a_header_and_none_is_dropped() -> None:
    rows = "".join(f"<tr><td>Notes due {year}</td><td>{year}</td><td>{year % 100}</td></tr>" for year in range(2025, 2035))
    grid = grids(parsed(f"<table>{rows}</table>"))[0]
    assert grid["header_rows"] == 0
    assert len(grid["rows"]) == 10  # type: ignore[arg-type]


def test_note_marks_stay_apart_from_figures() -> None:
    result = parsed(
        "<table><tr><td>A</td><td>0.67</td><td>(1)</td><td>5</td></tr><tr><td>B</td><td>0.71</td><td></td><td>6</td></tr></table>")
    assert grids(result)[0]["rows"] == [["A", "0.67 (1)", "5"], ["B", "0.71", "6"]]


def test_layout_tables_are_unwrapped() -> None:
    assert kinds("<table><tr><td>&bull;</td><td>first point</td></tr><tr><td>&bull;</td><td>second point</td></tr></table>") == [
        ("list_item", "• first point"), ("list_item", "• second point")]
    assert kinds("<table><tr><td><b>Item 2.02.</b></td><td><b>Results</b></td></tr></table>") == [("heading", "Item 2.02. Results")]
    inner = "<table><tr><td>a</td><td>1</td></tr><tr><td>b</td><td>2</td></tr></table>"
    outer = parsed(f"<table><tr><td><p>Words.</p>{inner}</td></tr></table>")
    assert [block.kind for block in outer.blocks] == ["paragraph", "table"]
    assert outer.text == "Words.\n\na | 1\nb | 2"


def test_a_signature_table_is_a_signature() -> None:
    table = "<table><tr><td>/s/ Ann Lee</td><td>Chief</td></tr><tr><td>/s/ Bo Ray</td><td>Director</td></tr></table>"
    assert kinds(f"<p>SIGNATURES</p>{table}")[1:] == [
        ("signature", "/s/ Ann Lee Chief"), ("signature", "/s/ Bo Ray Director")]


def test_a_note_below_a_table_is_a_footnote() -> None:
    table = "<table><tr><td>A</td><td>1</td></tr><tr><td>B</td><td>2</td></tr></table>"
    assert kinds(f"{table}<p>(1) Restated.</p><p>(a) Words of prose.</p><p>End.</p><p>(2) Later.</p>")[1:] == [
        ("footnote", "(1) Restated."), ("footnote", "(a) Words of prose."), ("paragraph", "End."), ("list_item", "(2) Later.")]


# ---- headings


@pytest.mark.parametrize(
    ("source", "kind", "level"),
    [
        ("<p><b>PART II</b></p>", "heading", 1),
        ("<p>Item&nbsp;7A. Quantitative Disclosures</p>", "heading", 2),
        ("<h3>Overview</h3>", "heading", 3),
        ("<p><span style='font-weight:700'>Critical Accounting Estimates</span></p>", "heading", 3),
        ("<p>LIQUIDITY AND CAPITAL</p>", "heading", 3),
        ("<p><u>Competition</u></p>", "heading", 3),
        ("<p><b>Bold</b> words that begin a paragraph.</p>", "paragraph", None),
        ("<p><b>&#8226;</b></p>", "paragraph", None),
        ("<h5><a href='#toc'>Table of Contents</a></h5>", "paragraph", None),
        ("<li>a point</li>", "list_item", None),
    ],
)
def test_headings_are_told_by_how_they_are_set(source: str, kind: str, level: int | None) -> None:
    block = parsed(source).blocks[0]
    assert (block.kind, block.level) == (kind, level)


# ---- pages


def test_page_numbers_and_running_headers_are_no_text_and_label_their_page() -> None:
    link = "<p><a href='#toc'>Table of Contents</a></p>"
    pages = [f"{link}<p>Words of page {word}.</p><p>{number}</p>" for number, word in enumerate("abcd", 31)]
    result = parsed(BREAK.join(pages))
    assert result.text == "\n\n".join(f"Words of page {word}." for word in "abcd")
    assert [(block.page, block.page_label) for block in result.blocks] == [(1, "31"), (2, "32"), (3, "33"), (4, "34")]
    assert (result.pages, result.warnings) == (4, ())


def test_a_running_title_is_said_once() -> None:
    title = "<p><b>ACME CORP AND SUBSIDIARIES</b></p>"
    pages = [f"{title}<p>Words of page {word}.</p><p>Acme | {number}</p>" for number, word in enumerate("abcd")]
    text = parsed(BREAK.join(pages)).text
    assert text.count("ACME") == 1 and text.startswith("ACME") and "Acme |" not in text


def test_a_line_that_is_only_a_number_inside_a_page_stays() -> None:
    page = "<p>On {0} we have plants:</p><p>See</p><p>{0}.</p><p>45</p><p>So {0}.</p><p>And {0}.</p><p>{0}</p>"
    pages = [page.format(word) for word in "abc"]
    assert parsed(BREAK.join(pages)).text.count("45") == 3


def test_a_single_number_at_the_end_of_the_document_stays() -> None:
    assert texts("<p>Shares outstanding:</p><p>512</p>") == ["Shares outstanding:", "512"]


def test_footers_nailed_to_the_bottom_are_furniture() -> None:
    footer = '<div style="position:relative"><div style="bottom:0;position:absolute;width:100%"><p>Acme | Form 10-K | 7</p></div></div>'
    assert texts(f"<p>Body.</p>{footer}{BREAK}<p>More.</p>") == ["Body.", "More."]


def test_a_paragraph_that_runs_over_a_page_break_is_one() -> None:
    first, second = "The company sells its goods in many countries and it also", "rents machines."
    result = parsed(f"<p>{first}</p><p>- 4 -</p>{BREAK}<p>{second}</p><p>- 5 -</p>")
    assert (result.text, result.blocks[0].page) == (f"{first} {second}", 1)
    first, second = "We would incur an additional loss of approximately", "$275 million, consisting of remaining inventory costs."
    assert texts(f"<p>{first}</p>{BREAK}<p>{second}</p>") == [f"{first} {second}"]
    assert len(texts(f"<p>{first}.</p>{BREAK}<p>{second}</p>")) == 2


def test_heading_levels_follow_how_strongly_headings_are_set() -> None:
    line = "<p><b style='font-size:{}pt'>{}</b></p><p>Words.</p>"
    result = parsed("<h1 style='font-size:30pt'>Acme Corporation</h1>" + "".join(
        line.format(size, text) for _ in range(3) for size, text in ((14, "Liquidity"), (10, "Cash Flows"))))
    assert [block.level for block in result.blocks if block.kind == "heading"] == [3, 3, 4, 3, 4, 3, 4]


def test_breaks_by_css_form_feed_comment_and_numbered_rules() -> None:
    assert parsed("<p>a</p><p style='page-break-before:always'>b</p><!-- PAGEBREAK --><p>c</p>\f<p>d</p>").pages == 4
    assert parsed("<p>a</p><hr><p>b</p>").pages == 1
    assert parsed("<p>words</p><p>12</p><hr><p>b</p><p>13</p>").pages == 2


def test_page_furniture_is_no_loss_but_a_loss_is_told() -> None:
    assert parsed("<p>All 12 words.</p>").warnings == ()


# ---- properties

WORDS = st.sampled_from("alpha beta 12 3,456 (7) $9 gamma. • Item 1A § café — x".split(" "))
TAGS = st.sampled_from(["b", "i", "span", "font", "ix:nonfraction"])
INLINE = st.recursive(WORDS, lambda inner: st.builds("<{0}>{1}</{0}> ".format, TAGS, inner), max_leaves=3)
CELL = st.builds("<td>{}</td>".format, st.lists(INLINE, max_size=3).map(" ".join))
ROW = st.lists(CELL, max_size=4).map(lambda cells: f"<tr>{''.join(cells)}</tr>")
TABLE = st.lists(ROW, max_size=4).map(lambda rows: f"<table>{''.join(rows)}</table>")
LINES = st.builds("<{0}>{1}</{0}>".format, st.sampled_from(["p", "div", "h2", "li"]), st.lists(INLINE, max_size=4).map(" ".join))
BLOCK = st.recursive(
    LINES | st.sampled_from(["<hr>", "<br>"]) | INLINE.map(lambda text: f" {text} ") | TABLE,
    lambda inner: st.lists(inner, max_size=4).map(lambda parts: f"<div>{''.join(parts)}</div>"), max_leaves=8)
JUNK = st.sampled_from(["<table>", "<tr>", "<td", ">", "</td>", "<p>", "<!--", "-->", "<![CDATA[", "x", "&#", "\f", "<pre>", "<hr>"])


def is_in_order(text: str, blocks: tuple[Block, ...]) -> bool:
    return all(0 <= block.start < block.end <= len(text) for block in blocks) and all(
        first.end < second.start and first.page <= second.page for first, second in zip(blocks, blocks[1:], strict=False))


@settings(max_examples=150, deadline=None)
@given(BLOCK)
def test_no_visible_word_is_lost_or_said_twice_and_blocks_are_ordered(source: str) -> None:
    try:
        result = parsed("<body>" + source)
    except NoText:
        assert not visible_text(b"<body>" + source.encode("ascii", "xmlcharrefreplace")).split()
        return
    seen = Counter(re.sub(r"[\s|]", "", visible_text(("<body>" + source).encode("ascii", "xmlcharrefreplace"))))
    assert Counter(re.sub(r"[\s|]", "", result.text)) == seen
    assert is_in_order(result.text, result.blocks)
    assert "\n\n".join(result.text[block.start : block.end] for block in result.blocks) == result.text


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300) | st.lists(JUNK).map(lambda parts: "".join(parts).encode()))
def test_any_bytes_give_text_or_a_typed_error(data: bytes) -> None:
    try:
        result = parsed(data)
    except BadInput:
        return
    assert is_in_order(result.text, result.blocks) and not re.search("[\x00\x80-\x9f\ufffd]", result.text.replace("\ufffd", ""))


def test_engine_is_named_with_its_version() -> None:
    assert re.fullmatch(r"html-\d+", html.ENGINE)


def test_white_letters_on_a_dark_row_stay_in_their_cells() -> None:
    cells = "".join(f'<td style="color:#ffffff">{word}</td>' for word in ("Year ended", "2024", "2023"))
    rows = "<tr><td>Net sales</td><td>1,234</td><td>1,111</td></tr><tr><td>Net income</td><td>234</td><td>111</td></tr>"
    result = parsed(f'<table><tr style="background-color:#003366">{cells}</tr>{rows}</table>')
    assert result.text == "Year ended | 2024 | 2023\nNet sales | 1,234 | 1,111\nNet income | 234 | 111"


def test_a_cell_that_begins_a_page_stays_a_cell() -> None:
    rows = "<tr><td>Net sales</td><td>1,234</td></tr><tr><td style='page-break-before:always'>Net income</td><td>234</td></tr>"
    assert parsed(f"<table>{rows}<tr><td>Shares</td><td>77</td></tr></table>").text == "Net sales | 1,234\nNet income | 234\nShares | 77"


def test_what_a_fact_excludes_as_a_block_takes_nothing_of_the_text_around_it() -> None:
    inner = '<ix:exclude style="display:block">Page 7 of the report</ix:exclude>'
    result = parsed(f'<p>Revenue rose <ix:nonNumeric name="a:B" contextRef="c">because of{inner} volumes</ix:nonNumeric> in 2024.</p>')
    assert "Revenue rose because of" in result.text and "volumes in 2024." in result.text


@pytest.mark.parametrize("hidden", ["", '<div style="display:none">hidden</div>'])
def test_a_paragraph_left_open_at_each_page_break_reads_as_a_closed_one(hidden: str) -> None:
    page = '<p style="page-break-before:always">%s<hr size="3"><p>Sentence %d of the filing.</p>'
    read = [texts(f"<body>{hidden}" + "".join(page % (end, n) for n in range(6)) + "</body>") for end in ("", "</p>")]
    assert read[0] == read[1] == [f"Sentence {n} of the filing." for n in range(6)]


@given(st.text(alphabet="&#xX;169amplt \n<", max_size=30))
def test_references_are_read_as_the_standard_library_reads_them(text: str) -> None:
    assert stream.unescaped(text) == references.unescape(text)


@pytest.mark.parametrize("hidden, prefixed", [
    ('<div style="display:none"><p style="margin:0">a: b</p></div>', False),
    ('<title>10-Q: a title</title>', False),
    ('<div style="display:none"><q:nonNumeric name="a:B" contextRef="c">x</q:nonNumeric></div>', True),
    ('<ix:header><ix:hidden/></ix:header>', True),
])
def test_facts_are_looked_for_where_something_hidden_has_a_prefix(hidden: str, prefixed: bool) -> None:
    found, _, _ = markup.read(f"<html><body>{hidden}<p>shown</p></body></html>".encode()).walked()
    assert found.prefixed is prefixed


def test_a_fact_that_stands_in_a_hidden_part_alone_is_read() -> None:
    fact = '<q:nonNumeric name="dei:AmendmentFlag" contextRef="c">false</q:nonNumeric>'
    hidden = f'<div style="display:none"><q:header><q:hidden>{fact}</q:hidden></q:header></div>'
    source = f'<html xmlns:q="http://www.xbrl.org/2013/inlineXBRL"><body>{hidden}<p>shown</p></body></html>'
    assert [(found.concept, found.value) for found in parsed(source).facts] == [("dei:AmendmentFlag", "false")]
