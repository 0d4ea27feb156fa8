"""The sample: same bytes every time, true form, and every quote once where its record says."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from lxml import etree

from edgarmill.sample.archive import parts, read_archive
from edgarmill.sample.corpus import write_corpus
from edgarmill.schemas.errors import StorageError, UsageError

XHTML = "{http://www.w3.org/1999/xhtml}"
BLOCKS = {space + name for name in ("div", "p", "table", "tr", "td", "hr", "li", "br", "body") for space in (XHTML, "")}
FOLD = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "\xa0": " "})


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Every kind of filing of more companies, under another seed."""
    return write_corpus(tmp_path_factory.mktemp("many"), 72, seed=11, per_company=18)


def pages_of(body: bytes) -> list[str]:
    """Visible text by page: no inline header, nothing hidden, a blank at borders of blocks."""
    out = [[]]

    def walk(node):
        if not isinstance(node.tag, str) or "display:none" in node.get("style", ""):
            return
        border = " " if node.tag in BLOCKS else ""
        if "page-break-after" in node.get("style", ""):
            out.append([])
        out[-1].append(border + (node.text or ""))
        for child in node:
            walk(child)
            out[-1].append(child.tail or "")
        out[-1].append(border)

    tree = etree.fromstring(body)
    walk(tree.find(XHTML + "body") if tree.tag.startswith("{") else tree.find("body"))
    return ["".join(page) for page in out]


def folded(text: str) -> str:
    return " ".join(text.translate(FOLD).split())


def bare(text: str) -> str:
    """As table rows are compared: without $ ( ) %."""
    return " ".join(re.sub(r"[$()%]", " ", folded(text)).split())


def records(corpus) -> list[dict]:
    return [json.loads(line) for line in Path(corpus.questions_file).read_text(encoding="utf-8").splitlines()]


def document_of(corpus, gold) -> bytes:
    found = parts(Path(corpus.folder, f"{gold['accession']}.txt").read_bytes())
    return next(p.body for p in found if p.type == (gold["item"] if gold["item"].startswith("EX-") else found[0].type))


def assert_quotes(corpus) -> None:
    texts = {}
    for record in records(corpus):
        for gold in record["gold"]:
            key = gold["accession"], gold["item"].startswith("EX-")
            if key not in texts:
                pages = pages_of(document_of(corpus, gold))
                texts[key] = {look: [look(page) for page in pages] for look in (bare, folded)}
            look = bare if gold["type"] == "table" else folded
            quote, pages = look(gold["quote"]), texts[key][look]
            assert sum(page.count(quote) for page in pages) == 1, (record["id"], gold)
            assert quote in pages[gold["page"] - 1], (record["id"], gold)


def test_the_demo_has_36_filings_of_six_companies_and_three_forms(corpus):
    archive = read_archive(corpus.folder)
    assert corpus.filings == len(archive.entries) == 36
    assert Counter(e.form for e in archive.entries.values()) == {"10-K": 12, "10-Q": 12, "8-K": 12}
    assert len(archive.by_filer) == len(corpus.tickers) == 6
    assert all(cik.startswith("000999") for cik in corpus.ciks)


def test_the_same_arguments_give_the_same_bytes_whatever_the_process(corpus, tmp_path):
    code = "import sys; from edgarmill.sample.corpus import write_corpus; write_corpus(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, env={"PYTHONHASHSEED": "1", "LC_ALL": "C"})
    for path in sorted(Path(corpus.folder).iterdir()):
        assert hashlib.sha256((tmp_path / path.name).read_bytes()).digest() == hashlib.sha256(path.read_bytes()).digest(), path.name
    assert len(list(tmp_path.iterdir())) == 38


def test_another_seed_gives_other_filings_and_a_larger_sample_begins_with_the_smaller(corpus, many, tmp_path):
    larger = write_corpus(tmp_path, 40)
    for path in Path(corpus.folder).glob("*.txt"):
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
    assert larger.filings == 40
    shared = {p.name for p in Path(corpus.folder).glob("*.txt")} & {p.name for p in Path(many.folder).glob("*.txt")}
    assert all(Path(corpus.folder, name).read_bytes() != Path(many.folder, name).read_bytes() for name in shared)


def test_every_quote_stands_once_in_its_filing_on_the_page_that_is_named(corpus):
    assert_quotes(corpus)


def test_quotes_hold_for_all_eighteen_filings_of_a_company(many):
    assert_quotes(many)


def test_questions_are_of_three_kinds_and_name_their_company(corpus):
    found = records(corpus)
    kinds = Counter(r["category"] for r in found)
    assert kinds["single-hop"] >= 60 and kinds["multi-hop"] >= 30 and kinds["summary"] >= 12
    assert len({r["id"] for r in found}) == len({r["question"] for r in found}) == len(found) == corpus.questions
    for record in found:
        assert record["answer"] and record["gold"]
        assert any(name in record["question"] for name in record["company"].split("; ")), record
        assert (record["needs"] == "several documents") == (len({g["accession"] for g in record["gold"]}) > 1)
        assert not any(g["quote"] in record["question"] for g in record["gold"])


def test_a_question_over_two_filings_needs_both(corpus):
    several = [r for r in records(corpus) if r["needs"] == "several documents"]
    assert len(several) >= 24
    assert any(len(r["company"].split("; ")) == 2 for r in several)


def test_the_envelope_is_that_of_edgar(corpus):
    for path in Path(corpus.folder).glob("*.txt"):
        data = path.read_bytes()
        accession = path.stem.encode()
        assert data.startswith(b"<SEC-DOCUMENT>" + accession + b".txt : ") and data.endswith(b"</SEC-DOCUMENT>\n")
        assert b"\nACCESSION NUMBER:\t\t" + accession + b"\n" in data
        opened, closed = (len(re.findall(mark, data, re.M)) for mark in (rb"^<DOCUMENT>$", rb"^</DOCUMENT>$"))
        assert opened == closed == int(re.search(rb"PUBLIC DOCUMENT COUNT:\t\t(\d+)", data)[1])
        found = parts(data)
        assert [p.sequence for p in found] == [str(n) for n in range(1, len(found) + 1)]
        assert found[0].type.encode() == re.search(rb"CONFORMED SUBMISSION TYPE:\t(\S+)", data)[1]


def test_every_inline_document_is_xml_whose_facts_have_context_unit_and_id(corpus):
    ix = "{http://www.xbrl.org/2013/inlineXBRL}"
    for path in Path(corpus.folder).glob("*.txt"):
        tree = etree.fromstring(parts(path.read_bytes())[0].body)
        contexts = {c.get("id") for c in tree.iter("{http://www.xbrl.org/2003/instance}context")}
        units = {u.get("id") for u in tree.iter("{http://www.xbrl.org/2003/instance}unit")}
        facts = [*tree.iter(ix + "nonFraction"), *tree.iter(ix + "nonNumeric")]
        assert len({f.get("id") for f in facts}) == len(facts) >= 10
        assert {f.get("contextRef") for f in facts} <= contexts
        assert {f.get("unitRef") for f in facts} <= units | {None}


def test_exhibits_are_plain_web_pages_without_facts(corpus):
    found = [p for path in Path(corpus.folder).glob("*.txt") for p in parts(path.read_bytes()) if p.type.startswith("EX-99")]
    assert len(found) >= 6
    for part in found:
        assert part.body.startswith(b"<html><head>") and b"<ix:" not in part.body and b"Table of Contents" not in part.body


def test_an_annual_report_has_all_items_in_order_a_table_of_contents_and_pages(corpus):
    wanted = "1 1A 1B 1C 2 3 4 5 6 7 7A 8 9 9A 9B 9C 10 11 12 13 14 15 16".split()
    for entry in read_archive(corpus.folder).entries.values():
        if entry.form != "10-K":
            continue
        pages = pages_of(parts(entry.path.read_bytes())[0].body)
        assert re.findall(r"Item (\w+)\.", pages[1]) == wanted
        body = folded(" ".join(pages[2:]))
        places = [re.search(rf"\bitem {item}\. \S", body, re.I).start() for item in wanted]
        assert places == sorted(places)
        assert len(pages) > 12 and all("Table of Contents" in page for page in pages[1:])
        size = len(parts(entry.path.read_bytes())[0].body)
        assert 60_000 < size < 160_000


def test_figures_of_the_income_statement_add_up_as_facts(corpus):
    def fact(tree, name):
        found = next(f for f in tree.iter("{http://www.xbrl.org/2013/inlineXBRL}nonFraction") if f.get("name") == f"us-gaap:{name}")
        return int("".join(found.itertext()).replace(",", "")) * (-1 if found.get("sign") else 1)

    for entry in read_archive(corpus.folder).entries.values():
        if entry.form == "8-K":
            continue
        tree = etree.fromstring(parts(entry.path.read_bytes())[0].body)
        assert fact(tree, "GrossProfit") == fact(tree, "RevenueFromContractWithCustomerExcludingAssessedTax") - fact(tree, "CostOfRevenue")
        assert fact(tree, "OperatingIncomeLoss") == fact(tree, "GrossProfit") - fact(tree, "OperatingExpenses")
        assert fact(tree, "Assets") == fact(tree, "LiabilitiesAndStockholdersEquity") == fact(tree, "Liabilities") + fact(tree,
            "StockholdersEquity")


def test_weight_lengthens_annual_reports_without_repeating_a_line(tmp_path):
    write_corpus(tmp_path / "light", 1)
    write_corpus(tmp_path / "heavy", 1, weight=6)
    light, heavy = (next((tmp_path / name).glob("*.txt")) for name in ("light", "heavy"))
    assert heavy.stat().st_size > 1.6 * light.stat().st_size
    text = " ".join(pages_of(parts(heavy.read_bytes())[0].body))
    contracts = re.findall(r"Contract \d{4}-\d{2}", text)
    assert len(contracts) == len(set(contracts)) == 300


def test_prose_differs_between_companies_and_years(corpus):
    bodies = [set(re.split(r"(?<=[.;]) ", folded(" ".join(pages_of(parts(e.path.read_bytes())[0].body)))))
              for e in read_archive(corpus.folder).entries.values() if e.form == "10-K"]
    for place, one in enumerate(bodies):
        for other in bodies[place + 1:]:
            assert len(one & other) / len(one) < 0.6


@pytest.mark.parametrize("arguments", [{"filings": 0}, {"per_company": 0}, {"per_company": 19}, {"weight": 0}])
def test_impossible_numbers_are_refused(tmp_path, arguments):
    with pytest.raises(UsageError):
        write_corpus(tmp_path, **arguments)


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StorageError, match="cannot be written"):
        write_corpus(tmp_path / "file" / "sample")


def test_filings_pack_as_real_ones_do(corpus):
    """Real submissions shrink four to five times by gzip; text without repetition would not, copies would shrink far more."""
    data = next(Path(corpus.folder).glob("*.txt")).read_bytes()
    assert 3 < len(data) / len(gzip.compress(data)) < 12
