"""The books of a fictional company: quarters that roll forward, so that every statement adds up. Money in thousands of dollars."""

from __future__ import annotations

from dataclasses import dataclass, fields
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Self

from edgarmill.sample.companies import BASE_YEAR, Company

FIRST_YEAR = BASE_YEAR - 4
PAR = 1  # thousands; common stock at par


@dataclass(frozen=True)
class Flow:
    """What happened in a quarter, or in several added up."""

    sales: tuple[int, ...]  # by segment
    costs: tuple[int, ...]  # by segment
    research: int
    selling: int
    amortization: int
    restructuring: int
    interest: int
    taxes: int
    depreciation: int
    stock_pay: int
    receivables: int  # increases of …
    inventory: int
    prepaid: int
    payables: int
    accrued: int
    deferred: int
    capex: int
    acquired: int  # cash paid for businesses
    borrowed: int
    repaid: int
    dividends: int
    buyback: int
    shares: int  # average, thousands; of several quarters their mean

    @property
    def revenue(self) -> int:
        return sum(self.sales)

    @property
    def cost(self) -> int:
        return sum(self.costs)

    @property
    def gross(self) -> int:
        return self.revenue - self.cost

    @property
    def operating_expenses(self) -> int:
        return self.research + self.selling + self.amortization + self.restructuring

    @property
    def operating(self) -> int:
        return self.gross - self.operating_expenses

    @property
    def pretax(self) -> int:
        return self.operating - self.interest

    @property
    def net(self) -> int:
        return self.pretax - self.taxes

    @property
    def from_operations(self) -> int:
        return (self.net + self.depreciation + self.amortization + self.stock_pay - self.receivables - self.inventory - self.prepaid
                + self.payables + self.accrued + self.deferred)

    @property
    def investing(self) -> int:
        return -self.capex - self.acquired

    @property
    def financing(self) -> int:
        return self.borrowed - self.repaid - self.dividends - self.buyback

    @property
    def change(self) -> int:
        return self.from_operations + self.investing + self.financing

    @property
    def per_share(self) -> Decimal:
        return (Decimal(self.net) / self.shares).quantize(Decimal("0.01"), ROUND_HALF_UP)

    def percent(self, part: int) -> Decimal:
        return (Decimal(part) * 100 / self.revenue).quantize(Decimal("0.1"), ROUND_HALF_UP)

    @property
    def margin(self) -> Decimal:
        """Gross margin in percent, as printed."""
        return self.percent(self.gross)

    @classmethod
    def total(cls, flows: list[Self]) -> Self:
        values = {f.name: sum(getattr(flow, f.name) for flow in flows) for f in fields(cls) if f.name not in ("sales", "costs", "shares")}
        return cls(sales=tuple(map(sum, zip(*(f.sales for f in flows), strict=True))),
                   costs=tuple(map(sum, zip(*(f.costs for f in flows), strict=True))),
                   shares=sum(f.shares for f in flows) // len(flows), **values)


@dataclass(frozen=True)
class Balance:
    """What is there at a quarter's end."""

    cash: int
    receivables: int
    inventory: int
    prepaid: int
    plant: int
    goodwill: int
    intangibles: int
    payables: int
    accrued: int
    deferred: int
    current_debt: int
    debt: int  # long-term part
    paid_in: int
    retained: int
    treasury: int
    shares: int  # outstanding, thousands

    @property
    def current_assets(self) -> int:
        return self.cash + self.receivables + self.inventory + self.prepaid

    @property
    def assets(self) -> int:
        return self.current_assets + self.plant + self.goodwill + self.intangibles

    @property
    def current_liabilities(self) -> int:
        return self.payables + self.accrued + self.deferred + self.current_debt

    @property
    def liabilities(self) -> int:
        return self.current_liabilities + self.debt

    @property
    def equity(self) -> int:
        return PAR + self.paid_in + self.retained - self.treasury


@dataclass(frozen=True)
class Purchase:
    """The business that the company buys in the sample's years."""

    year: int
    quarter: int
    price: int
    goodwill: int
    intangibles: int
    plant: int


@dataclass(frozen=True)
class Books:
    flows: dict[tuple[int, int], Flow]  # by fiscal year and quarter
    balances: dict[tuple[int, int], Balance]
    purchase: Purchase
    cut: tuple[int, int]  # year and quarter of the restructuring

    def quarter(self, year: int, quarter: int) -> Flow:
        return self.flows[year, quarter]

    def to_date(self, year: int, quarter: int) -> Flow:
        """First quarter to this one; quarter 4 gives the year."""
        return Flow.total([self.flows[year, q] for q in range(1, quarter + 1)])

    def year(self, year: int) -> Flow:
        return self.to_date(year, 4)

    def end(self, year: int, quarter: int = 4) -> Balance:
        return self.balances[year, quarter]


@lru_cache(maxsize=8)
def books(company: Company) -> Books:
    """Quarters from BASE_YEAR - 4 to the first of BASE_YEAR + 1."""
    rng = company.rng("books")
    size = rng.randrange(60_000, 420_000)
    weights = [rng.uniform(0.6, 1.4) for _ in company.segments]
    base = [size * w / sum(weights) for w in weights]
    low, high = company.sector.gross
    margins = [rng.uniform(low, high) / 100 for _ in company.segments]
    season = [1 + rng.uniform(-0.07, 0.07) for _ in range(4)]
    purchase = _purchase(company, size)
    cut = (rng.choice((BASE_YEAR - 1, BASE_YEAR)), rng.choice((1, 2, 3)))
    before = _opening(company, size)
    flows: dict[tuple[int, int], Flow] = {}
    balances: dict[tuple[int, int], Balance] = {}
    for year in range(FIRST_YEAR, BASE_YEAR + 2):
        base = [b * (1 + rng.uniform(-0.06, 0.16)) for b in base]
        margins = [min(0.9, max(0.1, m + rng.uniform(-0.025, 0.028))) for m in margins]
        tax = rng.uniform(0.19, 0.26)
        for quarter in range(1, 5) if year <= BASE_YEAR else (1,):
            sales = tuple(round(b * season[quarter - 1] * (1 + rng.uniform(-0.03, 0.03))) for b in base)
            costs = tuple(round(s * (1 - m + rng.uniform(-0.006, 0.006))) for s, m in zip(sales, margins, strict=True))
            charge = round(size * rng.uniform(0.02, 0.04)) if (year, quarter) == cut else 0
            bought = purchase if (purchase.year, purchase.quarter) == (year, quarter) else None
            flow, after = _quarter(rng.uniform(-1, 1), sales, costs, charge, tax, bought, before, quarter)
            flows[year, quarter], balances[year, quarter], before = flow, after, after
    return Books(flows, balances, purchase, cut)


def _purchase(company: Company, size: int) -> Purchase:
    rng = company.rng("purchase")
    price = round(size * rng.uniform(0.25, 0.6))
    goodwill, intangibles = round(price * rng.uniform(0.4, 0.55)), round(price * rng.uniform(0.25, 0.35))
    return Purchase(rng.choice((BASE_YEAR - 1, BASE_YEAR)), rng.choice((1, 2, 3, 4)), price, goodwill, intangibles,
                    price - goodwill - intangibles)


def _opening(company: Company, size: int) -> Balance:
    rng = company.rng("opening")
    cash, plant, goodwill, intangibles = (round(size * rng.uniform(a, b)) for a, b in ((0.8, 1.4), (1.2, 2.2), (0.5, 1.1), (0.2, 0.5)))
    receivables, inventory, prepaid = (round(size * rng.uniform(a, b)) for a, b in ((0.55, 0.7), (0.3, 0.6), (0.08, 0.12)))
    payables, accrued, deferred = (round(size * rng.uniform(a, b)) for a, b in ((0.3, 0.4), (0.15, 0.25), (0.1, 0.3)))
    debt = round(size * rng.uniform(0.8, 1.4))
    assets = cash + receivables + inventory + prepaid + plant + goodwill + intangibles
    paid_in = round(size * rng.uniform(0.6, 1.0))
    retained = assets - payables - accrued - deferred - debt - paid_in - PAR
    return Balance(cash, receivables, inventory, prepaid, plant, goodwill, intangibles, payables, accrued, deferred, debt // 20,
                   debt - debt // 20,
                   paid_in, retained, 0, size // rng.randrange(5, 9))


def _quarter(mood: float, sales: tuple[int, ...], costs: tuple[int, ...], charge: int, tax: float, bought: Purchase | None, before: Balance,
             quarter: int) -> tuple[Flow, Balance]:
    """One quarter's flow and the balance after it; `mood` between -1 and 1 varies what is not given."""
    revenue, cost = sum(sales), sum(costs)
    gross = revenue - cost
    debt = before.debt + before.current_debt
    amortization, depreciation = round(before.intangibles * 0.025), round(before.plant * 0.026)
    research, selling = round(gross * (0.21 + 0.01 * mood)), round(gross * (0.44 + 0.02 * mood))
    interest = round(debt * 0.0135)
    pretax = gross - research - selling - amortization - charge - interest
    targets = round(revenue * (0.62 + 0.03 * mood)), round(cost * (0.55 - 0.04 * mood)), round(revenue * (0.10 + 0.01 * mood))
    owed = round(cost * (0.48 + 0.03 * mood)), round(selling * (0.5 + 0.04 * mood)), round(revenue * (0.17 + 0.02 * mood))
    borrowed = round(bought.price * 0.6) if bought else 0
    net = pretax - round(pretax * tax)
    flow = Flow(
        sales=sales, costs=costs, research=research, selling=selling, amortization=amortization, restructuring=charge, interest=interest,
        taxes=round(pretax * tax), depreciation=depreciation, stock_pay=round(selling * 0.06),
        receivables=targets[0] - before.receivables, inventory=targets[1] - before.inventory, prepaid=targets[2] - before.prepaid,
        payables=owed[0] - before.payables, accrued=owed[1] - before.accrued, deferred=owed[2] - before.deferred,
        capex=round(depreciation * (1.1 + 0.25 * mood)), acquired=bought.price if bought else 0, borrowed=borrowed,
        repaid=round(debt * 0.012),
        dividends=max(0, round(net * 0.2)), buyback=max(0, round(net * 0.15)) if quarter % 2 else 0, shares=before.shares,
    )
    total = debt + flow.borrowed - flow.repaid
    return flow, Balance(
        cash=before.cash + flow.change, receivables=targets[0], inventory=targets[1], prepaid=targets[2],
        plant=before.plant + flow.capex - depreciation + (bought.plant if bought else 0),
        goodwill=before.goodwill + (bought.goodwill if bought else 0),
        intangibles=before.intangibles - amortization + (bought.intangibles if bought else 0), payables=owed[0], accrued=owed[1],
        deferred=owed[2],
        current_debt=total // 20, debt=total - total // 20, paid_in=before.paid_in + flow.stock_pay,
        retained=before.retained + flow.net - flow.dividends,
        treasury=before.treasury + flow.buyback, shares=before.shares - flow.buyback // 60,
    )
