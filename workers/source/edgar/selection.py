"""Which filings are wanted: filers, forms, dates, fiscal years, limits. Resolved once per run; then asked of every listing."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from edgarmill.schemas.errors import FetchFailed, RunError, SettingsError, UnknownName, UsageError
from edgarmill.schemas.files import check_regular, toml_of
from edgarmill.schemas.records import Filing, Listing
from edgarmill.schemas.settings import Settings
from edgarmill.workers.filing import FAMILIES, family_of, fiscal, normal_form
from edgarmill.workers.source.edgar.submissions import normal_ticker, ticker_map
from edgarmill.workers.source.edgar.universe import Change, Member, changes, normal_cik, read_universe
from edgarmill.workers.source.listed import Listed
from edgarmill.workers.transport import Transport

Forms = tuple[tuple[str, int | None], ...]
OPTIONS = {"tickers": list, "ciks": list, "universe": str, "forms": list, "since": date, "until": date, "fiscal_years": list,
           "limit": int, "amendments": bool}
YEARS = re.compile(r"((?:19|20)\d\d)(?:\s*[-:]\s*((?:19|20)\d\d))?")


@dataclass(frozen=True)
class Selection:
    """What is wanted. `ciks` have ten digits; a predecessor stands behind its `successor` and counts as it, through its day in `ends`.

    `forms` are families ("10-K" is all its annual forms) or single forms ("10-KT"), each with at most so many of a filer, newest first.
    Dates are filing dates. Both ends of dates and years are included. `limit` is per filer over all forms.
    """

    ciks: tuple[str, ...]
    forms: Forms
    since: date | None = None
    until: date | None = None
    fiscal_years: tuple[int, int] | None = None
    limit: int | None = None
    amendments: bool = False
    successor: Mapping[str, str] = field(default_factory=dict)
    ends: Mapping[str, date] = field(default_factory=dict)

    @property
    def first(self) -> date | None:
        """The earliest filing date that can be wanted. A fiscal year may begin in the calendar year before."""
        days = [self.since] if self.since else []
        if self.fiscal_years:
            days.append(date(self.fiscal_years[0] - 1, 1, 1))
        return max(days, default=None)

    def takes(self, listing: Listing) -> bool:
        """All but the limits."""
        return (bool(self._filers_of(listing)) and self._word(listing.form) is not None
                and _within(listing.filed_on, self.since, self.until) and self._in_years(listing))

    def choose(self, listings: Iterable[Listing]) -> list[Listing]:
        """What is wanted of these, filer by filer in the order of `ciks`, newest first, each accession once.

        A filing of several filers counts for each of them.
        """
        of_filer: dict[str, dict[str, Listing]] = {}
        for listing in listings:
            if self.takes(listing):
                for filer in self._filers_of(listing):
                    of_filer.setdefault(filer, {})[listing.accession] = listing
        chosen: dict[str, Listing] = {}
        for filer in dict.fromkeys(self.successor.get(cik, cik) for cik in self.ciks):
            for listing in self._newest(of_filer.get(filer, {}).values()):
                chosen.setdefault(listing.accession, listing)
        return list(chosen.values())

    def enough(self, listings: Iterable[Listing]) -> bool:
        """These, the newest of one filer, already meet its limits: older ones would change nothing."""
        taken = self._newest(listing for listing in listings if self.takes(listing))
        if self.limit is not None and len(taken) >= self.limit:
            return True
        counts = Counter(self._word(listing.form) for listing in taken)
        return all(most is not None and counts[word] >= most for word, most in self.forms)

    def _newest(self, listings: Iterable[Listing]) -> list[Listing]:
        """Of one filer, within the limits."""
        left = dict(self.forms)
        taken: list[Listing] = []
        for listing in sorted(listings, key=lambda one: (one.filed_on or date.min, one.accession), reverse=True):
            word = self._word(listing.form)
            most = left[word] if word else 0
            if most == 0:
                continue
            if self.limit is not None and len(taken) >= self.limit:
                break
            if word and most is not None:
                left[word] = most - 1
            taken.append(listing)
        return taken

    def _filers_of(self, listing: Listing) -> set[str]:
        """Whose filing it is. What a predecessor filed after the change is its own."""
        return {self.successor.get(cik, cik) for cik in self._filers.intersection(listing.ciks)
                if cik not in self.ends or listing.filed_on is None or listing.filed_on <= self.ends[cik]}

    @cached_property
    def _filers(self) -> frozenset[str]:
        return frozenset(self.ciks)

    def _word(self, form: str) -> str | None:
        """The word of `forms` that asks for this form. `10-K/A` as a word asks for amendments alone."""
        form = normal_form(form)  # EDGAR writes 10KSB and 10-KSB
        base, amended = form.removesuffix("/A"), form.endswith("/A")
        for word, _ in self.forms:
            asked = word.removesuffix("/A")
            named = base == asked or FAMILIES.get(base) == asked
            alone = word != asked
            if named and (amended if alone else self.amendments or not amended):
                return word
        return None

    def _in_years(self, listing: Listing) -> bool:
        """By the period. An index does not say it: then whatever may be of those years is taken, and the filing's header decides."""
        if self.fiscal_years is None:
            return True
        first, last = self.fiscal_years
        family = family_of(listing.form)
        if listing.period_on is not None:
            year = fiscal(family, listing.period_on, listing.fiscal_year_end)[0]
            return year is not None and first <= year <= last
        begins = first - 1 if family == "10-Q" else first  # the first quarter of a year that ends in June is filed in the autumn before
        return listing.filed_on is not None and date(begins, 1, 1) <= listing.filed_on <= date(last + 1, 12, 31)


def wanted(transport: Transport, settings: Settings, *, tickers: Sequence[str] = (), ciks: Sequence[str] = (), universe: str | None = None,
           forms: Sequence[str] = ("10-K", "10-Q", "8-K"), since: date | None = None, until: date | None = None,
           fiscal_years: tuple[int, int] | None = None, limit: int | None = None, amendments: bool = False) -> Selection:
    """The selection, with every filer resolved to a CIK and its predecessors added. One request, and only where a ticker is named.

    Raises UsageError, UnknownName (ticker, universe), SettingsError (universe file), RunError (no ticker list), Blocked.
    """
    asked = parse_forms(forms)
    if since and until and since > until:
        raise UsageError(f"the window ends before it begins: {since} to {until}", "since", "Swap the dates.")
    if fiscal_years and fiscal_years[0] > fiscal_years[1]:
        raise UsageError(f"the years end before they begin: {fiscal_years[0]} to {fiscal_years[1]}", "fiscal_years", "Swap the years.")
    if limit is not None and limit < 1:
        raise UsageError("a limit is at least 1", "limit", "Leave it out to take all.")
    members = [*(Member(ticker=ticker) for ticker in tickers), *(Member(cik=normal_cik(cik)) for cik in ciks)]
    members += read_universe(universe) if universe else []
    if not members:
        raise UsageError("no company is named", "source edgar", "Name tickers (--ticker AAPL), CIKs (--cik 320193) or a universe.")
    chosen = Selection((), asked, since, until, fiscal_years, limit, amendments)
    first = chosen.first
    chain = changes()
    within = [change for change in chain if first is None or change.until >= first]
    resolved = with_predecessors(newest_of(_resolve(members, transport, settings), chain), within)
    mine = {change.predecessor: change for change in within if change.predecessor in resolved}
    return replace(chosen, ciks=resolved, successor={cik: change.cik for cik, change in mine.items()},
                   ends={cik: change.until for cik, change in mine.items()})


def parse_forms(words: Sequence[str]) -> Forms:
    """`10-K`, `8-K:3` (at most three of a filer), `10-kt`, `10-K/A`. Raises UsageError."""
    forms: dict[str, int | None] = {}
    for word in words:
        name, mark, most = word.partition(":")
        form = normal_form(name)
        if form.removesuffix("/A") not in FAMILIES:
            raise UsageError("not a form that is taken", word, f"Takes {', '.join(FAMILIES)}.")
        if mark and not re.fullmatch(r"[1-9][0-9]{0,5}", most.strip()):
            raise UsageError("after the colon stands how many of a filer at most", word, "Say 8-K:3 for the three newest.")
        forms[form] = int(most) if mark else None
    if not forms:
        raise UsageError("no form is named", "forms", "Name 10-K, 10-Q or 8-K.")
    return tuple(forms.items())


def newest_of(ciks: Iterable[str], chain: Iterable[Change]) -> list[str]:
    """Whoever names a predecessor means the filer that went on."""
    following = {change.predecessor: change.cik for change in chain}
    return [following.get(cik, cik) for cik in ciks]


def with_predecessors(ciks: Iterable[str], chain: Iterable[Change]) -> tuple[str, ...]:
    """Each once, its predecessors directly behind it, the latest first."""
    before: dict[str, list[str]] = {}
    for change in chain:
        before.setdefault(change.cik, []).append(change.predecessor)
    return tuple(dict.fromkeys(one for cik in ciks for one in (cik, *before.get(cik, ()))))


def _resolve(members: Iterable[Member], transport: Transport, settings: Settings) -> list[str]:
    members = list(members)
    known: dict[str, str] = {}
    if any(not member.cik for member in members):
        try:
            known = ticker_map(transport, settings)
        except FetchFailed as failure:
            raise RunError(f"EDGAR's list of tickers is not to be had: {failure.what}", failure.subject,
                           "Check the network and edgar_url, and run again; or name CIKs.") from None
    ciks = []
    for member in members:
        cik = member.cik or known.get(normal_ticker(member.ticker))
        if cik is None:
            near = difflib.get_close_matches(normal_ticker(member.ticker), known, 3)
            hint = f"Did you mean {', '.join(near)}? " if near else ""
            raise UnknownName("EDGAR lists no such ticker", member.ticker, f"{hint}A delisted company is found by its CIK.")
        ciks.append(cik)
    return ciks


def listed_of(listing: Listing, settings: Settings) -> Listed:
    """The filing as it is listed, and where its full submission text stands: it lies under each of its filers."""
    folder = listing.accession.replace("-", "")
    where = f"{settings.edgar_url.rstrip('/')}/Archives/edgar/data/{int(listing.ciks[0])}/{folder}/{listing.accession}.txt"
    return Listed(Filing(
        accession=listing.accession, name=listing.primary, source="edgar", form=listing.form, family=family_of(listing.form),
        amends=listing.form.endswith("/A"), ciks=listing.ciks, company=listing.company, tickers=listing.tickers,
        filed_on=listing.filed_on, period_on=listing.period_on, fiscal_year_end=listing.fiscal_year_end, items=listing.items,
        sic=listing.sic, state=listing.state, file_numbers=(listing.file_number,) if listing.file_number else (),
    ), where)  # accepted_at stays open: the listing's Z is false for many filers, the header tells; url is made by the open stage


# -- selection files


def shipped() -> list[str]:
    """Names of the selections that ship with edgarmill."""
    folder = resources.files("edgarmill") / "flows" / "selections"
    return sorted(p.name.removesuffix(".toml") for p in folder.iterdir() if p.name.endswith(".toml"))


def read(name: str) -> dict[str, Any]:
    """The options of a shipped selection by name, or of a TOML file by path, as `wanted` takes them. Raises UnknownName, SettingsError."""
    if name in shipped():
        return parse((resources.files("edgarmill") / "flows" / "selections" / f"{name}.toml").read_text(encoding="utf-8"), name)
    if not (name.endswith(".toml") or "/" in name):
        raise UnknownName("no such selection", name, f"Shipped: {', '.join(shipped())}; or give the path of a TOML file.")
    check_regular(name)
    try:
        return parse(Path(name).read_text(encoding="utf-8"), name)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"selection cannot be read ({type(error).__name__})", name, "Give a readable TOML file.") from None


def parse(text: str, where: str) -> dict[str, Any]:
    """Options from TOML text; `where` is named in errors. Raises SettingsError, UsageError (a form)."""
    options = toml_of(text, "selection", where)
    for name, value in options.items():
        if name not in OPTIONS:
            raise SettingsError(f"selection: {name} is not known", where, f"Takes {', '.join(OPTIONS)}.")
        fits = type(value) is OPTIONS[name] and (not isinstance(value, list) or all(_fits(name, one) for one in value))
        if not fits or (name == "fiscal_years" and len(value) != 2):
            raise SettingsError(f"selection: {name} is not of the known form", where, "See flows/selections/default.toml for the form.")
        options[name] = tuple(value) if isinstance(value, list) else value
    parse_forms(options.get("forms", ("10-K",)))
    return options


def _fits(name: str, value: object) -> bool:
    return type(value) is (int if name == "fiscal_years" else str)


def parse_years(text: str) -> tuple[int, int]:
    """`2020-2024` or `2024`, both ends included. Raises UsageError."""
    found = YEARS.fullmatch(text.strip())
    if found is None:
        raise UsageError("not a range of years", text, "Say 2020-2024, or one year.")
    return int(found[1]), int(found[2] or found[1])


def _within(day: date | None, since: date | None, until: date | None) -> bool:
    if day is None:
        return since is None and until is None
    return (since is None or day >= since) and (until is None or day <= until)
