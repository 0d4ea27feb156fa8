"""The house: rooms and links are the same, and edgarmill/ holds nothing else."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "edgarmill"
ROOMS = {"schemas", "workers", "retrieval", "eval", "flows", "sample"}
NO_ROOMS = {"edgarmill", "tests", "infra"}
OWN = {"__init__.py", "__main__.py", "py.typed", "options.py", "selecting.py", "showing.py", "terminal.py", "commands"}


def test_every_top_level_folder_of_code_is_a_room() -> None:
    folders = {p.name for p in ROOT.iterdir() if p.is_dir() and not p.name.startswith(".") and any(p.rglob("*.py"))}
    unexplained = {f for f in folders - ROOMS - NO_ROOMS if (ROOT / f / "__init__.py").exists()}
    assert not unexplained
    assert folders >= ROOMS


def test_every_room_is_linked_relatively() -> None:
    links = {p.name: os.readlink(p) for p in PACKAGE.iterdir() if p.is_symlink()}
    assert links == {room: f"../{room}" for room in ROOMS}
    assert all((PACKAGE / room).resolve() == (ROOT / room).resolve() for room in ROOMS)


def test_the_package_folder_holds_the_command_and_the_links_only() -> None:
    found = {p.name for p in PACKAGE.iterdir() if p.name != "__pycache__"}
    assert found == OWN | ROOMS


def test_every_room_folder_with_code_is_a_package() -> None:
    """Else the wheel and the checkers would not see it."""
    for room in ROOMS:
        for folder in {p.parent for p in (ROOT / room).rglob("*.py")}:
            assert (folder / "__init__.py").exists(), folder


def test_links_are_in_git_as_links() -> None:
    import subprocess

    if not (ROOT / ".git").exists():
        return
    listed = subprocess.run(["git", "ls-files", "-s", "edgarmill"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    modes = {line.split("\t")[1]: line.split()[0] for line in listed.splitlines()}
    assert {room: modes.get(f"edgarmill/{room}") for room in ROOMS} == dict.fromkeys(ROOMS, "120000")


def test_no_bags_and_no_power_names() -> None:
    import ast

    bags = {"utils", "util", "helpers", "common", "core", "misc"}
    power = ("Manager", "Handler", "Helper", "Processor", "Factory")
    for path in _sources():
        assert path.stem not in bags, path
        names = [n.name for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.ClassDef)]
        assert not [n for n in names if n.endswith(power)], path


def _sources() -> list[Path]:
    return [p for room in (*ROOMS, "edgarmill/commands") for p in (ROOT / room).rglob("*.py")] + list(PACKAGE.glob("*.py"))
