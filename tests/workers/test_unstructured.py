"""The optional engine: its elements as blocks, and what is said when it is not there."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib.util import find_spec

import pytest

from edgarmill.schemas.errors import NoText, SettingsError, TooLarge
from edgarmill.workers.limits import memory_limit
from edgarmill.workers.parse import engine_for, engines, unstructured
from edgarmill.workers.parse.parsed import RawDocument
from edgarmill.workers.parse.unstructured import missing, parse, parsed_from


@dataclass
class Metadata:
    page_number: int | None = None
    text_as_html: str | None = None
    category_depth: int | None = None


@dataclass
class Element:
    category: str
    text: str
    metadata: Metadata = field(default_factory=Metadata)


TABLE = "<table><tr><td></td><td>2024</td></tr><tr><td>Sales</td><td>1,234</td></tr></table>"
ELEMENTS = [
    Element("Title", "Item 1.\u00a0Business", Metadata(1, category_depth=1)),
    Element("NarrativeText", "We sell\n power.", Metadata(1)), Element("PageNumber", "1", Metadata(1)),
    Element("ListItem", "to homes", Metadata(2)),
    Element("Table", "2024 Sales 1,234", Metadata(2, TABLE)), Element("Footer", "Ostrea 2024", Metadata(2)),
    Element("UncategorizedText", " "),
]


def test_elements_become_blocks_whose_ranges_slice_the_text() -> None:
    parsed = parsed_from(ELEMENTS, "unstructured-0")
    assert [(b.kind, b.page, b.level) for b in parsed.blocks] == [
        ("heading", 1, 2), ("paragraph", 1, None), ("list_item", 2, None), ("table", 2, None)]
    texts = [parsed.text[b.start : b.end] for b in parsed.blocks]
    assert texts == ["Item 1. Business", "We sell power.", "to homes", " | 2024\nSales | 1,234"]
    assert json.loads(parsed.blocks[3].grid or "")["rows"] == [["", "2024"], ["Sales", "1,234"]]
    assert (parsed.pages, parsed.visible_chars_in, parsed.numbers_in) == (2, None, None)


def test_page_breaks_count_where_no_number_is_given() -> None:
    elements = [Element("NarrativeText", "one"), Element("PageBreak", ""), Element("NarrativeText", "two")]
    assert [b.page for b in parsed_from(elements, "x").blocks] == [1, 2]


def test_nothing_but_furniture_is_no_text() -> None:
    with pytest.raises(NoText):
        parsed_from([Element("Footer", "page 3")], "x")


@pytest.mark.skipif(find_spec("unstructured") is not None, reason="unstructured is installed here")
def test_without_the_package_the_error_says_how_to_install_it() -> None:
    assert "pip install 'edgarmill[unstructured]'" in missing() and "pip install 'edgarmill[unstructured-pdf]'" in missing("pdf")
    with pytest.raises(SettingsError, match="unstructured is not installed") as caught:
        parse(RawDocument(1, "10-K", "a.htm", b"<html><p>x</p></html>", "html"))
    assert "native" in caught.value.todo


@pytest.mark.skipif(missing() != "", reason="needs unstructured and its spaCy model")
def test_a_real_document_goes_through() -> None:
    data = b"<html><body><h1>Item 1. Business</h1><p>We sell power to homes.</p></body></html>"
    parsed = parse(RawDocument(1, "10-K", "a.htm", data, "html"))
    assert "We sell power to homes." in parsed.text


@pytest.mark.parametrize(("said", "known"), [
    ("No module named 'pi_heif'", SettingsError), ("x.so: failed to map segment from shared object", TooLarge),
    ("libx.so: cannot allocate memory in static TLS block", TooLarge),
])
def test_an_import_that_fails_for_lack_of_memory_is_no_missing_part(
        said: str, known: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(name: str) -> None:
        raise ImportError(said)

    monkeypatch.setattr(unstructured, "import_module", failing)
    monkeypatch.setattr(unstructured, "missing", lambda media: "")
    monkeypatch.setattr(unstructured, "version", lambda package: "0")
    with pytest.raises(known), memory_limit(2**32):
        parse(RawDocument(1, "10-K", "a.htm", b"<p>x</p>", "html"))


def test_engines_are_found_by_looking() -> None:
    assert engines() == ("native", "unstructured")
    assert engine_for("pdf", "unstructured").ENGINE == "unstructured"
    assert [engine_for(media, "native").ENGINE.split("-")[0] for media in ("html", "text", "pdf")] == ["html", "text", "pdf"]
