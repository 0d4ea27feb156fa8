"""The model walks the filings' trees by titles and summaries (retrieval/walk.py) and answers from the page ranges of the nodes it picked.

A retriever that narrows the tree by a search does that. Where the walk picks nothing, the plain search answers, and a note says so.
"""

from __future__ import annotations

from dataclasses import replace

from edgarmill.eval.answering.desk import Desk
from edgarmill.eval.answering.drafts import INSTRUCTION, Draft, Reply, answer_from
from edgarmill.retrieval.retriever import Retriever

VERSION = 1
PROMPTS = (INSTRUCTION,)
FORMS = (Reply,)


def knobs(given: Retriever, model: str) -> Retriever:
    """The retriever as it is used, under whose hash the answers stand. `model`: endpoint:NAME/MODEL."""
    walked = given.tree if given.tree != "none" else "walk"
    return replace(given, tree=walked, model=given.model or model, reranker="", neighbours=0, parent="none")


def answer(question: str, desk: Desk) -> Draft:
    return answer_from(question, desk.find(question), desk)
