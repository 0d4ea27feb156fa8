"""inspect: a look at how one filing was read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from edgarmill.commands.parse import print_document
from edgarmill.options import Given, pass_given, shared
from edgarmill.schemas.errors import UsageError
from edgarmill.terminal import clean, columns, show, show_json

if TYPE_CHECKING:
    from edgarmill.schemas.records import Element
    from edgarmill.workers.reading import Filed, Read


@click.command()
@click.argument("filing", metavar="ACCESSION|FILE")
@click.option("--document", default="", metavar="NO|TYPE", help="Another than the main document: its place, type (EX-99.1) or name.")
@click.option("--element", type=int, metavar="N", help="Print one element, by its number in the outline.")
@click.option("--table", type=int, metavar="N", help="Print the N-th table.")
@click.option("--section", metavar="NAME", help='Print a section: "I.1A", "7", "2.02".')
@click.option("--page", type=int, metavar="N", help="Print what begins on a physical page.")
@click.option("--html", metavar="FILE", help="Write one page with the original beside what was read of it.")
@click.option("--force", is_flag=True, help="With --html: replace a file that is there even if it is no page of edgarmill.")
@click.option("--form", default="", metavar="FORM", help="Form of a bare document, where FILE is one.")
@shared
@pass_given
def command(given: Given, filing: str, document: str, html: str | None, force: bool, form: str, **pieces: Any) -> None:
    """A look at how one filing was read: outline, elements, tables, or a page with the original beside it.

    ACCESSION is a filing of the lake (dashes optional, or its file name); FILE is read as `edgarmill parse` reads it. The page that --html
    writes works offline and runs no script, whatever the filing holds.

    \b
    Examples:
      edgarmill inspect 0000320193-24-000123
      edgarmill inspect 0000320193-24-000123 --section 7A
      edgarmill inspect aapl-20240928.htm --table 12
      edgarmill inspect aapl-20240928.htm --html look.html
    """
    from edgarmill.retrieval.inspection import document_of

    asked = [name for name, value in pieces.items() if value is not None]
    if len(asked) + (html is not None) > 1:
        raise UsageError("only one of --element, --table, --section, --page and --html", "inspect", "Ask for one after the other.")
    if html is not None:
        _check_page(filing, html, force)
    filed, from_file = _filed(given, filing, form)
    read = document_of(filed, document)
    if html is not None:
        _write_page(given, filed, read, html, filing if from_file else None)
    elif asked:
        _print_piece(given, read, asked[0], pieces[asked[0]])
    else:
        _print_outline(given, filed, read)


def _filed(given: Given, name: str, form: str) -> tuple[Filed, bool]:
    """The filing, and whether it is a file's."""
    if os.path.isfile(name):
        from edgarmill.workers.reading import read_file

        return read_file(name, given.settings(), form), True
    from edgarmill.retrieval.inspection import of_lake

    return of_lake(given.lake(), name), False


def _check_page(filing: str, html: str, force: bool) -> None:
    from edgarmill.schemas.files import PAGE, check_free

    if os.path.isfile(filing) and os.path.exists(html) and os.path.samefile(filing, html):
        raise UsageError("the page would overwrite the filing", html, "Name another file for the page.")
    check_free(html, force, PAGE)


def _write_page(given: Given, filed: Filed, read: Read, path: str, source: str | None) -> None:
    from edgarmill.retrieval.inspection import with_original
    from edgarmill.retrieval.page import page_of
    from edgarmill.schemas.disk import refusals, whole_file

    full = os.path.abspath(path)
    read = read if source else with_original(given.lake(), filed, read)
    data = page_of(filed.filing, read).encode("utf-8", "replace")
    with refusals(path), whole_file(full) as file:
        file.write(data)
    if given.json:
        return show_json({"html": full, "bytes": len(data)})
    print(f"{path}: {len(data):,} bytes; open it in a browser")


def _print_piece(given: Given, read: Read, kind: str, value: Any) -> None:
    from edgarmill.retrieval import inspection

    found = getattr(inspection, kind)(read, value)
    elements: list[Element] = found if isinstance(found, list) else [found]
    numbers = {one.ordinal: number for number, one in enumerate(inspection.tables_of(read), 1)}
    if given.json:
        return show_json([_values(read, one, numbers) for one in elements])
    for place, one in enumerate(elements):
        if place:
            print()
        _print_element(read, one, numbers)


def _values(read: Read, one: Element, numbers: dict[int, int]) -> dict[str, Any]:
    from edgarmill.retrieval.inspection import grid_of

    said = {"element": one.ordinal, "kind": one.kind, "level": one.level, "page": one.page, "page_label": one.page_label,
            "section": one.section, "start": one.start, "end": one.end, "text": read.document.text[one.start : one.end]}
    return {**said, "table": numbers[one.ordinal], **grid_of(one)} if one.kind == "table" else said


def _print_element(read: Read, one: Element, numbers: dict[int, int]) -> None:
    from edgarmill.retrieval.inspection import grid_of

    grid = grid_of(one) if one.kind == "table" else {}
    words = [f"{one.kind} {one.level}" if one.level else one.kind, f"table {numbers[one.ordinal]}" if grid else "",
             f"page {one.page}" + (f" (printed {one.page_label})" if one.page_label else ""), one.section or "", grid.get("unit") or ""]
    print(f"[{one.ordinal}] {clean(', '.join(word for word in words if word))}")
    if not grid.get("rows"):
        for line in read.document.text[one.start : one.end].split("\n"):
            print(clean(line))
        return
    wide = max(map(len, grid["rows"]))
    heads = [" / ".join(str(row[n]) for row in grid["rows"][: grid["header_rows"]] if n < len(row) and row[n]) for n in range(wide)]
    rows = [{str(n): cell for n, cell in enumerate(row)} for row in grid["rows"][grid["header_rows"] :]]
    show(rows, columns(*(f"{n}:{clean(head) or '-'}" for n, head in enumerate(heads))))


def _print_outline(given: Given, filed: Filed, read: Read) -> None:
    from edgarmill.retrieval.inspection import full_outline

    outline = full_outline(read)
    others = [one.document for one in filed.documents if one is not read]
    if given.json:
        filing = {"accession": filed.filing.accession, "form": filed.filing.form, "company": filed.filing.company}
        return show_json({**filing, **outline, "others": [{"document": o.sequence, "type": o.type, "name": o.name} for o in others]})
    print(clean(f"{filed.filing.company}  {read.document.type or filed.filing.form or 'no form'}  {filed.filing.period_on or ''}  "
                f"{filed.filing.accession}  {read.document.name}"))
    print_document(outline)
    if outline["headings"]:
        print("\nHeadings")
    for one in outline["headings"]:
        print(f"{one['element']:>6}  p. {one['page']:<4} {'  ' * ((one['level'] or 1) - 1)}{clean(one['text'])[:100]}")
    for other in others:
        print(f"\nalso: --document {other.sequence}  {clean(other.type)}  {clean(other.name)}")
