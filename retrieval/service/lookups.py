"""What the service looks up, each from one version and the tables as they are: plain values, no HTTP."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from edgarmill.retrieval.facts import facts_of, near
from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.retriever import Retriever
from edgarmill.retrieval.search import readable
from edgarmill.retrieval.service.following import Served
from edgarmill.retrieval.trees import nested, tree_of
from edgarmill.retrieval.versions import versions
from edgarmill.schemas import records
from edgarmill.schemas.errors import SettingsError, UnknownName
from edgarmill.schemas.tables import pylist
from edgarmill.workers.index.rows import quoted

_PASSAGE = [f.name for f in fields(records.Hit) if f.name not in ("rank", "score", "scores")]
_FILING = ["accession", "company", "form", "fiscal_year", "fiscal_quarter", "period_on", "filed_on", "url"]
_DOCUMENT = ["document_id", "sequence", "type", "name", "media", "bytes", "pages"]
_SECTION = ["part", "item", "title", "start", "end", "page_start", "page_end", "pointer", "found"]
_SEARCHED = ["question", "why", "hits", "searched"]
_SPENT = ["calls", "hits", "input_tokens", "output_tokens", "dollars"]
_WORDS = re.compile(r"\((\w+): .*", re.S)  # of a model's server: not for whoever asks
_VERSION = ["recipe", "tag", "version_id", "state", "model", "filings", "chunks"]


def search(served: Served, question: str, knobs: Retriever, filters: Filters) -> dict[str, Any]:
    """Raises UsageError, SettingsError (a model is not at hand), LakeCorrupt; ModelFailed and its like of a hosted model."""
    surroundings = knobs.neighbours > 0 or knobs.parent != "none"
    try:
        found = served.reader.retrieve(question, knobs, filters)
    except UnknownName as error:  # of nothing that was asked for: its name may be a path
        raise SettingsError(error.what, error.subject, error.todo) from error
    passages = found.passages if surroundings or knobs.tokens is not None else None
    shown = {**asdict(knobs), "reranker": knobs.reranker.partition(":")[0]}  # what follows may be a path
    return {"version": served.name, "question": found.question, "retriever": shown, "retriever_hash": knobs.hash,
            "filters": _given(found.filters),
            "corrections": [asdict(one) for one in found.corrections], "inferred": [asdict(one) for one in found.inferred],
            "plan": asdict(found.plan), "hits": [asdict(hit) for hit in found.hits],
            "passages": None if passages is None else [asdict(one) for one in passages], "tokens": found.tokens,
            "left_out": found.left_out, "stale": found.stale, "seconds": found.seconds,
            "searched": [{**_only(asdict(one), _SEARCHED), "filters": _given(one.filters)} for one in found.searched],
            "visits": [asdict(one) for one in found.visits], "notes": [_WORDS.sub(r"(\1)", note) for note in found.notes],
            "usage": _only(asdict(found.usage), _SPENT) if found.usage else None}


def _given(filters: Filters) -> dict[str, Any]:
    return {name: value for name, value in asdict(filters).items() if value is not None}


def chunk(served: Served, chunk_id: str, reach: int) -> dict[str, Any]:
    """A chunk of the version with up to `reach` before and after it in its document. Raises UnknownName, LakeCorrupt."""
    found = _rows(served, f"chunk_id = {quoted(chunk_id)}")
    if not found:
        raise UnknownName("no such chunk in this version", chunk_id, "Take the id from a hit of the same version.")
    one = found[0]
    place = one["ordinal"]
    document = f"accession = {quoted(one['accession'])} AND document_id = {quoted(one['document_id'])}"
    around = _rows(served, f"{document} AND ordinal >= {place - reach} AND ordinal <= {place + reach}") if reach else []
    around.sort(key=lambda row: row["ordinal"])
    return {"version": served.name, "chunk": one, "before": [row for row in around if row["ordinal"] < place],
            "after": [row for row in around if row["ordinal"] > place]}


def _rows(served: Served, where: str) -> list[dict[str, Any]]:
    dataset = served.index.dataset
    with readable(dataset.uri):
        return list(dataset.scanner(columns=_PASSAGE, filter=where).to_table().to_pylist())


def outline(served: Served, accession: str) -> dict[str, Any]:
    """Documents and sections of a filing, and the node tree of its main document. Raises UnknownName, LakeCorrupt."""
    snapshot, mine = served.snapshot, {"accession": {accession}}
    filings = pylist(snapshot.read("filings", _FILING, mine))
    if not filings:
        raise UnknownName("no such filing in this lake", accession, "Take the accession from a hit, or search with filters.")
    documents = pylist(snapshot.read("documents", _DOCUMENT, mine))
    sections = pylist(snapshot.read("sections", [*_SECTION, "document_id", "ordinal"], mine))
    documents.sort(key=lambda row: row["sequence"])
    sections.sort(key=lambda row: row["ordinal"])
    for document in documents:
        document["sections"] = [_only(row, _SECTION) for row in sections if row["document_id"] == document["document_id"]]
    return {"version": served.name, "snapshot": snapshot.number, **_only(filings[-1], _FILING),
            "documents": [_only(row, [*_DOCUMENT, "sections"]) for row in documents], "tree": _tree(served, accession)}


def _tree(served: Served, accession: str) -> dict[str, Any] | None:
    if not served.snapshot.read("trees", ["document_id"], {"accession": {accession}}).num_rows:
        return None
    return nested(tree_of(served.snapshot, accession))


def facts(served: Served, concept: str, period: str | None, most: int, **asked: Any) -> dict[str, Any]:
    """Raises UsageError, LakeCorrupt."""
    snapshot = served.snapshot
    rows = facts_of(snapshot, concept, period, **asked)
    return {"version": served.name, "snapshot": snapshot.number, "total": len(rows), "facts": rows[:most],
            "near": near(snapshot, concept) if not rows else []}


def known_versions(served: Served, most: int) -> dict[str, Any]:
    """The newest versions first."""
    found = versions(served.snapshot, manifests=False)
    rows = [{**{name: getattr(one, name) for name in _VERSION}, "created_at": one.created_at.isoformat(),
             "serving": one.version_id == served.version.version_id} for one in found[:most]]
    return {"version": served.name, "snapshot": served.snapshot.number, "total": len(found), "versions": rows}


def _only(row: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: row[name] for name in names}
