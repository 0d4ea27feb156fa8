"""Rows that no index version which stays was made of: of chunkers, contexts and embedders that a changed recipe or stage left behind.

Rows of several settings live side by side, told apart by the key of their stage (workers/stages.py). A key stays while a version that stays
was built with it, while a run of late worked with it, or while a key that builds on it stays. Of a key that goes, chunks and contexts go
with its done work, so that the recipe, asked for again, makes them again. A vector goes when no context that stays has its text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from edgarmill.schemas.ids import stage_key
from edgarmill.schemas.records import IndexVersion
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.store import Drop
from edgarmill.schemas.views import connect
from edgarmill.workers.stages import STAGES

KEYED = (("chunk", "chunks", "chunker"), ("chunk", "chunkings", "chunker"), ("context", "contexts", "fingerprint"))  # stage, table, column


@dataclass(frozen=True, slots=True)
class Superseded:
    """What is to be left out of the next snapshot, and the rows that this takes, by table."""

    drops: tuple[Drop, ...] = ()
    rows: tuple[tuple[str, int], ...] = ()


def superseded(snapshot: Snapshot, staying: Iterable[IndexVersion], now: datetime, days: float) -> Superseded:
    """By the versions that stay, with their manifests. `days`: a key that a run so young worked with stays, and a vector that one wrote.

    Without a version that stays nothing goes. Raises LakeCorrupt, NewerSchema.
    """
    known = [json.loads(version.manifest) for version in staying]
    if not known:
        return Superseded()
    young = f"{now - timedelta(days=days):%Y%m%dT%H%M%S}"  # run ids sort by time; one of another form counts as young
    with connect(snapshot, ("chunks", "chunkings", "contexts", "embeddings", "work")) as tables:
        late = {row[0] for row in tables.execute("SELECT fingerprint FROM work GROUP BY 1 HAVING max(run_id) >= $1", [young]).fetchall()}
        models = [row[0] for row in tables.execute("SELECT DISTINCT model_hash FROM embeddings").fetchall()]
        pairs = tables.execute("SELECT DISTINCT chunker, fingerprint FROM chunks JOIN contexts USING (chunk_id)").fetchall()
        embeds = {context: {*_embed_keys(context, models)} for _, context in pairs}
        contexts = {one["fingerprints"]["context"] for one in known} | {c for c, keys in embeds.items() if c in late or keys & late}
        chunkers = {one["fingerprints"]["chunker"] for one in known} | {chunker for chunker, context in pairs if context in contexts} | late
        stay = {"chunk": chunkers, "context": contexts | late,
                "embed": late.union(*(_embed_keys(one, models) for one in contexts))}
        drops = [_drop(table, column, tables.execute(_COUNTS.format(column=column, table=table)).fetchall(), stay[stage])
                 for stage, table, column in KEYED]
        done = tables.execute("SELECT stage, fingerprint, count(*) FROM work WHERE stage IN ('chunk', 'context', 'embed') GROUP BY 1, 2")
        drops.append(_drop("work", "fingerprint", [(key, rows) for stage, key, rows in done.fetchall() if key not in stay[stage]], ()))
        orphans = tables.execute("SELECT text_hash, count(*) FROM embeddings WHERE text_hash NOT IN (SELECT text_hash FROM contexts "
                                 "WHERE list_contains($1, fingerprint)) GROUP BY 1 HAVING max(run_id) < $2",
                                 [sorted(stay["context"]), young]).fetchall()
        drops.append(_drop("embeddings", "text_hash", orphans, ()))
    found = [(drop, rows) for drop, rows in drops if rows]
    return Superseded(tuple(drop for drop, _ in found), tuple((drop.table, rows) for drop, rows in found))


def _embed_keys(context: str, models: Iterable[str]) -> set[str]:
    """Keys that the embed stage may have had behind a context's key."""
    latest = next(stage.version for stage in STAGES if stage.name == "embed")
    return {stage_key(context, "embed", version, model) for version in range(1, latest + 1) for model in models}


def _drop(table: str, column: str, counted: Iterable[tuple[str, int]], stay: Iterable[str]) -> tuple[Drop, int]:
    """The drop of all values but those that stay, and the rows that it takes."""
    kept = frozenset(stay)
    gone = {value: rows for value, rows in counted if value not in kept}
    return Drop(table, column, frozenset(gone)), sum(gone.values())


_COUNTS = "SELECT {column}, count(*) FROM {table} WHERE {column} IS NOT NULL GROUP BY 1"
