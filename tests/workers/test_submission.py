"""Full submission texts: every dialect, cut files, uuencode, headers with holes."""

from __future__ import annotations

import binascii
import gzip
import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgarmill.schemas.errors import BadFile
from edgarmill.workers.parse.media import media_of
from edgarmill.workers.submission import is_submission, item_number, read_header, read_submission

TAB = """<SEC-DOCUMENT>0009999999-24-000001.txt : 20240301
<SEC-HEADER>0009999999-24-000001.hdr.sgml : 20240301
<ACCEPTANCE-DATETIME>20240301163000
ACCESSION NUMBER:\t\t0009999999-24-000001
CONFORMED SUBMISSION TYPE:\t8-K
CONFIRMING COPY:\t
PUBLIC DOCUMENT COUNT:\t\t2
CONFORMED PERIOD OF REPORT:\t20240229
ITEM INFORMATION:\t\tResults of Operations and Financial Condition
ITEM INFORMATION:\t\tA title nobody knows
FILED AS OF DATE:\t\t20240301

FILER:

\tCOMPANY DATA:\t
\t\tCOMPANY CONFORMED NAME:\t\t\tPINEFOLD FINANCE CO
\t\tCENTRAL INDEX KEY:\t\t\t0009990001
\t\tSTANDARD INDUSTRIAL CLASSIFICATION:\tSTATE BANKS [6022]
\t\tSTATE OF INCORPORATION:\t\t\tDE
\t\tFISCAL YEAR END:\t\t\t0630

\tFORMER COMPANY:\t
\t\tFORMER CONFORMED NAME:\tPINEFOLD BANK
\t\tDATE OF NAME CHANGE:\t19990101

FILER:

\tCOMPANY DATA:\t
\t\tCOMPANY CONFORMED NAME:\t\t\tPINEFOLD TRUST
\t\tCENTRAL INDEX KEY:\t\t\t0009990002
</SEC-HEADER>
"""
BODY = """<DOCUMENT>
<TYPE>8-K
<SEQUENCE>1
<FILENAME>d8k.htm
<DESCRIPTION>CURRENT REPORT
<TEXT>
<XBRL>
<html><body><p>Quarterly results.</p></body></html>
</XBRL>
</TEXT>
</DOCUMENT>
<DOCUMENT>
<TYPE>EX-99.1
<SEQUENCE>2
<FILENAME>ex99.txt
<TEXT>
Press release: 52,000 homes.
</TEXT>
</DOCUMENT>
"""
WHOLE = TAB + BODY + "</SEC-DOCUMENT>\n"

TAG = """<SUBMISSION>
<ACCESSION-NUMBER>0009999999-24-000001
<TYPE>8-K
<PUBLIC-DOCUMENT-COUNT>2
<PERIOD>20240229
<ITEMS>2.02
<FILING-DATE>20240301
<FILER>
<COMPANY-DATA>
<CONFORMED-NAME>PINEFOLD FINANCE CO
<CIK>0009990001
<ASSIGNED-SIC>6022
<ORGANIZATION-NAME>
<STATE-OF-INCORPORATION>DE
<FISCAL-YEAR-END>0630
</COMPANY-DATA>
<FILING-VALUES>
<FORM-TYPE>8-K
</FILING-VALUES>
</FILER>
""" + BODY + "</SUBMISSION>\n"


def uuencoded(data: bytes, name: str) -> str:
    lines = [binascii.b2a_uu(data[i : i + 45]).decode() for i in range(0, len(data), 45)]
    return f"begin 644 {name}\n{''.join(lines)}`\nend\n"


def with_document(kind: str, name: str, text: str, whole: str = WHOLE) -> bytes:
    document = f"<DOCUMENT>\n<TYPE>{kind}\n<SEQUENCE>3\n<FILENAME>{name}\n<TEXT>\n{text}</TEXT>\n</DOCUMENT>\n"
    return whole.replace("</SEC-DOCUMENT>", document + "</SEC-DOCUMENT>").encode()


def test_a_tab_header_gives_every_field() -> None:
    header = read_submission(WHOLE.encode()).header
    assert (header.accession, header.form, header.public_document_count) == ("0009999999-24-000001", "8-K", 2)
    assert (header.filed_on, header.period_on) == (date(2024, 3, 1), date(2024, 2, 29))
    assert header.ciks == ("0009990001", "0009990002")
    first = header.filers[0]
    assert (first.role, first.name, first.sic, first.state, first.fiscal_year_end) == ("FILER", "PINEFOLD FINANCE CO", "6022", "DE", "0630")


def test_the_acceptance_clock_is_us_eastern_in_winter_and_summer() -> None:
    assert read_header(WHOLE.encode()).accepted_at == datetime(2024, 3, 1, 21, 30, tzinfo=UTC)
    assert read_header(WHOLE.replace("20240301163000", "20240701163000").encode()).accepted_at == datetime(2024, 7, 1, 20, 30, tzinfo=UTC)


def test_item_titles_become_numbers_and_unknown_ones_stay() -> None:
    assert read_header(WHOLE.encode()).items == ("2.02", "A title nobody knows")


@pytest.mark.parametrize(("title", "day", "number"), [
    ("Other events", date(2001, 9, 20), "5"), ("Other Events", date(2019, 11, 15), "8.01"),
    ("Regulation FD Disclosure", date(2004, 8, 22), "9"), ("Regulation FD Disclosure", date(2004, 8, 23), "7.01"),
    ("Changes in Registrant's Certifying Accountant", date(2020, 1, 1), "4.01"), ("Cost(s) Associated with Exit or Disposal", None, "2.05"),
    ("Departure of Directors or Certain Officers; Election of Directors", None, "5.02"), ("2.02", None, "2.02"),
])
def test_the_same_title_has_another_number_before_23_august_2004(title: str, day: date | None, number: str) -> None:
    assert item_number(title, day) == number


def test_an_empty_header_value_takes_nothing_away() -> None:
    assert read_header(WHOLE.encode()) == read_header(WHOLE.replace("CONFIRMING COPY:\t\n", "").encode())


def test_the_tag_dialect_says_the_same() -> None:
    tab, tag = read_submission(WHOLE.encode()), read_submission(TAG.encode())
    assert tag.header.filers[0] == tab.header.filers[0]
    assert (tag.header.accession, tag.header.form, tag.header.filed_on, tag.header.period_on) == (
        tab.header.accession, tab.header.form, tab.header.filed_on, tab.header.period_on)
    assert tag.header.items == ("2.02",)
    assert tag.documents == tab.documents


@pytest.mark.parametrize("whole", [WHOLE, TAG])
@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_line_ends_do_not_matter(whole: str, end: str) -> None:
    other = read_submission(whole.replace("\n", end).encode())
    same = read_submission(whole.encode())
    assert other.header == same.header
    assert [d.data.split() for d in other.documents] == [d.data.split() for d in same.documents]


def test_a_pem_envelope_and_an_ims_header_are_read_through() -> None:
    ims = WHOLE.replace("SEC-DOCUMENT", "IMS-DOCUMENT").replace("SEC-HEADER", "IMS-HEADER")
    sealed = f"-----BEGIN PRIVACY-ENHANCED MESSAGE-----\nProc-Type: 2001,MIC-CLEAR\n\n{ims}-----END PRIVACY-ENHANCED MESSAGE-----\n"
    assert is_submission(sealed.encode())
    assert read_submission(sealed.encode()) == read_submission(WHOLE.encode())


def test_documents_come_without_their_wrappers() -> None:
    first, second = read_submission(WHOLE.encode()).documents
    assert first.data.strip() == b"<html><body><p>Quarterly results.</p></body></html>"
    assert (first.sequence, first.type, first.name, first.media, first.description) == (1, "8-K", "d8k.htm", "html", "CURRENT REPORT")
    assert (second.data, second.media, second.left_out) == (b"Press release: 52,000 homes.\n", "text", "")


def test_documents_without_filename_keep_their_sequence() -> None:
    bare = "".join(line for line in WHOLE.splitlines(keepends=True) if not line.startswith("<FILENAME>"))
    assert [(d.sequence, d.name) for d in read_submission(bare.encode()).documents] == [(1, ""), (2, "")]


def test_a_repeated_sequence_number_gives_way_to_the_position() -> None:
    twice = WHOLE.replace("<SEQUENCE>2", "<SEQUENCE>1")
    assert [d.sequence for d in read_submission(twice.encode()).documents] == [1, 2]


def test_bare_document_blocks_are_a_submission_without_header() -> None:
    submission = read_submission(BODY.encode())
    assert submission.header.accession == ""
    assert [d.type for d in submission.documents] == ["8-K", "EX-99.1"]


@pytest.mark.parametrize(("data", "name", "media", "reason"), [
    (b"%PDF-1.4\n" + bytes(range(256)), "ex13.PDF", "pdf", "unofficial copy"),
    (b"GIF89a" + bytes(90), "logo.gif", "image", "image"),
    (b"PK\x03\x04" + bytes(50), "report.xlsx", "zip", "archive"),
])
def test_uuencoded_parts_are_decoded_named_and_left_out(data: bytes, name: str, media: str, reason: str) -> None:
    document = read_submission(with_document("EX-13", name, uuencoded(data, name))).documents[2]
    assert (document.data, document.media) == (data, media)
    assert reason in document.left_out


@given(st.binary(min_size=1, max_size=400))
@settings(max_examples=60, deadline=None)
def test_uuencode_comes_back_byte_for_byte(data: bytes) -> None:
    assert read_submission(with_document("GRAPHIC", "x.bin", uuencoded(data, "x.bin"))).documents[2].data == data


def test_damaged_uuencode_costs_that_document_only() -> None:
    submission = read_submission(with_document("GRAPHIC", "x.gif", "begin 644 x.gif\n\x01\x02\x7f\x7f\n"))
    assert "uuencoded" in submission.documents[2].left_out
    assert submission.documents[0].left_out == ""


@pytest.mark.parametrize(("kind", "name", "text"), [
    ("XML", "R1.htm", "<html><body>R page</body></html>\n"), ("EX-101.SCH", "a.xsd", "<?xml version='1.0'?><xs/>\n"),
    ("XML", "a_htm.xml", "<?xml version='1.0'?><xbrl/>\n"), ("EX-27", "fds.txt", "<CASH> 1,245\n"), ("JSON", "MetaLinks.json", "{}\n"),
])
def test_what_edgar_adds_is_listed_with_a_reason(kind: str, name: str, text: str) -> None:
    assert read_submission(with_document(kind, name, text)).documents[2].left_out


@pytest.mark.parametrize(("keep", "whole"), [("<p>Quarterly", 0), ("Press release", 1)])
def test_a_cut_file_says_how_many_documents_were_whole(keep: str, whole: int) -> None:
    cut = WHOLE[: WHOLE.index(keep)]
    with pytest.raises(BadFile, match=f"{whole} of 2 documents are whole"):
        read_submission(cut.encode())


def test_a_file_cut_between_two_documents_is_noticed() -> None:
    with pytest.raises(BadFile, match="1 of 2 documents are whole"):
        read_submission(WHOLE[: WHOLE.index("<DOCUMENT>\n<TYPE>EX-99.1")].encode())


def test_a_cut_inside_a_last_part_without_prose_is_a_warning() -> None:
    whole = with_document("EX-27", "fds.txt", "<CASH> 1,245\n<DEBT> 3\n").decode().replace("COUNT:\t\t2", "COUNT:\t\t3")
    submission = read_submission(whole[: whole.index("<DEBT>")].encode())
    assert len(submission.documents) == 3
    assert "EX-27" in submission.warnings[0]


def test_fewer_documents_than_announced_are_told() -> None:
    assert "announces 4" in read_submission(WHOLE.replace("COUNT:\t\t2", "COUNT:\t\t4").encode()).warnings[0]


def test_a_copy_with_few_of_the_announced_documents_is_cut_though_it_is_closed() -> None:
    with pytest.raises(BadFile, match="2 of 160 documents are whole"):
        read_submission(WHOLE.replace("COUNT:\t\t2", "COUNT:\t\t160").encode())


@pytest.mark.parametrize("data", [TAB.encode(), b"<SEC-HEADER>", b"just a text", b""])
def test_without_documents_it_is_no_submission(data: bytes) -> None:
    with pytest.raises(BadFile):
        read_submission(data)


@given(st.integers(0, len(WHOLE)), st.binary(max_size=30))
@settings(max_examples=150, deadline=None)
def test_any_damage_ends_in_a_submission_or_in_bad_file(at: int, junk: bytes) -> None:
    data = WHOLE.encode()
    try:
        assert read_submission(data[:at] + junk + data[at:]).documents
    except BadFile as error:
        assert error.todo


def test_every_recorded_submission_agrees_with_its_manifest(shared: Path) -> None:
    folder = shared / "filings" / "submissions"
    lines = [json.loads(line) for line in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines()]
    for line in lines:
        data = gzip.decompress((folder / line["file"]).read_bytes())
        header = read_header(data)
        assert (header.accession, header.form, str(header.filed_on)) == (line["accession"], line["form"], line["filing_date"]), line["file"]
        assert list(header.ciks)[: len(line["filer_ciks"])] == line["filer_ciks"], line["file"]
        if "cut_short_by_repository" in line["traits"] or not line["documents"]:
            with pytest.raises(BadFile, match="documents are whole|without any document"):
                read_submission(data)
            continue
        documents = read_submission(data).documents
        assert len(documents) == line["documents"], line["file"]
        assert [d.type for d in documents][:11] == line["doc_types"][:11], line["file"]
        assert not any("damaged" in d.left_out or "no end" in d.left_out for d in documents), line["file"]


@pytest.mark.parametrize(("data", "name", "media"), [
    (b"<html><body><p>x</p></body></html>", "a.txt", "html"), (b"<DIV>one</DIV><P>two</P><BR>", "a.txt", "html"),
    (b"<PAGE>\n<TABLE>\n<S> <C>\nSales  1\n</TABLE>\nless than <5%", "a.htm", "text"), (b"PK\x03\x04....", "a.htm", "zip"),
    (b"\x1f\x8b\x08", "a.htm", "zip"), (b"%PDF-1.7", "a.htm", "pdf"), (bytes(range(32)) * 20, "a.txt", "other"),
    (b"BMW sells cars", "a.txt", "text"), (b"<?xml version='1.0'?><html xmlns='x'><body/></html>", "a.xml", "html"),
    (b"<?xml version='1.0'?><ownershipDocument/>", "a.txt", "other"), (b"<html><pre>\n text of 1999 \n</pre></html>", "a.htm", "html"),
    (b"<html><pre>\n" + b"plain text of 1999\n" * 40 + b"</pre></html>", "a.htm", "text"),
])
def test_media_is_decided_by_content(data: bytes, name: str, media: str) -> None:
    assert media_of(data, name) == media
