"""Whole files on a disk: written under another name, synced, then named. Every OSError becomes a StorageError in one line."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from edgarmill.schemas.errors import StorageError
from edgarmill.schemas.interrupts import heed

TEMPORARY = ".tmp-"  # no reader looks at a name that begins so

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


def storage_error(error: OSError, path: str) -> StorageError:
    """The typed form of what the operating system refused."""
    if error.errno in _FULL:
        return StorageError("no space left to write", path, "Free some space (the lake is as it was) and run the command again.")
    if error.errno in _FORBIDDEN:
        return StorageError("no permission", path, "Give this user read and write permission there, or name another --lake.")
    words = os.strerror(error.errno) if error.errno else str(error).splitlines()[0]
    return StorageError(f"cannot be used ({words.lower()})", path, "Check that folder, or name another --lake.")


@contextmanager
def refusals(path: str) -> Iterator[None]:
    """Turns an OSError inside the block into a StorageError that names `path`."""
    try:
        yield
    except OSError as error:
        heed(error)
        raise storage_error(error, path) from error


def make_folder(path: str) -> None:
    """The folder and those above it, each synced into its parent."""
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        with suppress(FileExistsError):  # another worker was quicker
            os.mkdir(folder)
        sync_folder(os.path.dirname(folder))


def sync_folder(path: str) -> None:
    """Makes names in a folder survive a power cut."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def whole_file(path: str, replace: bool = True) -> Iterator[IO[bytes]]:
    """A binary file to write into that appears at `path` complete and synced, or not at all.

    With `replace=False` an existing `path` stays and FileExistsError is raised: create-only, by link(2). Raises OSError.
    """
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, TEMPORARY + uuid.uuid4().hex)
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if replace:
            os.rename(temporary, path)
        else:
            os.link(temporary, path)
        sync_folder(folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
