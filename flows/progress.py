"""How the steps of a run tell how far they are: to functions of whoever started it. Imports no Prefect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from edgarmill.schemas.interrupts import heeding

Progress = Callable[[str, int, int | None], None]  # stage, done, total (None: not known yet)


def _silent(stage: str, done: int, total: int | None) -> None:
    pass


_progress: ContextVar[Progress] = ContextVar("progress", default=_silent)
_notes: ContextVar[Callable[[str], None]] = ContextVar("notes", default=lambda line: None)
_stopped: ContextVar[Callable[[], None]] = ContextVar("stopped", default=lambda: None)
_struck: ContextVar[Callable[[], bool]] = ContextVar("struck", default=lambda: False)


@contextmanager
def told(progress: Progress, note: Callable[[str], None], stopped: Callable[[], None] = lambda: None,
         struck: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Within it, steps report their progress, single lines, and that the run was stopped, to the caller's functions; `struck` tells
    whether an interrupt came."""
    tokens = _progress.set(progress), _notes.set(note), _stopped.set(stopped), _struck.set(struck)
    try:
        yield
    finally:
        _progress.reset(tokens[0])
        _notes.reset(tokens[1])
        _stopped.reset(tokens[2])
        _struck.reset(tokens[3])


def report(stage: str, done: int, total: int | None) -> None:
    _progress.get()(stage, done, total)


def note(line: str) -> None:
    _notes.get()(line)


def stopped() -> None:
    """The run was interrupted, and what it has done is on record."""
    _stopped.get()()


@contextmanager
def heeded() -> Iterator[None]:
    """Within it an error is the interrupt where one came: a library's words for it (`schemas/interrupts.py`), or what came of those."""
    try:
        with heeding():
            yield
    except Exception:
        go_on()
        raise


def go_on() -> None:
    """Raises KeyboardInterrupt where one came and whatever was at work took it for an error of its own: of 150 interrupts amid a search,
    Lance gave 118 as errors of the index."""
    if _struck.get()():
        raise KeyboardInterrupt
