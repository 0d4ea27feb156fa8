"""The annual report on Form 10-K of a fictional company."""

from __future__ import annotations

from datetime import date

from edgarmill.sample import boiler, story
from edgarmill.sample.books import Books, books
from edgarmill.sample.companies import Company
from edgarmill.sample.cover import cover, marks
from edgarmill.sample.inline import Report, long_date, millions
from edgarmill.sample.notes import notes
from edgarmill.sample.statements import UNIT, balance_sheet, cash_flow, income, results_table, year_periods

ITEMS = (
    ("I", "1", "Business"), ("I", "1A", "Risk Factors"), ("I", "1B", "Unresolved Staff Comments"), ("I", "1C", "Cybersecurity"), ("I", "2",
        "Properties"),
    ("I", "3", "Legal Proceedings"), ("I", "4", "Mine Safety Disclosures"),
    ("II", "5", "Market for Registrant's Common Equity, Related Stockholder Matters and Issuer Purchases of Equity Securities"), ("II", "6",
        "[Reserved]"),
    ("II", "7", "Management's Discussion and Analysis of Financial Condition and Results of Operations"),
    ("II", "7A", "Quantitative and Qualitative Disclosures About Market Risk"), ("II", "8", "Financial Statements and Supplementary Data"),
    ("II", "9", "Changes in and Disagreements With Accountants on Accounting and Financial Disclosure"), ("II", "9A",
        "Controls and Procedures"),
    ("II", "9B", "Other Information"), ("II", "9C", "Disclosure Regarding Foreign Jurisdictions that Prevent Inspections"),
    *(("III", number, title) for number, (title, _) in boiler.GOVERNANCE.items()),
    ("IV", "15", "Exhibits and Financial Statement Schedules"), ("IV", "16", "Form 10-K Summary"),
)


def annual_report(company: Company, year: int, filed: date, weight: int = 1) -> Report:
    """The 10-K of a fiscal year, about 110 KB; each step of `weight` adds about 17 KB of schedules."""
    kept = books(company)
    report = Report(company, f"{company.short} {year} Form 10-K")
    cover(report, "10-K", company.quarter_start(year, 1), company.quarter_end(year, 4))
    marks(report, kept, "10-K", year, 4, filed)
    report.contents(ITEMS)
    business(report, kept, year)
    part_one(report, kept, year)
    part_two(report, kept, year)
    statements(report, kept, year, weight)
    controls(report)
    report.part("III")
    for number, (title, text) in boiler.GOVERNANCE.items():
        report.item(number, title)
        report.say(text.format(auditor=company.auditor, count=company.rng("awards", year).randrange(800_000, 9_000_000)))
    exhibits(report)
    report.signatures(filed)
    return report


def business(report: Report, kept: Books, year: int) -> None:
    one, sector = report.company, report.company.sector
    rng = one.rng("business", year)
    report.part("I")
    report.item("1", "Business")
    report.heading("Overview")
    report.say(f"{one.name} (\"{one.short},\" \"we,\" \"us\") designs, makes and sells {sector.business}. Founded in {one.founded}, we "
               f"are based in {one.town[2]}, {one.town[1]}, and report {len(one.segments)} segments: {', '.join(one.segments)}.",
               story.measure(one, kept, year))
    for place, name in enumerate(one.segments):
        products = rng.sample(sector.products, 2)
        report.heading(name)
        report.say(f"{name} sells the {products[0]} and the {products[1]} under the {one.brands[place]} name to "
                   f"{rng.choice(sector.customers)}. Orders are commonly placed {rng.randrange(2, 30)} weeks before delivery. The "
                   f"segment competes with {rng.randrange(3, 14)} firms of note, of which two are larger, by service, delivery and the "
                   f"cost of use over a life of {rng.randrange(4, 25)} years.")
    report.heading("New products")
    report.say(story.launch(one, year), f"Products introduced in the last three years brought {rng.randrange(11, 39)}% of revenue.")
    report.heading("Customers and backlog")
    report.say(story.concentration(one, year), story.backlog(one, kept, year))
    report.heading("Materials and supply")
    report.say(f"We buy {sector.materials[0]}, {sector.materials[1]} and {sector.materials[2]} from several sources where we can.",
               story.supply_risk(one, year))
    report.heading("People")
    report.say(story.employees(one, kept, year), f"Voluntary turnover was {rng.randrange(60, 190) / 10}%, and the rate of recordable "
                                                 f"injuries was {rng.randrange(6, 29) / 10} per 200,000 hours.")
    report.heading("Intellectual property and regulation")
    report.say(f"We own {rng.randrange(90, 900)} patents and {rng.randrange(20, 200)} pending applications. Permits of "
               f"{rng.randrange(2, 9)} of our sites come up for renewal within two years, and we know of no reason why they should be "
               "refused.")


def part_one(report: Report, kept: Books, year: int) -> None:
    one, rng = report.company, report.company.rng("part one", year)
    report.item("1A", "Risk Factors")
    report.say("The risks below could harm our business, results and the price of our stock. Others that we do not know, or hold to be "
               "small, may do so too.")
    for head, body in boiler.risks(one, year, 14):
        report.heading(head)
        report.say(body)
    report.item("1B", "Unresolved Staff Comments")
    report.say("None.")
    report.item("1C", "Cybersecurity")
    report.say("Our process to find, judge and manage threats is part of the wider management of risk.", story.security(one, year),
        f"Suppliers with access to our network answer a yearly questionnaire; {rng.randrange(2, 20)} lost access for want of answers.")
    report.say(f"No incident of {year_text(one, year)} had a material effect on us. We carry insurance against such incidents, which may "
               "not suffice.")
    report.item("2", "Properties")
    report.say("Our principal sites are listed below. We hold them suitable and adequate for what we plan.")
    sites = [(f"{kind.capitalize()}, {town}", seg, f"{rng.randrange(20, 480)},000", rng.choice(("owned", "leased"))) for kind, town,
             seg in zip(
        one.sector.sites, rng.sample(["Millgrove", "Lake Alwin", "Cedar Ford", "Harrowton", "Tamarack Falls", "Pinewater"], 3),
        one.segments * 2, strict=False)]
    report.text_table(("Site", "Segment", "Square feet", "Tenure"), sites)
    report.item("3", "Legal Proceedings")
    if one.index % 2:
        report.say("For legal proceedings see \"Contingencies\" in the notes to the financial statements in Item 8 of this report, "
                   "which is included here by reference.")
    else:
        report.say(story.lawsuit_began(one), story.lawsuit_stands(one, kept, year))
    report.item("4", "Mine Safety Disclosures")
    report.say("Not applicable.")


def year_text(company: Company, year: int) -> str:
    return story.year_label(company, year)


def part_two(report: Report, kept: Books, year: int) -> None:
    one, now, before = report.company, kept.year(year), kept.year(year - 1)
    rng = one.rng("part two", year)
    report.part("II")
    report.item("5", ITEMS[7][2])
    report.say(f"Our common stock trades on {one.exchange[1]} under the symbol {one.ticker}. At the end of {year_text(one, year)} there "
               f"were {rng.randrange(300, 4000):,} holders of record. We paid dividends of {millions(now.dividends)} in the "
               "year.", story.buyback_left(one, kept, year))
    report.item("6", "[Reserved]")
    report.item("7", ITEMS[9][2])
    report.heading("Overview of the year")
    report.say(f"Net revenue {story.moved(now.revenue, before.revenue)} to {millions(now.revenue)} in {year_text(one, year)}, and net "
               f"income was {millions(now.net)} against {millions(before.net)}. The paragraphs below say what drove both.")
    report.heading("Revenue")
    for place in range(len(one.segments)):
        report.say(story.segment_sales(one, place, now, before, year_text(one, year), f"segment_sales_{place}"))
    report.heading("Gross margin")
    report.say(story.margin(one, now, before, year_text(one, year), year_text(one, year - 1), "margin"))
    report.heading("Operating expenses")
    report.say(story.overhead(one, now, before, str(year)), story.development(one, now, before, str(year)))
    results_table(report, year_periods(report, kept, (year, year - 1, year - 2)), "operating_margin")
    report.heading("Income taxes")
    report.say(story.tax_rate(one, now, year_text(one, year), "tax_rate"))
    report.heading("Liquidity and capital resources")
    report.say(f"Operations provided {millions(now.from_operations)} of cash in {year_text(one, year)}, against "
               f"{millions(before.from_operations)} in the prior year; cash stood at {millions(kept.end(year).cash)} at "
               "year-end.", story.capital_plan(one, kept, year))
    report.say(story.debt_terms(one, kept, year),
               "We believe that cash, operations and the facility will cover our needs for the next twelve months and beyond.")
    report.heading("Critical accounting estimates")
    words = boiler.words(one, "estimates", year)
    report.say(f"Reserves for returns follow past experience; if returns of the {words['product']} were {words['a']}% higher, income "
               f"before taxes would fall by {millions(now.pretax // 60)}. The test of goodwill depends on forecasts of revenue and on "
               "the discount rate.")
    report.item("7A", ITEMS[10][2])
    report.say(story.rate_risk(one, kept, year), story.currency_risk(one, kept, year))
    report.say(f"We fix the price of part of our {words['material']} for up to {words['b']} months ahead and do not hold derivatives for "
               "trading.")


def statements(report: Report, kept: Books, year: int, weight: int) -> None:
    one = report.company
    report.item("8", ITEMS[11][2])
    report.heading("REPORT OF INDEPENDENT REGISTERED PUBLIC ACCOUNTING FIRM")
    report.say(f"To the stockholders and the board of directors of {one.name}: We have audited the balance sheets at "
               f"{long_date(one.quarter_end(year, 4))} and {long_date(one.quarter_end(year - 1, 4))} and the statements of income and of "
               "cash flows for the three years then ended. In our opinion they present fairly, in all material respects, the financial "
               "position and results in conformity with accounting principles generally accepted in the United States.")
    report.say(f"Critical audit matter: the valuation of inventories of the {boiler.words(one, 'audit', year)['product']} required "
               f"judgment about future use. We tested the forecast against later sales and tested the data behind it. /s/ {one.auditor}")
    periods = year_periods(report, kept, (year, year - 1, year - 2))
    income(report, periods)
    balance_sheet(report, kept, ((year, 4), (year - 1, 4)))
    cash_flow(report, periods)
    notes(report, kept, year, periods, weight)


def controls(report: Report) -> None:
    one = report.company
    report.item("9", ITEMS[12][2])
    report.say("None.")
    report.item("9A", "Controls and Procedures")
    report.say("Our chief executive and our chief financial officer have concluded that our disclosure controls and procedures were "
               "effective at the end of the period. Management judged internal control over financial reporting by the framework of "
               f"COSO (2013) and found it effective. {one.auditor} has attested to it in the report in Item 8.")
    report.item("9B", "Other Information")
    report.say("In the last quarter no director or officer adopted or ended a trading arrangement under Rule 10b5-1.")
    report.item("9C", ITEMS[15][2])
    report.say("Not applicable.")


def exhibits(report: Report) -> None:
    one = report.company
    report.part("IV")
    report.item("15", "Exhibits and Financial Statement Schedules")
    report.say(f"(a)(1) The financial statements stand in Item 8 {UNIT}. (a)(2) Schedules are left out because they are not required. "
               "(a)(3) Exhibits:")
    report.text_table(("Exhibit", "Description"), (
        ("3.1", "Certificate of incorporation"), ("4.1", "Indenture of the senior notes"), ("10.1", "Credit agreement"), ("21",
            f"Subsidiaries of {one.short}"),
        ("31.1", "Certification under Section 302"), ("32.1", "Certification under Section 906"), ("101", "Inline XBRL documents")))
    report.item("16", "Form 10-K Summary")
    report.say("None.")
