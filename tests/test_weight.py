"""Listings are light: they run in a fresh interpreter in which ray, prefect, torch and the index engine are blocked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from edgarmill.schemas.store import Lake

BLOCKED = ("ray", "prefect", "torch", "sentence_transformers", "transformers", "lancedb", "lance", "lxml", "pypdfium2", "httpx")
PROGRAM = """
import sys
for name in {blocked!r}:
    sys.modules[name] = None
from edgarmill.__main__ import run
code = run({words!r})
assert code == {code}, code
"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("light") / "lake"
    Lake.open(str(root), create=True)
    return root


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("--help", 0),
        ("--version", 0),
        ("config show", 0),
        ("recipes", 0),
        ("index list", 0),
        ("quarantine list", 0),
        ("runs list", 0),
        ("costs", 0),
        ("why 0000320193-24-000123", 2),
        ("doctor", 0),
        ("ingest --help", 0),
        ("evaluate --help", 0),
        ("demo --help", 0),
        ("search --help", 0),
        ("sql --help", 0),
    ],
)
def test_a_listing_needs_the_light_core_only(lake: Path, words: str, code: int) -> None:
    arguments = words.split() if words.startswith("--") else ["--lake", str(lake), *words.split()]
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(blocked=BLOCKED, words=arguments, code=code)], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
