"""gc: gives up what the rules of the settings do not keep."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from edgarmill.options import Given, pass_given, setting, shared
from edgarmill.terminal import counted, show_json, size


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would go, and change nothing.")
@setting("--keep-candidates", "keep_candidates", "Newest versions of a recipe that were never prod.", type=click.IntRange(1))
@setting("--keep-prod", "keep_prod", "Newest versions that were prod: how far back a rollback reaches.", type=click.IntRange(1))
@shared
@pass_given
def command(given: Given, dry_run: bool) -> None:
    """Remove old index versions, files that nothing names, and old answers; what is prod, or was lately, stays.

    Kept are prod and the versions before it (keep_prod), the current version of each recipe, the newest candidates (keep_candidates),
    rejected versions for some days (keep_rejected_days), answers of models for ever unless keep_call_days is set, and for ever, unless
    keep_superseded_days is set, rows of chunkers, contexts and models that no kept version was made of.
    """
    from edgarmill.flows.gc import as_lines, collect, now, rubbish
    from edgarmill.flows.request import new_run_id

    lake, settings = given.lake(), given.settings()
    if dry_run:
        found = rubbish(lake, settings, now())
        if given.json:
            return show_json(_plain(asdict(found)))
        print("\n".join(f"would go: {line}" for line in as_lines(found)) or "Nothing would go.")
        return None
    with lake.writer(new_run_id(), "gc") as writer:
        found = rubbish(lake, settings, now())
        done = collect(lake, writer, found, settings)
    if given.json:
        return show_json(asdict(done))
    print("\n".join(as_lines(found)) or "Nothing was old enough to go.")
    print(f"{size(done.bytes)} set free; {counted(done.tables, 'table file')} that no kept snapshot names removed")
    return None


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    """Versions by name alone."""
    names = ("version_id", "recipe", "tag", "state", "chunks", "created_at")
    return {**found, "versions": [{name: version[name] for name in names} for version in found["versions"]],
            "superseded": dict(found["superseded"]["rows"])}
