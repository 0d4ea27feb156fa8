"""What a cover page prints: form, period, company, trading symbols, fiscal year end. For filings without header and `dei` facts."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from datetime import date

COVER_CHARACTERS = 20_000
SOURCE_BYTES = 1_000_000  # of markup that are looked at for a cover

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = ("january|february|march|april|may|june|july|august|september|october|november|december"
          "|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec")
_DATE = re.compile(
    rf"(?P<m>{_MONTH})\.?\s{{0,3}}(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s?[,.]?\s{{0,3}}(?P<y>(?:19|20)\d\d)\b"
    rf"|\b(?P<d2>\d{{1,2}})\s(?P<m2>{_MONTH})\.?,?\s(?P<y2>(?:19|20)\d\d)\b"
    r"|\b(?P<m3>\d{1,2})[/-](?P<d3>\d{1,2})[/-](?P<y3>(?:19|20)?\d\d)\b", re.I)
_FORM = re.compile(
    r"\bF\s?orm\s{0,3}[:#-]?\s{0,3}((?:10|8)\s?-?\s?(?:K\s?405|KSB\s?40|KSB|QSB|KT|QT|K|Q)(?:12B|12G3|15D5)?)(?![A-Za-z0-9])"
    r"(\s{0,3}/\s?A\b|\s{0,2}-\s?A\b|\s{0,3}\(?\s?Amendment\s+No)?", re.I)
_KIND = ((re.compile(r"\bannual report (?:pursuant to|under) section", re.I), "10-K"),
         (re.compile(r"\bquarterly report (?:pursuant to|under) section", re.I), "10-Q"),
         (re.compile(r"\bcurrent report\b", re.I), "8-K"))
_COVER = re.compile(r"commission\s+file|pursuant\s+to\s+section|washington\W{1,3}d\.?\s?c\b|exact\s+name", re.I)
_ENDED = re.compile(r"\b(?:year|quarter|period|months|weeks)\s+(?:ended|ending)\b[:\s]{0,5}|\bfiscal year end[:\s]{1,5}", re.I)
_EVENT = re.compile(r"(?:date\s+of\s+)?(?:the\s+)?earliest\s+event\s+reported\s?\)?[:\s]{0,5}", re.I)
_REPORTED = re.compile(r"\bdate\s+of\s+report\b[:\s]{0,5}", re.I)
_EXACT = re.compile(
    r"\(?\s?(?:exact\s+)?names?\s+of\s+(?:the\s+)?(?:each\s+)?(?:registrant|issuer|small\s+business\s+issuer|company)s?,?\s*"
    r"(?:as\s+|\(as\s+|in\s+its)", re.I)
_FILE_NUMBER = re.compile(r"\bcommission\s+file\s+n(?:umber|o)\b\.?[\s:_]{0,40}\d{1,3}-\d{3,6}(?:-\d{1,2})?\b[\s_]{0,60}", re.I)
_NO_NAME = re.compile(
    r"commission|file\s+n|\bform\s+(?:10|8)-|date of|exact name|\d{1,2},\s\d{4}|^[^A-Za-z]*$|securities and exchange|amendment no|"
    r"^\W*or\W*$|of incorporation|transition period|report pursuant", re.I)
_SYMBOL = re.compile(r"\b([A-Z]{1,5}(?:[.-][A-Z])?)\s{0,3}(?:\W{1,3}\s?)?(?:The\s+)?(?:New York Stock Exchange|NYSE|NASDAQ|Nasdaq)")
_YEAR_END = re.compile(rb"\byear\s+ended", re.I)
_MARKUP = re.compile(r"<!--.*?-->|<(script|style|title)\b.*?</\1\s*>", re.I | re.S)
_BLOCK = re.compile(r"<\s*/?\s*(?:p|div|tr|td|th|br|table|h[1-6]|li|center|hr|body)\b[^<>]*>", re.I)
_TAG = re.compile(r"<[^<>]*>")


def html_lines(data: bytes) -> list[str]:
    """The first lines of visible text of an HTML document, without building a tree; `ix:header` and other hidden parts left out."""
    start = data[:SOURCE_BYTES] if b"ix:header" not in data[:SOURCE_BYTES].lower() else _without_ix_header(data)[:SOURCE_BYTES]
    text = _TAG.sub("", _BLOCK.sub("\n", " ".join(_MARKUP.sub(" ", decoded(start)).split())))
    return _lines(html.unescape(text))


def text_lines(data: bytes) -> list[str]:
    """The first lines of a plain-text document; tags such as <PAGE> left out."""
    return _lines(_TAG.sub("", decoded(data[:SOURCE_BYTES])))


def decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _without_ix_header(data: bytes) -> bytes:
    opening = re.search(rb"<ix:header\b", data, re.I)
    closing = re.search(rb"</ix:header\s*>", data[opening.start() :], re.I) if opening else None
    return data if not opening or not closing else data[: opening.start()] + data[opening.start() + closing.end() :]


def _lines(text: str) -> list[str]:
    found, size = [], 0
    for line in text.splitlines():
        line = " ".join(line.replace("\u200b", "").split())
        if line:
            found.append(line)
            size += len(line)
        if size > COVER_CHARACTERS:
            break
    return found


def cover_facts(lines: list[str]) -> dict[str, object]:
    """Fields of `Filing` that the cover prints: form, period_on, company, tickers. What is not printed is absent."""
    text = " ".join(lines)
    form = form_of(text)
    period = (_event_date(text) if form.startswith("8-K") else _period_end(text)) if form else None
    symbols = tuple(dict.fromkeys(_SYMBOL.findall(text))) if re.search(r"trading\s+symbol", text, re.I) else ()
    said = {"form": form, "period_on": period, "company": _company(lines), "tickers": symbols}
    return {key: value for key, value in said.items() if value}


def form_of(text: str) -> str:
    """The form that the cover names first, with /A where an amendment follows at once; "" where none is named."""
    cover = _COVER.search(text[:6000])
    for match in _FORM.finditer(text[:5000]):  # further down it may be the form that a press release speaks of
        if not cover and match.start() and not match[0][:3].isupper():
            continue  # as it does here
        form = re.sub(r"[\s-]", "", match[1]).upper()
        return re.sub(r"^(10|8)", r"\1-", form) + ("/A" if match[2] else "")
    return next((form for pattern, form in _KIND if pattern.search(text[:6000])), "")


def dates(text: str) -> Iterator[tuple[date, int, int]]:
    """Every date with its range."""
    for match in _DATE.finditer(text):
        year, month, day = (match[part] or match[f"{part}2"] or match[f"{part}3"] for part in "ymd")
        number = int(month) if month.isdecimal() else MONTHS.index(month[:3].lower()) + 1
        full = int(year) if len(year) == 4 else int(year) + (1900 if int(year) > 70 else 2000)
        try:
            yield date(full, number, int(day)), match.start(), match.end()
        except ValueError:
            continue


def _period_end(text: str) -> date | None:
    for match in _ENDED.finditer(text[:COVER_CHARACTERS]):
        for found, _, _ in dates(text[match.end() : match.end() + 160]):
            return found
    return None


def _event_date(text: str) -> date | None:
    """The date of the earliest event: behind its caption, else in front; of "report (event)" the second."""
    for caption in (_EVENT, _REPORTED):
        if match := caption.search(text):
            after, before = text[match.end() : match.end() + 100], text[max(0, match.start() - 160) : match.start()]
            for part, last in ((after, False), (before, True)):
                found = list(dates(part))
                if found:
                    return _second_in_brackets(part, found, last)
    return None


def _second_in_brackets(part: str, found: list[tuple[date, int, int]], last: bool) -> date:
    for (_, _, end), (second, start, _) in zip(found, found[1:], strict=False):
        if "(" in part[end:start] and start - end < 6:
            return second
    return found[-1 if last else 0][0]


def _company(lines: list[str]) -> str:
    """The name above "exact name of registrant"; on a cover without these words the one that follows the commission's file number."""
    lines = [_FILE_NUMBER.sub(lambda m: m[0] if m.end() == len(m.string) else "", line) for line in lines[:200]]  # all in one line, in PDFs
    return _above_caption(lines) or _after_file_number(lines)


def _after_file_number(lines: list[str]) -> str:
    for line, following in zip(lines[:40], lines[1:], strict=False):
        if _FILE_NUMBER.fullmatch(line) and not _NO_NAME.search(following):
            return _clean(following)
    return ""


def _above_caption(lines: list[str]) -> str:
    for i, line in enumerate(lines):
        both = line if i + 1 >= len(lines) else f"{line} {lines[i + 1]}"
        match = _EXACT.search(line) or (_EXACT.match(both) if _EXACT.match(both) else None)
        if not match:
            continue
        same = line[: match.start()].strip(" _-–—*:|")
        if len(same) > 2 and not _NO_NAME.search(same):
            return _clean(same)
        for before in reversed(lines[max(0, i - 4) : i]):
            if not _NO_NAME.search(before):
                return _clean(before)
        return ""
    return ""


def _clean(name: str) -> str:
    name = re.sub(r"\s*\(?\bthe [\"“]?(?:registrant|company)[\"”]?\)?$", "", name, flags=re.I)
    return name.strip(" _-–—*:|.,") + ("." if re.search(r"\b(?:Inc|Corp|Co|Ltd|Cos)\.\W*$", name, re.I) else "")


def year_end(data: bytes) -> str | None:
    """MMDD of the fiscal year's end as a quarterly report mentions it ("Form 10-K for the year ended …"): the latest such date."""
    found = []
    for match in _YEAR_END.finditer(data):
        near = _TAG.sub(" ", html.unescape(decoded(data[match.end() : match.end() + 300]).replace("\n", " ")))
        found += [day for day, _, _ in dates(" ".join(near.split())[:24])]
        if len(found) >= 50:
            break
    return max(found).strftime("%m%d") if found else None
