"""Work on hostile input in a process of its own: what hangs or dies there is told, and the next piece goes on in a fresh one.

Of time the kernel is the judge (RLIMIT_CPU), so a call into C that never returns ends too.
"""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from edgarmill.schemas.errors import BadFile, EdgarmillError, TooLarge

GRACE_SECONDS = 2  # beyond the limit that the work keeps itself
_PARENT_DEATH = 1  # PR_SET_PDEATHSIG of Linux's prctl


@dataclass(frozen=True, slots=True)
class Done:
    """What came of one piece: bytes, or the error in whose place they would stand."""

    task: str
    data: bytes
    error: EdgarmillError | None = None


def each(work: Callable[[str], bytes], tasks: Iterable[str], seconds: float, debug: bool = False) -> Generator[Done, None, None]:
    """The work's answer to every task, in order, from a forked child. `seconds` of CPU are one task's; 0 = no limit.

    An error of our tree keeps its words, any other is named as a defect (with `debug` its traceback goes to stderr).
    """
    child: tuple[BaseProcess, Connection] | None = None
    try:
        for task in tasks:
            child = child or _started(work, seconds, debug)
            process, pipe = child
            try:
                pipe.send_bytes(os.fsencode(task))
                answer = pipe.recv_bytes()
            except (EOFError, OSError):
                child = None
                pipe.close()
                process.join()
                yield Done(task, b"", _died(process.exitcode or 0, seconds))
                continue
            yield Done(task, answer[1:]) if answer[:1] == b"+" else Done(task, b"", _error(answer[1:]))
    finally:
        if child:
            child[1].close()
            child[0].kill()
            child[0].join()


def _started(work: Callable[[str], bytes], seconds: float, debug: bool) -> tuple[BaseProcess, Connection]:
    context = multiprocessing.get_context("fork")  # what is imported stays imported
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(work, here, there, seconds, debug, os.getpid()), daemon=True)
    process.start()
    there.close()
    return process, here


def _serve(work: Callable[[str], bytes], parents: Connection, pipe: Connection, seconds: float, debug: bool, parent: int) -> None:
    """The child's life: it ends when the parent's side of the pipe does."""
    _end_with(parent)
    parents.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it too, and ends this process
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if not debug:
        sys.unraisablehook = lambda told: None  # out of memory it would print half a line
    with suppress(EOFError, OSError):
        while True:
            task = os.fsdecode(pipe.recv_bytes())
            _allow(seconds)
            pipe.send_bytes(_answer(work, task, debug))


def _end_with(parent: int) -> None:
    """Linux ends this process together with its parent, however that ends and whatever is worked on; elsewhere the piece is done first."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PARENT_DEATH, int(signal.SIGKILL))
    if os.getppid() != parent:  # it ended before it was asked for
        os._exit(1)


def _allow(seconds: float) -> None:
    """Lets this process use so many CPU seconds from now; SIGXCPU ends it then."""
    if seconds:
        used = resource.getrusage(resource.RUSAGE_SELF)
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        soft = int(used.ru_utime + used.ru_stime + seconds) + GRACE_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _answer(work: Callable[[str], bytes], task: str, debug: bool) -> bytes:
    try:
        return b"+" + work(task)
    except EdgarmillError as error:
        said = [error.reason, error.what, error.todo]
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        words = " ".join(str(error)[:300].split())
        said = ["BadFile", f"{type(error).__name__}: {words} ({os.path.basename(frame.filename)}:{frame.lineno})",
                "A defect of edgarmill: please report it with the file."]
        if debug:
            traceback.print_exc(file=sys.stderr)
    return b"-" + json.dumps(said).encode()


def _error(said: bytes) -> EdgarmillError:
    reason, what, todo = json.loads(said)
    return (TooLarge if reason == "TooLarge" else BadFile)(what, "", todo)


def _died(code: int, seconds: float) -> EdgarmillError:
    if code == -signal.SIGXCPU:
        return TooLarge(f"took more than {seconds:g} CPU seconds", "", "Raise parse_seconds if the file is worth it.")
    name = signal.Signals(-code).name if -code in set(signal.Signals) else str(code)
    if code == -signal.SIGKILL:
        return TooLarge("the system ended its process, as a rule for lack of memory", "", "Give the machine more memory, or leave it out.")
    return BadFile(f"its process crashed ({name})", "", "A defect of a library or of edgarmill: please report it with the file.")
