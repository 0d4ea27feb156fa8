"""What is written about the command and the tables is true, and all of them are written about."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from edgarmill.__main__ import VERBS, Manual, command
from edgarmill.schemas.settings import Settings
from edgarmill.schemas.tables import TABLES

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CONTRIBUTING.md")
NAMED = [
    (page, line)
    for page in PAGES
    for line in re.findall(r"^\s*(?:\$ )?edgarmill ([^#`\n]*)", (ROOT / page).read_text(encoding="utf-8"), re.M)
]
# `run_id` is the store's; where a name says it all, a column needs no words: these do, though, elsewhere in the list.
PLAIN = {
    "runs": {"started_at", "ended_at", "exit_code", "recipe_fingerprint", "indexed", "unchanged", "quarantined"},
    "index_versions": {"recipe_fingerprint", "model_hash", "filings", "chunks", "created_at"},
}


def resolve(words: list[str]) -> click.Command:
    found: click.Command = command
    for word in words:
        if not isinstance(found, click.Group):
            break
        if word.startswith("-"):
            continue
        inner = found.get_command(click.Context(found), word)
        if inner is None and isinstance(found, Manual):
            continue  # the value of an option before the verb
        assert inner is not None, word
        found = inner
    return found


@pytest.mark.parametrize(("page", "line"), NAMED)
def test_every_command_in_the_pages_exists_with_its_options(page: str, line: str) -> None:
    words = line.split()
    found = resolve(words)
    known = {o for c in (command, found) for p in c.params for o in (*p.opts, *p.secondary_opts)} | {"--help", "-h", "--version"}
    assert {w.partition("=")[0] for w in words if w.startswith("--")} <= known


@pytest.mark.parametrize("verb", [v for _, verbs in VERBS for v in verbs])
def test_every_command_and_option_has_help(verb: str) -> None:
    found = command.get_command(click.Context(command), verb)
    assert found is not None
    inner = [found, *(found.commands.values() if isinstance(found, click.Group) else ())]
    for one in inner:
        assert one.help, one.name
        assert all(p.help for p in one.params if isinstance(p, click.Option)), one.name


@pytest.mark.parametrize("name", list(Settings.model_fields))
def test_every_setting_says_what_it_means(name: str) -> None:
    assert Settings.model_fields[name].description


@pytest.mark.parametrize("name", list(TABLES))
def test_every_table_has_a_key_a_record_and_words_for_its_columns(name: str) -> None:
    table = TABLES[name]
    columns = {n for n, _, _ in table.columns}
    assert set(table.key) <= columns | {"run_id"}
    assert columns == {f for f in table.record.__dataclass_fields__}
    if name not in ("checks", "question_sets", "rankings", "scores"):  # names that say it all
        assert {n for n, _, meaning in table.columns if not meaning} <= PLAIN.get(name, set())


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!https?://|#|mailto:)([^)#]+)", text):
            assert (ROOT / target).exists(), f"{page}: {target}"
