"""Does a recipe fit its model? Asked in the first second of every run, and then counted chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgarmill.schemas import ids
from edgarmill.schemas.errors import BadInput, SettingsError, UnknownName
from edgarmill.schemas.recipe import Kind, Recipe
from edgarmill.schemas.records import Chunk, Context, Filing
from edgarmill.schemas.settings import Settings
from edgarmill.workers import chunk, context, parse, trees
from edgarmill.workers.asking import FALLBACK, Answered, endpoint_at, endpoint_for
from edgarmill.workers.embed.models import Model, resolve
from edgarmill.workers.embed.tokens import Tokenizer

_LEAST_ROOM = 16  # tokens: with less the context alone fills the window


@dataclass(frozen=True, slots=True)
class Plan:
    """A recipe that was checked: its model, and what its stages need to know."""

    model: Model
    parser: str  # engine
    room: int  # tokens left for a text beside context, blank line and special tokens, in the window or where it may cut in a chunk
    may_cut: bool  # some text may be longer than the window
    chunker_fingerprint: str
    context_fingerprint: str


def check_recipe(recipe: Recipe, settings: Settings) -> Plan:
    """What the recipe means. Raises UnknownName or SettingsError in one line: no such plug-in, option or model, or it cannot fit."""
    chunker, contextualizer = chunk.chunker(recipe.chunker.kind), context.contextualizer(recipe.context.kind)
    chunk_options = chunk.options(chunker.Options, recipe.chunker.options, "chunker")
    context_options = chunk.options(contextualizer.Options, recipe.context.options, "context")
    if recipe.parser.engine not in parse.engines():
        raise UnknownName("no such parser", recipe.parser.engine, f"Known: {', '.join(parse.engines())}.")
    endpoint_for(recipe.context, settings)
    trees.endpoint_for(recipe.tree, settings)
    model = resolve(recipe.embedding, settings)
    if model.endpoint:
        endpoint_at(model.endpoint, model.served, settings, units=("input",))
        if chunk.needs_encoder(recipe.chunker.kind):
            todo = "Take another chunker, or an embedding model on this machine."
            raise SettingsError(f"chunker {recipe.chunker.kind} asks the model for every sentence, and {model.name} is paid by the call",
                                recipe.name, todo)
    most_context = contextualizer.largest(context_options)
    overhead = most_context + _blank_line(Tokenizer(model.tokenizer_path), most_context) + model.specials
    most_text = chunker.largest(chunk_options, overhead)
    cuts = recipe.embedding.overflow == "cut"
    room = most_text if cuts else min(model.window - overhead, most_text)  # who lets the model cut has chunks of the size asked for
    if room < _LEAST_ROOM:
        what = f"context and special tokens take {overhead} tokens and leave no room in {min(model.window, overhead + most_text)}"
        raise SettingsError(what, recipe.name, "Shorten the context, raise the chunk's tokens, or take a model with a wider window.")
    may_cut = overhead + most_text > model.window
    if may_cut and not cuts:
        what = f"a chunk may have {overhead + most_text} tokens with its context, and {model.name} reads {model.window}"
        raise SettingsError(what, recipe.name, 'Lower the chunker\'s size, or say embedding.overflow = "cut": what is cut is then counted.')
    common = {"parser": recipe.parser.engine, "tokenizer": model.tokenizer_hash}
    instruction = getattr(contextualizer, "INSTRUCTION", None)
    asked_for = {} if instruction is None else {"instruction": instruction}  # other words bring other answers
    asked = {"model": model.model_hash} if chunk.needs_encoder(recipe.chunker.kind) else {}
    return Plan(
        model, recipe.parser.engine, room, may_cut,
        chunker_fingerprint=ids.fingerprint({**common, **asked, **_named(recipe.chunker, chunk_options), "room": room}),
        context_fingerprint=ids.fingerprint({**common, **_named(recipe.context, context_options), **asked_for, "window": model.window}),
    )


def contexts_of(filing: Filing, chunks: Sequence[Chunk], kind: Kind, plan: Plan, tokenizer: Tokenizer,
                answered: Answered | None = None) -> list[Context]:
    """The chunks' contexts, with the tokens of each text as embedded and how many of them the model will not read."""
    found, why = _found(chunks, answered)
    write = _writer(kind, found, why)
    contexts = [_with_prefix(write(filing, one, tokenizer), one.prefix) for one in chunks]
    texts = [context.embedded_text(before, one.text) for before, one in zip(contexts, chunks, strict=True)]
    tokens = _tokens(chunks, contexts, texts, plan.model.specials, tokenizer)
    return [
        Context(one.chunk_id, one.accession, plan.context_fingerprint, before, n, max(0, n - plan.model.window), ids.text_hash(text),
                why.get(one.chunk_id))
        for one, before, text, n in zip(chunks, contexts, texts, tokens, strict=True)
    ]


def _with_prefix(before: str, prefix: str | None) -> str:
    """What stands before a chunk: its context, and the header of the table that it continues."""
    return context.embedded_text(before, prefix) if prefix else before


def _found(chunks: Sequence[Chunk], answered: Answered | None) -> tuple[dict[str, Any] | None, dict[str, str]]:
    """By chunk: what a model found (None where none was asked), and why a chunk falls back."""
    if answered is None:
        return None, {}
    if answered.fallback is not None:
        return {}, {one.chunk_id: answered.fallback for one in chunks}
    return answered.found, {key: answer.reason for key, answer in answered.found.items() if isinstance(answer, BadInput)}


def _writer(kind: Kind, found: Mapping[str, Any] | None, why: Mapping[str, str]) -> Callable[[Filing, Chunk, Tokenizer], str]:
    """Writes the context of a chunk: the recipe's, from what a model found, or the fallback, which keeps to the recipe's bound."""
    contextualizer, spare = context.contextualizer(kind.kind), context.contextualizer(FALLBACK)
    given = chunk.options(contextualizer.Options, kind.options, "context")
    spare_given = spare.Options(max_tokens=min(contextualizer.largest(given), spare.largest(spare.Options()))) if why else None

    def write(filing: Filing, one: Chunk, tokenizer: Tokenizer) -> str:
        if one.chunk_id in why:
            return str(spare.context(filing, one, spare_given, tokenizer))
        more = () if found is None else (found[one.chunk_id],)
        return str(contextualizer.context(filing, one, given, tokenizer, *more))

    return write


def _tokens(chunks: Sequence[Chunk], contexts: Sequence[str], texts: Sequence[str], specials: int, tokenizer: Tokenizer) -> list[int]:
    """Tokens as embedded. Where a tokenizer's counts add up over a blank line, only the few different contexts are counted."""
    if not tokenizer.additive:
        return [specials + n for n in tokenizer.counts(texts)]
    different = sorted(set(contexts))
    before = dict(zip(different, tokenizer.counts(different), strict=True))
    return [specials + before[c] + one.tokens for c, one in zip(contexts, chunks, strict=True)]


def _blank_line(tokenizer: Tokenizer, context_tokens: int) -> int:
    """Tokens of the blank line between context and text."""
    return max(0, tokenizer.count(context.embedded_text("a", "a")) - 2 * tokenizer.count("a")) if context_tokens else 0


def _named(kind: Kind, given: Any) -> dict[str, Any]:
    """Kind and options, the defaults among them, so that a default changed later is another fingerprint."""
    return {"kind": kind.kind, "options": given.model_dump(mode="json")}
