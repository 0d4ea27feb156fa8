"""Which index versions a lake has and which one a reader gets. Reads the tables only: no index library is imported."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from edgarmill.schemas.errors import LakeCorrupt, LakeNotFound, UnknownName, UsageError
from edgarmill.schemas.parts import RESTORE
from edgarmill.schemas.promotions import PROD, promotions
from edgarmill.schemas.records import IndexVersion
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.tables import INDEX_VERSIONS, pylist


def versions(snapshot: Snapshot, manifests: bool = True) -> list[IndexVersion]:
    """All recorded versions, newest first. Without `manifests` those stay "": one of 23,000 filings has over 2 MB."""
    known = INDEX_VERSIONS.schema.names
    columns = known if manifests else [name for name in known if name != "manifest"]
    found = [INDEX_VERSIONS.record_of({"manifest": "", **row}) for row in pylist(snapshot.read("index_versions", columns))]
    return sorted(found, key=lambda v: (v.created_at, v.lance_version, v.recipe), reverse=True)


def resolve(snapshot: Snapshot, recipe: str | None = None, tag: str | None = None) -> IndexVersion:
    """`prod`, where nothing else is asked for and something was promoted; else the newest verified version (of the recipe), or the one with
    that tag ("prod" is one as well).

    Raises LakeNotFound when nothing is indexed yet, UnknownName for a recipe or tag that is not there, UsageError for a tag that several
    recipes have.
    """
    moves = promotions(snapshot.root) if tag == PROD or (tag is None and recipe is None) else []
    if moves:
        return by_id(snapshot, moves[-1].version_id)
    if tag == PROD:
        raise UnknownName("nothing is promoted yet", PROD, "edgarmill index promote TAG --reason … makes a version prod.")
    verified = _verified(snapshot)
    if recipe is not None:
        known = sorted({v.recipe for v in verified})
        verified = [v for v in verified if v.recipe == recipe]
        if not verified:
            raise UnknownName("no index of this recipe", recipe, f"Indexed: {', '.join(known)}.")
    if tag is None:
        return _current(snapshot, verified)
    found = [v for v in verified if v.tag == tag]
    if not found:
        raise UnknownName("no such tag", tag, f"Tags: {_named(verified)}.")
    if len({v.recipe for v in found}) > 1:
        raise UsageError("several recipes have this tag", tag, f"Name one with --recipe: {', '.join(sorted(v.recipe for v in found))}.")
    return _whole(snapshot, found[0])


def _verified(snapshot: Snapshot) -> list[IndexVersion]:
    found = [v for v in versions(snapshot, manifests=False) if v.state == "verified" and v.tag]
    if not found:
        raise LakeNotFound("nothing indexed yet", snapshot.root, "Run edgarmill ingest, then search.")
    return found


def _current(snapshot: Snapshot, verified: list[IndexVersion]) -> IndexVersion:
    """Of the newest recipe the version that the catalog names."""
    current = [v for v in verified if snapshot.indexes.get(v.recipe) == v.lance_version]
    return _whole(snapshot, (current or verified)[0])


def newest(snapshot: Snapshot, recipe: str | None = None, tag: str | None = None) -> IndexVersion:
    """As `resolve`, `prod` aside: what a nightly run has made is what is to be judged."""
    if tag is not None or recipe is not None:
        return resolve(snapshot, recipe, tag)
    return _current(snapshot, _verified(snapshot))


def by_id(snapshot: Snapshot, version_id: str) -> IndexVersion:
    """The version of that id. Raises LakeCorrupt where the catalog has none."""
    found = [v for v in versions(snapshot, manifests=False) if v.version_id == version_id]
    if not found:
        raise LakeCorrupt("a version that was prod is not in the catalog", version_id, RESTORE)
    return _whole(snapshot, found[0])


def difference(snapshot: Snapshot, one: IndexVersion, other: IndexVersion) -> dict[str, Any]:
    """Filings that are `added`, `removed` and `changed` (other bytes) from one to the other; `settings` and `counts`: name -> both values,
    where they differ."""
    import json

    first, second = json.loads(one.manifest), json.loads(other.manifest)
    had, has = first["corpus"]["sha256"], second["corpus"]["sha256"]
    changed = [key for key in had.keys() & has.keys() if had[key] != has[key]]
    found = {"added": has.keys() - had.keys(), "removed": had.keys() - has.keys(), "changed": changed}
    wanted = ["accession", "company", "form", "period_on"]
    named = {row["accession"]: row for row in snapshot.read("filings", wanted).select(wanted).to_pylist()}
    rows = {change: [named.get(key, {"accession": key, "company": None, "form": None, "period_on": None}) for key in sorted(keys)]
            for change, keys in found.items()}
    before, after = _settings(first), _settings(second)
    counted = {name: (getattr(one, name), getattr(other, name)) for name in ("filings", "chunks", "tokens", "cut_tokens", "bytes")}
    differing = {name: (before.get(name), after.get(name)) for name in sorted(before.keys() | after.keys())
                 if before.get(name) != after.get(name)}
    return {**rows, "settings": differing, "counts": {name: both for name, both in counted.items() if both[0] != both[1]}}


def _settings(manifest: dict[str, Any]) -> dict[str, str]:
    """Recipe, model, stages and software by one name each: "chunker.kind"."""
    flat: dict[str, str] = {}
    for group in ("recipe", "model", "fingerprints", "software"):
        for name, value in manifest.get(group, {}).items():
            inner = value.items() if isinstance(value, dict) else [("", value)]
            flat |= {".".join(filter(None, (group, name, key))): str(one) for key, one in inner}
    return flat


def _whole(snapshot: Snapshot, version: IndexVersion) -> IndexVersion:
    """The version with its manifest."""
    rows = snapshot.read("index_versions", ["manifest"], {"version_id": [version.version_id]})
    return replace(version, manifest=rows["manifest"][0].as_py())


def _named(verified: list[IndexVersion]) -> str:
    """The newest ten tags, each with its recipe."""
    names = [f"{v.tag} ({v.recipe})" for v in verified[:10]]
    return ", ".join(names) + (f" and {len(verified) - 10} more" if len(verified) > 10 else "")
