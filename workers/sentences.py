"""Where sentences begin, in legal and financial text."""

from __future__ import annotations

import re

_WINDOW = 20_000  # characters looked at once: bounds time on text without sentence ends
# A stop after these ends no sentence: "See Item 1A. Risk Factors", "No. 5", "Acme Inc. sold".
_OPEN_END = re.compile(
    r"(?:^|[\s(\"“])(?:items?\s+\d+(?:\.\d+)?[a-c]?|notes?\s+\d+|exhibits?\s+[\d.]+|nos?|inc|corp|co|ltd|llc|cos|bros|l\.p|u\.s|vs|sec|secs|art|arts|"
    r"fig|ex|approx|mr|mrs|ms|dr|st|jr|sr|e\.g|i\.e|cf|al|rev|dept|[a-z])\.[\s\"”)]*$", re.I)


def sentence_starts(text: str, start: int, end: int) -> list[int]:
    """Positions in (start, end) where a sentence begins. Time is linear in the length."""
    import nupunkt

    found: list[int] = []
    at = start
    while at < end:
        stop = min(at + _WINDOW, end)
        cuts = [at + begin for begin, _ in nupunkt.sent_spans(text[at:stop])][1:]
        good = [cut for cut in cuts if at < cut < end and not _OPEN_END.search(text, max(0, cut - 40), cut)]
        found += good
        if stop == end:
            break
        at = good[-1] if good else stop
    return found
