"""A question set answered, block by block: each block is committed once, and what is answered is not asked again.

A question whose model gave no answer in passing, or that the budget had no room for, is asked again by the next run; every other error is
the answer that there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from edgarmill.eval.answering.answer import Answerer, Way, way_of
from edgarmill.eval.answering.desk import Options
from edgarmill.eval.questions.question_set import QuestionSet
from edgarmill.retrieval.retriever import Retriever
from edgarmill.schemas.errors import UnknownName
from edgarmill.schemas.prices import price_set
from edgarmill.schemas.records import AnswerRow, Question
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.store import Drop, Lake, Writer, write_part
from edgarmill.workers.at_once import at_once

if TYPE_CHECKING:
    from edgarmill.retrieval.retrieve import Reader
    from edgarmill.workers.models.client import Client
    from edgarmill.workers.models.purse import Budget

BLOCK = 20  # questions: what a killed run asks its cache for again
AGAIN = frozenset({"ModelFailed", "OverBudget"})
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Answers:
    """All answers of a set in one way, in the order of the set; `fresh` of them were made now."""

    answers_id: str
    way: Way
    rows: tuple[AnswerRow, ...]
    fresh: int


class Resumed:
    """`booked` for a Client: the ledger holds the rows of these subjects. Remembers for which others an answer was paid before."""

    def __init__(self, known: set[str]) -> None:
        self._known, self._lost = known, set[str]()

    def booked(self, payer: Mapping[str, Any]) -> bool:
        if payer.get("subject") in self._known:
            return True
        self._lost.add(str(payer.get("subject")))
        return False

    def __call__(self, subject: str) -> bool:
        return subject in self._lost


@contextmanager
def asking(model: str, settings: Settings, lake: Lake, booked: Callable[[Mapping[str, Any]], bool]) -> Iterator[Client]:
    """The client of endpoint:NAME/MODEL, which waits for no batch; `booked` as of Client. Raises UnknownName, SettingsError."""
    from edgarmill.workers.asking import endpoint_at
    from edgarmill.workers.models.client import Client

    name, _, served = model.removeprefix("endpoint:").partition("/")
    endpoint = endpoint_at(name, served, settings).model_copy(update={"tier": "standard"})
    with Client(endpoint, lake, price_set(settings.prices), booked=booked) as client:
        yield client


def stored(snapshot: Snapshot, answers_id: str) -> list[AnswerRow]:
    """The answers of that id, or of the one id that begins so, by question. Raises UnknownName."""
    found: list[AnswerRow] = [row for row in snapshot.records("answers") if answers_id and row.answers_id.startswith(answers_id)]
    if len({row.answers_id for row in found}) != 1:
        what = "several sets of answers have ids that begin so" if found else "no such answers"
        raise UnknownName(what, answers_id[:40], "edgarmill answers SET --model … makes some and prints their id.")
    return sorted(found, key=lambda row: row.question_id)


def answer_all(lake: Lake, writer: Writer, asked: QuestionSet, reader: Reader, kind: str, model: str, settings: Settings, *,
               retriever: Retriever, options: Options, limit: int | None = None, budget: Budget | None = None,
               progress: Progress = lambda done, total: None) -> Answers:
    """Answers what is not answered yet, of the first `limit` questions.

    Raises what would strike every question alike; answers made until then are committed.
    """
    rows = lake.snapshot().records("answers", {"questions_hash": [asked.set_hash]})
    known = {row.answer_id for row in rows}
    resumed = Resumed({row.answer_id for row in rows if row.error not in AGAIN})  # a row in whose place another comes tells it again
    with asking(model, settings, lake, resumed.booked) as client:
        way = way_of(kind, model, client, retriever, options)
        answers_id = way.answers_id(asked.set_hash, reader.index.version.version_id)
        done = {row.question_id: row for row in rows if row.answers_id == answers_id}
        wanted = asked.questions[:limit]
        todo = [q for q in wanted if q.question_id not in done or done[q.question_id].error in AGAIN]
        answerer = Answerer(way, replace(reader, budget=budget), client, budget, writer.run_id, resumed)

        def one(question: Question) -> AnswerRow:
            return answerer.answer(question, answers_id, asked.set_hash, asked.name)

        for start in range(0, len(todo), BLOCK):
            made: list[AnswerRow] = []
            try:
                with closing(at_once(one, todo[start : start + BLOCK], client.endpoint.concurrency, client.stop)) as answered:
                    for _, future in answered:
                        made.append(future.result())
                        progress(start + len(made), len(todo))
            finally:
                commit(lake, writer, "answers", "answer_id", made, known)
            done |= {row.question_id: row for row in made}
    return Answers(answers_id, way, tuple(done[q.question_id] for q in wanted), len(todo))


def commit(lake: Lake, writer: Writer, table: str, column: str, rows: Sequence[Any], known: set[str]) -> None:
    """Commits rows, in the order of their ids, in the place of those with the same ids."""
    if not rows:
        return
    ids = sorted(getattr(row, column) for row in rows)
    part = write_part(lake.root, table, writer.run_id, sorted(rows, key=lambda row: str(getattr(row, column))), writer.run_id)
    drop = [Drop(table, column, frozenset(ids))] if known & set(ids) else []
    writer.commit([part], key=f"{table}:{writer.run_id}:{ids[0]}", drop=drop, message=f"{len(rows)} {table}")
