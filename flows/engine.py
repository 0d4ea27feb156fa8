"""How our flows use Prefect: one task a step, no caching, no stored results."""

from __future__ import annotations

from collections.abc import Callable

from prefect import task
from prefect.cache_policies import NO_CACHE


def step(name: str, body: Callable[[], None]) -> None:
    """Runs `body` as a Prefect task of that name. It takes and gives nothing: state stays in the job, out of Prefect's database."""
    task(name=name, cache_policy=NO_CACHE, persist_result=False, log_prints=False)(lambda: body())()
