"""recipes: what ships, and what each decides."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.schemas.errors import LakeNotFound
from edgarmill.terminal import Column, columns, listing, share

if TYPE_CHECKING:
    from edgarmill.schemas.recipe import Kind

COLUMNS = columns(
    "recipe",
    "fingerprint",
    "parser",
    "chunker",
    "context",
    "tree",
    "model",
    "overflow:longer than the window",
    Column("cut_share", "tokens cut here", share, "not known"),
    "description",
)


@click.command()
@click.argument("files", nargs=-1)
@shared
@pass_given
def command(given: Given, files: tuple[str, ...]) -> None:
    """The recipes that ship, or the TOML files named: chunker, context, tree, model, and whether all fits its window.

    `longer than the window`: refuse = a recipe whose context, chunk and special tokens may not fit is refused; cut = the model reads
    only the first tokens of a long chunk, and the share that it did not read is counted. The share is that of this lake's newest index.
    """
    listing(rows(given, files), COLUMNS, as_json=given.json, empty="no recipes")


def rows(given: Given, files: tuple[str, ...]) -> list[dict[str, Any]]:
    from edgarmill.schemas import recipe

    shares = _cut_shares(given)
    found = [recipe.load(name) for name in (files or recipe.shipped())]
    return [
        {
            "recipe": r.name,
            "fingerprint": r.fingerprint,
            "parser": r.parser.engine,
            "chunker": _with_options(r.chunker),
            "context": _with_options(r.context),
            "tree": _with_options(r.tree),
            "model": r.embedding.model,
            "overflow": r.embedding.overflow,
            "cut_share": shares.get(r.fingerprint),
            "description": r.description,
        }
        for r in found
    ]


def _with_options(kind: Kind) -> str:
    return " ".join([kind.kind, *(f"{k}={v}" for k, v in kind.options.items())])


def _cut_shares(given: Given) -> dict[str, float]:
    """Share of cut tokens by recipe fingerprint, of the newest version; empty where there is no lake."""
    if not Path(given.settings().lake).is_dir():
        return {}
    from edgarmill.commands.index import rows as versions

    try:
        found = versions(given.snapshot())
    except LakeNotFound:
        return {}
    return {v["recipe_fingerprint"]: v["cut_share"] for v in reversed(found) if v["cut_share"] is not None}
