"""index list, index show: the versions of the indexes and their checks."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.schemas.errors import UnknownName, UsageError
from edgarmill.terminal import Column, columns, dollars, listing, share, show, show_json, size

if TYPE_CHECKING:
    from edgarmill.schemas.store import Snapshot

NAMES = ("version_id", "recipe", "recipe_fingerprint", "model", "model_hash", "lance_version", "tag", "parent", "state", "filings",
         "chunks", "tokens", "cut_tokens", "bytes", "dollars", "created_at", "run_id")
COLUMNS = columns(
    "recipe", "tag", "state", "filings", "chunks",
    "tokens", Column("cut_share", "cut", share), Column("bytes", "size", size), Column("dollars", "cost", dollars, "unpriced"),
    "created_at:created (UTC)",
)
CHECKS = columns("check", "ok", "expected", "found")


@click.group()
@shared
def command() -> None:
    """Index versions: which there are, what they hold, what was checked."""


@command.command("list")
@shared
@pass_given
def list_(given: Given) -> None:
    """Every version, the newest first. `cut` is the share of tokens that the embedding model did not read, of those it was given."""
    listing(versions(given.snapshot()), COLUMNS, as_json=given.json, empty="No index yet: edgarmill ingest makes the first.")


@command.command("show")
@click.argument("tag")
@click.option("--recipe", help="Of which recipe, where two have a version of this name.")
@shared
@pass_given
def show_(given: Given, tag: str, recipe: str | None) -> None:
    """One version by tag (or version id) with each check: expected and found."""
    snapshot = given.snapshot()
    version = find(versions(snapshot), tag, recipe)
    checks = [c for c in snapshot.read("checks").to_pylist() if c["version_id"] == version["version_id"]]
    if given.json:
        return show_json({**version, "checks": checks})
    show([version], COLUMNS)
    print()
    listing(checks, CHECKS, as_json=False, empty="No checks are recorded for this version.")


def versions(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Every index version, the newest first, manifests left out; `cut_share` is of the tokens that the model was given."""
    rows = snapshot.read("index_versions", NAMES).to_pylist()
    for row in rows:
        given = (row["tokens"] or 0) + (row["cut_tokens"] or 0)
        row["cut_share"] = row["cut_tokens"] / given if given and row["cut_tokens"] is not None else None
    return sorted(rows, key=lambda r: (r["created_at"], r["version_id"]), reverse=True)


def find(rows: list[dict[str, Any]], name: str, recipe: str | None) -> dict[str, Any]:
    """The version with this tag or version id. Raises UnknownName with near names, UsageError when two recipes have it."""
    found = [r for r in rows if name in (r["tag"], r["version_id"]) and recipe in (None, r["recipe"])]
    if not found:
        near = difflib.get_close_matches(name, [r["tag"] for r in rows if r["tag"]], 3)
        raise UnknownName("no such index version", name, f"Near: {', '.join(near)}." if near else "edgarmill index list shows them all.")
    if len({r["recipe"] for r in found}) > 1:
        choices = " or ".join(sorted(r["recipe"] for r in found))
        raise UsageError("several recipes have a version of this name", name, f"Say --recipe {choices}.")
    return found[0]
