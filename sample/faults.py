"""Faults of a server and of the way to it, for the replay server's `script`.

A fault looks at a request and gives the answer that goes wrong, or None where it does not fit (no page there to spoil). Scripts say when:

    serving(folder, script=first_of(at(r"index\\.json$", missing, times=1), storm(7, 0.05)))

`latency` wraps a script. The same by hand is a TOML or JSON file: edgarmill.sample.fault_file.
"""

from __future__ import annotations

import gzip
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from email.utils import formatdate

from edgarmill.sample.archive import ACCESSION
from edgarmill.sample.replay import NOT_FOUND, REFUSAL, TOO_FAST, UNDECLARED, Reply, Request, Script
from edgarmill.schemas.errors import UsageError

Fault = Callable[[Request], Reply | None]
PAGES = {"rate": TOO_FAST, "undeclared": UNDECLARED}
NUMBER = ACCESSION.pattern.decode()


# --- refusals and errors ---------------------------------------------------------------------------------------------------------------

def block403(request: Request, *, page: str = "rate") -> Reply:
    """A block page: `rate` (too many requests) or `undeclared` (no declared User-Agent)."""
    return Reply(403, PAGES[page])


def block429(request: Request, *, page: str = "rate") -> Reply:
    return Reply(429, PAGES[page])


def block200(request: Request, *, page: str = "rate") -> Reply:
    return Reply(200, PAGES[page])


def too_many(request: Request, *, retry_after: float = 1, as_date: bool = False) -> Reply:
    """429 without a block page; Retry-After in seconds, or as a date so many seconds from now."""
    value = formatdate(time.time() + retry_after, usegmt=True) if as_date else f"{retry_after:g}"
    return Reply(429, b"Too Many Requests\n", "text/plain", {"Retry-After": value})


def unavailable(request: Request, *, retry_after: float | None = None) -> Reply:
    return Reply(503, b"Service Unavailable\n", "text/plain", {} if retry_after is None else {"Retry-After": f"{retry_after:g}"})


def missing(request: Request) -> Reply:
    """404, though it is listed."""
    return Reply(404, NOT_FOUND)


# --- the right status, another body ------------------------------------------------------------------------------------------------------

def empty(request: Request) -> Reply:
    """200 and nothing."""
    return Reply(200, b"", "text/plain")


def web_page(request: Request) -> Reply:
    """A page of the site, neither the file nor a block page."""
    return Reply(200, REFUSAL.format(title="Scheduled Maintenance", text="Some services are not available at this time.").encode())


def changed(request: Request) -> Reply | None:
    """The same file with another text: whole, well formed, and as it never was. Only HTML and submissions."""
    good = _page(request)
    if good is None or request.path.endswith((".json", ".idx", ".gz")):
        return None
    place = max(good.body.lower().rfind(b"</body>"), good.body.rfind(b"</TEXT>"))
    note = b"Changed after the filing was published.\n"
    return replace(good, body=good.body[:place] + note + good.body[place:]) if place > 0 else replace(good, body=good.body + note)


def wrong_accession(request: Request) -> Reply | None:
    """The bytes of another filing at the same place: its submission, its listing, its header page, or its primary document."""
    found = re.search(r"/data/\d+/(?:(\d{18})/)?([^/?]+)$", request.path)
    number = found and re.search(NUMBER, found[2])
    own = found and (found[1] or (number[0].replace("-", "") if number else ""))
    others = sorted(accession for accession in request.archive.entries if accession.replace("-", "") != own)
    if not found or not own or not others or _page(request) is None:
        return None
    other = request.archive.entries[others[request.number % len(others)]]
    name = re.sub(NUMBER, other.accession, found[2])
    if not number and name != "index.json":
        name = other.primary or f"{other.accession}.txt"
    good = request.good(f"/Archives/edgar/data/{other.filers[0].cik}/{other.accession.replace('-', '')}/{name}")
    return good if good.status == 200 else None


def cut_document(request: Request, *, keep: float = 0.6) -> Reply | None:
    """Cut, with a Content-Length that agrees: HTML without its end, a submission within a document."""
    good = _page(request)
    if good is None:
        return None
    start = max(good.body.find(b"<TEXT>"), 0)
    ends = [place for mark in (b"</html", b"</HTML", b"</TEXT>") if (place := good.body.rfind(mark)) > 0]
    return replace(good, body=good.body[: min([start + int((len(good.body) - start) * keep), *ends])])


# --- on the way ------------------------------------------------------------------------------------------------------------------------

def cut_gzip(request: Request, *, keep: float = 0.5) -> Reply | None:
    """A gzip stream without its end; Content-Length agrees with what is sent."""
    return _gzip(request, lambda packed: packed[: int(len(packed) * keep)])


def bad_gzip(request: Request) -> Reply | None:
    """A gzip stream with bytes turned over in its middle, checksum and all."""
    def damage(packed: bytes) -> bytes:
        half = len(packed) // 2
        return packed[:half] + bytes(byte ^ 0xFF for byte in packed[half:half + 16]) + packed[half + 16:]
    return _gzip(request, damage)


def cut_body(request: Request, *, keep: float = 0.5) -> Reply | None:
    """The whole length is announced, and the connection closed early."""
    good = _page(request)
    return good and replace(good, cut=int(len(good.body) * keep))


def reset(request: Request) -> Reply:
    """A TCP reset in place of an answer."""
    return Reply(200, reset=0)


def reset_in_body(request: Request, *, after: int = 100) -> Reply | None:
    """A TCP reset after some bytes of the body."""
    good = _page(request)
    return good and replace(good, reset=max(int(after), 1))


def slow(request: Request, *, pieces: int = 5, seconds: float = 0.02) -> Reply | None:
    """The body comes in so many pieces with a pause after each."""
    good = _page(request)
    return good and replace(good, packed=False, dribble=(max(1, -(-len(good.body) // max(int(pieces), 1))), seconds))


def dribble(request: Request, *, bytes_each: int = 1000, seconds: float = 0.05) -> Reply | None:
    """So many bytes every so many seconds."""
    good = _page(request)
    return good and replace(good, packed=False, dribble=(max(int(bytes_each), 1), seconds))


def stalled(request: Request) -> Reply:
    """Never an answer."""
    return Reply(200, stalled=True)


def _page(request: Request) -> Reply | None:
    """The true page, or None: a refusal or an absent page has nothing to spoil."""
    good = request.good()
    return good if good.status == 200 and good.body else None


def _gzip(request: Request, damage: Callable[[bytes], bytes]) -> Reply | None:
    good = _page(request)
    return good and replace(good, body=damage(gzip.compress(good.body, 1, mtime=0)), headers={"Content-Encoding": "gzip"})


FAULTS: dict[str, Callable[..., Reply | None]] = {fault.__name__: fault for fault in (
    block403, block429, block200, too_many, unavailable, missing, empty, web_page, changed, wrong_accession, cut_document, cut_gzip,
    bad_gzip, cut_body, reset, reset_in_body, slow, dribble, stalled)}
STORM: tuple[Fault, ...] = (block429, block403, empty, cut_gzip, slow, reset, missing, changed)  # what a storm has unless told


# --- when ------------------------------------------------------------------------------------------------------------------------------

def at(path: str, fault: Fault, times: int | None = None) -> Script:
    """The fault for requests whose path holds the pattern; for the first `times` that it fits, or always."""
    pattern, lock, left = re.compile(path), threading.Lock(), [times]

    def script(request: Request) -> Reply | None:
        with lock:
            if left[0] == 0 or not pattern.search(request.path):
                return None
        reply = fault(request)
        with lock:
            if reply is None or left[0] == 0:
                return None
            if left[0] is not None:
                left[0] -= 1
            return reply

    return script


def storm(seed: int, share: float, faults: Sequence[Fault] = STORM, *, path: str = "", in_a_row: int = 2,
          for_ever: Sequence[str] = ()) -> Script:
    """Each fault strikes a request with probability `share`, the same for the same seed and number of the request.

    A path is struck no more than `in_a_row` times one after another, so that a patient client gets everything; but for paths that hold a
    pattern of `for_ever`, which are struck each time. Raises UsageError where the shares add up to more than everything.
    """
    if not 0 <= share * len(faults) <= 1:
        raise UsageError(f"{len(faults)} faults at {share:g} each are more than all requests", "share", f"At most {1 / len(faults):.3f}.")
    pattern, always = re.compile(path), [re.compile(p) for p in for_ever]
    lock, rows = threading.Lock(), Counter[str]()

    def script(request: Request) -> Reply | None:
        if not pattern.search(request.path):
            return None
        drawn = random.Random(f"{seed}/{request.number}").random()
        lasting = any(p.search(request.path) for p in always)
        place = int(drawn * len(faults)) if lasting else int(drawn / share) if share else len(faults)
        with lock:
            if place >= len(faults) or (not lasting and rows[request.path] >= in_a_row):
                rows.pop(request.path, None)
                return None
            rows[request.path] += 1
        return faults[place](request)

    return script


def first_of(*scripts: Script) -> Script:
    """The first answer that one of them gives."""
    return lambda request: next((reply for script in scripts if (reply := script(request)) is not None), None)


def latency(seconds: float, script: Script | None = None) -> Script:
    """Every answer, the script's or the true one, so much later. `serving(latency=)` does the same."""
    def delayed(request: Request) -> Reply:
        reply = script(request) if script is not None else None
        reply = request.good() if reply is None else reply
        return replace(reply, delay=reply.delay + seconds)

    return delayed
