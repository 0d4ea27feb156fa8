"""A download by the steps of flow `fetch` without Prefect, for benchmarks and tests that start and kill many processes.

    python -m edgarmill.flows.plain REQUEST

REQUEST is the JSON of a `flows.request.Request`. Prints one JSON line: how it ended, and the seconds of each step.
"""

from __future__ import annotations

import json
import sys

from edgarmill.flows.job import Job
from edgarmill.flows.request import Request, new_run_id
from edgarmill.schemas import recipe as recipes
from edgarmill.schemas import settings as all_settings
from edgarmill.schemas.errors import EdgarmillError
from edgarmill.schemas.store import Lake
from edgarmill.workers.stages import setup_of


def fetched(request: Request) -> Job:
    """The job once it has listed and fetched. Raises as flow `fetch`."""
    settings, _ = all_settings.load(request.overrides, request.config)
    setup = setup_of(recipes.load(request.recipe), settings, settings.lake)
    lake, run_id = Lake.open(settings.lake, create=True), new_run_id()
    with lake.writer(run_id, request.command) as writer:
        job = Job(request, setup, lake, writer, run_id)
        job.fetch_only = True
        with job.recorded():
            job.list_filings()
            job.fetch()
    return job


def main() -> int:
    try:
        job = fetched(Request.model_validate_json(sys.argv[1]))
    except EdgarmillError as error:
        sys.stderr.write(f"edgarmill: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    seconds = {name: round(stage.seconds, 3) for name, stage in job.stages.items()}
    told = {"planned": job.record.planned, "fetched": job.new_bytes, "quarantined": job.record.quarantined, "seconds": seconds}
    sys.stdout.write(json.dumps(told) + "\n")
    return job.record.exit_code


if __name__ == "__main__":
    sys.exit(main())
