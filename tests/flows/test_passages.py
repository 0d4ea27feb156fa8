"""Passages that a set of questions brings with it become documents of a lake, character for character."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from small_ingest import World, counts, ingest

from edgarmill.eval import questions as question_sets
from edgarmill.eval.resolve import resolved_rows
from edgarmill.schemas.errors import UsageError
from edgarmill.schemas.records import Filing, Section
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.workers.parse.characters import visible_characters
from edgarmill.workers.parse.parsed import RawDocument
from edgarmill.workers.parse.passage import parse
from edgarmill.workers.source.passages import MAX_JSON_BYTES, Passage, corpora_at, list_passages, passages_of

ODD = "  The \u201cpump\u201d co\xadst\r\n$5\xa0million.\n\n\n\nItem 7. Sales rose\tby 3 %.  "
RECORDS = [
    {"_id": "p1", "title": "On pumps", "text": ODD, "source": "The Pump Post", "published_at": "2023-09-26T17:01:22+00:00"},
    {"_id": "p2", "title": "", "text": "Valves were dear in the spring of that year, and dearer in the summer."},
    {"_id": "p3", "title": "On pumps", "text": "Valves were dear in the spring of that year, and dearer in the autumn."},
]
QUERIES = [
    {"_id": "q1", "text": "What did the pump cost?", "question_type": "inference_query", "answer": "$5 million"},
    {"_id": "q2", "text": "When were valves dear?", "question_type": "comparison_query", "answer": "all the year"},
    {"_id": "q3", "text": "Who sells boats?", "question_type": "null_query", "answer": "Insufficient information."},
    {"_id": "q4", "text": "Nobody judged this one?"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\tp1\t1\nq2\tp2\t1\nq2\tp3\t2\nq2\tp1\t0\n"


def write(folder: Path, records: list[Any] = RECORDS) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress("\n".join(json.dumps(r) for r in records).encode()))
    (folder / "queries.jsonl").write_text("\n".join(json.dumps(q) for q in QUERIES), encoding="utf-8")
    (folder / "qrels.tsv").write_text(QRELS, encoding="utf-8")
    return folder


def test_a_corpus_becomes_documents_and_its_gold_resolves_in_them(world: World, tmp_path: Path) -> None:
    folder = write(tmp_path / "tiny", [*RECORDS, {"_id": "p2", "text": "again"}, {"_id": "p9"}])
    lake = tmp_path / "lake"
    assert counts(ingest(lake, folder, world.recipe, source="passages").record) == (5, 3, 0, 2)
    snapshot = Lake.open(str(lake)).snapshot()
    by_name = {f.name: f for f in snapshot.records("filings") if f.status == "parsed"}
    texts = {d.accession: d.text for d in snapshot.records("documents")}
    assert {name: texts[f.accession] for name, f in by_name.items()} == {f"tiny/{r['_id']}": r["text"] for r in RECORDS}
    first: Filing = by_name["tiny/p1"]
    assert (first.form, first.company, str(first.filed_on), first.source) == ("passage", "The Pump Post", "2023-09-26", "passages")
    (section,) = [s for s in snapshot.records("sections") if s.accession == first.accession]
    assert isinstance(section, Section) and (section.title, section.item, section.end) == ("On pumps", "", len(ODD))

    asked = question_sets.load(str(folder))
    assert [(q.question_id, q.category, len(q.gold)) for q in asked.questions] == [
        ("q1", "single-hop", 1), ("q2", "multi-hop", 2), ("q3", "null", 0)]
    assert asked.problems == () and any("1 query without a judgement" in note for note in asked.notes)
    resolved = resolved_rows(asked, snapshot)
    assert resolved.problems == () and [r.how for r in resolved.rows if r.ordinal >= 0] == ["exact"] * 3
    assert resolved.rows[0].document_id == f"{first.accession}:1"

    assert counts(ingest(lake, folder, world.recipe, source="passages").record) == (5, 0, 3, 2), "nothing is done a second time"
    changed = write(tmp_path / "tiny", [*RECORDS[:2], {**RECORDS[2], "text": "Valves were given away for nothing in that winter."}])
    assert counts(ingest(lake, changed, world.recipe, source="passages").record) == (3, 1, 2, 0)


@pytest.mark.parametrize(("content", "said"), [
    (b'{"_id": "a", "text": "good"}\n{no\n', "not JSON"),
    (b'{"_id": "a", "text": "good"}\n[1]\n', "no JSON object"),
    (b'{"_id": "a", "text": "good"}\n{"_id": "b", "text": " "}\n', "passage b is empty"),
    (b'{"_id": "a", "text": "good"}\n{"_id": "b", "text": "\\ud800"}\n', "half a surrogate pair"),
    (b'{"_id": "a", "text": "good"}\n{"_id": "b", "text": "' + b"x" * 20_001 + b'"}\n', "more than 20000 bytes"),
    (b'{"_id": "a", "text": "good"}\n' + b"[" * 50_000, "not JSON"),
])
def test_a_bad_passage_is_listed_with_its_error_and_the_others_go_on(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "corpus.jsonl").write_bytes(content)
    listed = [one for one, _ in list_passages(str(tmp_path), Settings(max_filing_bytes=20_000))]
    assert [one.error is None for one in listed] == [True, False]
    assert said in str(listed[1].error) and listed[1].filing.accession != listed[0].filing.accession


def test_a_damaged_or_bloated_corpus_costs_what_follows_and_no_more(tmp_path: Path) -> None:
    packed = gzip.compress(b"".join(b'{"_id": "%d", "text": "good %d"}\n' % (n, n * n) for n in range(3_000)))
    (tmp_path / "corpus.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    found = [item for _, item in passages_of(tmp_path / "corpus.jsonl.gz")]
    assert all(isinstance(item, Passage) for item in found[:-1]) and "damaged" in str(found[-1]) and len(found) > 100
    (tmp_path / "bomb.jsonl.gz").write_bytes(gzip.compress(b'{"_id": "a", "text": "good"}\n' + b"0" * (MAX_JSON_BYTES + 9)))
    found = [item for _, item in passages_of(tmp_path / "bomb.jsonl.gz")]
    assert isinstance(found[0], Passage) and "in one line" in str(found[1]) and len(found) == 2


def test_articles_in_one_json_value_are_named_by_their_address(tmp_path: Path) -> None:
    articles = [{"title": "T", "body": "All of it.", "url": "https://news.example/a/1", "source": "S", "published_at": "no day"}, 7]
    (tmp_path / "articles.json").write_text(json.dumps(articles), encoding="utf-8")
    (_, first), (_, second) = passages_of(tmp_path / "articles.json")
    assert first == Passage("https://news.example/a/1", "All of it.", "T", "https://news.example/a/1", "S", None)
    assert "no JSON object" in str(second)


def test_a_place_without_a_corpus_is_the_users_error(tmp_path: Path) -> None:
    for place in (tmp_path / "absent", tmp_path):
        with pytest.raises(UsageError):
            corpora_at(str(place))


def test_a_passage_is_parsed_as_it_stands() -> None:
    text = "Head | 2023\nSales | 5\n\n A paragraph. \n \nAnother,\nof two lines.\n"
    parsed = parse(RawDocument(1, "passage", "t", text.encode(), "passage"))
    assert parsed.text == text and parsed.visible_chars_in == visible_characters(text)
    assert [(b.kind, text[b.start : b.end]) for b in parsed.blocks] == [
        ("table", "Head | 2023\nSales | 5"), ("paragraph", "A paragraph."), ("paragraph", "Another,\nof two lines.")]
