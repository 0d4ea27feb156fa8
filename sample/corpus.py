"""Writes the sample: filings, questions and the ticker file into a folder. One company at a time, so any number fits into memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from edgarmill.sample.archive import TICKERS
from edgarmill.sample.companies import company
from edgarmill.sample.filings import PLAN, filings_of
from edgarmill.sample.questions import Source, questions_of, source_of
from edgarmill.schemas.errors import StorageError, UsageError


@dataclass(frozen=True)
class Corpus:
    """What was written. `questions_file` is JSON lines in the form of the question sets; paths as given."""

    folder: str
    filings: int
    bytes: int
    tickers: tuple[str, ...]
    ciks: tuple[str, ...]
    questions: int
    questions_file: str


def write_corpus(folder: str | Path, filings: int = 36, seed: int = 7, *, per_company: int = 6, weight: int = 1) -> Corpus:
    """Filings of fictional companies as <accession>.txt, questions.jsonl, and the ticker file that the replay server serves.

    The same arguments give the same bytes. `weight` lengthens annual reports (each step about 17 KB). Raises UsageError, StorageError.
    """
    if not 1 <= per_company <= len(PLAN) or filings < 1 or weight < 1:
        raise UsageError(f"per_company is 1 to {len(PLAN)}, filings and weight are at least 1", "sample", "Choose other numbers.")
    root = Path(folder)
    try:
        root.mkdir(parents=True, exist_ok=True)
        with (root / "questions.jsonl").open("w", encoding="utf-8", newline="\n") as file:
            return _write(root, filings, seed, per_company, weight, file.write)
    except OSError as error:
        raise StorageError(f"the sample cannot be written: {error.strerror}", str(root), "Name a folder that can be written to.") from None


def _write(root: Path, filings: int, seed: int, per_company: int, weight: int, ask: Callable[[str], object]) -> Corpus:
    tickers, ciks, written, size, asked = list[tuple[int, str, str, str]](), list[str](), 0, 0, 0
    before: list[Source] = []
    for index in range(-(-filings // per_company)):
        one = company(seed, index)
        sources = []
        for made in filings_of(one, min(per_company, filings - written), weight):
            (root / f"{made.accession}.txt").write_bytes(made.data)
            written, size = written + 1, size + len(made.data)
            sources.append(source_of(made))
        for record in questions_of(index, sources, before):
            ask(json.dumps(record, ensure_ascii=False) + "\n")
            asked += 1
        before = sources
        tickers.append((int(one.cik), one.name, one.ticker, one.exchange[0]))
        ciks.append(one.cik)
    table = {"fields": ["cik", "name", "ticker", "exchange"], "data": tickers}
    (root / TICKERS).write_text(json.dumps(table, ensure_ascii=False), encoding="utf-8")
    return Corpus(str(root), written, size, tuple(t[2] for t in tickers), tuple(ciks), asked, str(root / "questions.jsonl"))
