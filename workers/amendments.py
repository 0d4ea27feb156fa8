"""Which filing an amendment amends. It names none: it is the one of the same filer, period and base form, filed last before it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from edgarmill.schemas.records import Filing


def originals(filings: Iterable[Filing]) -> dict[str, str]:
    """Accession of each amendment whose original is among these -> that accession. An amendment of an amendment leads to the original."""
    by_key: dict[tuple[str, str, date | None], list[Filing]] = {}
    amendments: list[Filing] = []
    for filing in filings:
        if filing.amends:
            amendments.append(filing)
            continue
        for cik in filing.ciks:
            by_key.setdefault((cik, filing.form, filing.period_on), []).append(filing)
    found: dict[str, str] = {}
    for amendment in amendments:
        if amendment.period_on is None:
            continue
        base = amendment.form.removesuffix("/A")
        candidates = [one for cik in amendment.ciks for one in by_key.get((cik, base, amendment.period_on), ())
                      if (one.filed_on or date.min) <= (amendment.filed_on or date.max)]
        if candidates:
            found[amendment.accession] = max(candidates, key=lambda one: (one.filed_on or date.min, one.accession)).accession
    return found
