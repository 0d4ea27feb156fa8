"""Universe files (which filers) and the chain file (filers that went on under another CIK)."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from datetime import date
from importlib import resources
from pathlib import Path

from edgarmill.schemas.errors import SettingsError, UnknownName, UsageError

UNIVERSE_BYTES = 16 * 2**20
TICKER = re.compile(r"[A-Za-z0-9]{1,8}(?:[./-][A-Za-z0-9]{1,4})?")
_MEND = "Give a CIK or a ticker per line, or a CSV file with a heading that names cik or ticker; # begins a comment."


@dataclass(frozen=True, slots=True)
class Member:
    """`cik` has ten digits or is "": then `ticker` tells."""

    cik: str = ""
    ticker: str = ""


def normal_cik(text: str) -> str:
    """Ten digits. Raises UsageError."""
    digits = text.strip()
    if not re.fullmatch(r"0*[1-9][0-9]{0,9}", digits):
        raise UsageError("a CIK is a number of up to ten digits", text, "Look it up on sec.gov, or name the ticker.")
    return digits.lstrip("0").zfill(10)


def shipped() -> list[str]:
    """Names of the universes that ship with edgarmill."""
    folder = resources.files("edgarmill") / "workers" / "source" / "edgar" / "universes"
    return sorted(p.name.removesuffix(".csv") for p in folder.iterdir() if p.name.endswith(".csv"))


def read_universe(name: str) -> list[Member]:
    """A shipped universe by name, or a file by path. Raises UnknownName, and SettingsError with the line that is off."""
    if name in shipped():
        folder = resources.files("edgarmill") / "workers" / "source" / "edgar" / "universes"
        return parse_universe((folder / f"{name}.csv").read_text(encoding="utf-8"), name)
    path = Path(name)
    try:
        if not path.is_file():
            raise UnknownName("no such universe", name, f"Shipped: {', '.join(shipped())}; or give the path of a file of CIKs or tickers.")
        if path.stat().st_size > UNIVERSE_BYTES:
            raise SettingsError(f"a universe file of more than {UNIVERSE_BYTES >> 20} MiB", name, _MEND)
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        raise SettingsError(f"universe file cannot be read ({type(error).__name__})", name, "Give a readable UTF-8 file.") from None
    return parse_universe(text, name)


def parse_universe(text: str, where: str) -> list[Member]:
    """Each member once, in the order of the file. Raises SettingsError with the number of the line."""
    numbered = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    lines = [(number, line) for number, line in numbered if line and not line.startswith("#")]
    if not lines:
        raise SettingsError("a universe without a member", where, _MEND)
    first = [cell.strip().lower() for cell in _cells(lines[0][1], lines[0][0], where)]
    heading = first if {"cik", "ticker"} & set(first) else []
    if not heading and len(first) > 1:
        raise SettingsError("line 1 of the table is no heading with cik or ticker", f"{where}:{lines[0][0]}", _MEND)
    return list(dict.fromkeys(_member(line, number, heading, where) for number, line in lines[1 if heading else 0:]))


def _member(line: str, number: int, heading: list[str], where: str) -> Member:
    cells = _cells(line, number, where)
    row = dict(zip(heading, cells, strict=False)) if heading else {}
    word = "" if heading else line.partition("#")[0].strip()
    cik, ticker = row.get("cik", ""), row.get("ticker", "")
    if not heading:
        cik, ticker = (word, "") if word.isdecimal() else ("", word)
    try:
        member = Member(cik=normal_cik(cik)) if cik else Member(ticker=ticker)
    except UsageError:
        raise SettingsError(f"not a CIK: {cik[:20]!r}", f"{where}:{number}", _MEND) from None
    if not member.cik and not TICKER.fullmatch(member.ticker):
        raise SettingsError(f"neither CIK nor ticker: {line[:40]!r}", f"{where}:{number}", _MEND)
    return member


def _cells(line: str, number: int, where: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], strict=True))]
    except (csv.Error, StopIteration):
        raise SettingsError("a line that is no CSV", f"{where}:{number}", _MEND) from None


# -- filers under another CIK


@dataclass(frozen=True, slots=True)
class Change:
    """`predecessor` counts as `cik` in what it filed through `until`."""

    predecessor: str
    cik: str
    until: date


def changes() -> tuple[Change, ...]:
    """Of chains.csv; each leads to the newest filer of its chain, the latest change first."""
    text = (resources.files("edgarmill") / "workers" / "source" / "edgar" / "chains.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return newest([Change(normal_cik(row["predecessor"]), normal_cik(row["cik"]), date.fromisoformat(row["until"])) for row in rows])


def newest(links: Sequence[Change]) -> tuple[Change, ...]:
    """Each predecessor led to the end of its chain. Raises SettingsError at a circle."""
    following = {link.predecessor: link.cik for link in links}
    found = []
    for link in links:
        end, seen = link.cik, {link.predecessor}
        while end in following:
            if end in seen:
                raise SettingsError("the chain of CIKs goes in a circle", end, "Mend chains.csv.")
            seen.add(end)
            end = following[end]
        found.append(Change(link.predecessor, end, link.until))
    return tuple(sorted(found, key=lambda one: one.until, reverse=True))


def largest(ticker_file: bytes, annual: Container[str], size: int = 1000) -> list[tuple[str, str, str]]:
    """CIK, ticker and name of the first `size` filers of EDGAR's company_tickers_exchange.json that are in `annual` (they file 10-K).

    The file stands in the order of market value. Listed on NYSE, Nasdaq or Cboe, each filer once, under its first ticker there.
    """
    table = json.loads(ticker_file)
    at = {name: table["fields"].index(name) for name in ("cik", "name", "ticker", "exchange")}
    found: dict[str, tuple[str, str, str]] = {}
    for row in table["data"]:
        cik = f"{int(row[at['cik']]):010}"
        if row[at["exchange"]] in ("NYSE", "Nasdaq", "CBOE") and cik in annual:
            found.setdefault(cik, (cik, row[at["ticker"]], row[at["name"]]))
    return list(found.values())[:size]
