"""A local EDGAR in a process of its own, small filings for it, and downloads from it in further processes, whose memory is theirs alone."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from edgarmill.sample.faults import storm
from edgarmill.sample.replay import Limit, Reply, Request, Script, serving

FILLER = b"<!-- filler -->"  # in a document: where a big one has its bulk
PADDING = "<p>Nothing else is reported.</p>" * 600  # a main document has more bytes than what is looked up in its folder's listing
FIRST_DAY = date(2024, 1, 2)


# -- filings


def accession(cik: int, number: int) -> str:
    return f"{cik:010d}-24-{number:06d}"


def submission(cik: int, number: int, exhibits: int = 0) -> bytes:
    """A small 8-K of a filer that does not exist; no document of it equals another."""
    name, filed = accession(cik, number), FIRST_DAY + timedelta(days=number % 250)
    documents = [("8-K", f"d{number}.htm")] + [(f"EX-99.{n}", f"d{number}ex99{n}.htm") for n in range(1, exhibits + 1)]
    blocks = "".join(
        f"<DOCUMENT>\n<TYPE>{kind}\n<SEQUENCE>{place}\n<FILENAME>{file}\n<DESCRIPTION>{kind}\n<TEXT>\n"
        f"<html><body><p>{kind} of {name}: Item 8.01. Filer {cik} says for the {number}th time that nothing happened.</p>"
        f"{'' if place > 1 else PADDING}{FILLER.decode()}</body></html>\n</TEXT>\n</DOCUMENT>\n"
        for place, (kind, file) in enumerate(documents, 1))
    return (
        f"<SEC-DOCUMENT>{name}.txt : {filed:%Y%m%d}\n<SEC-HEADER>{name}.hdr.sgml : {filed:%Y%m%d}\n"
        f"<ACCEPTANCE-DATETIME>{filed:%Y%m%d}160501\nACCESSION NUMBER:\t\t{name}\nCONFORMED SUBMISSION TYPE:\t8-K\n"
        f"PUBLIC DOCUMENT COUNT:\t\t{len(documents)}\nCONFORMED PERIOD OF REPORT:\t{filed:%Y%m%d}\nITEM INFORMATION:\t\tOther Events\n"
        f"FILED AS OF DATE:\t\t{filed:%Y%m%d}\n\nFILER:\n\n\tCOMPANY DATA:\t\n\t\tCOMPANY CONFORMED NAME:\t\t\tFILER {cik}\n"
        f"\t\tCENTRAL INDEX KEY:\t\t\t{cik:010d}\n\t\tFISCAL YEAR END:\t\t\t1231\n</SEC-HEADER>\n{blocks}</SEC-DOCUMENT>\n").encode()


def write_filings(folder: Path, filers: int, each: int, exhibits: Callable[[int], int] = lambda number: 0) -> list[str]:
    """Submissions of filers 1, 2, 3 …; the number of a filing decides how many exhibits it has. Gives the CIKs."""
    folder.mkdir(parents=True)
    for cik in range(1, filers + 1):
        for number in range(each):
            (folder / f"{accession(cik, number)}.txt").write_bytes(submission(cik, number, exhibits(number)))
    return [f"{cik:010d}" for cik in range(1, filers + 1)]


# -- the server


@dataclass(frozen=True)
class Edgar:
    """A running server."""

    url: str
    process: subprocess.Popen[str]

    def told(self) -> dict[str, Any]:
        """`paths` asked for, requests that met a block (`blocked`), and the `most` within one second."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


@contextmanager
def edgar(folder: Path, **options: Any) -> Iterator[Edgar]:
    """A server over the folder. Options: latency (s), storm (share of each fault), seed, bulk (MB of each document), days (of an index)."""
    command = [sys.executable, "-m", __name__, str(folder), json.dumps(options)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield Edgar(json.loads(process.stdout.readline())["url"], process)
        finally:
            process.kill()


def _serve(folder: str, options: dict[str, Any]) -> None:
    script: Script | None = None
    if "storm" in options:
        script = storm(options.get("seed", 1), options["storm"])
    elif "bulk" in options:
        script = big(options["bulk"] * 1_000_000)
    with serving(folder, limit=Limit(), script=script, latency=options.get("latency", 0.0)) as server:
        server.show(days=options.get("days", ()))
        _say({"url": server.url})
        for _ in sys.stdin:
            _say({"paths": [request.path for request in server.requests], "blocked": server.limit.blocked, "most": server.limit.most})


def _say(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def big(size: int) -> Script:
    """Every document with `size` bytes more. They are packed once and put between the packed ends of each: the server has no work."""
    bulk = _bulk(size)
    packer = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(bulk) + packer.flush(zlib.Z_FULL_FLUSH)

    def script(request: Request) -> Reply | None:
        good = request.good()
        before, mark, after = good.body.partition(FILLER)
        if good.status != 200 or not mark or FILLER in after:  # a submission of several documents stays as it is
            return None
        start, end = (zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS) for _ in range(2))
        body = b"".join([
            b"\x1f\x8b\x08\0\0\0\0\0\0\xff", start.compress(before), start.flush(zlib.Z_FULL_FLUSH), packed,
            end.compress(after), end.flush(),
            zlib.crc32(after, zlib.crc32(bulk, zlib.crc32(before))).to_bytes(4, "little"),
            (len(before) + size + len(after)).to_bytes(4, "little")])
        return Reply(200, body, good.media, {"Content-Encoding": "gzip"}, packed=False)

    return script


def _bulk(size: int) -> bytes:
    """Paragraphs and rows of a table with drawn numbers, as a filing has them."""
    drawn, parts, held = random.Random(12), list[bytes](), 0
    while held < size:
        cells = "".join(f'<td style="padding:2px 0;text-align:right">{drawn.randrange(10**6):,}</td>' for _ in range(4))
        parts.append((f'<p style="font:10pt Times">Net sales of segment {drawn.randrange(999)} rose by {drawn.random():.3%}.</p>\n'
                      f'<table><tr><td>Line {drawn.randrange(9999)}</td>{cells}</tr></table>\n').encode())
        held += len(parts[-1])
    whole = b"".join(parts)[:size]
    return whole[: whole.rfind(b"<p")].ljust(size)


# -- downloads


@dataclass
class Download:
    """One process. `peak_bytes` is the most resident memory seen while it ran."""

    process: subprocess.Popen[str]
    peak_bytes: int = 0
    told: dict[str, Any] = field(default_factory=dict)
    errors: str = ""

    def wait(self, seconds: float | None = None) -> int | None:
        """The exit code, or None where it still runs after so many seconds."""
        last = None if seconds is None else time.monotonic() + seconds
        while True:
            self.peak_bytes = max(self.peak_bytes, _high_water(self.process.pid))
            try:
                out, self.errors = self.process.communicate(timeout=0.1 if last is None else max(0.0, min(0.1, last - time.monotonic())))
            except subprocess.TimeoutExpired:
                if last is not None and time.monotonic() >= last:
                    return None
                continue
            self.told = json.loads(out) if out else {}
            return self.process.returncode

    def kill(self) -> None:
        """As `kill -9`."""
        self.process.kill()
        self.process.communicate()


def start(url: str, lake: Path, settings: dict[str, Any] | None = None, **request: Any) -> Download:
    """The steps of `edgarmill fetch` without Prefect, for who starts and kills many. `request` has fields of a `flows.request.Request`."""
    overrides = {"lake": str(lake), **_settings(url), **(settings or {})}
    asked = {"source": "edgar", "forms": ["8-K"], "command": "benchmark", "overrides": overrides, **request}
    return _run("edgarmill.flows.plain", json.dumps(asked))


def start_command(url: str, lake: Path, settings: dict[str, Any] | None = None, **options: str) -> Download:
    """`edgarmill fetch` itself, with options such as `universe` and `since`."""
    pairs = [word for name, value in {**_settings(url), **(settings or {})}.items() for word in ("--set", f"{name}={value}")]
    named = [word for name, value in options.items() for word in (f"--{name}", value)]
    return _run("edgarmill", "fetch", "--lake", str(lake), "--form", "8-K", "--json", *named, *pairs)


def _settings(url: str) -> dict[str, Any]:
    return {"edgar_url": url, "edgar_data_url": url, "user_agent": "Edgarmill benchmark benchmark@company.example"}


def _run(*words: str) -> Download:
    command = [sys.executable, "-m", *words]
    return Download(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))


def _high_water(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


if __name__ == "__main__":
    _serve(sys.argv[1], json.loads(sys.argv[2]))
