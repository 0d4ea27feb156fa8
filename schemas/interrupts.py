"""Ctrl-C as libraries give it. Lance and DuckDB, interrupted amid their work, raise an error of their own that has it in its text alone:
taken for what it says it is a damaged file, and a healthy index was rejected for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from edgarmill.schemas.errors import EdgarmillError

_WORDS = ("KeyboardInterrupt", "Query interrupted")  # the second is DuckDB's; a query that we end ourselves has others


def interrupted(error: BaseException | None) -> bool:
    """Whether an error, or what it came from, is an interrupt, be it in a library's words.

    Signals reach the main thread alone, so that elsewhere such words are somebody's: no question to the service ends it.
    """
    if threading.current_thread() is not threading.main_thread():
        return False
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, KeyboardInterrupt) or (_foreign(error) and any(words in str(error) for words in _WORDS)):
            return True
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False


def _foreign(error: BaseException) -> bool:
    """Our errors and the system's name files and what was asked for, in any words: of ours what they came from tells."""
    return not isinstance(error, EdgarmillError) and getattr(error, "errno", None) is None


def heed(error: BaseException) -> None:
    """Raises KeyboardInterrupt where the error is one."""
    if interrupted(error):
        raise KeyboardInterrupt from error


@contextmanager
def heeding() -> Iterator[None]:
    """Within it an error that is an interrupt is a KeyboardInterrupt: what turns errors into ours never sees it."""
    try:
        yield
    except Exception as error:
        heed(error)
        raise
