"""Verification: what must hold of a built dataset before it gets a name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

from edgarmill.schemas.errors import EdgarmillError
from edgarmill.schemas.interrupts import heeding
from edgarmill.schemas.recipe import Recipe
from edgarmill.schemas.records import Check, IndexVersion
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.store import Lake
from edgarmill.schemas.tables import pylist
from edgarmill.workers.index.damage import damaged, silent
from edgarmill.workers.index.dataset import SCALAR_INDEXES, Built, open_dataset, schema_of, unindexed
from edgarmill.workers.index.nearest import EXACT_ROWS, nearest_rows
from edgarmill.workers.index.rows import HASHED_SINCE, IndexSpec, Totals, embeddings_of, identity, quoted, rows_hash

SAMPLE = 64  # rows compared with the lake's tables, evenly spread
RECALL_QUERIES = 20
RECALL_RULE = 0.95
TOLERANCE = {"float": 1e-6, "halffloat": 5e-4}  # by the numbers of the stored vectors
COUNTED = 10_000  # fresh rows of which each is looked for by its chunk id; with more, all ids are counted
MEASURED_ROWS = 300_000  # up to so many, recall over all rows is measured of every version; beyond, of those alone that were written anew
OLD, NEW = 8, 24  # rows of the sample where the version goes on from a verified one
COMPARED = 8  # of which every eighth is compared with the tables, as each may cost a row group; the hash of all rows is computed besides
SAMPLED = ["chunk_id", "accession", "document_id", "ciks", "start", "end", "text", "context", "vector"]


def verify(lake: Lake, built: Built, spec: IndexSpec) -> list[Check]:
    """Every check with what was expected and found. Raises LakeCorrupt when the dataset cannot be opened or the tables cannot be read."""
    dataset = open_dataset(lake, built.recipe, built.lance_version)
    snapshot = lake.snapshot(built.snapshot)
    results = _results(dataset, built, spec, lambda sample: _against(snapshot, sample, spec))
    return [Check(built.version_id, name, expected, found, ok) for name, expected, found, ok in results]


def verify_again(lake: Lake, version: IndexVersion) -> list[Check]:
    """Every check of a version that has its tag. Against the tables those rows are held that they still have: they move on.

    Raises LakeCorrupt when the dataset cannot be opened or the tables cannot be read.
    """
    known, snapshot = json.loads(version.manifest), lake.snapshot()
    prints, model, counts = known["fingerprints"], known["model"], known["counts"]
    recipe = Recipe.model_validate({name: value for name, value in known["recipe"].items() if name != "fingerprint"})
    spec = IndexSpec(recipe, prints["chunker"], prints["context"], model["hash"], model["name"], model["dimensions"])
    totals = Totals(version.chunks, version.tokens, version.cut_tokens, (), counts["rows_hash"])
    built = Built(version.recipe, version.version_id, snapshot.number, version.lance_version, False, True, 0, 0, totals, version.parent, "")
    dataset = open_dataset(lake, version.recipe, version.tag or version.lance_version)
    same = dataset.version == version.lance_version
    results = [("version", str(version.lance_version), str(dataset.version), same),
               *_results(dataset, built, None, lambda sample: _still(snapshot, sample, spec))]  # None: it may be older than an index
    return [Check(built.version_id, name, expected, found, ok) for name, expected, found, ok in results]


Result = tuple[str, str, str, bool]
Against = Callable[[list[dict[str, Any]]], Iterable[Result]]  # a sample's rows against the tables


def _results(dataset: Any, built: Built, spec: IndexSpec | None, against: Against) -> list[Result]:
    """Of files and columns first: where they are not right, nothing more is read. What breaks off the reading is a result too."""
    import duckdb

    first = [_files(dataset), _columns(dataset)]
    if not all(ok for _, _, _, ok in first):
        return first
    try:
        with heeding():
            return [*first, *_read(dataset, built, spec, against)]
    except EdgarmillError:
        raise  # of the tables; some are ValueErrors
    except (OSError, ValueError, RuntimeError, duckdb.Error) as error:
        return [*first, ("reading", "all rows", str(error).splitlines()[0][:200], False)]


def _read(dataset: Any, built: Built, spec: IndexSpec | None, against: Against) -> list[Result]:
    fresh = _fresh(dataset, built.since)
    sample = _sample(dataset, None, SAMPLE if fresh is None else OLD) + _sample(dataset, fresh, NEW)
    return [_rows(dataset, built), *_identity(dataset, built, fresh), _usable_vectors(dataset, fresh), _indexes(dataset, spec),
            _answers(dataset, fresh), *_recall(dataset, sample, fresh), *against(sample if fresh is None else sample[::COMPARED])]


def _files(dataset: Any) -> Result:
    found = damaged(dataset)
    return "damaged files", "0", "; ".join(found[:5]) or "0", not found


def _columns(dataset: Any) -> Result:
    lacking = sorted({*SAMPLED, "row_hash"} - set(dataset.schema.names))
    return "columns", "all", f"without {', '.join(lacking)}" if lacking else "all", not lacking


def _answers(dataset: Any, fresh: list[Any] | None) -> Result:
    """An index whose bytes are others than were written may answer without an error. Three rows are asked for, and every column read; where
    the version goes on from a verified one, the last row among what came and the first within its fragment."""
    rows = dataset.count_rows()
    asked: list[tuple[int, list[Any] | None]] = [(place, None) for place in sorted({0, rows // 2, rows - 1})]
    if fresh is not None:
        asked = [(0, dataset.get_fragments()[:1]), *([(rows - 1, fresh)] if fresh else [])]
    names = [*(name for name in SCALAR_INDEXES if name in dataset.schema.names), "text"]
    found = [column for place, fragments in asked for row in dataset.take([place], columns=names).to_pylist()
             for column in silent(dataset, row, fragments)] if rows else []
    return "indexes that answer wrongly", "0", ", ".join(sorted({*found})) or "0", not found


def _rows(dataset: Any, built: Built) -> Result:
    found = dataset.count_rows()
    return "rows", str(built.totals.expected), str(found), found == built.totals.expected


def _identity(dataset: Any, built: Built, fresh: list[Any] | None) -> Iterator[Result]:
    """Each chunk once, and exactly the rows that the snapshot wants. What an older schema hashed is not computed again."""
    import duckdb

    few = fresh is not None and sum(fragment.count_rows() for fragment in fresh) <= COUNTED
    with duckdb.connect(":memory:") as connection:
        connection.register("held", dataset.scanner(columns=["chunk_id", "row_hash"]).to_reader())
        if fresh is not None and few:
            repeated, content = _again(dataset, fresh), rows_hash(connection, "held")
        else:
            repeated, content = identity(connection, "held")
    yield "repeated chunk ids", "0", f"{repeated}{_first_repeated(dataset)}" if repeated else "0", repeated == 0
    if schema_of(dataset) >= HASHED_SINCE:
        yield "hash of rows", built.totals.rows_hash, content, content == built.totals.rows_hash


def _first_repeated(dataset: Any) -> str:
    """A chunk id that several rows have, and its filing: where to look."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        connection.register("held", dataset.scanner(columns=["chunk_id", "accession"]).to_reader())
        asked = "SELECT chunk_id, min(accession) FROM held GROUP BY 1 HAVING count(*) > 1 ORDER BY 1 LIMIT 1"
        return "".join(f"; first {chunk} of {accession}" for chunk, accession in connection.execute(asked).fetchall())


def _again(dataset: Any, fresh: list[Any]) -> int:
    """Rows that have the chunk id of a row in the few fresh fragments, beyond the first of each; no two of the others have the same."""
    if not sum(fragment.count_rows() for fragment in fresh):
        return 0
    ids = dataset.scanner(columns=["chunk_id"], fragments=fresh).to_table()["chunk_id"].to_pylist()
    return int(dataset.count_rows(filter=f"chunk_id IN ({', '.join(map(quoted, ids))})")) - len({*ids})


def _fresh(dataset: Any, since: int | None) -> list[Any] | None:
    """Fragments that a verified version before did not have; None where there is none, and all are new."""
    if since is None:
        return None
    known = {fragment.fragment_id for fragment in dataset.checkout_version(since).get_fragments()}
    return [fragment for fragment in dataset.get_fragments() if fragment.fragment_id not in known]


def _usable_vectors(dataset: Any, fresh: list[Any] | None) -> Result:
    """A vector that is null, not finite or of length zero would never be found, without an error. Those verified before are not read."""
    import numpy as np

    bad = 0
    for batch in dataset.scanner(columns=["vector"], batch_size=8192, fragments=fresh).to_batches() if fresh != [] else ():
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


def _sample(dataset: Any, fragments: list[Any] | None, size: int) -> list[dict[str, Any]]:
    """Rows evenly spread over the dataset, or over those fragments (the last ones)."""
    rows = dataset.count_rows()
    if fragments is not None:
        first = rows - sum(fragment.count_rows() for fragment in fragments)
    elif size == NEW:
        return []
    else:
        first = 0
    places = sorted({first + n * (rows - first) // size for n in range(size)} & set(range(first, rows)))
    return list(dataset.take(places, columns=SAMPLED).to_pylist()) if places else []


def _recall(dataset: Any, sample: list[dict[str, Any]], fresh: list[Any] | None) -> Iterator[Result]:
    """Share of the ten nearest that a reader's query finds, over all rows and over one filer's.

    An exact search of all rows reads every vector, once for all questions. A version that goes on from a verified one has its partitions:
    there the rows that came are to be found by their own vectors instead.
    """
    rows = dataset.count_rows()
    asked = [row for row in sample[:: max(1, len(sample) // RECALL_QUERIES)] if row["vector"]]
    if not any(index.field_names == ["vector"] for index in dataset.describe_indices()):  # readers scan, which is exact
        yield "recall@10", f">= {RECALL_RULE}", "1.0", True
        yield "recall@10 of one filer", f">= {RECALL_RULE}", "1.0", True
        return
    if fresh is None or rows <= MEASURED_ROWS:
        shares = [_share(dataset, row["vector"], wanted, None, rows) for row, wanted in zip(asked, _exact(dataset, asked), strict=True)]
        yield _enough("recall@10", shares)
    if fresh is not None:
        shares = [_share(dataset, row["vector"], [0.0], None, rows) for row in sample[OLD:] if row["vector"]]
        yield _enough("new rows found by their vectors", shares)
    shares = []
    for row in asked:
        where = f"array_has(ciks, {quoted(row['ciks'][0])})" if row["ciks"] else None
        exact = nearest_rows(dataset, row["vector"], 10, [], where, exact=True)["_distance"].to_pylist()
        shares.append(_share(dataset, row["vector"], exact, where, dataset.count_rows(filter=where)))
    yield _enough("recall@10 of one filer", shares)


def _enough(name: str, shares: list[float]) -> Result:
    found = sum(shares) / len(shares) if shares else 1.0
    return name, f">= {RECALL_RULE}", f"{found:.4f}", found >= RECALL_RULE


def _exact(dataset: Any, asked: list[dict[str, Any]]) -> list[list[float]]:
    """Distances of the ten nearest rows to each row's vector, in one reading of all vectors."""
    import numpy as np

    questions = _units(np.array([row["vector"] for row in asked], dtype=np.float32))
    best = np.full((len(asked), 10), np.inf, dtype=np.float32)
    for batch in dataset.scanner(columns=["vector"], batch_size=8192).to_batches():
        column = batch.column("vector").drop_null()
        vectors = np.asarray(column.flatten().to_numpy(zero_copy_only=False), dtype=np.float32).reshape(-1, questions.shape[1])
        best = np.partition(np.hstack([best, 1 - questions @ _units(vectors).T]), 9, axis=1)[:, :10]
    return [sorted(float(one) for one in row if np.isfinite(one)) for row in best]


def _units(vectors: Any) -> Any:
    import numpy as np

    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)


def _share(dataset: Any, vector: Any, wanted: list[float], where: str | None, rows: int) -> float:
    """Of the wanted distances, how many a reader's search reaches; `rows` are kept by the filter."""
    found = nearest_rows(dataset, vector, 10, [], where, exact=where is not None and rows <= EXACT_ROWS)["_distance"].to_pylist()
    reach = wanted[-1] + 4 * _tolerance(dataset) if wanted else 0.0
    return min(1.0, sum(distance <= reach for distance in found) / len(wanted)) if wanted else 1.0


def _tolerance(dataset: Any) -> float:
    return TOLERANCE[str(dataset.schema.field("vector").type.value_type)]


def _against(snapshot: Snapshot, sample: list[dict[str, Any]], spec: IndexSpec) -> Iterator[Result]:
    """The rows of a version that was built from this snapshot: each has its like in the tables."""
    contexts = _contexts(snapshot, sample, spec)
    vectors = _vectors(snapshot, {row["text_hash"] for row in contexts.values()}, sample, spec)
    stored = [vectors.get(contexts[row["chunk_id"]]["text_hash"], []) if row["chunk_id"] in contexts else [] for row in sample]
    yield _same_vectors([*zip(sample, stored, strict=True)], spec, "")
    yield _same_texts(snapshot, sample, "")


def _still(snapshot: Snapshot, sample: list[dict[str, Any]], spec: IndexSpec) -> Iterator[Result]:
    """Those rows of an older version that the tables still have.

    A chunk's id is a hash of its text and place, and its context's row goes with the document (`block.drops_of`): where the row is, the
    document is one that the chunk stands in. Another context was embedded as another text. What is not there says nothing of the index.
    """
    contexts = _contexts(snapshot, sample, spec)
    there = [row for row in sample if row["chunk_id"] in contexts]
    alike = [row for row in there if row["context"] == contexts[row["chunk_id"]]["context"]]
    vectors = _vectors(snapshot, {contexts[row["chunk_id"]]["text_hash"] for row in alike}, alike, spec)
    pairs = [(row, stored) for row in alike if (stored := vectors.get(contexts[row["chunk_id"]]["text_hash"]))]
    yield _same_vectors(pairs, spec, _left_out(sample, pairs))
    yield _same_texts(snapshot, there, _left_out(sample, there))


def _left_out(sample: Sized, compared: Sized) -> str:
    left = len(sample) - len(compared)
    return f" of {len(sample)}; {left} not compared, the tables have moved on" if left else ""


def _contexts(snapshot: Snapshot, sample: list[dict[str, Any]], spec: IndexSpec) -> dict[str, dict[str, Any]]:
    """By chunk what was put before it, as the tables have it."""
    wanted = {"chunk_id": [row["chunk_id"] for row in sample], "accession": [row["accession"] for row in sample],
              "fingerprint": [spec.context]}
    return {row["chunk_id"]: row for row in pylist(snapshot.read("contexts", ["chunk_id", "context", "text_hash"], wanted))}


def _vectors(snapshot: Snapshot, hashes: set[str], sample: list[dict[str, Any]], spec: IndexSpec) -> dict[str, list[Any]]:
    """The vectors of each embedded text: two workers may have embedded the same."""
    found: dict[str, list[Any]] = {}
    for row in embeddings_of(snapshot, hashes, spec.model_hash, [row["accession"] for row in sample]).to_pylist():
        found.setdefault(row["text_hash"], []).append(row["vector"])
    return found


def _same_vectors(pairs: list[tuple[dict[str, Any], list[Any]]], spec: IndexSpec, left_out: str) -> Result:
    """Rows of the index, each with the vectors that the Parquet table has of its text."""
    import numpy as np

    tolerance = TOLERANCE["halffloat" if spec.recipe.embedding.stored == "float16" else "float"]

    def close(one: list[float], other: list[float] | None) -> bool:
        return other is not None and len(one) == len(other) and np.allclose(one, other, rtol=0, atol=tolerance)

    same = sum(any(close(vector, row["vector"]) for vector in stored) for row, stored in pairs)
    return "sample vectors equal embeddings", f"{len(pairs)}{left_out}", str(same), same == len(pairs)


def _same_texts(snapshot: Snapshot, sample: list[dict[str, Any]], left_out: str) -> Result:
    of: dict[str, list[dict[str, Any]]] = {}
    for row in sample:
        of.setdefault(row["document_id"], []).append(row)
    same = 0
    for batch in snapshot.batches("documents", ["document_id", "text"], {"document_id": list(of)}):
        for document, text in zip(batch.column(0), batch.column(1), strict=True):  # one at a time: a text may have 30 MB
            whole = text.as_py() or ""
            same += sum(whole[row["start"]:row["end"]] == row["text"] for row in of[document.as_py()])
    return "sample texts equal documents", f"{len(sample)}{left_out}", str(same), same == len(sample)
