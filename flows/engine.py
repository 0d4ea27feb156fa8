"""How our flows use Prefect: one task a step, no caching, no stored results; and how they tell their progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from prefect import task
from prefect.cache_policies import NO_CACHE

Progress = Callable[[str, int, int | None], None]  # stage, done, total (None: not known yet)


def _silent(stage: str, done: int, total: int | None) -> None:
    pass


_progress: ContextVar[Progress] = ContextVar("progress", default=_silent)
_notes: ContextVar[Callable[[str], None]] = ContextVar("notes", default=lambda line: None)


@contextmanager
def told(progress: Progress, note: Callable[[str], None]) -> Iterator[None]:
    """Within it, steps report their progress and single lines to the caller's functions."""
    tokens = _progress.set(progress), _notes.set(note)
    try:
        yield
    finally:
        _progress.reset(tokens[0])
        _notes.reset(tokens[1])


def report(stage: str, done: int, total: int | None) -> None:
    _progress.get()(stage, done, total)


def note(line: str) -> None:
    _notes.get()(line)


def step(name: str, body: Callable[[], None]) -> None:
    """Runs `body` as a Prefect task of that name. It takes and gives nothing: state stays in the job, out of Prefect's database."""
    task(name=name, cache_policy=NO_CACHE, persist_result=False, log_prints=False)(lambda: body())()
