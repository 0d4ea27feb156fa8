"""One request to a server of models and its answer, or the typed error that it means. The key leaves in a header and shows nowhere.

    Again          this try failed in a way that may pass; whether it may have been billed
    ModelRefused   the provider will serve nobody: key, quota, model name, address (401, 402, 403, 404, redirects)
    ModelFailed    it will not answer this request (400, 413, 422 …)
"""

from __future__ import annotations

import json
import re
import secrets
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from edgarmill.schemas.endpoints import Endpoint
from edgarmill.schemas.errors import ModelFailed, ModelRefused

PATHS = {"chat": "/chat/completions", "embeddings": "/embeddings", "rerank": "/rerank"}
RETRIED = frozenset({408, 409, 425, 429})  # and every 5xx but 501
QUOTA = frozenset({
    "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "exceeded_current_quota_error", "credit_balance_too_low",
    "insufficient_balance", "account_deactivated",
})
MOST_BYTES = 256 * 2**20  # of an answer: 2,048 vectors of 3,072 numbers are about 80 MB
SLOWEST = 10  # a whole answer may take this many times the time-out of one read
_NONE: Mapping[str, str] = {}
_CODE = re.compile(r"[^A-Za-z0-9_.:-]")
_KEY_LIKE = re.compile(r"\b(sk|pk|key|api|gsk|hf|AIza)[-_A-Za-z0-9*]{8,}", re.I)


class Again(Exception):
    """`wait` in seconds where the server named them; `billed`: the request was taken, so it may cost although no use came of it."""

    def __init__(self, what: str, wait: float | None = None, billed: bool = False) -> None:
        super().__init__(what)
        self.what, self.wait, self.billed = what, wait, billed


class Wire:
    """POST of JSON to one endpoint. Threads share it."""

    def __init__(self, endpoint: Endpoint, clock: Callable[[], float] = time.time) -> None:
        self._endpoint, self._clock = endpoint, clock
        local = (urlsplit(endpoint.base_url).hostname or "") in ("localhost", "127.0.0.1", "::1")
        plain = endpoint.base_url.startswith("http:")
        verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True  # without the costly load of certificates
        limits = httpx.Limits(max_connections=endpoint.concurrency + 2, max_keepalive_connections=endpoint.concurrency + 2)
        self._client = httpx.Client(timeout=endpoint.timeout_seconds, trust_env=not local, verify=verify, limits=limits,
                                    headers={"Accept-Encoding": "identity", "Content-Type": "application/json"})

    def post(self, kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer as JSON. Raises Again, ModelRefused, ModelFailed."""
        return self.send(PATHS[kind], body)

    def send(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._object(*self._asked("POST", path, json.dumps(body).encode()))

    def look(self, path: str) -> dict[str, Any]:
        return self._object(*self._asked("GET", path))

    def upload(self, lines: bytes) -> dict[str, Any]:
        """A file of requests, for a batch."""
        mark = secrets.token_hex(16)
        fields = (('name="purpose"', b"batch"), ('name="file"; filename="requests.jsonl"\r\nContent-Type: application/jsonl', lines))
        parts = (f"--{mark}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + data + b"\r\n" for head, data in fields)
        form = {"Content-Type": f"multipart/form-data; boundary={mark}"}
        return self._object(*self._asked("POST", "/files", b"".join(parts) + f"--{mark}--\r\n".encode(), form))

    def download(self, path: str) -> bytes:
        data, response = self._asked("GET", path)
        if response.status_code != 200:
            self._object(data, response)
        return data

    def _asked(self, method: str, path: str, content: bytes = b"", headers: Mapping[str, str] = _NONE) -> tuple[bytes, httpx.Response]:
        url = self._endpoint.base_url + path
        try:
            with self._client.stream(method, url, content=content, headers={**self._identity(), **headers}) as response:
                return b"".join(self._pieces(response)), response
        except (httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ConnectError) as error:
            raise Again(f"no connection ({type(error).__name__})") from None
        except httpx.TimeoutException:
            raise Again("no answer in time", billed=True) from None
        except httpx.TransportError as error:
            raise Again(f"a cut answer ({type(error).__name__})", billed=True) from None

    def _object(self, data: bytes, response: httpx.Response) -> dict[str, Any]:
        found = _json(data)
        self.check(response.status_code, found, _retry_after(response.headers, self._clock()))
        if not isinstance(found, dict):
            raise Again("an answer that is not a JSON object", billed=True)
        return found

    def close(self) -> None:
        self._client.close()

    def _identity(self) -> dict[str, str]:
        key = self._endpoint.key
        if key is None:
            return {}
        secret = key.get_secret_value()
        host = urlsplit(self._endpoint.base_url).hostname or ""
        return {"api-key": secret} if host.endswith(".azure.com") else {"Authorization": f"Bearer {secret}"}

    def _pieces(self, response: httpx.Response) -> Iterator[bytes]:
        deadline, room = self._clock() + SLOWEST * self._endpoint.timeout_seconds, MOST_BYTES
        for piece in response.iter_raw():
            room -= len(piece)
            if room < 0:
                raise ModelFailed(f"an answer of more than {MOST_BYTES:,} bytes", self._name, "Ask for less at a time.")
            if self._clock() > deadline:
                raise Again("an answer that does not end", billed=True)
            yield piece

    def check(self, status: int, found: Any, wait: float | None) -> None:
        """Raises what a status, or an error inside of a good one (some gateways), means."""
        codes, words = _error(found, self._hidden)
        if status == 200:
            if not words and not codes:
                return
            status = next((int(code) for code in codes if code.isdecimal() and 400 <= int(code) < 600), 500)
        told = f"status {status}" + "".join(f", {code}" for code in sorted(codes) if not code.isdecimal())
        if status in (401, 402, 403) or codes & QUOTA:  # without its words: they may repeat the key
            todo = "Check the account's quota and payment." if status == 402 or codes & QUOTA else "Check key_env or key of this endpoint."
            raise ModelRefused(f"the provider refuses ({told})", self._name, f"{todo} Answers that were paid are kept: run again then.")
        if status in RETRIED or (status >= 500 and status != 501):
            raise Again(told, wait)
        said = f"{told}: {self.masked(words)}" if words else told
        if status in (404, 405) or status < 400:
            raise ModelRefused(f"no such model or address ({said})", self._name, f"Check model {self._endpoint.model!r} and base_url.")
        raise ModelFailed(f"the request was refused ({said})", self._name, "Shorten it, or check what the model takes.")

    @property
    def _name(self) -> str:
        return f"endpoint {self._endpoint.provider or self._endpoint.base_url}"

    def masked(self, words: str) -> str:
        """A server's words in one short line, without anything that looks like a key."""
        return _KEY_LIKE.sub("***", " ".join(self._hidden(words).split()))[:200]

    def _hidden(self, words: str) -> str:
        """Without this endpoint's own key."""
        secret = self._endpoint.key.get_secret_value() if self._endpoint.key is not None else ""
        return words.replace(secret, "***") if secret else words


def _json(data: bytes) -> Any:
    """None where it is no JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _error(found: Any, hidden: Callable[[str], str]) -> tuple[set[str], str]:
    """Codes and words of an error in an answer's body, in the forms that servers give it; a code may repeat the key as words do."""
    if isinstance(found, list) and found:  # Gemini
        found = found[0]
    error = found.get("error") if isinstance(found, dict) else None
    if isinstance(error, str):
        return set(), error
    if not isinstance(error, dict):
        return set(), ""
    codes = {_CODE.sub("", hidden(str(error[name])))[:60] for name in ("code", "type", "status") if isinstance(error.get(name), str | int)}
    return codes - {""}, str(error.get("message") or "")


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that the server asks to wait: Retry-After in seconds or as a date, or in milliseconds as OpenAI and Azure say it."""
    exact = headers.get("retry-after-ms", "").strip()
    value = headers.get("retry-after", "").strip()
    if exact.isdecimal():
        return int(exact) / 1000
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value):
        return float(value)
    try:
        when = parsedate_to_datetime(value)
    except (TypeError, ValueError, OverflowError):
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.fromtimestamp(now, UTC)).total_seconds())
