"""One question answered in one way: a row, whatever becomes of it. A refusal is an answer; an error is none, and says its class.

What would strike every question alike (no such endpoint, a refused key, a damaged index) is raised.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from edgarmill.eval.answering.desk import Desk, Options, too_long
from edgarmill.eval.answering.drafts import Draft
from edgarmill.eval.answers import answerer
from edgarmill.retrieval.filters import Filters
from edgarmill.retrieval.retriever import Retriever
from edgarmill.retrieval.search import check_question
from edgarmill.schemas.errors import BadInput, ModelFailed, SettingsError, UnknownName, UsageError
from edgarmill.schemas.ids import digest, fingerprint
from edgarmill.schemas.records import AnswerRow, Question

if TYPE_CHECKING:
    from edgarmill.retrieval.retrieve import Reader
    from edgarmill.workers.models.client import Client
    from edgarmill.workers.models.purse import Budget

DEFAULT = Retriever(filters="inferred", tokens=3_000)
PLAIN_OPTIONS = Options()
CONTEXT_WINDOW = "ContextWindow"
LONGEST = 300  # characters of an error or note


@dataclass(frozen=True)
class Way:
    """How a set is answered. `model`: endpoint:NAME/MODEL; `served`: provider/model. Raises UnknownName for a kind that is not there."""

    kind: str
    model: str
    served: str
    retriever: Retriever
    options: Options = PLAIN_OPTIONS

    @property
    def module(self) -> Any:
        return answerer(self.kind)

    @property
    def prompt_hash(self) -> str:
        """Of all that is said to the model beside question and passages."""
        module = self.module
        forms = [form.model_json_schema() for form in module.FORMS]
        return fingerprint({"kind": self.kind, "version": module.VERSION, "prompts": list(module.PROMPTS), "forms": forms,
                            "options": self.options.content})

    def answers_id(self, questions_hash: str, version_id: str) -> str:
        return digest(questions_hash, version_id, self.kind, self.served, self.prompt_hash, self.retriever.hash)


def way_of(kind: str, model: str, client: Client, retriever: Retriever = DEFAULT, options: Options = PLAIN_OPTIONS) -> Way:
    """With the retriever as the kind uses it. Raises UnknownName, UsageError."""
    used = getattr(answerer(kind), "knobs", None)
    served = f"{client.endpoint.provider}/{client.endpoint.model}"
    return Way(kind, model, served, used(retriever, model) if used else retriever, options)


@dataclass(frozen=True)
class Answerer:
    """Answers questions in one way from one index version; `reader` is to hold the same budget. Threads share it.

    `resumed`: was some answer of a subject paid by a run that was lost before it could tell?
    """

    way: Way
    reader: Reader
    client: Client
    budget: Budget | None = None
    run_id: str = ""
    resumed: Callable[[str], bool] = lambda subject: False

    def answer(self, question: Question, answers_id: str, questions_hash: str, set_name: str, filters: Filters | None = None) -> AnswerRow:
        """Raises ModelRefused, StorageError, Stopped, LakeCorrupt, SettingsError, UnknownName."""
        way = self.way
        answer_id = digest(answers_id, question.question_id)
        desk = Desk(self.reader, way.retriever, filters or Filters(), way.options, self.client, answer_id, self.budget, self.run_id)
        draft, error, why = Draft("", (), ()), None, None
        began = time.perf_counter()
        try:
            check_question(question.question)
            draft = way.module.answer(question.question, desk)
        except (SettingsError, UnknownName):
            raise
        except (BadInput, UsageError) as failure:
            too_much = isinstance(failure, ModelFailed) and too_long(failure)
            error, why = CONTEXT_WINDOW if too_much else failure.reason, one_line(str(failure))
        seconds = time.perf_counter() - began
        used = desk.usage
        known = bool(used and used.hits) or self.resumed(answer_id)
        return AnswerRow(
            answer_id, answers_id, question.question_id, question.question, question.category, question.answer,
            question.gold[0].ref if question.gold else "", questions_hash, set_name, self.reader.index.version.version_id, way.kind,
            way.served, way.prompt_hash, json.dumps(asdict(way.retriever), sort_keys=True), way.retriever.hash, draft.text,
            draft.claims_json(), draft.citations_json(), draft.given_json(), None if error else draft.refused, error, why,
            one_line("; ".join(desk.notes)) or None, None if known else round(seconds, 6), used.calls if used else 0,
            (used.hits or 0) if used else 0, used.input_tokens if used else None, used.output_tokens if used else None,
            used.dollars if used else None, datetime.now(UTC))


def one_line(text: str) -> str:
    return " ".join(text.split())[:LONGEST]
