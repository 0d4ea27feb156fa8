"""What a printed cell of a table is worth: "(56)" is -56, "—" nothing, "12.5%" 12.5 percent; under "in thousands" 987 is 987,000."""

from __future__ import annotations

import re
from decimal import Decimal

_PRINTED = re.compile(
    r"(?:US|C)?[$€£¥]?\s*(?P<open>[(<\[])?\s*(?P<minus>[-−–—])?\s*(?:US|C)?[$€£¥]?\s*(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"\s*(?P<after>-)?\s*(?P<close>[)>\]])?\s*(?P<percent>%)?\s*\)?(?:\s*\(\w{1,2}\))*")
_NIL = re.compile(r"[$€£¥]?\s*(?:[-–—−]{1,3}|nil)\s*%?", re.I)
_SCALE = re.compile(r"\b(thousand|million|billion)s?\b|\b000['’]?s?\b", re.I)
_SCALES = {"thousand": 1000, "million": 10**6, "billion": 10**9, "": 1000}
_UNSCALED = re.compile(r"\bper\b.{0,30}\b(?:share|unit|ads)\b|percent|%|\bratio\b|\brate\b", re.I)


def amount(printed: str) -> Decimal | None:
    """The number in a cell as printed, its sign read and its unit left aside; 0 for a dash. None for what is no number."""
    text = printed.strip()
    if _NIL.fullmatch(text):
        return Decimal(0)
    match = _PRINTED.fullmatch(text)
    if match is None:
        return None
    value = Decimal(match["digits"].replace(",", ""))
    return -value if match["open"] or match["minus"] or match["after"] else value


def scale_of(unit: str | None, label: str, printed: str = "") -> int:
    """By how much a row's numbers are to be multiplied under a table's unit. Amounts per share, rates and percentages stand as printed."""
    found = _SCALE.search(unit or "")
    if found is None or "%" in printed or _UNSCALED.search(label):
        return 1
    if re.search(r"\bshares?\b", label, re.I) and re.search(r"except[^.;]*\bshares?\b(?! data)(?!.{0,3}per)", unit or "", re.I):
        return 1
    return _SCALES[(found[1] or "").lower()]
