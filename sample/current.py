"""Current reports on Form 8-K of a fictional company, with the press release as Exhibit 99.1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from edgarmill.sample import story
from edgarmill.sample.books import Books, books
from edgarmill.sample.companies import FIRST_NAMES, LAST_NAMES, TOWNS, Company
from edgarmill.sample.cover import cover
from edgarmill.sample.inline import Quote, Report, long_date, millions
from edgarmill.sample.statements import balance_sheet, income, quarter_periods

TITLES = {
    "1.01": "Entry into a Material Definitive Agreement",
    "1.05": "Material Cybersecurity Incidents",
    "2.02": "Results of Operations and Financial Condition",
    "2.03": "Creation of a Direct Financial Obligation or an Obligation under an Off-Balance Sheet Arrangement of a Registrant",
    "5.02": "Departure of Directors or Certain Officers; Election of Directors; Appointment of Certain Officers: "
            "Compensatory Arrangements of Certain Officers",
    "5.07": "Submission of Matters to a Vote of Security Holders",
    "8.01": "Other Events",
    "9.01": "Financial Statements and Exhibits",
}


@dataclass(frozen=True)
class Current:
    """An 8-K: its items in order, its main document, and the exhibit where it has one."""

    items: tuple[str, ...]
    main: Report
    exhibit: Report | None


def results_report(company: Company, year: int, quarter: int, filed: date) -> Current:
    """Item 2.02 with the release on a quarter's results."""
    report = _begin(company, filed)
    report.item("2.02", TITLES["2.02"])
    report.say(f"On {long_date(filed)}, {company.name} issued a press release on its results for the {story.ORDINALS[quarter - 1]} "
               f"quarter of fiscal {year}. It is furnished as Exhibit 99.1 and is not deemed filed.")
    _exhibits(report, f"Press release dated {long_date(filed)}")
    report.signatures(filed)
    return Current(("2.02", "9.01"), report, _release(company, year, quarter, filed))


def _release(company: Company, year: int, quarter: int, filed: date) -> Report:
    kept = books(company)
    now, before = kept.quarter(year, quarter), kept.quarter(year - 1, quarter)
    report = Report(company, f"{company.short} press release", tagged=False)
    report.exhibit("EX-99.1")
    report.heading(f"{company.short} Reports {story.ORDINALS[quarter - 1].capitalize()} Quarter Fiscal {year} Results")
    report.say(f"{company.town[2].upper()}, {company.town[1]}, {long_date(filed)} - {company.name} ({company.exchange[2]}: "
               f"{company.ticker}) today announced results for the quarter ended {long_date(company.quarter_end(year, quarter))}.")
    sales = (f"Quarterly net revenue {story.moved(now.revenue, before.revenue, 'grew', 'declined')} to {millions(now.revenue)}, and "
             f"earnings were ${now.per_share} per share against ${before.per_share} a year ago.")
    report.say(Quote("release_sales", sales, f"{millions(now.revenue)}; ${now.per_share} per share", Decimal(now.revenue)))
    launch = story.launch(company, year).answer
    report.say(f"\"This quarter showed what our people can do,\" said {company.officers[0]}, chief executive. \"Customers ask for "
               f"{launch.partition(',')[0]}, and we will spend where the return is plain.\"")
    if quarter == 4:
        report.heading("Outlook")
        report.say(story.guidance(company, kept, year), "The outlook leaves out effects of acquisitions that have not closed.")
    report.heading("Conference call")
    report.say(f"Management will hold a call at {company.rng('call').randrange(8, 11)}:00 a.m. Eastern time on the day of this release.")
    report.say("Statements about the future are subject to risks that our reports to the Securities and Exchange Commission describe; "
               "we do not undertake to update them.")
    income(report, quarter_periods(report, kept, year, quarter)[:2])
    balance_sheet(report, kept, ((year, quarter), (year - 1, 4)))
    return report


def event_report(company: Company, year: int, number: int, filed: date) -> Current:
    """The `number`-th event of a year, of changing kinds."""
    kinds: tuple[tuple[tuple[str, ...], Callable[[Report, Books, int, int, date], None]], ...] = (
        (("5.02",), _officer), (("1.01", "2.03"), _facility), (("1.05",), _incident), (("5.07",), _votes), (("8.01",), _other))
    items, write = kinds[(company.index + year + number) % len(kinds)]
    report = _begin(company, filed)
    write(report, books(company), year, number, filed)
    exhibit = None
    if "1.01" in items or "5.02" in items:
        items += ("9.01",)
        _exhibits(report, "Press release on the matter above")
        exhibit = Report(company, f"{company.short} press release", tagged=False)
        exhibit.exhibit("EX-99.1")
        exhibit.heading(f"{company.short} Announces {'Change of Officers' if '5.02' in items else 'New Credit Facility'}")
        exhibit.say(f"{company.town[2].upper()}, {long_date(filed)} - {company.name} ({company.exchange[2]}: {company.ticker}) has today "
                    f"filed a report with further details. \"We thank all who took part,\" said {company.officers[0]}, chief executive.")
    report.signatures(filed)
    return Current(items, report, exhibit)


def _begin(company: Company, filed: date) -> Report:
    report = Report(company, f"{company.short} Form 8-K")
    cover(report, "8-K", filed, filed)
    report.hide("AmendmentFlag", "false", report.contexts.duration(filed, filed))
    report.hide("EntityCentralIndexKey", company.cik, report.contexts.duration(filed, filed))
    report.new_page()
    return report


def _exhibits(report: Report, description: str) -> None:
    report.item("9.01", TITLES["9.01"])
    report.say("(d) Exhibits")
    report.text_table(("Exhibit No.", "Description"), (("99.1", description), ("104", "Cover page interactive data file")))


def _officer(report: Report, kept: Books, year: int, number: int, filed: date) -> None:
    rng = report.company.rng("officer", year, number)
    role, person = rng.choice(story.ROLES), f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"
    salary, bonus = rng.randrange(40, 95) * 10_000, rng.randrange(5, 13) * 10
    report.item("5.02", TITLES["5.02"])
    report.say(f"On {long_date(filed)}, the {role} gave notice of retirement at the end of the fiscal quarter; no disagreement led to it.")
    report.say(Quote("officer", f"The board appointed {person} as {role} with a yearly salary of ${salary:,} and a target bonus of "
                                f"{bonus}% of it.",
                     f"a salary of ${salary:,} and a target bonus of {bonus}%", Decimal(salary)))


def _facility(report: Report, kept: Books, year: int, number: int, filed: date) -> None:
    rng = report.company.rng("new facility", year, number)
    size, spread, years = rng.randrange(10, 80) * 5, Decimal(rng.randrange(90, 240)) / 100, rng.choice((3, 4, 5))
    report.item("1.01", TITLES["1.01"])
    report.say(Quote("facility", f"We entered into a delayed-draw term loan of ${size} million with a group of banks; it runs for "
                                 f"{years} years and bears the SOFR rate plus {spread}%.",
                     f"${size} million for {years} years at SOFR plus {spread}%", Decimal(size)))
    report.say("The agreement has covenants usual for such loans. Borrowings are guaranteed by our subsidiaries in "
               f"{rng.choice(TOWNS)[1]} and elsewhere.")
    report.item("2.03", TITLES["2.03"])
    report.say("What is said under Item 1.01 is included here by reference.")


def _incident(report: Report, kept: Books, year: int, number: int, filed: date) -> None:
    one, rng = report.company, report.company.rng("incident", year, number)
    hours, cost = rng.randrange(9, 120), Decimal(rng.randrange(11, 90)) / 10
    system = rng.choice(("order entry", "warehouse", "payroll", "engineering drawing"))
    report.item("1.05", TITLES["1.05"])
    report.say(Quote("incident", f"An intruder who held a supplier's password encrypted our {system} system, which was out of use for "
                                 f"{hours} hours; we expect costs of ${cost} million before "
                                 "insurance.", f"the {system} system for {hours} hours; ${cost} million", cost))
    report.say(f"Production at our {one.sector.sites[0]} went on by hand. We have told the authorities and do not believe that data of "
               "customers were taken.")


def _votes(report: Report, kept: Books, year: int, number: int, filed: date) -> None:
    rng = report.company.rng("votes", year, number)
    present, support = rng.randrange(760, 940) / 10, rng.randrange(610, 970) / 10
    report.item("5.07", TITLES["5.07"])
    report.say(Quote("votes", f"Holders of {present}% of the shares were present, and {support}% of the votes cast favored the pay of "
                              "our named officers.",
                     f"{support}% of the votes cast", Decimal(str(support))))
    report.say(f"All {rng.randrange(7, 12)} nominees were elected, and {report.company.auditor} was ratified as auditor.")


def _other(report: Report, kept: Books, year: int, number: int, filed: date) -> None:
    one, rng = report.company, report.company.rng("other", year, number)
    amount, lines = Decimal(rng.randrange(60, 900)) / 10, rng.randrange(2, 6)
    site = rng.choice(one.sector.sites)
    report.item("8.01", TITLES["8.01"])
    report.say(Quote("expansion", f"Our board approved ${amount} million for {lines} further lines at the {site} in {one.town[2]}, which "
                                  f"should open within {rng.randrange(9, 30)} "
                                  "months.", f"${amount} million for {lines} lines at the {site}", amount))
    report.say("The project will be paid for from cash at hand, and no public grant has been sought.")
