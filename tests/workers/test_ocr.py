"""OCR: what is said where it is not at hand, page by page what becomes of scans, and that no program outlives its document."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pdf_bytes import pdf_of

from edgarmill.schemas.errors import BadFile, SettingsError, TooLarge
from edgarmill.workers.parse import ocr, unstructured
from edgarmill.workers.parse.ocr import Recognised, Told, recognised
from edgarmill.workers.parse.parsed import Parsed, RawDocument

# Pages as what is drawn on them: an image of a pixel, a line of text, nothing.
IMAGE = "q 500 0 0 700 50 40 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x7f EI Q"
TEXT = "BT /F1 12 Tf 72 700 Td (Net sales rose to 1,234 million in fiscal 2024.) Tj ET"
# Stand-ins for the two libraries, on the path of the process of OCR alone. `partition_pdf` starts a program that leaves its id and hangs.
STAND_IN = {
    "unstructured/__init__.py": "", "unstructured/partition/__init__.py": "",
    "unstructured_pytesseract.py": "def get_tesseract_version(): return '5.0'",
}
TELLS = """
from types import SimpleNamespace
def partition_pdf(file, strategy, languages):
    return [SimpleNamespace(category="Title", text=f"{strategy} {languages[0]} {file.read(4).decode()}")]
"""
HANGS = """
import subprocess, sys, tempfile
def partition_pdf(**given):
    tempfile.mkdtemp()
    program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with open({told!r}, "w") as file:
        file.write(f"{{program.pid}} {{tempfile.gettempdir()}}\\n")
    program.wait()
"""
FAILS = "def partition_pdf(**given): raise RuntimeError('no such language')"


def pdf(*pages: str) -> bytes:
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    for shown in pages:
        objects.append(f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream")
        objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R "
                       "/Resources << /Font << /F1 3 0 R >> >> >>")
    kids = " ".join(f"{number} 0 R" for number in range(5, len(objects) + 1, 2))
    objects[1] = f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>"
    return pdf_of(objects)


def raw(*pages: str) -> RawDocument:
    return RawDocument(1, "10-K", "a.pdf", pdf(*pages), "pdf")


@pytest.fixture
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the process of OCR finds the stand-ins first; its temporary files go below `tmp_path/temporary`."""
    for name, text in STAND_IN.items():
        path = tmp_path / "libraries" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path / "libraries"), *sys.path])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return tmp_path / "libraries"


def partition(libraries: Path, program: str) -> None:
    (libraries / "unstructured" / "partition" / "pdf.py").write_text(program, encoding="utf-8")


def is_gone(pid: int) -> bool:
    """Ended, or a zombie that nobody has fetched yet."""
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_programs_that_are_not_on_the_path_are_told_with_their_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ocr.missing().startswith("OCR lacks tesseract and pdfinfo and pdftoppm: apt-get install tesseract-ocr poppler-utils (")
    for name in ("pdfinfo", "pdftoppm"):
        (tmp_path / name).touch(mode=0o755)
    assert ocr.missing().startswith("OCR lacks tesseract: apt-get install tesseract-ocr (")
    (tmp_path / "tesseract").touch(mode=0o755)
    assert ocr.missing() == ""


def test_every_page_that_is_asked_for_is_read_alone(libraries: Path) -> None:
    partition(libraries, TELLS)
    found, version = recognised(pdf(IMAGE, TEXT, IMAGE), [1, 3], "a.pdf")
    assert version == "5.0"
    assert found == [Recognised("Title", "ocr_only eng %PDF", Told(page)) for page in (1, 3)]
    assert list((libraries.parent / "temporary").iterdir()) == []


def test_a_page_that_hangs_ends_with_its_programs_and_files(libraries: Path) -> None:
    told = libraries / "told"
    partition(libraries, HANGS.format(told=str(told)))
    with pytest.raises(TooLarge, match="OCR of page 2 took more than 3 seconds"):
        recognised(pdf(TEXT, IMAGE), [2], "a.pdf", page_seconds=3)
    pid, folder = told.read_text().split()
    assert is_gone(int(pid))
    assert folder.startswith(str(libraries.parent / "temporary")) and not Path(folder).exists()


def test_a_parent_that_is_killed_takes_ocr_and_its_programs_along(libraries: Path) -> None:
    told, document = libraries / "told", libraries / "a.pdf"
    partition(libraries, HANGS.format(told=str(told)))
    document.write_bytes(pdf(IMAGE))
    program = (f"import sys, tempfile; sys.path[:] = {sys.path!r}; tempfile.tempdir = {str(libraries.parent / 'temporary')!r}\n"
               f"from edgarmill.workers.parse.ocr import recognised; recognised(open({str(document)!r}, 'rb').read(), [1], 'a.pdf')")
    parent = subprocess.Popen([sys.executable, "-c", program])
    try:
        for _ in range(1200):
            if told.exists() and told.read_text().endswith("\n"):
                break
            time.sleep(0.05)
    finally:
        parent.kill()
        parent.wait()
    pid, folder = told.read_text().split()
    assert is_gone(int(pid)) and not Path(folder).exists()


def test_what_the_library_says_when_it_fails_is_told_in_one_line(libraries: Path) -> None:
    partition(libraries, FAILS)
    with pytest.raises(BadFile, match="OCR failed: RuntimeError: no such language") as caught:
        recognised(pdf(IMAGE), [1], "a.pdf")
    assert "\n" not in str(caught.value)


def test_more_images_than_anybody_waits_for_are_refused() -> None:
    with pytest.raises(TooLarge, match="501 pages are images"):
        recognised(b"", list(range(1, 502)), "a.pdf")


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine as if all were installed: text pages say "written", images "recognised"; page 4 holds nothing that can be read."""
    def elements(document: RawDocument, **options: str) -> list[Recognised]:
        return [Recognised("NarrativeText", "written", Told(2))]

    def read(data: bytes, pages: list[int], name: str) -> tuple[list[Recognised], str]:
        return [Recognised("NarrativeText", "recognised", Told(page)) for page in pages if page != 4], "5.0"

    monkeypatch.setattr(unstructured, "_elements", elements)
    monkeypatch.setattr(ocr, "recognised", read)
    monkeypatch.setattr(ocr, "missing", lambda: "")


def seen(parsed: Parsed) -> list[tuple[int, str]]:
    return [(block.page, parsed.text[block.start : block.end]) for block in parsed.blocks]


def test_images_between_pages_of_text_are_read_and_said_to_be(engine: Any) -> None:
    parsed = unstructured.parse_pdf(raw(IMAGE, TEXT, IMAGE, IMAGE, ""), "x")
    assert seen(parsed) == [(1, "recognised"), (2, "written"), (3, "recognised")]
    assert parsed.pages == 5
    assert parsed.warnings == ("read by OCR (tesseract 5.0), figures may be misread and rows of tables torn: pages 1, 3-4",
                               "an image in which OCR found no text: page 4")


def test_a_pdf_of_text_needs_no_programs(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "missing", lambda: "OCR lacks tesseract: apt-get install tesseract-ocr")
    assert unstructured.parse_pdf(raw("", TEXT), "x").warnings == ()
    with pytest.raises(SettingsError, match="OCR lacks tesseract"):
        unstructured.parse_pdf(raw(IMAGE, TEXT), "x")


@pytest.mark.skipif(unstructured.missing("pdf") != "", reason="needs unstructured[pdf], its spaCy model, tesseract and poppler")
def test_a_real_scan_is_read(tmp_path: Path) -> None:
    import pypdfium2

    with pypdfium2.PdfDocument(pdf(TEXT)) as written, pypdfium2.PdfDocument.new() as scan:
        image = pypdfium2.PdfImage.new(scan)
        image.set_bitmap(written[0].render(scale=3))
        image.set_matrix(pypdfium2.PdfMatrix().scale(612, 792))
        page = scan.new_page(612, 792)
        page.insert_obj(image)
        page.gen_content()
        scan.import_pages(written, [0])
        scan.save(tmp_path / "mixed.pdf")
    parsed = unstructured.parse(RawDocument(1, "10-K", "mixed.pdf", (tmp_path / "mixed.pdf").read_bytes(), "pdf"))
    assert seen(parsed) == [(page, "Net sales rose to 1,234 million in fiscal 2024.") for page in (1, 2)]
    assert "page 1" in parsed.warnings[0]
    assert os.environ["DO_NOT_TRACK"] == "1"
