"""How what a search found is put on a terminal: at the width that there is, 80 columns where nobody says."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING

from edgarmill.terminal import clean

if TYPE_CHECKING:
    from edgarmill.retrieval.inference import Inferred
    from edgarmill.retrieval.passages import Passage
    from edgarmill.retrieval.retrieve import Found
    from edgarmill.schemas.records import Hit, IndexVersion


def width() -> int:
    return max(40, shutil.get_terminal_size((80, 24)).columns)


def paragraph(text: str, lines: int, start: int = 0) -> str:
    """The beginning of a text in so many lines, from a column on; " …" where it goes on."""
    short = " ".join(clean(text[: lines * 2 * width()]).split())
    found = textwrap.wrap(short, max(20, width() - start), max_lines=lines, placeholder=" …") or [""]
    return "\n".join(" " * start + line for line in found)


def how_it_was_read(version: IndexVersion, found: Found) -> list[str]:
    """The index, and what was made of the question."""
    lines = [f"Index {version.recipe} {version.tag} ({version.chunks:,} chunks)"]
    if found.corrections:
        lines.append("Read as: " + ", ".join(f"{one.text} → {one.corrected}" for one in found.corrections))
    seen: dict[tuple[str, str], Inferred] = {(one.text, one.field): one for one in found.inferred}
    for one in seen.values():
        values = ", ".join(str(value) for value in one.values)
        kept = "; left out, it would keep no passage" if one.dropped else ""
        lines.append(f"Filter from “{clean(one.text)}”: {one.field} {values}{kept}")
    if found.stale:
        lines.append(f"{found.stale} hits stand alone: their documents were parsed anew since this version was made.")
    return [line for one in lines for line in textwrap.wrap(clean(one), width(), subsequent_indent="   ")]


def steps(found: Found) -> list[str]:
    """The parts that were searched, where there is more than the question; what a model chose, what it cost, what went on without it."""
    lines: list[str] = []
    parts = [one for one in found.searched if len(found.searched) > 1 or one.searched]
    for one in parts:
        held = {"filer": one.filters.filer, "year": one.filters.year, "form": one.filters.form, "quarter": one.filters.quarter}
        said = [f"{name} {', '.join(map(str, value))}" for name, value in held.items() if isinstance(value, tuple)]
        text = f" as “{one.searched}”" if one.searched else ""
        lines.append(f"Searched ({one.why}): {one.question}{text} [{'; '.join([*said, f'{one.hits} hits'])}]")
    for visit in found.visits:
        page = f", {pages(visit.page_start, visit.page_end)}" if visit.page_start is not None and visit.page_end is not None else ""
        name = f"{visit.accession} {visit.node_id}".strip()
        lines.append(f"{visit.step}. {visit.how} {visit.title[:100]}{page} ({name})")
    lines += [f"Note: {note}" for note in found.notes]
    if (usage := found.usage) is not None:
        known = {"read": usage.input_tokens, "written": usage.output_tokens}
        tokens = ", ".join(f"{count:,} tokens {name}" for name, count in known.items() if count is not None)
        dollars = f"${usage.dollars:f}" if usage.dollars is not None else "no price known"
        lines.append(", ".join(filter(None, (f"Models: {usage.calls} calls, {usage.hits or 0} known before", tokens, dollars))))
    return [line for one in lines for line in textwrap.wrap(clean(one), width(), subsequent_indent="   ")]


def where(hit: Hit) -> str:
    """Filer, form, period, section and pages in one line."""
    who = clean(hit.company or hit.accession) + (f" ({hit.tickers[0]})" if hit.tickers else "")
    return f"{who}  {hit.form}  period {hit.period_on or '-'}  {section(hit)}  {pages(hit.page_start, hit.page_end)}"


def briefly(hit: Hit) -> str:
    """The same in half a line, with the accession."""
    who = hit.tickers[0] if hit.tickers else clean(hit.company or "")[:16]
    item = ".".join(part for part in (hit.part, hit.item) if part) or "-"
    return f"{who} {hit.form} {hit.period_on or ''} {item} {pages(hit.page_start, hit.page_end)} {hit.accession}"


def section(hit: Hit) -> str:
    item = f"Item {hit.item}" if hit.item and not hit.item.startswith("EX") else hit.item
    return ", ".join(part for part in (f"Part {hit.part}" if hit.part else "", item, clean(hit.section_title)) if part) or "no section"


def pages(start: int, end: int) -> str:
    return f"p. {start}" + (f"-{end}" if end != start else "")


def place(passage: Passage, hit: Hit) -> str:
    """Where a passage stands: filer, form, period, section, pages; scores; accession, characters, address."""
    scores = ", ".join(f"{name} {value:.3f}" for name, value in hit.scores.items())
    others = f"; with hits {', '.join(map(str, passage.hits[1:]))}" if len(passage.hits) > 1 else ""
    head = textwrap.wrap(f"{hit.rank}. {where(hit)}", width(), subsequent_indent="   ")
    cut = ", cut" if passage.cut else ""
    characters = f"   {passage.accession}, characters {passage.start}-{passage.end}{cut}"
    lines = [*head, f"   score {hit.score:.4f} ({scores}){others}", characters]
    return "\n".join([*lines, f"   {passage.url}"] if passage.url else lines)
