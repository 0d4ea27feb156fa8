"""index list, index show: the versions of the indexes and their checks."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.schemas.errors import UnknownName, UsageError
from edgarmill.terminal import Column, columns, dollars, listing, share, show, show_json, size

if TYPE_CHECKING:
    from edgarmill.schemas.records import IndexVersion
    from edgarmill.schemas.store import Snapshot

NAMES = (
    "version_id",
    "recipe",
    "recipe_fingerprint",
    "model",
    "model_hash",
    "lance_version",
    "tag",
    "parent",
    "state",
    "filings",
    "chunks",
    "tokens",
    "cut_tokens",
    "bytes",
    "dollars",
    "created_at",
)
COLUMNS = columns(
    "recipe",
    "tag",
    "state",
    "filings",
    "chunks",
    "tokens",
    Column("cut_share", "cut", share),
    Column("bytes", "size", size),
    Column("dollars", "cost", dollars, "unpriced"),
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
    listing(rows(given.snapshot()), COLUMNS, as_json=given.json, empty="No index yet: edgarmill ingest makes the first.")


@command.command("show")
@click.argument("tag")
@click.option("--recipe", help="Of which recipe, where two have a version of this name.")
@shared
@pass_given
def show_(given: Given, tag: str, recipe: str | None) -> None:
    """One version by tag (or version id) with each check: expected and found."""
    from edgarmill.schemas.tables import pylist

    snapshot = given.snapshot()
    version = find(rows(snapshot), tag, recipe)
    checks = [c for c in pylist(snapshot.read("checks")) if c["version_id"] == version["version_id"]]
    if given.json:
        return show_json({**version, "checks": checks})
    show([version], COLUMNS)
    print()
    listing(checks, CHECKS, as_json=False, empty="No checks are recorded for this version.")


def rows(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Every index version, the newest first, manifests left out; `cut_share` is of the tokens that the model was given."""
    from edgarmill.retrieval.versions import versions

    return [{**{n: getattr(v, n) for n in NAMES}, "cut_share": cut_share(v)} for v in versions(snapshot)]


def cut_share(version: IndexVersion) -> float | None:
    given = version.tokens + version.cut_tokens
    return version.cut_tokens / given if given else None


def find(found: list[dict[str, Any]], name: str, recipe: str | None) -> dict[str, Any]:
    """The version with this tag or version id, a rejected one too. Raises UnknownName with near names, UsageError for two recipes."""
    fitting = [r for r in found if name in (r["tag"], r["version_id"]) and recipe in (None, r["recipe"])]
    if not fitting:
        near = difflib.get_close_matches(name, [r["tag"] for r in found if r["tag"]], 3)
        raise UnknownName("no such index version", name, f"Near: {', '.join(near)}." if near else "edgarmill index list shows them all.")
    if len({r["recipe"] for r in fitting}) > 1:
        choices = " or ".join(sorted(r["recipe"] for r in fitting))
        raise UsageError("several recipes have a version of this name", name, f"Say --recipe {choices}.")
    return fitting[0]
