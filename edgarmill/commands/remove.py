"""remove: takes filings out of the next index version, or puts them back."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from edgarmill.options import Given, pass_given, shared, typed
from edgarmill.terminal import columns, complain, counted, listing, show_json

if TYPE_CHECKING:
    from edgarmill.flows.removal import Removal
    from edgarmill.schemas.store import Lake

COLUMNS = columns("accession", "name", "company", "form", "period_on:period", "status:was")


@click.command()
@click.argument("filings", nargs=-1, metavar="[ACCESSION]...")
@click.option("--missing-from", "path", metavar="FOLDER", type=click.Path(), help="Those that came from this folder and are not in it now.")
@click.option("--manifest", type=click.Path(), help="With --missing-from: the manifest that its ingest was given.")
@click.option("--withdrawn", is_flag=True, help="Those that EDGAR was seen to give or list no more (edgarmill coverage --events).")
@click.option("--reason", default="", help="Why, for who asks later; wanted with accessions.")
@click.option("--at-most", "percent", type=click.FloatRange(0, 100), default=10, show_default=True,
              help="Per cent of a source's filings that may go at once, named ones aside.")
@click.option("--force", is_flag=True, help="Take them out whatever share they are.")
@click.option("--dry-run", is_flag=True, help="Show what would go, and change nothing.")
@click.option("--undo", is_flag=True, help="Put the named filings back.")
@shared
@pass_given
def command(given: Given, filings: tuple[str, ...], path: str | None, withdrawn: bool, dry_run: bool, undo: bool, **asked: object) -> None:
    """Take filings out of the index: the next version that ingest makes is without them. Versions that are made keep them, prod included.

    ACCESSION is an accession number, a local-... key, or the name of the file. A filing removed by name stays out, though its source lists
    it, until --undo; one that is missing from its folder comes back with its file. What was received, and what was made of it,
    stays in the lake.
    """
    from edgarmill.flows.request import new_run_id

    if sum((bool(filings), bool(path), withdrawn)) != 1 or (undo and (dry_run or not filings)):
        raise click.UsageError("say which: ACCESSION..., --missing-from FOLDER, or --withdrawn; --undo takes accessions.")
    lake = given.lake()
    if dry_run:
        removal = _wanted(given, lake, filings, path, withdrawn, {**asked, "reason": "to be seen"})
        return listing([asdict(filing) for filing in removal.filings], COLUMNS, as_json=given.json, empty="Nothing would go.")
    with lake.writer(new_run_id(), typed(sys.argv[1:])) as writer:
        from edgarmill.flows.removal import check_share, remove, restore

        if undo:
            from edgarmill.retrieval.why import find

            snapshot = lake.snapshot()
            back = restore(lake, writer, {find(snapshot, name) for name in filings}, str(asked["reason"]) or "put back by hand")
            return _said(given, {"restored": back}, f"{counted(back, 'filing')} put back: the next ingest indexes what was out.")
        removal = _wanted(given, lake, filings, path, withdrawn, asked)
        if not filings and not asked["force"]:
            check_share(removal, float(str(asked["percent"])) / 100, path or "EDGAR")
        remove(lake, writer, removal)
    going = [filing.accession for filing in removal.filings]
    last = "The next ingest of each recipe makes a version without." if going else "No version changes."
    return _said(given, {removal.status: going, "reason": removal.reason}, f"{counted(len(going), 'filing')} taken out. {last}")


def _wanted(given: Given, lake: Lake, filings: tuple[str, ...], path: str | None, withdrawn: bool, asked: dict[str, object]) -> Removal:
    from edgarmill.flows import removal as removing

    snapshot = lake.snapshot()
    if filings:
        return removing.named(snapshot, filings, str(asked["reason"]))
    if withdrawn:
        return removing.withdrawn(snapshot)
    manifest = str(asked["manifest"]) if asked["manifest"] else None
    return removing.missing_from(snapshot, given.settings(), path or "", complain, manifest)


def _said(given: Given, plain: dict[str, object], line: str) -> None:
    show_json(plain) if given.json else print(line)
