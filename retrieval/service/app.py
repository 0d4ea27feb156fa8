"""The service put together: routes, errors in one form, and the gate before them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from edgarmill import __version__
from edgarmill.retrieval.service.failures import RETRY_SECONDS, body_of, status_of, told
from edgarmill.retrieval.service.following import Following
from edgarmill.retrieval.service.gate import Gate
from edgarmill.retrieval.service.log import Log
from edgarmill.retrieval.service.metrics import Metrics
from edgarmill.retrieval.service.routes import Json, Service, router
from edgarmill.retrieval.service.work import Work
from edgarmill.schemas.errors import EdgarmillError
from edgarmill.schemas.settings import Settings
from edgarmill.workers.embed.local import cores

ABOUT = """Passages of SEC filings that answer a question, with filing, section, page and characters.

Every answer names the version that gave it, in its body and in the headers X-Edgarmill-Recipe, X-Edgarmill-Tag and X-Edgarmill-Version.
What cannot be answered is `{"error": {"what", "subject", "todo"}}`."""
_WORDS = {404: "no such address", 405: "this address takes another method"}


def app_of(settings: Settings, following: Following, metrics: Metrics, log: Log) -> Gate:
    """The ASGI application. `following` is looked at and started by it, and stopped with it."""
    work = Work(settings.service_threads or cores(), settings.service_at_once, settings.service_seconds, metrics)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        following.start()
        yield
        following.stop()
        work.close()

    app = FastAPI(title="edgarmill", version=__version__, description=ABOUT, lifespan=life, docs_url=None, redoc_url=None)
    app.state.service = Service(settings, following, work, metrics)
    app.include_router(router)
    _tell_errors(app, log)
    keys = tuple(key.get_secret_value() for key in settings.service_keys)
    _document(app, bool(keys))
    return Gate(app, keys, settings.service_body_bytes, settings.service_seconds, following, metrics, log)


def _tell_errors(app: FastAPI, log: Log) -> None:
    @app.exception_handler(EdgarmillError)
    async def ours(_: Request, error: EdgarmillError) -> Json:
        status = status_of(error)
        if status == 503:
            log.note(f"{error.reason}: {error}")
        headers = {"Retry-After": str(RETRY_SECONDS)} if status in (429, 503) else {}
        return Json({"error": told(error)}, status, headers)

    @app.exception_handler(RequestValidationError)
    async def malformed(_: Request, error: RequestValidationError) -> Json:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path"))
        return Json(body_of(str(first["msg"])[:200], place[:200], "See /openapi.json."), 400)

    @app.exception_handler(HTTPException)
    async def no_such(_: Request, error: HTTPException) -> Json:
        what = _WORDS.get(error.status_code, "this is no request that can be read")
        return Json(body_of(what, "", "See /openapi.json."), error.status_code, dict(error.headers or {}))

    @app.exception_handler(Exception)
    async def defect(_: Request, error: Exception) -> Json:
        log.note(f"a defect of edgarmill: {type(error).__name__}: {error}")
        return Json(body_of("a defect of the service", "", "Tell whoever runs it; its log says more."), 500)


def _document(app: FastAPI, keyed: bool) -> None:
    """The OpenAPI document says 400 for what FastAPI calls 422, and how a key is sent."""
    made: dict[str, Any] = {}

    def openapi() -> dict[str, Any]:
        if not made:
            document = FastAPI.openapi(app)
            for path, methods in document["paths"].items():
                for operation in methods.values():
                    operation["responses"].pop("422", None)
                    operation["security"] = [{"key": []}] if keyed and path not in ("/health", "/ready") else []
            for name in ("HTTPValidationError", "ValidationError"):
                document["components"]["schemas"].pop(name, None)
            document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            made.update(document)
        return made

    app.openapi = openapi  # type: ignore[method-assign]  # as FastAPI documents it
