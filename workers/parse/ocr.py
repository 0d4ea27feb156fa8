"""OCR: pages of a PDF that are images, read by unstructured with tesseract and poppler, in a process group of its own.

No limit of a thread ends a program that it started: a page over PAGE_SECONDS ends the whole group, and so does the end of this process.
All of them write into one folder, which goes with the group.
"""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path

from edgarmill.schemas.errors import BadFile, TooLarge

LANGUAGE = "eng"  # EDGAR takes English; foreign words are read by English letters
PAGE_SECONDS = 120.0
START_SECONDS = 180.0  # of the libraries' import
MOST_PAGES = 500
PROGRAMS = {"tesseract": "tesseract-ocr", "pdfinfo": "poppler-utils", "pdftoppm": "poppler-utils"}  # and what Debian calls their package

_CHILD = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from edgarmill.workers.parse.ocr import serve; serve(*sys.argv[2:])"


@dataclass(frozen=True, slots=True)
class Told:
    """What is known of a recognised element beside its text."""

    page_number: int | None
    text_as_html: str | None = None
    category_depth: int | None = None


@dataclass(frozen=True, slots=True)
class Recognised:
    """An element of a page, in the form in which unstructured gives its own."""

    category: str
    text: str
    metadata: Told


def missing() -> str:
    """Which programs are not on the path, in one sentence with the remedy; "" when all are there."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if not lacking:
        return ""
    packages = " ".join(dict.fromkeys(PROGRAMS[name] for name in lacking))
    return f"OCR lacks {' and '.join(lacking)}: apt-get install {packages} (macOS: brew install tesseract poppler)"


def recognised(data: bytes, pages: list[int], name: str, page_seconds: float = PAGE_SECONDS) -> tuple[list[Recognised], str]:
    """The elements of these pages, counted from 1, in their order, and the version of tesseract. Raises BadFile, TooLarge."""
    if len(pages) > MOST_PAGES:
        raise TooLarge(f"{len(pages)} pages are images, at most {MOST_PAGES} go through OCR", name, "Split the PDF.")
    with tempfile.TemporaryDirectory(prefix="edgarmill-ocr-", ignore_cleanup_errors=True) as folder:
        Path(folder, "document.pdf").write_bytes(data)
        with open(Path(folder, "said"), "w+b") as said:
            child, answers = _started(folder, pages, said.fileno())
            try:
                version = _answer(answers, START_SECONDS, "the start of OCR", name)
                found = [_elements(page, _answer(answers, page_seconds, f"OCR of page {page}", name)) for page in pages]
            except EOFError:
                todo = "Look at the file; edgarmill doctor tells whether OCR is at hand."
                raise BadFile(f"OCR failed: {_last_line(said.fileno())}", name, todo) from None
            finally:
                _ended(child)
                answers.close()
    return [element for elements in found for element in elements], json.loads(version)


def _started(folder: str, pages: list[int], errors: int) -> tuple[subprocess.Popen[bytes], Connection]:
    reading, writing = os.pipe()
    command = [sys.executable, "-c", _CHILD, json.dumps(sys.path), folder, json.dumps(pages), str(writing)]
    try:
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors, pass_fds=(writing,),
                                 start_new_session=True)
    finally:
        os.close(writing)
    return child, Connection(reading, writable=False)


def _answer(answers: Connection, seconds: float, what: str, name: str) -> bytes:
    if not answers.poll(seconds):
        raise TooLarge(f"{what} took more than {seconds:g} seconds", name, "Look at the file, and at what else the machine does.")
    return answers.recv_bytes()


def _elements(page: int, answer: bytes) -> list[Recognised]:
    return [Recognised(category, text, Told(page)) for category, text in json.loads(answer)]


def _ended(child: subprocess.Popen[bytes]) -> None:
    """No process of the group outlives this. It has not been waited for, so its id is still its group's."""
    with suppress(OSError):  # all have ended, and the system says so
        os.killpg(child.pid, signal.SIGKILL)
    if child.stdin:
        child.stdin.close()
    child.wait()


def _last_line(file: int) -> str:
    end = os.lseek(file, 0, os.SEEK_END)
    lines = os.pread(file, 4096, max(0, end - 4096)).decode(errors="replace").split("\n")
    return " ".join(next((line for line in reversed(lines) if line.strip()), "its process was ended").split())[:200]


def serve(folder: str, pages: str, pipe: str) -> None:
    """The child: the version of tesseract, then the elements of each page. It ends when its parent does, with all that it started."""
    threading.Thread(target=_end_with_parent, args=(folder,), daemon=True).start()
    tempfile.tempdir = folder
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))  # what it has inherited is for another's work; here pages have their time
    partition = import_module("unstructured.partition.pdf").partition_pdf
    version = import_module("unstructured_pytesseract").get_tesseract_version()
    import pypdfium2

    answers = Connection(int(pipe), readable=False)  # left open: its end says that this process is no more, and has said why
    with pypdfium2.PdfDocument(Path(folder, "document.pdf")) as document:
        answers.send_bytes(json.dumps(str(version)).encode())
        for page in json.loads(pages):
            alone = io.BytesIO()
            with pypdfium2.PdfDocument.new() as single:
                single.import_pages(document, [page - 1])
                single.save(alone)
            elements = partition(file=io.BytesIO(alone.getvalue()), strategy="ocr_only", languages=[LANGUAGE])
            answers.send_bytes(json.dumps([[element.category, str(element.text)] for element in elements]).encode())


def _end_with_parent(folder: str) -> None:
    """Nothing is ever written to stdin: it ends when the parent closes it, or is no more."""
    os.read(0, 1)
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(os.getpgrp(), signal.SIGKILL)
