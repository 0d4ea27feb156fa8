"""Ingest: what is done is not done again, what changed replaces what it was, and a run that was stopped goes on where it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from small_ingest import (
    GOOD,
    JUNK,
    World,
    accession,
    content,
    counts,
    filing,
    indexed,
    ingest,
    texts,
    write_filings,
    write_recipe,
)

from edgarmill.retrieval.versions import versions
from edgarmill.schemas.errors import NotVerified
from edgarmill.schemas.records import Check, RunRecord
from edgarmill.schemas.store import Lake, Snapshot
from edgarmill.workers import index as indexing

WORKED_ON = ("received", "filings", "documents", "elements", "sections", "chunks", "contexts", "embeddings", "usage", "work", "quarantine")
SUPPORT = str(Path(__file__).parents[1] / "support")


def snapshot(lake: Path) -> Snapshot:
    return Lake.open(str(lake)).snapshot()


def sizes(lake: Path) -> dict[str, int]:
    return {table: snapshot(lake).count(table) for table in WORKED_ON}


def runs(lake: Path) -> list[RunRecord]:
    return snapshot(lake).records("runs")


def in_child(code: str, *arguments: object, **more: object) -> subprocess.Popen[str]:
    """A child that has the tests' support on its path."""
    head = f"import sys; sys.path.insert(0, {SUPPORT!r})\n"
    return subprocess.Popen([sys.executable, "-c", head + code, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, **more)  # type: ignore[call-overload,no-any-return]


# twice


AGAIN = """
from pathlib import Path
from small_ingest import counts, ingest
job = ingest(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
print(*counts(job.record), job.record.tag, "torch" in sys.modules, "ray" in sys.modules)
"""


def test_a_second_run_does_no_work_and_loads_no_model(world: World, tmp_path: Path) -> None:
    folder, lake = write_filings(tmp_path / "in", *GOOD), world.seeded(tmp_path / "lake")
    first = ingest(lake, folder, world.recipe).record
    assert (counts(first), first.outcome, first.exit_code) == ((5, 5, 0, 0), "done", 0)
    before, index = sizes(lake), indexed(lake)
    out, err = in_child(AGAIN, lake, folder, world.recipe).communicate()
    assert out.split() == ["5", "0", "5", "0", first.tag, "False", "False"], err
    assert sizes(lake) == before and indexed(lake) == index
    assert [r.tag for r in runs(lake)] == [first.tag, first.tag]


def test_what_stands_in_quarantine_is_not_tried_again_unless_asked_for(world: World, tmp_path: Path) -> None:
    folder, lake = write_filings(tmp_path / "in", 1), world.seeded(tmp_path / "lake")
    (folder / "junk.htm").write_bytes(JUNK["junk.htm"])
    assert counts(ingest(lake, folder, world.recipe).record) == (2, 1, 0, 1)
    before = sizes(lake)
    second = ingest(lake, folder, world.recipe).record
    assert (counts(second), second.exit_code) == ((2, 0, 1, 1), 3)
    assert sizes(lake) == before
    assert counts(ingest(lake, folder, world.recipe, retry=True).record) == (2, 0, 1, 1)
    assert snapshot(lake).count("quarantine") == 1


# what changed


def test_a_changed_file_alone_is_done_again_and_replaced_everywhere(world: World, tmp_path: Path) -> None:
    folder, lake = write_filings(tmp_path / "in", 1, 2, 3), world.seeded(tmp_path / "lake")
    first = ingest(lake, folder, world.recipe).record
    write_filings(folder, 2, words="violently shaken")
    second = ingest(lake, folder, world.recipe).record
    assert counts(second) == (3, 1, 2, 0) and second.tag != first.tag
    now = snapshot(lake)
    old = "division 2 Company 2 makes pumps and its business was steady"
    for text in (texts(lake), *(str(now.read(table).to_pylist()) for table in ("documents", "chunks"))):
        assert "violently shaken" in text and old not in text
    for table, key in (("filings", "accession"), ("documents", "document_id"), ("chunks", "chunk_id"), ("contexts", "chunk_id")):
        found = now.read(table, [key])[key].to_pylist()
        assert len(found) == len(set(found)), table
    assert indexed(lake) == {accession(n): 3 for n in (1, 2, 3)}


@pytest.mark.parametrize("times", [1, 2])
def test_a_night_that_does_not_verify_is_written_anew_in_the_same_run(
    world: World, tmp_path: Path, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, lake = write_filings(tmp_path / "in", 1, 2, 3), world.seeded(tmp_path / "lake")
    first = ingest(lake, folder, world.recipe).record
    write_filings(folder, 2, words="violently shaken")
    seen: list[int | None] = []
    real = indexing.verify

    def verify(lake: Lake, built: indexing.Built, spec: indexing.IndexSpec) -> list[Check]:
        seen.append(built.since)
        checks = real(lake, built, spec)
        return [replace(checks[0], ok=False, found="damage"), *checks[1:]] if len(seen) <= times else checks

    monkeypatch.setattr(indexing, "verify", verify)
    if times == 2:
        with pytest.raises(NotVerified, match="damage"):
            ingest(lake, folder, world.recipe)
        assert (runs(lake)[-1].outcome, len(versions(snapshot(lake)))) == ("failed", 2)
        return
    second = ingest(lake, folder, world.recipe).record
    assert (second.outcome, counts(second)) == ("done", (3, 1, 2, 0)) and second.tag != first.tag
    assert len(seen) == 2 and seen[0] is not None and seen[1] is None
    assert [version.state for version in versions(snapshot(lake))] == ["verified", "verified"]
    assert indexed(lake) == {accession(n): 3 for n in (1, 2, 3)} and "violently shaken" in texts(lake)


def test_a_file_that_becomes_what_it_was_is_as_before(world: World, tmp_path: Path) -> None:
    folder, lake = write_filings(tmp_path / "in", 1, 2), world.seeded(tmp_path / "lake")
    first = ingest(lake, folder, world.recipe).record
    before = content(snapshot(lake))
    write_filings(folder, 2, words="violently shaken")
    ingest(lake, folder, world.recipe)
    write_filings(folder, 2)
    third = ingest(lake, folder, world.recipe).record
    assert counts(third) == (2, 1, 1, 0) and third.tag == first.tag
    after = content(snapshot(lake))
    for table in ("filings", "documents", "elements", "sections", "chunks", "contexts", "quarantine"):
        assert after[table] == before[table], table


def test_a_manifest_overrules_and_its_change_is_a_change(world: World, tmp_path: Path) -> None:
    folder, lake = write_filings(tmp_path / "in", 1, 2), tmp_path / "lake"
    manifest = tmp_path / "said.jsonl"
    world.seeded(lake)
    ingest(lake, folder, world.recipe)
    manifest.write_text(json.dumps({"file": f"{accession(1)}.txt", "company": "Said Otherwise", "tickers": ["SAID"]}), encoding="utf-8")
    record = ingest(lake, folder, world.recipe, manifest=str(manifest)).record
    assert counts(record) == (2, 1, 1, 0)
    known = {f.accession: f for f in snapshot(lake).records("filings")}
    assert (known[accession(1)].company, known[accession(1)].tickers) == ("Said Otherwise", ("SAID",))
    assert known[accession(2)].company != "Said Otherwise"
    assert counts(ingest(lake, folder, world.recipe, manifest=str(manifest)).record) == (2, 0, 2, 0)


# out of quarantine


def test_a_mended_file_leaves_quarantine(world: World, tmp_path: Path) -> None:
    folder, lake = write_filings(tmp_path / "in", 1), world.seeded(tmp_path / "lake")
    name = folder / f"{accession(2)}.txt"
    name.write_bytes(filing(2)[: len(filing(2)) // 3])
    assert counts(ingest(lake, folder, world.recipe).record) == (2, 1, 0, 1)
    assert {f.accession: f.status for f in snapshot(lake).records("filings")} == {accession(1): "parsed", accession(2): "quarantined"}
    name.write_bytes(filing(2))
    assert counts(ingest(lake, folder, world.recipe).record) == (2, 1, 1, 0)
    assert snapshot(lake).count("quarantine") == 0
    assert {f.accession: f.status for f in snapshot(lake).records("filings")} == {accession(1): "parsed", accession(2): "parsed"}


def test_a_file_that_was_nameless_junk_leaves_quarantine_under_its_real_name(world: World, tmp_path: Path) -> None:
    folder, lake = write_filings(tmp_path / "in", 1), world.seeded(tmp_path / "lake")
    (folder / "mine.txt").write_bytes(b"")
    assert counts(ingest(lake, folder, world.recipe).record) == (2, 1, 0, 1)
    (folder / "mine.txt").write_bytes(filing(2))
    assert counts(ingest(lake, folder, world.recipe).record) == (2, 1, 1, 0)
    assert snapshot(lake).count("quarantine") == 0
    assert {f.accession for f in snapshot(lake).records("filings")} == {accession(1), accession(2)}


def test_a_filing_whose_file_goes_bad_and_comes_back_keeps_its_rows(world: World, tmp_path: Path) -> None:
    folder, lake = write_filings(tmp_path / "in", 1, 2), world.seeded(tmp_path / "lake")
    ingest(lake, folder, world.recipe)
    before = content(snapshot(lake))
    name = folder / f"{accession(2)}.txt"
    for bad, limit in ((b"", 2**20), (filing(2) + b" " * 2**20, 2**20)):  # junk for the open stage, and too large for the source
        name.write_bytes(bad)
        assert counts(ingest(lake, folder, world.recipe, max_filing_bytes=limit).record) == (2, 0, 1, 1)
        assert indexed(lake) == {accession(1): 3, accession(2): 3}  # the last good state stays
        name.write_bytes(filing(2))
        assert counts(ingest(lake, folder, world.recipe).record) == (2, 0, 2, 0)
        assert snapshot(lake).count("quarantine") == 0
    after = content(snapshot(lake))
    for table in ("filings", "documents", "chunks", "contexts", "embeddings"):
        assert after[table] == before[table], table


def test_a_recipe_that_quarantines_does_not_hinder_another_nor_itself_later(world: World, tmp_path: Path) -> None:
    folder, lake = write_filings(tmp_path / "in", 1), world.seeded(tmp_path / "lake")
    (folder / "junk.htm").write_bytes(JUNK["junk.htm"])
    other = write_recipe(tmp_path, world.model, "other", chunker="fixed", context="metadata")
    for recipe, done in ((world.recipe, 1), (other, 1), (world.recipe, 0), (other, 0)):
        assert counts(ingest(lake, folder, recipe).record) == (2, done, 1 - done, 1)


def test_a_folder_without_filings_and_one_with_bad_ones_alone_end_in_counts(world: World, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    record = ingest(tmp_path / "lake", tmp_path / "in", world.recipe).record
    assert (counts(record), record.exit_code, record.tag) == ((0, 0, 0, 0), 0, None)
    (tmp_path / "in" / "junk.htm").write_bytes(JUNK["junk.htm"])
    record = ingest(tmp_path / "lake", tmp_path / "in", world.recipe).record
    assert (counts(record), record.exit_code, record.tag) == ((1, 0, 0, 1), 3, None)


# stopped


POINTS = [(1, "after"), (2, "before"), (3, "after"), (5, "before"), (5, "after")]  # a commit of the run, and the side on which it dies
KILLED = """
import json, os, signal
from pathlib import Path
from small_ingest import ingest

def dies(commit, when):  # every commit is one link: the process dies right before or right after it
    link = os.link
    def counting(source, target, **more):
        nonlocal commit
        commit -= 1
        if commit == 0 and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        link(source, target, **more)
        if commit == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    os.link = counting

for lake, folder, recipe, commit, when in json.loads(sys.argv[1]):
    child = os.fork()  # nothing but imports has been done here, so a fork is safe and saves the time of importing
    if child == 0:
        dies(commit, when)
        ingest(Path(lake), Path(folder), recipe, block_filings=1)
        os._exit(0)
    print(os.WTERMSIG(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def killed(world: World, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, str], Path]:
    """By the point at which its run was killed with -9: a folder with the lake as it was left."""
    roots = {point: tmp_path_factory.mktemp("killed") for point in POINTS}
    runs = [(str(world.seeded(root / "lake")), str(write_filings(root / "in", 1, 2, 3)), world.recipe, *point)
            for point, root in roots.items()]
    out, err = in_child(KILLED, json.dumps(runs)).communicate()
    assert out.split() == [str(int(signal.SIGKILL))] * len(POINTS), err
    return roots


@pytest.fixture(scope="module")
def undisturbed(world: World, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    root = tmp_path_factory.mktemp("undisturbed")
    ingest(world.seeded(root / "lake"), write_filings(root / "in", 1, 2, 3), world.recipe, block_filings=1)
    return {"chunks in the index": [str(indexed(root / "lake"))], **content(snapshot(root / "lake"))}


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_run_is_finished_by_the_next_as_if_nothing_had_happened(world: World, killed: dict[tuple[int, str], Path],
                                                                         undisturbed: dict[str, list[str]], point: tuple[int, str]) -> None:
    root = killed[point]
    planned, done, unchanged, bad = counts(ingest(root / "lake", root / "in", world.recipe, block_filings=1).record)
    assert (planned, done + unchanged, bad) == (3, 3, 0)
    after = {"chunks in the index": [str(indexed(root / "lake"))], **content(snapshot(root / "lake"))}
    for table, rows in undisturbed.items():
        assert after[table] == rows, table


# the command itself


def test_the_command_ingests_says_the_counts_and_ends_with_the_code_of_quarantine(
        world: World, prefect: str, edgarmill: Callable[..., object], tmp_path: Path) -> None:
    lake = world.seeded(tmp_path / "lake")
    words = ("ingest", "--lake", lake, "--path", world.folder, "--recipe", world.recipe, "--set", f"prefect_api_url={prefect}")
    ran = edgarmill(*words)
    assert ran.code == 3, ran.err  # type: ignore[attr-defined]
    assert "planned 7 = indexed 5 + unchanged 0 + quarantined 2" in ran.out  # type: ignore[attr-defined]
    assert "Traceback" not in ran.err + ran.out  # type: ignore[attr-defined]


@pytest.mark.parametrize(("stop", "own"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_a_stopped_run_leaves_a_state_to_go_on_from_and_no_process_behind(world: World, prefect: str, tmp_path: Path, stop: signal.Signals,
                                                                          own: bool) -> None:
    folder, lake = write_filings(tmp_path / "in", *range(1, 6)), tmp_path / "lake"  # vectors not known: loading the model takes its time
    words = ["ingest", "--lake", str(lake), "--path", str(folder), "--recipe", world.recipe, "--engine", "loop"]
    words += ["--set", "block_filings=1", *([] if own else ["--set", f"prefect_api_url={prefect}"])]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")} | {"EDGARMILL_DEVICE": "cpu"}
    child = subprocess.Popen([sys.executable, "-m", "edgarmill", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=environment, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    assert child.stderr is not None
    said = []
    for line in child.stderr:  # its progress: "fetch 5/5 …" comes right before the stages
        said.append(line)
        if line.startswith("fetch "):
            break
    servers = psutil.Process(child.pid).children(recursive=True)
    assert bool(servers) == own, said
    child.send_signal(stop)
    out, err = child.communicate(timeout=120)
    assert child.returncode == 130, err
    assert "Traceback" not in err
    (complaint,) = [line for line in err.splitlines() if line.startswith("edgarmill: ")]
    assert "go on with: edgarmill ingest" in complaint
    assert not [s for s in servers if s.is_running() and s.status() != psutil.STATUS_ZOMBIE]
    assert [r.outcome for r in runs(lake)] == ["stopped"]
    planned, done, unchanged, bad = counts(ingest(lake, folder, world.recipe).record)
    assert (planned, done + unchanged, bad) == (5, 5, 0)
    assert set(indexed(lake).values()) == {3}
