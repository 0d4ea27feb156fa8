"""The command as a whole: help, errors, exit codes, interruption."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from edgarmill import __main__ as main
from edgarmill.options import Given, typed
from edgarmill.schemas.errors import BadFile, LakeLocked

Edgarmill = Callable[..., Any]


def verb(function: Callable[[], Any]) -> click.Command:
    return click.Command("probe", callback=function)


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Puts a verb of the test's own in the place of `sql`."""

    def put(function: Callable[[], Any]) -> None:
        monkeypatch.setattr("edgarmill.commands.sql.command", verb(function))

    return put


def test_help_names_every_verb_and_every_exit_code(edgarmill: Edgarmill) -> None:
    ran = edgarmill("--help")
    assert ran.code == 0
    for word in (
        *(v for _, verbs in main.VERBS for v in verbs),
        "0 done",
        "2 usage",
        "3 done, but",
        "4 failed",
        "130 interrupted",
        "Examples",
    ):
        assert word in ran.out


@pytest.mark.parametrize("name", [v for _, verbs in main.VERBS for v in verbs])
def test_every_verb_has_help_and_takes_the_lake(edgarmill: Edgarmill, name: str) -> None:
    ran = edgarmill(name, "--help")
    assert ran.code == 0
    assert "--lake DIR" in ran.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["confg"], "no such command 'confg'. Did you mean config?"),
        (["sql"], "Missing argument 'STATEMENT'"),
        (["config", "show", "--set", "engine"], "say name=value, not 'engine'"),
        (["config", "show", "--set", "nonsense=1"], "nonsense: Extra inputs are not permitted"),
        (["config", "show", "--set", "workers=many"], "workers: Input should be a valid integer"),
        (["config", "show", "--config", "absent.toml"], "absent.toml: no such settings file"),
        (["index", "list", "--lake", "absent"], "absent: no lake here. Run edgarmill ingest"),
        (["index", "list", "--lake", "s3://bucket/lake"], "a lake is a local folder for now"),
    ],
)
def test_a_word_that_is_off_gets_one_line_and_exit_code_2(edgarmill: Edgarmill, words: list[str], says: str) -> None:
    ran = edgarmill(*words)
    assert ran.code == 2
    assert ran.err.startswith("edgarmill: ") and says in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(("error", "code"), [(LakeLocked("held", "lake", "Wait."), 4), (BadFile("junk", "x.htm"), 3)])
def test_an_error_of_the_tree_exits_with_its_code(edgarmill: Edgarmill, probe: Any, error: Exception, code: int) -> None:
    def fails() -> None:
        raise error

    probe(fails)
    ran = edgarmill("sql")
    assert (ran.code, ran.err) == (code, f"edgarmill: {error}\n")


def test_a_defect_gets_one_line_and_the_traceback_only_when_asked_for(edgarmill: Edgarmill, probe: Any) -> None:
    def fails() -> None:
        raise ZeroDivisionError("of\nour own")

    probe(fails)
    plain, loud = edgarmill("sql"), edgarmill("--debug", "sql")
    assert plain.code == loud.code == 4
    assert plain.err == "edgarmill: ZeroDivisionError: of our own. A defect of edgarmill: say --debug to see where.\n"
    assert "Traceback" in loud.err


def test_an_interrupted_ingest_says_how_to_go_on(edgarmill: Edgarmill, monkeypatch: pytest.MonkeyPatch) -> None:
    def stops(path: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("edgarmill.commands.ingest.command", click.Command("ingest", callback=stops, params=[click.Option(["--path"])]))
    ran = edgarmill("--set", "hub_token=deadbeef", "ingest", "--path", "my filings")
    assert ran.code == 130
    assert ran.err.strip().endswith("go on with: edgarmill --set 'hub_token=***' ingest --path 'my filings'")


def test_a_verb_gives_the_exit_code_it_returns(edgarmill: Edgarmill, probe: Any) -> None:
    probe(lambda: 3)
    assert edgarmill("sql").code == 3


def test_a_reader_that_left_is_no_error(lake: Path) -> None:
    words = [sys.executable, "-m", "edgarmill", "config", "show"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_no_defect_of_ours() -> None:
    with open("/dev/full", "wb") as full:
        ran = subprocess.run([sys.executable, "-m", "edgarmill", "config", "show"], stdout=full, stderr=subprocess.PIPE)
    assert ran.returncode == 4
    assert ran.stderr.splitlines()[0] == b"edgarmill: no space is left where this writes. Make room and run it again."


def test_options_may_stand_before_or_after_the_verb(edgarmill: Edgarmill) -> None:
    before = edgarmill("--lake", "x", "--json", "config", "show").json
    after = edgarmill("config", "show", "--lake", "x", "--json").json
    assert before == after
    assert before[0] == {"setting": "lake", "value": "x", "origin": "command line", "meaning": before[0]["meaning"]}


def test_secrets_are_masked_in_the_command_as_typed() -> None:
    assert (
        typed(["--set", "hub_token=abc def", "--set=hub-token=x", "sql", "a b"])
        == "edgarmill --set 'hub_token=***' '--set=hub-token=***' sql 'a b'"
    )


def test_overrides_reach_the_settings() -> None:
    assert Given(overrides={"workers": "3"}).settings().workers == 3


def test_output_that_the_terminal_cannot_show_does_not_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", narrow)
    monkeypatch.setattr(sys, "argv", ["edgarmill", "--help"])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 0


INTERRUPTED = """
import sys
from edgarmill import __main__ as main

def run(arguments):
    try:
        exec("raise KeyboardInterrupt")  # as within a dataclass that is being made
    except KeyboardInterrupt:
        return main.INTERRUPTED

main.run = run
main.main()
"""


def test_an_interrupt_within_code_from_a_string_ends_with_its_code_and_no_signal() -> None:
    assert subprocess.run([sys.executable, "-c", INTERRUPTED], check=False).returncode == 130


WARNS = """
import atexit, sys, warnings
from edgarmill.__main__ import main

atexit.register(lambda: warnings.warn("deprecated in a library", FutureWarning))
sys.argv = ["edgarmill", "--version"]
main()
"""


def test_warnings_of_libraries_are_shown_to_who_asks_for_them_alone() -> None:
    for words, shown in (((), False), (("-W", "default"), True)):
        ran = subprocess.run([sys.executable, *words, "-c", WARNS], capture_output=True, text=True, timeout=60, check=True)
        assert ("deprecated in a library" in ran.stderr) == shown, ran.stderr
