"""Responses that EDGAR once gave, kept as files with a manifest of their addresses: served in place of generated ones."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from edgarmill.sample.addresses import Page
from edgarmill.sample.archive import ACCESSION
from edgarmill.schemas.errors import StorageError

MANIFEST = "manifest.jsonl"  # one line a file: `file`, `url`; {cik} in a url stands for any number
DAILY = re.compile(r"/Archives/edgar/daily-index/\d{4}/QTR[1-4]/master\.(\d{8})\.idx")
MEDIA = {".json": "application/json", ".idx": "text/plain", ".html": "text/html", ".htm": "text/html", ".xml": "application/xml",
         ".atom": "application/atom+xml"}


@dataclass(frozen=True)
class Recorded:
    """`pages` by path, with the query where the recorded address has one; `patterns` for those under any filer's folder."""

    pages: dict[str, Path]
    patterns: tuple[tuple[re.Pattern[str], Path], ...] = ()

    @property
    def days(self) -> frozenset[str]:
        """Days whose daily master index is here, YYYYMMDD."""
        return frozenset(found[1] for found in map(DAILY.fullmatch, self.pages) if found)

    def page(self, path: str) -> Page | None:
        """The bytes recorded for this path. One recorded without a query answers any."""
        bare = path.partition("?")[0]
        places = [self.pages[p] for p in (path, bare) if p in self.pages]
        places += [place for pattern, place in self.patterns if pattern.fullmatch(bare)]
        if not places:
            return None
        name = places[0].name.removesuffix(".gz")
        return Page(_unpacked(places[0]), MEDIA.get(Path(name).suffix, "text/plain"))


def read_recorded(folder: str | Path) -> Recorded:
    """What a folder's manifest names, the first of two with one address. Raises StorageError."""
    root = Path(folder)
    try:
        lines = (root / MANIFEST).read_text(encoding="utf-8").splitlines()
        told = [(str(record["file"]), str(record["url"])) for record in map(json.loads, lines)]
    except OSError as error:
        raise StorageError(f"recorded responses cannot be read: {error.strerror}", str(root), f"It needs a {MANIFEST}.") from None
    except (ValueError, KeyError, TypeError):
        todo = "One JSON object a line: file, url."
        raise StorageError("manifest of recorded responses cannot be read", str(root / MANIFEST), todo) from None
    return _addressed((root / file, url) for file, url in told if "://" in url and not url.endswith("..."))


def _addressed(told: Iterable[tuple[Path, str]]) -> Recorded:
    pages: dict[str, Path] = {}
    patterns = []
    for place, url in told:
        if "{accession" in url:
            number = ACCESSION.search(_unpacked(place))
            accession = number[0].decode() if number else ""
            url = url.replace("{accession18}", accession.replace("-", "")).replace("{accession}", accession)
        parts = urlsplit(url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        if "{cik}" in path:
            patterns.append((re.compile(re.escape(path).replace(re.escape("{cik}"), r"\d{1,10}")), place))
        else:
            pages.setdefault(path, place)
    return Recorded(pages, tuple(patterns))


def _unpacked(place: Path) -> bytes:
    try:
        data = place.read_bytes()
        return gzip.decompress(data) if place.suffix == ".gz" else data
    except (OSError, EOFError, zlib.error):
        raise StorageError("recorded response cannot be read", str(place), "It must be a whole file, plain or .gz.") from None
