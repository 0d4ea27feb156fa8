"""Query words that the index does not have, corrected to words that it has.

The vocabulary of a version is counted once, in one streaming pass that spills to disk beyond its memory, and kept in the lake
(`vocabulary/<version>.parquet`). Of a large index it is counted over an evenly spread part: that is enough for what a word is corrected to.
Whether the index has a word is asked of its full-text index, whether it is a word at all of the embedding model's tokenizer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from edgarmill.retrieval.companies import words_of
from edgarmill.schemas.disk import make_folder, refusals
from edgarmill.schemas.errors import LakeCorrupt
from edgarmill.schemas.interrupts import heed, heeding
from edgarmill.schemas.store import Lake

SHORTEST, LONGEST = 4, 30  # letters of a word that is corrected
TWO_FROM = 8  # letters from which two errors are taken for errors
MOST_WORDS = 400_000  # of a vocabulary, the most frequent: some 40 MB in memory
MOST_CORRECTED = 20  # words of one question: a text in another language is no misspelling
MEMORY_BYTES = 512 * 2**20
RARE_SHARE = 2_000  # a word that stands in the index, but this many times rarer than its neighbour, is a misspelling there too
COUNTING = 1  # version of how words are counted
_LETTERS = re.compile(r"[A-Za-z]+")
MOST_PASSAGES, RUN_PASSAGES = 200_000, 2_000  # counted at most; in runs of so many when there are more


@dataclass(frozen=True, slots=True)
class Correction:
    """question[start:end] read as another word."""

    text: str
    corrected: str
    start: int
    end: int


class Vocabulary:
    """The words of an index with the number of its passages that hold each. Threads share it."""

    def __init__(self, counts: dict[str, int]) -> None:
        self._counts = counts
        self._by_length: dict[int, list[str]] = {}
        for word in counts:
            self._by_length.setdefault(len(word), []).append(word)

    def __len__(self) -> int:
        return len(self._counts)

    def corrections(self, question: str, is_word: Callable[[str], bool], in_index: Callable[[str], bool],
                    names: Collection[str] = ()) -> list[Correction]:
        """Never of a number, a ticker, a word in capitals, a name of a company, or a word that is one or that the index has."""
        best: dict[str, str | None] = {}
        words = [word for word in words_of(question) if word.plain not in names and _may_be_wrong(question[word.start : word.end])]
        for word in words:
            written = question[word.start : word.end]
            if written not in best and len(best) < MOST_CORRECTED and not is_word(written.lower()):
                best[written] = self._best(written.lower(), word.capital, in_index, names)
        found = [(question[word.start : word.end], word) for word in words]
        return [Correction(written, better.title() if word.capital else better, word.start, word.end)
                for written, word in found if (better := best.get(written)) is not None]

    def _best(self, word: str, capital: bool, in_index: Callable[[str], bool], names: Collection[str]) -> str | None:
        held = self._counts.get(word, 0)
        if (held and capital) or (not held and in_index(word)):
            return None
        distance = 2 if len(word) >= TWO_FROM and not held else 1
        least = held * RARE_SHARE if held else 2
        near = [one for one in self._near(word, distance) if self._counts[one[0]] >= least and one[0] != word]
        ranked = sorted((errors, capital and one not in names, one[0] != word[0], -self._counts[one], one) for one, errors in near)
        return ranked[0][4] if ranked else None

    def _near(self, word: str, distance: int) -> list[tuple[str, int]]:
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        found: list[tuple[str, int]] = []
        for length in range(max(SHORTEST - 1, len(word) - distance), len(word) + distance + 1):
            words = self._by_length.get(length, [])
            found += [(one, int(d)) for one, d, _ in process.extract(word, words, scorer=OSA.distance, score_cutoff=distance, limit=None)]
        return found


def _may_be_wrong(written: str) -> bool:
    """A word of letters alone, long enough, neither in capitals nor in CamelCase."""
    return bool(_LETTERS.fullmatch(written)) and SHORTEST <= len(written) <= LONGEST and written[1:].islower()


def corrected(question: str, corrections: list[Correction]) -> str:
    for one in reversed(corrections):
        question = question[: one.start] + one.corrected + question[one.end :]
    return question


def vocabulary(lake: Lake, version_id: str, dataset: Any) -> Vocabulary:
    """Of a version, counted now or before. Raises StorageError, LakeCorrupt."""
    path = os.path.join(lake.folder("vocabulary"), f"{version_id}-{COUNTING}.parquet")
    if not os.path.exists(path):
        _count(dataset, path, lake.folder("tmp"))
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)  # type: ignore[no-untyped-call]  # pyarrow has no types
    except (OSError, ValueError) as error:
        heed(error)
        os.unlink(path)
        raise LakeCorrupt(f"kept vocabulary cannot be read ({type(error).__name__})", path, "Removed: ask again.") from None
    return Vocabulary(dict(zip(table["word"].to_pylist(), table["passages"].to_pylist(), strict=True)))


def _count(dataset: Any, path: str, spill: str) -> None:
    """Words of letters, small, with the number of passages; written whole or not at all."""
    import duckdb
    import pyarrow.parquet as pq

    with duckdb.connect(":memory:", config={"memory_limit": f"{MEMORY_BYTES}B", "temp_directory": spill}) as connection:
        connection.register("held", _texts(dataset))
        try:
            with heeding():
                words = connection.sql(_WORDS, params=[SHORTEST - 1, LONGEST, MOST_WORDS]).to_arrow_table()
        except duckdb.Error as error:
            what = f"the words cannot be counted ({str(error).splitlines()[0][:120]})"
            raise LakeCorrupt(what, dataset.uri, "Check the lake's free space, or search without spelling.") from error
    with refusals(path):
        make_folder(os.path.dirname(path))
        pq.write_table(words, f"{path}.{os.getpid()}")  # type: ignore[no-untyped-call]
        os.replace(f"{path}.{os.getpid()}", path)


def _texts(dataset: Any) -> Any:
    """All texts, or runs of them from all over the index."""
    import pyarrow as pa

    rows = dataset.count_rows()
    if rows <= MOST_PASSAGES:
        return dataset.scanner(columns=["text"], batch_size=RUN_PASSAGES).to_reader()
    runs = MOST_PASSAGES // RUN_PASSAGES
    places = (n * (rows - RUN_PASSAGES) // (runs - 1) for n in range(runs))
    batches = (batch for at in places for batch in dataset.scanner(columns=["text"], offset=at, limit=RUN_PASSAGES).to_batches())
    return pa.RecordBatchReader.from_batches(pa.schema([("text", pa.string())]), batches)


_WORDS = """
SELECT word, count(*)::BIGINT AS passages
FROM (SELECT unnest(list_distinct(string_split_regex(lower(text), '[^a-z]+'))) AS word FROM held)
WHERE length(word) BETWEEN $1 AND $2
GROUP BY word ORDER BY passages DESC, word LIMIT $3
"""
