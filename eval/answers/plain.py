"""The best passages within the retriever's budget of tokens, read once, and an answer from them alone."""

from __future__ import annotations

from edgarmill.eval.answering.desk import Desk
from edgarmill.eval.answering.drafts import INSTRUCTION, Draft, Reply, answer_from

VERSION = 1
PROMPTS = (INSTRUCTION,)
FORMS = (Reply,)


def answer(question: str, desk: Desk) -> Draft:
    return answer_from(question, desk.find(question), desk)
