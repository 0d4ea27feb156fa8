"""The index of a recipe: what a build writes, what a verification finds, when a tag is given."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from tiny_lake import DAY, DIMENSIONS, NOW, SPEC, accession, commit, fake_vector, filing, publish, rows_of, tiny_lake

from edgarmill.retrieval.search import open_index
from edgarmill.schemas import records
from edgarmill.schemas.errors import LakeCorrupt, NewerSchema, NotVerified, StorageError
from edgarmill.schemas.store import Drop, Lake, write_part
from edgarmill.workers.index import INDEX_SCHEMA_VERSION, build, clean, index_schema, tag, verify, verify_again, version_of
from edgarmill.workers.index.damage import silent
from edgarmill.workers.index.dataset import INDEXED, open_dataset


def held(lake: Lake, version: int | str | None = None) -> dict[str, dict[str, Any]]:
    return {row["chunk_id"]: row for row in open_dataset(lake, "tiny", version).to_table().to_pylist()}


def failing(checks: list[records.Check]) -> set[str]:
    return {c.check for c in checks if not c.ok}


def test_every_chunk_is_a_row_with_its_filing_context_and_vector(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=2, chunks=3)
    publish(lake)
    rows = held(lake)
    snapshot = lake.snapshot()
    assert rows.keys() == set(snapshot.read("chunks")["chunk_id"].to_pylist())
    row = next(r for r in rows.values() if r["accession"] == accession(1) and r["ordinal"] == 2)
    assert (row["company"], row["tickers"], row["ciks"], row["fiscal_year"], row["filed_on"]) == (
        "Company B", ["BBB"], ["0000000002"], 2021, date(2022, 2, 1))
    assert (row["tokens"], row["context"], row["item"], row["page_start"]) == (19, "Company B, 10-K 2021", "1A", 1)
    assert row["vector"] == pytest.approx(fake_vector(row["text"]), abs=1e-7)
    assert open_dataset(lake, "tiny").schema.remove_metadata() == index_schema(DIMENSIONS)


def test_all_checks_hold_and_the_record_says_what_is_inside(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path)
    built, version = publish(lake)
    assert not failing(verify(lake, built, SPEC))
    assert (version.tag, version.state, version.filings, version.chunks) == ("2026-11-30.1", "verified", 6, 48)
    assert (version.tokens, version.cut_tokens, version.parent, version.dollars) == (48 * 19, 48, None, None)
    assert version.bytes > 10_000
    manifest = json.loads(version.manifest)
    assert manifest["corpus"]["sha256"] == {filing(n).accession: filing(n).sha256 for n in range(6)}
    assert manifest["model"] == {"name": "fake", "hash": "model1", "dimensions": DIMENSIONS}
    assert manifest["software"]["pylance"]


def test_a_second_run_without_change_writes_nothing_and_keeps_the_tag(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path)
    first, version = publish(lake)
    newest = open_dataset(lake, "tiny").version
    again, same = publish(lake, run_id="second")
    assert again.known and not again.changed and (again.added, again.removed) == (0, 0)
    assert (again.version_id, same.tag) == (first.version_id, version.tag)
    assert open_dataset(lake, "tiny").version == newest
    assert lake.snapshot().count("index_versions") == 1


def test_the_same_content_has_the_same_version_id_in_any_order_and_lake(tmp_path: Path) -> None:
    one, two = tiny_lake(tmp_path / "a", filings=0), tiny_lake(tmp_path / "b", filings=0)
    rows = [rows_of(filing(n), 4) for n in range(4)]
    commit(one, "x", rows)
    for n in (2, 0, 3, 1):
        commit(two, f"y{n}", [rows[n]])
    assert publish(one)[1].version_id == publish(two)[1].version_id


def test_only_the_rows_of_changed_filings_are_written(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path)
    _, first = publish(lake)
    before = held(lake)
    commit(lake, "night", [rows_of(filing(1), 5, "in new words"), rows_of(filing(9), 3)], drop=[accession(1), accession(2)])
    built, second = publish(lake, run_id="second")
    assert (built.added, built.removed, built.chunks, built.filings) == (8, 16, 40, 6)
    assert (second.tag, second.parent) == ("2026-11-30.2", first.version_id)
    after = held(lake)
    assert {r["accession"] for r in after.values()} == {accession(n) for n in (0, 1, 3, 4, 5, 9)}
    assert held(lake, "2026-11-30.1") == before


def test_new_facts_of_a_filing_replace_its_rows(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=3)
    publish(lake)
    renamed = filing(1, tickers=("NEW",))
    commit(lake, "renamed", [{**rows_of(filing(1), 8), "filings": [renamed], "embeddings": []}], drop=[accession(1)])
    built, _ = publish(lake, run_id="second")
    assert (built.added, built.removed) == (8, 8)
    assert {tuple(r["tickers"]) for r in held(lake).values() if r["accession"] == accession(1)} == {("NEW",)}


def test_going_back_to_earlier_content_gives_the_earlier_version(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=3)
    _, first = publish(lake)
    commit(lake, "more", [rows_of(filing(7), 2)])
    publish(lake, run_id="second")
    commit(lake, "less", [], drop=[accession(7)])
    built, third = publish(lake, run_id="third")
    assert built.known and (third.version_id, third.tag, third.lance_version) == (first.version_id, first.tag, first.lance_version)
    assert lake.snapshot().indexes == {"tiny": first.lance_version}
    commit(lake, "again", [rows_of(filing(8), 2)])
    assert publish(lake, run_id="fourth")[0].chunks == 26


def test_another_model_makes_another_dataset_and_the_old_tag_stays(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=2)
    _, first = publish(lake)
    other = replace(SPEC, model_hash="model2", dimensions=4)
    hashes = lake.snapshot().read("contexts")["text_hash"].to_pylist()
    commit(lake, "model2", [{"embeddings": [records.Embedding(h, "model2", accession(0), (0.5, 0.5, 0.5, 0.5)) for h in hashes]}])
    _, second = publish(lake, other, "second")
    assert second.version_id != first.version_id
    assert open_dataset(lake, "tiny", second.tag).schema.field("vector").type.list_size == 4
    assert open_dataset(lake, "tiny", first.tag).schema.field("vector").type.list_size == DIMENSIONS


def test_equal_texts_embedded_twice_give_one_row_a_chunk(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=2)
    doubled = [replace(e, vector=tuple(x + 1e-7 for x in e.vector)) for e in lake.snapshot().records("embeddings")]
    commit(lake, "doubled", [{"embeddings": doubled}])
    built, _ = publish(lake)
    assert open_dataset(lake, "tiny").count_rows() == built.chunks == 16


def test_a_named_filing_whose_chunks_lack_vectors_is_not_passed_over(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=2)
    commit(lake, "bare", [{**rows_of(filing(5), 4), "embeddings": []}])
    members = frozenset(accession(n) for n in (0, 1, 5))
    built = build(lake, lake.snapshot(), replace(SPEC, accessions=members), "run")
    checks = verify(lake, built, SPEC)
    assert failing(checks) == {"rows"}
    with pytest.raises(NotVerified, match="rows: expected 20, found 16"):
        tag(lake, built, checks, DAY)
    assert open_dataset(lake, "tiny").tags.list() == {}
    assert version_of(lake, built, SPEC, None, NOW).state == "rejected"


def test_filings_that_are_not_named_stay_out(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path)
    publish(lake, replace(SPEC, accessions=frozenset([accession(2)])))
    assert {r["accession"] for r in held(lake).values()} == {accession(2)}


@pytest.mark.parametrize("vector", [(1.0,) * 3, (0.0,) * DIMENSIONS, (float("nan"),) * DIMENSIONS, (float("inf"),) * DIMENSIONS],
                         ids=["short", "zero", "nan", "infinite"])
def test_a_vector_that_could_never_be_found_fails_the_checks(tmp_path: Path, vector: tuple[float, ...]) -> None:
    lake = tiny_lake(tmp_path, filings=2)
    rows = rows_of(filing(5), 1)
    rows["embeddings"] = [replace(e, vector=vector) for e in rows["embeddings"]]  # type: ignore[type-var]
    commit(lake, "bad", [rows])
    built = build(lake, lake.snapshot(), SPEC, "run")
    assert "null, infinite or zero vectors" in failing(verify(lake, built, SPEC))


def test_texts_that_are_not_the_documents_fail_the_checks(tmp_path: Path) -> None:
    shifted = tiny_lake(tmp_path, filings=0)
    rows = rows_of(filing(0), 4)
    rows["documents"] = [replace(d, text="x" + d.text) for d in rows["documents"]]  # type: ignore[type-var, attr-defined]
    commit(shifted, "x", [rows])
    built = build(shifted, shifted.snapshot(), SPEC, "run")
    assert failing(verify(shifted, built, SPEC)) == {"sample texts equal documents"}


def test_rows_that_an_index_lacks_fail_the_checks_and_the_next_build_adds_them(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=2)
    built = build(lake, lake.snapshot(), SPEC, "run")
    dataset = open_dataset(lake, "tiny")
    row = dataset.take([0])
    dataset.delete(f"chunk_id = '{row['chunk_id'][0]}'")
    tail = lance.write_dataset(row, dataset.uri, mode="append")
    checks = verify(lake, replace(built, lance_version=tail.version), SPEC)
    assert failing(checks) == {"unindexed rows"}
    assert next(c for c in checks if not c.ok).found.count(" 1") == len(INDEXED)


def test_a_vector_index_is_made_above_its_number_of_rows_and_recall_is_measured(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=30, chunks=12)
    spec = replace(SPEC, vector_index_rows=300)
    built, _ = publish(lake, spec)
    commit(lake, "more", [rows_of(filing(n), 6) for n in range(40, 45)])
    built, _ = publish(lake, spec, "second")
    dataset = open_dataset(lake, "tiny", built.lance_version)
    assert dataset.stats.index_stats("vector_idx")["num_unindexed_rows"] == 0
    recall = {c.check: c.found for c in verify(lake, built, spec) if c.check.startswith("recall")}
    assert recall == {"recall@10": "1.0000", "recall@10 of one filer": "1.0000"}


def test_many_fragments_are_compacted_and_the_indexes_stay_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgarmill.workers.index.dataset.FRAGMENTS", 3)
    lake = tiny_lake(tmp_path, filings=3)
    publish(lake)
    fragments = []
    for night in range(4):
        commit(lake, f"night{night}", [rows_of(filing(10 + night), 1)])
        built, _ = publish(lake, run_id=f"night{night}")
        fragments.append(len(open_dataset(lake, "tiny").get_fragments()))
        assert not failing(verify(lake, built, SPEC))
    assert fragments == [2, 3, 1, 2]


def test_much_deleted_is_compacted(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path)
    publish(lake)
    commit(lake, "fewer", [], drop=[accession(1), accession(4)])
    built, _ = publish(lake, run_id="second")
    assert open_dataset(lake, "tiny").stats.dataset_stats()["num_deleted_rows"] == 0
    assert (built.removed, built.chunks) == (16, 32)


def test_dollars_are_the_sum_over_its_filings_and_null_when_one_is_unpriced(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=2)
    usage = [records.Usage(accession(0), "parse", dollars=Decimal("0.25")), records.Usage(accession(1), "embed", dollars=Decimal("1.5")),
             records.Usage("other", "embed", dollars=Decimal(9))]
    commit(lake, "usage", [{"usage": list(usage)}])
    assert publish(lake)[1].dollars == Decimal("1.75")
    commit(lake, "unpriced", [{"usage": [records.Usage(accession(1), "chunk")]}])
    built = build(lake, lake.snapshot(), SPEC, "run")
    assert version_of(lake, built, SPEC, "x", NOW).dollars is None


def test_tags_count_within_a_day_and_never_move(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=1)
    names = []
    for n, day in enumerate([date(2026, 11, 30), date(2026, 11, 30), date(2026, 12, 1)]):
        commit(lake, f"n{n}", [rows_of(filing(n + 5), 2)])
        built = build(lake, lake.snapshot(), SPEC, f"run{n}")
        names.append((tag(lake, built, verify(lake, built, SPEC), day), built.lance_version))
    assert [name for name, _ in names] == ["2026-11-30.1", "2026-11-30.2", "2026-12-01.1"]
    known = {name: entry["version"] for name, entry in open_dataset(lake, "tiny").tags.list().items()}
    assert known == dict(names)
    assert tag(lake, built, verify(lake, built, SPEC), date(2026, 12, 9)) == "2026-12-01.1"


def test_checks_of_another_version_give_no_tag(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=1)
    built = build(lake, lake.snapshot(), SPEC, "run")
    for checks in ([], [replace(c, version_id="other") for c in verify(lake, built, SPEC)]):
        with pytest.raises(NotVerified, match="no checks of this version"):
            tag(lake, built, checks, DAY)


def test_nothing_to_index_is_said(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=0)
    with pytest.raises(NotVerified, match="no chunk to index"):
        build(lake, lake.snapshot(), SPEC, "run")


def test_quarantined_filings_are_not_indexed(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=1)
    commit(lake, "bad", [rows_of(filing(4, status="quarantined"), 3)])
    assert publish(lake)[0].totals.corpus == ((accession(0), filing(0).sha256),)


def test_a_dataset_that_the_catalog_names_but_is_gone_is_corrupt(tmp_path: Path) -> None:
    import shutil

    lake = tiny_lake(tmp_path, filings=1)
    publish(lake)
    shutil.rmtree(lake.index_uri("tiny"))
    with pytest.raises(LakeCorrupt, match="index is missing"):
        build(lake, lake.snapshot(), SPEC, "run")


def test_a_dataset_of_a_newer_edgarmill_is_refused(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=1)
    publish(lake)
    dataset = open_dataset(lake, "tiny")
    dataset.update_schema_metadata({"edgarmill.schema_version": str(INDEX_SCHEMA_VERSION + 1)})
    with lake.writer("newer") as writer:
        writer.commit([], key="newer", indexes={"tiny": dataset.version})
    commit(lake, "more", [rows_of(filing(3), 1)])
    with pytest.raises(NewerSchema, match=f"index schema {INDEX_SCHEMA_VERSION + 1}, this edgarmill knows {INDEX_SCHEMA_VERSION}"):
        build(lake, lake.snapshot(), SPEC, "run")


def test_a_version_of_an_older_schema_is_verified_searched_and_left_by_the_next_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                                                                                     ) -> None:
    """Schema 1 had another hash over its rows, and IVF_FLAT: what its manifest says is not held against today's hash."""
    lake, spec = tiny_lake(tmp_path), replace(SPEC, vector_index_rows=40)
    with monkeypatch.context() as then:
        for module in ("dataset", "release"):
            then.setattr(f"edgarmill.workers.index.{module}.INDEX_SCHEMA_VERSION", 1)
        flat = {"index_type": "IVF_FLAT", "num_partitions": 2}
        then.setattr("edgarmill.workers.index.dataset.vector_index", lambda rows, dimensions: flat)
        _, old = publish(lake, spec)
    known = json.loads(old.manifest)
    known["counts"]["rows_hash"] = "another rule's"
    old = replace(old, manifest=json.dumps(known))
    with lake.writer("then") as writer:
        part = write_part(lake.root, "index_versions", "then", [old], "then")
        writer.commit([part], key="then", drop=[Drop("index_versions", "version_id", frozenset({old.version_id}))])
    assert open_dataset(lake, "tiny", old.tag).schema.metadata[b"edgarmill.schema_version"] == b"1"

    checks = verify_again(lake, old)
    assert not failing(checks) and len(checks) > 8
    assert "hash of rows" not in {c.check for c in checks}
    before = open_index(lake, old, fake_vector, "model1").search("cyber attack", 5)
    assert len(before) == 5

    built, new = publish(lake, spec, "now")
    assert (built.since, built.added, new.parent) == (None, 48, old.version_id)
    assert new.version_id != old.version_id
    assert [hit.chunk_id for hit in open_index(lake, new, fake_vector, "model1").search("cyber attack", 5)] == [h.chunk_id for h in before]
    assert open_index(lake, old, fake_vector, "model1").search("cyber attack", 5) == before
    assert not failing(verify_again(lake, old)) and not failing(verify_again(lake, new))
    assert "hash of rows" in {c.check for c in verify_again(lake, new)}


def test_an_index_that_answers_wrongly_for_the_rows_own_values_is_named(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=2)
    built, _ = publish(lake)
    dataset = open_dataset(lake, "tiny")
    row = dataset.take([0]).to_pylist()[0]
    assert silent(dataset, row) == []
    assert silent(_Forgetful(dataset), row) == ["accession", "chunk_id", "ciks", "family", "filed_on", "fiscal_quarter", "fiscal_year",
                                                "form", "item", "part", "period_on", "tickers"]


class _Forgetful:
    """A dataset whose scalar indexes find nothing."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dataset, name)

    def scanner(self, **asked: Any) -> Any:
        return self._dataset.scanner(**asked | ({"filter": "false"} if asked.get("use_scalar_index") else {}))


def test_where_the_index_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, filings=1)
    Path(lake.root, "index").write_text("a file in the way", encoding="utf-8")
    with pytest.raises(StorageError, match="cannot be used") as caught:
        build(lake, lake.snapshot(), SPEC, "run")
    assert "\n" not in str(caught.value)


def test_a_full_disk_stops_the_build_and_the_old_version_stays(tmp_path: Path) -> None:
    """A file size limit stands for the full disk: both are refusals of write(2)."""
    import resource
    import signal

    lake = tiny_lake(tmp_path, filings=2)
    _, old = publish(lake)
    commit(lake, "more", [rows_of(filing(n), 200, "many words " * 30) for n in range(10, 14)])
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(StorageError, match="no space left to write") as caught:
            build(lake, lake.snapshot(), SPEC, "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert "\n" not in str(caught.value)
    assert len(held(lake, old.tag)) == 16
    assert publish(lake, run_id="again")[0].chunks == 816


def test_cleaning_keeps_what_has_a_tag(tmp_path: Path) -> None:
    from datetime import timedelta

    lake = tiny_lake(tmp_path, filings=2)
    _, first = publish(lake)
    commit(lake, "more", [rows_of(filing(3), 1)])
    publish(lake, run_id="second")
    before = held(lake, first.tag)
    clean(lake, "tiny", timedelta(0))
    assert held(lake, first.tag) == before
    assert len(open_dataset(lake, "tiny").versions()) == 2


def test_the_dataset_is_plain_lancedb(tmp_path: Path) -> None:
    import lancedb

    lake = tiny_lake(tmp_path, filings=2)
    publish(lake)
    table = lancedb.connect(str(Path(lake.root) / "index")).open_table("tiny")
    table.checkout("2026-11-30.1")
    found = table.search(list(fake_vector("x"))).where("family = '10-K'").limit(3).to_list()
    assert len(found) == 3 and {"text", "page_start", "_distance"} <= found[0].keys()


def test_a_wide_part_of_the_table_is_null_not_wrong(tmp_path: Path) -> None:
    """A Parquet file of an earlier edgarmill without a column of today still joins."""
    lake = tiny_lake(tmp_path, filings=0)
    rows = rows_of(filing(0), 2)
    from edgarmill.schemas.tables import TABLES

    short = TABLES["chunks"].arrow(list(rows.pop("chunks"))).drop_columns(["page_end"])
    part = write_part(lake.root, "chunks", "old", short, "run")
    parts = [write_part(lake.root, table, "old", list(values), "run") for table, values in rows.items()]
    with lake.writer("run") as writer:
        writer.commit([part, *parts], key="old")
    publish(lake)
    assert {r["page_end"] for r in held(lake).values()} == {None}
    assert isinstance(short, pa.Table)
