"""A real HTTP server on this machine that speaks OpenAI's protocol, and misbehaves when told to.

    with serving() as server:
        server.then(Answer(status=429, headers={"Retry-After": "7"}), chat("hello"))
        Endpoint(base_url=server.url, model="m")

What is not scripted gets a good answer, or what `server.reply` says. `server.requests` holds what came, in order.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}


@dataclass(frozen=True)
class Answer:
    """`cut` bytes are promised and not sent; a `silent` one never comes (until the server ends)."""

    status: int = 200
    body: Any = None  # JSON, or bytes as they are
    headers: dict[str, str] = field(default_factory=dict)
    cut: int = 0
    silent: bool = False


@dataclass(frozen=True)
class Asked:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    data: bytes = b""  # as it came


def chat(text: object, usage: object = USAGE, finish: str = "stop", status: int = 200) -> Answer:
    """A chat completion; a text that is no string is sent as JSON. `usage=None` leaves it out."""
    content = text if isinstance(text, str) else json.dumps(text)
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content}}
    body = {"object": "chat.completion", "choices": [choice]}
    return Answer(status, {**body, **({"usage": usage} if usage is not None else {})})


def failure(status: int, code: str = "", message: str = "no", **headers: str) -> Answer:
    """An error as OpenAI words it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {"error": {"message": message, "type": code or "error", "code": code or None}}, named)


def vectors(texts: list[str]) -> Answer:
    """Embeddings, the last text's first: their index alone tells the order."""
    data = [{"object": "embedding", "index": n, "embedding": [float(len(text)), 1.0]} for n, text in enumerate(texts)]
    return Answer(200, {"object": "list", "data": data[::-1], "usage": {"prompt_tokens": 2 * len(texts), "total_tokens": 2 * len(texts)}})


def good(asked: Asked) -> Answer:
    return vectors(asked.body["input"]) if asked.path.endswith("/embeddings") else chat("fine")


class PrefixCache:
    """Answers `give` with a usage as a provider gives it whose cache holds the beginnings of what it has answered: a token is four bytes,
    and the cache gives whole blocks of 128 from 1,024 tokens on."""

    def __init__(self, give: Callable[[Asked], object]) -> None:
        self.give, self.answered = give, list[str]()
        self.cached: list[tuple[str, int]] = []  # what was asked, tokens of it that were cached

    def __call__(self, asked: Asked) -> Answer:
        text = "".join(message["content"] for message in asked.body["messages"])
        same = max((len(os.path.commonprefix([text, one])) for one in list(self.answered)), default=0) // 4
        cached = same // 128 * 128 if same >= 1024 else 0
        usage = {"prompt_tokens": len(text) // 4, "completion_tokens": 40, "total_tokens": len(text) // 4 + 40,
                 "prompt_tokens_details": {"cached_tokens": cached}}
        answer = chat(self.give(asked), usage)
        self.cached.append((text, cached))
        self.answered.append(text)
        return answer


class FakeBatches:
    """Speaks the Batch protocol as `server.reply`: a batch ends after `looks` looks at it, each of its requests answered by `give`.

    What `give` gives says what becomes of a request: an Answer, or the word "lost" (in no file) or "expired" (in the file of errors).
    """

    def __init__(self, give: Callable[[Asked], Answer | str] = good, looks: int = 2, end: str = "completed") -> None:
        self.give, self.looks, self.end = give, looks, end
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.seen: dict[str, int] = {}
        self.lines: list[list[dict[str, Any]]] = []  # of each batch begun
        self.once: dict[str, Answer] = {}  # by method and path as "POST /batches": given one time in place of the right answer
        self.deaf = False  # begins a batch and does not say so

    def __call__(self, asked: Asked) -> Answer:
        path = asked.path.removeprefix("/v1")
        key = f"{'POST' if asked.data else 'GET'} {path.partition('?')[0]}"
        deaf = key == "POST /batches" and self.deaf
        if key in self.once and not deaf:
            return self.once.pop(key)
        if key == "POST /files":
            return self._file(asked.data.partition(b"filename=")[2].partition(b"\r\n\r\n")[2].rpartition(b"\r\n--")[0])
        if key == "POST /batches":
            made = self._begin(asked.body)
            return self.once.pop(key) if deaf else made
        if path.startswith("/files/"):
            return Answer(200, self.files[path.split("/")[2]])
        if path.startswith("/batches?"):
            return Answer(200, {"data": list(self.batches.values())})
        return self._look(path.split("/")[2])

    def _file(self, data: bytes) -> Answer:
        name = f"file-{len(self.files)}"
        self.files[name] = data
        return Answer(200, {"id": name, "bytes": len(data)})

    def _begin(self, body: dict[str, Any]) -> Answer:
        name = f"batch_{len(self.batches)}"
        self.batches[name] = {"id": name, "status": "validating", "metadata": body["metadata"], "input_file_id": body["input_file_id"]}
        self.lines.append([json.loads(line) for line in self.files[body["input_file_id"]].splitlines()])
        return Answer(200, self.batches[name])

    def _look(self, name: str) -> Answer:
        if name not in self.batches:
            return failure(404, "", f"No batch found with id '{name}'.")
        batch, seen = self.batches[name], self.seen.get(name, 0)
        self.seen[name] = seen + 1
        if seen < self.looks:
            return Answer(200, {**batch, "status": ("validating", "in_progress", "finalizing")[min(seen, 2)]})
        if "output_file_id" not in batch and self.end != "failed":
            self._finish(batch)
        told = {"errors": {"data": [{"code": "bad", "message": "line 1 is wrong"}]}} if self.end == "failed" else {}
        return Answer(200, {**batch, "status": self.end, **told})

    def _finish(self, batch: dict[str, Any]) -> None:
        good, bad = [], []
        for line in (json.loads(one) for one in self.files[batch["input_file_id"]].splitlines()):
            given = self.give(Asked(line["url"], {}, line["body"]))
            said = {"custom_id": line["custom_id"], "error": None}
            if given == "expired":
                bad.append({**said, "response": None, "error": {"code": "batch_expired", "message": "not executed"}})
            elif isinstance(given, Answer):
                (good if given.status == 200 else bad).append({**said, "response": {"status_code": given.status, "body": given.body}})
        for name, lines in (("output_file_id", good[::-1]), ("error_file_id", bad)):  # in an order of its own
            if lines:
                batch[name] = self._file("\n".join(map(json.dumps, lines)).encode()).body["id"]


class ModelServer:
    def __init__(self) -> None:
        self.requests: list[Asked] = []
        self.reply: Callable[[Asked], Answer] = good
        self._script: deque[Answer] = deque()
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._speaker())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def then(self, *answers: Answer) -> None:
        """The next answers, one a request."""
        self._script.extend(answers)

    def answer(self, asked: Asked) -> Answer:
        with self._lock:
            self.requests.append(asked)
            if self._script:
                return self._script.popleft()
        return self.reply(asked)

    def _speaker(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Speaker(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                self.tell(json.loads(data) if self.headers["Content-Type"] == "application/json" else {}, data)

            def do_GET(self) -> None:
                self.tell({}, b"")

            def tell(self, asked: dict[str, Any], data: bytes) -> None:
                found = server.answer(Asked(self.path, {k.lower(): v for k, v in self.headers.items()}, asked, data))
                if found.silent:
                    server._ended.wait(30)
                    self.close_connection = True
                    return
                body = found.body if isinstance(found.body, bytes) else json.dumps(found.body).encode()
                self.send_response(found.status)
                for name, value in found.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) - found.cut])
                self.close_connection = found.cut > 0

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Speaker

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def serving() -> Iterator[ModelServer]:
    server = ModelServer()
    server.start()
    try:
        yield server
    finally:
        server.close()
