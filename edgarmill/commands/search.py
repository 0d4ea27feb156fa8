"""search: passages that answer a question, with their place."""

from __future__ import annotations

import click

from edgarmill.options import Given, pass_given, shared


@click.command()
@shared
@pass_given
def command(given: Given) -> int:
    """Find the passages that answer a question."""
    raise click.UsageError("not wired yet")
