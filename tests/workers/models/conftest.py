"""A server, a lake and clients, new for every test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_models import serving
from model_desk import Desk

from edgarmill.schemas.store import Lake


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    folder = tmp_path / "pace"
    folder.mkdir(mode=0o700)
    with serving() as server:
        yield Desk(server, Lake.open(str(tmp_path / "lake"), create=True), folder)
