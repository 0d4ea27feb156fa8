"""Raw bytes of whatever kind -> the completed Filing and its documents.

Strength of what is said: fields already set on the given Filing by a manifest > SGML header > EDGAR's listing > `dei` facts > cover
page > file name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date, timedelta
from typing import Any

from edgarmill.schemas.errors import BadFile, UnknownForm
from edgarmill.schemas.records import Filing
from edgarmill.workers import cover
from edgarmill.workers.parse.dei import dei_facts
from edgarmill.workers.parse.media import media_of
from edgarmill.workers.parse.parsed import RawDocument
from edgarmill.workers.source.passages import opened_passage
from edgarmill.workers.submission import ACCESSION, Header, Submission, is_submission, item_number, read_submission

FAMILIES = {  # explicit: a match on the beginning would take 10-12G and NT 10-K
    "10-K": "10-K", "10-K405": "10-K", "10-KSB": "10-K", "10-KSB40": "10-K", "10-KT": "10-K",
    "10-KT405": "10-K",
    "10-Q": "10-Q", "10-QSB": "10-Q", "10-QT": "10-Q",
    "8-K": "8-K", "8-K12B": "8-K", "8-K12G3": "8-K", "8-K15D5": "8-K", "8-KT": "8-K",
}
BLOCK_PAGES = (b"Request Rate Threshold Exceeded", b"Undeclared Automated Tool")
_FORM_IN_NAME = re.compile(r"(?<!\d)(10-?k405|10-?ksb40|10-?ksb|10-?qsb|10-?kt|10-?qt|10-?k|10-?q|8-?k)(-?a)?(?![a-z0-9])", re.I)
_DAY_IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d\d)-?([01]\d)-?([0-3]\d)(?!\d)")
_DEFAULTS = {field.name: field.default for field in fields(Filing)}


@dataclass(frozen=True, slots=True)
class Opened:
    """A filing with its documents; those with `left_out` are listed and not parsed."""

    filing: Filing
    documents: tuple[RawDocument, ...]
    warnings: tuple[str, ...] = ()


def describe(known: Filing, data: bytes) -> Opened:
    """Complete `known` from the content. Raises BadFile and UnknownForm, each with what to do."""
    refuse_junk(data, known.accession or known.name)
    alone = RawDocument(1, "", _bare_name(known.name), data, media_of(data, known.name))
    return described(known, read_submission(data) if is_submission(data) else Submission(Header(), (alone,)))


def passage(known: Filing, data: bytes) -> Opened:
    """A passage of a set of questions as it is in raw/: its title names the document, its text is all there is. Raises BadFile."""
    title, text = opened_passage(data)
    return Opened(known, (RawDocument(1, known.form, title, text.encode("utf-8"), known.form),))


def described(known: Filing, submission: Submission) -> Opened:
    """As `describe`, of what is read already. Raises BadFile and UnknownForm."""
    header, warnings = submission.header, submission.warnings
    stated = said_by_manifest(known)
    if known.source == "edgar":  # its listing tells the filer of today and one CIK; the header tells the filer of then and all CIKs
        stated = {k: v for k, v in stated.items() if k == "items" or k not in header_facts(header)}
    form = normal_form(str(stated.get("form") or header.form or submission.documents[0].type))
    documents, primary = choose(submission.documents, form)
    facts = {**name_facts(known.name), **_printed(primary), **({"form": form} if form else {}), **header_facts(header), **stated}
    filing = complete(replace(known, **facts), primary)
    if header.accession and not known.accession.startswith("local-") and header.accession != known.accession:
        warnings += (f"the header says accession {header.accession}",)
    if not primary.type:
        documents = tuple(replace(d, type=filing.form) if d is primary else d for d in documents)
    return Opened(filing, documents, warnings)


def refuse_junk(data: bytes, subject: str) -> None:
    """Raises BadFile for what cannot be a filing."""
    again = "Download it again."
    if not data.strip():
        raise BadFile("the file is empty", subject, again)
    if len(data) < 100_000 and any(sign.lower() in data.lower() for sign in BLOCK_PAGES):
        raise BadFile("a block page of EDGAR, not a filing", subject, "Wait ten minutes, then download it with a declared user agent.")
    media = media_of(data)
    if media == "zip":
        raise BadFile("an archive, whatever its name says", subject, "Unpack it and give the files inside.")
    if media in ("image", "other"):
        raise BadFile("binary or non-text data, whatever its name says", subject, "Give the filing as .txt, .htm or .pdf.")


# --- who says what -----------------------------------------------------------------------------------------------------------------

def said_by_manifest(known: Filing) -> dict[str, Any]:
    """The fields of `known` that somebody set."""
    return {name: getattr(known, name) for name, default in _DEFAULTS.items() if getattr(known, name) != default}


def header_facts(header: Header) -> dict[str, Any]:
    first = next((filer for filer in header.filers if filer.role in ("FILER", "")), header.filers[0] if header.filers else None)
    said: dict[str, Any] = {
        "form": header.form, "filed_on": header.filed_on, "period_on": header.period_on, "accepted_at": header.accepted_at,
        "items": header.items, "ciks": header.ciks, "filers": header.names,
        "file_numbers": tuple(dict.fromkeys(filer.file_number for filer in header.filers if filer.file_number)),
        "film_numbers": tuple(dict.fromkeys(filer.film_number for filer in header.filers if filer.film_number)),
    }
    if first:
        said |= {"company": first.name, "sic": first.sic, "state": first.state, "fiscal_year_end": first.fiscal_year_end}
    return {name: value for name, value in said.items() if value}


def _printed(primary: RawDocument) -> dict[str, Any]:
    """Cover page, overruled by `dei` facts."""
    if primary.media == "html":
        lines = cover.html_lines(primary.data)
        if not lines and len(primary.data) <= cover.SOURCE_BYTES:  # behind so much markup, or a picture, there may be some yet
            raise BadFile("HTML without any text", primary.name, "Download it again.")
        return {**cover.cover_facts(lines), **dei_to_facts(dei_facts(primary.data))}
    if primary.media == "pdf":
        from edgarmill.workers.parse.pdf import first_lines

        return cover.cover_facts(first_lines(primary.data))
    return cover.cover_facts(cover.text_lines(primary.data))


def dei_to_facts(dei: Mapping[str, str]) -> dict[str, Any]:
    form = normal_form(dei.get("DocumentType", ""))
    if form and dei.get("AmendmentFlag", "").lower() == "true" and not form.endswith("/A"):
        form += "/A"
    cik, state = dei.get("EntityCentralIndexKey", ""), dei.get("EntityIncorporationStateCountryCode", "")
    symbol, focus, year = dei.get("TradingSymbol", ""), dei.get("DocumentFiscalPeriodFocus", ""), dei.get("DocumentFiscalYearFocus", "")
    year_end = re.sub(r"\D", "", dei.get("CurrentFiscalYearEndDate", ""))
    said = {
        "form": form, "period_on": _day(dei.get("DocumentPeriodEndDate", "")), "company": dei.get("EntityRegistrantName", ""),
        "ciks": (cik.zfill(10),) if cik.isascii() and cik.isdigit() and len(cik) <= 10 else (),
        "tickers": (symbol.upper(),) if re.fullmatch(r"[A-Za-z]{1,6}([.-][A-Za-z]{1,3})?", symbol) else (),
        "state": state if re.fullmatch(r"[A-Z]\w", state) else "",
        "fiscal_year": int(year) if re.fullmatch(r"(19|20)\d\d", year) else None,
        "fiscal_quarter": {"FY": 4, "Q1": 1, "Q2": 2, "Q3": 3, "Q4": 4}.get(focus.upper()),
        "fiscal_year_end": year_end if re.fullmatch(r"\d{4}", year_end) else None,
    }
    return {name: value for name, value in said.items() if value}


def name_facts(name: str) -> dict[str, Any]:
    """Form and period out of a file name such as `aapl-20240629-10q.htm`."""
    bare = ACCESSION.sub("", _bare_name(name))
    said: dict[str, Any] = {}
    if form := _FORM_IN_NAME.search(bare):
        said["form"] = normal_form(form[1] + ("/A" if form[2] else ""))
    if (match := _DAY_IN_NAME.search(bare)) and (day := _day("-".join(match.groups()))):
        said["period_on"] = day
    return said


def _bare_name(name: str) -> str:
    return re.sub(r"\.(gz|zst)$", "", name.rsplit("/", 1)[-1], flags=re.I)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


# --- what follows ------------------------------------------------------------------------------------------------------------------

def normal_form(form: str) -> str:
    """`10q`, `10QSB`, `10-K405/A` -> the spelling of FAMILIES."""
    return re.sub(r"^(10|8)-?(?=[KQ])", r"\1-", form.upper().strip()).replace(" ", "").replace("-A", "/A")


def family_of(form: str) -> str:
    """10-K | 10-Q | 8-K, or "other"."""
    return FAMILIES.get(normal_form(form).removesuffix("/A"), "other")


def complete(filing: Filing, primary: RawDocument) -> Filing:
    """Family, amendment, fiscal year and quarter, address. Raises UnknownForm."""
    form = normal_form(filing.form)
    family = family_of(form)
    if family == "other":
        what = f"form {form} is not one this run takes" if form else "neither header nor cover page names a form"
        raise UnknownForm(what, filing.accession, "Takes 10-K, 10-Q and 8-K families; name the form in a manifest if it is one.")
    year_end = filing.fiscal_year_end
    if family == "10-K" and filing.period_on and not year_end:
        year_end = filing.period_on.strftime("%m%d")
    if family == "10-Q" and not year_end:
        year_end = cover.year_end(_text_or_markup(primary))
    year, quarter = fiscal(family, filing.period_on, year_end)
    return replace(
        filing, form=form, family=family, amends=form.endswith("/A"), fiscal_year_end=year_end,
        items=tuple(item_number(item, filing.filed_on) for item in filing.items),
        fiscal_year=filing.fiscal_year if filing.fiscal_year is not None else year,
        fiscal_quarter=filing.fiscal_quarter if filing.fiscal_quarter is not None or family == "8-K" else quarter,
        url=filing.url or edgar_url(filing.accession, filing.ciks),
    )


def _text_or_markup(document: RawDocument) -> bytes:
    if document.media != "pdf":
        return document.data
    from edgarmill.workers.parse.pdf import MOST_PAGES, first_lines

    return "\n".join(first_lines(document.data, MOST_PAGES)).encode("utf-8", "replace")


def fiscal(family: str, period: date | None, year_end: str | None) -> tuple[int | None, int | None]:
    """Fiscal year and quarter of a period. A year that ends in January or the first week of February bears the number of the year before.

    An 8-K takes the calendar year of its event and no quarter; without a known year end a quarter takes its calendar year, unnumbered.
    """
    if period is None:
        return None, 4 if family == "10-K" else None
    if family == "8-K":
        return period.year, None
    if family == "10-K":
        return _bears(period), 4
    if year_end is None:
        return period.year, None
    month, day = int(year_end[:2]), min(int(year_end[2:]), 28)
    nearby = period - timedelta(days=10)  # 52/53-week years end up to a week after their nominal day
    end = date(nearby.year, month, day)
    end = end if end >= nearby else date(nearby.year + 1, month, day)
    days_left = (end - period).days
    return _bears(end), min(3, max(1, 4 - round(days_left / 91.3)))


def _bears(end: date) -> int:
    return end.year - 1 if end.month == 1 or (end.month == 2 and end.day <= 7) else end.year


def edgar_url(accession: str, ciks: tuple[str, ...]) -> str | None:
    """The filing's index page on EDGAR: it exists for every era, under the folder of any of its filers."""
    if not ciks or not ACCESSION.fullmatch(accession):
        return None
    return f"https://www.sec.gov/Archives/edgar/data/{int(ciks[0])}/{accession.replace('-', '')}/{accession}-index.htm"


def choose(documents: tuple[RawDocument, ...], form: str) -> tuple[tuple[RawDocument, ...], RawDocument]:
    """All documents, `left_out` set on those that are not parsed, and the primary one: type = form first, then sequence.

    Exhibits 13 and 99 are parsed too. Raises BadFile without a primary document.
    """
    readable = [document for document in documents if not document.left_out or document.media == "pdf"]
    ranked = sorted(readable, key=lambda document: rank(document, form))
    if not ranked:
        raise BadFile("no document of the submission carries text", "", "Download the full submission text again.")
    primary = replace(ranked[0], left_out="")
    chosen = []
    for document in documents:
        if document is ranked[0]:
            chosen.append(primary)
        elif document.left_out or re.match(r"EX-(13|99)(?!\d)", document.type):
            chosen.append(document)
        else:
            reason = f"{document.type or 'a further document'} is not indexed: only the main document, EX-13 and EX-99 are"
            chosen.append(replace(document, left_out=reason))
    return tuple(chosen), primary


def rank(document: RawDocument, form: str) -> tuple[bool, bool, int]:
    """The order in which documents are taken for the primary one of a filing."""
    return normal_form(document.type) != form, document.media == "pdf", document.sequence
