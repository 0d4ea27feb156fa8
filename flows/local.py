"""Runs flows in this process for the command line: a Prefect API beside it, progress to the terminal. Imports Prefect only to run one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from edgarmill.flows.request import Request
from edgarmill.flows.server import prefect_api, wait_until_ready
from edgarmill.flows.sources import selection_of
from edgarmill.schemas import recipe as recipes
from edgarmill.schemas.records import RunRecord
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.workers.source.folder import folder_at
from edgarmill.workers.source.passages import corpora_at
from edgarmill.workers.stages import setup_of
from edgarmill.workers.transport import Transport

Progress = Callable[[str, int, int], None]
Note = Callable[[str], None]
HURRY = 15.0  # seconds that Prefect has to end a stopped flow


@contextmanager
def prefect_running(settings: Settings, progress: Progress, note: Note) -> Iterator[None]:
    """Within it, flows can be called; they report to `progress` and `note`. The lake is made where there is none."""
    lake = Lake.open(settings.lake, create=True)
    with lake.writer("", "start"):
        pass  # a second run is refused before it starts a server beside that of the first
    with stoppable() as struck, prefect_api(settings, lake.folder("prefect")) as server, hurried() as stopped:
        from edgarmill.flows.progress import told

        wait_until_ready(settings, server)
        with told(lambda stage, done, total: progress(stage, done, total) if total is not None else None, note, stopped, struck):
            yield


@contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Within it, SIGTERM stops a run as Ctrl-C does: Prefect, after ending its flow, hands the signal to the handler before its own. Gives
    what says whether either came. Signals that are ignored (nohup) stay so."""
    came = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield came.is_set
        return

    def strike(number: int, frame: object) -> None:
        came.set()
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, strike)
    try:
        yield came.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def hurried(seconds: float = HURRY) -> Iterator[Callable[[], None]]:
    """Gives what says that the run was stopped; if this block is not left soon after, the main thread is interrupted again, and again.

    An interrupt that strikes amid an import leaves Python's lock of imports held. Prefect, which then tells its server how the flow ended,
    waits for its own thread, which waits for that lock: for ever. It was seen once in some forty stops.
    """
    told, over = threading.Event(), threading.Event()
    main = threading.main_thread().ident

    def watch() -> None:
        told.wait()
        while not over.wait(seconds) and main is not None:
            signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=watch, daemon=True, name="hurry").start()
    try:
        yield told.set
    finally:
        over.set()
        told.set()


def ingest_all(settings: Settings, requests: list[Request], progress: Progress, note: Note) -> Iterator[RunRecord]:
    """The record of each run, one request after the other. Recipes, folders and names are checked before anything is started."""
    for request in requests:
        setup_of(recipes.load(request.recipe), settings, settings.lake)
    first = requests[0]  # the others differ in the recipe alone
    if first.source == "folder":
        folder_at(first.path or "")
    elif first.source == "passages":
        corpora_at(first.path or "")
    else:
        filers = _filers(settings, first, note)
        requests = [request.model_copy(update=filers) for request in requests]
    with prefect_running(settings, progress, note):
        from edgarmill.flows.ingest import ingest

        for request in requests:
            yield ingest(request)


def _filers(settings: Settings, request: Request, note: Note) -> dict[str, Any]:
    """Fields of the request, with its filers as CIKs: what is misspelled ends here, before a lake is made or a server started."""
    with Transport(settings, note=note) as transport:
        selection = selection_of(request, transport, settings)
    return {"ciks": tuple(cik for cik in selection.ciks if cik not in selection.successor), "tickers": (), "universe": ""}


def fetch_once(settings: Settings, request: Request, progress: Progress, note: Note) -> RunRecord:
    """The record of a run that lists and fetches."""
    request = request.model_copy(update=_filers(settings, request, note))
    with prefect_running(settings, progress, note):
        from edgarmill.flows.ingest import fetch

        return fetch(request)


def evaluate_once(settings: Settings, progress: Progress, note: Note, **asked: Any) -> Any:
    """What flow `evaluate` gives. The questions, the index and the experiment are looked up before anything is started; and where nothing
    is to be done, nothing is."""
    from edgarmill.flows.planned import question_of, standing
    from edgarmill.retrieval.versions import newest

    snapshot = Lake.open(settings.lake).snapshot()
    newest(snapshot, asked.get("recipe"), asked.get("tag"))
    told = {name: value for name, value in asked.items() if name not in ("lake", "overrides", "config")}
    if (found := standing(question_of(**told), snapshot, settings)) is not None:
        return found
    with prefect_running(settings, progress, note):
        from edgarmill.flows.evaluate import evaluate

        return evaluate(**asked)
