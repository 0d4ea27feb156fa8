"""What the contexts of kind `chunk` cost with the Item as window and with the whole filing, counted on the filings of a lake.

    python -m edgarmill.eval.benchmarks.contexts LAKE [--family 10-K] [--filings N] [--model gpt-4.1-mini] [--output 60] [--json]

The asks are those that a run would send, in its order; no model is called. They are counted with the packaged tokenizer (no tokenizer of
the priced model is at hand: the ratios hardly depend on it), each answer with a fixed number of tokens. A provider's prompt cache is taken
at its word: the first call of a window pays for all it reads, the others read what they share, in whole blocks of 128 tokens from 1,024
tokens on, at the price table's cached price. `no_cache` is the same calls at the full price.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import groupby
from typing import Any

import pyarrow.compute as pc

from edgarmill.schemas.prices import price_set
from edgarmill.schemas.recipe import Recipe
from edgarmill.schemas.records import Chunk, Document, Filing, Usage
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake, Snapshot
from edgarmill.workers.chunk import chunks_of
from edgarmill.workers.context import Ask
from edgarmill.workers.context.chunk import Options, asks
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.fit import Plan, check_recipe

BLOCK, LEAST = 128, 1024  # tokens: OpenAI's cache, from 1,024 on in steps of 128
WHOLE = 10**9  # characters: a window that is never split
WINDOWS: dict[str, dict[str, Any]] = {
    "Item": {"window": "section", "characters": WHOLE},
    "filing": {"window": "document", "characters": WHOLE},
    "Item, split at 40,000 characters": {"window": "section", "characters": 40_000},
    "filing, split at 40,000 characters": {"window": "document", "characters": 40_000},
}


def filings_of(snapshot: Snapshot, family: str, most: int | None) -> list[Filing]:
    return sorted(snapshot.records("filings", where=pc.field("family") == family), key=lambda f: f.accession)[:most]


def chunks_in(snapshot: Snapshot, filing: Filing, recipe: Recipe, plan: Plan, tokenizer: Tokenizer) -> tuple[list[Document], list[Chunk]]:
    """The filing's documents and chunks by the recipe."""
    where = pc.field("accession") == filing.accession
    elements, sections = defaultdict(list), defaultdict(list)
    for element in snapshot.records("elements", where=where):
        elements[element.document_id].append(element)
    for section in snapshot.records("sections", where=where):
        sections[section.document_id].append(section)
    documents = sorted(snapshot.records("documents", where=where), key=lambda d: d.sequence)
    made = [chunks_of(d, elements[d.document_id], sections[d.document_id], recipe.chunker, plan, tokenizer) for d in documents]
    return documents, [c for some in made for c in some]


def counted(made: Sequence[Ask], chunks: Sequence[Chunk], output: int, tokenizer: Tokenizer) -> tuple[int, int, int]:
    """Tokens read at the full price, read from a provider's cache, and written, over the asks of one filing."""
    own = {c.chunk_id: c.tokens for c in chunks}
    full = cached = 0
    for _, window in groupby(made, lambda ask: (ask.instruction, ask.shared)):
        together = list(window)
        shared = tokenizer.count(together[0].instruction) + tokenizer.count(together[0].shared)
        kept = shared // BLOCK * BLOCK if shared >= LEAST else 0
        full += shared + (shared - kept) * (len(together) - 1) + sum(own[key] for ask in together for key in ask.chunks)
        cached += kept * (len(together) - 1)
    return full, cached, output * len(made)


def measure(snapshot: Snapshot, family: str, most: int | None, model: str, output: int) -> dict[str, Any]:
    """Means a filing, by window."""
    recipe = Recipe.model_validate({"name": "bench", "chunker": {"kind": "structure"}, "context": {"kind": "metadata", "max_tokens": 96}})
    plan, prices, today = check_recipe(recipe, Settings()), price_set(), datetime.now(UTC).date()
    tokenizer = Tokenizer(plan.model.tokenizer_path)

    def dollars(full: int, cached: int, wrote: int) -> Decimal:
        row = Usage("", "context", model, "openai", input_tokens=full, cached_tokens=cached, output_tokens=wrote, tier="standard")
        found = prices.cost(row, today)
        assert found is not None, f"{model} has no price"
        return found

    totals: dict[str, list[Any]] = {name: [0, 0, 0, 0, Decimal(0), Decimal(0)] for name in WINDOWS}
    filings = filings_of(snapshot, family, most)
    for filing in filings:
        documents, chunks = chunks_in(snapshot, filing, recipe, plan, tokenizer)
        for name, given in WINDOWS.items():
            made = asks(filing, documents, chunks, Options.model_construct(**{**Options().model_dump(), **given}))
            full, cached, wrote = counted(made, chunks, output, tokenizer)
            values = (len(made), full, cached, wrote, dollars(full, cached, wrote), dollars(full + cached, 0, wrote))
            totals[name] = [a + b for a, b in zip(totals[name], values, strict=True)]
    fields = ("calls", "input_tokens", "cached_tokens", "output_tokens", "dollars", "no_cache")
    n = max(1, len(filings))
    found = {name: {field: float(value) / n for field, value in zip(fields, row, strict=True)} for name, row in totals.items()}
    return {"family": family, "filings": len(filings), "model": model, "output": output, "windows": found,
            "item_is_cheaper_by": round(found["filing"]["dollars"] / found["Item"]["dollars"], 2) if filings else None}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("lake")
    parser.add_argument("--family", default="10-K")
    parser.add_argument("--filings", type=int, help="only the first so many, by accession")
    parser.add_argument("--model", default="gpt-4.1-mini", help="of provider openai, whose prices hold")
    parser.add_argument("--output", type=int, default=60, help="tokens of an answer")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = measure(Lake.open(given.lake).snapshot(), given.family, given.filings, given.model, given.output)
    if given.json:
        print(json.dumps(found))
        return
    print(f"{found['filings']} filings {found['family']}, {found['model']}, {found['output']} tokens an answer; a filing:")
    for name, one in found["windows"].items():
        print(f"  {name:36} {one['calls']:6,.0f} calls {one['input_tokens']:12,.0f} in {one['cached_tokens']:12,.0f} cached "
              f"{one['output_tokens']:8,.0f} out  ${one['dollars']:.4f} (${one['no_cache']:.4f} without a cache)")
    print(f"  The Item as window is {found['item_is_cheaper_by']} times cheaper than the filing.")


if __name__ == "__main__":
    main()
