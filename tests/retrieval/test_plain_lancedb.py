"""The README's lines for people who use none of our code, as they are written there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tiny_lake import commit, fake_vector, filing, publish, rows_of, tiny_lake

from edgarmill.flows.promote import promote, rollback

README = Path(__file__).parents[2] / "README.md"


def lines() -> str:
    section = README.read_text(encoding="utf-8").split("### Without edgarmill")[1]
    found = re.search(r"```python\n(.*?)```", section, re.S)
    assert found
    return found[1]


def test_three_lines_of_lancedb_and_the_catalog_read_prod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = tiny_lake(tmp_path, filings=3)
    _, first = publish(lake)
    commit(lake, "more", [rows_of(filing(9), 2, "of the largest supplier")])
    _, second = publish(lake, run_id="second")
    Path(lake.root).rename(tmp_path / "demo-lake")
    lake = type(lake).open(str(tmp_path / "demo-lake"))
    monkeypatch.chdir(tmp_path)
    assert len([line for line in lines().splitlines() if line and not line.startswith("import")]) == 3

    promote(lake, second, "good")
    read: dict[str, object] = {}
    exec(lines(), read)
    hits: list[dict[str, object]] = read["hits"]  # type: ignore[assignment]
    assert {hit["accession"] for hit in hits} == {filing(9).accession} and read["index"].count_rows() == second.chunks  # type: ignore[attr-defined]

    promote(lake, first, "an older one")
    rollback(lake, "no")
    promote(lake, first, "yes")
    exec(lines(), read)
    assert read["index"].count_rows() == first.chunks and not read["hits"]  # type: ignore[attr-defined]
    nearest = read["index"].search(list(fake_vector("x"))).distance_type("cosine").limit(2).to_list()  # type: ignore[attr-defined]
    assert len(nearest) == 2 and read["prod"]["model_hash"] == first.model_hash  # type: ignore[index]
