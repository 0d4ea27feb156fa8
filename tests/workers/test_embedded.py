"""What has its vector already: the same answer as the table gives, read once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_lake import commit

from edgarmill.schemas import parts
from edgarmill.schemas.ids import text_hash
from edgarmill.schemas.records import Embedding
from edgarmill.schemas.store import Drop, Lake
from edgarmill.workers.embed.embedded import Embedded

TEXTS = [text_hash(str(n)) for n in range(12)]


def put(lake: Lake, key: str, texts: list[str], model: str = "one") -> None:
    commit(lake, key, [{"embeddings": [Embedding(text, model, "a", (1.0, 0.0)) for text in texts]}])


def stored(lake: Lake, model: str = "one") -> set[str]:
    return set(lake.snapshot().read("embeddings", ["text_hash"], {"model_hash": [model]})["text_hash"].to_pylist())


steps = st.lists(st.one_of(
    st.tuples(st.sampled_from(["one", "two"]), st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4)),
    st.tuples(st.just("drop"), st.lists(st.sampled_from(TEXTS), min_size=1, max_size=2)), st.just(("merge", []))), max_size=6)


@settings(max_examples=15, deadline=None)
@given(steps=steps)
def test_it_knows_what_the_table_has_after_every_commit(tmp_path_factory: pytest.TempPathFactory, steps: list[Any]) -> None:
    lake = Lake.open(str(tmp_path_factory.mktemp("lake")), create=True)
    known = {model: Embedded(lake, model) for model in ("one", "two")}
    for number, (what, texts) in enumerate(steps):
        if what == "merge":
            with lake.writer("merge") as writer:
                writer.compact(most=1)
        elif what == "drop":
            with lake.writer("drop") as writer:
                writer.commit([], key=f"drop{number}", drop=[Drop("embeddings", "text_hash", frozenset(texts))])
        else:
            put(lake, f"put{number}", texts, what)
        for model in known:
            assert known[model].among(TEXTS) == stored(lake, model)


def test_a_part_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Lake.open(str(tmp_path), create=True)
    read: list[str] = []
    real = parts.check_file
    monkeypatch.setattr(parts, "check_file", lambda root, part: (read.append(part.path), real(root, part))[1])
    known = Embedded(lake, "one")
    for number, text in enumerate(TEXTS[:5]):
        put(lake, f"put{number}", [text])
        assert known.among([text, TEXTS[-1]]) == {text}
        assert known.among(TEXTS) == set(TEXTS[: number + 1])
    of_table = [path for path in read if path.startswith("tables/embeddings/")]
    assert len(of_table) == len(set(of_table)) == 5
