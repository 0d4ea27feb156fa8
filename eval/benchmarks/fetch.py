"""How fast, how small and how surely filings are fetched, against a local EDGAR that answers late, wrongly, or with 12 MB.

    python -m edgarmill.eval.benchmarks.fetch [--json] [--filings N] [--only NAME] [--folder DIR]

latency  seconds over those that the limit of 8 requests a second allows, at 150 ms an answer; also with one request at a time
large    documents of 12 MB at 8 requests a second: the most resident memory of the downloading process, bytes per second
storm    5 % of each of eight faults: what became of every listed filing
kill     the same with `kill -9` at 20 random moments
nightly  requests for 1,000 covered filers when nothing is new

Server and download have a process each. Without --only it takes about 20 minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from edgarmill.eval.benchmarks.account import account
from edgarmill.eval.benchmarks.local_edgar import Edgar, edgar, start, start_command, write_filings
from edgarmill.schemas.records import Coverage
from edgarmill.schemas.store import Lake, write_part

LATENCY = 0.15  # seconds
PER_SECOND = 8
DOCUMENT_MB = 12
LARGE_SECONDS = 25
STORM = 0.05  # of requests, each fault
KILLS, LONGEST_LIFE = 20, 40.0  # a process lives so many seconds at most, its start included
RUNS = 12  # a storm may end a run (four block pages in a row); so often it is started again at most
FILERS = 1000


def latency(folder: Path, filings: int) -> dict[str, Any]:
    """1,000 filings of 20 filers, every fifth with an exhibit; then a tenth of them with one request at a time."""
    each = max(filings // 20, 1)
    ciks = write_filings(folder / "in", 20, each, lambda number: int(number % 5 == 0))
    with edgar(folder / "in", latency=LATENCY) as server:
        many = _timed(server, folder / "lake", universe=_universe(folder, ciks))
    with edgar(folder / "in", latency=LATENCY) as server:
        single = _timed(server, folder / "single", universe=_universe(folder, ciks[:2]), settings={"fetch_at_once": 1})
    return {**many, "one_at_a_time": single}


def large(folder: Path, filings: int) -> dict[str, Any]:
    """By full submission text every request is a body of 12 MB; by documents 15 of 16 are."""
    count = PER_SECOND * LARGE_SECONDS
    found = {}
    for mode, each, exhibits in (("submission", count, 0), ("documents", count // 16, 14)):
        ciks = write_filings(folder / mode, 1, each, lambda number, exhibits=exhibits: exhibits)  # type: ignore[misc]  # a default in a lambda
        with edgar(folder / mode, bulk=DOCUMENT_MB) as server:
            found[mode] = _timed(server, folder / f"{mode}-lake", universe=_universe(folder, ciks), settings={"fetch": mode})
        rows = Lake.open(str(folder / f"{mode}-lake")).snapshot().read("received", ["bytes", "part"]).to_pylist()
        body = sum(row["bytes"] for row in rows if row["part"] in ("submission", "document"))
        found[mode] |= {"megabytes_per_second": round(body / found[mode]["seconds"] / 1e6, 1), "megabytes": round(body / 1e6)}
    return found


def storms(folder: Path, filings: int) -> dict[str, Any]:
    ciks = write_filings(folder / "in", 10, max(filings * 3 // 100, 1), lambda number: int(number % 3 == 0))
    with edgar(folder / "in", storm=STORM) as server:
        runs = _to_the_end(server, folder / "lake", ciks)
        return {"runs": runs, **_server(server), **asdict(account(folder / "lake", folder / "in"))}


def kills(folder: Path, filings: int, times: int = KILLS, longest: float = LONGEST_LIFE, seed: int = 9) -> dict[str, Any]:
    """Where a download ends before it is killed, the next one begins with an empty lake."""
    ciks = write_filings(folder / "in", 10, max(filings * 3 // 100, 1), lambda number: int(number % 3 == 0))
    drawn, killed, lakes = random.Random(seed), 0, 0
    found = []
    with edgar(folder / "in", storm=STORM, seed=seed) as server:
        while killed < times:
            lake, lakes = folder / f"lake{lakes}", lakes + 1
            while killed < times:
                download = start(server.url, lake, ciks=ciks, settings=SHORT_PAUSE)
                if download.wait(drawn.uniform(0.5, longest)) in (0, 3):
                    break
                download.kill()
                killed += 1
            _to_the_end(server, lake, ciks)
            found.append(asdict(account(lake, folder / "in")))
        return {"killed": killed, "lakes": len(found), **_server(server), **{name: sum(one[name] for one in found) for name in found[0]}}


def nightly(folder: Path, filings: int) -> dict[str, Any]:
    """Requests after one missed day, and after all days of a week."""
    write_filings(folder / "in", 1, 1)
    today = datetime.now(UTC).date()
    days = [today - timedelta(days=back) for back in range(40, 0, -1) if (today - timedelta(days=back)).weekday() < 5]
    universe = _universe(folder, [f"{cik:010d}" for cik in range(1, FILERS + 1)])
    found = {}
    for missed in (1, 5):
        lake = folder / f"lake{missed}"
        _cover(lake, days[-missed] - timedelta(days=1))
        with edgar(folder / "in", days=[str(day) for day in days]) as server:
            found[f"missed_{missed}"] = _timed(server, lake, universe=universe, since="2024-06-01")
            found[f"missed_{missed}"]["paths"] = [path.removeprefix("/Archives/edgar/") for path in server.told()["paths"]]
    return found


SHORT_PAUSE = {"block_pause_seconds": 0.3}  # after a block page, which a storm has many of
MEASURES: dict[str, Callable[[Path, int], dict[str, Any]]] = {
    "latency": latency, "large": large, "storm": storms, "kill": kills, "nightly": nightly}


def _timed(server: Edgar, lake: Path, **options: Any) -> dict[str, Any]:
    """One undisturbed `edgarmill fetch`. Seconds are those of listing and fetching: the start of Prefect is not in them, its memory is."""
    download = start_command(server.url, lake, **options)
    code = download.wait()
    if code:
        raise SystemExit(f"a download ended with {code}: {download.errors}")
    stages = Lake.open(str(lake)).snapshot().read("run_stages", ["seconds"])["seconds"].to_pylist()
    asked, seconds = _server(server), sum(stages)
    allowed = asked["requests"] / PER_SECOND
    return {**asked, "filings": download.told["fetched"], "seconds": round(seconds, 2), "seconds_allowed": allowed,
            "ratio": round(seconds / allowed, 4), "peak_megabytes": round(download.peak_bytes / 1e6, 1)}


def _to_the_end(server: Edgar, lake: Path, ciks: list[str]) -> int:
    """Downloads until one ends by itself with every filer listed. Gives the number of runs."""
    runs, covered = 0, 0
    code: int | None = None
    while runs < RUNS and not (code in (0, 3) and covered == len(ciks)):
        runs += 1
        code = start(server.url, lake, ciks=ciks, settings=SHORT_PAUSE).wait()
        covered = Lake.open(str(lake)).snapshot().read("coverage", ["cik"]).num_rows
    return runs


def _server(server: Edgar) -> dict[str, Any]:
    told = server.told()
    return {"requests": len(told["paths"]), "blocked": told["blocked"], "most_in_a_second": told["most"]}


def _universe(folder: Path, ciks: list[str]) -> str:
    file = folder / "universe.txt"
    file.write_text("".join(f"{cik}\n" for cik in ciks), encoding="utf-8")
    return str(file)


def _cover(root: Path, through: date) -> None:
    rows = [Coverage(f"{cik:010d}", date(2024, 1, 1), through, "filer", datetime.now(UTC)) for cik in range(1, FILERS + 1)]
    lake = Lake.open(str(root), create=True)
    with lake.writer("benchmark") as writer:
        writer.commit([write_part(lake.root, "coverage", "benchmark", rows, "benchmark")], key="benchmark")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--filings", type=int, default=1000, help="of the latency measure; storm and kill take three in ten of them")
    parser.add_argument("--only", choices=MEASURES, action="append", help="may be repeated")
    parser.add_argument("--folder", type=Path, help="for filings and lakes, 3 GB; default a temporary one")
    given = parser.parse_args()
    found: dict[str, Any] = {"date": f"{datetime.now(UTC):%Y-%m-%d}"}
    for name in given.only or MEASURES:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            before = os.getloadavg()[0]
            found[name] = MEASURES[name](Path(folder), given.filings) | {"load_before": round(before, 1)}
        if not given.json:
            sys.stdout.write(f"{name}\n" + "".join(f"  {key:18} {value}\n" for key, value in found[name].items()))
            sys.stdout.flush()
    if given.json:
        sys.stdout.write(json.dumps(found) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
