"""The addresses of the service. Each answers from the version that was open when the request came."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Request, Response

from edgarmill.retrieval.service import lookups
from edgarmill.retrieval.service.asked import (
    QUESTIONS,
    Chunk,
    Facts,
    Failure,
    Health,
    Hits,
    Outline,
    Question,
    Ready,
    Versions,
)
from edgarmill.retrieval.service.failures import NotReady, hidden
from edgarmill.retrieval.service.following import Following, Served
from edgarmill.retrieval.service.metrics import Metrics
from edgarmill.retrieval.service.work import Work
from edgarmill.schemas.errors import UsageError
from edgarmill.schemas.settings import Settings

MOST_NEIGHBOURS = 20
MOST_ROWS = 1_000
Accession = Annotated[str, Path(pattern="^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$", examples=["0000320193-24-000123"])]

router = APIRouter()


@dataclass(frozen=True)
class Service:
    """What the routes work with."""

    settings: Settings
    following: Following
    work: Work
    metrics: Metrics


class Json(Response):
    """Any text can be sent; days as ISO 8601, decimals as they are written."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, default=_plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _plain(value: object) -> object:
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else list(value)  # type: ignore[call-overload]  # a set or tuple


def _refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    words = {400: "not as it must be asked", 401: "no key", 404: "not there", 408: "the body came too slowly", 409: "another is at it",
             413: "the body is too large", 421: "without keys: a Host that is not this machine's",
             429: "as much is under way as may be; Retry-After says when", 503: "not able to answer now",
             504: "took too long"}
    return {status: {"model": Failure, "description": words[status]} for status in (*statuses, 401, 408, 413, 421)}


LOOKED_UP = _refusals(400, 404, 409, 429, 503, 504)


def _service(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


async def _answer(request: Request, do: Callable[[Served], dict[str, Any]]) -> Response:
    """Done by one of the threads. Raises NotReady, TooBusy, TooSlow, and what `do` raises."""
    service = _service(request)
    served: Served = request.state.served or service.following.now()
    return Json(await service.work.run(partial(do, served)))


@router.post("/search", response_model=Hits, responses=LOOKED_UP, summary="Passages that answer a question, with their place")
async def search(request: Request, asked: Annotated[Question, Body(openapi_examples=QUESTIONS)]) -> Response:
    settings = _service(request).settings
    if asked.k > settings.service_hits:
        raise UsageError(f"{asked.k} hits asked for", "k", f"This service gives at most {settings.service_hits}.")
    rerankers = {name.partition(":")[0]: name for name in settings.service_rerankers}
    knobs = asked.knobs(rerankers, settings.service_models, settings.service_model_tokens)
    filters = asked.filters.filters()
    return await _answer(request, lambda served: lookups.search(served, asked.question, knobs, filters))


@router.get("/chunks/{chunk_id}", response_model=Chunk, responses=LOOKED_UP, summary="A chunk of the version, and those around it")
async def chunk(request: Request, chunk_id: Annotated[str, Path(pattern="^[0-9a-zA-Z]{1,128}$", examples=["0d4c1f6a93b2"])],
                neighbours: Annotated[int, Query(ge=0, le=MOST_NEIGHBOURS, description="before and after it")] = 0) -> Response:
    return await _answer(request, lambda served: lookups.chunk(served, chunk_id, neighbours))


@router.get("/filings/{accession}/outline", response_model=Outline, responses=LOOKED_UP,
            summary="Documents, sections and node tree of a filing")
async def outline(request: Request, accession: Accession) -> Response:
    return await _answer(request, lambda served: lookups.outline(served, accession))


@router.get("/facts", response_model=Facts, responses=LOOKED_UP, summary="Figures by concept of XBRL and period")
async def facts(request: Request,
                concept: Annotated[str, Query(min_length=1, max_length=200, examples=["us-gaap:GrossProfit"])],
                period: Annotated[str | None, Query(max_length=40, description="2024, 2024Q3, a day, or a range: 2020..2024")] = None,
                ticker: Annotated[str | None, Query(max_length=12)] = None, cik: Annotated[str | None, Query(max_length=10)] = None,
                form: Annotated[str | None, Query(max_length=20)] = None,
                dimensions: Annotated[bool, Query(description="also segments, products, share classes")] = False,
                limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 50) -> Response:
    return await _answer(request, lambda served: lookups.facts(served, concept, period, limit, ticker=ticker, cik=cik, form=form,
                                                               dimensions=dimensions))


@router.get("/versions", response_model=Versions, responses=LOOKED_UP, summary="Versions of the indexes, the newest first")
async def versions(request: Request, limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 50) -> Response:
    return await _answer(request, lambda served: lookups.known_versions(served, limit))


@router.get("/health", response_model=Health, summary="Whether the process lives")
async def health() -> Response:
    return Json({"live": True})


@router.get("/ready", response_model=Ready, responses=_refusals(503), summary="Whether a version is open, and whether it is the wanted one")
async def ready(request: Request) -> Response:
    following = _service(request).following
    served: Served | None = request.state.served
    problem = following.problem
    if served is None:
        why = hidden(problem)["what"] if problem else "it is not open yet"
        raise NotReady(f"no version is open: {why}", "", "Ask again later.")
    if not following.alive:
        raise NotReady("prod is not followed any more", "", "Start the service anew.")
    return Json({"ready": True, "version": served.name, "behind": hidden(problem) if problem else None})


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}, **_refusals()}, summary="For Prometheus")
async def metrics(request: Request) -> Response:
    return Response(_service(request).metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
