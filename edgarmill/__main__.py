"""The command `edgarmill`: one verb a file in `commands/`, imported when it is asked for."""

from __future__ import annotations

import atexit
import errno
import importlib
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

import click

from edgarmill import __version__
from edgarmill.options import Given, shared, typed
from edgarmill.schemas.errors import EdgarmillError
from edgarmill.schemas.interrupts import interrupted
from edgarmill.terminal import complain

VERBS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Make an index", ("demo", "estimate", "fetch", "ingest", "questions", "evaluate", "compare", "report", "answers")),
    ("Use it", ("search", "answer", "serve", "facts", "sql", "parse", "inspect", "tree")),
    ("See what happened", ("index", "runs", "coverage", "costs", "why", "quarantine")),
    ("Set up", ("doctor", "config", "recipes", "remove", "gc", "sample", "replay")),
)
RESUMABLE = ("demo", "fetch", "ingest", "evaluate", "answers")
INTERRUPTED = 130
LAST_SECONDS = 10.0


class Manual(click.Group):
    """A group whose verbs are files of `commands/`, listed by purpose."""

    def list_commands(self, context: click.Context) -> list[str]:
        return [verb for _, verbs in VERBS for verb in verbs]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(context):
            return None
        found: click.Command = importlib.import_module(f"edgarmill.commands.{name}").command
        return found

    def resolve_command(self, context: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        import difflib

        name = args[0] if args else ""
        if self.get_command(context, name) is None and not name.startswith("-"):
            near = difflib.get_close_matches(name, self.list_commands(context), 1)
            context.fail(f"no such command {name!r}." + (f" Did you mean {near[0]}?" if near else ""))
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for title, verbs in VERBS:
            found = [(verb, self.get_command(context, verb)) for verb in verbs]
            with formatter.section(title):
                formatter.write_dl([(verb, command.get_short_help_str(100)) for verb, command in found if command])


@click.command(cls=Manual, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@shared
@click.version_option(__version__, prog_name="edgarmill", message="%(prog)s %(version)s")
def command() -> None:
    """SEC filings into a verified, versioned, costed index for question answering.

    A lake is one folder with everything in it: the filings as received, Parquet tables of what was made from them, and one LanceDB
    index per recipe. A recipe decides what the index holds; settings decide where and how fast. Work that is done is not done again.

    \b
    Examples:
      edgarmill demo                                        the whole thing on bundled filings, offline
      edgarmill ingest --source folder --path ./filings     your own files
      edgarmill ingest --ticker AAPL --form 10-K --since 2023-01-01 --user-agent "Name name@company.example"
      edgarmill search "What drove the change in gross margin?" --ticker AAPL --form 10-K
      edgarmill why 0000320193-24-000123                    all that happened to one filing
      edgarmill sql "select form, count(*) from filings group by 1"

    \b
    Exit codes:
      0 done    2 usage    3 done, but filings quarantined, filers not listed or answers missing
      4 failed    130 interrupted (run it again)
      A gate's answer, where it is not pass: 5 fail    6 undecided    7 not comparable

    Strength of settings: edgarmill.toml, then EDGARMILL_* in the environment, then the command line. `edgarmill config show` lists them.
    """


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and gives its exit code. The only place that turns errors into lines."""
    given = Given()
    try:
        with command.make_context("edgarmill", list(arguments), obj=given) as context:
            code = command.invoke(context)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        return 2
    except click.ClickException as error:
        complain(error.format_message())
        return 2
    except BrokenPipeError:
        # The reader left (`| head`): give Python's own flush at exit a place to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (click.Abort, KeyboardInterrupt):
        return _interrupted(arguments)
    except Exception as error:
        if interrupted(error):
            return _interrupted(arguments)
        return _failed(error, given.debug)


def _failed(error: Exception, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    if isinstance(error, EdgarmillError):
        complain(error)
        return error.exit_code
    complain(_unforeseen(error, debug))
    return 4


def _unforeseen(error: Exception, debug: bool) -> str:
    """What is said of an error that no module has typed."""
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "no space is left where this writes. Make room and run it again."
    todo = "please report the lines above." if debug else "say --debug to see where."
    return f"{type(error).__name__}: {error}. A defect of edgarmill: {todo}"


def _interrupted(arguments: Sequence[str]) -> int:
    if any(verb in arguments for verb in RESUMABLE):
        complain(f"interrupted. What was committed is kept; go on with: {typed(arguments)}")
    else:
        complain("interrupted")
    return INTERRUPTED


def main() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # of libraries, to those who call them: torch, transformers and Lance have some in every run
    code = run(sys.argv[1:])
    if code == INTERRUPTED:
        _leave(code)
    sys.exit(code)


def _leave(code: int) -> NoReturn:
    """Ends with that code. An interrupt within code from a string, as of a dataclass that is being imported, is remembered by Python, which
    would then end by the signal instead."""
    threading.Timer(LAST_SECONDS, os._exit, (code,)).start()  # what libraries do at the end may wait for what the interrupt left locked
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # closed, or nobody reads it any more
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
