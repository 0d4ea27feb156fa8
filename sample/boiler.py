"""The standing prose of a filing: risks, policies, governance. Words with places for the company's own; data and little else."""

from __future__ import annotations

from edgarmill.sample.companies import Company

RISKS: tuple[tuple[str, str], ...] = (
    ("Demand for our products varies with the spending of few trades.",
     "{Customers} decide late in their budget year what they can postpone. In the last downturn orders fell by {a}% within three "
     "quarters, and our inventories took {b} months to follow. A similar fall would leave us with costs that we cannot cut as fast."),
    ("The cost of {material} can rise faster than our prices.",
     "Most of our agreements let us pass on a rise in the cost of {material} only after {b} months, and some not at all. We hedge no "
     "more than {a}% of a year's need, and a hedge helps little when the material itself is short."),
    ("We may not complete or integrate acquisitions well.",
     "A business that we buy may lose the people who made it worth buying. Of the systems of businesses bought in the last ten years, "
     "{b} still run apart from ours, which makes closing the books slower and leaves more room for error."),
    ("A failure of our information systems could halt deliveries.",
     "We take orders, plan work and ship through one planning system, whose last unplanned outage lasted {b} hours. Attackers have tried "
     "to enter it through suppliers' accounts. Insurance would pay for part of the loss, after a deductible of ${a} million."),
    ("Our {site} is hard to replace.",
     "About {a}% of what we sell passes through one {site} in {town}. A fire, flood or strike there could stop deliveries for {b} months "
     "or longer, and no outside firm has the permits and tooling to step in."),
    ("Competitors with more means may copy what we do.",
     "Imitations of the {product} sell at {a}% less. Larger rivals can bundle such goods with others that we do not offer, and in {b} "
     "tenders of the past year the cheapest bid won in spite of its poorer record."),
    ("Returns can exceed what we set aside.",
     "Buyers may return the {product} when it falls short of what we promise, while our experience with its newest form is short. If "
     "returns were {a}% higher than assumed, the reserve would not suffice, and it took {b} months to mend the last fault of that kind."),
    ("We depend on people whom others want to hire.",
     "It takes {b} months to train a specialist for our {site}, and {a}% of those specialists may retire within five years. Rivals in "
     "{town} pay signing awards that we have so far declined to match."),
    ("Changes in trade rules could raise our costs or close markets.",
     "Duties on {material} have changed {b} times in four years. About {a}% of our goods cross a border at least once before they are "
     "sold, and a customs dispute over origin could bring back-payments."),
    ("Laws on the environment bind us for what was done long ago.",
     "We share the cost of cleaning {b} former sites, one of them under a state order. The reserve covers the work that engineers can "
     "foresee; the state may ask for more, such as removing soil to a depth of {a} feet."),
    ("Our tax burden may grow.",
     "Several countries have adopted a minimum tax, and the credits that lowered our rate by {a} basis points may lapse. Audits are open "
     "for {b} years, and the outcome of one could differ from what we recorded."),
    ("Debt limits what we can do.",
     "Our notes and credit facility restrict liens, sales of assets and payments to shareholders. If our adjusted earnings fell by {a}%, "
     "we would have to ask lenders for relief within {b} quarters, and they could refuse or charge for it."),
    ("Our patents may not protect us.",
     "Of our patents, {a} expire within five years. We have given {b} licenses that let others use the basic claims of the {product}, "
     "and courts abroad have read such claims narrowly."),
    ("Seasons and one-time orders make quarters hard to compare.",
     "Deliveries to {customers} crowd into {b} months of the year. One order more or less in the last week of a quarter can move its "
     "revenue by {a}% and mislead those who draw a line through it."),
    ("Goodwill could be written down.",
     "Goodwill rests on forecasts of the reporting units. For one of them the estimated fair value exceeded the carrying amount by only "
     "{a}% at the last test, and a delay of {b} quarters in its plan would use up that margin."),
    ("Climate and weather disturb our supply and our sites.",
     "The region around {town} has had {b} floods in a decade. Insurers now exclude part of such losses, and rules on reporting "
     "emissions will need data that {a}% of our suppliers do not yet keep."),
    ("Credit losses may rise.",
     "We sell to {customers} on open account, {a}% of it without insurance. Two distributors asked to pay {b} weeks later than agreed, "
     "which may be an early sign of distress."),
    ("Our shares may fluctuate for reasons outside our business.",
     "Few analysts follow us, and {b} holders own {a}% of our shares. A sale by one of them could move the price more than any result "
     "that we report."),
)

POLICIES: tuple[tuple[str, str, str], ...] = (  # title, concept of the text block, text
    ("Basis of presentation", "BasisOfPresentationAndSignificantAccountingPoliciesTextBlock",
     "The statements cover {name} and its subsidiaries, after removal of balances and dealings among them. Fiscal years end on the last "
     "day of {month}. Estimates are needed for reserves, the lives of plant, and taxes; results may differ."),
    ("Revenue", "RevenueFromContractWithCustomerTextBlock",
     "Revenue is recorded when control of goods passes, which for most contracts of {seg0} is at the carrier's dock, and over time for "
     "services of {seglast}. Payment is due within {a} to {b} days. Rebates are estimated from the volumes of the past four quarters."),
    ("Inventories", "InventoryDisclosureTextBlock",
     "Inventories are stated at the lower of cost, first in first out, and net realizable value. Parts of the {product} without use for "
     "{b} months are written down to scrap value. Stocks held by distributors on consignment made up {c}% of the total."),
    ("Property, plant and equipment", "PropertyPlantAndEquipmentDisclosureTextBlock",
     "Plant is carried at cost less depreciation on a straight line: buildings over {a} years, machines over 5 to {b} years. Interest "
     "during construction of the {site} was capitalized. No impairment was found."),
    ("Goodwill and intangible assets", "GoodwillAndIntangibleAssetsDisclosureTextBlock",
     "Goodwill is tested in the last quarter of each year by reporting unit. The test used a discount rate of {c}% and growth of 2.5% "
     "after year {b}. Customer relationships are amortized over their expected use."),
    ("Leases", "LesseeOperatingLeasesTextBlock",
     "We lease the {site} in {town} and vehicles for up to {b} years. The weighted average remaining term was {c} years. Options to "
     "renew are counted where we are reasonably certain to use them, and payments tied to use are expensed."),
    ("Income taxes", "IncomeTaxDisclosureTextBlock",
     "Deferred taxes follow from differences in timing, chiefly of plant and reserves. A valuation allowance stands against losses of a "
     "subsidiary in {town}. Positions that may not be sustained are reserved; the reserve changed by less than {c}%."),
    ("Stock-based compensation", "DisclosureOfCompensationRelatedCostsShareBasedPaymentsTextBlock",
     "Awards vest over {b} quarters or upon results over three years. Their cost is the price of the share on the day of grant. Unearned "
     "cost will be expensed over about {c} quarters."),
    ("Fair value", "FairValueDisclosuresTextBlock",
     "Money market funds are valued by quoted prices. Notes payable, carried at cost, would be worth {c}% less at the rates that a buyer "
     "would have asked. Swaps that fix the price of {material} are valued by models with observable input."),
)

GOVERNANCE = {
    "10": ("Directors, Executive Officers and Corporate Governance",
          "What this item asks for will stand in our proxy statement under \"Election of Directors\" and \"Delinquent Section 16(a) "
          "Reports\" and is included here by reference. Our code of conduct is on our website, and waivers for officers are posted there "
          "within four business days."),
    "11": ("Executive Compensation",
          "What this item asks for will stand in our proxy statement under \"Compensation Discussion and Analysis\" and is included here "
          "by reference."),
    "12": ("Security Ownership of Certain Beneficial Owners and Management and Related Stockholder Matters",
          "Ownership will be shown in our proxy statement under \"Who Owns Our Stock\" and is included here by reference; {count:,} "
          "shares remain for future awards under the equity plan."),
    "13": ("Certain Relationships and Related Transactions, and Director Independence",
          "The proxy statement will treat this under \"Independence and Dealings with Related Persons\", which is included here by "
          "reference."),
    "14": ("Principal Accountant Fees and Services",
          "Fees of {auditor} will be shown in the proxy statement under \"Ratification of Auditor\" and are included here by reference."),
}


def words(company: Company, *topic: object) -> dict[str, object]:
    """What fills the places of the texts above, for a topic of a company."""
    rng, sector = company.rng("words", *topic), company.sector
    customers = rng.choice(sector.customers)
    return {
        "Customers": customers[0].upper() + customers[1:], "customers": customers, "material": rng.choice(sector.materials),
        "product": rng.choice(sector.products),
        "site": rng.choice(sector.sites), "town": company.town[2], "a": rng.randrange(12, 60), "b": rng.randrange(3, 12), "c":
            f"{rng.randrange(20, 99) / 10:.1f}",
        "name": company.name, "seg0": company.segments[0], "seglast": company.segments[-1],
        "month": company.quarter_end(2024, 4).strftime("%B"),
    }


def risks(company: Company, year: int, count: int) -> list[tuple[str, str]]:
    """Heading and body of so many general risks, a different choice each year, after the trade's own."""
    rng = company.rng("risks", year)
    chosen = rng.sample(RISKS, min(count, len(RISKS)))
    made = [(head.format(**words(company, "risk", head)), body.format(**words(company, "risk", head) | _figures(company, head, year)))
            for head, body in chosen]
    return list(company.sector.risks) + made


def _figures(company: Company, head: str, year: int) -> dict[str, object]:
    """Numbers of a risk change from year to year; its other words stay."""
    rng = company.rng("figures", head, year)
    return {"a": rng.randrange(12, 60), "b": rng.randrange(3, 12)}
