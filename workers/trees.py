"""The trees of a filing: the recipe's builder, what it falls back to, the summaries, and the rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgarmill.schemas import ids
from edgarmill.schemas.endpoints import Endpoint
from edgarmill.schemas.errors import BadFile, InvalidTree, MalformedAnswer, OverCap
from edgarmill.schemas.recipe import EmbeddingModel, Kind
from edgarmill.schemas.records import Document, Element, Filing, Section, TreeNode
from edgarmill.schemas.settings import Settings
from edgarmill.workers import chunk, summaries, tree
from edgarmill.workers.asking import Answered, Asker, asker_at, endpoint_of
from edgarmill.workers.embed.models import resolve
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.outline import Node, check, pager, walk
from edgarmill.workers.summaries import Written
from edgarmill.workers.tree import NONE, TreeOptions

FALLBACK = "structural"
_EXHIBIT = re.compile(r"EX-13(?!\d)")  # the annual report that a 10-K's Items point to


@dataclass(frozen=True, slots=True)
class Growing:
    """What the tree stage works with. `tree` is its key."""

    kind: str
    options: TreeOptions
    tree: str
    asker: Asker | None = None
    tokenizer: Tokenizer | None = None  # where summaries are made


def options_of(kind: Kind) -> TreeOptions:
    """Raises UnknownName, SettingsError in one line."""
    found = chunk.options(tree.builder(kind.kind).Options, kind.options, "tree")
    assert isinstance(found, TreeOptions)
    return found


def endpoint_for(kind: Kind, settings: Settings) -> Endpoint | None:
    """The endpoint of a tree that asks a model, None for one that asks none. Checks the recipe; raises as `asking.endpoint_for`."""
    if kind.kind == NONE:
        return None
    options = options_of(kind)
    return endpoint_of(options, settings) if _asks(kind.kind) or options.summaries != "none" else None


def settled(kind: Kind) -> str:
    """All that decides the trees of a recipe: where the model is served does not, nor do settings of summaries that are not made."""
    module, options = tree.builder(kind.kind), options_of(kind)
    unasked = {"endpoint"} if _asks(kind.kind) or options.summaries != "none" else {"endpoint", "model"}
    if options.summaries == "none":
        unasked |= {"summary_tokens", "window_tokens", "rule"}
    said = {"kind": kind.kind, "version": module.VERSION, "options": options.model_dump(mode="json", exclude=unasked)}
    said |= {"instruction": module.INSTRUCTION, "fallback": tree.builder(FALLBACK).VERSION} if _asks(kind.kind) else {}
    said |= {"summaries": summaries.instruction(options)} if options.summaries != "none" else {}
    return ids.fingerprint(said)


def open_growing(kind: Kind, key: str, settings: Settings, root: str, run_id: str) -> Growing:
    """What a worker needs. Raises as `endpoint_for`."""
    options, endpoint = options_of(kind), endpoint_for(kind, settings)
    asker = asker_at(endpoint, kind, settings, root, run_id, "tree") if endpoint is not None else None
    tokenizer = Tokenizer(resolve(EmbeddingModel(), settings).tokenizer_path) if options.summaries != "none" else None
    return Growing(kind.kind, options, key, asker, tokenizer)


def documents_of(filing: Filing, documents: Sequence[Document]) -> list[Document]:
    """Those that get a tree: the main document, and an annual report as exhibit 13."""
    written = [d for d in documents if d.text.strip()]
    main = next((d for d in written if d.type == filing.form), written[0] if written else None)
    return [d for d in written if d is main or _EXHIBIT.match(d.type)]


def trees_of(
    filing: Filing,
    documents: Sequence[Document],
    elements: Mapping[str, Sequence[Element]],
    sections: Mapping[str, Sequence[Section]],
    growing: Growing,
) -> tuple[list[TreeNode], Answered | None]:
    """The rows of all nodes, and what was asked: no rows where that holds an error."""
    chosen = documents_of(filing, documents)

    def work(purse: Any) -> list[TreeNode]:
        of = [(d, elements.get(d.document_id, []), sections.get(d.document_id, [])) for d in chosen]
        return [row for one in of for row in _grown(filing, *one, growing, purse)]

    if growing.asker is None:
        return work(None), None
    answered = growing.asker.answered(filing.accession, work)
    return answered.found or [], answered


def _grown(
    filing: Filing, document: Document, elements: Sequence[Element], sections: Sequence[Section], growing: Growing, purse: Any
) -> list[TreeNode]:
    """The rows of one document's tree. Raises ModelFailed, OverBudget: the filing is set aside."""
    asker, builder, fallback = growing.asker, growing.kind, None
    asks: tuple[Any, ...] = ()
    if asker is not None and _asks(builder):
        asks = (lambda form, messages, most: asker.client.ask(form, messages, purse, most_output=most),)
    try:
        root = _built(builder, document, elements, sections, growing.options, *asks)
    except (MalformedAnswer, OverCap, BadFile) as error:
        fallback = error.reason
    except InvalidTree as error:
        fallback = f"{error.reason}: {error.what}"
    if fallback is not None:
        builder = FALLBACK
        root = _built(builder, document, elements, sections, growing.options)
    root.title = _title(filing, document)
    written: dict[Node, Written] = {}
    if growing.tokenizer is not None and asker is not None:
        written = summaries.summarised(
            root, document.text, growing.options, growing.tokenizer,
            lambda form, asks, most: asker.client.ask_each(form, asks, purse, most_output=most),
        )  # fmt: skip
    model = asker.client.endpoint.model if asker is not None else None
    return _rows(document, elements, root, growing.tree, written, builder, model, fallback)


def _built(
    kind: str, document: Document, elements: Sequence[Element], sections: Sequence[Section], options: TreeOptions, *ask: Any
) -> Node:
    root: Node = tree.builder(kind).build(document, elements, sections, options, *ask)
    check(root, len(document.text), options.max_depth, options.max_children)
    return root


def _rows(
    document: Document,
    elements: Sequence[Element],
    root: Node,
    key: str,
    written: Mapping[Node, Written],
    builder: str,
    model: str | None,
    fallback: str | None,
) -> list[TreeNode]:
    page, nodes = pager(elements), list(walk(root))
    names = {node: f"{number:04d}" for number, (node, _, _) in enumerate(nodes, 1)}
    rows = []
    for number, (node, parent, level) in enumerate(nodes):
        said = written.get(node)
        rows.append(
            TreeNode(
                document.document_id, document.accession, key, names[node], names[parent] if parent else None, number, level, node.title,
                node.section, page(node.start), page(max(node.start, node.end - 1)), node.start, node.end,
                node.end - node.start - sum(child.end - child.start for child in node.children),
                said.tokens if said else None, said.cut if said else None, said.summary if said else None, said.how if said else None,
                builder, model, fallback, said.why if said else None,
            )  # fmt: skip
        )
    return rows


def _title(filing: Filing, document: Document) -> str:
    """The root's: whose report of what it is."""
    period = f"for {filing.period_on.isoformat()}" if filing.period_on else ""
    return " ".join(filter(None, (filing.company, document.type or filing.form, period))) or document.name


def _asks(kind: str) -> bool:
    return bool(getattr(tree.builder(kind), "ASKS_MODEL", False))
