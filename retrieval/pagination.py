"""Pages of documents as ranges of characters, read from the lake once and kept: on which page a hit stands, and what else does."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from edgarmill.retrieval.fusion import has_pages
from edgarmill.schemas.records import Hit
from edgarmill.schemas.store import Lake

Span = tuple[int, int]
Pages = Mapping[int, Span]  # page, counted from 1 -> first character and the one after its last

KEPT = 256  # documents whose pages stay in memory
MOST_DOCUMENTS = 16  # of one question's hits, the best first; hits of others stand on the page that they begin on


@dataclass(frozen=True)
class Pagination:
    """Of one lake; threads share it."""

    lake: Lake
    _kept: OrderedDict[str, Pages] = field(default_factory=OrderedDict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def of(self, hits: Sequence[Hit]) -> dict[str, Pages]:
        """Pages by document; empty for one that has none. Raises LakeCorrupt."""
        wanted = dict(list({hit.document_id: hit.accession for hit in hits if has_pages(hit)}.items())[:MOST_DOCUMENTS])
        with self._lock:
            found = {one: self._kept[one] for one in wanted if one in self._kept}
        if missing := sorted(wanted.keys() - found.keys()):
            found |= self._read(missing, sorted({wanted[one] for one in missing}))
        with self._lock:
            self._kept.update(found)
            for one in found:
                self._kept.move_to_end(one)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found

    def _read(self, documents: list[str], accessions: list[str]) -> dict[str, Pages]:
        where = {"accession": accessions, "document_id": documents}
        found: dict[str, dict[int, Span]] = {one: {} for one in documents}
        table = self.lake.snapshot().read("elements", ["document_id", "page", "start", "end"], where)
        for document, page, start, end in zip(*(table[name].to_pylist() for name in ("document_id", "page", "start", "end")), strict=True):
            if page is not None:
                low, high = found[document].get(page, (start, end))
                found[document][page] = (min(low, start), max(high, end))
        return dict(found)


def page_of(hit: Hit, pages: Pages | None) -> int:
    """The page that most of the hit stands on, of those the first; the one that it begins on where the pages are not known."""
    on = [page for page in pages or () if hit.page_start <= page <= hit.page_end]
    return max(on, key=lambda page: (_shared(hit, pages[page]), -page)) if pages and on else hit.page_start


def _shared(hit: Hit, span: Span) -> int:
    return max(0, min(hit.end, span[1]) - max(hit.start, span[0]))
