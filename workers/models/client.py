"""One client for every server that speaks OpenAI's protocol: hosted APIs, vLLM, Ollama, llama.cpp.

    with open_client(settings, "openai", lake) as client:
        purse = client.purse(accession, "context")
        keys = client.ask(Keys, [{"role": "user", "content": text}], purse)     # a pydantic model, checked, asked twice at most
        row = client.usage(purse)                                               # tokens, dollars, price set

Nothing is sent that was answered before (cache.py), that could pass a cap or the budget (purse.py), or that is not text.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from edgarmill.schemas.endpoints import Endpoint
from edgarmill.schemas.errors import BadFile, BadInput, MalformedAnswer, ModelFailed, ModelRefused, OverBudget, OverCap, Stopped
from edgarmill.schemas.prices import PriceSet, hourly, price_set, repriced
from edgarmill.schemas.records import Usage
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.workers.at_once import at_once, waited
from edgarmill.workers.models.answers import Reply, bare, check_usable, fault, vectors, written
from edgarmill.workers.models.batch import Batch, Batches, Outcome, Want, Wanted
from edgarmill.workers.models.busy import Busy
from edgarmill.workers.models.cache import Calls, brief, key_of
from edgarmill.workers.models.counting import NOTHING, UNKNOWN, Counting
from edgarmill.workers.models.purse import Budget, Cost, Purse
from edgarmill.workers.models.wire import Again, Wire
from edgarmill.workers.pace import Pace, site_of

if TYPE_CHECKING:
    import numpy as np

Form = TypeVar("Form", bound=BaseModel)
Given = TypeVar("Given")
Message = Mapping[str, str]  # role, content
LONGEST_WAIT_SECONDS = 120.0  # of one back-off; a longer Retry-After is cut to it
UNLIMITED = 1000.0  # requests a second
BATCH_RETRIES = 2  # further batches for what failed in one in passing: each may take a day
_BINARY = re.compile(r"(?:^[!-`]{40,76}\r?\n){8}|(?:^[A-Za-z0-9+/=]{60,}\r?\n){8}|[A-Za-z0-9+/=]{4000}", re.M)  # uuencode, base64


def open_client(settings: Settings, name: str, lake: Lake, model: str = "", **seams: Any) -> Client:
    """The client of the endpoint of that name, for its own model or another. Raises UnknownName, SettingsError."""
    return Client(settings.endpoint(name, model), lake, price_set(settings.prices), **seams)


class Client:
    """Threads share it. `sent` counts the requests that left. `clock`, `sleep`, `jitter` are arguments so that tests need no time."""

    def __init__(self, endpoint: Endpoint, lake: Lake, prices: PriceSet, *, clock: Callable[[], float] = time.time,
                 sleep: Callable[[float], None] | None = None, jitter: Callable[[], float] = random.random,
                 pace_folder: str | None = None, booked: Callable[[Mapping[str, Any]], bool] = lambda payer: True) -> None:
        """`booked` tells whether the ledger holds a payer's row: of a worker that was killed the answers stay and the row is lost."""
        self.endpoint, self.lake, self.prices, self.sent, self._booked = endpoint, lake, prices, 0, booked
        self._clock, self._jitter, self._sleep = clock, jitter, sleep or self._wait
        self._calls, self._wire = Calls(lake), Wire(endpoint, clock)
        self._stopped, self._lock, self._room = threading.Event(), threading.Lock(), threading.BoundedSemaphore(endpoint.concurrency)
        site = f"model-{site_of(endpoint.base_url)}-{endpoint.provider}-{endpoint.model}"[:200]
        pace = {"folder": pace_folder, "clock": clock, "sleep": self._sleep}
        self._requests = Pace(site, endpoint.requests_per_minute / 60 or UNLIMITED, **pace)  # type: ignore[arg-type]
        per_second = endpoint.tokens_per_minute / 60
        self._tokens = Pace(f"{site}-tokens", per_second, farthest=3600.0, **pace) if per_second else None  # type: ignore[arg-type]
        self._busy = Busy()
        self._counting = Counting(endpoint, prices, clock)
        batch = endpoint.tier == "batch"
        self._batches = Batches(self._calls, self._wire, endpoint.retries, clock, self._pause) if batch else None
        self._fresh: set[str] = set()  # keys of answers that a batch has just given: the first look at them is no hit

    def purse(self, subject: str, stage: str, budget: Budget | None = None, run_id: str = "") -> Purse:
        """What one filing may spend here, by the endpoint's caps and the run's budget."""
        caps = self.endpoint
        return Purse(subject, stage, tokens=caps.filing_tokens, dollars=caps.filing_dollars, budget=budget, run_id=run_id)

    def usage(self, purse: Purse) -> Usage:
        """All that a purse spent here, priced today; null dollars where a price is unknown."""
        row = purse.usage(self.endpoint.model, self.endpoint.provider, self.endpoint.tier)
        if self.endpoint.gpus and row.origin != "reused":
            worked = round(self.endpoint.gpus * self._busy.seconds((purse.subject, purse.stage)), 6)
            return hourly(replace(row, gpu_seconds=worked), None, self.endpoint.gpu_dollars_per_hour)
        return row if row.origin == "reused" else repriced(row, self.prices, self._counting.today())

    def chat(self, messages: Sequence[Message], purse: Purse, *, most_output: int | None = None, form: type[BaseModel] | None = None,
             options: Mapping[str, Any] | None = None) -> Reply:
        """The model's answer. `options` go into the request as they are (default temperature 0).

        Raises OverCap, OverBudget (before anything is sent), ModelFailed, ModelRefused, BadFile (not text), StorageError, Stopped.
        """
        return self._now(partial(self._chat, messages, purse, most_output, form, options))

    def _chat(self, messages: Sequence[Message], purse: Purse, most_output: int | None, form: type[BaseModel] | None,
              options: Mapping[str, Any] | None = None) -> Reply:
        texts = [message["content"] for message in messages]
        for text in texts:
            refuse_binary(text, purse.subject)
        output = most_output or self.endpoint.max_output_tokens
        body: dict[str, Any] = {"model": self.endpoint.model, "messages": [dict(m) for m in messages], "temperature": 0,
                                self.endpoint.output_limit: output, **self._form(form), **(options or {})}
        answer, reused = self._answer("chat", body, purse, texts, output)
        text, finish = written(answer)
        tokens, origin = self._counting.spent("chat", answer, texts)
        return Reply(text, finish, tokens, "reused" if reused else origin)

    def ask(self, form: type[Form], messages: Sequence[Message], purse: Purse, *, most_output: int | None = None) -> Form:
        """The answer read into `form`; a malformed one is shown to the model, which is asked again. Raises MalformedAnswer, and as chat."""
        return self._now(partial(self._ask, form, messages, purse, most_output))

    def _ask(self, form: type[Form], messages: Sequence[Message], purse: Purse, most_output: int | None) -> Form:
        asked, wrong = list(messages), ""
        for _ in range(2):
            reply = self._chat(asked, purse, most_output, form)
            try:
                return form.model_validate_json(bare(reply.text))
            except ValidationError as error:
                wrong = fault(error, reply)
            asked = [*messages, {"role": "assistant", "content": reply.text[:4000] or "(nothing)"},
                     {"role": "user", "content": f"That is not the form asked for: {wrong}. Answer again, with that JSON object alone."}]
        raise MalformedAnswer(f"{self.endpoint.model} answered twice in another form: {wrong}", purse.subject, "Try another model.")

    def ask_each(self, form: type[Form], asks: Sequence[Sequence[Message]], purse: Purse, *, most_output: int | None = None
                 ) -> list[Form | BadInput]:
        """`ask` for each of these messages, so many at a time as the endpoint takes: answers in the order of the asks, the first ones sent
        first. A MalformedAnswer, OverCap or BadFile stands in its ask's place; every other error ends it and is raised.

        Calls under way hold more than they will cost. So what they leave no room for is asked again after them, one at a time and in
        order, and is over the cap or the budget only then: this does not depend on which thread was quicker.
        """
        calls = [partial(self._ask, form, messages, purse, most_output) for messages in asks]
        return self._each(calls, (MalformedAnswer, BadFile, OverCap))

    def ask_all(self, form: type[Form], asks: Sequence[tuple[Sequence[Message], Purse]]) -> list[Form | BadInput]:
        """As `ask_each` over many filings, each ask under its own purse; every BadInput stands in its ask's place."""
        return self._each([partial(self._ask, form, messages, purse, None) for messages, purse in asks], (BadInput,))

    def embed_each(self, batches: Sequence[tuple[Sequence[str], Purse]]) -> list[np.ndarray | BadInput]:
        """`embed` for each of these texts under its purse, as `ask_each`; every BadInput stands in its batch's place."""
        return self._each([partial(self._embed, texts, purse) for texts, purse in batches], (BadInput,))

    def _each(self, calls: Sequence[Callable[[], Given]], kept: tuple[type[BadInput], ...]) -> list[Given | BadInput]:
        """What each call gives or, if it is one of `kept`, raises; in their order."""
        if self._batches is not None:
            return self._batched(calls, kept)
        answers: dict[int, Given | BadInput] = {}
        for threads in (self.endpoint.concurrency, 1):
            left = [place for place in range(len(calls)) if place not in answers or isinstance(answers[place], OverCap | OverBudget)]
            answers |= self._at_once(calls, left, threads, kept if threads == 1 else (*kept, OverBudget))
        return [answers[place] for place in range(len(calls))]

    def _at_once(self, calls: Sequence[Callable[[], Given]], places: Sequence[int], threads: int, kept: tuple[type[BadInput], ...]
                 ) -> dict[int, Given | BadInput]:
        answers: dict[int, Given | BadInput] = {}
        failed: list[BaseException] = []

        def stop() -> None:
            if not failed:  # a Ctrl-C: waits end; after a failure what is under way is still answered and kept
                self.stop()

        with closing(at_once(lambda place: calls[place](), places, threads, stop)) as asked:
            for place, future in asked:
                error = future.exception()
                if isinstance(error, kept):
                    answers[place] = error
                elif error is not None:
                    failed.append(error)
                    raise error
                else:
                    answers[place] = future.result()
        return answers

    def embed(self, texts: Sequence[str], purse: Purse, options: Mapping[str, Any] | None = None) -> np.ndarray:
        """One vector a text, in their order: float32 of shape (texts, dimensions), as the model gives them. Raises as `chat`."""
        return self._now(partial(self._embed, texts, purse, options))

    def _embed(self, texts: Sequence[str], purse: Purse, options: Mapping[str, Any] | None = None) -> np.ndarray:
        import numpy as np

        for text in texts:
            refuse_binary(text, purse.subject)
        body = {"model": self.endpoint.model, "input": list(texts), "encoding_format": "float", **(options or {})}
        answer, _ = self._answer("embeddings", body, purse, texts, 0)
        return np.asarray(vectors(answer, len(texts)), dtype=np.float32)

    def _now(self, call: Callable[[], Given]) -> Given:
        """What a single call gives; of an endpoint in batches, a batch of it."""
        return call() if self._batches is None else self._batched([call], ())[0]  # type: ignore[return-value]

    def _batched(self, calls: Sequence[Callable[[], Given]], kept: tuple[type[BadInput], ...]) -> list[Given | BadInput]:
        """As `_each`, where a call goes as far as answers are known: what they then want goes into a batch together, and so on."""
        answers: dict[int, Given | BadInput] = {}
        failed: dict[str, BadInput] = {}
        tries: Counter[str] = Counter()
        while len(answers) < len(calls):
            wants: dict[str, Want] = {}
            for place in (place for place in range(len(calls)) if place not in answers):
                try:
                    answers[place] = calls[place]()
                except Wanted as wanted:
                    if (why := failed.get(wanted.want.key)) is None:
                        wants.setdefault(wanted.want.key, wanted.want)
                    elif isinstance(why, kept):
                        answers[place] = why
                    else:
                        raise why from None
                except kept as placed:
                    answers[place] = placed
            failed |= self._fetched(wants, tries) if wants else {}
        return [answers[place] for place in range(len(calls))]

    def _fetched(self, wants: Mapping[str, Want], tries: Counter[str]) -> dict[str, BadInput]:
        """Has these answered in batches, of this run or of one before; gives those that cannot be. What the others, while they are under
        way, leave no room for under a cap or the budget is not among them: it is wanted again, after them."""
        assert self._batches is not None
        self._check_going()
        held: dict[str, Cost] = {}
        over: dict[str, BadInput] = {}
        with self._batches.alone():
            begun = [batch for batch in self._batches.under_way() if batch.payers.keys() & wants.keys()]
            known = {key for batch in begun for key in batch.payers}
            for want in (want for key, want in wants.items() if key not in known):
                try:
                    want.purse.hold(most := self._counting.most(want.body, want.texts, want.output))
                    held[want.key] = most
                except (OverCap, OverBudget) as full:
                    over[want.key] = full
            begun += self._batches.submit([wants[key] for key in held])
        failed: dict[str, BadInput] = {}
        refused: list[ModelRefused] = []
        for batch in begun:
            for key, outcome in self._batches.outcomes(batch):
                if isinstance(outcome, ModelRefused):
                    refused.append(outcome)
                elif (error := self._settled(batch, key, outcome, wants.get(key), held.get(key, NOTHING), tries)) is not None:
                    failed[key] = error
            self._batches.forget(batch)
        if refused:
            raise refused[0]
        return failed if begun else over

    def _settled(self, batch: Batch, key: str, outcome: Outcome, want: Want | None, held: Cost, tries: Counter[str]) -> BadInput | None:
        """Keeps and counts one answer of a batch; gives the error where there will be none."""
        spent = NOTHING
        try:
            if isinstance(outcome, Exception):
                raise outcome
            if want is None:  # of a run that was cut off, and nobody wants it now
                self._keep(key, batch.kind, None, outcome, batch.payers[key])
            elif self._calls.known(key) is None:
                tokens, origin = self._counting.spent(want.kind, outcome, want.texts)
                want.purse.paid(tokens, origin, key)
                spent = self._counting.cost(tokens)
                check_usable(want.kind, outcome, len(want.texts))
                self._keep(key, want.kind, want.body, outcome, want.purse.payer)
                self._fresh.add(key)
        except Again as failure:
            tries[key] += 1
            if want is not None and tries[key] > min(self.endpoint.retries, BATCH_RETRIES):
                todo = "Run again later; answers that came are kept."
                return ModelFailed(f"{failure.what}, {tries[key]} times", want.purse.subject, todo)
        except ModelFailed as error:
            return error
        finally:
            if want is not None:
                want.purse.release(held, spent)
        return None

    def stop(self) -> None:
        """Every waiting ends with Stopped; a call under way is still answered and kept, for it is paid."""
        self._stopped.set()

    def close(self) -> None:
        self._wire.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _answer(self, kind: str, body: dict[str, Any], purse: Purse, texts: Sequence[str], output: int) -> tuple[dict[str, Any], bool]:
        """The answer to a request, and whether it was known."""
        key = key_of(self.endpoint.provider, kind, body)
        found = self._calls.known(key)
        if found is None and self._batches is not None:
            raise Wanted(Want(key, kind, body, purse, texts, output))
        if found is not None and key in self._fresh:
            self._fresh.remove(key)
            return found["answer"], False
        if found is None:
            with self._calls.alone(key):
                found = self._calls.known(key)  # while we waited somebody else may have paid
                if found is None:
                    answer = self._paid(kind, body, purse, texts, output, key)
                    self._keep(key, kind, body, answer, purse.payer)
                    return answer, False
        payer = found.get("payer", {})
        mine = (payer.get("subject"), payer.get("stage")) == (purse.subject, purse.stage)
        if mine and not purse.has_paid(key) and not self._booked(payer):
            purse.paid(*self._counting.spent(kind, found["answer"], texts), key)  # paid before, by a run that could not tell: told now
        else:
            purse.hit()
        return found["answer"], True

    def _keep(self, key: str, kind: str, body: Mapping[str, Any] | None, answer: Mapping[str, Any], payer: Mapping[str, str]) -> None:
        at = datetime.fromtimestamp(self._clock(), UTC).isoformat()
        known = {"provider": self.endpoint.provider, "kind": kind, "request": brief(body), "answer": answer, "payer": payer, "at": at}
        self._calls.keep(key, known)

    def _paid(self, kind: str, body: dict[str, Any], purse: Purse, texts: Sequence[str], output: int, key: str) -> dict[str, Any]:
        """Asks until there is a usable answer, held against the purse at every try."""
        most, failed = self._counting.most(body, texts, output), 0
        while True:
            self._check_going()
            purse.hold(most)
            spent = UNKNOWN  # until told otherwise it may have been billed, and what is held for it stays
            try:
                answer = self._sent(kind, body, most, purse)
                tokens, origin = self._counting.spent(kind, answer, texts)
                purse.paid(tokens, origin, key)
                spent = self._counting.cost(tokens)
                check_usable(kind, answer, len(texts))
                return answer
            except (ModelRefused, ModelFailed):
                spent = NOTHING
                raise
            except Again as failure:
                failed, wait = failed + 1, failure.wait
                spent = spent if failure.billed else NOTHING
                if failed > self.endpoint.retries:
                    todo = "Run again later; answers that came are kept."
                    raise ModelFailed(f"{failure.what}, {failed} times", purse.subject, todo) from None
            finally:
                purse.release(most, spent)
            self._back_off(failed, wait)

    def _sent(self, kind: str, body: dict[str, Any], most: Cost, purse: Purse) -> dict[str, Any]:
        with self._room:
            if self._tokens is not None:
                self._tokens.take(slots=max(1.0, float(most.tokens or 1)))
            self._requests.take()
            self._check_going()
            with self._lock:
                self.sent += 1
            with self._busy.during((purse.subject, purse.stage)):
                return self._wire.post(kind, body)

    def _back_off(self, failed: int, wait: float | None) -> None:
        if wait is not None:  # named by the server: it holds for everyone who asks this model
            self._requests.silence(min(wait, LONGEST_WAIT_SECONDS))
        else:
            self._sleep(min(0.5 * 2**failed, LONGEST_WAIT_SECONDS) * (0.5 + self._jitter()))

    def _pause(self, seconds: float) -> None:
        self._sleep(min(seconds, LONGEST_WAIT_SECONDS))
        self._check_going()

    def _wait(self, seconds: float) -> None:
        waited(self._stopped, seconds)
        self._check_going()

    def _check_going(self) -> None:
        if self._stopped.is_set():
            raise Stopped("the calls to the model were stopped", todo="Run the command again to go on.")

    def _form(self, form: type[BaseModel] | None) -> dict[str, Any]:
        """How the server is made to answer in JSON."""
        if form is None or self.endpoint.answers == "text":
            return {}
        if self.endpoint.answers == "object":
            return {"response_format": {"type": "json_object"}}
        schema = form.model_json_schema()
        if self.endpoint.answers == "grammar":
            return {"response_format": {"type": "json_object", "schema": schema}}
        strict = set(schema.get("required", ())) == set(schema.get("properties", ())) and schema.get("additionalProperties") is False
        return {"response_format": {"type": "json_schema", "json_schema": {"name": form.__name__, "strict": strict, "schema": schema}}}


def refuse_binary(text: str, subject: str) -> None:
    """Raises BadFile: pictures and archives in letters never reach a model. One real 8-K is 96 % uuencoded pictures, 937,000 tokens."""
    if "\0" in text or _BINARY.search(text):
        raise BadFile("binary data in a text for a model", subject, "Look at the filing: its parser should have left this out.")
