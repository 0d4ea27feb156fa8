"""The wheel holds the tree: every module, the recipes, nothing of the tests."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("schemas", "workers", "retrieval", "eval", "flows", "sample")


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Paths inside the built wheel."""
    out = tmp_path_factory.mktemp("wheel")
    pytest.importorskip("hatchling", reason="the build backend is not installed")
    words = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    ran = subprocess.run(words, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    with zipfile.ZipFile(next(out.glob("*.whl"))) as wheel:
        return set(wheel.namelist())


def test_every_module_of_the_tree_is_in_the_wheel_and_no_other(names: set[str]) -> None:
    tree = {f"edgarmill/{p.relative_to(ROOT).as_posix()}" for room in ROOMS for p in (ROOT / room).rglob("*.py")}
    tree |= {p.relative_to(ROOT).as_posix() for p in (ROOT / "edgarmill").glob("*.py")}
    tree |= {p.relative_to(ROOT).as_posix() for p in (ROOT / "edgarmill" / "commands").glob("*.py")}
    assert {n for n in names if n.endswith(".py")} == tree


def test_data_that_code_reads_is_in_the_wheel(names: set[str]) -> None:
    wanted = {p for room in ROOMS for kind in ("*.toml", "*.json", "*.jsonl", "*.csv", "*.css", "*.js") for p in (ROOT / room).rglob(kind)}
    assert {f"edgarmill/{p.relative_to(ROOT).as_posix()}" for p in wanted} <= names
    assert "edgarmill/flows/recipes/default.toml" in names
    assert "edgarmill/py.typed" in names


def test_the_wheel_holds_one_import_name_and_the_licence(names: set[str]) -> None:
    tops = {n.partition("/")[0] for n in names}
    assert {t for t in tops if not t.endswith(".dist-info")} == {"edgarmill"}
    assert any(n.endswith("/licenses/LICENSE") for n in names)
    assert not [n for n in names if "test" in n.rpartition("/")[2] and n.endswith(".py")]
