"""Building, changing and searching an index of many chunks, with made vectors and texts (`synthetic.py`).

    python -m edgarmill.eval.benchmarks.index [--chunks N] [--queries Q] [--nights N] [--folder DIR] [--json]

The build is the pipeline's own, from the lake's tables to the tag: rows joined and written, scalar, text and vector indexes, verification.
A night changes 0.1 % of the filings, a third each new, changed and removed, and runs the same path again. The search is the reader's own.
Recall@10 is against an exact scan of the same rows, over at most 20 questions. With --folder the lake stays, and one that is there is not
made again: `--folder DIR --nights 0` measures searches alone. 3.2 million chunks take some 25 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from edgarmill.eval.benchmarks import synthetic
from edgarmill.eval.benchmarks.synthetic import RECIPE, SPEC, Made
from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.search import Index, open_index
from edgarmill.retrieval.versions import versions
from edgarmill.schemas.store import Drop, Lake, write_part
from edgarmill.workers.index import build, tag, verify, version_of
from edgarmill.workers.index.nearest import nearest_rows

KEEPS = {"0.1 %": Filters(cik="7"), "1 %": Filters(form="8-K", year=2024, item="1"), "10 %": Filters(year=2024, form="10-Q")}
NIGHT = 0.001
RECALL_QUESTIONS = 20


@contextmanager
def phases() -> Iterator[dict[str, float]]:
    """Seconds by what Lance was asked to do meanwhile."""
    from lance.dataset import DatasetOptimizer, LanceDataset

    seconds: dict[str, float] = {}
    steps = [(LanceDataset, name) for name in ("create_scalar_index", "create_index", "delete")]
    steps += [(DatasetOptimizer, name) for name in ("optimize_indices", "compact_files")]
    real = [getattr(owner, name) for owner, name in steps]

    def timed(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **options: Any) -> Any:
            begun = time.perf_counter()
            try:
                return work(*given, **options)
            finally:
                key = f"index {given[1]}" if name.startswith("create") else name
                seconds[key] = seconds.get(key, 0.0) + time.perf_counter() - begun
        return called

    for (owner, name), work in zip(steps, real, strict=True):
        setattr(owner, name, timed(name, work))
    try:
        yield seconds
    finally:
        for (owner, name), work in zip(steps, real, strict=True):
            setattr(owner, name, work)


def publish(lake: Lake, run_id: str, **options: Any) -> dict[str, Any]:
    """Builds, verifies, tags and commits as a run does: seconds by phase, bytes, and the most memory that the process ever had."""
    spec = replace(SPEC, **options)
    with lake.writer(run_id) as writer, phases() as inside:
        begun = time.perf_counter()
        built = build(lake, lake.snapshot(), spec, run_id)
        indexed = time.perf_counter()
        checks = verify(lake, built, spec)
        verified = time.perf_counter()
        now = datetime.now(UTC)
        version = version_of(lake, built, spec, tag(lake, built, checks, now.date()), now)
        rows: tuple[tuple[str, list[Any]], ...] = (("index_versions", [version]), ("checks", checks))
        parts = [write_part(lake.root, name, run_id, some, run_id) for name, some in rows]
        drops = [Drop(name, "version_id", frozenset({version.version_id})) for name in ("index_versions", "checks")]
        writer.commit(parts, key=parts[0].path, drop=drops, indexes={RECIPE.name: built.lance_version})
        ended = time.perf_counter()
    others = round(indexed - begun - sum(inside.values()), 1)
    return {"seconds": round(ended - begun, 1), "added": built.added, "removed": built.removed,
            "phases": {"rows": others, **{name: round(s, 1) for name, s in inside.items()}, "verify": round(verified - indexed, 1),
                       "tag and commit": round(ended - verified, 1)},
            "checks": {check.check: check.found for check in checks if check.check.startswith("recall")},
            "gigabytes": round(version.bytes / 1e9, 2), "peak_gigabytes": peak()}


def peak() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9, 2)


def search(lake: Lake, queries: int, of: Made) -> dict[str, Any]:
    """Milliseconds (p50, p95), recall@10 and the fewest hits, by mode and filter."""
    version = versions(lake.snapshot())[0]
    index = open_index(lake, version, model_hash=version.model_hash)
    asked = synthetic.questions(of, queries + 5, np.random.default_rng(15))
    found: dict[str, Any] = {}
    for name, filters in {"all": Filters(), **KEEPS}.items():
        kept = index.count(filters)
        for mode in ("vector", "hybrid", "keyword") if name in ("all", "1 %") else ("vector",):
            runs = [_timed(lambda q=q, v=v, m=mode, f=filters: index.search(q, 10, m, f, v))  # type: ignore[misc]  # defaults
                    for q, v in asked][5:]  # caches fill
            times, hits = zip(*runs, strict=True)
            row = {"rows": kept, "p50_ms": _ms(times, 50), "p95_ms": _ms(times, 95), "fewest_hits": min(map(len, hits))}
            if mode == "vector":
                row["recall@10"] = _recall(index, filters.expression, [v for _, v in asked[5:]], hits)
            found[f"{mode}, {name}"] = row
    return found


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    done = work()
    return time.perf_counter() - begun, done


def _ms(times: Any, percent: int) -> float:
    return round(float(np.percentile(times, percent)) * 1000, 1)


def _recall(index: Index, where: str | None, vectors: Any, hits: Any) -> float:
    """Share of the ten nearest by an exact scan."""
    shares = []
    for vector, got in list(zip(vectors, hits, strict=True))[:RECALL_QUESTIONS]:
        wanted = set(nearest_rows(index.dataset, vector, 10, ["chunk_id"], where, exact=True)["chunk_id"].to_pylist())
        shares.append(len(wanted & {hit.chunk_id for hit in got}) / max(1, len(wanted)))
    return round(sum(shares) / len(shares), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--chunks", type=int, default=60_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--nights", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="keep the lake there, and measure the one that is there")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        lake = Lake.open(str(given.folder or temporary), create=True)
        of = synthetic.made(given.chunks)
        found: dict[str, Any] = {"chunks": given.chunks}
        if not lake.snapshot().count("chunks"):
            synthetic.make(lake, given.chunks, of)
        if not lake.snapshot().count("index_versions"):
            found["build"] = publish(lake, "first")
        found["search"] = search(lake, given.queries, of)
        for night in range(1, given.nights + 1):
            changed = synthetic.change(lake, NIGHT, of, lake.snapshot().number)
            found[f"night {night}"] = {"filings": changed, **publish(lake, f"night{lake.snapshot().number}")}
        if given.nights:
            found["search after the nights"] = search(lake, given.queries, of)
    print(json.dumps(found) if given.json else json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
