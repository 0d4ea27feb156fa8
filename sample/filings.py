"""The filings of a fictional company: which, when, under which number, and their bytes with the evidence they hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from edgarmill.sample.annual import annual_report
from edgarmill.sample.companies import BASE_YEAR, Company
from edgarmill.sample.current import Current, event_report, results_report
from edgarmill.sample.inline import Evidence, Report
from edgarmill.sample.quarterly import quarterly_report
from edgarmill.sample.submission import Envelope, Piece, accession, certification, picture, schema, submission, subsidiaries

NEW, OLD, OLDER = BASE_YEAR, BASE_YEAR - 1, BASE_YEAR - 2
# What a company files, the most telling first: (kind, fiscal year, quarter or number of the event).
PLAN: tuple[tuple[str, int, int], ...] = (
    ("10-K", NEW, 4), ("10-K", OLD, 4), ("10-Q", NEW, 3), ("10-Q", NEW + 1, 1), ("results", NEW, 4), ("event", NEW, 0),
    ("10-K", OLDER, 4), ("10-Q", NEW, 2), ("10-Q", NEW, 1), ("results", NEW, 3), ("event", NEW, 1), ("10-Q", OLD, 3),
    ("results", NEW, 2), ("results", NEW, 1), ("event", OLD, 0), ("10-Q", OLD, 2), ("10-Q", OLD, 1), ("results", OLD, 4),
)
DAYS = {"10-K": 52, "10-Q": 33, "results": 24}  # after the period's end


@dataclass(frozen=True)
class Made:
    """A filing as it is written, and what it says."""

    accession: str
    company: Company
    kind: str  # 10-K | 10-Q | results | event
    form: str
    year: int
    quarter: int
    period: date
    data: bytes
    evidence: dict[str, Evidence]


def filings_of(company: Company, count: int, weight: int = 1) -> Iterator[Made]:
    """The first `count` filings of the plan."""
    days = [_filed(company, n) for n in range(len(PLAN))]
    for number in range(min(count, len(PLAN))):
        rank = sum((other, n) <= (days[number], number) for n, other in enumerate(days) if other.year == days[number].year)
        yield _make(company, number, days[number], accession(company, days[number], rank), weight)


def _filed(company: Company, number: int) -> date:
    """A business day."""
    kind, year, quarter = PLAN[number]
    rng = company.rng("filed", number)
    if kind == "event":
        day = company.quarter_start(year, 1) + timedelta(days=rng.randrange(60, 330))
    else:
        day = company.quarter_end(year, quarter) + timedelta(days=DAYS[kind] + rng.randrange(7))
    return day + timedelta(days=max(0, 7 - day.isoweekday()) % 7 if day.isoweekday() == 7 else 2 if day.isoweekday() == 6 else 0)


def _make(company: Company, number: int, filed: date, name: str, weight: int) -> Made:
    kind, year, quarter = PLAN[number]
    rng = company.rng("accepted", number)
    accepted = f"{filed:%Y%m%d}{rng.randrange(7, 17):02}{rng.randrange(60):02}{rng.randrange(60):02}"
    if kind in ("results", "event"):
        current = results_report(company, year, quarter, filed) if kind == "results" else event_report(company, year, quarter, filed)
        envelope = Envelope(name, "8-K", filed, filed, accepted, current.items)
        evidence = current.main.evidence | (current.exhibit.evidence if current.exhibit else {})
        return Made(name, company, kind, "8-K", year, quarter, filed, submission(company, envelope, _current(company, current, filed)),
                    evidence)
    report = annual_report(company, year, filed, weight) if kind == "10-K" else quarterly_report(company, year, quarter, filed)
    period = company.quarter_end(year, quarter)
    pieces = _periodic(company, kind, report, period)
    data = submission(company, Envelope(name, kind, period, filed, accepted), pieces)
    return Made(name, company, kind, kind, year, quarter, period, data, report.evidence)


def _periodic(company: Company, form: str, report: Report, period: date) -> list[Piece]:
    stem = f"{company.prefix}-{period:%Y%m%d}"
    pieces = [Piece(form, f"{stem}.htm", form, report.html(stem), "XBRL")]
    if form == "10-K":
        pieces.append(Piece("EX-21", f"{company.prefix}-ex21.htm", "SUBSIDIARIES", subsidiaries(company)))
    pieces.append(Piece("EX-31.1", f"{company.prefix}-ex31_1.htm", "CERTIFICATION", certification(company, 302)))
    pieces.append(Piece("EX-32.1", f"{company.prefix}-ex32_1.htm", "CERTIFICATION", certification(company, 906)))
    pieces.append(Piece("EX-101.SCH", f"{stem}.xsd", "XBRL TAXONOMY EXTENSION SCHEMA", schema(company, stem), "XBRL"))
    if form == "10-K":
        pieces.append(Piece("GRAPHIC", f"{company.prefix}-logo.gif", "LOGO", picture(f"{company.prefix}-logo.gif")))
    return pieces


def _current(company: Company, current: Current, filed: date) -> list[Piece]:
    stem = f"{company.prefix}-{filed:%Y%m%d}"
    pieces = [Piece("8-K", f"{stem}.htm", "8-K", current.main.html(stem), "XBRL")]
    if current.exhibit:
        pieces.append(Piece("EX-99.1", f"{company.prefix}-ex99_1.htm", "EX-99.1", current.exhibit.html("Press release")))
    return pieces
