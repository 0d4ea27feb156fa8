"""An evaluation as files of other tools: run files in TREC form, qrels, and corpus and queries as BEIR lays them out.

    qrels.trec, qrels.tsv     what is relevant: each piece of gold of each judged question is an item "QUESTION#gold0"
    run.top5.trec, run.top10.trec, run.trec     items in the order found by the first 5 hits, the first 10, and all
    corpus.jsonl              the text of every item: pieces of gold, and hits that hold none; where wanted, all other chunks of the index
    queries.jsonl             every question asked; those without judgement (null, or unresolved gold) are in no other file
    measures.json             which measure of ir_measures over which run gives which metric of ours, and our mean

A hit that finds gold stands as that gold, where it is first found (see metrics.py); so it has as many items as pieces it finds. That is why
metrics of the first 5 hits have a run of their own. Scores are places counted from the end: there are no ties. A judged question without
hits has the one item "none", so that tools which leave out what is not in the run count it too.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgarmill.eval.metrics import MEASURES, Judged, by_metric
from edgarmill.schemas.errors import StorageError, UsageError
from edgarmill.schemas.records import Ranking

if TYPE_CHECKING:
    from edgarmill.eval.stored import Stored
    from edgarmill.schemas.snapshot import Snapshot

NOTHING = "none"
RUNS = {"run.top5.trec": 5, "run.top10.trec": 10, "run.trec": None}
BATCH = 64  # documents whose texts are held at a time
ROWS = 1_024  # of an index that are read at a time
_WORD = re.compile(r"\w+")
_SPLITS = re.compile(r"[\s%\x00-\x1f\x7f]")

Item = tuple[str, str, int, int]  # id, document, start, end


def export(snapshot: Snapshot, found: Stored, folder: str, whole_index: bool = False) -> list[str]:
    """Writes the files into a new folder, all of them or none; their names. With `whole_index` every chunk of the index version stands in
    the corpus. Raises UsageError where the folder is there and not empty, LakeCorrupt where the version was collected.
    """
    with _appearing(folder) as made:
        _write(snapshot, found, made, whole_index)
    return sorted(path.name for path in Path(folder).iterdir())


def export_each(snapshot: Snapshot, found: Sequence[Stored], folder: str) -> list[str]:
    """Writes a new folder with one folder for each evaluation, by its arm and the beginning of its id, all or none; their names."""
    with _appearing(folder) as made:
        for one in found:
            inner = made / f"{'-'.join(_WORD.findall(one.evaluation.arm))[:40]}-{one.evaluation.evaluation_id[:12]}"
            inner.mkdir()
            _write(snapshot, one, inner, whole_index=False)
    return sorted(path.name for path in Path(folder).iterdir())


def check_new(folder: str) -> None:
    """Raises UsageError where something is there already, or no folder can be made: before there is anything to write."""
    target = Path(folder)
    if os.path.realpath(folder) == os.getcwd():
        raise UsageError("it is the current folder", folder, "Name a new folder.")
    try:
        if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
            raise UsageError("it is there already", folder, "Name a new folder.")
        above = next(one for one in target.absolute().parents if one.exists())
        os.rmdir(tempfile.mkdtemp(prefix=".edgarmill-", dir=above))  # no question of rights alone: /proc makes no folder for anyone
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror or error}", folder, "Name a new folder where one can be made.") from None


@contextmanager
def _appearing(folder: str) -> Iterator[Path]:
    """A folder beside the one that is meant, which becomes that one when all is written, and goes when something fails."""
    target = Path(folder)
    try:
        check_new(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            yield made
            made.chmod(0o755)
            os.replace(made, target)  # over an empty folder too
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise StorageError(f"cannot be written: {error.strerror or error}", folder, "Check its permissions and its disk.") from None


def run_lines(judged: Sequence[Judged], ranked: Mapping[str, Sequence[Ranking]], first: int | None,
              tag: str = "edgarmill") -> Iterator[str]:
    """A run over the first hits (None: all), in TREC form: query Q0 item rank score tag."""
    for q in judged:
        items = [item for item, *_ in items_of(q, ranked.get(q.question_id, ())[:first])] or [NOTHING]
        for place, item in enumerate(items):
            yield f"{_word(q.question_id)} Q0 {item} {place + 1} {len(items) - place} {tag}\n"


def qrels_lines(judged: Sequence[Judged]) -> Iterator[str]:
    """Judgements in TREC form: query 0 item relevance."""
    for q in judged:
        for item, *_ in _gold_items(q).values():
            yield f"{_word(q.question_id)} 0 {item} 1\n"


def items_of(q: Judged, hits: Sequence[Ranking]) -> list[Item]:
    """The ranking as items: each piece of gold where it is first found, and each hit that finds none."""
    gold, items = _gold_items(q), dict[str, Item]()
    for hit in hits:
        new = [gold[ordinal] for ordinal in hit.gold if gold[ordinal][0] not in items]
        for item in new or [(_word(hit.chunk_id), hit.document_id, hit.start, hit.end)]:
            items[item[0]] = item
    return list(items.values())


def _gold_items(q: Judged) -> dict[int, Item]:
    name = _word(q.question_id)
    return {g.ordinal: (f"{name}#gold{g.ordinal}", g.document_id or "", g.start or 0, g.end or 0) for g in q.gold}


def _word(name: str) -> str:
    """A name without blanks, at which these files are split."""
    return _SPLITS.sub(lambda match: f"%{ord(match[0]):02X}", name)


def _write(snapshot: Snapshot, found: Stored, folder: Path, whole_index: bool) -> None:
    judged = [q for q in found.judged if all(g.start is not None for g in q.gold)]  # whole documents are no items
    tag = _word(found.evaluation.arm or "edgarmill")
    _lines(folder / "qrels.trec", qrels_lines(judged))
    rows = (line.split() for line in qrels_lines(judged))
    pairs = (f"{query}\t{item}\t{relevance}\n" for query, _, item, relevance in rows)
    _lines(folder / "qrels.tsv", chain(["query-id\tcorpus-id\tscore\n"], pairs))
    for name, first in RUNS.items():
        _lines(folder / name, run_lines(judged, found.ranked, first, tag))
    _lines(folder / "queries.jsonl", (_json({"_id": _word(name), "text": row.question, "metadata": {"category": row.category,
                                             "answer": row.answer}}) for name, row in found.questions.items()))
    _lines(folder / "corpus.jsonl", _corpus(snapshot, found, judged, whole_index))
    (folder / "measures.json").write_text(json.dumps(_measures(found, judged), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _measures(found: Stored, judged: Sequence[Judged]) -> dict[str, Any]:
    values = by_metric(judged, found.ranked)
    rows = [{"metric": metric, "run": f"run.top{first}.trec", "measure": measure, "mean": _mean(values.get(metric, {}))}
            for first, measures in MEASURES.items() for metric, measure in measures.items()]
    row = found.evaluation
    return {"evaluation_id": row.evaluation_id, "set_name": row.set_name, "set_hash": row.set_hash, "version_id": row.version_id,
            "retriever": json.loads(row.retriever), "questions_judged": len(judged), "measures": rows}


def _mean(values: Mapping[str, float]) -> float | None:
    return sum(values.values()) / len(values) if values else None


def _corpus(snapshot: Snapshot, found: Stored, judged: Sequence[Judged], whole_index: bool) -> Iterator[str]:
    """Every item once, by document; one whose document is gone has no text. Then, where wanted, all other chunks of the index."""
    by_document: dict[str, dict[str, Item]] = {}
    for q in judged:
        for item in (*_gold_items(q).values(), *items_of(q, found.ranked.get(q.question_id, ()))):
            by_document.setdefault(item[1], {}).setdefault(item[0], item)
    names = sorted(by_document)
    for at in range(0, len(names), BATCH):
        rows = snapshot.read("documents", ["document_id", "text"], {"document_id": names[at : at + BATCH]}).to_pylist()
        texts = {row["document_id"]: row["text"] for row in rows}
        for name in names[at : at + BATCH]:
            for key, document, start, end in sorted(by_document[name].values()):
                yield _text(key, document, start, end, texts.get(document, "")[start:end])
    if whole_index:
        yield from _chunks(snapshot, found, {key for items in by_document.values() for key in items})


def _chunks(snapshot: Snapshot, found: Stored, written: Collection[str]) -> Iterator[str]:
    from edgarmill.retrieval.versions import by_id
    from edgarmill.schemas.store import Lake
    from edgarmill.workers.index.dataset import open_dataset

    version = by_id(snapshot, found.evaluation.version_id)
    dataset = open_dataset(Lake.open(snapshot.root), version.recipe, version.lance_version)
    columns = ["chunk_id", "document_id", "start", "end", "text"]
    for batch in dataset.to_batches(columns=columns, batch_size=ROWS):
        for key, *place in zip(*(batch[name].to_pylist() for name in columns), strict=True):
            if _word(key) not in written:
                yield _text(_word(key), *place)


def _text(key: str, document: str, start: int, end: int, text: str) -> str:
    return _json({"_id": key, "title": "", "text": text, "metadata": {"document_id": document, "start": start, "end": end}})


def _json(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def _lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(lines)
