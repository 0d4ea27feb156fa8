"""Runs against a served EDGAR, night after night: nothing is lost, nothing is fetched twice, what EDGAR changes is written down."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from small_ingest import accession, filing, small_world, write_filings

from edgarmill.flows import batch as batches
from edgarmill.flows import sources
from edgarmill.flows.demo import request_of
from edgarmill.flows.job import Job
from edgarmill.flows.plain import fetched
from edgarmill.flows.request import Request
from edgarmill.retrieval.coverage import coverage_of, events_of
from edgarmill.sample.corpus import write_corpus
from edgarmill.sample.faults import at, changed, first_of, missing, unavailable
from edgarmill.sample.replay import Limit, serving
from edgarmill.schemas.errors import RunError
from edgarmill.schemas.store import Drop, Lake, write_part
from edgarmill.workers.source.edgar.discover import eastern_day

NUMBERS = (1, 2, 3)
CIKS = tuple(str(n) for n in NUMBERS)


class Night:
    """A lake and a server over a folder of three filings of three filers; `run` is one night's download."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder = root, write_filings(root / "in", *NUMBERS)
        self.lake = root / "lake"
        self.asked: list[str] = []

    def run(self, script=None, *, settings=None, days=(), **request):
        with serving(self.folder, limit=Limit(10_000), script=script) as server:
            server.show(days=days)
            overrides = {"lake": str(self.lake), "user_agent": "Test Company test@company.example", "edgar_url": server.url,
                         "edgar_data_url": server.url, "requests_per_second": 10, "request_retries": 1, **(settings or {})}
            request = {"ciks": CIKS, "since": date(2024, 1, 1), **request}
            job = fetched(Request(source="edgar", overrides=overrides, **request))
            self.asked = [one.path for one in server.requests]
        return job

    @property
    def snapshot(self):
        return Lake.open(str(self.lake)).snapshot()

    def counts(self, job):
        record = job.record
        assert record.planned == record.fetched + record.unchanged + record.quarantined
        return record.planned, record.fetched, record.unchanged, record.quarantined

    def write(self, n, data):
        (self.folder / f"{accession(n)}.txt").write_bytes(data)


@pytest.fixture
def night(tmp_path):
    return Night(tmp_path)


def test_the_second_night_asks_for_no_filing_again(night):
    assert night.counts(night.run()) == (3, 3, 0, 0)
    assert night.counts(night.run()) == (3, 0, 3, 0)
    assert not any("/Archives/edgar/data/" in path for path in night.asked)
    whole = [r for r in night.snapshot.records("received") if r.part in ("bundle", "submission")]
    assert sorted(r.accession for r in whole) == [accession(n) for n in NUMBERS]


def test_a_new_filing_is_found_and_the_others_are_left_alone(night):
    night.run()
    night.write(4, filing(4).replace(b"0000000004\n", b"0000000001\n"))  # a further filing of the first filer
    assert night.counts(night.run(listing="filers")) == (4, 1, 3, 0)
    assert sum("index-headers" in path for path in night.asked) == 1


def test_what_could_not_be_fetched_is_quarantined_tried_again_and_lifted(night):
    lost = at(accession(2).replace("-", ""), missing)
    assert night.counts(night.run(lost)) == (3, 2, 0, 1)
    [row] = night.snapshot.records("quarantine")
    assert (row.subject, row.stage, row.reason) == (accession(2), "fetch", "FetchFailed") and "404" in row.message
    [line] = [one for one in coverage_of(night.snapshot)["lines"] if one["quarantined"]]
    assert (line["listed"], line["received"], line["quarantined"], line["waiting"]) == (3, 2, 1, 0)
    assert night.counts(night.run()) == (3, 1, 2, 0)
    assert night.snapshot.count("quarantine") == night.snapshot.count("filings") == 0


def test_what_failed_only_when_asked_again_is_lifted_though_nothing_is_fetched(night):
    night.run()
    assert night.counts(night.run(at(accession(2).replace("-", ""), unavailable), refetch=True)) == (3, 0, 2, 1)
    assert night.counts(night.run()) == (3, 0, 3, 0)
    assert night.snapshot.count("quarantine") == night.snapshot.count("filings") == 0


def test_a_filing_that_its_header_shows_to_be_unwanted_is_neither_fetched_nor_unchanged(night):
    """An index does not tell the period: the full text is asked for, and then it is of another year."""
    night.run()
    lake = Lake.open(str(night.lake))
    rows = [replace(row, period_on=None) for row in lake.snapshot().records("listings")]
    with lake.writer("test") as writer:
        parts = [write_part(lake.root, "listings", "back", rows, "test")]
        drop = [Drop("listings", "accession", frozenset(row.accession for row in rows)),
                Drop("received", "source", frozenset({"edgar"}))]
        writer.commit(parts, key="back", drop=drop)
    assert night.counts(night.run(settings={"fetch": "submission"}, fiscal_years=(2024, 2025))) == (0, 0, 0, 0)
    assert sum(path.endswith(".txt") for path in night.asked) == 3


def test_asked_again_the_same_bytes_leave_everything_as_it_was(night):
    night.run()
    before = night.snapshot.read("received").to_pylist()
    job = night.run(refetch=True)
    assert night.counts(job) == (3, 0, 3, 0)
    assert sum("index-headers" in path for path in night.asked) == 3
    assert night.snapshot.read("received").to_pylist() == before
    assert [event.kind for event in night.snapshot.records("events")] == ["disagrees"] * 3  # the false Z of each filer, told once


def test_changed_content_is_an_event_and_both_bodies_are_kept(night):
    first = night.run().fetched[1]
    second = night.run(first_of(at(r"c2\.htm$", changed), at(r"index\.json$", missing)), refetch=True).fetched[1]
    assert first.accession == second.accession == accession(2) and first.sha256 != second.sha256
    [event] = night.snapshot.records("events", {"kind": ["changed"]})
    assert (event.accession, event.kind, event.before, event.after) == (accession(2), "changed", first.sha256, second.sha256)
    lake = Lake.open(str(night.lake))
    assert lake.has_raw(first.sha256) and lake.has_raw(second.sha256)
    assert night.run().fetched[1].sha256 == second.sha256  # the newest holds


def test_what_is_gone_is_an_event_once_and_stays_in_the_lake(night):
    before = night.run().fetched
    for _ in range(2):
        job = night.run(at(accession(3).replace("-", ""), missing), refetch=True)
        assert job.fetched == before and not job.failed
    [event] = night.snapshot.records("events", {"kind": ["gone"]})
    assert event.accession == accession(3) == events_of(night.snapshot)[0]["accession"]


def test_a_run_ends_where_nothing_is_answered_any_more(night, monkeypatch):
    monkeypatch.setattr(sources, "HOPELESS", 2)
    with pytest.raises(RunError, match="2 filings in a row could not be fetched; the last: status 503"):
        night.run(at("Archives", unavailable), settings={"request_retries": 0, "fetch_at_once": 1})
    [run] = night.snapshot.records("runs")
    assert (run.outcome, run.exit_code) == ("failed", 4) and night.snapshot.count("quarantine") == 1
    assert night.counts(night.run()) == (3, 3, 0, 0)


def test_a_stop_at_the_end_of_a_commit_commits_nothing_twice(night, monkeypatch):
    commit = Job._commit_batch

    def stopped(job, batch):
        commit(job, batch)
        if batch.received:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Job, "_commit_batch", stopped)
        patch.setattr(batches, "COMMIT_FILINGS", 1)
        with pytest.raises(KeyboardInterrupt):
            night.run()
    night.run()
    received = [r.accession for r in night.snapshot.records("received") if r.part == "bundle"]
    assert sorted(received) == [accession(n) for n in NUMBERS]


def test_a_partial_crawl_forgets_nothing(night):
    night.run()
    listings = night.snapshot.count("listings")
    job = night.run(at(r"/submissions/CIK0000000002", missing), listing="filers")
    assert night.snapshot.count("listings") == listings and night.counts(job) == (3, 0, 3, 0)


def test_the_full_text_is_fetched_where_it_is_asked_for_and_then_counts_for_both(night):
    night.run()
    assert night.counts(night.run(settings={"fetch": "submission"})) == (3, 3, 0, 0)
    assert {path.rpartition(".")[2] for path in night.asked if "/Archives/edgar/data/" in path} == {"txt"}
    assert night.counts(night.run()) == (3, 0, 3, 0)


def test_a_larger_demo_fetches_what_the_smaller_one_had_not(tmp_path):
    for filings, new in ((15, 15), (16, 1), (16, 0)):
        corpus = write_corpus(tmp_path / "sample", filings)
        with serving(tmp_path / "sample", limit=Limit(10_000)) as server:
            job = fetched(request_of(corpus, server.url, {"lake": str(tmp_path / "lake"), "requests_per_second": 10}, "demo"))
        assert (job.record.outcome, job.record.planned, job.record.fetched) == ("done", filings, new)


def test_co_registrants_are_one_filing_with_all_ciks(night):
    other = b"FILER:\n\n\tCOMPANY DATA:\t\n\t\tCOMPANY CONFORMED NAME:\t\t\tSECOND\n\t\tCENTRAL INDEX KEY:\t\t\t0000000002\n\n"
    night.write(1, filing(1).replace(b"FILER:\n", other + b"FILER:\n", 1))
    job = night.run()
    assert night.counts(job) == (3, 3, 0, 0)
    [listing] = [one for one in night.snapshot.records("listings") if one.accession == accession(1)]
    assert set(listing.ciks) == {"0000000001", "0000000002"}
    assert night.counts(night.run()) == (3, 0, 3, 0)


@pytest.mark.parametrize("part", ["bundle", "header", "document"])
def test_what_is_missing_or_was_left_half_written_never_counts(night, part):
    night.run()
    lost = night.lake / "raw" / (sha := next(r.sha256 for r in night.snapshot.records("received") if r.part == part))[:2] / f"{sha}.zst"
    lost.unlink()
    (lost.parent / ".tmp-0123").write_bytes(b"half")
    assert night.counts(night.run()) == (3, 0, 3, 0)  # it is the same filing
    assert lost.exists() and sum("index-headers" in path for path in night.asked) == 1


def test_a_header_page_that_is_lost_and_that_edgar_has_made_anew_since_is_fetched_once(night):
    night.run()
    sha = next(r.sha256 for r in night.snapshot.records("received") if r.part == "header")
    (night.lake / "raw" / sha[:2] / f"{sha}.zst").unlink()

    def anew(request):
        good = request.good()
        return replace(good, body=good.body + b"\n")

    assert night.counts(night.run(at("index-headers", anew))) == (3, 1, 2, 0)
    assert night.counts(night.run()) == (3, 0, 3, 0) and not any("index-headers" in path for path in night.asked)


def test_a_nights_discovery_costs_one_index_per_missed_day(night):
    """Covered until the day before the last weekday: one folder and one index are asked for, no filer is."""
    night.run()
    last = next(day for n in range(1, 4) if (day := eastern_day(datetime.now(UTC)) - timedelta(days=n)).weekday() < 5)
    lake = Lake.open(str(night.lake))
    rows = [replace(row, through=last - timedelta(days=1)) for row in lake.snapshot().records("coverage")]
    with lake.writer("test") as writer:
        part = write_part(lake.root, "coverage", "back", rows, "test")
        writer.commit([part], key="back", drop=[Drop("coverage", "cik", frozenset(row.cik for row in rows))])
    assert night.counts(night.run(days=[last])) == (3, 0, 3, 0)
    assert [path.rpartition("/")[2] for path in night.asked] == ["index.json", f"master.{last:%Y%m%d}.idx"]
    assert {row.through for row in night.snapshot.records("coverage")} == {last}


def test_a_run_over_a_served_edgar_ends_in_an_index_and_amendments_are_linked(tmp_path):
    world = small_world(tmp_path / "world")
    folder = write_filings(tmp_path / "in", 1, 2)
    amended = filing(7, form="10-K/A").replace(b"0000000007\n", b"0000000001\n")
    (folder / f"{accession(7)}.txt").write_bytes(amended)
    lake = world.seeded(tmp_path / "lake")
    with serving(folder, limit=Limit(10_000)) as server:
        from edgarmill.flows.job import Job
        from edgarmill.flows.request import new_run_id
        from edgarmill.schemas import recipe as recipes
        from edgarmill.schemas import settings as all_settings
        from edgarmill.workers.stages import setup_of

        overrides = {"lake": str(lake), "user_agent": "Test Company test@company.example", "edgar_url": server.url, "engine": "loop",
                     "edgar_data_url": server.url, "requests_per_second": 10, "device": "cpu"}
        request = Request(source="edgar", ciks=("1", "2"), recipe=world.recipe, amendments=True, overrides=overrides)
        settings, _ = all_settings.load(overrides)
        opened, run_id = Lake.open(str(lake)), new_run_id()
        for expected in ((3, 3, 0, 0), (3, 0, 3, 0)):
            with opened.writer(run_id, "test") as writer:
                job = Job(request, setup_of(recipes.load(world.recipe), settings, settings.lake), opened, writer, run_id)
                with job.recorded():
                    for step in (job.list_filings, job.fetch, job.transform, job.index):
                        step()
            record = job.record
            assert (record.planned, record.indexed, record.unchanged, record.quarantined) == expected
            run_id = new_run_id()
    filings = {one.accession: one for one in opened.snapshot().records("filings")}
    assert filings[accession(7)].original == accession(1) and filings[accession(1)].original is None
    assert filings[accession(1)].filers == ("COMPANY 1",) and filings[accession(1)].accepted_at.isoformat() == "2024-02-26T21:50:07+00:00"
    assert json.loads(record.versions)
