"""Who, what, when and where, from metadata alone:

    Acme Inc. (ACM) 10-K for fiscal year 2024 ended 2024-09-28, filed 2024-11-01. Part II, Item 7: Management's Discussion.
"""

from __future__ import annotations

from functools import lru_cache

from pydantic import BaseModel, ConfigDict, Field

from edgarmill.schemas.records import Chunk, Filing
from edgarmill.workers.embed.tokens import Tokenizer


class Options(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    max_tokens: int = Field(60, ge=16, le=256, description="most tokens of a context; title and company are shortened to fit")


def largest(options: Options) -> int:
    return options.max_tokens


def context(filing: Filing, chunk: Chunk, options: Options, tokenizer: Tokenizer) -> str:
    """At most `max_tokens` tokens. What the filing does not say is left out."""
    company = _line(filing.company or "")[:200]
    place = ", ".join(filter(None, (f"Part {chunk.part}" if chunk.part else "", _item(chunk.item))))
    return _fitted(company, _filed(filing), _line(place)[:60], _line(chunk.section_title)[:400], options.max_tokens, tokenizer)


def _item(item: str) -> str:
    return item if item.upper().startswith("EX") or not item else f"Item {item}"


def _filed(filing: Filing) -> str:
    """Tickers, form, period and day of filing."""
    tickers = f"({', '.join(filing.tickers[:2])})" if filing.tickers else ""
    if filing.fiscal_year is None:
        period = f"of {filing.period_on}" if filing.period_on else ""
    else:
        quarter = f"quarter {filing.fiscal_quarter} of " if filing.family == "10-Q" and filing.fiscal_quarter else ""
        period = f"for {quarter}fiscal year {filing.fiscal_year}" + (f" ended {filing.period_on}" if filing.period_on else "")
    words = " ".join(filter(None, (_line(tickers)[:30], _line(filing.form)[:20], period)))
    return ", ".join(filter(None, (words, f"filed {filing.filed_on}" if filing.filed_on else "")))


def _line(text: str) -> str:
    return " ".join(text.split())


@lru_cache(maxsize=4096)
def _fitted(company: str, filed: str, place: str, title: str, most: int, tokenizer: Tokenizer) -> str:
    """One or two sentences; company and then title get what the rest leaves. Kept in memory because all chunks of a section share it."""
    company = _within(company, most // 3, tokenizer)
    first = f"{company} {filed}".strip()
    first = first if not first or first.endswith(".") else f"{first}."
    title = _within(title, most - tokenizer.count(f"{first} {place}: ."), tokenizer)
    second = ": ".join(filter(None, (place, title.rstrip("."))))
    return _within(" ".join(filter(None, (first, f"{second}." if second else ""))), most, tokenizer)


def _within(text: str, most: int, tokenizer: Tokenizer) -> str:
    return text[: tokenizer.pieces(text).bounded(0, len(text), most)].strip() if most > 0 else ""
