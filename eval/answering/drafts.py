"""An answer as claims with what they cite, and answering from passages. A cite that is not among what was given is invalid."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, create_model, model_validator

from edgarmill.retrieval.adviser import Said, line
from edgarmill.retrieval.passages import Passage
from edgarmill.schemas.ids import text_hash
from edgarmill.schemas.records import Hit

if TYPE_CHECKING:
    from edgarmill.eval.answering.desk import Desk
    from edgarmill.retrieval.retrieve import Found

MOST_CLAIMS, MOST_CITES, LONGEST = 30, 20, 4_000  # characters of an answer or a claim
INSTRUCTION = (
    "You answer questions about filings with the U.S. Securities and Exchange Commission, from the passages that you are shown and from "
    "nothing else. Answer with one JSON object with three keys: refused, answer and claims. Where the passages do not hold the answer, "
    'refused is true, answer is "" and claims is []. Else refused is false; answer is the answer itself, in as few words as will do, a '
    "figure first and with its unit and scale; claims is the list of statements that it rests on, each an object with text, one sentence, "
    "and cites, a list of the numbers of the passages that say so."
)


def _words(value: str) -> str:
    return " ".join(value[: 2 * LONGEST].split())[:LONGEST]


def _some_words(value: str) -> str:
    if not (found := _words(value)):
        raise ValueError("it is empty")
    return found


class Claim(Said):
    text: Annotated[str, AfterValidator(_some_words)]
    cites: tuple[int, ...] = Field(max_length=MOST_CITES)


class Reply(Said):
    """A refusal is a result: it has neither answer nor claims."""

    refused: bool
    answer: Annotated[str, AfterValidator(_words)]
    claims: tuple[Claim, ...] = Field(max_length=MOST_CLAIMS)


@dataclass(frozen=True, slots=True)
class Given:
    """What may be cited under a number: a passage, text = document[start:end], or a fact."""

    number: int
    accession: str
    document_id: str
    text: str
    start: int | None = None
    end: int | None = None
    page_start: int | None = None
    page_end: int | None = None
    chunks: tuple[str, ...] = ()
    fact: Mapping[str, Any] | None = None

    @property
    def place(self) -> dict[str, Any]:
        """Where it stands, without its text."""
        known = {"number": self.number, "accession": self.accession, "document_id": self.document_id}
        if self.fact is not None:
            return {**known, "fact": dict(self.fact)}
        return {**known, "start": self.start, "end": self.end, "page_start": self.page_start, "page_end": self.page_end,
                "chunks": list(self.chunks)}


@dataclass(frozen=True, slots=True)
class Draft:
    """What an answerer makes of a question. `claims`: text and the numbers of what it cites."""

    text: str
    claims: tuple[tuple[str, tuple[int, ...]], ...]
    given: tuple[Given, ...]
    refused: bool = False

    def claims_json(self) -> str:
        return _json([{"text": text, "cites": list(cites)} for text, cites in self.claims])

    def citations_json(self) -> str:
        by = {one.number: one for one in self.given}
        return _json([{"claim": n, **by[cite].place} for n, (_, cites) in enumerate(self.claims) for cite in cites])

    def given_json(self) -> str:
        return _json([one.place if one.fact is not None else {**one.place, "text_hash": text_hash(one.text)} for one in self.given])


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def cited(numbers: Sequence[int]) -> type[Reply]:
    """The form with cites out of these numbers. Its schema, which the server is sent, is the same for all."""
    known = set(numbers)

    def checked(reply: Reply) -> Reply:
        if reply.refused:
            if reply.claims or reply.answer:
                raise ValueError("a refusal has no answer and no claims")
            return reply
        if not reply.answer or not reply.claims:
            raise ValueError("an answer needs words, and claims that it rests on")
        for claim in reply.claims:
            if not claim.cites:
                raise ValueError("each claim cites a passage")
            if strange := [cite for cite in claim.cites if cite not in known]:
                raise ValueError(f"{strange[0]} is not the number of a passage")
        return reply

    made: type[Reply] = create_model("Reply", __base__=Reply, __doc__=Reply.__doc__,
                                     __validators__={"checked": model_validator(mode="after")(checked)})  # type: ignore[dict-item]  # as pydantic takes them
    return made


def answer_from(question: str, found: Found, desk: Desk) -> Draft:
    """From what a search gave. Nothing given is a refusal, and nobody is asked. Raises as `Desk.ask`."""
    return from_passages(question, found.passages, {hit.rank: hit for hit in found.hits}, desk)


def from_passages(question: str, passages: Sequence[Passage], hits: Mapping[int, Hit], desk: Desk) -> Draft:
    given = tuple(_given(n, passage, hits) for n, passage in enumerate(passages, 1))
    if not given:
        desk.notes.append("nothing was found to answer from")
        return Draft("", (), (), refused=True)
    shown = [shown_passage(n, passage, hits[passage.hits[0]]) for n, passage in enumerate(passages, 1)]
    reply = desk.ask(cited([one.number for one in given]), INSTRUCTION, question, shown)
    claims = tuple((claim.text, tuple(dict.fromkeys(claim.cites))) for claim in reply.claims)
    return Draft(reply.answer, claims, given, reply.refused)


def shown_passage(number: int, passage: Passage, hit: Hit, most: int | None = None) -> dict[str, Any]:
    """A passage as the model sees it; at most so many characters of its text."""
    section = " ".join(part for part in (hit.part, hit.item, hit.section_title) if part)
    return {"passage": number, "filing": line(f"{hit.company or hit.accession}, {hit.form}, period {hit.period_on or '-'}", 160),
            "section": line(section, 160), "pages": f"{passage.page_start}-{passage.page_end}",
            "text": passage.text if most is None else line(passage.text, most)}


def _given(number: int, passage: Passage, hits: Mapping[int, Hit]) -> Given:
    chunks = tuple(hits[rank].chunk_id for rank in passage.hits if rank in hits)
    return Given(number, passage.accession, passage.document_id, passage.text, passage.start, passage.end, passage.page_start,
                 passage.page_end, chunks)
