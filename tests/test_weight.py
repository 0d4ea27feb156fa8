"""Listings are light: they run in a fresh interpreter in which ray, prefect, torch and the index engine are blocked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from edgarmill.schemas.store import Lake

BLOCKED = ("ray", "prefect", "torch", "sentence_transformers", "transformers", "lancedb", "lance", "lxml", "pypdfium2", "httpx")
COMMANDS = {
    "--help": 0,
    "--version": 0,
    "config show": 0,
    "recipes": 0,
    "index list": 0,
    "quarantine list": 0,
    "runs list": 0,
    "costs": 0,
    "costs --by day": 0,
    "costs --by stage --price-cpu 0.04": 0,
    "costs --vs-paper": 0,
    "costs --change": 2,
    "costs --filing 0000320193-24-000123": 2,
    "coverage": 0,
    "coverage --events": 0,
    "fetch --help": 0,
    "estimate --help": 0,
    "why 0000320193-24-000123": 2,
    "doctor": 0,
    "demo --help": 0,
    "ingest --help": 0,
    "evaluate --help": 0,
    "compare --help": 0,
    "compare prod default": 2,
    "report": 0,
    "report --help": 0,
    "search --help": 0,
    "answer --help": 0,
    "answers --help": 0,
    "serve --help": 0,
    "serve --host 0.0.0.0": 2,
    "facts --help": 0,
    "facts --concept Assets --period 2024": 0,
    "parse --help": 0,
    "inspect --help": 0,
    "inspect 0000320193-24-000123 --table 1": 2,
    "tree --help": 0,
    "tree 0000320193-24-000123": 2,
    "sql --help": 0,
}
PROGRAM = """
import json, sys
blocked, lake, commands = json.loads(sys.argv[1])
for name in blocked:
    sys.modules[name] = None
from edgarmill.__main__ import run
codes = {words: run(["--lake", lake, *words.split()]) for words in commands}
print(json.dumps({"codes": codes, "modules": sorted(n for n, m in sys.modules.items() if m and "." not in n)}))
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Exit codes of all commands, one after the other in one blocked interpreter."""
    root = str(tmp_path_factory.mktemp("light") / "lake")
    Lake.open(root, create=True)
    asked = json.dumps([BLOCKED, root, list(COMMANDS)])
    done = subprocess.run([sys.executable, "-c", PROGRAM, asked], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    codes: dict[str, int] = json.loads(done.stdout.splitlines()[-1])["codes"]
    return codes


@pytest.mark.parametrize("words", COMMANDS)
def test_a_listing_needs_the_light_core_only(ran: dict[str, int], words: str) -> None:
    assert ran[words] == COMMANDS[words]


@pytest.mark.parametrize("words", ["--help", "config show", "quarantine list", "index list"])
def test_a_listing_imports_no_engine_even_where_there_is_one(words: str, tmp_path: Path) -> None:
    root = str(tmp_path / "lake")
    Lake.open(root, create=True)
    done = subprocess.run([sys.executable, "-c", PROGRAM, json.dumps([[], root, [words]])], capture_output=True, text=True)
    modules = set(json.loads(done.stdout.splitlines()[-1])["modules"])
    assert not modules & {*BLOCKED, "duckdb", "pandas", "numpy" if words == "--help" else "pandas"}
