"""Exported files give our figures to other tools, whatever the ranking: several pieces in one chunk, pieces found twice, nothing found."""

from __future__ import annotations

import json
from pathlib import Path

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_evaluations import row
from tiny_lake import accession, publish, tiny_lake

from edgarmill.eval.export import RUNS, export, export_each, items_of, qrels_lines, run_lines
from edgarmill.eval.metrics import MEASURES, Judged, by_metric
from edgarmill.eval.stored import Stored
from edgarmill.schemas.errors import UsageError
from edgarmill.schemas.records import GoldRow, Ranking


def gold(question: str, ordinal: int) -> GoldRow:
    return GoldRow("s", "set", question, ordinal, "?", "multi-hop", "", "r", "q", "", "", None, "text", "d:1", 10 * ordinal,
                   10 * ordinal + 5, "exact")


def hit(question: str, rank: int, chunk: int, held: tuple[int, ...]) -> Ranking:
    return Ranking("e", "s", "v", "hybrid", question, rank, f"c{chunk}", "d:1", rank, rank + 9, 0.5, held)  # all scores tie


@st.composite
def rankings(draw: st.DrawFn) -> tuple[list[Judged], dict[str, list[Ranking]]]:
    judged, ranked = [], {}
    for n in range(draw(st.integers(1, 3))):
        name, pieces = f"q {n}%", draw(st.integers(1, 4))
        judged.append(Judged(name, "multi-hop", tuple(gold(name, o) for o in range(pieces))))
        found = draw(st.lists(st.integers(0, 2**pieces - 1), max_size=13))  # which pieces a hit holds, a bit each
        ranked[name] = [hit(name, rank, rank, tuple(o for o in range(pieces) if bits >> o & 1)) for rank, bits in enumerate(found, 1)]
    return judged, ranked


@settings(deadline=None, max_examples=50)
@given(rankings())
def test_ir_measures_and_pytrec_eval_find_our_figures_in_the_files(made: tuple[list[Judged], dict[str, list[Ranking]]]) -> None:
    import pytrec_eval

    judged, ranked = made
    ours = by_metric(judged, ranked)
    qrels = list(ir_measures.read_trec_qrels("".join(qrels_lines(judged))))
    for first, measures in MEASURES.items():
        assert RUNS[f"run.top{first}.trec"] == first
        run = list(ir_measures.read_trec_run("".join(run_lines(judged, ranked, first))))
        for metric, measure in measures.items():
            theirs = ir_measures.calc_aggregate([ir_measures.parse_measure(measure)], qrels, run)
            assert list(theirs.values())[0] == pytest.approx(sum(ours[metric].values()) / len(judged), abs=1e-9)
        table: dict[str, dict[str, float]] = {}
        for one in run:
            table.setdefault(one.query_id, {})[one.doc_id] = one.score
        truth = {q: {g.doc_id: g.relevance for g in qrels if g.query_id == q} for q in {g.query_id for g in qrels}}
        found = pytrec_eval.RelevanceEvaluator(truth, {"ndcg_cut_10", "recall_1000", "recip_rank"}).evaluate(table)
        assert len(found) == len(judged), "no judged question is left out"
        for theirs_name, metric in (("ndcg_cut_10", "nDCG@10"), ("recall_1000", f"Recall@{first}"), ("recip_rank", f"MRR@{first}")):
            if metric in measures and not (metric.startswith("MRR") and any(len(h.gold) > 1 for hits in ranked.values() for h in hits)):
                mean = sum(one[theirs_name] for one in found.values()) / len(found)
                assert mean == pytest.approx(sum(ours[metric].values()) / len(judged), abs=1e-9)


@settings(deadline=None, max_examples=50)
@given(rankings())
def test_an_item_comes_once_and_names_have_no_blanks(made: tuple[list[Judged], dict[str, list[Ranking]]]) -> None:
    judged, ranked = made
    for q in judged:
        names = [item[0] for item in items_of(q, ranked[q.question_id])]
        assert len(names) == len(set(names))
    assert all(len(line.split()) == 6 and line.startswith("q%20") for line in run_lines(judged, ranked, None))


def test_the_whole_index_stands_in_the_corpus_where_it_is_wanted(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=3, chunks=5)
    _, version = publish(lake)
    chunks = lake.snapshot().records("chunks")
    first, other = chunks[0], chunks[7]
    piece = GoldRow("s", "set", "q", 0, "?", "single-hop", "", accession(0), first.text, "", "", None, "text", first.document_id,
                    first.start, first.end, "exact")
    found = [Ranking("e", "s", version.version_id, "hybrid", "q", rank, one.chunk_id, one.document_id, one.start, one.end, 1.0, held)
             for rank, (one, held) in enumerate([(other, ()), (first, (0,))], 1)]
    evaluation = row("e" * 32, version_id=version.version_id, arm="../a b")
    stored = Stored(evaluation, [Judged("q", "single-hop", (piece,))], {"q": found}, {}, {"q": piece})

    def corpus(folder: Path) -> dict[str, str]:
        rows = [json.loads(line) for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
        assert len({one["_id"] for one in rows}) == len(rows)
        return {one["_id"]: one["text"] for one in rows}

    export(lake.snapshot(), stored, str(tmp_path / "some"))
    assert corpus(tmp_path / "some") == {"q#gold0": first.text, other.chunk_id: other.text}
    export(lake.snapshot(), stored, str(tmp_path / "all"), whole_index=True)
    assert corpus(tmp_path / "all") == {"q#gold0": first.text, **{one.chunk_id: one.text for one in chunks}}
    assert export_each(lake.snapshot(), [stored], str(tmp_path / "each")) == ["a-b-eeeeeeeeeeee"]
    with pytest.raises(UsageError, match="there already"):
        export_each(lake.snapshot(), [stored], str(tmp_path / "each"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all", "each", "lake", "some"]
