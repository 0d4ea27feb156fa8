"""Questions to the table of facts: a small form checked against the lake, computed by DuckDB, each figure cited by its context."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from advised import treed
from answering import a_set, answered, copied, question, shown
from fake_models import ModelServer, chat, serving
from tiny_lake import commit, publish

from edgarmill.eval.answering.figures import Catalog, Figure, looked_up
from edgarmill.schemas.records import AnswerRow, FactRow
from edgarmill.schemas.store import Lake

REVENUE, ASSETS, INCOME = "us-gaap:Revenues", "us-gaap:Assets", "us-gaap:NetIncomeLoss"
YEARS = {"A": {2023: "100", 2022: "80"}, "B": {2023: "300.50", 2022: "310"}, "C": {2023: "200", 2022: "150"}}


def rows() -> list[dict[str, list[object]]]:
    """Three annual reports of fiscal 2023 with revenues of two years, assets in two currencies, and one income that is no number."""
    made = []
    for n, (name, years) in enumerate(YEARS.items()):
        one = treed(n, form="10-K", family="10-K", fiscal_year=2023, fiscal_quarter=4, period_on=date(2023, 12, 31))
        filing: Any = one["filings"][0]

        def fact(concept: str, value: str, year: int, unit: str = "USD", filing: Any = filing) -> FactRow:
            end = date(year, 12, 31)
            return FactRow(f"{filing.accession}:1", filing.accession, 0, concept, filing.ciks[0], end - timedelta(days=364), end, None, 365,
                           "{}", unit, value, 0.0, "0", value, False, False, (), "")

        one["facts"] = [fact(REVENUE, value, year) for year, value in years.items()]
        one["facts"] += [fact(ASSETS, "5", 2023, "EUR" if name == "C" else "USD"), fact(INCOME, "NaN", 2023)]
        made.append(one)
    return made


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving() as found:
        yield found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake.open(str(tmp_path_factory.mktemp("facts") / "lake"), create=True)
    commit(lake, "ingest", rows())
    publish(lake)
    return lake


@pytest.fixture
def lake(made: Lake, tmp_path: Path) -> Lake:
    return copied(made, tmp_path)


def form(**changes: Any) -> dict[str, Any]:
    return {"answerable": True, "concept": REVENUE, "period": "2023", "companies": [], "aggregation": "none", "order": "largest",
            "limit": 10, **changes}


def figures(lake: Lake, **changes: Any) -> list[tuple[str, str | None, str | None]]:
    found = looked_up(Catalog(lake.snapshot()), Figure.model_validate(form(**changes)))
    return [(row.figure, row.company and row.company[-1], row.fiscal) for row in found.rows]


def one(lake: Lake, server: ModelServer, *said: dict[str, Any], text: str = "Who had the highest revenues in fiscal 2023?") -> AnswerRow:
    server.then(*map(chat, said))
    [row] = answered(lake, server, a_set(question(1, text)), "facts").rows
    return row


@pytest.mark.parametrize(("changes", "wanted"), [
    ({}, [("300.5", "B", "2023"), ("200", "C", "2023"), ("100", "A", "2023")]),
    ({"order": "smallest", "limit": 2}, [("100", "A", "2023"), ("200", "C", "2023")]),
    ({"companies": ["AAA", "3", "Company B"], "limit": 1}, [("300.5", "B", "2023")]),
    ({"companies": ["aaa"]}, [("100", "A", "2023")]),
    ({"aggregation": "highest"}, [("300.5", "B", "2023")]),
    ({"aggregation": "lowest", "concept": "revenues"}, [("100", "A", "2023")]),
    ({"aggregation": "sum"}, [("600.5", None, None)]),
    ({"aggregation": "average"}, [("200.166667", None, None)]),
    ({"aggregation": "count"}, [("3", None, None)]),
    ({"aggregation": "change", "period": "2022..2023"}, [("50", "C", "2022 to 2023"), ("20", "A", "2022 to 2023"),
                                                        ("-9.5", "B", "2022 to 2023")]),
    ({"period": "2022..2023", "companies": ["AAA"], "order": "oldest"}, [("80", "A", "2022"), ("100", "A", "2023")]),
    ({"period": "1999"}, []), ({"aggregation": "sum", "period": "1999"}, []), ({"concept": INCOME}, []),
    ({"concept": ASSETS, "aggregation": "sum"}, []),  # two currencies
])
def test_a_form_is_one_query(lake: Lake, changes: dict[str, Any], wanted: list[tuple[str, str | None, str | None]]) -> None:
    assert figures(lake, **changes) == wanted


def test_an_answer_is_worded_by_us_and_cites_each_fact(lake: Lake, server: ModelServer) -> None:
    row = one(lake, server, form(aggregation="highest"))
    assert row.text == "300.5 USD, Company B, 2023 (us-gaap:Revenues, 2023)" and row.error is None and row.calls == 1
    [place] = json.loads(row.citations)
    assert place["accession"].endswith("000001") and place["fact"]["concept"] == REVENUE and place["fact"]["value"] == "300.50"
    assert place["fact"]["context"] == {"entity": "0000000002", "start_on": "2023-01-01", "end_on": "2023-12-31", "instant_on": None,
                                        "dimensions": {}}
    rows = shown(server.requests[0])
    assert rows[0] == {"concept": REVENUE} and {"companies_in_all": 3} in rows
    assert [line["tickers"] for line in rows if "company" in line] == [["AAA"], ["BBB"], ["CCC"]]


def test_of_many_companies_those_that_the_question_names_are_shown(lake: Lake, server: ModelServer) -> None:
    one(lake, server, form(companies=["BBB"]), text="What were the revenues of BBB?")
    assert [line["tickers"] for line in shown(server.requests[0]) if "company" in line] == [["BBB"]]


def test_a_sum_cites_all_that_it_is_made_of(lake: Lake, server: ModelServer) -> None:
    row = one(lake, server, form(aggregation="sum"))
    assert row.text.startswith("600.5 USD") and len({place["accession"] for place in json.loads(row.citations)}) == 3


@pytest.mark.parametrize(("wrong", "why"), [
    (form(concept="us-gaap:Revenue"), "there are us-gaap:Revenues"), (form(concept="x'; drop table facts"), "no facts of concept"),
    (form(companies=["ZZZ"]), "no facts of a company 'ZZZ'"), (form(period="soon"), "not a period"),
    (form(limit=10_000), "less than or equal to 50"), (form(sql="select 1"), "Extra inputs"),
    (form(aggregation="median"), "Input should be"),
])
def test_what_the_lake_does_not_have_goes_back_to_the_model_and_is_never_run(
        lake: Lake, server: ModelServer, wrong: dict[str, Any], why: str) -> None:
    row = one(lake, server, wrong, form(aggregation="highest"))
    assert why in server.requests[1].body["messages"][-1]["content"] and row.error is None and row.calls == 2
    server.then(chat(wrong), chat(wrong))
    [other] = answered(lake, server, a_set(question(2, "Another one?")), "facts", run="2").rows
    assert other.error == "MalformedAnswer" and other.text == ""


@pytest.mark.parametrize(("said", "why"), [
    (form(answerable=False, concept="", period=""), "no concept is what is asked"), (form(period="1999"), "no figure of us-gaap:Revenues"),
    (form(concept=ASSETS, aggregation="sum"), "several units (USD, EUR)"),
])
def test_what_the_facts_do_not_hold_is_refused(lake: Lake, server: ModelServer, said: dict[str, Any], why: str) -> None:
    row = one(lake, server, said)
    assert (row.refused, row.error, row.claims) == (True, None, "[]") and why in (row.notes or "")
