"""An interrupt is one in whatever words a library gives it, and nothing else is one."""

from __future__ import annotations

import errno
import threading

import duckdb
import pytest

from edgarmill.schemas.disk import refusals
from edgarmill.schemas.errors import LakeCorrupt, StorageError, UsageError
from edgarmill.schemas.interrupts import heed, heeding, interrupted

STREAM = "Invalid Input Error: reading the stream registered as 'held' failed: Invalid: External error: KeyboardInterrupt: "
TRACE = "Invalid Input Error: reading failed: Unknown error: . Detail: Python exception: Trace (most recent call last):\nKeyboardInterrupt"


def after(error: Exception, cause: BaseException | None, said: bool = True) -> Exception:
    """An error with what it came from: said, or only met on the way."""
    if said:
        error.__cause__ = cause
    else:
        error.__context__ = cause
    return error


@pytest.mark.parametrize("error", [
    duckdb.InvalidInputException(STREAM), duckdb.InvalidInputException(TRACE), RuntimeError("Query interrupted"),
    OSError("LanceError(IO): External error: KeyboardInterrupt: "),
    after(LakeCorrupt("cannot be joined"), RuntimeError("Query interrupted")),
    after(ValueError("broken off"), KeyboardInterrupt(), said=False)])
def test_words_of_libraries_for_an_interrupt(error: Exception) -> None:
    assert interrupted(error)
    with pytest.raises(KeyboardInterrupt) as found:
        heed(error)
    assert found.value.__cause__ is error
    with pytest.raises(KeyboardInterrupt), heeding():
        raise error


def without_context() -> Exception:
    error = after(UsageError("asked for too much"), RuntimeError("Query interrupted"), said=False)
    error.__suppress_context__ = True
    return error


@pytest.mark.parametrize("error", [
    duckdb.InterruptException("INTERRUPT Error: Interrupted!"), RuntimeError("out of memory"), OSError(errno.ENOSPC, "No space left"),
    FileNotFoundError(errno.ENOENT, "No such file", "KeyboardInterrupt.htm"), UsageError("no such recipe", "KeyboardInterrupt"),
    without_context()])
def test_what_is_none(error: Exception) -> None:
    assert not interrupted(error)
    with pytest.raises(type(error)), heeding():
        raise error


def test_no_words_in_another_thread_are_one() -> None:
    found: list[bool] = []
    beside = threading.Thread(target=lambda: found.append(interrupted(RuntimeError("Query interrupted"))))
    beside.start()
    beside.join()
    assert found == [False]


def test_an_interrupt_amid_writing_is_no_trouble_of_the_disk() -> None:
    with pytest.raises(KeyboardInterrupt), refusals("/lake"):
        raise OSError("External error: KeyboardInterrupt: ")
    with pytest.raises(StorageError), refusals("/lake"):
        raise OSError(errno.EIO, "Input/output error", "/lake/KeyboardInterrupt")
