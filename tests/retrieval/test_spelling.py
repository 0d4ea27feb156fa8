"""Words that an index does not have become words that it has; what is a word, a name, a number or a ticker stays."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_lake import publish, tiny_lake

from edgarmill.retrieval import spelling
from edgarmill.retrieval.search import open_index
from edgarmill.retrieval.spelling import Vocabulary, corrected, vocabulary
from edgarmill.retrieval.versions import resolve
from edgarmill.schemas.errors import LakeCorrupt

WORDS = {"margin": 900, "gross": 800, "revenue": 5000, "receive": 4000, "recieve": 1, "acquisition": 700, "goodwill": 90, "starliner": 3,
"apple": 50,
         "able": 60, "marvin": 3, "once": 1, "operating": 9, "ten": 100, "the": 9000}
ENGLISH = {"what", "drove", "planks", "and", "with", "able", "did", "that", "say"}


def right(question: str, names: tuple[str, ...] = ("apple",), held: tuple[str, ...] = ()) -> str:
    known = Vocabulary(WORDS)
    return corrected(question, known.corrections(question, ENGLISH.__contains__, {*WORDS, *held}.__contains__, names))


@pytest.mark.parametrize(("asked", "read"), [
    ("what drove gros margn", "what drove gross margin"), ("Recieve and recieve", "Recieve and receive"),
    ("Margni, revenu!", "Margin, revenue!"),
    ("the acqusiton's goodwil", "the acquisition's goodwill"), ("Aple and aple", "Apple and able"), ("opreating", "operating"),
])
def test_a_misspelt_word_becomes_the_nearest_and_then_the_most_frequent_one(asked: str, read: str) -> None:
    assert right(asked) == read


@pytest.mark.parametrize("question", [
    "planks and Starliner", "AAPL, MRGIN and 10-K of 2024", "Apple's apples", "mrgn", "iPhonee", "reveneu2", "tne", "margin", "",
    "x" * 20_000,
    "中文 margín", "gr0ss", "\x00'; DROP TABLE --",
])
def test_what_is_a_word_or_none_at_all_stays(question: str) -> None:
    assert right(question, ("apple", "apples")) == question


def test_a_word_that_the_full_text_index_has_stays() -> None:
    assert right("margni", held=("margni",)) == "margni"


def test_so_many_words_of_a_question_are_looked_up_and_no_more() -> None:
    asked = " ".join(f"margn{'abcdefghijklmnopqrstuvwxyz'[n]}" for n in range(26))
    assert len(Vocabulary(WORDS).corrections(asked, ENGLISH.__contains__, WORDS.__contains__)) <= spelling.MOST_CORRECTED


@given(st.text(max_size=60))
def test_what_is_told_is_what_was_done(question: str) -> None:
    found = Vocabulary(WORDS).corrections(question, ENGLISH.__contains__, WORDS.__contains__)
    assert all(question[one.start : one.end] == one.text != one.corrected for one in found)
    assert all(one.corrected in corrected(question, found) for one in found)


def test_the_words_of_a_version_are_counted_once_and_kept(tmp_path: Path) -> None:
    lake = tiny_lake(tmp_path, 3, 8)
    publish(lake)
    version = resolve(lake.snapshot())
    dataset = open_index(lake, version).dataset
    first = vocabulary(lake, version.version_id, dataset)
    assert first._counts["margin"] == 6 and first._counts["paragraph"] == 24 and "2020" not in first._counts
    kept = next(Path(lake.root, "vocabulary").iterdir())
    assert vocabulary(lake, version.version_id, None)._counts == first._counts
    kept.write_bytes(b"PAR1 broken")
    with pytest.raises(LakeCorrupt, match="Removed: ask again"):
        vocabulary(lake, version.version_id, None)
    assert len(vocabulary(lake, version.version_id, dataset)) == len(first)


def test_of_a_large_index_runs_from_all_over_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import lance

    monkeypatch.setattr(spelling, "MOST_PASSAGES", 60)
    monkeypatch.setattr(spelling, "RUN_PASSAGES", 10)
    texts = [f"word {'abcdefghij'[n // 100] * 5}" for n in range(1000)]
    dataset = lance.write_dataset(pa.table({"text": texts}), str(tmp_path / "x.lance"))
    spelling._count(dataset, str(tmp_path / "v" / "w.parquet"), str(tmp_path))
    import pyarrow.parquet as pq

    found = dict(zip(*(pq.read_table(tmp_path / "v" / "w.parquet")[name].to_pylist() for name in ("word", "passages")), strict=True))
    assert found["word"] == 60 and {"aaaaa", "jjjjj"} < set(found) and len(found) >= 6
