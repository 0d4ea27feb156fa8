"""parse: files as canonical documents, without a lake."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.terminal import Column, clean, columns, complain, counted, share, show

if TYPE_CHECKING:
    from edgarmill.schemas.settings import Settings

SECTIONS = columns("section", "title", Column("pages", "pages", str), "characters", Column("share", "share", share), "flags")
TITLE = 60  # characters


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--form", default="", metavar="FORM", help="Form of bare documents; a submission names its own.")
@click.option("--parser", "parser", default="native", metavar="ENGINE", help="native, or unstructured, which reads scans too (OCR).")
@shared
@pass_given
def command(given: Given, files: tuple[str, ...], form: str, parser: str) -> int:
    """Files as canonical documents: text, elements, sections, tables, facts.

    FILE is a full submission or a bare document, HTML, plain text or PDF; .gz and .zst are read in place. Needs no lake and leaves nothing
    behind. With --json each file is one line of JSON on stdout, in the order given; a file that fails gives {"file", "error"}. Every file
    has the limits of the pipeline (parse_seconds, parse_memory_bytes, max_filing_bytes). Ends with 3 when a file failed.

    \b
    Examples:
      edgarmill parse aapl-20240928.htm
      edgarmill parse --json --form 10-K filings/*.htm.gz > parsed.jsonl
    """
    from edgarmill.workers import apart

    settings = given.settings()
    work = _work(settings, form, given.json, parser)
    failed = 0
    per_file = settings.parse_seconds * 3  # a filing's documents have their limit each; this one is for what hangs in C
    with closing(apart.each(work, files, per_file, given.debug)) as all_done:
        for number, done in enumerate(all_done):
            failed += done.error is not None
            if given.json:
                _print_line(done)
            elif done.error:
                complain(f"{done.task}: {done.error}")
            else:
                _print_outline(done, number)
    return 3 if failed else 0


def _work(settings: Settings, form: str, as_json: bool, parser: str) -> Callable[[str], bytes]:
    """What the child does with a file; all that is heavy is imported here, before it is forked."""
    from edgarmill.workers.parse import check_engine, engine_for
    from edgarmill.workers.reading import read_file
    from edgarmill.workers.values import encoded, line_of, outline_of

    check_engine(parser)
    engine_for("html", "native"), engine_for("text", "native")

    def work(path: str) -> bytes:
        filed = read_file(path, settings, form, parser)
        if as_json:
            return encoded(line_of(path, filed))
        return encoded({"form": filed.filing.form, "company": filed.filing.company, "documents": [outline_of(d) for d in filed.documents]})

    return work


def _print_line(done: Any) -> None:
    from edgarmill.workers.values import encoded

    line = done.data if done.error is None else encoded({"file": done.task, "error": clean(done.error)})
    sys.stdout.flush()
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def _print_outline(done: Any, number: int) -> None:
    import json

    said = json.loads(done.data)
    for place, outline in enumerate(said["documents"]):
        form = said["form"] or "no form" if place == 0 else outline["type"]
        if number or place:
            print()
        print(f"{clean(done.task)}  {clean(form)}" + (f"  {clean(outline['name'])}" if place else ""))
        print_document(outline)


def print_document(outline: dict[str, Any]) -> None:
    """What a person wants to know of a document: counts, doubts, sections."""
    kinds = outline["elements"]
    counts = (outline["media"], counted(outline["pages"], "page"), counted(outline["characters"], "character"),
              *(counted(number, kind.replace("_", " ")) for kind, number in kinds.items()), counted(outline["facts"], "fact"))
    print(", ".join(counts))
    for warning in outline["warnings"]:
        print(f"warning: {clean(warning)}")
    if outline["sections"]:
        show([_row(one) for one in outline["sections"]], SECTIONS)
    else:
        print("no sections")


def _row(one: dict[str, Any]) -> dict[str, Any]:
    pages = f"{one['page_start']}-{one['page_end']}" if one["page_end"] != one["page_start"] else one["page_start"]
    flags = [f"by {one['found']}"] if one["found"] != "heading" else []
    if one["pointer"]:
        flags.append(f"stub: {one['pointer'][:TITLE]}")
    return {**one, "title": one["title"][:TITLE], "pages": pages, "flags": ", ".join(flags)}
