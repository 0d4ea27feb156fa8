"""Filings that are taken out leave the next version, stay in those that are made, and come back when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from small_ingest import World, accession, counts, indexed, ingest, write_filings, write_recipe
from tiny_lake import accession as tiny
from tiny_lake import commit, filing, rows_of, tiny_lake

from edgarmill.flows.removal import check_share, missing_from, named, remove, restore, withdrawn
from edgarmill.retrieval.coverage import coverage_of
from edgarmill.retrieval.versions import versions
from edgarmill.retrieval.why import why
from edgarmill.schemas.errors import UnknownName, UsageError
from edgarmill.schemas.records import Event, Listing, Received
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake, Snapshot, write_part

NOTED: list[str] = []


def snapshot(lake: Path) -> Snapshot:
    return Lake.open(str(lake)).snapshot()


def statuses(lake: Path) -> dict[str, str]:
    return {f.accession: f.status for f in snapshot(lake).records("filings")}


@pytest.fixture
def three(world: World, tmp_path: Path) -> tuple[Path, Path, World]:
    folder, lake = write_filings(tmp_path / "in", 1, 2, 3), world.seeded(tmp_path / "lake")
    ingest(lake, folder, world.recipe)
    return lake, folder, world


def test_what_is_removed_by_name_leaves_the_next_version_and_stays_out_until_it_is_put_back(
        three: tuple[Path, Path, World], edgarmill: Callable[..., Any]) -> None:
    lake, folder, world = three
    first = indexed(lake)
    assert edgarmill("--lake", lake, "remove", f"{accession(2)}.txt").code == 2  # why is not said
    ran = edgarmill("--lake", lake, "remove", f"{accession(2)}.txt", "--reason", "filed by mistake")
    assert ran.code == 0 and ran.out.startswith("1 filing taken out."), ran.err
    assert indexed(lake) == first  # no version changes by itself
    for _ in range(2):  # its file is there, and it stays out
        job = ingest(lake, folder, world.recipe)
        assert counts(job.record) == (2, 0, 2, 0) and set(indexed(lake)) == {accession(1), accession(3)}
    story = why(snapshot(lake), accession(2))
    assert story.filing is not None and story.filing["status"] == "removed"
    assert [(e["kind"], e["before"], e["after"]) for e in story.events] == [("removed", "parsed", "filed by mistake")]
    assert [v["tag"] for v in story.index_versions] == [versions(snapshot(lake))[-1].tag]  # the older one holds it
    assert edgarmill("--lake", lake, "remove", accession(2), "--undo").code == 0
    job = ingest(lake, folder, world.recipe)
    assert counts(job.record) == (3, 0, 3, 0) and indexed(lake) == first
    assert job.tag == versions(snapshot(lake))[-1].tag  # the same content is the same version
    assert [e["kind"] for e in why(snapshot(lake), accession(2)).events] == ["removed", "restored"]


def test_what_is_missing_from_its_folder_goes_when_asked_and_comes_back_with_its_file(
        three: tuple[Path, Path, World], edgarmill: Callable[..., Any]) -> None:
    lake, folder, world = three
    first = indexed(lake)
    kept = (folder / f"{accession(2)}.txt").read_bytes()
    (folder / f"{accession(2)}.txt").unlink()
    ingest(lake, folder, world.recipe)
    assert indexed(lake) == first  # never unasked
    ran = edgarmill("--lake", lake, "remove", "--missing-from", folder, "--dry-run", "--json")
    assert accession(2) in ran.out and set(statuses(lake).values()) == {"parsed"}
    assert edgarmill("--lake", lake, "remove", "--missing-from", folder).code == 0
    assert statuses(lake)[accession(2)] == "missing"
    ingest(lake, folder, world.recipe)
    assert set(indexed(lake)) == {accession(1), accession(3)}
    (folder / f"{accession(2)}.txt").write_bytes(kept)
    assert counts(ingest(lake, folder, world.recipe).record) == (3, 0, 3, 0)
    assert indexed(lake) == first and set(statuses(lake).values()) == {"parsed"}


def test_a_file_that_comes_back_changed_is_done_anew(three: tuple[Path, Path, World], edgarmill: Callable[..., Any]) -> None:
    lake, folder, world = three
    (folder / f"{accession(2)}.txt").unlink()
    assert edgarmill("--lake", lake, "remove", "--missing-from", folder).code == 0
    write_filings(folder, 2, words="violently shaken")
    assert counts(ingest(lake, folder, world.recipe).record) == (3, 1, 2, 0)
    assert set(statuses(lake).values()) == {"parsed"} and accession(2) in indexed(lake)


def test_a_folder_that_is_empty_for_a_night_empties_no_index(three: tuple[Path, Path, World], edgarmill: Callable[..., Any]) -> None:
    lake, folder, world = three
    for path in list(folder.iterdir())[:2]:
        path.unlink()
    ran = edgarmill("--lake", lake, "remove", "--missing-from", folder)
    assert ran.code == 2 and "2 of the 3 filings from there would go, more than 10%" in ran.err
    next(folder.iterdir()).unlink()
    ran = edgarmill("--lake", lake, "remove", "--missing-from", folder, "--at-most", 100)
    assert ran.code == 2 and "all 3 filings from there would go" in ran.err
    assert set(statuses(lake).values()) == {"parsed"}
    assert edgarmill("--lake", lake, "remove", "--missing-from", folder, "--force").code == 0
    record = ingest(lake, folder, world.recipe).record
    assert (counts(record), record.exit_code) == ((0, 0, 0, 0), 0)
    assert len(indexed(lake)) == 3  # an index of nothing is none: the last one stays


def test_only_what_came_from_that_folder_is_missing_from_it(three: tuple[Path, Path, World], tmp_path: Path) -> None:
    lake, folder, world = three
    other = write_filings(tmp_path / "other", 4, 5)
    ingest(lake, other, world.recipe)
    assert missing_from(snapshot(lake), Settings(), str(folder), NOTED.append).filings == ()
    (other / f"{accession(5)}.txt").unlink()
    found = missing_from(snapshot(lake), Settings(), str(other), NOTED.append)
    assert ([f.accession for f in found.filings], found.of) == ([accession(5)], 2)
    (other / f"{accession(4)}.txt").write_bytes(b"")  # there, though it cannot be read
    assert len(missing_from(snapshot(lake), Settings(), str(other), NOTED.append).filings) == 1


def test_another_recipe_leaves_it_out_too(three: tuple[Path, Path, World], tmp_path: Path) -> None:
    lake, folder, world = three
    other = write_recipe(tmp_path, world.model, "other", chunker="fixed", context="metadata")
    with (opened := Lake.open(str(lake))).writer("r") as writer:
        remove(opened, writer, named(opened.snapshot(), [accession(1)], "why not"))
    for recipe, name in ((other, "other"), (world.recipe, "small")):
        ingest(lake, folder, recipe)
        assert set(indexed(lake, name)) == {accession(2), accession(3)}


def test_a_quarantined_filing_can_be_taken_out_and_is_tried_again_when_it_is_put_back(world: World, tmp_path: Path) -> None:
    folder, lake = write_filings(tmp_path / "in", 1), world.seeded(tmp_path / "lake")
    bad = folder / f"{accession(2)}.txt"
    write_filings(folder, 2)
    bad.write_bytes(bad.read_bytes()[:700])
    assert counts(ingest(lake, folder, world.recipe).record) == (2, 1, 0, 1)
    opened = Lake.open(str(lake))
    with opened.writer("r") as writer:
        remove(opened, writer, named(opened.snapshot(), [accession(2)], "never mind"))
    record = ingest(lake, folder, world.recipe).record
    assert (counts(record), record.exit_code) == ((1, 0, 1, 0), 0) and snapshot(lake).count("quarantine") == 0
    with opened.writer("r2") as writer:
        assert restore(opened, writer, {accession(2)}, "once more") == 1
    assert counts(ingest(lake, folder, world.recipe).record) == (2, 0, 1, 1)


def test_a_name_that_is_none_and_a_filing_that_is_out_already(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=2)
    with pytest.raises(UnknownName, match="no such filing in this lake"):
        named(lake.snapshot(), ["nothing"], "x")
    with lake.writer("r") as writer:
        remove(lake, writer, named(lake.snapshot(), [tiny(1)], "x"))
        number = lake.snapshot().number
        again = named(lake.snapshot(), [tiny(1)], "x")
        remove(lake, writer, again)
        assert again.filings == () and lake.snapshot().number == number
        assert restore(lake, writer, {tiny(0)}, "it is not out") == 0


# EDGAR


def listed(n: int) -> Listing:
    return Listing(tiny(n), ("0000000001",), "10-K", filing(n).filed_on, None, None, (), (), "a.htm", 9, "", "", None, None, None, "filer",
                   datetime(2026, 1, 1, tzinfo=UTC))


def edgar_lake(folder: Path, count: int, *events: Event) -> Lake:
    lake = Lake.open(str(folder / "lake"), create=True)
    rows = [{**rows_of(replace(filing(n), source="edgar"), 2), "listings": [listed(n)],
             "received": [Received(tiny(n), "edgar", "u", "0" * 64, 9, datetime(2026, 1, 1, tzinfo=UTC), "bundle")]} for n in range(count)]
    commit(lake, "ingest", rows)  # type: ignore[arg-type]
    with lake.writer("r") as writer:
        writer.commit([write_part(lake.root, "events", "e", list(events), "e")], key="events")
    return lake


def event(n: int, kind: str, day: int) -> Event:
    return Event(tiny(n), kind, "", "", datetime(2026, 2, day, tzinfo=UTC))


def test_what_edgar_withdrew_is_what_it_was_last_seen_to_give_no_more(tmp_path: Path) -> None:
    lake = edgar_lake(tmp_path, 6, event(0, "gone", 1), event(1, "unlisted", 1), event(2, "gone", 1), event(2, "relisted", 2),
                      event(3, "gone", 1), event(4, "changed", 3))
    with lake.writer("again") as writer:
        came = Received(tiny(3), "edgar", "u", "1" * 64, 9, datetime(2026, 3, 1, tzinfo=UTC), "bundle")
        writer.commit([write_part(lake.root, "received", "again", [came], "again")], key="again")
    found = withdrawn(lake.snapshot())
    assert [f.accession for f in found.filings] == [tiny(0), tiny(1)] and (found.status, found.of) == ("removed", 6)
    with lake.writer("out") as writer:
        remove(lake, writer, found)
    assert withdrawn(lake.snapshot()).filings == ()
    lines = coverage_of(lake.snapshot())["lines"]
    assert sum(line["removed"] for line in lines) == 2
    assert all(line["listed"] == line["received"] + line["quarantined"] + line["removed"] + line["waiting"] for line in lines)
    with lake.writer("back") as writer:
        restore(lake, writer, {tiny(0)}, "I want it all the same")
    assert withdrawn(lake.snapshot()).filings == ()  # by hand is later


def test_a_bad_night_of_edgar_takes_nothing_out(tmp_path: Path) -> None:
    lake = edgar_lake(tmp_path, 20, *(event(n, "unlisted", 1) for n in range(3)))
    with pytest.raises(UsageError, match="3 of the 20 filings from there would go, more than 10%"):
        check_share(withdrawn(lake.snapshot()), 0.1, "EDGAR")
    check_share(withdrawn(lake.snapshot()), 0.15, "EDGAR")


def test_facts_of_a_removed_filing_are_told_no_more(tmp_path: Path) -> None:
    from edgarmill.retrieval.facts import facts_of
    from edgarmill.schemas.records import FactRow

    lake = tiny_lake(tmp_path, filings=1)
    end = filing(0).period_on
    fact = FactRow("d", tiny(0), 0, "us-gaap:Revenues", "0000000001", None, None, end, None, "{}", "USD", "1", 1.0,
                   "0", "1", False, False, (), "")
    with lake.writer("r") as writer:
        writer.commit([write_part(lake.root, "facts", "r", [fact], "r")], key="facts")
        assert len(facts_of(lake.snapshot(), "Revenues")) == 1
        remove(lake, writer, named(lake.snapshot(), [tiny(0)], "x"))
    assert facts_of(lake.snapshot(), "Revenues") == []
