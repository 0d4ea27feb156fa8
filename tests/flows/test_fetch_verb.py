"""The command `fetch` as a process of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from small_ingest import write_filings

from edgarmill.sample.replay import Limit, serving


def test_fetch_downloads_what_tickers_and_ciks_name_and_looks_tickers_up_once(prefect: str, edgarmill: Callable[..., Any],
                                                                              tmp_path: Path) -> None:
    folder = write_filings(tmp_path / "in", 1, 2, 3)
    row = '{"fields": ["cik", "name", "ticker", "exchange"], "data": [[1, "COMPANY 1", "CO1", "NYSE"]]}'
    (folder / "company_tickers_exchange.json").write_text(row, encoding="utf-8")
    with serving(folder, limit=Limit(10_000)) as server:
        named = {"prefect_api_url": prefect, "edgar_url": server.url, "edgar_data_url": server.url}
        words = [word for name, value in named.items() for word in ("--set", f"{name}={value}")]
        ran = edgarmill("fetch", "--ticker", "co1", "--cik", "3", "--user-agent", "Test test@company.example", *words)
        assert ran.code == 0 and not ran.complaints
        assert ran.out.startswith("planned 2 = fetched 2 + unchanged 0 + quarantined 0; ")
        assert "list filers 2/2" in ran.err and "fetch 2/2" in ran.err
        assert sum("company_tickers" in one.path for one in server.requests) == 1
    found = json.loads(edgarmill("coverage", "--json").out)
    assert [(line["listed"], line["received"], line["waiting"]) for line in found["lines"]] == [(2, 2, 0)]
