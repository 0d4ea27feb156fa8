"""search: passages that answer a question, with their place."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from edgarmill.options import Given, pass_given, setting, shared
from edgarmill.terminal import clean, show_json

if TYPE_CHECKING:
    from edgarmill.retrieval.search import Index
    from edgarmill.schemas.records import Hit

MODES = ("vector", "keyword", "hybrid")
SNIPPET = 300  # characters shown of a passage


@click.command()
@click.argument("question")
@click.option("--ticker", help="Filer by ticker.")
@click.option("--cik", help="Filer by CIK.")
@click.option("--form", help="10-K, 10-Q, 8-K: the family; any other: exactly that form.")
@click.option("--year", type=int, help="Fiscal year.")
@click.option("--quarter", type=click.IntRange(1, 4), help="Fiscal quarter; 4 is the annual report.")
@click.option("--item", help="7, 1A, II.1A, 2.02 …")
@click.option("--accession", help="One filing.")
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), help="Filed on or after.")
@click.option("--until", type=click.DateTime(["%Y-%m-%d"]), help="Filed on or before.")
@click.option("--mode", type=click.Choice(MODES), default="hybrid", show_default=True, help="By meaning, by words, or both fused.")
@click.option("--compare", is_flag=True, help="All three modes, one after the other.")
@click.option("-k", "--hits", "k", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many passages.")
@click.option("--recipe", help="Whose index (default: the newest version's).")
@click.option("--tag", help="Which version (default: the newest verified one).")
@click.option("--full", is_flag=True, help="Whole passages, not their beginning.")
@setting("--device", "device", "auto, cpu, cuda, mps.")
@shared
@pass_given
def command(
    given: Given,
    question: str,
    mode: str,
    compare: bool,
    k: int,
    recipe: str | None,
    tag: str | None,
    full: bool,
    since: datetime | None,
    until: datetime | None,
    **asked: Any,
) -> int:
    """Find the passages that answer a question; each with filing, section, page and characters."""
    from edgarmill.retrieval.filters import Filters
    from edgarmill.retrieval.query import open_for
    from edgarmill.retrieval.versions import resolve

    filters = Filters(since=since.date() if since else None, until=until.date() if until else None, **asked)
    _ = filters.expression  # refuses a malformed value before a model is loaded
    lake = given.lake()
    version = resolve(lake.snapshot(), recipe, tag)
    modes = MODES if compare else (mode,)
    index = open_for(lake, version, given.settings(), modes)
    found = {name: index.search(question, k, name, filters) for name in modes}  # type: ignore[arg-type]
    if given.json:
        show_json({"recipe": version.recipe, "tag": version.tag, "question": question, "hits": found if compare else found[mode]})
        return 0
    _show(index, found, full)
    return 0


def _show(index: Index, found: dict[str, list[Hit]], full: bool) -> None:
    version = index.version
    print(f"Index {version.recipe} {version.tag} ({version.chunks:,} chunks)")
    for mode, hits in found.items():
        if len(found) > 1:
            print(f"\n== {mode}")
        for hit in hits:
            print(f"\n{hit.rank}. {place(hit)}")
            text = " ".join(clean(hit.text).split()) if not full else clean(hit.text)
            print(f"   {text if full or len(text) <= SNIPPET else text[:SNIPPET].rsplit(' ', 1)[0] + ' …'}")
        if not hits:
            print("\nNothing found: the filters keep no passage, or no word of the question occurs.")


def place(hit: Hit) -> str:
    """Where a passage stands, in one line: filer, form, period, section, pages, score, accession, characters, address."""
    pages = f"p. {hit.page_start}" + (f"-{hit.page_end}" if hit.page_end != hit.page_start else "")
    item = f"Item {hit.item}" if hit.item and not hit.item.startswith("EX") else hit.item
    section = ", ".join(part for part in (f"Part {hit.part}" if hit.part else "", item, clean(hit.section_title)) if part) or "no section"
    who = clean(hit.company or hit.accession) + (f" ({hit.tickers[0]})" if hit.tickers else "")
    scores = ", ".join(f"{name} {value:.3f}" for name, value in hit.scores.items())
    return (
        f"{who}  {hit.form}  period {hit.period_on or '-'}  {section}  {pages}  [{hit.score:.4f}; {scores}]\n"
        f"   {hit.accession}, characters {hit.start}-{hit.end}" + (f"  {hit.url}" if hit.url else "")
    )
