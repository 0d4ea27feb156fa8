"""What happens to a fictional company, told in sentences that hold a fact each. The figures come from its books.

The same event has the same facts in every filing that tells of it; the words differ by company and year.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal

from edgarmill.sample.books import Books, Flow
from edgarmill.sample.companies import BASE_YEAR, BRANDS, HEADS, TAILS, TOWNS, Company
from edgarmill.sample.inline import Quote, long_date, millions

ORDINALS = ("first", "second", "third", "fourth")
COURTS = ("the Court of Common Pleas of Harrow County", "the United States District Court for the District of Northmark",
          "the Chancery Court of Eastvale", "the Superior Court of Lakemont County")
CLAIMS = ("that our {product} infringes two of its patents", "that we ended a distribution agreement without the notice it required",
          "that defects of our {product} caused losses at its plant", "that we misclassified hourly employees at one site")
STEPS = {2: "the court set the trial for the following fiscal year", 1: "the court denied our motion for summary judgment",
         0: "the parties agreed to a mediation before a retired judge", -1: "the mediation failed and the trial was set anew"}
BOARDS = ("Audit Committee", "Risk Committee", "Technology Committee")
FRAMEWORKS = ("NIST Cybersecurity Framework", "ISO/IEC 27001 standard", "CIS Critical Security Controls")
ROLES = ("Chief Operating Officer", "Chief Technology Officer", "General Counsel", "Chief Human Resources Officer")


@dataclass(frozen=True, slots=True)
class Target:
    """The business that was bought."""

    name: str
    product: str
    town: str
    closed_on: date


def year_label(company: Company, year: int) -> str:
    return f"fiscal {year}"


def change(now: int, before: int) -> Decimal:
    """Percent, one decimal."""
    return (Decimal(now - before) * 100 / before).quantize(Decimal("0.1"), ROUND_HALF_UP)


def moved(now: int, before: int, rise: str = "rose", fall: str = "fell") -> str:
    """rose 4.1%."""
    percent = change(now, before)
    return f"{rise if percent >= 0 else fall} {abs(percent)}%"


def target(company: Company, books: Books) -> Target:
    rng = company.rng("target")
    own = company.short.split()[0]
    name = own
    while name == own:
        name = rng.choice(HEADS) + rng.choice(TAILS)
    product = rng.choice(company.sector.products)
    day = company.quarter_start(books.purchase.year, books.purchase.quarter) + timedelta(days=rng.randrange(10, 80))
    return Target(f"{name} {rng.choice(('Works', 'Systems', 'Labs', 'Partners'))}, LLC", product, rng.choice(TOWNS)[2], day)


def acquisition(company: Company, books: Books) -> Quote:
    one, price = target(company, books), books.purchase.price
    text = (f"On {long_date(one.closed_on)}, we acquired {one.name}, a maker of the {one.product} based in {one.town}, for "
            f"{millions(price)} in cash.")
    return Quote("acquisition", text, f"{one.name}, for {millions(price)} in cash", Decimal(price))


def goodwill_of_purchase(company: Company, books: Books) -> Quote:
    deal, years = books.purchase, company.rng("life").randrange(6, 14)
    text = (f"Of the price paid for {target(company, books).name}, {millions(deal.goodwill)} was assigned to goodwill, none of which is "
            f"deductible for tax, and {millions(deal.intangibles)} to technology and customer relationships with an average life of "
            f"{years} years.")
    return Quote("purchase_goodwill", text, f"{millions(deal.goodwill)} to goodwill and {millions(deal.intangibles)} to intangibles")


def margin(company: Company, now: Flow, before: Flow, period: str, earlier: str, key: str) -> Quote:
    """Gross margin of two periods and the cause of its change."""
    rng, sector = company.rng("margin", period), company.sector
    up = now.gross * before.revenue >= before.gross * now.revenue
    cause, other = rng.choice(sector.margin_up), rng.choice(sector.margin_down)
    first, second = (cause, other) if up else (other, cause)
    if now.margin == before.margin:
        text = f"Gross margin was {now.margin}% of net revenue in both {period} and {earlier}, as {cause} made up for {other}."
        return Quote(key, text, f"unchanged at {now.margin}%: {cause} made up for {other}", now.margin)
    shape = rng.choice(("Gross margin {way} to {now}% of net revenue in {period} from {before}% in {earlier}, primarily because of "
                        "{cause}, partly offset by {other}.",
                        "We earned a gross margin of {now}% in {period}, compared with {before}% in {earlier}; the {noun} came mainly "
                        "from {cause}."))
    text = shape.format(way="increased" if up else "decreased", noun="improvement" if up else "decline", now=now.margin,
                        before=before.margin,
                        period=period, earlier=earlier, cause=first, other=second)
    return Quote(key, text, f"{first} ({now.margin}% against {before.margin}%)", now.margin)


def segment_sales(company: Company, place: int, now: Flow, before: Flow, period: str, key: str) -> Quote:
    rng, sector = company.rng("segment", place, period), company.sector
    up = now.sales[place] >= before.sales[place]
    cause = rng.choice(sector.sales_up if up else sector.sales_down)
    text = (f"{company.segments[place]} revenue {moved(now.sales[place], before.sales[place])} to {millions(now.sales[place])} in "
            f"{period}, {rng.choice(('which reflects', 'mainly because of', 'driven by'))} {cause}.")
    return Quote(key, text, cause, Decimal(now.sales[place]))


def tax_rate(company: Company, now: Flow, period: str, key: str) -> Quote:
    rng = company.rng("tax", period)
    rate = (Decimal(now.taxes) * 100 / now.pretax).quantize(Decimal("0.1"), ROUND_HALF_UP)
    cause = rng.choice(("credits for research performed in the United States", "income earned in a lower-taxed jurisdiction",
        "state taxes and awards that are not deductible", "the release of a reserve after an audit was closed"))
    return Quote(key, f"Our effective tax rate was {rate}% in {period}; it differs from the statutory rate of 21% chiefly because of "
                      f"{cause}.",
                 f"{rate}%, chiefly because of {cause}", rate)


def overhead(company: Company, now: Flow, before: Flow, period: str) -> str:
    cause = company.rng("overhead", period).choice((
        "pay rises granted in the second quarter", "the new enterprise planning system", "lower incentive pay",
            "trade fairs and a larger field force",
        "legal fees", "integration of the acquired business", "fewer contractors"))
    return (f"Selling, general and administrative expenses {moved(now.selling, before.selling)} to {millions(now.selling)}, or "
            f"{now.percent(now.selling)}% of net revenue, where the largest single item was {cause}.")


def development(company: Company, now: Flow, before: Flow, period: str) -> str:
    brand = company.rng("development", period).choice(company.brands)
    pace = company.rng("pace", period).choice(("went into field trials", "was extended to a second site", "neared its design freeze"))
    return (f"Research and development expenses {moved(now.research, before.research)} to {millions(now.research)} as work on the next "
            "generation of the "
            f"{brand} {pace}.")


def employees(company: Company, books: Books, year: int) -> Quote:
    rng = company.rng("people", year)
    count = books.year(year).revenue // rng.randrange(260, 300)
    abroad = rng.randrange(8, 44)
    text = (f"At {long_date(company.quarter_end(year, 4))}, we employed about {count:,} people, {abroad}% of them outside the United "
            f"States, and {rng.randrange(3, 30)}% were covered by collective agreements.")
    return Quote("employees", text, f"about {count:,} people, {abroad}% outside the United States", Decimal(count))


def measure(company: Company, books: Books, year: int) -> Quote:
    now, before = (books.year(y).revenue // company.rng("measure").randrange(20, 90) for y in (year, year - 1))
    text = f"We ended {year_label(company, year)} with {now:,} {company.sector.measure}, against {before:,} a year earlier."
    return Quote("measure", text, f"{now:,}, against {before:,} a year earlier", Decimal(now))


def concentration(company: Company, year: int) -> Quote:
    rng = company.rng("customer", year)
    share, kind = rng.randrange(10, 24), company.rng("customer kind").choice(company.sector.customers)
    text = (f"One customer, which belongs to the group of {kind}, accounted for {share}% of our net revenue in "
            f"{year_label(company, year)}; no other exceeded 10%.")
    return Quote("concentration", text, f"{share}%, one of the {kind}", Decimal(share))


def launch(company: Company, year: int) -> Quote:
    rng = company.rng("launch", year)
    brand = company.brands[year % len(company.brands)]
    product, quarter = rng.choice(company.sector.products), rng.randrange(4)
    merit = rng.choice(company.sector.merits)
    text = f"In the {ORDINALS[quarter]} quarter of {year_label(company, year)} we introduced the {brand}, a {product} that {merit}."
    return Quote("launch", text, f"the {brand}, a {product} that {merit}")


def supply_risk(company: Company, year: int) -> Quote:
    rng = company.rng("supply", year)
    material, share = rng.choice(company.sector.materials), rng.randrange(41, 93)
    text = (f"In {year_label(company, year)} we bought {share}% of our {material} from a single supplier in "
            f"{rng.choice(('Portugal', 'Vietnam', 'Chile', 'Poland', 'Malaysia'))}, and a replacement would need to pass our "
            "qualification, which takes about nine months.")
    return Quote("supply_risk", text, f"{share}% of the {material}", Decimal(share))


def backlog(company: Company, books: Books, year: int, quarter: int = 4) -> Quote:
    amount = round(books.quarter(year, quarter).revenue * company.rng("backlog", year, quarter).uniform(0.5, 1.7))
    share = company.rng("backlog share", year, quarter).randrange(55, 95)
    text = (f"Orders not yet delivered amounted to {millions(amount)} at {long_date(company.quarter_end(year, quarter))}, of which we "
            f"expect to deliver {share}% within twelve months.")
    return Quote("backlog", text, f"{millions(amount)}, {share}% of it within twelve months", Decimal(amount))


def plaintiff(company: Company) -> str:
    rng = company.rng("plaintiff")
    return f"{rng.choice(BRANDS)} {rng.choice(('Licensing', 'Distribution', 'Fabrication'))} Co."


def lawsuit_began(company: Company) -> Quote:
    rng = company.rng("lawsuit")
    claim = rng.choice(CLAIMS).format(product=rng.choice(company.sector.products))
    filed = company.quarter_start(BASE_YEAR - 2, rng.choice((1, 2, 3))) + timedelta(days=rng.randrange(5, 85))
    text = f"On {long_date(filed)}, {plaintiff(company)} brought an action against us in {rng.choice(COURTS)}, claiming {claim}."
    return Quote("lawsuit", text, f"{plaintiff(company)}, claiming {claim}")


def lawsuit_stands(company: Company, books: Books, year: int, quarter: int = 4) -> Quote:
    """What has come of it by then, and what was set aside."""
    base = company.rng("accrual").randrange(900, 7000)
    amount = base + 450 * ((year - BASE_YEAR) * 4 + quarter + 8)
    step = STEPS[max(-1, min(2, BASE_YEAR - year))]
    ceiling = amount * company.rng("ceiling", year, quarter).randrange(2, 5)
    text = (f"By {long_date(company.quarter_end(year, quarter))} {step}; we have set aside {millions(amount)} for the "
            f"{plaintiff(company).split()[0]} matter and believe that a loss of up to {millions(ceiling)} is reasonably possible.")
    return Quote("lawsuit_accrual", text, f"{millions(amount)} set aside; up to {millions(ceiling)} reasonably possible", Decimal(amount))


def closed_site(company: Company) -> tuple[str, int]:
    """The site that the restructuring closes, and how many jobs end."""
    rng = company.rng("cut")
    return f"{rng.choice(company.sector.sites)} in {rng.choice(TOWNS)[2]}", rng.randrange(60, 420)


def restructuring(company: Company, books: Books) -> Quote:
    year, quarter = books.cut
    site, jobs = closed_site(company)
    charge = books.quarter(year, quarter).restructuring
    text = (f"In the {ORDINALS[quarter - 1]} quarter of {year_label(company, year)} we decided to close our {site}, which ended about "
            f"{jobs} jobs and led to charges of {millions(charge)}, mostly severance.")
    return Quote("restructuring", text, f"closing the {site}; charges of {millions(charge)}", Decimal(charge))


def capital_plan(company: Company, books: Books, year: int) -> Quote:
    rng = company.rng("plan", year)
    low = round(books.year(year).capex * rng.uniform(1.0, 1.2) / 1000)
    high = low + rng.randrange(2, 12)
    site = rng.choice(company.sector.sites)
    text = (f"We expect capital expenditures of ${low} million to ${high} million in {year_label(company, year + 1)}, the largest part "
            f"for a {site}.")
    return Quote("capital_plan", text, f"${low} million to ${high} million, mostly for a {site}")


def commitments(company: Company, books: Books, year: int) -> Quote:
    rng = company.rng("commitments", year)
    amount = round(books.year(year).cost * rng.uniform(0.05, 0.2))
    material, until = rng.choice(company.sector.materials), year + rng.randrange(2, 6)
    text = f"At year-end {year} we were bound to buy {material} for {millions(amount)} through {until}, whether or not we need it."
    return Quote("commitments", text, f"{millions(amount)} through {until}, for {material}", Decimal(amount))


def notes_rate(company: Company) -> tuple[Decimal, int]:
    rng = company.rng("notes")
    return Decimal(rng.randrange(14, 29)) / 4, BASE_YEAR + rng.randrange(4, 9)


def debt_terms(company: Company, books: Books, year: int) -> Quote:
    rng = company.rng("facility")
    rate, due = notes_rate(company)
    size, limit = rng.randrange(10, 60) * 10, Decimal(rng.randrange(12, 18)) / 4
    flow, end = books.year(year), books.end(year)
    earnings = flow.operating + flow.depreciation + flow.amortization
    actual = (Decimal(end.debt + end.current_debt) / earnings).quantize(Decimal("0.01"), ROUND_HALF_UP)
    text = (f"Our senior notes bear {rate}% and fall due in {due}; the ${size} million revolving facility, undrawn at the end of "
            f"{year_label(company, year)}, limits debt to {limit:.2f} times adjusted earnings, and the ratio then stood at {actual}.")
    return Quote("debt_terms", text, f"{rate}% notes due {due}; the ratio of debt to earnings was {actual} against a limit of {limit:.2f}",
                 actual)


def rate_risk(company: Company, books: Books, year: int) -> Quote:
    rng = company.rng("rate risk", year)
    amount = Decimal(round((books.end(year).debt) * rng.uniform(0.002, 0.006))) / 1000
    text = (f"A rise of 100 basis points in market rates would have added ${amount:.1f} million to our interest expense for "
            f"{year_label(company, year)}.")
    return Quote("rate_risk", text, f"${amount:.1f} million")


def currency_risk(company: Company, books: Books, year: int) -> Quote:
    rng = company.rng("currency", year)
    amount = Decimal(round(books.year(year).revenue * rng.uniform(0.004, 0.02))) / 1000
    money = rng.choice(("euro", "Mexican peso", "Canadian dollar", "zloty", "yen"))
    text = (f"Had the {money} been 10% weaker throughout {year_label(company, year)}, our operating income would have been ${amount:.1f} "
            "million lower.")
    return Quote("currency_risk", text, f"${amount:.1f} million lower, from a 10% weaker {money}")


def security(company: Company, year: int) -> Quote:
    rng = company.rng("security", year)
    board, framework, hours = company.rng("board").choice(BOARDS), rng.choice(FRAMEWORKS), rng.randrange(4, 72)
    text = (f"The {board} of our board oversees cybersecurity risk; our program is measured against the {framework}, and in the exercise "
            f"of {year} our critical systems were restored within {hours} hours.")
    return Quote("security", text, f"the {board}; systems were restored within {hours} hours in the {year} exercise", Decimal(hours))


def buyback_left(company: Company, books: Books, year: int, quarter: int = 4) -> Quote:
    total = company.rng("authority").randrange(8, 40) * 10_000
    left = max(1_000, total - sum(f.buyback for key, f in books.flows.items() if key <= (year, quarter)))
    text = (f"At the end of the {ORDINALS[quarter - 1]} quarter of {year_label(company, year)}, {millions(left)} remained of the "
            f"repurchase authority of {millions(total)}.")
    return Quote("buyback", text, f"{millions(left)} of {millions(total)}", Decimal(left))


def guidance(company: Company, books: Books, year: int) -> Quote:
    """For the year after `year`, in the release on its fourth quarter."""
    rng = company.rng("guidance", year)
    middle = books.year(year).revenue * rng.uniform(1.01, 1.09) / 1000
    low, high = round(middle * 0.985), round(middle * 1.015)
    points = Decimal(str(books.year(year).margin)) + Decimal(rng.randrange(-8, 9)) / 10
    text = (f"For {year_label(company, year + 1)}, we expect net revenue of ${low:,} million to ${high:,} million and a gross margin "
            f"near {points}%.")
    return Quote("guidance", text, f"net revenue of ${low:,} million to ${high:,} million, gross margin near {points}%", points)
