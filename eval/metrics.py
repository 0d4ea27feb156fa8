"""Metric values from stored rankings, exactly defined; nothing is searched again. How sure they are: eval/scores.py.

Judged questions: those with gold, all of it resolved. Means run over all of them; one without any hit, or that failed, counts 0. Questions
without gold (category "null") and those with unresolved gold are kept out and counted.

Two things come back of a question. Hits are ranked chunks: the top k are the first k distinct ones by stored rank. Passages are what is
given to whoever answers, a hit by itself or with its neighbours or its parent in its place, in the order of their best hits.

Of hits. A hit that holds gold (see replay.py) finds it; gold found by an earlier one is not found again: a second chunk of the same
evidence is no gain but keeps its place, as one not relevant. For g pieces of gold:
  MRR@k          1 / rank of the first hit that holds gold, 0 when none of the top k does; `RR@k` of ir_measures
  Recall@k       pieces of gold found by the top k / g; `R`
  hit@k          1 if at least one piece is found by the top k; `Success`
  nDCG@10        gain 1 a found piece, discount log2(rank + 1), against g pieces (10 at most) in a row; `nDCG@10`. A hit that finds several
                 pieces takes as many places and moves those behind it down, so that no ranking beats the ideal
  Judged@10      share of the first 10 places that anybody has judged, that is, pieces of gold; `Judged@10`. The rest counts as not relevant
  AllGold@10     1 if every piece is found by the top 10; AllGold@10_g2 the same over questions with g >= 2 (with g = 1 it is hit@10);
                 AllGold@k by all hits that the retriever gives, whatever its k
  doc_hit@k      1 if one of the top k is of a document that has gold
  page_hit@k     1 if one of them lies on a page of gold; of sets that name pages
Of passages, which are comparable between chunk sizes. The top k are those given in place of the top k hits:
  coverage@k     characters of gold in the union of the passages / characters of gold
  half@k         1 if at least half of one piece is in that union
  tokens@k       of the passages, by the tokenizer of the index; `tokens`: of all that is given
  coverage@Nt    coverage of what fits into N tokens: whole passages in order, the last one cut, from its best hit's beginning on, to as
                 large a share of its characters as of its tokens has room. Where fewer than N are given, that is all: tokens@Nt tells
  inside@Nt      1 if every piece lies within them but for a twentieth of its characters (blank lines between chunks, ends of a fuzzy range)
Of time and money: `usd` of models asked, a question. Seconds by step have medians and 95th percentiles, see scores.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from edgarmill.eval.replay import by_question
from edgarmill.schemas.records import Asked, GoldRow, Ranking

CUTS = (5, 10)
BUDGETS = (1_000, 2_000, 4_000)  # tokens
INSIDE = 0.95
# by first hits that count: metric -> measure of ir_measures; what a cut leaves is measured whole
MEASURES = {5: {"MRR@5": "RR@5", "Recall@5": "R@1000", "hit@5": "Success@1000"},
            10: {"MRR@10": "RR@10", "Recall@10": "R@1000", "hit@10": "Success@1000", "nDCG@10": "nDCG@10", "Judged@10": "Judged@10"}}

# Every metric that a question can have; which of them one has, its gold and its hits decide.
NAMES = (*(metric for measures in MEASURES.values() for metric in measures), "AllGold@10", "AllGold@k", "AllGold@10_g2",
         *(f"{kind}@{k}" for kind in ("doc_hit", "page_hit", "coverage", "half", "tokens") for k in CUTS), "tokens",
         *(f"{kind}@{budget}t" for kind in ("coverage", "inside", "tokens") for budget in BUDGETS), "usd")

IS_HIT = ("hit@", "half@", "inside@", "doc_hit@", "page_hit@", "AllGold@")

Values = dict[str, dict[str, float]]  # metric -> question -> value; a question for which it is not measured is absent
Range = tuple[str, int, int]  # document, start, end


@dataclass(frozen=True, slots=True)
class Judged:
    """A judged question: its gold, all resolved, by ordinal."""

    question_id: str
    category: str
    gold: tuple[GoldRow, ...]

    @property
    def document_id(self) -> str:
        return self.gold[0].document_id or ""

    @property
    def placed(self) -> bool:
        """Whether all of its gold has ranges: whole documents as evidence count for documents alone."""
        return all(g.start is not None for g in self.gold)


@dataclass(frozen=True, slots=True)
class Given:
    """A passage given: its range, its tokens, and where its best hit begins."""

    range: Range
    tokens: int | None
    begins: int


def judged_questions(rows: Iterable[GoldRow]) -> tuple[list[Judged], dict[str, int]]:
    """The judged questions in the order of the rows, and how many of what are kept out."""
    judged, counts = [], {"null_questions": 0, "unresolved_questions": 0, "unresolved_gold": 0}
    for question, gold in by_question(rows):
        lost = sum(row.how is None for row in gold)
        counts["unresolved_gold"] += lost
        if lost:
            counts["unresolved_questions"] += 1
        elif not gold:
            counts["null_questions"] += 1
        else:
            judged.append(Judged(question.question_id, question.category, tuple(gold)))
    return judged, counts


def by_metric(judged: Sequence[Judged], ranked: Mapping[str, Sequence[Ranking]], asked: Mapping[str, Asked] | None = None) -> Values:
    """Every metric for every judged question. `ranked`: its hits by rank, distinct; `asked`, for what it cost."""
    values: Values = {}
    placed = [q for q in judged if q.placed]
    for first, measures in MEASURES.items():
        values |= _measured(placed, ranked, first, measures)
    for q in judged:
        hits = ranked.get(q.question_id, ())
        ranges = _of_hits(q, hits) | _of_passages(q, hits) if q.placed else {}
        for metric, value in (_of_documents(q, hits) | ranges | _costs(q, asked or {})).items():
            values.setdefault(metric, {})[q.question_id] = value
    return values


def is_hit(metric: str) -> bool:
    """Whether its values are 0 or 1."""
    return metric.startswith(IS_HIT)


def _of_hits(q: Judged, hits: Sequence[Ranking]) -> dict[str, float]:
    found = {"AllGold@10": float(len({o for h in hits[:10] for o in h.gold}) == len(q.gold)),
             "AllGold@k": float(len({o for h in hits for o in h.gold}) == len(q.gold))}
    if len(q.gold) > 1:
        found["AllGold@10_g2"] = found["AllGold@10"]
    for k in CUTS:
        if all(g.page is not None for g in q.gold):
            found[f"page_hit@{k}"] = float(any(_on_page(h, g) for h in hits[:k] for g in q.gold))
    return found


def _of_documents(q: Judged, hits: Sequence[Ranking]) -> dict[str, float]:
    documents = {g.document_id for g in q.gold}
    return {f"doc_hit@{k}": float(any(h.document_id in documents for h in hits[:k])) for k in CUTS}


def _on_page(hit: Ranking, gold: GoldRow) -> bool:
    if hit.document_id != gold.document_id or gold.page is None or hit.page_start is None or hit.page_end is None:
        return False
    return hit.page_start <= gold.page <= hit.page_end


def _of_passages(q: Judged, hits: Sequence[Ranking]) -> dict[str, float]:
    found: dict[str, float] = {}
    for k in CUTS:
        passages = given(hits[:k])
        read = _union(p.range for p in passages)
        found[f"coverage@{k}"] = _covered(q.gold, read)
        found[f"half@{k}"] = float(any(_covered([g], read) >= 0.5 for g in q.gold))
        found |= _tokens(f"tokens@{k}", passages)
    passages = given(hits)
    found |= _tokens("tokens", passages)
    for budget in BUDGETS:
        within = cut(passages, budget)
        if within is None:
            continue
        read = _union(p.range for p in within)
        found[f"coverage@{budget}t"] = _covered(q.gold, read)
        found[f"inside@{budget}t"] = float(all(_covered([g], read) >= INSIDE for g in q.gold))
        found |= _tokens(f"tokens@{budget}t", within)
    return found


def _tokens(metric: str, passages: Sequence[Given]) -> dict[str, float]:
    counts = [p.tokens for p in passages if p.tokens is not None]
    return {metric: float(sum(counts))} if len(counts) == len(passages) else {}


def _costs(q: Judged, asked: Mapping[str, Asked]) -> dict[str, float]:
    one = asked.get(q.question_id)
    return {"usd": float(one.usd)} if one is not None and one.usd is not None else {}


def given(hits: Iterable[Ranking]) -> list[Given]:
    """The passages given in place of these hits, best first; one that several hits share comes once."""
    found: dict[Range, Given] = {}
    for hit in hits:
        start, end = (hit.start, hit.end) if hit.given_start is None or hit.given_end is None else (hit.given_start, hit.given_end)
        if start < end:
            place = (hit.document_id, start, end)
            found.setdefault(place, Given(place, hit.tokens, hit.start))
    return list(found.values())


def cut(passages: Sequence[Given], budget: int) -> list[Given] | None:
    """As many of them as fit into a budget of tokens; None where their tokens are not known."""
    kept, room = [], budget
    for p in passages:
        if p.tokens is None:
            return None
        if p.tokens <= room:
            kept.append(p)
            room -= p.tokens
            continue
        document, start, end = p.range
        length = (end - start) * room // p.tokens
        begins = max(start, min(p.begins, end - length))
        if length:
            kept.append(Given((document, begins, begins + length), room, p.begins))
        break
    return kept


def _measured(judged: Sequence[Judged], ranked: Mapping[str, Sequence[Ranking]], first: int, measures: Mapping[str, str]) -> Values:
    """Measures of ir_measures for each question. Ties cannot arise: an item's score is its place counted from the end."""
    import ir_measures

    qrels = [ir_measures.Qrel(q.question_id, _gold_item(g.ordinal), 1) for q in judged for g in q.gold]
    run = []
    for q in judged:
        items = _items(ranked.get(q.question_id, ())[:first])
        run += [ir_measures.ScoredDoc(q.question_id, item, len(items) - place) for place, item in enumerate(items)]
    values: Values = {metric: {q.question_id: 0.0 for q in judged} for metric in measures}
    if not qrels:
        return values
    names = {str(ir_measures.parse_measure(measure)): metric for metric, measure in measures.items()}
    for found in ir_measures.iter_calc([ir_measures.parse_measure(m) for m in measures.values()], qrels, run):
        values[names[str(found.measure)]][found.query_id] = float(found.value)
    return values


def _items(hits: Sequence[Ranking]) -> list[str]:
    """The ranking as items: each piece of gold where it is first found, and each chunk that finds none."""
    items: list[str] = []
    found: set[int] = set()
    for hit in hits:
        new = [ordinal for ordinal in hit.gold if ordinal not in found]
        found.update(new)
        items += [_gold_item(ordinal) for ordinal in new] or [f"chunk {hit.rank}"]
    return items


def _gold_item(ordinal: int) -> str:
    return f"gold {ordinal}"


def coverage(gold: Iterable[GoldRow], hits: Iterable[Ranking]) -> float:
    """Share of the gold's characters that lie in what is given of the hits; characters of two pieces of gold count once."""
    return _covered(gold, _union(p.range for p in given(hits)))


def _covered(gold: Iterable[GoldRow], read: Sequence[Range]) -> float:
    wanted = _union((g.document_id or "", g.start or 0, g.end or 0) for g in gold)
    both = sum(max(0, min(w[2], r[2]) - max(w[1], r[1])) for w in wanted for r in read if w[0] == r[0])
    return both / sum(end - start for _, start, end in wanted)


def _union(ranges: Iterable[Range]) -> list[Range]:
    merged: list[Range] = []
    for document, start, end in sorted(ranges):
        if merged and merged[-1][0] == document and start <= merged[-1][2]:
            merged[-1] = (document, merged[-1][1], max(end, merged[-1][2]))
        else:
            merged.append((document, start, end))
    return merged
