"""The quarterly report on Form 10-Q of a fictional company."""

from __future__ import annotations

from datetime import date

from edgarmill.sample import boiler, story
from edgarmill.sample.books import Books, books
from edgarmill.sample.companies import Company
from edgarmill.sample.cover import cover, marks
from edgarmill.sample.inline import Report, Row, millions
from edgarmill.sample.statements import Period, balance_sheet, cash_flow, income, quarter_periods, results_table, segments

ITEMS = (
    ("I", "1", "Financial Statements"),
    ("I", "2", "Management's Discussion and Analysis of Financial Condition and Results of Operations"),
    ("I", "3", "Quantitative and Qualitative Disclosures About Market Risk"),
    ("I", "4", "Controls and Procedures"),
    ("II", "1", "Legal Proceedings"),
    ("II", "1A", "Risk Factors"),
    ("II", "2", "Unregistered Sales of Equity Securities and Use of Proceeds"),
    ("II", "3", "Defaults Upon Senior Securities"),
    ("II", "4", "Mine Safety Disclosures"),
    ("II", "5", "Other Information"),
    ("II", "6", "Exhibits"),
)


def quarterly_report(company: Company, year: int, quarter: int, filed: date) -> Report:
    """The 10-Q of a fiscal quarter, 1 to 3."""
    kept = books(company)
    report = Report(company, f"{company.short} Q{quarter} {year} Form 10-Q")
    cover(report, "10-Q", company.quarter_start(year, 1), company.quarter_end(year, quarter))
    marks(report, kept, "10-Q", year, quarter, filed)
    report.contents(ITEMS)
    periods = quarter_periods(report, kept, year, quarter)
    _statements(report, kept, year, quarter, periods)
    _discussion(report, kept, year, quarter, periods)
    _part_two(report, kept, year, quarter)
    report.signatures(filed)
    return report


def _statements(report: Report, kept: Books, year: int, quarter: int, periods: list[Period]) -> None:
    one = report.company
    report.part("I", "FINANCIAL INFORMATION")
    report.item("1", "Financial Statements")
    income(report, periods)
    balance_sheet(report, kept, ((year, quarter), (year - 1, 4)))
    cash_flow(report, periods[-2:])
    report.heading("NOTES TO CONDENSED CONSOLIDATED FINANCIAL STATEMENTS (unaudited)")
    report.heading("Note 1 - Basis of presentation")
    report.say("These interim statements hold the normal recurring adjustments that management deems needed. They should be read with "
               "the annual report. Results of a quarter do not foretell those of the year.")
    report.heading("Note 2 - Segments")
    segments(report, periods)
    report.heading("Note 3 - Contracts")
    report.say(story.backlog(one, kept, year, quarter))
    report.heading("Note 4 - Reserve for returns")
    end, start = (kept.quarter(year, q).revenue // 55 for q in (quarter, max(1, quarter - 1)))
    used = one.rng("returns", year, quarter).randrange(200, 900)
    report.table([f"Quarter {quarter}, {year}"], [
        Row("Reserve at the start", [start]), Row("Returns credited", [-used]), Row("Added to reserve", [end - start + used]),
        Row("Reserve at the end", [end], total=True),
    ], (), "(in thousands)")
    if (year, quarter) == kept.cut:
        report.heading("Note 5 - Restructuring")
        report.say(story.restructuring(one, kept))
    if (year, quarter) == (kept.purchase.year, kept.purchase.quarter):
        report.heading("Note 6 - Acquisition")
        report.say(story.acquisition(one, kept))


def _discussion(report: Report, kept: Books, year: int, quarter: int, periods: list[Period]) -> None:
    one, now, before = report.company, kept.quarter(year, quarter), kept.quarter(year - 1, quarter)
    name = f"the {story.ORDINALS[quarter - 1]} quarter of fiscal"
    this, last = f"{name} {year}", f"{name} {year - 1}"
    report.item("2", ITEMS[1][2])
    report.heading("Overview")
    report.say(f"{one.name} makes and sells {one.sector.business}. Net revenue {story.moved(now.revenue, before.revenue)} to "
               f"{millions(now.revenue)} in {this}.")
    report.heading("Revenue by segment")
    for place in range(len(one.segments)):
        report.say(story.segment_sales(one, place, now, before, this, f"segment_sales_{place}"))
    report.heading("Gross margin")
    report.say(story.margin(one, now, before, this, last, "margin"))
    report.say(story.overhead(one, now, before, f"{year}Q{quarter}"), story.development(one, now, before, f"{year}Q{quarter}"))
    results_table(report, periods, "operating_margin")
    report.say(story.tax_rate(one, now, this, "tax_rate"))
    report.heading("Liquidity")
    flow = kept.to_date(year, quarter)
    report.say(f"Since the start of the year operations provided {millions(flow.from_operations)} of cash, and we spent "
               f"{millions(flow.capex)} on plant. Cash was {millions(kept.end(year, quarter).cash)} at the end of the quarter.")
    report.item("3", ITEMS[2][2])
    report.say(f"Our exposure has not changed materially since the end of fiscal {year - 1}; see Item 7A of the annual report.")
    report.item("4", "Controls and Procedures")
    report.say("Our chief executive and chief financial officer found our disclosure controls and procedures effective at the end of "
               "the quarter. No change in the quarter materially affected internal control over financial reporting.")


def _part_two(report: Report, kept: Books, year: int, quarter: int) -> None:
    one, rng = report.company, report.company.rng("part two", year, quarter)
    report.part("II", "OTHER INFORMATION")
    report.item("1", "Legal Proceedings")
    report.say(story.lawsuit_stands(one, kept, year, quarter))
    report.item("1A", "Risk Factors")
    head, body = boiler.risks(one, year * 10 + quarter, 1)[-1]
    report.say("Except for the following, there is no material change to the risk factors in our annual report.")
    report.heading(head)
    report.say(body)
    report.item("2", ITEMS[6][2])
    report.say(story.buyback_left(one, kept, year, quarter))
    ends = [one.quarter_start(year, quarter), one.quarter_end(year, quarter)]
    bought = kept.quarter(year, quarter).buyback
    report.table(["Paid for shares"], [Row(f"Month of {ends[0]:%B %Y}", [bought // 3]),
                                       Row(f"Month of {ends[1]:%B %Y}", [bought - bought // 3])], (),
        "(in thousands)")
    report.item("3", ITEMS[7][2])
    report.say("None.")
    report.item("4", "Mine Safety Disclosures")
    report.say("Not applicable.")
    report.item("5", "Other Information")
    report.say(f"On the {rng.randrange(4, 20)}th day of the quarter's second month, our {rng.choice(story.ROLES)} adopted a trading "
               f"arrangement under Rule 10b5-1 for up to {rng.randrange(4, 60)},000 shares.")
    report.item("6", "Exhibits")
    report.text_table(("Exhibit", "Description"), (
        ("31.1", "Certification under Section 302"), ("32.1", "Certification under Section 906"), ("101", "Inline XBRL documents")))
