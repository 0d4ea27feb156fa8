"""What went wrong, as the service tells it: {"error": {"what", "subject", "todo"}}. What lies inside (paths, keys) stays in the log."""

from __future__ import annotations

from typing import Any

from edgarmill.schemas.errors import (
    EdgarmillError,
    LakeCorrupt,
    LakeLocked,
    LakeNotFound,
    NewerSchema,
    RunError,
    SettingsError,
    UnknownName,
    UsageError,
)

RETRY_SECONDS = 1  # told with a 429 and a 503


class NotReady(RunError):
    """Nothing is open to be asked."""


class TooBusy(RunError):
    """As much is under way as may be."""


class TooSlow(RunError):
    """No answer within the time that a request has."""


# The first that fits; those of the asker's own making say what is wrong, the others that the service is not well.
_STATUS: tuple[tuple[type[EdgarmillError], int], ...] = (
    (TooBusy, 429), (TooSlow, 504), (NotReady, 503), (LakeLocked, 409), (LakeNotFound, 503), (SettingsError, 503), (UnknownName, 404),
    (UsageError, 400), (EdgarmillError, 503),
)
_WHAT: tuple[tuple[type[EdgarmillError], str], ...] = (
    (LakeLocked, "another process writes to the lake"),
    (LakeNotFound, "nothing is indexed yet"), (LakeCorrupt, "a file of the index or of a table is damaged or missing"),
    (NewerSchema, "the lake was written by a newer edgarmill"), (SettingsError, "a setting of the service does not fit"),
    (UnknownName, "something that the version needs is not at hand"), (UsageError, "the version cannot be opened with what is at hand"),
    (EdgarmillError, "this cannot be answered now"),
)
_OWN = (NotReady, TooBusy, TooSlow)


def status_of(error: EdgarmillError) -> int:
    return next(status for kind, status in _STATUS if isinstance(error, kind))


def told(error: EdgarmillError) -> dict[str, str]:
    """What may leave the house: the error's own words where it is about what was asked."""
    if status_of(error) in (400, 404):
        return {"what": error.what, "subject": error.subject[:200], "todo": error.todo}
    if isinstance(error, _OWN):
        return {"what": error.what, "subject": "", "todo": error.todo}
    return hidden(error)


def hidden(error: EdgarmillError) -> dict[str, str]:
    """Its kind alone."""
    what = next(words for kind, words in _WHAT if isinstance(error, kind))
    return {"what": what, "subject": error.reason, "todo": "Ask again later; the service's log says more."}


def body_of(what: str, subject: str = "", todo: str = "") -> dict[str, Any]:
    return {"error": {"what": what, "subject": subject, "todo": todo}}
