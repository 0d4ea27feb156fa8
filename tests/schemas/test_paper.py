"""The paper's tables and what their audit finds."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from edgarmill.schemas.paper.audit import Cell, Finding, audit, cells, prices


def one(table: int, form: str = "10-K", model: str = "GPT-4o") -> Finding:
    [found] = [f for f in audit(cells()) if (f.cell.table, f.cell.form, f.cell.model) == (table, form, model)]
    return found


def test_every_table_has_every_form_and_model_once() -> None:
    places = [(c.table, c.form, c.model) for c in cells()]
    assert len(places) == len(set(places)) == 3 * 2 * 3
    assert {(c.table, c.scope) for c in cells()} == {(1, "per company"), (2, "per filing"), (3, "per filing")}


def test_a_cell_that_is_not_at_hand_is_null_and_says_so() -> None:
    unknown = [c for c in cells() if c.dollars is None]
    assert len(unknown) == 15
    for cell in unknown:
        assert (cell.input_tokens, cell.output_tokens, cell.total_tokens, cell.note) == (None, None, None, "not at hand")
    assert all(c.source.startswith("arXiv 2511.18177, Table") for c in cells())


def test_table_2_prints_an_output_that_contradicts_its_total_and_was_paid_for() -> None:
    found = one(2)
    assert found.verdict == "contradicts"
    assert found.recomputed == found.cell.dollars == Decimal("6.12")
    assert "667,333" in found.text
    assert "39,952 would fit, for $2.16" in found.text


def test_table_1_is_five_filings_of_table_2() -> None:
    found = one(1)
    assert (found.verdict, found.recomputed) == ("agrees", Decimal("30.62"))
    assert "per company" in found.text


def test_table_3_fits_but_cannot_be_recomputed_without_its_split() -> None:
    found = one(3)
    assert (found.verdict, found.recomputed) == ("not computable", None)
    assert "between $0.82 and $3.30" in found.text
    assert "17,70" in found.text


def test_the_list_price_gives_another_sum() -> None:
    """Hence the finding that the paper's column is the Azure data zone's price."""
    [gpt] = [p for p in prices() if p.model == "GPT-4o"]
    assert round(replace(gpt, input=Decimal("2.50"), output=Decimal(10)).dollars(627_381, 399_952), 2) == Decimal("5.57")


@pytest.mark.parametrize(("tokens", "dollars", "verdict"), [
    ((1_000_000, 0, 1_000_000), "2.75", "agrees"),
    ((1_000_000, 100_000, 1_100_000), "3.85", "agrees"),
    ((1_000_000, 100_000, None), "3.85", "agrees"),
    ((1_000_000, 100_000, 1_100_000), "3.84", "contradicts"),
    ((1_000_000, 100_000, 1_000_000), "3.85", "contradicts"),
    ((None, None, 1_000_000), "2.74", "contradicts"),
    ((None, None, 1_000_000), "11.00", "not computable"),
    ((None, None, None), "1.00", "not computable"),
    ((1, 2, 3), None, "not computable"),
])
def test_the_audit_on_cells_that_can_be_checked_by_hand(tokens: tuple[int | None, ...], dollars: str | None, verdict: str) -> None:
    cell = Cell(2, "per filing", "trees", "10-K", "GPT-4o", tokens[0], tokens[1], tokens[2], Decimal(dollars) if dollars else None, "", "")
    assert [f.verdict for f in audit([cell])] == [verdict]


def test_every_cell_has_a_price_to_be_audited_with() -> None:
    assert len(audit(cells())) == 18
    assert all(p.input < p.output for p in prices())
