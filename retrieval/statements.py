"""Pages that a financial statement stands on: where its title opens the page and figures fill it.

A note or a discussion names the statements too, and a table of contents lists them; neither opens a page and has that many figures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgarmill.retrieval.pagination import Pages, page_of
from edgarmill.retrieval.terms import BALANCE, CASH, INCOME
from edgarmill.schemas.records import Hit

OPENING = 300  # characters of a page in which its title stands, after running heads and the registrant's name
TITLE = 160  # characters of its line at most: parsers join the lines of a centred title
FIGURES = 25  # at least
# Titles as filings print them, Regulation S-X names them and PDFs space them ("Balance Shee ts"). Statements of comprehensive income alone
# are none of these three.
_TITLES = {
    BALANCE: re.compile(r"balance\s+shee\s?ts?\b|statements?\s+of\s+(?:consolidated\s+)?financial\s+(?:position|condition)", re.I),
    INCOME: re.compile(r"statements?\s+of\s+(?:consolidated\s+)?(?:net\s+)?(?:income|operations|earnings|loss)|income\s+statements?", re.I),
    CASH: re.compile(r"statements?\s+of\s+(?:consolidated\s+)?cash\s+flow\s?s?|cash\s+flows?\s+statements?", re.I),
}
_FIGURE = re.compile(r"\d[\d,.]*")


def has_statement(page: str, statement: str) -> bool:
    """`statement`: one of terms.py's names."""
    titled = any(_is_title(page, *found.span()) for found in _TITLES[statement].finditer(page[:OPENING]))
    return titled and sum(1 for _ in _FIGURE.finditer(page)) >= FIGURES


def _is_title(page: str, start: int, end: int) -> bool:
    """Whether the words stand in a short line that is no sentence."""
    first, last = page.rfind("\n", 0, start) + 1, page.find("\n", end)
    line = page[first : last if last >= 0 else len(page)].rstrip()
    return len(line) <= TITLE and not line.endswith(".")


@dataclass(frozen=True)
class Holding:
    """Documents' texts and pages as they are in the lake now."""

    texts: Mapping[str, str]
    pages: Mapping[str, Pages]

    def hits(self, statement: str, hits: Sequence[Hit]) -> list[Hit]:
        """Those on pages that the statement stands on, in their order. None of a document whose text is not the indexed one any more."""
        held: dict[tuple[str, int], bool] = {}
        return [hit for hit in hits if self._holds(statement, hit, held)]

    def _holds(self, statement: str, hit: Hit, held: dict[tuple[str, int], bool]) -> bool:
        text, pages = self.texts.get(hit.document_id, ""), self.pages.get(hit.document_id, {})
        page = page_of(hit, pages)
        if page not in pages or text[hit.start : hit.end] != hit.text:
            return False
        if (hit.document_id, page) not in held:
            start, end = pages[page]
            held[hit.document_id, page] = has_statement(text[start:end], statement)
        return held[hit.document_id, page]
