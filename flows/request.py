"""What a run is asked for, and its name. Plain values only: Prefect stores them, so they hold no secret. Imports no Prefect."""

from __future__ import annotations

import secrets
from datetime import UTC, date, datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Request(BaseModel):
    """What to ingest."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: Literal["edgar", "folder", "passages"]
    recipe: str = "default"
    path: str | None = None  # folder; passages: a corpus or the folder that it is in
    manifest: str | None = None  # folder: JSONL or CSV
    tickers: tuple[str, ...] = ()  # edgar
    ciks: tuple[str, ...] = ()
    universe: str = ""  # name of a shipped one, or path of a file of CIKs or tickers
    forms: tuple[str, ...] = ("10-K", "10-Q", "8-K")  # families; "8-K:3" takes the three newest of a filer
    since: date | None = None
    until: date | None = None
    fiscal_years: tuple[int, int] | None = None
    limit: int | None = None
    amendments: bool = False
    listing: Literal["auto", "filers", "full"] = "auto"  # how what is new is found
    refetch: bool = False  # ask again for what the lake has: changes and disappearances are recorded
    retry_quarantined: bool = False
    estimate: bool = False  # made at the start, and kept beside what the run took
    command: str = "ingest"
    overrides: dict[str, Any] = {}  # settings of the command line
    config: str | None = None


def new_run_id() -> str:
    """Time and random letters: sorts by time, never twice the same."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
