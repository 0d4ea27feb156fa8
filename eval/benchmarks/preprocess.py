"""Speed of what stands between the text and the index, beside the bare libraries in the same run.

    python -m edgarmill.eval.benchmarks.preprocess [--json] [--texts N] [TEXT FILE …]

Prints tokens per CPU second (all threads), so that other work on the machine disturbs little; the ratios are what counts.
Without files it makes its own text.

    python -m edgarmill.eval.benchmarks.preprocess --trees FOLDER [--items SECTIONS.jsonl] [--filings N] [--json]

Node trees of the filings of a folder instead: their structure, and what summaries of all their nodes cost (trees.py).
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from edgarmill.eval.benchmarks import trees
from edgarmill.schemas import recipe as recipes
from edgarmill.schemas.records import Document, Element, Filing
from edgarmill.schemas.settings import Settings
from edgarmill.workers.chunk import chunks_of
from edgarmill.workers.context import embedded_text
from edgarmill.workers.embed.local import open_encoder
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.fit import check_recipe, contexts_of

_PARAGRAPH = ("Net sales in region {n} rose {n}.{n}% to ${n},234 million in fiscal 2024, mainly because of higher volumes of Product "
              "No. {n}. Gross margin was 4{n}.1%, compared with 43.{n}% a year ago; see Item 7A. "
              "Foreign exchange lowered it by {n} basis points.")
_ROUNDS = 3


def measure(texts: list[str], encoded: int) -> dict[str, Any]:
    """Tokens per CPU second of each step and its ratio to the bare library's. `encoded` = texts to embed, 0 for none."""
    settings, recipe = Settings(), recipes.load("default")
    plan = check_recipe(recipe, settings)
    tokenizer, filing = Tokenizer(plan.model.tokenizer_path), Filing("bench", form="10-K", company="Bench Corp.", fiscal_year=2024)
    documents = [_document(n, text) for n, text in enumerate(texts)]

    def prepared() -> list[str]:
        out = []
        for document, elements in documents:
            chunks = chunks_of(document, elements, [], recipe.chunker, plan, tokenizer)
            contexts = contexts_of(filing, chunks, recipe.context, plan, tokenizer)
            out += [embedded_text(c.context, one.text) for c, one in zip(contexts, chunks, strict=True)]
        return out

    tokens = sum(tokenizer.counts(texts))
    found: dict[str, Any] = {"tokens": tokens, "characters": sum(map(len, texts)), "python": platform.python_version()}
    found |= _compared("tokenizer", lambda: tokenizer.counts(texts), "chunk_and_count", prepared, tokens)
    if encoded:
        some = prepared()[:encoded]
        encoder = open_encoder(plan.model, settings)
        found |= {"device": encoder.device, "encoded_texts": len(some), "torch": version("torch")}
        bare = dict(batch_size=32, normalize_embeddings=plan.model.normalize, show_progress_bar=False)
        found |= _compared("library_encode", lambda: encoder.network.encode(some, **bare), "encode", lambda: encoder.encode(some),
                           sum(map(len, encoder.ids(some))))
    return found


def _compared(base: str, of_library: Callable[[], object], name: str, ours: Callable[[], object], tokens: int) -> dict[str, Any]:
    """Best of some rounds each, by turns, so that a slow spell hits both."""
    rounds = [(_cpu_seconds(of_library), _cpu_seconds(ours)) for _ in range(_ROUNDS)]
    library, own = (max(min(seconds), 1e-9) for seconds in zip(*rounds, strict=True))
    return {f"{base}_tokens_per_cpu_second": round(tokens / library), f"{name}_tokens_per_cpu_second": round(tokens / own),
            f"{name}_ratio": round(library / own, 3)}


def _cpu_seconds(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def _document(number: int, text: str) -> tuple[Document, list[Element]]:
    """The text as a parsed document: a paragraph between blank lines is an element."""
    key, at, elements = f"bench:{number}", 0, []
    for n, part in enumerate(text.split("\n\n")):
        if part.strip():
            elements.append(Element(key, "bench", n, "paragraph", None, at, at + len(part), 1, None, None))
        at += len(part) + 2
    return Document(key, "bench", number, "10-K", "", "text", len(text), "utf-8", text, 1, "", None, len(text), None, None), elements


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--texts", type=int, default=64, help="texts to embed; 0 for none")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--trees", type=Path, metavar="FOLDER", help="measure node trees of these filings instead")
    parser.add_argument("--items", type=Path, metavar="FILE", help="the Items that they have, JSON lines")
    parser.add_argument("--filings", type=int, help="summaries of so many filings of each family only; 0 for none")
    given = parser.parse_args()
    if given.trees is not None:
        shapes = trees.measure(given.trees, given.items, given.filings, given.filings != 0)
        print(json.dumps(shapes) if given.json else trees.show(shapes))
        return
    made = ["\n\n".join(_PARAGRAPH.format(n=n % 10) for n in range(k, k + 400)) for k in range(3)]
    found = measure([f.read_text(encoding="utf-8") for f in given.files] or made, given.texts)
    print(json.dumps(found) if given.json else "\n".join(f"{name:40s} {value}" for name, value in found.items()))


if __name__ == "__main__":
    main()
