"""Sets in the layout of BEIR: queries.jsonl ("_id", "text"), qrels.tsv (query, passage, score), corpus.jsonl ("_id", "title", "text").

Gold is the passages that are judged with a score above 0, whole: their texts are in the corpus beside the queries, which the source
`passages` makes documents of. Queries without a judgement are left aside, unless their `question_type` begins with "null": nothing
answers those. `answer` and `question_type` may stand beside the text (MultiHop-RAG's evidence has them).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from edgarmill.eval.questions.question_set import File, Found, Note, Off, Problem, category_of, objects, text_of
from edgarmill.schemas.records import Gold, Question
from edgarmill.workers.source.passages import Passage, passages_of

QRELS = ("qrels.tsv", "qrels/test.tsv", "qrels/dev.tsv", "qrels/train.tsv")


def claims(name: str, head: str) -> bool:
    return name.endswith("queries.jsonl") and '"_id"' in head and '"text"' in head


def read(file: File) -> Iterator[Found | Problem | Note]:
    judged, problems = _judged(file)
    texts = _texts(file, {passage for passages in judged.values() for passage in passages})
    yield from problems
    unjudged = 0
    seen = set()
    for item in objects(file):
        if isinstance(item, Problem):
            yield item
            continue
        number, record = item
        try:
            question = _question(record, judged, texts)
        except Off as off:
            yield Problem(number, str(off))
            continue
        seen.add(question.question_id)
        if question.gold or question.category == "null":
            yield Found(number, question)
        else:
            unjudged += 1
    if unjudged:
        yield Note(f"{unjudged} {'query' if unjudged == 1 else 'queries'} without a judgement left aside")
    if strange := judged.keys() - seen:
        yield Note(f"{len(strange)} judged queries are not in this file")


def _question(record: Mapping[str, Any], judged: Mapping[str, list[str]], texts: Mapping[str, str]) -> Question:
    name, question = text_of(record, "_id"), text_of(record, "text")
    kind = text_of(record, "question_type", empty=True) if "question_type" in record else ""
    answer = text_of(record, "answer", empty=True) if "answer" in record else ""
    gold = tuple(Gold(passage, texts.get(passage, ""), type="passage" if passage in texts else "document")
                 for passage in judged.get(name, ()))
    if kind.startswith("null") and gold:
        raise Off(f"a query of type {kind[:40]!r} has judgements")
    return Question(name, question, "null" if kind.startswith("null") else category_of(gold), answer, gold, kind)


def _judged(file: File) -> tuple[dict[str, list[str]], list[Problem]]:
    """Passages above 0 for each query, in the order of the file. Raises Off without a file of judgements."""
    qrels = file.beside(*QRELS)
    if qrels is None:
        raise Off(f"no judgements beside it: {' or '.join(QRELS[:2])}")
    found: dict[str, list[str]] = defaultdict(list)
    problems = []
    for line in qrels.lines():
        if isinstance(line, Problem):
            problems.append(Problem(0, f"{qrels.name} line {line.number}: {line.what}"))
            continue
        fields = line.text.split("\t") if "\t" in line.text else line.text.split()
        if len(fields) == 4:  # as TREC has them: query, iteration, document, relevance
            fields = [fields[0], *fields[2:]]
        score = fields[-1].strip()
        if len(fields) != 3 or not score.lstrip("-").isdecimal():
            if line.number > 1:  # the first may be a heading
                problems.append(Problem(0, f"{qrels.name} line {line.number}: not query, passage and score"))
        elif not score.startswith("-") and score.strip("0") and fields[1] not in found[fields[0]]:
            found[fields[0]].append(fields[1])
    return dict(found), problems


def _texts(file: File, wanted: set[str]) -> dict[str, str]:
    corpus = file.beside("corpus.jsonl", "corpus.json")
    if corpus is None:
        return {}
    passages = (item for _, item in passages_of(corpus.path) if isinstance(item, Passage))
    texts: dict[str, str] = {}
    for passage in passages:
        if passage.name in wanted:
            texts.setdefault(passage.name, passage.text)  # the source takes the first of a name, too
    return texts
