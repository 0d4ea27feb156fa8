"""Files that a user names: what may be written over, and what may be read. Asked before any work is done for them."""

from __future__ import annotations

import os

from edgarmill.schemas.errors import UsageError

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


def _begins(path: str, ours: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(ours)) == ours
    except OSError:
        return False
