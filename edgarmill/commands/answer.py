"""answer: one question, answered from an index by a model, each claim with its place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from edgarmill.options import Given, pass_given, setting, shared
from edgarmill.terminal import clean, show_json

if TYPE_CHECKING:
    from edgarmill.retrieval.retriever import Retriever
    from edgarmill.schemas.records import AnswerRow

MODES = ("vector", "keyword", "hybrid")


def answering(command: Any) -> Any:
    """Adds how questions are answered."""
    for option in (
        setting("--device", "device", "auto, cpu, cuda, mps."),
        click.option("--tag", help="Which version."),
        click.option("--recipe", help="Whose index."),
        click.option("--turns", type=click.IntRange(1, 10), default=3, show_default=True, help="Looks of the agentic answerer."),
        click.option("--rerank", metavar="KIND[:MODEL]", default="", help="late_interaction, cross_encoder:MODEL, endpoint:NAME/MODEL."),
        click.option("--around", "neighbours", type=click.IntRange(0, 20), default=0, help="Chunks before and after a hit."),
        click.option("-k", "--hits", "k", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many passages at most."),
        click.option("--tokens", type=click.IntRange(min=1), default=3000, show_default=True, help="Of the passages that are read."),
        click.option("--mode", type=click.Choice(MODES), default="hybrid", show_default=True, help="Of the search."),
        click.option("--kind", default="plain", show_default=True, help="plain, agentic, tree, facts: the files of eval/answers."),
        click.option("--model", required=True, metavar="endpoint:NAME[/MODEL]", help="Who answers; NAME as in [endpoints.NAME]."),
    ):
        command = option(command)
    return command


def retriever_from(asked: dict[str, Any]) -> Retriever:
    from edgarmill.retrieval.retriever import Retriever

    deep = {"k_initial": max(30, asked["k"])} if asked["rerank"] else {}
    return Retriever(mode=asked["mode"], k=asked["k"], tokens=asked["tokens"], filters="inferred", reranker=asked["rerank"],
                     neighbours=asked["neighbours"], **deep)


def endpoint_named(model: str) -> str:
    """Raises UsageError for what is no endpoint:NAME/MODEL."""
    from edgarmill.retrieval.retriever import Retriever

    return Retriever(model=model).model


@click.command()
@click.argument("question")
@answering
@shared
@pass_given
def command(given: Given, question: str, model: str, kind: str, turns: int, recipe: str | None, tag: str | None, **asked: Any) -> int:
    """Answer one question from the index: what the answer rests on, each claim with filing, pages and characters.

    \b
    Examples:
      edgarmill answer "What drove Apple's margin in fiscal 2024?" --model endpoint:house
      edgarmill answer "Which company had the highest revenues in 2024?" --kind facts --model endpoint:house/gpt-4.1-mini

    Nothing is stored but the model's own answers, which are not paid twice. A refusal ends with 0, no answer with 3.
    """
    from edgarmill.eval.answering.answer import Answerer, way_of
    from edgarmill.eval.answering.desk import Options
    from edgarmill.eval.answering.run import asking
    from edgarmill.retrieval.retrieve import open_reader
    from edgarmill.retrieval.versions import resolve
    from edgarmill.schemas.ids import digest
    from edgarmill.schemas.records import Question

    retriever, options, settings, lake = retriever_from(asked), Options(turns=turns), given.settings(), given.lake()
    with asking(endpoint_named(model), settings, lake, lambda payer: True) as client:  # no row tells what was paid before, then or now
        way = way_of(kind, model, client, retriever, options)
        reader = open_reader(lake, resolve(lake.snapshot(), recipe, tag), settings, (retriever.mode,))
        one = Question(digest(question)[:12], question, "", "")
        row = Answerer(way, reader, client).answer(one, way.answers_id("", reader.index.version.version_id), "", "")
    if given.json:
        show_json(as_json(row))
    else:
        _show(row)
    return 3 if row.error else 0


def as_json(row: AnswerRow) -> dict[str, Any]:
    return {name: json.loads(value) if name in ("claims", "citations", "given", "retriever") else value
            for name, value in ((name, getattr(row, name)) for name in row.__dataclass_fields__)}


def _show(row: AnswerRow) -> None:
    from edgarmill.showing import paragraph

    if row.error:
        print(f"No answer ({row.error}): {clean(row.why or '')}")
    elif row.refused:
        print("No answer: what was found does not hold one.")
    else:
        print(paragraph(row.text, 40))
    places = json.loads(row.citations)
    for n, claim in enumerate(json.loads(row.claims)):
        print(paragraph(f"- {claim['text']}", 10))
        for place in (one for one in places if one["claim"] == n):
            print(f"    {_place(place)}")
    print("\n".join(_spent(row)))


def _place(place: dict[str, Any]) -> str:
    if (fact := place.get("fact")) is not None:
        context = fact["context"]
        period = context["instant_on"] or f"{context['start_on']} to {context['end_on']}"
        return clean(f"{place['accession']}, {fact['concept']}, {period}: {fact['value']} {fact['unit'] or ''}")
    pages = f"p. {place['page_start']}" + (f"-{place['page_end']}" if place["page_end"] != place["page_start"] else "")
    return clean(f"{place['accession']}, {pages}, characters {place['start']}-{place['end']}")


def _spent(row: AnswerRow) -> list[str]:
    from edgarmill.terminal import dollars, seconds

    told = None if row.input_tokens is None or row.output_tokens is None else row.input_tokens + row.output_tokens
    tokens = "tokens not told" if told is None else f"{told:,} tokens"
    paid = "unpriced" if row.usd is None and row.calls else dollars(row.usd or 0)
    time = f", {seconds(row.seconds)}" if row.seconds is not None else ""
    known = f", {row.hits} answered before" if row.hits else ""
    return [clean(f"{row.kind}, {row.model}: {row.calls} calls{known}, {tokens}, {paid}{time}"), *([clean(row.notes)] if row.notes else [])]
