"""Which headings are nodes, and what hangs under what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from documents import Parsed, parsed

from edgarmill.schemas.records import Section
from edgarmill.workers.outline import Node, own_text, walk
from edgarmill.workers.tree import structural

PROSE = "The company makes pumps and sells them to mills, mines and farms in all states, at prices that rose in the year. " * 2
SMALL = "a | b\n1 | 2"


def grown(given: Parsed, **options: Any) -> Node:
    return structural.build(given.document, given.elements, given.sections, structural.Options(**options))


def outline(root: Node) -> list[str]:
    return [f"{'  ' * (depth - 1)}{node.title}" for node, _, depth in walk(root)][1:]


def annual(*parts: tuple[str, str, str]) -> Parsed:
    """A report of (heading, Part, Item) with prose under each."""
    blocks, items = [("paragraph", "FORM 10-K " + PROSE)], {}
    given: list[tuple[str, str]] = []
    for heading, part, item in parts:
        if item:
            items[len(blocks)] = (item,)
            given.append((part, heading))
        blocks.append(("heading 1" if heading.startswith("Part") else "heading 2", heading))
        blocks += [("paragraph", PROSE)] if item else []
    made = parsed(blocks, items)
    sections = [Section(s.document_id, s.accession, part, s.item, title, s.start, s.end, 1, 1, None, "heading", s.ordinal)
                for s, (part, title) in zip(made.sections, given, strict=True)]
    ends = [s.start for s in sections[1:]]
    cut = [replace(s, end=_before(made, s.start, end)) for s, end in zip(sections, [*ends, len(made.document.text)], strict=True)]
    return Parsed(made.document, made.elements, cut)


def _before(made: Parsed, start: int, end: int) -> int:
    """A section ends before the heading of the next Part."""
    parts = [e.start for e in made.elements if start < e.start < end and made.document.text[e.start : e.end].startswith("Part")]
    return min([end, *parts])


def test_parts_hold_their_items_and_begin_at_their_heading() -> None:
    first = (("Part I", "", ""), ("Business", "I", "1"), ("Risks", "I", "1A"))
    root = grown(annual(*first, ("Part II. More", "", ""), ("Results", "II", "7")))
    assert outline(root) == ["Cover and front matter", "Part I", "  Item 1. Business", "  Item 1A. Risks", "Part II. More",
                             "  Item 7. Results"]
    assert [n.section for n, _, _ in walk(root)] == [None, None, None, "I.1", "I.1A", None, "II.7"]


def test_items_out_of_the_order_of_their_parts_stand_alone() -> None:
    root = grown(annual(("Results", "II", "7"), ("Business", "I", "1"), ("Statements", "II", "8")))
    assert outline(root)[1:] == ["Item 7. Results", "Item 1. Business", "Item 8. Statements"]


def test_items_that_share_a_range_are_one_node() -> None:
    made = parsed([("heading", "Business and Properties"), ("paragraph", PROSE)], {0: ("1", "2")})
    root = grown(made)
    assert outline(root) == ["Part I", "  Item 1. Title 1; Item 2. Title 2"]


def test_headings_nest_by_level_and_a_level_left_out_is_no_hole() -> None:
    root = grown(parsed([("heading", "A"), ("paragraph", PROSE), ("heading 4", "B"), ("paragraph", PROSE), ("heading 2", "C"),
                         ("paragraph", PROSE), ("heading 3", "D"), ("paragraph", PROSE), ("heading", "E"), ("paragraph", PROSE)]))
    assert outline(root) == ["A", "  B", "  C", "    D", "E"]


def test_what_is_a_caption_a_unit_or_a_date_is_no_node() -> None:
    root = grown(parsed([("heading", "Sales"), ("paragraph", PROSE), ("heading 2", "(In millions, except per share)"), ("paragraph", PROSE),
                         ("heading 2", "December 31, 2023"), ("table", SMALL * 200), ("heading 2", "Sales by region"), ("table", SMALL)]))
    assert outline(root) == ["Sales"]


def test_a_statement_is_a_node_though_it_is_nothing_but_a_table() -> None:
    root = grown(parsed([("heading", "ACME CORP"), ("heading", "BALANCE SHEETS"), ("table", SMALL * 100),
                         ("heading", "ACME CORP"), ("heading", "CASH FLOWS"), ("table", SMALL * 100),
                         ("heading", "ACME CORP"), ("heading", "INCOME"), ("table", SMALL * 100)]))
    assert outline(root) == ["BALANCE SHEETS", "CASH FLOWS", "INCOME"]



def test_a_title_of_two_lines_is_one_node() -> None:
    root = grown(parsed([("heading", "Report of"), ("heading", "Independent Accountants"), ("paragraph", PROSE), ("heading", "Next"),
                         ("paragraph", PROSE)]))
    assert outline(root) == ["Report of – Independent Accountants", "Next"]


def test_the_head_of_the_next_page_is_no_node() -> None:
    root = grown(parsed([("heading", "Leases"), ("paragraph", PROSE), ("heading", "Leases"), ("paragraph", PROSE)]))
    assert outline(root) == ["Leases"]


def test_notes_hang_under_their_heading_and_what_is_between_two_under_the_first() -> None:
    note = ("paragraph", PROSE)
    root = grown(parsed([("heading 3", "Notes to Consolidated Financial Statements"), note, ("heading 3", "Note 1. Policies"), note,
                         ("heading 3", "Basis"), note, ("heading 2", "Note 2: Leases"), note, ("heading 3", "3. Debt"), note,
                         ("heading 3", "Loans"), note, ("heading 3", "Report of Independent Registered Public Accounting Firm"), note]))
    assert outline(root) == ["Notes to Consolidated Financial Statements", "  Note 1. Policies", "    Basis", "  Note 2: Leases",
                             "  3. Debt", "    Loans", "Report of Independent Registered Public Accounting Firm"]


def test_of_too_many_children_the_longest_stay_and_no_text_is_lost() -> None:
    blocks = [block for n in range(300) for block in (("heading", f"Heading {n}"), ("paragraph", PROSE * (1 + n % 7)))]
    made = parsed(blocks)
    root = grown(made, max_children=50)
    assert len(root.children) == 50
    assert own_text(root, made.document.text).count("Heading") == 250


def test_a_page_that_a_long_text_is_cut_into_bears_the_item_it_lies_in() -> None:
    root = grown(parsed([("heading", "Risks"), *[("paragraph", PROSE * 10)] * 20], {0: ("1A",)}), leaf_characters=10_000)
    pages = root.children[0].children[0].children
    assert len(pages) > 2
    assert {p.section for p in pages} == {"I.1A"}


def test_the_item_s_own_head_on_later_pages_is_no_node_and_what_stands_beside_it_is() -> None:
    text = ("paragraph", PROSE)
    root = grown(parsed([("heading 2", "Item 1A. Title 1A"), text, ("heading 3", "Supply"), text, ("heading 2", "Item 1A"), text,
                         ("heading 1", "PART I"), text, ("heading 2", "ITEM 1A. TITLE 1A (CONTINUED)"), text,
                         ("heading 2", "Item 1A. Title 1A – Cyber attacks"), text, ("heading 2", "Item 4A. Officers"), text], {0: ("1A",)}))
    assert outline(root) == ["Part I", "  Item 1A. Title 1A", "    Supply", "    Cyber attacks", "    Item 4A. Officers"]


def test_a_heading_continued_on_the_next_page_is_one_node_with_its_subheadings() -> None:
    text = ("paragraph", PROSE)
    root = grown(parsed([("heading", "Note 8. Benefits"), text, ("heading 2", "Plans"), text, ("heading", "Note 8. Benefits (Continued)"),
                         text, ("heading 2", "Life Insurance"), text]))
    assert outline(root) == ["Note 8. Benefits", "  Plans", "  Life Insurance"]


def test_an_item_s_title_of_two_lines_is_whole() -> None:
    made = parsed([("heading 2", "Item 7. Analysis of Condition and"), ("heading 3", "Results"), ("paragraph", PROSE)], {0: ("7",)})
    cut = Parsed(made.document, made.elements, [replace(made.sections[0], title="Analysis of Condition and")])
    assert outline(grown(cut))[1:] == ["  Item 7. Analysis of Condition and Results"]


def test_an_auditor_s_report_does_not_swallow_the_notes_that_follow_it() -> None:
    text = ("paragraph", PROSE * 8)
    root = grown(parsed([("heading 2", "REPORT OF INDEPENDENT AUDITORS"), text, ("heading 3", "Opinion"), text, text, text, text,
                         ("heading 3", "Income Taxes"), text, ("heading 3", "Leases"), text]))
    assert outline(root) == ["REPORT OF INDEPENDENT AUDITORS", "  Opinion", "Income Taxes", "Leases"]


def test_names_below_signatures_a_company_and_a_place_are_no_nodes() -> None:
    text = ("paragraph", PROSE)
    root = grown(parsed([("heading", "ACME CORPORATION AND SUBSIDIARIES"), text, ("heading", "Risks"), text,
                         ("heading", "Chatham, New Jersey"), text, ("heading", "SIGNATURES"), text,
                         ("heading", "Jane Doe, President"), text, ("heading", "EXHIBIT INDEX"), text]))
    assert outline(root) == ["Risks", "SIGNATURES", "EXHIBIT INDEX"]


def test_headings_that_are_sentences_hang_under_what_they_relate_to() -> None:
    text = ("paragraph", PROSE)
    risks = [(f"We may lose {what} in a year that is bad.") for what in ("customers", "mills", "people")]
    root = grown(parsed([("heading 4", "Risks Related to Business"), text, *[b for r in risks for b in (("heading 4", r), text)],
                         ("heading 4", "Risks Related to Law"), text]))
    assert outline(root) == ["Risks Related to Business", *(f"  {r}" for r in risks), "Risks Related to Law"]


def test_the_heading_of_the_notes_on_every_page_is_one_node() -> None:
    text, notes = ("paragraph", PROSE), ("heading 2", "NOTES TO FINANCIAL STATEMENTS")
    root = grown(parsed([notes, ("heading 3", "Note 1. Sales"), text, notes, text, ("heading 3", "Note 2. Debt"), text, notes,
                         ("heading 3", "Note 3. Tax"), text]))
    assert outline(root) == ["NOTES TO FINANCIAL STATEMENTS", "  Note 1. Sales", "  Note 2. Debt", "  Note 3. Tax"]


def test_what_stands_between_two_items_of_a_part_hangs_under_the_part() -> None:
    text = ("paragraph", PROSE)
    blocks = [("heading 2", "Item 1"), text, ("heading 4", "A Year in Review"), text, ("heading 2", "Item 2"), text]
    made = parsed(blocks, {0: ("1",), 4: ("2",)})
    first = replace(made.sections[0], end=made.elements[1].end)
    root = grown(Parsed(made.document, made.elements, [first, made.sections[1]]))
    assert outline(root) == ["Part I", "  Item 1. Title 1", "  A Year in Review", "  Item 2. Title 2"]
