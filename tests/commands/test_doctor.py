"""doctor: says what is missing and how to mend it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgarmill.commands import doctor
from edgarmill.schemas.settings import Settings

Edgarmill = Callable[..., Any]


def lines(settings: Settings) -> dict[str, doctor.Line]:
    return {line.subject: line for line in doctor.examine(settings)}


def test_everything_that_is_not_in_order_says_how_to_mend_it(tmp_path: Path) -> None:
    found = lines(Settings(lake=str(tmp_path / "lake")))
    assert all(line.todo for line in found.values() if line.state != "ok")
    assert {"python", "memory", "disk", "lake", "torch device", "packaged model", "EDGAR user agent", "Prefect", "OCR"} <= set(found)


def test_ocr_that_is_not_at_hand_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgarmill.workers.parse.unstructured.missing", lambda media: f"{media}: apt-get install tesseract-ocr")
    monkeypatch.setattr(doctor, "version", lambda name: None)
    assert lines(Settings())["OCR"] == doctor.Line(
        "ok", "OCR", "not at hand; only PDFs of scanned pages need it", "pdf: apt-get install tesseract-ocr")
    monkeypatch.setattr(doctor, "version", lambda name: "1")
    assert (lines(Settings())["OCR"].state, lines(Settings())["OCR"].found) == ("warn", "not at hand")


def test_packages_are_those_that_the_distribution_asks_for() -> None:
    assert {"click", "duckdb", "pyarrow", "pydantic"} <= set(doctor.required(""))
    assert {"ray", "torch", "prefect"} <= set(doctor.required("pipeline"))
    assert not set(doctor.required("")) & set(doctor.required("pipeline"))


def test_a_package_that_is_not_there_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch, edgarmill: Edgarmill) -> None:
    known = doctor.version
    monkeypatch.setattr(doctor, "version", lambda name: None if name in ("ray", "duckdb") else known(name))
    ran = edgarmill("doctor", "--json")
    found = {line["subject"]: line for line in ran.json}
    assert (found["ray"]["state"], found["ray"]["todo"]) == ("warn", "pip install 'edgarmill[pipeline]'")
    assert (found["duckdb"]["state"], ran.code) == ("missing", 4)


def test_a_lake_that_cannot_be_written_is_missing(tmp_path: Path) -> None:
    line = lines(Settings(lake="/proc/lake"))["lake"]
    assert line.state == "missing" and "--lake" in line.todo


def test_the_user_agent_is_shown_when_set() -> None:
    assert lines(Settings(user_agent="Name name@company.example"))["EDGAR user agent"].state == "ok"
