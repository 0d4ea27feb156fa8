"""costs: what filings cost, by any view, at any price, and beside the paper's tables."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import click

from edgarmill.options import Given, pass_given, shared
from edgarmill.terminal import Column, columns, dollars, number, seconds, share, show, show_json

if TYPE_CHECKING:
    from edgarmill.retrieval.ledger import Prices

MOST_USD = 1_000_000  # of a rate: beyond, sums leave the places that the ledger's decimals have
BY = ("run", "form", "company", "stage", "model", "recipe", "day")
COST = Column("dollars", "cost", dollars, "unpriced")
MEANS = columns(
    "filings",
    "chunks",
    "input_tokens:tokens in",
    "output_tokens:tokens out",
    Column("seconds", "time", seconds),
    Column("cpu_seconds", "CPU", seconds),
    COST,
)
BY_FORM = columns("recipe", "form", *MEANS)
BY_STAGE = columns("recipe", "stage", *(c for c in MEANS if c.key != "chunks"))
BY_INDEX = columns("subject:index", "stage", "runs:times", *MEANS[-3:])
PAPER = columns(
    "table",
    "content",
    "scope",
    "form",
    "model",
    "input_tokens:tokens in",
    "output_tokens:tokens out",
    "total_tokens:tokens",
    Column("dollars", "cost", dollars, "not at hand"),
    Column("recomputed", "recomputed", dollars),
    "verdict:audit",
)
PAPER_PRICES = columns("model", Column("form", "form", str, "all"), "input:USD/million in", "output:USD/million out", "note:what we found")
SUMS = columns(
    "filings",
    "calls",
    "hits:from cache",
    "input_tokens:tokens in",
    "cached_tokens:cached",
    "cache_write_tokens:cache write",
    "output_tokens:tokens out",
    "reasoning_tokens:reasoning",
    Column("seconds", "time", seconds),
    Column("cpu_seconds", "CPU", seconds),
    Column("gpu_seconds", "GPU", seconds),
    COST,
)
KNOWN = Column("known_dollars", "of it priced", dollars)
FILING = columns("run_id:run", "stage", "model", "provider", "tier", "origin", *SUMS[1:], Column("price", "price", str))


VERSUS = columns("recipe", "form", "filings", "table", "scope", "model")
TOKENS = columns(
    *(c for c in VERSUS if c.key != "scope"),
    "tokens_in:tokens in",
    "tokens_out:tokens out",
    "paper_tokens:paper's tokens",
    Column("tokens_ratio", "ratio", number),
)
DOLLARS = columns(
    *(c for c in VERSUS if c.key != "filings"),
    Column("dollars", "cost", dollars),
    Column("dollars_at_list", "at list", dollars, "unpriced"),
    Column("paper_dollars", "paper's", dollars, "not at hand"),
    Column("dollars_ratio", "ratio", number),
    Column("paper_corrected", "corrected", dollars),
    Column("corrected_ratio", "ratio", number),
)
ALONE = [c for c in (*VERSUS, *TOKENS, *DOLLARS) if c.key in ("paper_tokens", "paper_dollars", "paper_corrected")]
PER_MILLION = columns(
    "recipe",
    "form",
    "model",
    "table",
    Column("seconds", "seconds of a tree", seconds),
    Column("invalid_share", "invalid trees", share),
    "source_tokens:tokens of its text",
    "tokens_per_million:tokens per million of text",
    Column("dollars_per_million", "cost per million of text", dollars),
)
CHANGE = columns("kind", "filings", "calls", "tokens_in:tokens in", "tokens_out:tokens out", Column("seconds", "time", seconds), COST)


def _model(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, str] | None:
    if value is None:
        return None
    provider, slash, model = value.partition("/")
    if not provider or not slash or not model:
        raise click.BadParameter("say provider/model, such as openai/gpt-4.1-mini.", context, parameter)
    return provider, model


def _rate(context: click.Context, parameter: click.Parameter, value: str | None) -> Decimal | None:
    try:
        rate = None if value is None else Decimal(value)
    except InvalidOperation:
        rate = Decimal(-1)
    if rate is not None and not (rate.is_finite() and 0 <= rate <= MOST_USD):
        raise click.BadParameter("say USD per hour, such as 0.04.", context, parameter)
    return rate


@click.command()
@click.option("--by", "view", type=click.Choice(BY), help="Sums over the whole ledger, every row in one place.")
@click.option("--filing", metavar="ACCESSION", help="All that one filing cost.")
@click.option("--vs-paper", is_flag=True, help="Trees per 10-K and 10-Q beside Tables 1-3 of the paper, at the prices of its models.")
@click.option("--change", is_flag=True, help="What the last run cost in trees and in vectors, and after how many questions one is cheaper.")
@click.option("--run", "run_id", metavar="RUN", help="With --change: another run.")
@click.option("--question-tree", metavar="USD", callback=_rate, help="With --change: cost of a question that goes by the tree.")
@click.option("--question-vectors", metavar="USD", callback=_rate, help="With --change: cost of a question that goes by vectors.")
@click.option("--price-on", type=click.DateTime(["%Y-%m-%d"]), help="Read calls at the prices of that day. No row changes.")
@click.option("--price-model", metavar="PROVIDER/MODEL", callback=_model,
              help="Read calls of chat models (or, named an embedding model, all embedding) at that model's price, same tokens.")
@click.option("--tier", type=click.Choice(["standard", "batch"]), help="Read calls at that tier's price.")
@click.option("--price-cpu", metavar="USD", callback=_rate, help="Read local work at this price per hour of a core.")
@click.option("--price-gpu", metavar="USD", callback=_rate, help="Read local work at this price per hour of a GPU.")
@shared
@pass_given
def command(given: Given, view: str | None, filing: str | None, vs_paper: bool, change: bool, **asked: Any) -> None:
    """What a filing cost on average, by form and stage, beside Tables 1-3 of the paper; or sums by any view.

    A figure that was not measured shows as -, a cost without a price as unpriced. Set cpu_dollars_per_hour and gpu_dollars_per_hour
    to price local work as it is done, --price-cpu and --price-gpu to look at what was done. Averages take the run that first paid.

    \b
    Examples:
      edgarmill costs --by day
      edgarmill costs --by stage --price-model openai/text-embedding-3-small
      edgarmill costs --filing 0000320193-24-000123 --tier batch
      edgarmill costs --vs-paper
    """
    if sum(map(bool, (view, filing, vs_paper, change))) > 1:
        raise click.UsageError("say one of --by, --filing, --vs-paper, --change.")
    if not change and any(asked[name] is not None for name in ("run_id", "question_tree", "question_vectors")):
        raise click.UsageError("--run, --question-tree and --question-vectors go with --change.")
    prices = _prices(given, asked)
    if view:
        return _show_view(given, view, prices)
    if filing:
        return _show_filing(given, filing, prices)
    if vs_paper:
        return _show_versus(given, prices)
    if change:
        return _show_change(given, prices, asked)
    show_costs(given, prices)


def _prices(given: Given, asked: Mapping[str, Any]) -> Prices:
    from edgarmill.retrieval.ledger import Prices
    from edgarmill.schemas.prices import price_set

    on: datetime | None = asked["price_on"]
    provider, model = asked["price_model"] or (None, None)
    return Prices(price_set(given.settings().prices), on.date() if on else None, provider, model, asked["tier"], asked["price_cpu"],
                  asked["price_gpu"])


def _words(prices: Prices) -> str:
    """What the ledger is read at, or ""."""
    parts = [f"prices of {prices.on}" if prices.on else "", f"{prices.provider}/{prices.model}" if prices.model else "", prices.tier or ""]
    parts += [f"{name} ${rate:f}/h" for name, rate in (("CPU", prices.cpu), ("GPU", prices.gpu)) if rate is not None]
    return ", ".join(filter(None, parts))


def _show_view(given: Given, view: str, prices: Prices) -> None:
    """Prints one view with its sum, or both as JSON."""
    from edgarmill.retrieval.ledger import summed

    rows, whole = summed(given.snapshot(), view, prices)
    if given.json:
        return show_json({"by": view, "at": _words(prices), "rows": rows, "sum": whole})
    if not rows:
        print("No filing was worked on yet: edgarmill ingest makes the first costs.")
        return
    partly = any(row["unpriced_rows"] and row["known_dollars"] for row in rows)
    show([*rows, {**whole, view: "sum"}], _used([*columns(view), *SUMS, *([KNOWN] if partly else [])], rows))
    _explain(whole, prices)


def _show_filing(given: Given, accession: str, prices: Prices) -> None:
    """Prints one filing's rows of the ledger."""
    from edgarmill.retrieval.ledger import filing

    rows = filing(given.snapshot(), accession, prices)
    unpriced = sum(row["dollars"] is None for row in rows)
    known = sum((row["dollars"] for row in rows if row["dollars"] is not None), Decimal(0))
    whole = {"rows": len(rows), "unpriced_rows": unpriced, "known_dollars": known, "dollars": None if unpriced else known}
    if given.json:
        return show_json({"accession": accession, "at": _words(prices), "rows": rows, "sum": whole})
    show(rows, _used(FILING, rows))
    print(f"In all: {'unpriced' if unpriced else dollars(known)}{f', {dollars(known)} of it priced' if unpriced and known else ''}.")
    _explain(whole, prices)


def _used(layout: list[Column] | tuple[Column, ...], rows: list[dict[str, Any]]) -> list[Column]:
    """Without columns that no row has; the cost stays."""
    return [c for n, c in enumerate(layout) if n == 0 or c is COST or any(row.get(c.key) for row in rows)]


def _explain(whole: Mapping[str, Any], prices: Prices) -> None:
    if prices.changes:
        print(f"Read at {_words(prices)}; the ledger keeps what was paid.")
    if whole["unpriced_rows"]:
        print(f"Unpriced: {whole['unpriced_rows']:,} of {whole['rows']:,} rows. --price-cpu 0.04 (and --price-gpu) reads local work at a "
              "price per hour; a model's price goes under [[prices]] in the settings.")


def _show_versus(given: Given, prices: Prices) -> None:
    """Prints our trees beside the paper's."""
    from edgarmill.retrieval.versus import versus

    found = versus(given.snapshot(), prices.set, prices.on or date.today())
    if given.json:
        return show_json(asdict(found))
    ours = any(row["recipe"] for row in found.rows)
    if not ours:
        print("This lake has no trees of a 10-K or 10-Q: a recipe with [tree] makes them. The paper alone:")
    if not ours:
        show(found.rows, [*(c for c in VERSUS if c.key not in ("recipe", "filings")), *ALONE])
    else:
        print("Ours and the paper's, ratios ours over the paper's")
        for layout in (TOKENS, DOLLARS, PER_MILLION):
            show(found.rows, [c for c in layout if any(row[c.key] is not None for row in found.rows)])
            print()
        print("Prices: those with which the paper's dollars were computed; at list: our own table's.")
    print()
    for row in found.findings:
        if row["verdict"] != "not computable" or row["finding"] != "not at hand":
            print(textwrap.fill(f"Table {row['table']}, {row['form']}, {row['model']}: {row['finding']}", 110))
    _section("The prices behind its dollars", [{**row, "form": row["form"] or None} for row in found.prices], PAPER_PRICES)
    print(textwrap.fill(found.note, 110))
    print("The paper's other cells, its seconds and its share of invalid trees are not at hand.")


def _show_change(given: Given, prices: Prices, asked: Mapping[str, Any]) -> None:
    """Prints what a run cost in trees and in vectors."""
    from dataclasses import replace

    from edgarmill.retrieval.change import change

    model = (prices.provider or "openai", prices.model or "gpt-4.1-mini")
    found = change(given.snapshot(), asked["run_id"], replace(prices, provider=None, model=None), model, prices.on or date.today(),
                   question_tree=asked["question_tree"], question_vectors=asked["question_vectors"])
    if given.json:
        return show_json(asdict(found))
    print(f"Run {found.run_id}")
    show(found.kinds, CHANGE)
    if asked["question_tree"] is None and found.question_tree is not None:
        print(f"A question by the tree reads its outline besides, about {found.outline_tokens:,} tokens: {dollars(found.question_tree)} at "
              f"{'/'.join(model)}. Passages and answer are taken to be alike.")
    print(found.verdict)
    if any(row["dollars"] is None for row in found.kinds):
        print("--price-cpu 0.04 (and --price-gpu) reads local work at a price per hour.")


def show_costs(given: Given, prices: Prices | None = None) -> None:
    """Prints the costs of the lake as tables, or as JSON."""
    from edgarmill.retrieval.costs import costs

    found = costs(given.snapshot(), prices)
    if given.json:
        return show_json(asdict(found))
    if not found.by_form:
        print("No filing was worked on yet: edgarmill ingest makes the first costs.")
    _section("Per filing, by recipe and form", found.by_form, BY_FORM)
    _section("Per filing, by stage", found.by_stage, BY_STAGE)
    _section("Per index, in all", found.by_index, BY_INDEX)
    if found.by_form:
        spent = found.spent
        price = dollars(spent["dollars"]) if spent["dollars"] is not None else "unpriced"
        print(f"All runs together: {seconds(spent['seconds'] or 0)} of stages, {seconds(spent['cpu_seconds'] or 0)} of CPU, {price}.")
        if prices is not None and prices.changes:
            print(f"Read at {_words(prices)}; the ledger keeps what was paid.")
        if spent["dollars"] is None:
            print("Unpriced: some work had no price when it was done. --set cpu_dollars_per_hour=0.04 prices what is done from then on.")
        print()
    at_hand = [cell for cell in found.paper if cell["dollars"] is not None or cell["total_tokens"] is not None]
    _section("The paper (arXiv 2511.18177), Tables 1-3", at_hand, PAPER)
    _section("The prices behind its dollars", [{**row, "form": row["form"] or None} for row in found.paper_prices], PAPER_PRICES)
    if len(at_hand) < len(found.paper):
        print(f"{len(found.paper) - len(at_hand)} further cells of its tables are not at hand; --json lists them, and each audit in words.")
    print(textwrap.fill(found.note, 110))


def _section(title: str, rows: list[dict[str, Any]], layout: tuple[Column, ...]) -> None:
    if rows:
        print(title)
        show(rows, layout)
        print()
