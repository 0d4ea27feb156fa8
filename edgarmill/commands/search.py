"""search: passages that answer a question, with their place."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from edgarmill.options import Given, pass_given, setting, shared
from edgarmill.terminal import clean, show_json

if TYPE_CHECKING:
    from edgarmill.retrieval.filters import Filters
    from edgarmill.retrieval.retrieve import Found, Reader
    from edgarmill.retrieval.retriever import Retriever

MODES = ("vector", "keyword", "hybrid")
DEEP = 100  # of a list that is compared
FILTERS = ("ticker", "cik", "form", "year", "quarter", "part", "item", "accession")
KNOBS = ("k_initial", "fusion", "rrf_k", "vector_weight", "keyword_weight", "fetch", "parent_tokens", "tree_steps", "tree_width",
         "model_tokens")


@click.command()
@click.argument("question")
@click.option("--ticker", multiple=True, help="Filer by ticker. This and the next ones may be repeated: any of the values.")
@click.option("--cik", multiple=True, help="Filer by CIK.")
@click.option("--form", multiple=True, help="10-K, 10-Q, 8-K: the family; any other: exactly that form.")
@click.option("--year", type=int, multiple=True, help="Fiscal year.")
@click.option("--quarter", type=click.IntRange(1, 4), multiple=True, help="Fiscal quarter; 4 is the annual report.")
@click.option("--part", multiple=True, help="I, II, III, IV.")
@click.option("--item", multiple=True, help="7, 1A, II.1A, 2.02 …")
@click.option("--accession", multiple=True, help="One filing.")
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), help="Filed on or after.")
@click.option("--until", type=click.DateTime(["%Y-%m-%d"]), help="Filed on or before.")
@click.option("--infer", is_flag=True, help="Filter by the companies, years, quarters and forms that the question names.")
@click.option("--correct", is_flag=True, help="Correct words that the index does not have.")
@click.option("--mode", type=click.Choice(MODES), default="hybrid", show_default=True, help="By meaning, by words, or both fused.")
@click.option("--words", type=click.Choice(["any", "all", "phrase"]), default="any", show_default=True, help="Which words must occur.")
@click.option("--compare", is_flag=True, help="All three modes side by side, with the rank in each.")
@click.option("-k", "--hits", "k", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many passages.")
@click.option("--rerank", metavar="KIND[:MODEL]", default="", help="late_interaction, cross_encoder:MODEL, endpoint:NAME/MODEL.")
@click.option("--around", "neighbours", type=click.IntRange(0, 20), default=0, help="Chunks before and after a hit to give with it.")
@click.option("--parent", type=click.Choice(["none", "section", "range", "page"]), default="none",
              help="Give a hit's section, page or parent chunk.")
@click.option("--terms", is_flag=True, help="Search accounting terms also as lines of the statements that they stand in.")
@click.option("--spread", type=click.Choice(["none", "page"]), default="none", help="page: one hit a page.")
@click.option("--tokens", type=click.IntRange(min=1), help="Give at most so many tokens in all.")
@click.option("--decompose", type=click.Choice(["none", "rule", "model"]), default="none",
              help="Search sub-questions: by rule (it infers filters) one for each company and year named, or as a model splits it.")
@click.option("--rewrite", type=click.Choice(["none", "query", "passage"]), default="none",
              help="A model puts the question in a filing's words, or writes the passage that would answer.")
@click.option("--rounds", type=click.IntRange(1, 5), default=1, help="A model looks at what came and searches again, so often in all.")
@click.option("--tree", type=click.Choice(["none", "walk", "narrowed"]), default="none",
              help="A model picks nodes of the filings' trees: from the roots down, or among those that the search finds.")
@click.option("--model", metavar="endpoint:NAME/MODEL", default="", help="What these ask, of [endpoints.NAME] in the settings.")
@click.option("--knob", "knobs", multiple=True, metavar="NAME=VALUE", help=f"Any of: {', '.join(KNOBS)}.")
@click.option("--recipe", help="Whose index (default: the newest version's).")
@click.option("--tag", help="Which version (default: the newest verified one).")
@click.option("--full", is_flag=True, help="Whole passages, not their beginning.")
@setting("--device", "device", "auto, cpu, cuda, mps.")
@shared
@pass_given
def command(given: Given, question: str, compare: bool, recipe: str | None, tag: str | None, full: bool, **asked: Any) -> int:
    """Find the passages that answer a question; each with filing, section, page and characters."""
    from edgarmill.retrieval.retrieve import open_reader
    from edgarmill.retrieval.versions import resolve
    from edgarmill.schemas.errors import UsageError

    filters, retriever = _filters(asked), _retriever(asked)
    _ = filters.expression  # refuses a malformed value before a model is loaded
    if compare and retriever.asks_model:
        raise UsageError("modes are compared without a model", ", ".join(retriever.asks_model), "Leave out --compare.")
    lake = given.lake()
    version = resolve(lake.snapshot(), recipe, tag)
    reader = open_reader(lake, version, given.settings(), MODES if compare else (retriever.mode,))
    if compare:
        found = _compared(reader, question, retriever, filters)
        if given.json:
            show_json({**_head(reader, found["hybrid"]), "hits": {mode: one.hits[: retriever.k] for mode, one in found.items()}})
        else:
            _show_compared(reader, found)
        return 0
    one = reader.retrieve(question, retriever, filters)
    if given.json:
        show_json({**_head(reader, one), "hits": one.hits, "passages": one.passages, "tokens": one.tokens, "left_out": one.left_out,
                   "usage": one.usage, "seconds": one.seconds, "searched": one.searched, "visits": one.visits, "notes": one.notes})
    else:
        _show(reader, one, full)
    return 0


def _filters(asked: dict[str, Any]) -> Filters:
    from edgarmill.retrieval.filters import Filters

    several = {name: asked[name] or None for name in FILTERS}
    days = {name: asked[name].date() for name in ("since", "until") if isinstance(asked[name], datetime)}
    return Filters(**several, **days)


def _retriever(asked: dict[str, Any]) -> Retriever:
    from edgarmill.retrieval.retriever import retriever_of
    from edgarmill.schemas.errors import UsageError

    more: dict[str, Any] = {}
    for pair in asked["knobs"]:
        name, _, word = pair.partition("=")
        if name not in KNOBS:
            raise UsageError("no such knob", name[:40], f"Knobs: {', '.join(KNOBS)}.")
        more[name] = word if name in ("fetch", "fusion") else _number(word)
    if asked["rerank"]:
        more.setdefault("k_initial", max(30, asked["k"]))
    same = ("mode", "words", "k", "neighbours", "parent", "tokens", "decompose", "rewrite", "rounds", "tree", "model", "terms", "spread")
    plain = {name: asked[name] for name in same}
    filters = "inferred" if asked["infer"] or asked["decompose"] == "rule" else "given"
    return retriever_of({**plain, "filters": filters, "spelling": asked["correct"], "reranker": asked["rerank"], **more})


def _number(word: str) -> int | float | str:
    try:
        return int(word) if word.lstrip("-").isdecimal() else float(word)
    except ValueError:
        return word  # refused by the retriever


def _compared(reader: Reader, question: str, retriever: Retriever, filters: Filters) -> dict[str, Found]:
    """By mode. The two lists are longer than asked for, so that a fused hit's ranks in them are seen; reranked ones are not."""
    from dataclasses import replace

    deep = {mode: retriever.k if mode == "hybrid" or retriever.reranker else max(retriever.k, DEEP) for mode in MODES}
    plain = replace(retriever, neighbours=0, parent="none", tokens=None)
    return {mode: reader.retrieve(question, replace(plain, mode=mode, k=deep[mode]), filters) for mode in MODES}  # type: ignore[arg-type]  # names


def _head(reader: Reader, found: Found) -> dict[str, Any]:
    version = reader.index.version
    return {"recipe": version.recipe, "tag": version.tag, "question": found.question, "retriever": found.retriever,
            "filters": found.filters, "inferred": found.inferred, "corrections": found.corrections}


def _show(reader: Reader, found: Found, full: bool) -> None:
    from edgarmill.showing import how_it_was_read, paragraph, place, steps

    hits = {hit.rank: hit for hit in found.hits}
    print("\n".join([*how_it_was_read(reader.index.version, found), *steps(found)]))
    for passage in found.passages:
        print(f"\n{place(passage, hits[passage.hits[0]])}")
        print(clean_lines(passage.text) if full else paragraph(passage.text, 4, start=3))
    if not found.hits:
        print("\nNothing found: the filters keep no passage, or no word of the question occurs.")
    if found.tokens is not None:
        left = f"; {found.left_out} more passages had no room" if found.left_out else ""
        print(f"\n{found.tokens:,} tokens of {found.retriever.tokens:,}{left}.")


def _show_compared(reader: Reader, found: dict[str, Found]) -> None:
    from edgarmill.showing import briefly, how_it_was_read, paragraph

    print("\n".join(how_it_was_read(reader.index.version, found["hybrid"])))
    ranks: dict[str, dict[str, int]] = {}
    hits = {}
    for mode in MODES:
        for hit in found[mode].hits:
            ranks.setdefault(hit.chunk_id, {})[mode] = hit.rank
            hits[hit.chunk_id] = hit
    print(f"\n{'vector':>6} {'keyword':>7} {'hybrid':>6}")
    most = found["hybrid"].retriever.k
    shown = [key for key in ranks if min(ranks[key].values()) <= most]
    for key in sorted(shown, key=lambda one: (ranks[one].get("hybrid", 10**6), min(ranks[one].values()), one)):
        row = " ".join(f"{ranks[key].get(mode, '-'):>{width}}" for mode, width in zip(MODES, (6, 7, 6), strict=True))
        print(f"{row}  {paragraph(briefly(hits[key]), 1, start=23).lstrip()}\n{paragraph(hits[key].text, 1, start=23)}")
    if not hits:
        print("\nNothing found: the filters keep no passage, or no word of the question occurs.")


def clean_lines(text: str) -> str:
    """A passage as it stands, line by line, without control characters."""
    return "\n".join(f"   {clean(line)}" for line in text.splitlines())
