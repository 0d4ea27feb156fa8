"""config show: every setting, its value, where it came from, what it means."""

from __future__ import annotations

from typing import Any

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.terminal import Column, columns, listing

COLUMNS = columns("setting", Column("value", "value", str, "(not set)"), "origin:from", "meaning")


@click.group()
@shared
def command() -> None:
    """Settings: where and how fast (never what an index holds)."""


@command.command()
@shared
@pass_given
def show(given: Given) -> None:
    """Every setting with its effective value and its origin; secrets are masked."""
    listing(rows(given), COLUMNS, as_json=given.json, empty="no settings")


def rows(given: Given) -> list[dict[str, Any]]:
    settings, origins = given.load()
    shown = settings.model_dump(mode="json")  # masks SecretStr
    return [
        {"setting": name, "value": shown[name], "origin": origins[name], "meaning": field.description or ""}
        for name, field in type(settings).model_fields.items()
    ]
