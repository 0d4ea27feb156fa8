"""Faults by hand: a TOML or JSON file in place of a script.

    seed = 7
    [storm]                       # each fault strikes each request with this probability
    share = 0.05
    faults = ["reset", "empty"]   # optional; also path, in_a_row, for_ever
    [[fault]]                     # these come before the storm, the first that fits
    kind = "block403"
    path = "index\\\\.json$"        # pattern somewhere in the path; all paths where absent
    times = 1                     # or share = 0.1, or neither: always
    page = "undeclared"           # further words are the fault's own
"""

from __future__ import annotations

import inspect
import json
import random
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from edgarmill.sample.faults import FAULTS, PAGES, STORM, Fault, at, first_of, storm
from edgarmill.sample.replay import Reply, Request, Script
from edgarmill.schemas.errors import SettingsError, UsageError
from edgarmill.schemas.files import check_regular

TODO = "See edgarmill.sample.fault_file for the form."
WORDS: dict[str, Callable[[Any], bool]] = {  # of every fault, and what each takes
    "kind": lambda value: value in FAULTS,
    "path": lambda value: isinstance(value, str) and _pattern(value),
    "times": lambda value: _number(value) and isinstance(value, int) and value >= 0,
    "share": lambda value: _number(value) and 0 <= value <= 1,
}
STORM_WORDS: dict[str, Callable[[Any], bool]] = {
    "share": WORDS["share"],
    "path": WORDS["path"],
    "in_a_row": WORDS["times"],
    "faults": lambda value: _list(value) and bool(value) and all(word in FAULTS for word in value),
    "for_ever": lambda value: _list(value) and all(map(_pattern, value)),
}


def read_faults(path: str | Path) -> Script:
    """The script that a file describes. Raises SettingsError, one line, where it cannot be read or does not fit."""
    told = _read(Path(path))
    _words(told, {"seed": lambda value: isinstance(value, int), "storm": lambda value: isinstance(value, dict),
                  "fault": lambda value: _list(value, dict)}, "the file", str(path))
    seed = told.get("seed", 0)
    scripts = [_fault(entry, f"fault {n}", f"{seed}/{n}", str(path)) for n, entry in enumerate(told.get("fault", []), 1)]
    if "storm" in told:
        scripts.append(_storm(told["storm"], seed, str(path)))
    if not scripts:
        raise SettingsError("no [[fault]] and no [storm]", str(path), TODO)
    return first_of(*scripts)


def _read(path: Path) -> Mapping[str, Any]:
    check_regular(str(path))
    try:
        text = path.read_text(encoding="utf-8")
        told = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise SettingsError(f"fault file cannot be read: {error.strerror}", str(path), "Name a readable TOML or JSON file.") from None
    except (ValueError, RecursionError) as error:
        what = f"fault file is no {'JSON' if path.suffix == '.json' else 'TOML'}: {str(error).splitlines()[0]}"
        raise SettingsError(what, str(path), TODO) from None
    if not isinstance(told, dict):
        raise SettingsError("fault file holds no table", str(path), TODO)
    return told


def _fault(entry: Mapping[str, Any], where: str, seed: str, file: str) -> Script:
    kind = entry.get("kind")
    if not isinstance(kind, str) or kind not in FAULTS:
        raise SettingsError(f"{where} has no known kind: {kind!r}", file, f"Kinds: {', '.join(FAULTS)}.")
    own = {name: parameter.default for name, parameter in inspect.signature(FAULTS[kind]).parameters.items() if name != "request"}
    _words(entry, WORDS | {name: partial(_like, name, default) for name, default in own.items()}, f"{where} ({kind})", file)
    options = {name: value for name, value in entry.items() if name in own}
    fault: Fault = partial(FAULTS[kind], **options)
    return at(entry.get("path", ""), _at_times(fault, entry["share"], seed) if "share" in entry else fault, entry.get("times"))


def _at_times(fault: Fault, share: float, seed: str) -> Fault:
    def chosen(request: Request) -> Reply | None:
        return fault(request) if random.Random(f"{seed}/{request.number}").random() < share else None

    return chosen


def _storm(told: Mapping[str, Any], seed: int, file: str) -> Script:
    _words(told, STORM_WORDS, "[storm]", file)
    faults: Sequence[Fault] = [FAULTS[kind] for kind in told["faults"]] if "faults" in told else STORM
    more = {name: told[name] for name in ("path", "in_a_row", "for_ever") if name in told}
    try:
        return storm(seed, told.get("share", 0.05), faults, **more)
    except UsageError as error:
        raise SettingsError(error.what, file, error.todo) from None


def _words(told: Mapping[str, Any], known: Mapping[str, Callable[[Any], bool]], where: str, file: str) -> None:
    for name, value in told.items():
        if name not in known:
            raise SettingsError(f"{where} has an unknown word: {name}", file, f"Known: {', '.join(known)}.")
        if not known[name](value):
            raise SettingsError(f"{where}: {name} cannot be {str(value)[:60]!r}", file, TODO)


def _like(name: str, default: object, value: Any) -> bool:
    """Does a word of a fault have the kind of its default?"""
    if name == "page":
        return value in PAGES
    return isinstance(value, bool) if isinstance(default, bool) else _number(value) and value >= 0


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _list(value: Any, of: type = str) -> bool:
    return isinstance(value, list) and all(isinstance(one, of) for one in value)


def _pattern(value: str) -> bool:
    try:
        re.compile(value)
    except re.error:
        return False
    return True
