"""Verification: what must hold of a built dataset before it gets a name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from edgarmill.schemas.errors import EdgarmillError
from edgarmill.schemas.recipe import Recipe
from edgarmill.schemas.records import Check, IndexVersion
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.store import Lake
from edgarmill.schemas.views import connect
from edgarmill.workers.index.damage import damaged, silent
from edgarmill.workers.index.dataset import SCALAR_INDEXES, Built, open_dataset, unindexed
from edgarmill.workers.index.rows import IndexSpec, Totals, quoted, rows_hash

SAMPLE = 64  # rows compared with the lake's tables, evenly spread
RECALL_QUERIES = 20
RECALL_RULE = 0.95
MIN_PROBES = 24
TOLERANCE = 1e-6
SAMPLED = ["chunk_id", "document_id", "ciks", "start", "end", "text", "vector"]


def verify(lake: Lake, built: Built, spec: IndexSpec) -> list[Check]:
    """Every check with what was expected and found. Raises LakeCorrupt when the dataset cannot be opened or the tables cannot be read."""
    dataset = open_dataset(lake, built.recipe, built.lance_version)
    snapshot = lake.snapshot(built.snapshot)
    results = _results(dataset, built, spec, lambda sample: (_same_vectors(snapshot, sample, spec), _same_texts(snapshot, sample)))
    return [Check(built.version_id, name, expected, found, ok) for name, expected, found, ok in results]


def verify_again(lake: Lake, version: IndexVersion) -> list[Check]:
    """Every check of a version that has its tag. Those against the tables only while it is its recipe's current one: they move on.

    Raises LakeCorrupt when the dataset cannot be opened or the tables cannot be read.
    """
    known, snapshot = json.loads(version.manifest), lake.snapshot()
    prints, model, counts = known["fingerprints"], known["model"], known["counts"]
    recipe = Recipe.model_validate({name: value for name, value in known["recipe"].items() if name != "fingerprint"})
    spec = IndexSpec(recipe, prints["chunker"], prints["context"], model["hash"], model["name"], model["dimensions"])
    totals = Totals(version.chunks, version.tokens, version.cut_tokens, (), counts["rows_hash"])
    built = Built(version.recipe, version.version_id, snapshot.number, version.lance_version, False, True, 0, 0, totals, version.parent, "")
    dataset = open_dataset(lake, version.recipe, version.tag or version.lance_version)
    current = snapshot.indexes.get(version.recipe) == version.lance_version
    same = dataset.version == version.lance_version
    results = [("version", str(version.lance_version), str(dataset.version), same),
               *_results(dataset, built, None,  # it may be older than an index
                         lambda sample: (_same_vectors(snapshot, sample, spec), _same_texts(snapshot, sample)) if current else ())]
    return [Check(built.version_id, name, expected, found, ok) for name, expected, found, ok in results]


Result = tuple[str, str, str, bool]


def _results(dataset: Any, built: Built, spec: IndexSpec | None, against: Callable[[list[dict[str, Any]]], Iterable[Result]]
             ) -> list[Result]:
    """Of files and columns first: where they are not right, nothing more is read. What breaks off the reading is a result too."""
    import duckdb

    first = [_files(dataset), _columns(dataset)]
    if not all(ok for _, _, _, ok in first):
        return first
    try:
        sample = _sample(dataset)
        return [*first, _rows(dataset, built), *_identity(dataset, built), _usable_vectors(dataset), _indexes(dataset, spec),
                _answers(dataset), *_recall(dataset, sample), *against(sample)]
    except EdgarmillError:
        raise  # of the tables; some are ValueErrors
    except (OSError, ValueError, RuntimeError, duckdb.Error) as error:
        return [*first, ("reading", "all rows", str(error).splitlines()[0][:200], False)]


def _files(dataset: Any) -> Result:
    found = damaged(dataset)
    return "damaged files", "0", "; ".join(found[:5]) or "0", not found


def _columns(dataset: Any) -> Result:
    lacking = sorted({*SAMPLED, "row_hash"} - set(dataset.schema.names))
    return "columns", "all", f"without {', '.join(lacking)}" if lacking else "all", not lacking


def _answers(dataset: Any) -> Result:
    """An index whose bytes are others than were written may answer without an error."""
    names = [name for name in SCALAR_INDEXES if name in dataset.schema.names]
    rows = dataset.count_rows()
    found = [column for row in dataset.take(sorted({0, rows // 2, rows - 1}), columns=[*names, "text"]).to_pylist()
             for column in silent(dataset, row)] if rows else []
    return "indexes that answer wrongly", "0", ", ".join(sorted({*found})) or "0", not found


def _rows(dataset: Any, built: Built) -> Result:
    found = dataset.count_rows()
    return "rows", str(built.totals.expected), str(found), found == built.totals.expected


def _identity(dataset: Any, built: Built) -> Iterator[Result]:
    """Each chunk once, and exactly the rows that the snapshot wants."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        connection.register("held_reader", dataset.scanner(columns=["chunk_id", "row_hash"]).to_reader())
        connection.execute("CREATE TEMP TABLE held AS SELECT chunk_id, row_hash FROM held_reader")
        repeated = connection.execute("SELECT count(*) - count(DISTINCT chunk_id) FROM held").fetchall()[0][0]
        content = rows_hash(connection, "held")
    yield "repeated chunk ids", "0", str(repeated), repeated == 0
    yield "hash of rows", built.totals.rows_hash, content, content == built.totals.rows_hash


def _usable_vectors(dataset: Any) -> Result:
    """A vector that is null, not finite or of length zero would never be found, without an error."""
    import numpy as np

    bad = 0
    for batch in dataset.scanner(columns=["vector"], batch_size=8192).to_batches():
        column = batch.column("vector")
        bad += column.null_count
        numbers = np.asarray(column.drop_null().flatten().to_numpy(zero_copy_only=False)).reshape(-1, column.type.list_size)
        lengths = np.square(numbers, dtype=np.float64).sum(axis=1)
        bad += int((~np.isfinite(lengths) | (lengths == 0)).sum())
    return "null, infinite or zero vectors", "0", str(bad), bad == 0


def _indexes(dataset: Any, spec: IndexSpec | None) -> Result:
    lacking = unindexed(dataset, spec)
    found = ", ".join(f"{column} {rows}" for column, rows in sorted(lacking.items())) or "0"
    return "unindexed rows", "0", found, not lacking


def _sample(dataset: Any) -> list[dict[str, Any]]:
    rows = dataset.count_rows()
    places = sorted({n * rows // SAMPLE for n in range(min(SAMPLE, rows))}) if rows > SAMPLE else list(range(rows))
    return list(dataset.take(places, columns=SAMPLED).to_pylist())


def nearest(vector: Any, k: int, exact: bool) -> dict[str, Any]:
    """Lance's arguments of a vector query. No cap on probes: lancedb's default of 20 gave recall 0.12 under filters, without an error."""
    ask = {"column": "vector", "q": vector, "k": k, "metric": "cosine"}
    return ask | ({"use_index": False} if exact else {"minimum_nprobes": MIN_PROBES})


def _recall(dataset: Any, sample: list[dict[str, Any]]) -> Iterator[Result]:
    """Share of the ten nearest that a reader's query finds, over all rows and over one filer's."""
    filters = {"": None, " of one filer": "one"}
    has_index = any(index.field_names == ["vector"] for index in dataset.describe_indices())
    for name, kind in filters.items():
        if not has_index:  # readers scan, which is exact
            yield f"recall@10{name}", f">= {RECALL_RULE}", "1.0", True
            continue
        shares = [_share(dataset, row, kind is not None) for row in sample[:: max(1, len(sample) // RECALL_QUERIES)] if row["vector"]]
        found = sum(shares) / max(len(shares), 1)
        yield f"recall@10{name}", f">= {RECALL_RULE}", f"{found:.4f}", found >= RECALL_RULE


def _share(dataset: Any, row: dict[str, Any], filtered: bool) -> float:
    where = f"array_has(ciks, {quoted(row['ciks'][0])})" if filtered and row["ciks"] else None
    distances = []
    for exact in (True, False):
        scan = dataset.scanner(columns=["chunk_id", "_distance"], nearest=nearest(row["vector"], 10, exact), filter=where, prefilter=True)
        distances.append(scan.to_table()["_distance"].to_pylist())
    wanted, found = distances
    return sum(d <= wanted[-1] + TOLERANCE for d in found) / len(wanted) if wanted else 1.0


def _same_vectors(snapshot: Snapshot, sample: list[dict[str, Any]], spec: IndexSpec) -> Result:
    """Vectors of the index against those of the Parquet table, by the text that was embedded."""
    import numpy as np

    connection = connect(snapshot, ("contexts", "embeddings"))
    try:
        rows = connection.execute(
            "SELECT x.chunk_id, e.vector FROM contexts x JOIN embeddings e USING (text_hash) "
            "WHERE x.fingerprint = $1 AND e.model_hash = $2 AND list_contains($3, x.chunk_id)",
            [spec.context, spec.model_hash, [row["chunk_id"] for row in sample]]).fetchall()
    finally:
        connection.close()
    stored: dict[str, list[Any]] = {}
    for chunk_id, vector in rows:
        stored.setdefault(chunk_id, []).append(vector)

    def close(one: list[float], other: list[float] | None) -> bool:
        return other is not None and len(one) == len(other) and np.allclose(one, other, rtol=0, atol=TOLERANCE)

    same = sum(any(close(vector, row["vector"]) for vector in stored.get(row["chunk_id"], ())) for row in sample)
    return "sample vectors equal embeddings", str(len(sample)), str(same), same == len(sample)


def _same_texts(snapshot: Snapshot, sample: list[dict[str, Any]]) -> Result:
    import pyarrow.compute as pc

    same = 0
    for document in {row["document_id"] for row in sample}:  # one at a time: a text may have 30 MB
        texts = snapshot.read("documents", ["text"], where=pc.field("document_id") == document)["text"].to_pylist()
        same += sum(bool(texts) and texts[0][row["start"]:row["end"]] == row["text"] for row in sample if row["document_id"] == document)
    return "sample texts equal documents", str(len(sample)), str(same), same == len(sample)
