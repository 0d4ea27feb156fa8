"""The one error tree. Standard library only; every error pickles, because errors cross Ray processes.

EdgarmillError                what / subject / todo
├── UsageError (ValueError)       the user's words are off                         exit 2
│   ├── SettingsError                 a setting or recipe that cannot be read or does not fit
│   ├── UnknownName (LookupError)     a name (model, chunker, recipe, tag …) that does not exist
│   └── LakeNotFound (LookupError)    no lake there, or nothing indexed yet
├── RunError                      the run cannot go on                              exit 4
│   ├── LakeLocked                    another writer holds the lake
│   ├── LakeCorrupt                   a committed file is missing or does not match
│   ├── NewerSchema                   written by a newer edgarmill
│   ├── StorageError                  disk full, no permission, unreadable folder
│   ├── NotVerified                   an index failed its checks and was not tagged
│   ├── NotComparable                 evaluations of other questions or texts           exit 7
│   ├── Blocked                       EDGAR refused us; wait, then go on
│   ├── ModelRefused                  a model's provider will serve nobody: key, quota, model name
│   └── Stopped                       somebody ended what was under way
└── BadInput                      this one filing cannot be used; becomes a quarantine row
    ├── BadFile                       empty, binary, zip, block page, truncated submission …
    ├── TooLarge                      over a size, depth or time limit
    ├── UnknownForm                   not a form this run takes
    ├── DuplicateAccession            a second file claims the same accession
    ├── NoText                        parsed to nothing
    ├── FetchFailed                   could not be downloaded whole
    ├── ModelFailed                   a model gave no answer to this, however often asked
    ├── MalformedAnswer               it answered, and twice not in the form asked for
    ├── InvalidTree                   a model's outline of it is no tree
    ├── OverCap                       the next call could pass what one filing may cost
    └── OverBudget                    the next call could pass the run's budget, or has no price to tell
"""

from __future__ import annotations


class EdgarmillError(Exception):
    """What went wrong, for which subject (accession, file, recipe …), and what to do next."""

    exit_code = 4

    def __init__(self, what: str, subject: str = "", todo: str = "") -> None:
        super().__init__(what, subject, todo)
        self.what, self.subject, self.todo = what, subject, todo

    @property
    def reason(self) -> str:
        """The class name, as stored in the quarantine table."""
        return type(self).__name__

    def __str__(self) -> str:
        head = f"{self.subject}: {self.what}" if self.subject else self.what
        return f"{head}. {self.todo}" if self.todo else head


class UsageError(EdgarmillError, ValueError):
    exit_code = 2


class SettingsError(UsageError):
    pass


class UnknownName(UsageError, LookupError):
    pass


class LakeNotFound(UsageError, LookupError):
    pass


class RunError(EdgarmillError):
    pass


class LakeLocked(RunError):
    pass


class LakeCorrupt(RunError):
    pass


class NewerSchema(RunError):
    pass


class StorageError(RunError):
    pass


class NotVerified(RunError):
    pass


class NotComparable(RunError):
    exit_code = 7


class Blocked(RunError):
    pass


class ModelRefused(RunError):
    pass


class Stopped(RunError):
    pass


class BadInput(EdgarmillError):
    exit_code = 3


class BadFile(BadInput):
    pass


class TooLarge(BadInput):
    pass


class UnknownForm(BadInput):
    pass


class DuplicateAccession(BadInput):
    pass


class NoText(BadInput):
    pass


class FetchFailed(BadInput):
    """`status` is the answer's HTTP status, None where none came; 200 where what came was not the file, or not whole."""

    def __init__(self, what: str, subject: str = "", todo: str = "", status: int | None = None) -> None:
        super().__init__(what, subject, todo)
        self.status = status


class ModelFailed(BadInput):
    pass


class MalformedAnswer(BadInput):
    pass


class InvalidTree(BadInput):
    pass


class OverCap(BadInput):
    pass


class OverBudget(BadInput):
    pass
