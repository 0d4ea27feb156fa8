"""The service's log: a line a request on standard error, in words or as JSON. Questions, query strings and keys are never in it."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime

LONGEST_PATH = 200


@dataclass(frozen=True)
class Log:
    as_json: bool = False

    def request(self, method: str, path: str, status: int, seconds: float, version: str) -> None:
        """`path` as it came, escaped; `version` as "recipe tag"."""
        if self.as_json:
            self._write({"at": _now(), "method": method[:16], "path": path[:LONGEST_PATH], "status": status,
                         "milliseconds": round(1000 * seconds, 1), "version": version})
        else:
            self._write(f"{_now()} {method[:16]} {path[:LONGEST_PATH]} {status} {1000 * seconds:.1f} ms  {version or '-'}")

    def note(self, text: str) -> None:
        """What happened beside requests, in one line."""
        line = " ".join(text.split())
        self._write({"at": _now(), "note": line} if self.as_json else f"{_now()} {line}")

    def _write(self, line: str | dict[str, object]) -> None:
        print(line if isinstance(line, str) else json.dumps(line), file=sys.stderr, flush=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
