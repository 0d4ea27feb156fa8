"""Tree retrieval: a model picks nodes of the filings' trees, walking down from the roots, or among the nodes that a search finds.

    walk       it chooses filings from a list, is shown the nodes below their roots, picks some and opens others, and so on
    narrowed   the chunks of a search lend their reciprocal ranks to the nodes that hold them; it picks among the best of those

Steps, width, list and tokens are bounded. Where it picks nothing, or says nothing of use, the caller has its plain search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field

from edgarmill.retrieval.adviser import Adviser, Said, among, line
from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.nodes import Outline, Picked, filings, hits_of, outlines
from edgarmill.schemas.errors import UsageError
from edgarmill.schemas.records import Hit, TreeNode

if TYPE_CHECKING:
    from edgarmill.retrieval.retrieve import Reader
    from edgarmill.retrieval.retriever import Retriever

MOST_FILINGS = 50  # in a list to choose from; of more, those that the plain search finds first
MOST_SHOWN = 120  # nodes of one look, and
MOST_CHARACTERS = 24_000  # of them all: a look may take as many tokens where the model's tokenizer is not known
MOST_CANDIDATES = 20  # nodes to pick from where a search narrowed them down
SEARCHED = 100  # chunks of that search
_TITLE, _SUMMARY = 160, 300  # characters that are shown
_CHOOSE = (
    "You find the filings with the U.S. Securities and Exchange Commission that answer a question. You are shown filings, one JSON object "
    'a line. Answer with one JSON object with one key, filings: a list of the "id" of those to read, the best first, at most {width}.'
)
_WALK = (
    "You find the sections of filings that answer a question, as one uses a table of contents. You are shown nodes, one JSON object a "
    'line: id, title, pages, what stands in it, characters, and "below": how many nodes it has below it. Answer with one JSON object with '
    "two keys: pick, a list of the ids of nodes whose text is to be read, the best first; and open, a list of at most {width} ids of nodes "
    "to look into. Open a long node rather than pick it. You have {left} more looks, and both lists may be empty."
)
_PICK = (
    "You find the sections of filings that answer a question. You are shown nodes, one JSON object a line, which a search found: id, "
    "title, pages, what stands in it. Answer with one JSON object with one key, pick: a list of the ids of those to read, the best first, "
    "at most {k}."
)


class Filings(Said):
    filings: tuple[str, ...] = Field(max_length=MOST_FILINGS)


class Step(Said):
    pick: tuple[str, ...] = Field(max_length=MOST_SHOWN)
    open: tuple[str, ...] = Field(max_length=MOST_SHOWN)


class Pick(Said):
    pick: tuple[str, ...] = Field(max_length=MOST_CANDIDATES)


@dataclass(frozen=True, slots=True)
class Visit:
    """What the model chose: a filing, or a node that it opened or picked. `step` from 1."""

    how: str  # filing | opened | picked
    step: int
    accession: str
    node_id: str
    title: str
    page_start: int | None = None
    page_end: int | None = None


Plain = Callable[[int, Filters], Sequence[Hit]]  # the plain search's hits: how many, under which filters
Place = tuple[Outline, TreeNode]


@dataclass
class Guided:
    """One question's way through trees. `visits` tells it."""

    reader: Reader
    knobs: Retriever
    adviser: Adviser
    question: str
    plain: Plain
    visits: list[Visit]

    def walked(self, filters: Filters) -> list[Hit]:
        """The nodes picked on a walk; [] with a note where there are none. Raises UsageError where the lake has no trees."""
        chosen = self._filings(filters)
        grown = self._outlines(chosen)
        places = self._walk(grown)
        long = any(node.end - node.start > self.knobs.parent_tokens for _, node in places)
        cores = self.plain(SEARCHED, Filters(accession=tuple({o.accession for o, _ in places}))) if long else ()
        picked = [Picked(outline, node, {"tree": 1 / rank}, _core(outline, node, cores)) for rank, (outline, node) in enumerate(places, 1)]
        return self._hits(picked)

    def narrowed(self, filters: Filters) -> list[Hit]:
        """The nodes picked among those that hold the plain search's chunks. As `walked`."""
        found = self.plain(SEARCHED, filters)
        grown = {one.document_id: one for one in self._outlines(list(dict.fromkeys(hit.accession for hit in found)))}
        scores: dict[tuple[str, str], float] = {}
        best: dict[tuple[str, str], Hit] = {}
        for rank, hit in enumerate(found, 1):
            if (outline := grown.get(hit.document_id)) is not None:
                key = (hit.document_id, outline.holding((hit.start + hit.end) // 2).node_id)
                scores[key] = scores.get(key, 0.0) + 1 / (self.knobs.rrf_k + rank)
                best.setdefault(key, hit)
        keys = sorted(scores, key=lambda key: (-scores[key], key))[:MOST_CANDIDATES]
        places = {f"{n}": (grown[document], grown[document].by_id[node]) for n, (document, node) in enumerate(keys, 1)}
        shown = [_shown(name, *places[name], found=line(best[key].text, _SUMMARY)) for name, key in zip(places, keys, strict=True)]
        form, instruction = among(Pick, ("pick",), places), _PICK.format(k=self.knobs.k)
        said = self.adviser.ask("tree", form, instruction, self.question, shown) if shown else None
        names = said.pick[: self.knobs.k] if said else ()
        self._tell("picked", 1, [places[name] for name in names])
        picked = [Picked(*places[name], {"tree": 1 / rank, "chunks": scores[key]}, (best[key].start, best[key].end))
                  for rank, name in enumerate(names, 1) if (key := keys[int(name) - 1])]
        if said and not names:
            self.adviser.notes.append("tree: the model picked no node")
        return self._hits(picked)

    def _filings(self, filters: Filters) -> list[str]:
        """Those to walk: all that the filters keep, or those that the model chooses from a list."""
        there = filings(self.reader.index.dataset, filters)
        width = self.knobs.tree_width
        if len(there) > MOST_FILINGS:
            first = list(dict.fromkeys(hit.accession for hit in self.plain(SEARCHED, filters)))[:MOST_FILINGS]
            by = {row["accession"]: row for row in there}
            there = [by[accession] for accession in first if accession in by]
        if len(there) <= width:
            return [row["accession"] for row in there]
        names = {f"{n}": row for n, row in enumerate(there, 1)}
        shown = [{"id": name, "company": line(row["company"] or "", _TITLE), "form": row["form"], "fiscal_year": row["fiscal_year"],
                  "quarter": row["fiscal_quarter"], "period_end": row["period_on"]} for name, row in names.items()]
        form = among(Filings, ("filings",), names)
        said = self.adviser.ask("tree", form, _CHOOSE.format(width=width), self.question, shown)
        chosen = [names[name] for name in (said.filings[:width] if said else ())]
        self.visits += [Visit("filing", 0, row["accession"], "", f"{row['company'] or ''} {row['form']} {row['period_on'] or ''}".strip())
                        for row in chosen]
        return [row["accession"] for row in chosen]

    def _outlines(self, accessions: Sequence[str]) -> list[Outline]:
        snapshot = self.reader.lake.snapshot()
        if not snapshot.tables.get("trees"):
            raise UsageError("no filing of this lake has a tree", self.reader.index.version.recipe,
                              'Ingest with a recipe that makes trees: [tree] with kind = "structural", as the default recipe has.')
        found = outlines(snapshot, accessions) if accessions else []
        if accessions and not found:
            self.adviser.notes.append("tree: none was made of these filings")
        order = {accession: place for place, accession in enumerate(accessions)}
        return sorted(found, key=lambda one: order[one.accession])

    def _walk(self, grown: Sequence[Outline]) -> list[Place]:
        """Nodes in the order in which they were picked; one that holds another is left out: it was opened, and something in it picked."""
        picked: dict[str, Place] = {}
        shown = {f"{n}.{node.node_id}": (one, node) for n, one in enumerate(grown, 1)
                 for node in one.below.get(one.nodes[0].node_id, one.nodes)}
        numbers = {one.document_id: n for n, one in enumerate(grown, 1)}
        for step in range(1, self.knobs.tree_steps + 1):
            rows = self._listed(shown, step)
            instruction = _WALK.format(width=self.knobs.tree_width, left=self.knobs.tree_steps - step)
            form = among(Step, ("pick", "open"), [row["id"] for row in rows])
            said = self.adviser.ask("tree", form, instruction, self.question, rows) if rows else None
            if said is None:
                break
            opened = [name for name in said.open if _children(*shown[name])][: self.knobs.tree_width]
            taken = [*said.pick, *(name for name in said.open if not _children(*shown[name]))]
            picked |= {name: shown[name] for name in taken}
            self._tell("picked", step, [shown[name] for name in taken])
            self._tell("opened", step, [shown[name] for name in opened])
            shown = {f"{numbers[outline.document_id]}.{child.node_id}": (outline, child)
                     for outline, node in (shown[name] for name in opened) for child in _children(outline, node)}
        places = [place for place in picked.values() if not any(_holds(place, other) for other in picked.values())][: self.knobs.k]
        if grown and not places:
            self.adviser.notes.append("tree: the model picked no node")
        return places

    def _listed(self, shown: dict[str, Place], step: int) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        room = MOST_CHARACTERS
        for name, place in list(shown.items())[:MOST_SHOWN]:
            row = _shown(name, *place, below=len(_children(*place)))
            room -= sum(len(str(value)) + 20 for value in row.values())
            if room < 0:
                break
            rows.append(row)
        if len(rows) < len(shown):
            self.adviser.notes.append(f"tree: {len(shown) - len(rows)} nodes of step {step} were not shown for want of room")
        return rows

    def _hits(self, picked: Sequence[Picked]) -> list[Hit]:
        texts = self.reader.documents({one.outline.document_id for one in picked})
        hits = hits_of(picked, self.reader.index.dataset, texts, self.knobs.parent_tokens, lambda: self.reader.tokenizer)
        if len(hits) < len(picked):
            self.adviser.notes.append(f"tree: {len(picked) - len(hits)} nodes are left out, their documents are not in the index")
        return hits

    def _tell(self, how: str, step: int, places: Sequence[Place]) -> None:
        self.visits += [Visit(how, step, outline.accession, node.node_id, node.title, node.start_index, node.end_index)
                        for outline, node in places]


def _children(outline: Outline, node: TreeNode) -> list[TreeNode]:
    return outline.below.get(node.node_id, [])


def _holds(place: Place, other: Place) -> bool:
    (one, node), (another, inner) = place, other
    return one is another and node is not inner and node.start <= inner.start and inner.end <= node.end and node.ordinal < inner.ordinal


def _core(outline: Outline, node: TreeNode, hits: Sequence[Hit]) -> tuple[int, int] | None:
    """The best chunk in a node."""
    return next(((hit.start, hit.end) for hit in hits
                 if hit.document_id == outline.document_id and node.start <= (hit.start + hit.end) // 2 < node.end), None)


def _shown(name: str, outline: Outline, node: TreeNode, **more: Any) -> dict[str, Any]:
    """A node as the model sees it: nothing of it is longer than a line."""
    above = [line(one.title, 60) for one in outline.path(node)]
    row: dict[str, Any] = {"id": name, "in": line(" > ".join(above), _TITLE + 60), "title": line(node.title, _TITLE),
                           "pages": f"{node.start_index}-{node.end_index}", "characters": node.end - node.start}
    if node.summary:
        row["summary"] = line(node.summary, _SUMMARY)
    return {**row, **more}
