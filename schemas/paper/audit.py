"""Tables 1-3 of arXiv 2511.18177 as rows, and an audit that recomputes each dollar cell from its tokens.

    cells() -> every cell of the three tables, null where the printed figure is not at hand
    audit(cells()) -> one finding a cell: agrees | contradicts | not computable
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from importlib import resources
from typing import Any, Literal

CENT = Decimal("0.01")
MILLION = Decimal(1_000_000)
FILINGS_PER_COMPANY = 5  # 10-Ks: 30.62 / 6.124


@dataclass(frozen=True, slots=True)
class Cell:
    """One model and form of one table, figures as printed. None = not at hand; then `note` says so."""

    table: int
    scope: str  # per company | per filing
    content: str  # trees with or without node summaries
    form: str
    model: str
    input_tokens: int | None
    output_tokens: int | None
    total_tokens: int | None
    dollars: Decimal | None
    note: str
    source: str


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens; `form` is empty where it holds for every form."""

    model: str
    form: str
    input: Decimal
    output: Decimal
    note: str

    def dollars(self, input_tokens: int, output_tokens: int) -> Decimal:
        """Exact, unrounded."""
        return (self.input * input_tokens + self.output * output_tokens) / MILLION


@dataclass(frozen=True, slots=True)
class Finding:
    """What the audit says of one cell."""

    cell: Cell
    verdict: Literal["agrees", "contradicts", "not computable"]
    recomputed: Decimal | None  # USD to the cent
    text: str
    corrected: Decimal | None = None  # USD of the tokens that fit the printed total, where those printed do not


def cells() -> list[Cell]:
    """Every cell by table, form and model."""
    data = _data()
    known = {(c["table"], c["form"], c["model"]): c for c in data["cell"]}
    return [_cell(table, form, model, known.get((table["number"], form, model), {}), data)
            for table in data["table"] for form in data["forms"] for model in data["models"]]


def prices() -> list[Price]:
    """The prices with which the paper's dollars were found to be computed."""
    return [Price(p["model"], p.get("form", ""), Decimal(p["input"]), Decimal(p["output"]), p["note"]) for p in _data()["price"]]


def audit(rows: Sequence[Cell]) -> list[Finding]:
    """One finding a cell, in the order of the cells."""
    return [_finding(cell, rows) for cell in rows]


def _finding(cell: Cell, rows: Sequence[Cell]) -> Finding:
    price = next(p for p in prices() if p.model == cell.model and p.form in ("", cell.form))
    if cell.dollars is None:
        return Finding(cell, "not computable", None, cell.note)
    if cell.input_tokens is not None and cell.output_tokens is not None:
        return _from_tokens(cell, cell.input_tokens, cell.output_tokens, price)
    if cell.scope == "per company":
        return _from_filing(cell, rows, price)
    if cell.total_tokens is not None:
        return _from_total(cell, cell.dollars, cell.total_tokens, price)
    return Finding(cell, "not computable", None, "Its tokens are not at hand.")


def _from_tokens(cell: Cell, tokens_in: int, tokens_out: int, price: Price) -> Finding:
    recomputed = _cents(price.dollars(tokens_in, tokens_out))
    text = f"{tokens_in:,} in and {tokens_out:,} out at {_rates(price)} are ${recomputed}; printed ${cell.dollars}."
    fits, corrected = recomputed == cell.dollars, None
    if cell.total_tokens is not None and tokens_in + tokens_out != cell.total_tokens:
        rest = cell.total_tokens - tokens_in
        corrected = _cents(price.dollars(tokens_in, rest))
        text += (f" But the tokens contradict each other: the printed total is {cell.total_tokens:,}, "
                 f"which an output of {rest:,} would fit, for ${corrected}.")
        fits = False
    return Finding(cell, "agrees" if fits else "contradicts", recomputed, text, corrected)


def _from_filing(cell: Cell, rows: Sequence[Cell], price: Price) -> Finding:
    """A cell per company against the same cell per filing."""
    same = [c for c in rows if (c.scope, c.content, c.form, c.model) == ("per filing", cell.content, cell.form, cell.model)]
    if not same or same[0].input_tokens is None or same[0].output_tokens is None:
        return Finding(cell, "not computable", None, "Its tokens are not at hand.")
    one = price.dollars(same[0].input_tokens, same[0].output_tokens)
    recomputed = _cents(FILINGS_PER_COMPANY * one)
    text = (f"{FILINGS_PER_COMPANY} times Table {same[0].table}'s ${one:.4f} is ${recomputed}; printed ${cell.dollars}. "
            f"So it is the cost {cell.scope}, as its caption says, and not per {cell.form}.")
    return Finding(cell, "agrees" if recomputed == cell.dollars else "contradicts", recomputed, text)


def _from_total(cell: Cell, dollars: Decimal, total: int, price: Price) -> Finding:
    """Without the split only bounds are known: all of it input, all of it output."""
    low, high = _cents(price.dollars(total, 0)), _cents(price.dollars(0, total))
    text = f"{total:,} tokens at {_rates(price)} are between ${low} and ${high}; printed ${dollars}"
    if not low <= dollars <= high:
        return Finding(cell, "contradicts", None, f"{text}, which no split fits.")
    tokens_out = (dollars * MILLION - price.input * total) / (price.output - price.input)
    text += f", which about {int(tokens_out):,} output tokens would fit. The split is not at hand."
    return Finding(cell, "not computable", None, text)


def _cell(table: dict[str, Any], form: str, model: str, known: dict[str, Any], data: dict[str, Any]) -> Cell:
    dollars = known.get("dollars")
    return Cell(
        table["number"], table["scope"], table["content"], form, model, known.get("input_tokens"), known.get("output_tokens"),
        known.get("total_tokens"), None if dollars is None else Decimal(dollars), known.get("note", data["not_at_hand"]),
        f"{data['source']}, Table {table['number']}" + (f"; {known['source']}" if known else ""),
    )


def _data() -> dict[str, Any]:
    return tomllib.loads((resources.files("edgarmill") / "schemas" / "paper" / "tables.toml").read_text(encoding="utf-8"))


def _cents(dollars: Decimal) -> Decimal:
    return dollars.quantize(CENT, ROUND_HALF_UP)


def _rates(price: Price) -> str:
    return f"${price.input}/${price.output} per million"
