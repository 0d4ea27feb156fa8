"""A block of filings: what goes to a worker and what comes back. Rows carry ids and paths, never bytes: texts stay in Parquet parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from edgarmill.schemas.errors import EdgarmillError
from edgarmill.schemas.ids import digest
from edgarmill.schemas.records import Filing, Quarantine, RunStage, WorkDone
from edgarmill.schemas.store import Drop, Part, Snapshot

BLOCK_BYTES = 12 * 2**20
OPENED = 3  # open, parse and section rewrite a filing's documents, elements and sections: they are done together or not at all


@dataclass(frozen=True, slots=True)
class Task:
    """One filing to work on: what its source says of it, and which stages of the run are done already."""

    filing: Filing
    input: str  # hash of the raw bytes and of what the source says: done work of another input counts for nothing
    parts: tuple[str, ...] = ()  # for each stage of the run, from the first: the Parquet parts that hold its rows; "" = it is not done
    known: bool = False  # the lake has rows of this accession

    @property
    def done(self) -> int:
        """How many stages need not run."""
        return sum(map(bool, self.parts))

    def has(self, place: int) -> bool:
        """Whether the run's stage at that place is done."""
        return place < len(self.parts) and bool(self.parts[place])


@dataclass(frozen=True, slots=True)
class Block:
    block_id: str
    tasks: tuple[Task, ...]
    parts: tuple[Part, ...] = ()
    failed: tuple[Quarantine, ...] = ()
    stages: tuple[RunStage, ...] = ()
    error: EdgarmillError | None = None  # what ends the run, on its way from a worker to the driver

    @property
    def good(self) -> list[Task]:
        bad = {q.subject for q in self.failed}
        return [t for t in self.tasks if t.filing.accession not in bad]


@dataclass(frozen=True, slots=True)
class Planned:
    """All listed filings by what is to be done: listed = todo + unchanged + quarantined, always."""

    todo: tuple[Task, ...]
    unchanged: int
    quarantined: tuple[Quarantine, ...] = field(default=())  # now, or known from an earlier run and not to be tried again

    @property
    def listed(self) -> int:
        return len(self.todo) + self.unchanged + len(self.quarantined)


def input_of(filing: Filing) -> str:
    """Hash of the raw bytes and of all that the source says of the filing: a corrected manifest line is a new input.

    What is not said leaves no trace, so that a column more changes no hash.
    """
    said = ((name, getattr(filing, name), of.default) for name, of in Filing.__dataclass_fields__.items())
    return digest(*(f"{name}={value}" for name, value, default in said if value != default))


def tasks_of(
    filings: Iterable[Filing], snapshot: Snapshot, keys: Mapping[str, str], retry: bool = False
) -> tuple[list[Task], int, set[str]]:
    """Tasks that are left, the number unchanged, and the accessions whose quarantine still stands.

    `keys` are `Setup.keys`, in stage order. An expected failure of the same input at the same stage key is not tried again;
    a defect of our own is (its work row is never written), and with `retry` every one is.
    """
    held = set() if retry else set(snapshot.read("quarantine", ["subject"])["subject"].to_pylist())
    rows = [w for w in snapshot.records("work") if w.outcome != "quarantined" or w.subject in held]
    done: dict[tuple[str, str, str], WorkDone] = {(w.subject, w.fingerprint, w.sha256): w for w in rows}
    known = set(snapshot.read("filings", ["accession"])["accession"].to_pylist())
    todo: list[Task] = []
    unchanged, standing = 0, set()
    for filing in filings:
        task = _task(filing, done, list(keys.values()), filing.accession in known)
        if task is None:
            standing.add(filing.accession)
        elif task.done == len(keys):
            unchanged += 1
        else:
            todo.append(task)
    return todo, unchanged, standing


def _task(filing: Filing, done: Mapping[tuple[str, str, str], WorkDone], keys: Sequence[str], known: bool) -> Task | None:
    """The task of one filing, or None where it stands quarantined."""
    given = input_of(filing)
    rows = [done.get((filing.accession, key, given)) for key in keys]
    if any(row is not None and row.outcome == "quarantined" for row in rows):
        return None
    parts = [row.part if row is not None else "" for row in rows]  # a key covers what its stage builds on, so no stage stands on sand
    while parts and not parts[-1]:
        parts.pop()
    return Task(filing, given, tuple(parts) if len(parts) >= OPENED and all(parts[:OPENED]) else (), known)


def blocks_of(tasks: Sequence[Task], size: int, run_id: str, most_bytes: int = BLOCK_BYTES) -> list[Block]:
    """Blocks of at most `size` filings and, beyond the first filing, `most_bytes` of raw bytes: so that no worker holds many large ones,
    and that long filings too are committed, and shown as done, every minute or so."""
    groups: list[list[Task]] = []
    held = 0
    for task in tasks:
        if not groups or len(groups[-1]) >= size or held + task.filing.bytes > most_bytes:
            groups.append([])
            held = 0
        groups[-1].append(task)
        held += task.filing.bytes
    return [Block(f"{run_id}-{n:05d}", tuple(group)) for n, group in enumerate(groups)]


def drops_of(block: Block) -> list[Drop]:
    """Rows that a finished block replaces: all of a filing that was opened anew, and the old quarantine rows of those that are good now."""
    opened = frozenset(t.filing.accession for t in block.good if t.done == 0 and t.known)
    good = frozenset(t.filing.accession for t in block.good)
    tables = ("filings", "documents", "elements", "sections", "facts", "chunks", "chunkings", "contexts", "trees")
    drops = [Drop(name, "accession", opened) for name in tables if opened]
    if opened:
        drops.append(Drop("work", "subject", opened))
    return [*drops, Drop("quarantine", "subject", good)]
