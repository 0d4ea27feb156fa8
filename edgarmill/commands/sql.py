"""sql: DuckDB over the tables of the current snapshot."""

from __future__ import annotations

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.terminal import Column, clean, listing


@click.command()
@click.argument("statement")
@shared
@pass_given
def command(given: Given, statement: str) -> None:
    """Answer an SQL question over the lake's tables (DuckDB, reading only).

    Every table of the current snapshot is a view of its name: filings, documents, sections, facts, chunks, usage, runs, quarantine …
    """
    from edgarmill.retrieval.sql import query

    found = query(given.snapshot(), statement)
    columns = [Column(name, name, clean, "null") for name in found.column_names]
    listing(found.to_pylist(), columns, as_json=given.json, empty="No rows.")
