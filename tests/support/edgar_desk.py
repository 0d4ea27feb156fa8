"""A server to ask and a transport to it, for tests of what EDGAR lists: time passes by sleeping only."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from edgarmill.sample.replay import Limit, ReplayServer, Reply, Request, serving
from edgarmill.schemas.records import Coverage, Listing
from edgarmill.schemas.settings import Settings
from edgarmill.workers.source.edgar.discover import Found, discover
from edgarmill.workers.source.edgar.indexes import Quarter
from edgarmill.workers.source.edgar.selection import Selection, parse_forms, wanted
from edgarmill.workers.transport import Transport

ARCHIVES = "/Archives/edgar"


class Desk:
    def __init__(self, server: ReplayServer, folder: Path) -> None:
        self.server, self.now = server, 1_700_000_000.0
        self.settings = Settings(user_agent="Test Company test@company.example", edgar_url=server.url + "/", edgar_data_url=server.url,
                                 fetch_at_once=4, request_retries=1)
        self.transport = Transport(self.settings, clock=lambda: self.now, sleep=self.pass_time, jitter=lambda: 0.5, pace_folder=str(folder))
        self.known: dict[str, Listing] = {}
        self.coverage: dict[str, Coverage] = {}
        self.events: list[Any] = []
        self.said: list[str] = []

    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    def select(self, **options: Any) -> Selection:
        return wanted(self.transport, self.settings, **options)

    def discover(self, selection: Selection, now: datetime, how: Any = "auto") -> list[Found]:
        """One run, each batch committed as it comes."""
        found = []
        for batch in discover(self.transport, self.settings, selection, self.known, self.coverage, now, how, self.said.append):
            self.known |= {one.accession: one for one in batch.listings}
            self.coverage |= {one.cik: one for one in batch.coverage}
            self.events += batch.events
            found.append(batch)
        return found

    def asked(self) -> list[str]:
        return [request.path for request in self.server.requests]

    def counted(self, run: Callable[[], Any]) -> list[str]:
        """What `run` asks for."""
        before = len(self.server.requests)
        run()
        return self.asked()[before:]


@contextmanager
def scripted_desk(folder: Path, answers: Mapping[str, Reply | bytes]) -> Iterator[Desk]:
    """A desk whose server gives what a table of paths says, and 404 for the rest."""
    empty = folder / "none"
    empty.mkdir()

    def answer(request: Request) -> Reply | None:
        found = answers.get(request.path)
        return Reply(200, found, "text/plain") if isinstance(found, bytes) else found

    with serving(empty, limit=Limit(10_000), script=answer) as server:
        desk = Desk(server, folder)
        with desk.transport:
            yield desk


def noon(day: date) -> datetime:
    """17:00 UTC, which is that day in the east of the United States too."""
    return datetime(day.year, day.month, day.day, 17, tzinfo=UTC)


def selection(*ciks: str, forms: tuple[str, ...] = ("10-K", "10-Q", "8-K"), **options: Any) -> Selection:
    return Selection(tuple(cik.zfill(10) for cik in ciks), parse_forms(forms), **options)


def listing(accession: str = "0000000001-24-000001", form: str = "10-K", filed: str = "2024-03-01", period: str | None = None,
            ciks: tuple[str, ...] = ("0000000001",), **facts: Any) -> Listing:
    base = dict(company="A", tickers=(), items=(), primary="", size=None, accepted="", file_number="", fiscal_year_end=None, sic=None,
                state=None, found="filer", listed_at=noon(date(2024, 6, 1)))
    return Listing(accession, ciks, form, date.fromisoformat(filed), date.fromisoformat(period) if period else None, **(base | facts))


# -- bodies as EDGAR makes them


def columns(*rows: tuple[str, str, str]) -> dict[str, list[Any]]:
    """Of (accession, form, filing date)."""
    return {"accessionNumber": [r[0] for r in rows], "form": [r[1] for r in rows], "filingDate": [r[2] for r in rows]}


def submissions(recent: dict[str, list[Any]], files: list[dict[str, Any]] | None = None, **facts: Any) -> bytes:
    filer = {"cik": "1", "name": "A", "tickers": ["A"], **facts}
    return json.dumps({**filer, "filings": {"recent": recent, "files": files or []}}).encode()


def daily_index(day: date, rows: list[tuple[int, str, str, date, str]]) -> bytes:
    """Of (CIK, name, form, filing date, accession)."""
    lines = ["Description:           Daily Index of EDGAR Dissemination Feed", f"Last Data Received:    {day:%b %d, %Y}",
             "Comments:              webmaster@sec.gov", " ", " ", "CIK|Company Name|Form Type|Date Filed|File Name", "-" * 80]
    lines += [f"{cik}|{name}|{form}|{filed:%Y%m%d}|edgar/data/{cik}/{acc}.txt" for cik, name, form, filed, acc in rows]
    return "".join(line + "\n" for line in lines).encode("latin-1")


def full_index(rows: list[tuple[int, str, str, date, str]]) -> bytes:
    lines = ["Description:           Master Index of EDGAR Dissemination Feed", "Last Data Received:    March 31, 2024",
             "Cloud HTTP:            https://www.sec.gov/Archives/", "", "", "", "CIK|Company Name|Form Type|Date Filed|Filename", "-" * 80]
    lines += [f"{cik}|{name}|{form}|{filed}|edgar/data/{cik}/{acc}.txt" for cik, name, form, filed, acc in rows]
    return "".join(line + "\r\n" for line in lines).encode("latin-1")


def day_folder(*days: date) -> bytes:
    items = [{"last-modified": f"{day} 22:05:00", "name": f"{order}.{day:%Y%m%d}.idx", "type": "text.gif", "size": ""}
             for day in days for order in ("company", "form", "master")]
    items.append({"last-modified": "2024-01-01 00:00:00", "name": "sitemap.20240102.xml", "type": "text.gif", "size": "1"})
    return json.dumps({"directory": {"item": items, "name": "daily-index/2024/QTR1/", "parent-dir": "../"}}).encode()


def daily_path(day: date) -> str:
    quarter = Quarter.of(day)
    return f"{ARCHIVES}/daily-index/{quarter.year}/QTR{quarter.number}/master.{day:%Y%m%d}.idx"


def folder_path(day: date) -> str:
    quarter = Quarter.of(day)
    return f"{ARCHIVES}/daily-index/{quarter.year}/QTR{quarter.number}/index.json"


def full_path(day: date) -> str:
    quarter = Quarter.of(day)
    return f"{ARCHIVES}/full-index/{quarter.year}/QTR{quarter.number}/master.idx"
