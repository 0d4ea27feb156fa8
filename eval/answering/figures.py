"""A small form, checked against what the lake has, made into one query of the table of facts. There is no free SQL: the query's text is
ours, and what a model names is a concept, a period and companies that are there, or it is refused with the nearest that are.

Figures of different units are never added or compared. The whole company's figures count, of restated ones the newest filing's
(retrieval/facts.py).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, create_model, model_validator

from edgarmill.retrieval.adviser import Said, line
from edgarmill.retrieval.facts import facts_of, near, period_of
from edgarmill.schemas.snapshot import Snapshot
from edgarmill.schemas.store import Lake
from edgarmill.schemas.views import connect

if TYPE_CHECKING:
    from edgarmill.retrieval.companies import Companies

MOST_COMPANIES, MOST_ROWS = 50, 50
MOST_CITED = 500  # facts behind one aggregate
SHOWN_CONCEPTS, SHOWN_COMPANIES = 40, 60
_NAMES = """
select f.entity as cik, any_value(coalesce(x.filers[list_position(x.ciks, f.entity)], x.company)) as name,
       list_distinct(flatten(list(x.tickers))) as tickers
from (select distinct accession, entity from facts) f join filings x using (accession) where x.status = 'parsed' group by 1 order by 2, 1
"""
_CONCEPTS = "select concept, count(*) as facts from facts where dimensions = '{}' and value is not null group by 1"
# What a row of the answer is: the figure, and the rows of `found` that it is made of.
_PLAIN = "select value::decimal(38, 6) as figure, [n] as of_rows, company, fiscal, until_on from found"
_QUERIES = {
    "none": _PLAIN,
    "highest": f"select * from ({_PLAIN}) qualify rank() over (order by figure desc) = 1",
    "lowest": f"select * from ({_PLAIN}) qualify rank() over (order by figure) = 1",
    "sum": "select sum(value::decimal(38, 6)) as figure, list(n order by n) as of_rows, null as company, null as fiscal, "
           "null as until_on from found having count(*) > 0",
    "average": "select avg(value::double)::decimal(38, 6) as figure, list(n order by n) as of_rows, null as company, null as fiscal, "
               "null as until_on from found having count(*) > 0",
    "count": "select count(distinct entity)::decimal(38, 6) as figure, list(n order by n) as of_rows, null as company, null as fiscal, "
             "null as until_on from found having count(*) > 0",
    "change": "select arg_max(value, until_on)::decimal(38, 6) - arg_min(value, until_on)::decimal(38, 6) as figure, "
              "[arg_min(n, until_on), arg_max(n, until_on)] as of_rows, any_value(company) as company, "
              "arg_min(fiscal, until_on) || ' to ' || arg_max(fiscal, until_on) as fiscal, max(until_on) as until_on "
              "from found group by entity having count(distinct until_on) > 1",
}
_ORDERS = {"largest": "figure desc", "smallest": "figure", "oldest": "until_on, figure desc", "newest": "until_on desc, figure desc"}


class Figure(Said):
    """The form. `companies` empty: all; `answerable` false: the facts do not hold what is asked."""

    answerable: bool
    concept: str = Field(max_length=200)
    period: str = Field(max_length=60)
    companies: tuple[str, ...] = Field(max_length=MOST_COMPANIES)
    aggregation: Literal["none", "highest", "lowest", "sum", "average", "count", "change"]
    order: Literal["largest", "smallest", "oldest", "newest"]
    limit: int = Field(ge=1, le=MOST_ROWS)


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of the answer, exactly, and which of the facts it is made of."""

    figure: str
    of: tuple[int, ...]
    company: str | None
    fiscal: str | None


@dataclass(frozen=True, slots=True)
class Looked:
    """`facts` as `facts_of` gives them, the answer's `rows`, and units: more than one, and nothing was computed."""

    facts: list[dict[str, Any]]
    rows: list[Row]
    units: tuple[str, ...]


@dataclass(frozen=True)
class Catalog:
    """What the facts of a snapshot are of."""

    snapshot: Snapshot

    @cached_property
    def companies(self) -> list[dict[str, Any]]:
        """cik, name, tickers."""
        with connect(self.snapshot, ("facts", "filings")) as connection:
            rows = connection.execute(_NAMES).fetchall()
        return [{"cik": cik, "name": name or "", "tickers": sorted(one for one in tickers or () if one)} for cik, name, tickers in rows]

    @cached_property
    def concepts(self) -> dict[str, int]:
        """Facts by concept."""
        with connect(self.snapshot, ("facts",)) as connection:
            return dict(connection.execute(_CONCEPTS).fetchall())

    @cached_property
    def _concept_words(self) -> dict[str, frozenset[str]]:
        return {name: frozenset(_stems(name.rpartition(":")[2])) for name in self.concepts}

    def likely(self, question: str) -> list[str]:
        """Concepts whose names share most with the question; of equals those with more facts."""
        words = set(_stems(question))
        scores = {name: len(mine & words) / math.sqrt(len(mine)) + 0.05 * math.log10(self.concepts[name])
                  for name, mine in self._concept_words.items() if mine}
        return sorted(scores, key=lambda name: (-scores[name], name))[:SHOWN_CONCEPTS]

    def shown(self, question: str, known: Companies | None = None) -> list[dict[str, Any]]:
        """What a model is shown: concepts that may be meant, and the companies, or those that the question names where there are many."""
        named = {filer for mention in known.mentions(question) for filer in mention.filers} if known else set()
        mine = [one for one in self.companies if {one["cik"], *one["tickers"]} & named]
        some = mine or self.companies[:SHOWN_COMPANIES]
        rows: list[dict[str, Any]] = [{"concept": name} for name in self.likely(question)]
        rows += [{"company": line(one["name"], 100), "cik": one["cik"], "tickers": one["tickers"]} for one in some]
        return [*rows, {"companies_in_all": len(self.companies)}]

    def cik_of(self, name: str) -> str:
        """By CIK, ticker or name. Raises ValueError."""
        wanted = name.strip().casefold()
        found = [one["cik"] for one in self.companies if wanted in
                 (one["cik"], one["cik"].lstrip("0"), one["name"].casefold(), *(ticker.casefold() for ticker in one["tickers"]))]
        if not wanted or not found:
            raise ValueError(f"no facts of a company {line(name, 40)!r}: name one of the list, or none for all")
        return str(found[0])

    def concept_of(self, name: str) -> str:
        """As stored. Raises ValueError with the nearest."""
        wanted = (name if ":" in name else f"us-gaap:{name}").casefold()
        found = next((one for one in self.concepts if one.casefold() == wanted), None)
        if found is None:
            alike = ", ".join(near(self.snapshot, name[:100]))
            raise ValueError(f"no facts of concept {line(name, 60)!r}" + (f"; there are {alike}" if alike else ""))
        return found


@lru_cache(maxsize=4)
def catalog_of(root: str, number: int) -> Catalog:
    """Of a snapshot of the lake at `root`, which many questions ask."""
    return Catalog(Lake.open(root).snapshot(number))


def checked(catalog: Catalog) -> type[Figure]:
    """The form, whose names must be the lake's. Its schema is the same for every lake."""

    def known(figure: Figure) -> Figure:
        if figure.answerable:
            catalog.concept_of(figure.concept)
            period_of(figure.period)  # a UsageError is a ValueError
            for company in figure.companies:
                catalog.cik_of(company)
        return figure

    made: type[Figure] = create_model("Figure", __base__=Figure, __doc__=Figure.__doc__,
                                      __validators__={"known": model_validator(mode="after")(known)})  # type: ignore[dict-item]  # as pydantic takes them
    return made


def looked_up(catalog: Catalog, asked: Figure) -> Looked:
    """The answer to a checked form. Raises UsageError for a period that is none, ValueError for a name that is not there."""
    wanted = {catalog.cik_of(one) for one in asked.companies}
    facts = [row for row in facts_of(catalog.snapshot, catalog.concept_of(asked.concept), asked.period)
             if (not wanted or row["entity"] in wanted) and _is_number(row["value"])]
    units = tuple(unit for unit, _ in Counter(str(row["unit"] or "") for row in facts).most_common())
    if len(units) > 1 and asked.aggregation != "none":
        return Looked(facts, [], units)
    return Looked(facts, _computed(facts, asked), units)


def _is_number(value: str) -> bool:
    """One that DuckDB's decimals of 38 digits hold."""
    try:
        found = Decimal(value)
    except InvalidOperation:
        return False
    return found.is_finite() and found.adjusted() < 30


def _computed(facts: Sequence[Mapping[str, Any]], asked: Figure) -> list[Row]:
    import duckdb
    import pyarrow as pa

    names = ("entity", "company", "fiscal")
    columns: dict[str, Any] = {"n": pa.array(range(len(facts)), pa.int64())}
    columns |= {name: pa.array([row[name] for row in facts], pa.string()) for name in names}
    columns["value"] = pa.array([f"{Decimal(row['value']):f}" for row in facts], pa.string())
    columns["until_on"] = pa.array([row["end_on"] or row["instant_on"] for row in facts], pa.date32())
    with duckdb.connect(":memory:", config={"enable_external_access": False}) as connection:
        connection.register("found", pa.table(columns))
        query = f"select * from ({_QUERIES[asked.aggregation]}) order by {_ORDERS[asked.order]}, company, of_rows limit $most"
        rows = connection.execute(query, {"most": asked.limit}).fetchall()
    return [Row(_exactly(figure), tuple(of), company, fiscal) for figure, of, company, fiscal, _ in rows]


def _exactly(figure: Any) -> str:
    """Without zeros at the end, thousands set apart."""
    text = f"{figure:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _stems(text: str) -> list[str]:
    """Words in small letters, of camelCase too, without the plural's s."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", text)
    return [word.lower().removesuffix("s") for word in words if len(word) > 2]
