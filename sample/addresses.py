"""What stands at each of EDGAR's addresses, made from an archive. Paths are matched whole and never touch the file system."""

from __future__ import annotations

import gzip
import html
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from edgarmill.sample.archive import Archive, Entry, Filer, Part, header
from edgarmill.sample.headers import tagged

COLUMNS = ("accessionNumber", "filingDate", "reportDate", "acceptanceDateTime", "act", "form", "fileNumber", "filmNumber", "items", "size",
           "isXBRL", "isInlineXBRL", "primaryDocument", "primaryDocDescription")
MEDIA = {"htm": "text/html", "html": "text/html", "txt": "text/plain", "xml": "application/xml", "xsd": "application/xml",
         "gif": "image/gif", "jpg": "image/jpeg", "pdf": "application/pdf"}


@dataclass(frozen=True, slots=True)
class Page:
    body: bytes
    media: str


def page(archive: Archive, path: str, page_size: int) -> Page | None:
    """What EDGAR would answer at this path, or None: not there."""
    for pattern, make in ADDRESSES:
        found = re.fullmatch(pattern, path)
        if found:
            return make(archive, page_size, *found.groups())
    return None


def _company_tickers(archive: Archive, page_size: int) -> Page:
    rows = {str(n): {"cik_str": int(cik), "ticker": ticker, "title": name} for n, (cik, name, ticker, _) in enumerate(archive.tickers)}
    return _json(rows)


def _company_tickers_exchange(archive: Archive, page_size: int) -> Page:
    data = [[int(cik), name, ticker, exchange or None] for cik, name, ticker, exchange in archive.tickers]
    return _json({"fields": ["cik", "name", "ticker", "exchange"], "data": data})


def _submissions(archive: Archive, page_size: int, cik: str) -> Page | None:
    """The filer and its newest `page_size` filings; older ones are named in `filings.files`."""
    entries = archive.by_filer.get(cik.lstrip("0"))
    if not entries:
        return None
    filer = _filer(entries, cik.lstrip("0"))
    mine = [t for t in archive.tickers if t[0].lstrip("0") == filer.cik]
    pages = [entries[start:start + page_size] for start in range(page_size, len(entries), page_size)]
    files = [{"name": f"CIK{cik}-submissions-{n:03}.json", "filingCount": len(rows), "filingFrom": _day(rows[-1].filed),
              "filingTo": _day(rows[0].filed)} for n, rows in enumerate(pages, 1)]
    return _json({
        "cik": filer.cik, "entityType": "operating", "sic": filer.sic, "sicDescription": "", "name": filer.name,
        "tickers": [t[2] for t in mine], "exchanges": [t[3] for t in mine], "ein": "", "category": "",
        "fiscalYearEnd": filer.fiscal_year_end, "stateOfIncorporation": filer.state, "formerNames": [],
        "filings": {"recent": _columns(entries[:page_size]), "files": files},
    })


def _submissions_page(archive: Archive, page_size: int, cik: str, number: str) -> Page | None:
    entries = archive.by_filer.get(cik.lstrip("0"), [])
    start = int(number) * page_size
    return _json(_columns(entries[start:start + page_size])) if 0 < start < len(entries) else None


def _columns(entries: Iterable[Entry]) -> dict[str, list[object]]:
    rows = [(e.accession, _day(e.filed), _day(e.period), _accepted(e), "34", e.form, "", "", ",".join(e.items), e.size, int(e.inline),
             int(e.inline), e.primary, e.description or e.form) for e in entries]
    return {name: [row[n] for row in rows] for n, name in enumerate(COLUMNS)}


def _submission(archive: Archive, page_size: int, cik: str, folder: str | None, accession: str) -> Page | None:
    entry = _of(archive, cik, accession)
    if entry is None or folder not in (None, accession.replace("-", "")):
        return None
    return Page(archive.text(entry), "text/plain")


def _document(archive: Archive, page_size: int, cik: str, folder: str, name: str) -> Page | None:
    entry = _of(archive, cik, _dashed(folder))
    for part in archive.parts(entry) if entry else ():
        if part.name == name:
            return Page(part.body, MEDIA.get(name.rpartition(".")[2].lower(), "application/octet-stream"))
    return None


def _folder(archive: Archive, page_size: int, cik: str, folder: str) -> Page | None:
    """index.json of a filing's folder; sizes are strings, and empty for the full text."""
    entry = _of(archive, cik, _dashed(folder))
    if entry is None:
        return None
    stamp = _accepted(entry)[:19].replace("T", " ")
    names = [(entry.accession + ending, "") for ending in ("-index-headers.html", "-index.html", ".txt")]
    names += [(p.name, str(len(p.body))) for p in archive.parts(entry) if p.name]
    items = [{"last-modified": stamp, "name": name, "type": "text.gif", "size": size} for name, size in names]
    parent = f"/Archives/edgar/data/{cik}"
    return _json({"directory": {"item": items, "name": f"{parent}/{folder}", "parent-dir": parent}})


def _detail(archive: Archive, page_size: int, cik: str, folder: str, accession: str) -> Page | None:
    """-index.htm: the form, the dates and the table of documents."""
    entry = _of(archive, cik, accession)
    if entry is None or folder != accession.replace("-", ""):
        return None
    base = f"/Archives/edgar/data/{cik}/{folder}/"
    table = [(html.escape(p.sequence), html.escape(p.description), f'<a href="{base}{html.escape(p.name)}">{html.escape(p.name)}</a>',
              html.escape(p.type), str(len(p.body))) for p in archive.parts(entry)]
    rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in table)
    accepted = _accepted(entry)[:19].replace("T", " ")
    dates = (("Filing Date", _day(entry.filed)), ("Accepted", accepted), ("Period of Report", _day(entry.period)))
    facts = "".join(f'<div class="infoHead">{label}</div><div class="info">{value}</div>\n' for label, value in dates)
    return Page(f"""<html><head><title>EDGAR Filing Documents for {accession}</title></head><body>
<div id="formName"><strong>Form {html.escape(entry.form)}</strong></div>
{facts}<table class="tableFile" summary="Document Format Files">
<tr><th>Seq</th><th>Description</th><th>Document</th><th>Type</th><th>Size</th></tr>
{rows}</table></body></html>
""".encode(), "text/html")


def _headers(archive: Archive, page_size: int, cik: str, folder: str, accession: str) -> Page | None:
    """-index-headers.html: the header in tags as a comment, then as the file has it, then each document's head with a link for its text."""
    entry = _of(archive, cik, accession)
    if entry is None or folder != accession.replace("-", ""):
        return None
    head = header(archive.text(entry))
    if head.startswith(b"<SUBMISSION>"):  # a file has but one dialect: from tabs tags can be made, not the other way
        top = f"<SEC-HEADER>{accession}.hdr.sgml : {entry.filed}\n".encode()
        tags = head = top + head.removeprefix(b"<SUBMISSION>").lstrip(b"\n") + b"</SEC-HEADER>"
    else:
        tags = tagged(head.decode("latin-1"), entry.filed).encode("latin-1")
    first = f"<SEC-DOCUMENT>{accession}-index.html : {entry.filed}\n".encode()
    blocks = b"".join(_document_block(part, n) for n, part in enumerate(archive.parts(entry), 1))
    title = f"<HTML><HEAD><TITLE>SEC EDGAR Submission {accession}</TITLE>\n".encode()
    comment = b"<!--\n" + tags.strip(b"\n") + b"\n-->\n"
    text = _escaped(first + head.strip(b"\n") + b"\n") + blocks + _escaped(b"</SEC-DOCUMENT>")
    return Page(title + comment + b"</HEAD><BODY>\n<PRE>" + text + b"</PRE></BODY></HTML>\n", "text/html")


def _document_block(part: Part, number: int) -> bytes:
    """XML has two links: to its rendering, which is not here, and to itself. A document without a name has none."""
    said = (("TYPE", part.type), ("SEQUENCE", part.sequence), ("FILENAME", part.name), ("DESCRIPTION", part.description))
    lines = "".join(f"<{tag}>{value}\n" for tag, value in said if value)
    name, stem = html.escape(part.name), html.escape(part.name.rpartition(".")[0])
    number_text = part.sequence or str(number)
    links = ""
    if part.name.lower().endswith(".xml") and not part.type.startswith("EX-101"):
        links = (f'<a href="xsl/{name}">Document {number_text} - file: {stem}.html</a><br>\n'
                 f'<a href="{name}">Document {number_text} - RAW XML: {name}</a><br>\n')
    elif part.name:
        links = f'<a href="{name}">Document {number_text} - file: {name}</a><br>\n'
    return b"".join((_escaped(f"<DOCUMENT>\n{lines}<TEXT>\n".encode("latin-1", "replace")), links.encode(), _escaped(b"</DOCUMENT>\n")))


def _escaped(text: bytes) -> bytes:
    return text.replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;")


def _full_index(archive: Archive, page_size: int, year: str, quarter: str, ending: str) -> Page | None:
    entries = [e for e in archive.entries.values() if _quarter(e.filed) == (year, quarter)]
    if not entries:
        return None
    made = _master(_rows(entries, lambda e: _day(e.filed)), max(e.filed for e in entries), "Master Index of EDGAR Dissemination Feed",
                   "Filename", "\r\n")
    return made if ending == "idx" else Page(gzip.compress(made.body, 6, mtime=0), "application/gzip")


def _daily_index(archive: Archive, page_size: int, year: str, quarter: str, day: str) -> Page | None:
    """What was published on that day, whatever its filing date. A day without a filing of ours still has those of others."""
    entries = [e for e in archive.entries.values() if archive.day(e) == day]
    if _quarter(day) != (year, quarter) or not (entries or day in archive.days):
        return None
    stranger = f"9999999|SOMEONE ELSE INC|4|{day}|edgar/data/9999999/9999999999-{day[2:4]}-{day[2:]}.txt"
    return _master(_rows(entries, lambda e: e.filed) or [stranger], day, "Daily Index of EDGAR Dissemination Feed", "File Name", "\n")


def _daily_folder(archive: Archive, page_size: int, year: str, quarter: str) -> Page | None:
    days = sorted(d for d in {archive.day(e) for e in archive.entries.values()} | archive.days if _quarter(d) == (year, quarter))
    items = [{"last-modified": f"{_day(day)} 22:05:00", "name": f"master.{day}.idx", "type": "text.gif", "size": ""} for day in days]
    return _json({"directory": {"item": items, "name": f"daily-index/{year}/QTR{quarter}/", "parent-dir": "../"}}) if days else None


def _full_folder(archive: Archive, page_size: int, year: str, quarter: str) -> Page | None:
    if not any(_quarter(e.filed) == (year, quarter) for e in archive.entries.values()):
        return None
    stamp = f"{year}-01-01 00:00:00"
    items = [{"last-modified": stamp, "name": name, "type": "text.gif", "size": ""} for name in ("master.gz", "master.idx")]
    return _json({"directory": {"item": items, "name": f"full-index/{year}/QTR{quarter}/", "parent-dir": "../"}})


def _rows(entries: list[Entry], day: Callable[[Entry], str]) -> list[str]:
    """One per filing and filer, as EDGAR has it."""
    return sorted(f"{f.cik}|{f.name}|{e.form}|{day(e)}|edgar/data/{f.cik}/{e.accession}.txt" for e in entries for f in e.filers)


def _master(rows: list[str], received: str, title: str, last: str, end: str) -> Page:
    """The two families differ in heading, dates and line ends."""
    head = [f"Description:           {title}", f"Last Data Received:    {_day(received)}",
            "Comments:              local replay server of edgarmill", "", f"CIK|Company Name|Form Type|Date Filed|{last}", "-" * 80]
    return Page("".join(line + end for line in head + rows).encode("latin-1", "replace"), "text/plain")


def _of(archive: Archive, cik: str, accession: str) -> Entry | None:
    """The filing, under any of its filers' folders."""
    entry = archive.entries.get(accession)
    return entry if entry and any(f.cik == cik.lstrip("0") for f in entry.filers) else None


def _filer(entries: list[Entry], cik: str) -> Filer:
    return next(f for e in entries for f in e.filers if f.cik == cik)


def _dashed(folder: str) -> str:
    return f"{folder[:10]}-{folder[10:12]}-{folder[12:]}"


def _quarter(day: str) -> tuple[str, str]:
    return (day[:4], str((int(day[4:6]) + 2) // 3)) if len(day) == 8 and day.isdigit() else ("", "")


def _day(digits: str) -> str:
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}" if len(digits) >= 8 else ""


def _accepted(entry: Entry) -> str:
    """Eastern time with a Z, which is false: as EDGAR writes it for many filers."""
    stamp = entry.accepted if len(entry.accepted) == 14 else entry.filed + "000000"
    return f"{_day(stamp)}T{stamp[8:10]}:{stamp[10:12]}:{stamp[12:14]}.000Z" if len(stamp) == 14 else ""


def _json(value: object) -> Page:
    return Page(json.dumps(value, separators=(",", ":")).encode(), "application/json")


ACC = r"\d{10}-\d{2}-\d{6}"
ADDRESSES: tuple[tuple[str, Callable[..., Page | None]], ...] = (
    (r"/files/company_tickers\.json", _company_tickers),
    (r"/files/company_tickers_exchange\.json", _company_tickers_exchange),
    (r"/submissions/CIK(\d{10})\.json", _submissions),
    (r"/submissions/CIK(\d{10})-submissions-(\d{3})\.json", _submissions_page),
    (rf"/Archives/edgar/data/(\d{{1,10}})/(?:(\d{{18}})/)?({ACC})\.txt", _submission),
    (r"/Archives/edgar/data/(\d{1,10})/(\d{18})/index\.json", _folder),
    (rf"/Archives/edgar/data/(\d{{1,10}})/(\d{{18}})/({ACC})-index\.html?", _detail),
    (rf"/Archives/edgar/data/(\d{{1,10}})/(\d{{18}})/({ACC})-index-headers\.html", _headers),
    (r"/Archives/edgar/data/(\d{1,10})/(\d{18})/([A-Za-z0-9_.-]{1,120})", _document),
    (r"/Archives/edgar/full-index/(\d{4})/QTR([1-4])/master\.(idx|gz)", _full_index),
    (r"/Archives/edgar/full-index/(\d{4})/QTR([1-4])/index\.json", _full_folder),
    (r"/Archives/edgar/daily-index/(\d{4})/QTR([1-4])/master\.(\d{8})\.idx", _daily_index),
    (r"/Archives/edgar/daily-index/(\d{4})/QTR([1-4])/index\.json", _daily_folder),
)
