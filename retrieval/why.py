"""All that happened to one filing: what it is, what was made of it, at what cost, why it stopped, where it stands."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from edgarmill.retrieval.versions import versions
from edgarmill.schemas.errors import UnknownName, UsageError
from edgarmill.schemas.records import IndexVersion
from edgarmill.schemas.store import Snapshot
from edgarmill.schemas.tables import TABLES, pylist

RUN_COLUMNS = ("run_id", "command", "started_at", "outcome", "recipe", "tag")
VERSION_COLUMNS = ("version_id", "recipe", "tag", "state", "lance_version", "created_at")

Manifest = tuple[IndexVersion, dict[str, Any]]


@dataclass(frozen=True)
class Story:
    """One filing from end to end; rows are plain mappings with column names of `schemas/tables.py`, texts left out."""

    accession: str
    filing: dict[str, Any] | None  # None when it never got past its opening
    runs: list[dict[str, Any]]
    stages: list[dict[str, Any]]
    documents: list[dict[str, Any]]
    sections: list[dict[str, Any]]
    chunks: list[dict[str, Any]]  # by chunker: chunks, tokens, and the recipes whose indexes use them
    contexts: list[dict[str, Any]]  # by fingerprint: chunks, tokens, cut tokens
    quarantine: list[dict[str, Any]]
    events: list[dict[str, Any]]  # what EDGAR changed or withdrew; when and why it was removed or put back
    index_versions: list[dict[str, Any]]


def why(snapshot: Snapshot, name: str) -> Story:
    """The story of a filing named by accession (dashes optional), local-… key or file name. Raises UnknownName with near names."""
    accession = find(snapshot, name)
    manifests = [(v, json.loads(v.manifest)) for v in versions(snapshot)]
    filings = _of(snapshot, "filings", "accession", accession)
    stages = _stages(snapshot, accession)
    quarantine = _of(snapshot, "quarantine", "subject", accession)
    touched = {r["run_id"] for r in (*filings, *stages, *quarantine)}
    return Story(
        accession,
        filings[0] if filings else None,
        _runs(snapshot, touched),
        stages,
        _of(snapshot, "documents", "accession", accession, without=("text",)),
        _of(snapshot, "sections", "accession", accession),
        _chunks(snapshot, accession, manifests),
        _contexts(snapshot, accession),
        quarantine,
        sorted(_of(snapshot, "events", "accession", accession), key=lambda row: row["at"]),
        _holding(accession, manifests),
    )


def find(snapshot: Snapshot, name: str) -> str:
    """The accession that `name` means. Raises UnknownName, or UsageError when a file name means several."""
    names = _names(snapshot)
    asked = re.sub(r"^(\d{10})(\d\d)(\d{6})$", r"\1-\2-\3", name.strip())
    accessions = {a for found in names.values() for a in found}
    if asked in accessions:
        return asked
    found = names.get(asked) or names.get(_bare(asked)) or frozenset()
    if len(found) > 1:
        raise UsageError(f"{len(found)} filings have this name", name, f"Name one of them: {', '.join(sorted(found)[:5])}.")
    if not found:
        near = difflib.get_close_matches(asked, sorted(accessions | set(names))[:50_000], 3)
        todo = f"Near: {', '.join(near)}." if near else 'edgarmill sql "select accession, name from filings" lists them.'
        raise UnknownName("no such filing in this lake", name, todo)
    return next(iter(found))


def _bare(name: str) -> str:
    """A file name without folder and compression."""
    return re.sub(r"\.(gz|zst)$", "", name.rsplit("/", 1)[-1])


def _names(snapshot: Snapshot) -> dict[str, frozenset[str]]:
    """Accessions by file name, with and without compression's suffix."""
    found: dict[str, set[str]] = defaultdict(set)
    for table, key in (("filings", "accession"), ("quarantine", "subject")):
        for row in snapshot.read(table, [key, "name"]).to_pylist():
            for name in {row["name"] or row[key], _bare(row["name"] or row[key])}:
                found[name].add(row[key])
    return {name: frozenset(keys) for name, keys in found.items()}


def _of(snapshot: Snapshot, table: str, column: str, value: str, without: Sequence[str] = ()) -> list[dict[str, Any]]:
    """A filing's rows of a table, `run_id` with them."""
    names = [n for n, _, _ in TABLES[table].columns if n not in without]
    columns = names if "run_id" in names else [*names, "run_id"]
    rows: list[dict[str, Any]] = pylist(snapshot.read(table, columns, {column: {value}}))
    return rows


def _stages(snapshot: Snapshot, accession: str) -> list[dict[str, Any]]:
    """Usage of each stage by run, beside the stage version and fingerprint of the work that run did."""
    work = {(w["run_id"], w["stage"]): w for w in _of(snapshot, "work", "subject", accession)}
    rows = []
    for usage in _of(snapshot, "usage", "subject", accession):
        done = work.pop((usage["run_id"], usage["stage"]), {})
        rows.append({**usage, "version": done.get("version"), "fingerprint": done.get("fingerprint"), "outcome": done.get("outcome")})
    rows += [
        {"run_id": run, "stage": stage, "version": w["version"], "fingerprint": w["fingerprint"], "outcome": w["outcome"]}
        for (run, stage), w in work.items()
    ]
    return sorted(rows, key=lambda r: r["run_id"] or "")  # stable: stages stay in the order in which they ran


def _runs(snapshot: Snapshot, touched: set[str]) -> list[dict[str, Any]]:
    known = {r["run_id"]: r for r in pylist(snapshot.read("runs", RUN_COLUMNS))}
    blank = dict.fromkeys(RUN_COLUMNS)  # a killed run leaves rows but may leave no record of itself
    return [known.get(run, {**blank, "run_id": run}) for run in sorted(touched)]


def _chunks(snapshot: Snapshot, accession: str, manifests: Sequence[Manifest]) -> list[dict[str, Any]]:
    rows = snapshot.read("chunks", ["chunker", "tokens"], {"accession": {accession}}).to_pylist()
    count, tokens = Counter[str](), Counter[str]()
    for row in rows:
        count[row["chunker"]] += 1
        tokens[row["chunker"]] += row["tokens"] or 0
    recipes = {c: sorted({v.recipe for v, m in manifests if m.get("fingerprints", {}).get("chunker") == c}) for c in count}
    unused = {c: _unused(snapshot, accession, c) for c in count}
    return [{"chunker": c, "chunks": count[c], "tokens": tokens[c], "recipes": recipes[c], **unused[c]} for c in sorted(count)]


def _unused(snapshot: Snapshot, accession: str, chunker: str) -> dict[str, int | None]:
    """Visible characters that are in no chunk: dropped as too short, left out with their Item; null where that was not counted."""
    rows = snapshot.read("chunkings", ["dropped", "left_out"], {"accession": {accession}, "chunker": {chunker}}).to_pylist()
    return {name: sum(row[name] for row in rows) if rows else None for name in ("dropped", "left_out")}


def _contexts(snapshot: Snapshot, accession: str) -> list[dict[str, Any]]:
    rows = snapshot.read("contexts", ["fingerprint", "tokens", "cut_tokens"], {"accession": {accession}}).to_pylist()
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in rows:
        for place, value in enumerate((1, row["tokens"] or 0, row["cut_tokens"] or 0)):
            sums[row["fingerprint"]][place] += value
    return [{"fingerprint": f, "chunks": n, "tokens": t, "cut_tokens": c} for f, (n, t, c) in sorted(sums.items())]


def _holding(accession: str, manifests: Sequence[Manifest]) -> list[dict[str, Any]]:
    """Index versions whose manifest lists the accession, the newest first."""
    return [{n: getattr(v, n) for n in VERSION_COLUMNS} for v, m in manifests if accession in m.get("corpus", {}).get("sha256", {})]
