"""A small lake written through the store, and the command run in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from edgarmill import __main__ as main
from edgarmill.schemas import records as r
from edgarmill.schemas.store import Lake, write_part

APPLE, ACME, BROKEN = "0000320193-24-000123", "0000000001-24-000007", "local-0123456789abcdef"
NOON = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)


def run_record(run_id: str, recipe: str, **more: Any) -> r.RunRecord:
    given: dict[str, Any] = {
        "run_id": run_id,
        "command": "edgarmill ingest --path x",
        "started_at": NOON,
        "ended_at": NOON.replace(minute=2),
        "outcome": "quarantined",
        "exit_code": 3,
        "source": "folder x",
        "recipe": recipe,
        "recipe_fingerprint": "f" * 16,
        "recipe_json": "{}",
        "engine": "loop",
        "planned": 3,
        "indexed": 2,
        "unchanged": 0,
        "quarantined": 1,
        "tag": "2026-11-01.1",
        "versions": "{}",
        "message": "",
    }
    return r.RunRecord(**{**given, **more})


def chunk(accession: str, ordinal: int, chunker: str) -> r.Chunk:
    return r.Chunk(
        f"{accession}{ordinal}{chunker}", f"{accession}:1", accession, chunker, ordinal, 0, 4, "text", 10, "II", "7", "MD&A", 1, 2
    )


def index_version(recipe: str, tag: str, cut: int, at: datetime) -> r.IndexVersion:
    chunker = "c1" if recipe == "default" else "c2"
    manifest = json.dumps({"corpus": {"sha256": {APPLE: "", ACME: ""}}, "fingerprints": {"chunker": chunker}})
    return r.IndexVersion(
        f"v-{recipe}-{tag}", recipe, "f" * 16, "packaged:m", "h", 1, tag, None, "verified", 2, 5, 100, cut, 4096, None, manifest, at
    )


def usage(subject: str, stage: str, seconds: float, **more: Any) -> r.Usage:
    return r.Usage(subject, stage, **{"seconds": seconds, "cpu_seconds": seconds, "dollars": Decimal("0.5"), **more})


FIRST: dict[str, list[Any]] = {
    "filings": [
        r.Filing(
            APPLE,
            "aapl.htm",
            "folder",
            form="10-K",
            family="10-K",
            company="Apple\x1b[31m Inc.",
            tickers=("AAPL",),
            filed_on=date(2024, 11, 1),
        ),
        r.Filing(ACME, "acme.htm", "folder", form="10-K", family="10-K", company="Acme"),
    ],
    "documents": [r.Document(f"{APPLE}:1", APPLE, 1, "10-K", "aapl.htm", "html", 9, "utf-8", "text", 2, "native 1", 4, 4, 0, 0)],
    "sections": [r.Section(f"{APPLE}:1", APPLE, "II", "7", "MD&A", 0, 4, 1, 2, None, "heading")],
    "chunks": [chunk(APPLE, 0, "c1"), chunk(APPLE, 1, "c1"), chunk(APPLE, 2, "c1"), chunk(ACME, 0, "c1")],
    "contexts": [r.Context("x", APPLE, "ctx", "Apple 10-K", 14, 3, "t")],
    "usage": [
        usage(APPLE, "parse", 2.0),
        usage(APPLE, "chunk", 1.0),
        usage(APPLE, "embed", 5.0, model="m", input_tokens=30, gpu_seconds=1.0),
        usage(ACME, "parse", 4.0),
        usage(ACME, "chunk", 1.0),
        usage(ACME, "embed", 1.0, model="m", input_tokens=10, dollars=None),
        usage("index:default", "build", 7.0),
    ],
    "work": [r.WorkDone(APPLE, "parse", 3, "fp", "s", "done", "part-1")],
    "quarantine": [r.Quarantine(BROKEN, "broken.htm", "open", "BadFile", "a zip named .htm", "Unpack it.", True, "0" * 64, NOON)],
    "runs": [run_record("20261101-a", "default")],
    "index_versions": [index_version("default", "2026-11-01.1", 0, NOON), index_version("paper", "2026-11-02.1", 300, NOON.replace(day=2))],
    "checks": [r.Check("v-default-2026-11-01.1", "rows", "5", "5", True)],
}
# The second run reuses parse of the first; its own chunk and embed cost. A third run changes nothing.
SECOND: dict[str, list[Any]] = {
    "usage": [
        usage(APPLE, "parse", 0.0, origin="reused", dollars=Decimal(0)),
        usage(APPLE, "chunk", 3.0),
        usage(APPLE, "embed", 9.0, model="m", input_tokens=50),
    ],
    "chunks": [chunk(APPLE, 0, "c2")],
    "runs": [run_record("20261102-b", "paper", started_at=NOON.replace(day=2), ended_at=None, outcome="stopped")],
}


def commit(lake: Lake, run_id: str, rows: dict[str, list[Any]]) -> None:
    parts = [write_part(lake.root, table, run_id, found, run_id) for table, found in rows.items()]
    with lake.writer(run_id, "test") as writer:
        writer.commit(parts, key=run_id)


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of two filings, one in quarantine, two runs of two recipes. For reading only."""
    root = tmp_path_factory.mktemp("lakes") / "lake"
    made = Lake.open(str(root), create=True)
    commit(made, "20261101-a", FIRST)
    commit(made, "20261102-b", SECOND)
    return root


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def edgarmill(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Ran]:
    """Runs the command in an empty folder and gives exit code and what it printed."""
    monkeypatch.chdir(tmp_path)

    def call(*words: object) -> Ran:
        code = main.run([str(w) for w in words])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call
