"""The folder source: which files are taken, what a manifest says, and that no file is ever lost."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from datetime import date
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from edgarmill.schemas.errors import BadFile, DuplicateAccession, SettingsError, TooLarge, UsageError
from edgarmill.schemas.settings import Settings
from edgarmill.workers.source.folder import fetch, list_filings, read
from edgarmill.workers.source.listed import Listed

HEADER = "<SEC-DOCUMENT>{0}.txt : 20240301\n<SEC-HEADER>{0}.hdr.sgml : 20240301\nACCESSION NUMBER:\t\t{0}\n"


def listed(folder: Path, manifest: str | None = None, max_bytes: int = 10**6) -> tuple[list[Listed], list[str]]:
    warnings: list[str] = []
    found = list(list_filings(str(folder), Settings(max_filing_bytes=max_bytes), warnings.append, manifest))
    return found, warnings


def test_every_kind_is_read_in_place_also_compressed(tmp_path: Path) -> None:
    body = b"<html>one filing</html>" * 50
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.htm").write_bytes(body)
    (tmp_path / "b.html.gz").write_bytes(gzip.compress(body, mtime=0))
    (tmp_path / "sub" / "c.TXT.zst").write_bytes(zstandard.compress(body))
    (tmp_path / "d.pdf").write_bytes(body)
    (tmp_path / "e.nc").write_bytes(body)
    found, warnings = listed(tmp_path)
    assert [one.filing.name for one in found] == ["a.htm", "b.html.gz", "d.pdf", "e.nc", "sub/c.TXT.zst"]
    assert {one.filing.sha256 for one in found} == {hashlib.sha256(body).hexdigest()}
    assert {one.filing.bytes for one in found} == {len(body)}
    assert [fetch(one, Settings()) for one in found] == [body] * 5
    assert warnings == []


def test_other_files_are_passed_over_and_named_hidden_ones_silently(tmp_path: Path) -> None:
    for name in ("a.htm", "notes.docx", "README.txt", ".hidden.htm"):
        (tmp_path / name).write_text("text", encoding="utf-8")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.txt").write_text("text", encoding="utf-8")
    found, warnings = listed(tmp_path)
    assert [one.filing.name for one in found] == ["a.htm"]
    assert len(warnings) == 1 and "2 files" in warnings[0] and "notes.docx" in warnings[0]


def test_the_accession_comes_from_header_then_name_then_folder_then_a_stand_in(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(HEADER.format("0009999999-24-000001"), encoding="utf-8")
    (tmp_path / "0009999999-24-000002.htm.gz").write_bytes(gzip.compress(b"<html>2</html>", mtime=0))
    (tmp_path / "000999999924000003").mkdir()
    (tmp_path / "000999999924000003" / "main.htm").write_text("<html>3</html>", encoding="utf-8")
    (tmp_path / "plain.htm").write_text("<html>4</html>", encoding="utf-8")
    accessions = {one.filing.name: one.filing.accession for one in listed(tmp_path)[0]}
    assert accessions["x.txt"] == "0009999999-24-000001"
    assert accessions["0009999999-24-000002.htm.gz"] == "0009999999-24-000002"
    assert accessions["000999999924000003/main.htm"] == "0009999999-24-000003"
    assert accessions["plain.htm"].startswith("local-")


def test_the_stand_in_does_not_change_with_compression_or_place(tmp_path: Path) -> None:
    for name, data in (("one/a.htm", b"x"), ("two/a.htm.gz", gzip.compress(b"x", mtime=0))):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(data)
    assert listed(tmp_path / "one")[0][0].filing.accession == listed(tmp_path / "two")[0][0].filing.accession


def test_a_second_file_with_the_same_accession_is_yielded_with_its_error(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(HEADER.format("0009999999-24-000001") + name, encoding="utf-8")
    first, second = listed(tmp_path)[0]
    assert first.error is None and first.filing.accession == "0009999999-24-000001"
    assert isinstance(second.error, DuplicateAccession) and "a.txt" in second.error.what
    assert second.filing.accession.startswith("local-")


@pytest.mark.parametrize(("name", "data"), [
    ("a.htm.gz", b"not gzip"), ("a.htm.zst", b"not zstd"), ("a.htm.gz", gzip.compress(b"x" * 9999, mtime=0)[:40]),
])
def test_a_damaged_archive_is_yielded_with_its_error(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    (one,) = listed(tmp_path)[0]
    assert isinstance(one.error, BadFile) and "damaged" in one.error.what
    with pytest.raises(BadFile):
        fetch(one, Settings())


def test_zstd_that_ends_in_the_middle_is_damaged_and_several_frames_are_one_file(tmp_path: Path) -> None:
    text = "".join(f"line {n * n}\n" for n in range(20_000)).encode()
    whole = zstandard.compress(text)
    for end in (5, len(whole) // 2, len(whole) - 1):
        (tmp_path / "a.htm.zst").write_bytes(whole[:end])
        with pytest.raises(BadFile, match="damaged"):
            read(str(tmp_path / "a.htm.zst"), 10**7)
    (tmp_path / "a.htm.zst").write_bytes(whole + zstandard.compress(b"end"))
    assert read(str(tmp_path / "a.htm.zst"), 10**7) == text + b"end"


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_bomb_stops_at_the_limit(tmp_path: Path, suffix: str) -> None:
    packed = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[suffix](b"a" * 5_000_000)
    (tmp_path / f"a.txt{suffix}").write_bytes(packed)
    (one,) = listed(tmp_path)[0]
    assert isinstance(one.error, TooLarge) and "max_filing_bytes" in one.error.todo
    with pytest.raises(TooLarge):
        read(one.where, 10**6)


def test_an_unreadable_file_is_yielded_with_its_error(tmp_path: Path) -> None:
    (tmp_path / "gone.htm").symlink_to(tmp_path / "nowhere.htm")
    (one,) = listed(tmp_path)[0]
    assert isinstance(one.error, BadFile) and "cannot be read" in one.error.what


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.htm").write_text("x", encoding="utf-8")
    (folder / "b.htm").symlink_to(folder / "a.htm")
    (folder / "out.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "up").symlink_to(tmp_path)
    found, warnings = listed(folder)
    assert {one.filing.name for one in found} == {"a.htm", "b.htm"}
    assert "out.txt" in warnings[0]


def test_a_pipe_is_no_filing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    assert listed(tmp_path)[0] == []


@pytest.mark.parametrize("path", ["nowhere", "file.htm"])
def test_no_folder_is_a_usage_error(tmp_path: Path, path: str) -> None:
    (tmp_path / "file.htm").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError):
        listed(tmp_path / path)


MANIFEST = {"file": "a.htm.gz", "accession": "000999999924000009", "cik": "12927", "ticker": "ba", "company": "BOEING CO", "form": "10-K",
            "period": "2023-12-31", "filing_date": None, "source": "somewhere", "bytes": 3, "fiscal_year": 2023, "amends": "false"}


def with_manifest(folder: Path, text: str, name: str = "manifest.jsonl") -> str:
    (folder / "a.htm.gz").write_bytes(gzip.compress(b"abc", mtime=0))
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def test_a_manifest_in_the_folder_is_taken_by_itself(tmp_path: Path) -> None:
    with_manifest(tmp_path, json.dumps(MANIFEST) + "\n\n")
    one = listed(tmp_path)[0][0].filing
    assert (one.accession, one.ciks, one.tickers, one.company) == ("0009999999-24-000009", ("0000012927",), ("BA",), "BOEING CO")
    assert (one.form, one.period_on, one.filed_on, one.fiscal_year, one.source) == ("10-K", date(2023, 12, 31), None, 2023, "folder")


def test_csv_says_the_same_as_jsonl(tmp_path: Path) -> None:
    row = {key: value for key, value in MANIFEST.items() if value is not None}
    text = ",".join(row) + "\n" + ",".join(str(value) for value in row.values()) + "\n"
    path = with_manifest(tmp_path, text, "m.csv")
    by_csv = listed(tmp_path, path)[0]
    by_jsonl = listed(tmp_path, with_manifest(tmp_path, json.dumps(row), "m.jsonl"))[0]
    assert by_csv == by_jsonl


def test_a_name_without_its_compression_suffix_is_found(tmp_path: Path) -> None:
    path = with_manifest(tmp_path, '{"file": "a.htm", "ciks": ["1", "2"], "items": "2.02; 9.01"}', "m.jsonl")
    filing = listed(tmp_path, path)[0][0].filing
    assert (filing.ciks, filing.items) == (("0000000001", "0000000002"), ("2.02", "9.01"))


def test_a_line_for_an_absent_file_is_reported(tmp_path: Path) -> None:
    with_manifest(tmp_path, '{"file": "b.htm", "form": "10-K"}')
    found, warnings = listed(tmp_path)
    assert len(found) == 1 and "b.htm" in warnings[0]


def test_an_unknown_column_stops_a_named_manifest_and_is_told_of_the_folder_s_own(tmp_path: Path) -> None:
    path = with_manifest(tmp_path, '{"file": "a.htm", "perido": "2023-12-31"}')
    with pytest.raises(SettingsError, match="perido"):
        listed(tmp_path, path)
    assert "perido" in listed(tmp_path)[1][0]


@pytest.mark.parametrize(("line", "said"), [
    ('{"file": "a.htm", "period": "31.12.2023"}', "line 1: period"), ('{"file": "a.htm", "cik": "BA"}', "CIK"),
    ('{"form": "10-K"}', "no file"), ('{"file": "a.htm"}\n{"file": "a.htm"}', "second time"), ("[1]", "no JSON object"),
    ("{", "cannot be read"), ("[" * 60_000, "cannot be read"), ('{"file": "a", "accession": "a b"}', "accession"),
])
def test_a_bad_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = with_manifest(tmp_path, line, "m.jsonl")
    with pytest.raises(SettingsError, match=said):
        listed(tmp_path, path)


def test_no_such_manifest(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no such manifest"):
        listed(tmp_path, str(tmp_path / "none.csv"))


def test_bytes_that_are_not_those_of_the_manifest_are_refused(tmp_path: Path) -> None:
    with_manifest(tmp_path, json.dumps({"file": "a.htm", "sha256": "0" * 64}))
    assert "sha256" in str(listed(tmp_path)[0][0].error)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,6}\.(htm|txt|pdf|doc)(\.gz)?", fullmatch=True), st.binary(max_size=60), max_size=8))
@settings(max_examples=40, deadline=None)
def test_every_file_of_a_known_kind_is_listed_exactly_once(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    folder = tmp_path_factory.mktemp("filings")
    for name, data in files.items():
        (folder / name).write_bytes(data)
    found, _ = listed(folder)
    assert [one.filing.name for one in found] == sorted(name for name in files if ".doc" not in name)
    assert len({one.filing.accession for one in found}) == len(found)


def test_the_development_folder_is_listed_whole(shared: Path) -> None:
    found, warnings = listed(shared / "filings" / "dev", max_bytes=2**28)
    assert (len(found), warnings, [one for one in found if one.error]) == (225, [], [])
