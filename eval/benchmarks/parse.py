"""How much of a filing the parser keeps, how well its Items are found, and how long it takes beside libxml2 alone.

    python -m edgarmill.eval.benchmarks.parse --data DIR [--every N] [--json]

DIR holds `filings/dev/*.gz` and `sections_dev.jsonl` (default ../shared/data). Figures: numbers kept = distinct numbers of the visible
source that stand in the text (page numbers count as lost); F1 of (part, item) over the documents of the list, Items without a heading and
those that the list does not judge left out; ratio = CPU seconds of the parse to those of a bare libxml2 parse.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from lxml import etree

from edgarmill.schemas.records import Document, Element, Filing
from edgarmill.workers.filing import describe
from edgarmill.workers.parse import engine_for
from edgarmill.workers.parse.characters import numbers, visible_characters
from edgarmill.workers.parse.html import visible_text
from edgarmill.workers.parse.parsed import Parsed, RawDocument
from edgarmill.workers.sections import find_sections

Keys = set[tuple[str, str]]


@dataclass
class Tally:
    """True positives, false positives, false negatives, and the documents that are not perfect."""

    hits: int = 0
    extra: int = 0
    missed: int = 0
    documents: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def f1(self) -> float | None:
        total = 2 * self.hits + self.extra + self.missed
        return 2 * self.hits / total if total else None


@dataclass
class Kept:
    """Sums over HTML documents."""

    numbers_in: int = 0
    numbers_out: int = 0
    chars_in: int = 0
    chars_out: int = 0
    seconds: float = 0.0
    bare_seconds: float = 0.0
    bytes: int = 0
    warned: int = 0


def measure(data: Path, every: int) -> dict[str, object]:
    dates = dict(_dates(data))
    kept, tallies = Kept(), dict[str, Tally]()
    truth = [json.loads(line) for line in (data / "sections_dev.jsonl").read_text(encoding="utf-8").splitlines()]
    for row in truth[::every]:
        raw = _primary(row["file"], row["form"], gzip.decompress((data / "filings/dev" / row["file"]).read_bytes()))
        media = "html" if ".htm" in row["file"] else "text"  # of the list's file; a submission's text may hold an HTML document
        started = time.process_time()
        parsed: Parsed = engine_for(raw.media, "native").parse(raw)
        if raw.media == "html":
            _keep(kept, raw.data, parsed, time.process_time() - started)
        found = sections_of(parsed, row["form"], dates.get(row["file"]))
        family = row["form"].split("/")[0][:4].rstrip("-")
        for name in ("all", media, f"{family} {media}"):
            _count(tallies.setdefault(name, Tally()), row, found)
    return _report(kept, tallies)


def _primary(name: str, form: str, data: bytes) -> RawDocument:
    documents = describe(Filing(name, name, "folder", form=form), data).documents
    return next(document for document in documents if not document.left_out and not document.type.startswith("EX-"))


def sections_of(parsed: Parsed, form: str, filed_on: date | None) -> Keys:
    document = Document("d", "d", 1, form, "", "", 0, parsed.encoding, parsed.text, parsed.pages, parsed.engine, None, 0, None, None)
    elements = [Element("d", "d", number, block.kind, block.level, block.start, block.end, block.page, block.page_label, None, block.grid)
                for number, block in enumerate(parsed.blocks)]
    return {(section.part, section.item) for section in find_sections(document, elements, form, filed_on)}


def _dates(data: Path) -> Iterator[tuple[str, date | None]]:
    for line in (data / "filings/dev/manifest.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        day = row.get("filing_date") or row.get("period")
        yield row["file"], date.fromisoformat(day) if day else None


def _keep(kept: Kept, raw: bytes, parsed: Parsed, seconds: float) -> None:
    started = time.process_time()
    etree.fromstring(raw, etree.HTMLParser(huge_tree=True))
    kept.bare_seconds += time.process_time() - started
    source = visible_text(raw)
    wanted = numbers(source)
    kept.numbers_in += len(wanted)
    kept.numbers_out += len(wanted & numbers(parsed.text))
    kept.chars_in += visible_characters(source)
    kept.chars_out += visible_characters(parsed.text)
    kept.seconds += seconds
    kept.bytes += len(raw)
    kept.warned += bool(parsed.warnings)


def _count(tally: Tally, row: dict[str, list[list[str]]], found: Keys) -> None:
    present, absent = {(p, i) for p, i in row["present"]}, {(p, i) for p, i in row["absent"]}
    missed, extra = present - found, found & absent
    tally.hits += len(present & found)
    tally.missed += len(missed)
    tally.extra += len(extra)
    tally.documents += 1
    if missed or extra:
        tally.wrong.append(f"{row['file']}: missed {sorted(missed)} extra {sorted(extra)}")


def _report(kept: Kept, tallies: dict[str, Tally]) -> dict[str, object]:
    def share(part: float, whole: float) -> float | None:
        return round(part / whole, 4) if whole else None

    return {
        "html_bytes": kept.bytes,
        "numbers_kept": share(kept.numbers_out, kept.numbers_in),
        "characters_out_of_in": share(kept.chars_out, kept.chars_in),
        "documents_with_warnings": kept.warned,
        "seconds": round(kept.seconds, 2),
        "ratio_to_libxml2": share(kept.seconds, kept.bare_seconds),
        "sections": {name: {"documents": t.documents, "f1": None if t.f1 is None else round(t.f1, 4), "missed": t.missed, "extra": t.extra}
                     for name, t in sorted(tallies.items())},
        "not_perfect": tallies["all"].wrong if "all" in tallies else [],
    }


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments.add_argument("--every", type=int, default=1, help="take each N-th document")
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    if not (given.data / "sections_dev.jsonl").is_file():
        sys.stderr.write(f"{given.data}: no sections_dev.jsonl there; give --data\n")
        return 2
    report = measure(given.data, given.every)
    if given.json:
        sys.stdout.write(json.dumps(report) + "\n")
        return 0
    for name, value in report.items():
        if name == "sections" and isinstance(value, dict):
            for kind, row in value.items():
                sys.stdout.write(f"sections {kind:14} {row}\n")
        elif name == "not_perfect" and isinstance(value, list):
            sys.stdout.write("".join(f"  {line}\n" for line in value))
        else:
            sys.stdout.write(f"{name:24} {value}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
