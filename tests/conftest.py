"""Fixtures shared by all rooms' tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, settings

# Without deadlines: machines differ. Without the phase that explains: it traces every line, and Python 3.11.7 was caught turning for ever
# at the traced start of a function.
settings.register_profile("untraced", phases=[phase for phase in Phase if phase is not Phase.explain], deadline=None)
settings.load_profile("untraced")

if TYPE_CHECKING:
    from small_ingest import World


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real filings that is kept outside the repository; tests that need it skip where it is absent."""
    for place in (os.environ.get("EDGARMILL_SHARED"), Path(__file__).parents[2] / "shared"):
        if place and (Path(place) / "data").is_dir():
            return Path(place) / "data"
    pytest.skip("no shared data: set EDGARMILL_SHARED to the folder that holds data/filings")


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Small filings and a lake that ingest made of them: the model is loaded once for all tests. For reading only."""
    from small_ingest import small_world

    return small_world(tmp_path_factory.mktemp("world"))
