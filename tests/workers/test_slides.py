"""Exhibits made of page images with their text in white behind them."""

from __future__ import annotations

import pytest

from edgarmill.schemas.errors import NoText
from edgarmill.workers.parse.html import parse
from edgarmill.workers.parse.parsed import RawDocument

SLIDE = '<div><img src="s1.jpg"></div><div><font size="1" style="font-size:1pt;color:white">We target $10 billion of savings.</font></div>'


def raw(body: str) -> RawDocument:
    return RawDocument(2, "EX-99", "slides.htm", f"<html><body>{body}</body></html>".encode(), "html")


def test_white_text_behind_images_is_the_text_where_there_is_no_other() -> None:
    parsed = parse(raw(SLIDE))
    assert parsed.text == "We target $10 billion of savings."
    assert "images" in parsed.warnings[0]


def test_white_text_stays_hidden_beside_visible_text() -> None:
    assert parse(raw(f"<p>Seen.</p>{SLIDE}")).text == "Seen."


def test_images_alone_are_no_text() -> None:
    with pytest.raises(NoText):
        parse(raw('<img src="s1.jpg">'))
