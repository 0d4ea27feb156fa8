"""What a user names is looked at before it is read or written over."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgarmill.eval import experiments, questions, rule
from edgarmill.sample import fault_file
from edgarmill.schemas import recipe, settings
from edgarmill.schemas.errors import UsageError
from edgarmill.schemas.files import PAGE, check_free, check_regular
from edgarmill.workers.embed.tokens import Tokenizer
from edgarmill.workers.source.edgar import selection
from edgarmill.workers.source.manifest import read_manifest

READERS: dict[str, Callable[[str], Any]] = {
    "questions": questions.load, "experiment": experiments.load, "rule": rule.load, "recipe": recipe.load,
    "settings": lambda path: settings.load({}, path), "selection": selection.read, "tokenizer": Tokenizer,
    "faults": lambda path: fault_file.read_faults(Path(path)), "manifest": lambda path: read_manifest(path, True, print),
}


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_is_refused_in_a_line_and_not_waited_for(name: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    (tmp_path / "link.toml").symlink_to(pipe)
    for path in (pipe, tmp_path / "link.toml"):
        with pytest.raises(UsageError, match="not a regular file") as caught:
            READERS[name](str(path))
        assert "\n" not in str(caught.value)


def test_a_device_and_a_socket_are_no_files_and_what_is_not_there_is_left_to_who_opens_it(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the address of a socket is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        for path in ("s", "/dev/zero"):
            with pytest.raises(UsageError, match="not a regular file"):
                check_regular(path)
    for path in (str(tmp_path), str(tmp_path / "absent"), "a\0b"):
        check_regular(path)


@pytest.mark.parametrize("name", [name for name in READERS if name not in ("questions", "tokenizer", "manifest")])
@pytest.mark.parametrize(("text", "says"), [("x = ", "TOML"), ("x = " + "[" * 20_000, "nest|recursion"), ("x = " + "1" * 5_000, "digit")],
                         ids=["no value", "deep", "long"])
def test_what_is_no_toml_is_told_in_a_line(name: str, text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "off.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=says) as caught:
        READERS[name](str(path))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


def test_a_process_substitution_is_no_empty_file(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, b"{}")
    with pytest.raises(UsageError, match="not a regular file"):
        questions.load(f"/dev/fd/{read}")
    os.close(read)
    os.close(write)


def test_what_is_there_stays_unless_it_is_ours_or_was_told_to_go(tmp_path: Path) -> None:
    mine, page, gone = tmp_path / "mine", tmp_path / "page", tmp_path / "gone"
    mine.write_bytes(b"<!doctype html>\n<p>mine")
    page.write_bytes(PAGE + b"...")
    gone.symlink_to(tmp_path / "absent")
    check_free(str(tmp_path / "new"))
    check_free(str(page), ours=PAGE)
    check_free(str(mine), force=True)
    for path, words in ((mine, "it is there already"), (gone, "not a regular file"), (tmp_path, "a folder, not a file")):
        with pytest.raises(UsageError, match=words):
            check_free(str(path), ours=PAGE)
    with pytest.raises(UsageError, match="not a regular file"):
        check_free("/dev/null", force=True)
