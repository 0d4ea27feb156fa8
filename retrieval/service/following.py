"""Which version is served: `prod`, or the newest verified one where nothing is promoted. A move of it is followed within a second.

A new version is opened and tried before it takes the old one's place, in one assignment: who reads the old one ends with it. One that
cannot be opened leaves the old one serving, and is tried again.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from edgarmill.retrieval.adviser import open_adviser
from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.query import embedding, encoder_of, model_of
from edgarmill.retrieval.rerank import Reranker, Tools, reranker
from edgarmill.retrieval.retrieve import Reader
from edgarmill.retrieval.search import Embedder, Index, open_index
from edgarmill.retrieval.service.failures import NotReady
from edgarmill.retrieval.service.log import Log
from edgarmill.retrieval.service.metrics import Metrics
from edgarmill.retrieval.versions import resolve
from edgarmill.schemas.errors import EdgarmillError, LakeCorrupt, ModelFailed, SettingsError
from edgarmill.schemas.parts import RESTORE
from edgarmill.schemas.promotions import latest
from edgarmill.schemas.records import IndexVersion
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.store import Lake

if TYPE_CHECKING:
    from edgarmill.workers.models.client import Client

LOOK_SECONDS = 1.0
RETRY_SECONDS = 5.0
KEPT_MODELS = 2  # of versions that were served last: prod may go back and forth between two recipes
TRIAL = "annual report of the company"

P = ParamSpec("P")
R = TypeVar("R")
Opener = Callable[[Lake, IndexVersion], Reader]


@dataclass(frozen=True)
class Served:
    """What answers: an open version, and the tables as they are now."""

    reader: Reader
    snapshot: Snapshot = field(repr=False)
    promoted: bool  # False: nothing is promoted, this is the newest verified one

    @property
    def index(self) -> Index:
        return self.reader.index

    @property
    def version(self) -> IndexVersion:
        return self.index.version

    @property
    def name(self) -> dict[str, Any]:
        """As every answer has it."""
        version = self.version
        return {"recipe": version.recipe, "tag": version.tag, "version_id": version.version_id, "prod": self.promoted}


class Following:
    """Looks at the log of promotions and at the catalog, both by one listing of a folder, and opens what they name."""

    def __init__(self, lake: Lake, opened: Opener, metrics: Metrics, log: Log, look_seconds: float = LOOK_SECONDS) -> None:
        self._lake, self._open, self._metrics, self._log, self._look_seconds = lake, opened, metrics, log, look_seconds
        self.served: Served | None = None
        self.problem: EdgarmillError | None = None  # why what is wanted is not served
        self._seen: tuple[int, int] | None = None
        self._again = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="following", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def now(self) -> Served:
        """Raises NotReady."""
        if self.served is None:
            raise NotReady("no version is open yet", "", "Ask again later; /ready says when.")
        return self.served

    def look(self) -> None:
        """One look, and what follows from it. A failure is kept in `problem`."""
        try:
            marks = (latest(self._lake.root), max(self._lake.numbers(), default=0))
            if marks == self._seen and (self.problem is None or time.monotonic() < self._again):
                return
            self._seen, self._again = marks, time.monotonic() + RETRY_SECONDS
            self._serve(self._lake.snapshot(), promoted=marks[0] > 0)
        except EdgarmillError as error:
            self._failed(error)
            return
        self.problem = None
        self._metrics.behind.set(0)

    def _serve(self, snapshot: Snapshot, promoted: bool) -> None:
        version, old = resolve(snapshot), self.served
        if old is not None and _same(old.version, version):
            self.served = replace(old, snapshot=snapshot, promoted=promoted)
            return
        try:
            reader = self._open(self._lake, without_corpus(version))
            tried(reader.index)
        except ImportError as error:
            what = f"the model of this version needs a package that is not there: {error.name}"
            raise SettingsError(what, version.model, "pip install 'edgarmill[pipeline]'.") from error
        self.served = Served(reader, snapshot, promoted)
        self._metrics.served(version.recipe, version.tag or "", version.version_id)
        self._log.note(f"serving {version.recipe} {version.tag} ({version.version_id}), {version.chunks:,} chunks"
                       + ("" if promoted else "; nothing is promoted, so the newest verified version"))

    def _failed(self, error: EdgarmillError) -> None:
        self.problem = error
        self._metrics.failures.inc()
        self._metrics.behind.set(1)
        old = f"{self.served.version.recipe} {self.served.version.tag} goes on serving" if self.served else "nothing is served"
        self._log.note(f"the version that is wanted cannot be opened ({error.reason}: {error}); {old}")

    def _follow(self) -> None:
        while not self._ended.wait(self._look_seconds):
            self.look()


def tried(index: Index) -> None:
    """Asks a question in every way, so that what is damaged is found before it serves, and what is first needed is loaded. Raises
    LakeCorrupt."""
    rows = index.count(Filters())
    if rows != index.version.chunks:
        raise LakeCorrupt(f"the dataset has {rows:,} chunks, the catalog says {index.version.chunks:,}", index.version.tag or "", RESTORE)
    index.search(TRIAL, 1, "keyword")
    if index.embedder is not None:
        index.search(TRIAL, 1, "hybrid")


def _same(one: IndexVersion, other: IndexVersion) -> bool:
    return (one.recipe, one.tag, one.version_id, one.lance_version) == (other.recipe, other.tag, other.version_id, other.lance_version)


def without_corpus(version: IndexVersion) -> IndexVersion:
    """The list of a large corpus is megabytes; what opens a version needs its recipe alone. Raises LakeCorrupt."""
    try:
        return replace(version, manifest=json.dumps({"recipe": json.loads(version.manifest)["recipe"]}))
    except (ValueError, KeyError, TypeError):
        raise LakeCorrupt("the manifest of a version cannot be read", version.tag or version.version_id, RESTORE) from None


@dataclass(frozen=True)
class _Loaded:
    encoder: Callable[[], Any]
    embedder: Embedder
    rerankers: dict[str, Reranker] = field(default_factory=dict)


class Opening:
    """Opens versions with the models that they were made with. A model is loaded once, however often prod moves."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: OrderedDict[str, _Loaded] = OrderedDict()
        self._clients: dict[str, Client] = {}

    def __call__(self, lake: Lake, version: IndexVersion) -> Reader:
        """Raises UnknownName, SettingsError (a model is not at hand), UsageError (it has other weights), LakeCorrupt."""
        loaded, model_hash = self._known.get(version.model_hash), version.model_hash
        if loaded is None:
            model = model_of(version, self._settings)
            encoder, model_hash = encoder_of(model, self._settings, lake), model.model_hash
            embedder = embedding(encoder)
            loaded = _Loaded(encoder, embedder if model.endpoint else one_at_a_time(embedder))
        reader = Reader(open_index(lake, version, loaded.embedder, model_hash), lake, self._settings, loaded.encoder, loaded.rerankers,
                        _clients=self._clients)
        self._load_rerankers(lake, loaded)
        for name in self._settings.service_models:
            if name not in self._clients:
                self._clients[name] = open_adviser(name, self._settings, lake)
        self._known[model_hash] = loaded
        self._known.move_to_end(model_hash)
        while len(self._known) > KEPT_MODELS:
            self._known.popitem(last=False)
        return reader

    def _load_rerankers(self, lake: Lake, loaded: _Loaded) -> None:
        """All that may be named: none is loaded at a request, and one that is not at hand is known at the start."""
        for name in self._settings.service_rerankers:
            if name not in loaded.rerankers:
                opened = reranker(name, Tools(self._settings, lake, loaded.encoder))
                loaded.rerankers[name] = opened if name.startswith("endpoint:") else one_at_a_time(opened)


def one_at_a_time(model: Callable[P, R]) -> Callable[P, R]:
    """A model that runs here is not for several threads at once. What it gives raises ModelFailed."""
    lock = threading.Lock()

    def asked(*given: P.args, **named: P.kwargs) -> R:
        with lock:
            try:
                return model(*given, **named)
            except RuntimeError as error:  # torch: out of memory, a device that is gone
                raise ModelFailed(f"the model gave nothing ({str(error).splitlines()[0][:120]})", "", "See its device.") from error

    return asked
