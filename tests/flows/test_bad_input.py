"""Bad input: every kind gets one line that says what to do, or a row in quarantine; nothing is lost and the lake stays whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from small_ingest import World, accession, counts, filing, indexed, ingest, submission, write_filings, write_recipe

from edgarmill import __main__ as main
from edgarmill.schemas import snapshot as snapshots
from edgarmill.schemas.errors import NewerSchema
from edgarmill.schemas.records import Quarantine
from edgarmill.schemas.store import Lake, Part
from edgarmill.schemas.tables import SCHEMA_VERSION

SUPPORT = str(Path(__file__).parents[1] / "support")
WHOLE = filing(7)
BAD = {  # file: (bytes, stage, reason, words of the message)
    "empty.htm": (b"", "open", "BadFile", "empty"),
    "blank.txt": (b" \n\t\r\n" * 50, "open", "BadFile", "empty"),
    "bodyless.htm": (b"<html><head><title>10-K</title></head></html>", "open", "BadFile", "without any text"),
    "markup.htm": (b"<html><body><div><img src='a.gif'/></div></body></html>", "open", "BadFile", "without any text"),
    f"{accession(7)}.txt": (WHOLE[: len(WHOLE) // 2], "open", "BadFile", ""),
    "headonly.txt": (filing(8)[:600].replace(b"000008", b"000018"), "open", "BadFile", ""),
    "junk.txt": (bytes(range(256)) * 64, "open", "BadFile", "binary"),
    "elf.htm": (b"\x7fELF\x02\x01" + bytes(range(256)) * 9, "open", "BadFile", "binary"),
    "zipped.htm": (b"PK\x03\x04" + b"\x14\0" * 40, "open", "BadFile", "archive"),
    "picture.pdf": (b"\x89PNG\r\n\x1a\n" + bytes(500), "open", "BadFile", "binary"),
    "broken.pdf": (b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog", "open", "BadFile", ""),
    "short.htm.gz": (b"\x1f\x8b\x08\0\0\0\0\0", "fetch", "BadFile", "damaged"),
    "short.txt.zst": (b"\x28\xb5\x2f\xfd\x04", "fetch", "BadFile", "damaged"),
    "twice.txt": (filing(1), "fetch", "DuplicateAccession", f"claimed by {accession(1)}.txt"),
    "proxy.txt": (submission(9, "<html><body><p>Proxy</p></body></html>", "DEF 14A"), "open", "UnknownForm", "DEF14A"),
    "formless.htm": (b"<html><body><p>" + b"Nothing says what this is. " * 40 + b"</p></body></html>", "open", "UnknownForm", "form"),
    "blocked.htm": (b"<html><body>Your Request Rate Threshold Exceeded.</body></html>", "open", "BadFile", "block page"),
    "large.txt": (filing(11) + b"\n" * 300_000, "fetch", "TooLarge", "more than 200000 bytes"),
}


@pytest.fixture(scope="module")
def quarantined(world: World, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Quarantine]:
    """One run over all bad files and two good ones."""
    root = tmp_path_factory.mktemp("bad")
    folder = write_filings(root / "in", 1, 2)
    for name, (data, *_) in BAD.items():
        (folder / name).write_bytes(data)
    lake = world.seeded(root / "lake")
    record = ingest(lake, folder, world.recipe, max_filing_bytes=200_000).record
    assert counts(record) == (len(BAD) + 2, 2, 0, len(BAD))
    assert record.exit_code == 3
    assert set(indexed(lake)) == {accession(1), accession(2)}
    before = Lake.open(str(lake)).snapshot().count("quarantine")
    again = ingest(lake, folder, world.recipe, max_filing_bytes=200_000).record
    assert counts(again) == (len(BAD) + 2, 0, 2, len(BAD))
    rows = Lake.open(str(lake)).snapshot().records("quarantine")
    assert len(rows) == before == len(BAD)
    return {row.name: row for row in rows}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_quarantined_with_its_reason_and_what_to_do(quarantined: dict[str, Quarantine], name: str) -> None:
    row, (_, stage, reason, words) = quarantined[name], BAD[name]
    assert (row.stage, row.reason, row.expected) == (stage, reason, True)
    assert words in row.message
    assert row.message and row.todo and "\n" not in row.message + row.todo and "Traceback" not in row.message


def test_a_filing_of_30_mb_is_indexed_or_quarantined_and_never_hangs(world: World, tmp_path: Path) -> None:
    folder = write_filings(tmp_path / "in", 1)
    row = b"<tr><td>1,234</td><td>5,678</td><td>9</td></tr>\n"
    table = b"<table>" + row * 40 + b"</table>\n"
    uuencoded = b"M" + b"X" * 60 + b"\n"  # most of a large filing is pictures and spreadsheets
    head, tail = filing(2).split(b"</TEXT>\n", 1)
    picture = b"</TEXT>\n</DOCUMENT>\n<DOCUMENT>\n<TYPE>GRAPHIC\n<SEQUENCE>2\n<FILENAME>a.jpg\n<TEXT>\nbegin 644 a.jpg\n"
    body = head.replace(b"</body>", table * 10 + b"</body>") + picture + uuencoded * 490_000 + b"end\n</TEXT>\n" + tail
    assert len(body) > 30 * 10**6
    (folder / f"{accession(2)}.txt").write_bytes(body)
    record = ingest(tmp_path / "lake", folder, world.recipe, parse_seconds=10).record
    planned, done, _, bad = counts(record)
    assert (planned, done + bad) == (2, 2)


def test_a_filing_that_takes_too_long_is_quarantined(world: World, tmp_path: Path) -> None:
    folder = write_filings(tmp_path / "in", 1)
    paragraphs = b"".join(b"<p>Paragraph %d says something of its own, number %d.</p>" % (n, n * 7) for n in range(30_000))
    (folder / f"{accession(2)}.txt").write_bytes(filing(2).replace(b"</body>", paragraphs + b"</body>"))
    lake = world.seeded(tmp_path / "lake")
    record = ingest(lake, folder, world.recipe, parse_seconds=0.15).record
    assert counts(record) == (2, 1, 0, 1)
    (row,) = Lake.open(str(lake)).snapshot().records("quarantine")
    assert (row.reason, row.expected) == ("TooLarge", True) and "parse_seconds" in row.todo


# the command: one line, and the code of the exit


@pytest.fixture
def edgarmill_here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """The command in this process: only for what is refused before anything is started."""
    monkeypatch.chdir(tmp_path)

    def call(*words: object) -> tuple[int, str]:
        code = main.run([str(w) for w in words])
        return code, capsys.readouterr().err

    return call


def said(ended: tuple[int, str], code: int, *words: str) -> None:
    assert ended[0] == code, ended[1]
    assert ended[1].startswith("edgarmill: ") and ended[1].count("\n") == 1 and "Traceback" not in ended[1], ended[1]
    for word in words:
        assert word in ended[1]


Here = Callable[..., tuple[int, str]]


def test_a_folder_that_is_none_is_refused(edgarmill_here: Here, world: World, tmp_path: Path) -> None:
    file = tmp_path / "file.txt"
    file.write_text("x", encoding="utf-8")
    said(edgarmill_here("ingest", "--path", tmp_path / "absent", "--recipe", world.recipe), 2, "absent: no such folder", "Name the folder")
    said(edgarmill_here("ingest", "--path", file, "--recipe", world.recipe), 2, "file.txt: not a folder")
    said(edgarmill_here("ingest", "--path", file / "below", "--recipe", world.recipe), 4, "cannot be read")
    assert not (tmp_path / "lake").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_refused(world: World, tmp_path: Path) -> None:
    from edgarmill.schemas.errors import StorageError

    folder = write_filings(tmp_path / "in", 1)
    folder.chmod(0)
    try:
        with pytest.raises(StorageError, match="permission"):
            ingest(tmp_path / "lake", folder, world.recipe)
    finally:
        folder.chmod(0o755)


def test_a_place_where_no_lake_can_be_written_is_refused(edgarmill_here: Here, world: World, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for place in ("/proc/lake", tmp_path / "file" / "lake"):
        said(edgarmill_here("ingest", "--path", world.folder, "--recipe", world.recipe, "--lake", place), 4, "--lake")


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ('name = "x"\n[chunker\n', ("not TOML", "line 2")),
        ('name = "x"\ncolour = "red"\n[chunker]\nkind = "structure"\n', ("colour", "Extra inputs")),
        ('name = "x"\n', ("chunker", "required")),
        ('name = "../x"\n[chunker]\nkind = "structure"\n', ("name",)),
        ('name = "x"\n[chunker]\nkind = "telepathy"\n', ("telepathy", "structure")),
        ('name = "x"\n[chunker]\nkind = "structure"\nsizzle = 3\n', ("sizzle",)),
        ('name = "x"\n[chunker]\nkind = "fixed"\ntokens = 512\noverlap = 50\n', ("256", "overflow")),
        ('name = "x"\n[chunker]\nkind = "structure"\nmax_tokens = 32\n[context]\nkind = "metadata"\n', ("leave no room",)),
        ('name = "x"\n[chunker]\nkind = "structure"\n[parser]\nengine = "crystal"\n', ("crystal", "native")),
        ('name = "x"\n[chunker]\nkind = "structure"\n[embedding]\nmodel = "packaged:none"\n', ("none", "all-MiniLM-L6-v2")),
        ('name = "x"\n[chunker]\nkind = "structure"\n[embedding]\nmodel = "/no/such/model"\n', ("/no/such/model", "no such")),
        ('name = "x"\n[chunker]\nkind = "structure"\n[embedding]\nmodel = "."\n', ("modules.json",)),
    ],
)
def test_a_recipe_that_cannot_be_used_is_refused_before_anything_is_made(edgarmill_here: Here, world: World, tmp_path: Path, toml: str,
                                                                         words: tuple[str, ...]) -> None:
    (tmp_path / "mine.toml").write_text(toml, encoding="utf-8")
    said(edgarmill_here("ingest", "--path", world.folder, "--recipe", "mine.toml"), 2, *words)
    assert not (tmp_path / "lake").exists()


def test_a_recipe_that_is_not_there_is_refused(edgarmill_here: Here, world: World) -> None:
    said(edgarmill_here("ingest", "--path", world.folder, "--recipe", "defualt"), 2, "defualt", "default, paper")
    said(edgarmill_here("ingest", "--path", world.folder, "--recipe", "absent.toml"), 2, "absent.toml")


def test_an_unknown_model_of_a_hub_is_refused_at_once_without_a_network(world: World, tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path, Path("nobody/no-such-model"))
    nowhere = {**os.environ, "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "0"}
    words = [sys.executable, "-m", "edgarmill", "ingest", "--path", str(world.folder), "--recipe", recipe]
    ran = subprocess.run(words, env=nowhere, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    said((ran.returncode, ran.stderr), 2, "nobody/no-such-model", "local folder")


def test_a_manifest_that_cannot_be_read_ends_the_run(world: World, tmp_path: Path) -> None:
    from edgarmill.schemas.errors import SettingsError

    (tmp_path / "m.jsonl").write_text('{"file": "a.htm"\n', encoding="utf-8")
    with pytest.raises(SettingsError, match="manifest cannot be read"):
        ingest(tmp_path / "lake", world.folder, world.recipe, manifest=str(tmp_path / "m.jsonl"))


def test_a_second_run_at_the_same_time_is_told_who_holds_the_lake(edgarmill_here: Here, world: World, tmp_path: Path) -> None:
    lake = Lake.open(str(tmp_path / "lake"), create=True)
    with lake.writer("20261130T120000-abc", "edgarmill ingest"):
        ended = edgarmill_here("ingest", "--path", world.folder, "--recipe", world.recipe)
    said(ended, 4, f"process {os.getpid()}", "run 20261130T120000-abc", "Wait until it ends")
    assert lake.snapshot().count("runs") == 0


# written by a newer edgarmill


def copied(world: World, tmp_path: Path) -> Lake:
    import shutil

    shutil.copytree(world.lake, tmp_path / "lake")
    return Lake.open(str(tmp_path / "lake"))


def test_a_snapshot_of_a_newer_edgarmill_is_refused_by_every_verb(edgarmill_here: Here, world: World, tmp_path: Path) -> None:
    lake = copied(world, tmp_path)
    path = Path(lake.root, "catalog", "snapshots", f"{lake.snapshot().number + 1:08d}.json")
    path.write_text(json.dumps({"schema_version": SCHEMA_VERSION + 1}), encoding="utf-8")
    for words in (("ingest", "--path", world.folder, "--recipe", world.recipe), ("search", "sales"), ("index", "list"), ("costs",),
                  ("evaluate", "questions.jsonl"), ("sql", "select 1")):
        said(edgarmill_here(*words), 4, "Update edgarmill")


def test_a_table_of_a_newer_edgarmill_is_refused(edgarmill_here: Here, world: World, tmp_path: Path) -> None:
    lake = copied(world, tmp_path)
    now = lake.snapshot()
    (part, *others) = now.tables["filings"]
    path = Path(lake.root, part.path)
    newer = {b"edgarmill.schema_version": str(SCHEMA_VERSION + 1).encode()}
    pq.write_table(pq.read_table(path).replace_schema_metadata(newer), path)
    renewed = Part("filings", part.path, part.rows, path.stat().st_size)
    forged = replace(now, number=now.number + 1, tables={**now.tables, "filings": (renewed, *others)})
    Path(lake.root, "catalog", "snapshots", f"{forged.number:08d}.json").write_bytes(snapshots.encode(forged))
    with pytest.raises(NewerSchema, match="Update edgarmill"):
        ingest(tmp_path / "lake", world.folder, world.recipe)
    said(edgarmill_here("sql", "select * from filings"), 4, "Update edgarmill")
    said(edgarmill_here("why", accession(1)), 4, "Update edgarmill")


def test_an_index_of_a_newer_edgarmill_is_refused(edgarmill_here: Here, world: World, tmp_path: Path) -> None:
    import lance

    lake = copied(world, tmp_path)
    dataset = lance.dataset(lake.index_uri("small"), version=lake.snapshot().indexes["small"])
    dataset.update_schema_metadata({"edgarmill.schema_version": "99"})
    newest = lance.dataset(lake.index_uri("small"))
    with lake.writer("newer") as writer:
        writer.commit([], key="newer", indexes={"small": newest.version})
    with pytest.raises(NewerSchema, match="Update edgarmill"):
        ingest(tmp_path / "lake", world.folder, world.recipe)
    assert Lake.open(lake.root).snapshot().records("runs")[-1].outcome == "failed"


# a full disk


FULL = """
import resource
from edgarmill import __main__ as main
from edgarmill.commands import ingest

class Filling(ingest.Progress):
    def __call__(self, stage, done, total=None):
        super().__call__(stage, done, total)
        if (stage, done) == (sys.argv[1], int(sys.argv[2])):  # from here on no file may grow beyond this
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))

ingest.Progress = Filling
sys.exit(main.run(sys.argv[4:]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_FSIZE as Linux has it")
@pytest.mark.parametrize(("stage", "done", "room"), [("fetch", 1, 1000), ("transform", 2, 3000)])
def test_a_disk_full_in_the_middle_ends_in_one_line_and_the_next_run_completes(world: World, prefect: str, tmp_path: Path, stage: str,
                                                                               done: int, room: int) -> None:
    folder, lake = write_filings(tmp_path / "in", 1, 2, 3), world.seeded(tmp_path / "lake")
    words = ["ingest", "--lake", lake, "--path", folder, "--recipe", world.recipe, "--set", "block_filings=1", "--engine", "loop",
             "--set", f"prefect_api_url={prefect}"]
    child = [sys.executable, "-c", "import sys\n" + FULL, stage, done, room, *words]
    ran = subprocess.run([str(w) for w in child], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    complaints = [line for line in ran.stderr.splitlines() if line.startswith("edgarmill: ")]
    assert (ran.returncode, len(complaints)) == (4, 1), ran.stderr
    assert "no space left" in complaints[0] and "Traceback" not in ran.stderr + ran.stdout
    planned, fresh, unchanged, bad = counts(ingest(lake, folder, world.recipe).record)
    assert (planned, fresh + unchanged, bad) == (3, 3, 0)
    assert indexed(lake) == {accession(n): 3 for n in (1, 2, 3)}
