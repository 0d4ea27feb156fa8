"""A Prefect API for one command: the user's own where PREFECT_API_URL names one, else a server that lives and dies with this process.

Prefect's own temporary server outlives a killed run (202 MB, seen alive half an hour later), and takes 8-20 s to start: ours is told by the
kernel to end with its parent, keeps its state in the lake, and starts while the run still reads its recipe.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from edgarmill.schemas.errors import RunError
from edgarmill.schemas.settings import Settings

START_SECONDS = 180.0
_QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    "PREFECT_SERVER_UI_ENABLED": "false",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
}
_IDLE_SERVICES = ("SCHEDULER", "LATE_RUNS", "PAUSE_EXPIRATIONS", "CANCELLATION_CLEANUP", "FOREMAN", "TRIGGERS", "REPOSSESSOR", "DB_VACUUM")


@contextmanager
def prefect_api(settings: Settings, home: str) -> Iterator[subprocess.Popen[bytes] | None]:
    """Within it, flows find an API: gives its process where it is ours. `home` is the folder for Prefect's own state.

    Import prefect only inside.
    """
    os.environ.update(_QUIET)
    if settings.prefect_api_url:
        os.environ["PREFECT_API_URL"] = settings.prefect_api_url
        yield None
        return
    os.environ["PREFECT_HOME"] = home
    port = _free_port()
    os.environ["PREFECT_API_URL"] = f"http://127.0.0.1:{port}/api"
    server = _start(port)
    try:
        yield server
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def wait_until_ready(settings: Settings, server: subprocess.Popen[bytes] | None) -> None:
    """Returns when the API answers. Raises RunError when its process has ended, or when it does not answer within three minutes."""
    url = os.environ["PREFECT_API_URL"]
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5) as response:
                if response.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
        if server is not None and server.poll() is not None:
            todo = "Is there space and permission? The folder named can be removed: nothing of yours is in it."
            raise RunError(f"the local Prefect server ended with {server.returncode}", os.environ["PREFECT_HOME"], todo)
        if settings.prefect_api_url and time.monotonic() > deadline - START_SECONDS + 15:
            break
    raise RunError("the Prefect API does not answer", url, "Check prefect_api_url, or unset it to use a local one.")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start(port: int) -> subprocess.Popen[bytes]:
    idle = {f"PREFECT_SERVER_SERVICES_{name}_ENABLED": "false" for name in _IDLE_SERVICES}
    environment = {**os.environ, **idle, "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "--factory",
        "prefect.server.api.server:create_app",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--log-level",
        "critical",
        "--lifespan",
        "on",
    ]
    # A session of its own: Ctrl-C reaches the run first, which still has to report its end to the server.
    return subprocess.Popen(
        command,
        env=environment,
        start_new_session=True,
        preexec_fn=_die_with_parent if sys.platform == "linux" else None,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _die_with_parent() -> None:
    """prctl(PR_SET_PDEATHSIG, SIGTERM): not even kill -9 of the run leaves a server behind."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)
