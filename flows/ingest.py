"""Flow `ingest`: list → fetch → transform (open, parse, section, chunk, context, embed) → index (build, verify, tag).

Four Prefect tasks a run, whatever the number of filings: fan-out belongs to `workers.fanout`, and the record of what happened to our own
tables (Prefect's temporary database loses task rows). Every step commits what it finished, so a stopped run goes on where it was.
"""

from __future__ import annotations

from prefect import flow

from edgarmill.flows.engine import step
from edgarmill.flows.estimate import estimated, wanted
from edgarmill.flows.job import Job
from edgarmill.flows.request import Request, new_run_id
from edgarmill.schemas import recipe as recipes
from edgarmill.schemas import settings as all_settings
from edgarmill.schemas.records import RunRecord
from edgarmill.schemas.store import Lake
from edgarmill.workers.stages import setup_of


@flow(name="ingest", validate_parameters=False, persist_result=False)
def ingest(request: Request | dict[str, object]) -> RunRecord:
    """Ingests what the request names and gives the record of the run, which is also in table `runs`.

    Raises UsageError before any work, RunError when the run cannot go on; the filings committed until then stay.
    """
    request = Request.model_validate(request)  # a deployment hands it over as JSON
    settings, _ = all_settings.load(request.overrides, request.config)
    setup = setup_of(recipes.load(request.recipe), settings, settings.lake)
    lake = Lake.open(settings.lake, create=True)
    run_id = new_run_id()
    with lake.writer(run_id, request.command) as writer:
        job = Job(request, setup, lake, writer, run_id)
        with job.recorded():
            step("list", job.list_filings)
            step("fetch", job.fetch)
            if wanted(job):
                step("estimate", lambda: estimated(job))
            step("transform", job.transform)
            step("index", job.index)
    return job.record


@flow(name="fetch", validate_parameters=False, persist_result=False)
def fetch(request: Request | dict[str, object]) -> RunRecord:
    """Lists and fetches what the request names, and leaves the rest to a later `ingest`. Raises as `ingest`."""
    request = Request.model_validate(request)
    settings, _ = all_settings.load(request.overrides, request.config)
    setup = setup_of(recipes.load(request.recipe), settings, settings.lake)
    lake = Lake.open(settings.lake, create=True)
    run_id = new_run_id()
    with lake.writer(run_id, request.command) as writer:
        job = Job(request, setup, lake, writer, run_id)
        job.fetch_only = True
        with job.recorded():
            step("list", job.list_filings)
            step("fetch", job.fetch)
    return job.record
