"""The manifest beside a folder of filings: JSONL or CSV, one line per file, columns by name. What it says overrules the content."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any

from edgarmill.schemas.errors import SettingsError
from edgarmill.schemas.files import check_regular

OWN_MANIFEST = "manifest.jsonl"  # taken by itself where it stands in the folder

_SAME = {"file": "name", "cik": "ciks", "ticker": "tickers", "period": "period_on", "filing_date": "filed_on"}  # column -> field of Filing
_IGNORED = ("source", "bytes")  # known, without a use here
_ACCESSION = re.compile(r"(\d{10})-?(\d{2})-?(\d{6})")


def _many(value: Any) -> tuple[str, ...]:
    parts = value if isinstance(value, list) else re.split(r"[;,\s]+", str(value))
    return tuple(str(part).strip() for part in parts if str(part).strip())


def _accession(value: Any) -> str:
    text = str(value).strip()
    if match := _ACCESSION.fullmatch(text):
        return "-".join(match.groups())
    if not re.fullmatch(r"[\w.-]{1,64}", text):
        raise ValueError("an accession number, or a name of letters, digits, dots and dashes")
    return text


def _ciks(value: Any) -> tuple[str, ...]:
    numbers = _many(value)
    if not all(number.isascii() and number.isdigit() and len(number) <= 10 for number in numbers):
        raise ValueError("a CIK of up to ten digits")
    return tuple(number.zfill(10) for number in numbers)


def _time(value: Any) -> datetime:
    moment = datetime.fromisoformat(str(value))
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _flag(value: Any) -> bool:
    if str(value).lower() not in ("true", "false", "1", "0"):
        raise ValueError("true or false")
    return str(value).lower() in ("true", "1")


def _text(value: Any) -> str:
    return str(value).strip()


def _day(value: Any) -> date:
    return date.fromisoformat(str(value).strip())


def _symbols(value: Any) -> tuple[str, ...]:
    return tuple(symbol.upper() for symbol in _many(value))


def _number(value: Any) -> int:
    return int(value)


_FIELDS: Mapping[str, Callable[[Any], Any]] = {
    "name": _text, "accession": _accession, "url": _text, "form": _text, "company": _text, "sic": _text, "state": _text, "sha256": _text,
    "fiscal_year_end": _text, "ciks": _ciks, "tickers": _symbols, "items": _many, "filed_on": _day, "period_on": _day, "accepted_at": _time,
    "fiscal_year": _number, "fiscal_quarter": _number, "amends": _flag,
}


def read_manifest(path: str | None, strict: bool, warn: Callable[[str], None]) -> dict[str, dict[str, Any]]:
    """Fields of `Filing` by file name. Raises SettingsError, naming the line.

    An unknown column is an error when `strict` (the user named this manifest) and a warning otherwise (it may be another tool's file).
    """
    if path is None:
        return {}
    found: dict[str, dict[str, Any]] = {}
    unknown: dict[str, None] = {}
    for number, row in _rows(path):
        said = {}
        for column, value in row.items():
            if value in (None, "", []) or column in _IGNORED:
                continue
            name = _SAME.get(column, column)
            if name not in _FIELDS:
                unknown.setdefault(column)
                continue
            said[name] = _value(name, value, path, number, column)
        _refuse_unknown(unknown, strict, path)
        file = said.pop("name", "")
        if not file:
            raise SettingsError(f"line {number} names no file", path, "Give each line a column `file`.")
        if file in found:
            raise SettingsError(f"line {number} names {file} a second time", path, "Keep one line per file.")
        found[file] = said
    if unknown:
        warn(f"{path}: columns without a use are left aside: {', '.join(unknown)}")
    return found


def _refuse_unknown(unknown: Mapping[str, None], strict: bool, path: str) -> None:
    if strict and unknown:
        known = ", ".join(sorted({*_FIELDS, *_SAME}))
        raise SettingsError(f"unknown column {next(iter(unknown))!r}", path, f"Known are: {known}.")


def _value(name: str, value: Any, path: str, number: int, column: str) -> Any:
    try:
        return _FIELDS[name](value)
    except (ValueError, TypeError) as error:
        raise SettingsError(f"line {number}: {column} cannot be {str(value)[:60]!r} ({error})", path, "Mend the line.") from None


def _rows(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    check_regular(path)
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            if path.lower().endswith(".csv"):
                reader = csv.DictReader(file, restkey="(beyond the last column)")
                yield from ((reader.line_num, dict(row)) for row in reader)
                return
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, _object(json.loads(line), path, number)
    except FileNotFoundError:
        raise SettingsError("no such manifest", path, "Name an existing .jsonl or .csv file.") from None
    except (OSError, ValueError, csv.Error, RecursionError) as error:  # ValueError: broken JSON, or not UTF-8
        if isinstance(error, SettingsError):
            raise
        raise SettingsError(f"manifest cannot be read: {error}", path, "Give JSON objects one a line, or CSV with a heading.") from None


def _object(row: Any, path: str, number: int) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise SettingsError(f"line {number} is no JSON object", path, "Give JSON objects one a line, or CSV with a heading.")
    return row
