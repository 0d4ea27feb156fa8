"""Files that a user names: what may be written over, and what may be read. Asked before any work is done for them."""

from __future__ import annotations

import os
import stat
import tomllib
from typing import Any

from edgarmill.schemas.errors import SettingsError, UsageError

# How every page that edgarmill writes begins: nobody's own file does.
PAGE = (b'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        b'<meta http-equiv="Content-Security-Policy" content="default-src \'none\';')


def check_free(path: str, force: bool = False, ours: bytes = b"") -> None:
    """Raises UsageError where something is there that must stay. A file that begins with `ours` may be written again."""
    if not os.path.lexists(path):
        return
    if not os.path.isfile(path):
        raise UsageError("a folder, not a file" if os.path.isdir(path) else "not a regular file", path, "Name another file.")
    if not force and not (ours and _begins(path, ours)):
        raise UsageError("it is there already", path, "Name a new file, or say --force to replace it.")


def check_regular(path: str, raises: type[UsageError] = SettingsError) -> None:
    """Raises where a pipe, a socket or a device is named: they may never begin or never end, and are gone when they are read again. What is
    not there, a folder, or forbidden is left to whoever opens it."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise raises("not a regular file", path, "Write what it gives into a file, and name that.")


def toml_of(text: str, what: str, where: str) -> dict[str, Any]:
    """Raises SettingsError, in one line, for whatever is no TOML or cannot be read as such; `what` and `where` are named in it."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason = str(error)[:200]
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError:  # Python reads no decimal number of more than 4,300 digits
        reason = "it holds a number of too many digits"
    raise SettingsError(f"{what} is not TOML: {reason}", where, "Mend the line named.")


def _begins(path: str, ours: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(ours)) == ours
    except OSError:
        return False
