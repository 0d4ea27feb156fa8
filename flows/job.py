"""The state of one ingest run and its steps. Each step commits what it finished; `recorded` writes how the run ended, however it ended."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow.compute as pc

from edgarmill import __version__
from edgarmill.flows.batch import Batch
from edgarmill.flows.progress import go_on, heeded, note, report, stopped
from edgarmill.flows.removal import without_removed
from edgarmill.flows.request import Request
from edgarmill.flows.sources import source_of
from edgarmill.schemas.errors import BadInput, EdgarmillError
from edgarmill.schemas.records import Check, Event, Filing, Quarantine, RunRecord, RunStage, WorkDone
from edgarmill.schemas.store import Drop, Lake, Part, Snapshot, Writer, write_part
from edgarmill.workers import index as indexing
from edgarmill.workers.amendments import originals
from edgarmill.workers.at_once import at_once
from edgarmill.workers.block import Block, Task, blocks_of, drops_of, input_of, tasks_of
from edgarmill.workers.fanout import quarantined, run_blocks, spread_of
from edgarmill.workers.source.edgar.discover import Found
from edgarmill.workers.source.listed import Fetched, Listed
from edgarmill.workers.stages import STAGES, Setup


class Job:
    """One run. `record` is complete once `recorded` has been left."""

    def __init__(self, request: Request, setup: Setup, lake: Lake, writer: Writer, run_id: str) -> None:
        self.request, self.lake, self.writer, self.run_id = request, lake, writer, run_id
        self.setup = replace(setup, run_id=run_id)
        self.started_at, self.engine = datetime.now(UTC), "loop"
        self.tag: str | None = None
        self.source = source_of(request, setup.settings, lake, note, self._commit_found)
        self.listed: list[Listed] = []
        self.fetched: list[Filing] = []
        self.failed: list[Quarantine] = []
        self.standing = {q.subject: q for q in lake.snapshot().records("quarantine")}
        self.seen = {event.what for event in lake.snapshot().records("events")}
        self.unread: list[str] = []  # filers and indexes of EDGAR
        self.indexed = self.unchanged = self.new_bytes = 0
        self.fetch_only = False
        self.stages: dict[str, RunStage] = {}
        self.record: RunRecord = self._record("failed", 4, "")

    # the steps, in order

    def list_filings(self) -> None:
        """What the source offers and nobody took out; each accession once, a second claimant under a key and with an error of its own."""
        begun = time.perf_counter()
        for listed in without_removed(self.source.listed(self.lake.snapshot()), self.lake, self.writer, note):
            self.listed.append(listed)
            report("list", len(self.listed), None)
        self._count("list", len(self.listed), len(self.listed), begun)

    def fetch(self) -> None:
        """Bytes into raw/, where they are not yet, as many at a time as the source bears; what came is committed every half minute."""
        begun = time.perf_counter()
        lake_has = set(self.lake.snapshot().read("filings", ["accession"])["accession"].to_pylist())
        ready = {listed.filing.accession: filing for listed in self.listed if not listed.error and (filing := self.source.known(listed))}
        todo = [listed for listed in self.listed if listed.filing.accession not in ready]
        batch, done = Batch(fetched=self._came_of(ready)), len(ready)
        report("fetch", done, len(self.listed))
        try:
            with closing(at_once(self._bytes_of, todo, self.source.threads, self.source.stop)) as finished:
                for listed, future in finished:
                    error = future.exception()
                    if isinstance(error, EdgarmillError) and not isinstance(error, BadInput):
                        raise error
                    if isinstance(error, Exception):
                        task = Task(listed.filing, input_of(listed.filing), known=listed.filing.accession in lake_has)
                        batch.failed.append((quarantined(task, "fetch", error), task))
                    else:
                        batch.add(future.result())
                        if future.result().wanted:
                            self.new_bytes += bool(future.result().received)
                            ready[listed.filing.accession] = future.result().filing
                        else:
                            self.listed.remove(listed)
                    if batch.due():
                        due, batch = batch, Batch()  # let go first: a stop amid the commit must not commit it twice
                        self._commit_batch(due)
                    done += 1
                    report("fetch", done, len(self.listed))
        finally:  # what came before a stop or a block is not asked for again
            self._commit_batch(batch)
        self.unchanged = len(ready) - self.new_bytes if self.fetch_only else 0
        self.fetched = [ready[listed.filing.accession] for listed in self.listed if listed.filing.accession in ready]
        self._count("fetch", len(self.listed), len(self.fetched), begun)

    def _came_of(self, accessions: Iterable[str]) -> list[str]:
        """Those that could not be fetched before."""
        return [key for key in accessions if key in self.standing and self.standing[key].stage == "fetch"]

    def _bytes_of(self, listed: Listed) -> Fetched:
        if listed.error is not None:
            raise listed.error
        return self.source.fetch(listed)

    def transform(self) -> None:
        """Every filing through the stages that are not done yet, block by block; each finished block is one commit."""
        snapshot = self.lake.snapshot()
        todo, self.unchanged, standing = tasks_of(self.fetched, snapshot, self.setup.keys, retry=self.request.retry_quarantined)
        self.failed += [self.standing[subject] for subject in sorted(standing)]
        self._lift({t.filing.accession for t in todo})
        blocks = blocks_of(todo, self.setup.settings.block_filings, self.run_id)
        wanted = self.setup.settings.engine
        self.engine = wanted if wanted != "auto" else ("loop" if len(todo) < self.setup.settings.loop_below else "ray")
        total, done = len(todo), 0
        report("transform", 0, total)

        def finish(block: Block) -> None:
            nonlocal done
            go_on()  # what an interrupt broke off is no fault of a filing
            self._commit_block(block)
            done += len(block.tasks)
            report("transform", done, total)

        run_blocks(self.setup, blocks, self.run_id, self.engine, finish)

        self._link_amendments()

    def _link_amendments(self) -> None:
        """Sets `original` on amendments whose original is in the lake, since when or before."""
        filings = {filing.accession: filing for filing in self.lake.snapshot().records("filings")}
        found = originals(filings.values())
        new = [replace(filings[key], original=original) for key, original in found.items() if filings[key].original != original]
        if new:
            part = write_part(self.lake.root, "filings", self.run_id, new, self.run_id)
            drop = Drop("filings", "accession", frozenset(filing.accession for filing in new))
            self.writer.commit([part], key=part.path, drop=[drop], message=f"{len(new)} amendments linked")

    def index(self) -> None:
        """Builds the recipe's index from the lake, verifies it by reading back, and tags it; the same content keeps its tag."""
        begun, recipe, snapshot = time.perf_counter(), self.setup.recipe, self.lake.snapshot()
        spec = self._spec(snapshot)
        if not spec.accessions:
            note("no filing is ready, so there is nothing to index")
            return
        built = self._build(snapshot, spec)
        if built.known:
            if snapshot.indexes.get(recipe.name) != built.lance_version:  # content of an earlier version is back
                indexes = {recipe.name: built.lance_version}
                self.writer.commit([], key=f"index:{self.run_id}", indexes=indexes, message=f"index {recipe.name} as before")
            self.tag = self._tag_of(built.version_id)
        else:
            checks = self._publish(built, spec)
            if self.tag is None and built.since is not None:  # what it went on from may be damaged: a rejected version is not built on
                note(f"index {recipe.name} does not verify; writing all rows anew")
                built = self._build(self.lake.snapshot(), spec)
                checks = self._publish(built, spec)
            if self.tag is None:
                indexing.tag(self.lake, built, checks, datetime.now(UTC).date())  # raises NotVerified, which says what failed
        self._count("index", built.filings, built.chunks, begun)

    def _build(self, snapshot: Snapshot, spec: indexing.IndexSpec) -> indexing.Built:
        built = indexing.build(self.lake, snapshot, spec, self.run_id, spread_of(self.setup, self.engine))
        go_on()
        return built

    def _spec(self, snapshot: Snapshot) -> indexing.IndexSpec:
        plan, model, done = self.setup.plan, self.setup.plan.model, pc.field("outcome") == "done"
        embedded = snapshot.read("work", ["subject"], where=(pc.field("fingerprint") == self.setup.keys["embed"]) & done)
        parsed = snapshot.read("filings", ["accession"], {"status": ["parsed"]})["accession"].to_pylist()
        ready = frozenset(embedded["subject"].to_pylist()).intersection(parsed)
        return indexing.IndexSpec(self.setup.recipe, plan.chunker_fingerprint, plan.context_fingerprint, model.model_hash, model.name,
                                  model.dimensions, ready)

    def _publish(self, built: indexing.Built, spec: indexing.IndexSpec) -> list[Check]:
        """Verify, tag, commit. A version that fails stays on record as rejected, and the last verified one stays current."""
        note(f"index {built.recipe}: {built.added:,} chunks added, {built.removed:,} removed; verifying {built.chunks:,}")
        checks = indexing.verify(self.lake, built, spec)
        go_on()  # before anything is said of the version
        now = datetime.now(UTC)
        good = all(c.ok for c in checks)
        self.tag = indexing.tag(self.lake, built, checks, now.date()) if good else None
        version = indexing.version_of(self.lake, built, spec, self.tag, now)
        parts = [
            write_part(self.lake.root, "index_versions", self.run_id, [version], self.run_id),
            write_part(self.lake.root, "checks", self.run_id, checks, self.run_id),
        ]
        before = frozenset({built.version_id})  # a rejected one of the same content
        drops = [Drop("index_versions", "version_id", before), Drop("checks", "version_id", before)]
        self.writer.commit(parts, key=parts[0].path, drop=drops, indexes={built.recipe: built.lance_version} if good else None,
                           message=f"index {built.recipe} {self.tag or 'rejected'}")
        return checks

    def _tag_of(self, version_id: str) -> str | None:
        return next((v.tag for v in self.lake.snapshot().records("index_versions") if v.version_id == version_id), None)

    # commits

    def _commit_found(self, found: Found) -> None:
        """New listings, as they are found."""
        self.unread += found.unread
        if found.asked[1]:
            report("list filers", *found.asked)
        rows = (("listings", list(found.listings)), ("coverage", list(found.coverage)), ("events", self._new(found.events)))
        parts = [write_part(self.lake.root, name, self.run_id, some, self.run_id) for name, some in rows if some]
        drops = [
            Drop("listings", "accession", frozenset(listing.accession for listing in found.listings)),
            Drop("coverage", "cik", frozenset(one.cik for one in found.coverage)),
        ]
        if parts:
            self.writer.commit(parts, key=parts[0].path, drop=drops, message=f"listed {len(found.listings)} filings")

    def _new(self, events: Iterable[Event]) -> list[Event]:
        """Those that nobody has seen: what disagrees or is gone is told once."""
        new = {event.what: event for event in events if event.what not in self.seen}
        self.seen |= new.keys()
        return list(new.values())

    def _commit_batch(self, batch: Batch) -> None:
        parts, drops = self._failure_parts(batch.failed)
        rows = (("received", batch.received), ("listings", batch.listings), ("events", self._new(batch.events)))
        parts += [write_part(self.lake.root, name, self.run_id, some, self.run_id) for name, some in rows if some]
        drops.append(Drop("listings", "accession", frozenset(listing.accession for listing in batch.listings)))
        come = frozenset(self._came_of(batch.fetched))
        drops += [Drop("quarantine", "subject", come), Drop("filings", "accession", come & self._only_listed())]
        if parts or come:
            key = parts[0].path if parts else f"came:{self.run_id}:{min(come)}"
            self.writer.commit(parts, key=key, drop=drops, message=f"received {len(batch.fetched)} filings")

    def _only_listed(self) -> frozenset[str]:
        """Filings whose row says no more than that they could not be used."""
        rows = self.lake.snapshot().read("filings", ["accession"], where=pc.field("status") == "quarantined")
        return frozenset(rows["accession"].to_pylist())

    def _commit_block(self, block: Block) -> None:
        tasks = {t.filing.accession: t for t in block.tasks}
        parts, drops = self._failure_parts([(failure, tasks[failure.subject]) for failure in block.failed])
        self.writer.commit(
            [*block.parts, *parts], key=f"block:{block.block_id}", drop=[*drops_of(block), *drops], message=f"block {block.block_id}"
        )
        self.indexed += len(block.good)
        for stage in block.stages:
            known = self.stages.get(stage.stage)
            self.stages[stage.stage] = (
                stage
                if known is None
                else RunStage(
                    self.run_id,
                    stage.stage,
                    known.subjects + stage.subjects,
                    known.rows + stage.rows,
                    known.seconds + stage.seconds,
                    max(known.peak_bytes or 0, stage.peak_bytes or 0),
                )
            )

    def _lift(self, todo: set[str]) -> None:
        """Takes out quarantine rows that hold no more: of a filing that is as it was when it was indexed, and those under the stand-in
        key of a file that is known by its accession now."""
        kept = todo | {q.subject for q in self.failed}
        good = {f.accession for f in self.fetched} - kept
        names = {x.filing.name for x in self.listed} if self.request.source == "folder" else set()
        renamed = {s for s, q in self.standing.items() if s.startswith("local-") and q.name in names and s not in kept | good}
        over = frozenset(renamed | (good & set(self.standing)))
        if over:
            drops = [Drop("quarantine", "subject", over), Drop("work", "subject", frozenset(renamed))]
            drops.append(Drop("filings", "accession", frozenset(renamed)))
            self.writer.commit([], key=f"lifted:{self.run_id}", drop=drops, message=f"{len(over)} out of quarantine")

    def _failure_parts(self, failures: list[tuple[Quarantine, Task]]) -> tuple[list[Part], list[Drop]]:
        """Rows of failed filings and what they replace: nothing for one whose quarantine stands as it is.

        An expected failure also leaves a work row, so that the same input is not tried again at the same stage.
        """
        rows: list[Quarantine] = []
        work: list[WorkDone] = []
        filings: list[Filing] = []
        for failure, task in failures:
            self.failed.append(failure)
            if _same(self.standing.get(failure.subject), failure):
                continue
            rows.append(failure)
            stage = next((s for s in STAGES if s.name == failure.stage), None)
            if failure.expected and stage is not None:
                work.append(
                    WorkDone(failure.subject, stage.name, stage.version, self.setup.keys[stage.name], task.input, "quarantined", "")
                )
            if not task.known:
                filings.append(replace(task.filing, status="quarantined"))
        parts = [
            write_part(self.lake.root, name, f"{self.run_id}-q", found, self.run_id)
            for name, found in (("quarantine", rows), ("work", work), ("filings", filings))
            if found
        ]
        drops = [
            Drop("quarantine", "subject", frozenset(f.subject for f in rows)),
            Drop("filings", "accession", frozenset(f.accession for f in filings)),
        ]
        return parts, drops

    # the record

    def _count(self, stage: str, subjects: int, rows: int, begun: float) -> None:
        self.stages[stage] = RunStage(self.run_id, stage, subjects, rows, time.perf_counter() - begun, None)

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Writes the run's record at its end: done, quarantined, failed or stopped. Errors go on to the caller."""
        try:
            with heeded():
                yield
        except EdgarmillError as error:
            self._finish("failed", error.exit_code, str(error))
            raise
        except BaseException as error:
            interrupted = isinstance(error, KeyboardInterrupt) or type(error).__name__ == "TerminationSignal"
            self._finish("stopped" if interrupted else "failed", 130 if interrupted else 4, f"{type(error).__name__}: {error}")
            if interrupted:
                stopped()
            raise
        finally:
            self.source.close()
        if self.failed or self.unread:
            said = [f"{len(self.failed)} of {len(self.listed)} filings are quarantined"] if self.failed else []
            said += [f"not listed: {', '.join(self.unread[:5])}{' …' if len(self.unread) > 5 else ''}"] if self.unread else []
            self._finish("quarantined" if self.failed else "incomplete", 3, "; ".join(said))
        else:
            self._finish("done", 0, "")

    def _finish(self, outcome: str, exit_code: int, message: str) -> None:
        self.record = self._record(outcome, exit_code, message)
        rows = {"runs": [self.record], "run_stages": list(self.stages.values())}
        parts = [write_part(self.lake.root, name, self.run_id, some, self.run_id) for name, some in rows.items()]
        self.writer.commit(parts, key=f"run:{self.run_id}", message=f"run {outcome}")
        if exit_code in (0, 3):
            self.writer.compact()
            self.writer.vacuum()

    def _record(self, outcome: str, exit_code: int, message: str) -> RunRecord:
        recipe, request = self.setup.recipe, self.request
        place = self.setup.settings.edgar_url if request.source == "edgar" else request.path
        return RunRecord(
            self.run_id,
            request.command,
            self.started_at,
            datetime.now(UTC),
            outcome,
            exit_code,
            f"{request.source} {place}",
            "" if self.fetch_only else recipe.name,
            "" if self.fetch_only else recipe.fingerprint,
            "" if self.fetch_only else json.dumps(recipe.model_dump(), sort_keys=True),
            "" if self.fetch_only else self.engine,
            len(self.listed),
            self.indexed,
            self.unchanged,
            len(self.failed),
            self.tag,
            versions(),
            message,
            self.new_bytes,
        )


def _same(standing: Quarantine | None, failure: Quarantine) -> bool:
    """Whether a failure says nothing new."""
    return standing is not None and replace(standing, at=failure.at) == failure


def versions() -> str:
    """JSON of what is needed to run it again: edgarmill, Python, machine, packages."""
    names = ("ray", "pyarrow", "duckdb", "lancedb", "pylance", "prefect", "torch", "sentence-transformers", "lxml", "pypdfium2",
             "tokenizers")
    packages: dict[str, str | None] = {}
    for name in names:
        try:
            packages[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            packages[name] = None
    return json.dumps(
        {
            "edgarmill": __version__,
            "python": platform.python_version(),
            "machine": platform.platform(),
            "cpus": os.cpu_count(),
            "packages": packages,
        },
        sort_keys=True,
    )
