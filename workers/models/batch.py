"""Many requests in one file, answered within a day at half the price: OpenAI's Batch protocol (upload, create, look, download).

What was submitted is paid whether or not we are there to fetch it. So each batch has a record in the lake, calls/batches/<id>.json, named
by the requests in it and written before the batch begins; who wants an answer that is under way in one, in this run or the next, waits for
that batch. The record goes when every answer of its batch is kept.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from edgarmill.schemas import ids
from edgarmill.schemas.disk import make_folder, refusals, whole_file
from edgarmill.schemas.errors import LakeCorrupt, ModelFailed, ModelRefused
from edgarmill.workers.models.cache import Calls
from edgarmill.workers.models.wire import PATHS, Again, Wire

if TYPE_CHECKING:
    from edgarmill.workers.models.purse import Purse

MOST_REQUESTS, MOST_BYTES = {"chat": 20_000, "embeddings": 200}, 100 * 2**20  # of one batch; OpenAI takes 50,000 and 200 MB
FIRST_LOOK, LAST_LOOK = 2.0, 60.0  # seconds between looks, at first and in the end
LONGEST = 48 * 3600.0  # seconds; a batch that its provider promised within a day ends by then, or this run leaves it
ENDED = frozenset({"completed", "expired", "cancelled", "failed"})
_ID = re.compile(r"[A-Za-z0-9_.-]{1,200}")
Outcome = dict[str, Any] | Again | ModelFailed | ModelRefused


@dataclass(frozen=True, slots=True)
class Want:
    """A request that is to be answered: who pays, its texts and the most output, for counting."""

    key: str
    kind: str
    body: dict[str, Any]
    purse: Purse
    texts: Sequence[str]
    output: int


class Wanted(Exception):
    """Of a call whose answer only a batch can give."""

    def __init__(self, want: Want) -> None:
        super().__init__(want.key)
        self.want = want


@dataclass(frozen=True, slots=True)
class Batch:
    """What was submitted. Without an id we were cut off while it was made."""

    name: str  # of its record
    kind: str
    input: str  # id of the file of requests
    payers: dict[str, dict[str, str]]  # by key
    at: float
    id: str = ""


class Batches:
    """The batches of one endpoint."""

    def __init__(self, calls: Calls, wire: Wire, retries: int, clock: Callable[[], float], wait: Callable[[float], None]) -> None:
        self._calls, self._wire, self._retries, self._clock, self._wait = calls, wire, retries, clock, wait
        self._folder = os.path.join(calls.folder, "batches")

    def alone(self) -> AbstractContextManager[None]:
        """The right to look what is under way and to submit what is not."""
        return self._calls.alone("batches")

    def under_way(self) -> list[Batch]:
        """What was submitted from this lake and not yet fetched. Raises LakeCorrupt, StorageError."""
        with refusals(self._folder):
            names = sorted(os.listdir(self._folder)) if os.path.isdir(self._folder) else []
        found = (self._read(name) for name in names if name.endswith(".json"))
        return [batch for batch in found if batch is not None]

    def submit(self, wants: Sequence[Want]) -> Iterator[Batch]:
        """The batches of these requests, begun. Raises ModelFailed, ModelRefused, StorageError."""
        for some in _filled(wants):
            name = ids.digest(*sorted(want.key for want in some))
            sent = self._tried(partial(self._wire.upload, b"".join(map(_line, some))))
            batch = Batch(name, some[0].kind, _id(sent), {want.key: want.purse.payer for want in some}, self._clock())
            self._write(batch)
            yield self._begun(batch)

    def outcomes(self, batch: Batch) -> Iterator[tuple[str, Outcome]]:
        """Waits for a batch and gives each of its requests' answers, or why it has none. Raises ModelFailed, ModelRefused, Stopped."""
        batch = batch if batch.id else self._begun(self._found(batch))
        state = self._ended(batch)
        left = dict.fromkeys(batch.payers)
        for name in ("output_file_id", "error_file_id"):
            if state.get(name):
                for line in self._tried(partial(self._wire.download, f"/files/{_id(state, name)}/content")).splitlines():
                    key, outcome = self._read_line(line)
                    if key in left:
                        del left[key]
                        yield key, outcome
        for key in left:
            yield key, self._unanswered(state)

    def forget(self, batch: Batch) -> None:
        """Once every answer is kept."""
        with refusals(self._folder):
            try:
                os.unlink(self._path(batch.name))
            except FileNotFoundError:
                pass

    def _begun(self, batch: Batch) -> Batch:
        if not batch.id:
            ask = {"input_file_id": batch.input, "endpoint": f"/v1{PATHS[batch.kind]}", "completion_window": "24h",
                   "metadata": {"edgarmill": batch.name}}
            batch = replace(batch, id=_id(self._tried(lambda: self._wire.send("/batches", ask), again=False)))
        self._write(batch)
        return batch

    def _found(self, batch: Batch) -> Batch:
        """The batch with its id, where the provider has one of that name: the answer to its creation may have been lost."""
        listed = self._tried(lambda: self._wire.look("/batches?limit=100")).get("data")
        for one in listed if isinstance(listed, list) else []:
            if isinstance(one, dict) and isinstance(about := one.get("metadata"), dict) and about.get("edgarmill") == batch.name:
                return replace(batch, id=_id(one))
        return batch

    def _ended(self, batch: Batch) -> dict[str, Any]:
        pause = FIRST_LOOK
        while True:
            try:
                state: dict[str, Any] = self._tried(lambda: self._wire.look(f"/batches/{batch.id}"))
            except ModelRefused as error:
                todo = f"Where it is gone for good, remove calls/batches/{batch.name}.json: its requests are then sent, and paid, again."
                raise ModelRefused(f"batch {batch.id}: {error.what}", error.subject, todo) from None
            if state.get("status") in ENDED:
                return state
            if self._clock() > batch.at + LONGEST:
                raise ModelFailed(f"batch {batch.id} has not ended in two days", "batch", "Run again later: it will be found again.")
            self._wait(pause)
            pause = min(pause * 1.5, LAST_LOOK)

    def _tried(self, call: Callable[[], Any], again: bool = True) -> Any:
        """With tries; without `again` only those that surely did nothing: a batch must not begin twice."""
        failed = 0
        while True:
            try:
                return call()
            except Again as failure:
                failed += 1
                if failed > self._retries or (failure.billed and not again):
                    todo = "Run again later: what was submitted goes on and is found again."
                    raise ModelFailed(f"{failure.what}, {failed} times", "batch", todo) from None
                self._wait(failure.wait if failure.wait is not None else FIRST_LOOK**failed)

    def _read_line(self, line: bytes) -> tuple[str, Outcome]:
        """("", …) for a line that is none of ours."""
        try:
            found = json.loads(line)
            key, error, response = found["custom_id"], found.get("error"), found.get("response") or {}
            status, body = response.get("status_code"), response.get("body")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return "", Again("no JSON")
        if not isinstance(key, str):
            return "", Again("no custom_id")
        try:
            if not isinstance(status, int) or (error and status == 200):
                code = error.get("code") if isinstance(error, dict) else ""
                raise Again(f"not answered in its batch ({self._wire.masked(str(code or 'no word why'))[:60]})")
            self._wire.check(status, body, None)
            if not isinstance(body, dict):
                raise Again("an answer that is not a JSON object", billed=True)
        except (Again, ModelFailed, ModelRefused) as failure:
            return key, failure
        return key, body

    def _unanswered(self, state: Mapping[str, Any]) -> Outcome:
        if state["status"] == "completed" or state["status"] == "expired":
            return Again("not answered in its batch" + (" (expired)" if state["status"] == "expired" else ""))
        errors = state.get("errors")
        data = errors.get("data") if isinstance(errors, dict) else None
        words = data[0].get("message") if isinstance(data, list) and data and isinstance(data[0], dict) else ""
        return ModelFailed(f"its batch was {state['status']}: {self._wire.masked(str(words or 'no word why'))}", "batch",
                           "Look at it with the provider, then run again.")

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, f"{name}.json")

    def _read(self, name: str) -> Batch | None:
        """None where another worker has just fetched it."""
        path = os.path.join(self._folder, name)
        with refusals(path):
            try:
                with open(path, encoding="utf-8") as file:
                    return Batch(**json.load(file))
            except FileNotFoundError:
                return None
            except (ValueError, TypeError):
                todo = "Look with the provider which batches are under way; remove the file once none is."
                raise LakeCorrupt("the record of a batch cannot be read", path, todo) from None

    def _write(self, batch: Batch) -> None:
        path = self._path(batch.name)
        with refusals(path):
            make_folder(self._folder)
            with whole_file(path) as file:
                file.write(json.dumps(asdict(batch)).encode())


def _filled(wants: Sequence[Want]) -> Iterator[list[Want]]:
    """In batches of one kind, of at most so many requests and bytes."""
    some: list[Want] = []
    filled = 0
    for want in wants:
        size = len(_line(want))
        if some and (want.kind != some[0].kind or len(some) >= MOST_REQUESTS[want.kind] or filled + size > MOST_BYTES):
            yield some
            some, filled = [], 0
        some.append(want)
        filled += size
    if some:
        yield some


def _line(want: Want) -> bytes:
    return json.dumps({"custom_id": want.key, "method": "POST", "url": f"/v1{PATHS[want.kind]}", "body": want.body}).encode() + b"\n"


def _id(found: Mapping[str, Any], name: str = "id") -> str:
    """Raises ModelFailed: an id goes into an address."""
    value = found.get(name)
    if not isinstance(value, str) or not _ID.fullmatch(value) or value.startswith("."):
        todo = "Does this server know OpenAI's Batch protocol? Else leave tier = \"batch\" out."
        raise ModelFailed(f"an answer without {name}", "batch", todo)
    return value
