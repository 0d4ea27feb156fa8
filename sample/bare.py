"""Documents without their submission, as collections of filings often hold them: a manifest's words make the missing header.

A line of `manifest.jsonl` is an object with `file`, `form` and, where known, `accession`, `cik`, `company`, `period`, `filing_date`.
What is unknown is made up so that it can be told: CIKs and accession numbers beginning with 99990, the period as filing date.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from edgarmill.schemas.errors import StorageError

MANIFEST = "manifest.jsonl"
WRAPPED = re.compile(rb"\s*<(XBRL|XML|PDF)>")


@dataclass(frozen=True, slots=True)
class Bare:
    """A file of the manifest; its submission is `before` + its bytes + `after`, or so for one that is a <DOCUMENT> already."""

    file: str
    header: bytes
    block: bytes

    def around(self, data: bytes) -> tuple[bytes, bytes]:
        if data.lstrip()[:10] == b"<DOCUMENT>":
            return self.header, b"</SEC-DOCUMENT>\n"
        kind = WRAPPED.match(data)  # kept by whoever collected it: in one more, the document comes out as it is here
        opened, closed = (b"<" + kind[1] + b">\n", b"</" + kind[1] + b">\n") if kind else (b"", b"")
        return self.header + self.block + opened, closed + b"</TEXT>\n</DOCUMENT>\n</SEC-DOCUMENT>\n"


def read_bare(folder: Path) -> Iterator[Bare]:
    """The files that a folder's manifest names; none without one. Raises StorageError."""
    try:
        lines = (folder / MANIFEST).read_text(encoding="utf-8").splitlines()
        for number, record in enumerate(map(json.loads, lines), 1):
            yield _bare(record, number)
    except FileNotFoundError:
        return
    except OSError as error:
        what = f"manifest cannot be read: {error.strerror}"
        raise StorageError(what, str(folder / MANIFEST), "Make it readable, or remove it.") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise StorageError("manifest cannot be read", str(folder / MANIFEST), "One JSON object a line: file, form.") from None


def _bare(record: dict[str, str | None], number: int) -> Bare:
    file = re.sub(r"\.(gz|zst)$", "", str(record["file"]))
    period = re.sub(r"\D", "", record.get("period") or "")
    filed = re.sub(r"\D", "", record.get("filing_date") or "") or period or "19930101"
    cik = f"{int(record.get('cik') or 9999000000 + number):010}"
    accession = record.get("accession") or f"9999000000-{filed[2:4]}-{number:06}"
    form = record.get("form") or "10-K"
    header = (f"<SEC-DOCUMENT>{accession}.txt : {filed}\n<SEC-HEADER>{accession}.hdr.sgml : {filed}\nACCESSION NUMBER:\t\t{accession}\n"
              f"CONFORMED SUBMISSION TYPE:\t{form}\nPUBLIC DOCUMENT COUNT:\t\t1\n"
              + (f"CONFORMED PERIOD OF REPORT:\t{period}\n" if period else "") +
              f"FILED AS OF DATE:\t\t{filed}\n\nFILER:\n\n\tCOMPANY DATA:\t\n\t\tCOMPANY CONFORMED NAME:\t\t\t"
              f"{record.get('company') or 'UNKNOWN COMPANY'}\n\t\tCENTRAL INDEX KEY:\t\t\t{cik}\n</SEC-HEADER>\n")
    block = f"<DOCUMENT>\n<TYPE>{form}\n<SEQUENCE>1\n<FILENAME>{Path(file).name}\n<TEXT>\n"
    return Bare(str(record["file"]), header.encode("utf-8", "replace"), block.encode())
