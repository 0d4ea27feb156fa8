"""Who may import and do what: layers by import-linter, the rest by reading the sources."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("schemas", "workers", "retrieval", "eval", "flows", "sample", "edgarmill/commands")
# Settings read it; the others hand Ray, Prefect and unstructured what these take no other way, before they are imported.
MAY_TOUCH_ENVIRONMENT = {"schemas/settings.py", "workers/fanout.py", "flows/server.py", "workers/parse/unstructured.py"}
MAY_CATCH_ALL = {"workers/fanout.py", "workers/apart.py", "edgarmill/__main__.py"}
HEAVY = {
    "torch",
    "ray",
    "prefect",
    "lancedb",
    "lance",
    "sentence_transformers",
    "transformers",
    "unstructured",
    "pandas",
    "duckdb",
    "scipy",
}
NOWHERE = {"pickle", "pandas", "dill", "shelve", "unittest"}


def sources() -> list[Path]:
    return sorted({*(p for room in ROOMS for p in (ROOT / room).rglob("*.py")), *(ROOT / "edgarmill").glob("*.py")})


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(node: ast.AST) -> Iterator[str]:
    """Top-level packages imported anywhere below a node."""
    for found in ast.walk(node):
        if isinstance(found, ast.Import):
            yield from (a.name.partition(".")[0] for a in found.names)
        elif isinstance(found, ast.ImportFrom) and found.module and not found.level:
            yield found.module.partition(".")[0]


def at_import(body: list[ast.stmt]) -> Iterator[str]:
    """Packages imported when the module is: outside functions and TYPE_CHECKING."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.dump(statement.test):
            yield from at_import(statement.orelse)
        elif isinstance(statement, ast.ClassDef | ast.If | ast.Try | ast.With):
            for block in ("body", "orelse", "finalbody"):
                yield from at_import(getattr(statement, block, []))
        else:
            yield from imports(statement)


@cache
def imported(path: Path) -> frozenset[str]:
    return frozenset(imports(tree_of(path)))


def users(package: str) -> set[str]:
    return {name_of(p) for p in sources() if package in imported(p)}


def test_no_arrow_turns() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    ran = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_ray_stays_in_the_fan_out_and_in_flows() -> None:
    assert {u for u in users("ray") if not u.startswith("flows/")} <= {"workers/fanout.py"}


def test_prefect_stays_in_flows() -> None:
    assert {u for u in users("prefect") if not u.startswith("flows/")} == set()


@pytest.mark.parametrize("package", sorted(NOWHERE))
def test_what_must_not_be_imported_is_not(package: str) -> None:
    assert users(package) == set()


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_nothing_heavy_is_imported_with_a_module(path: Path) -> None:
    found = set(at_import(tree_of(path).body)) & HEAVY
    if name_of(path).startswith("flows/"):  # a flow is imported by its verb alone
        found -= {"prefect"}
    assert not found


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_the_environment_is_read_in_settings_alone(path: Path) -> None:
    touched = {
        n.attr for n in ast.walk(tree_of(path)) if isinstance(n, ast.Attribute) and n.attr in {"environ", "environb", "getenv", "putenv"}
    }
    touched |= {a.name for n in ast.walk(tree_of(path)) if isinstance(n, ast.ImportFrom) and n.module == "os" for a in n.names} & {
        "environ",
        "getenv",
    }
    assert not touched or name_of(path) in MAY_TOUCH_ENVIRONMENT


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_only_the_fan_out_and_the_top_catch_everything(path: Path) -> None:
    broad = [n.lineno for n in ast.walk(tree_of(path)) if isinstance(n, ast.ExceptHandler) and _is_broad(n)]
    assert not broad or name_of(path) in MAY_CATCH_ALL, f"line {broad}"


def _is_broad(handler: ast.ExceptHandler) -> bool:
    """Catches all and keeps it; one that ends in a bare `raise` swallows nothing."""
    last = handler.body[-1]
    if isinstance(last, ast.Raise) and last.exc is None:
        return False
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(k is None or (isinstance(k, ast.Name) and k.id in {"Exception", "BaseException"}) for k in kinds)


def test_the_broad_excepts_are_counted() -> None:
    """Two in the fan-out (a filing, a block of filings), one in the child that reads files apart, one at the top of the command."""
    found = {name: sum(isinstance(n, ast.ExceptHandler) and _is_broad(n) for n in ast.walk(tree_of(ROOT / name))) for name in MAY_CATCH_ALL}
    assert found == {"workers/fanout.py": 4, "workers/apart.py": 1, "edgarmill/__main__.py": 1}


@pytest.mark.parametrize("folder", ["workers/chunk", "workers/context", "workers/source", "flows/recipes"])
def test_plug_ins_of_one_folder_do_not_import_each_other(folder: str) -> None:
    room = folder.replace("/", ".")
    names = {p.stem for p in (ROOT / folder).glob("*.py")} - {"__init__"}
    for path in (ROOT / folder).glob("*.py"):
        if path.stem == "__init__":
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(f"edgarmill.{room}"):
                asked = {node.module.rpartition(".")[2], *(a.name for a in node.names)}
                assert not asked & (names - {path.stem} - SHARED_IN.get(folder, set())), path


# Modules of a plug-in folder that are no plug-ins but what plug-ins stand on.
SHARED_IN = {"workers/source": {"listed", "manifest"}}
