"""The nearest rows through a vector index, where a filter keeps what is near the question, and where it keeps what is far."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from edgarmill.workers.index import nearest as module
from edgarmill.workers.index.nearest import ask, nearest_rows

SUBJECTS, EACH, WIDE = 200, 30, 32
FAR = "subject >= 180"  # a tenth of the subjects


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Rows about 200 subjects, a partition or so each."""
    import lance

    drawn = np.random.default_rng(1)
    centers = drawn.standard_normal((SUBJECTS, WIDE), dtype=np.float32)
    subject = np.repeat(np.arange(SUBJECTS, dtype=np.int64), EACH)
    vectors = centers[subject] + 0.3 * drawn.standard_normal((len(subject), WIDE), dtype=np.float32)
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), WIDE)
    found = lance.write_dataset(pa.table({"subject": subject, "vector": column}), str(tmp_path_factory.mktemp("nearest") / "rows.lance"))
    found.create_scalar_index("subject", "BTREE")
    found.create_index("vector", metric="cosine", index_type="IVF_RQ", num_bits=1, num_partitions=SUBJECTS)
    return found


def questions(dataset: Any, subjects: range) -> list[Any]:
    rows = dataset.to_table(columns=["subject", "vector"], filter=f"subject >= {subjects.start} AND subject < {subjects.stop}")
    return [row["vector"] for row in rows.to_pylist()[:: EACH * 5]]


def recall(dataset: Any, subjects: range, where: str | None) -> float:
    shares = []
    for vector in questions(dataset, subjects):
        wanted = nearest_rows(dataset, vector, 10, [], where, exact=True)["_distance"][-1].as_py()
        found = nearest_rows(dataset, vector, 50, ["subject"], where, wanted=10).to_pylist()
        assert len(found) == 50 and [row["_distance"] for row in found] == sorted(row["_distance"] for row in found)
        assert where is None or all(row["subject"] >= 180 for row in found)
        shares.append(sum(row["_distance"] <= wanted + 1e-6 for row in found[:10]) / 10)
    return float(np.mean(shares))


@pytest.mark.parametrize("subjects", [range(180, 200), range(180)], ids=["what is asked for is kept", "the filter keeps other subjects"])
def test_the_ten_nearest_are_found_whatever_the_filter_keeps(dataset: Any, subjects: range) -> None:
    assert recall(dataset, subjects, FAR) >= 0.95


def test_without_steps_a_filter_that_keeps_other_subjects_would_lose_some(dataset: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WIDER", (module.PROBES, module.PROBES))
    assert recall(dataset, range(180), FAR) < 0.9


def test_without_a_filter_one_reading_is_enough(dataset: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WIDER", ())
    assert recall(dataset, range(0, SUBJECTS), None) >= 0.95


def test_a_filter_that_keeps_nothing_gives_nothing_and_few_rows_are_given_whole(dataset: Any) -> None:
    vector = questions(dataset, range(1))[0]
    assert len(nearest_rows(dataset, vector, 10, [], "subject < 0")) == 0
    assert len(nearest_rows(dataset, vector, 100, [], "subject = 199")) == EACH
    assert ask(vector, 10, True)["use_index"] is False and "maximum_nprobes" not in ask(vector, 10, False)
