"""The sample and the pipeline agree: what the generator says of page and section is what the parser finds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from edgarmill.sample.corpus import write_corpus
from edgarmill.schemas.ids import document_id
from edgarmill.schemas.records import Document, Element, Filing
from edgarmill.workers.filing import describe
from edgarmill.workers.parse.html import parse
from edgarmill.workers.sections import find_sections

FOLD = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-"})
UNSEEN = re.compile(r"[\s$()%|]")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("parsed"), 18)  # three companies: each house style once


def sections_at(text: str, quote: str) -> int:
    """Where a quote begins, whatever stands between its words; it must be there once."""
    places = [place for place, sign in enumerate(text) if not UNSEEN.match(sign)]
    squeezed, wanted = (UNSEEN.sub("", value.translate(FOLD)) for value in (text, quote))
    assert squeezed.count(wanted) == 1, quote
    return places[squeezed.index(wanted)]


def test_every_quote_is_found_once_in_the_parsed_text_on_its_page_and_in_its_section(corpus):
    gold: dict[str, list[dict]] = {}
    for line in Path(corpus.questions_file).read_text(encoding="utf-8").splitlines():
        for one in json.loads(line)["gold"]:
            gold.setdefault(one["accession"], []).append(one)
    checked = 0
    for accession, quotes in gold.items():
        opened = describe(Filing(accession, f"{accession}.txt"), Path(corpus.folder, f"{accession}.txt").read_bytes())
        for raw in opened.documents:
            mine = [q for q in quotes if (raw.type == q["item"] if q["item"].startswith("EX-") else raw.type == opened.filing.form)]
            if not mine:
                continue
            made = parse(raw)
            key = document_id(accession, raw.sequence)
            document = Document(key, accession, raw.sequence, raw.type, raw.name, raw.media, len(raw.data), made.encoding, made.text,
                                made.pages,
                                made.engine, None, len(made.text), None, 0)
            elements = [Element(key, accession, n, b.kind, b.level, b.start, b.end, b.page, b.page_label, None) for n,
                        b in enumerate(made.blocks)]
            sections = find_sections(document, elements, opened.filing.form, opened.filing.filed_on)
            for quote in mine:
                at = sections_at(made.text, quote["quote"])
                assert next(e.page for e in elements if e.start <= at < e.end) == quote["page"], quote
                assert (quote["part"], quote["item"]) in [(s.part, s.item) for s in sections if s.start <= at < s.end], quote
                checked += 1
    assert checked == sum(map(len, gold.values()))
