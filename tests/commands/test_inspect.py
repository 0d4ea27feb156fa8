"""`edgarmill inspect`: a filing of the lake or a file, as an outline, piece by piece, or as a page."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgarmill.schemas import ids
from edgarmill.schemas.records import Filing
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake, write_part
from edgarmill.workers.bundle import Bundle, Piece, encode
from edgarmill.workers.reading import read_filing

MAIN = b"""<html><body><p>FORM 8-K</p><p><b>Item 2.02 Results of Operations and Financial Condition</b></p><p>See Exhibit 99.1.\x1b[31m</p>
<table><tr><td>(in millions)</td><td>2024</td><td>2023</td></tr><tr><td>Net sales</td><td>$1,234</td><td>$987</td></tr></table>
<script>alert(1)</script></body></html>"""
EXHIBIT = b"<html><body><p><b>Kilnway reports</b></p><p>Sales rose 12 percent.</p></body></html>"
HEADER = """-----BEGIN PRIVACY-ENHANCED MESSAGE-----
<SEC-DOCUMENT>{0}.txt
<SEC-HEADER>
ACCESSION NUMBER:\t{0}
CONFORMED SUBMISSION TYPE:\t8-K
PUBLIC DOCUMENT COUNT:\t2
FILED AS OF DATE:\t20240201
</SEC-HEADER>
"""
PART = "<DOCUMENT>\n<TYPE>{}\n<SEQUENCE>{}\n<FILENAME>{}\n<TEXT>\n{}\n</TEXT>\n</DOCUMENT>\n"
WHOLE, PIECEWISE, BARE = "0000000001-24-000007", "0000000001-24-000008", "local-00000000000000aa"


def submission(accession: str) -> bytes:
    parts = PART.format("8-K", 1, "form8k.htm", MAIN.decode()) + PART.format("EX-99.1", 2, "news.htm", EXHIBIT.decode())
    return (HEADER.format(accession) + parts + "</SEC-DOCUMENT>\n").encode()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A lake with the same filing as a whole submission, fetched in pieces, and as a bare document."""
    lake = Lake.open(str(tmp_path_factory.mktemp("kept") / "lake"), create=True)
    page = b"<html><body><PRE>" + HEADER.format(PIECEWISE).replace("<", "&lt;").encode()
    for kind, number, name in (("8-K", 1, "form8k.htm"), ("EX-99.1", 2, "news.htm")):
        page += f"&lt;DOCUMENT&gt;\n&lt;TYPE&gt;{kind}\n&lt;SEQUENCE&gt;{number}\n&lt;FILENAME&gt;{name}\n".encode()
        page += b"&lt;TEXT&gt;\n&lt;/TEXT&gt;\n&lt;/DOCUMENT&gt;\n"
    page += b"&lt;/SEC-DOCUMENT&gt;\n</PRE></body></html>"
    pieces = tuple(Piece(number, kind, name, "", lake.put_raw(data), len(data))
                   for number, kind, name, data in ((1, "8-K", "form8k.htm", MAIN), (2, "EX-99.1", "news.htm", EXHIBIT)))
    bundle = encode(Bundle(PIECEWISE, lake.put_raw(page), pieces))
    rows: dict[str, list[Any]] = {"filings": [], "documents": [], "elements": [], "sections": []}
    for accession, data, raw in ((WHOLE, submission(WHOLE), b""), (PIECEWISE, submission(PIECEWISE), bundle), (BARE, MAIN, b"")):
        filed = read_filing("form8k.htm", data, Settings())
        known = Filing(accession, name=f"{accession}.txt", form="8-K", family="8-K", company="Kilnway\x1b[2J")
        rows["filings"].append(replace(known, sha256=lake.put_raw(raw or data)))
        for read in filed.documents:
            key = ids.document_id(accession, read.document.sequence)
            rows["documents"].append(replace(read.document, document_id=key, accession=accession))
            for name, found in (("elements", read.elements), ("sections", read.sections)):
                rows[name] += [replace(one, document_id=key, accession=accession) for one in found]
    with lake.writer("run", "test") as writer:
        writer.commit([write_part(lake.root, table, "part", found, "run") for table, found in rows.items()], key="run")
    return lake.root


@pytest.fixture
def inspect(edgarmill: Callable[..., Any], kept: str) -> Callable[..., Any]:
    return lambda *words: edgarmill("--lake", kept, "inspect", *words)


@pytest.mark.parametrize("name", [WHOLE, WHOLE.replace("-", ""), PIECEWISE, BARE, f"{WHOLE}.txt"])
def test_the_outline_of_a_filing_of_the_lake(inspect: Callable[..., Any], name: str) -> None:
    ran = inspect(name)
    assert (ran.code, ran.err) == (0, "") and "\x1b" not in ran.out
    assert "2.02" in ran.out and "stub: See Exhibit 99.1" in ran.out and "Headings" in ran.out
    assert ("EX-99.1" in ran.out) == (name != BARE)
    said = inspect("--json", name).json
    assert [one["section"] for one in said["sections"]] == ["2.02"] and said["tables"][0]["unit"] == "in millions"


def test_a_file_gives_what_the_lake_gives(inspect: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_bytes(submission(WHOLE))
    of_file, of_lake = inspect("--json", "s.txt").json, inspect("--json", WHOLE).json
    assert {**of_file, "company": ""} == {**of_lake, "company": ""}


def test_pieces(inspect: Callable[..., Any]) -> None:
    table = inspect(WHOLE, "--table", 1).out
    assert "in millions" in table and "Net sales" in table and "$1,234" in table and "2.02" in table
    section = inspect(WHOLE, "--section", "2.02")
    assert "[1] heading" in section.out and "See Exhibit 99.1." in section.out and "\x1b" not in section.out
    assert inspect(WHOLE, "--page", 1).out.count("[") >= 4
    assert inspect(WHOLE, "--element", 1).out.splitlines()[1].startswith("Item 2.02")
    assert "12 percent" in inspect(WHOLE, "--document", "ex-99.1", "--element", 1).out
    (said,) = inspect("--json", WHOLE, "--table", 1).json
    assert said["rows"][-1] == ["Net sales", "$1,234", "$987"] and said["table"] == 1


@pytest.mark.parametrize("words", [("--table", 2), ("--element", 99), ("--section", "9.01"), ("--page", 7), ("--document", "EX-13"),
                                   ("--page", 1, "--table", 1), ("--html", ".")])
def test_what_is_not_there_is_one_line(inspect: Callable[..., Any], words: tuple[object, ...]) -> None:
    ran = inspect(WHOLE, *words)
    assert ran.code == 2 and ran.out == "" and ran.err.count("\n") == 1


def test_a_filing_nobody_knows(inspect: Callable[..., Any]) -> None:
    ran = inspect("0000000009-24-000001")
    assert ran.code == 2 and "no such filing" in ran.err


@pytest.mark.parametrize("name", [WHOLE, PIECEWISE, BARE])
def test_the_page_has_the_original_beside_what_was_read(inspect: Callable[..., Any], tmp_path: Path, name: str) -> None:
    ran = inspect(name, "--html", "look.html")
    text = (tmp_path / "look.html").read_text(encoding="utf-8")
    assert ran.code == 0 and "look.html" in ran.out and os.listdir(tmp_path) == ["look.html"]
    assert "srcdoc=" in text and "&lt;td&gt;" in text and "<td>$1,234</td>" in text and "alert(1)" not in text
    before = text
    assert inspect(name, "--html", "look.html").code == 0 and (tmp_path / "look.html").read_text(encoding="utf-8") == before


def test_of_an_exhibit_the_page_shows_the_exhibit(inspect: Callable[..., Any], tmp_path: Path) -> None:
    for name in (WHOLE, PIECEWISE):
        inspect(name, "--document", "2", "--html", "look.html")
        text = (tmp_path / "look.html").read_text(encoding="utf-8")
        assert "Kilnway reports" in text.split("srcdoc=")[1] and "$1,234" not in text


def test_a_page_never_takes_the_place_of_the_filing_or_a_folder(inspect: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_bytes(submission(WHOLE))
    (tmp_path / "link.txt").symlink_to("s.txt")
    for target in ("s.txt", "link.txt"):
        ran = inspect("s.txt", "--html", target)
        assert ran.code == 2 and "overwrite" in ran.err
    (tmp_path / "folder").mkdir()
    (tmp_path / "mine.html").write_text("my own", encoding="utf-8")
    ran = inspect("s.txt", "--html", "mine.html")
    assert ran.code == 2 and "it is there already" in ran.err and (tmp_path / "mine.html").read_text(encoding="utf-8") == "my own"
    assert inspect("s.txt", "--html", "mine.html", "--force").code == 0
    (tmp_path / "mine.html").unlink()
    assert inspect("s.txt", "--html", "folder").code == 2
    assert inspect("s.txt", "--html", "absent/look.html").code == 4
    assert (tmp_path / "s.txt").read_bytes() == submission(WHOLE) and sorted(os.listdir(tmp_path)) == ["folder", "link.txt", "s.txt"]


def test_a_bad_file_is_one_line(inspect: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "zip.htm").write_bytes(b"PK\x03\x04" + bytes(200))
    ran = inspect("zip.htm")
    assert ran.code == 3 and ran.out == "" and ran.err.count("\n") == 1
