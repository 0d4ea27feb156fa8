"""A server of models on this machine that knows nothing: it counts what it is asked and answers in the form that is wanted.

For estimates: the real stages run over a few filings with their real prompts, caps and retries, and no call leaves the machine.

    with rehearsing(tokenizer.count, lambda model: 100) as stage:
        endpoint = stage.in_place_of(endpoint)

It counts as a provider does: the prompt, of it cached where one begins like the one before (from 1,024 tokens on, by 128), and an answer
of so many tokens as it is told. What the lake has an answer for costs nothing here either.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from edgarmill.schemas.endpoints import Endpoint
from edgarmill.workers.models.cache import Calls, key_of

Count = Callable[[str], int]
CACHED_FROM, CACHED_BY = 1024, 128  # tokens; of OpenAI's and most others' caches of prompts
_DEEPEST = 2
_HEAD = 2000  # characters by which prompts that may share more are told


class Rehearsal:
    """Threads share it. `endpoints` are those that it stands for, by the provider's name that their usage has; `new` is the share of the
    calls to each that the lake has no answer for."""

    def __init__(self, count: Count, output_tokens: Callable[[str], int], known: Calls | None = None) -> None:
        self._count, self._output, self._calls = count, output_tokens, known
        self._lock, self._prompts = threading.Lock(), dict[tuple[str, str], str]()
        self._counts: dict[tuple[int, int], int] = {}
        self._asked: dict[str, list[bool]] = {}  # of each call: was it known?
        self.endpoints: dict[str, Endpoint] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _speaker(self))
        self._server.daemon_threads = True

    def in_place_of(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint as it is rehearsed: asked here, at once, and always for a form that can be filled in."""
        name = f"rehearsed-{len(self.endpoints)}"
        self.endpoints[name], self._asked[name] = endpoint, []
        url = f"http://127.0.0.1:{self._server.server_address[1]}/{name}"
        return endpoint.model_copy(update={"base_url": url, "provider": name, "tier": "standard", "answers": "schema", "retries": 0,
                                           "requests_per_minute": 0.0, "tokens_per_minute": 0.0, "key": None, "key_env": "",
                                           "filing_dollars": None, "gpus": 0.0})

    @property
    def new(self) -> dict[str, float]:
        return {name: 1 - sum(known) / len(known) for name, known in self._asked.items() if known}

    def answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """What a provider would say."""
        name = path.strip("/").partition("/")[0]
        endpoint = self.endpoints[name]
        found = self._found(endpoint, body)
        with self._lock:
            self._asked[name].append(found is not None)
        if found is not None:
            return {**found, "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}}
        read, cached = self._read(endpoint, body)
        wrote = min(self._output(str(body["model"])), int(body.get(endpoint.output_limit) or endpoint.max_output_tokens))
        form = body.get("response_format", {}).get("json_schema", {}).get("schema")
        text = json.dumps(filled(form, "net " * wrote)) if form else "net " * wrote
        usage = {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote,
                 "prompt_tokens_details": {"cached_tokens": cached}}
        return {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}], "usage": usage}

    def _found(self, endpoint: Endpoint, body: dict[str, Any]) -> dict[str, Any] | None:
        """The answer that the lake has to this request, as the endpoint's own settings would send it."""
        if self._calls is None:
            return None
        sent = {name: value for name, value in body.items() if name != "response_format" or endpoint.answers == "schema"}
        if endpoint.answers == "object" and "response_format" in body:
            sent["response_format"] = {"type": "json_object"}
        kept = self._calls.known(key_of(endpoint.provider, "chat", sent))
        return dict(kept["answer"]) if kept else None

    def _read(self, endpoint: Endpoint, body: dict[str, Any]) -> tuple[int, int]:
        """Tokens of the prompt, and those of them that stand in the provider's cache."""
        prompt = "\n".join(str(message["content"]) for message in body["messages"])
        form = json.dumps(body["response_format"]) if endpoint.answers == "schema" and "response_format" in body else ""
        key = (str(body["model"]), prompt[:_HEAD])
        with self._lock:
            before, self._prompts[key] = self._prompts.get(key, ""), prompt
        same = _alike(before, prompt)
        head = self._counted(prompt[:same]) if same else 0
        cached = head // CACHED_BY * CACHED_BY if head >= CACHED_FROM else 0
        return head + self._count(prompt[same:]) + (self._counted(form) if form else 0), cached

    def _counted(self, text: str) -> int:
        """Tokens of a text that comes again and again."""
        key = (len(text), hash(text))
        if key not in self._counts:
            self._counts[key] = self._count(text)
        return self._counts[key]

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def rehearsing(count: Count, output_tokens: Callable[[str], int], known: Calls | None = None) -> Iterator[Rehearsal]:
    """`output_tokens` of an answer by the model's name; `known` are the answers of a lake."""
    stage = Rehearsal(count, output_tokens, known)
    stage.start()
    try:
        yield stage
    finally:
        stage.close()


def filled(schema: Mapping[str, Any], words: str) -> Any:
    """A value of a JSON schema whose texts are `words`, shared out among them. Lists within lists (a tree's children) end after a few."""
    definitions = schema.get("$defs", {})
    texts = max(1, _texts(schema, definitions))
    return _value(schema, definitions, words[: max(1, len(words) // texts)].strip() or "x")


def _value(schema: Mapping[str, Any], definitions: Mapping[str, Any], words: str, deep: int = 0) -> Any:
    schema = _meant(schema, definitions)
    if "const" in schema or "enum" in schema:
        return schema.get("const", next(iter(schema.get("enum", ())), None))
    kind = schema.get("type")
    if kind == "object":
        return {name: _value(part, definitions, words, deep) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        item = schema.get("items", {"type": "string"})
        return [] if deep >= _DEEPEST else [_value(item, definitions, words, deep + 1)] * max(1, int(schema.get("minItems", 1)))
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    return {"string": words[: int(schema.get("maxLength", len(words)))], "boolean": False}.get(str(kind))


def _texts(schema: Mapping[str, Any], definitions: Mapping[str, Any], deep: int = 0) -> int:
    schema = _meant(schema, definitions)
    parts = list(schema.get("properties", {}).values())
    inner = [schema["items"]] if isinstance(schema.get("items"), dict) and deep < _DEEPEST else []
    below = sum(_texts(part, definitions, deep) for part in parts) + sum(_texts(part, definitions, deep + 1) for part in inner)
    return (schema.get("type") == "string") + below


def _meant(schema: Mapping[str, Any], definitions: Mapping[str, Any], deep: int = 0) -> Mapping[str, Any]:
    """The schema behind a reference or a choice. One that holds itself ends as nothing."""
    if deep > 8:
        return {}
    if "$ref" in schema:
        return _meant(definitions.get(str(schema["$ref"]).rpartition("/")[2], {}), definitions, deep + 1)
    choice = next((schema[name] for name in ("anyOf", "oneOf", "allOf") if name in schema), None)
    return _meant(choice[0], definitions, deep + 1) if choice else schema


def _alike(one: str, other: str) -> int:
    """Characters with which both begin."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _speaker(stage: Rehearsal) -> type[BaseHTTPRequestHandler]:
    class Speaker(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            data = json.dumps(stage.answer(self.path, body)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is logged."""

    return Speaker
