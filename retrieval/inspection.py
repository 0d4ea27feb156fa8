"""A look at one filing: what was read of it, from a lake or from a file, as an outline and piece by piece."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from typing import Any

from edgarmill.retrieval.why import find
from edgarmill.schemas.errors import BadFile, UnknownName, UsageError
from edgarmill.schemas.records import Element
from edgarmill.schemas.store import Lake
from edgarmill.workers import bundle
from edgarmill.workers.facts import fact_of
from edgarmill.workers.filing import rank
from edgarmill.workers.reading import Filed, Read
from edgarmill.workers.submission import is_submission, read_submission
from edgarmill.workers.values import name_of, outline_of


def of_lake(lake: Lake, name: str) -> Filed:
    """A filing of the lake, by accession or file name. Raises UnknownName, UsageError."""
    snapshot = lake.snapshot()
    mine = {"accession": {find(snapshot, name)}}
    filings = snapshot.records("filings", mine)
    found: dict[str, dict[str, list[Any]]] = {}
    for table in ("documents", "elements", "sections", "facts"):
        rows = found[table] = defaultdict(list)
        for row in snapshot.records(table, mine):
            rows[row.document_id].append(row)
    if not filings or not found["documents"]:
        raise UnknownName("nothing of it was read", name, f"edgarmill why {name} says what happened.")
    form = filings[0].form
    documents = [one for rows in found["documents"].values() for one in rows]
    documents.sort(key=lambda one: rank(one, form))
    return Filed(filings[0], tuple(_of_rows(one.document_id, found) for one in documents))


def _of_rows(key: str, found: dict[str, dict[str, list[Any]]]) -> Read:
    elements = sorted(found["elements"].get(key, []), key=lambda one: one.ordinal)
    sections = sorted(found["sections"].get(key, []), key=lambda one: one.ordinal)
    facts = sorted(found["facts"].get(key, []), key=lambda one: one.ordinal)
    return Read(found["documents"][key][0], tuple(elements), tuple(sections), tuple(map(fact_of, facts)))


def with_original(lake: Lake, filed: Filed, read: Read) -> Read:
    """The document with its bytes as received. Raises LakeCorrupt, BadFile."""
    data = lake.read_raw(filed.filing.sha256)
    if bundle.is_bundle(data):
        submission = bundle.opened(bundle.decode(data), lake.read_raw)
    elif is_submission(data):
        submission = read_submission(data)
    else:
        return replace(read, data=data)
    mine = [one.data for one in submission.documents if (one.sequence, one.name) == (read.document.sequence, read.document.name)]
    if not mine:
        raise BadFile("its document is not in the bytes as received", read.document.name, "Ingest the filing again.")
    return replace(read, data=mine[0])


def document_of(filed: Filed, which: str) -> Read:
    """The document that `which` names: "" the main one, a number its place, else a type or a file name. Raises UnknownName."""
    if not which:
        return filed.documents[0]
    for read in filed.documents:
        if which.lower() in (str(read.document.sequence), read.document.type.lower(), read.document.name.lower()):
            return read
    known = ", ".join(f"{read.document.sequence} ({read.document.type or read.document.name})" for read in filed.documents)
    raise UnknownName("no such document of this filing that was read", which, f"There are: {known}.")


# --- outline -----------------------------------------------------------------------------------------------------------------------

def full_outline(read: Read) -> dict[str, Any]:
    """`outline_of`, its headings and its tables; "element" is the ordinal by which `element` finds one."""
    text = read.document.text
    headings = [
        {"element": one.ordinal, "level": one.level, "page": one.page, "section": one.section, "text": text[one.start : one.end]}
        for one in read.elements
        if one.kind == "heading"
    ]
    return {**outline_of(read), "headings": headings, "tables": [_table(number, one) for number, one in enumerate(tables_of(read), 1)]}


def tables_of(read: Read) -> list[Element]:
    return [one for one in read.elements if one.kind == "table"]


def grid_of(element: Element) -> dict[str, Any]:
    """Rows, number of header rows, and unit of a table; without a grid none."""
    known = json.loads(element.grid) if element.grid else {}
    return {**known, "rows": known.get("rows", []), "header_rows": known.get("header_rows", 0), "unit": known.get("unit")}


def _table(number: int, element: Element) -> dict[str, Any]:
    grid = grid_of(element)
    rows = grid.pop("rows")
    return {"table": number, "element": element.ordinal, "page": element.page, "section": element.section, "rows": len(rows),
            "columns": max(map(len, rows), default=0), "header_rows": grid["header_rows"], "unit": grid["unit"]}


# --- pieces ------------------------------------------------------------------------------------------------------------------------

def element(read: Read, number: int) -> Element:
    """The element with that ordinal, from 0. Raises UnknownName."""
    if not 0 <= number < len(read.elements):
        raise UnknownName("no such element", str(number), f"They go from 0 to {len(read.elements) - 1}.")
    return read.elements[number]


def table(read: Read, number: int) -> Element:
    """The n-th table, from 1. Raises UnknownName."""
    tables = tables_of(read)
    if not 0 < number <= len(tables):
        raise UnknownName("no such table", str(number), f"They go from 1 to {len(tables)}." if tables else "The document has none.")
    return tables[number - 1]


def section(read: Read, name: str) -> list[Element]:
    """Elements of a section: "I.1A", or "1A" where only one part has it. Raises UnknownName, UsageError."""
    asked = name.strip().upper().removeprefix("ITEM").strip(" .")
    found = [one for one in read.sections if asked in (name_of(one).upper(), one.item.upper())]
    exact = [one for one in found if name_of(one).upper() == asked] or found
    names = list(dict.fromkeys(name_of(one) for one in exact))
    if len(names) > 1:
        raise UsageError(f"{len(names)} sections have this name", name, f"Say which: {', '.join(names)}.")
    if not exact:
        known = ", ".join(dict.fromkeys(name_of(one) for one in read.sections))
        raise UnknownName("no such section", name, f"There are: {known}." if known else "No section was found in this document.")
    return [one for one in read.elements if exact[0].start <= one.start < exact[0].end]


def page(read: Read, number: int) -> list[Element]:
    """Elements that begin on a physical page, from 1. Raises UnknownName."""
    if not 0 < number <= max(read.document.pages, 1):
        raise UnknownName("no such page", str(number), f"They go from 1 to {max(read.document.pages, 1)}.")
    return [one for one in read.elements if one.page == number]
