"""The service in a process of its own, over a lake of invented filings whose vectors take no model, and someone who asks it.

    with serving(lake) as desk:
        desk.ask("GET", "/ready").json()

A question with "wait" in it is not answered until `desk.release()`.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgarmill.schemas.store import Lake

MODEL_HASH = "model1"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]  # names in small letters
    data: bytes

    def json(self) -> Any:
        return json.loads(self.data)

    @property
    def what(self) -> str:
        """Of an error, which has three texts and nothing else."""
        error = self.json()
        assert list(error) == ["error"] and list(error["error"]) == ["what", "subject", "todo"], error
        return str(error["error"]["what"])


@dataclass
class Desk:
    process: subprocess.Popen[bytes]
    port: int
    gate: Path
    log: Path
    key: str = ""
    _connections: threading.local = field(default_factory=threading.local)

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """One request on the thread's standing connection. A body that is no bytes goes as JSON."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        given = {"Content-Type": "application/json"} if data is not None else {}
        given |= {"Authorization": f"Bearer {self.key}"} if self.key else {}
        connection = getattr(self._connections, "one", None)
        if connection is not None and time.monotonic() - self._connections.used > 3:
            connection.close()  # the server closes what is idle for five seconds, perhaps while the request is on its way
            connection = None
        if connection is None:
            connection = self._connections.one = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, data, {**given, **(headers or {})})
            answer = connection.getresponse()
            found = Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
            self._connections.used = time.monotonic()
            return found
        except (http.client.HTTPException, OSError):
            connection.close()
            self._connections.one = None
            raise

    def search(self, question: str = "revenue rose", **more: Any) -> Answer:
        return self.ask("POST", "/search", {"question": question, **more})

    def release(self) -> None:
        """Lets all questions that wait be answered."""
        self.gate.touch()

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(30)


@contextmanager
def serving(lake: Lake, folder: Path, host: str = "127.0.0.1", key: str = "", patience: float = 0, **settings: Any) -> Iterator[Desk]:
    asked = {"lake": lake.root, "host": host, "gate": str(folder / "gate"), "settings": settings, "patience": patience}
    command = [sys.executable, __file__, json.dumps(asked)]
    with started(command, folder) as desk:
        desk.key = key
        yield desk


@contextmanager
def started(command: Sequence[str], folder: Path) -> Iterator[Desk]:
    """A process that says on standard error where it listens."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log"
    here = str(Path(__file__).parent)
    with log.open("wb") as file:
        paths = os.pathsep.join((here, *filter(None, [os.environ.get("PYTHONPATH")])))
        process = subprocess.Popen(command, stdout=file, stderr=file, env={**os.environ, "PYTHONPATH": paths})
        desk = Desk(process, 0, folder / "gate", log)
        try:
            tick = threading.Event()
            while not (found := re.search(r"listening on http://\S+:(\d+)", desk.said())):
                assert process.poll() is None, desk.said()
                tick.wait(0.02)
            desk.port = int(found[1])
            yield desk
        finally:
            desk.release()
            code = desk.stop()
        assert code in (0, 130) and "Traceback" not in desk.said(), desk.said()


def main(asked: dict[str, Any]) -> None:
    """The process: `edgarmill serve` with vectors of the tiny lake."""
    from tiny_lake import fake_vector

    from edgarmill.retrieval.retrieve import Reader
    from edgarmill.retrieval.search import open_index
    from edgarmill.retrieval.service.running import serve
    from edgarmill.schemas.records import IndexVersion
    from edgarmill.schemas.settings import load, quiet

    quiet()
    lake, gate, tick = Lake.open(asked["lake"]), Path(asked["gate"]), threading.Event()
    settings, _ = load(asked["settings"])

    def vector(question: str) -> tuple[float, ...]:
        while "wait" in question and not gate.exists():
            tick.wait(0.01)
        return fake_vector(question)

    def opened(lake: Lake, version: IndexVersion) -> Reader:
        return Reader(open_index(lake, version, vector, MODEL_HASH), lake, settings, lambda: None)

    if asked["patience"]:
        from edgarmill.retrieval.service.patience import Patience

        Patience.seconds = asked["patience"]
    serve(lake, settings, asked["host"], 0, opened=opened, look_seconds=0.05)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
