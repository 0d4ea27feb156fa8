"""The service under load: requests a second, p50 and p99 at 1, 8 and 32 clients, and the server's memory before and after.

    python -m edgarmill.eval.benchmarks.service --chunks 60000 --soak 600 [--json]

Invented texts and vectors (clusters with noise) in a lake that is thrown away, unless --lake names one to make or to use again. The server
is `edgarmill serve`'s own code in a process of its own; a question's vector is made, not embedded: what a model adds is its own matter. The
clients are threads of this process, on the same cores.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from edgarmill.schemas import ids, records
from edgarmill.schemas.recipe import Kind, Recipe
from edgarmill.schemas.store import Drop, Lake, Writer, write_part

DIMENSIONS, CLUSTERS, NOISE = 384, 500, 0.35
WORDS, CHUNK_WORDS, PER_FILING = 20_000, 120, 100
COMPANIES = 50
CLIENTS = (1, 8, 32)
MOVE_RATE = 50.0  # requests a second while prod moves
MODEL_HASH = "synthetic"
RECIPE = Recipe(name="load", chunker=Kind(kind="fixed"), context=Kind(kind="metadata"))


@dataclass
class Load:
    """What clients saw, all together."""

    seconds: float = 0.0
    milliseconds: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)

    def figures(self) -> dict[str, Any]:
        times = sorted(self.milliseconds)
        at = {f"p{share}": round(times[min(len(times) - 1, len(times) * share // 100)], 1) for share in (50, 95, 99)} if times else {}
        errors = sum(count for status, count in self.statuses.items() if status != "200")
        return {"requests": len(times), "per_second": round(len(times) / self.seconds, 1), **at, "errors": errors,
                "statuses": dict(self.statuses)}


# the lake


def centres() -> Any:
    import numpy as np

    return np.random.default_rng(1).normal(size=(CLUSTERS, DIMENSIONS)).astype("float32")


def make(lake: Lake, chunks: int) -> None:
    """Filings of PER_FILING chunks each, committed, indexed, verified and tagged as ingest does."""
    rows = _rows(chunks)
    with lake.writer("load") as writer:
        writer.commit([write_part(lake.root, table, "load", some, "load") for table, some in rows.items()], key="load")
        _publish(lake, writer)


def make_next(lake: Lake) -> None:
    """A second version, without the first filing."""
    with lake.writer("next") as writer:
        first = frozenset({_filing(0).accession})
        writer.commit([], key="next", drop=[Drop(table, "accession", first) for table in ("filings", "chunks", "contexts")])
        _publish(lake, writer)


def _publish(lake: Lake, writer: Writer) -> None:
    from edgarmill.workers.index import IndexSpec, build, tag, verify, version_of

    spec, run = IndexSpec(RECIPE, "chunker", "context", MODEL_HASH, "synthetic", DIMENSIONS), writer.run_id
    built = build(lake, lake.snapshot(), spec, run)
    checks, now = verify(lake, built, spec), datetime.now(UTC)
    version = version_of(lake, built, spec, tag(lake, built, checks, now.date()), now)
    parts = [write_part(lake.root, "index_versions", run, [version], run), write_part(lake.root, "checks", run, list(checks), run)]
    writer.commit(parts, key=f"index {run}", indexes={RECIPE.name: built.lance_version})


def _rows(chunks: int) -> dict[str, list[Any]]:
    import numpy as np

    source, middles = np.random.default_rng(2), centres()
    rows: dict[str, list[Any]] = {"filings": [], "documents": [], "chunks": [], "contexts": [], "embeddings": []}
    for n in range(-(-chunks // PER_FILING)):
        one = _filing(n)
        document, place, texts = ids.document_id(one.accession, 1), 0, []
        for ordinal in range(min(PER_FILING, chunks - n * PER_FILING)):
            text = sentence(source, CHUNK_WORDS)
            end, page, item = place + len(text), 1 + ordinal // 4, ("1A", "7", "8")[ordinal % 3]
            key, embedded = ids.chunk_id(document, "chunker", place, end, text), ids.text_hash(text)
            rows["chunks"].append(records.Chunk(key, document, one.accession, "chunker", ordinal, place, end, text, CHUNK_WORDS, "II", item,
                                                "Section", page, page))
            rows["contexts"].append(records.Context(key, one.accession, "context", "", CHUNK_WORDS, 0, embedded))
            vector = middles[source.integers(CLUSTERS)] + source.normal(0, NOISE, DIMENSIONS).astype("float32")
            unit = tuple((vector / np.linalg.norm(vector)).tolist())
            rows["embeddings"].append(records.Embedding(embedded, MODEL_HASH, one.accession, unit))
            texts.append(text)
            place = end + 2
        whole = "\n\n".join(texts)
        rows["filings"].append(one)
        rows["documents"].append(records.Document(document, one.accession, 1, "10-K", "a.htm", "html", len(whole), "utf-8", whole, 25,
                                                  "synthetic", len(whole), len(whole), 0, 0))
    return rows


def _filing(n: int) -> records.Filing:
    company, year = n % COMPANIES, 2015 + n // COMPANIES % 10
    cik = f"{company + 1:010d}"
    return records.Filing(
        accession=f"{cik}-{year % 100:02d}-{n:06d}", form="10-K", family="10-K", ciks=(cik,), company=f"Company {company}",
        tickers=(f"T{company}",), filed_on=date(year + 1, 2, 1), period_on=date(year, 12, 31), fiscal_year=year, fiscal_quarter=4,
        sha256=ids.sha256(str(n).encode()), bytes=100, source="folder")


def sentence(source: Any, words: int) -> str:
    """Words as common as in a language: the n-th has a share of about 1/n."""
    import numpy as np

    places = np.exp(source.random(words) * np.log(WORDS)).astype(int)
    return " ".join(f"w{place}" for place in places)


# the server, in a process of its own


def server(root: str) -> None:
    """`edgarmill serve` with made vectors."""
    import numpy as np

    from edgarmill.retrieval.retrieve import Reader
    from edgarmill.retrieval.search import open_index
    from edgarmill.retrieval.service.running import serve
    from edgarmill.schemas.records import IndexVersion
    from edgarmill.schemas.settings import Settings, quiet

    quiet()
    settings, middles = Settings(), centres()

    def vector(question: str) -> Any:
        source = np.random.default_rng(int.from_bytes(ids.sha256(question.encode()).encode()[:8], "big"))
        return middles[source.integers(CLUSTERS)] + source.normal(0, NOISE, DIMENSIONS).astype("float32")

    def opened(lake: Lake, version: IndexVersion) -> Reader:
        return Reader(open_index(lake, version, vector, MODEL_HASH), lake, settings, lambda: None)

    serve(Lake.open(root), settings, "127.0.0.1", 0, opened=opened)


@contextmanager
def serving(root: str, log: Path) -> Iterator[tuple[int, int]]:
    """Port and process id."""
    with log.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-m", __spec__.name, "--server", root], stderr=file)
        try:
            tick = threading.Event()
            while not (found := re.search(r"listening on http://\S+:(\d+)", log.read_text(encoding="utf-8"))):
                if process.poll() is not None:
                    raise SystemExit(log.read_text(encoding="utf-8"))
                tick.wait(0.05)
            yield int(found[1]), process.pid
        finally:
            process.terminate()
            process.wait(30)


def memory(process: int) -> float:
    """Megabytes resident."""
    import psutil

    return float(round(psutil.Process(process).memory_info().rss / 1e6, 1))


# the clients


def load(port: int, clients: int, seconds: float, body: dict[str, Any]) -> Load:
    """Each client asks, waits for the answer, and asks the next."""
    ended = time.perf_counter() + seconds
    total, lock = Load(seconds), threading.Lock()

    def client(number: int) -> None:
        import numpy as np

        source = np.random.default_rng((number, clients, int(ended)))
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        mine = Load()
        while (begun := time.perf_counter()) < ended:
            asked = json.dumps({"question": sentence(source, 8), **body})
            connection.request("POST", "/search", asked, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            mine.milliseconds.append(1000 * (time.perf_counter() - begun))
            mine.statuses[str(answer.status)] += 1
        with lock:
            total.milliseconds += mine.milliseconds
            total.statuses += mine.statuses

    with ThreadPoolExecutor(clients) as pool:
        for one in [pool.submit(client, number) for number in range(clients)]:
            one.result()
    return total


def moves(lake: Lake, port: int, times: int, rate: float) -> dict[str, Any]:
    """`prod` goes back and forth between the two newest versions while `rate` requests a second are asked, each whether or not those
    before are answered.

    Milliseconds of the commands, their start included, and from theirs until an answer comes from the new version.
    """
    from edgarmill.retrieval.versions import versions

    newer, older = versions(lake.snapshot())[:2]

    def command(*words: str) -> None:
        subprocess.run([sys.executable, "-m", "edgarmill", "--lake", lake.root, "index", *words, "--reason", "load"], check=True,
                       capture_output=True)

    command("promote", str(older.tag))
    asked, ended, total = [], threading.Event(), Load()
    took: dict[str, list[float]] = {"promote": [], "rollback": [], "followed": []}

    def ask(connections: threading.local, question: str) -> tuple[str, float, str]:
        if not hasattr(connections, "one"):
            connections.one = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        begun = time.perf_counter()
        connections.one.request("POST", "/search", json.dumps({"question": question, "k": 10}), {"Content-Type": "application/json"})
        answer = connections.one.getresponse()
        version = answer.getheader("X-Edgarmill-Version", "")
        answer.read()
        return str(answer.status), 1000 * (time.perf_counter() - begun), version

    def feed() -> None:
        import numpy as np

        source, connections = np.random.default_rng(5), threading.local()
        while not ended.wait(1 / rate):
            asked.append(pool.submit(ask, connections, sentence(source, 8)))

    with ThreadPoolExecutor(32) as pool:
        feeder = threading.Thread(target=feed)
        feeder.start()
        begun = time.perf_counter()
        for n in range(times):
            what, wanted = ("promote", newer) if n % 2 == 0 else ("rollback", older)
            at = time.perf_counter()
            command("promote", str(newer.tag)) if what == "promote" else command("rollback")
            took[what].append(1000 * (time.perf_counter() - at))
            mine = threading.local()  # the service closes a connection that was idle while the command ran
            while ask(mine, "revenue")[2] != wanted.version_id:
                time.sleep(0.02)
            took["followed"].append(1000 * (time.perf_counter() - at))
        ended.set()
        feeder.join()
        total.seconds = time.perf_counter() - begun
        for status, milliseconds, _ in (one.result() for one in asked):
            total.statuses[status] += 1
            total.milliseconds.append(milliseconds)
    return {"moves": times, **{f"{name}_ms_most": round(max(some), 1) for name, some in took.items()}, **total.figures()}


def measure(lake: Lake, folder: Path, seconds: float, soak: float, mode: str, clients: int, times: int = 0) -> dict[str, Any]:
    body = {"k": 10, "mode": mode}
    with serving(lake.root, folder / "log") as (port, process):
        found: dict[str, Any] = {"mode": mode, "memory_at_start": memory(process), "clients": {}}
        load(port, 2, min(5.0, seconds), body)  # caches fill
        found["memory_warm"] = memory(process)
        for count in CLIENTS:
            found["clients"][count] = load(port, count, seconds, body).figures()
        found["memory_after"] = memory(process)
        if times:
            found["moves"] = moves(lake, port, times, MOVE_RATE)
        if soak:
            found["soak"] = _soak(port, process, soak, body, clients)
    return found


def _soak(port: int, process: int, seconds: float, body: dict[str, Any], clients: int) -> dict[str, Any]:
    """Ten equal parts, with the memory after each."""
    parts, sizes = [], [memory(process)]
    for _ in range(10):
        parts.append(load(port, clients, seconds / 10, body))
        sizes.append(memory(process))
    whole = Load(sum(part.seconds for part in parts), [ms for part in parts for ms in part.milliseconds],
                 sum((part.statuses for part in parts), Counter()))
    return {"client_count": clients, "seconds": seconds, **whole.figures(), "memory": sizes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--chunks", type=int, default=5_000)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each number of clients")
    parser.add_argument("--soak", type=float, default=0.0, help="seconds of steady load afterwards, for memory")
    parser.add_argument("--soak-clients", type=int, default=8)
    parser.add_argument("--mode", choices=("vector", "keyword", "hybrid"), default="hybrid")
    parser.add_argument("--moves", type=int, default=0, help="times that prod moves, back and forth, at 50 requests a second")
    parser.add_argument("--lake", help="made there, or used again where there is one")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--server", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.server:
        return server(asked.server)
    with tempfile.TemporaryDirectory() as place:
        lake = Lake.open(asked.lake or f"{place}/lake", create=True)
        if not lake.snapshot().count("index_versions"):
            make(lake, asked.chunks)
        rows = lake.snapshot().count("chunks")
        if asked.moves and lake.snapshot().count("index_versions") < 2:
            make_next(lake)
        found = {"chunks": rows, **measure(lake, Path(place), asked.seconds, asked.soak, asked.mode, asked.soak_clients, asked.moves)}
    print(json.dumps(found, indent=1) if asked.json else report(found))


def report(found: dict[str, Any]) -> str:
    lines = [f"{found['chunks']:,} chunks of {DIMENSIONS} dimensions, {found['mode']}, k = 10",
             "clients  requests  requests/s    p50 ms    p95 ms    p99 ms  errors"]
    rows = [(str(count), one) for count, one in found["clients"].items()]
    rows += [(f"{found['soak']['client_count']}, long", found["soak"])] if "soak" in found else []
    lines += [f"{count:>7}  {one['requests']:>8,}  {one['per_second']:>10}  {one.get('p50', '-'):>8}  {one.get('p95', '-'):>8}  "
              f"{one.get('p99', '-'):>8}  {one['errors']:>6}" for count, one in rows]
    sizes = [found[f"memory_{when}"] for when in ("at_start", "warm", "after")]
    lines.append("memory of the server, MB: {} at its start, {} warm, {} after".format(*sizes))
    if "moves" in found:
        lines.append("prod moved {moves} times under {per_second} requests/s: promote {promote_ms_most} ms at most, rollback "
                     "{rollback_ms_most}; answers from it after {followed_ms_most} at most; {errors} errors, p99 {p99} ms"
                     .format(**found["moves"]))
    if "soak" in found:
        lines.append(f"over {found['soak']['seconds']:g} s: {', '.join(map(str, found['soak']['memory']))}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
