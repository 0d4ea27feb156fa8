"""fetch, estimate --fetch and coverage at the terminal, over real HTTP to a served EDGAR; a run of fetch is in tests/flows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from small_ingest import write_filings

from edgarmill.flows.plain import fetched
from edgarmill.flows.request import Request
from edgarmill.sample.archive import weekdays
from edgarmill.sample.faults import at, reset
from edgarmill.sample.replay import Limit, ReplayServer, serving
from edgarmill.schemas.store import Lake

Edgarmill = Callable[..., Any]
AGENT = "Test Company test@company.example"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_filings(tmp_path_factory.mktemp("served") / "in", 1, 2, 3)
    rows = ", ".join(f'[{n}, "COMPANY {n}", "CO{n}", "NYSE"]' for n in (1, 2, 3))
    (root / "company_tickers_exchange.json").write_text(f'{{"fields": ["cik", "name", "ticker", "exchange"], "data": [{rows}]}}')
    return root


@pytest.fixture
def edgar(folder: Path) -> Iterator[ReplayServer]:
    with serving(folder, limit=Limit(10_000)) as server:
        server.show(days=weekdays((datetime.now(UTC) - timedelta(days=1)).date()))
        yield server


def settings_of(server: ReplayServer, **more: object) -> dict[str, object]:
    return {"user_agent": AGENT, "edgar_url": server.url, "edgar_data_url": server.url, "requests_per_second": 10, "request_retries": 0,
            **more}


def options(server: ReplayServer, **more: object) -> list[str]:
    return [word for name, value in settings_of(server, **more).items() for word in ("--set", f"{name}={value}")]


@pytest.fixture
def lake(edgar: ReplayServer, tmp_path: Path) -> Path:
    """A lake that has fetched two of the three filers."""
    place = tmp_path / "fetched"
    fetched(Request(source="edgar", ciks=("1", "2"), overrides=settings_of(edgar, lake=str(place))))
    return place


# -- what the lake has, and what fetching would take


def test_coverage_says_that_all_is_here(edgarmill: Edgarmill, lake: Path) -> None:
    found = edgarmill("coverage", "--lake", lake, "--json").json
    assert [(line["listed"], line["received"], line["waiting"]) for line in found["lines"]] == [(2, 2, 0)]
    assert found["filers"] == 2 and "2 filers, listed through " in edgarmill("coverage", "--lake", lake).out


def test_a_run_beside_another_on_the_same_lake_is_refused(edgarmill: Edgarmill, edgar: ReplayServer, lake: Path) -> None:
    with Lake.open(str(lake)).writer("other", "edgarmill ingest"):
        ran = edgarmill("fetch", "--cik", "3", "--lake", lake, *options(edgar))
    assert ran.code == 4 and ran.err.count("\n") == 1 and "another run writes here" in ran.err


def test_an_estimate_lists_and_writes_nothing(edgarmill: Edgarmill, edgar: ReplayServer, tmp_path: Path) -> None:
    ran = edgarmill("estimate", "--fetch", "--ticker", "CO1", "--ticker", "CO2", *options(edgar))
    assert ran.code == 0 and "2 filings, 2 to fetch: " in ran.out and "(3 requests were made to list them)" in ran.out
    assert not (tmp_path / "lake").exists()
    assert not any("/Archives/edgar/data/" in one.path for one in edgar.requests)


def test_an_estimate_knows_what_the_lake_has_and_leaves_it_as_it_is(edgarmill: Edgarmill, edgar: ReplayServer, lake: Path) -> None:
    before, asked = Lake.open(str(lake)).snapshot().number, len(edgar.requests)
    ran = edgarmill("estimate", "--fetch", "--cik", "1", "--cik", "2", "--cik", "3", *options(edgar), "--lake", lake, "--json")
    assert (ran.code, ran.json["filings"], ran.json["to_fetch"], ran.json["not_listed"]) == (0, 3, 1, [])
    assert [line["here"] for line in ran.json["lines"]] == [2]
    filers = [one.path for one in edgar.requests[asked:] if "/submissions/" in one.path]
    assert filers == ["/submissions/CIK0000000003.json"]  # the covered ones are not asked again
    assert Lake.open(str(lake)).snapshot().number == before


def test_a_selection_that_fits_nothing_says_so(edgarmill: Edgarmill, edgar: ReplayServer) -> None:
    ran = edgarmill("estimate", "--fetch", "--cik", "1", "--since", "2030-01-01", *options(edgar))
    assert ran.code == 0 and ran.out.startswith("EDGAR lists nothing that fits")


def test_events_are_listed_and_an_empty_lake_says_what_to_do(edgarmill: Edgarmill, lake: Path, tmp_path: Path) -> None:
    kinds = {row["kind"] for row in edgarmill("coverage", "--events", "--lake", lake, "--json").json}
    assert kinds <= {"disagrees"}
    Lake.open(str(tmp_path / "new"), create=True)
    assert "edgarmill fetch" in edgarmill("coverage", "--lake", tmp_path / "new").out
    assert edgarmill("coverage", "--lake", tmp_path / "none").code == 2


# -- selections


def test_options_overrule_a_selection_file_and_filers_replace_its_filers(edgarmill: Edgarmill, edgar: ReplayServer, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('ciks = ["1", "2"]\nforms = ["8-K"]\n', encoding="utf-8")
    (tmp_path / "list.csv").write_text("# mine\nname,ticker\nx,CO3\n", encoding="utf-8")

    def filings(*words: str) -> int:
        found: int = edgarmill("estimate", "--fetch", "--json", *words, *options(edgar)).json["filings"]
        return found

    assert filings("--selection", "mine.toml") == 0
    assert filings("--selection", "mine.toml", "--form", "10-K") == 2
    assert filings("--selection", "mine.toml", "--form", "10-K", "--universe", "list.csv") == 1


BAD = [
    (["--ticker", "CO9"], "CO9: EDGAR lists no such ticker. Did you mean CO"),
    (["--cik", "12ab"], "12ab: a CIK is a number of up to ten digits"),
    (["--universe", "huge"], "huge: no such universe. Shipped: large"),
    (["--universe", "empty.csv"], "empty.csv: a universe without a member"),
    (["--universe", "binary.csv"], "binary.csv: universe file cannot be read"),
    (["--universe", "head.csv"], "head.csv:1: line 1 of the table is no heading with cik or ticker"),
    (["--selection", "typo.toml"], "typo.toml: selection: tickrs is not known"),
    (["--selection", "cut.toml"], "cut.toml: selection is not TOML"),
    (["--selection", "defalt"], "defalt: no such selection. Shipped: default"),
    (["--selection", "forms.toml"], "no company is named"),
    (["--cik", "1", "--since", "2025-01-01", "--until", "2024-01-01"], "the window ends before it begins"),
    (["--cik", "1", "--form", "NOPE"], "NOPE: not a form that is taken"),
    (["--cik", "1", "--form", "8-K:0"], "8-K:0: after the colon stands how many"),
    (["--cik", "1", "--fiscal-years", "20x"], "20x: not a range of years"),
    (["--cik", "1", "--limit", "0"], "Invalid value for '--limit'"),
    (["--cik", "1", "--set", "user_agent="], "user_agent: no user_agent is set"),
    (["--cik", "1", "--set", "user_agent=Mozilla"], "user_agent has no contact address"),
    (["--ticker", "CO1", "--set", "edgar_url=nonsense"], "not an address. Check edgar_url"),
    ([], "say which filers"),
]


@pytest.mark.parametrize(("words", "says"), BAD)
def test_bad_words_are_one_line_and_2_and_leave_nothing_behind(edgarmill: Edgarmill, edgar: ReplayServer, tmp_path: Path, words: list[str],
                                                               says: str) -> None:
    files = {"empty.csv": b"", "binary.csv": bytes(range(128, 256)), "head.csv": b"a,b\n1,2\n", "typo.toml": b'tickrs = ["CO1"]\n',
             "cut.toml": b'forms = ["10-K"\n', "forms.toml": b'forms = ["10-K"]\n'}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    for verb in ("fetch", "ingest"):
        ran = edgarmill(verb, *options(edgar), *words)
        assert ran.code == 2 and says in ran.err and ran.err.startswith("edgarmill: ") and ran.err.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == set(files)


# -- EDGAR that does not answer


def test_many_unknown_filers_are_told_in_one_line(edgarmill: Edgarmill, edgar: ReplayServer, tmp_path: Path) -> None:
    (tmp_path / "many.txt").write_text("1\n" + "".join(f"{n}\n" for n in range(900, 912)), encoding="utf-8")
    ran = edgarmill("estimate", "--fetch", "--universe", "many.txt", *options(edgar))
    assert ran.code == 0 and "1 filing, 1 to fetch" in ran.out
    told = [line for line in ran.err.splitlines() if line.startswith("edgarmill: ")]
    assert len(told) == 1 and told[0].endswith(": 0000000900, 0000000901, 0000000902, 0000000903, 0000000904 and 7 more")


def test_a_filer_that_cannot_be_read_is_said_and_the_estimate_ends_in_3(edgarmill: Edgarmill, folder: Path) -> None:
    with serving(folder, limit=Limit(10_000), script=at("CIK0000000002", reset)) as edgar:
        ran = edgarmill("estimate", "--fetch", "--cik", "1", "--cik", "2", *options(edgar), "--json")
    assert (ran.code, ran.json["filings"], ran.json["not_listed"]) == (3, 1, ["filer 0000000002"])
    assert "filer 0000000002 could not be read" in ran.err


def test_where_nobody_answers_it_is_an_error_and_not_an_empty_list(edgarmill: Edgarmill, folder: Path) -> None:
    with serving(folder) as edgar:
        words = options(edgar)
    for filer in (["--cik", "1"], ["--ticker", "CO1"]):
        ran = edgarmill("estimate", "--fetch", *filer, *words)
        assert ran.code == 4 and not ran.out and "run again" in ran.err.splitlines()[-1]


def test_a_run_that_could_not_list_all_ends_in_3_and_says_what_is_missing(folder: Path, tmp_path: Path) -> None:
    with serving(folder, limit=Limit(10_000), script=at("CIK0000000002", reset)) as edgar:
        request = Request(source="edgar", ciks=("1", "2"), overrides=settings_of(edgar, lake=str(tmp_path / "lake")))
        record = fetched(request).record
    assert (record.outcome, record.exit_code, record.planned, record.fetched) == ("incomplete", 3, 1, 1)
    assert record.message == "not listed: filer 0000000002"
