"""`edgarmill parse`: one line a file, whatever the file is; the keys by which others check the parser."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from edgarmill.workers.parse.parsed import Fact
from edgarmill.workers.values import fact_of

ROOT = Path(__file__).parents[2]
TENK = b"""<html><body><p>FORM 10-K</p><p>For the fiscal year ended December 31, 2023</p><p><b>PART I</b></p>
<p><b>Item 1. Business</b></p><p>We sell plates &#146;n cups to 52,000 homes. We own two kilns.</p>
<p><b>Item 1A. Risk Factors</b></p><p>Plates break, and so may we.</p><p><b>PART III</b></p>
<p><b>Item 10. Directors, Executive Officers and Corporate Governance</b></p><p>Incorporated by reference from our proxy statement.</p>
<table><tr><td></td><td>2023</td><td>2022</td></tr><tr><td>Net sales</td><td>1,234</td><td>987</td></tr></table></body></html>"""
SUBMISSION = b"""<SEC-DOCUMENT>0000000001-24-000007.txt
<SEC-HEADER>
ACCESSION NUMBER:\t0000000001-24-000007
CONFORMED SUBMISSION TYPE:\t8-K
PUBLIC DOCUMENT COUNT:\t3
FILED AS OF DATE:\t20240201
</SEC-HEADER>
<DOCUMENT>
<TYPE>EX-99.1
<SEQUENCE>1
<FILENAME>news.htm
<TEXT>
<html><body><p><b>Kilnway reports</b></p><p>Sales rose 12 percent.</p></body></html>
</TEXT>
</DOCUMENT>
<DOCUMENT>
<TYPE>8-K
<SEQUENCE>2
<FILENAME>form8k.htm
<TEXT>
<html><body><p>FORM 8-K</p><p><b>Item 2.02 Results of Operations and Financial Condition</b></p><p>See Exhibit 99.1.</p></body></html>
</TEXT>
</DOCUMENT>
<DOCUMENT>
<TYPE>GRAPHIC
<SEQUENCE>3
<FILENAME>logo.gif
<TEXT>
begin 644 logo.gif
#1TE&
`
end
</TEXT>
</DOCUMENT>
</SEC-DOCUMENT>
"""
OF_DOCUMENT = {"type": str, "name": str, "engine": str, "text": str, "pages": int, "elements": list, "sections": list, "statements": list,
               "facts": list, "warnings": list}
OF_ELEMENT = {"kind": str, "level": (int, type(None)), "page": int, "section": (str, type(None)), "start": int, "end": int}
OF_SECTION = {"part": str, "item": str, "title": str, "start": int, "end": int, "pointer": (str, type(None))}
KINDS = {"heading", "paragraph", "list_item", "table", "footnote", "signature"}


def check_contract(line: dict[str, Any], file: str) -> None:
    """Keys and types of a line, and ranges that slice what they say."""
    assert set(line) == {"file", "form", "documents", *OF_DOCUMENT}
    assert line["file"] == file and isinstance(line["form"], str)
    for one in [line, *line["documents"]]:
        assert {key: type(one[key]) for key in OF_DOCUMENT} == OF_DOCUMENT
        assert set(one) - {"file", "form", "documents"} == set(OF_DOCUMENT)
        check_ranges(one)


def check_ranges(one: dict[str, Any]) -> None:
    text, before = one["text"], 0
    for element in one["elements"]:
        assert all(isinstance(element[key], kind) for key, kind in OF_ELEMENT.items()) and set(element) == set(OF_ELEMENT)
        assert before <= element["start"] < element["end"] <= len(text) and text[element["start"] : element["end"]].strip()
        assert element["kind"] in KINDS and (element["level"] is None or element["kind"] == "heading")
        assert 1 <= element["page"] <= one["pages"]
        before = element["end"]
    names = {section["part"] + "." * bool(section["part"]) + section["item"] for section in one["sections"] + one["statements"]}
    assert {element["section"] for element in one["elements"]} <= {None, *names}
    for section in one["sections"] + one["statements"]:
        assert all(isinstance(section[key], kind) for key, kind in OF_SECTION.items()) and set(section) == set(OF_SECTION)
        assert 0 <= section["start"] < section["end"] <= len(text)
    assert all(section["part"] in ("", "I", "II", "III", "IV") for section in one["sections"])
    for fact in one["facts"]:
        assert set(fact) in ({*OF_FACT, "instant"}, {*OF_FACT, "start", "end"}, OF_FACT)
        assert isinstance(fact["value"], str | None) and isinstance(fact["dimensions"], dict)


OF_FACT = {"concept", "entity", "dimensions", "unit", "value", "decimals"}


@pytest.fixture
def parse(edgarmill: Callable[..., Any]) -> Callable[..., tuple[int, list[dict[str, Any]], str]]:
    """Exit code, lines and stderr of `parse --json`."""

    def call(*words: object) -> tuple[int, list[dict[str, Any]], str]:
        ran = edgarmill("parse", "--json", *words)
        return ran.code, [json.loads(line) for line in ran.out.splitlines()], ran.err

    return call


def test_a_bare_document(parse: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "a.htm").write_bytes(TENK)
    code, (line,), err = parse("a.htm")
    assert (code, err) == (0, "")
    check_contract(line, "a.htm")
    assert line["form"] == line["type"] == "10-K" and "plates ’n cups to 52,000 homes" in line["text"]
    sections = {(one["part"], one["item"]): one for one in line["sections"]}
    assert list(sections) == [("I", "1"), ("I", "1A"), ("III", "10")]
    assert "proxy statement" in sections["III", "10"]["pointer"] and sections["I", "1"]["pointer"] is None
    assert [one["section"] for one in line["elements"] if one["kind"] == "table"] == ["III.10"]


def test_the_form_of_a_bare_document_can_be_told(parse: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "a.htm").write_bytes(TENK.replace(b"FORM 10-K", b"Annual report"))
    (tmp_path / "s.txt").write_bytes(SUBMISSION)
    _, lines, _ = parse("a.htm")
    assert lines[0]["form"] == "" and lines[0]["sections"] == []
    _, lines, _ = parse("--form", "10k", "a.htm", "s.txt")
    assert [line["form"] for line in lines] == ["10-K", "8-K"] and lines[0]["sections"]


def test_an_engine_that_is_not_known_is_told_before_any_file_is_read(parse: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "a.htm").write_bytes(TENK)
    code, lines, err = parse("--parser", "magic", "a.htm")
    assert (code, lines) == (2, []) and "native, unstructured" in err
    assert parse("--parser", "native", "a.htm")[0] == 0


def test_files_are_read_in_place_packed_or_not(parse: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "a.htm").write_bytes(TENK)
    (tmp_path / "a.htm.gz").write_bytes(gzip.compress(TENK))
    (tmp_path / "a.htm.ZST").write_bytes(zstandard.compress(TENK))
    before = sorted(os.listdir(tmp_path))
    code, lines, _ = parse("a.htm.gz", "a.htm", "a.htm.ZST")
    assert code == 0 and sorted(os.listdir(tmp_path)) == before
    assert [line.pop("file") for line in lines] == ["a.htm.gz", "a.htm", "a.htm.ZST"]
    assert lines[0] == lines[1] == lines[2]


def test_of_a_submission_the_main_document_comes_first_and_exhibits_beside(parse: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_bytes(SUBMISSION)
    code, (line,), _ = parse("s.txt")
    check_contract(line, "s.txt")
    assert code == 0 and (line["type"], line["name"]) == ("8-K", "form8k.htm")
    assert [(one["part"], one["item"]) for one in line["sections"]] == [("", "2.02")]
    (exhibit,) = line["documents"]
    assert (exhibit["type"], exhibit["name"]) == ("EX-99.1", "news.htm") and "12 percent" in exhibit["text"]


BAD = {
    "empty.htm": b"",
    "zip.htm": b"PK\x03\x04" + bytes(200),
    "binary.txt": bytes(range(256)) * 20,
    "silent.htm": b"<html><body><img src='a.gif'></body></html>",
    "cut.txt": SUBMISSION[:520],
    "broken.htm.gz": gzip.compress(TENK)[:-20],
    "blocked.htm": b"<html><body>Your Request Originates from an Undeclared Automated Tool</body></html>",
    "pdf.pdf": b"%PDF-1.4\n%%EOF",
}


def test_what_fails_gives_its_line_in_its_place(parse: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "a.htm").write_bytes(TENK)
    for name, data in BAD.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "folder").mkdir()
    asked = ["a.htm", *BAD, "folder", "absent.htm", "a.htm"]
    code, lines, err = parse(*asked)
    assert (code, err) == (3, "")
    assert [line["file"] for line in lines] == asked
    assert all(set(line) == {"file", "error"} and line["error"] and "\n" not in line["error"] for line in lines[1:-1])
    assert "text" in lines[0] and "text" in lines[-1]


@pytest.mark.parametrize(("limit", "words"), [("parse_seconds=0.03", "CPU seconds"), ("parse_memory_bytes=16000000", ""),
                                              ("max_filing_bytes=100000", "100000")])
def test_a_limit_ends_one_file_and_not_the_run(tmp_path: Path, limit: str, words: str) -> None:
    paragraphs = b"".join(b"<p>Paragraph %d says something of its own, number %d.</p>" % (n, n * 7) for n in range(40_000))
    (tmp_path / "big.htm").write_bytes(TENK.replace(b"</body>", paragraphs + b"</body>"))
    (tmp_path / "a.htm").write_bytes(TENK)
    asked = [sys.executable, "-m", "edgarmill", "parse", "--json", "--set", limit, str(tmp_path / "big.htm"), str(tmp_path / "a.htm")]
    ran = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True)  # a process of its own, which has no memory left over
    big, small = map(json.loads, ran.stdout.splitlines())
    assert ran.returncode == 3 and words in big["error"] and "text" in small and ran.stderr == ""


def test_names_of_any_bytes_are_read(parse: Callable[..., Any], tmp_path: Path) -> None:
    for name in ("ä ☕.htm", os.fsdecode(b"\xff\xfe.htm")):
        (tmp_path / name).write_bytes(TENK)
        code, (line,), _ = parse(name)
        assert code == 0 and line["file"] == name


def test_a_line_is_one_line_for_every_reader(edgarmill: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "a.htm").write_bytes(TENK.replace(b"own two", b"own&#x2028;two&#x85;&#x1f;"))
    ran = edgarmill("parse", "--json", "a.htm", "a.htm")
    assert ran.out.isascii() and len(ran.out.splitlines()) == 2


def test_without_json_an_outline_for_a_person(edgarmill: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "a.htm").write_bytes(TENK)
    ran = edgarmill("parse", "a.htm", "absent.htm")
    assert ran.code == 3 and ran.err.count("\n") == 1 and "absent.htm: no such file" in ran.err
    assert "a.htm  10-K" in ran.out and "I.1A" in ran.out and "stub: Incorporated by reference" in ran.out


def test_a_command_without_files_is_a_word_short(edgarmill: Callable[..., Any]) -> None:
    assert edgarmill("parse").code == 2


def test_each_line_is_out_when_its_file_is_done_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    (tmp_path / "a.htm").write_bytes(TENK)
    os.mkfifo(tmp_path / "never.htm")
    words = [sys.executable, "-m", "edgarmill", "parse", "--json", str(tmp_path / "a.htm"), str(tmp_path / "never.htm")]
    running = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0)
    assert running.stdout
    assert json.loads(running.stdout.readline())["form"] == "10-K"
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=20)
    assert (running.returncode, out) == (130, b"") and err == b"edgarmill: interrupted\n"
    with pytest.raises(ProcessLookupError):
        os.killpg(running.pid, 0)


def test_facts_as_values() -> None:
    sales = Fact("us-gaap:Revenues", "0000000001", "2023-01-01", "2023-12-31", None, (("us-gaap:Axis", "co:PlatesMember"),), "USD",
                 "1234000000", "-6", "1,234")
    assert fact_of(sales) == {
        "concept": "us-gaap:Revenues", "entity": "0000000001", "start": "2023-01-01", "end": "2023-12-31",
        "dimensions": {"us-gaap:Axis": "co:PlatesMember"}, "unit": "USD", "value": "1234000000", "decimals": "-6"}
    nil = Fact("us-gaap:Assets", "0000000001", None, None, "2023-12-31", (), "USD", None, None, "", nil=True)
    assert fact_of(nil) == {"concept": "us-gaap:Assets", "entity": "0000000001", "instant": "2023-12-31", "dimensions": {}, "unit": "USD",
                            "value": None, "decimals": None}


def test_the_cases_keep_the_contract(parse: Callable[..., Any], shared: Path) -> None:
    files = sorted(str(path) for path in (shared / "cases").glob("*/input*"))
    code, lines, _ = parse(*files)
    assert code == 0 and len(lines) == len(files) >= 12
    for line, file in zip(lines, files, strict=True):
        check_contract(line, file)


def test_filings_of_all_kinds_keep_the_contract(parse: Callable[..., Any], shared: Path) -> None:
    found = sorted((shared / "filings" / "dev").iterdir(), key=lambda path: path.stat().st_size)
    files = [str(path) for path in found if path.suffix == ".gz"][5:160:12]
    files += [str(path) for path in sorted((shared / "filings" / "submissions").glob("*.gz"))[:4]]
    code, lines, _ = parse(*files)
    assert code == 0 and len(lines) == len(files) > 10
    for line, file in zip(lines, files, strict=True):
        check_contract(line, file)
