"""Rejection of a version that was found damaged after it had been verified: the next run of its recipe writes all its rows anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgarmill.schemas.records import Check, IndexVersion
from edgarmill.schemas.store import Drop, Lake, Writer, write_part

REJECTED = "rejected"


def reject(lake: Lake, writer: Writer, version: IndexVersion, checks: Sequence[Check]) -> None:
    """The catalog's one commit: the version is a rejected one, with the checks that it failed. Its tag, and readers of it, stay.

    Content that is built again has the same version_id, so `prod` is whole again with the run that builds it.
    """
    rows = {"index_versions": [replace(version, state=REJECTED)], "checks": list(checks)}
    parts = [write_part(lake.root, name, writer.run_id, some, writer.run_id) for name, some in rows.items()]
    drops = [Drop(name, "version_id", frozenset({version.version_id})) for name in rows]
    writer.commit(parts, key=parts[0].path, drop=drops, message=f"{version.recipe} {version.tag} rejected")
