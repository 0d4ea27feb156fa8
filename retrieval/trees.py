"""Node trees read from a lake: an outline with pages, and JSON as in Figure 1 of arXiv 2511.18177."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from edgarmill.retrieval.why import find
from edgarmill.schemas.errors import UnknownName
from edgarmill.schemas.records import TreeNode
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.tables import TABLES, pylist


@dataclass(frozen=True, slots=True)
class Tree:
    """One document's tree: its nodes in reading order. `others`: documents of the filing that have one too."""

    accession: str
    document: str  # its type
    nodes: tuple[TreeNode, ...]
    others: tuple[str, ...] = ()

    @property
    def root(self) -> TreeNode:
        return self.nodes[0]


def tree_of(snapshot: Snapshot, name: str, document: str = "", tree: str = "") -> Tree:
    """The tree of a filing, by accession or file name: of its main document or of another, by place, type or name.

    Of several recipes' trees the one made last, or the one whose key begins with `tree`. Raises UnknownName, UsageError.
    """
    mine = {"accession": {find(snapshot, name)}}
    rows = pylist(snapshot.read("trees", None, mine))
    if not rows:
        todo = 'Ingest it with a recipe that makes trees: [tree] with kind = "structural", as the default recipe has.'
        raise UnknownName("no tree was made of it", name, todo)
    documents = pylist(snapshot.read("documents", ["document_id", "sequence", "type", "name"], mine))
    form = snapshot.read("filings", ["form"], mine)["form"].to_pylist()[0]
    treed = {row["document_id"] for row in rows}
    known = sorted((d for d in documents if d["document_id"] in treed), key=lambda d: (d["type"] != form, d["sequence"]))
    asked = [d for d in known if not document or document.lower() in (str(d["sequence"]), d["type"].lower(), d["name"].lower())]
    if not asked:
        raise UnknownName("no tree was made of that document", document, f"There are: {', '.join(_word(d) for d in known)}.")
    of = [row for row in rows if row["document_id"] == asked[0]["document_id"]]
    keys = list(dict.fromkeys(row["tree"] for row in sorted(of, key=lambda row: row["run_id"], reverse=True)))
    chosen = next((key for key in keys if key.startswith(tree)), None)
    if chosen is None:
        raise UnknownName("no such tree of this document", tree, f"There are: {', '.join(keys)}.")
    nodes = sorted((TABLES["trees"].record_of(row) for row in of if row["tree"] == chosen), key=lambda node: node.ordinal)
    others = tuple(_word(d) for d in known if d is not asked[0])
    return Tree(asked[0]["document_id"].rpartition(":")[0], _word(asked[0]), tuple(nodes), others)


def nested(tree: Tree, summaries: bool = True) -> dict[str, Any]:
    """title, start_index, end_index, node_id, summary where there is one, nodes."""
    made: dict[str | None, dict[str, Any]] = {}
    for node in tree.nodes:
        one: dict[str, Any] = {"title": node.title, "start_index": node.start_index, "end_index": node.end_index, "node_id": node.node_id}
        if summaries and node.summary is not None:
            one["summary"] = node.summary
        one["nodes"] = []
        made[node.node_id] = one
        if node.parent is not None:
            made[node.parent]["nodes"].append(one)
    return made[tree.root.node_id]


def _word(document: dict[str, Any]) -> str:
    return str(document["type"] or document["name"] or document["sequence"])


def faults(snapshot: Snapshot) -> Sequence[dict[str, Any]]:
    """By model: trees that it was to read off the pages, and how many of them are none. See `schemas.views`."""
    from edgarmill.schemas.views import connect

    with connect(snapshot, ("trees",)) as connection:
        return pylist(connection.sql("select * from tree_faults order by model").to_arrow_table())
