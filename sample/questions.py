"""Questions that follow from the generated facts, with answers and the evidence where it stands.

Records have the form of the question sets over real filings: id, question, category, answer, gold, company, form, period, needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from edgarmill.sample.filings import Made
from edgarmill.sample.inline import Evidence

ANNUAL = {  # evidence key -> question of one evidence
    "margin": "What moved the gross profitability of {c} in fiscal {y}, and to what level?",
    "employees": "How large was the workforce of {c} at the end of fiscal {y}, and what share worked abroad?",
    "concentration": "How dependent was {c} on its biggest buyer in fiscal {y}?",
    "supply_risk": "For which input did {c} rely on one source in fiscal {y}, and for how much of its need?",
    "launch": "Which new product did {c} bring to market in fiscal {y}, and what is its merit?",
    "backlog": "How much undelivered business did {c} have at the end of fiscal {y}, and how soon will it be delivered?",
    "measure": "How many {m} did {c} have at the end of fiscal {y}?",
    "security": "Who at {c} oversees cyber threats, and how fast did it recover in its test of {y}?",
    "capital_plan": "What did {c} plan to invest in the year after fiscal {y}, and in what?",
    "debt_terms": "How much room did {c} have under its leverage covenant at the end of fiscal {y}, and what do its bonds pay?",
    "rate_risk": "What would a one-point rise of rates have cost {c} in fiscal {y}?",
    "currency_risk": "Which currency would have hurt the operating income of {c} in fiscal {y}, and by how much?",
    "commitments": "What purchases was {c} bound to make at the end of fiscal {y}, for how long?",
    "tax_rate": "What was the tax rate of {c} in fiscal {y}, and why was it not the statutory one?",
    "buyback": "How much stock could {c} still repurchase at the end of fiscal {y}?",
    "lawsuit": "Who sued {c}, and over what, according to its report for fiscal {y}?",
    "acquisition": "Which business had {c} bought, according to its report for fiscal {y}, and for how much?",
    "restructuring": "Which site did {c} shut, and at what cost, according to its report for fiscal {y}?",
    "segment_row": "How much revenue, in thousands, did the {s} segment of {c} have in fiscal {y}?",
    "operating_margin": "What part of each revenue dollar was left as operating income at {c} in fiscal {y}?",
}
QUARTERLY = {
    "margin": "Why did gross profitability of {c} change in quarter {q} of fiscal {y}?",
    "segment_sales_0": "What explains the sales of the {s} segment of {c} in quarter {q} of fiscal {y}?",
    "lawsuit_accrual": "What had {c} reserved for its main lawsuit by the end of quarter {q} of fiscal {y}?",
    "backlog": "How large was the order book of {c} after quarter {q} of fiscal {y}?",
    "tax_rate": "At what rate was {c} taxed in quarter {q} of fiscal {y}?",
    "buyback": "What was left of the repurchase program of {c} after quarter {q} of fiscal {y}?",
    "operating_margin": "What operating margin did {c} report for quarter {q} of fiscal {y}?",
}
CURRENT = {
    "release_sales": "What sales and earnings per share did {c} announce for quarter {q} of fiscal {y}?",
    "guidance": "What did {c} tell investors to expect for the year after fiscal {y}?",
    "officer": "What will the newly appointed officer of {c} be paid?",
    "facility": "On what terms did {c} arrange its new term loan?",
    "incident": "What did the intrusion at {c} disable, for how long and at what cost?",
    "votes": "How did shareholders of {c} vote on executive pay?",
    "expansion": "What expansion did the board of {c} approve?",
}
SUMMARIES = (
    ("Summarize what drove the results of {c} in fiscal {y}.", ("segment_sales_0", "segment_sales_1", "margin", "tax_rate")),
    ("On whom and on what does {c} depend, going by its report for fiscal {y}?", ("concentration", "supply_risk", "commitments")),
    ("How exposed was {c} to rates, currencies and its lenders in fiscal {y}?", ("rate_risk", "currency_risk", "debt_terms")),
)
SINGLES = {"10-K": 7, "10-Q": 2, "results": 1, "event": 1}  # questions of one evidence per filing


@dataclass(frozen=True)
class Source:
    """What questions need of a filing once its bytes are written."""

    accession: str
    name: str
    short: str
    kind: str
    form: str
    year: int
    quarter: int
    period: str
    segment: str
    measure: str
    evidence: dict[str, Evidence]


def source_of(made: Made) -> Source:
    one = made.company
    return Source(made.accession, one.name, one.short, made.kind, made.form, made.year, made.quarter, made.period.isoformat(),
                  one.segments[0],
                  one.sector.measure, made.evidence)


def questions_of(index: int, mine: Sequence[Source], others: Sequence[Source]) -> Iterator[dict[str, Any]]:
    """Questions over a company's filings, and over its newest annual report beside that of `others` (the company before)."""
    number = 0
    for record in (*_singles(index, mine), *_several(mine), *_summaries(mine), *_compared(mine, others)):
        number += 1
        yield {"id": f"s{index + 1:04}-{number:02}"} | record


def _singles(index: int, mine: Sequence[Source]) -> Iterator[dict[str, Any]]:
    """A changing choice of each filing's facts."""
    asked = {"10-K": ANNUAL, "10-Q": QUARTERLY, "results": CURRENT, "event": CURRENT}
    for place, source in enumerate(mine):
        keys = [key for key in asked[source.kind] if key in source.evidence]
        start = (index * 3 + place * 7) % max(1, len(keys))
        for key in (keys[start:] + keys[:start])[: SINGLES[source.kind]]:
            yield _record(_fill(asked[source.kind][key], source), "single-hop", source.evidence[key].answer, [(source, key)])


def _several(mine: Sequence[Source]) -> Iterator[dict[str, Any]]:
    annual = {s.year: s for s in mine if s.kind == "10-K"}
    for year, new in annual.items():
        old = annual.get(year - 1)
        if old:
            gap = _value(new, "margin") - _value(old, "margin")
            answer = (f"{gap:+} points: in fiscal {year} {new.evidence['margin'].answer}; in fiscal {year - 1} "
                      f"{old.evidence['margin'].answer}.")
            yield _record(f"By how many points did the gross margin of {new.name} differ between fiscal {year - 1} and fiscal {year}, "
                          "and what moved it in each of the two years?", "multi-hop", answer, [(new, "margin"), (old, "margin")])
            more = int(_value(new, "employees") - _value(old, "employees"))
            yield _record(f"By how many people did {new.name} grow or shrink in fiscal {year}?", "multi-hop",
                          f"{more:+,} people ({new.evidence['employees'].answer}, against {old.evidence['employees'].answer})",
                          [(new, "employees"), (old, "employees")])
        if "acquisition" in new.evidence and "purchase_goodwill" in new.evidence:
            yield _record(f"What did {new.name} pay for the business it bought, and how was the price divided, as told for fiscal {year}?",
                "multi-hop",
                          f"{new.evidence['acquisition'].answer}: {new.evidence['purchase_goodwill'].answer}", [(new, "acquisition"), (new,
                              "purchase_goodwill")])
    newest = max(annual.values(), key=lambda s: s.year, default=None)
    for source in mine:
        if newest and source.kind == "10-Q" and (source.year, source.quarter) == (newest.year + 1, 1):
            yield _record(f"Who is suing {newest.name}, and what was reserved for it one quarter after fiscal {newest.year}?", "multi-hop",
                          f"{newest.evidence['lawsuit'].answer}; {source.evidence['lawsuit_accrual'].answer}",
                          [(newest, "lawsuit"), (source,
                              "lawsuit_accrual")])
            yield from _outlook(mine, source)


def _outlook(mine: Sequence[Source], quarter: Source) -> Iterator[dict[str, Any]]:
    """The outlook given, beside the first quarter that came of it."""
    for release in mine:
        if release.kind == "results" and (release.year, release.quarter) == (quarter.year - 1, 4):
            yield _record(f"Did the first quarter of fiscal {quarter.year} at {quarter.name} come in above or below the gross margin it "
                          "had foretold for the year?",
                          "multi-hop", f"{quarter.evidence['margin'].value}% in the quarter, foretold about "
                                       f"{release.evidence['guidance'].value}%",
                          [(release, "guidance"), (quarter, "margin")])


def _summaries(mine: Sequence[Source]) -> Iterator[dict[str, Any]]:
    for place, source in enumerate(s for s in mine if s.kind == "10-K"):
        for question, keys in SUMMARIES[place::2]:
            found = [key for key in keys if key in source.evidence]
            answer = "; ".join(source.evidence[key].quote.rstrip(".") for key in found) + "."
            yield _record(_fill(question, source), "summary", answer, [(source, key) for key in found])


def _compared(mine: Sequence[Source], others: Sequence[Source]) -> Iterator[dict[str, Any]]:
    one, two = (next((s for s in group if s.kind == "10-K"), None) for group in (mine, others))
    if one is None or two is None or one.year != two.year:
        return
    for key, question in (("concentration", "Which depended more on its largest customer in fiscal {y}, {a} or {b}?"),
                          ("debt_terms", "Which was more indebted in relation to earnings at the end of fiscal {y}, {a} or {b}?"),
                          ("operating_margin", "Which kept more of its revenue as operating income in fiscal {y}, {a} or {b}?")):
        more = one if _value(one, key) > _value(two, key) else two
        answer = f"{more.name}: {_value(one, key)} at {one.short}, {_value(two, key)} at {two.short}"
        yield _record(question.format(y=one.year, a=one.name, b=two.name), "multi-hop", answer, [(one, key), (two, key)])


def _fill(question: str, source: Source) -> str:
    return question.format(c=source.name, y=source.year, q=source.quarter, s=source.segment, m=source.measure)


def _value(source: Source, key: str) -> Decimal:
    value = source.evidence[key].value
    assert value is not None, key
    return value


def _record(question: str, category: str, answer: str, gold: Sequence[tuple[Source, str]]) -> dict[str, Any]:
    sources = [source for source, _ in gold]
    found = [(source, source.evidence[key]) for source, key in gold]
    return {
        "question": question, "category": category, "answer": answer,
        "gold": [{"accession": s.accession, "quote": e.quote, "part": e.part, "item": e.item, "type": e.type, "page": e.page} for s,
                 e in found],
        "company": _joined([s.name for s in sources]), "form": _joined([s.form for s in sources]),
        "period": _joined([s.period for s in sources]),
        "needs": "several documents" if len({s.accession for s in sources}) > 1 else "one document",
    }


def _joined(values: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(values))
