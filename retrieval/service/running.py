"""Starting and ending the service."""

from __future__ import annotations

import signal
import socket
from typing import Any

from edgarmill.retrieval.service.following import LOOK_SECONDS, Following, Opener, Opening
from edgarmill.retrieval.service.host import is_loopback
from edgarmill.retrieval.service.log import Log
from edgarmill.schemas.errors import SettingsError, UsageError
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake

END_SECONDS = 10  # for the requests that are under way
CONNECTIONS = 1_000


def serve(lake: Lake, settings: Settings, host: str, port: int, as_json: bool = False, opened: Opener | None = None,
          look_seconds: float = LOOK_SECONDS) -> None:
    """Serves until SIGTERM, upon which it returns, or SIGINT: KeyboardInterrupt. `opened` replaces how versions are opened.

    Raises SettingsError (no key, or the packages are not there), UsageError (the port is taken), LakeNotFound; and whatever of the user's
    making keeps the first version from being opened. A damaged one does not: the service starts, is not ready, and goes on trying.
    """
    check_host(settings, host)
    try:
        import uvicorn

        from edgarmill.retrieval.service.app import app_of
        from edgarmill.retrieval.service.metrics import Metrics
        from edgarmill.retrieval.service.patience import Patience
    except ImportError as error:
        raise SettingsError(f"the service needs a package that is not there: {error.name}", "", "pip install 'edgarmill[serve]'.") from None
    log, metrics = Log(as_json), Metrics()
    with listening(host, port) as bound:
        following = Following(lake, opened or Opening(settings), metrics, log, look_seconds)
        following.look()
        if isinstance(following.problem, UsageError):  # the model, the rerankers, an empty lake
            raise following.problem
        config = uvicorn.Config(
            app_of(settings, following, metrics, log), http=Patience, lifespan="on", ws="none", access_log=False, log_config=None,
            log_level="error", server_header=False, proxy_headers=False, limit_concurrency=CONNECTIONS,
            timeout_graceful_shutdown=END_SECONDS)
        before = signal.signal(signal.SIGTERM, lambda *_: None)  # uvicorn raises it again when all is done: an end as asked for
        log.note(f"listening on http://{_shown(host)}:{bound.getsockname()[1]}")
        try:
            uvicorn.Server(config).run(sockets=[bound])
        finally:
            signal.signal(signal.SIGTERM, before)  # a search that does not end keeps the process: the second one kills it


def check_host(settings: Settings, host: str) -> None:
    """Raises SettingsError where others than this machine could ask without a key."""
    if not settings.service_keys and not is_loopback(host):
        todo = "Set EDGARMILL_SERVICE_KEYS (16 characters or more, parted by commas), or serve on 127.0.0.1."
        raise SettingsError("other machines could ask without a key", f"--host {host}", todo)


def listening(host: str, port: int) -> socket.socket:
    """Raises UsageError for an address that cannot be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return _bound(socket.socket(family, kind, protocol), address)
    except OSError as error:
        raise UsageError(f"cannot listen there ({error.strerror})", f"{_shown(host)}:{port}", "Name another --host or --port.") from None


def _bound(made: socket.socket, address: Any) -> socket.socket:
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(2048)
    except OSError:
        made.close()
        raise
    return made


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
