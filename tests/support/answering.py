"""Answering from the tiny lake with trees, its model and its judge one scripted server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from advised import MODEL, advised
from fake_models import Answer, Asked, ModelServer, chat

from edgarmill.eval.answering.desk import Options
from edgarmill.eval.answering.run import Answers, answer_all
from edgarmill.eval.questions.question_set import QuestionSet, hash_of
from edgarmill.retrieval.retrieve import Reader
from edgarmill.retrieval.retriever import Retriever
from edgarmill.schemas.records import Gold, Question
from edgarmill.schemas.store import Lake

KNOBS = Retriever(filters="inferred", tokens=400, k=4)
PLAIN = Options()


def question(n: int, text: str = "", answer: str = "gross margin was not changed", category: str = "single-hop") -> Question:
    return Question(f"q{n}", text or f"What changed at Company A in fiscal 2020, number {n}?", category, answer,
                    (Gold(f"doc{n % 3}", "x"),) if category != "null" else ())


def a_set(*questions: Question) -> QuestionSet:
    return QuestionSet("set", questions, hash_of(questions), None)


def asked_of(request: Asked) -> str:
    """The question that a request ends with."""
    return str(request.body["messages"][1]["content"].rpartition("Question: ")[2])


def shown(request: Asked) -> list[dict[str, Any]]:
    """What a request shows, line by line."""
    said = request.body["messages"][1]["content"]
    inside = said.partition("<data>\n")[2].partition("\n</data>")[0]
    return [json.loads(one) for one in inside.split("\n")]


def form_of(request: Asked) -> str:
    return str(request.body["response_format"]["json_schema"]["name"])


def by_form(**given: Any) -> Callable[[Asked], Answer]:
    """Answers by the name of the form that is asked for; what is callable is given the request."""
    def give(request: Asked) -> Answer:
        found = given[form_of(request)]
        found = found(request) if callable(found) else found
        return found if isinstance(found, Answer) else chat(found)
    return give


def reply(answer: str = "It was not changed.", *cites: int, text: str = "") -> dict[str, Any]:
    return {"refused": False, "answer": answer, "claims": [{"text": text or answer, "cites": list(cites or (1,))}]}


REFUSED = {"refused": True, "answer": "", "claims": []}


def answered(lake: Lake, server: ModelServer, asked: QuestionSet, kind: str = "plain", knobs: Retriever = KNOBS, options: Options = PLAIN,
             run: str = "run", **more: Any) -> Answers:
    """A run of answers, committed."""
    reader: Reader = advised(lake, server, **more)
    with lake.writer(run) as writer:
        return answer_all(lake, writer, asked, reader, kind, MODEL, reader.settings, retriever=knobs, options=options)


def copied(made: Lake, folder: Path) -> Lake:
    import shutil

    return Lake.open(str(shutil.copytree(made.root, folder / "lake")))
