"""What parsing costs beside the library under it: CPU seconds beside libxml2 and pdfium in the same run, and peak memory."""

from __future__ import annotations

import gzip
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from lxml import etree

from edgarmill.schemas.records import Document, Element, Filing, Section
from edgarmill.workers.limits import uncollected
from edgarmill.workers.parse import engine_for
from edgarmill.workers.parse.parsed import Parsed, RawDocument
from edgarmill.workers.reading import element_of
from edgarmill.workers.sections import find_sections

_CHILD = """
import sys
from pathlib import Path
from edgarmill.eval.benchmarks.parse_costs import peak, read, whole
from edgarmill.workers.parse import html
before = peak()
raw = read(Path(sys.argv[1]), sys.argv[2])
whole(raw, sys.argv[2], None)
print(peak() - before, len(raw.data))
"""


def read(path: Path, form: str) -> RawDocument:
    """The main document of a gzipped file: a bare document, or a submission."""
    from edgarmill.workers.filing import describe

    name = path.name
    documents = describe(Filing(name, name, "folder", form=form), gzip.decompress(path.read_bytes())).documents
    return next(document for document in documents if not document.left_out and not document.type.startswith("EX-"))


def whole(raw: RawDocument, form: str, filed_on: date | None) -> tuple[Parsed, list[Element], list[Section]]:
    """Bytes in, document out: text, elements, tables, facts and sections. Raises BadFile, NoText, TooLarge."""
    with uncollected():
        parsed: Parsed = engine_for(raw.media, "native").parse(raw)
        document = Document("d", "d", 1, form, "", raw.media, len(raw.data), parsed.encoding, parsed.text, parsed.pages, parsed.engine,
                            parsed.visible_chars_in, 0, parsed.numbers_in, 0)
        elements = [element_of(document, number, block) for number, block in enumerate(parsed.blocks)]
        return parsed, elements, find_sections(document, elements, form, filed_on)


def bare_seconds(data: bytes) -> float:
    """CPU seconds of libxml2's parse alone, its tree given back."""
    started = time.process_time()
    root = etree.fromstring(data, etree.HTMLParser(huge_tree=True))
    del root
    seconds = time.process_time() - started
    bytearray(65_536)  # glibc joins the tree's freed pieces at the next large request: charged to nobody, least of all to what runs next
    return seconds


def peak() -> int:
    """Peak resident bytes of this process since its start."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def peak_of(path: Path, form: str) -> tuple[int, int]:
    """Peak bytes of reading and parsing a file above those of an interpreter that has imported the parser, and the document's bytes."""
    done = subprocess.run([sys.executable, "-c", _CHILD, str(path), form], capture_output=True, text=True, check=True)
    above, size = done.stdout.split()
    return int(above), int(size)


def pdf_pages(paths: Sequence[Path]) -> dict[str, float | int | None]:
    """CPU seconds of our parse and of pdfium's bare text over the same pages, file by file in turns."""
    ours = bare = 0.0
    pages = tables = headings = 0
    for path in paths:
        data = path.read_bytes()
        bare += _bare_pdf(data)
        started = time.process_time()
        parsed = engine_for("pdf", "native").parse(RawDocument(1, "", path.name, data, "pdf"))
        ours += time.process_time() - started
        pages += parsed.pages
        tables += sum(block.kind == "table" for block in parsed.blocks)
        headings += sum(block.kind == "heading" for block in parsed.blocks)
    return {"files": len(paths), "pages": pages, "tables": tables, "headings": headings, "seconds": round(ours, 2),
            "ratio": round(ours / bare, 2) if bare else None, "bare_pages_per_second": round(pages / bare) if bare else None}


def _bare_pdf(data: bytes) -> float:
    import pypdfium2

    started = time.process_time()
    document = pypdfium2.PdfDocument(data)
    for number in range(len(document)):
        page = document[number]
        text = page.get_textpage()
        text.get_text_range()
        text.close()
        page.close()
    document.close()
    return time.process_time() - started
