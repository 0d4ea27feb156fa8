"""A function at most 60 lines, a module at most 400, tables of data aside: what outgrows itself becomes a folder."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("schemas", "workers", "retrieval", "eval", "flows", "sample", "edgarmill/commands")
DATA = {"schemas/tables.py", "schemas/records.py", "sample/sectors.py"}
MODULE_LINES, FUNCTION_LINES = 400, 60


def sources() -> list[Path]:
    return sorted({*(p for room in ROOMS for p in (ROOT / room).rglob("*.py")), *(ROOT / "edgarmill").glob("*.py")})


@pytest.mark.parametrize("path", sources(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_a_module_can_be_read_at_a_sitting(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MODULE_LINES or path.relative_to(ROOT).as_posix() in DATA
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < FUNCTION_LINES, node.name
            assert node.returns is not None, f"{node.name} has no return type"
