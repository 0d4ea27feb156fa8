"""Accounting terms of a question, as financial statements name them: "capex" stands in a statement of cash flows as purchases of property,
plant and equipment, and a quick ratio stands nowhere, but is made of lines of the balance sheet.

The lines are those of Regulation S-X (17 CFR 210.5-02 balance sheets, 5-03 statements of comprehensive income) and of ASC 230 (cash flows);
of ratios those of their usual definitions. Data by hand, and one function.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

BALANCE, INCOME, CASH = "balance sheets", "statements of income", "statements of cash flows"
_OPENINGS = {
    BALANCE: "Consolidated balance sheets", INCOME: "Consolidated statements of income, operations, earnings",
    CASH: "Consolidated statements of cash flows",
}
_PPE = "property, plant and equipment, net"
_COST = "cost of sales, cost of goods sold, cost of revenue"
_SALES = "net sales, revenues"
_CURRENT = "total current assets, total current liabilities"
_EARNED = "net income, net earnings"
_BUYING = "purchases of property, plant and equipment, additions, capital expenditures"
_OPERATING = "net cash provided by operating activities"
_SPREAD = "depreciation and amortization"

# What people write, and the lines by statement.
_TERMS: tuple[tuple[str, dict[str, str]], ...] = (
    (r"cap(?:ital)?[\s-]?ex(?:penditures?)?\b|capital\s+(?:spending|expenditures?)", {CASH: _BUYING}),
    (r"pp\s?&\s?e|ppne|(?:net\s+)?property,?\s+plant,?\s+(?:and|&)\s+equipment", {BALANCE: _PPE}),
    (r"fixed\s+assets?(?:\s+turnover)?", {BALANCE: _PPE, INCOME: _SALES}),
    (r"capital[\s-]intens\w+", {BALANCE: f"{_PPE}, total assets", CASH: _BUYING, INCOME: _SALES}),
    (r"cogs|costs?\s+of\s+(?:goods\s+sold|sales|revenues?)", {INCOME: _COST}),
    (r"gross\s+(?:margins?|profits?|profitability)", {INCOME: f"{_SALES}, {_COST}, gross profit"}),
    (r"operating\s+(?:margins?|profits?|profitability|income)", {INCOME: f"{_SALES}, operating income, total costs and expenses"}),
    (r"(?:net\s+)?profit\s+margins?|net\s+margins?", {INCOME: f"{_SALES}, {_EARNED}"}),
    (r"net\s+(?:income|earnings|profits?)", {INCOME: f"{_EARNED} attributable to shareholders"}),
    (r"ebitdar?\b|ebit\b", {INCOME: "operating income, income before income taxes", CASH: _SPREAD}),
    (r"d\s?&\s?a\b|depreciation", {CASH: _SPREAD}),
    (r"(?:revenues?|sales)\s+growth|(?:change|growth)\s+in\s+(?:total\s+|net\s+)?(?:revenues?|sales)", {INCOME: _SALES}),
    (r"effective\s+tax\s+rates?", {INCOME: "income before income taxes, provision for income taxes"}),
    (r"interest\s+coverage", {INCOME: "operating income, interest expense"}),
    (r"sg\s?&\s?a\b", {INCOME: "selling, general and administrative expenses"}),
    (r"r\s?&\s?d\b", {INCOME: "research and development expenses"}),
    (r"eps\b|earnings\s+per\s+share", {INCOME: "earnings per share, basic, diluted"}),
    (r"quick\s+ratios?|acid[\s-]test", {BALANCE: f"cash and cash equivalents, receivables, inventories, {_CURRENT}"}),
    (r"current\s+ratios?|working\s+capital", {BALANCE: _CURRENT}),
    (r"(?:total\s+)?current\s+(?:assets|liabilities)", {BALANCE: _CURRENT}),
    (r"total\s+assets|return\s+on\s+assets|\broa\b", {BALANCE: "total assets"}),
    (r"liabilit(?:y|ies)", {BALANCE: "total liabilities"}),
    (r"debts?\s+on\s+(?:the\s+)?balance\s+sheets?|debt[\s-]to[\s-]equity|leverage",
     {BALANCE: "short-term borrowings, long-term debt, total liabilities"}),
    (r"return\s+on\s+equity|\broe\b", {BALANCE: "total stockholders' equity", INCOME: _EARNED}),
    (r"cash\s*(?:&|and)\s*cash\s+equivalents", {BALANCE: "cash and cash equivalents"}),
    (r"inventor(?:y|ies)\s+turnover|days\s+inventory|\bdio\b", {BALANCE: "inventories", INCOME: _COST}),
    (r"inventor(?:y|ies)", {BALANCE: "inventories"}),
    (r"dpo\b|days\s+payables?|accounts\s+payable", {BALANCE: "accounts payable, inventories", INCOME: _COST}),
    (r"dso\b|days\s+sales\s+outstanding|(?:accounts\s+)?receivables?", {BALANCE: "accounts receivable, net", INCOME: _SALES}),
    (r"cash\s+conversion\s+cycle|\bccc\b", {BALANCE: "accounts receivable, inventories, accounts payable", INCOME: f"{_SALES}, {_COST}"}),
    (r"free\s+cash\s?flows?", {CASH: f"{_OPERATING}, {_BUYING}", INCOME: _EARNED}),
    (r"(?:operating\s+cash\s?flows?|cash\s?flows?\s+from\s+operati\w+)", {CASH: _OPERATING}),
    (r"(?:operations|operating),?\s+investing,?\s+(?:and|or)\s+financing",
     {CASH: f"{_OPERATING}, net cash used in investing activities, financing activities"}),
    (r"dividends?\s+paid|pa(?:id|y)\s+dividends|(?:payout|retention)\s+ratios?", {CASH: "dividends paid", INCOME: _EARNED}),
    (r"(?:stock|share)\s+(?:repurchases?|buybacks?)", {CASH: "repurchases of common stock"}),
    # the statements by their own names
    (r"balance\s+sheets?|statements?\s+of\s+financial\s+position", {BALANCE: ""}),
    (r"income\s+statements?|statements?\s+of\s+(?:income|operations|earnings)|p\s?&\s?l\b", {INCOME: ""}),
    (r"cash\s?flow\s+statements?|statements?\s+of\s+cash\s?flows?", {CASH: ""}),
)
_PATTERNS = tuple((re.compile(rf"\b(?:{pattern})", re.I), lines) for pattern, lines in _TERMS)


@dataclass(frozen=True, slots=True)
class Lines:
    """One statement that a question's terms are lines of: what to search for in it."""

    statement: str
    text: str


def lines_of(question: str) -> list[Lines]:
    """The statements, in the order of `_OPENINGS`, each with the lines that the question's terms stand for; [] where there are none."""
    found: dict[str, list[str]] = {}
    for pattern, lines in _PATTERNS:
        if pattern.search(question):
            for statement, words in lines.items():
                found.setdefault(statement, []).extend(word for word in words.split(", ") if word and word not in found[statement])
    return [Lines(statement, ": ".join(filter(None, (opening, ", ".join(found[statement])))))
            for statement, opening in _OPENINGS.items() if statement in found]
