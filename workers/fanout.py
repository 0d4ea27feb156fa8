"""Runs the stages over blocks of filings: on Ray Data, or in a plain loop. The only file that imports ray; the one broad `except`.

Both ways run the same function, `run_segment`, so they give the same rows. Stages are cut into segments where their scope changes:
filing by filing up to the contexts, then the encoder over whole blocks. Under Ray a segment is one operator; between operators travels
the block's list of Parquet parts, not its texts. What a killed worker wrote is named by no snapshot; its whole block runs again.

An expected error (BadInput) of one filing becomes a quarantine row; so does an unexpected one, marked as our own defect. Any other error of
our tree (disk full, a newer schema, a device that is not there) ends the run: it would strike every filing alike.
"""

from __future__ import annotations

import os
import secrets
import signal
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from edgarmill.schemas.errors import BadInput, EdgarmillError, RunError
from edgarmill.schemas.parts import MERGED, without
from edgarmill.schemas.prices import priced
from edgarmill.schemas.records import Quarantine, RunStage, Usage, WorkDone
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Drop, Lake, Part, Snapshot, write_part
from edgarmill.workers.block import Block, Task
from edgarmill.workers.limits import memory_limit, peak_bytes, time_limit, uncollected
from edgarmill.workers.stages import Outcome, Setup, Stage, Work, stages_of

Segment = tuple[Stage, ...]


def segments(setup: Setup) -> list[Segment]:
    """The run's stages, cut where the scope changes."""
    return [tuple(group) for _, group in groupby(stages_of(setup), key=lambda s: s.scope)]


def _left(setup: Setup, stage: Stage, task: Task) -> bool:
    """Whether the stage has work to do on the filing."""
    return not task.has(list(setup.keys).index(stage.name))


# one block


@dataclass
class _Meter:
    """What one stage spent on one filing so far."""

    seconds: float = 0.0
    cpu: float = 0.0


def run_segment(
    segment: Segment, states: dict[str, Any], setup: Setup, block: Block, run_id: str, works: dict[str, Work] | None = None
) -> tuple[Block, dict[str, Work]]:
    """The block after the segment's stages, its rows written as parts, and the works for a next segment in the same process.

    `works` are those of the segment before; without them their rows are read from the parts.
    """
    works = works if works is not None else _load(Lake.open(setup.lake), segment, setup, block)
    failed: list[Quarantine] = []
    usage: list[Usage] = []
    stats: list[RunStage] = []
    for stage in segment:
        todo = [t for t in block.good if _left(setup, stage, t) and t.filing.accession not in {q.subject for q in failed}]
        begun = time.perf_counter()
        bad, spent = _run_stage(stage, states[stage.name], setup, todo, works)
        failed += bad
        usage += spent
        rows = sum(len(works[t.filing.accession].rows.get(name, [])) for t in todo for name in stage.gives)
        stats.append(RunStage(run_id, stage.name, len(todo), rows, time.perf_counter() - begun, peak_bytes()))
    kept = _taken_out(setup.lake, block.parts, frozenset(q.subject for q in failed)) if failed else block.parts
    block = replace(block, parts=tuple(kept), failed=block.failed + tuple(failed), stages=block.stages + tuple(stats))
    return replace(block, parts=block.parts + tuple(_write(segment, setup, block, works, usage, run_id))), works


def _run_stage(stage: Stage, state: Any, setup: Setup, todo: list[Task], works: dict[str, Work]) -> tuple[list[Quarantine], list[Usage]]:
    if stage.scope == "block" and len(todo) > 1:
        begun, cpu = time.perf_counter(), time.process_time()
        try:
            outcomes = stage.run(state, [works[t.filing.accession] for t in todo])
        except Exception as error:
            if _ends_the_run(error):
                raise
        else:
            meters = _shared(_Meter(time.perf_counter() - begun, time.process_time() - cpu), outcomes)
            spent = [_take(stage, setup, works[t.filing.accession], o, m) for t, o, m in zip(todo, outcomes, meters, strict=True)]
            aside = [quarantined(t, stage.name, o.error) for t, o in zip(todo, outcomes, strict=True) if o.error is not None]
            return aside, spent + [o.paid for o in outcomes if o.paid is not None]
    failed, usage = [], []
    before = _begun_together(stage, state, [works[t.filing.accession] for t in todo])
    for task in todo:
        begun, cpu = time.perf_counter() - before.seconds, time.process_time() - before.cpu
        work = works[task.filing.accession]
        try:
            mine = setup.settings if stage.scope == "filing" else None
            with uncollected(), time_limit(mine.parse_seconds if mine else 0), memory_limit(mine.parse_memory_bytes if mine else 0):
                outcome = stage.run(state, work) if stage.scope == "filing" else stage.run(state, [work])[0]
        except Exception as error:
            if _ends_the_run(error):
                raise
            failed.append(quarantined(task, stage.name, error))
        else:
            usage.append(_take(stage, setup, work, outcome, _Meter(time.perf_counter() - begun, time.process_time() - cpu)))
            usage += [outcome.paid] if outcome.paid is not None else []
            failed += [quarantined(task, stage.name, outcome.error)] if outcome.error is not None else []
    return failed, usage


def _begun_together(stage: Stage, state: Any, works: list[Work]) -> _Meter:
    """What the stage does for all filings before it takes each: what that took, by filing. A defect in it is met again filing by filing."""
    begun, cpu = time.perf_counter(), time.process_time()
    if stage.ahead is not None and len(works) > 1:
        try:
            stage.ahead(state, works)
        except Exception as error:
            if _ends_the_run(error):
                raise
    return _Meter((time.perf_counter() - begun) / max(1, len(works)), (time.process_time() - cpu) / max(1, len(works)))


def _ends_the_run(error: Exception) -> bool:
    """Whether it would strike every filing alike: any error of our tree but that of a bad input."""
    return isinstance(error, EdgarmillError) and not isinstance(error, BadInput)


def _take(stage: Stage, setup: Setup, work: Work, outcome: Outcome, meter: _Meter) -> Usage:
    """Puts a stage's outcome into the work; its usage with seconds and dollars."""
    if outcome.filing is not None:
        work.filing = outcome.filing
        work.rows["filings"] = [outcome.filing]
    work.rows.update(outcome.rows)
    work.warnings += outcome.warnings
    work.raw = outcome.raw if outcome.raw is not None else (work.raw if stage.name == "open" else [])
    usage = outcome.usage or Usage(work.filing.accession, stage.name)
    gpu = meter.seconds if outcome.on_gpu else None
    return priced(replace(usage, seconds=meter.seconds, cpu_seconds=meter.cpu, gpu_seconds=gpu, peak_bytes=peak_bytes()), setup.settings)


def _shared(meter: _Meter, outcomes: list[Outcome]) -> list[_Meter]:
    """A block's time, charged to its filings by the tokens that each had embedded."""
    tokens = [(o.usage.input_tokens if o.usage else None) or 0 for o in outcomes]
    total = sum(tokens)
    parts = [t / total if total else 1 / len(outcomes) for t in tokens]
    return [_Meter(meter.seconds * p, meter.cpu * p) for p in parts]


def quarantined(task: Task, stage: str, error: Exception) -> Quarantine:
    """The row of a filing that cannot go on: an expected error in its own words, any other as a defect with the place it arose."""
    filing = task.filing
    if isinstance(error, EdgarmillError):
        return Quarantine(
            filing.accession,
            filing.name,
            stage,
            error.reason,
            error.what,
            error.todo,
            isinstance(error, BadInput),
            filing.sha256,
            datetime.now(UTC),
        )
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(frame.filename)}:{frame.lineno}"
    words = " ".join(str(error)[:300].split())
    return Quarantine(
        filing.accession,
        filing.name,
        stage,
        type(error).__name__,
        f"{words} ({where})",
        "A defect of edgarmill: please report it with the file. The next run tries it again.",
        False,
        filing.sha256,
        datetime.now(UTC),
    )


# rows in and out of parts


def _load(lake: Lake, segment: Segment, setup: Setup, block: Block) -> dict[str, Work]:
    """Works of a block with the rows that the segment takes: from the block's own parts, or from the lake where a run before made them."""
    taken = {name for stage in segment if any(_left(setup, stage, task) for task in block.good) for name in stage.takes}
    works = {t.filing.accession: Work(t.filing, {name: [] for name in taken}) for t in block.good}
    mine = {"chunks": ("chunker", setup.keys["chunk"]), "contexts": ("fingerprint", setup.keys["context"])}  # rows of other recipes beside
    snapshot = lake.snapshot()
    for name in taken | {"filings"}:
        own = [part for part in block.parts if part.table == name]
        only = {mine[name][0]: {mine[name][1]}} if name in mine else {}
        before, accessions = _stored(snapshot, name, setup, block)
        for record in [
            *_records(snapshot, name, own, {"accession": set(works), **only}),
            *_records(snapshot, name, before, {"accession": accessions, **only}),
        ]:
            works[record.accession].rows.setdefault(name, []).append(record)
    for work in works.values():
        if "filings" in work.rows:
            work.filing = work.rows["filings"][0]
    return works


def _stored(snapshot: Snapshot, name: str, setup: Setup, block: Block) -> tuple[list[Part], set[str]]:
    """Parts in which an earlier run left rows of a table, and the filings whose rows there still hold: what is opened anew takes none.

    Of a filing the parts are those of the last stage done that gives the table.
    """
    givers = [n for n, stage in enumerate(stages_of(setup)) if name in stage.gives]
    lasts = {task: max((n for n in givers if task.has(n)), default=None) for task in block.good}
    stems = {task.parts[last] for task, last in lasts.items() if last is not None}
    known = [(os.path.basename(part.path).rsplit("-", 1)[0], part) for part in snapshot.tables.get(name, ())]
    parts = [part for stem, part in known if stems and (stem in stems or stem == MERGED)]
    return parts, {task.filing.accession for task, last in lasts.items() if last is not None}


def _records(snapshot: Snapshot, name: str, parts: Sequence[Part], where: dict[str, set[str]]) -> list[Any]:
    there = tuple(part for part in parts if part.rows)
    return replace(snapshot, tables={name: there}).records(name, where) if there else []


def _taken_out(root: str, parts: Sequence[Part], bad: frozenset[str]) -> Iterator[Part]:
    """Parts of earlier segments without the rows of filings that failed since: all or nothing of a filing. What they cost stays."""
    for part in parts:
        column = "subject" if part.table == "work" else "accession"
        yield part if part.table == "usage" or not part.rows else without(root, part, Drop(part.table, column, bad))


def _write(segment: Segment, setup: Setup, block: Block, works: dict[str, Work], usage: list[Usage], run_id: str) -> list[Part]:
    """Parts of all that the segment's stages gave, for the filings that are still good; usage and done work beside them."""
    bad = {q.subject for q in block.failed}
    rows: dict[str, list[Any]] = {"usage": usage}
    for task in block.tasks:
        if task.filing.accession in bad:
            continue
        fresh = [s for s in segment if _left(setup, s, task)]
        for name in {n for s in fresh for n in s.gives}:
            rows.setdefault(name, []).extend(works[task.filing.accession].rows.get(name, []))
        rows.setdefault("work", []).extend(
            WorkDone(task.filing.accession, s.name, s.version, setup.keys[s.name], task.input, "done", block.block_id) for s in fresh
        )
    return [write_part(setup.lake, name, block.block_id, found, run_id) for name, found in rows.items() if found]


# the two ways


def run_loop(setup: Setup, blocks: Sequence[Block], run_id: str) -> Generator[Block, None, None]:
    """Finished blocks, one after the other, in this process."""
    states: dict[str, Any] = {}
    for block in blocks:
        works: dict[str, Work] | None = None
        for segment in segments(setup):
            for stage in segment:
                if stage.name not in states:
                    states[stage.name] = stage.open(setup)
            if works is None or block.good:
                carried = works if all(t.done == 0 for t in block.good) else None  # else a stage passed over left its rows in the lake
                block, works = run_segment(segment, states, setup, block, run_id, carried)
        yield block


class _Operator:
    """A segment as Ray Data sees it: state opened once per actor, at its first block; one block a row."""

    def __init__(self, number: int, setup: Setup, run_id: str) -> None:
        self.segment, self.setup, self.run_id = segments(setup)[number], setup, run_id
        self.states: dict[str, Any] = {}

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        block: Block = row["block"]
        if block.error is None:
            try:
                self.states = self.states or {stage.name: stage.open(self.setup) for stage in self.segment}
                block, _ = run_segment(self.segment, self.states, self.setup, block, self.run_id)
            except EdgarmillError as error:  # in the block: an exception would be wrapped beyond recognition on its way to the driver
                block = replace(block, error=error)
        return {"block": block}


def run_ray(setup: Setup, blocks: Sequence[Block], run_id: str) -> Generator[Block, None, None]:
    """Finished blocks in the order in which they finish, from a Ray Data plan. Raises RunError as the workers met it.

    Actors stay below the number of CPUs: two one-CPU actors on two CPUs starve the read and wait for ever in silence.
    """
    with ray_runtime(setup.settings) as cluster:
        import ray.data

        cpus, gpus = int(cluster.get("CPU", 1)), cluster.get("GPU", 0.0)
        share = 1.0 if cpus >= 4 else 0.4
        parsers = setup.settings.workers or max(1, cpus - 1)
        rows = [{"block": block} for block in blocks]
        data = ray.data.from_items(rows, override_num_blocks=len(rows))
        for number, segment in enumerate(segments(setup)):
            wants_gpu = any(s.gpus for s in segment) and gpus > 0
            encoders = int(gpus) if wants_gpu else 1
            size = encoders if any(s.scope == "block" for s in segment) else parsers
            data = data.map(
                _Operator,
                fn_constructor_args=(number, setup, run_id),
                num_cpus=share,
                num_gpus=1.0 if wants_gpu else 0,
                compute=ray.data.ActorPoolStrategy(min_size=1, max_size=max(1, min(size, len(rows)))),
            )
        try:
            # `iter_rows` holds each block back until the next is done: with minutes a block, that is minutes uncommitted.
            for batch in data.iter_batches(batch_size=None, batch_format="numpy", prefetch_batches=0):
                for block in batch["block"]:
                    if block.error is not None:
                        raise block.error
                    yield block
        except ray.exceptions.RayError as error:
            todo = "What is committed stays: run the command again, with --engine loop if it comes back."
            raise RunError(f"Ray could not go on ({type(error).__name__})", todo=todo) from error


@contextmanager
def ray_runtime(settings: Settings) -> Iterator[dict[str, float]]:
    """A Ray runtime: the cluster of `ray_address`, or a local one that ends with the run. Gives the cluster's resources."""
    os.environ.update(
        {
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_BACKEND_LOG_LEVEL": "fatal",
            "RAY_worker_niceness": "0",
            "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
            "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        }
    )
    local = not settings.ray_address
    if local:  # a token of this run only: no file in the user's home, and no other user of the machine can join; read by ray's import
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        os.environ["RAY_AUTH_MODE"] = "token"
    import logging

    import ray
    import ray.data

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    terminate = signal.getsignal(signal.SIGTERM)
    here: dict[str, Any] = {"include_dashboard": False, "object_store_memory": 300 * 2**20, "num_cpus": max(2, os.cpu_count() or 2)}
    _begin(ray, here if local else {"address": settings.ray_address})
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, terminate)  # Ray's own dumps its stack and aborts, whatever the run still has to record
    try:
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = False
        context.execution_no_progress_timeout_s = 1800
        yield ray.cluster_resources()
    finally:
        ray.shutdown()


def _begin(ray: Any, asked: dict[str, Any]) -> None:
    """On a busy machine Ray's processes may need more than the half minute that Ray gives them: so once more, before it is an error."""
    for last in (True,) if "address" in asked else (False, True):
        try:
            ray.init(log_to_driver=False, logging_level="ERROR", **asked)
            return
        except Exception as error:  # Ray raises bare ones
            ray.shutdown()
            if last:
                why = " ".join(str(error).split())[:200]
                raise RunError(f"Ray did not start ({why})", todo="Run the command again, or with --engine loop.") from error


def run_blocks(setup: Setup, blocks: Sequence[Block], run_id: str, engine: str, done: Callable[[Block], None]) -> None:
    """Runs all blocks by `engine` (loop | ray) and hands each finished one to `done`, in the caller's thread."""
    finished = run_ray(setup, blocks, run_id) if engine == "ray" and blocks else run_loop(setup, blocks, run_id)
    with closing(finished):  # ends the runtime before an error goes on
        for block in finished:
            done(block)


def spread_of(setup: Setup, engine: str) -> Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]] | None:
    """A function over items as Ray tasks, results in the items' order; None where the run has no Ray. Raises RunError as workers met it."""

    def spread(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        with ray_runtime(setup.settings):
            import ray

            task = ray.remote(num_cpus=1, max_retries=2)(work)
            try:
                return list(ray.get([task.remote(item) for item in items]))
            except ray.exceptions.RayTaskError as error:
                raise error.cause if isinstance(error.cause, EdgarmillError | OSError | ValueError | RuntimeError) else error from None
            except ray.exceptions.RayError as error:
                raise RunError(f"Ray could not go on ({type(error).__name__})", todo="Run the command again.") from error

    return spread if engine == "ray" else None
