"""What a download left in a lake, beside what the server has: is every listed filing there or quarantined, once, with the right bytes?"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from edgarmill.sample.addresses import page
from edgarmill.sample.archive import Archive, read_archive
from edgarmill.sample.faults import changed
from edgarmill.sample.replay import Reply, Request
from edgarmill.schemas.errors import LakeCorrupt
from edgarmill.schemas.records import Received
from edgarmill.schemas.store import Lake
from edgarmill.workers import bundle

WHOLE = ("bundle", "submission")


@dataclass(frozen=True)
class Account:
    """Counts of filings, and of files for `wrong` (bytes that the server never gave) and `torn` (not what their name says)."""

    on_server: int
    listed: int
    fetched: int
    quarantined: int
    lost: int  # listed, and neither
    twice: int
    wrong: int
    torn: int

    @property
    def good(self) -> bool:
        return not (self.lost or self.twice or self.wrong or self.torn)


def account(root: Path, folder: Path) -> Account:
    """Reads every file that the lake says it has received, and every file under raw/ that is not a temporary one."""
    lake, archive = Lake.open(str(root)), read_archive(folder)
    snapshot = lake.snapshot()
    received: list[Received] = list(snapshot.records("received"))
    whole = Counter(one.accession for one in received if one.part in WHOLE)
    listed = {row["accession"] for row in snapshot.read("listings", ["accession"]).to_pylist()}
    waiting = {row["subject"] for row in snapshot.read("quarantine", ["subject"]).to_pylist()}
    parts: dict[str, set[str]] = {}
    for one in received:
        if one.part in ("header", "document"):
            parts.setdefault(one.accession, set()).add(one.sha256)
    wrong = sum(not _right(lake, archive, one, parts.get(one.accession, set())) for one in received)
    return Account(len(archive.entries), len(listed), len(whole), len(waiting), len(listed - whole.keys() - waiting),
                   sum(count > 1 for count in whole.values()) + len(whole.keys() & waiting),
                   wrong, _torn(root))


def _right(lake: Lake, archive: Archive, one: Received, parts: set[str]) -> bool:
    """The server's bytes, whether as they are or by the fault that changes them; a bundle names the filing's `parts`, and no others."""
    try:
        data = lake.read_raw(one.sha256)
    except LakeCorrupt:
        return False
    if one.part == "bundle":
        whole = bundle.decode(data)
        return parts == {whole.header, *whole.contents.values()}
    path = urlsplit(one.place).path
    good = page(archive, path, 1000)
    if good is None:
        return False
    true = Reply(200, good.body, good.media)
    other = changed(Request(1, "GET", path, {}, archive, lambda asked: true))
    return data in (true.body, other.body if other else None) and one.bytes == len(data)


def _torn(root: Path) -> int:
    """Files under raw/ that are not what they are named by. A killed process may leave temporary ones, which no reader looks at."""
    return sum(not _intact(Lake(str(root)), path.name.removesuffix(".zst")) for path in (root / "raw").rglob("*.zst"))


def _intact(lake: Lake, sha256: str) -> bool:
    try:
        return hashlib.sha256(lake.read_raw(sha256)).hexdigest() == sha256
    except LakeCorrupt:
        return False
