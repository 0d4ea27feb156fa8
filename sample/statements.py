"""The financial statements as tables with inline facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from edgarmill.sample.books import PAR, Balance, Books, Flow
from edgarmill.sample.companies import Company
from edgarmill.sample.inline import Percent, PerShare, Quote, Report, Row, long_date

UNIT = "(in thousands, except per share amounts)"


@dataclass(frozen=True)
class Period:
    """A column of a statement."""

    head: str
    flow: Flow
    context: str
    start: date
    end: date


def member(company: Company, place: int) -> str:
    return company.segments[place].replace(" ", "") + "Member"


def year_periods(report: Report, books: Books, years: Sequence[int]) -> list[Period]:
    one = report.company
    return [_period(report, str(y), books.year(y), one.quarter_start(y, 1), one.quarter_end(y, 4)) for y in years]


def quarter_periods(report: Report, books: Books, year: int, quarter: int) -> list[Period]:
    """Three months, and year to date where that is longer, each with the year before."""
    one = report.company
    spans = [(f"Three months {y}", books.quarter(y, quarter), one.quarter_start(y, quarter), y) for y in (year, year - 1)]
    if quarter > 1:
        word = {2: "Six", 3: "Nine", 4: "Twelve"}[quarter]
        spans += [(f"{word} months {y}", books.to_date(y, quarter), one.quarter_start(y, 1), y) for y in (year, year - 1)]
    return [_period(report, head, flow, start, one.quarter_end(y, quarter)) for head, flow, start, y in spans]


def _period(report: Report, head: str, flow: Flow, start: date, end: date) -> Period:
    return Period(head, flow, report.contexts.duration(start, end), start, end)


def income(report: Report, periods: Sequence[Period]) -> None:
    f = [p.flow for p in periods]

    def row(label: str, values: Sequence[int], concept: str, indent: int = 0, total: bool = False) -> Row:
        return Row(label, list(values), concept, indent=indent, total=total)

    rows = [
        row("Total net revenue", [x.revenue for x in f], "RevenueFromContractWithCustomerExcludingAssessedTax"),
        row("Cost of revenue", [x.cost for x in f], "CostOfRevenue"),
        row("Gross profit", [x.gross for x in f], "GrossProfit", total=True),
        Row("Operating expenses:"),
        row("Research and development", [x.research for x in f], "ResearchAndDevelopmentExpense", 1),
        row("Selling, general and administrative", [x.selling for x in f], "SellingGeneralAndAdministrativeExpense", 1),
        row("Amortization of intangible assets", [x.amortization for x in f], "AmortizationOfIntangibleAssets", 1),
        Row("Restructuring charges", [x.restructuring or None for x in f], "RestructuringCharges", indent=1),
        row("Total operating expenses", [x.operating_expenses for x in f], "OperatingExpenses", total=True),
        row("Operating income", [x.operating for x in f], "OperatingIncomeLoss"),
        Row("Interest expense", [x.interest for x in f], "InterestExpense", flip=True),
        row("Income before income taxes", [x.pretax for x in f],
            "IncomeLossFromContinuingOperationsBeforeIncomeTaxesExtraordinaryItemsNoncontrollingInterest"),
        row("Provision for income taxes", [x.taxes for x in f], "IncomeTaxExpenseBenefit"),
        row("Net income", [x.net for x in f], "NetIncomeLoss", total=True),
        Row("Net income per share, basic", [PerShare(x.per_share) for x in f], "EarningsPerShareBasic"),
        Row("Weighted average shares, basic (thousands)", [x.shares for x in f], "WeightedAverageNumberOfSharesOutstandingBasic"),
    ]
    report.heading("CONSOLIDATED STATEMENTS OF INCOME")
    report.table([p.head for p in periods], rows, [p.context for p in periods], UNIT)


def balance_sheet(report: Report, books: Books, columns: Sequence[tuple[int, int]]) -> None:
    """Balances at the ends of these (year, quarter)."""
    one = report.company
    b: list[Balance] = [books.end(*c) for c in columns]
    days = [one.quarter_end(*c) for c in columns]
    table = (
        ("Cash and cash equivalents", "cash", "CashAndCashEquivalentsAtCarryingValue", 0),
        ("Accounts receivable, net", "receivables", "AccountsReceivableNetCurrent", 0), ("Inventories", "inventory", "InventoryNet", 0),
        ("Prepaid expenses and other current assets", "prepaid", "PrepaidExpenseAndOtherAssetsCurrent", 0),
        ("Total current assets", "current_assets", "AssetsCurrent", 1), ("Property, plant and equipment, net", "plant",
            "PropertyPlantAndEquipmentNet", 0),
        ("Goodwill", "goodwill", "Goodwill", 0), ("Intangible assets, net", "intangibles", "FiniteLivedIntangibleAssetsNet", 0),
        ("Total assets", "assets", "Assets", 1), ("Accounts payable", "payables", "AccountsPayableCurrent", 0),
        ("Accrued liabilities", "accrued", "AccruedLiabilitiesCurrent", 0), ("Deferred revenue", "deferred",
            "ContractWithCustomerLiabilityCurrent", 0),
        ("Current portion of debt", "current_debt", "LongTermDebtCurrent", 0), ("Total current liabilities", "current_liabilities",
            "LiabilitiesCurrent", 1),
        ("Long-term debt", "debt", "LongTermDebtNoncurrent", 0), ("Total liabilities", "liabilities", "Liabilities", 1),
        ("Additional paid-in capital", "paid_in", "AdditionalPaidInCapital", 0), ("Retained earnings", "retained",
            "RetainedEarningsAccumulatedDeficit", 0),
    )
    rows = [Row(label, [getattr(x, name) for x in b], concept, total=bool(total)) for label, name, concept, total in table]
    rows.insert(0, Row("Assets"))
    rows.insert(10, Row("Liabilities and stockholders' equity"))
    rows.insert(-2, Row("Common stock, $0.001 par", [PAR for _ in b], "CommonStockValue"))
    rows += [
        Row("Treasury stock, at cost", [x.treasury or None for x in b], "TreasuryStockCommonValue", flip=True),
        Row("Total stockholders' equity", [x.equity for x in b], "StockholdersEquity", total=True),
        Row("Total liabilities and stockholders' equity", [x.assets for x in b], "LiabilitiesAndStockholdersEquity", total=True),
    ]
    report.heading("CONSOLIDATED BALANCE SHEETS")
    report.table([long_date(d) for d in days], rows, [report.contexts.instant(d) for d in days], "(in thousands)")


def cash_flow(report: Report, periods: Sequence[Period]) -> None:
    f = [p.flow for p in periods]

    def out(label: str, name: str, concept: str) -> Row:
        return Row(label, [getattr(x, name) or None for x in f], concept, indent=1, flip=True)

    def into(label: str, name: str, concept: str, total: bool = False) -> Row:
        return Row(label, [getattr(x, name) or None for x in f], concept, indent=0 if total else 1, total=total)

    report.heading("CONSOLIDATED STATEMENTS OF CASH FLOWS")
    report.table([p.head for p in periods], [
        Row("Operating activities:"), into("Net income for the period", "net", "ProfitLoss"),
        into("Depreciation", "depreciation", "Depreciation"), into("Amortization", "amortization", "AmortizationOfIntangibleAssets"),
        into("Stock-based compensation", "stock_pay", "ShareBasedCompensation"),
        out("Accounts receivable", "receivables", "IncreaseDecreaseInAccountsReceivable"), out("Inventories", "inventory",
            "IncreaseDecreaseInInventories"),
        out("Prepaid expenses", "prepaid", "IncreaseDecreaseInPrepaidExpense"), into("Accounts payable", "payables",
            "IncreaseDecreaseInAccountsPayable"),
        into("Accrued liabilities", "accrued", "IncreaseDecreaseInAccruedLiabilities"),
        into("Deferred revenue", "deferred", "IncreaseDecreaseInContractWithCustomerLiability"),
        into("Cash provided by operating activities", "from_operations", "NetCashProvidedByUsedInOperatingActivities", True),
        out("Purchases of property, plant and equipment", "capex", "PaymentsToAcquirePropertyPlantAndEquipment"),
        out("Acquisitions, net of cash acquired", "acquired", "PaymentsToAcquireBusinessesNetOfCashAcquired"),
        into("Cash used in investing activities", "investing", "NetCashProvidedByUsedInInvestingActivities", True),
        into("Proceeds from borrowings", "borrowed", "ProceedsFromIssuanceOfLongTermDebt"), out("Repayments of debt", "repaid",
            "RepaymentsOfLongTermDebt"),
        out("Dividends paid", "dividends", "PaymentsOfDividends"), out("Repurchases of stock", "buyback",
            "PaymentsForRepurchaseOfCommonStock"),
        into("Cash used in financing activities", "financing", "NetCashProvidedByUsedInFinancingActivities", True),
        into("Change in cash", "change", "CashAndCashEquivalentsPeriodIncreaseDecrease", True),
    ], [p.context for p in periods], "(in thousands)")


def segments(report: Report, periods: Sequence[Period]) -> None:
    """Revenue by segment, with dimensional facts; its rows are table evidence."""
    one = report.company
    rows = []
    for place, name in enumerate(one.segments):
        values = [p.flow.sales[place] for p in periods]
        quote = Quote("segment_row", "", f"${values[0]:,} thousand", Decimal(values[0])) if place == 0 else None
        contexts = [report.contexts.duration(p.start, p.end, member(one, place)) for p in periods]
        rows.append(Row(f"{name} segment", values, "RevenueFromContractWithCustomerExcludingAssessedTax", contexts, indent=1, quote=quote))
    rows.append(Row("Revenue of all segments", [p.flow.revenue for p in periods], total=True))
    report.table([p.head for p in periods], rows, (), "(in thousands)")


def results_table(report: Report, periods: Sequence[Period], key: str) -> None:
    """Shares of revenue, as in a discussion of results."""
    f = [p.flow for p in periods]
    operating = Quote(key, "", f"{f[0].percent(f[0].operating)}%", f[0].percent(f[0].operating))
    rows = [
        Row("Gross margin as a share of revenue", [Percent(x.margin) for x in f]),
        Row("Research share of revenue", [Percent(x.percent(x.research)) for x in f]),
        Row("Overhead share of revenue", [Percent(x.percent(x.selling)) for x in f]),
        Row("Operating margin", [Percent(x.percent(x.operating)) for x in f], quote=operating),
        Row("Net margin", [Percent(x.percent(x.net)) for x in f]),
    ]
    report.table([p.head for p in periods], rows, (), "(percent of net revenue)")
