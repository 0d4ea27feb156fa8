"""The cells of an evaluation: one index version asked by one retriever each. A cell's rows come as parts that its caller commits; what went
wrong with one is a line of its own, and the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edgarmill.eval.evaluation import Named, key_of, places_of, row_of, scored
from edgarmill.eval.experiments import Arm
from edgarmill.eval.replay import Replay, TokenCounter, Vector, replay
from edgarmill.retrieval.retrieve import Reader, open_reader
from edgarmill.retrieval.retriever import Retriever
from edgarmill.schemas.errors import EdgarmillError, StorageError, UsageError
from edgarmill.schemas.records import GoldRow, IndexVersion
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake, Part, write_part

OPEN_READERS = 4
BY_WORDS = " words"


@dataclass(frozen=True)
class Cell:
    evaluation_id: str
    version: IndexVersion
    arm: Arm


@dataclass(frozen=True)
class Done:
    """A cell's rows as parts to commit; or, in one line, why there are none. `told`: what should be known of those there are."""

    cell: Cell
    parts: tuple[Part, ...] = ()
    why: str = ""
    told: str = ""


@dataclass(frozen=True)
class Opened:
    """A version's reader, and what counts the tokens of what it gives."""

    reader: Reader
    tokens: TokenCounter | None


@dataclass(frozen=True)
class Grid:
    """What all cells share. `vectors`: by model hash and question."""

    root: str
    settings: Settings
    rows: tuple[GoldRow, ...]
    set_hash: str
    set_name: str
    questions_hash: str
    experiment: str | None
    run_id: str
    vectors: Mapping[str, Mapping[str, Vector]]
    engine: str = "loop"
    readers: dict[str, Opened] = field(default_factory=dict, compare=False)

    @property
    def questions(self) -> int:
        return len({row.question_id for row in self.rows})


def run_cell(grid: Grid, cell: Cell, done: Callable[[int], None] = lambda questions: None) -> Done:
    """Asks all questions of one version by one retriever, scores what came back, and writes its parts. Raises StorageError."""
    try:
        played = _played(grid, cell, done)
    except StorageError:
        raise
    except EdgarmillError as error:
        return Done(cell, why=str(error))
    failed = [one.error for one in played.asked if one.error]
    plain = [one.notes for one in played.asked if one.notes]
    if len(failed) == len(played.asked):
        return Done(cell, why=f"not one question was answered: {failed[0] if failed else 'there is none'}")
    if plain and len(failed) + len(plain) == len(played.asked):
        return Done(cell, why=f"the model helped with no question: {plain[0]}")
    lake = Lake.open(grid.root)
    key = key_of(cell.version.version_id, grid.set_hash, cell.arm.retriever)
    named = Named(grid.set_name, grid.questions_hash, cell.arm.name, grid.experiment, grid.engine)
    row = row_of(key, cell.version, cell.arm.retriever, grid.rows, played, named)
    tables: dict[str, Sequence[Any]] = {
        "evaluations": [row], "rankings": played.rankings, "asked": played.asked,
        "scores": scored(row, grid.rows, played, places_of(lake.snapshot(), grid.rows))}
    name = f"{grid.run_id}-{cell.evaluation_id[:12]}"
    parts = [write_part(grid.root, table, name, list(rows), grid.run_id) for table, rows in tables.items() if rows]
    told = [f"{len(failed)} of {len(played.asked)} questions failed: {failed[0]}"] if failed else []
    told += [f"{len(plain)} went on without the model: {plain[0]}"] if plain else []
    return Done(cell, tuple(parts), told="; ".join(told))


def _played(grid: Grid, cell: Cell, done: Callable[[int], None]) -> Replay:
    retriever, version = cell.arm.retriever, cell.version
    reader = _reader(grid, cell)
    return replay(key_of(version.version_id, grid.set_hash, retriever), grid.rows, reader.reader, retriever,
                  vectors=grid.vectors.get(version.model_hash, {}), tokens=reader.tokens, progress=lambda: done(1))


def _reader(grid: Grid, cell: Cell) -> Opened:
    """Kept open over the arms of a version; the keyword mode alone needs no model."""
    name = reader_name(cell)
    if name not in grid.readers:
        while len(grid.readers) >= OPEN_READERS:
            grid.readers.pop(next(iter(grid.readers)))
        modes = ("keyword",) if name.endswith(BY_WORDS) else ("hybrid",)
        opened = open_reader(Lake.open(grid.root), cell.version, grid.settings, modes)
        opened.index.candidates("revenue", Retriever(mode="keyword", k=1))  # reading the index's files is no question's time
        grid.readers[name] = Opened(opened, _counter(opened))
    return grid.readers[name]


def reader_name(cell: Cell) -> str:
    """Under which the cell's reader is kept in `Grid.readers`."""
    by_words = cell.arm.retriever.mode == "keyword" and not cell.arm.retriever.reranker
    return f"{cell.version.version_id}{BY_WORDS if by_words else ''}"


def _counter(reader: Reader) -> TokenCounter | None:
    """None where the index's tokenizer is not at hand: then no tokens are told."""
    try:
        return TokenCounter(reader.tokenizer.counts)
    except UsageError:
        return None
