"""The demo: fictional filings, served as EDGAR by a local server, ingested by the same code that talks to EDGAR, evaluated, priced."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from edgarmill.eval.evaluation import Evaluated
from edgarmill.flows.evaluate import evaluate
from edgarmill.flows.ingest import ingest
from edgarmill.flows.request import Request
from edgarmill.sample.corpus import Corpus, write_corpus
from edgarmill.sample.replay import serving
from edgarmill.schemas.records import RunRecord
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.store import Lake

USER_AGENT = "edgarmill demo demo@edgarmill.example"


@dataclass(frozen=True)
class Demo:
    """What the demo made, and one of its questions to try: its words, the filer's ticker and the accession that answers it."""

    corpus: Corpus
    run: RunRecord
    evaluated: Evaluated
    question: str
    ticker: str
    accession: str


def demo(settings: Settings, filings: int, overrides: dict[str, object], command: str) -> Demo:
    """Everything once, in the lake of the settings. A second time only what is missing is done."""
    folder = Path(Lake.open(settings.lake, create=True).folder("sample"))
    corpus = write_corpus(folder, filings)
    with serving(folder) as edgar:
        run = ingest(request_of(corpus, edgar.url, overrides, command))
    evaluated = evaluate(settings.lake, corpus.questions_file, overrides=dict(overrides))
    with open(corpus.questions_file, encoding="utf-8") as file:
        first = json.loads(file.readline())
    return Demo(corpus, run, evaluated, first["question"], corpus.tickers[0], first["gold"][0]["accession"])


def request_of(corpus: Corpus, url: str, overrides: dict[str, object], command: str) -> Request:
    """Every filer is asked anew: a larger sample has more filings of years gone by, which no index of a later day would tell."""
    return Request(source="edgar", ciks=corpus.ciks, command=command, listing="filers",
                   overrides={**overrides, "user_agent": USER_AGENT, "edgar_url": url, "edgar_data_url": url})

