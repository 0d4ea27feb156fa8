"""Nodes of the trees of a lake as a search gives them: which filings there are, where a chunk lies, and a node as a hit."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from edgarmill.retrieval.budget import CHARACTERS, around
from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.search import readable
from edgarmill.schemas import ids
from edgarmill.schemas.records import Hit, TreeNode
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.tables import TABLES, pylist
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.index.rows import quoted

_FILING = ["accession", "company", "form", "fiscal_year", "fiscal_quarter", "period_on"]
_CHUNK = ["document_id", "accession", "company", "tickers", "ciks", "form", "fiscal_year", "fiscal_quarter", "filed_on", "period_on", "url",
          "part", "item", "ordinal", "start", "end", "page_start", "page_end"]
_FROM_CHUNK = ("document_id", "accession", "company", "form", "fiscal_year", "fiscal_quarter", "filed_on", "period_on", "url", "part",
               "item", "ordinal")
Span = tuple[int, int]


@dataclass(frozen=True)
class Outline:
    """One document's tree: its nodes in reading order, the root first."""

    document_id: str
    accession: str
    nodes: tuple[TreeNode, ...]

    @cached_property
    def below(self) -> dict[str | None, list[TreeNode]]:
        """Children by their parent's node_id."""
        found: dict[str | None, list[TreeNode]] = {}
        for node in self.nodes:
            found.setdefault(node.parent, []).append(node)
        return found

    @cached_property
    def by_id(self) -> dict[str, TreeNode]:
        return {node.node_id: node for node in self.nodes}

    def holding(self, at: int) -> TreeNode:
        """The deepest node over a character: of those in reading order the last one that holds it."""
        inside = self.nodes[: bisect_right([node.start for node in self.nodes], at)]
        return next((node for node in reversed(inside) if at < node.end), self.nodes[0])

    def path(self, node: TreeNode) -> list[TreeNode]:
        """From the root to its parent."""
        found: list[TreeNode] = []
        while node.parent is not None:
            node = self.by_id[node.parent]
            found.append(node)
        return found[::-1]


@dataclass(frozen=True, slots=True)
class Picked:
    """A node that a model picked. `core`: characters of the best chunk in it, where one is known."""

    outline: Outline
    node: TreeNode
    scores: Mapping[str, float]
    core: Span | None = None


def outlines(snapshot: Snapshot, accessions: Iterable[str]) -> list[Outline]:
    """The trees of filings, documents in order; of several recipes' trees of a document the one made last."""
    rows = pylist(snapshot.read("trees", None, {"accession": sorted(set(accessions))}))
    last: dict[str, tuple[str, str]] = {}
    for row in rows:
        last[row["document_id"]] = max(last.get(row["document_id"], ("", "")), (row["run_id"], row["tree"]))
    grown: dict[str, list[TreeNode]] = {}
    for row in rows:
        if last[row["document_id"]][1] == row["tree"]:
            grown.setdefault(row["document_id"], []).append(TABLES["trees"].record_of(row))
    return [Outline(key, nodes[0].accession, tuple(sorted(nodes, key=lambda node: node.ordinal))) for key, nodes in sorted(grown.items())]


def filings(dataset: Any, filters: Filters) -> list[dict[str, Any]]:
    """The filings that filters keep, in the index, the newest period of each company first. Item and part do not narrow filings."""
    where = replace(filters, item=None, part=None).expression
    rows = _rows(dataset, _FILING, f"({where}) AND ordinal = 0" if where else "ordinal = 0")
    found = {row["accession"]: row for row in rows}
    newest = sorted(found.values(), key=lambda row: (str(row["period_on"] or ""), row["accession"]), reverse=True)
    return sorted(newest, key=lambda row: row["company"] or "")


def hits_of(picked: Sequence[Picked], dataset: Any, texts: Mapping[str, str], tokens: int, tokenizer: Callable[[], Tokenizer]) -> list[Hit]:
    """The nodes as hits, in their order: text = document[start:end]. A node longer than `tokens` is cut to so many around its core.

    Part and Item are those of the chunk in which it begins, and the section's title is the node's own. A node of a document that the index
    or the lake does not have is left out.
    """
    documents = sorted({one.outline.document_id for one in picked})
    accessions = ", ".join(sorted({quoted(one.outline.accession) for one in picked}))
    where = f"accession IN ({accessions}) AND document_id IN ({', '.join(map(quoted, documents))})"
    chunks: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(_rows(dataset, _CHUNK, where), key=lambda row: row["ordinal"]) if picked else []:
        chunks.setdefault(row["document_id"], []).append(row)
    found: list[Hit] = []
    for one in picked:
        text, rows = texts.get(one.outline.document_id, ""), chunks.get(one.outline.document_id)
        if rows and one.node.end <= len(text):
            span = _clipped(text, one, tokens, tokenizer)
            found.append(_hit(one, span, text[span[0] : span[1]], rows, len(found) + 1))
    return found


def _clipped(text: str, one: Picked, tokens: int, tokenizer: Callable[[], Tokenizer]) -> Span:
    start, end = one.node.start, one.node.end
    if end - start <= tokens or (end - start <= 2 * tokens * CHARACTERS and tokenizer().count(text[start:end]) <= tokens):
        return start, end
    core = one.core or (start, start)
    low = min(max(core[0], start), end - 1)
    return around(text, (start, end), (low, min(max(core[1], low + 1), end)), tokens, tokenizer())


def _hit(one: Picked, span: Span, text: str, rows: Sequence[Mapping[str, Any]], rank: int) -> Hit:
    start, end = span
    inside = [row for row in rows if row["start"] < end and row["end"] > start]
    first = inside[0] if inside else max((row for row in rows if row["start"] <= start), key=lambda row: row["start"], default=rows[0])
    whole = span == (one.node.start, one.node.end)
    pages = (one.node.start_index, one.node.end_index)
    if not whole and inside:
        pages = (min(row["page_start"] for row in inside), max(row["page_end"] for row in inside))
    return Hit(
        rank=rank, score=one.scores["tree"], chunk_id=ids.digest("node", one.outline.document_id, one.node.tree, one.node.node_id),
        section_title=one.node.title, page_start=pages[0], page_end=pages[1], start=start, end=end, text=text, scores=dict(one.scores),
        tickers=tuple(first["tickers"] or ()), ciks=tuple(first["ciks"] or ()), **{name: first[name] for name in _FROM_CHUNK})


def _rows(dataset: Any, columns: list[str], where: str) -> list[dict[str, Any]]:
    with readable(dataset.uri):
        return list(dataset.scanner(columns=columns, filter=where).to_table().to_pylist())
