"""What EDGAR lists of a selection's filers, with as few requests as what the lake knows allows.

A filer that is not covered for the window is asked for by itself. Those that are need the daily indexes since: one request per day of
publication, however many filers. Where more days were missed than filers are to be asked, the filers are asked. The full index backfills
whole quarters and shows what EDGAR has changed or taken away. What is found is yielded in batches; nothing here ever takes a listing away.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Literal

from edgarmill.schemas.errors import BadInput, RunError, UnknownName
from edgarmill.schemas.records import Coverage, Event, Listing
from edgarmill.schemas.settings import Settings
from edgarmill.workers.at_once import at_once
from edgarmill.workers.source.edgar import indexes, submissions
from edgarmill.workers.source.edgar.indexes import Quarter, Row
from edgarmill.workers.source.edgar.selection import Selection
from edgarmill.workers.submission import EASTERN
from edgarmill.workers.transport import Transport

How = Literal["auto", "filers", "full"]
Report = Callable[[str], None]
DAY = timedelta(days=1)
FIRST_DAY = date(1993, 1, 1)  # of EDGAR's full index
SETTLES = timedelta(days=7)  # after a quarter's end its full index still gains rows
FILERS_PER_BATCH = 50
DAYS_PER_BATCH = 25
TOLD = 5  # of many that fail alike
HOPELESS = 20  # filers asked, and no answer to any of them
QUARTERS_AT_ONCE = 2  # each has up to 32 MB
STRENGTH = ("daily", "filer", "full")  # of Listing.found: a closed quarter wins over a filer's list
PER_FILING = ("period_on", "items", "primary", "size")  # the newest word holds
FILLED = ("company", "tickers", "accepted", "file_number", "fiscal_year_end", "sic", "state")  # the first word holds: filers differ in them


@dataclass(frozen=True)
class Found:
    """To be committed together. Listings replace by accession, coverage by CIK.

    `unread` names filers and indexes that could not be read; the same words went to `report`. `asked`: so many filers of so many.
    """

    listings: tuple[Listing, ...] = ()
    coverage: tuple[Coverage, ...] = ()
    events: tuple[Event, ...] = ()
    unread: tuple[str, ...] = ()
    asked: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Plan:
    """What will be asked: filers by themselves, closed quarters' full indexes, and the daily indexes published from `days_from` on."""

    filers: tuple[str, ...] = ()
    quarters: tuple[Quarter, ...] = ()
    days_from: date | None = None


def discover(transport: Transport, settings: Settings, selection: Selection, known: Mapping[str, Listing],
             coverage: Mapping[str, Coverage], now: datetime, how: How = "auto", report: Report = lambda line: None) -> Iterator[Found]:
    """What is new or changed, in batches. A filer or a day that cannot be read is said by `report`, and left uncovered.

    Raises UnknownName where EDGAR knows none of the filers, RunError where it answers for none, and other RunErrors (Blocked) after
    yielding what was found before.
    """
    coverage = _of_the_past(coverage, eastern_day(now))
    crawl = _Crawl(transport, settings, selection, dict(known), dict(coverage), now, report, trusting=how != "filers")
    if how == "full":
        yield from crawl.by_quarter(plan(selection, known, coverage, now, "full").quarters)
    steps = plan(selection, crawl.known, crawl.coverage, now, "filers" if how == "filers" else "auto")
    yield from crawl.by_filer(steps.filers)
    if steps.days_from is not None:
        yield from crawl.by_day(steps.days_from)
    if crawl.unread:
        yield Found(unread=tuple(crawl.unread))


def plan(selection: Selection, known: Mapping[str, Listing], coverage: Mapping[str, Coverage], now: datetime, how: How = "auto") -> Plan:
    """The cheapest way to complete coverage. For "full" only the quarters: what follows is planned anew from what they gave."""
    today = eastern_day(now)
    coverage = _of_the_past(coverage, today)
    if how == "filers":
        return Plan(filers=selection.ciks)
    if how == "full":
        last = today - SETTLES
        closed = (q for q in indexes.quarters(selection.first or FIRST_DAY, last) if q.last_day <= last)
        return Plan(quarters=tuple(closed))
    of_filer = _by_filer(known.values())
    ready = [cik for cik in selection.ciks if covers(selection, of_filer.get(cik, ()), coverage.get(cik))]
    start = _cheapest(sorted(coverage[cik].through for cik in ready), today)
    late = {cik for cik in ready if start is None or coverage[cik].through + DAY < start}
    asked = tuple(cik for cik in selection.ciks if cik in late or cik not in set(ready))
    return Plan(filers=asked, days_from=start)


def _of_the_past(coverage: Mapping[str, Coverage], today: date) -> dict[str, Coverage]:
    """What reaches into days to come was written while the clock was wrong: nobody has read them, so it counts for nothing."""
    return {cik: one for cik, one in coverage.items() if one.through < today}


def covers(selection: Selection, listings: Iterable[Listing], coverage: Coverage | None) -> bool:
    """The filer's listing reaches back far enough: to the window's begin, or to what meets the limits."""
    if coverage is None:
        return False
    if coverage.since is None or (selection.first is not None and coverage.since <= selection.first):
        return True
    since = coverage.since
    return selection.enough(one for one in listings if one.filed_on is not None and one.filed_on >= since)


def _cheapest(through: list[date], today: date) -> date | None:
    """First day whose index is read so that filers asked by themselves (those behind it) and days together are fewest."""
    if not through:
        return None
    cost, start = min((index + _weekdays(day + DAY, today), day + DAY) for index, day in enumerate(through))
    return start if cost < len(through) else None


def _weekdays(first: date, end: date) -> int:
    """From `first`, without `end`."""
    weeks, rest = divmod(max((end - first).days, 0), 7)
    return 5 * weeks + sum((first + n * DAY).weekday() < 5 for n in range(rest))


def eastern_day(now: datetime) -> date:
    return now.astimezone(EASTERN).date()


def _by_filer(listings: Iterable[Listing]) -> dict[str, list[Listing]]:
    found: dict[str, list[Listing]] = {}
    for listing in listings:
        for cik in listing.ciks:
            found.setdefault(cik, []).append(listing)
    return found


class _Crawl:
    """One run's requests, and what is known so far."""

    def __init__(self, transport: Transport, settings: Settings, selection: Selection, known: dict[str, Listing],
                 coverage: dict[str, Coverage], now: datetime, report: Report, trusting: bool) -> None:
        self.transport, self.settings, self.selection = transport, settings, selection
        self.known, self.coverage, self.now, self.report = known, coverage, now, report
        self.ciks, self.today, self.trusting = frozenset(selection.ciks), eastern_day(now), trusting
        self.seen: set[str] = set()  # in full indexes
        self.unread: list[str] = []

    # -- by filer

    def by_filer(self, ciks: Sequence[str]) -> Iterator[Found]:
        batch: list[Found] = []
        unknown: list[str] = []
        failures: list[BadInput] = []
        done = 0
        with closing(at_once(self._ask, ciks, self.settings.fetch_at_once, self.transport.stop)) as answers:
            try:
                for done, (cik, future) in enumerate(answers, 1):
                    try:
                        batch.append(self._of_filer(cik, future.result()))
                    except BadInput as failure:
                        if getattr(failure, "status", None) == 404 and cik not in self.coverage:
                            unknown.append(cik)
                        else:
                            failures.append(failure)
                            self._not_read(f"filer {cik}", failure, tell=len(failures) <= TOLD)
                    if len(failures) == done == HOPELESS:
                        raise _no_answer(failures)
                    if done % FILERS_PER_BATCH == 0:
                        yield _joined(batch, (done, len(ciks)))
                        batch = []
            except RunError:
                if batch:
                    yield _joined(batch, (done, len(ciks)))
                raise
        if ciks:
            yield _joined(batch, (done, len(ciks)))
        self._tell(sorted(unknown, key=ciks.index), failures)

    def _tell(self, unknown: Sequence[str], failures: Sequence[BadInput]) -> None:
        """Those that EDGAR does not know, in one line, and how many more failed. Raises where it is all that was asked."""
        some = ", ".join(unknown[:TOLD]) + (f" and {len(unknown) - TOLD:,} more" if len(unknown) > TOLD else "")
        if len(unknown) + len(failures) == len(self.ciks) and self.ciks.isdisjoint(self.coverage):
            if failures:
                raise _no_answer(failures)
            raise UnknownName("EDGAR has no filer with this CIK", some, "Check the number.")
        if unknown:
            self.report(f"EDGAR has no filer with this CIK, it is left out: {some}")
        if len(failures) > TOLD:
            self.report(f"{len(failures) - TOLD:,} more filers are not listed; run the same command again")

    def _not_read(self, what: str, failure: BadInput, more: str = "", tell: bool = True) -> None:
        self.unread.append(what)
        if tell:
            self.report(f"{what} could not be read{more}: {failure.subject}: {failure.what}")

    def _ask(self, cik: str) -> submissions.Listed:
        mine = self.coverage.get(cik) if self.trusting else None
        return submissions.list_filer(self.transport, self.settings, cik, self.now, since=self.selection.first, have=mine,
                                      known=self.known, enough=self.selection.enough)

    def _of_filer(self, cik: str, listed: submissions.Listed) -> Found:
        listings, events = self._take(listed.listings, lambda before: before.found != "full")
        covered = Coverage(cik, listed.since, self.today - DAY, "filer", self.now)
        return Found(listings, self._cover([covered]), events)

    # -- by day of publication

    def by_day(self, start: date) -> Iterator[Found]:
        """Days in order, so that what is covered has no hole: the first that cannot be read ends it. A day before `start` whose index was
        written since it was read, or came late, is read again."""
        read_at = min((one.at for cik, one in self.coverage.items() if cik in self.ciks), default=self.now)
        days = [day for day, written in self._published(start)
                if start <= day <= self.today or (day < start and written is not None and written > read_at)]
        for place in range(0, len(days), DAYS_PER_BATCH):
            some = days[place:place + DAYS_PER_BATCH]
            read, failure = self._read(some)
            yield from self._of_days(some, read, start)
            if failure is not None:
                raise failure
            if len(read) < len(some):
                return

    def _published(self, start: date) -> Iterator[tuple[date, datetime | None]]:
        """Days with an index, and when it was written. A folder that cannot be read ends it; one that is absent is no news in the first
        days of its quarter."""
        for quarter in indexes.quarters(start, self.today):
            try:
                yield from indexes.published(self.transport, self.settings, quarter).items()
            except BadInput as failure:
                young = self.today - quarter.first_day <= SETTLES
                if not (young and getattr(failure, "status", None) in (403, 404)):  # which of the two differs by era
                    self._not_read(f"folder of daily indexes, {quarter.year} quarter {quarter.number},", failure, " nor any day after it")
                return

    def _read(self, days: Sequence[date]) -> tuple[dict[date, list[Row]], RunError | None]:
        read: dict[date, list[Row]] = {}
        with closing(at_once(lambda day: indexes.daily(self.transport, self.settings, day, self.ciks), days,
                             self.settings.fetch_at_once, self.transport.stop)) as answers:
            for day, future in answers:
                try:
                    read[day] = future.result()
                except BadInput as failure:
                    self._not_read(f"daily index of {day}", failure, " nor any day after it")
                except RunError as failure:
                    return read, failure
        return read, None

    def _of_days(self, days: Sequence[date], read: Mapping[date, list[Row]], start: date) -> Iterator[Found]:
        listings: dict[str, Listing] = {}
        events: list[Event] = []
        through: date | None = None
        for day in days:
            if day not in read:
                break
            new, said = self._take(self._merged(read[day], "daily"), partial(self._is_news, day))
            listings |= {listing.accession: listing for listing in new}
            events += said
            through = max(start - DAY, min(day, self.today - DAY))  # today's file may still be written: it is read again
        covered: tuple[Coverage, ...] = ()
        if through is not None:
            behind = [self.coverage[cik] for cik in self.selection.ciks if cik in self.coverage]
            covered = self._cover(replace(one, through=through, found="daily", at=self.now) for one in behind
                                  if start - DAY <= one.through < through)
        if listings or covered or events:
            yield Found(tuple(listings.values()), covered, tuple(events))

    def _is_news(self, day: date, listing: Listing) -> bool:
        """What was published that day is later than what is known of the filing; else the day is read again."""
        return all(day > self.coverage[cik].through for cik in self.ciks.intersection(listing.ciks) if cik in self.coverage)

    # -- by closed quarter

    def by_quarter(self, quarters: Sequence[Quarter]) -> Iterator[Found]:
        """Newest first, so that coverage grows backwards from the last closed quarter and has no hole."""
        since: date | None = None
        whole, done = True, set[Quarter]()
        newest_first = list(reversed(quarters))
        for place in range(0, len(newest_first), QUARTERS_AT_ONCE):
            some = newest_first[place:place + QUARTERS_AT_ONCE]
            read: dict[Quarter, list[Row]] = {}
            with closing(at_once(lambda q: indexes.full(self.transport, self.settings, q, self.ciks), some, QUARTERS_AT_ONCE,
                                 self.transport.stop)) as answers:
                for quarter, future in answers:
                    try:
                        read[quarter] = future.result()
                    except BadInput as failure:
                        self._not_read(f"full index of {quarter.year} quarter {quarter.number}", failure)
            for quarter in some:
                whole = whole and quarter in read
                since = quarter.first_day if whole else since
                if quarter in read:
                    done.add(quarter)
                    yield self._of_quarter(read[quarter])
        first = None if since is None or since <= FIRST_DAY else since
        covered = () if since is None else self._cover(Coverage(cik, first, newest_first[0].last_day, "full", self.now)
                                                       for cik in self.selection.ciks)
        yield Found(coverage=covered, events=self._gone(done))

    def _of_quarter(self, rows: list[Row]) -> Found:
        listings, events = self._take(self._merged(rows, "full"), lambda before: True)
        self.seen |= {row.accession for row in rows if row.accession in self.known}
        return Found(listings, (), events)

    def _gone(self, quarters: Container[Quarter]) -> tuple[Event, ...]:
        """Filings of closed quarters that no full index holds any more. They stay listed: it may be a withdrawal, and may be a mistake."""
        return tuple(Event(one.accession, "unlisted", f"{one.form} {one.filed_on}", "not in the full index of its quarter", self.now)
                     for one in self.known.values()
                     if one.filed_on is not None and Quarter.of(one.filed_on) in quarters and one.accession not in self.seen
                     and not self.ciks.isdisjoint(one.ciks))

    # -- what is known

    def _merged(self, rows: Iterable[Row], found: str) -> list[Listing]:
        """One listing per accession that has a filer of the selection, with all filers of its rows."""
        groups: dict[str, list[Row]] = {}
        for row in rows:
            groups.setdefault(row.accession, []).append(row)
        return [listing_of(group, found, self.now) for accession, group in groups.items()
                if any(row.cik in self.ciks for row in group) and (group[0].form in submissions.FORMS or accession in self.known)]

    def _take(self, listings: Iterable[Listing], wins: Callable[[Listing], bool]) -> tuple[tuple[Listing, ...], tuple[Event, ...]]:
        """Those that are new or change what is known, and events of changed forms and dates."""
        new: dict[str, Listing] = {}
        events = []
        for listing in listings:
            before = self.known.get(listing.accession)
            after = listing if before is None else merged(before, listing, wins(before))
            if after == before:
                continue
            if before is not None and (before.form, before.filed_on) != (after.form, after.filed_on):
                events.append(Event(listing.accession, "relisted", f"{before.form} {before.filed_on}", f"{after.form} {after.filed_on}",
                                    self.now))
            self.known[listing.accession] = new[listing.accession] = after
        return tuple(new.values()), tuple(events)

    def _cover(self, new: Iterable[Coverage]) -> tuple[Coverage, ...]:
        changed = []
        for one in new:
            before = self.coverage.get(one.cik)
            after = one if before is None else joined_coverage(before, one, self.selection.first)
            if before is None or (after.since, after.through) != (before.since, before.through):
                self.coverage[one.cik] = after
                changed.append(after)
        return tuple(changed)


def listing_of(rows: Sequence[Row], found: str, at: datetime) -> Listing:
    """Of the rows of one accession."""
    ciks = tuple(dict.fromkeys(row.cik for row in rows))
    first = rows[0]
    return Listing(first.accession, ciks, first.form, first.filed_on, None, first.company or None, (), (), "", None, "", "", None, None,
                   None, found, at)


def merged(before: Listing, after: Listing, wins: bool) -> Listing:
    """What is known, completed by another word on it. Form and date change where that word `wins`."""
    changes: dict[str, object] = {"ciks": tuple(dict.fromkeys((*before.ciks, *after.ciks))),
                                  "found": max(before.found, after.found, key=STRENGTH.index)}
    if wins:
        changes |= {"form": after.form, "filed_on": after.filed_on or before.filed_on}
    for name in PER_FILING:
        changes[name] = getattr(after, name) or getattr(before, name)
    for name in FILLED:
        changes[name] = getattr(before, name) or getattr(after, name)
    return replace(before, **changes)  # type: ignore[arg-type]


def joined_coverage(before: Coverage, after: Coverage, first: date | None) -> Coverage:
    """Both as one where they meet; else the one that serves a window beginning at `first`, the later one of two that do."""
    since = [one.since or date.min for one in (before, after)]
    if since[1] <= before.through + DAY and since[0] <= after.through + DAY:
        return replace(after, since=None if date.min in since else min(since), through=max(before.through, after.through))
    serves = [begin == date.min or (first is not None and begin <= first) for begin in since]
    if serves[0] != serves[1]:
        return before if serves[0] else after
    return before if before.through > after.through else after


def _no_answer(failures: Sequence[BadInput]) -> RunError:
    first = failures[0]
    return RunError(f"no filer could be listed; the first: {first.what}", first.subject, "Check the network and edgar_data_url, run again.")


def _joined(batch: Sequence[Found], asked: tuple[int, int]) -> Found:
    listings = {listing.accession: listing for found in batch for listing in found.listings}
    return Found(tuple(listings.values()), tuple(one for found in batch for one in found.coverage),
                 tuple(event for found in batch for event in found.events), asked=asked)
