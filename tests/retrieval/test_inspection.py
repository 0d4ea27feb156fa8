"""A look at a filing: its outline, its pieces, and a page that shows a hostile original and lets it do nothing."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest
from lxml import etree

from edgarmill.retrieval import inspection, original, page
from edgarmill.schemas.errors import UnknownName, UsageError
from edgarmill.schemas.settings import Settings
from edgarmill.workers.reading import Filed, read_file, read_filing

TENQ = b"""<html><body><p>FORM 10-Q</p><p>For the quarterly period ended March 31, 2024</p>
<p><b>PART I - FINANCIAL INFORMATION</b></p><p><b>Item 1. Financial Statements</b></p>
<table><tr><td>(in thousands)</td><td>2024</td><td>2023</td></tr><tr><td>Net sales</td><td>$1,234</td><td>$987</td></tr>
<tr><td>Net loss</td><td>(56)</td><td>7</td></tr></table>
<p><b>Item 2. Management's Discussion and Analysis</b></p><p>Sales rose.</p><hr style="page-break-after:always">
<p><b>PART II - OTHER INFORMATION</b></p><p><b>Item 1. Legal Proceedings</b></p><p>See Note 5 to the financial statements.</p>
<p><b>Item 6. Exhibits</b></p><p>31.1 Certification</p></body></html>"""

HOSTILE = b"""<html><head><base href="https://evil.example/"><meta http-equiv="refresh" content="0;url=https://evil.example/r">
<link rel=stylesheet href="https://evil.example/c.css"><style>@import url(https://evil.example/s.css); 
body{background:url(//evil.example/b)}</style><script>document.title="PWNED"; fetch("https://evil.example/x")</script></head>
<body onload="alert(1)" background="https://evil.example/bg.png"><p>FORM 10-K</p>
<h1>Item 1. Business <script>alert(1)</script></h1>
<p>We sell "plates" &lt;script&gt;alert(2)&lt;/script&gt; &quot;&gt;&lt;img src=x onerror=alert(3)&gt; &lt;/iframe&gt;&lt;/main&gt; 77.</p>
<img src=x onerror=alert(1)><img src="https://evil.example/i.png"><a href="javascript:alert(1)">one</a>
<a href="//evil.example/g" target=_top>two</a>
<div style="background:url('https://evil.example/u.png');color:red">styled</div>
<div style="background:u\\72l(//evil.example/v)">escaped</div>
<div style="width:expression(alert(1))">expr</div><div style="background-image:image-set('//evil.example/w' 1x)">set</div>
<iframe src="https://evil.example/f"></iframe></iframe>"></iframe><script>alert(4)</script>
<iframe srcdoc="&lt;script&gt;parent.alert(5)&lt;/script&gt;"></iframe>
<svg onload=alert(6)><script>alert(7)</script><image href="https://evil.example/s.svg"/></svg>
<form action="https://evil.example/p"><input autofocus onfocus=alert(8)><button formaction="javascript:alert(9)">press</button></form>
<object data="https://evil.example/o"></object><embed src="https://evil.example/e"><video src="https://evil.example/v"></video>
<noscript><p title="</noscript><img src=x onerror=alert(10)>">ns</p></noscript><xmp><script>alert(11)</script></xmp>
<table background="https://evil.example/t.png"><tr><td onclick="alert(13)">Cell "one" </section></main><script>alert(14)</script></td>
<td style='font-family:"x;}</style><script>alert(15)</script>'>1,234</td></tr><tr><td>a &lt;b&gt;</td><td>5</td></tr></table>
<p id="e0" style="color:red;-moz-binding:url(//evil.example);position:fixed">right&#x202e;left ]]> --> last 99.</p>
<math><mtext><a xlink:href="javascript:alert(16)">m</a></mtext></math></body></html>"""


def filed(data: bytes = TENQ, name: str = "a.htm") -> Filed:
    return read_filing(name, data, Settings())


def test_the_outline_tells_sections_headings_and_tables() -> None:
    outline = inspection.full_outline(filed().documents[0])
    assert [one["section"] for one in outline["sections"]] == ["I.1", "I.2", "II.1", "II.6"]
    assert [(one["page_start"], one["page_end"]) for one in outline["sections"]] == [(1, 1), (1, 1), (2, 2), (2, 2)]
    assert 0 < sum(one["share"] for one in outline["sections"]) <= 1
    assert outline["sections"][2]["pointer"] == "See Note 5 to the financial statements."
    (table,) = outline["tables"]
    assert (table["table"], table["page"], table["section"], table["rows"], table["columns"]) == (1, 1, "I.1", 3, 3)
    assert table["unit"] == "in thousands"
    assert [one["text"] for one in outline["headings"]][-1] == "Item 6. Exhibits"


def test_pieces_are_found_by_number_and_name() -> None:
    read = filed().documents[0]
    assert inspection.table(read, 1) == inspection.element(read, inspection.table(read, 1).ordinal)
    words = [read.document.text[one.start : one.end] for one in inspection.section(read, "II.1")]
    assert words == ["Item 1. Legal Proceedings", "See Note 5 to the financial statements."]
    assert inspection.section(read, "Item 6") == inspection.section(read, "ii.6")
    assert {one.page for one in inspection.page(read, 2)} == {2}


@pytest.mark.parametrize(("what", "value"), [("element", -1), ("element", 999), ("table", 0), ("table", 2), ("page", 0), ("page", 3),
                                             ("section", "II.7"), ("section", "")])
def test_a_piece_that_is_not_there_is_told_with_those_that_are(what: str, value: object) -> None:
    with pytest.raises(UnknownName) as error:
        getattr(inspection, what)(filed().documents[0], value)
    assert error.value.todo


def test_an_item_of_both_parts_must_be_named_with_its_part() -> None:
    with pytest.raises(UsageError, match=r"I\.1, II\.1"):
        inspection.section(filed().documents[0], "1")


# the page


def written(data: bytes, name: str = "a.htm") -> tuple[str, str]:
    """The page, and the original inside its frame."""
    one = filed(data, name)
    text = page.page_of(one.filing, one.documents[0])
    frames = re.findall(r'<iframe name="original" title="original" sandbox="" srcdoc="([^"]*)"></iframe>', text)
    assert text.count("<iframe") == len(frames) <= 1
    return text, html.unescape(frames[0]) if frames else ""


def test_a_hostile_original_is_shown_and_can_do_nothing() -> None:
    text, frame = written(HOSTILE)
    assert "default-src 'none'" in text.split("<style>")[0] and "default-src 'none'" in frame.split("<style>")[0]
    for markup in (text, frame):
        tree = etree.fromstring(markup.encode(), etree.HTMLParser(encoding="utf-8", huge_tree=True))
        names = {node.tag for node in tree.iter() if isinstance(node.tag, str)}
        assert not names & set("script base link object embed svg math form input button img video noscript template".split())
        for node in tree.iter():
            for key, value in node.attrib.items():
                assert not key.startswith("on") and key not in ("src", "background", "action", "formaction", "data", "poster", "ping")
                assert key != "href" or re.fullmatch(r"#e\d+|about:srcdoc#e\d+", value)
                assert key != "style" or not re.search(r"url|expression|image-set|\\|position|binding", value, re.I)
        assert [node.get("http-equiv") for node in tree.iter("meta") if node.get("http-equiv")] == ["Content-Security-Policy"]
    assert "evil.example" not in frame
    for words in ('We sell "plates" <script>alert(2)</script>', "styled", "escaped", "press", "1,234", "last 99."):
        assert words in html.unescape(frame), words
    assert "last 99." in text.split("<main>")[1]


def test_marks_lead_from_what_was_read_to_the_original() -> None:
    text, frame = written(TENQ)
    marked = re.findall(r'<a id="(e\d+)"></a>([^<]*)', frame)
    read = filed().documents[0]
    for mark, words in marked:
        element = read.elements[int(mark[1:])]
        assert words.strip().split()[0] in read.document.text[element.start : element.end]
        assert f'href="about:srcdoc#{mark}"' in text and f'id="{mark}"' in text
    assert len(marked) >= len(read.elements) - 1


def test_the_page_stands_for_itself() -> None:
    text, _ = written(TENQ)
    assert not re.search(r"https?://|src=(?!doc)|<script", text)
    assert '<th>2024</th>' in text or "<td>2024</td>" in text
    assert "10-Q" in text and "I.2" in text and "stub" in text


def test_plain_text_keeps_its_lines_and_its_signs() -> None:
    _, frame = written(b"FORM 10-K\n\nItem 1.  Business\n\nWe own <b>two</b> kilns & one shop.\n\n<TABLE>\nSales  12\n</TABLE>\n", "a.txt")
    assert "We own &lt;b&gt;two&lt;/b&gt; kilns &amp; one shop." in frame and "<pre>" in frame


def test_an_original_that_is_too_large_or_no_text_is_left_out_and_that_is_said() -> None:
    one = filed()
    read = one.documents[0]
    large = page.page_of(one.filing, replace(read, data=b"x" * (original.LARGEST_BYTES + 1)))
    assert "<iframe" not in large and "The original is left out: it has 8,000,001 bytes" in large
    pdf = page.page_of(one.filing, replace(read, document=replace(read.document, media="pdf")))
    assert "it is pdf" in pdf and "<iframe" not in pdf
    assert "not at hand" in page.page_of(one.filing, replace(read, data=b""))


def test_a_page_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "LARGEST_CHARACTERS", 1000)
    text, _ = written(TENQ)
    assert "further elements are left out" in text


@pytest.mark.parametrize("style", ["color:red;background:URL (x)", "a:b;;;;", "background:url\n(x)", "x:image(x)", "--x:var(--y)",
                                   "color:rgb(1,2,3)", "background:u/**/rl(x)", "content:'\\75rl(x)'"])
def test_only_harmless_style_is_kept(style: str) -> None:
    kept = original._harmless(style)
    assert set(re.findall(r"([\w-]*)\s*\(", kept)) <= {"rgb"} and "\\" not in kept


def test_deep_and_broken_markup_is_shown_without_recursion() -> None:
    frame, _ = original.shown(b"<div><span>" * 30_000 + b"deep</p></td>" + b"<table>" * 500 + b"end", "html")
    assert frame
    assert original.shown(b"", "html") == original.shown(b"", "text") == ("", set())
    assert original.shown(b" <!-- --> ", "html")[0]


def test_real_filings_are_shown_with_most_elements_marked(shared: Path) -> None:
    for name in ("ibm-2024-12-31-10-k.htm.gz", "0000004962-23-000038.10-q.htm.gz"):
        one = read_file(str(shared / "filings" / "dev" / name), Settings())
        read = one.documents[0]
        wanted = [(f"e{e.ordinal}", read.document.text[e.start : e.end]) for e in read.elements]
        _, found = original.shown(read.data, read.document.media, wanted)
        assert len(found) > 0.85 * len(wanted), (name, len(found), len(wanted))
