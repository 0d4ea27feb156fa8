"""What every verb takes beside its own words: --lake, --config, --set, --json, --debug, before or after the verb."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from edgarmill.schemas.settings import Settings
    from edgarmill.schemas.store import Lake, Snapshot

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Given:
    """What was typed; click fills it while it reads the line, the verb reads it."""

    overrides: dict[str, Any] = field(default_factory=dict)
    config: str | None = None
    json: bool = False
    debug: bool = False

    def load(self) -> tuple[Settings, dict[str, str]]:
        """Effective settings and the origin of each. Raises SettingsError."""
        from edgarmill.schemas import settings

        settings.quiet()
        return settings.load(self.overrides, self.config)

    def settings(self) -> Settings:
        return self.load()[0]

    def lake(self) -> Lake:
        """The lake named by the settings. Raises LakeNotFound, NewerSchema, StorageError."""
        from edgarmill.schemas.store import Lake

        return Lake.open(self.settings().lake)

    def snapshot(self) -> Snapshot:
        return self.lake().snapshot()


def pass_given(function: Callable[..., Any]) -> Callable[..., Any]:
    """Hands the verb what was typed, as its first argument."""
    return click.make_pass_decorator(Given, ensure=True)(function)


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value and parameter.name:
        setattr(context.ensure_object(Given), parameter.name, value)


def _override(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value is not None and parameter.name:
        context.ensure_object(Given).overrides[parameter.name] = value


def _pairs(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> None:
    for pair in value:
        name, equals, word = pair.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"say name=value, not {pair!r}; edgarmill config show lists the names.", context, parameter)
        context.ensure_object(Given).overrides[name.strip().replace("-", "_")] = word


def setting(flag: str, name: str, help: str, **more: Any) -> Callable[[F], F]:
    """An option that overrides one setting by name."""
    return click.option(flag, name, expose_value=False, callback=_override, default=None, help=help, **more)


def shared(command: F) -> F:
    """Adds the options that every verb takes."""
    for option in (
        click.option("--debug", is_flag=True, expose_value=False, callback=_keep, help="Show the traceback of an error."),
        click.option("--json", "json", is_flag=True, expose_value=False, callback=_keep, help="Print JSON instead of a table."),
        click.option(
            "--set",
            "pairs",
            multiple=True,
            metavar="NAME=VALUE",
            expose_value=False,
            callback=_pairs,
            help="Override a setting; may be repeated.",
        ),
        click.option("--config", metavar="FILE", expose_value=False, callback=_keep, help="Settings file (default edgarmill.toml)."),
        setting("--lake", "lake", "Folder of the lake (default ./lake).", metavar="DIR"),
    ):
        command = option(command)
    return command


def typed(arguments: Sequence[str]) -> str:
    """The command as typed, for run records and hints; values of secret settings masked."""
    from edgarmill.schemas.settings import secrets

    names = "|".join(re.escape(n).replace("_", "[-_]") for n in sorted(secrets()))
    mask = re.compile(rf"\b((?:{names})\s*=).*", re.DOTALL) if names else None
    return shlex.join(["edgarmill", *(mask.sub(r"\1***", a) if mask else a for a in arguments)])
