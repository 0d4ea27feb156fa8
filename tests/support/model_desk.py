"""A server of models, a lake, and clients between them for which time passes by sleeping only."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fake_models import ModelServer

from edgarmill.schemas.endpoints import Endpoint
from edgarmill.schemas.prices import price_set
from edgarmill.schemas.store import Lake
from edgarmill.workers.models.client import Client

KEY = "sk-verySecretKey0123456789"


@dataclass
class Desk:
    server: ModelServer
    lake: Lake
    folder: Path
    now: float = 1_767_225_600.0  # 2026-01-01
    waits: list[float] = field(default_factory=list)

    def pass_time(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def client(self, lake: Lake | None = None, booked: Any = lambda payer: True, **more: Any) -> Client:
        endpoint = Endpoint.model_validate({"base_url": self.server.url, "provider": "openai", "model": "gpt-4.1", "key": KEY,
                                            "timeout_seconds": 5, "retries": 2, **more})
        return Client(endpoint, lake or self.lake, price_set(), clock=lambda: self.now, sleep=self.pass_time, jitter=lambda: 0.5,
                      pace_folder=str(self.folder), booked=booked)
