"""What a run would take in filings, requests, tokens, dollars and time, before it is made.

Of the filings at hand as many as can be are opened (that tells form and size of the text), a few of every form are taken through the
pipeline's own stages in a lake that is thrown away, models being rehearsed (workers/rehearsal.py), and the rest is reckoned from these
(workers/sampling.py). Nothing is sent and the lake itself is only read.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import Any

from edgarmill.flows.reckoning import Figures, Rate, embedding, figures_of, latency_of, rate_of, reckoned, writes_of
from edgarmill.schemas.errors import BadInput, LakeNotFound, UsageError
from edgarmill.schemas.records import Estimated, Filing, Quarantine, Usage
from edgarmill.schemas.store import Lake, Part, Snapshot
from edgarmill.workers.block import Block, Task
from edgarmill.workers.context import embedded_text
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.fanout import run_segment, segments
from edgarmill.workers.models.cache import Calls
from edgarmill.workers.rehearsal import Rehearsal, rehearsing
from edgarmill.workers.sampling import Total, Unit, by_size, evenly, total
from edgarmill.workers.stages import STAGES, Setup, Work

LOOKED_AT, TRIED, TIMED = 300, 16, 64  # filings opened, filings tried, texts that the embedder is timed on
OUTPUT_TOKENS = 80  # of an answer, where the lake has too few of that model: a summary, a sentence or two of context
_TAG, _HIDDEN, _BLANKS = re.compile(rb"<[^>]*>"), re.compile(rb"<ix:header\b.*?</ix:header>", re.S | re.I), re.compile(rb"\s+")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A filing of the run. `left`: stages to be done. `read` gives raw bytes by sha256; None where the filing is not at hand."""

    filing: Filing
    left: frozenset[str]
    read: Callable[[str], bytes] | None = None

    @property
    def stated(self) -> str:
        """What is known of its kind before it is opened."""
        return self.filing.family or self.filing.form


@dataclass(frozen=True)
class Forecast:
    """Of `planned` filings `todo` have work left, of these `at_hand` could be looked at; `rows` by stage and model."""

    recipe: str
    planned: int
    todo: int
    at_hand: int
    opened: int
    tried: int
    rows: tuple[Estimated, ...]
    chunks: Total
    wall_seconds: float | None  # of the stages, by the engine that the run would take
    took_seconds: float  # to make it
    notes: tuple[str, ...] = ()

    def dollars(self, which: str = "dollars", models: bool = False) -> Decimal | None:
        """`dollars`, `dollars_low` or `dollars_high`: of all rows, or of calls to models alone. None where one of them is unpriced."""
        found = [getattr(row, which) for row in self.rows if row.provider or not models]
        known = [one for one in found if one is not None]
        return sum(known, Decimal(0)) if len(known) == len(found) else None


@dataclass
class _Trial:
    """What the sample gave and spent, in a lake that is thrown away."""

    usage: list[Usage] = field(default_factory=list)
    texts: dict[str, tuple[str, int, str]] = field(default_factory=dict)  # text hash → first filing, tokens that are read, text
    chunks: dict[str, float] = field(default_factory=dict)
    failed: list[Quarantine] = field(default_factory=list)


def forecast(setup: Setup, candidates: Sequence[Candidate], progress: Progress, *, sample: int = TRIED, output_tokens: int | None = None,
             timed: bool = True) -> Forecast:
    """Raises UsageError where no filing is at hand to be tried. `timed`: the embedder is timed where the lake cannot tell its speed."""
    begun, snapshot = time.perf_counter(), _snapshot(setup.lake)
    todo = [c for c in candidates if c.left]
    there = [c for c in todo if c.read is not None]
    units = _looked(there, progress)
    if todo and not units:
        what = "none of the filings is at hand, so none can be tried"
        raise UsageError(what, setup.recipe.name, "Fetch a few of them first (edgarmill fetch --limit 2), or name a folder with --path.")
    chosen = {unit.key for unit in by_size(units, sample)}
    wrote = writes_of(snapshot) if output_tokens is None else {}
    counter = Tokenizer(setup.plan.model.tokenizer_path)
    known = Calls(Lake(snapshot.root)) if snapshot is not None else None
    with rehearsing(counter.count, lambda model: wrote.get(model, output_tokens or OUTPUT_TOKENS), known) as stage:
        trial = _tried(setup, [c for c in there if c.filing.accession in chosen], stage, progress)
        figures = figures_of(trial.usage, setup.settings, stage.endpoints, stage.new, latency_of(snapshot))
    figures.append(_to_embed(trial, setup, snapshot, timed))
    rows = []
    for one in sorted(figures, key=lambda f: (list(setup.keys).index(f.stage), f.endpoint is not None)):
        left = [c for c in todo if one.stage in c.left]
        rows += [reckoned(one, len(left), partial(_projected, left=left, units=units), setup.settings)] if left else []
    chunks = _projected(trial.chunks, [c for c in todo if "chunk" in c.left], units)
    notes = (*_failures(trial.failed), *_notes(rows, todo, units, wrote))
    return Forecast(setup.recipe.name, len(candidates), len(todo), len(there), len(units), len(chosen), tuple(rows), chunks,
                    _wall(rows, setup, len(todo)), time.perf_counter() - begun, notes)


def _snapshot(root: str) -> Snapshot | None:
    try:
        return Lake.open(root).snapshot()
    except LakeNotFound:
        return None


# looking: what is it, and how much does it say?


def _looked(there: Sequence[Candidate], progress: Progress) -> list[Unit]:
    """Form and bytes of text of as many as may be opened."""
    by_key = {c.filing.accession: c for c in there}
    some = evenly([Unit(key, "", float(c.filing.bytes)) for key, c in by_key.items()], LOOKED_AT)
    found = []
    for number, unit in enumerate(some):
        found.append(_seen(by_key[unit.key]))
        progress("look", number + 1, len(some))
    return found


def _seen(candidate: Candidate) -> Unit:
    """One that cannot be opened says nothing, and will cost next to nothing."""
    key = candidate.filing.accession
    try:
        outcome = STAGES[0].run(_Reader(candidate), Work(candidate.filing))
    except BadInput:
        return Unit(key, "unreadable", 0.0)
    documents = [raw for raw in outcome.raw if not raw.left_out]
    media = documents[0].media if documents else ""
    return Unit(key, f"{outcome.filing.family} {media}", float(sum(_visible(raw.data, raw.media) for raw in documents)))


def _visible(data: bytes, media: str) -> int:
    """About how many bytes of a document are text."""
    if media == "html":
        data = _TAG.sub(b" ", _HIDDEN.sub(b"", data))
    return len(_BLANKS.sub(b" ", data))


class _Reader:
    """As a lake, raw bytes of one candidate; keeps in another what was read."""

    def __init__(self, candidate: Candidate, into: Lake | None = None) -> None:
        self._candidate, self._into = candidate, into

    def read_raw(self, sha256: str) -> bytes:
        assert self._candidate.read is not None
        data = self._candidate.read(sha256)
        if self._into is not None:
            self._into.put_raw(data)
        return data


# trying: the pipeline's own stages, in a lake that is thrown away


def _tried(setup: Setup, chosen: Sequence[Candidate], stage: Rehearsal, progress: Progress) -> _Trial:
    trial, parts = _Trial(), list[Part]()
    with tempfile.TemporaryDirectory(prefix="edgarmill-estimate-") as folder:
        lake = Lake.open(os.path.join(folder, "lake"), create=True)
        endpoints = {name: stage.in_place_of(endpoint) for name, endpoint in setup.settings.endpoints.items()}
        settings = setup.settings.model_copy(update={"endpoints": endpoints, "budget_dollars": None, "lake": lake.root})
        dry = replace(setup, settings=settings, lake=lake.root, run_id="estimate")
        whole = [segment for segment in segments(dry) if segment[0].scope == "filing"]
        states = {one.name: one.open(dry) for segment in whole for one in segment}
        for number, candidate in enumerate(chosen):
            work, block = _through(candidate, dry, lake, whole, states, number)
            parts += [part for part in block.parts if part.table == "usage"]
            trial.failed += block.failed
            _keep(work, trial)
            progress("try", number + 1, len(chosen))
        with lake.writer("estimate") as writer:
            trial.usage += writer.commit(parts, key="estimate").records("usage") if parts else []
    return trial


def _through(candidate: Candidate, dry: Setup, lake: Lake, whole: Sequence[Any], states: dict[str, Any], number: int) -> tuple[Work, Block]:
    """One filing through the stages of its own scope; what fails costs what it cost until then."""
    block = Block(f"estimate-{number:04d}", (Task(candidate.filing, ""),))
    works = {candidate.filing.accession: Work(candidate.filing)}
    try:
        STAGES[0].run(_Reader(candidate, lake), works[candidate.filing.accession])
    except BadInput:
        pass  # the stages meet it again, and account for it
    for segment in whole:
        block, works = run_segment(segment, states, dry, block, "estimate", works)
    return works[candidate.filing.accession] if block.good else Work(candidate.filing), block


def _keep(work: Work, trial: _Trial) -> None:
    key = work.filing.accession
    texts = {c.chunk_id: c.text for c in work.rows.get("chunks", ())}
    trial.chunks[key] = float(len(texts))
    for one in work.rows.get("contexts", ()):
        trial.texts.setdefault(one.text_hash, (key, one.tokens - one.cut_tokens, embedded_text(one.context, texts[one.chunk_id])))


# embedding: not done, but reckoned


def _to_embed(trial: _Trial, setup: Setup, snapshot: Snapshot | None, timed: bool) -> Figures:
    """Of the sample's texts those that nobody has embedded yet."""
    model = setup.plan.model
    known = set[str]()
    if snapshot is not None and trial.texts:
        where = {"text_hash": list(trial.texts), "model_hash": [model.model_hash]}
        found = snapshot.read("embeddings", ["text_hash", "model_hash"], where)
        known = set(found["text_hash"].to_pylist())
    tokens: dict[str, list[int]] = {key: [] for key in trial.chunks}
    for text_hash, (key, count, _) in trial.texts.items():
        if text_hash not in known:
            tokens[key].append(count)
    if model.endpoint:
        endpoint = setup.settings.endpoints[model.endpoint]
        return embedding(model.served, tokens, None, endpoint, setup.settings)
    rate = rate_of(snapshot, model.name)
    if rate is None and timed and trial.texts:
        rate = _timed(list(trial.texts.values()), setup)
    return embedding(model.name, tokens, rate, None, setup.settings)


def _timed(texts: Sequence[tuple[str, int, str]], setup: Setup) -> Rate:
    """The embedder on a few of the texts; loading it is left out."""
    from edgarmill.workers.embed.local import open_encoder

    ordered = sorted(texts, key=lambda one: one[1])
    some = [ordered[int((n + 0.5) * len(ordered) / TIMED)] for n in range(TIMED)] if len(ordered) > TIMED else ordered
    encoder = open_encoder(setup.plan.model, setup.settings)
    encoder.encode([text for _, _, text in some[:2]])
    begun, cpu = time.perf_counter(), time.process_time()
    encoder.encode([text for _, _, text in some])
    seconds, cpu = max(time.perf_counter() - begun, 1e-9), time.process_time() - cpu
    gpu = not encoder.device.startswith("cpu")
    return Rate(sum(count for _, count, _ in some) / seconds, 1.0 if gpu else cpu / seconds, gpu)


# reckoning


def _projected(values: Mapping[str, float], left: Sequence[Candidate], units: Sequence[Unit]) -> Total:
    """A figure of the sample over all filings that are left: those opened by what was seen of them, others like those of their kind."""
    by_key = {unit.key: unit for unit in units}
    kinds: dict[str, list[Candidate]] = {}
    for candidate in left:
        kinds.setdefault(candidate.stated, []).append(candidate)
    found = Total()
    for some in kinds.values():
        seen = [by_key[c.filing.accession] for c in some if c.filing.accession in by_key]
        like = seen or list(units)
        found += total(like, values, units).times(len(some) / len(like))
    return found


def _wall(rows: Sequence[Estimated], setup: Setup, filings: int) -> float | None:
    """Seconds of the run's stages: one after the other in a loop; on Ray parsing beside embedding."""
    if any(row.seconds is None for row in rows):
        return None
    embed = sum(row.seconds or 0.0 for row in rows if row.stage == "embed")
    others = sum(row.seconds or 0.0 for row in rows if row.stage != "embed")
    if setup.settings.engine == "loop" or (setup.settings.engine == "auto" and filings < setup.settings.loop_below):
        return embed + others
    parsers = setup.settings.workers or max(1, (os.cpu_count() or 2) - 1)
    return max(embed, others / parsers)


def _failures(failed: Sequence[Quarantine]) -> Iterator[str]:
    """Of the filings tried: the rest is taken to fail as often."""
    if failed:
        first = failed[0]
        yield f"{len(failed):,} of those tried would be quarantined; {first.name or first.subject}: {first.reason}: {first.message}"


def _notes(rows: Sequence[Estimated], todo: Sequence[Candidate], units: Sequence[Unit], wrote: Mapping[str, int]) -> Iterator[str]:
    """What the reader should know of the figures."""
    absent = len(todo) - sum(c.read is not None for c in todo)
    if absent:
        yield f"{absent:,} filings are not at hand: they are taken to be like those of their form that are."
    unlike = sorted({c.stated for c in todo} - {c.stated for c in todo if c.filing.accession in {u.key for u in units}})
    if unlike:
        yield f"Of {', '.join(unlike)} none is at hand: they are taken to be like all the others."
    asked = [row for row in rows if row.provider]
    if asked:
        means = [f"{model} {tokens} tokens (its mean in this lake)" for model, tokens in wrote.items() if model in {r.model for r in asked}]
        long = "; ".join(means) or "as long as given or assumed"
        yield f"Answers: {long}; the range allows for half and twice. Prompts are counted by the embedder's tokenizer."
    if any(row.seconds is None for row in asked):
        yield "Waiting for the model is not in the time: this lake has too few calls to tell."
    if any(row.seconds is None for row in rows if not row.provider):
        yield "The embedder was not timed."
    if any(row.dollars is None for row in rows if not row.provider and row.seconds is not None):
        yield "Local work is unpriced: --set cpu_dollars_per_hour=0.04 (and gpu_dollars_per_hour) prices it."
    if any(row.dollars is None for row in asked):
        yield "A model is unpriced: give its price under [[prices]] in the settings."
