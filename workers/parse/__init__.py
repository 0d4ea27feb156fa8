"""Parsers: bytes of a document -> canonical text and blocks. A parser is a file of this folder with ENGINE and `parse`: see parsed.py.

`native` means one parser per media: html, text, pdf. Any other engine is a file that takes every media and whose name is its name.
A passage out of a set of questions is text already: it has its own (`passage.py`), whatever the engine.
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path
from types import ModuleType

from edgarmill.schemas.errors import BadFile, SettingsError, UnknownName
from edgarmill.workers.parse.characters import numbers as numbers  # how numbers are counted, the same for every parser

NATIVE = ("html", "text", "pdf")
PASSAGE = "passage"


@cache
def engines() -> tuple[str, ...]:
    """Names that `parser.engine` of a recipe may have, found by looking into this folder without importing its files."""
    found = [path.stem for path in Path(__file__).parent.glob("*.py") if re.search(r"^ENGINE\b", path.read_text(encoding="utf-8"), re.M)]
    return ("native", *sorted(name for name in found if name not in (*NATIVE, PASSAGE)))


def check_engine(engine: str) -> None:
    """Raises UnknownName, or SettingsError when the engine is an extra that is not wholly installed: once, not per filing."""
    if engine not in engines():
        raise UnknownName(f"no parser {engine!r}", "parser.engine", f"Known are: {', '.join(engines())}.")
    if engine != "native":
        lacking = getattr(importlib.import_module(f"edgarmill.workers.parse.{engine}"), "missing", lambda: "")()
        if lacking:
            raise SettingsError(lacking, "parser.engine", 'Or choose parser engine = "native"; edgarmill doctor tells what is there.')


def engine_for(media: str, engine: str) -> ModuleType:
    """The parser module of a document. Raises UnknownName for an engine, BadFile for a media that nobody parses."""
    if engine not in engines():
        check_engine(engine)
    if media == PASSAGE:
        return importlib.import_module(f"edgarmill.workers.parse.{PASSAGE}")
    if media not in NATIVE:
        raise BadFile(f"{media} data holds no text to parse", "", "Give the filing as .htm, .txt or .pdf.")
    return importlib.import_module(f"edgarmill.workers.parse.{media if engine == 'native' else engine}")
