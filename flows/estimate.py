"""What a request would take: of downloading, and of the run itself. No flow: nothing is written, and a listing that was begun is not worth
keeping. Also the step of a run that makes and keeps its estimate, and refuses what its budget cannot pay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial

from edgarmill.flows.forecast import Candidate, Forecast, forecast
from edgarmill.flows.job import Job
from edgarmill.flows.progress import note, report
from edgarmill.flows.request import Request
from edgarmill.flows.sources import latest, selection_of
from edgarmill.schemas import recipe as recipes
from edgarmill.schemas.errors import LakeNotFound, UsageError
from edgarmill.schemas.records import Coverage, Filing, Listing
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake, Snapshot, write_part
from edgarmill.workers import trees
from edgarmill.workers.asking import endpoint_for
from edgarmill.workers.block import tasks_of
from edgarmill.workers.source import folder
from edgarmill.workers.source.edgar.discover import discover
from edgarmill.workers.source.edgar.estimate import Estimate, estimate
from edgarmill.workers.source.edgar.selection import listed_of
from edgarmill.workers.source.listed import Listed
from edgarmill.workers.stages import Setup, setup_of
from edgarmill.workers.transport import Transport

Progress = Callable[[str, int, int], None]
Note = Callable[[str], None]


@dataclass(frozen=True)
class _Chosen:
    """What EDGAR lists of a request; `here` are accessions that the lake has."""

    listings: tuple[Listing, ...]
    here: frozenset[str]
    requests: int
    unread: tuple[str, ...]


def estimate_fetch(settings: Settings, request: Request, progress: Progress, note: Note) -> Estimate:
    """Lists the request's filings, what the lake knows already aside. Raises as a listing does: UsageError, UnknownName, RunError."""
    chosen = _chosen(settings, request, _snapshot(settings), progress, note)
    return estimate(chosen.listings, chosen.here, settings.fetch, chosen.requests, list(chosen.unread))


def _chosen(settings: Settings, request: Request, snapshot: Snapshot | None, progress: Progress, note: Note) -> _Chosen:
    listings: dict[str, Listing] = {}
    covered: dict[str, Coverage] = {}
    here: set[str] = set()
    unread: list[str] = []
    if snapshot is not None:
        listings = {listing.accession: listing for listing in snapshot.records("listings")}
        covered = {one.cik: one for one in snapshot.records("coverage")}
        here = set(latest(snapshot.records("received", {"source": ["edgar"]})))
    with Transport(settings, note=note) as transport:
        selection = selection_of(request, transport, settings)
        for found in discover(transport, settings, selection, dict(listings), covered, datetime.now(UTC), request.listing, note):
            listings |= {listing.accession: listing for listing in found.listings}
            unread += found.unread
            if found.asked[1]:
                progress("list filers", *found.asked)
        return _Chosen(tuple(selection.choose(listings.values())), frozenset(here), transport.requests, tuple(unread))


def _snapshot(settings: Settings) -> Snapshot | None:
    try:
        return Lake.open(settings.lake).snapshot()
    except LakeNotFound:
        return None


# the run itself


def estimate_run(settings: Settings, recipe: str, request: Request | None, progress: Progress, note: Note, *, sample: int,
                 output_tokens: int | None = None, timed: bool = True) -> Forecast:
    """What the request's run would take; without a request, of all that the lake has received. No key of an endpoint is needed.

    Raises as a listing does, as `setup_of`, and UsageError where no filing is at hand.
    """
    endpoints = {name: one.model_copy(update={"key_env": ""}) for name, one in settings.endpoints.items()}
    settings = settings.model_copy(update={"endpoints": endpoints, "budget_dollars": None})
    setup, snapshot = setup_of(recipes.load(recipe), settings, settings.lake), _snapshot(settings)
    if request is None:
        found = _received(setup, snapshot)
    elif request.source == "folder":
        found = _in_folder(setup, snapshot, request, note)
    else:
        found = _on_edgar(setup, snapshot, _chosen(settings, request, snapshot, progress, note))
    if not found:
        raise UsageError("there is no filing to estimate", settings.lake, "Name a folder with --path, or filers; or fetch some first.")
    return forecast(setup, found, progress, sample=sample, output_tokens=output_tokens, timed=timed)


def _in_folder(setup: Setup, snapshot: Snapshot | None, request: Request, note: Note) -> list[Candidate]:
    listed = list(folder.list_filings(request.path or "", setup.settings, note, request.manifest))
    where = {one.filing.accession: one for one in listed}
    good = [one.filing for one in listed if one.error is None]
    left = _left(good, setup, snapshot)
    bad = [Candidate(one.filing, frozenset()) for one in listed if one.error is not None]
    return bad + [Candidate(f, left[f.accession], partial(_file, where[f.accession], setup.settings)) for f in good]


def _file(listed: Listed, settings: Settings, sha256: str) -> bytes:
    return folder.fetch(listed, settings)


def _on_edgar(setup: Setup, snapshot: Snapshot | None, chosen: _Chosen) -> list[Candidate]:
    filings = {listing.accession: listed_of(listing, setup.settings).filing for listing in chosen.listings}
    far = [Candidate(filing, frozenset(setup.keys)) for key, filing in filings.items() if key not in chosen.here]
    if snapshot is None:
        return far
    have = latest(snapshot.records("received", {"source": ["edgar"]}))
    near = [replace(filings[key], sha256=have[key].sha256, bytes=have[key].bytes) for key in filings if key in chosen.here]
    left, lake = _left(near, setup, snapshot), Lake(snapshot.root)
    return far + [Candidate(f, left[f.accession], lake.read_raw) for f in near]


def _received(setup: Setup, snapshot: Snapshot | None) -> list[Candidate]:
    """All that the lake has received: of a filing what its source said then is not needed, for what is done is told by its name."""
    if snapshot is None:
        return []
    forms = {f.accession: f.family for f in snapshot.records("filings")}
    done: dict[str, set[str]] = {}
    for work in snapshot.records("work", {"outcome": ["done"]}):
        done.setdefault(work.subject, set()).add(work.fingerprint)
    lake, found = Lake(snapshot.root), []
    for key, one in latest(snapshot.records("received")).items():
        filing = Filing(key, one.place if one.source == "folder" else "", one.source, family=forms.get(key, ""), sha256=one.sha256,
                        bytes=one.bytes)
        left = frozenset(stage for stage, fingerprint in setup.keys.items() if fingerprint not in done.get(key, ()))
        found.append(Candidate(filing, left, lake.read_raw))
    return found


def _left(filings: Sequence[Filing], setup: Setup, snapshot: Snapshot | None, retry: bool = False) -> dict[str, frozenset[str]]:
    """Stages to be done, by accession: none of what is unchanged, or stands in quarantine."""
    if snapshot is None:
        return {filing.accession: frozenset(setup.keys) for filing in filings}
    todo, _, _ = tasks_of(filings, snapshot, setup.keys, retry=retry)
    left = {t.filing.accession: frozenset(stage for n, stage in enumerate(setup.keys) if not t.has(n)) for t in todo}
    return {filing.accession: left.get(filing.accession, frozenset()) for filing in filings}


# a run's own estimate


def asks_models(setup: Setup) -> bool:
    """Whether the recipe pays a provider."""
    recipe, settings = setup.recipe, setup.settings
    return bool(setup.plan.model.endpoint or endpoint_for(recipe.context, settings) or trees.endpoint_for(recipe.tree, settings))


def wanted(job: Job) -> bool:
    """Whether the run makes an estimate of itself: when asked to, or before it spends from a budget."""
    return job.request.estimate or (job.setup.settings.budget_dollars is not None and asks_models(job.setup))


def estimated(job: Job) -> None:
    """The step between fetching and the work: keeps the estimate under the run's name. Raises UsageError where the budget is too small."""
    left = _left(job.fetched, job.setup, job.lake.snapshot(), job.request.retry_quarantined)
    found = forecast(job.setup, [Candidate(f, left[f.accession], job.lake.read_raw) for f in job.fetched], report, timed=False)
    if found.rows:
        part = write_part(job.lake.root, "estimates", job.run_id, list(found.rows), job.run_id)
        job.writer.commit([part], key=part.path, message=f"estimate of {found.todo} filings")
    check_budget(found, job.setup.settings)
    for line in _said(found):
        note(line)


def check_budget(found: Forecast, settings: Settings) -> None:
    """Raises UsageError: nothing has been sent then."""
    low, budget = found.dollars("dollars_low", models=True), settings.budget_dollars
    if budget is not None and low is not None and low > budget:
        likely = found.dollars(models=True) or low
        what = f"its models are estimated at {_usd(likely)}, at least {_usd(low)}, and the budget is {_usd(budget)}"
        raise UsageError(what, found.recipe, "Raise --budget, take fewer filings, or see edgarmill estimate.")


def _usd(value: Decimal) -> str:
    """Cents above one dollar, else three significant places."""
    return f"${value:,.2f}" if value >= 1 else f"${float(value):.3g}"


def _said(found: Forecast) -> Iterable[str]:
    tokens = sum((row.input_tokens or 0) + (row.cached_tokens or 0) for row in found.rows)
    dollars = found.dollars(models=True)
    calls = sum(row.requests or 0 for row in found.rows if row.provider)
    paid = f", {calls:,} calls" + (f" for {_usd(dollars)}" if dollars is not None else ", unpriced") if calls else ""
    yield f"estimate {found.recipe}: {found.todo:,} filings, {tokens:,} tokens{paid}; {found.tried} tried in {found.took_seconds:.0f} s"
