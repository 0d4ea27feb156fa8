"""A Prefect API for the tests that run the command itself, and the command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from edgarmill.flows.server import prefect_api, wait_until_ready
from edgarmill.schemas.settings import Settings


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def complaints(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith("edgarmill: ")]


@pytest.fixture(scope="session")
def prefect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Prefect API that all commands of the session may use."""
    before = dict(os.environ)
    with prefect_api(Settings(), str(tmp_path_factory.mktemp("prefect"))) as server:
        wait_until_ready(Settings(), server)
        yield os.environ["PREFECT_API_URL"]
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def edgarmill(tmp_path: Path) -> Callable[..., Ended]:
    """Runs the command in a process of its own, in an empty folder, without any hub or network of its own."""

    def call(*words: object, **environment: str) -> Ended:
        ran = subprocess.run([sys.executable, "-m", "edgarmill", *map(str, words)], cwd=tmp_path, capture_output=True, text=True,
                             timeout=300, env={**os.environ, "EDGARMILL_DEVICE": "cpu", **environment}, check=False)
        return Ended(ran.returncode, ran.stdout, ran.stderr)

    return call
