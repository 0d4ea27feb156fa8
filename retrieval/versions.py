"""Which index versions a lake has and which one a reader gets. Reads the tables only: no index library is imported."""

from __future__ import annotations

from dataclasses import replace

from edgarmill.schemas.errors import LakeNotFound, UnknownName, UsageError
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
    """The verified version that is current: of the recipe, or of the newest one; or the one with that tag.

    Raises LakeNotFound when nothing is indexed yet, UnknownName for a recipe or tag that is not there, UsageError for a tag that several
    recipes have.
    """
    verified = [v for v in versions(snapshot, manifests=False) if v.state == "verified" and v.tag]
    if not verified:
        raise LakeNotFound("nothing indexed yet", snapshot.root, "Run edgarmill ingest, then search.")
    if recipe is not None:
        known = sorted({v.recipe for v in verified})
        verified = [v for v in verified if v.recipe == recipe]
        if not verified:
            raise UnknownName("no index of this recipe", recipe, f"Indexed: {', '.join(known)}.")
    if tag is None:
        current = [v for v in verified if snapshot.indexes.get(v.recipe) == v.lance_version]
        return _whole(snapshot, (current or verified)[0])
    found = [v for v in verified if v.tag == tag]
    if not found:
        raise UnknownName("no such tag", tag, f"Tags: {_named(verified)}.")
    if len({v.recipe for v in found}) > 1:
        raise UsageError("several recipes have this tag", tag, f"Name one with --recipe: {', '.join(sorted(v.recipe for v in found))}.")
    return _whole(snapshot, found[0])


def _whole(snapshot: Snapshot, version: IndexVersion) -> IndexVersion:
    """The version with its manifest."""
    import pyarrow.compute as pc

    rows = snapshot.read("index_versions", ["manifest"], pc.field("version_id") == version.version_id)
    return replace(version, manifest=rows["manifest"][0].as_py())


def _named(verified: list[IndexVersion]) -> str:
    """The newest ten tags, each with its recipe."""
    names = [f"{v.tag} ({v.recipe})" for v in verified[:10]]
    return ", ".join(names) + (f" and {len(verified) - 10} more" if len(verified) > 10 else "")
