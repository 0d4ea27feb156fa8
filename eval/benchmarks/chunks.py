"""What each chunker makes of the filings that a question set names: sizes, cuts in mid-sentence, evidence split over two chunks.

    python -m edgarmill.eval.benchmarks.chunks LAKE QUESTIONS [--json] [--recipe NAME_OR_TOML …] [--filings N] [--semantic N]

Needs the parsed texts of a lake, no index. Without --recipe: the kinds below, without a context, on the same documents.
A cut is the end of a chunk before the end of the text. It is in mid-sentence when it is neither the end of an element or of a table's row,
nor after a full stop, question or exclamation mark (closing quotes and brackets aside): a rule that is no chunker's own.
Evidence is split when no chunk holds all of it; `splittable` is that among the pieces that are not longer than the recipe's chunks may be.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from edgarmill.eval.questions import load as load_questions
from edgarmill.eval.resolve import resolved_rows
from edgarmill.schemas import recipe as recipes
from edgarmill.schemas.recipe import Recipe
from edgarmill.schemas.records import Chunk, Document, Element, Section
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake, Snapshot
from edgarmill.workers import chunk
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.fit import Plan, check_recipe

KINDS: dict[str, dict[str, Any]] = {
    "fixed, 128 tokens": {"kind": "fixed", "tokens": 128, "overlap": 0},
    "fixed, 128, overlap 16": {"kind": "fixed", "tokens": 128, "overlap": 16},
    "recursive, 1,800 characters, overlap 300": {"kind": "recursive", "characters": 1800, "overlap": 300},
    "sentences, 128, overlap 1": {"kind": "sentences", "tokens": 128, "overlap": 1},
    "markdown, 256": {"kind": "markdown", "max_tokens": 256},
    "hierarchical, 128 in 1,024": {"kind": "hierarchical", "max_tokens": 128, "parent_tokens": 1024},
    "structure, 128": {"kind": "structure", "max_tokens": 128},
    "structure, 256": {"kind": "structure", "max_tokens": 256},
}
SEMANTIC: dict[str, dict[str, Any]] = {"semantic, percentile 95, 256": {"kind": "semantic", "max_tokens": 256}}
_ENDED = re.compile(r"[.!?][\"'”’)\]]*\Z")


@dataclass(frozen=True)
class Text:
    """One document with the evidence in it."""

    document: Document
    elements: list[Element]
    sections: list[Section]
    gold: list[tuple[int, int]]


def texts_of(snapshot: Snapshot, questions: str, filings: int | None) -> list[Text]:
    """The documents of the filings that hold the set's evidence, in order; of the first `filings` of them."""
    import pyarrow.compute as pc

    gold: dict[str, set[tuple[int, int]]] = defaultdict(set)
    for row in resolved_rows(load_questions(questions), snapshot).rows:
        if row.document_id and row.start is not None and row.end is not None:
            gold[row.document_id].add((row.start, row.end))
    chosen = sorted({key.rpartition(":")[0] for key in gold})[:filings]
    where = pc.field("accession").isin(chosen)
    elements, sections = defaultdict(list), defaultdict(list)
    for element in snapshot.records("elements", where=where):
        elements[element.document_id].append(element)
    for section in snapshot.records("sections", where=where):
        sections[section.document_id].append(section)
    documents = sorted(snapshot.records("documents", where=where), key=lambda d: d.document_id)
    return [Text(d, elements[d.document_id], sections[d.document_id], sorted(gold[d.document_id])) for d in documents]


def measure(recipe: Recipe, texts: Sequence[Text], encode: Any = None) -> dict[str, Any]:
    """The figures of one recipe over the texts."""
    plan = check_recipe(recipe, Settings())
    tokenizer = Tokenizer(plan.model.tokenizer_path)
    most = _most(recipe, plan)
    sizes: list[int] = []
    found: dict[str, Any] = {"documents": len(texts), "chunks": 0, "cuts": 0, "mid_sentence": 0, "gold": 0, "split": 0, "too_long": 0,
                             "chars": 0, "kept": 0, "dropped": 0, "left_out": 0, "prefixed": 0}
    begun = time.process_time()
    for text in texts:
        made = chunk.chunked(text.document, text.elements, text.sections, recipe.chunker, plan, tokenizer, encode)
        account = chunk.chunking(text.document, made, plan)
        sizes += [c.tokens for c in made.chunks]
        cuts = list(_cuts(text, made.chunks))
        held = [any(c.start <= a and b <= c.end for c in made.chunks) for a, b in text.gold]
        long = [tokenizer.count(text.document.text[a:b]) > most for a, b in text.gold]
        more = {"chunks": len(made.chunks), "cuts": len(cuts), "mid_sentence": sum(cuts), "gold": len(held), "split": held.count(False),
                "too_long": sum(long), "prefixed": sum(bool(c.prefix) for c in made.chunks)}
        more |= {name: getattr(account, name) for name in ("chars", "kept", "dropped", "left_out")}
        for name, count in more.items():
            found[name] += count
    sizes.sort()
    found |= {"p50": _at(sizes, 0.5), "p95": _at(sizes, 0.95), "largest": _at(sizes, 1)}
    found["cpu_seconds"] = round(time.process_time() - begun, 1)
    found["splittable"] = found["split"] - found["too_long"]
    found["mid_sentence_share"] = round(found["mid_sentence"] / max(1, found["cuts"]), 4)
    found["split_share"] = round(found["split"] / max(1, found["gold"]), 4)
    found["splittable_share"] = round(found["splittable"] / max(1, found["gold"] - found["too_long"]), 4)
    return found


def _most(recipe: Recipe, plan: Plan) -> int:
    """Tokens that a chunk of the recipe may have."""
    module = chunk.chunker(recipe.chunker.kind)
    given = chunk.options(module.Options, recipe.chunker.options, "chunker")
    return int(module.largest(given, plan.model.specials))


def _cuts(text: Text, chunks: Sequence[Chunk]) -> Iterator[bool]:
    """For each cut: is it in mid-sentence?"""
    body = text.document.text
    ordered = sorted(text.elements, key=lambda e: e.start)
    starts, ends = [e.start for e in ordered], {e.start + len(body[e.start : e.end].rstrip()) for e in ordered}
    last = len(body.rstrip())
    for c in chunks:
        if c.end >= last:
            continue
        within = ordered[max(0, bisect_left(starts, c.end) - 1)] if ordered else None
        row = within is not None and within.kind == "table" and body[c.end : c.end + 1] == "\n"
        yield not (c.end in ends or row or _ENDED.search(body, max(0, c.end - 8), c.end))


def _at(ordered: Sequence[int], share: float) -> int | None:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def _recipe(name: str, chunker: dict[str, Any]) -> Recipe:
    return Recipe.model_validate({"name": "bench", "description": name, "chunker": chunker, "embedding": {"overflow": "cut"}})


def _encoder() -> Any:
    from edgarmill.workers.embed.local import open_encoder

    return open_encoder(check_recipe(_recipe("", {"kind": "semantic"}), Settings()).model, Settings()).encode


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("lake")
    parser.add_argument("questions")
    parser.add_argument("--recipe", action="append", default=[], help="by name or TOML file, instead of the built-in list; may be repeated")
    parser.add_argument("--filings", type=int, help="only the first so many filings that hold evidence")
    parser.add_argument("--semantic", type=int, default=0, help="also the semantic chunker, which needs the model, on the first so many")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    snapshot = Lake.open(given.lake).snapshot()
    texts = texts_of(snapshot, given.questions, given.filings)
    asked = {name: recipes.load(name) for name in given.recipe} or {name: _recipe(name, kind) for name, kind in KINDS.items()}
    for name, recipe in asked.items():
        _show(name, measure(recipe, texts, _encoder() if chunk.needs_encoder(recipe.chunker.kind) else None), given.json)
    if given.semantic:
        few = texts_of(snapshot, given.questions, given.semantic)
        for name, kind in SEMANTIC.items():
            _show(name, measure(_recipe(name, kind), few, _encoder()), given.json)


def _show(name: str, found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps({"recipe": name, **found}), flush=True)
        return
    print(f"{name}: {found['documents']} documents, {found['chunks']:,} chunks, tokens p50 {found['p50']} p95 {found['p95']}; "
          f"mid-sentence {found['mid_sentence_share']:.2%} of {found['cuts']:,} cuts; "
          f"evidence split {found['split_share']:.1%} of {found['gold']}, {found['splittable_share']:.1%} of those that fit; "
          f"dropped {found['dropped']:,} of {found['chars']:,} characters; {found['cpu_seconds']} CPU s", flush=True)


if __name__ == "__main__":
    main()
