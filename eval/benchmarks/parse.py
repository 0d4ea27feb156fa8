"""How much of a filing the parser keeps, how well its Items are found, and what it costs beside libxml2 and pdfium.

    python -m eval.benchmarks.parse [--data DIR] [--every N] [--only kept,sections,facts,memory,pdf] [--json]

DIR holds `filings/dev/*.gz`, `sections_dev.jsonl`, `ixbrl_pairs` and `financebench` (default ../shared/data). Figures:

- numbers kept: distinct numbers of the visible source that stand in the text or were page furniture; made up: in the text and not there
- sections: F1 of (part, item) over the documents of the list, Items without a heading and those that the list does not judge left out
- wrong bounds, ranges, hidden text, page furniture: what the checks of `parse_checks` say, document by document
- ratio: CPU seconds from bytes to elements, tables, facts and sections, over those of a bare libxml2 parse, by turns in this
  process; 10-K and 10-Q in HTML only
- memory: peak of the largest document, in a process of its own, as a multiple of its bytes
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from edgarmill.eval.benchmarks import facts
from edgarmill.eval.benchmarks.parse_checks import arithmetic, bounds, furniture_left, leaked, source_text
from edgarmill.eval.benchmarks.parse_costs import bare_seconds, pdf_pages, peak_of, read, whole
from edgarmill.workers.parse.characters import numbers
from edgarmill.workers.parse.parsed import Parsed, RawDocument

PARTS = ("kept", "sections", "facts", "memory", "pdf")


@dataclass
class Tally:
    """True positives, false positives, false negatives."""

    hits: int = 0
    extra: int = 0
    missed: int = 0
    documents: int = 0

    def row(self) -> dict[str, Any]:
        total = 2 * self.hits + self.extra + self.missed
        f1 = round(2 * self.hits / total, 4) if total else None
        return {"documents": self.documents, "f1": f1, "missed": self.missed, "extra": self.extra}


@dataclass
class Sums:
    """Over all documents; lists say what is wrong, and where."""

    numbers_in: int = 0
    numbers_out: int = 0
    letters_in: int = 0
    letters_out: int = 0
    seconds: float = 0.0
    bare_seconds: float = 0.0
    html_bytes: int = 0
    documents: int = 0
    tables: int = 0
    facts: int = 0
    warned: int = 0
    below: list[str] = field(default_factory=list)
    wrong: dict[str, list[str]] = field(default_factory=dict)
    tallies: dict[str, Tally] = field(default_factory=dict)


def measure(data: Path, every: int, only: frozenset[str]) -> dict[str, Any]:
    """The report. Raises what the parser raises: on these files it must not."""
    dates = dict(_dates(data))
    sums = Sums()
    rows = [json.loads(line) for line in (data / "sections_dev.jsonl").read_text(encoding="utf-8").splitlines()]
    largest: tuple[int, dict[str, Any]] = (0, rows[0])
    for row in rows[::every]:
        raw = read(data / "filings/dev" / row["file"], row["form"])
        if raw.media == "html":
            largest = max(largest, (len(raw.data), row), key=lambda one: one[0])
        if {"kept", "sections"} & only:
            _document(sums, row, raw, dates.get(row["file"]), only)
    report = _report(sums, only)
    if "facts" in only:
        report["fact_pairs"] = facts.pairs(data)
    if "memory" in only:
        above, size = peak_of(data / "filings/dev" / largest[1]["file"], largest[1]["form"])
        report["memory"] = {"file": largest[1]["file"], "bytes": size, "peak_above": above, "times_its_size": round(above / size, 2)}
    if "pdf" in only:
        report["pdf"] = pdf_pages(sorted((data / "financebench/pdfs").glob("*.pdf"))[:: 3 * every])
    return report


def _document(sums: Sums, row: dict[str, Any], raw: RawDocument, filed_on: date | None, only: frozenset[str]) -> None:
    timed = raw.media == "html" and row["form"].startswith(("10-K", "10-Q"))
    bare = bare_seconds(raw.data) if timed else 0.0
    started = time.process_time()
    parsed, elements, sections = whole(raw, row["form"], filed_on)
    if timed:
        sums.seconds += time.process_time() - started
        sums.bare_seconds += bare
        sums.html_bytes += len(raw.data)
    sums.documents += 1
    sums.tables += sum(block.kind == "table" for block in parsed.blocks)
    sums.facts += len(parsed.facts)
    sums.warned += bool(parsed.warnings)
    if "kept" in only:
        _keep(sums, row["file"], raw, parsed)
    if "sections" in only:
        media = "html" if ".htm" in row["file"] else "text"  # of the list's file; a submission's text may hold an HTML document
        _count(sums, row, {(section.part, section.item) for section in sections}, media)
        _note(sums, "bounds", row["file"], bounds(parsed.text, elements, sections, row["form"]))
        _note(sums, "ranges", row["file"], arithmetic(parsed.text, sections))
    del parsed, elements, sections


def _keep(sums: Sums, name: str, raw: RawDocument, parsed: Parsed) -> None:
    shown = source_text(raw)
    wanted, out = numbers(shown), numbers(parsed.text)
    furniture = numbers("\n".join(parsed.furniture))
    lost, made_up = wanted - out - furniture, out - wanted
    sums.numbers_in += len(wanted)
    sums.numbers_out += len(wanted) - len(lost)
    sums.letters_in += _letters(shown)
    sums.letters_out += _letters(parsed.text) + sum(map(_letters, parsed.furniture))
    if lost:
        _note(sums, "lost", name, [f"{len(lost)} of {len(wanted)} numbers: {', '.join(sorted(lost)[:8])}"])
    if len(lost) > 0.005 * len(wanted):
        sums.below.append(name)
    _note(sums, "made_up", name, sorted(made_up))
    _note(sums, "hidden", name, leaked(raw, parsed, shown))
    _note(sums, "furniture", name, furniture_left(parsed))


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def _note(sums: Sums, kind: str, name: str, found: list[str]) -> None:
    sums.wrong.setdefault(kind, []).extend(f"{name}: {one}" for one in found)


def _count(sums: Sums, row: dict[str, Any], found: set[tuple[str, str]], media: str) -> None:
    present, absent = {(p, i) for p, i in row["present"]}, {(p, i) for p, i in row["absent"]}
    missed, extra = present - found, found & absent
    family = row["form"].split("/")[0][:4].rstrip("-")
    for name in ("all", media, f"{family} {media}"):
        tally = sums.tallies.setdefault(name, Tally())
        tally.hits += len(present & found)
        tally.missed += len(missed)
        tally.extra += len(extra)
        tally.documents += 1
    if missed or extra:
        _note(sums, "sections", row["file"], [f"missed {sorted(missed)} extra {sorted(extra)}"])


def _dates(data: Path) -> Iterator[tuple[str, date | None]]:
    for line in (data / "filings/dev/manifest.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        day = row.get("filing_date") or row.get("period")
        yield row["file"], date.fromisoformat(day) if day else None


def _report(sums: Sums, only: frozenset[str]) -> dict[str, Any]:
    def share(part: float, whole_: float) -> float | None:
        return round(part / whole_, 5) if whole_ else None

    report: dict[str, Any] = {"documents": sums.documents, "timed_bytes": sums.html_bytes, "tables": sums.tables, "facts": sums.facts,
                              "documents_with_warnings": sums.warned, "seconds": round(sums.seconds, 2),
                              "ratio_to_libxml2": share(sums.seconds, sums.bare_seconds)}
    if "kept" in only:
        report |= {"numbers_kept": share(sums.numbers_out, sums.numbers_in), "documents_below_99.5": len(sums.below),
                   "letters_and_digits_out_of_in": share(sums.letters_out, sums.letters_in)}
    if "sections" in only:
        report["sections"] = {name: tally.row() for name, tally in sorted(sums.tallies.items())}
    report["wrong_counts"] = {kind: len(found) for kind, found in sums.wrong.items()}
    report["wrong"] = {kind: found for kind, found in sums.wrong.items() if found}
    return report


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments.add_argument("--every", type=int, default=1, help="take each N-th document")
    arguments.add_argument("--only", default=",".join(PARTS), help="parts, with commas between")
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    if not (given.data / "sections_dev.jsonl").is_file():
        sys.stderr.write(f"{given.data}: no sections_dev.jsonl there; give --data\n")
        return 2
    only = frozenset(given.only.split(","))
    if unknown := only - set(PARTS):
        sys.stderr.write(f"--only {', '.join(sorted(unknown))}: unknown; parts are {', '.join(PARTS)}\n")
        return 2
    report = measure(given.data, max(given.every, 1), only)
    sys.stdout.write(json.dumps(report, default=str) + "\n" if given.json else "".join(_lines(report)))
    return 0


def _lines(report: dict[str, Any]) -> Iterator[str]:
    for name, value in report.items():
        if name == "wrong":
            yield from (f"  {kind}: {line}\n" for kind, found in value.items() for line in found)
        elif isinstance(value, dict):
            yield from (f"{name} {key:24} {str(row)[:200]}\n" for key, row in value.items())
        else:
            yield f"{name:26} {value}\n"


if __name__ == "__main__":
    sys.exit(main())
