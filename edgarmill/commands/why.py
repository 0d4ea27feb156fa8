"""why: all that happened to one filing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.terminal import Column, columns, dollars, seconds, show, show_json, text

FILING = (
    "accession",
    "name",
    "company",
    "form",
    "filed_on",
    "period_on",
    "fiscal_year",
    "fiscal_quarter",
    "ciks",
    "tickers",
    "items",
    "source",
    "url",
    "sha256",
    "bytes",
    "status",
)
AS_IS = ("fiscal_year", "fiscal_quarter")
RUNS = columns("run_id:run", "started_at:started (UTC)", "recipe", "outcome", "tag", "command")
STAGES = columns(
    "run_id:run",
    "stage",
    "version",
    "outcome",
    "origin",
    "model",
    "input_tokens:tokens in",
    "output_tokens:tokens out",
    Column("seconds", "time", seconds),
    Column("cpu_seconds", "CPU", seconds),
    Column("dollars", "cost", dollars, "unpriced"),
)
DOCUMENTS = columns(
    "sequence:no.",
    "type",
    "name",
    "media",
    "pages",
    "visible_chars_in:characters in",
    "visible_chars_out:out",
    "numbers_in:numbers in",
    "numbers_out:out",
    "engine",
    "warnings",
)
SECTIONS = columns(
    "part", "item", "title", "page_start:from page", "page_end:to", "found:found by", Column("pointer", "points to", absent="")
)
CHUNKS = columns(
    "chunker", "recipes:made for", "chunks", "tokens", "dropped:characters dropped", "left_out:characters left out"
)
CONTEXTS = columns("fingerprint:context", "chunks", "tokens:tokens with context", "cut_tokens:cut")
QUARANTINE = columns("stage", "reason", "message:what", "todo:what to do", "at:when (UTC)")
EVENTS = columns("at:when (UTC)", "kind", "before", "after")
VERSIONS = columns("recipe", "tag", "state", "created_at:created (UTC)")


@click.command()
@click.argument("filing", metavar="ACCESSION")
@shared
@pass_given
def command(given: Given, filing: str) -> None:
    """All that happened to one filing: stages, versions, tokens, dollars, chunks, index versions.

    ACCESSION is an accession number (dashes optional), a local-... key, or the name of the file.
    """
    from edgarmill.retrieval.why import why

    story = why(given.snapshot(), filing)
    if given.json:
        return show_json(asdict(story))
    if story.filing is None:
        print(f"{story.accession}: never opened, see quarantine below")
    else:
        for name in FILING:
            if story.filing[name] not in (None, "", [], ()):
                print(f"{name:15} {story.filing[name] if name in AS_IS else text(story.filing[name])}")
    for title, rows, layout in (
        ("Quarantine", story.quarantine, QUARANTINE),
        *([("Events", story.events, EVENTS)] if story.events else []),
        ("Runs", story.runs, RUNS),
        ("Stages", story.stages, STAGES),
        ("Documents", story.documents, DOCUMENTS),
        ("Sections", story.sections, SECTIONS),
        ("Chunks", story.chunks, CHUNKS),
        ("Contexts", story.contexts, CONTEXTS),
        ("Index versions that hold it", story.index_versions, VERSIONS),
    ):
        _section(title, rows, layout)


def _section(title: str, rows: list[dict[str, Any]], layout: tuple[Column, ...]) -> None:
    print(f"\n{title}" + ("" if rows else ": none"))
    if rows:
        show(rows, layout)
