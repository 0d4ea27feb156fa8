"""One client for every server that speaks OpenAI's protocol: hosted APIs, vLLM, Ollama, llama.cpp.

    with open_client(settings, "openai", lake) as client:
        purse = client.purse(accession, "context")
        keys = client.ask(Keys, [{"role": "user", "content": text}], purse)     # a pydantic model, checked, asked twice at most
        row = client.usage(purse)                                               # tokens, dollars, price set

Nothing is sent that was answered before (cache.py), that could pass a cap or the budget (purse.py), or that is not text.
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from edgarmill.schemas.endpoints import Endpoint
from edgarmill.schemas.errors import BadFile, BadInput, MalformedAnswer, ModelFailed, ModelRefused, OverBudget, OverCap, Stopped
from edgarmill.schemas.prices import PriceSet, price_set, repriced
from edgarmill.schemas.records import Usage
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.workers.at_once import at_once, waited
from edgarmill.workers.models.answers import Reply, bare, check_usable, fault, text_of, vectors, written
from edgarmill.workers.models.buckets import Tokens, tokens_of
from edgarmill.workers.models.cache import Calls, key_of
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
UNKNOWN, NOTHING = Cost(None, None), Cost(0, Decimal(0))
TEMPLATE_TOKENS = 32  # that a chat template adds to a message, at most
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
        self._count = _counter(endpoint.tokenizer)

    def purse(self, subject: str, stage: str, budget: Budget | None = None, run_id: str = "") -> Purse:
        """What one filing may spend here, by the endpoint's caps and the run's budget."""
        caps = self.endpoint
        return Purse(subject, stage, tokens=caps.filing_tokens, dollars=caps.filing_dollars, budget=budget, run_id=run_id)

    def usage(self, purse: Purse) -> Usage:
        """All that a purse spent here, priced today; null dollars where a price is unknown."""
        row = purse.usage(self.endpoint.model, self.endpoint.provider, self.endpoint.tier)
        return row if row.origin == "reused" else repriced(row, self.prices, self._today())

    def chat(self, messages: Sequence[Message], purse: Purse, *, most_output: int | None = None, form: type[BaseModel] | None = None,
             options: Mapping[str, Any] | None = None) -> Reply:
        """The model's answer. `options` go into the request as they are (default temperature 0).

        Raises OverCap, OverBudget (before anything is sent), ModelFailed, ModelRefused, BadFile (not text), StorageError, Stopped.
        """
        texts = [message["content"] for message in messages]
        for text in texts:
            refuse_binary(text, purse.subject)
        output = most_output or self.endpoint.max_output_tokens
        body: dict[str, Any] = {"model": self.endpoint.model, "messages": [dict(m) for m in messages], "temperature": 0,
                                self.endpoint.output_limit: output, **self._form(form), **(options or {})}
        answer, reused = self._answer("chat", body, purse, texts, output)
        text, finish = written(answer)
        tokens, origin = self._spent("chat", answer, texts)
        return Reply(text, finish, tokens, "reused" if reused else origin)

    def ask(self, form: type[Form], messages: Sequence[Message], purse: Purse, *, most_output: int | None = None) -> Form:
        """The answer read into `form`; a malformed one is shown to the model, which is asked again. Raises MalformedAnswer, and as chat."""
        asked, wrong = list(messages), ""
        for _ in range(2):
            reply = self.chat(asked, purse, most_output=most_output, form=form)
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
        calls = [partial(self.ask, form, messages, purse, most_output=most_output) for messages in asks]
        return self._each(calls, (MalformedAnswer, BadFile, OverCap))

    def embed_each(self, batches: Sequence[tuple[Sequence[str], Purse]]) -> list[np.ndarray | BadInput]:
        """`embed` for each of these texts under its purse, as `ask_each`; every BadInput stands in its batch's place."""
        return self._each([partial(self.embed, texts, purse) for texts, purse in batches], (BadInput,))

    def _each(self, calls: Sequence[Callable[[], Given]], kept: tuple[type[BadInput], ...]) -> list[Given | BadInput]:
        """What each call gives or, if it is one of `kept`, raises; in their order."""
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
        import numpy as np

        for text in texts:
            refuse_binary(text, purse.subject)
        body = {"model": self.endpoint.model, "input": list(texts), "encoding_format": "float", **(options or {})}
        answer, _ = self._answer("embeddings", body, purse, texts, 0)
        return np.asarray(vectors(answer, len(texts)), dtype=np.float32)

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
        if found is None:
            with self._calls.alone(key):
                found = self._calls.known(key)  # while we waited somebody else may have paid
                if found is None:
                    answer = self._paid(kind, body, purse, texts, output, key)
                    at = datetime.fromtimestamp(self._clock(), UTC).isoformat()
                    self._calls.keep(key, {"provider": self.endpoint.provider, "kind": kind, "request": body, "answer": answer,
                                           "payer": purse.payer, "at": at})
                    return answer, False
        payer = found.get("payer", {})
        mine = (payer.get("subject"), payer.get("stage")) == (purse.subject, purse.stage)
        if mine and not purse.has_paid(key) and not self._booked(payer):
            purse.paid(*self._spent(kind, found["answer"], texts), key)  # paid before, by a run that could not tell: told now
        else:
            purse.hit()
        return found["answer"], True

    def _paid(self, kind: str, body: dict[str, Any], purse: Purse, texts: Sequence[str], output: int, key: str) -> dict[str, Any]:
        """Asks until there is a usable answer, held against the purse at every try."""
        most, failed = self._most(body, texts, output), 0
        while True:
            self._check_going()
            purse.hold(most)
            spent = UNKNOWN  # until told otherwise it may have been billed, and what is held for it stays
            try:
                answer = self._sent(kind, body, most)
                tokens, origin = self._spent(kind, answer, texts)
                purse.paid(tokens, origin, key)
                spent = self._cost(tokens)
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

    def _sent(self, kind: str, body: dict[str, Any], most: Cost) -> dict[str, Any]:
        with self._room:
            if self._tokens is not None:
                self._tokens.take(slots=max(1.0, float(most.tokens or 1)))
            self._requests.take()
            self._check_going()
            with self._lock:
                self.sent += 1
            return self._wire.post(kind, body)

    def _back_off(self, failed: int, wait: float | None) -> None:
        if wait is not None:  # named by the server: it holds for everyone who asks this model
            self._requests.silence(min(wait, LONGEST_WAIT_SECONDS))
        else:
            self._sleep(min(0.5 * 2**failed, LONGEST_WAIT_SECONDS) * (0.5 + self._jitter()))

    def _wait(self, seconds: float) -> None:
        waited(self._stopped, seconds)
        self._check_going()

    def _check_going(self) -> None:
        if self._stopped.is_set():
            raise Stopped("the calls to the model were stopped", todo="Run the command again to go on.")

    def _today(self) -> Any:
        return datetime.fromtimestamp(self._clock(), UTC).date()

    def _form(self, form: type[BaseModel] | None) -> dict[str, Any]:
        """How the server is made to answer in JSON."""
        if form is None or self.endpoint.answers == "text":
            return {}
        if self.endpoint.answers == "object":
            return {"response_format": {"type": "json_object"}}
        schema = form.model_json_schema()
        strict = set(schema.get("required", ())) == set(schema.get("properties", ())) and schema.get("additionalProperties") is False
        return {"response_format": {"type": "json_schema", "json_schema": {"name": form.__name__, "strict": strict, "schema": schema}}}

    def _most(self, body: Mapping[str, Any], texts: Sequence[str], output: int) -> Cost:
        """The most that a request can take: its text as counted, or else its bytes, and all the output that it may write."""
        if self._count is None:
            read = len(json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        else:
            read = sum(self._count(text) + TEMPLATE_TOKENS for text in texts) + len(json.dumps(body.get("response_format", "")))
        ways = [Tokens(input=read, output=output), Tokens(input=0, cache_write=read, output=output),
                Tokens(input=0, cache_write_hour=read, output=output)]  # a written cache may cost more than plain input
        known = [dollars for way in ways if (dollars := self._cost(way).dollars) is not None]
        return Cost(read + output, max(known) if known and self._cost(ways[0]).dollars is not None else None)

    def _cost(self, tokens: Tokens) -> Cost:
        purse = Purse("", "")
        purse.paid(tokens, "provider")
        row = purse.usage(self.endpoint.model, self.endpoint.provider, self.endpoint.tier)
        return Cost(tokens.total, self.prices.cost(row, self._today()))

    def _spent(self, kind: str, answer: Mapping[str, Any], texts: Sequence[str]) -> tuple[Tokens, str]:
        """Tokens as the provider says; where it does not, counted by the model's tokenizer (a chat template's own aside); else unknown."""
        said = tokens_of(answer.get("usage"), writes=kind == "chat")
        if said.known or self._count is None:
            return said, "provider"
        wrote = self._count(text_of(answer)) if kind == "chat" else 0
        return Tokens(input=sum(self._count(text) for text in texts), output=wrote), "counted"


def refuse_binary(text: str, subject: str) -> None:
    """Raises BadFile: pictures and archives in letters never reach a model. One real 8-K is 96 % uuencoded pictures, 937,000 tokens."""
    if "\0" in text or _BINARY.search(text):
        raise BadFile("binary data in a text for a model", subject, "Look at the filing: its parser should have left this out.")


def _counter(path: str) -> Callable[[str], int] | None:
    if not path:
        return None
    from edgarmill.workers.embed.tokens import Tokenizer

    return Tokenizer(path).count
