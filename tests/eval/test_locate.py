"""A quote becomes a range of its document: the right one of several, never one with other figures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgarmill.eval.fold import folded
from edgarmill.eval.locate import Source, locate
from edgarmill.schemas.records import Gold, Section

FILLER = "The weather was mild and nothing else of note took place in the quarter under review. " * 20


def source(text: str, *sections: tuple[str, str, int, int], kind: str = "10-K", name: str = "a:1") -> Source:
    found = tuple(Section(name, "a", part, item, "", start, end, 1, 1, None, "heading") for part, item, start, end in sections)
    return Source(name, kind, text, found)


def quote(gold: Gold, *sources: Source) -> tuple[str | None, str | None]:
    """How the gold is found, and the text of its range."""
    found = locate(gold, sources)
    if found.document_id is None:
        assert (found.start, found.end, found.how) == (None, None, None)
        return None, None
    (text,) = [s.text for s in sources if s.document_id == found.document_id]
    return found.how, text[found.start : found.end]


def test_a_quote_is_found_through_other_blanks_quotes_and_dashes() -> None:
    text = "Before.\n\nThe Company\u2019s sales\xa0rose\n10\u201312 % \u2014 again.\n\nAfter."
    assert quote(Gold("a", "The Company's sales rose 10-12 % - again."), source(text)) == (
        "exact", "The Company\u2019s sales\xa0rose\n10\u201312 % \u2014 again.")


def test_a_row_is_found_across_cells_and_signs() -> None:
    text = "Head | 2023 | 2022\nEffective tax rate | 20.9 % | (23.6)\nNext | 1 | 2"
    assert quote(Gold("a", "Effective tax rate 20.9% 23.6", type="table"), source(text)) == ("exact", "Effective tax rate | 20.9 % | (23.6")


def test_of_several_places_the_first_in_the_named_section_counts() -> None:
    text = "Sales rose. | Sales rose. | Sales rose. | Sales rose."
    sections = (("I", "2", 0, 14), ("II", "7", 14, 42), ("II", "8", 42, 60))
    assert locate(Gold("a", "Sales rose.", "II", "7"), [source(text, *sections)]).start == 14
    assert locate(Gold("a", "Sales rose.", "II", "Item 8."), [source(text, *sections)]).start == 42
    assert locate(Gold("a", "Sales rose.", "", "8"), [source(text, *sections)]).start == 42, "a part unknown to the set is no obstacle"
    assert locate(Gold("a", "Sales rose.", "II", "9"), [source(text, *sections)]).start == 0


def test_of_items_with_one_number_the_one_in_the_named_part_counts() -> None:
    sections = (("I", "1", 0, 14), ("II", "1", 14, 28))
    assert locate(Gold("a", "Sales rose.", "II", "1"), [source("Sales rose. | Sales rose. |", *sections)]).start == 14


def test_an_exhibit_is_named_by_the_type_of_its_document() -> None:
    main, exhibit = source("Sales rose.", name="a:1", kind="8-K"), source("Sales rose.", name="a:2", kind="EX-99.1")
    assert locate(Gold("a", "Sales rose.", "", "EX-99"), [main, exhibit]).document_id == "a:2"
    assert locate(Gold("a", "Sales rose.", "", "EX-9"), [main, exhibit]).document_id == "a:1"


def test_a_small_difference_is_found_as_fuzzy_with_whole_words() -> None:
    text = FILLER + "Margins fell because freight and re sin costs rose faster than our prices did. " + FILLER
    how, found = quote(Gold("a", "Margins fell because freight and resin costs rose faster than our prices did."), source(text))
    assert how == "fuzzy" and found is not None
    assert found.startswith("Margins fell") and found.rstrip(" T.").endswith("prices did")


def test_a_near_match_is_looked_for_in_the_named_section_first() -> None:
    near = "Margins fell because freight and resn costs rose faster than our prices did. "
    nearer = "Margins fell because freight and resin costs rose faster than our pricing did. "
    text = FILLER + nearer + FILLER + near
    gold = Gold("a", "Margins fell because freight and resin costs rose faster than our prices did.", "II", "7")
    start = len(FILLER + nearer)
    found = locate(gold, [source(text, ("I", "1", 0, start), ("II", "7", start, len(text)))])
    assert found.how == "fuzzy" and found.start is not None and found.start >= start


@pytest.mark.parametrize(("wanted", "text"), [
    ("Net revenue of the segment 12,345 11,000", "Net revenue of the segment | 12,346 | 11,000"),
    ("Net revenue of the segment 5", "Net revenue of the segment | 53"),
    ("Net revenue of the segment 5", "Net revenue of the segment | 5,300"),
    ("Net revenue of the segment 5", "Net revenue of the segment | 5.3"),
    ("12 units of net revenue by segment", "112 units of net revenue by segment"),
])
def test_a_row_with_other_figures_is_another_row(wanted: str, text: str) -> None:
    assert quote(Gold("a", wanted, type="table"), source(FILLER + "\n" + text + "\n" + FILLER)) == (None, None)


def test_a_row_whose_footnote_marks_the_parser_dropped_is_the_same_row() -> None:
    row = "Telephones and related gear | $166,699 | 18% | $141,319"
    wanted = "Telephones and related gear (1)(3) $ 166,699 18 % $ 141,319"
    assert quote(Gold("a", wanted, type="table"), source(FILLER + row)) == ("fuzzy", row)


def test_a_number_that_ends_a_sentence_is_whole() -> None:
    assert quote(Gold("a", "Sales rose to 5"), source("Sales rose to 5, costs to 4."))[0] == "exact"


def test_what_is_not_there_is_unresolved() -> None:
    assert quote(Gold("a", "Our founder keeps bees on the roof of the office."), source(FILLER)) == (None, None)
    assert quote(Gold("a", "\u200b \xad"), source(FILLER)) == (None, None)
    assert quote(Gold("a", "A quote that is longer than its document."), source("A quote")) == (None, None)
    assert quote(Gold("a", "Anything at all")) == (None, None)


def test_a_quote_of_a_thousand_places_and_one_of_a_megabyte_end_soon() -> None:
    assert quote(Gold("a", "a"), source("a " * 500_000)) == ("exact", "a")
    assert quote(Gold("a", "b" + "a " * 400_000), source("a " * 500_000)) == (None, None)
    assert quote(Gold("a", "ab " * 1_300), source("a b" * 300_000)) == (None, None)


WORD = st.sampled_from(["sales", "rose", "to", "$12.5", "(3)", "1,204", "a\u2013b", "the\xa0unit\u2019s", "|", "7"])
WORDS = st.lists(WORD, min_size=3, max_size=40)


@given(WORDS, st.data(), st.sampled_from(["text", "table"]))
def test_words_taken_from_a_text_are_found_in_it_exactly(words: list[str], data: st.DataObject, kind: str) -> None:
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    wanted = " ".join(words[start:end])
    if not folded(wanted, kind == "table"):
        return
    how, found = quote(Gold("a", wanted, type=kind), source("\n".join(words)))
    assert how == "exact" and found is not None
    assert folded(found, kind == "table") == folded(wanted, kind == "table")


def test_on_a_named_page_a_long_near_match_comes_before_an_exact_one_elsewhere() -> None:
    row = "Net sales rose in every region of the world, and most of all in the three markets that were entered in that year. " * 2
    near = row.replace("region", "regoin")
    text = f"{row}\n\n{FILLER}\n\n{near}"
    at = len(row) + len(FILLER) + 4
    pages = ((1, 0, len(row)), (2, len(row) + 2, at - 2), (3, at, len(text)))
    paged = Source("a:1", "10-K", text, (), pages)
    assert locate(Gold("a", row, page=3), [paged]).start == at
    assert locate(Gold("a", row, page=1), [paged]).start == 0
    assert locate(Gold("a", row, page=9), [paged]).how == "exact", "a page that is not there is no obstacle"


def test_a_whole_document_has_no_range_and_a_stated_start_decides_between_places() -> None:
    found = locate(Gold("a", "", type="document"), [source("Sales rose.")])
    assert (found.document_id, found.start, found.how) == ("a:1", None, "document")
    assert locate(Gold("a", "Sales rose.", start=30), [source("Sales rose. | " * 5)]).start == 28
    assert locate(Gold("a", "", type="document"), [source("  ")]).how is None
